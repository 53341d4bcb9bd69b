"""Compile functions that use nothing but arrays of their caller, and keep the result on disk.

Without arrays of its own a function has nothing to count references of; counting takes more than
half the time. A check for a zero divisor would keep a loop from becoming vector code.
"""

from __future__ import annotations

import fcntl
import gc
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, update_wrapper
from pathlib import Path
from types import CellType, FunctionType
from typing import Any, TypeVar

from numba import njit
from numba.core import event
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.extending import register_jitable

from wfbench.processes.compile_time import compile_began, compile_ended

Function = TypeVar("Function", bound=Callable[..., Any])

_FLAGS: Any = {"nogil": True, "error_model": "numpy", "_nrt": False}


class _Compilation(event.Listener):
    """Notes when numba compiles, and switches garbage collection off meanwhile.

    Compiling makes much garbage and leaves little.
    """

    _switch_on: bool

    def __init__(self) -> None:
        self._nested = 0

    def on_start(self, _event: Any) -> None:
        """Switch it off at the start of the outermost compilation."""
        if self._nested == 0:
            compile_began()
            self._switch_on = gc.isenabled()
            gc.disable()
        self._nested += 1

    def on_end(self, _event: Any) -> None:
        """Switch it on again at the end of that one."""
        self._nested -= 1
        if self._nested == 0:
            compile_ended()
            if self._switch_on:
                gc.enable()


_register: Any = event.register  # without annotations of its own
_register("numba:compile", _Compilation())


class _NoAddresses:
    """Stands for the compiler's table of addresses where code has none."""

    def set_env(self, _name: str, _environment: Any) -> None:
        """Do nothing: only an exception needs the environment, and no part raises one."""


class _PartLibrary(JITCodeLibrary):
    """The code of a part, for its callers to optimise and to make machine code of.

    By itself it would go through both once for each part around it, too.
    """

    codegen = _NoAddresses()

    def _optimize_final_module(self) -> None:
        """Do nothing: a caller optimises it together with its own code."""

    def _finalize_final_module(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, _name: str) -> int:
        """Return no address: nothing but compiled code calls a part."""
        return 0


class _PartCompiler(CompilerBase):
    """The usual compiler, with a library for parts."""

    def define_pipelines(self) -> list[Any]:
        """Return the usual passes."""
        new_library: Any = _PartLibrary
        builder: Any = DefaultPassBuilder
        name = self.state.func_id.func_qualname
        self.state.library = new_library(self.state.targetctx.codegen(), name)
        return [builder.define_nopython_pipeline(self.state)]


def part(function: Function, **flags: Any) -> Function:
    """Compile a function as part of the compiled ones that call it; Python runs it as it stands.

    Making it callable from Python would take as long as all the rest of its compilation.
    """
    flags |= {"no_cfunc_wrapper": True, "pipeline_class": _PartCompiler}
    found: Function = register_jitable(**_FLAGS, **flags)(function)
    return found


def compiled(function: Function, signature: str | None = None, **flags: Any) -> Function:
    """Compile a function that Python calls, and keep it until a source of its package changes.

    If another process is compiling it, wait for that and take the result.
    """
    made: Any = njit(cache=True, **_FLAGS, **flags)(_keyed(function))
    compile_here = made.compile

    def compile_once(wanted: Any) -> Any:
        with _turn(Path(made.stats.cache_path) / f"{function.__module__}.{function.__name__}.lock"):
            return compile_here(wanted)

    made.compile = compile_once
    if signature is not None:
        made.compile(signature)
        made.disable_compile()
    found: Function = made
    return found


@contextmanager
def _turn(path: Path) -> Iterator[None]:
    """Wait for other threads, then for other processes; without a lock file, not for those.

    Whoever compiles has the lock of the compiler, so that one is taken first everywhere.
    """
    with global_compiler_lock:
        file = None
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            file = path.open("w")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                with event.trigger_event("numba:compile"):  # for listeners it is the same
                    fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            if file is not None:
                file.close()


def _keyed(function: Any) -> Any:
    """Return the function with a further captured variable, the digest of its sources.

    The cache of numba looks at one source file only, but captured variables are part of its key.
    """
    folder = Path(function.__code__.co_filename).parent
    sources = CellType((sources_digest(folder), sources_digest(Path(__file__).parent)))
    code = function.__code__.replace(co_freevars=(*function.__code__.co_freevars, "sources"))
    closure = (*(function.__closure__ or ()), sources)
    keyed = FunctionType(code, function.__globals__, function.__name__, None, closure)
    return update_wrapper(keyed, function)


@cache
def sources_digest(folder: Path) -> str:
    """Return a digest of every source file in a folder."""
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(folder.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
