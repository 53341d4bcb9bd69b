"""Frequencies of the random outcomes against the probabilities of the specification."""

from __future__ import annotations

import numpy as np
import pytest

from wfbench_cage2 import Cage2VectorEnv, layout
from wfbench_cage2.lookup import ENABLED, TOP_EXPLOIT
from wfbench_cage2.tables import Red, RedAction

ENVS = 2_000


@pytest.fixture(scope="module")
def history():
    """States of every step under random actions, by red agent: [step, env, place]."""
    states = {}
    for red in ("bline", "meander"):
        env = Cage2VectorEnv(ENVS, red=red, seed=5, episode_steps=101)
        env.reset()
        rng = np.random.default_rng(5)
        states[red] = np.stack(
            [env.step(rng.integers(0, 145, ENVS))[-1]["state"].copy() for _ in range(100)]
        )
    return states


def within_4_sigma(hits, trials, probability):
    sigma = np.sqrt(trials * probability * (1 - probability))
    return abs(hits - trials * probability) <= 4 * sigma


@pytest.mark.parametrize("red", ["bline", "meander"])
def test_detection_is_seen_in_95_percent(history, red):
    drawn = history[red][:, :, layout.AT.detect]
    drawn = drawn[drawn >= 0]
    assert len(drawn) > 5_000
    assert within_4_sigma(drawn.sum(), len(drawn), 0.95)


@pytest.mark.parametrize("red", ["bline", "meander"])
def test_top_exploit_has_75_percent_and_the_others_share_the_rest(history, red):
    states = history[red]
    step, env = np.nonzero(states[:, :, layout.AT.exploit] >= 0)
    rows = states[step, env]
    chosen = rows[:, layout.AT.exploit]
    options = ENABLED[rows[np.arange(len(rows)), layout.AT.rports + rows[:, layout.AT.red_host]]]
    count = np.array([int(o).bit_count() for o in options])
    several = count > 1
    top = chosen == TOP_EXPLOIT[options]
    assert top[~several].all()
    assert within_4_sigma(top[several].sum(), several.sum(), 0.75)
    for option_set in np.unique(options[several]):
        here = options == option_set
        others = [e for e in range(8) if option_set >> e & 1 and e != TOP_EXPLOIT[option_set]]
        for other in others:
            hits = (chosen[here] == other).sum()
            assert within_4_sigma(hits, here.sum(), 0.25 / len(others)), (option_set, other)


def test_bline_draws_its_user_host_once_and_uniformly(history):
    drawn = history["bline"][1:, :, layout.AT.bline_u]
    assert (drawn == drawn[0]).all()
    for user in (9, 10, 11, 12):
        assert within_4_sigma((drawn[0] == user).sum(), ENVS, 0.25)


def test_meander_picks_uniformly(history):
    second = history["meander"][1]
    assert (second[:, layout.AT.red_type] == RedAction.DISCOVER_NETWORK_SERVICES).all()
    for user in range(8, 13):
        assert within_4_sigma((second[:, layout.AT.red_host] == user).sum(), ENVS, 0.2)


def test_mixed_draws_the_red_agent_per_episode_with_its_weights():
    weights = {"bline": 1.0, "meander": 2.0, "sleep": 1.0}
    env = Cage2VectorEnv(ENVS, red="mixed", red_weights=weights, seed=1, episode_steps=1)
    asleep = np.zeros(ENVS, dtype=np.int64)
    infos = (env.step(asleep)[-1] if t else env.reset()[-1] for t in range(5))
    episodes = np.stack([info["state"][:, layout.AT.red].copy() for info in infos])
    for red in Red:
        share = weights[red.name.lower()] / 4
        assert within_4_sigma((episodes == red).sum(), episodes.size, share)
    assert (episodes[0] != episodes[1]).any()


def test_neighbouring_seeds_give_unrelated_outcomes():
    env = Cage2VectorEnv(ENVS, red="meander", seed=list(range(ENVS)))
    env.reset()
    env.step(np.zeros(ENVS, dtype=np.int64))
    _, _, _, _, info = env.step(np.zeros(ENVS, dtype=np.int64))
    picks = info["state"][:, layout.AT.red_host]
    assert within_4_sigma((picks[1:] == picks[:-1]).sum(), ENVS - 1, 0.2)
