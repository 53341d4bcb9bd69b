"""What is to be evaluated: a stored policy, the policy of a run, or a reference by name."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from wfbench.compliance import BESIDE, Shaper
from wfbench.contract import (
    EnvRef,
    EnvSpec,
    Order,
    Policy,
    UsageError,
    WorkflowModel,
    load_object,
)
from wfbench.options import resolve_options
from wfbench.plugins import PluginHost
from wfbench.selection import Choice, env_ref, select
from wfbench.store.checkpoint import read_checkpoint
from wfbench.store.event_log import read_events
from wfbench.store.places import MATRIX_FILE, find_run
from wfbench.store.policy_file import PolicyLabel, StoredPolicy, read_policy

from .job import calling, stored_options, workflow_model

REFERENCE_ENV = "cage2"
"""Where a reference plays if nothing else is said."""


@dataclass(frozen=True)
class Subject:
    """A policy, the environment it was made for and the order it follows."""

    name: str
    env: Choice
    policy: Policy
    order: Order | None
    """None: a reference that follows none."""
    trained_on: str | None = None
    """Id of the compliance definition it was trained on."""
    batched: str | None = None
    """The batched form that a reference goes by, if it is not the environment's own."""

    def ref(self, **changed: Any) -> EnvRef:
        """The environment with some options changed."""
        spec = self.env.spec
        options = resolve_options(spec, {**stored_options(self.env.options), **changed})
        ref = env_ref(replace(self.env, options=options))
        return ref if self.batched is None else replace(ref, batched=self.batched)

    def model(self) -> WorkflowModel:
        """The environment's workflow model."""
        return workflow_model(self.ref())

    def shaper(self, model: WorkflowModel, order: Order, definition: str) -> Shaper:
        """Judges what the policy does by an order."""
        return Shaper(model, order, definition=definition, beside=BESIDE)


def find_subject(
    host: PluginHost, name: str, out: Path, env: str | None, order: Order | None
) -> Subject:
    """What a user means by `name`.

    `env` is where it is to play: by default where it was trained, or `REFERENCE_ENV`. `order` is
    for references only.
    """
    path = Path(name)
    if path.is_file():
        return stored_subject(host, read_policy(path), name, env)
    [choice] = select(host, {"env": [env or REFERENCE_ENV]})["env"]
    spec = choice.spec
    references = {r.name: r for r in spec.references} if isinstance(spec, EnvSpec) else {}
    if name in references:
        reference = references[name]
        with calling(f"reference {name!r} of {spec.name}"):
            policy = load_object(reference.policy)(order)
        return Subject(name, choice, policy, order, batched=reference.batched)
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
    return stored_subject(host, read_policy(run / "policy.npz"), name, env)


def run_subjects(host: PluginHost, run: Path, env: str | None = None) -> list[Subject]:
    """The policy of every finished workflow of a run, to play in `env` if that is given."""
    finished = [e for e in read_events(run / "events.jsonl") if e["event"] == "workflow-finished"]
    return [
        stored_subject(
            host,
            read_checkpoint(run / "checkpoints" / f"{event['workflow']:03d}.npz").policy,
            f"workflow {event['workflow']}",
            env,
        )
        for event in finished
        if event["reason"] != "not-finite"
    ]


def stored_subject(
    host: PluginHost, stored: StoredPolicy, name: str, env: str | None = None
) -> Subject:
    """The subject of a stored policy, with the environment of this installation.

    In another environment than its own it plays with the options that both have, and only if that
    one has the same observations, actions and units.
    """
    label = stored.label
    options = stored_options(label.env_options)
    if env is None:
        [choice] = select(host, {"env": [label.env]}, {label.env: options})["env"]
    else:
        [choice] = select(host, {"env": [env]}, shared={"env": options})["env"]
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
    """Packages of the loaded plugins: code that is run anyway."""
    paths = (getattr(offer.spec, "factory", "") for offer in host.offers())
    return {path.partition(":")[0].partition(".")[0] for path in paths if path}


def greedy(policy: Policy) -> Policy:
    """The policy's most likely action, always."""
    sharpen = getattr(policy, "greedy", None)
    if sharpen is None:
        raise UsageError("this policy has no greedy form; leave --greedy out")
    found: Policy = sharpen()
    return found
