from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wfbench.contract import Cadence, Counters, UsageError
from wfbench.orders.compliance import Episodes
from wfbench.search import launching, phases
from wfbench.search.budget import RunBudget, granted_episodes, time_for, workflow_budget
from wfbench.search.episodes import EpisodeWindow
from wfbench.search.hooks import HookObserver
from wfbench.search.job import parse_score
from wfbench.search.phases import PhaseClock, Stopwatch, added
from wfbench.search.task_making import parent
from wfbench.search.tasks import TrainingTask
from wfbench.settings.config import RunConfig
from wfbench.store.events import WorkflowResult, better


def _episodes(envs: list[int], returns: list[float]) -> Episodes:
    count = len(envs)
    ones = np.ones(count)
    whole = np.ones(count, dtype=np.int64)
    return Episodes(
        env_id=np.array(envs, dtype=np.int64),
        order=0 * whole,
        env_return=np.array(returns, dtype=np.float64),
        alignment=0 * ones,
        compliance=np.array(returns, dtype=np.float64) / 100,
        secondary=ones,
        fixes=whole,
        counted=whole,
        right=whole,
        wasted=0 * whole,
        length=whole,
    )


class TestEpisodeWindow:
    @given(
        st.lists(st.lists(st.integers(0, 3), max_size=9), max_size=6),
        st.integers(1, 4),
        st.integers(1, 5),
    )
    def test_it_remembers_what_a_plain_list_would(
        self, rollouts: list[list[int]], length: int, asked: int
    ) -> None:
        window = EpisodeWindow(4, length, pooled=False)
        plain: dict[int, list[float]] = {env: [] for env in range(4)}
        value = 0.0
        for envs in rollouts:
            returns = []
            for env in envs:
                value += 1
                plain[env].append(value)
                returns.append(value)
            window.add(_episodes(envs, returns))
        found = window.last(asked)
        expected = [v for values in plain.values() for v in values[-min(asked, length) :]]
        assert window.total == sum(map(len, rollouts))
        assert found.episodes == len(expected)
        if expected:
            assert found.env_return == pytest.approx(np.mean(expected))
            assert found.compliance == pytest.approx(np.mean(expected) / 100)
        else:
            assert math.isnan(found.env_return)

    def test_a_single_episode_has_no_spread(self) -> None:
        window = EpisodeWindow(2, 3, pooled=False)
        window.add(_episodes([1], [5.0]))
        assert math.isnan(window.last(3).return_sd)
        assert window.last(3).episodes == 1

    def test_two_episodes_have_the_spread_of_their_returns(self) -> None:
        window = EpisodeWindow(2, 3, pooled=False)
        assert window.last(3).episodes == 0
        window.add(_episodes([0, 1], [5.0, 9.0]))
        assert window.last(3).return_sd == pytest.approx(8**0.5)

    def test_of_several_episodes_in_one_rollout_the_last_are_kept(self) -> None:
        window = EpisodeWindow(2, 3, pooled=False)
        window.add(_episodes([0, 1, 0, 0, 1, 0], [1.0, 20.0, 2.0, 3.0, 30.0, 4.0]))
        assert window.last(1).env_return == pytest.approx((4.0 + 30.0) / 2)
        assert window.last(2).env_return == pytest.approx((3.0 + 4.0 + 20.0 + 30.0) / 4)
        assert window.last(3).env_return == pytest.approx((2.0 + 3.0 + 4.0 + 20.0 + 30.0) / 5)


class TestBudget:
    @given(
        n_envs=st.integers(1, 50),
        update_every=st.integers(1, 70),
        max_episodes=st.integers(1, 30),
        episode_steps=st.integers(1, 40),
        cadence=st.sampled_from([Cadence(), Cadence(1, 30), Cadence(1), Cadence(None, 7)]),
        share=st.floats(0.0, 1.5),
        left=st.none() | st.integers(50, 5000),
    )
    def test_rollouts_never_exceed_it_and_use_all_that_fits(
        self,
        n_envs: int,
        update_every: int,
        max_episodes: int,
        episode_steps: int,
        cadence: Cadence,
        share: float,
        left: int | None,
    ) -> None:
        config = RunConfig(n_envs=n_envs, update_every=update_every, min_episodes=1)
        episodes = granted_episodes(max_episodes, share)
        budget = workflow_budget(config, cadence, episode_steps, episodes, left)
        used = rollouts = 0
        while steps := budget.next_steps(used):
            used += steps * budget.n_envs
            rollouts += 1
        limit = max_episodes * n_envs * episode_steps
        assert used <= budget.max_steps <= limit
        assert left is None or used <= left
        assert budget.max_steps - used < budget.n_envs
        assert rollouts == budget.rollouts
        assert budget.min_steps <= budget.max_steps

    def test_one_env_gets_the_steps_of_all_that_are_configured(self) -> None:
        config = RunConfig(n_envs=200)
        many = workflow_budget(config, Cadence(), 100, 50, None)
        one = workflow_budget(config, Cadence(1, 20_000), 100, 50, None)
        assert many.max_steps == one.max_steps == 1_000_000
        assert (many.n_envs, one.n_envs) == (200, 1)
        assert many.rollouts == one.rollouts == 50

    def test_the_limit_that_binds_is_named(self) -> None:
        config = RunConfig(n_envs=2, min_episodes=1)
        assert workflow_budget(config, Cadence(), 10, 5, None).limit == "episodes"
        assert workflow_budget(config, Cadence(), 10, 5, 100).limit == "episodes"
        assert workflow_budget(config, Cadence(), 10, 5, 99).limit == "total-episodes"

    def test_time_is_left_only_for_what_would_end_in_time(self) -> None:
        budget = RunBudget(max_seconds=10)
        assert time_for(2.0, budget.seconds_left(1.0))
        assert not time_for(2.0, budget.seconds_left(9.0))
        assert time_for(1e9, RunBudget().seconds_left(1e9))


class FakeClock:
    """A clock that only moves when told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    """The clock that phases are measured with."""
    clock = FakeClock()
    monkeypatch.setattr(phases, "perf_counter", clock)
    return clock


class TestPhases:
    def test_phases_sum_to_wall_time(self, time: FakeClock) -> None:
        clock = PhaseClock()
        with clock.phase("loop"):
            with clock.phase("idle"):
                time.sleep(0.02)
            clock.divide(Counters(wall=0.012, env=0.01, transport=0.0, inference=0.002, idle=0))
            with clock.phase("update"):
                time.sleep(0.01)
                with clock.phase("store"):
                    time.sleep(0.005)
            lap = clock.lap()
        assert sum(lap.values()) == pytest.approx(0.035)
        measured = {name: seconds for name, seconds in lap.items() if seconds}
        wanted = {"env": 0.01, "inference": 0.002, "idle": 0.008, "update": 0.01, "store": 0.005}
        assert measured == pytest.approx(wanted)

    def test_laps_have_tenths_of_a_microsecond(self, time: FakeClock) -> None:
        clock = PhaseClock()
        with clock.phase("loop"):
            time.sleep(1.23456789)
            assert clock.lap()["loop"] == 1.2345679
        assert added({"loop": 1.23456789}) == {"loop": 1.2345679}

    def test_time_outside_is_not_counted(self, time: FakeClock) -> None:
        clock = PhaseClock()
        with clock.phase("loop"):
            time.sleep(1.0)
        time.sleep(50.0)
        with clock.phase("loop"):
            time.sleep(2.0)
        assert clock.elapsed() == pytest.approx(3.0)

    def test_a_pause_is_not_counted(self, time: FakeClock) -> None:
        clock = PhaseClock()
        with clock.phase("loop"), clock.phase("idle"):
            time.sleep(1.0)
            with clock.phase(None):
                time.sleep(50.0)
            time.sleep(2.0)
        assert clock.elapsed() == pytest.approx(3.0)

    def test_a_stopwatch_counts_what_overlaps_once(self, time: FakeClock) -> None:
        watch = Stopwatch()
        watch.start()
        time.sleep(1.0)
        watch.start()
        time.sleep(2.0)
        watch.stop()
        time.sleep(4.0)
        watch.stop()
        time.sleep(50.0)
        assert watch.elapsed() == pytest.approx(7.0)

    def test_laps_add_up_to_what_elapsed(self, time: FakeClock) -> None:
        clock = PhaseClock()
        with clock.phase("loop"):
            laps = []
            for _ in range(5):
                time.sleep(0.002)
                laps.append(sum(clock.lap().values()))
            assert laps == pytest.approx([0.002] * 5)
            assert clock.elapsed() == pytest.approx(sum(laps))


@pytest.mark.parametrize(
    "text", ["", "evaluate", "evaluate:0", "best:3", "last-episodes:x", "evaluate:²"]
)
def test_a_score_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="last-episodes:K or evaluate:K"):
        parse_score(text)


def test_a_score_is_written_as_it_was_read() -> None:
    for text in ("last-episodes:3", "evaluate:20", "evaluate:1"):
        assert str(parse_score(text)) == text


def _result(workflow: int, order: tuple[int, ...], **changed: object) -> WorkflowResult:
    values = {
        "workflow": workflow,
        "order": order,
        "seed": 1,
        "inherited_from": None,
        "status": "budget",
        "reason": "episodes",
        "score": -10.0,
        "score_sd": 1.0,
        "score_episodes": 4,
        "score_source": "last-episodes:3",
        "compliance": 0.5,
        "secondary_compliance": 0.4,
        "fixes": 1.0,
        "counted": 1.0,
        "wasted": 0.0,
        "compliant": False,
        "steps_to_compliance": None,
        "updates": 3,
        "env_steps": 100,
        "evaluation_steps": 0,
        "episodes": 4,
    }
    return WorkflowResult(**{**values, **changed})  # type: ignore[arg-type]


class TestInheriting:
    def test_nothing_comes_from_nothing(self) -> None:
        assert parent("nearest", (0, 1, 2), []) is None
        assert parent("none", (0, 1, 2), [_result(0, (0, 1, 2))]) is None

    def test_the_nearest_is_by_kendall_distance(self) -> None:
        done = [_result(0, (2, 1, 0)), _result(1, (0, 2, 1)), _result(2, (1, 2, 0))]
        assert parent("nearest", (0, 1, 2), done) is done[1]

    def test_of_equally_near_ones_the_more_compliant_then_the_latest(self) -> None:
        done = [
            _result(0, (0, 2, 1), compliance=0.9),
            _result(1, (1, 0, 2), compliance=0.9),
            _result(2, (1, 0, 2), compliance=0.2),
        ]
        assert parent("nearest", (0, 1, 2), done) is done[1]

    def test_a_broken_training_is_never_inherited(self) -> None:
        done = [_result(0, (2, 1, 0)), _result(1, (0, 2, 1), reason="not-finite")]
        assert parent("nearest", (0, 1, 2), done) is done[0]
        assert parent("previous", (0, 1, 2), done) is done[0]

    def test_the_previous_one_is_the_last_that_went_well(self) -> None:
        done = [_result(0, (0, 1, 2)), _result(1, (0, 2, 1))]
        assert parent("previous", (2, 1, 0), done) is done[1]
        assert (
            parent("previous", (2, 1, 0), [*done, _result(2, (1, 0, 2), reason="collapsed")])
            is (done[1])
        )

    def test_an_order_starts_again_from_where_it_started_first(self) -> None:
        done = [
            _result(0, (0, 1, 2)),
            _result(1, (0, 2, 1), inherited_from=0),
            _result(2, (1, 0, 2), inherited_from=1),
            _result(3, (1, 0, 2), inherited_from=0),
        ]
        assert parent("nearest", (1, 0, 2), done) is done[1]
        assert parent("nearest", (1, 0, 2), done[:3]) is done[1]
        assert parent("nearest", (0, 1, 2), done) is None

    def test_untested_compliance_counts_as_none(self) -> None:
        done = [_result(0, (1, 0, 2), compliance=0.1), _result(1, (0, 2, 1), compliance=math.nan)]
        assert parent("nearest", (0, 1, 2), done) is done[0]


def test_directories_of_a_matrix_are_named_by_what_differs() -> None:
    job: Any = SimpleNamespace(
        collector=SimpleNamespace(label="x" * 70),
        trainer=SimpleNamespace(label="t"),
        config=SimpleNamespace(seed=4),
    )
    assert launching._directory(3, job, seeded=False) == f"03-{'x' * 60}"
    assert launching._directory(3, job, seeded=True) == f"03-{'x' * 60}-seed-4"


def test_plugins_hear_once_that_a_run_stopped_and_not_after_its_end(tmp_path: Path) -> None:
    heard: list[tuple[str, str]] = []
    host: Any = SimpleNamespace(
        notify=lambda hook, event: heard.append((hook, event.values.get("cause", "")))
    )
    stopped = HookObserver(host, "r", tmp_path)
    for event in ("run-started", "warning", "update"):
        stopped({"event": event})
    stopped.stopped("because")
    stopped.stopped("again")
    ended = HookObserver(host, "r", tmp_path)
    ended({"event": "run-finished"})
    ended({"event": "warning"})
    ended.stopped("late")
    assert heard == [
        ("wfbench_run_started", ""),
        ("wfbench_update_finished", ""),
        ("wfbench_run_finished", "because"),
        ("wfbench_run_finished", ""),
    ]


def test_a_task_is_a_batch_of_its_own_unless_it_is_said() -> None:
    budget = workflow_budget(RunConfig(), Cadence(), 10, 5, None)
    assert TrainingTask(0, (), 1, budget).batch == (0, 1)


class TestResults:
    def test_compliant_comes_before_a_better_score(self) -> None:
        poor = _result(0, (0, 1), compliant=True, score=-50.0)
        rich = _result(1, (0, 1), compliant=False, score=-5.0)
        assert better(poor, rich)
        assert not better(rich, poor)
        assert not better(_result(2, (0, 1), score=math.nan), None)
