"""One side of a pair: a live process that measures one case of one revision, turn by turn.

It is run as a script, never imported: `wfbench` is that of the revision under test here, which need
not have this module. So it imports little, and only what has long been there.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import socket
import struct
import sys
from time import clock_gettime, monotonic, perf_counter, process_time
from typing import Any

_LENGTH = struct.Struct("<Q")
_PR_SET_PDEATHSIG = 1
_PROOF = 10
"""Steps of the first collect, whose transitions both sides compare."""
_COLLECT = 0.005
"""Seconds that one collect should take, so that a turn is several of them."""
_MOST_STEPS = 50


class Side:
    """An open collector that collects when it is told to."""

    def __init__(self, asked: dict[str, Any]) -> None:
        os.sched_setaffinity(0, asked["cores"])
        [case] = _cases(asked)
        from wfbench.benchmarks.measure.trial import DEADLINES, make_policy
        from wfbench.collecting.seeding import Purpose, make_plan
        from wfbench.contract import load_object

        plan = make_plan(
            case.env, case.n_envs, asked["seed"], purpose=Purpose.BENCH, deadlines=DEADLINES
        )
        self._collector = load_object(case.factory)(**case.options)
        info = self._collector.open(plan)
        self.start_up = monotonic() - asked["started"]
        self._policy = make_policy(case.policy, info, asked["seed"])
        first = self._collector.collect(self._policy, _PROOF)
        self.proof = first.transition_hash() if case.deterministic else None
        self.marks = dict.fromkeys(first.marks)
        self._clocks = [_clock_of(pid) for pid in self.workers()]

    def workers(self) -> list[int]:
        """Return the processes that this one started, and those that they did."""
        import psutil

        return [one.pid for one in psutil.Process().children(recursive=True)]

    def fitting_steps(self) -> int:
        """Return how many steps a collect of a few milliseconds has."""
        steps = 1
        while min(self.turn(0.0, steps)[1] for _ in range(5)) < _COLLECT and steps < _MOST_STEPS:
            steps = min(2 * steps, _MOST_STEPS)
        return steps

    def turn(self, seconds: float, steps: int) -> tuple[int, float, float]:
        """Collect for so long; return transitions, seconds, and CPU seconds of all processes."""
        transitions, wall = 0, 0.0
        used = self._cpu()
        began = perf_counter()
        while not transitions or wall < seconds:
            rollout = self._collector.collect(self._policy, steps)
            transitions += rollout.transitions
            self.marks.update(dict.fromkeys(rollout.marks))
            wall = perf_counter() - began
        return transitions, wall, self._cpu() - used

    def memory(self) -> int:
        """Return the bytes of all processes, shared pages counted once."""
        from wfbench.processes.usage import memory_bytes, tree

        return memory_bytes(tree())

    def end(self) -> list[str]:
        """Close the collector; return what it recovered from."""
        self._collector.close()
        return list(self.marks)

    def _cpu(self) -> float:
        return process_time() + sum(map(clock_gettime, self._clocks))


def offered(asked: dict[str, Any]) -> list[str]:
    """Return the collectors that a distribution offers, and those of them that fit an env."""
    own = {
        offer.spec.name
        for offer in _host(asked).offers("collector")
        if offer.source.distribution == asked["distribution"]
    }
    fitting = [case.label for case in _cases({**asked, "collectors": ["all"]})] if own else []
    return [label for label in fitting if label in own]


def known(asked: dict[str, Any]) -> list[str]:
    """Return the labels of collectors that this revision has, too."""
    return [case.label for case in _cases(asked)]


def _cases(asked: dict[str, Any]) -> list[Any]:
    from wfbench.benchmarks.measure.cases import select_cases

    return list(
        select_cases(
            _host(asked),
            collectors=asked["collectors"],
            env=asked["env"],
            n_envs=[asked["n_envs"]],
            policy=asked["policy"],
        )
    )


def _host(asked: dict[str, Any]) -> Any:
    from wfbench.host.manager import PluginSettings, load_plugins

    return load_plugins(PluginSettings(**asked["plugins"]))


def _clock_of(pid: int) -> int:
    clock = ctypes.c_int()
    if ctypes.CDLL(None).clock_getcpuclockid(pid, ctypes.byref(clock)) != 0:
        raise ProcessLookupError(f"worker {pid} has ended")
    return clock.value


class _Line:
    """The end of the channel to the process that compares."""

    def __init__(self, descriptor: int) -> None:
        self._stream = socket.socket(fileno=descriptor).makefile("rwb")

    def recv(self) -> Any:
        (length,) = _LENGTH.unpack(self._stream.read(_LENGTH.size))
        return pickle.loads(self._stream.read(length))  # noqa: S301 (from our own parent)

    def send(self, message: Any) -> None:
        data = pickle.dumps(message)
        self._stream.write(_LENGTH.pack(len(data)) + data)
        self._stream.flush()


def _serve(line: _Line) -> None:
    """Answer questions until the last one; an error is an answer, too."""
    side: Any = None
    while True:
        try:
            what, *arguments = line.recv()
        except struct.error:
            return
        try:
            if what in {"offered", "known"}:
                answer: Any = globals()[what](*arguments)
            elif what == "open":
                side = Side(*arguments)
                answer = (side.start_up, side.proof, side.workers())
            else:
                answer = getattr(side, what)(*arguments)
        except Exception as error:  # noqa: BLE001 - whatever a plugin raises is a result
            line.send((type(error).__name__, " ".join(str(error).split())))
            return
        line.send((None, answer))
        if what == "end":
            return


if __name__ == "__main__":
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    _serve(_Line(int(sys.argv[1])))
