"""Check what an environment gives: its spaces, and values that keep to them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import EnvInfo, StepArrays

_NO_ROWS: NDArray[np.intp] = np.empty(0, np.intp)


def info_of(env: Any) -> EnvInfo:
    """Return shapes and workflow model of an environment; raise TypeError if it does not fit."""
    workflow = getattr(env.unwrapped, "workflow", None)
    return info_of_spaces(env.observation_space, env.action_space, workflow)


def info_of_spaces(space: Any, actions: Any, workflow: Any) -> EnvInfo:
    """Return the same from spaces and a workflow model."""
    for wanted, found in (("Box", space), ("Discrete", actions)):
        if wanted not in {base.__name__ for base in type(found).__mro__}:
            raise TypeError(f"a {wanted} space is needed where the environment has {found}")
    if int(actions.start) != 0:
        raise TypeError(f"actions start at {actions.start}; they must start at 0")
    return EnvInfo(
        obs_shape=tuple(int(length) for length in space.shape),
        obs_dtype=np.dtype(space.dtype).str,
        num_actions=int(actions.n),
        workflow=workflow,
    )


def spaces_of(info: EnvInfo) -> tuple[Any, ...]:
    """Return what all environments of a plan must have in common."""
    return info.obs_shape, info.obs_dtype, info.num_actions


def refuse_bad_obs(
    obs: Any, shape: tuple[int, ...] | None, dtype: np.dtype[Any] | None, where: str
) -> None:
    """Raise if what `where` returned is not an observation of this shape and type."""
    if not isinstance(obs, np.ndarray):
        raise TypeError(f"{where} returned an observation of type {type(obs).__name__}")
    if obs.shape != shape:
        raise ValueError(f"{where} returned an observation of shape {obs.shape}, not {shape}")
    if obs.dtype != dtype:
        raise ValueError(f"{where} returned an observation of type {obs.dtype}, not {dtype}")


def refuse_bad_reward(reward: Any) -> None:
    """Raise if what a step returned as a reward is not a finite number."""
    if type(reward) is not float and np.ndim(reward) != 0:
        raise ValueError(f"step returned a reward of shape {np.shape(reward)}, not a number")
    try:
        finite = math.isfinite(reward)
    except TypeError:
        raise TypeError(f"step returned a reward of type {type(reward).__name__}") from None
    if not finite:
        raise ValueError(f"step returned the reward {reward}")


def has_nan(obs: NDArray[Any]) -> bool:
    """Return whether NaN is anywhere in these observations."""
    return obs.dtype.kind == "f" and bool(np.isnan(obs).any())


def rows_with_nan(out: StepArrays) -> NDArray[np.intp]:
    """Return the rows of a step with NaN in the observation to act on or the final one."""
    if out.obs.dtype.kind != "f":
        return _NO_ROWS
    ended = out.terminated | out.truncated
    final_obs = out.final_obs[ended] if ended.any() else None
    if not has_nan(out.obs) and (final_obs is None or not has_nan(final_obs)):
        return _NO_ROWS
    bad = np.isnan(out.obs.reshape(len(ended), -1)).any(axis=1)
    if final_obs is not None:
        bad[ended] |= np.isnan(final_obs.reshape(len(final_obs), -1)).any(axis=1)
    return np.flatnonzero(bad)
