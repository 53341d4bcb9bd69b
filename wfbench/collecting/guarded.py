"""One environment of a plan, wrapped for a library's vector environment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import gymnasium
import numpy as np

from wfbench.contract import Plan, WorkerError
from wfbench.contract.record import INFO_TYPES

from .checks import flaw_of, is_unbounded, refuse_bad_obs, refuse_bad_reward
from .faults import IN_PROCESS_FAULTS, cause_of, trace_of


class EnvFault(Exception):  # noqa: N818 (what an environment did, not what we did)
    """What an environment raised, as the `error` that names it.

    It survives being pickled, and being rebuilt from itself as the only argument, which is how
    gymnasium raises again what came from a worker.
    """

    def __init__(self, found: WorkerError | EnvFault) -> None:
        self.error: WorkerError = found.error if isinstance(found, EnvFault) else found
        super().__init__(self.error)


SEEDS_OPTION = "wfbench_env_seeds"
"""The option of `reset` that starts every environment anew: one seed for each of the plan."""


class GuardedEnv(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment whose faults name it and whose values are what its spaces promise.

    Its first episode is that of the plan's seed, whatever seed a library gives, until it is reset
    with other ones (`SEEDS_OPTION`). Its `info` holds
    only what a rollout needs, so that nothing else is moved. Unless it is `in_process`, it has a
    worker of its own.
    """

    def __init__(self, plan: Plan, index: int, *, in_process: bool) -> None:
        self._index = index
        self._worker = 0 if in_process else index
        self._faults = IN_PROCESS_FAULTS if in_process else (BaseException,)
        self._seed = plan.env_seeds[index]
        self._check = plan.check
        self._begun = False
        with self._attributed():
            super().__init__(plan.env.make(index))
            self._shape = self.env.observation_space.shape
            self._dtype = self.env.observation_space.dtype
            self._unbounded = is_unbounded(self.env.observation_space)

    @property
    def workflow(self) -> Any:
        """Return the workflow model of the environment, if it has one."""
        return getattr(self.env.unwrapped, "workflow", None)

    def reset(
        self,
        *,
        seed: int | None = None,  # noqa: ARG002 (its own is used)
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Start the first episode of the plan's seed, and from then on the next one."""
        options = dict(options or {})
        seeds = options.pop(SEEDS_OPTION, None)
        if seeds is not None:
            self._seed, self._begun = seeds[self._index], False
        own = None if self._begun else self._seed
        self._begun = True
        with self._attributed():
            obs = self.env.reset(seed=own, options=options or None)[0]
            self._refuse_bad(obs, "reset")
            return obs, {}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Make a step."""
        with self._attributed():
            obs, reward, terminated, truncated, info = self.env.step(action)
            self._refuse_bad(obs, "step")
            if self._check:
                refuse_bad_reward(reward)
            if terminated or truncated:
                # The library keeps it while the next episode may begin in the same array.
                obs = np.array(obs)
            # Plain numbers, which libraries gather in arrays of the right type.
            kept = {key: kind(info.get(key, 0)).item() for key, kind in INFO_TYPES.items()}
            return obs, reward, bool(terminated), bool(truncated), kept

    def close(self) -> None:
        """Close; what goes wrong then stops neither the library nor the other environments."""
        with suppress(Exception):
            self.env.close()

    def _refuse_bad(self, obs: Any, where: str) -> None:
        if self._check:
            refuse_bad_obs(obs, self._shape, self._dtype, where)
            flaw = flaw_of(obs, unbounded=self._unbounded)
            if flaw is not None:
                raise ValueError(f"{where} returned an observation with {flaw} in it")

    @contextmanager
    def _attributed(self) -> Iterator[None]:
        try:
            yield
        except KeyboardInterrupt:
            raise
        except self._faults as error:
            found = WorkerError(
                cause_of(error),
                worker=self._worker,
                env=self._index,
                seed=self._seed,
                traceback=trace_of(error),
            )
            raise EnvFault(found) from None


def close_each(envs: Iterable[gymnasium.Env[Any, Any]]) -> None:
    """Close environments of this process; one that cannot close does not stop the others."""
    for env in envs:
        with suppress(Exception):
            env.close()
