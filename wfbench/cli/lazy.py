"""A command group that imports a verb only when it is used."""

from __future__ import annotations

from typing import Any, ClassVar, cast

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from wfbench.cli.invocation import invocation
from wfbench.cli.verbs import VERBS, Verbs
from wfbench.contract import CommandSpec, PluginError, load_object


class Verb(TyperCommand):
    """A verb by name and summary, enough for help and completion."""

    def __init__(self, name: str, path: str, summary: str, origin: str = "") -> None:
        super().__init__(name, help=summary)
        self._path = path
        self._origin = origin

    def load(self) -> Any:
        """Import the real command; raise PluginError if a plugin's cannot be loaded."""
        try:
            return _command(load_object(self._path), str(self.name))
        except Exception as error:
            if not self._origin:
                raise
            cause = f"cannot load {self._path}: {type(error).__name__}: {error}"
            raise PluginError(f"command {self.name!r} ({self._origin}): {cause}") from error


class LazyGroup(TyperGroup):
    """A group whose verbs are a table of where each lives and what it does."""

    verbs: ClassVar[Verbs]

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - Typer's signature
        """Return every verb, in the sequence of the table."""
        return list(self.verbs)

    def get_command(self, ctx: Any, cmd_name: str) -> Verb | None:  # noqa: ARG002 - as above
        """Return the verb's name and summary; nothing of it is imported yet."""
        if cmd_name not in self.verbs:
            return None
        place, summary = self.verbs[cmd_name]
        return Verb(cmd_name, f"{__package__}.{place}", summary)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Import the verb that is to be run."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command.load() if isinstance(command, Verb) else command, rest


class RootGroup(LazyGroup):
    """Our verbs, then those of plugins."""

    verbs = VERBS

    def list_commands(self, ctx: Any) -> list[str]:
        """Return our verbs in the sequence of the table, then those of plugins by name."""
        plugged = [offer.spec.name for offer in invocation(ctx).host().offers("command")]
        return [*super().list_commands(ctx), *plugged]

    def get_command(self, ctx: Any, cmd_name: str) -> Verb | None:
        """Return the verb's name and summary, ours or a plugin's."""
        if cmd_name in self.verbs:
            return super().get_command(ctx, cmd_name)
        for offer in invocation(ctx).host().offers("command"):
            if offer.spec.name == cmd_name:
                spec = cast("CommandSpec", offer.spec)
                return Verb(cmd_name, spec.app, spec.summary, origin=str(offer.source))
        return None


def _command(target: Any, name: str) -> Any:
    if not isinstance(target, typer.Typer):
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(name)(target)
        target = app
    command = get_command(target)
    command.name = name
    return command
