"""Environments that show what a collector does with them, and in which process."""

from __future__ import annotations

import os
import random
import sys
import time
import uuid
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from wfbench.contract import EnvInfo, EnvRef, StepArrays
from wfbench.processes.limits import BLAS_VARIABLES

FEATURES = ("pid", "torch", *BLAS_VARIABLES)
_SHAPE = (2,)


class _Noted:
    """Leaves a file in a directory when it is made, and another when it is closed."""

    def __init__(self, directory: str) -> None:
        self._directory = Path(directory)
        self._id = uuid.uuid4().hex
        self._directory.joinpath(f"made-{self._id}").touch()

    def close(self) -> None:
        self._directory.joinpath(f"closed-{self._id}").touch()


def unclosed(directory: Path) -> tuple[int, int]:
    """Return how many environments were made there, and how many of them were not closed."""
    made = len(list(directory.glob("made-*")))
    return made, made - len(list(directory.glob("closed-*")))


class _PlainEnv(gymnasium.Env[NDArray[Any], np.int64]):
    def true_state(self) -> dict[str, Any]:
        """Return nothing, for collectors that ask for it."""
        return {}


class ProbeEnv(_PlainEnv):
    """Episodes of one step whose observation holds `FEATURES`; a variable not set is -1."""

    def __init__(self) -> None:
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (len(FEATURES),), np.float64)
        self.action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[NDArray[Any], Any]:  # noqa: ARG002 (gymnasium's signature)
        """Look once."""
        return self._look(), {}

    def step(self, action: Any) -> tuple[NDArray[Any], float, bool, bool, Any]:  # noqa: ARG002 (as above)
        """Look again and end the episode."""
        return self._look(), 0.0, False, True, {}

    def _look(self) -> NDArray[Any]:
        threads = [float(os.environ.get(name, "-1")) for name in BLAS_VARIABLES]
        return np.array([os.getpid(), "torch" in sys.modules, *threads], dtype=np.float64)


class NotingEnv(_PlainEnv):
    """Notes that it is closed; the first one raises then. Observes infinities, as its space says.

    Episodes have three steps.
    """

    def __init__(self, directory: str, env_index: int) -> None:
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, _SHAPE, np.float32)
        self.action_space = gymnasium.spaces.Discrete(6)
        self._noted = _Noted(directory)
        self._index = env_index

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[NDArray[Any], Any]:  # noqa: ARG002 (gymnasium's signature)
        """Start an episode."""
        self._steps = 0
        return np.full(_SHAPE, np.inf, np.float32), {}

    def step(self, action: Any) -> tuple[NDArray[Any], float, bool, bool, Any]:  # noqa: ARG002 (as above)
        """Make a step."""
        self._steps += 1
        return np.full(_SHAPE, -np.inf, np.float32), 0.0, False, self._steps == 3, {}

    def close(self) -> None:
        """Note it."""
        self._noted.close()
        if self._index == 0:
            raise RuntimeError("this environment fails when it is closed")


class NotingBatch:
    """The batched form of an environment that notes that it is closed."""

    def __init__(self, num_envs: int, directory: str, env_index: int) -> None:  # noqa: ARG002 (as the scalar form)
        self.num_envs = num_envs
        self.info = EnvInfo(_SHAPE, "<f4", 6, batched=True, unbounded=True)
        self._noted = _Noted(directory)

    def reset(self, seeds: NDArray[np.uint64], obs: NDArray[Any]) -> None:  # noqa: ARG002 (the contract's signature)
        """Start every episode."""
        obs[:] = np.inf

    def step(self, actions: NDArray[np.int64], out: StepArrays) -> None:  # noqa: ARG002 (as above)
        """Make a step."""
        out.obs[:] = -np.inf
        out.rewards[:] = 0
        out.terminated[:] = out.truncated[:] = False

    def close(self) -> None:
        """Note it."""
        self._noted.close()


class WideEnv(_PlainEnv):
    """Numbers of every size in observations of two dimensions; an episode may end both ways."""

    ACTIONS = 300

    def __init__(self) -> None:
        self.observation_space = gymnasium.spaces.Box(-1e35, 1e35, (2, 3), np.float64)
        self.action_space = gymnasium.spaces.Discrete(self.ACTIONS)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[NDArray[Any], Any]:  # noqa: ARG002 (gymnasium's signature)
        """Start an episode."""
        if seed is not None:
            self._draws = np.random.default_rng(seed)
        return self._numbers(), {}

    def step(self, action: Any) -> tuple[NDArray[Any], float, bool, bool, Any]:
        """Make a step; every bit of a mask of 32 hosts may be set."""
        obs, [mask, end] = self._numbers(), self._draws.integers(1 << 32, size=2).tolist()
        reward, obs[0, 0] = float(obs[1, 1]), action
        info = {"compromised_hosts": mask, "ended_session": end % 3 == 0}
        return obs, reward, end % 8 < 2, 0 < end % 8 < 3, info

    def _numbers(self) -> NDArray[np.float64]:
        sizes = 10.0 ** self._draws.integers(-30, 30, size=(2, 3))
        return self._draws.normal(size=(2, 3)) * sizes


class UnevenEnv(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Another environment whose steps take a different, random time in each of them."""

    def __init__(self, env: EnvRef, env_index: int) -> None:
        super().__init__(env.make(env_index))
        self._delays = random.Random(env_index)  # noqa: S311 (delays, not secrets)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Wait, then make a step."""
        time.sleep(self._delays.random() * 1e-3)
        return self.env.step(action)
