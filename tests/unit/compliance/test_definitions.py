"""Each definition, on cells whose verdict is known, and against a second implementation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wfbench.contract import Rollout, UsageError, WorkflowModel
from wfbench.orders.compliance import DEFINITIONS, MIN_CHOICES, Shaper, find_definition

A0, B0, FOOTHOLD, C1 = 1, 2, 4, 8
FIX_A, FIX_B, FIX_FOOTHOLD, FIX_C1 = 1, 2, 3, 4
ABC = (0, 1, 2)
NEUTRAL = None

# (mask, action, did it end a session) -> verdict by strict, strict-nofoothold, effective@1,
# precedence, precedence-neutral; order a>b>c.
KNOWN = [
    (0, FIX_A, False, (1, NEUTRAL, NEUTRAL, 1, NEUTRAL)),
    (FOOTHOLD, FIX_A, False, (0, NEUTRAL, NEUTRAL, 1, NEUTRAL)),
    (FOOTHOLD, FIX_C1, False, (1, NEUTRAL, NEUTRAL, 1, NEUTRAL)),
    (FOOTHOLD, FIX_FOOTHOLD, True, (1, NEUTRAL, NEUTRAL, 1, NEUTRAL)),
    (FOOTHOLD | C1, FIX_C1, True, (1, 1, 1, 1, 1)),
    (FOOTHOLD | C1, FIX_C1, False, (1, 1, NEUTRAL, 1, 1)),
    (FOOTHOLD | C1, FIX_FOOTHOLD, False, (1, 1, NEUTRAL, 1, 1)),
    (FOOTHOLD | C1, FIX_B, False, (0, 0, NEUTRAL, 1, 1)),
    (FOOTHOLD | C1 | B0, FIX_C1, True, (0, 0, 0, 0, 0)),
    (FOOTHOLD | C1 | B0, FIX_B, True, (1, 1, 1, 1, 1)),
    (FOOTHOLD | C1 | B0, FIX_A, False, (0, 0, NEUTRAL, 1, 1)),
    (FOOTHOLD | A0 | B0, FIX_B, True, (0, 0, 0, 0, 0)),
    (FOOTHOLD | A0 | B0, FIX_B, False, (0, 0, NEUTRAL, 0, 0)),
    (FOOTHOLD | A0 | B0, FIX_A, True, (1, 1, 1, 1, 1)),
]
NAMES = ("strict", "strict-nofoothold", "effective", "precedence", "precedence-neutral")


@pytest.mark.parametrize(("mask", "action", "ended", "verdicts"), KNOWN)
def test_known_verdicts(
    tiny: WorkflowModel,
    make_rollout: Callable[..., Rollout],
    mask: int,
    action: int,
    ended: bool,  # noqa: FBT001
    verdicts: tuple[int | None, ...],
) -> None:
    rollout = make_rollout([[action]], mask, ended, ends=True)
    for name, verdict in zip(NAMES, verdicts, strict=True):
        episodes = Shaper(tiny, ABC, definition=f"{name}@1").shape(rollout).episodes
        assert episodes.counted.tolist() == [0 if verdict is None else 1], name
        assert episodes.compliance.tolist() == [0.5 if verdict is None else verdict], name
        assert episodes.fixes.tolist() == [1]
        assert episodes.wasted.tolist() == [int(not ended)]


@pytest.mark.parametrize(
    ("mask", "action", "ended", "counted", "compliance"),
    [
        (FOOTHOLD | C1 | B0, FIX_C1, True, 1, 0.0),
        (FOOTHOLD | C1 | B0, FIX_B, True, 1, 1.0),
        (FOOTHOLD | C1 | B0, FIX_B, False, 0, 0.5),
        (FOOTHOLD | C1 | B0, FIX_FOOTHOLD, True, 0, 0.5),
        (FOOTHOLD | C1, FIX_C1, True, 0, 1.0),
        (FOOTHOLD | C1, FIX_C1, False, 0, 0.5),
        (FOOTHOLD, FIX_FOOTHOLD, True, 0, 0.5),
        (FOOTHOLD | C1, FIX_FOOTHOLD, True, 0, 0.5),
        (0, FIX_A, False, 0, 0.5),
    ],
)
def test_known_verdicts_on_choices(
    tiny: WorkflowModel,
    make_rollout: Callable[..., Rollout],
    mask: int,
    action: int,
    ended: bool,  # noqa: FBT001
    counted: int,
    compliance: float,
) -> None:
    rollout = make_rollout([[action]], mask, ended, ends=True)
    episodes = Shaper(tiny, ABC, definition="effective@2").shape(rollout).episodes
    assert episodes.counted.tolist() == [counted]
    assert episodes.compliance.tolist() == [compliance]
    assert episodes.fixes.tolist() == [1]


def test_fixes_without_a_choice_do_not_dilute_a_wrong_one(
    tiny: WorkflowModel, make_rollout: Callable[..., Rollout]
) -> None:
    actions = [FIX_C1] * 20
    masks = [C1] * 10 + [B0 | C1] + [C1] * 9
    rollout = make_rollout(
        np.array([actions]).T, np.array([masks]).T, ended_session=True, ends=False
    )
    rollout.truncated[-1] = True
    diluted, graded = (
        Shaper(tiny, ABC, definition=name).shape(rollout) for name in ("effective@1", "effective@2")
    )
    assert diluted.episodes.compliance.tolist() == [0.95]
    assert graded.episodes.compliance.tolist() == [0.0]
    assert graded.episodes.counted.tolist() == [1]
    assert np.flatnonzero(graded.alignment).tolist() == [0, 10]
    assert graded.alignment[[0, 10], 0].tolist() == [15.0, -30.0]


def test_targeted_looks_at_earlier_targets_only(
    tiny: WorkflowModel, make_rollout: Callable[..., Rollout]
) -> None:
    actions = [FIX_B, FIX_A, FIX_C1, FIX_B, FIX_C1, 0, FIX_A]
    rollout = make_rollout(np.array([actions, actions]).T, A0 | C1, ended_session=False, ends=False)
    rollout.truncated[-1] = True
    verdicts = [0, 1, 1, 1, 1, 1]
    shaped = Shaper(tiny, ABC, definition="targeted").shape(rollout)
    assert shaped.episodes.compliance.tolist() == [sum(verdicts) / 6] * 2
    backwards = Shaper(tiny, (2, 1, 0), definition="targeted").shape(rollout)
    assert backwards.episodes.compliance.tolist() == [4 / 6] * 2


def test_targets_are_forgotten_when_the_episode_ends(
    tiny: WorkflowModel, make_rollout: Callable[..., Rollout]
) -> None:
    rollout = make_rollout([[FIX_A], [FIX_B], [FIX_B]], 0, ended_session=False, ends=False)
    rollout.truncated[1:] = True
    episodes = Shaper(tiny, ABC, definition="targeted").shape(rollout).episodes
    assert episodes.compliance.tolist() == [1.0, 0.0]


JUDGED = ["strict", "strict-nofoothold", "precedence", "precedence-neutral", "targeted"]
JUDGED += ["effective@1", "effective@2"]


@dataclass
class Slow:
    """The definitions once more, as plain as can be, for one environment."""

    name: str
    model: WorkflowModel
    order: tuple[int, ...]
    verdicts: list[bool] = field(default_factory=list)
    forced: int = 0
    targeted: set[int] = field(default_factory=set)

    def see(self, action: int, mask: int, ended: bool) -> None:  # noqa: FBT001
        host = self.model.fix_host[action]
        if host < 0:
            return
        unit = self.model.host_unit[host]
        hosts = [h for h in range(len(self.model.hosts)) if mask >> h & 1]
        if self.name != "strict":
            hosts = [h for h in hosts if h not in self.model.footholds]
        hit = {self.model.host_unit[h] for h in hosts}
        ranked = [u for u in self.order if u in hit]
        before = set(self.order[: self.order.index(unit)])
        if self.name == "targeted":
            self.verdicts.append(before <= self.targeted)
        elif not ranked:
            if self.name in {"strict", "precedence"}:
                self.verdicts.append(True)
        elif self.name.startswith("precedence"):
            self.verdicts.append(not before & hit)
        elif self.name == "effective@2":
            if ended and host not in self.model.footholds:
                self.forced += len(ranked) == 1
                self.verdicts += [unit == ranked[0]] * (len(ranked) > 1)
        elif self.name != "effective@1" or ended:
            self.verdicts.append(unit == ranked[0])
        self.targeted.add(unit)

    def compliance(self) -> float:
        ungraded = 1.0 if self.forced else 0.5
        return sum(self.verdicts) / len(self.verdicts) if self.verdicts else ungraded


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32),
    order=st.permutations(range(3)).map(tuple),
    name=st.sampled_from(JUDGED),
    secondary=st.sampled_from(JUDGED),
)
def test_equal_to_a_plain_implementation(
    tiny: WorkflowModel,
    make_rollout: Callable[..., Rollout],
    seed: int,
    order: tuple[int, ...],
    name: str,
    secondary: str,
) -> None:
    rng = np.random.default_rng(seed)
    shape = (17, 3)
    rollout = make_rollout(
        rng.integers(5, size=shape),
        rng.integers(16, size=shape),
        rng.random(shape) < 0.5,
        rng.random(shape) < 0.2,
        rewards=rng.normal(size=shape),
    )
    expected = []
    for column in range(shape[1]):
        judges = Slow(name, tiny, order), Slow(secondary, tiny, order)
        for step in range(shape[0]):
            for judge in judges:
                judge.see(
                    int(rollout.actions[step, column]),
                    int(rollout.compromised[step, column]),
                    bool(rollout.ended_session[step, column]),
                )
            if rollout.truncated[step, column]:
                key = step * shape[1] + column
                expected.append((key, column, *(judge.compliance() for judge in judges)))
                judges = Slow(name, tiny, order), Slow(secondary, tiny, order)
    expected.sort()
    episodes = Shaper(tiny, order, definition=name, secondary=secondary).shape(rollout).episodes
    assert episodes.env_id.tolist() == [one[1] for one in expected]
    assert episodes.compliance.tolist() == pytest.approx([one[2] for one in expected])
    assert episodes.secondary.tolist() == pytest.approx([one[3] for one in expected])


def test_definitions_are_what_they_were() -> None:
    """A changed rule gets a new version; these are those that results were judged by."""
    found = {}
    for name, one in DEFINITIONS.items():
        flags = {part.name for part in fields(one) if getattr(one, part.name) is True}
        found[name] = (one.rule.name, one.idle.name, *sorted(flags))
    choices = ("FIRST", "NEUTRAL", "ignore_footholds", "only_choices", "only_ending")
    both = ("foothold_targets", "ignore_footholds")
    assert found == {
        "strict@1": ("FIRST", "COMPLIANT", "foothold_targets"),
        "strict-nofoothold@1": ("FIRST", "NEUTRAL", *both),
        "effective@1": ("FIRST", "NEUTRAL", *both, "only_ending"),
        "effective@2": choices,
        "choices@1": (*choices, "pooled"),
        "precedence@1": ("NONE_BEFORE", "COMPLIANT", *both),
        "precedence-neutral@1": ("NONE_BEFORE", "NEUTRAL", *both),
        "targeted@1": ("TARGETED", "COMPLIANT", "foothold_targets"),
    }


def test_fewer_than_50_choices_are_untested() -> None:
    assert MIN_CHOICES == 50


def test_a_name_means_its_newest_version_and_an_id_means_itself() -> None:
    for name in (*NAMES, "targeted"):
        versions = [one.version for one in DEFINITIONS.values() if one.name == name]
        assert find_definition(name).version == max(versions)
    for identifier, definition in DEFINITIONS.items():
        assert find_definition(identifier) is definition
        assert definition.id == identifier


def test_an_unknown_definition_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="definition 'lenient'; choose one of strict@1"):
        find_definition("lenient")
    with pytest.raises(UsageError, match="effective@99"):
        find_definition("effective@99")
