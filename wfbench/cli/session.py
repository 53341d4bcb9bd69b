"""What the options before the verb decide: which plugins are loaded, and how to answer."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated

import typer

from wfbench.cli.verbs import VERBS
from wfbench.contract import PluginError
from wfbench.plugins import Broken, PluginHost, PluginSettings, load_plugins

JsonFlag = Annotated[bool, typer.Option("--json", help="Answer in JSON.")]
"""The `--json` of a verb; read it with `wants_json`."""


class Session:
    """One invocation of the command line."""

    def __init__(self) -> None:
        self.settings: PluginSettings | None = None
        self.json = False
        self.strict = False
        self.warnings: list[str] = []
        """What is to be told when the command has ended."""
        self._host: PluginHost | None = None

    def host(self, *, quiet: bool = False) -> PluginHost:
        """The plugin host, loaded once. Broken plugins are told unless the caller shows them."""
        if self._host is None:
            self._host = load_plugins(self.settings or PluginSettings())
            if self.strict and self._host.broken:
                first = self._host.broken[0]
                raise PluginError(f"--strict-plugins: {_sentence(first)}") from first.error
            if not quiet:
                hint = "see `wfbench plugins list`"
                self.warnings += [f"{_sentence(broken)}; {hint}" for broken in self._host.broken]
        return self._host


def session(ctx: typer.Context) -> Session:
    """The session of this invocation, with what the options before the verb say."""
    root = ctx.find_root()
    if not isinstance(root.obj, Session):
        root.obj = Session()
    found: Session = root.obj
    if found.settings is None:
        if os.environ.get("WFBENCH_TRACE_PLUGINS", "") not in {"", "0"}:
            _trace()
        given = root.params
        found.json = bool(given.get("json"))
        found.strict = bool(given.get("strict_plugins"))
        found.settings = settings_from(
            os.environ,
            directories=given.get("plugins_dir") or (),
            external=not given.get("no_plugins"),
        )
    return found


def wants_json(ctx: typer.Context, *, flag: bool) -> bool:
    """Whether `--json` was given, before the verb or after it."""
    return flag or session(ctx).json


def settings_from(
    environ: Mapping[str, str], *, directories: Iterable[Path] = (), external: bool = True
) -> PluginSettings:
    """Plugin settings from the command line and the environment."""
    only = environ.get("WFBENCH_LOAD_PLUGINS")
    return PluginSettings(
        directories=tuple(directories),
        external=external,
        only=None if only is None else _names(only),
        blocked=_names(environ.get("WFBENCH_BLOCK_PLUGINS", "")),
        reserved_commands=frozenset(VERBS),
    )


def _names(text: str) -> frozenset[str]:
    return frozenset(name.strip() for name in text.split(",") if name.strip())


def _sentence(broken: Broken) -> str:
    return f"plugin {broken.source.plugin} ({broken.source}) is broken: {broken.cause}"


def _trace() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("wfbench: trace: %(message)s"))
    logger = logging.getLogger("wfbench.plugins")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
