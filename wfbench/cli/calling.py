"""How a verb is written: its signature is its flags, and it names the API function it calls."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, Literal, NamedTuple, get_args

import typer

from wfbench.api.results import Progress, Watcher
from wfbench.cli.arguments import JsonFlag
from wfbench.cli.invocation import answer, invocation, wants_json
from wfbench.contract import load_object
from wfbench.report.console import print_json
from wfbench.settings.selection import parse_options


class Said(NamedTuple):
    """A short answer: a text, and what `--json` prints instead."""

    schema: str
    values: Mapping[str, Any]
    text: str


Command = Callable[..., Any]
Shown = Literal["", "lines", "bar"]


def verb(
    calls: str | Command = "",
    *,
    progress: Shown = "",
    quiet: bool = False,
    **converted: Callable[[Any], Any],
) -> Callable[[Command], Command]:
    """Make a command from a signature: add `--json`, and answer with what is returned.

    Parameters before `*` are arguments, the others options. Texts beside a type are its help, or
    its metavar and its help. `calls` is what gets the values that were given, some of them
    `converted`: a function, or the import path of one. Without it, the function itself is called.
    `quiet`: its answer is about broken plugins, so nothing warns of them.
    """

    def decorate(function: Command) -> Command:
        hints = inspect.get_annotations(function, eval_str=True)
        own = inspect.signature(function).parameters
        parameters = [_described(p.replace(annotation=hints[p.name])) for p in own.values()]
        if "ctx" not in own:
            parameters.append(keyword("ctx", typer.Context, inspect.Parameter.empty))
        if "json" not in own:
            parameters.append(_described(keyword("json", JsonFlag, default=False)))

        def command(**given: Any) -> None:
            asked = {name: given[name] for name in own}
            if quiet:
                invocation(given["ctx"]).quiet = True
            result = _call(calls, asked, progress, converted) if calls else function(**asked)
            if isinstance(result, Said):
                if wants_json(given["ctx"], flag=given["json"]):
                    print_json(result.schema, result.values)
                else:
                    sys.stdout.write(result.text)
            elif result is not None:
                answer(given["ctx"], result, json=given["json"])

        return with_signature(command, function, parameters)

    return decorate


def keyword(name: str, hint: Any, default: object = None) -> inspect.Parameter:
    """Return a keyword parameter."""
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=hint)


def with_signature(
    command: Command, like: Command, parameters: Iterable[inspect.Parameter]
) -> Command:
    """Return a command with the parameters, the name and the help that Typer reads."""
    signature = inspect.Signature([*parameters])
    command.__signature__ = signature  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in signature.parameters.values()}
    command.__name__, command.__doc__ = like.__name__, like.__doc__
    return command


def _described(parameter: inspect.Parameter) -> inspect.Parameter:
    """Turn texts beside a type into what Typer reads; a boolean has no `--no-` form."""
    hint, *texts = get_args(parameter.annotation) or (parameter.annotation,)
    if texts and isinstance(texts[-1], str):
        named: dict[str, Any] = dict(zip(("help", "metavar"), reversed(texts), strict=False))
        if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
            texts = [typer.Argument(**named)]
        elif hint is bool:
            texts = [typer.Option(f"--{parameter.name.replace('_', '-')}", **named)]
        else:
            texts = [typer.Option(**named)]
        parameter = parameter.replace(annotation=Annotated[hint, texts[0]])
    return parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)


def _call(
    calls: str | Command,
    given: Mapping[str, Any],
    progress: Shown,
    converted: Mapping[str, Callable[[Any], Any]],
) -> Any:
    """Call the API with what was given; it has its own defaults for the rest."""
    asked = {name: value for name, value in given.items() if value is not None and value != []}
    for name, convert in converted.items():
        if name in asked:
            asked[name] = convert(asked[name])
    if "option" in given:
        asked["options"] = parse_options(asked.pop("option", ()))
    function = load_object(calls) if isinstance(calls, str) else calls
    if not progress:
        return function(**asked)
    with noted(), progress_lines(bar_only=progress == "bar") as watcher:
        return function(**asked, progress=watcher)


@contextmanager
def noted() -> Iterator[None]:
    """Print what an error that ends a command says about what is kept and how to go on."""
    try:
        yield
    except BaseException as error:
        for note in getattr(error, "__notes__", ()):
            sys.stderr.write(f"wfbench: {note}\n")
        raise


@contextmanager
def progress_lines(*, bar_only: bool = False) -> Iterator[Watcher]:
    """Show every step on standard error, as a bar on a terminal, else line by line.

    `bar_only`: nothing where there is no terminal.
    """
    if not sys.stderr.isatty():
        yield _ignore if bar_only else _print
        return
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import TextColumn

    # A text is shown as it is: `[x]` is no style and `:x:` no picture.
    columns = (TextColumn("{task.description}", markup=False), *Bar.get_default_columns()[1:])
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None)

        def update(step: Progress) -> None:
            bar.update(task, completed=step.done, total=step.total, description=step.text)

        yield update


def _print(step: Progress) -> None:
    sys.stderr.write(step.text + "\n")
    sys.stderr.flush()


def _ignore(_: Progress) -> None:
    pass
