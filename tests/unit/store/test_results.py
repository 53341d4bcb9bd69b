"""Which result is the best, what a searcher is told of it, and what a stored value may be."""

from __future__ import annotations

import itertools
import math
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pytest

from wfbench.contract import UsageError
from wfbench.store.decoding import decode
from wfbench.store.event_log import read_lines
from wfbench.store.events import JOINT, NOT_FINITE, ORDER, WorkflowResult, best_of, better
from wfbench.store.files import AppendedFile, load_json
from wfbench.store.lock import RunLock, in_use
from wfbench.store.machine import same_machine

RESULT = WorkflowResult(
    workflow=0,
    order=(0, 1),
    seed=7,
    inherited_from=None,
    status="budget",
    reason="episodes",
    score=-3.0,
    score_sd=4.0,
    score_episodes=4,
    score_source="evaluate:4",
    compliance=0.5,
    secondary_compliance=0.25,
    fixes=3.0,
    counted=2.0,
    wasted=1.0,
    compliant=False,
    steps_to_compliance=None,
    updates=1,
    env_steps=20,
    evaluation_steps=5,
    episodes=2,
)
COMPLIANT = replace(RESULT, compliant=True, score=-30.0)
HIGHER = replace(RESULT, score=-2.0)
DIVERGED = replace(RESULT, score=9.0, reason=NOT_FINITE)
WITHOUT_SCORE = replace(RESULT, compliant=True, score=math.nan)


def test_the_best_complies_then_has_the_highest_score_in_whatever_sequence() -> None:
    for some in itertools.permutations([RESULT, HIGHER, DIVERGED, WITHOUT_SCORE]):
        assert best_of(some) is HIGHER
        assert best_of([*some, COMPLIANT]) is COMPLIANT
    assert not better(replace(RESULT, workflow=1), RESULT), "of equals the first stays"
    assert best_of([DIVERGED, WITHOUT_SCORE]) is None


def test_the_best_of_a_joint_run_is_its_first_joint_training() -> None:
    joint = [replace(RESULT, stage=JOINT, workflow=n, score=n) for n in range(2)]
    special = replace(COMPLIANT, stage="specialised", workflow=2)
    assert best_of([*joint, special]) is joint[0]
    assert best_of([special]) is None


def test_what_follows_from_a_result() -> None:
    assert RESULT.sound
    assert not DIVERGED.sound
    assert RESULT.score_error == 2.0
    assert replace(RESULT, score_episodes=2, score_sd=math.sqrt(8)).score_error == pytest.approx(2)
    assert math.isnan(replace(RESULT, score_episodes=1).score_error)
    swept = [
        replace(one, stage=stage).swept for one in (RESULT, DIVERGED) for stage in (ORDER, JOINT)
    ]
    assert swept == [False, True, False, False]
    told = RESULT.outcome()
    assert (told.score, told.env_steps, told.compliant, told.seed) == (-3.0, 25, False, 7)


def test_machines_are_the_same_if_processor_and_cores_are() -> None:
    here = {"cpu": "one", "usable_cores": 2, "load": [0.0]}
    assert same_machine(here, {**here, "load": [3.0]})
    assert not same_machine(here, {**here, "usable_cores": 4})
    assert not same_machine(here, {**here, "cpu": "two"})


def test_a_folder_without_a_lock_is_not_in_use(tmp_path: Path) -> None:
    assert not in_use(tmp_path)


@dataclass(frozen=True)
class Kept:
    """Something that is kept in a file."""

    kind: Literal["a", "b"] = "a"
    pair: tuple[int, float] = (1, 2.0)
    many: tuple[int, ...] = ()
    text: str | None = None


def test_stored_values_come_back_as_what_they_were() -> None:
    values = {"kind": "b", "pair": [3, 4], "many": [1, 2, 3], "text": None}
    assert decode(Kept, values, "it") == Kept("b", (3, 4.0), (1, 2, 3), None)
    assert math.isnan(decode(Kept, {"pair": [1, None]}, "it").pair[1])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"kind": "c"}, "it, kind is 'c', not one of a, b"),
        ({"pair": [1]}, r"it, pair has 1 values, not 2"),
        ({"pair": [True, 1.0]}, r"it, pair\[0\] is True, not of type int"),
        ({"many": "x" * 38}, f"it, many is '{'x' * 38}', not a list"),
        ({"many": "x" * 39}, f"it, many is '{'x' * 36}[.][.][.], not a list"),
        ({"text": 3}, "it, text is 3, not of type str"),
    ],
)
def test_a_stored_value_of_another_type_is_named(values: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=f"^{message}$"):
        decode(Kept, values, "it")


@pytest.mark.parametrize("read", [read_lines, load_json])
def test_what_cannot_be_read_is_named(read: Callable[[Path], object], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"^cannot read {tmp_path}: Is a directory$"):
        read(tmp_path)


def test_everybody_may_read_what_only_its_owner_writes(tmp_path: Path) -> None:
    usual = os.umask(0o022)
    lock, file = RunLock(tmp_path), AppendedFile(tmp_path / "log")
    os.umask(usual)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    lock.release()
    file.close()
    assert modes == {"lock": 0o644, "log": 0o644}
