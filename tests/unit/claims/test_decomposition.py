"""The headline speed-up, taken apart."""

from __future__ import annotations

from dataclasses import asdict
from itertools import pairwise
from math import isclose, prod

from hypothesis import given, settings
from hypothesis import strategies as st

from wfbench_claims.conditions import CONDITIONS
from wfbench_claims.speed import ENV, POLICY, decompose, documented_changes


def test_every_change_changes_one_thing():
    changes = list(documented_changes(200).values())
    for before, after in pairwise(changes):
        old, new = asdict(before), asdict(after)
        assert sum(old[key] != new[key] for key in old) == 1
    collectors = [change.collector for change in changes]
    assert collectors == ["pipe:payload=true-state", "pipe", *["shm:workers=200"] * 2, "shm", "shm"]
    assert [change.env for change in changes[:-1]] == [changes[0].env] * 5
    assert changes[-1].env == "cage2"


def test_all_cases_are_measured_together(chosen_lab):
    asked = []

    class Recording(chosen_lab):
        def collect(self, cases, **settings):
            asked.append(list(cases))
            return super().collect(cases, **settings)

    decompose(Recording(rate=lambda _: 1.0), 25, rounds=2, steps=1, seconds=0.1)
    computing, asleep = (list(documented_changes(25, env).values()) for env in CONDITIONS.values())
    assert asked == [[*computing, *asleep[:-1]]], "cage2 is the same under both conditions"


@settings(max_examples=30)
@given(rates=st.lists(st.floats(1.0, 1e6), min_size=6, max_size=6, unique=True))
def test_the_factors_multiply_to_the_total(chosen_lab, rates):
    places = list(documented_changes(200).values())
    lab = chosen_lab(rate=lambda case: rates[places.index(case)] if case in places else 1.0)
    found = decompose(lab, 200, rounds=3, steps=2, seconds=0.5)[0]
    factors = [found.factor(lab, place, place + 1).value for place in range(ENV)]
    assert isclose(prod(factors), found.factor(lab, 0, ENV).value, rel_tol=1e-9)
    assert isclose(prod(factors[:POLICY]), found.factor(lab, 0, POLICY).value, rel_tol=1e-9)
    assert isclose(found.factor(lab, 0, ENV).value, rates[-1] / rates[0], rel_tol=1e-9)
