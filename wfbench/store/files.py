"""Atomic file writes, and errors a user can act on."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import UsageError, WfbenchError

from .decoding import Record, decode

TORN = ".*.tmp"
"""Pattern of temporary files; one that is left over was never finished."""


class StorageError(WfbenchError):
    """Something could not be written. What was written before is intact."""


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an OSError into a StorageError that names the file."""
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"cannot write {path}: {error.strerror or error}; what was written before is intact, "
            "so free some space or make the folder writable, then resume"
        ) from error


def write_whole(path: Path, data: bytes) -> None:
    """Replace a file atomically: a reader sees the old content or the new, never a part."""
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


class AppendedFile:
    """A file that is only ever appended to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with writing(path):
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            self._descriptor = os.open(path, flags, 0o644)

    def write(self, data: bytes) -> None:
        """Append all of `data`."""
        with writing(self.path):
            while data:
                data = data[os.write(self._descriptor, data) :]

    def sync(self) -> None:
        """Wait until everything written is on the disk."""
        with writing(self.path):
            os.fsync(self._descriptor)

    def close(self) -> None:
        """Release the file; safe to call twice."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


def sync_directory(path: Path) -> None:
    """Make the names in a directory survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_json(path: Path, schema: str, values: Mapping[str, Any]) -> None:
    """Write a JSON file that names its shape and version, such as `run-config/2`."""
    text = json.dumps({"schema": f"wfbench/{schema}", **values}, indent=2, ensure_ascii=False)
    write_whole(path, text.encode() + b"\n")


def read_json(path: Path, *schemas: str) -> dict[str, Any]:
    """Return what `write_json` wrote, if it is of one of these schemas."""
    values = load_json(path)
    check_schema(values, path, schemas)
    return dict(values)


def read_record(path: Path, schema: str, kind: type[Record]) -> Record:
    """Return the dataclass instance whose fields `write_json` wrote."""
    values = read_json(path, schema)
    del values["schema"]
    return decode(kind, values, str(path))


def load_json(path: Path) -> Any:
    """Return the content of a JSON file, whatever it is."""
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise UsageError(f"{path} is not JSON: {error}") from error


def check_schema(values: Any, path: Path, schemas: Sequence[str]) -> None:
    """Raise a usage error unless `values` is an object of one of these schemas."""
    found = values.get("schema") if isinstance(values, dict) else None
    if found not in {f"wfbench/{schema}" for schema in schemas}:
        known = " or ".join(f"'wfbench/{schema}'" for schema in schemas)
        raise UsageError(f"{path} has schema {found!r}, not {known}")


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> None:
    """Write plain arrays and a JSON text `meta`; the same content gives the same bytes."""
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
    """Return the arrays and `meta` of a file. Never run code from the file."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as loaded:
            arrays = {name: loaded[name] for name in loaded.files}
        meta = json.loads(bytes(arrays.pop("meta")))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    except Exception as error:  # numpy and zipfile raise many kinds for damaged files
        problem = "is damaged, or not a file of plain arrays from wfbench; restore a copy"
        raise UsageError(f"{path} {problem}") from error
    check_schema(meta, path, [schema])
    return arrays, meta
