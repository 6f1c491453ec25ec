"""What studies read: public data sets in a folder of the user's, and predictions of models trained once."""

from __future__ import annotations

import hashlib
import io
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from credibly._arrays.errors import FileError
from credibly.io import write_bytes_atomically
from credibly.io.npy import read_npy, read_npz
from credibly.results.base import jsonable
from credibly_studies.checkpoints import instead

Arrays = Mapping[str, np.ndarray[Any, Any]]


def public_data(*parts: str) -> Path:
    """Return where a file of the public data sets is.

    Parameters
    ----------
    *parts : str
        Folder and name, such as ``"cifar10", "labels.npy"``.

    Returns
    -------
    Path
        Under the folder that the environment variable CREDIBLY_DATA names.
    """
    named = os.environ.get("CREDIBLY_DATA")
    if not named:
        raise FileError(
            f"'{'/'.join(parts)}'",
            "is needed by this study",
            "the environment variable CREDIBLY_DATA names no folder",
            "Set it to the folder of the public data sets, see studies/README.md.",
        )
    path = Path(named).joinpath(*parts)
    if not path.exists():
        raise FileError(
            f"'{path}'",
            "is needed by this study",
            "it is not there",
            "Set CREDIBLY_DATA to the folder of the public data sets, see studies/README.md.",
        )
    return path


def public_arrays(path: str, *names: str) -> tuple[np.ndarray[Any, Any], ...]:
    """Return arrays of a file of the public data sets.

    Parameters
    ----------
    path : str
        In the folder, such as ``"cifar10/labels.npy"``.
    *names : str
        Arrays of an .npz; none for an .npy, which holds one.

    Returns
    -------
    tuple of ndarray
        In the order of the names.
    """
    path_found = public_data(*path.split("/"))
    arrays = (read_npz if names else read_npy)(str(path_found)).arrays
    absent = [name for name in names if name not in arrays]
    if absent:
        raise FileError(
            f"'{path_found}'",
            f"must hold {', '.join(names[:3])}",
            f"{absent[0]!r} is not there",
            "Make it again, see studies/README.md.",
        )
    return tuple(np.asarray(arrays[name]) for name in names or arrays)


def cache_folder() -> Path:
    """Return where predictions of trained models are kept: CREDIBLY_CACHE, or the user's cache.

    Returns
    -------
    Path
        Perhaps not there yet.
    """
    # a variable that is set to nothing is as good as not set
    if named := os.environ.get("CREDIBLY_CACHE"):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "credibly" / "studies"


def trained(name: str, settings: Any, make: Callable[[], Arrays]) -> dict[str, np.ndarray[Any, Any]]:
    """Return arrays that are costly to make: read where they were made before with these settings.

    Parameters
    ----------
    name : str
        Beginning of the file's name.
    settings : object
        All that `make` depends on: a dataclass or mapping. Other settings are other files.
    make : callable
        Trains, and gives arrays by name.

    Returns
    -------
    dict of str to ndarray
        What `make` gave.
    """
    text = json.dumps(jsonable(settings), sort_keys=True)
    path = cache_folder() / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.npz"
    if not path.exists():
        with _made(path.parent) as folder:  # before the hours of training, not after
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
        buffer = io.BytesIO()
        arrays: Any = {**make(), "settings": np.array(text)}
        np.savez_compressed(buffer, **arrays)
        # another process may have been faster
        write_bytes_atomically(path, buffer.getvalue(), overwrite=True)
    with instead("Remove it, and it is made again."):
        stored = {name: np.asarray(array) for name, array in read_npz(str(path)).arrays.items()}
        if str(stored.pop("settings", "")) != text:
            raise FileError(f"'{path}'", "must be what was made with these settings", "it is another", "")
    return stored


@contextmanager
def _made(folder: Path) -> Iterator[Path]:
    """Say what can be done where the cache cannot be written."""
    try:
        yield folder
    except OSError as error:
        raise FileError(
            f"'{folder}'",
            "must be a folder for trained models that can be written",
            error.strerror or str(error),
            "Set CREDIBLY_CACHE to one.",
        ) from error
