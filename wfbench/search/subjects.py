"""What is evaluated: a stored policy, the policy of a run, or a reference policy."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from wfbench.contract import EnvRef, EnvSpec, Order, Policy, UsageError, WorkflowModel, load_object
from wfbench.host.manager import PluginHost
from wfbench.host.options import all_options, resolve_options, without_options
from wfbench.orders import format_order, parse_order
from wfbench.orders.codes import OrderCode
from wfbench.orders.compliance import SECONDARY, Shaper
from wfbench.orders.forms import HELD, shown_code
from wfbench.settings.selection import Choice, env_ref, select
from wfbench.store.places import MATRIX_FILE, find_run
from wfbench.store.policy_file import PolicyLabel, StoredPolicy, read_checkpoint, read_policy
from wfbench.store.run import checkpoint_path

from .history import read_search
from .job import calling, stored_options, workflow_model

MASKS = "masks"
"""Option of an environment to which masks are costly: whether it reports them."""
REFERENCE_ENV = "cage2"
"""Where a reference plays by default."""


@dataclass(frozen=True)
class Subject:
    """A policy, the environment it was made for and the order it follows."""

    name: str
    env: Choice
    policy: Policy
    order: Order
    """Empty: it follows any order."""
    trained_on: str | None = None
    """Id of the compliance definition it was trained on."""
    batched: str | None = None
    """The batched form for a reference, if it is not the environment's own."""

    @cached_property
    def ref(self) -> EnvRef:
        """Return the environment in a form that any process can build."""
        ref = env_ref(self.env)
        return ref if self.batched is None else replace(ref, batched=self.batched)

    @cached_property
    def model(self) -> WorkflowModel:
        """Return the environment's workflow model."""
        return workflow_model(self.ref)

    @property
    def code(self) -> OrderCode | None:
        """Return the code of orders that its observations show, if they do."""
        return shown_code(self.ref, self.model)

    def given(self, order: Order) -> Subject:
        """Return the same policy, which follows any order, with this one in force."""
        shown = format_order(order, self.model.units)
        return replace(self.playing(orders=shown), order=order)

    def playing(self, **changed: Any) -> Subject:
        """Return the same policy in an environment with some options changed."""
        kept = without_options(self.env.spec, stored_options(self.env.options), changed)
        options = kept | changed
        return replace(self, env=replace(self.env, options=resolve_options(self.env.spec, options)))

    def without_masks(self) -> Subject:
        """Return the same policy where masks are not reported, if the environment can leave them.

        Returns stay the same; compliance cannot be judged.
        """
        known = {option.name for option in all_options(self.env.spec)}
        return self.playing(**{MASKS: False}) if MASKS in known else self

    def shaper(self, order: Order, definition: str) -> Shaper:
        """Return a shaper that judges the policy by an order; empty: by the one in force."""
        judge = order or self.code
        if judge is None:
            raise UsageError(f"{self.name} follows no order; name one with --order")
        return Shaper(self.model, judge, definition=definition, secondary=SECONDARY)


def find_subject(
    host: PluginHost,
    name: str,
    out: Path,
    env: str | None,
    order: str | None,
    replaced: Collection[str] = (),
) -> Subject:
    """Return the subject that a user means by `name`.

    `env` is where it is to play: by default where it was trained, or `REFERENCE_ENV`. `order` is
    for references only; by default they follow the units as the environment names them.
    `replaced` are options that the caller will replace, so that `env` need not know their values.
    """
    path = Path(name)
    if path.is_file():
        return stored_subject(host, read_policy(path), name, env, replaced)
    [choice] = select(host, {"env": [env or REFERENCE_ENV]})["env"]
    spec = choice.spec
    references = {r.name: r for r in spec.references} if isinstance(spec, EnvSpec) else {}
    if name in references:
        reference, units = references[name], workflow_model(env_ref(choice)).units
        followed = tuple(range(len(units))) if order is None else parse_order(order, units)
        with calling(f"reference {name!r} of {spec.name}"):
            policy = load_object(reference.policy)(followed)
        return Subject(name, choice, policy, followed, batched=reference.batched)
    try:
        run = find_run(out, name)
    except UsageError as error:
        known = ", ".join(references) or "none"
        raise UsageError(
            f"{name!r} is neither a policy file, nor a run, nor a reference of {spec.name} "
            f"({known}): {error}"
        ) from error
    if (run / MATRIX_FILE).exists():
        raise UsageError(f"{run} holds several runs; name one of them")
    if not (run / "policy.npz").exists():
        raise UsageError(f"run {name} has no policy.npz: no workflow of it has finished")
    return stored_subject(host, read_policy(run / "policy.npz"), name, env, replaced)


def run_subjects(host: PluginHost, run: Path, env: str | None = None) -> list[Subject]:
    """Return the policy of every finished workflow of a run, to play in `env` if given."""
    sound = [result.workflow for result in read_search(run).finished() if result.sound]
    return [
        stored_subject(
            host, read_checkpoint(checkpoint_path(run, number)).policy, f"workflow {number}", env
        )
        for number in sound
    ]


def stored_subject(
    host: PluginHost,
    stored: StoredPolicy,
    name: str,
    env: str | None = None,
    replaced: Collection[str] = (),
) -> Subject:
    """Return the subject of a stored policy, with the environment of this installation.

    In another environment than its own it plays with the options that both have, and only if that
    one has the same observations, actions and units.
    """
    label = stored.label
    options = {k: v for k, v in stored_options(label.env_options).items() if k not in HELD}
    if env is None:
        [choice] = select(host, {"env": [label.env]}, {label.env: options})["env"]
    else:
        [bare] = select(host, {"env": [env]})["env"]
        kept = without_options(bare.spec, options, replaced)
        [choice] = select(host, {"env": [env]}, shared={"env": kept})["env"]
        _refuse_misfit(name, label, env_ref(choice))
    return Subject(name, choice, stored.policy(trusted(host)), label.order, label.definition)


def _refuse_misfit(name: str, label: PolicyLabel, ref: EnvRef) -> None:
    with calling(f"environment {ref.name!r}"), closing(ref.make()) as env:
        shape, actions = tuple(env.observation_space.shape), int(env.action_space.n)
    units = workflow_model(ref).units
    for what, wanted, found in (
        ("observations of shape", label.obs_shape, shape),
        ("actions:", label.num_actions, actions),
        ("the units", ", ".join(label.units), ", ".join(units)),
    ):
        if wanted != found:
            raise UsageError(
                f"{name} was trained on {label.env}, which has {what} {wanted}, but {ref.name} has "
                f"{found}; it cannot play there"
            )


def trusted(host: PluginHost) -> set[str]:
    """Return the packages of the loaded plugins, whose code is run anyway."""
    paths = (getattr(offer.spec, "factory", "") for offer in host.offers())
    return {path.partition(":")[0].partition(".")[0] for path in paths if path}


def greedy(policy: Policy) -> Policy:
    """Return the policy that always takes its most likely action."""
    sharpen = getattr(policy, "greedy", None)
    if sharpen is None:
        raise UsageError("this policy has no greedy form; leave --greedy out")
    found: Policy = sharpen()
    return found
