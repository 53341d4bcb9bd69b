"""One environment of a plan, as it stands behind a vector environment."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gymnasium
import numpy as np

from wfbench.contract import Plan, WorkerError

_LONGEST = 500


class GuardedEnv(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment whose faults name it and whose values are what its spaces promise.

    It begins with the seed of its plan, because Stable-Baselines3 gives seeds that count up. Its
    `info` holds what a rollout needs and nothing else, both ways in which an episode can end too.
    """

    def __init__(self, plan: Plan, index: int) -> None:
        self._index = index
        self._seed = plan.env_seeds[index]
        self._check = plan.check
        self._begun = False
        with self._blamed():
            super().__init__(plan.env.make(index))
            self._shape = self.env.observation_space.shape
            self._dtype = self.env.observation_space.dtype

    @property
    def workflow(self) -> Any:
        """The workflow model of the environment, if it has one."""
        return getattr(self.env.unwrapped, "workflow", None)

    def reset(
        self,
        *,
        seed: int | None = None,  # noqa: ARG002 (its own is used)
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """The first episode of the plan's seed, and then the next ones."""
        own = None if self._begun else self._seed
        self._begun = True
        with self._blamed():
            return self._good(self.env.reset(seed=own, options=options)[0], "reset"), {}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """One step."""
        with self._blamed():
            obs, reward, terminated, truncated, info = self.env.step(action)
            obs = self._good(obs, "step")
            self._refuse_bad(reward)
            if terminated or truncated:
                # The library keeps it while the next episode begins, perhaps in the same array.
                obs = np.array(obs)
            kept = {
                "compromised_hosts": int(info.get("compromised_hosts", 0)),
                "ended_session": bool(info.get("ended_session", False)),
                "terminated": bool(terminated),
                "truncated": bool(truncated),
            }
            return obs, reward, bool(terminated), bool(truncated), kept

    def _good(self, obs: Any, where: str) -> Any:
        if not self._check:
            return obs
        found = np.asarray(obs)
        if found.shape != self._shape or found.dtype != self._dtype:
            raise ValueError(
                f"{where} returned an observation of shape {found.shape} and type {found.dtype}, "
                f"not {self._shape} and {self._dtype}"
            )
        if found.dtype.kind == "f" and np.isnan(found).any():
            raise ValueError(f"{where} returned an observation with NaN in it")
        return obs

    def _refuse_bad(self, reward: Any) -> None:
        if self._check and not (np.ndim(reward) == 0 and np.isfinite(reward)):
            raise ValueError(f"step returned the reward {reward!r}")

    @contextmanager
    def _blamed(self) -> Iterator[None]:
        try:
            yield
        except (Exception, SystemExit) as error:  # noqa: BLE001 (an env may raise anything)
            message = " ".join(str(error).split())[:_LONGEST]
            raise WorkerError(
                f"{type(error).__name__}: {message}",
                worker=0,
                env=self._index,
                seed=self._seed,
                traceback="".join(traceback.format_exception(error)),
            ) from None
