"""Replace dead workers, a bounded number of times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import monotonic

from wfbench.contract import Plan, WorkerError

from .options import ProcessOptions
from .supervisor import Supervisor
from .tasks import WorkerTask, fresh_seeds


class Revival:
    """Counts and performs the restarts of one collector's life.

    `tasks` is kept up to date: a replaced worker's environments have new seeds, derived from those
    of the plan, so that no stream is collected twice and what killed the worker need not recur.
    """

    def __init__(
        self, plan: Plan, options: ProcessOptions, supervisor: Supervisor, tasks: list[WorkerTask]
    ) -> None:
        self._plan = plan
        self._options = options
        self._supervisor = supervisor
        self._tasks = tasks
        self.count = 0

    def revive(self, death: WorkerError, prepare: Callable[[WorkerTask, float], None]) -> str:
        """Replace a dead worker and `prepare` the new one; return the mark of the sample.

        Raise the death itself if deaths are not to be survived, or too many were.
        """
        first, worker = death, death.worker
        while True:
            self._refuse_more(death)
            self.count += 1
            old = self._tasks[worker]
            seeds = fresh_seeds(self._plan.env_seeds[old.rows], self.count)
            task = self._tasks[worker] = replace(old, seeds=seeds)
            until = monotonic() + self._plan.deadlines.start
            try:
                self._supervisor.restart(worker, task, until)
                prepare(task, until)
            except WorkerError as error:
                if error.exitcode is None:
                    raise
                death = error
            else:
                return f"restarted with new seeds after {first}"

    def _refuse_more(self, death: WorkerError) -> None:
        if not self._options.survives_deaths:
            raise death
        if self.count >= self._options.restarts:
            raise WorkerError(
                f"{death.cause}; {self.count} dead workers were replaced before; no more are",
                worker=death.worker,
                env=death.env,
                seed=death.seed,
                exitcode=death.exitcode,
                traceback=death.traceback,
            ) from death
