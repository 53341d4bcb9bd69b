"""Trying a plugin out on a manager of its own, so that one that fails leaves no trace."""

from __future__ import annotations

import importlib
import logging
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pluggy

from wfbench import hookspecs
from wfbench.contract import PluginError, Spec
from wfbench.descriptors import DescriptorError, checked_specs

_NOT_THE_PLUGIN = (
    "<",
    *(str(Path(str(module.__file__)).parent) for module in (hookspecs, pluggy, importlib)),
)
"""Beginnings of the files that take part in loading a plugin without being the plugin."""


def hook_manager(log: logging.Logger) -> pluggy.PluginManager:
    """A manager that knows the hooks and nothing else; it traces calls if the log is at debug."""
    manager = pluggy.PluginManager("wfbench")
    manager.add_hookspecs(hookspecs)
    if log.isEnabledFor(logging.DEBUG):
        manager.add_hookcall_monitoring(*_tracers(log))
    return manager


def tried_out(plugin: Any, name: str, names: set[str], log: logging.Logger) -> list[Spec]:
    """The descriptors of a plugin, from a manager that nothing else is registered with.

    Raises whatever is wrong with it. `names` is told every name it offers, as far as that is known.
    """
    trial = hook_manager(log)
    trial.register(plugin, name=name)
    trial.check_pending()
    hooks = [caller.name for caller in trial.get_hookcallers(plugin) or ()]
    if not hooks:
        raise PluginError("it implements no hook; mark its functions with @hookimpl")
    specs = []
    for hook in hooks:
        if hook in hookspecs.REGISTRATION:
            # Pluggy leaves out an answer of None; to us it is as wrong as any other.
            for returned in getattr(trial.hook, hook)() or [None]:
                found = checked_specs(hook, hookspecs.REGISTRATION[hook], returned)
                names |= {spec.name for spec in found}
                specs += found
    return specs


def cause_of(error: BaseException) -> str:
    """One line: what went wrong, and on which line of the plugin."""
    text = " ".join(str(error).split()) or "no message"
    if not isinstance(error, (PluginError, DescriptorError)):
        text = f"{type(error).__name__}: {text}"
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not frame.filename.startswith(_NOT_THE_PLUGIN)]
    return f"{text} ({own[-1].filename}, line {own[-1].lineno})" if own else text


def _tracers(log: logging.Logger) -> tuple[Callable[..., None], Callable[..., None]]:
    def before(hook: str, impls: Any, kwargs: Any) -> None:
        log.debug("call %s(%s) of %s", hook, ", ".join(kwargs), [i.plugin_name for i in impls])

    def after(outcome: Any, hook: str, _impls: Any, _kwargs: Any) -> None:
        log.debug("%s %s", hook, "returned" if outcome.exception is None else "raised")

    return before, after
