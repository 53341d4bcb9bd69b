"""The options of the synthetic environments. Importing this costs nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

AS_PRESET = -1.0
"""The value of a cost that is not given: what the preset says."""

DTYPES = ("uint8", "float32")


def _help(default: Any, text: str) -> Any:
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True)
class Costs:
    """Seconds and bytes that one environment costs."""

    construct: float = 0.0
    reset: float = 0.0
    step: float = 0.0
    true_state: float = 0.0
    true_state_bytes: int = 0


PRESETS = {
    "none": Costs(),
    "cyborg": Costs(0.245, 0.017, 0.003, 0.0018, 13_000),
}
"""`cyborg` is what the CAGE-2 simulator was measured to cost on one core."""


@dataclass(frozen=True, kw_only=True)
class SyntheticBatchOptions:
    """The shape of the environment."""

    obs_size: int = _help(52, "features of an observation")
    obs_dtype: str = _help("uint8", "uint8: each 0 or 1; float32: each in [0, 1)")
    num_actions: int = _help(145, "actions to choose from")
    episode_length: int = _help(100, "steps of an episode")
    distinct: int = _help(0, "how many different observations there are; 0: no limit")

    def __post_init__(self) -> None:
        for name in ("obs_size", "num_actions", "episode_length"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 1")
        if self.obs_dtype not in DTYPES:
            raise ValueError(f"obs_dtype is {self.obs_dtype!r}; choose from {', '.join(DTYPES)}")
        if self.distinct < 0:
            raise ValueError(f"distinct is {self.distinct}; it must not be negative")


@dataclass(frozen=True, kw_only=True)
class SyntheticOptions(SyntheticBatchOptions):
    """Shape, costs and faults of the environment."""

    costs: str = _help("none", "preset of the costs: none or cyborg")
    construct: float = _help(AS_PRESET, "seconds to construct; -1: as the preset says")
    reset: float = _help(AS_PRESET, "seconds of a reset; -1: as the preset says")
    step: float = _help(AS_PRESET, "seconds of a step; -1: as the preset says")
    true_state: float = _help(AS_PRESET, "seconds to build the true state; -1: as the preset says")
    true_state_bytes: int = _help(-1, "pickled size of the true state; -1: as the preset says")
    slowdown: float = _help(1.0, "factor on every cost in seconds")
    slow_workers: str = _help(
        "", "path of a file; while it exists, worker processes step as many times slower as it says"
    )
    busy: bool = _help(True, "spend the time computing; false: asleep")  # noqa: FBT003 (a default)
    reuse_buffer: bool = _help(False, "return every observation in the same array")  # noqa: FBT003 (a default)
    fault: str = _help("", "what goes wrong and at which step, e.g. kill@5; see the documentation")
    fault_env: int = _help(-1, "index of the env that has the fault; -1: every env")
    fault_seconds: float = _help(2.0, "how long the step of fault slow@k takes")
    fault_once: str = _help("", "path of a file that marks that the fault has happened")
    env_index: int = _help(0, "set by wfbench: which env of the plan this is")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.costs not in PRESETS:
            raise ValueError(f"costs is {self.costs!r}; choose from {', '.join(PRESETS)}")
        if not self.slowdown > 0:
            raise ValueError(f"slowdown is {self.slowdown}; it must be positive")
        parse_fault(self.fault)

    @property
    def resolved_costs(self) -> Costs:
        """The preset with what was given in its place, slowed down."""
        preset = PRESETS[self.costs]

        def seconds(name: str) -> float:
            given: float = getattr(self, name)
            chosen: float = getattr(preset, name) if given < 0 else given
            return chosen * self.slowdown

        size = self.true_state_bytes
        return Costs(
            seconds("construct"),
            seconds("reset"),
            seconds("step"),
            seconds("true_state"),
            preset.true_state_bytes if size < 0 else size,
        )


STEP_FAULTS = (
    "raise",
    "raise-2arg",
    "raise-kwonly",
    "raise-unpicklable",
    "raise-base",
    "exit",
    "kill",
    "segv",
    "stop",
    "hang",
    "slow",
    "nan",
    "bad-shape",
)
"""Faults `NAME@k` of the env's k-th step, the first being 1."""

CONSTRUCT_FAULTS = ("ctor-raise", "ctor-hang", "ctor-exit")


@dataclass(frozen=True)
class Fault:
    """What goes wrong, and at which step; step 0 is the constructor."""

    name: str
    step: int


def parse_fault(text: str) -> Fault | None:
    """The fault that an option names; None for none."""
    if not text:
        return None
    name, at, step = text.partition("@")
    if not at and name in CONSTRUCT_FAULTS:
        return Fault(name, 0)
    if name in STEP_FAULTS and step.isascii() and step.isdigit() and int(step) >= 1:
        return Fault(name, int(step))
    known = [f"{fault}@k" for fault in STEP_FAULTS] + list(CONSTRUCT_FAULTS)
    raise ValueError(f"fault {text!r} is not known; choose from {', '.join(known)}, k from 1 on")
