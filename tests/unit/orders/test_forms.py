"""Orders as bits, what an episode is drawn to be, and both forms of environments that show it."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wfbench.contract import EnvRef, PluginError, StepArrays, UsageError, WorkflowModel
from wfbench.contract.forms import KINDS
from wfbench.contract.record import INFO_FIELDS
from wfbench.host.manager import PluginSettings, load_plugins
from wfbench.orders import all_orders, order_index, parse_order
from wfbench.orders.codes import OrderCode
from wfbench.orders.forms import (
    EpisodeDraws,
    FormOptions,
    conditioned,
    drawn_orders,
    held_steps,
    shaped_ref,
    shown_code,
)
from wfbench.orders.shaped_envs import ShapedEnv
from wfbench.settings.selection import env_ref, select
from wfbench_cage2.workflow import WORKFLOW

UINT64 = st.integers(0, 2**64 - 1)
CAGE2 = EnvRef(
    "cage2", "wfbench_cage2.env:Cage2Env", "wfbench_cage2.batch:Cage2Batch", {"episode_steps": 9}
)
SYNTHETIC = EnvRef(
    "synthetic-batch",
    "wfbench_synthetic.env:free_env",
    "wfbench_synthetic.batch:SyntheticBatch",
    {"num_actions": 6, "episode_length": 5, "obs_size": 7, "obs_dtype": "float32"},
)


@given(st.sampled_from(KINDS), st.integers(1, 5), st.data())
def test_every_order_has_its_own_bits_and_is_read_back(
    kind: str, units: int, data: st.DataObject
) -> None:
    code = OrderCode(kind, units)
    orders = data.draw(st.lists(st.permutations(range(units)).map(tuple), min_size=1))
    bits = np.stack([code.encode(order) for order in orders])
    assert bits.shape == (len(orders), code.size)
    assert set(np.unique(bits)) <= {0, 1}
    for rows in (bits, bits.astype(np.float32), bits[None]):
        found = code.decode(rows).reshape(-1)
        assert [all_orders(units)[index] for index in found] == orders
    assert len({row.tobytes() for row in code.table}) == len(all_orders(units))


def test_pair_bits_say_which_of_two_units_comes_first() -> None:
    code = OrderCode("pairs", 3)  # pairs ab, ac, bc
    assert not code.table.flags.writeable, "it is everybody's"
    assert code.encode((0, 1, 2)).tolist() == [1, 1, 1]
    assert code.encode((2, 0, 1)).tolist() == [1, 0, 0]
    assert OrderCode("pairs", 5).size == 10
    assert OrderCode("positions", 5).size == 25


@given(st.sampled_from(KINDS), st.integers(2, 5), st.data())
def test_bits_that_are_no_order_are_refused(kind: str, units: int, data: st.DataObject) -> None:
    code = OrderCode(kind, units)
    size = code.size
    bits = np.array(data.draw(st.lists(st.integers(0, 1), min_size=size, max_size=size)))
    if any(np.array_equal(bits, row) for row in code.table):
        assert np.array_equal(code.table[code.decode(bits)], bits)
    else:
        with pytest.raises(PluginError, match=f"the last {size} features"):
            code.decode(bits[None])


@settings(max_examples=50)
@given(
    st.lists(st.tuples(UINT64, UINT64), min_size=1, max_size=8),
    st.sampled_from(["", "all", "SEUHD;USEHD", "DESHU"]),
    st.sampled_from(["", "4", "0-3", "2-9"]),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.randoms(use_true_random=False),
)
def test_a_draw_depends_on_seed_and_episode_only(
    keys: list[tuple[int, int]], orders: str, hold: str, share: float, random: Any
) -> None:
    options = FormOptions(orders=orders, hold=hold, hold_share=share)
    seeds, episodes = np.array(keys, dtype=np.uint64).T
    draws = EpisodeDraws(WORKFLOW, options)
    bits, held = draws.bits(seeds, episodes), draws.held(seeds, episodes)
    shuffled = random.sample(range(len(keys)), len(keys))
    again = EpisodeDraws(WORKFLOW, options)  # in another sequence, and each alone
    assert np.array_equal(again.bits(seeds[shuffled], episodes[shuffled]), bits[shuffled])
    for row in range(len(keys)):
        one = slice(row, row + 1)
        assert np.array_equal(again.bits(seeds[one], episodes[one]), bits[one])
        assert np.array_equal(again.held(seeds[one], episodes[one]), held[one])
    low, high = held_steps(hold)
    assert ((held == 0) | ((low <= held) & (held <= high))).all()
    if share == 1:
        assert (held >= low).all()
    if orders:
        known = {order_index(order) for order in drawn_orders(orders, WORKFLOW.units)}
        assert draws.code is not None
        assert set(draws.code.decode(bits).tolist()) <= known


def test_orders_and_held_steps_are_drawn_evenly_and_not_together() -> None:
    draws = EpisodeDraws(WORKFLOW, FormOptions(orders="all", hold="1-4", hold_share=0.5))
    seeds = np.repeat(np.arange(200, dtype=np.uint64), 60)
    episodes = np.tile(np.arange(60, dtype=np.uint64), 200)
    assert draws.code is not None
    orders = draws.code.decode(draws.bits(seeds, episodes))
    held = draws.held(seeds, episodes)
    counts = np.bincount(orders, minlength=120)
    assert counts.min() > 60  # 100 on average
    assert counts.max() < 150
    assert np.bincount(held, minlength=5) / len(held) == pytest.approx(
        [0.5, 0.125, 0.125, 0.125, 0.125], abs=0.02
    )
    for first in range(5):
        late = np.array([all_orders()[index][0] == first for index in range(120)])[orders]
        assert held[late].mean() == pytest.approx(held[~late].mean(), abs=0.12)


def test_named_orders_are_the_only_ones_shown() -> None:
    ref = shaped_ref(CAGE2, FormOptions(orders="SEUHD;balanced;7"))
    code = shown_code(ref, WORKFLOW)
    assert code is not None
    wanted = {order_index(parse_order(name)) for name in ("SEUHD", "balanced", "7")}
    seen = set()
    with closing(ref.make()) as env:
        for seed in range(8):
            obs, _ = env.reset(seed=seed)
            for _ in range(8):
                seen.add(int(code.decode(obs[-code.size :])))
                obs, _ = env.reset()
    assert seen == wanted


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ref", [CAGE2, SYNTHETIC], ids=lambda ref: ref.name)
@settings(max_examples=12)
@given(
    seeds=st.lists(UINT64, min_size=1, max_size=4, unique=True),
    orders=st.sampled_from(["", "all", "3;77"]),
    hold=st.sampled_from(["", "3", "0-8", "12"]),
    share=st.sampled_from([0.5, 1.0]),
    actions=st.integers(0, 2**32),
)
def test_scalar_and_batched_forms_agree_step_by_step(
    ref: EnvRef, kind: str, seeds: list[int], orders: str, hold: str, share: float, actions: int
) -> None:
    options = FormOptions(orders=orders, order_code=kind, hold=hold, hold_share=share)
    shaped = shaped_ref(ref, options)
    count = len(seeds)
    with closing(shaped.make_batch(count)) as batch:
        envs = [shaped.make(index) for index in range(count)]
        out = StepArrays.allocate(count, batch.info)
        batch.reset(np.array(seeds, np.uint64), out.obs)
        assert envs[0].observation_space.shape == batch.info.obs_shape
        for row, env in enumerate(envs):
            first, _ = env.reset(seed=seeds[row])
            assert np.array_equal(first, out.obs[row])
            assert first.dtype == out.obs.dtype
        rng = np.random.default_rng(actions)
        for _ in range(24):  # over several episodes
            chosen = rng.integers(batch.info.num_actions, size=count)
            batch.step(chosen, out)
            for row, env in enumerate(envs):
                _expect_row(env, chosen[row], out, row)
        for env in envs:
            env.close()


def _expect_row(env: Any, action: np.int64, out: StepArrays, row: int) -> None:
    obs, reward, terminated, truncated, info = env.step(action)
    assert env.observation_space.contains(obs)
    assert np.float32(reward) == out.rewards[row]
    assert (terminated, truncated) == (out.terminated[row], out.truncated[row])
    for name, key in INFO_FIELDS.items():
        assert info[key] == getattr(out, name)[row], name
    if terminated or truncated:
        assert np.array_equal(obs, out.final_obs[row])
        obs, _ = env.reset()
    assert np.array_equal(obs, out.obs[row])


@pytest.mark.parametrize("ref", [CAGE2, SYNTHETIC], ids=lambda ref: ref.name)
def test_what_blue_does_while_it_is_held_changes_nothing(ref: EnvRef) -> None:
    held = shaped_ref(ref, FormOptions(hold="4"))

    def trace(actions: list[int]) -> list[tuple[bytes, float]]:
        found = []
        with closing(held.make()) as env:
            env.reset(seed=3)
            for action in actions:
                obs, reward, *_ = env.step(action)
                found.append((obs.tobytes(), float(reward)))
        return found

    with closing(ref.make()) as plain:
        last = int(plain.action_space.n) - 1
    idle = trace([0, 0, 0, 0, 0])
    assert trace([last, 3, 2, last, 0]) == idle
    assert trace([0, 0, 0, 0, last]) != idle  # the fifth step is blue's own
    with closing(ref.make()) as plain:
        plain.reset(seed=3)
        for step in range(4):
            obs, *_ = plain.step(plain.unwrapped.workflow.idle)
            assert obs.tobytes() == idle[step][0]


def test_the_order_is_added_and_nothing_else_changes() -> None:
    shown = conditioned(CAGE2)
    with closing(CAGE2.make()) as plain, closing(shown.make()) as env:
        one, _ = plain.reset(seed=11)
        other, _ = env.reset(seed=11)
        code = shown_code(shown, WORKFLOW)
        assert code is not None
        orders = set()
        for step in range(40):
            assert np.array_equal(one, other[: -code.size])
            orders.add(int(code.decode(other[-code.size :])))
            one, *_, over, _ = plain.step(step % 140)
            other, *_ = env.step(step % 140)
            if over:
                assert np.array_equal(one, other[: -code.size])
                one, other = plain.reset()[0], env.reset()[0]
        assert len(orders) == 5  # one per episode


def test_an_env_that_nobody_seeded_draws_its_own_seed() -> None:
    with closing(conditioned(CAGE2).make()) as one, closing(conditioned(CAGE2).make()) as other:
        first = [one.reset()[0].tobytes() for _ in range(6)]
        assert len(set(first)) > 1
        assert first != [other.reset()[0].tobytes() for _ in range(6)]


def test_a_conditioned_ref_keeps_the_orders_it_has() -> None:
    some = shaped_ref(CAGE2, FormOptions(orders="SEUHD;USEHD", hold="3"))
    assert conditioned(some) == some
    assert conditioned(some, "DESHU").form["orders"] == "DESHU"
    assert conditioned(CAGE2).form["orders"] == "all"
    assert shaped_ref(some, FormOptions()) == CAGE2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("orders=XYZ", "'XYZ' is not an order"),
        ("orders=3;3", "names an order twice"),
        ("orders=120", "there is no order 120"),
        ("orders=3;", "'' is not an order"),
        ("order_code=bits", "order_code is 'bits'; it must be pairs or positions"),
        ("hold=-3", "hold is '-3'; it must be a number of steps, or LOW-HIGH"),
        ("hold=many", "hold is 'many'"),
        ("hold=5-", "hold is '5-'"),
        ("hold=9-2", "its end lies before its start"),
        ("hold=3,hold_share=1.5", "hold_share is 1.5; it must be between 0 and 1"),
        ("hold=3,hold_share=nan", "hold_share is nan; it must be between 0 and 1"),
        ("holds=3", "has no option 'holds'"),
    ],
)
def test_a_bad_value_is_refused_in_one_line(options: str, said: str) -> None:
    host = load_plugins(PluginSettings(external=False))
    for name in ("cage2", "synthetic"):
        with pytest.raises(UsageError) as error:
            env_ref(select(host, {"env": [f"{name}:{options}"]})["env"][0]).make().close()
        assert said in str(error.value)
        assert "\n" not in str(error.value)


class NoIdle(gymnasium.Env[Any, Any]):
    workflow: WorkflowModel | None = WorkflowModel(("a", "b"), ("h", "i"), (0, 1), (-1, 0, 1))
    observation_space: Any = gymnasium.spaces.Box(0, 1, (2, 3), np.float32)
    action_space: Any = gymnasium.spaces.Discrete(3)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed, options=options)
        return np.full((2, 3), 0.5, np.float32), {}


def test_holding_needs_an_idle_action_and_showing_needs_a_model() -> None:
    with pytest.raises(UsageError, match="names an idle action"):
        ShapedEnv(NoIdle(), hold="2")
    bare = NoIdle()
    bare.workflow = None
    with pytest.raises(PluginError, match="has no workflow model"):
        ShapedEnv(bare, orders="all")
    bare.workflow, bare.observation_space = NoIdle.workflow, gymnasium.spaces.Discrete(4)
    with pytest.raises(TypeError, match="a Box space is needed"):
        ShapedEnv(bare, orders="all")


def test_observations_of_any_shape_are_flattened() -> None:
    env = ShapedEnv(NoIdle(), orders="all")
    obs, _ = env.reset(seed=1)
    assert obs.shape == env.observation_space.shape == (7,)
    assert env.observation_space.contains(obs)
    assert obs[:6].tolist() == [0.5] * 6


def test_what_episodes_are_drawn_to_be_is_the_same_in_every_version() -> None:
    draws = EpisodeDraws(WORKFLOW, FormOptions(orders="all", hold="1-9", hold_share=0.5))
    keys = np.array([(seed, episode) for seed in range(4) for episode in range(3)], np.uint64).T
    assert draws.code is not None
    orders = draws.code.decode(draws.bits(*keys))
    assert orders.tolist() == [84, 102, 97, 99, 48, 104, 35, 32, 119, 26, 51, 65]
    assert draws.held(*keys).tolist() == [0, 5, 4, 4, 2, 0, 3, 3, 9, 7, 4, 2]
