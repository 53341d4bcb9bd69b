"""The flags of a run, made from the configuration itself: `run` and `config` share them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from wfbench.api.searching import resolve_settings
from wfbench.cli.arguments import SELECTOR, Options
from wfbench.cli.calling import Command, keyword, with_signature
from wfbench.cli.invocation import invocation
from wfbench.host import values
from wfbench.settings.config import PRESETS, SETTINGS, Setting
from wfbench.settings.selection import parse_options


def takes_run_config(verb: Command) -> Command:
    """Give a verb every flag of a run, and call it with the `resolved` configuration."""

    def command(config: Path | None, preset: str | None, option: list[str], **given: Any) -> Any:
        flags = {name: given.pop(name) for name in SETTINGS}
        settings = {name: value for name, value in flags.items() if value not in (None, [])}
        options, smoke = parse_options(option or ()), bool(given.get("smoke"))
        source = "command line"
        resolved = resolve_settings(settings, preset, config, options, smoke=smoke, source=source)
        return verb(resolved=resolved, **given)

    hints = inspect.get_annotations(verb, eval_str=True)
    own = [
        keyword(p.name, hints[p.name], p.default)
        for p in inspect.signature(verb).parameters.values()
        if p.name != "resolved"
    ]
    return with_signature(command, verb, [*own, *_SOURCES, *map(_flag, SETTINGS.values())])


class RunCommand(TyperCommand):
    """A command whose help names the installed choices."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Add what is installed to the options that select a plugin."""
        host = invocation(ctx).host()
        for parameter in self.params:
            setting = SETTINGS.get(parameter.name or "")
            if setting is not None and setting.kind:
                names = ", ".join(offer.spec.name for offer in host.offers(setting.kind))
                text = _help(setting)
                parameter.help = f"{text} Installed: {names or 'none'}."  # type: ignore[attr-defined]
        super().format_help(ctx, formatter)


def _flag(setting: Setting) -> inspect.Parameter:
    many = setting.hint == tuple[str, ...]
    hint = list[str] if many else setting.hint
    option = typer.Option(
        setting.flag,
        metavar=SELECTOR if setting.kind else setting.hint.__name__.upper(),
        help=_help(setting),
        autocompletion=_completer(setting.kind) if setting.kind else None,
    )
    return keyword(setting.field, Annotated[hint | None, option])


def _help(setting: Setting) -> str:
    repeat = " Repeatable, or `all`." if setting.hint == tuple[str, ...] else ""
    return f"{setting.help}{repeat} Default {values.to_text(setting.default)}."


def _completer(kind: str) -> Callable[[typer.Context], list[tuple[str, str]]]:
    def complete(ctx: typer.Context) -> list[tuple[str, str]]:
        offers = invocation(ctx).host(quiet=True).offers(kind)
        return [(offer.spec.name, offer.spec.summary) for offer in offers]

    return complete


_SOURCES = (
    keyword("config", Annotated[Path | None, "FILE", "Settings from a TOML file."]),
    keyword(
        "preset",
        Annotated[
            str | None,
            typer.Option(
                metavar="NAME",
                help=f"A documented configuration: {', '.join(PRESETS)}.",
                autocompletion=lambda: [(name, "") for name in PRESETS],
            ),
        ],
    ),
    keyword("option", Options),
)
