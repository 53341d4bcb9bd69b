"""Messages between a collector and a worker, both ends in this process."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from wfbench_collectors import wire
from wfbench_collectors.wire import CollectorEnd, Gone, Kind, Message, WorkerEnd, connect, encode

Ends = tuple[CollectorEnd, WorkerEnd, tuple[int, int]]
MUCH = 1 << 20
"""More bytes than a pipe holds."""


@pytest.fixture
def ends() -> Iterator[Ends]:
    """The two ends of a connection, and the worker's two descriptors."""
    ours, descriptors = connect()
    yield ours, WorkerEnd(*descriptors), descriptors
    ours.close()
    for descriptor in descriptors:
        with suppress(OSError):
            os.close(descriptor)


def test_a_message_is_its_number_its_length_its_kind_and_its_body() -> None:
    written = encode(7, Kind.STEP, b"abc")
    assert written == b"\7\0\0\0\0\0\0\0" + b"\3\0\0\0" + b"\3" + b"abc"
    assert Message(7, Kind.STEP, b"abc").size == len(written) == 16
    assert [int(kind) for kind in Kind] == list(range(1, 11))


@pytest.mark.parametrize("body", [b"", b"x", b"y" * 4083, b"z" * 4084, b"w" * 20_000])
def test_requests_and_replies_arrive_as_they_were_sent(ends: Ends, body: bytes) -> None:
    ours, worker, _ = ends
    assert not ours.ended
    assert not worker.waiting()
    assert ours.send(encode(5, Kind.RUN, body), time.monotonic() + 60)
    assert worker.waiting()
    assert worker.receive() == (5, Kind.RUN, body)
    assert not worker.waiting()
    worker.send(6, Kind.DONE, body)
    worker.send(7, Kind.DONE)
    assert ours.receive() == [(6, Kind.DONE, body), (7, Kind.DONE, b"")]
    assert not ours.ended
    assert ours.receive() == []


def test_a_message_counts_once_all_of_it_is_there(ends: Ends) -> None:
    ours, _, (_, replies) = ends
    first, second = encode(1, Kind.DONE, b"one"), encode(2, Kind.DONE, b"two")
    whole = first + second
    got = []
    for at in range(len(whole)):
        os.write(replies, whole[at : at + 1])
        got += [(at + 1, message.body) for message in ours.receive()]
    assert got == [(len(first), b"one"), (len(whole), b"two")]


def test_a_worker_waits_for_the_rest_and_takes_no_more(ends: Ends) -> None:
    ours, worker, _ = ends
    whole = encode(1, Kind.STEP, b"one") + encode(2, Kind.STEP, b"two")
    got: list[Message] = []
    reader = threading.Thread(target=lambda: got.extend([worker.receive(), worker.receive()]))
    assert ours.send(whole[:5], 0.0)
    reader.start()
    for part in (whole[5:14], whole[14:]):
        time.sleep(0.05)
        assert ours.send(part, 0.0)
    reader.join(60)
    assert got == [(1, Kind.STEP, b"one"), (2, Kind.STEP, b"two")]


def test_what_was_put_back_comes_first(ends: Ends) -> None:
    ours, worker, _ = ends
    assert ours.send(encode(2, Kind.STEP), 0.0)
    worker.put_back(Message(1, Kind.WAKE, b"again"))
    assert [worker.receive().sequence for _ in range(2)] == [1, 2]


@pytest.mark.parametrize(("left", "sent"), [(0.9, True), (0.0, False), (-0.1, False)])
def test_a_full_pipe_is_waited_for_until_the_deadline(
    ends: Ends, monkeypatch: pytest.MonkeyPatch, left: float, *, sent: bool
) -> None:
    """The pipe is emptied while the time that is left is looked up."""
    ours, _, (requests, _) = ends
    assert not ours.send(bytes(MUCH), 0.0)

    def emptied() -> float:
        os.read(requests, MUCH)
        return 100.0

    monkeypatch.setattr(wire, "monotonic", emptied)
    assert ours.send(b"x", 100.0 + left) == sent


def test_a_pipe_that_stays_full_is_given_up(ends: Ends) -> None:
    assert not ends[0].send(bytes(MUCH), time.monotonic() + 0.05)


def test_each_end_notices_that_the_other_is_gone(ends: Ends) -> None:
    ours, worker, (requests, replies) = ends
    worker.send(1, Kind.DONE, b"last words")
    os.close(replies)
    os.close(requests)
    assert ours.receive() == [(1, Kind.DONE, b"last words")]
    assert ours.receive() == []
    assert ours.ended
    assert ours.send(encode(2, Kind.STEP), 0.0), "the dead take anything"


def test_a_worker_without_a_collector_has_nothing_to_do(ends: Ends) -> None:
    ours, worker, _ = ends
    assert ours.send(encode(1, Kind.STEP)[:5], 0.0)
    ours.close()
    ours.close()
    with pytest.raises(Gone):
        worker.receive()
    with pytest.raises(Gone):
        worker.send(1, Kind.DONE)
