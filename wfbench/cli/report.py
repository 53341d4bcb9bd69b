"""`wfbench report`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wfbench.cli.session import JsonFlag, session, wants_json
from wfbench.contract import UsageError
from wfbench.store.places import DEFAULT

if TYPE_CHECKING:
    from wfbench.report.document import Report
    from wfbench.report.formats.choosing import Format

_SEARCHED = ("search", "matrix")
app = typer.Typer(add_completion=False, rich_markup_mode=None)

STANDARD_OUTPUT = "-"


@app.command()
def report(
    ctx: typer.Context,
    *,
    results: Annotated[
        list[str],
        typer.Argument(
            metavar="ID...",
            help="Runs by name or path, or files: verdict.json, landscapes, reproduction.json, and "
            "what compare, bench-search and evaluate answer with --json.",
        ),
    ],
    html: Annotated[
        bool, typer.Option("--html", help="One page that opens offline, with charts.")
    ] = False,
    md: Annotated[bool, typer.Option("--md", help="Markdown, for a pull-request comment.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Tidy CSV: one line per value.")] = False,
    junit: Annotated[bool, typer.Option("--junit", help="JUnit XML: one case per check.")] = False,
    as_: Annotated[
        str | None,
        typer.Option(
            "--as", metavar="NAME[:KEY=VALUE,...]", help="A format of a reporter plugin, by name."
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Where to write; - is standard output. Default: standard output, and for --html "
            "report.html in the run's directory.",
        ),
    ] = None,
    landscape: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Judge searches by this landscape. Default: one of results/landscapes that fits.",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where runs are looked for.")
    ] = DEFAULT,
    json: JsonFlag = False,
) -> None:
    """Show what runs found: in the terminal, or as a page, a comment, a table or test results.

    Searches, matrices and bench runs can be shown together; evaluations that were kept with
    `evaluate --save` come with their run.
    """
    from wfbench.report.formats.choosing import find_format
    from wfbench.report.sections.sources import Sources

    host = session(ctx).host()
    flags = {"html": html, "md": md, "csv": csv, "junit": junit}
    chosen = [name for name, given in flags.items() if given] + ([as_] if as_ else [])
    if len(chosen) > 1:
        raise UsageError("choose one format; call `wfbench report` again for another")
    if to is not None and not chosen:
        raise UsageError("--to needs a format: --html, --md, --csv, --junit or --as NAME")
    form = find_format(host, chosen[0]) if chosen else None
    found = Sources(out, host, landscape).report(results)
    if landscape is not None and not any(one.kind in _SEARCHED for one in found.sections):
        raise UsageError("--landscape judges searches, and none is reported; leave it out")
    if form is not None:
        _write(found, form, _target(form, to, results, out), as_json=wants_json(ctx, flag=json))
    elif wants_json(ctx, flag=json):
        _answer(found)
    else:
        from wfbench.report.console import console
        from wfbench.report.formats.terminal import show_report

        show_report(found, console())


def _target(form: Format, to: str | None, results: list[str], out: Path) -> Path | None:
    """The file to write; None: standard output."""
    if to == STANDARD_OUTPUT or (to is None and form.name != "html"):
        return None
    if to is None:
        return _beside(results, out) / "report.html"
    path = Path(to)
    return path / f"report{form.suffix}" if path.is_dir() else path


def _beside(results: list[str], out: Path) -> Path:
    """The directory of the one run that is reported; of several things, the current one."""
    from wfbench.store.places import find_run

    if len(results) == 1 and not Path(results[0]).is_file():
        return find_run(out, results[0])
    return Path()


def _write(found: Report, form: Format, target: Path | None, *, as_json: bool) -> None:
    from wfbench.report.console import print_json
    from wfbench.store.files import write_whole

    rendered = form.render(found)
    if target is None:
        if as_json:
            print_json("report-text/1", {"format": form.name, "text": rendered})
        else:
            sys.stdout.write(rendered)
        return
    write_whole(target, rendered.encode())
    if as_json:
        print_json("report-written/1", {"format": form.name, "file": str(target)})
    else:
        typer.echo(f"wrote {target}")


def _answer(found: Report) -> None:
    from wfbench.report.console import print_json
    from wfbench.report.formats.choosing import SCHEMA, as_data

    print_json(SCHEMA, {key: value for key, value in as_data(found).items() if key != "schema"})
