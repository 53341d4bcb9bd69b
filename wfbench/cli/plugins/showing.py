"""`wfbench plugins show NAME`."""

from __future__ import annotations

from typing import Annotated

import typer

from wfbench.cli.session import JsonFlag, session, wants_json
from wfbench.report.console import print_json
from wfbench.report.plugins import offer_json, show_offer


def show_plugin(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="A name from `wfbench plugins list`.")],
    *,
    json: JsonFlag = False,
) -> None:
    """Show the options, the capabilities and the origin of a plugin."""
    offers = session(ctx).host(quiet=True).named(name)
    if wants_json(ctx, flag=json):
        print_json("plugins-show/1", {"plugins": [offer_json(offer) for offer in offers]})
        return
    for offer in offers:
        show_offer(offer)
