"""The laboratory measures for real: small things, in real processes."""

from __future__ import annotations

import dataclasses

import numpy as np
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from wfbench.benchmarks.measure.model import Settings
from wfbench.benchmarks.measure.runner import run_session
from wfbench.benchmarks.reproduce import laboratory, training
from wfbench.benchmarks.reproduce.training import agreement, training_job
from wfbench.contract import CollectCase, CollectError, TrainCase, UsageError, WorkflowSample
from wfbench.host.manager import PluginSettings, load_plugins

CHEAP = CollectCase(collector="sequential", env="synthetic", n_envs=3)
SMALL = {"n_envs": 2, "max_episodes": 2, "min_episodes": 1, "stop": "budget"}
TRAINING = TrainCase(trainer="ppo-parallel", orders=("0",), env="cage2", settings=SMALL)


def test_collecting_is_interleaved_and_its_figures_agree(make_lab, lines):
    lab = make_lab()
    pair = [CHEAP, CollectCase(collector="sequential", env="synthetic", n_envs=2, policy="network")]
    samples = lab.collect(pair, rounds=2, steps=4, seconds=0.01)
    assert [[one.round for one in of_case] for of_case in samples] == [[0, 1], [0, 1]]
    assert samples[0][0].seed == samples[1][0].seed != samples[0][1].seed
    for case, of_case in zip(pair, samples, strict=True):
        for one in of_case:
            assert one.transitions == one.vector_steps * case.n_envs
            assert one.rate * one.step_ms / 1e3 == pytest.approx(case.n_envs)
            assert one.memory > 1e6
    assert len(lines) == 4
    assert [line[:9] for line in lines] == ["round 1/2"] * 2 + ["round 2/2"] * 2
    assert all(line.endswith(" transitions/s") for line in lines)


def test_collecting_proves_nothing_and_takes_no_turns(make_lab, monkeypatch):
    asked = []

    def run(cases, settings, report):
        asked.append(settings)
        return run_session(cases, settings, report)

    monkeypatch.setattr(laboratory, "run_session", run)
    make_lab(seed=4).collect([CHEAP], rounds=1, steps=2, seconds=0.01)
    assert asked == [
        Settings(rounds=1, steps=2, seconds=0.01, seed=4, proof=False, turns=False),
    ]


def test_the_load_of_the_last_minute_is_kept_before_and_after(make_lab, monkeypatch):
    loads = iter([(1.2345, 7.0, 8.0), (2.3456, 9.0, 10.0)])
    monkeypatch.setattr(psutil, "getloadavg", lambda: next(loads))
    lab = make_lab()
    lab.collect([CHEAP], rounds=1, steps=2, seconds=0.01)
    assert lab.measured[0].load == (1.23, 2.35)


@pytest.mark.parametrize(("measures", "memory"), [(True, 30), (False, 0)])
def test_memory_is_read_after_two_rollouts_of_each_order(monkeypatch, measures, memory):
    readings = iter([10, 20, 5, 30, 99, 99, 99, 99])
    monkeypatch.setattr(training.process_tree, "memory_bytes", lambda _: next(readings))
    watch = training._Watch(memory=measures)
    names = (field.name for field in dataclasses.fields(WorkflowSample))
    finished = {**dict.fromkeys(names, 0), "event": "workflow-finished"}
    rollout = {"event": "update", "env_steps": 5, "transitions": 5, "compliance": 0.5, "return": 1}
    for updates in (3, 4):
        for event in ({"event": "started"}, *[rollout] * updates, finished):
            watch(event)
    assert watch.memory == memory
    assert [one.rollouts.env_steps for one in watch.workflows] == [(5,) * 3, (5,) * 4]


def test_equal_questions_are_measured_once(make_lab, lines):
    lab = make_lab()
    first = lab.collect([CHEAP], rounds=1, steps=2, seconds=0.01)
    lab.used.clear()
    assert lab.collect([CHEAP], rounds=1, steps=2, seconds=0.01) is first
    assert lab.used == {1}
    assert len(lines) == 1
    lab.collect([CHEAP], rounds=1, steps=3, seconds=0.01)
    assert [one.id for one in lab.measured] == [1, 2]
    assert lab.measured[0].settings == {"rounds": 1, "steps": 2, "seconds": 0.01}


def test_a_sample_that_fails_ends_the_measurement_with_its_cause(make_lab):
    broken = CollectCase(collector="sequential", env="synthetic:fault=raise@2", n_envs=1)
    with pytest.raises(CollectError, match=r"sequential on 1 x synthetic:fault=raise@2.*raise"):
        make_lab().collect([broken], rounds=1, steps=3, seconds=0.01)


def test_a_case_that_does_not_exist_is_refused(make_lab):
    lab = make_lab()
    with pytest.raises(UsageError, match="no collector 'nothing'"):
        lab.collect(
            [CollectCase(collector="nothing", env="cage2", n_envs=1)],
            rounds=1,
            steps=1,
            seconds=0.1,
        )
    with pytest.raises(UsageError, match="settings that do not exist"):
        lab.train([TrainCase(trainer="ppo", orders=("0",), settings={"nothing": 1})], rounds=1)
    with pytest.raises(UsageError, match="no order"):
        lab.train([TrainCase(trainer="ppo", orders=())], rounds=1)


def test_orders_of_a_case_are_trained_one_by_one_as_documented():
    job = training_job(load_plugins(PluginSettings(external=False)), TRAINING)
    assert not job.config.joint
    assert job.definition == "effective@2"
    assert job.trainer.options["epochs"] == 4


def test_training_is_the_same_here_and_in_a_process_of_its_own(make_lab, lines):
    two = TrainCase(trainer="ppo-parallel", orders=("DESHU", "EDSHU"), env="cage2", settings=SMALL)
    lab = make_lab(seed=3)
    [[here]] = lab.train([two], rounds=1)
    [[apart]] = lab.train([two], rounds=1, fresh=True)
    assert here.workflows == apart.workflows
    assert here.seed == apart.seed
    assert [one.order for one in here.workflows] == ["D>E>S>H>U", "E>D>S>H>U"]
    for one in here.workflows:
        assert one.rollouts.env_steps == (200, 400)
        assert one.rollouts.transitions == (200, 200)
        assert one.updates == 1
        assert one.env_steps == 400
    assert here.memory == 0
    assert apart.memory > 50e6
    for sample in (here, apart):
        assert {name: round(spent, 6) for name, spent in sample.seconds.items()} == sample.seconds
        assert 0 < sample.working < sum(sample.seconds.values())
    assert len(lines) == 2


def test_of_a_long_training_forty_rollouts_are_kept_from_the_first_to_the_last(make_lab, lines):
    settings = SMALL | {"n_envs": 1, "max_episodes": 45}
    env = "synthetic-batch:obs_size=4,episode_length=100"
    long = TrainCase(trainer="ppo-parallel", orders=("0",), env=env, settings=settings)
    lab = make_lab()
    [[whole]] = lab.train([long], rounds=1)
    assert whole.workflows[0].rollouts.env_steps == tuple(range(100, 4501, 100))
    [measured] = lab.measured
    kept = measured.samples[0][0]["workflows"][0]["rollouts"]
    assert {len(values) for values in kept.values()} == {40}
    assert (kept["env_steps"][0], kept["env_steps"][-1]) == (100, 4500)
    assert set(np.diff(kept["env_steps"])) == {100, 200}
    assert [round(one, 2) for one in measured.load] == list(measured.load)
    [line] = lines
    assert line.startswith(f"round 1/1  ppo-parallel  {long.collector}  {env}  4,500 steps  ")


def test_another_seed_gives_another_training(make_lab):
    lab = make_lab(seed=1)
    first = lab.train([TRAINING], rounds=1)
    [[one]] = first
    turned = dataclasses.replace(TRAINING, settings=dict(reversed(SMALL.items())))
    assert lab.train([turned], rounds=1) is first, "settings have no sequence"
    [[other]] = make_lab(seed=2).train([TRAINING], rounds=1)
    assert one.workflows != other.workflows


def test_larger_batches_have_less_noise_at_the_same_policy(make_lab, lines):
    small, large = make_lab().gradients(
        TRAINING, [(1, 1), (40, 1)], count=6, rounds=1, part="actor"
    )
    assert (small[0].transitions, large[0].transitions) == (100, 4_000)
    assert large[0].variance < small[0].variance / 8
    assert -1 <= small[0].cosine <= 1
    assert large[0].batches == 6
    assert [line.partition("  cosine")[0] for line in lines] == [
        f"round 1/1  gradients of {n_envs} x 1 episodes" for n_envs in (1, 40)
    ]


def test_gradients_need_a_trainer_that_tells_them(make_lab):
    blind = TrainCase(trainer="ppo", orders=("0",), env="cage2", settings=SMALL)
    with pytest.raises(UsageError, match="trainer 'ppo' has no method gradient"):
        make_lab().gradients(blind, [(1, 1)], count=2, rounds=1)
    with pytest.raises(UsageError, match="no gradient's name starts with 'nobody'"):
        make_lab().gradients(TRAINING, [(1, 1)], count=2, rounds=1, part="nobody")
    with pytest.raises(UsageError, match="2 or more"):
        make_lab().gradients(TRAINING, [(1, 1)], count=1, rounds=1)


def test_agreement_of_known_gradients():
    same = np.array([[3.0, 4.0], [3.0, 4.0]])
    assert agreement(same) == pytest.approx((1.0, 0.0, 25.0))
    opposite = np.array([[3.0, 4.0], [-3.0, -4.0]])
    assert agreement(opposite) == pytest.approx((-1.0, 50.0, -25.0))
    across = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert agreement(across) == pytest.approx((0.0, 1.0, 0.0))


# Lengths are squared on the way: of numbers below 1e-150 nothing precise would be left.
SIZES = st.just(0.0) | st.floats(1e-100, 10) | st.floats(-10, -1e-100)


@given(arrays(np.float64, (5, 3), elements=SIZES), st.floats(0.1, 10))
def test_agreement_does_not_depend_on_the_unit(gradients, scale):
    cosine, variance, signal = agreement(gradients)
    scaled = agreement(scale * gradients)
    assert -1 - 1e-9 <= cosine <= 1 + 1e-9
    assert scaled == pytest.approx((cosine, scale**2 * variance, scale**2 * signal), abs=1e-6)


def test_signal_and_variance_are_unbiased():
    rng = np.random.default_rng(0)
    truth = np.array([2.0, 0.0, 1.0])
    found = [agreement(truth + rng.normal(0, 1, (6, 3))) for _ in range(4000)]
    _, variance, signal = np.mean(found, axis=0)
    assert variance == pytest.approx(3.0, rel=0.03)
    assert signal == pytest.approx(5.0, rel=0.03)
