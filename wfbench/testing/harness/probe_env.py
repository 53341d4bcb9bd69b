"""An environment whose observations say what the process it runs in looks like."""

from __future__ import annotations

import os
import sys
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from wfbench.processes.limits import BLAS_VARIABLES

FEATURES = ("pid", "torch", *BLAS_VARIABLES)


class ProbeEnv(gymnasium.Env[NDArray[Any], np.int64]):
    """Episodes of one step whose observation holds `FEATURES`; a variable not set is -1."""

    def __init__(self) -> None:
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (len(FEATURES),), np.float64)
        self.action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[NDArray[Any], Any]:  # noqa: ARG002 (gymnasium's signature)
        """Look once."""
        return _look(), {}

    def step(self, action: Any) -> tuple[NDArray[Any], float, bool, bool, Any]:  # noqa: ARG002 (as above)
        """Look again and end the episode."""
        return _look(), 0.0, False, True, {}

    def true_state(self) -> dict[str, Any]:
        """Return nothing, for collectors that ask for it."""
        return {}


def _look() -> NDArray[Any]:
    threads = [float(os.environ.get(name, "-1")) for name in BLAS_VARIABLES]
    return np.array([os.getpid(), "torch" in sys.modules, *threads], dtype=np.float64)
