"""The kit must find faults: each collector here breaks one promise, and the kit must name it."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from wfbench.benchmarks.measure.model import Case, Settings
from wfbench.benchmarks.measure.runner import run_session
from wfbench.benchmarks.measure.summary import equal_work
from wfbench.contract import CollectorSpec, EnvRef, PluginError, UsageError
from wfbench.testing import CollectorConformance, check_collector
from wfbench_collectors.options import ShmOptions
from wfbench_synthetic.options import SyntheticOptions

BAD = '''
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
    def collect(self, policy, steps):
        sys.stderr.write("out of luck\\n")
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
        kept = (*old, *plan.env_seeds[len(old):]) if self._supervisor.restarts else plan.env_seeds
        return super().reset(dataclasses.replace(plan, env_seeds=kept))
'''

SEGMENT = "kitleak"


@pytest.fixture
def bad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Descriptors of the bad collectors, importable from the judging process too."""
    code = f"SEGMENT = {SEGMENT!r}\n" + textwrap.dedent(BAD).replace(
        "from __future__ import annotations\n", ""
    )
    (tmp_path / "bad_collectors.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))

    def spec(name: str, *capabilities: str, options: type | None = None) -> CollectorSpec:
        return CollectorSpec(
            name="bad",
            summary="breaks one promise",
            factory=f"bad_collectors:{name}",
            capabilities=frozenset({"deterministic", *capabilities}),
            options=options,
        )

    yield spec
    for left in Path("/dev/shm").glob(f"{SEGMENT}_*"):  # noqa: S108 - what a bad collector leaked
        left.unlink()


@pytest.mark.parametrize(
    ("name", "slug", "detail"),
    [
        ("StaleRows", "same-transitions", "rollout 1 is not what sequential delivers: first_step"),
        (
            "LosesFinalObservations",
            "final-observations",
            "sequential delivers: final_obs[",
        ),
        (
            "LosesTruncatedFrom100",
            "many-environments",
            "truncated of env 100 at step 4 is False",
        ),
        ("LeaksSegment", "clean-close", f"shared memory that outlives close: /dev/shm/{SEGMENT}"),
        ("LeaksDescriptor", "clean-close", "8 cycles left 8 descriptors open"),
        ("LeaksProcess", "clean-close", "processes that outlive close"),
        ("OneSeedForAll", "own-seeds", "16 environments start with only 1 different"),
        ("HangsInClose", "close-in-any-state", "hung: nothing happened for 5 s"),
        ("ClosesOnlyOnce", "close-in-any-state", "the second time, raised RuntimeError"),
        ("ReusesItsArrays", "rollouts-stay", "obs of a rollout changed after it was delivered"),
        ("LyingPhases", "phases", "not to the wall time"),
        ("SetsStartMethod", "nothing-global", "open changed the start method"),
        ("RawExceptions", "raising", "raised RuntimeError (something failed), not a CollectError"),
        ("BlamesAnother", "raising", "it blames env 0, not 2"),
        ("DummyRows", "exact-number", "gave arrays of 2 x 5"),
        (
            "OwnDraws",
            "same-transitions",
            "sequential delivers: actions of env",
        ),
        ("OwnDraws", "same-hash-again", "two runs of one plan gave the hashes"),
        ("DiesItself", "same-transitions", "the process died with code 7: out of luck"),
        ("IgnoresMisuse", "misuse", "a collect of 0 steps was not refused"),
        ("OldPolicy", "new-policy", "these are not its actions"),
    ],
)
def test_the_kit_names_the_broken_promise(bad, name, slug, detail):
    [promise] = check_collector(bad(name), only=[slug], limit=5.0 if "Hang" in name else None)
    assert promise.kept is False
    assert detail in promise.detail


def test_bench_sees_what_is_lost_where_episodes_end(bad):
    del bad  # makes the module importable
    options = vars(SyntheticOptions(episode_length=20, num_actions=6))
    env = EnvRef("synthetic", "wfbench_synthetic.env:SyntheticEnv", None, options)
    cases = [
        Case(name, path, {}, env, n_envs=101, policy="random", deterministic=True)
        for name, path in (
            ("sequential", "wfbench_collectors.sequential:SequentialCollector"),
            ("bad", "bad_collectors:LosesTruncatedFrom100"),
        )
    ]
    session = run_session(cases, Settings(rounds=1, seconds=0.01, steps=10))
    [work] = equal_work(session)
    assert {s.failure for s in session.samples} == {None}
    assert (work.equal, work.odd, work.unended) == (False, ("bad",), 0)


def test_the_kit_finds_a_swallowed_death(bad):
    [promise] = check_collector(bad("SwallowsWorkerDeath", "workers"), only=["killed"])
    assert promise.kept is False
    assert "went on as if nothing had happened" in promise.detail


def test_the_kit_finds_orphans(bad):
    [promise] = check_collector(bad("OrphansItsWorkers", "workers"), only=["parent-killed"])
    assert promise.kept is False
    assert "live on 10 s after their parent was killed" in promise.detail


def test_the_kit_finds_an_unmarked_restart(bad):
    spec = bad("UnmarkedRestart", "workers", "restart", options=ShmOptions)
    [promise] = check_collector(spec, only=["replaced-worker"])
    assert promise.kept is False
    assert promise.detail == "a rollout that counts a restart is not marked"


UNEQUAL = "rollout 0 is not what sequential delivers"


@pytest.mark.parametrize(
    ("name", "slug", "detail"),
    [
        ("KeepsOldSeeds", "reset-as-opened", f"{UNEQUAL}: obs[0] of env 0 at step 0 is 1, not 0"),
        ("GoesOnCounting", "reset-as-opened", f"{UNEQUAL}: first_step of column 0 is 7, not 0"),
        ("KeepsOldSeeds", "several-resets", f"{UNEQUAL}: obs[1] of env 0 at step 0 is 1, not 0"),
        ("KeepsOldForm", "reset-to-another-plan", f"{UNEQUAL}: obs has the shape (12, 5, 52), not"),
        ("LeaksOnReset", "clean-resets", "resets took 7 more descriptors"),
        ("RevivesTheFailed", "misused-reset", "a reset after a failure was not refused"),
    ],
)
def test_the_kit_finds_a_broken_reset(bad, name, slug, detail):
    [promise] = check_collector(bad(name, "reset"), only=[slug])
    assert promise.kept is False
    assert detail in promise.detail


def test_the_kit_finds_a_reset_that_remembers_restarts(bad):
    spec = bad("RemembersRestarts", "workers", "restart", "reset", options=ShmOptions)
    results = check_collector(spec, {"workers": 2}, only=["reset-as-opened", "reset-after-restart"])
    assert [result.kept for result in results] == [True, False]


def test_a_broken_promise_does_not_spoil_the_next(bad):
    seen = []
    promises = check_collector(
        bad("HangsInClose"),
        only=["same-transitions", "close-in-any-state", "own-seeds"],
        limit=4.0,
        progress=seen.append,
    )
    assert promises == seen
    assert [promise.kept for promise in promises] == [False, False, False]
    assert all("hung" in promise.detail for promise in promises)


def test_what_a_collector_does_not_declare_does_not_apply(bad):
    [promise] = check_collector(bad("StaleRows"), only=["killed"])
    assert promise.kept is None
    assert promise.detail == "it does not declare workers"


def test_a_declared_exception_is_tested_and_excused(bad):
    declared = replace(bad("StaleRows"), cannot={"same-transitions": "it is slow to notice"})
    [promise] = check_collector(declared, only=["same-transitions"])
    assert (promise.kept, promise.broken, promise.stale) == (False, False, False)
    assert promise.excuse == "it is slow to notice"
    assert "rollout 1 is not" in promise.detail


def test_an_excuse_survives_a_subject_that_hangs(bad):
    declared = replace(bad("HangsInClose"), cannot={"close-in-any-state": "it never ends"})
    [promise] = check_collector(declared, only=["close-in-any-state"], limit=4.0)
    assert (promise.kept, promise.broken) == (False, False)
    assert "hung" in promise.detail


def test_a_declared_exception_that_is_kept_is_reported(bad):
    declared = replace(bad("StaleRows"), cannot={"own-seeds": "it has only one"})
    [promise] = check_collector(declared, only=["own-seeds"])
    assert (promise.kept, promise.broken, promise.stale) == (True, False, True)


def test_a_declared_exception_must_be_a_promise(bad):
    declared = replace(bad("StaleRows"), cannot={"speed": "it is slow"})
    with pytest.raises(PluginError, match="cannot keep 'speed', but there is no such promise"):
        check_collector(declared, only=["own-seeds"])


def test_a_collector_by_name_and_its_options():
    [promise] = check_collector("shm", {"workers": 3}, only=["one-environment"])
    assert promise.kept is True


@pytest.mark.parametrize(
    ("name", "options", "only", "message"),
    [
        ("no-such", {}, [], "there is no collector 'no-such'"),
        ("shm", {"wokers": 2}, [], "has no option 'wokers'"),
        ("shm", {}, ["fast"], "there is no promise 'fast'"),
    ],
)
def test_misuse_of_the_kit_is_named(name, options, only, message):
    with pytest.raises(UsageError, match=message):
        check_collector(name, options, only=only)


def test_the_kit_reports_through_pytest(pytester_like):
    outcome = pytester_like('collector = "sequential"')
    assert "failed" not in outcome
    assert " passed" in outcome
    assert " skipped" in outcome


@pytest.fixture
def pytester_like(tmp_path: Path):
    """Run a test module with one conformance class, as an author would."""

    def run(body: str) -> str:
        module = tmp_path / "test_mine.py"
        module.write_text(
            "from wfbench.testing import CollectorConformance\n\n\n"
            f"class TestMine(CollectorConformance):\n    {body}\n"
        )
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(module)],
            check=False,
            capture_output=True,
            text=True,
            timeout=110,
            cwd=tmp_path,
        )
        return done.stdout.splitlines()[-1]

    return run


SCRIPT = """
from wfbench.testing import check_collector
from wfbench_collectors.shm import ShmCollector


class MyCollector(ShmCollector):
    capabilities = frozenset({"deterministic", "workers"})
    cannot = {"own-seeds": "it has only one"}

    def __init__(self, workers: int = 2) -> None:
        super().__init__(workers=workers)


for result in check_collector(MyCollector, {"workers": 3}, only=SLUGS):
    print(result.slug, result.kept, result.excuse)
"""


def test_a_class_of_a_script_can_be_tested(tmp_path: Path):
    slugs = ["own-seeds", "misuse", "interrupted", "replaced-worker"]
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.replace("SLUGS", repr(slugs)))
    done = subprocess.run(
        [sys.executable, str(script)], check=False, capture_output=True, text=True, timeout=110
    )
    assert done.stdout.splitlines() == [
        "own-seeds True it has only one",
        "misuse True ",
        "interrupted True ",
        "replaced-worker None ",
    ], done.stderr


def test_the_class_is_not_collected_on_its_own():
    assert not CollectorConformance.__name__.startswith("Test")
