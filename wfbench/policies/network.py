"""A policy given by two small networks, as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import (
    Acts,
    CollectError,
    CompiledStep,
    EnvInfo,
    PolicySnapshot,
    StepArrays,
    UsageError,
)

if TYPE_CHECKING:
    from .kernel import Networks, Room
    from .table import EntryTable

Layer = tuple[NDArray[np.float32], NDArray[np.float32]]
"""Weights [inputs, outputs] and biases [outputs]."""

DEFAULT_TABLE_ROWS = 1 << 15
_FIRST_TABLE_BYTES = 1 << 21
"""A table's first size: small enough that the next policy's table is made of the same memory."""
_SHARPER = np.float32(1e6)
"""Scales logits so that the softmax leaves only the best action."""


class NetworkPolicy:
    """Actor and critic, each a perceptron with tanh between its layers; softmax over actions.

    `condition` is a constant vector appended to every observation (the code of an order). `act`
    caches its results for the first `table_rows` distinct observations; 0 switches the cache off.
    Results are the same bit for bit with any table and in any batch. Not thread-safe: give each
    thread a policy of its own, restored from the snapshot.
    """

    def __init__(
        self,
        actor: Sequence[Layer],
        critic: Sequence[Layer],
        *,
        version: int = 0,
        condition: NDArray[np.float32] | None = None,
        table_rows: int = DEFAULT_TABLE_ROWS,
    ) -> None:
        if table_rows < 0:
            raise UsageError(f"table_rows is {table_rows}; it must not be negative")
        self.version = version
        self.actor = _checked("actor", actor)
        self.critic = _checked("critic", critic)
        self.condition = _vector(condition)
        self.obs_size = self.actor[0][0].shape[0] - self.condition.size
        if self.critic[0][0].shape[0] != self.actor[0][0].shape[0]:
            raise UsageError("actor and critic take inputs of different sizes")
        if self.obs_size < 1:
            raise UsageError(
                f"the condition has {self.condition.size} numbers but the networks take only "
                f"{self.actor[0][0].shape[0]} inputs"
            )
        if self.critic[-1][0].shape[1] != 1:
            raise UsageError("the critic must have one output")
        self.num_actions = self.actor[-1][0].shape[1]
        self.table_rows = table_rows
        self._tables: dict[np.dtype[Any], tuple[EntryTable, Any, Networks, Room]] = {}

    @classmethod
    def initial(
        cls,
        obs_size: int,
        num_actions: int,
        seed: int,
        hidden: Sequence[int] = (64, 64),
        condition: NDArray[np.float32] | None = None,
    ) -> NetworkPolicy:
        """Return networks with random weights, uniform within 1/sqrt(inputs), from `seed`."""
        rng = np.random.default_rng(seed)
        inputs = obs_size + _vector(condition).size
        return cls(
            _random_layers(rng, (inputs, *hidden, num_actions)),
            _random_layers(rng, (inputs, *hidden, 1)),
            condition=condition,
        )

    @property
    def distinct_rows(self) -> int:
        """Return how many distinct observations are cached."""
        return sum(int(table.used[0]) for table, *_ in self._tables.values())

    def act(self, obs: NDArray[Any], draws: NDArray[np.float64]) -> Acts:
        """Choose one action per row of `obs`: the inverse of its distribution at its draw."""
        rows = self._rows(obs)
        count = len(rows)
        table, kernel, networks, room = self._tables.get(rows.dtype) or self._new_table(rows)
        draws = np.ascontiguousarray(draws, dtype=np.float64)
        if draws.shape != (count,):
            raise UsageError(f"{draws.size} draws were given for {count} observations")
        acts = Acts(
            np.empty(count, dtype=np.int64),
            np.empty(count, dtype=np.float32),
            np.empty(count, dtype=np.float32),
        )
        raw = rows.view(np.uint8)
        done = 0
        while True:
            known = (table.may_grow, networks, table.used, table.slots, table.entries, room)
            done = kernel.act_rows(rows, raw, draws, done, *known, *acts)
            if done == count:
                return acts
            self._make_room(table, finite=done != kernel.NOT_FINITE)

    def can_play(self, info: EnvInfo) -> bool:
        """Return whether `play` takes such observations and chooses only legal actions."""
        fits = info.obs_shape == (self.obs_size,) and self.num_actions <= info.num_actions
        return fits and np.dtype(info.obs_dtype) in (np.uint8, np.float32)

    def play(
        self,
        step: CompiledStep,
        obs: NDArray[Any],
        draws: NDArray[np.float64],
        acts: Acts,
        out: StepArrays,
        first: int,
        columns: slice,
    ) -> float:
        """Act and step in turn, once per row of `draws`; return the seconds of the steps."""
        from . import playing  # compiled code, loaded when first needed

        table, kernel, networks, room = self._tables.get(obs.dtype) or self._new_table(obs)
        raw = obs.view(np.uint8)
        begin, end, _ = columns.indices(obs.shape[1])
        progress = playing.new_progress()
        results = (out.rewards, out.truncated, out.final_obs, out.compromised, out.ended_session)
        while True:
            known = (table.may_grow, networks, table.used, table.slots, table.entries, room)
            row = obs[0], raw[0], draws[0], 0, *known, *(array[0] for array in acts)
            done = playing.play_steps(
                playing.act_callback(kernel.act_rows, *row),
                playing.step_callback(step.function),
                step.context,
                *known,
                obs,
                raw,
                draws,
                tuple(acts),
                results,
                (first, begin, end),
                progress,
            )
            if done == end - begin:
                return float(progress[playing.NANOSECONDS]) * 1e-9
            self._make_room(table, finite=done != kernel.NOT_FINITE)
            progress[playing.ROW] = done

    def greedy(self) -> NetworkPolicy:
        """Return a policy that takes the most likely action and draws among equals."""
        *body, (weights, biases) = self.actor
        sharper = [*body, (weights * _SHARPER, biases * _SHARPER)]
        return self._changed(sharper, self.condition)

    def conditioned(self, condition: NDArray[np.float32]) -> NetworkPolicy:
        """Return the same networks with another condition of the same size."""
        if np.size(condition) != self.condition.size:
            raise UsageError(
                f"the policy takes a condition of {self.condition.size} numbers, "
                f"not of {np.size(condition)}"
            )
        return self._changed(self.actor, condition)

    def snapshot(self) -> PolicySnapshot:
        """Return this policy as plain arrays."""
        arrays: dict[str, NDArray[Any]] = {
            "condition": self.condition,
            "table_rows": np.array([self.table_rows], dtype=np.int64),
        }
        for name, layers in (("actor", self.actor), ("critic", self.critic)):
            for index, (weights, biases) in enumerate(layers):
                arrays[f"{name}.{index}.weights"] = weights
                arrays[f"{name}.{index}.biases"] = biases
        return PolicySnapshot("wfbench.policies:restore_network", self.version, arrays)

    def _make_room(self, table: EntryTable, *, finite: bool) -> None:
        """Let the table grow; raise CollectError if that is not why it stopped."""
        if not finite:
            self._tables.clear()  # they hold what was refused
            raise CollectError(
                f"policy version {self.version} gives no probabilities for an observation: "
                "its weights or the observation are not finite; lower the learning rate "
                "or check the environment"
            )
        table.grow()

    def _changed(self, actor: Sequence[Layer], condition: NDArray[np.float32]) -> NetworkPolicy:
        return NetworkPolicy(
            actor,
            self.critic,
            version=self.version,
            condition=condition,
            table_rows=self.table_rows,
        )

    def _rows(self, obs: NDArray[Any]) -> NDArray[Any]:
        rows = obs.reshape(len(obs), -1)
        if rows.shape[1] != self.obs_size:
            raise UsageError(
                f"the policy takes {self.obs_size} features but the observation has {rows.shape[1]}"
            )
        if rows.dtype == np.bool_:
            rows = rows.view(np.uint8)
        # Two element types cover every observation and keep the compiled code to two versions.
        dtype = np.uint8 if rows.dtype == np.uint8 else np.float32
        return np.ascontiguousarray(rows, dtype=dtype)

    def _new_table(self, rows: NDArray[Any]) -> tuple[EntryTable, Any, Networks, Room]:
        """Return an empty table for such rows, and what fills it: code, networks, room for it."""
        from . import kernel  # compiled code, loaded when first needed
        from .layers import flatten
        from .table import EntryTable

        row_bytes = self.obs_size * rows.itemsize
        table = EntryTable(row_bytes, self.num_actions, self.table_rows, _FIRST_TABLE_BYTES)
        networks = kernel.Networks(
            *flatten(self.actor, self.condition), *flatten(self.critic, self.condition)
        )
        self._tables[rows.dtype] = table, kernel, networks, kernel.new_room(networks)
        return self._tables[rows.dtype]


def restore_network(snapshot: PolicySnapshot) -> NetworkPolicy:
    """Restore a `NetworkPolicy` from its snapshot, with an empty table."""
    arrays = snapshot.arrays
    return NetworkPolicy(
        list(_named_layers("actor", arrays)),
        list(_named_layers("critic", arrays)),
        version=snapshot.version,
        condition=arrays["condition"],
        table_rows=int(arrays["table_rows"][0]),
    )


def _named_layers(name: str, arrays: Mapping[str, NDArray[Any]]) -> Iterator[Layer]:
    index = 0
    while f"{name}.{index}.weights" in arrays:
        yield arrays[f"{name}.{index}.weights"], arrays[f"{name}.{index}.biases"]
        index += 1


def _vector(condition: NDArray[np.float32] | None) -> NDArray[np.float32]:
    if condition is None:
        return np.zeros(0, dtype=np.float32)
    return np.array(condition, dtype=np.float32).reshape(-1)


def _checked(name: str, layers: Sequence[Layer]) -> list[Layer]:
    """Return checked copies of the layers, so that a learner may keep changing its arrays."""
    if not layers:
        raise UsageError(f"the {name} has no layers")
    copies = [
        (np.array(weights, dtype=np.float32), np.array(biases, dtype=np.float32))
        for weights, biases in layers
    ]
    width = copies[0][0].shape[0]
    for index, (weights, biases) in enumerate(copies):
        if weights.ndim != 2 or weights.shape[0] != width or biases.shape != weights.shape[1:]:
            raise UsageError(
                f"layer {index} of the {name} has weights {weights.shape} and biases "
                f"{biases.shape}; it takes {width} inputs"
            )
        width = weights.shape[1]
    return copies


def _random_layers(rng: np.random.Generator, sizes: Sequence[int]) -> list[Layer]:
    layers = []
    for inputs, outputs in pairwise(sizes):
        bound = inputs**-0.5
        layers.append(
            (
                rng.uniform(-bound, bound, (inputs, outputs)).astype(np.float32),
                rng.uniform(-bound, bound, outputs).astype(np.float32),
            )
        )
    return layers
