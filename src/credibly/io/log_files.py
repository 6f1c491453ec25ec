"""Files that may be logs of language models (JSON lines, JSON, archives of Inspect), one record at a time."""

from __future__ import annotations

import codecs
import gzip
import json
import struct
import sys
import zipfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import IO, Any

from credibly._arrays.errors import FileError
from credibly.io.extras import pip, require_module
from credibly.io.json_text import from_json, read_json_lines, read_json_value
from credibly.io.limits import reading
from credibly.io.logs import is_log, log_content
from credibly.io.roles import Content

INSPECT_VERSIONS = (1, 2)


def lines_of(path: str) -> Iterator[tuple[str, Any]]:
    """Yield the JSON records of the lines of a file, one at a time, and errors for those that are broken."""
    with reading(path, ".jsonl"), _opened(path) as file:
        for number, line in enumerate(file, 1):
            text = line.strip().removeprefix(codecs.BOM_UTF8)
            if not text:
                continue
            place = f"'{path}' line {number}"
            try:
                yield place, json.loads(text.decode("utf-8"))
            except (ValueError, RecursionError) as error:
                yield place, FileError(place, "must be a JSON object", str(error)[:80], "Correct it.")


def _opened(path: str) -> AbstractContextManager[IO[bytes]]:
    with open(path, "rb") as file:  # noqa: PTH123 - the path as given
        packed = file.read(2) == b"\x1f\x8b"
    return gzip.open(path) if packed else open(path, "rb")  # type: ignore[return-value]  # noqa: PTH123


def read_lines(path: str) -> Content:
    """Read JSON lines: a log one line at a time, and anything else as a table."""
    logged = is_log(record for _, record in lines_of(path))
    return log_content(".jsonl", path, lines_of(path)) if logged else read_json_lines(path)


def read_json(path: str) -> Content:
    """Read a JSON file: a log, or arrays by their names."""
    value = read_json_value(path)
    if isinstance(value, dict) and {"eval", "version", "status"} <= value.keys():
        _require_version(path, value)
        samples = enumerate(value.get("samples") or [])
        return log_content(".json", path, ((f"'{path}': sample {at}", entry) for at, entry in samples))
    values = value.values() if isinstance(value, dict) else [value]
    records = next((entry for entry in values if isinstance(entry, list) and is_log(entry)), None)
    if records is not None:
        placed = ((f"'{path}': record {at}", entry) for at, entry in enumerate(records))
        return log_content(".json", path, placed)
    return from_json(value, path)


def archive_content(path: str) -> Content:
    """Read an `.eval` file of Inspect: its samples, one at a time."""
    with reading(path, ".eval"), zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
        headers = [name for name in ("header.json", "_journal/start.json") if name in names]
        if not headers:
            raise FileError(f"'{path}'", "must be a log of Inspect", "it has no header.json", "Check it.")
        _require_version(path, json.loads(_unpacked(archive, headers[0])))
        samples = sorted(name for name in names if name.startswith("samples/") and name.endswith(".json"))
        records = ((f"'{path}': {name}", json.loads(_unpacked(archive, name))) for name in samples)
        return log_content(".eval", path, records)


_ZSTANDARD = 93


def _unpacked(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return a file of an archive; Inspect packs with Zstandard, which Python itself reads from 3.14 on."""
    info = archive.getinfo(name)
    if info.compress_type != _ZSTANDARD or sys.version_info >= (3, 14):
        return archive.read(name)
    arrow = require_module("pyarrow", f"'{archive.filename}'", pip("parquet"))
    file = archive.fp
    assert file is not None
    file.seek(info.header_offset + 26)  # the lengths of name and extra field stand there, and the data after
    lengths = struct.unpack("<HH", file.read(4))
    file.seek(sum(lengths), 1)
    packed = file.read(info.compress_size)
    return bytes(arrow.decompress(packed, decompressed_size=info.file_size, codec="zstd"))


def _require_version(path: str, value: dict[str, Any]) -> None:
    if value.get("version") not in INSPECT_VERSIONS:
        rule = f"must be a log of Inspect, version {' or '.join(map(str, INSPECT_VERSIONS))}"
        remedy = "Convert it with `inspect log convert`, or write plain records."
        raise FileError(f"'{path}'", rule, f"its version is {value.get('version')!r}", remedy)


def is_archive(names: list[str]) -> bool:
    """Tell whether a zip archive with these names is a log of Inspect."""
    return "header.json" in names or any(name.startswith("_journal/") for name in names)
