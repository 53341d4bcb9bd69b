"""What every claim asks of the laboratory and makes of fixed answers, word for word.

`pytest --update-golden` writes the files anew after an intended change; look at the difference.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any
from zlib import crc32

import pytest

from wfbench.contract import Finding
from wfbench.contract.importing import load_object
from wfbench_claims.plugin import wfbench_claims

CLAIMS = {spec.name: spec for spec in wfbench_claims()}


def _between(low: float, high: float, question: object) -> float:
    """A number that any other question would change."""
    return low + (high - low) * (crc32(repr(question).encode()) % 1000) / 1000


def _lines(finding: Finding) -> list[str]:
    return [f"{one.name}: {getattr(finding, one.name)!r}" for one in fields(finding)]


def _rounded(text: str) -> str:
    """Leave off the digits that another version of a library may compute otherwise."""
    return re.sub(r"\d+\.\d{6,}(e-\d+)?", lambda found: f"{float(found[0]):.6g}", text)


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_asks_and_judges_as_it_did(
    name: str,
    *,
    quick: bool,
    chosen_lab: Any,
    make_training: Any,
    make_workflow: Any,
    make_rollouts: Any,
    golden: Callable[[str, str], None],
) -> None:
    asked: list[str] = []

    def train(case: Any, number: int) -> Any:
        compliance = tuple(min(1.0, 0.1 * i + 0.01 * number) for i in range(12))
        workflows = [
            make_workflow(
                score=_between(-120.0, -80.0, (case, number, order)),
                compliant=order % 2 == 0,
                updates=10 + order + number,
                env_steps=100_000 + 1000 * number,
                score_episodes=600 if "last" in repr(case) else 20,
                steps_to_compliance=1000 * (order + 1) if order % 2 == 0 else None,
                rollouts=make_rollouts(int(_between(100, 5000, case)), compliance),
            )
            for order in range(6)
        ]
        seconds = _between(5.0, 50.0, (case, number))
        return make_training(*workflows, seconds=seconds, search=0.5, memory=seconds * 2**20)

    class Lab(chosen_lab):  # type: ignore[misc]
        def collect(self, cases: Any, **how: Any) -> Any:
            asked.extend([f"collect {how}", *map(repr, cases)])
            return super().collect(cases, **how)

        def train(self, cases: Any, **how: Any) -> Any:
            asked.extend([f"train {how}", *map(repr, cases)])
            return super().train(cases, **how)

        def gradients(self, case: Any, batches: Any, **how: Any) -> Any:
            asked.append(f"gradients {how} {batches} {case!r}")
            return [
                [
                    replace(
                        one, signal=0.1 * one.transitions, transitions=one.transitions + one.round
                    )
                    for one in samples
                ]
                for samples in super().gradients(case, batches, **how)
            ]

    lab = Lab(
        rate=lambda case: _between(100.0, 1000.0, case),
        train=train,
        variance=lambda n, k: 3.0 / (n * k) ** 0.8,
        cores=2,
        quick=quick,
    )
    finding = load_object(CLAIMS[name].measure)(lab)
    told = _rounded("\n".join([*asked, *_lines(finding)]))
    golden(f"{name}{'-quick' if quick else ''}.txt", told)
