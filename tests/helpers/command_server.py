"""Runs wfbench commands in processes that are forked where its libraries are loaded already.

Starting Python and loading libraries is most of what a short command costs. Each command still has
a process of its own, with its own environment, folder, output files and exit code, and ends as an
interpreter ends. Only libraries are loaded before, nothing of a plugin.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

LIBRARIES = ("cloudpickle", "gymnasium", "jinja2", "numba", "numpy", "pluggy", "psutil", "rich")
_READ_BY_LIBRARIES = ("NUMBA_", "NUMPY_", "OMP_", "OPENBLAS_", "MKL_", "PYTHON")
"""Beginnings of variables that are read when Python starts or a library is loaded."""
_PATIENCE = 100.0
"""Seconds until the server has loaded the libraries and forked, or seen a process end."""


class CommandServer:
    """The process that is forked."""

    def __init__(self) -> None:
        kept = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        self._read = _read_by_libraries(kept)
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            env=kept,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,  # what `select` does not see would be waited for
        )

    def fits(self, environ: Mapping[str, str]) -> bool:
        """Return whether these variables would load the libraries as they are loaded."""
        return _read_by_libraries(environ) == self._read

    def run(
        self, args: Sequence[str], environ: Mapping[str, str], cwd: Path, timeout: float
    ) -> subprocess.CompletedProcess[str]:
        """Run `wfbench ARGS...` and return what became of it."""
        assert self._process.stdin is not None
        with tempfile.TemporaryDirectory(prefix="command-") as folder:
            out, err = Path(folder, "out"), Path(folder, "err")
            asked = [list(map(str, args)), dict(environ), str(cwd), str(out), str(err)]
            self._process.stdin.write(json.dumps(asked).encode() + b"\n")
            pid = self._answer(_PATIENCE)
            try:
                code = self._answer(timeout)
            except TimeoutError as error:
                os.kill(pid, signal.SIGKILL)
                self._answer(_PATIENCE)
                raise subprocess.TimeoutExpired(asked[0], timeout) from error
            return subprocess.CompletedProcess(asked[0], code, out.read_text(), err.read_text())

    def close(self) -> None:
        """End the process."""
        self._process.communicate(timeout=30)

    def _answer(self, timeout: float) -> int:
        assert self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], timeout)[0]:
            raise TimeoutError
        return int(self._process.stdout.readline())


def _read_by_libraries(environ: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in environ.items()
        if name.startswith(_READ_BY_LIBRARIES) and name != "PYTHONPATH"
    }


def _serve() -> list[Any] | None:
    """Fork for every question; return it in the forked process, and None when there are no more."""
    for line in iter(sys.stdin.readline, ""):
        pid = os.fork()
        if pid == 0:
            found: list[Any] = json.loads(line)
            return found
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()
        sys.stdout.write(f"{os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])}\n")
        sys.stdout.flush()
    return None


def _become(args: list[str], environ: dict[str, str], cwd: str, out: str, err: str) -> None:
    """Make this process what `python -m wfbench ARGS...` would be."""
    new = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    for stream, path, flags in ((0, os.devnull, os.O_RDONLY), (1, out, new), (2, err, new)):
        opened = os.open(path, flags)
        os.dup2(opened, stream)
        os.close(opened)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environ)
    beside = environ.get("PYTHONPATH", "")
    sys.path[:1] = [cwd, *(beside.split(os.pathsep) if beside else [])]
    sys.argv = ["wfbench", *args]


if __name__ == "__main__":
    for _name in LIBRARIES:
        importlib.import_module(_name)
    from wfbench.cli.main import main

    gc.freeze()  # else a forked process would visit, and so copy, all that is loaded
    _asked = _serve()
    if _asked is not None:
        _become(*_asked)
        sys.exit(main())
