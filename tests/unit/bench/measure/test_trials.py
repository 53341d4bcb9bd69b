"""Which cases are chosen, and what one trial of a case measures."""

from __future__ import annotations

import contextlib
import itertools
import math
import time
from dataclasses import replace
from typing import Any

import psutil
import pytest

from wfbench.benchmarks.measure import trial
from wfbench.benchmarks.measure.cases import rebuild_case, select_cases
from wfbench.benchmarks.measure.model import (
    PHASES,
    Case,
    Measurement,
    Sample,
    Settings,
    make_settings,
)
from wfbench.contract import CollectError, Counters, EnvInfo, EnvRef, UsageError
from wfbench.host.manager import PluginHost, PluginSettings, load_plugins
from wfbench.policies import NetworkPolicy, RandomPolicy
from wfbench.processes.usage import Used
from wfbench_collectors.sequential import SequentialCollector
from wfbench_synthetic.options import SyntheticOptions

SHAPE = "obs_size=6,num_actions=5,episode_length=10"


@pytest.fixture(scope="module")
def host() -> PluginHost:
    return load_plugins(PluginSettings(external=False))


def cases(host: PluginHost, **changed: Any) -> list[Case]:
    given = {"collectors": ["sequential"], "env": f"synthetic:{SHAPE}", "n_envs": [2]}
    return select_cases(host, **{**given, "policy": "random", **changed})


def test_all_that_fit_are_chosen_and_the_reference_is_first(host: PluginHost) -> None:
    found = cases(host, collectors=["all"], n_envs=[2, 4], workers=1)
    half = len(found) // 2
    assert [case.n_envs for case in found] == [2] * half + [4] * half
    labels = [case.label for case in found[:half]]
    assert labels[0] == "sequential"
    assert {"pipe:workers=1", "shm:workers=1"} <= set(labels)
    known = {case.label: case.deterministic for case in found}
    assert known["sequential"]
    assert not known["async:workers=1"]
    assert all(case.source for case in found)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"workers": 2}, "no selected collector has workers"),
        ({"policy": "wise"}, "there is no policy 'wise'; choose from "),
    ],
)
def test_what_cannot_be_measured_is_refused(
    host: PluginHost, changed: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        cases(host, **changed)


def test_a_stored_case_is_built_anew(host: PluginHost) -> None:
    [case] = cases(host, collectors=["shm"], shared={"workers": 2})
    assert case.options["workers"] == 2
    assert rebuild_case(host, replace(case, factory="gone:Gone")) == case


def test_options_go_to_the_plugin_they_are_given_for(host: PluginHost) -> None:
    [case] = cases(host, collectors=["shm"], options={"shm": {"workers": 2}})
    assert (case.label, case.options["workers"]) == ("shm:workers=2", 2)
    plain = {"smoke": False, "scaling": False, "proof": True, "turns": True}
    assert Settings() == Settings(rounds=5, seconds=0.5, steps=50, seed=0, **plain)


def test_settings_are_the_usual_ones_but_for_what_is_given() -> None:
    def shape(**given: Any) -> tuple[object, ...]:
        made = make_settings(**given)
        return made.rounds, made.seconds, made.steps, made.seed, made.smoke, made.scaling

    assert shape() == (5, 0.5, 50, 0, False, False)
    assert shape(scaling=True, seed=3) == (3, 0.3, 50, 3, False, True)
    assert shape(smoke=True, scaling=True, rounds=None) == (2, 0.05, 10, 0, True, True)
    assert shape(smoke=True, rounds=7, seconds=1.0) == (7, 1.0, 10, 0, True, False)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock on which every look takes a millisecond."""
    looks = itertools.count(5_000_000, 1_000_000)
    monkeypatch.setattr(trial, "perf_counter_ns", lambda: next(looks))


CASE = Case(
    *("a", "wfbench_collectors.sequential:SequentialCollector", {}),
    EnvRef(
        "synthetic",
        "wfbench_synthetic.env:SyntheticEnv",
        None,
        vars(SyntheticOptions(obs_size=6, num_actions=5, episode_length=10)),
    ),
    n_envs=3,
    policy="random",
    deterministic=True,
)


def measured(case: Case, settings: Settings, number: int = 0) -> Measurement:
    one = trial.Trial(case, 1, settings, number)
    with contextlib.closing(one):
        one.window(settings.seconds)
        return one.end()


@pytest.mark.usefixtures("clock")
def test_a_trial_counts_what_it_collects_while_the_clock_runs() -> None:
    settings = make_settings(seconds=0.004, steps=7)
    found = measured(CASE, settings)
    # Looks at the clock: begin, opened, warm, started, then one before each of four collects.
    assert (found.start_up, found.warm_up, found.shut_down) == pytest.approx((0.001,) * 3)
    assert found.wall == pytest.approx(0.004)
    assert found.vector_steps == 3 * 7
    assert found.transitions == 3 * 3 * 7
    assert found.proof is not None
    assert found.marks == ()
    assert not found.batched
    assert (found.restarts, found.dropped, found.lag_mean, found.lag_max) == (0, 0, 0.0, 0)
    assert set(found.phases) == set(PHASES)


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize(
    ("number", "deterministic", "changed"),
    [(1, True, {}), (0, False, {}), (0, True, {"scaling": True}), (0, True, {"proof": False})],
)
def test_only_a_first_trial_that_can_be_repeated_proves_its_work(
    number: int, *, deterministic: bool, changed: dict[str, bool]
) -> None:
    case = replace(CASE, deterministic=deterministic)
    settings = make_settings(seconds=0.002, steps=2, **changed)
    assert measured(case, settings, number).proof is None


@pytest.mark.usefixtures("clock")
def test_the_first_collect_after_a_rest_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter of the steps is untimed, so three quarters of the switches belong to the window."""
    used = Used(cpu=1.0, foreign_cpu=None, voluntary_switches=100, involuntary_switches=None)
    monkeypatch.setattr(trial.process_tree, "used_since", lambda _: used)
    monkeypatch.setattr(trial.process_tree, "shared_bytes", lambda _, others: others << 60)
    for others in (0, 1):
        with contextlib.closing(trial.Trial(CASE, 1, make_settings(steps=7))) as one:
            assert one.settle() == pytest.approx(0.001)
            assert one.turn(0.004)[:2] == (3 * 3 * 7, pytest.approx(0.004))
            found = one.end(others) if others else one.end()
        assert (found.voluntary_switches, found.involuntary_switches) == (75, None)
        assert (found.memory >> 60) == others
        assert 0.0 <= found.cpu < time.process_time()
        assert found.proof is not None, "number 0 unless another is given"


def test_without_a_turn_nothing_was_measured() -> None:
    before = [found.pid for found in psutil.Process().children(recursive=True)]
    with contextlib.closing(trial.Trial(CASE, 1, make_settings(steps=2))) as one:
        assert one.workers() == before
        with pytest.raises(ValueError, match="has measured nothing"):
            one.end()


def test_the_workers_of_a_trial_are_all_processes_below_it(host: PluginHost) -> None:
    [case] = cases(host, collectors=["shm:workers=2"])
    with contextlib.closing(trial.Trial(case, 1, make_settings(steps=2), 1)) as one:
        below = {found.pid for found in psutil.Process().children(recursive=True)}
        assert set(one.workers()) == below
        assert len(below) >= 2


def test_the_policy_is_random_or_a_network() -> None:
    info = EnvInfo(obs_shape=(3, 2), obs_dtype="float32", num_actions=4)
    assert isinstance(trial.make_policy("random", info, 1), RandomPolicy)
    assert isinstance(trial.make_policy("network", info, 1), NetworkPolicy)


class Miscounting(SequentialCollector):
    """Says that its environments took longer than everything together."""

    def collect(self, policy: Any, n_steps: int, **more: Any) -> Any:
        rollout = super().collect(policy, n_steps, **more)
        return replace(rollout, counters=replace(rollout.counters, env=rollout.counters.wall + 1))


def test_phases_that_do_not_make_up_the_time_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "load_object", lambda _: Miscounting)
    with pytest.raises(CollectError, match=r"phases sum to .* s, its wall time is"):
        measured(CASE, make_settings(seconds=0.01, steps=2))


@pytest.mark.parametrize(("env", "fits"), [(0.0, True), (1e-6, True), (1.1e-6, False)])
def test_phases_may_be_off_by_a_microsecond(env: float, *, fits: bool) -> None:
    counters = Counters(wall=0.0, env=env, transport=0.0, inference=0.0, idle=0.0)
    if fits:
        assert trial._checked(counters) is counters
    else:
        with pytest.raises(CollectError, match="phases sum to"):
            trial._checked(counters)


def test_time_between_collects_is_idle_and_lags_are_averaged() -> None:
    one = Counters(
        wall=1.0, env=0.5, transport=0.0, inference=0.0, idle=0.5, lag=(1, 3), messages=2
    )
    found = trial._summed([one, replace(one, lag=(5,))], wall=3.0)
    assert (found["phases"]["env"], found["phases"]["idle"]) == (1.0, 2.0)
    assert (found["lag_mean"], found["lag_max"], found["messages"]) == (3.0, 5, 4)


def test_a_sample_is_clean_or_says_why_not() -> None:
    measured = Measurement(
        *(0.5, 0.1, 2.0, 3.0, 0.0, 1000, 10, 1, {}, 0, 0, 0, 0, 0.0, 0),
        *((), "h"),
        batched=False,
    )
    clean = Sample(0, 0, 0, 0, measurement=measured)
    assert clean.clean
    assert clean.problem is None
    assert clean.rate == 500.0
    marked = replace(clean, measurement=replace(measured, marks=("late", "torn")))
    assert not marked.clean
    assert marked.problem == "marked: late; torn"
    failed, left_out = Sample(0, 0, 0, 0, failure="died"), Sample(0, 0, 0, 0, skipped="slow")
    assert not failed.clean
    assert math.isnan(failed.rate)
    assert (failed.problem, left_out.problem) == ("died", "slow")
