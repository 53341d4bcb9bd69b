"""A live process that rests unless it is asked something: a script that answers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from wfbench.benchmarks.measure.live import Live
from wfbench.benchmarks.measure.turns import Turn
from wfbench.contract import CollectError
from wfbench.processes.isolated import Isolated
from wfbench.processes.limits import ONE_THREAD

ANSWERS = """
import os, sys
from wfbench.processes.children import parent_channel

channel = parent_channel(sys.argv[1])
while True:
    what, *rest = channel.recv()
    if what == "bind":
        os.sched_setaffinity(0, rest[0])
    answers = {"turn": (None, (6, 0.5, 0.25)), "fail": ("ValueError", "out of luck")}
    answers["fail silently"] = ("ValueError", "")
    channel.send(answers.get(what, (None, os.getpid())))
"""


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    script = tmp_path_factory.mktemp("live") / "answers.py"
    script.write_text(ANSWERS)
    with closing(Live(Isolated(script, ONE_THREAD))) as found:
        yield found


def rests(live: Live) -> bool:
    """Wait until the process is stopped, or ends."""
    told = os.waitid(os.P_PID, live.members[0], os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    return told is not None and told.si_code == os.CLD_STOPPED


def test_a_process_answers_and_rests(live: Live) -> None:
    [pid] = live.members
    assert live.ask("who") == pid
    assert rests(live)


@pytest.mark.parametrize(
    ("what", "said"), [("fail", "out of luck"), ("fail silently", "no message")]
)
def test_an_error_is_an_answer_and_the_process_rests(live: Live, what: str, said: str) -> None:
    with pytest.raises(CollectError, match=f"^ValueError: {said}$"):
        live.ask(what)
    assert rests(live)


def test_threads_may_run_anywhere_again_unless_they_were_bound(live: Live) -> None:
    every = os.sched_getaffinity(0)
    cores, one = sorted(every), {max(every)}
    for asked, left in ((every, every), (one, one), (every, every)):
        live.ask("bind", asked)
        assert live.turn(cores) == Turn(6, 0.5, 0.25)
        assert os.sched_getaffinity(live.members[0]) == left


def test_what_has_ended_no_longer_answers(tmp_path: Path) -> None:
    script = tmp_path / "ends.py"
    script.write_text("raise SystemExit('no luck')")
    with closing(Live(Isolated(script, ONE_THREAD))) as ended:
        with pytest.raises(CollectError, match="the process died with code 1: no luck"):
            ended.ask("who")
        ended.close()
        assert ended.members == []
