from __future__ import annotations

import logging
import threading
import time
from queue import SimpleQueue
from types import SimpleNamespace

import numpy as np
import pytest

from wfbench.collecting.seeding import make_plan
from wfbench.contract import Acts, Deadlines, EnvRef, PluginError, UsageError, WorkerError
from wfbench.contract.errors import DeadlineError
from wfbench.policies import NetworkPolicy, RandomPolicy
from wfbench.processes.compile_time import compile_began, compile_ended
from wfbench_collectors.sequential import SequentialCollector
from wfbench_collectors.threads import ThreadTask, run_all
from wfbench_collectors.vector import VectorCollector
from wfbench_synthetic.env import SyntheticEnv
from wfbench_synthetic.options import SyntheticBatchOptions, SyntheticOptions

SHAPE = {"num_actions": 6, "episode_length": 4}
BATCH = EnvRef(
    "synthetic-batch",
    "wfbench_synthetic.env:free_env",
    "wfbench_synthetic.batch:SyntheticBatch",
    vars(SyntheticBatchOptions(**SHAPE)),
)


def scalar(**options: object) -> EnvRef:
    return EnvRef(
        "synthetic",
        "wfbench_synthetic.env:SyntheticEnv",
        None,
        vars(SyntheticOptions(**SHAPE, **options)),
    )


def hashes(collector, plan, policies, steps=9) -> list[str]:
    with collector:
        collector.open(plan)
        return [collector.collect(policy, steps).transition_hash() for policy in policies]


@pytest.mark.parametrize("threads", [0, 1, 2, 7, 100])
def test_any_number_of_threads_collects_what_sequential_does(threads):
    plan = make_plan(BATCH, 23, 5)
    first = NetworkPolicy.initial(52, 6, 1)
    policies = [first, first, NetworkPolicy.initial(52, 6, 2), RandomPolicy(6)]
    expected = hashes(SequentialCollector(), plan, policies)
    assert hashes(VectorCollector(threads), plan, policies) == expected


@pytest.mark.parametrize("other", [make_plan(BATCH, 9, 6), make_plan(BATCH, 7, 5)])
def test_a_reset_keeps_the_environments_that_are_wanted_again(other):
    with VectorCollector(2) as collector:
        collector.open(make_plan(BATCH, 9, 5))
        collector.collect(RandomPolicy(6), 3)
        envs = [part.envs for part in collector._parts]
        collector.reset(other)
        kept = [part.envs is before for part, before in zip(collector._parts, envs, strict=True)]
        assert kept == [other.n_envs == 9] * 2
        found = collector.collect(RandomPolicy(6), 9).transition_hash()
    assert [found] == hashes(SequentialCollector(), other, [RandomPolicy(6)])


def test_it_uses_the_batched_form_and_says_so():
    with VectorCollector(2) as collector:
        assert collector.open(make_plan(BATCH, 8, 1)).batched


def test_a_policy_changed_in_place_is_copied_again():
    plan, copied = make_plan(BATCH, 8, 5), []

    class Fixed:
        def __init__(self, action: int, version: int) -> None:
            self.action, self.version = action, version

        def act(self, obs, draws):
            assert len(obs) == len(draws)
            rows = len(obs)
            return Acts(
                np.full(rows, self.action), np.zeros(rows, np.float32), np.zeros(rows, np.float32)
            )

        def snapshot(self):
            copied.append(self.action)
            made = Fixed(self.action, self.version)
            return type("Snapshot", (), {"policy": lambda _self: made})()

    policy = Fixed(1, 0)
    with VectorCollector(4) as collector:
        collector.open(plan)
        for _ in range(3):
            assert (collector.collect(policy, 3).actions == 1).all()
        assert copied == [1], "it was the same"
        policy.action, policy.version = 4, 1
        rollout = collector.collect(policy, 3)
        assert (rollout.actions == 4).all()
        assert (rollout.policy_version == 1).all()


def test_an_env_without_a_batched_form_is_stepped_one_by_one_with_a_warning(caplog):
    plan = make_plan(scalar(), 6, 5)
    policies = [RandomPolicy(6)] * 2
    with caplog.at_level(logging.WARNING):
        found = hashes(VectorCollector(3), plan, policies)
    assert found == hashes(SequentialCollector(), plan, policies)
    [record] = caplog.records
    assert "'synthetic' has no batched form" in record.getMessage()
    with VectorCollector(3) as collector:
        assert not collector.open(plan).batched
        assert len(collector._parts) == 1, "environments of one thread"


@pytest.fixture
def hangs_end(monkeypatch):
    """Let threads that hang go when the test is over: who comes after may want to fork."""
    released, before = threading.Event(), set(threading.enumerate())

    def sleep(_):
        released.wait()
        raise RuntimeError("the test is over")

    monkeypatch.setattr("wfbench_synthetic.faults.time", SimpleNamespace(sleep=sleep))
    yield
    released.set()
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
    assert set(threading.enumerate()) <= before


@pytest.mark.usefixtures("hangs_end")
@pytest.mark.parametrize("fault", ["hang@3", "ctor-hang"])
def test_a_hang_is_reported_at_its_deadline_and_close_does_not_wait_for_it(fault, monkeypatch):
    closed = []
    monkeypatch.setattr(SyntheticEnv, "close", lambda _: closed.append("closed"))
    deadlines = Deadlines(start=0.5, step=0.5, close=0.5)
    plan = make_plan(scalar(fault=fault, fault_env=1), 3, 5, deadlines=deadlines)
    collector = VectorCollector()
    started = time.monotonic()
    with pytest.raises(DeadlineError):  # noqa: PT012 - which of the two hangs is the parameter
        collector.open(plan)
        collector.collect(RandomPolicy(6), 9)
    collector.close()
    collector.close()
    assert time.monotonic() - started < 20
    assert not closed, "a thread is in there"


def test_actions_that_do_not_exist_never_reach_the_kernel():
    class Wild(RandomPolicy):
        def act(self, obs, draws):
            return super().act(obs, draws)._replace(actions=np.full(len(obs), 6))

    with VectorCollector(2) as collector:
        collector.open(make_plan(BATCH, 4, 1))
        with pytest.raises(PluginError, match="chose action 6"):
            collector.collect(Wild(6), 3)


class SpoiltBatch:
    """The batched form with NaN in row 3 at the fifth step, or an error instead."""

    def __init__(self, num_envs, *, error, **options):
        from wfbench_synthetic.batch import SyntheticBatch

        self._inner = SyntheticBatch(num_envs, **options)
        self.info, self.num_envs = self._inner.info, num_envs
        self._error = error
        self._steps = 0

    def reset(self, seeds, obs):
        self._inner.reset(seeds, obs)

    def step(self, actions, out):
        self._inner.step(actions, out)
        self._steps += 1
        if self._steps == 5 and self.num_envs > 4:
            if self._error:
                raise ValueError("the kernel is unwell")
            out.rewards[3] = np.nan

    def close(self):
        raise RuntimeError("cannot close")


@pytest.mark.parametrize(
    ("error", "message"),
    [(False, "worker 1, env 7, seed .*reward that is not finite"), (True, "envs 4 to 8: ValueErr")],
)
def test_what_a_batched_form_does_wrong_is_named(monkeypatch, caplog, error, message):
    monkeypatch.setattr("wfbench_synthetic.batch.Spoilt", SpoiltBatch, raising=False)
    ref = EnvRef("spoilt", "-:-", "wfbench_synthetic.batch:Spoilt", {"error": error, **SHAPE})
    plan = make_plan(ref, 9, 1)
    collector = VectorCollector(2)
    collector.open(plan)
    with pytest.raises(WorkerError, match=message):
        collector.collect(RandomPolicy(6), 8)
    collector.close()
    said = [(record.getMessage(), bool(record.exc_info)) for record in caplog.records]
    assert sorted(said) == [
        (f"environments of slice {part} could not be closed", True) for part in range(2)
    ]


def test_what_was_never_built_is_not_closed(caplog):
    with pytest.raises(WorkerError, match="worker 0, env 1"):
        VectorCollector().open(make_plan(scalar(fault="ctor-raise", fault_env=1), 3, 5))
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        "environment 'synthetic' has no batched form"
    ]


def test_what_nobody_wants_checked_is_taken_as_it_is(monkeypatch):
    monkeypatch.setattr("wfbench_synthetic.batch.Spoilt", SpoiltBatch, raising=False)
    ref = EnvRef("spoilt", "-:-", "wfbench_synthetic.batch:Spoilt", {"error": False, **SHAPE})
    with VectorCollector(1) as collector:
        collector.open(make_plan(ref, 9, 1, check=False))
        rewards = collector.collect(RandomPolicy(6), 8).rewards
    assert np.argwhere(np.isnan(rewards)).tolist() == [[4, 3]]


def test_threads_must_not_be_negative():
    with pytest.raises(UsageError, match="threads is -1"):
        VectorCollector(-1)


def test_no_thread_is_left():
    before = threading.active_count()
    hashes(VectorCollector(3), make_plan(BATCH, 9, 1), [RandomPolicy(6)] * 3)
    assert threading.active_count() == before


def test_the_first_error_stops_the_others():
    stopped = threading.Event()

    def fails(_task):
        raise ValueError("first")

    def works(task):
        while task.beat(time.perf_counter()):
            time.sleep(0.005)
        stopped.set()

    with pytest.raises(ValueError, match="first"):
        run_all([works, fails], 30.0, "a test")
    assert stopped.is_set()


def test_progress_postpones_the_deadline():
    def slow(task):
        for _ in range(30):
            time.sleep(0.05)
            task.beat(time.perf_counter())

    run_all([slow], 1.0, "a test")


def test_a_thread_that_hangs_does_not_keep_the_process() -> None:
    assert ThreadTask(lambda _task: None, SimpleQueue()).daemon


def test_the_deadline_does_not_count_compiling():
    def slow(_task):
        compile_began()
        time.sleep(0.6)
        compile_ended()

    run_all([slow], 0.2, "a test")
    with pytest.raises(DeadlineError, match="a test took longer"):
        run_all([lambda _task: time.sleep(5.0)], 0.2, "a test")
