"""Where arrays, boards and stretches lie in shared memory: beside each other, never overlapping."""

from __future__ import annotations

import mmap

import numpy as np
import pytest

from wfbench.contract import EnvInfo
from wfbench.processes.segments import Segment
from wfbench_collectors.shared import ArrayLayout, Board, Note
from wfbench_collectors.stretches import RingShape

LINE = 64


@pytest.mark.parametrize("offset", [None, 2 * LINE])
def test_every_array_begins_on_the_next_cache_line(offset: int | None) -> None:
    shapes = {
        "few": ((3,), "u1"),
        "line": ((8,), "i8"),
        "none": ((0, 5), "i8"),
        "table": ((2, 5), "f4"),
        "more": ((65,), "u1"),
    }
    layout = ArrayLayout(shapes)
    assert layout.size == 5 * LINE
    with mmap.mmap(-1, layout.size + 2 * LINE) as memory:
        base = np.frombuffer(memory, "u1").ctypes.data
        arrays = layout.arrays(memory) if offset is None else layout.arrays(memory, offset)
        starts = [array.ctypes.data - base - (offset or 0) for array in arrays.values()]
        assert starts == [0, LINE, 2 * LINE, 2 * LINE, 3 * LINE]
        assert {name: (a.shape, a.dtype.str[1:]) for name, a in arrays.items()} == shapes
        del arrays


def test_a_board_begins_with_zeros_and_can_begin_again() -> None:
    board = Board.create(3)
    try:
        assert board._segment.size == 3 * LINE
        assert [board.running_env(worker) for worker in range(3)] == [None] * 3
        for worker in range(3):
            board.row(worker)[:] = worker
        assert [board.column(note).tolist() for note in Note] == [[0, 1, 2]] * len(Note)
        assert [board.running_env(worker) for worker in range(3)] == [None, 0, 1]
        board.clear()
        assert [board.column(note).tolist() for note in Note] == [[0, 0, 0]] * len(Note)
    finally:
        board.close()


def test_every_slot_of_a_ring_has_its_own_memory_and_is_used_in_turn() -> None:
    shape = RingShape(EnvInfo((3,), "float32", 4), steps=4, slots=3, envs=(2, 3, 1))
    ring = Segment.create(shape.size)
    try:
        control = shape.control(ring)
        assert control.shape == (2 + 3,)
        control[:] = 77
        places = [(worker, number) for worker in range(3) for number in range(3)]
        for place in places:
            slot = shape.slot(ring, *place)
            assert slot.rewards.shape == (4, shape.envs[place[0]])
            for array in slot.arrays.values():
                array.reshape(-1).view(np.uint8)[:] = 1 + places.index(place)
        assert (control == 77).all()
        for place in places:
            worker, number = place
            for again in (number, number + 3, number + 300):
                for array in shape.slot(ring, worker, again).arrays.values():
                    assert (array.reshape(-1).view(np.uint8) == 1 + places.index(place)).all()
        ends = [array.ctypes.data + array.nbytes for array in slot.arrays.values()]
        assert -(-(max(ends) - control.ctypes.data) // LINE) * LINE == shape.size
        del control, slot, array
    finally:
        ring.close()
