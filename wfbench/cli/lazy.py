"""A command group that imports a verb only when it is used."""

from __future__ import annotations

from typing import Any, cast

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from wfbench.cli.session import session
from wfbench.cli.verbs import VERBS
from wfbench.contract import CommandSpec, PluginError, load_object


class Verb(TyperCommand):
    """A verb by name and summary, enough for help and completion."""

    def __init__(self, name: str, path: str, summary: str, origin: str = "") -> None:
        panel = "Commands of plugins" if origin else "Commands"
        super().__init__(name, help=summary, rich_help_panel=panel)
        self._path = path
        self._origin = origin

    def load(self) -> Any:
        """The real command."""
        if not self._origin:
            return _command(load_object(self._path), str(self.name))
        try:
            return _command(load_object(self._path), str(self.name))
        except Exception as error:
            kind = type(error).__name__
            raise PluginError(
                f"command {self.name!r} ({self._origin}): cannot load {self._path}: {kind}: {error}"
            ) from error


class VerbGroup(TyperGroup):
    """Our verbs, then those of plugins."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Every verb, ours in the order of the table."""
        plugged = [offer.spec.name for offer in session(ctx).host().offers("command")]
        return [*VERBS, *plugged]

    def get_command(self, ctx: Any, cmd_name: str) -> Verb | None:
        """The verb's name and summary; nothing of it is imported yet."""
        if cmd_name in VERBS:
            return Verb(cmd_name, *VERBS[cmd_name])
        for offer in session(ctx).host().offers("command"):
            if offer.spec.name == cmd_name:
                spec = cast("CommandSpec", offer.spec)
                return Verb(cmd_name, spec.app, spec.summary, origin=str(offer.source))
        return None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The verb that is to be run, imported."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command.load() if isinstance(command, Verb) else command, rest


def _command(target: Any, name: str) -> Any:
    if not isinstance(target, typer.Typer):
        app = typer.Typer(add_completion=False)
        app.command(name)(target)
        target = app
    command = get_command(target)
    command.name = name
    return command
