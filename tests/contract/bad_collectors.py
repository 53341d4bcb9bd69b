"""Collectors that break one promise each."""

from __future__ import annotations

import dataclasses
import itertools
import multiprocessing
import os
import subprocess
import sys
import time
from multiprocessing import shared_memory

import numpy as np

from wfbench.contract import Acts, CollectError
from wfbench_collectors.sequential import SequentialCollector
from wfbench_collectors.shm import ShmCollector

SEGMENT = "kitleak"
"""How the name of a leaked segment begins."""


def changed(rollout, **arrays):
    return dataclasses.replace(rollout, **arrays)


class StaleRows(SequentialCollector):
    """Answers the second request with the first answer."""

    last = None

    def collect(self, policy, steps):
        fresh = super().collect(policy, steps)
        answer, self.last = self.last or fresh, fresh
        return answer


class LosesFinalObservations(SequentialCollector):
    def collect(self, policy, steps):
        rollout = super().collect(policy, steps)
        after = np.concatenate([rollout.obs[1:], rollout.next_obs[None]])
        return changed(rollout, final_obs=after[rollout.ended])


class LosesTruncatedFrom100(SequentialCollector):
    def collect(self, policy, steps):
        rollout = super().collect(policy, steps)
        truncated = rollout.truncated.copy()
        truncated[:, 100:] = False
        kept = (truncated | rollout.terminated)[rollout.ended]
        return changed(rollout, truncated=truncated, final_obs=rollout.final_obs[kept])


class SwallowsWorkerDeath(ShmCollector):
    def collect(self, policy, steps):
        try:
            self.good = super().collect(policy, steps)
        except CollectError:
            self.good = getattr(self, "good", None)
        return self.good


class LeaksSegment(SequentialCollector):
    numbers = itertools.count()

    def open(self, plan):
        name = f"{SEGMENT}_{os.getpid()}_{next(self.numbers)}"
        self.segment = shared_memory.SharedMemory(name, create=True, size=64)
        return super().open(plan)


class LeaksDescriptor(SequentialCollector):
    def open(self, plan):
        os.open(os.devnull, os.O_RDONLY)
        return super().open(plan)


class LeaksProcess(SequentialCollector):
    def open(self, plan):
        self.child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(50)"])
        return super().open(plan)


class OneSeedForAll(SequentialCollector):
    def open(self, plan):
        same = dataclasses.replace(plan)
        object.__setattr__(same, "env_seeds", plan.env_seeds[:1] * plan.n_envs)
        return super().open(same)


class HangsInClose(SequentialCollector):
    def close(self):
        super().close()
        time.sleep(3600)


class ClosesOnlyOnce(SequentialCollector):
    closed = False

    def close(self):
        if self.closed:
            raise RuntimeError("already closed")
        self.closed = True
        super().close()


class ReusesItsArrays(SequentialCollector):
    kept = None

    def collect(self, policy, steps):
        rollout = super().collect(policy, steps)
        if self.kept is None or self.kept.obs.shape != rollout.obs.shape:
            self.kept = rollout
        else:
            for field in ("obs", "actions", "rewards"):
                getattr(self.kept, field)[:] = getattr(rollout, field)
        return self.kept


class LyingPhases(SequentialCollector):
    def collect(self, policy, steps):
        rollout = super().collect(policy, steps)
        counters = dataclasses.replace(rollout.counters, idle=rollout.counters.wall)
        return changed(rollout, counters=counters)


class SetsStartMethod(SequentialCollector):
    def open(self, plan):
        multiprocessing.set_start_method("spawn", force=True)
        return super().open(plan)


class SetsVariable(SequentialCollector):
    def open(self, plan):
        os.environ["WFBENCH_FAST"] = "1"
        return super().open(plan)


class RawExceptions(SequentialCollector):
    def collect(self, policy, steps):
        try:
            return super().collect(policy, steps)
        except CollectError as error:
            raise RuntimeError("something failed") from error


class BlamesAnother(SequentialCollector):
    def collect(self, policy, steps):
        try:
            return super().collect(policy, steps)
        except CollectError as error:
            error.env = 0
            raise


class DummyRows(SequentialCollector):
    def collect(self, policy, steps):
        return super().collect(policy, steps + 1)


class OwnDraws(SequentialCollector):
    def collect(self, policy, steps):
        rng = np.random.default_rng()

        class Reseeded:
            version = policy.version

            def act(self, obs, draws):
                return Acts(*policy.act(obs, rng.random(len(draws))))

        return super().collect(Reseeded(), steps)


class DiesItself(SequentialCollector):
    def collect(self, policy, steps):  # noqa: ARG002 - the contract's signature
        sys.stderr.write("out of luck\n")
        sys.stderr.flush()
        os._exit(7)


class OrphansItsWorkers(SequentialCollector):
    def open(self, plan):
        self.child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(50)"])
        return super().open(plan)

    def close(self):
        if child := self.__dict__.pop("child", None):
            child.kill()
            child.wait()
        super().close()


class IgnoresMisuse(SequentialCollector):
    def collect(self, policy, steps):
        return super().collect(policy, max(steps, 1))


class OldPolicy(SequentialCollector):
    first = None

    def collect(self, policy, steps):
        self.first = self.first or policy
        rollout = super().collect(self.first, steps)
        return changed(rollout, policy_version=np.full_like(rollout.policy_version, policy.version))


class UnmarkedRestart(ShmCollector):
    def collect(self, policy, steps):
        return changed(super().collect(policy, steps), marks=())


class KeepsOldSeeds(SequentialCollector):
    def reset(self, plan):
        return super().reset(dataclasses.replace(plan, env_seeds=self._plan.env_seeds))


class GoesOnCounting(SequentialCollector):
    def reset(self, plan):
        first_step, info = self._first_step, super().reset(plan)
        self._first_step = first_step
        return info


class KeepsOldForm(SequentialCollector):
    def reset(self, plan):
        return super().reset(dataclasses.replace(plan, env=self._plan.env))


class LeaksOnReset(SequentialCollector):
    def reset(self, plan):
        os.open(os.devnull, os.O_RDONLY)
        return super().reset(plan)


class RevivesTheFailed(SequentialCollector):
    def reset(self, plan):
        self._failure = None
        return super().reset(plan)


class RemembersRestarts(ShmCollector):
    def reset(self, plan):
        old = self._tasks[0].seeds
        kept = (*old, *plan.env_seeds[len(old) :]) if self._supervisor.restarts else plan.env_seeds
        return super().reset(dataclasses.replace(plan, env_seeds=kept))
