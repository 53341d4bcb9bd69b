"""Episodes recorded step by step, and whether two recordings agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from wfbench.contract import EnvRef, StepArrays

from .verdict import expect

_STEPS = 150


@dataclass(frozen=True)
class Trace:
    """What an env showed, one entry per step; `obs` has the first observation before them."""

    obs: list[NDArray[Any]]
    rewards: list[float]
    terminated: list[bool]
    truncated: list[bool]
    final_obs: dict[int, NDArray[Any]]
    infos: list[dict[str, Any]]


def trace_batch(ref: EnvRef, seeds: list[int]) -> list[Trace]:
    """What each row of the batched form shows, started from these seeds."""
    count = len(seeds)
    batch = ref.make_batch(count)
    try:
        shape, dtype = batch.info.obs_shape, batch.info.obs_dtype
        out = StepArrays(
            obs=np.zeros((count, *shape), dtype),
            rewards=np.zeros(count, np.float32),
            terminated=np.zeros(count, np.bool_),
            truncated=np.zeros(count, np.bool_),
            final_obs=np.zeros((count, *shape), dtype),
            compromised=np.zeros(count, np.uint32),
            ended_session=np.zeros(count, np.bool_),
        )
        traces = [Trace([], [], [], [], {}, []) for _ in seeds]
        batch.reset(np.array(seeds, np.uint64), out.obs)
        for row, trace in enumerate(traces):
            trace.obs.append(out.obs[row].copy())
        for step, action in enumerate(_actions(batch.info.num_actions)):
            batch.step(np.full(count, action, np.int64), out)
            for row, trace in enumerate(traces):
                _record(trace, step, row, out)
        return traces
    finally:
        batch.close()


def _actions(num_actions: int) -> list[int]:
    return [int(a) for a in np.random.default_rng(5).integers(num_actions, size=_STEPS)]


def trace_scalar(env: gymnasium.Env[Any, Any], seed: int) -> Trace:
    """What an env shows from this seed on, over as many episodes as it takes."""
    trace = Trace([], [], [], [], {}, [])
    obs, _ = env.reset(seed=seed)
    trace.obs.append(np.array(obs))
    for step, action in enumerate(_actions(int(env.action_space.n))):  # type: ignore[attr-defined]
        obs, reward, terminated, truncated, info = env.step(np.int64(action))
        trace.rewards.append(reward)  # type: ignore[arg-type]
        trace.terminated.append(bool(terminated))
        trace.truncated.append(bool(truncated))
        trace.infos.append(dict(info))
        if terminated or truncated:
            trace.final_obs[step] = np.array(obs)
            obs, _ = env.reset()
        trace.obs.append(np.array(obs))
    return trace


def _record(trace: Trace, step: int, row: int, out: StepArrays) -> None:
    trace.rewards.append(float(out.rewards[row]))
    trace.terminated.append(bool(out.terminated[row]))
    trace.truncated.append(bool(out.truncated[row]))
    trace.infos.append(
        {
            "compromised_hosts": int(out.compromised[row]),
            "ended_session": bool(out.ended_session[row]),
        }
    )
    if out.terminated[row] or out.truncated[row]:
        trace.final_obs[step] = out.final_obs[row].copy()
    trace.obs.append(out.obs[row].copy())


def expect_same(one: Trace, other: Trace, where: str, *, infos: bool = True) -> None:
    """Expect two traces to agree bit for bit; rewards as the float32 a rollout holds."""
    for step in range(_STEPS):
        at = f"step {step}, {where}:"
        pair = one.obs[step + 1], other.obs[step + 1]
        expect(np.array_equal(*pair), f"{at} observation {pair[1]} instead of {pair[0]}")
        rewards = np.float32(one.rewards[step]), np.float32(other.rewards[step])
        expect(rewards[0] == rewards[1], f"{at} reward {rewards[1]} instead of {rewards[0]}")
        ends = [(t.terminated[step], t.truncated[step]) for t in (one, other)]
        expect(ends[0] == ends[1], f"{at} (terminated, truncated) {ends[1]} instead of {ends[0]}")
        if step in one.final_obs:
            same = np.array_equal(one.final_obs[step], other.final_obs[step])
            expect(same, f"{at} another final observation")
        for key in ("compromised_hosts", "ended_session"):
            if infos or key in one.infos[step]:
                told = one.infos[step].get(key), other.infos[step].get(key)
                expect(told[0] == told[1], f"{at} {key} {told[1]} instead of {told[0]}")
    expect(np.array_equal(one.obs[0], other.obs[0]), f"{where}: another first observation")
