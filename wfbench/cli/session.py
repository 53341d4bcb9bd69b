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
from wfbench.report.console import warn

JsonFlag = Annotated[bool, typer.Option("--json", help="Answer in JSON.")]
"""The `--json` of a verb; read it with `wants_json`."""


class Session:
    """One invocation of the command line."""

    def __init__(
        self, settings: PluginSettings, *, json: bool = False, strict: bool = False
    ) -> None:
        self.settings = settings
        self.json = json
        self._strict = strict
        self._host: PluginHost | None = None

    def host(self, *, quiet: bool = False) -> PluginHost:
        """The plugin host, loaded once. Broken plugins are told unless the caller shows them."""
        if self._host is None:
            self._host = load_plugins(self.settings)
            if self._strict and self._host.broken:
                first = self._host.broken[0]
                raise PluginError(f"--strict-plugins: {_sentence(first)}") from first.error
            if not quiet:
                for broken in self._host.broken:
                    warn(f"{_sentence(broken)}; see `wfbench plugins list`")
        return self._host


def session(ctx: typer.Context) -> Session:
    """The session of this invocation, made from the options before the verb."""
    root = ctx.find_root()
    if not isinstance(root.obj, Session):
        given = root.params
        if os.environ.get("WFBENCH_TRACE_PLUGINS", "") not in {"", "0"}:
            _trace()
        root.obj = Session(
            settings_from(
                os.environ,
                directories=given.get("plugins_dir") or (),
                external=not given.get("no_plugins"),
            ),
            json=bool(given.get("json")),
            strict=bool(given.get("strict_plugins")),
        )
    return root.obj


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
