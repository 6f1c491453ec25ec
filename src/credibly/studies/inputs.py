"""What studies read: public data sets in a folder of the user's, and predictions of models trained once."""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from credibly._arrays.errors import FileError
from credibly._arrays.results import jsonable
from credibly.io import write_bytes_atomically

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
    folder = Path(os.environ.get("CREDIBLY_DATA", "../shared/data"))
    path = folder.joinpath(*parts)
    if not path.exists():
        raise FileError(
            f"'{path}'",
            "is needed by this study",
            "it is not there",
            "Set CREDIBLY_DATA to the folder of the public data sets, see docs/studies.",
        )
    return path


def cache_folder() -> Path:
    """Return where predictions of trained models are kept: CREDIBLY_CACHE, or the user's cache.

    Returns
    -------
    Path
        Perhaps not there yet.
    """
    if "CREDIBLY_CACHE" in os.environ:
        return Path(os.environ["CREDIBLY_CACHE"])
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "credibly" / "studies"


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
        buffer = io.BytesIO()
        arrays: Any = {**make(), "settings": np.array(text)}
        np.savez_compressed(buffer, **arrays)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes_atomically(
            path, buffer.getvalue(), overwrite=True
        )  # another process may have been faster
    try:
        with np.load(path, allow_pickle=False) as file:
            return {key: file[key] for key in file.files if key != "settings"}
    except (OSError, ValueError) as error:
        raise FileError(
            f"'{path}'", "must be readable", str(error), "Remove it, and it is made again."
        ) from error
