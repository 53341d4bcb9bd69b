"""Plugins: what is on offer, what keeps its promises, and what faults do to collectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from wfbench.contract import FactorySpec
from wfbench.host import values
from wfbench.host.manager import Offer, PluginRow
from wfbench.host.options import all_options
from wfbench.report.document import Check, Column, Exhibit, Outcome, Section
from wfbench.report.written import many
from wfbench.testing.fault_watch import FAULTS, LIMIT, STEP_DEADLINE, FaultSeen
from wfbench.testing.promise import PromiseResult

from .common import facts, list_section, table

_EXTRAS = ("batched", "suffix", "documented", "conditions", "source", "measure", "app")
"""Fields that descriptors of some kinds have."""
_TOLD = ("file", "plugin", "api", "factory", "capabilities", *_EXTRAS)
_WORDS = {"told": "reported", "cause lost": "cause lost", "hung": "hung", "recovered": "recovered"}
_MEANINGS = {
    "told": "the error names the environment and the cause, or the deadline that was missed",
    "cause lost": "an error, but not what happened or where",
    "went on": "nothing was reported",
    "wrong error": "an error that a caller cannot know to expect",
    "hung": f"nothing within {LIMIT:g} s; the deadline of a step was {STEP_DEADLINE:g} s",
    "caller died": "the fault ended the calling program, too",
    "recovered": "the worker was replaced and the sample marked",
    "not offered": "no such option",
}
_SOUND = {"told", "recovered", "not offered"}
_PROMISES: Mapping[str, Outcome] = {"kept": "good", "BROKEN": "bad", "STALE": "bad"}


def inventory_section(rows: Sequence[PluginRow]) -> Section:
    """Return every plugin, and the cause for each that does not work."""
    cells = []
    checks = []
    for row in rows:
        origin = f"{row.distribution} {row.version}".strip() or row.file
        cells.append((row.name, row.kind, row.summary, origin, row.status))
        if row.status == "broken":
            where = " ".join(part for part in (row.distribution, row.version, row.file) if part)
            checks.append(Check(row.name, "bad", f"broken: {row.cause}; from {where}"))
    count = Counter(row.status for row in rows)
    says = f"{count['ok']} usable, {count['broken']} broken"
    outcome: Outcome = "bad" if checks else "good"
    shown = table("name | kind | summary | from | status", cells)
    return list_section("plugins", "Plugins", outcome, says, shown, checks=tuple(checks))


def offer_section(offer: Offer) -> Section:
    """Return where a plugin comes from, what it can do and its options."""
    spec, data = offer.spec, offer_data(offer)
    told = {"from": offer.source} | {name: data.get(name) for name in _TOLD}
    if isinstance(spec, FactorySpec):
        told["capabilities"] = ", ".join(data["capabilities"]) or "none"
    about = [(name, str(value)) for name, value in told.items() if value is not None]
    exhibits = [Exhibit("", "", table("what | value", about))]
    rows = []
    for option in data.get("options", ()):
        bare = " (may be given bare)" if option["name"] == data["positional"] else ""
        default = values.to_text(option["default"])
        rows.append((option["name"], option["type"], default, option["help"] + bare))
    if rows:
        shown = table("option | type | default | meaning", rows)
        exhibits.append(Exhibit("Options", "", shown))
    return Section(
        title=f"{spec.kind} {spec.name}",
        kind="plugin",
        headline=Check("plugin", "good", spec.summary),
        exhibits=tuple(exhibits),
        notes=tuple(
            f"declared: cannot keep {slug}: {why}" for slug, why in data.get("cannot", {}).items()
        ),
    )


def offer_data(offer: Offer) -> dict[str, Any]:
    """Return a plugin as JSON values."""
    spec, source = offer.spec, offer.source
    shown: dict[str, Any] = {"kind": spec.kind, "name": spec.name, "summary": spec.summary}
    shown |= {"api": spec.api, **asdict(source)}
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
            for o in all_options(spec)
        ]
    return shown


def promise_word(promise: PromiseResult) -> str:
    """Return what became of a promise, in one word."""
    if promise.stale:
        return "STALE"
    if promise.excuse and promise.kept is False:
        return "cannot"
    return {True: "kept", False: "BROKEN", None: "n/a"}[promise.kept]


def promise_line(promise: PromiseResult) -> str:
    """Return what became of a promise, and why."""
    excuse = f"declared: cannot, because {promise.excuse}" if promise.excuse else ""
    if promise.stale:
        excuse = f"kept, but {excuse}"
    parts = (f"{promise_word(promise):<7} {promise.name}", excuse, promise.detail)
    return ": ".join(filter(None, parts))


def promises_section(spec: FactorySpec, promises: Sequence[PromiseResult]) -> Section:
    """Return which promises of the contract a plugin keeps."""
    count = Counter(map(promise_word, promises))
    says = (
        f"{count['kept'] + count['STALE']} promises kept, {count['BROKEN']} broken, "
        f"{count['n/a']} do not apply"
    )
    if count["cannot"]:
        says += f", {count['cannot']} declared: cannot"
    if count["STALE"]:
        says += f", {count['STALE']} kept although declared: remove them from `cannot`"
    return Section(
        title=f"{spec.kind} {spec.name}",
        kind="promises",
        headline=Check("promises", "bad" if count["BROKEN"] else "good", says),
        checks=tuple(
            Check(one.name, _PROMISES.get(promise_word(one), "open"), promise_line(one))
            for one in promises
        ),
    )


def promise_data(spec: FactorySpec, promise: PromiseResult) -> dict[str, Any]:
    """Return a promise of a plugin as JSON values."""
    values = asdict(promise)
    named = {"kind": spec.kind, "name": spec.name, "promise": values.pop("name")}
    return {**named, "cannot": values.pop("excuse"), **values, "broken": promise.broken}


def faults_section(found: Sequence[FaultSeen], sources: Mapping[str, str], command: str) -> Section:
    """Return what a caller sees of each fault: a row per fault, a column per collector."""
    collectors = list(dict.fromkeys(seen.collector for seen in found))
    cells = {(seen.fault, seen.collector): fault_text(seen) for seen in found}
    rows = [
        (f"{FAULTS[fault]} ({fault})", *(cells.get((fault, name), "") for name in collectors))
        for fault in dict.fromkeys(seen.fault for seen in found)
    ]
    rows.append(("in all", *(_counts(found, name) for name in collectors)))
    used = dict.fromkeys(seen.outcome for seen in found)
    lost = sum(seen.outcome not in _SOUND for seen in found)
    says = f"{len(rows) - 1} faults in {many(len(collectors), 'collector')}"
    return list_section(
        "faults",
        "Faults",
        "open" if lost else "good",
        f"{says}, {lost} not reported",
        table(("fault", *map(Column, collectors)), rows),
        "Seconds are from the fault until the caller knew.",
        asks="What does a caller see of each fault?",
        command=command,
        facts=facts({name: sources.get(name) for name in collectors}),
        notes=tuple(
            f"{_WORDS.get(word, word)}: {_MEANINGS[word]}" for word in _MEANINGS if word in used
        ),
    )


def faults_data(found: Sequence[FaultSeen], sources: Mapping[str, str]) -> dict[str, Any]:
    """Return every fault as JSON values, with the error that the caller got."""
    return {
        "limit": LIMIT,
        "sources": dict(sources),
        "faults": dict(FAULTS),
        "seen": [asdict(seen) for seen in found],
    }


def fault_text(seen: FaultSeen) -> str:
    """Return what a caller saw of one fault."""
    word = _WORDS.get(seen.outcome, seen.outcome)
    parts = [word if seen.seconds is None else f"{word} {seen.seconds:.1f} s"]
    parts += [f"close {seen.close}"] if seen.close else []
    parts += ["unusable afterwards"] if seen.usable_again is False else []
    return ", ".join(parts)


def _counts(found: Sequence[FaultSeen], collector: str) -> str:
    outcomes = [seen.outcome for seen in found if seen.collector == collector]
    counted = [f"{outcomes.count(o)} {word}" for o, word in _WORDS.items() if o in outcomes]
    return ", ".join(counted) or "none reported"
