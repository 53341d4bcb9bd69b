"""Check what an environment gives: its spaces, and values that keep to them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import EnvInfo, StepArrays


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
        unbounded=is_unbounded(space),
    )


def is_unbounded(space: Any) -> bool:
    """Return whether a space has an infinite bound; one without bounds has none."""
    bounds = (getattr(space, "low", 0), getattr(space, "high", 0))
    return any(bool(np.isinf(bound).any()) for bound in bounds)


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


def flaw_of(obs: NDArray[Any], *, unbounded: bool) -> str | None:
    """Return what these observations must not have: NaN, or infinities unless `unbounded`."""
    if obs.dtype.kind != "f" or np.isfinite(obs).all():
        return None
    if np.isnan(obs).any():
        return "NaN"
    return None if unbounded else "an infinity"


def first_flaw(out: StepArrays, *, unbounded: bool) -> tuple[int, str] | None:
    """Return the first row of a step with such an observation, to act on or final, and its flaw."""
    if out.obs.dtype.kind != "f":
        return None
    ended = out.ended
    seen = (out.obs, out.final_obs[ended]) if ended.any() else (out.obs,)
    if not any(flaw_of(obs, unbounded=unbounded) for obs in seen):
        return None
    for row, over in enumerate(ended):
        for obs in (out.obs[row], out.final_obs[row])[: 1 + over]:
            flaw = flaw_of(obs, unbounded=unbounded)
            if flaw is not None:
                return row, flaw
    return None
