"""How a dead worker is replaced, a bounded number of times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import monotonic

from wfbench.contract import Plan, WorkerError

from .processes import ProcessSettings, fresh_seeds
from .supervisor import Supervisor
from .worker import Task


class Revival:
    """Counts and performs the restarts of one collector's life.

    `tasks` is kept up to date: a replaced worker's environments have new seeds, derived from those
    of the plan, so that what killed it is not simply met again and no stream is collected twice.
    """

    def __init__(
        self, plan: Plan, settings: ProcessSettings, supervisor: Supervisor, tasks: list[Task]
    ) -> None:
        self._plan = plan
        self._settings = settings
        self._supervisor = supervisor
        self._tasks = tasks
        self.count = 0

    def revive(self, death: WorkerError, prepare: Callable[[Task, float], None]) -> str:
        """Replace a dead worker and `prepare` the new one; what to mark the sample with.

        The death itself is raised if deaths are not to be survived, or once too many were.
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
        if not self._settings.survives_deaths:
            raise death
        if self.count >= self._settings.restarts:
            raise WorkerError(
                f"{death.cause}; {self.count} dead workers were replaced before; no more are",
                worker=death.worker,
                env=death.env,
                seed=death.seed,
                exitcode=death.exitcode,
                traceback=death.traceback,
            ) from death
