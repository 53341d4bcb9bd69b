"""What the frozen types of the contract say, check and leave out."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from wfbench import contract
from wfbench.contract import (
    Counters,
    DecoyAction,
    EnvInfo,
    EnvRef,
    NotesModel,
    Outcome,
    Plan,
    PluginError,
    Rollout,
    UsageError,
    WorkerError,
    WorkflowModel,
    load_object,
)
from wfbench.contract.claims import Condition, Finding, FindingTable, TrainSample
from wfbench.contract.errors import ExitCode
from wfbench.contract.forms import FormOptions, held_steps
from wfbench.contract.importing import register_local, ship_local
from wfbench.contract.plan import uniform_draws

ENV = EnvRef("x", "a:b")


def test_the_numbers_that_others_rely_on_stay_what_they_are() -> None:
    assert (contract.API_FLOOR, contract.API_VERSION) == (1, 1)
    assert {code.name: int(code) for code in ExitCode} == {
        "OK": 0,
        "REGRESSION": 1,
        "USAGE": 2,
        "TRIAL_FAILED": 3,
        "INCONCLUSIVE": 4,
        "NOT_COMPARABLE": 5,
        "PLUGIN": 6,
        "BUG": 70,
        "INTERRUPTED": 130,
        "TERMINATED": 143,
    }


def test_what_is_left_out_is_nothing() -> None:
    assert Counters(1.0, 2.0, 3.0, 4.0, 5.0) == Counters(1.0, 2.0, 3.0, 4.0, 5.0, 0, 0, 0, 0, ())
    info = EnvInfo((3,), "uint8", 4)
    assert (info.workflow, info.batched, info.unbounded) == (None, False, False)
    assert FindingTable("t", (), ()).factors is False
    assert Outcome(1.0, 1.0, compliant=True, env_steps=1).seed == 0
    spec = contract.ClaimSpec(
        name="x", summary="x", documented="x", conditions="x", measure="a:b", source=""
    )
    assert spec.number == 0


def test_a_plan_needs_a_seed_for_every_environment() -> None:
    plan = Plan(ENV, 1, (7,))
    assert plan.check is True
    for n_envs, seeds, problem in (
        (0, (), "n_envs is 0; it must be at least 1"),
        (2, (7,), "1 env seeds were given for 2 envs"),
        (2, (7, 7), "env seeds repeat"),
    ):
        with pytest.raises(UsageError, match=problem):
            Plan(ENV, n_envs, seeds)
    assert plan.same_envs(Plan(ENV, 1, (8,)))
    assert not plan.same_envs(Plan(ENV, 2, (7, 8)))
    assert not plan.same_envs(Plan(ENV, 1, (7,), check=False))
    assert not plan.same_envs(Plan(EnvRef("y", "a:b"), 1, (7,)))


def test_draws_are_the_same_in_every_version() -> None:
    """Results refer to them: a change here makes every stored result unrepeatable."""
    plan = Plan(ENV, 3, (0, 5, 2**64 - 1))
    drawn = plan.draws(7)
    assert drawn.tolist() == [0.3599788466546566, 0.1350289522686392, 0.5317954147399999]
    assert plan.draws(7, 1).tolist() == drawn[1:].tolist()
    assert plan.draws(7, 1, 2).tolist() == drawn[1:2].tolist()
    many = uniform_draws(np.uint64([[5]]), np.arange(6, 9, dtype=np.uint64))
    assert many.shape == (1, 3)
    assert many[0, 1] == drawn[1]


@pytest.mark.parametrize(
    ("code", "name"),
    [(None, None), (0, None), (3, None), (-1, "SIGHUP"), (-9, "SIGKILL"), (-100, "signal 100")],
)
def test_a_dead_worker_names_its_signal(code: int | None, name: str | None) -> None:
    death = WorkerError("died", worker=0, env=2, exitcode=code, traceback="trace")
    assert death.signal == name
    assert str(death) == "worker 0, env 2: died"
    again = pickle.loads(pickle.dumps(death))  # noqa: S301 - our own bytes
    assert (vars(again), str(again)) == (vars(death), str(death))
    assert str(WorkerError("died", worker=1, env=0, seed=0)) == "worker 1, env 0, seed 0: died"


@pytest.mark.parametrize(
    ("text", "steps"), [("", (0, 0)), ("3", (3, 3)), ("0-8", (0, 8)), ("4-4", (4, 4))]
)
def test_steps_to_hold(text: str, steps: tuple[int, int]) -> None:
    assert held_steps(text) == steps
    assert FormOptions(hold=text, hold_share=0.0).plain == (not text)
    assert not FormOptions(hold=text, hold_share=1.0, orders="all").plain


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"hold": "²"}, "hold is '²'; it must be a number of steps, or LOW-HIGH"),
        ({"hold": "ab"}, "hold is 'ab'; it must be a number of steps, or LOW-HIGH"),
        ({"hold": "3-"}, "hold is '3-'; it must be a number of steps, or LOW-HIGH"),
        ({"hold": "3-2"}, "hold is '3-2'; its end lies before its start"),
        ({"hold_share": -0.1}, "hold_share is -0.1; it must be between 0 and 1"),
        ({"hold_share": 1.1}, "hold_share is 1.1; it must be between 0 and 1"),
        ({"order_code": "x"}, "order_code is 'x'; it must be pairs or positions"),
    ],
)
def test_senseless_forms_are_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        FormOptions(**options)


def test_notes_have_a_feature_for_each_thing_they_tell() -> None:
    decoys = (DecoyAction(9, 0, 80, 80), DecoyAction(8, 1, 80, 80), DecoyAction(7, 1, 21, 80))
    given: dict[str, Any] = {
        "actions": (0, 1),
        "restores": (5, 6),
        "watched": 1,
        "decoys": decoys,
        "preferred": (0,),
        "otherwise": 1,
        "steps": 16,
    }
    assert NotesModel(memory=False, **given).size == 0
    assert NotesModel(memory=True, **given).size == 3 + 2 * 2 + 1 + 16
    past = NotesModel(memory=True, history=True, **given)
    assert past.size == 24 + 3 + 3 * 2 + 2 + 4 + 10
    assert (past.quiet, past.periods, past.period_steps) == (4, 10, 10)
    short = NotesModel(memory=True, history=True, quiet=1, periods=2, **given)
    assert short.size == past.size - 11


def test_an_action_fixes_the_unit_of_its_host() -> None:
    model = WorkflowModel(("a", "b"), ("h", "i"), (1, 0), (-1, 0, 1, -1))
    assert model.fix_unit == (-1, 1, 0, -1)
    assert (model.footholds, model.idle, model.notes) == ((), None, None)


def test_an_environment_is_the_first_one_unless_told_otherwise() -> None:
    options = {"fault": "ctor-raise", "fault_env": 0, "env_index": 5}
    ref = EnvRef("synthetic", "wfbench_synthetic.env:SyntheticEnv", options=options)
    with pytest.raises(ValueError, match="synthetic fault ctor-raise"):
        ref.make()
    ref.make(1).close()


def test_objects_are_found_by_their_path() -> None:
    assert load_object("wfbench.contract.plan:Plan.draws") is Plan.draws
    for path in ("wfbench.contract", "wfbench.contract:", ":Plan", ""):
        with pytest.raises(PluginError, match="is not of the form"):
            load_object(path)
    with pytest.raises(PluginError, match="'NoOne' was defined in another process"):
        load_object("local:NoOne")
    assert ship_local("wfbench.contract.plan:Plan") is None


def test_a_class_of_this_process_is_sent_as_a_whole() -> None:
    path = register_local("Sent", type("Sent", (), {"answer": 42, "__module__": "__main__"}))
    shipment = ship_local(path)
    assert shipment is not None
    register_local("Sent", None)
    shipment.install()
    assert load_object(path)().answer == 42


def rollout(**changes: Any) -> Rollout:
    cells = np.arange(6).reshape(3, 2)
    given: dict[str, Any] = {
        "obs": np.stack([cells, cells + 1], axis=-1).astype(np.uint8),
        "actions": cells,
        "rewards": (cells / 4).astype(np.float32),
        "terminated": cells == 4,
        "truncated": cells == 5,
        "final_obs": np.zeros((2, 2), np.uint8),
        "next_obs": np.zeros((2, 2), np.uint8),
        "compromised": cells.astype(np.uint32),
        "ended_session": cells > 2,
        "log_probs": cells.astype(np.float32),
        "values": cells.astype(np.float32),
        "env_id": np.array([4, 1]),
        "first_step": np.array([30, 30]),
        "policy_version": np.array([0, 0]),
        "counters": Counters(0.0, 0.0, 0.0, 0.0, 0.0),
    }
    return Rollout(**given | changes)


def test_the_hash_of_transitions_is_the_same_in_every_version() -> None:
    one = rollout()
    assert one.transition_hash() == "6e8d6e2518edbdb7dc60e926a709074e"
    assert one.transitions == 6
    assert one.ended.tolist() == [[False] * 2, [False] * 2, [True] * 2]
    assert rollout(rewards=one.rewards * -0.0).transition_hash() == (
        rollout(rewards=one.rewards * 0).transition_hash()
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"verdict": "maybe"},
        {"under": (Condition("here", "1", None, "maybe"),)},  # type: ignore[arg-type]
        {"measured": ""},
        {"measured": " "},
        {"why": "two\nlines"},
        {"why": None},
        {"values": {"a": float("inf")}},
        {"values": {"a": 1.0, "b": float("nan")}},
    ],
)
def test_a_finding_that_says_nothing_is_refused(changes: dict[str, Any]) -> None:
    sound: dict[str, Any] = {"measured": "1 s", "interval": None, "verdict": "reproduced"}
    sound |= {"why": "It is so.", "values": {"a": None, "b": 0.0}}
    assert Finding(**sound).judged == "reproduced"
    with pytest.raises(ValueError, match=r"must be|is none of"):
        Finding(**sound | changes)


def test_a_finding_tells_the_conditions_of_its_verdict_first() -> None:
    under = (
        Condition("small", "1", None, "not reproduced"),
        Condition("large", "2", None, "reproduced"),
    )
    found = Finding(measured="1", interval=None, verdict="reproduced", why="x", under=under)
    assert found.judged == "reproduced (large); not reproduced (small)"


def test_work_is_all_but_start_up_and_the_costs_of_measuring() -> None:
    seconds = {"env": 5.0, "update": 3.0, "start_up": 2.0, "store": 1.0, "observers": 0.5}
    assert TrainSample(0, 0, (), seconds, 0).working == 8.0
