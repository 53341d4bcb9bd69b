from __future__ import annotations

import dataclasses
import json
import math
import multiprocessing
import os
import re
import subprocess
import sys
import time
from statistics import geometric_mean

import psutil
import pytest

from wfbench.benchmarks.measure import rounds
from wfbench.benchmarks.measure.model import (
    PHASES,
    Case,
    EpisodeProof,
    Measurement,
    Sample,
    Session,
    Settings,
)
from wfbench.benchmarks.measure.proof import prove_episodes
from wfbench.benchmarks.measure.runner import run_session, schedule
from wfbench.benchmarks.measure.summary import equal_work, summarise
from wfbench.benchmarks.measure.turns import cpu_of
from wfbench.collecting.seeding import make_plan
from wfbench.contract import EnvRef, PluginError, UsageError, register_local
from wfbench.policies import RandomPolicy
from wfbench.processes import usage as process_tree
from wfbench.report.sections.bench import work_check
from wfbench_collectors.sequential import SequentialCollector
from wfbench_synthetic.options import SyntheticOptions

ENV = EnvRef("synthetic", "wfbench_synthetic.env:SyntheticEnv", None, vars(SyntheticOptions()))
CASE = Case(
    label="a",
    factory="wfbench_collectors.sequential:SequentialCollector",
    options={},
    env=ENV,
    n_envs=3,
    policy="random",
    deterministic=True,
)
MEASURED = Measurement(
    start_up=0.5,
    warm_up=0.1,
    wall=2.0,
    cpu=3.0,
    shut_down=0.0,
    transitions=1000,
    vector_steps=10,
    memory=2**20,
    phases={"env": 1.0, "transport": 0.5, "inference": 0.25, "idle": 0.25},
    messages=0,
    bytes_moved=0,
    restarts=0,
    dropped=0,
    lag_mean=0.0,
    lag_max=0,
    marks=(),
    transition_hash="h",
    batched=False,
)


def case(label: str, *, n_envs: int = 3, deterministic: bool = True) -> Case:
    return dataclasses.replace(CASE, label=label, n_envs=n_envs, deterministic=deterministic)


def sample(index: int, number: int, **changed: object) -> Sample:
    return Sample(index, number, 0, 0, measurement=dataclasses.replace(MEASURED, **changed))


def session(cases: list[Case], samples: list[Sample]) -> Session:
    return Session(tuple(cases), Settings(), tuple(samples))


def test_every_round_has_every_case_once_in_changing_order_and_one_seed():
    rounds = list(schedule(6, Settings(rounds=8)))
    slots = [slot for block in rounds for slot in block]
    assert [slot.position for slot in slots] == list(range(48))
    assert rounds == [[s for s in slots if s.round == number] for number in range(8)]
    assert all(sorted(s.case for s in block) == list(range(6)) for block in rounds)
    assert all(len({s.seed for s in block}) == 1 for block in rounds)
    assert len({s.seed for s in slots}) == 8
    assert len({tuple(s.case for s in block) for block in rounds}) > 4
    assert rounds == list(schedule(6, Settings(rounds=8)))
    assert rounds != list(schedule(6, Settings(rounds=8, seed=1)))


def test_known_figures():
    samples = [sample(0, 0), sample(0, 1), sample(1, 0, wall=1.0), sample(1, 1, wall=1.0)]
    first, second = summarise(session([case("a"), case("b")], samples))
    assert first.figures.rate.value == pytest.approx(500.0)
    assert first.figures.step_ms == 200.0
    assert first.figures.cpu_us == 3000.0
    assert first.figures.phases == {
        "env": 0.5,
        "transport": 0.25,
        "inference": 0.125,
        "idle": 0.125,
    }
    assert (first.ratio, second.ratio.value) == (None, pytest.approx(2.0))


def test_ratios_are_to_the_first_case_with_as_many_envs():
    cases = [case("a", n_envs=3), case("b", n_envs=9), case("c", n_envs=9)]
    samples = [sample(0, 0), sample(1, 0, wall=4.0), sample(2, 0, wall=1.0)]
    a, b, c = summarise(session(cases, samples))
    assert (a.ratio, b.ratio) == (None, None)
    assert c.ratio.value == pytest.approx(4.0)


def test_marked_and_failed_samples_enter_no_mean_and_are_told():
    samples = [
        sample(0, 0),
        sample(0, 1, wall=0.001, marks=("worker 2 restarted",)),
        Sample(0, 2, 0, 0, failure="it hung"),
        sample(1, 0),
        sample(1, 1, wall=1.0),
        sample(1, 2, wall=1.0),
    ]
    a, b = summarise(session([case("a"), case("b")], samples))
    assert a.figures.rate.value == pytest.approx(500.0)
    assert a.excluded == ("worker 2 restarted",)
    assert a.failures == ("it hung",)
    assert b.ratio.value == pytest.approx(1.0)


def test_a_case_without_a_clean_sample_has_no_figures():
    [only] = summarise(session([case("a")], [Sample(0, 0, 0, 0, failure="no")]))
    assert only.figures is None
    assert only.failures == ("no",)


def test_a_sample_far_from_the_others_is_told_and_stays_in_the_mean():
    samples = [sample(0, number, wall=2.0 + 0.01 * number) for number in range(5)]
    samples[3] = sample(0, 3, wall=20.0)
    [only] = summarise(session([case("a")], samples))
    assert only.outliers == (3,)
    assert only.figures.rate.value == pytest.approx(geometric_mean(s.rate for s in samples))


def test_what_others_used_is_told_when_it_is_more_than_the_clock_may_be_off():
    calm = [sample(0, number, foreign_cpu=0.03, voluntary_switches=20) for number in range(3)]
    [only] = summarise(session([case("a")], calm))
    assert not only.figures.disturbed
    assert only.figures.switches is None
    busy = [
        sample(0, number, foreign_cpu=1.02, voluntary_switches=20, involuntary_switches=5)
        for number in range(3)
    ]
    [only] = summarise(session([case("a")], busy))
    assert only.figures.disturbed
    assert only.figures.foreign_cores == pytest.approx(0.5)
    assert only.figures.switches == pytest.approx(2.5)


def test_unequal_work_is_found_in_any_round():
    cases = [case("a"), case("b"), case("c", deterministic=False), case("d", n_envs=9)]
    samples = [
        *(sample(0, number, transition_hash=f"h{number}") for number in range(2)),
        *(sample(1, number, transition_hash=f"h{number}") for number in range(2)),
        sample(2, 0, transition_hash="other"),
        sample(3, 0, transition_hash="nine"),
    ]
    [work] = equal_work(session(cases, samples))
    assert (work.equal, work.labels, work.transition_hash) == (True, ("a", "b"), "h0")
    samples[3] = sample(1, 1, transition_hash="wrong")
    [work] = equal_work(session(cases, samples))
    assert (work.equal, work.odd) == (False, ("b",))


def test_proofs_are_compared_as_far_as_both_go():
    proofs = [EpisodeProof(("w", "x"), 10, 0), EpisodeProof(("w", "x", "y"), 15, 2)]
    samples = [sample(index, 0, proof=proof) for index, proof in enumerate(proofs)]
    [work] = equal_work(session([case("a"), case("b")], samples))
    assert (work.equal, work.steps, work.unended) == (True, 10, 2)
    assert "no episode of 2 envs ended within 10 steps" in work_check(work).says
    samples[1] = sample(1, 0, proof=EpisodeProof(("w", "z"), 10, 0))
    [work] = equal_work(session([case("a"), case("b")], samples))
    assert (work.equal, work.odd) == (False, ("b",))
    samples[1] = sample(1, 0)
    [work] = equal_work(session([case("a"), case("b")], samples))
    assert (work.equal, work.steps, work.unended) == (True, 10, 0)
    assert work_check(work).says.endswith("beyond an episode end of every env")


class LosesTruncatedBeyond(SequentialCollector):
    """Never says of the environments from the third on that they were truncated."""

    def collect(self, policy, steps):
        rollout = super().collect(policy, steps)
        lost = rollout.truncated.copy()
        lost[:, 2:] = False
        kept = ~(rollout.truncated & ~lost)[rollout.ended]
        return dataclasses.replace(rollout, truncated=lost, final_obs=rollout.final_obs[kept])


@pytest.mark.parametrize(("length", "ends"), [(4, 5), (5, 10), (6, 10), (10, 15), (3000, 1000)])
def test_a_proof_goes_a_step_beyond_an_end_of_every_env_or_says_that_it_does_not(length, ends):
    options = vars(SyntheticOptions(episode_length=length))
    plan = make_plan(dataclasses.replace(ENV, options=options), 3, seed=1)
    found = []
    for collector in (SequentialCollector(), LosesTruncatedBeyond()):
        with collector:
            policy = RandomPolicy(collector.open(plan).num_actions)
            proof, marks = prove_episodes(collector, policy, collector.collect(policy, 5), 3)
            found.append(proof)
            assert marks == []
    right, wrong = found
    assert (right.steps, len(right.hashes)) == (ends, ends // 5)
    assert right.unended == (3 if length == 3000 else 0)
    assert (right.hashes == wrong.hashes[: len(right.hashes)]) == (length == 3000)
    same = right.hashes[0] == wrong.hashes[0]
    assert same == (length > 5)


def test_a_ratio_comes_from_turns_and_leaves_disturbed_blocks_out():
    beside = ((100, 1.0, 1.0),) * 16
    turns = ((200, 1.0, 0.5),) * 14 + ((200, 50.0, 0.5),) * 2
    samples = [sample(0, 0), sample(1, 0, wall=9.0, turns=turns, beside=beside), sample(2, 0)]
    taken = session([case("a"), case("b"), case("c")], samples)
    assert summarise(taken)[1].ratio.value == pytest.approx(2.0)
    assert taken.log_ratios(1, 0, cpu_of)[0] == pytest.approx(math.log(0.25))
    # Another case was not beside it: only their windows can be compared.
    assert taken.log_ratios(1, 2)[0] == pytest.approx(math.log(2.0 / 9.0))


def test_a_case_that_warms_up_for_long_takes_no_turns(monkeypatch):
    monkeypatch.setattr(rounds, "_SLOW", 0.0)
    taken = run_session([case("a"), case("b")], Settings(rounds=1, seconds=0.2, steps=2))
    assert [bool(one.measurement.turns) for one in taken.samples] == [False, False]


def test_cases_take_turns_with_the_first_of_their_size():
    cases = [case("a"), case("b"), case("c"), case("d", n_envs=5), case("e", n_envs=5)]
    settings = Settings(rounds=1, seconds=0.2, steps=2)
    taken = run_session(cases, settings)
    assert [one.position for one in taken.samples] == list(range(5))
    found = [one.measurement for index in range(5) for one in taken.of_case(index)]
    assert [bool(one.turns) for one in found] == [False, True, True, False, True]
    for one in (found[1], found[2], found[4]):
        assert len(one.turns) == len(one.beside) >= 4
        assert sum(turn[0] for turn in one.turns) == one.transitions
        assert sum(turn[1] for turn in one.turns) == pytest.approx(one.wall)
        assert sum(turn[2] for turn in one.turns) == pytest.approx(one.cpu)
    first = sum(turn[0] for one in found[1:3] for turn in one.beside)
    assert found[0].transitions == first
    assert len({one.transition_hash for one in found[:3]}) == 1
    alone = run_session(cases[:2], dataclasses.replace(settings, turns=False))
    assert [one.measurement.turns for one in alone.samples] == [(), ()]


def test_a_collect_that_is_too_long_for_turns_has_its_window_alone():
    slow = dataclasses.replace(ENV, options=vars(SyntheticOptions(step=0.002)))
    cases = [case("a"), dataclasses.replace(case("b"), env=slow)]
    taken = run_session(cases, Settings(rounds=1, seconds=0.05, steps=5))
    assert [one.failure for one in taken.samples] == [None, None]
    assert [one.measurement.beside for one in taken.samples] == [(), ()]
    assert all(one.measurement.wall >= 0.05 for one in taken.samples)


@pytest.mark.parametrize("broken", [0, 1])
def test_one_that_fails_in_its_turn_does_not_take_the_other_along(broken):
    env = dataclasses.replace(ENV, options=vars(SyntheticOptions(fault="kill@400")))
    cases = [case("a"), case("b")]
    cases[broken] = dataclasses.replace(cases[broken], env=env, deterministic=False)
    taken = run_session(cases, Settings(rounds=1, seconds=1.0, steps=5))
    [bad], [good] = taken.of_case(broken), taken.of_case(1 - broken)
    assert "died with code -9" in bad.failure
    assert good.measurement.wall >= 1.0
    assert good.measurement.beside == ()


def test_a_real_session_is_whole_and_can_be_written_as_json():
    seen = []
    measured = run_session(
        [CASE, dataclasses.replace(CASE, factory="wfbench_collectors.vector:VectorCollector")],
        Settings(rounds=2, seconds=0.02, steps=5),
        seen.append,
    )
    assert [session.samples for session in seen] == [measured.samples[:n] for n in range(5)]
    assert [s.failure for s in measured.samples] == [None] * 4
    for one in measured.samples:
        found = one.measurement
        assert found.wall >= 0.02
        assert sum(found.phases[name] for name in PHASES) == pytest.approx(found.wall, rel=0.02)
        assert found.transitions == found.vector_steps * 3
        assert found.memory > 2**20
        assert found.cpu > 0
        assert found.voluntary_switches >= 0
        assert found.involuntary_switches >= 0
        assert found.foreign_cpu >= 0
        assert found.load >= 0
    assert all(work.equal for work in equal_work(measured))
    notes = {one.case: one.measurement.notes for one in measured.samples}
    assert notes[0] == ()
    assert "no batched form" in notes[1][0]
    assert json.loads(json.dumps(measured.as_data()))["samples"][0]["measurement"]["wall"] > 0


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        ({"fault": "raise@20"}, "WorkerError: worker 0, env 0.*synthetic fault raise"),
        ({"fault": "kill@20"}, "the process died with code -9"),
        ({"fault": "ctor-raise"}, "could not be built"),
    ],
)
def test_a_fault_is_a_result(options, cause):
    env = dataclasses.replace(ENV, options=vars(SyntheticOptions(**options)))
    measured = run_session(
        [dataclasses.replace(CASE, env=env), CASE], Settings(rounds=1, seconds=0.05, steps=5)
    )
    [bad], [good] = measured.of_case(0), measured.of_case(1)
    assert bad.measurement is None
    assert re.search(cause, bad.failure)
    assert good.measurement is not None


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"rounds": 0}, "rounds is 0"),
        ({"steps": 0}, "steps is 0"),
        ({"seconds": 0.0}, "seconds is 0"),
        ({"seconds": float("nan")}, "seconds is nan"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(setting, message):
    with pytest.raises(UsageError, match=message):
        Settings(**setting)


def _burn(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def test_what_a_stranger_uses_is_foreign_and_what_a_child_uses_is_not():
    burning = "import time\ntime.sleep(0.01)\nprint(flush=True)\nwhile True: pass"
    child = subprocess.Popen([sys.executable, "-c", burning], stdout=subprocess.PIPE)
    cores = os.sched_getaffinity(0)
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == b"\n"
        # On one core that the child keeps busy, nothing is idle.
        os.sched_setaffinity(0, {min(cores)})
        os.sched_setaffinity(child.pid, {min(cores)})
        me, other = psutil.Process(), psutil.Process(child.pid)
        without, whole = process_tree.snapshot([me]), process_tree.snapshot([me, other])
        start = time.perf_counter()
        while process_tree.cpu_seconds([me, other]) - whole.cpu < 0.3:
            assert time.perf_counter() - start < 60
            time.sleep(0.02)
        ours, stranger = process_tree.used_since(whole), process_tree.used_since(without)
        assert ours.cpu >= 0.3
        assert stranger.cpu < 0.2
        assert stranger.foreign_cpu - ours.foreign_cpu > 0.1
        assert ours.voluntary_switches >= 5
        assert whole.switches[0] > without.switches[0]
    finally:
        os.sched_setaffinity(0, cores)
        child.kill()
        child.communicate()


@pytest.mark.parametrize(
    ("busy", "idle", "own", "limit", "answer"),
    [
        (2.0, 0.0, 1.0, 2.0, 1.0),  # two cores, both in use: others had one of them
        (1.5, 0.5, 1.0, 2.0, 0.0),  # they had half a core, and as much was idle
        (22.0, 42.0, 2.0, 2.0, 0.0),  # a container on a host of 64 cores that has room
        (64.0, 0.0, 1.5, 2.0, 2.0),  # the same host, full: no more than all it may use
        (0.9, 1.1, 1.0, 2.0, 0.0),  # the coarse clock lags behind the exact one
    ],
)
def test_only_what_others_take_from_us_is_foreign(busy, idle, own, limit, answer):
    found = process_tree.taken(busy=busy, idle=idle, own=own, limit=limit)
    assert found == pytest.approx(answer)


def test_cpu_time_of_children_is_counted_exactly():
    context = multiprocessing.get_context("spawn")
    child = context.Process(target=time.sleep, args=(60,))
    child.start()
    try:
        tree = [psutil.Process(), psutil.Process(child.pid)]
        before = process_tree.cpu_seconds(tree)
        _burn(0.05)
        own = process_tree.cpu_seconds(tree) - before
        assert own >= 0.05
        assert process_tree._cpu_of(tree[1]) > 0
        assert process_tree._cpu_of(tree[1]) % 0.01 > 0
    finally:
        child.kill()
        child.join()
    assert os.getpid() in {process.pid for process in process_tree.tree()}


def test_a_collector_class_that_no_process_can_import_is_measured():
    class OwnCollector(SequentialCollector):
        pass

    path = register_local("OwnCollector", OwnCollector)
    own = dataclasses.replace(CASE, label="OwnCollector", factory=path)
    settings = Settings(rounds=1, seconds=0.01, steps=2)
    found = run_session([CASE, own], settings)
    assert [sample.failure for sample in found.samples] == [None, None]
    assert [work.equal for work in equal_work(found)] == [True]


def test_a_local_class_that_was_never_registered_is_named():
    unknown = dataclasses.replace(CASE, factory="local:Forgotten")
    with pytest.raises(PluginError, match="'Forgotten'"):
        run_session([unknown], Settings(rounds=1))
