"""`wfbench plugins check NAME`."""

from __future__ import annotations

from typing import Annotated, Any, cast

import typer

from wfbench.cli.session import JsonFlag, session, wants_json
from wfbench.contract import FactorySpec, PluginError, UsageError, load_object
from wfbench.plugins import Offer
from wfbench.report.console import fail, print_json
from wfbench.report.promises import show_promise, show_verdict
from wfbench.selection import parse_options, parse_selector, select

_KITS = {
    "env": "wfbench.testing:check_env",
    "collector": "wfbench.testing:check_collector",
    "trainer": "wfbench.testing:check_trainer",
    "searcher": "wfbench.testing:check_searcher",
}


def check_plugin(
    ctx: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="NAME[:KEY=VALUE,...]", help="What to check, with options.")
    ],
    *,
    option: Annotated[
        list[str] | None,
        typer.Option("--option", "-o", metavar="NAME.KEY=VALUE", help="An option of it."),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Put a plugin to every promise of the contract and tell which it keeps.

    Ends with 0 if every promise is kept or declared as one that it cannot keep, and with 6 if one
    is broken.
    """
    as_json = wants_json(ctx, flag=json)
    host = session(ctx).host(quiet=True)
    subjects = [o for o in host.named(parse_selector(name)[0]) if o.spec.kind in _KITS]
    if not subjects:
        raise UsageError(f"{name!r} is of a kind that makes no promises to check")
    rows: list[dict[str, Any]] = []
    for offer in subjects:
        selector = name.replace(parse_selector(name)[0], offer.spec.name, 1)
        choice = select(host, {offer.spec.kind: [selector]}, parse_options(option or ()))
        options = choice[offer.spec.kind][0].options
        rows += _checked(offer, options, as_json=as_json)
    if as_json:
        print_json("plugins-check/1", {"promises": rows})
    broken = sum(row["broken"] for row in rows)
    if broken:
        fail(f"{name} breaks {broken} of {len(rows)} promises")
        raise typer.Exit(PluginError.exit_code)


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
