"""The hooks a plugin may implement.

A plugin is a module with functions of these names marked `@hookimpl`. It is found through the
entry-point group `wfbench` or `--plugins-dir`. Each docstring below holds one complete plugin.
Registration hooks return descriptors. Observers are called outside timed spans; what they raise is
logged, not passed on. An implementation may leave out arguments that it does not use.
"""

# mypy: disable-error-code="empty-body"
from __future__ import annotations

from collections.abc import Iterable

import pluggy

from wfbench import contract

hookspec = pluggy.HookspecMarker("wfbench")


@hookspec
def wfbench_envs() -> Iterable[contract.EnvSpec]:
    """Offer environments to collect from.

    For example::

        from wfbench.contract import EnvSpec, hookimpl

        @hookimpl
        def wfbench_envs():
            factory = "gymnasium.envs.classic_control:CartPoleEnv"
            return [EnvSpec(name="pole", summary="For throughput only", factory=factory)]
    """


@hookspec
def wfbench_collectors() -> Iterable[contract.CollectorSpec]:
    """Offer collectors, which gather transitions.

    For example::

        from wfbench.contract import CollectorSpec, hookimpl

        @hookimpl
        def wfbench_collectors():
            spec = CollectorSpec(
                name="reference",
                summary="The sequential collector under another name",
                factory="wfbench_collectors.sequential:SequentialCollector",
                capabilities=frozenset({"deterministic"}),
            )
            return [spec]
    """


@hookspec
def wfbench_trainers() -> Iterable[contract.TrainerSpec]:
    """Offer trainers, which learn from rollouts.

    For example::

        from wfbench.contract import TrainerSpec, UpdateStats, hookimpl
        from wfbench.policies import RandomPolicy

        class Idle:
            def __init__(self, setup):
                self.num_actions, self.updates = setup.env.num_actions, 0

            def start(self, order, inherit=None):
                self.updates = 0

            def policy(self):
                return RandomPolicy(self.num_actions, version=self.updates)

            def update(self, rollout, rewards):
                self.updates += 1
                return UpdateStats(seconds=0.0, transitions=rollout.transitions)

            def state(self):
                import numpy as np
                return {"updates": np.array(self.updates)}

            def load(self, state):
                self.updates = int(state["updates"])

        @hookimpl
        def wfbench_trainers():
            return [TrainerSpec(name="idle", summary="Never learns", factory=f"{__name__}:Idle")]
    """


@hookspec
def wfbench_searchers() -> Iterable[contract.SearcherSpec]:
    """Offer searchers, which choose the next order to train.

    For example::

        from wfbench.contract import SearcherSpec, hookimpl

        class Rotate:
            def __init__(self, setup):
                self.num_units, self.asked = setup.num_units, 0

            def ask(self):
                return tuple((self.asked + unit) % self.num_units for unit in range(self.num_units))

            def tell(self, order, outcome):
                self.asked += 1

            def state(self):
                return {"asked": self.asked}

            def load(self, state):
                self.asked = state["asked"]

        @hookimpl
        def wfbench_searchers():
            return [SearcherSpec(name="rotate", summary="In turn", factory=f"{__name__}:Rotate")]
    """


@hookspec
def wfbench_executors() -> Iterable[contract.ExecutorSpec]:
    """Offer executors, which decide where orders are trained.

    For example::

        from collections import deque
        from wfbench.contract import ExecutorSpec, News, hookimpl, load_object

        class InTurn:
            width, in_process, patience = 2, True, float("inf")

            def __init__(self):
                self.calls = deque()

            def submit(self, key, call):
                self.calls.append((key, load_object(call.function)(call.argument)))

            def wait(self, seconds):
                key, values = self.calls.popleft()
                for value in values:
                    self.calls.append((key, values))
                    return [News(key, "value", value)]
                return [News(key, "ended")]

            def cancel(self, key):
                self.calls = deque(call for call in self.calls if call[0] != key)

            def close(self):
                self.calls.clear()

        @hookimpl
        def wfbench_executors():
            summary = "Two at a time, by turns, in this process"
            return [ExecutorSpec(name="in-turn", summary=summary, factory=f"{__name__}:InTurn")]
    """


@hookspec
def wfbench_reporters() -> Iterable[contract.ReporterSpec]:
    """Offer formats to write a report in.

    For example::

        from wfbench.contract import ReporterSpec, hookimpl

        class Lines:
            def render(self, report):
                return "; ".join(f"{key}: {report[key]}" for key in sorted(report))

        @hookimpl
        def wfbench_reporters():
            factory = f"{__name__}:Lines"
            return [ReporterSpec(name="lines", summary="Text", factory=factory, suffix=".txt")]
    """


@hookspec
def wfbench_claims() -> Iterable[contract.ClaimSpec]:
    """Offer documented claims, which `wfbench reproduce` tests.

    For example::

        from wfbench.contract import ClaimSpec, CollectCase, Finding, hookimpl

        def measure(lab):
            case = CollectCase(collector="sequential", env="synthetic", n_envs=4)
            [[sample]] = lab.collect([case], rounds=1, steps=5, seconds=0.01)
            per_step = sample.transitions / sample.vector_steps
            return Finding(
                measured=f"{per_step:g} transitions per step",
                interval=None,
                verdict="reproduced" if per_step == 4 else "not reproduced",
                why="Every environment makes one transition per step.",
                values={"per_step": per_step},
            )

        @hookimpl
        def wfbench_claims():
            return [
                ClaimSpec(
                    name="one-each",
                    summary="Transitions of one step",
                    documented="as many as environments",
                    conditions="any collector that waits for all",
                    measure=f"{__name__}:measure",
                )
            ]
    """


@hookspec
def wfbench_health_checks() -> Iterable[contract.HealthCheckSpec]:
    """Offer checks for `wfbench doctor` to run.

    For example::

        import os
        from wfbench.contract import Health, HealthCheckSpec, hookimpl

        def check_home():
            ok = os.access(os.path.expanduser("~"), os.W_OK)
            return Health(ok, "the home directory", remedy="make it writable")

        @hookimpl
        def wfbench_health_checks():
            return [HealthCheckSpec(name="home", summary="A place for caches", check=check_home)]
    """


@hookspec
def wfbench_commands() -> Iterable[contract.CommandSpec]:
    """Add verbs to the command line.

    For example::

        from wfbench.contract import CommandSpec, hookimpl

        def hello(name: str = "world") -> None:
            print(f"hello {name}")

        @hookimpl
        def wfbench_commands():
            return [CommandSpec(name="hello", summary="Say hello", app=f"{__name__}:hello")]
    """


@hookspec
def wfbench_run_started(event: contract.Event) -> None:
    """Observe the start of a run; `event.values` holds its configuration.

    For example::

        import sys
        from wfbench.contract import hookimpl

        @hookimpl
        def wfbench_run_started(event):
            print(f"{event.run_id} started", file=sys.stderr)
    """


@hookspec
def wfbench_update_finished(event: contract.Event) -> None:
    """Observe that the trainer learned from one more rollout.

    For example::

        import sys
        from wfbench.contract import hookimpl

        @hookimpl
        def wfbench_update_finished(event):
            print(f"{event.run_id}: {dict(event.values)}", file=sys.stderr)
    """


@hookspec
def wfbench_workflow_finished(event: contract.Event) -> None:
    """Observe that one training, of all orders or of one, ended, well or not.

    For example::

        import sys
        from wfbench.contract import hookimpl

        @hookimpl
        def wfbench_workflow_finished(event):
            print(f"{event.run_id}: {event.values.get('order')}", file=sys.stderr)
    """


@hookspec
def wfbench_run_finished(event: contract.Event) -> None:
    """Observe the end of a run, also when it failed or was interrupted.

    For example::

        import sys
        from wfbench.contract import hookimpl

        @hookimpl
        def wfbench_run_finished(event):
            print(f"{event.run_id} ended", file=sys.stderr)
    """


REGISTRATION: dict[str, type[contract.Spec]] = {
    "wfbench_envs": contract.EnvSpec,
    "wfbench_collectors": contract.CollectorSpec,
    "wfbench_trainers": contract.TrainerSpec,
    "wfbench_searchers": contract.SearcherSpec,
    "wfbench_executors": contract.ExecutorSpec,
    "wfbench_reporters": contract.ReporterSpec,
    "wfbench_claims": contract.ClaimSpec,
    "wfbench_health_checks": contract.HealthCheckSpec,
    "wfbench_commands": contract.CommandSpec,
}
"""The hooks that return descriptors, and of which type."""

KINDS = tuple(spec.kind for spec in REGISTRATION.values())
