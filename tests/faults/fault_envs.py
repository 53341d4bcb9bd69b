"""Environments that misbehave in ways the synthetic one does not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from wfbench.processes.limits import ONE_THREAD


class Quiet(gymnasium.Env):
    """Episodes of three steps; the observation is the step, the reward the seed's last digit."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(4)

    def __init__(self, **_: Any) -> None:
        self._obs = np.zeros(2, np.float32)
        self._steps = 0
        self._seed = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:  # noqa: ARG002
        self._seed = self._seed if seed is None else seed
        self._steps = 0
        self._obs[:] = 0
        return self._obs, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._steps += 1
        self._obs[:] = self._steps, action
        return self._obs, float(self._seed % 10), self._steps == 3, False, {}


class WrongType(Quiet):
    """Its observations are not of the type that its space promises."""

    def step(self, action: Any) -> Any:
        obs, *rest = super().step(action)
        return obs.astype(np.float64), *rest


class ListReward(Quiet):
    """Its reward is not a number."""

    def step(self, action: Any) -> Any:
        obs, reward, *rest = super().step(action)
        return obs, np.array([reward]), *rest


class DictSpace(Quiet):
    """Its observation space cannot be collected."""

    observation_space = gymnasium.spaces.Dict({"a": gymnasium.spaces.Discrete(2)})


class StubbornClose(Quiet):
    """Never finishes closing and does not listen to SIGTERM."""

    def __init__(self, **_: Any) -> None:
        super().__init__()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def close(self) -> None:
        time.sleep(3600)


class Busy(Quiet):
    """Spends an hour in every step but the first, without ever listening to Python."""

    def step(self, action: Any) -> Any:
        if self._steps:
            import ctypes

            ctypes.PyDLL(None).sleep(3600)
        return super().step(action)


class Breeder(Quiet):
    """Leaves a process of its own behind; its pid is in the file it was given."""

    def __init__(self, pid_file: str, **_: Any) -> None:
        super().__init__()
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
        Path(pid_file).write_text(str(child.pid))
        child.returncode = 0


class Printer(Quiet):
    """Prints to standard output in every step."""

    def step(self, action: Any) -> Any:
        sys.stdout.write("the environment speaks\n")
        return super().step(action)


class Facts(Quiet):
    """Says in its observation whether libraries are kept to one thread and torch is loaded."""

    def step(self, action: Any) -> Any:
        obs, *rest = super().step(action)
        obs[0] = float(ONE_THREAD.items() <= os.environ.items())
        obs[1] = float("torch" in sys.modules)
        return obs, *rest


class DiesOnce(Quiet):
    """Kills its process in its fifth or another step, unless the file it was given exists."""

    def __init__(self, marker: str, env_index: int = 0, victim: int = 1, at: int = 5) -> None:
        super().__init__()
        self._marker = Path(marker)
        self._victim = env_index == victim
        self._made = 0
        self._at = at

    def step(self, action: Any) -> Any:
        self._made += 1
        if self._victim and self._made == self._at and not self._marker.exists():
            self._marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().step(action)


class DiesOnDemand(Quiet):
    """Kills its process in the first step in which the file it was given exists, and removes it."""

    def __init__(self, armed: str) -> None:
        super().__init__()
        self._armed = Path(armed)

    def step(self, action: Any) -> Any:
        if self._armed.exists():
            self._armed.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().step(action)


class AlwaysDies(Quiet):
    """Env 1 kills its process in its second step, every time."""

    def __init__(self, env_index: int = 0) -> None:
        super().__init__()
        self._victim = env_index == 1

    def step(self, action: Any) -> Any:
        if self._victim and self._steps == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().step(action)
