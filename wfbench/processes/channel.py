"""Pickled messages between two of our own processes."""

from __future__ import annotations

import pickle
import select
import socket
import struct
from collections import deque
from time import monotonic
from typing import Any

_LENGTH = struct.Struct("<Q")
_CHUNK = 1 << 20


class Channel:
    """One end of a stream of messages. No wait is longer than asked, even for half a message."""

    def __init__(self, stream: socket.socket) -> None:
        self._stream = stream
        self._pending = bytearray()
        self._whole: deque[Any] = deque()

    def fileno(self) -> int:
        """Return the descriptor that is readable when a message may have arrived."""
        return self._stream.fileno()

    def send(self, message: Any, seconds: float | None = None) -> None:
        """Send a message; raise TimeoutError if it is not taken within `seconds`."""
        data = pickle.dumps(message)
        self._stream.settimeout(seconds)
        self._stream.sendall(_LENGTH.pack(len(data)) + data)

    def recv(self, seconds: float | None = None) -> Any:
        """Return the next message; raise TimeoutError without one, EOFError after the last."""
        until = None if seconds is None else monotonic() + seconds
        while not self._whole:
            left = None if until is None else max(0.0, until - monotonic())
            if not select.select([self._stream], [], [], left)[0]:
                raise TimeoutError
            self._read()
        return self._whole.popleft()

    def receive(self) -> list[Any]:
        """Return the messages that have arrived, without waiting; raise EOFError at the end."""
        if not self._whole:
            self._read()
        messages = list(self._whole)
        self._whole.clear()
        return messages

    def close(self) -> None:
        """Close this end; safe to call twice."""
        self._stream.close()

    def _read(self) -> None:
        """Take in what is there, if anything is."""
        try:
            data = self._stream.recv(_CHUNK, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except ConnectionResetError:
            data = b""
        if not data:
            raise EOFError
        pending = self._pending
        pending += data
        start = 0
        while len(pending) - start >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(pending, start)
            stop = start + _LENGTH.size + length
            if len(pending) < stop:
                break
            self._whole.append(pickle.loads(pending[stop - length : stop]))  # noqa: S301 (our own)
            start = stop
        del pending[:start]
