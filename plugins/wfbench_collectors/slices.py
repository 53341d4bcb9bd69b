"""The environments of one worker, in whichever form its task asks for."""

from __future__ import annotations

from wfbench.collecting.batch import BatchSlice
from wfbench.collecting.scalar import ScalarSlice

from .board import Board, Note
from .worker import Task


def build_slice(task: Task, board: Board) -> ScalarSlice | BatchSlice:
    """Build a worker's environments; the board says which one is running."""
    if task.batched:
        return BatchSlice(task.env, task.envs, task.seeds, worker=task.worker, check=task.check)
    row = board.row(task.worker)

    def running(env: int) -> None:
        row[Note.ENV] = env + 1

    return ScalarSlice(
        task.env, task.envs, task.seeds, worker=task.worker, check=task.check, progress=running
    )
