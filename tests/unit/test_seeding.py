from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wfbench.collecting.seeding import Purpose, env_seeds, make_plan, purpose_seed
from wfbench.contract import EnvRef, UsageError

SEEDS = st.integers(min_value=0, max_value=2**64)


@given(SEEDS, st.integers(min_value=1, max_value=40))
def test_env_seeds_differ_and_fit_64_bits(seed: int, n: int) -> None:
    seeds = env_seeds(seed, n)
    assert len(set(seeds)) == n
    assert all(0 <= value < 2**64 for value in seeds)


@given(SEEDS, st.integers(min_value=0, max_value=20), st.integers(min_value=0, max_value=20))
def test_an_env_keeps_its_seed_however_many_there_are(seed: int, few: int, more: int) -> None:
    assert env_seeds(seed, few + more)[:few] == env_seeds(seed, few)


@given(SEEDS)
def test_neighbouring_base_seeds_and_other_purposes_share_nothing(seed: int) -> None:
    streams = [
        env_seeds(seed, 30),
        env_seeds(seed + 1, 30),
        *(env_seeds(seed, 30, purpose) for purpose in Purpose if purpose is not Purpose.ENVS),
    ]
    together = [value for stream in streams for value in stream]
    assert len(set(together)) == len(together)


def test_seeds_are_the_same_in_every_version() -> None:
    """Results refer to them: a change here makes every stored result unrepeatable."""
    assert env_seeds(0, 3) == (2635072618980576772, 14898058564793133489, 13464360262196971257)
    assert purpose_seed(0, Purpose.TRAINER) == 11539782348902174461


def test_a_plan_holds_the_seeds() -> None:
    plan = make_plan(EnvRef("x", "a:b"), 4, seed=9)
    assert plan.env_seeds == env_seeds(9, 4)
    assert plan.deadlines.step > 0


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(UsageError, match="must not be negative"):
        env_seeds(-1, 1)
