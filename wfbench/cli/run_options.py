"""The flags of a run, made from the configuration itself: `run` and `config` share them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from wfbench.api.searching import resolve_settings
from wfbench.cli.invocation import invocation
from wfbench.host import values
from wfbench.settings.config import PRESETS, SETTINGS, Setting
from wfbench.settings.selection import parse_options
from wfbench.settings.sources import ResolvedConfig


def takes_run_config(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb every flag of a run, and call it with the `resolved` configuration."""

    def command(**given: Any) -> None:
        flags = {name: given.pop(name) for name in SETTINGS}
        base = {name: given.pop(name) for name in ("config", "preset", "option")}
        smoke = bool(given.get("smoke"))
        verb(resolved=_resolved(flags, **base, smoke=smoke), **given)

    hints = inspect.get_annotations(verb, eval_str=True)
    own = [
        p.replace(annotation=hints[p.name], kind=inspect.Parameter.KEYWORD_ONLY)
        for p in inspect.signature(verb).parameters.values()
        if p.name != "resolved"
    ]
    parameters = [*own, *_sources(), *(_flag(setting) for setting in SETTINGS.values())]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    command.__doc__ = verb.__doc__
    command.__name__ = verb.__name__
    return command


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


def _resolved(
    flags: dict[str, Any],
    *,
    config: Path | None,
    preset: str | None,
    option: list[str] | None,
    smoke: bool,
) -> ResolvedConfig:
    given = {name: value for name, value in flags.items() if value is not None and value != []}
    options = parse_options(option or ())
    return resolve_settings(given, preset, config, options, smoke=smoke, source="command line")


def _sources() -> list[inspect.Parameter]:
    return [
        _parameter(
            "config",
            Path | None,
            typer.Option("--config", metavar="FILE", help="Settings from a TOML file."),
        ),
        _parameter(
            "preset",
            str | None,
            typer.Option(
                "--preset",
                metavar="NAME",
                help=f"A documented configuration: {', '.join(PRESETS)}.",
                autocompletion=_complete_preset,
            ),
        ),
        _parameter(
            "option",
            list[str] | None,
            typer.Option(
                "--option",
                "-o",
                metavar="NAME.KEY=VALUE",
                help="An option of a selected plugin, such as shm.workers=2. Repeatable.",
            ),
        ),
    ]


def _flag(setting: Setting) -> inspect.Parameter:
    many = setting.hint == tuple[str, ...]
    hint = list[str] if many else setting.hint
    return _parameter(
        setting.field,
        hint | None,
        typer.Option(
            setting.flag,
            metavar="NAME[:KEY=VALUE,...]" if setting.kind else setting.hint.__name__.upper(),
            help=_help(setting),
            autocompletion=_completer(setting.kind) if setting.kind else None,
        ),
    )


def _parameter(name: str, hint: Any, option: Any) -> inspect.Parameter:
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[hint, option],
    )


def _help(setting: Setting) -> str:
    repeat = " Repeatable, or `all`." if setting.hint == tuple[str, ...] else ""
    return f"{setting.help}{repeat} Default {values.to_text(setting.default)}."


def _completer(kind: str) -> Callable[[typer.Context, str], list[tuple[str, str]]]:
    def complete(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
        offers = invocation(ctx).host(quiet=True).offers(kind)
        return _starting((offer.spec.name, offer.spec.summary) for offer in offers)(incomplete)

    return complete


def _complete_preset(incomplete: str) -> list[tuple[str, str]]:
    return _starting((name, "") for name in PRESETS)(incomplete)


def _starting(pairs: Iterable[tuple[str, str]]) -> Callable[[str], list[tuple[str, str]]]:
    return lambda incomplete: [pair for pair in pairs if pair[0].startswith(incomplete)]
