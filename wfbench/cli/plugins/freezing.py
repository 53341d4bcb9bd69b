"""`wfbench plugins freeze`."""

from __future__ import annotations

import typer

from wfbench.cli.session import JsonFlag, session, wants_json
from wfbench.report.console import print_json


def freeze_plugins(ctx: typer.Context, *, json: JsonFlag = False) -> None:
    """Print the installed plugin packages as requirements, to install them again elsewhere.

    Broken ones are included, plugins of --plugins-dir are not: pip cannot install them.
    """
    host = session(ctx).host(quiet=True)
    sources = [*host.loaded, *(broken.source for broken in host.broken), *host.blocked]
    pins = sorted(
        {f"{s.distribution}=={s.version}" for s in sources if s.distribution and not s.bundled}
    )
    if wants_json(ctx, flag=json):
        print_json("plugins-freeze/1", {"requirements": pins})
        return
    for pin in pins:
        typer.echo(pin)
