"""What a search is to do: its configuration and the plugins it uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from wfbench.collecting.seeding import Purpose, purpose_seed
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
from wfbench.orders.codes import OrderCode
from wfbench.orders.compliance import SECONDARY, Shaper, find_definition
from wfbench.orders.forms import conditioned, drawn_orders
from wfbench.settings.config import RunConfig
from wfbench.settings.selection import Choice, env_ref
from wfbench.store.events import written_order
from wfbench.store.sweeps import NORMAL, STRESS

from .collectors import sweep_collector
from .sweep import SweepPlan

_SOURCES = ("last-episodes", "evaluate")
STRESS_SHARE = 4
"""One stress episode for so many normal ones: each has several times as many choices."""


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

    @property
    def workflows(self) -> int:
        """Return how many trainings the run has."""
        config = self.config
        if config.joint:
            return config.training_seeds + config.free + config.specialise
        return config.workflows

    @cached_property
    def drawn_orders(self) -> tuple[Order, ...]:
        """Return the orders that a joint training draws from."""
        form = conditioned(self.ref).form
        return drawn_orders(form["orders"], self.model.units)

    def sweep_plans(self, number: int) -> dict[str, SweepPlan]:
        """Return how the policy of the `number`-th joint training is evaluated.

        Each has its own env seeds. Policies of other stages share those of the first.
        """
        config = self.config
        plan = SweepPlan(
            self.ref,
            self.model,
            self.definition,
            config.eval_episodes,
            self.episode_steps,
            purpose_seed(config.seed, Purpose.EVALUATION, number),
            collector=sweep_collector(self.ref, self.collector),
        )
        if not config.stress or self.model.idle is None:
            return {NORMAL: plan}
        fewer = max(2, config.eval_episodes // STRESS_SHARE)
        held = replace(plan, hold=config.stress, episodes=fewer)
        return {NORMAL: plan, STRESS: held}

    def trained_options(self, order: Order) -> dict[str, Any]:
        """Return the options of the environment that an order, or all, are trained on."""
        shown = self.training_ref(order).form.get("orders")
        return {**self.env.options, "orders": shown} if shown else dict(self.env.options)

    def training_ref(self, order: Order) -> EnvRef:
        """Return the environment to train on; in a joint run it shows orders, or the one given."""
        if not self.config.joint:
            return self.ref
        return conditioned(self.ref, self.written(order) if order else "")

    def shaper(self, order: Order | OrderCode) -> Shaper:
        """Return a shaper that judges rollouts by an order, or by the one each row shows."""
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
        return written_order(order, self.model.units)


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
