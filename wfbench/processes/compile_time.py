"""How long this process has been compiling: once per machine, so no deadline or limit counts it."""

from __future__ import annotations

from time import perf_counter

_before = 0.0
_since: float | None = None


def compile_began() -> None:
    """Note that the process compiles, or waits for another one that does."""
    global _since  # noqa: PLW0603 (a process compiles one thing at a time)
    _since = perf_counter()


def compile_ended() -> None:
    """Note that it goes on with its work."""
    global _before, _since
    _before, _since = compile_seconds(), None


def compile_seconds() -> float:
    """Return the seconds that this process has been compiling until now."""
    since = _since
    return _before if since is None else _before + perf_counter() - since
