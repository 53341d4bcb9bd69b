"""Messages between two processes: whole, in sequence, and never waited for too long."""

from __future__ import annotations

import pickle
import socket
import struct
from collections.abc import Iterator
from typing import Any

import pytest

from wfbench.processes import channel
from wfbench.processes.channel import Channel


@pytest.fixture
def ends() -> Iterator[tuple[Channel, Channel, socket.socket]]:
    """A channel, the one at its other end, and the socket of the other."""
    ours, theirs = socket.socketpair()
    one, other = Channel(ours), Channel(theirs)
    yield one, other, theirs
    one.close()
    other.close()
    one.close()


def framed(message: Any) -> bytes:
    data = pickle.dumps(message)
    return struct.pack("<Q", len(data)) + data


def test_nobody_waits_longer_than_asked(ends: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    one, _, theirs = ends
    theirs.sendall(framed("half")[:-1])
    now, waits = 50.0, []

    def select(*given: Any) -> Any:
        nonlocal now
        waits.append(given[3])
        now += 4.0
        return ([one] if len(waits) < 3 else [], [], [])

    monkeypatch.setattr(channel, "monotonic", lambda: now)
    monkeypatch.setattr(channel.select, "select", select)
    with pytest.raises(TimeoutError):
        one.recv(6.0)
    assert waits == [6.0, 2.0, 0.0]
    monkeypatch.undo()
    with pytest.raises(TimeoutError):
        one.recv(0.0)


def test_messages_arrive_whole_and_in_sequence(ends: Any) -> None:
    one, other, _ = ends
    for message in ({"a": 1}, None, "b"):
        other.send(message, 5.0)
    assert [one.recv(5.0), one.recv()] == [{"a": 1}, None]
    assert one.receive() == ["b"]
    assert one.receive() == []
    one.send(b"answer")
    assert other.recv(5.0) == b"answer"


def test_what_was_received_is_not_received_again(ends: Any) -> None:
    one, other, _ = ends
    other.send(1)
    other.send(2)
    assert one.receive() == [1, 2]
    assert one.receive() == []
    other.send(3)
    assert one.recv(5.0) == 3


def test_messages_that_came_with_another_are_given_without_reading(ends: Any) -> None:
    one, other, theirs = ends
    theirs.sendall(framed("first") + framed("second") + framed("third"))
    assert one.recv(5.0) == "first"
    other.close()
    assert one.receive() == ["second", "third"]
    with pytest.raises(EOFError):
        one.receive()


def test_a_message_may_come_in_parts(ends: Any) -> None:
    one, _, theirs = ends
    whole = framed("the message") + framed("the next")
    for cut in range(len(whole)):
        theirs.sendall(whole[cut : cut + 1])
        found = one.receive()
        if cut == len(framed("the message")) - 1:
            assert found == ["the message"]
        elif cut == len(whole) - 1:
            assert found == ["the next"]
        else:
            assert found == []


def test_what_follows_a_message_is_kept_until_it_is_whole(ends: Any) -> None:
    one, _, theirs = ends
    second = framed("second")
    for extra in (0, 1, 7, 8, 9, len(second) - 1):
        theirs.sendall(framed(extra) + second[:extra])
        assert one.receive() == [extra]
        theirs.sendall(second[extra:])
        assert one.receive() == ["second"]


def test_a_wait_without_a_limit_has_none(ends: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other, _ = ends
    other.send("here")
    waits = []
    real = channel.select.select
    monkeypatch.setattr(
        channel.select, "select", lambda *given: (waits.append(given[3]), real(*given))[1]
    )
    assert one.recv() == "here"
    assert waits == [None]


def test_a_message_that_nobody_takes_times_out(ends: Any) -> None:
    one, _, _ = ends
    with pytest.raises(TimeoutError):
        one.send(bytes(1 << 24), 0.01)


def test_the_end_is_told_whether_closed_or_reset(ends: Any) -> None:
    one, other, theirs = ends
    one.send("never read")
    theirs.close()
    other.close()
    with pytest.raises(EOFError):
        one.receive()


def test_its_descriptor_is_that_of_the_stream(ends: Any) -> None:
    _, other, theirs = ends
    assert other.fileno() == theirs.fileno()


def test_a_large_message_is_read_in_a_few_pieces(
    ends: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a message may have any size up to the piece that is read."""
    one, _, _ = ends
    asked = []

    class Stream:
        def recv(self, size: int, flags: int) -> bytes:
            asked.append((size, flags))
            raise BlockingIOError

    monkeypatch.setattr(one, "_stream", Stream())
    assert one.receive() == []
    assert asked == [(1 << 20, socket.MSG_DONTWAIT)]
    monkeypatch.undo()
