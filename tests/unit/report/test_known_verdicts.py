"""Verdicts with chosen values read as they did: checks, comparisons and reproductions.

`pytest --update-golden` writes the files anew after an intended change; look at the difference.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from known_pages import page

from wfbench.benchmarks.compare.model import Cell, Comparison, Criteria, Learned
from wfbench.benchmarks.gate.speed_check import CellVerdict, Judgement, SpeedCheck, Threshold
from wfbench.benchmarks.measure.summary import EqualWork
from wfbench.benchmarks.reproduce.model import ClaimResult, Reproduction
from wfbench.benchmarks.statistics.intervals import Estimate, Permutation
from wfbench.benchmarks.statistics.learning import NonInferiority, TimeToThreshold
from wfbench.benchmarks.statistics.verdicts import Verdict
from wfbench.contract import Condition, Finding, FindingTable
from wfbench.report.sections.check import check_section, smoke_section
from wfbench.report.sections.comparison import comparison_section, learning_check_section
from wfbench.report.sections.reproduction import reproduction_section

Golden = Callable[[str, str], None]


def _judged(verdict: Verdict, value: float) -> Judgement:
    return Judgement(verdict, Estimate(value, value - 0.1, value + 0.1), 0.01, 0.001, 10)


def _cell(label: str, verdict: Verdict, n_envs: int = 8, **more: Any) -> CellVerdict:
    first = _judged(verdict, 0.8)
    given = {"then": Estimate(4.0), "now": Estimate(3.2), "first": first, "again": None}
    rates = {"rate_then": 100.0, "rate_now": 80.0, "cpu_change": 1.25}
    return CellVerdict(label, n_envs, verdict, f"because {label}", **{**given, **rates, **more})


def _checked(*cells: CellVerdict, unequal: tuple[EqualWork, ...] = ()) -> SpeedCheck:
    return SpeedCheck("main", "sequential", Threshold(), cells, unequal, ())


def test_a_check_of_speed_with_chosen_values_reads_as_it_did(golden: Golden) -> None:
    reference = _cell("sequential", Verdict.NOT_COMPARABLE, now=None, first=None)
    slow, fast = Verdict.REGRESSED, Verdict.IMPROVED
    again = _cell("shm", slow, again=_judged(slow, 0.75))
    noisy, died = _cell("pipe", Verdict.INCONCLUSIVE), {"failures": ("worker 0 died", "twice")}
    odd = EqualWork(8, ("sequential", "shm"), equal=False, transition_hash="a" * 64, odd=("shm",))
    checks = (
        _checked(reference, again, _cell("pipe", slow)),
        _checked(reference, again, _cell("pipe", slow), _cell("pipe", fast, 64)),
        _checked(reference, _cell("shm", fast), _cell("pipe", fast), _cell("pipe", slow, 64)),
        _checked(reference, again),
        _checked(reference, noisy, _cell("shm", Verdict.NO_CHANGE)),
        _checked(reference, _cell("shm", slow, now=None, first=None, **died), unequal=(odd,)),
    )
    sections = [check_section(one) for one in checks]
    sections += [check_section(checks[-2], ["a note"], strict=True)]
    sections += [smoke_section(checks[-1]), smoke_section(checks[0])]
    golden("check.md", page(*sections))


def _learned(metric: str, answer: NonInferiority, *, same_machine: bool) -> Learned:
    reached = TimeToThreshold(2000.0, None, 3000.0, 5, 1)
    never = TimeToThreshold(None, None, None, 0, 6)
    return Learned(
        *("ppo", metric, 3000, 2, Estimate(-20.0, -22.0, -18.0), Estimate(-15.0)),
        *(Estimate(0.9, 0.7, 1.0), never, reached, never, reached),
        same_machine=same_machine,
        margin=1.0,
        non_inferiority=answer,
    )


def test_a_comparison_with_chosen_values_reads_as_it_did(golden: Golden) -> None:
    test = Permutation(0.01, 0.001)
    cells = (
        Cell("a", "rate", "ratio", (5, 6), verdict=Verdict.NO_CHANGE, reason="few", test=test),
        Cell("b", "return", "difference", (5, 6), effect=Estimate(-3.0, -4.0, -2.0), margin=0.5),
        Cell("c", "rate", "ratio", (0, 6), verdict=Verdict.NOT_COMPARABLE, reason="no samples"),
        replace(
            Cell("d", "rate", "ratio", (5, 6), verdict=Verdict.REGRESSED, p=0.01),
            old=Estimate(20.0),
            new=Estimate(15.0),
            effect=Estimate(0.75, 0.5, 0.875),
        ),
    )
    learned = (
        _learned("return", NonInferiority.INFERIOR, same_machine=True),
        _learned("compliance", NonInferiority.UNDECIDED, same_machine=False),
    )
    basis = ("search", ("o1", "o2"), ("n1",), "equal steps")
    found = Comparison(*basis, cells, Criteria(0.125, 0.25), ("noted",), learned)
    differences = replace(found, cells=cells[1:2], learned=learned[:1])
    sections = [comparison_section(found), comparison_section(found, brief=True)]
    sections += [comparison_section(differences)]
    sections += [
        learning_check_section("main", replace(found, learned=some), strict=strict)
        for some, strict in ((learned, False), (learned[1:], True))
    ]
    sections += [learning_check_section("main", replace(found, learned=learned[1:]))]
    golden("comparison.md", page(*sections))


def test_a_reproduction_with_chosen_values_reads_as_it_did(golden: Golden) -> None:
    factors = ("change", "condition", "factor", "low", "high")
    tables = (
        FindingTable("Factors", factors, (("payload", "here", 3.0, 2.0, 4.0),), factors=True),
        FindingTable("Times", ("what", "s"), (("payload", 1.5),)),
    )
    under = (Condition("here", "m", None, "not reproduced"),)
    held = Finding(
        measured="17x", interval=None, verdict="reproduced", why="so it is", headline="17x faster"
    )
    not_held = replace(
        held, verdict="not reproduced", scaled=("2 envs", "1 s"), headline="", under=under
    )
    claims = (
        ClaimResult("one", 1, "s", "d", "c", "", "p", 1.5, (1, 2), replace(held, tables=tables)),
        ClaimResult("two", 0, "s", "d", "c", "a page", "p", 0.5, (), not_held),
        ClaimResult("three", 3, "s", "d", "c", "", "p", 0.25, (), None, "worker 0 died"),
    )
    machine = {"cpu": "one", "usable_cores": 4, "load": [2.0, 1.0], "memory_bytes": 3 << 30}
    machine |= {"wfbench": "1.0", "python": "3.11", "packages": {"numba": "0.60", "rich": "14"}}
    begun = ("wfbench reproduce", "then", 5)
    rest = {"seconds": 90.0, "machine": machine, "claims": claims[:2], "measurements": ()}
    whole = Reproduction(*begun, quick=False, **rest)
    busy = replace(whole, claims=claims, machine={**machine, "load": [2.5]}, quick=True)
    reversed_ones = replace(whole, claims=claims[1::-1], machine={**machine, "load": []})
    golden("reproduction.md", page(*map(reproduction_section, (whole, busy, reversed_ones))))
