"""Messages between an executor and its workers: pickled between our own processes, with lengths."""

from __future__ import annotations

import pickle
import socket
import struct
from typing import Any

_LENGTH = struct.Struct("<Q")
_CHUNK = 1 << 20


def encoded(message: Any) -> bytes:
    """A message as bytes."""
    data = pickle.dumps(message)
    return _LENGTH.pack(len(data)) + data


class Inbox:
    """The messages of a stream, each as soon as it is whole."""

    def __init__(self, stream: socket.socket) -> None:
        self._stream = stream
        self._pending = bytearray()

    def receive(self, *, block: bool = False) -> list[Any]:
        """Read once: the messages that are whole by now; EOFError once the stream has ended.

        With `block` it waits until there is something to read.
        """
        try:
            data = self._stream.recv(_CHUNK, 0 if block else socket.MSG_DONTWAIT)
        except BlockingIOError:
            return []
        except ConnectionResetError:
            data = b""
        if not data:
            raise EOFError
        self._pending += data
        return self._whole()

    def _whole(self) -> list[Any]:
        messages, start, pending = [], 0, self._pending
        while len(pending) - start >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(pending, start)
            stop = start + _LENGTH.size + length
            if len(pending) < stop:
                break
            messages.append(pickle.loads(pending[stop - length : stop]))  # noqa: S301 - our worker's
            start = stop
        del pending[:start]
        return messages
