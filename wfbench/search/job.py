"""What a search is to do: its configuration and the plugins it uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from wfbench.contract import (
    Cadence,
    EnvRef,
    EnvSpec,
    Order,
    PluginError,
    TrainerSpec,
    UsageError,
    WfbenchError,
    WorkflowModel,
)
from wfbench.orders import format_order
from wfbench.orders.compliance import SECONDARY, Shaper, find_definition
from wfbench.settings.config import RunConfig
from wfbench.settings.selection import Choice, env_ref

_SOURCES = ("last-episodes", "evaluate")


@dataclass(frozen=True)
class ScoreSource:
    """Where the score of an order comes from: the mean return of named episodes.

    `last-episodes:K`: the last K training episodes of every env; `evaluate:K`: K fresh ones.
    """

    kind: str
    count: int

    @property
    def evaluates(self) -> bool:
        """Tell whether scoring plays episodes of its own."""
        return self.kind == "evaluate"

    def __str__(self) -> str:
        return f"{self.kind}:{self.count}"


def parse_score(text: str) -> ScoreSource:
    """Return the score source that `text` names."""
    kind, _, count = text.partition(":")
    if kind not in _SOURCES or not (count.isascii() and count.isdigit() and int(count) >= 1):
        raise UsageError(f"score is {text!r}; it must be last-episodes:K or evaluate:K, K from 1")
    return ScoreSource(kind, int(count))


@dataclass(frozen=True)
class SearchJob:
    """A search with one plugin of each kind chosen."""

    config: RunConfig
    env: Choice
    collector: Choice
    trainer: Choice
    searcher: Choice

    @cached_property
    def ref(self) -> EnvRef:
        """Return the environment in a form that any process can build."""
        return env_ref(self.env)

    @cached_property
    def model(self) -> WorkflowModel:
        """Return how the environment's hosts and actions map to unit types."""
        return workflow_model(self.ref)

    @cached_property
    def score(self) -> ScoreSource:
        """Return where scores come from."""
        return parse_score(self.config.score)

    @cached_property
    def definition(self) -> str:
        """Return the id of the definition of compliance."""
        return find_definition(self.config.definition).id

    @property
    def definitions(self) -> dict[str, Any]:
        """Return the ids of both definitions of compliance, as the fields of events."""
        return {"definition": self.definition, "secondary": find_definition(SECONDARY).id}

    @property
    def cadence(self) -> Cadence:
        """Return how much data the trainer wants per update."""
        spec = self.trainer.spec
        return spec.cadence if isinstance(spec, TrainerSpec) else Cadence()

    @property
    def batch(self) -> int:
        """Return how many orders are asked for at a time."""
        return max(1, self.config.batch)

    @property
    def episode_steps(self) -> int:
        """Return the steps of an episode; if the environment does not say, those per update."""
        return horizon(self.env) or self.config.update_every

    def shaper(self, order: Order) -> Shaper:
        """Return a shaper that judges rollouts by an order."""
        return Shaper(
            self.model,
            order,
            definition=self.config.definition,
            secondary=SECONDARY,
            weight=self.config.lambda_,
            no_fix=self.config.no_fix,
        )

    def written(self, order: Order) -> str:
        """Return an order as people write it."""
        return format_order(order, self.model.units)


def horizon(env: Choice) -> int | None:
    """Return the steps of an episode, if the environment declares which option that is."""
    option = horizon_option(env)
    return None if option is None else int(env.options[option])


def horizon_option(env: Choice) -> str | None:
    """Return the option that sets the steps of an episode, if the environment declares it."""
    return env.spec.horizon if isinstance(env.spec, EnvSpec) else None


def workflow_model(ref: EnvRef) -> WorkflowModel:
    """Return the environment's workflow model; raise if it has none, for lack of orders."""
    with calling(f"environment {ref.name!r}"), closing(ref.make()) as env:
        model = getattr(env.unwrapped, "workflow", None)
    if model is None:
        raise UsageError(
            f"environment {ref.name!r} has no workflow model, so there is no order to follow; "
            "`wfbench plugins list` shows environments, cage2 has one"
        )
    found: WorkflowModel = model
    return found


@contextmanager
def calling(who: str) -> Iterator[None]:
    """Name the plugin if it raises an error that is not one of ours."""
    try:
        yield
    except WfbenchError:
        raise
    except Exception as error:
        kind = type(error).__name__
        raise PluginError(f"{who} raised {kind}: {error}") from error


def calling_searcher(job: SearchJob) -> AbstractContextManager[None]:
    """Name the searcher if it raises an error that is not one of ours."""
    return calling(f"searcher {job.searcher.spec.name!r}")


def stored_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options that were read from JSON in the form that a selection takes."""
    return {name: "none" if value is None else value for name, value in options.items()}
