"""Take one sample, in a process that does nothing else."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from time import perf_counter_ns
from typing import Any

from wfbench.benchmarks.measure.model import PHASES, Case, Measurement, Settings
from wfbench.benchmarks.measure.proof import prove_episodes
from wfbench.benchmarks.measure.turns import Turn
from wfbench.collecting.seeding import Purpose, make_plan
from wfbench.contract import (
    CollectError,
    Collector,
    Counters,
    Deadlines,
    EnvInfo,
    Policy,
    load_object,
)
from wfbench.policies import NetworkPolicy, RandomPolicy
from wfbench.processes import usage as process_tree
from wfbench.processes.children import parent_channel

DEADLINES = Deadlines(start=300.0, step=60.0, close=5.0)

_COUNTERS = ("messages", "bytes_moved", "restarts", "dropped")

_TOLERANCE = 0.02
"""Largest difference between the sum of the phases and the wall time, as a share of it."""


class Trial:
    """An open collector that has collected once, and collects when it is told to.

    In the first round, number 0, a deterministic case also proves what it collects beyond the ends
    of episodes, unless it is a point of a curve.
    """

    def __init__(self, case: Case, seed: int, settings: Settings, number: int = 0) -> None:
        prove = number == 0 and case.deterministic and settings.proof and not settings.scaling
        plan = make_plan(case.env, case.n_envs, seed, purpose=Purpose.BENCH, deadlines=DEADLINES)
        self._steps = settings.steps
        self._notes = _Notes()
        self._counted: list[Counters] = []
        self._turns: list[Turn] = []
        self._vector_steps, self._untimed_steps = 0, 0
        self._before: process_tree.Snapshot | None = None
        with ExitStack() as opened:
            logging.getLogger().addHandler(self._notes)
            opened.callback(logging.getLogger().removeHandler, self._notes)
            self._collector: Collector = load_object(case.factory)(**case.options)
            opened.enter_context(self._collector)
            began = perf_counter_ns()
            info = self._collector.open(plan)
            ready = perf_counter_ns()
            self._policy = make_policy(case.policy, info, seed)
            first = self._collector.collect(self._policy, self._steps)
            warm = perf_counter_ns()
            self.start_up, self.warm_up = (ready - began) * 1e-9, (warm - ready) * 1e-9
            self._batched, self._hash = info.batched, first.transition_hash()
            self._proof, self._marks = None, list(first.marks)
            if prove:
                self._proof, self._marks = prove_episodes(
                    self._collector, self._policy, first, case.n_envs
                )
            self._open = opened.pop_all()

    def workers(self) -> list[int]:
        """Return the processes that this one started, and those that they did."""
        return [process.pid for process in process_tree.tree()[1:]]

    def settle(self) -> float:
        """Collect once, untimed: caches are cold after a rest. Return the seconds it took."""
        began = perf_counter_ns()
        rollout = self._collector.collect(self._policy, self._steps)
        self._marks += rollout.marks
        self._untimed_steps += len(rollout.actions)
        return (perf_counter_ns() - began) * 1e-9

    def turn(self, seconds: float) -> Turn:
        """Collect for so long after a rest; the first collect is not timed."""
        self._begin()
        self.settle()
        return self.window(seconds)

    def window(self, seconds: float) -> Turn:
        """Collect for so long."""
        before = self._begin()
        transitions = 0
        used = process_tree.cpu_seconds(before.processes)
        started = perf_counter_ns()
        while (now := perf_counter_ns()) - started < seconds * 1e9:
            rollout = self._collector.collect(self._policy, self._steps)
            self._counted.append(_checked(rollout.counters))
            transitions += rollout.transitions
            self._vector_steps += len(rollout.actions)
            self._marks += rollout.marks
        used = process_tree.cpu_seconds(before.processes) - used
        self._turns.append(Turn(transitions, (now - started) * 1e-9, used))
        return self._turns[-1]

    def end(self, others: int = 0) -> Measurement:
        """Close the collector; return what all turns amount to.

        `others` processes like this one live beside it.
        """
        if self._before is None:
            raise ValueError("a trial without a turn has measured nothing")
        used = process_tree.used_since(self._before)
        tree = process_tree.tree()
        memory = process_tree.memory_bytes(tree) + process_tree.shared_bytes(tree, others)
        timed = self._vector_steps / (self._vector_steps + self._untimed_steps)
        voluntary, involuntary = (
            None if count is None else round(timed * count)
            for count in (used.voluntary_switches, used.involuntary_switches)
        )
        wall = sum(turn.wall for turn in self._turns)
        closing = perf_counter_ns()
        self.close()
        return Measurement(
            start_up=self.start_up,
            warm_up=self.warm_up,
            wall=wall,
            cpu=sum(turn.cpu for turn in self._turns),
            shut_down=(perf_counter_ns() - closing) * 1e-9,
            transitions=sum(turn.transitions for turn in self._turns),
            vector_steps=self._vector_steps,
            memory=memory,
            marks=tuple(dict.fromkeys(self._marks)),
            transition_hash=self._hash,
            batched=self._batched,
            notes=tuple(self._notes.lines),
            voluntary_switches=voluntary,
            involuntary_switches=involuntary,
            load=self._before.load,
            proof=self._proof,
            **_summed(self._counted, wall),
        )

    def _begin(self) -> process_tree.Snapshot:
        """Return the counters at the beginning of the first turn."""
        if self._before is None:
            self._untimed_steps = 0
            self._before = process_tree.snapshot(process_tree.tree())
        return self._before

    def close(self) -> None:
        """Close the collector; safe to call twice."""
        self._open.close()


def make_policy(kind: str, info: EnvInfo, seed: int) -> Policy:
    """Return the policy a case is measured with."""
    if kind == "random":
        return RandomPolicy(info.num_actions)
    return NetworkPolicy.initial(math.prod(info.obs_shape), info.num_actions, seed)


def _checked(counters: Counters) -> Counters:
    """Return the counters of a rollout; raise CollectError unless its phases make up its time."""
    total = sum(getattr(counters, name) for name in PHASES)
    if abs(total - counters.wall) > _TOLERANCE * counters.wall + 1e-6:
        raise CollectError(
            f"the collector's phases sum to {total:.4f} s, its wall time is "
            f"{counters.wall:.4f} s; they must be equal"
        )
    return counters


def _summed(counted: Sequence[Counters], wall: float) -> dict[str, Any]:
    """Return the figures of all rollouts; time between two collects counts as idle."""
    phases = {name: sum((getattr(one, name) for one in counted), 0.0) for name in PHASES}
    phases["idle"] += max(0.0, wall - sum(phases.values()))
    lags = [lag for one in counted for lag in one.lag]
    return {
        **{name: sum(getattr(one, name) for one in counted) for name in _COUNTERS},
        "phases": phases,
        "lag_mean": sum(lags) / len(lags) if lags else 0.0,
        "lag_max": max(lags, default=0),
    }


def main(descriptor: str) -> None:
    """Answer questions about one trial until the last one; runs in the process."""
    connection = parent_channel(descriptor)
    trial: Trial | None = None
    while True:
        what, *arguments = connection.recv()
        try:
            if what == "open":
                shipment, *asked = arguments
                if shipment is not None:
                    shipment.install()
                trial = Trial(*asked)
                answer: Any = trial.warm_up, trial.workers()
            else:
                answer = getattr(trial, what)(*arguments)
        except Exception as error:  # noqa: BLE001 - whatever a plugin raises is a result
            if trial is not None:
                with suppress(Exception):
                    trial.close()
            connection.send(error_parts(error))
            return
        connection.send((None, answer))
        if what == "end":
            return


def error_parts(error: Exception) -> tuple[str, str]:
    """Return the type and the message of an error, each in one line."""
    return type(error).__name__, " ".join(str(error).split())


class _Notes(logging.Handler):
    """A log handler that keeps each warning once."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: dict[str, None] = {}

    def emit(self, record: logging.LogRecord) -> None:
        self.lines[record.getMessage()] = None
