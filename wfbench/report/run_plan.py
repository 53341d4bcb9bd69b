"""How far a run is: what each training is for, and how much of the whole is done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from wfbench.orders.compliance import find_definition
from wfbench.store.events import SPECIAL

_EVALUATION = 0.3
"""How long a step of evaluation takes, in steps of training, until it was measured."""

Event = Mapping[str, Any]


@dataclass
class RunPlan:
    """The trainings of a run, as its first event announces them, and what they cost."""

    workflows: int = 0
    stages: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Of a joint run, as `RunStarted.stages`; empty if every order is trained by itself."""
    start: int = 0
    """Trainings that had ended before this part of the run."""
    _learning: tuple[float, int] = (0.0, 0)
    _evaluation: tuple[float, int] = (0.0, 0)
    """Seconds and environment steps so far."""

    @classmethod
    def of(cls, event: Event) -> RunPlan:
        """Return the plan of a run that starts or is resumed."""
        return cls(event["workflows"], event.get("stages", {}), event.get("finished", 0))

    @property
    def joint(self) -> bool:
        """Tell whether one policy is trained for all orders."""
        return bool(self.stages)

    def take(self, event: Event) -> None:
        """Learn from an update, or from the end of a training, how long a step takes."""
        work = event["time"]["work"]
        if event["event"] == "update":
            seconds, steps = self._learning
            self._learning = seconds + work, steps + event["transitions"]
        elif event["event"] == "workflow-finished" and event.get("evaluation_steps"):
            seconds, steps = self._evaluation
            self._evaluation = seconds + work, steps + event["evaluation_steps"]

    def label(self, event: Event) -> str:
        """Return what is trained: its stage in a joint run, else its order."""
        number = event["workflow"]
        for stage, planned in self.stages.items():
            count = planned["trainings"]
            if number < count:
                if stage == SPECIAL:
                    return f"{stage} {event['order']}"
                return stage if count == 1 else f"{stage} {number + 1} of {count}"
            number -= count
        return str(event["order"])

    def share(self, finished: int, current: float = 0.0) -> float:
        """Return how much is done, from 0 to 1; `current`: of the present training's steps."""
        learn, evaluate = self._costs()
        both = [a + b for a, b in zip(learn, evaluate, strict=True)]
        done = sum(both[:finished]) + current * sum(learn[finished : finished + 1])
        return min(1.0, done / max(sum(both), 1e-9))

    def current(self, update: Event) -> float:
        """Return how much of its steps a training has had by an update."""
        number = update["workflow"]
        for planned in self.stages.values():
            if number < planned["trainings"]:
                return min(1.0, int(update["env_steps"]) / max(1, planned["steps"]))
            number -= planned["trainings"]
        return 0.0

    def left(self, elapsed: float, share: float) -> float | None:
        """Return the seconds left when this part of the run came so far; None if unknown."""
        before = self.share(self.start)
        return elapsed * (1 - share) / (share - before) if share - before > 0.001 else None

    def _costs(self) -> tuple[list[float], list[float]]:
        """Return what learning and evaluation of every training cost, in any unit."""
        if not self.stages:
            return [1.0] * self.workflows, [0.0] * self.workflows
        ratio = _EVALUATION
        (seconds, steps), (more_seconds, more_steps) = self._learning, self._evaluation
        if more_steps and seconds > 0:
            ratio = more_seconds / more_steps * steps / seconds
        learn, evaluate = [], []
        for planned in self.stages.values():
            learn += [float(planned["steps"])] * planned["trainings"]
            evaluate += [ratio * planned["evaluation_steps"]] * planned["trainings"]
        return learn, evaluate


def judged_name(definition: str) -> str:
    """Return how the compliance of a joint run is called: right choices, if these are counted."""
    return "right" if find_definition(definition).pooled else "compliance"
