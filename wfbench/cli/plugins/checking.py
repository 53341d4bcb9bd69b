"""`wfbench plugins check NAME...`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from wfbench.cli.session import JsonFlag, session, wants_json
from wfbench.contract import CollectorSpec, FactorySpec, PluginError, UsageError, load_object
from wfbench.plugins import Offer, PluginHost
from wfbench.report.console import fail, print_json
from wfbench.report.promises import show_promise, show_verdict
from wfbench.selection import Choice, parse_options, parse_selector, select

_KITS = {
    "env": "wfbench.testing:check_env",
    "collector": "wfbench.testing:check_collector",
    "trainer": "wfbench.testing:check_trainer",
    "searcher": "wfbench.testing:check_searcher",
}
_FAULTS_SCHEMA = "plugins-faults/1"


def check_plugin(
    ctx: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME[:KEY=VALUE,...]...", help="What to check, with options."),
    ] = None,
    *,
    option: Annotated[
        list[str] | None,
        typer.Option("--option", "-o", metavar="NAME.KEY=VALUE", help="An option of it."),
    ] = None,
    report: Annotated[
        bool,
        typer.Option(
            "--report",
            help="Inject the same faults into collectors (default: all) and print, as markdown, "
            "which tell, which lose the cause, which hang and which recover.",
        ),
    ] = False,
    fault: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Report this fault only, such as kill@3. Repeatable."),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="DIR", help="Write the report there too: faults.md, .json."),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Put a plugin to every promise of the contract and tell which it keeps.

    Ends with 0 if every promise is kept or declared as one that it cannot keep, and with 6 if one
    is broken.
    """
    as_json = wants_json(ctx, flag=json)
    host = session(ctx).host(quiet=True)
    options = parse_options(option or ())
    if report:
        _report(host, names or [], options, fault or [], to, as_json=as_json)
        return
    if to is not None or fault:
        raise UsageError("--to and --fault are about the report; give --report too")
    if not names:
        raise UsageError("name what to check; `wfbench plugins list` shows what there is")
    rows = [row for name in names for row in _checked_named(host, name, options, as_json=as_json)]
    if as_json:
        print_json("plugins-check/1", {"promises": rows})
    broken = sum(row["broken"] for row in rows)
    if broken:
        fail(f"{', '.join(names)} breaks {broken} of {len(rows)} promises")
        raise typer.Exit(PluginError.exit_code)


def _checked_named(
    host: PluginHost, name: str, options: Any, *, as_json: bool
) -> list[dict[str, Any]]:
    subjects = [o for o in host.named(parse_selector(name)[0]) if o.spec.kind in _KITS]
    if not subjects:
        raise UsageError(f"{name!r} is of a kind that makes no promises to check")
    rows: list[dict[str, Any]] = []
    for offer in subjects:
        selector = name.replace(parse_selector(name)[0], offer.spec.name, 1)
        choice = select(host, {offer.spec.kind: [selector]}, options)[offer.spec.kind][0]
        rows += _checked(offer, choice.options, as_json=as_json)
    return rows


def _checked(offer: Offer, options: Any, *, as_json: bool) -> list[dict[str, Any]]:
    spec = cast("FactorySpec", offer.spec)
    check = load_object(_KITS[spec.kind])
    promises = check(spec, options, progress=None if as_json else show_promise)
    if not as_json:
        show_verdict(spec, promises)
    subject = {"kind": spec.kind, "name": spec.name}
    return [
        {
            **subject,
            "promise": promise.name,
            "kept": promise.kept,
            "detail": promise.detail,
            "slug": promise.slug,
            "cannot": promise.excuse,
            "broken": promise.broken,
        }
        for promise in promises
    ]


def _report(
    host: PluginHost,
    names: Sequence[str],
    options: Any,
    faults: Sequence[str],
    to: Path | None,
    *,
    as_json: bool,
) -> None:
    from wfbench.report.faults import faults_json, faults_markdown, show_seen
    from wfbench.store.files import write_json, write_whole
    from wfbench.testing.faults_seen import FAULTS, watch_faults

    unknown = sorted(set(faults) - set(FAULTS))
    if unknown:
        raise UsageError(f"--fault {unknown[0]} is not known; choose from {', '.join(FAULTS)}")
    if to is not None and not to.is_dir():
        raise UsageError(f"--to {to}: there is no such directory")
    chosen = select(host, {"collector": names or ["all"]}, options)["collector"]
    subjects = [choice for choice in chosen if "batched-only" not in choice.spec.capabilities]
    cases = [(_collector(choice), choice.options) for choice in subjects]
    found = watch_faults(cases, faults or tuple(FAULTS), progress=show_seen)
    sources = {choice.spec.name: choice.offer.source.with_libraries() for choice in subjects}
    command = shlex.join(["wfbench", *sys.argv[1:]])
    table, values = faults_markdown(found, sources, command), faults_json(found, sources)
    if to is not None:
        write_whole(to / "faults.md", table.encode())
        write_json(to / "faults.json", _FAULTS_SCHEMA, values)
    if as_json:
        print_json(_FAULTS_SCHEMA, values)
    else:
        sys.stdout.write(table)


def _collector(choice: Choice) -> CollectorSpec:
    assert isinstance(choice.spec, CollectorSpec)  # noqa: S101 (that is what the kind means)
    return choice.spec
