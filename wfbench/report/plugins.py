"""Tables about plugins."""

from __future__ import annotations

from collections.abc import Sequence

from wfbench import values
from wfbench.contract import FactorySpec
from wfbench.inventory import Row
from wfbench.options import declared_options
from wfbench.plugins import Offer
from wfbench.report.console import console, plain_table

_EXTRAS = ("batched", "suffix", "documented", "conditions", "source", "measure", "app")
"""What descriptors of some kinds have."""


def show_inventory(rows: Sequence[Row]) -> None:
    """What `wfbench plugins list` prints: a table, then the cause of each that is not usable."""
    out = console()
    table = plain_table("kind", "name", "summary", "from", "status")
    for row in rows:
        origin = f"{row.distribution} {row.version}".strip() or row.file
        table.add_row(row.kind, row.name, row.summary, origin, row.status)
    out.print(table)
    for row in rows:
        if row.status == "broken":
            out.print(f"\n{row.name} is broken: {row.cause}", style="red", soft_wrap=True)
            origin = " ".join(part for part in (row.distribution, row.version, row.file) if part)
            out.print(f"  from {origin}", soft_wrap=True)


def show_offer(offer: Offer) -> None:
    """What `wfbench plugins show` prints."""
    out = console()
    spec, source = offer.spec, offer.source
    out.print(f"{spec.kind} {spec.name}: {spec.summary}", style="bold", soft_wrap=True)
    facts = {"from": str(source), "file": source.file, "plugin": source.plugin, "api": spec.api}
    if isinstance(spec, FactorySpec):
        facts["factory"] = spec.factory
        facts["capabilities"] = ", ".join(sorted(spec.capabilities)) or "none"
    for extra in _EXTRAS:
        if getattr(spec, extra, None) is not None:
            facts[extra] = getattr(spec, extra)
    for name, value in facts.items():
        out.print(f"  {name:<13} {value}", soft_wrap=True)
    for slug, why in getattr(spec, "cannot", {}).items():
        out.print(f"  declared: cannot keep {slug}: {why}", soft_wrap=True)
    if isinstance(spec, FactorySpec):
        _show_options(spec)


def offer_json(offer: Offer) -> dict[str, object]:
    """The same as `show_offer`, as JSON values."""
    spec, source = offer.spec, offer.source
    shown: dict[str, object] = {
        "kind": spec.kind,
        "name": spec.name,
        "summary": spec.summary,
        "api": spec.api,
        "plugin": source.plugin,
        "distribution": source.distribution,
        "version": source.version,
        "file": source.file,
    }
    for extra in ("factory", *_EXTRAS):
        if hasattr(spec, extra):
            shown[extra] = getattr(spec, extra)
    if hasattr(spec, "cannot"):
        shown["cannot"] = dict(spec.cannot)
    if isinstance(spec, FactorySpec):
        shown["capabilities"] = sorted(spec.capabilities)
        shown["positional"] = spec.positional
        shown["options"] = [
            {"name": o.name, "type": o.type_name, "default": o.default, "help": o.help}
            for o in declared_options(spec)
        ]
    return shown


def _show_options(spec: FactorySpec) -> None:
    out = console()
    options = declared_options(spec)
    if not options:
        out.print("  no options")
        return
    table = plain_table("option", "type", "default", "meaning")
    for option in options:
        bare = " (may be given bare)" if option.name == spec.positional else ""
        table.add_row(
            option.name, option.type_name, values.to_text(option.default), option.help + bare
        )
    out.print(table)
