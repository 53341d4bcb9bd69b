"""What a search is to do: configuration and the one plugin of each kind that it uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from wfbench.compliance import BESIDE, Definition, Shaper, find_definition
from wfbench.config import RunConfig
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
from wfbench.selection import Choice, env_ref

from .scoring import ScoreSource, parse_score


@dataclass(frozen=True)
class SearchJob:
    """A search with every choice made."""

    config: RunConfig
    env: Choice
    collector: Choice
    trainer: Choice
    searcher: Choice

    @cached_property
    def ref(self) -> EnvRef:
        """The environment, in a form that any process can build."""
        return env_ref(self.env)

    @cached_property
    def model(self) -> WorkflowModel:
        """How the environment's hosts and actions map to unit types."""
        return workflow_model(self.ref)

    @cached_property
    def score(self) -> ScoreSource:
        """Where scores come from."""
        return parse_score(self.config.score)

    @cached_property
    def definition(self) -> Definition:
        """What counts as compliance."""
        return find_definition(self.config.definition)

    @cached_property
    def beside(self) -> Definition:
        """What is reported beside it."""
        return find_definition(BESIDE)

    @property
    def cadence(self) -> Cadence:
        """How much the trainer wants per update."""
        spec = self.trainer.spec
        return spec.cadence if isinstance(spec, TrainerSpec) else Cadence()

    @property
    def batch(self) -> int:
        """How many orders are asked at a time."""
        return max(1, self.config.batch)

    @property
    def episode_steps(self) -> int:
        """Steps of an episode; where the environment does not say, those between updates."""
        return horizon(self.env) or self.config.update_every

    def shaper(self, order: Order) -> Shaper:
        """Judges rollouts by an order."""
        return Shaper(
            self.model,
            order,
            definition=self.config.definition,
            beside=BESIDE,
            weight=self.config.lambda_,
            no_fix=self.config.no_fix,
        )

    def written(self, order: Order) -> str:
        """An order as people write it."""
        return format_order(order, self.model.units)

    def described(self) -> dict[str, Any]:
        """The chosen plugins with every option, as JSON values."""
        chosen = (self.env, self.collector, self.trainer, self.searcher)
        return {choice.spec.kind: described_choice(choice) for choice in chosen}


def described_choice(choice: Choice) -> dict[str, Any]:
    """A chosen plugin, as JSON values."""
    return {
        "name": choice.spec.name,
        "label": choice.label,
        "options": dict(choice.options),
        "source": str(choice.offer.source),
    }


def horizon(env: Choice) -> int | None:
    """Steps of an episode, if the environment declares which option that is."""
    spec = env.spec
    option = spec.horizon if isinstance(spec, EnvSpec) else None
    return None if option is None else int(env.options[option])


def workflow_model(ref: EnvRef) -> WorkflowModel:
    """The environment's workflow model; without one there are no orders to search."""
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
    """Name the plugin when it raises something that is not an error of ours."""
    try:
        yield
    except WfbenchError:
        raise
    except Exception as error:
        kind = type(error).__name__
        raise PluginError(f"{who} raised {kind}: {error}") from error


def stored_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as they come back from JSON, in the form that a selection takes."""
    return {name: "none" if value is None else value for name, value in options.items()}
