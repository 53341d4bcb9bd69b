"""The options of the synthetic environments; imported when plugins are listed."""

from __future__ import annotations

from dataclasses import dataclass

from wfbench.contract import option

from .costs import PRESETS, Costs

AS_PRESET = -1.0
"""The cost of the preset."""

DTYPES = ("uint8", "float32")


@dataclass(frozen=True, kw_only=True)
class SyntheticBatchOptions:
    """The shape of the environment."""

    obs_size: int = option(52, "features of an observation")
    obs_dtype: str = option("uint8", "uint8: each 0 or 1; float32: each in [0, 1)")
    num_actions: int = option(145, "actions to choose from")
    episode_length: int = option(100, "steps of an episode")
    distinct: int = option(0, "number of different observations; 0: no limit")

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

    costs: str = option("none", "preset of costs: none or cyborg")
    construct: float = option(AS_PRESET, "seconds to construct; -1: preset")
    reset: float = option(AS_PRESET, "seconds of a reset; -1: preset")
    step: float = option(AS_PRESET, "seconds of a step; -1: preset")
    true_state: float = option(AS_PRESET, "seconds to build the true state; -1: preset")
    true_state_bytes: int = option(-1, "pickled size of the true state in bytes; -1: preset")
    slowdown: float = option(1.0, "factor on every cost in seconds")
    slow_workers: str = option(
        "", "file with a factor; while it exists, steps in worker processes take that much longer"
    )
    busy: bool = option(True, "spend the time computing; false: sleeping")  # noqa: FBT003 (a default)
    reuse_buffer: bool = option(False, "return every observation in the same array")  # noqa: FBT003 (a default)
    fault: str = option("", "fault and the step it happens at, such as kill@5")
    fault_env: int = option(-1, "index of the env that has the fault; -1: every env")
    fault_seconds: float = option(2.0, "how long the step of fault slow@k takes")
    fault_once: str = option(
        "", "file created when the fault happens, which then happens only once"
    )
    env_index: int = option(0, "set by wfbench: index of this env in the plan")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.costs not in PRESETS:
            raise ValueError(f"costs is {self.costs!r}; choose from {', '.join(PRESETS)}")
        if not self.slowdown > 0:
            raise ValueError(f"slowdown is {self.slowdown}; it must be positive")
        parse_fault(self.fault)

    @property
    def resolved_costs(self) -> Costs:
        """Return the preset, replaced by the costs that were given, slowed down."""
        preset = vars(PRESETS[self.costs])
        chosen = {name: getattr(self, name) for name in preset}
        chosen = {name: preset[name] if cost < 0 else cost for name, cost in chosen.items()}
        size = chosen.pop("true_state_bytes")
        seconds = {name: cost * self.slowdown for name, cost in chosen.items()}
        return Costs(**seconds, true_state_bytes=size)


STEP_FAULTS = (
    *("raise", "raise-2arg", "raise-kwonly", "raise-unpicklable", "raise-base"),
    *("exit", "kill", "segv", "stop", "hang", "slow", "bad-shape", "bad-dtype"),
    *("nan", "nan-obs", "nan-reset", "inf-obs", "inf-reward"),
)
"""Faults `NAME@k` in the env's k-th step, counted from 1; `nan-reset` in the reset after it."""

CONSTRUCT_FAULTS = ("ctor-raise", "ctor-hang", "ctor-exit")
CLOSE_FAULT = "close-hang"


@dataclass(frozen=True)
class Fault:
    """A fault and its step; step 0 is the constructor, step -1 is `close`."""

    name: str
    step: int


def parse_fault(text: str) -> Fault | None:
    """Return the fault that an option names; None for none."""
    if not text:
        return None
    name, at, step = text.partition("@")
    if not at and name in CONSTRUCT_FAULTS:
        return Fault(name, 0)
    if text == CLOSE_FAULT:
        return Fault(name, -1)
    if name in STEP_FAULTS and step.isascii() and step.isdigit() and int(step) >= 1:
        return Fault(name, int(step))
    known = [f"{fault}@k" for fault in STEP_FAULTS] + [*CONSTRUCT_FAULTS, CLOSE_FAULT]
    raise ValueError(
        f"fault {text!r} is not known; choose from {', '.join(known)} with k of at least 1"
    )
