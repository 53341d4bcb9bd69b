"""Test claims one after the other; one that cannot be measured does not stop the others."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import cast

from wfbench.benchmarks.reproduce.laboratory import Laboratory
from wfbench.benchmarks.reproduce.model import ClaimResult, Reproduction
from wfbench.benchmarks.reproduce.training import error_line
from wfbench.contract import ClaimSpec, Finding, UsageError, load_object
from wfbench.host.manager import Offer, PluginHost
from wfbench.store.machine import fingerprint

Done = Callable[[int, int, ClaimResult], None]
"""Called after every claim with its position, the number of claims, and its result."""
_SPECIFIED = ("name", "number", "summary", "documented", "conditions", "source")


def select_claims(host: PluginHost, names: Sequence[str]) -> list[Offer]:
    """Return the claims of these names, or all, sorted by number, then by name."""
    if len(set(names)) != len(names):
        raise UsageError("a claim is named twice")
    chosen = [host.find("claim", name) for name in names] or host.offers("claim")
    if not chosen:
        raise UsageError("no plugin offers a claim; see `wfbench plugins list`")

    def place(offer: Offer) -> tuple[bool, int, str]:
        number = cast("ClaimSpec", offer.spec).number
        return number == 0, number, offer.spec.name

    return sorted(chosen, key=place)


def reproduce(lab: Laboratory, names: Sequence[str] = (), done: Done | None = None) -> Reproduction:
    """Measure and judge the claims of these names, or all, in a laboratory."""
    claims = select_claims(lab.host, names)
    created = datetime.now().astimezone().isoformat(timespec="seconds")
    machine = fingerprint()
    began = time.perf_counter()
    results = []
    for index, offer in enumerate(claims):
        results.append(_judged(lab, offer))
        if done is not None:
            done(index + 1, len(claims), results[-1])
    quick = ["--quick"] if lab.quick else []
    seed = ["--seed", str(lab.seed)] if lab.seed else []
    return Reproduction(
        command=shlex.join(["wfbench", "reproduce", *names, *quick, *seed]),
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
        answer = load_object(spec.measure)(lab)
        if isinstance(answer, Finding):
            finding = answer
        else:
            failure = f"{spec.measure} returned {type(answer).__name__}, not a Finding"
    except Exception as error:  # noqa: BLE001 - a plugin may raise anything; the rest goes on
        failure = error_line(error)
    return ClaimResult(
        **{name: getattr(spec, name) for name in _SPECIFIED},
        plugin=str(offer.source),
        seconds=round(time.perf_counter() - began, 1),
        measurements=tuple(sorted(lab.used)),
        finding=finding,
        failure=failure,
    )
