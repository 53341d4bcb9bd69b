"""The reference policies: what each does in observations that were chosen by hand."""

from __future__ import annotations

import numpy as np
import pytest

from wfbench.contract import StepArrays
from wfbench_cage2.references import (
    REMOVABLE,
    STUBBORN,
    Asleep,
    GreedyOracle,
    Reactive,
    RevealedBatch,
    uniform,
)
from wfbench_cage2.tables import HOST_ID, NUM_HOSTS, OBS_SIZE, action_name

ORDER = (4, 2, 1, 3, 0)
UNKNOWN, USER, PRIVILEGED = (1, 0), (0, 1), (1, 1)


def seen(**beliefs):
    """Return an observation in which blue believes this of hosts, and sees activity on all."""
    obs = np.zeros((NUM_HOSTS, 4), np.uint8)
    obs[:, :2] = 1
    for name, bits in beliefs.items():
        obs[HOST_ID[name], 2:] = bits
    return obs.reshape(1, -1)


def revealed(**levels):
    obs = np.zeros((1, OBS_SIZE + NUM_HOSTS), np.uint8)
    for name, level in levels.items():
        obs[0, OBS_SIZE + HOST_ID[name]] = level
    return obs


def chosen(policy, obs, draw=0.0):
    acts = policy.act(obs, np.full(len(obs), draw))
    assert not acts.log_probs.any()
    assert not acts.values.any()
    return action_name(int(acts.actions[0]))


@pytest.mark.parametrize(
    ("beliefs", "draw", "does"),
    [
        ({}, 0.0, "Sleep"),
        ({}, 0.499, "Sleep"),
        ({}, 0.5, "Analyse Op_Server0"),
        ({}, 0.55, "Analyse Enterprise2"),
        ({}, 0.999, "Analyse Defender"),
        ({"User1": USER}, 0.9, "Remove User1"),
        ({"User1": UNKNOWN}, 0.0, "Restore User1"),
        ({"User1": PRIVILEGED}, 0.0, "Restore User1"),
        ({"User1": PRIVILEGED, "Op_Server0": USER}, 0.0, "Remove Op_Server0"),
        ({"Enterprise1": USER, "Enterprise2": UNKNOWN}, 0.0, "Restore Enterprise2"),
        ({"Defender": USER, "User0": PRIVILEGED}, 0.0, "Remove Defender"),
        ({"User0": PRIVILEGED}, 0.0, "Sleep"),
    ],
)
def test_reactive_repairs_the_most_important_host_it_suspects(beliefs, draw, does):
    assert chosen(Reactive(ORDER), seen(**beliefs), draw) == does


@pytest.mark.parametrize(
    ("levels", "does"),
    [
        ({}, "Sleep"),
        ({"Defender": REMOVABLE}, "Remove Defender"),
        ({"Defender": STUBBORN}, "Restore Defender"),
        ({"Op_Server0": REMOVABLE, "User3": STUBBORN}, "Restore User3"),
        ({"Enterprise0": REMOVABLE, "Op_Host1": STUBBORN}, "Remove Enterprise0"),
        ({"Enterprise2": STUBBORN, "Enterprise1": REMOVABLE}, "Remove Enterprise1"),
    ],
)
def test_the_oracle_fixes_the_first_compromised_type_of_its_order(levels, does):
    assert chosen(GreedyOracle(ORDER), revealed(**levels)) == does


def test_the_oracle_of_another_order_fixes_another_type():
    levels = {"Op_Server0": REMOVABLE, "User3": STUBBORN}
    assert chosen(GreedyOracle(ORDER[::-1]), revealed(**levels)) == "Remove Op_Server0"


def test_sleepers_sleep_and_chance_finds_every_action_equally_likely():
    assert chosen(Asleep(ORDER), seen(User1=USER)) == "Sleep"
    assert uniform(ORDER).act(seen(), np.array([0.9999])).actions.tolist() == [144]


@pytest.mark.parametrize("kind", [Asleep, Reactive, GreedyOracle])
def test_a_rule_comes_back_from_its_snapshot(kind):
    policy = kind(ORDER)
    snapshot = policy.snapshot()
    again = snapshot.policy()
    assert (type(again), again.order, again.version) == (kind, ORDER, 0)


def test_the_true_state_is_revealed_at_every_step():
    options = {"red": "bline", "episode_steps": 30, "memory": True, "actions": "reduced"}
    batch = RevealedBatch(3, **options)
    out = StepArrays.allocate(3, batch.info)
    assert batch.info.num_actions == 145
    batch.reset(np.arange(3, dtype=np.uint64), out.obs)
    levels = out.obs[:, OBS_SIZE:].copy()
    found = set()
    for step in range(1, 31):
        batch.step(np.zeros(3, np.int64), out)
        assert out.truncated.all() == (step == 30)
        for shown, mask in zip(levels, out.compromised, strict=True):
            held = {h for h in range(NUM_HOSTS) if mask >> h & 1}
            assert set(np.flatnonzero(shown)) == held - {HOST_ID["User0"]}
        levels = out.obs[:, OBS_SIZE:].copy()
        found |= set(levels.flat)
    assert found == {0, REMOVABLE, STUBBORN} == {0, 1, 2}
    assert out.final_obs[:, :OBS_SIZE].any(axis=1).all()
    assert not out.final_obs[:, OBS_SIZE:].any(), "the state of an ended episode is gone"
    assert not levels.any(), "the next episode has begun"
