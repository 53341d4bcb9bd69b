"""One training, of an order or of all at once: collect, shape, judge, update, until it ends."""

from __future__ import annotations

import math
import time
from collections.abc import Generator
from dataclasses import replace
from time import perf_counter

from wfbench.collecting.seeding import Purpose, make_plan, purpose_seed
from wfbench.contract import Collector, EnvInfo, Policy, Rollout, Trainer, TrainerSetup, UpdateStats
from wfbench.orders.compliance import Shaped, Shaper, find_definition
from wfbench.orders.forms import shown_code
from wfbench.processes.compile_time import compile_seconds
from wfbench.store.events import (
    BUDGET,
    COMPLIANT,
    FREE,
    JOINT,
    NOT_FINITE,
    SPECIAL,
    UpdateFinished,
    WorkflowResult,
)
from wfbench.store.sweeps import NORMAL, Sweep

from .budget import time_for
from .collectors import build_collector
from .episodes import EpisodeWindow, Summary, rows_of, summarise
from .job import SearchJob, calling
from .phases import PhaseClock
from .playing import play
from .stopping import Ending, StopRule
from .tasks import Failure, Trained, TrainingTask, Update


def train(
    work: tuple[SearchJob, TrainingTask],
) -> Generator[Update | Trained | Failure, None, None]:
    """Carry out one task: yield its updates, then how it ended. Executors call this."""
    try:
        yield (yield from Training(*work).run())
    except Exception as error:  # noqa: BLE001 - raised again by the search
        yield Failure(error)


class Training:
    """Carries out one task of a job."""

    def __init__(self, job: SearchJob, task: TrainingTask) -> None:
        self._job = job
        self._task = task
        self._clock = PhaseClock()
        self._compiled_before = compile_seconds()
        self._pace = task.pace
        config, budget = job.config, task.budget
        # Where one env does the work of many, its last episodes stand for theirs.
        per_env = max(1, config.n_envs // budget.n_envs)
        self._judged = max(per_env, budget.steps // job.episode_steps)
        self._scored = per_env * (1 if job.score.evaluates else job.score.count)
        length = max(self._judged, self._scored)
        self._pooled = find_definition(job.definition).pooled
        self._window = EpisodeWindow(budget.n_envs, length, pooled=self._pooled)
        self._rule = StopRule(config, budget)
        self._ref = job.training_ref(task.order)
        self._sweeps: dict[str, Sweep] = {}

    def run(self) -> Generator[Update, None, Trained]:
        """Train until compliant, out of budget or hopeless, and score."""
        job, task, clock = self._job, self._task, self._clock
        began = perf_counter()
        with clock.phase("loop"):
            plan = make_plan(self._ref, task.budget.n_envs, task.seed)
            with clock.phase("start_up"), calling(f"collector {job.collector.spec.name!r}"):
                collector = build_collector(job.collector)
                info = collector.open(plan)
            try:
                with clock.phase("start_up"), calling(f"trainer {job.trainer.spec.name!r}"):
                    trainer = self._trainer(info)
                self._pace = replace(self._pace, start=self._counted())
                policy, ending = yield from self._learn(collector, trainer)
            finally:
                with clock.phase("start_up"):
                    collector.close()
            result = self._result(policy, ending)
            with clock.phase("update"):
                state, snapshot = dict(trainer.state()), policy.snapshot()
            lap, seconds = clock.lap(), perf_counter() - began
            return Trained(result, snapshot, state, info, self._pace, lap, seconds, self._sweeps)

    def _trainer(self, info: EnvInfo) -> Trainer:
        job, task = self._job, self._task
        setup = TrainerSetup(
            # Where observations show the order, a trainer has nothing to condition on.
            env=replace(info, workflow=None if job.config.joint else job.model),
            seed=purpose_seed(task.seed, Purpose.TRAINER),
            device=job.config.device,
            expected_updates=task.budget.rollouts,
        )
        trainer: Trainer = job.trainer.build(setup)
        trainer.start(task.order or tuple(range(len(job.model.units))), task.inherit)
        return trainer

    def _learn(
        self, collector: Collector, trainer: Trainer
    ) -> Generator[Update, None, tuple[Policy, Ending]]:
        clock, shaper = self._clock, self._shaper()
        first_weight = shaper.weight
        who = f"trainer {self._job.trainer.spec.name!r}"
        self._used = self._updates = 0
        longest = 0.0
        with clock.phase("update"), calling(who):
            policy = trainer.policy()
        while True:
            began = self._counted()
            with clock.phase("idle"):
                rollout = collector.collect(policy, self._task.budget.next_steps(self._used))
            clock.divide(rollout.counters)
            with clock.phase("shaping"):
                shaper.weight = first_weight * self._lambda_share()
                shaped = shaper.shape(rollout)
            self._used += rollout.transitions
            self._window.add(shaped.episodes)
            summary = self._window.last(self._judged)
            ending = self._rule.after_rollout(rollout, summary, self._used)
            if ending is None and not time_for(self._pace.to_end_well(), self._seconds_left()):
                ending = Ending(BUDGET, "wall-time")
            stats, learned = None, policy
            if ending is None:
                with clock.phase("update"), calling(who):
                    stats = trainer.update(rollout, shaped.rewards)
                    learned = trainer.policy()
                self._updates += 1
                ending = self._rule.after_update(stats, learned)
            update = Update(self._report(rollout, shaped, summary, stats), clock.lap())
            with clock.phase(None):
                yield update
            if ending is not None:
                return policy, ending
            policy = learned
            longest = max(longest, self._counted() - began)
            self._pace = replace(self._pace, rollout=longest)

    def _shaper(self) -> Shaper:
        job, order = self._job, self._task.order
        return job.shaper(shown_code(self._ref, job.model) or order)

    def _lambda_share(self) -> float:
        """Return the share of lambda in force."""
        config, stage = self._job.config, self._task.stage
        if stage == JOINT:
            spent = self._used / self._task.budget.max_steps
            return 1.0 - spent * (1.0 - config.lambda_end)
        return {FREE: 0.0, SPECIAL: config.lambda_special}.get(stage, 1.0)

    def _seconds_left(self) -> float | None:
        until = self._task.until
        return None if until is None else until - time.time() + self._compiled()

    def _compiled(self) -> float:
        """Return the seconds of compiling so far: they say nothing of what follows."""
        return compile_seconds() - self._compiled_before

    def _counted(self) -> float:
        return self._clock.elapsed() - self._compiled()

    def _report(
        self, rollout: Rollout, shaped: Shaped, judged: Summary, stats: UpdateStats | None
    ) -> UpdateFinished:
        job, task, ended = self._job, self._task, shaped.episodes
        return UpdateFinished(
            workflow=task.workflow,
            update=self._updates,
            order=task.order,
            **job.definitions,
            policy_version=int(rollout.policy_version.max()),
            transitions=rollout.transitions,
            env_steps=self._used,
            episodes=len(ended),
            env_return=float(ended.env_return.mean()) if len(ended) else math.nan,
            alignment=float(ended.alignment.mean()) if len(ended) else math.nan,
            **judged.judged,
            marks=tuple(rollout.marks),
            stats=None if stats is None else dict(stats.values),
        )

    def _result(self, policy: Policy, ending: Ending) -> WorkflowResult:
        job, task = self._job, self._task
        judged = self._window.last(self._judged)
        broken = ending.reason == NOT_FINITE
        scored, evaluation_steps = self._window.last(self._scored), 0
        source = str(job.score)
        if job.config.joint:
            source = f"evaluate:{job.config.eval_episodes}"
        if job.config.joint and not broken:
            judged, evaluation_steps = self._sweep(policy)
            scored = judged
        elif job.score.evaluates and not broken:
            scored, evaluation_steps = self._evaluate(policy)
        reached = judged.compliance >= job.config.threshold and not broken
        return WorkflowResult(
            workflow=task.workflow,
            order=task.order,
            seed=task.seed,
            inherited_from=task.inherited_from,
            status=COMPLIANT if ending.status == BUDGET and reached else ending.status,
            reason=ending.reason,
            score=math.nan if broken else scored.env_return,
            score_sd=math.nan if broken else scored.return_sd,
            score_episodes=0 if broken else scored.episodes,
            score_source=source,
            **judged.judged,
            compliant=bool(reached),
            steps_to_compliance=self._rule.reached_at,
            updates=self._updates,
            env_steps=self._used,
            evaluation_steps=evaluation_steps,
            episodes=self._window.total,
            stage=task.stage,
        )

    def _sweep(self, policy: Policy) -> tuple[Summary, int]:
        """Evaluate every order the policy was trained for, and under stress; return the means."""
        job, task = self._job, self._task
        began = self._counted()
        orders = (task.order,) if task.order else job.drawn_orders
        steps = 0
        with self._clock.phase("search"):
            for name, plan in job.sweep_plans(task.workflow if task.stage == JOINT else 0).items():
                self._sweeps[name], episodes = plan.run(policy, orders)
                steps += plan.env_steps * len(orders)
                if name == NORMAL:
                    judged = summarise(rows_of(episodes), pooled=self._pooled)
        self._pace = replace(self._pace, evaluation=self._counted() - began)
        return judged, steps

    def _evaluate(self, policy: Policy) -> tuple[Summary, int]:
        job = self._job
        began = self._counted()
        with self._clock.phase("search"):
            played = play(
                job.ref,
                job.collector,
                policy,
                [self._shaper()],
                episodes=job.score.count,
                episode_steps=job.episode_steps,
                seed=self._task.seed,
                n_envs=job.config.n_envs,
            )
        self._pace = replace(self._pace, evaluation=self._counted() - began)
        return summarise(played.rows[0], pooled=self._pooled), played.env_steps
