"""What all PPO trainers share: networks, optimiser, conditioning, state."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import (
    Arrays,
    Order,
    Rollout,
    TrainerSetup,
    UpdateStats,
    UsageError,
    WfbenchError,
)
from wfbench.orders import order_code
from wfbench.policies import NetworkPolicy
from wfbench.processes.limits import usable_threads

from .adam import Adam
from .batch import Batch, make_batch
from .compiled_backend import CompiledBackend
from .layouts import Floats
from .networks import ActorCritic
from .objective import Parts, Weighting
from .options import DocumentedOptions, PpoOptions

if TYPE_CHECKING:
    from .torch_backend import TorchBackend

LOG_PROB_TOLERANCE = 2e-3


class LearningError(WfbenchError):
    """Learning cannot continue: a loss is not finite, or the data is not of this policy."""


class Learner(ABC):
    """A PPO trainer without its update rule.

    Subclasses initialise the weights in `_initialise` and learn in `_learn`.
    """

    betas = (0.9, 0.999)

    def __init__(
        self,
        setup: TrainerSetup,
        options: DocumentedOptions | PpoOptions,
        hidden: int = 64,
        seen: int = 0,
    ) -> None:
        self.setup = setup
        self.num_actions = setup.env.num_actions
        self._distinct = options.distinct
        self._lr = options.lr
        units = len(setup.env.workflow.units) if setup.env.workflow else 0
        self._condition_size = units * units
        inputs = math.prod(setup.env.obs_shape) + self._condition_size
        self.network = ActorCritic(inputs, self.num_actions, hidden, seen)
        self._backend = self._choose(options)
        self.condition: NDArray[np.float32] = np.zeros(self._condition_size, dtype=np.float32)
        self.version = 0
        self.updates = 0
        self.value_scale = 1.0
        self.optimiser = self._fresh_optimiser()

    def start(self, order: Order, inherit: Arrays | None = None) -> None:
        """Condition on `order`; take the weights of `inherit` if given, else the initial ones.

        The optimiser starts afresh either way.
        """
        if self._condition_size:
            self.condition = order_code(order)
        if inherit is None:
            self._initialise(np.random.default_rng(self.setup.seed))
            self.value_scale = 1.0
        else:
            self.network.read(inherit)
            self.value_scale = float(inherit["value_scale"])
        self.updates = 0
        self.version += 1
        self.optimiser = self._fresh_optimiser()

    def policy(self) -> NetworkPolicy:
        """Return the present networks as a policy of plain arrays."""
        return self.network.policy(self.condition, self.version, self.value_scale)

    def update(self, rollout: Rollout, rewards: NDArray[np.float32]) -> UpdateStats:
        """Update the networks once."""
        started = time.perf_counter()
        if not np.isfinite(rewards).all():
            raise LearningError("a reward is not finite; nothing was learned from this rollout")
        batch = self._batch(rollout)
        with self._backend.at_work():
            values = self._learn(batch, rollout, np.ascontiguousarray(rewards, dtype=np.float32))
        if not all(math.isfinite(value) for value in values.values()):
            raise LearningError(f"learning diverged: {dict(values)}; lower the learning rate")
        self.version += 1
        self.updates += 1
        numbers = {**values, "distinct": float(len(batch.rows))}
        return UpdateStats(time.perf_counter() - started, len(batch.data), numbers)

    def state(self) -> Arrays:
        """Return weights, moments of the optimiser and counters."""
        arrays: dict[str, NDArray[Any]] = {**self.network.written(), **self.optimiser.state()}
        arrays["condition"] = self.condition.copy()
        arrays["counters"] = np.array([self.version, self.updates], dtype=np.int64)
        arrays["value_scale"] = np.array(self.value_scale, dtype=np.float64)
        return arrays

    def load(self, state: Arrays) -> None:
        """Resume from a `state()`."""
        self.network.read(state)
        self.condition = np.array(state["condition"], dtype=np.float32)
        self.version, self.updates = (int(number) for number in state["counters"])
        self.value_scale = float(state["value_scale"])
        self.optimiser = self._fresh_optimiser()
        self.optimiser.load(state)

    def _batch(self, rollout: Rollout) -> Batch:
        return make_batch(rollout, self.version, distinct=self._distinct)

    def _fresh_optimiser(self) -> Adam:
        return Adam(self.network, self._lr, self.betas)

    @abstractmethod
    def _initialise(self, rng: np.random.Generator) -> None:
        """Draw the initial weights."""

    @abstractmethod
    def _learn(
        self, batch: Batch, rollout: Rollout, rewards: NDArray[np.float32]
    ) -> Mapping[str, float]:
        """Change the networks; return named numbers, all finite if all went well."""

    def _differentiate(
        self,
        batch: Batch,
        targets: Floats,
        weighting: Weighting,
        advantages: Floats | None = None,
        chosen: NDArray[np.int64] | None = None,
        *,
        check: bool = True,
    ) -> Parts:
        """Leave the gradient of the loss of some transitions with the networks; return the loss.

        Without `advantages` they are the targets minus the present values. `check` that the policy
        is the one that acted.
        """
        found = self._backend.differentiate(
            batch, chosen, self.condition, targets, advantages, weighting
        )
        if check and not found.mismatch <= LOG_PROB_TOLERANCE:
            raise LearningError(
                f"stored log-probabilities differ from recomputed ones by {found.mismatch:.3g}: "
                "the observations do not belong to the actions they are stored with"
            )
        return found

    def _choose(self, options: DocumentedOptions | PpoOptions) -> CompiledBackend | TorchBackend:
        """Return who is to run the networks and differentiate the loss."""
        device = self.setup.device
        if device.partition(":")[0] == "cpu" and options.backend != "torch":
            return CompiledBackend(
                self.network, self._condition_size, options.threads or usable_threads()
            )
        if options.backend == "compiled":
            raise UsageError(
                f"backend=compiled needs --device cpu, not {device}; use backend=torch"
            )
        from .torch_backend import TorchBackend  # two seconds that compiled passes save

        # With more threads torch's results are others, and on busy cores it is far slower.
        return TorchBackend(self.network, device, max(1, options.threads))
