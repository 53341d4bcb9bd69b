"""Messages between a collector and its workers: a numbered header and a body over two pipes.

Two pipes and not one socket, because a process that sleeps in a read of a socket is also woken when
the other side takes what it had written, which would double the switches of every step.

Every request carries a sequence number and its reply repeats it, so an answer that comes too late
can never be taken for the answer to a newer request. The end of the stream is the worker's death.
"""

from __future__ import annotations

import os
import select
import struct
from enum import IntEnum
from time import monotonic
from typing import NamedTuple

_HEADER = struct.Struct("<QIB")
_CHUNK = 4096


class Kind(IntEnum):
    """What a message is."""

    BUILD = 1
    RESET = 2
    STEP = 3
    TRUE_STATE = 4
    RUN = 5
    WAKE = 6
    STRETCH = 7
    CLOSE = 8
    DONE = 9
    FAILED = 10


class Gone(Exception):  # noqa: N818 - not an error of anybody's
    """The other end does not exist any more."""


class Message(NamedTuple):
    """One message."""

    sequence: int
    kind: int
    body: bytes

    @property
    def size(self) -> int:
        """Return its bytes on the wire."""
        return _HEADER.size + len(self.body)


def encode(sequence: int, kind: Kind, body: bytes = b"") -> bytes:
    """Return a message as bytes."""
    return _HEADER.pack(sequence, len(body), kind) + body


def connect() -> tuple[CollectorEnd, tuple[int, int]]:
    """Return a new connection: the collector's end, and the worker's two descriptors."""
    requests, to_worker = os.pipe()
    from_worker, replies = os.pipe()
    return CollectorEnd(to_worker, from_worker), (requests, replies)


class WorkerEnd:
    """The worker's end: it may block, because the supervisor can kill a worker that does."""

    def __init__(self, requests: int, replies: int) -> None:
        self._requests = requests
        self._replies = replies
        self._returned: list[Message] = []

    def put_back(self, message: Message) -> None:
        """Have `receive` return this message once more."""
        self._returned.append(message)

    def receive(self) -> Message:
        """Return the next message; raise `Gone` once the collector is gone."""
        if self._returned:
            return self._returned.pop()
        sequence, length, kind = _HEADER.unpack(self._exactly(_HEADER.size))
        return Message(sequence, kind, self._exactly(length) if length else b"")

    def waiting(self) -> bool:
        """Return whether `receive` would not block."""
        return ready(self._requests, 0.0)

    def send(self, sequence: int, kind: Kind, body: bytes = b"") -> None:
        """Send a message; raise `Gone` once the collector is gone."""
        view = memoryview(encode(sequence, kind, body))
        try:
            while view:
                view = view[os.write(self._replies, view) :]
        except BrokenPipeError:
            raise Gone from None

    def _exactly(self, size: int) -> bytes:
        data = os.read(self._requests, size)
        while len(data) < size:
            more = os.read(self._requests, size - len(data))
            if not more:
                raise Gone
            data += more
        return data


class CollectorEnd:
    """The collector's end of one worker: it never blocks for longer than it was told."""

    def __init__(self, requests: int, replies: int) -> None:
        for descriptor in (requests, replies):
            os.set_blocking(descriptor, False)
        self._requests = requests
        self._replies = replies
        self._pending = bytearray()
        self.ended = False
        """Whether the worker's end was closed and everything it had sent was read."""

    def fileno(self) -> int:
        """Return the descriptor to wait on."""
        return self._replies

    def send(self, data: bytes, until: float) -> bool:
        """Send all of it before the monotonic time `until`; return whether that was possible.

        A worker that is gone swallows everything; the end of its stream shows its death.
        """
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._requests, view) :]
            except BlockingIOError:
                left = until - monotonic()
                if left <= 0 or not ready(self._requests, left, select.POLLOUT):
                    return False
            except BrokenPipeError:
                return True
        return True

    def receive(self) -> list[Message]:
        """Return every message that is complete by now; set `ended` at the end of the stream."""
        self._fill()
        return self._parse()

    def close(self) -> None:
        """Close this end; safe to call twice."""
        for descriptor in (self._requests, self._replies):
            if descriptor >= 0:
                os.close(descriptor)
        self._requests = self._replies = -1

    def _fill(self) -> None:
        size = _CHUNK
        while True:
            try:
                data = os.read(self._replies, size)
            except BlockingIOError:
                return
            self.ended = not data
            self._pending += data
            if len(data) < size:
                return
            size = min(size * 4, 1 << 20)

    def _parse(self) -> list[Message]:
        pending, messages, start = self._pending, [], 0
        while len(pending) - start >= _HEADER.size:
            sequence, length, kind = _HEADER.unpack_from(pending, start)
            stop = start + _HEADER.size + length
            if len(pending) < stop:
                break
            messages.append(Message(sequence, kind, bytes(pending[stop - length : stop])))
            start = stop
        del pending[:start]
        return messages


def ready(descriptor: int, seconds: float, event: int = select.POLLIN) -> bool:
    """Wait until something, or the end, can be read (or written); return whether it can be."""
    poll = select.poll()
    poll.register(descriptor, event)
    return bool(poll.poll(seconds * 1000))
