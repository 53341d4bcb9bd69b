"""Claims one after the other: one that cannot be measured keeps no other from being."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import cast

from wfbench.contract import ClaimSpec, Finding, Lab, UsageError, load_object
from wfbench.plugins import Offer, PluginHost
from wfbench.store.machine import fingerprint

from .laboratory import Laboratory
from .model import ClaimResult, Reproduction

Done = Callable[[int, int, ClaimResult], None]
"""Told every claim as soon as it is judged, the how-manieth it is, and of how many."""


def select_claims(host: PluginHost, names: Sequence[str]) -> list[Offer]:
    """The claims of these names, or all: by number, then by name."""
    if len(set(names)) != len(names):
        raise UsageError("a claim is named twice")
    chosen = [host.find("claim", name) for name in names] or host.offers("claim")
    if not chosen:
        raise UsageError("no plugin brings a claim; see `wfbench plugins list`")
    return sorted(chosen, key=_place)


def reproduce(
    lab: Laboratory, claims: Sequence[Offer], *, command: str, done: Done
) -> Reproduction:
    """Measure and judge each claim."""
    created = datetime.now().astimezone().isoformat(timespec="seconds")
    machine = fingerprint()
    began = time.perf_counter()
    results = []
    for index, offer in enumerate(claims):
        results.append(_judged(lab, offer))
        done(index + 1, len(claims), results[-1])
    return Reproduction(
        command=command,
        created=created,
        seed=lab.seed,
        quick=lab.quick,
        seconds=round(time.perf_counter() - began, 1),
        machine=machine,
        claims=tuple(results),
        measurements=tuple(lab.measured),
    )


def _judged(lab: Laboratory, offer: Offer) -> ClaimResult:
    spec = cast("ClaimSpec", offer.spec)
    lab.used.clear()
    began = time.perf_counter()
    finding, failure = None, None
    try:
        answer = _measured(spec.measure, lab)
        if isinstance(answer, Finding):
            finding = answer
        else:
            failure = f"{spec.measure} returned {type(answer).__name__}, not a Finding"
    except Exception as error:  # noqa: BLE001 - a plugin may raise anything; the rest goes on
        failure = f"{type(error).__name__}: {' '.join(str(error).split()) or 'no message'}"
    return ClaimResult(
        name=spec.name,
        number=spec.number,
        summary=spec.summary,
        documented=spec.documented,
        conditions=spec.conditions,
        source=spec.source,
        plugin=str(offer.source),
        seconds=round(time.perf_counter() - began, 1),
        measurements=tuple(sorted(lab.used)),
        finding=finding,
        failure=failure,
    )


def _measured(measure: str, lab: Lab) -> object:
    return load_object(measure)(lab)


def _place(offer: Offer) -> tuple[bool, int, str]:
    number = cast("ClaimSpec", offer.spec).number
    return number == 0, number, offer.spec.name
