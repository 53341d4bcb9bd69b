"""Files that are either whole or not there, and errors a user can act on."""

from __future__ import annotations

import io
import json
import os
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import UsageError, WfbenchError

TORN = ".*.tmp"
"""What a file that was never finished looks like."""

_DAMAGED = (
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    EOFError,
    MemoryError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What numpy and zipfile raise for bytes that are no arrays."""


class StorageError(WfbenchError):
    """Something could not be written. What was written before is intact."""


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn what the system refuses into one line that names the file."""
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"cannot write {path}: {error.strerror or error}; what was written before is intact, "
            "so make room or make the folder writable and go on from there"
        ) from error


def write_whole(path: Path, data: bytes) -> None:
    """Replace the file at once: a reader sees the old content or the new, never a part."""
    with writing(path):
        temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Make the names in a directory survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_json(path: Path, schema: str, values: Mapping[str, Any]) -> None:
    """A JSON file that names its shape and version: `run-config/1`."""
    text = json.dumps({"schema": f"wfbench/{schema}", **values}, indent=2, ensure_ascii=False)
    write_whole(path, text.encode() + b"\n")


def read_json(path: Path, schema: str) -> dict[str, Any]:
    """What `write_json` wrote, if it is of this schema."""
    try:
        values = json.loads(path.read_bytes())
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise UsageError(f"{path} is not JSON: {error}") from error
    found = values.get("schema") if isinstance(values, dict) else None
    if found != f"wfbench/{schema}":
        raise UsageError(f"{path} has schema {found!r}, not 'wfbench/{schema}'")
    return dict(values)


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> None:
    """Plain arrays and a JSON text `meta` in one file; the same content gives the same bytes."""
    if "meta" in arrays:
        raise ValueError("an array cannot be called 'meta'")
    for name, array in arrays.items():
        if np.asarray(array).dtype.hasobject:
            raise ValueError(f"array {name!r} holds Python objects, which are never written")
    file = io.BytesIO()
    text = np.frombuffer(json.dumps(meta, sort_keys=True).encode(), dtype=np.uint8)
    np.savez(file, meta=text, **{name: np.asarray(a) for name, a in arrays.items()})  # type: ignore[arg-type]
    write_whole(path, file.getvalue())


def read_arrays(path: Path, schema: str) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The arrays and `meta` of a file that `write_arrays` wrote. Never runs code from the file."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as loaded:
            arrays = {name: loaded[name] for name in loaded.files}
        meta = json.loads(bytes(arrays.pop("meta")))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    except _DAMAGED as error:
        raise UsageError(
            f"{path} is damaged, or not a file of plain arrays from wfbench; put back a copy"
        ) from error
    found = meta.get("schema") if isinstance(meta, dict) else None
    if found != f"wfbench/{schema}":
        raise UsageError(f"{path} has schema {found!r}, not 'wfbench/{schema}'")
    return arrays, meta
