"""The kit must find faults: each collector here breaks one promise, and the kit must name it."""

from __future__ import annotations

import pytest

from wfbench.benchmarks.measure.model import Case, Settings
from wfbench.benchmarks.measure.runner import run_session
from wfbench.benchmarks.measure.summary import equal_work
from wfbench.contract import EnvRef
from wfbench.testing import check_collector
from wfbench_collectors.options import ShmOptions
from wfbench_synthetic.options import SyntheticOptions


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
        ("LeaksSegment", "clean-close", "shared memory that outlives close: /dev/shm/kitleak"),
        ("LeaksDescriptor", "clean-close", "8 cycles left 8 descriptors open"),
        ("LeaksProcess", "clean-close", "processes that outlive close"),
        ("OneSeedForAll", "own-seeds", "16 environments start with only 1 different"),
        ("HangsInClose", "close-in-any-state", "hung: nothing happened for 1 s"),
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
    [promise] = check_collector(bad(name), only=[slug], limit=1.0 if "Hang" in name else None)
    assert promise.kept is False
    assert detail in promise.detail


def test_a_change_made_once_is_noticed_after_other_promises(bad):
    results = check_collector(bad("SetsVariable"), only=["same-transitions", "nothing-global"])
    assert [result.kept for result in results] == [True, False]
    assert "open changed the environment" in results[1].detail


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
