"""Our PPO: generalised advantages, minibatches, annealing, a critic that keeps its scale."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import Arrays, Order, Rollout, TrainerSetup

from .batch import Batch, make_batch, network_inputs
from .learner import Learner
from .networks import orthogonal
from .objective import Weighting
from .options import PpoOptions
from .privileged import SIZE, EpisodeClock, features, with_features
from .returns import Floats, gae_advantages

_EPSILON = 1e-8
_SCALE_MEMORY = 0.8
_VALUE_WEIGHT = 0.5


class Ppo(Learner):
    """PPO with everything that measured better than the documented one at equal steps."""

    def __init__(self, setup: TrainerSetup, **options: Any) -> None:
        self.options = PpoOptions(**options)
        self._clock = EpisodeClock()
        self._ages: NDArray[np.int64] | None = None
        seen = SIZE if self.options.privileged else 0
        super().__init__(setup, self.options, self.options.hidden, seen)

    def start(self, order: Order, inherit: Arrays | None = None) -> None:
        """Begin as every learner; environments begin with new episodes."""
        super().start(order, inherit)
        self._clock = EpisodeClock()

    def state(self) -> Arrays:
        """Return the learner's state, and the steps of unfinished episodes."""
        return {**super().state(), "ages": self._clock.ages.copy()}

    def load(self, state: Arrays) -> None:
        """Resume from a `state()`."""
        super().load(state)
        self._clock.ages = np.array(state.get("ages", ()), dtype=np.int64)

    def _initialise(self, rng: np.random.Generator) -> None:
        orthogonal(self.network, rng)

    def _learn(
        self, batch: Batch, rollout: Rollout, rewards: NDArray[np.float32]
    ) -> Mapping[str, float]:
        values = self._present(batch, rollout)
        advantages = gae_advantages(
            rewards,
            values,
            self._following(rollout, values),
            rollout.ended,
            self.options.gamma,
            self.options.gae,
        )
        returns = advantages + values
        self._rescale(returns)
        spread = advantages.std() + _EPSILON
        normalised = ((advantages - advantages.mean()) / spread).reshape(-1)
        targets = (returns / np.float32(self.value_scale)).reshape(-1)
        self._anneal()
        numbers = self._passes(batch, normalised, targets)
        return {**numbers, "value_scale": self.value_scale}

    def _batch(self, rollout: Rollout) -> Batch:
        seen = None
        if self.options.privileged:
            self._ages = self._clock.advance(rollout)
            bits = features(rollout.compromised, self._ages[:-1])
            seen = with_features(rollout.obs, bits)
        return make_batch(rollout, self.version, distinct=self.options.distinct, seen=seen)

    def _present(self, batch: Batch, rollout: Rollout) -> Floats:
        """Return the value of each row, in units of the rewards."""
        if not self.options.privileged:
            return rollout.values
        values = self._values(batch.value_rows)[batch.data.value_row]
        return values.reshape(rollout.values.shape)

    def _following(self, rollout: Rollout, values: Floats) -> Floats:
        """Return the value after each step, in units of the rewards."""
        following = np.empty_like(values)
        following[:-1] = values[1:]
        following[-1] = self._values_after(rollout.next_obs, rollout, -1, slice(None))
        ended = rollout.ended
        following[ended] = 0.0
        if self.options.truncation == "bootstrap" and len(rollout.final_obs):
            final = self._values_after(rollout.final_obs, rollout, *np.nonzero(ended))
            final[rollout.terminated[ended]] = 0.0
            following[ended] = final
        return following

    def _values_after(self, obs: NDArray[Any], rollout: Rollout, row: Any, column: Any) -> Floats:
        """Return the values of the observations that follow cells of a rollout.

        What is compromised then is not on record; the state before the step stands in for it.
        """
        if self._ages is not None:
            ages = self._ages[:-1][row, column] + 1
            obs = with_features(obs, features(rollout.compromised[row, column], ages))
        return self._values(network_inputs(obs))

    def _values(self, rows: Floats) -> Floats:
        return self._backend.values(rows, self.condition) * np.float32(self.value_scale)

    def _rescale(self, returns: Floats) -> None:
        """Track the size of the returns; rescale the critic so that its values stay the same."""
        size = float(np.sqrt(np.mean(np.square(returns, dtype=np.float64)))) + _EPSILON
        memory = _SCALE_MEMORY if self.updates else 0.0
        scale = memory * self.value_scale + (1.0 - memory) * size
        for array in self.network.critic[-1]:
            np.multiply(array, np.float32(self.value_scale / scale), out=array)
        self.value_scale = scale

    def _progress(self) -> float:
        """Return the share of the budget that is spent."""
        expected = self.setup.expected_updates
        return min(1.0, self.updates / expected) if expected else 0.0

    def _anneal(self) -> None:
        share = 1.0 - self._progress() * (1.0 - self.options.lr_end) if self.options.anneal else 1.0
        self.optimiser.rate = self.options.lr * share

    def _entropy_weight(self) -> float:
        start, end = self.options.entropy, self.options.entropy_end
        return start + (end - start) * self._progress()

    def _passes(self, batch: Batch, advantages: Floats, targets: Floats) -> dict[str, float]:
        options = self.options
        rng = np.random.default_rng((self.setup.seed, self.version))
        weighting = Weighting(options.clip, _VALUE_WEIGHT, self._entropy_weight())
        numbers: dict[str, float] = {}
        for epoch in range(options.epochs):
            moved: list[float] = []
            shuffled = rng.permutation(len(batch.data))
            for chosen in np.array_split(shuffled, min(options.minibatches, len(shuffled))):
                parts = self._differentiate(
                    batch, targets, weighting, advantages, chosen, check=not numbers
                )
                norm = self.optimiser.step(options.max_grad_norm or math.inf)
                moved.append(parts.kl)
                numbers = {**parts.numbers(), "grad_norm": norm}
            kl = sum(moved) / len(moved)
            numbers |= {"kl": kl, "epochs": epoch + 1.0}
            if options.target_kl and kl > options.target_kl:
                break
        return numbers
