"""The states every collector goes through; misuse is one clear error."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

from wfbench.contract import (
    CollectError,
    EnvInfo,
    Plan,
    Policy,
    Rollout,
    UsageError,
    WorkerError,
)


class Lifecycle(ABC):
    """`open`, any number of `collect` and `reset`, `close`, and again from the start.

    A failed `open` or `reset` has already released everything. After a failed `collect` nothing but
    `close` is accepted, because what the environments did since the last good rollout is not known.
    """

    name = "collector"

    def __init__(self) -> None:
        self._plan: Plan | None = None
        self._info: EnvInfo | None = None
        self._failure: str | None = None

    def open(self, plan: Plan) -> EnvInfo:
        """Build and reset every environment."""
        if self._plan is not None:
            raise UsageError(f"{self.name} is already open; close it before it is opened again")
        self._plan = plan
        try:
            self._info = self._open(plan)
        except BaseException:
            self.close()
            raise
        return self._info

    def collect(self, policy: Policy, steps: int) -> Rollout:
        """Continue for `steps` steps of every environment from where the last call ended."""
        plan, info = self._opened()
        if steps < 1:
            raise UsageError(f"steps is {steps}; it must be at least 1")
        try:
            return self._collect(plan, info, policy, steps)
        except BaseException as error:
            self._failure = str(error).partition("\n")[0] or type(error).__name__
            raise

    def reset(self, plan: Plan) -> EnvInfo:
        """Go on as if freshly opened with this plan."""
        old, info = self._opened()
        self._plan = plan
        try:
            self._info = self._replan(plan, old, info)
        except WorkerError:
            # What is left of the old plan, such as a worker that died, must not harm the new one.
            self._info = None
        except BaseException:
            self.close()
            raise
        if self._info is None:
            self.close()
            return self.open(plan)
        return self._info

    def close(self) -> None:
        """Release everything; safe in any state and twice."""
        plan, self._plan, self._info, self._failure = self._plan, None, None, None
        if plan is not None:
            self._close(plan)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _opened(self) -> tuple[Plan, EnvInfo]:
        if self._plan is None or self._info is None:
            raise UsageError(f"{self.name} is not open; open it with a plan first")
        if self._failure is not None:
            raise CollectError(f"{self.name} failed before and can only be closed: {self._failure}")
        return self._plan, self._info

    @abstractmethod
    def _open(self, plan: Plan) -> EnvInfo: ...

    @abstractmethod
    def _collect(self, plan: Plan, info: EnvInfo, policy: Policy, steps: int) -> Rollout: ...

    def _replan(self, plan: Plan, old: Plan, info: EnvInfo) -> EnvInfo | None:  # noqa: ARG002
        """Go on with `plan` in place of `old`; return None if that takes closing and opening."""
        return None

    @abstractmethod
    def _close(self, plan: Plan) -> None: ...
