"""Sums of products in vector registers, which loops that a compiler must understand do not reach.

A matrix is a flat float32 array. Widths are multiples of `LANES`, heights of `HEIGHT`; whoever
calls pads with zeros. Everything is added to what the result already holds.
"""

# ruff: noqa: ARG001 (numba finds the arguments of an intrinsic by their names)

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from .compiling import part

LANES = 16
HEIGHT = 8
"""Rows of a tile: 8 x 16 sums fit the registers of AVX-512; of AVX2, all but a few."""

_FLOAT = ir.FloatType()
_VECTOR = ir.VectorType(_FLOAT, LANES)
_INDEX = ir.IntType(64)
_SHORT = ir.IntType(32)
_INTEGER = types.intp


def aligned(size: int) -> NDArray[np.float32]:
    """Return zeros that begin with a cache line, which vectors are read fastest from."""
    spare = np.zeros(size + LANES, dtype=np.float32)
    first = -spare.ctypes.data % (4 * LANES) // 4
    return spare[first : first + size]


class _Writer:
    """Writes the instructions of one function."""

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        self.builder = builder
        self.arguments = [
            context.make_array(kind)(context, builder, value).data
            if isinstance(kind, types.Array)
            else value
            for kind, value in zip(signature.args, arguments, strict=True)
        ]

    def place(self, base: Any, row: Any, stride: Any, column: Any) -> Any:
        """Return the address of an element."""
        return self.builder.gep(
            base, [self.builder.add(self.builder.mul(row, stride), column)], inbounds=True
        )

    def load(self, place: Any) -> Any:
        """Return the vector at an address."""
        return self.builder.load(self.builder.bitcast(place, _VECTOR.as_pointer()), align=4)

    def store(self, vector: Any, place: Any) -> None:
        """Write a vector to an address."""
        self.builder.store(vector, self.builder.bitcast(place, _VECTOR.as_pointer()), align=4)

    def spread(self, number: Any) -> Any:
        """Return a vector of one number."""
        nothing = ir.Constant(_VECTOR, ir.Undefined)
        first = self.builder.insert_element(nothing, number, _SHORT(0))
        lanes = ir.Constant(ir.VectorType(_SHORT, LANES), [0] * LANES)
        return self.builder.shuffle_vector(first, nothing, lanes)

    def fused(self, left: Any, right: Any, added: Any) -> Any:
        """Return left * right + added."""
        kind = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
        name = f"llvm.fmuladd.v{LANES}f32"
        function = self.builder.module.declare_intrinsic(name, fnty=kind)
        return self.builder.call(function, [left, right, added])

    def loop(
        self, first: Any, last: Any, start: Sequence[Any], body: Callable[..., Sequence[Any]]
    ) -> list[Any]:
        """Write `body(number, vectors)` for first <= number < last; return the last vectors."""
        builder = self.builder
        before, inside = builder.block, builder.append_basic_block("inside")
        after = builder.append_basic_block("after")
        builder.cbranch(builder.icmp_signed("<", first, last), inside, after)
        builder.position_at_end(inside)
        number = builder.phi(_INDEX)
        vectors = [builder.phi(_VECTOR) for _ in start]
        new = body(number, vectors)
        following = builder.add(number, _INDEX(1))
        for phi, begun, next_one in zip(
            [number, *vectors], [first, *start], [following, *new], strict=True
        ):
            phi.add_incoming(begun, before)
            phi.add_incoming(next_one, inside)
        builder.cbranch(builder.icmp_signed("<", following, last), inside, after)
        builder.position_at_end(after)
        found = [builder.phi(_VECTOR) for _ in start]
        for phi, begun, next_one in zip(found, start, new, strict=True):
            phi.add_incoming(begun, before)
            phi.add_incoming(next_one, inside)
        return found


def _write_tile(
    _: Any,
    out: Any,
    out_first: Any,
    out_stride: Any,
    left: Any,
    left_first: Any,
    row_stride: Any,
    depth_stride: Any,
    right: Any,
    right_first: Any,
    right_stride: Any,
    depth: Any,
) -> Any:
    """Add to a tile of `out` the product of some rows of `left` and columns of `right`."""
    integers = [_INTEGER] * 3
    signature = types.void(
        out, _INTEGER, _INTEGER, left, *integers, right, _INTEGER, _INTEGER, _INTEGER
    )

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        w = _Writer(context, builder, signature, arguments)
        out, first, stride, left, at, by_row, by_depth, right, column, by_line, depth = w.arguments
        places = [w.place(out, _INDEX(row), stride, first) for row in range(HEIGHT)]

        def body(k: Any, sums: Sequence[Any]) -> list[Any]:
            line = w.load(w.place(right, k, by_line, column))
            corner = w.place(left, k, by_depth, at)
            found = []
            for row, total in enumerate(sums):
                number = builder.load(w.place(corner, _INDEX(row), by_row, _INDEX(0)))
                found.append(w.fused(w.spread(number), line, total))
            return found

        sums = w.loop(_INDEX(0), depth, [w.load(place) for place in places], body)
        for total, place in zip(sums, places, strict=True):
            w.store(total, place)
        return context.get_dummy_value()

    return signature, write


def _write_gather(
    _: Any,
    out: Any,
    out_first: Any,
    table: Any,
    stride: Any,
    column: Any,
    lines: Any,
    first: Any,
    last: Any,
) -> Any:
    """Add to a vector of `out` those of the lines lines[first:last] of `table`."""
    signature = types.void(out, _INTEGER, table, _INTEGER, _INTEGER, lines, _INTEGER, _INTEGER)

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        w = _Writer(context, builder, signature, arguments)
        out, at, table, stride, column, lines, first, last = w.arguments
        place = w.place(out, _INDEX(0), _INDEX(0), at)

        def body(k: Any, sums: Sequence[Any]) -> list[Any]:
            line = builder.zext(builder.load(builder.gep(lines, [k])), _INDEX)
            return [builder.fadd(sums[0], w.load(w.place(table, line, stride, column)))]

        w.store(w.loop(first, last, [w.load(place)], body)[0], place)
        return context.get_dummy_value()

    return signature, write


def _write_scatter(
    _: Any,
    table: Any,
    stride: Any,
    column: Any,
    lines: Any,
    first: Any,
    last: Any,
    added: Any,
    added_first: Any,
) -> Any:
    """Add a vector of `added` to each of the lines lines[first:last] of `table`."""
    signature = types.void(table, _INTEGER, _INTEGER, lines, _INTEGER, _INTEGER, added, _INTEGER)

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        w = _Writer(context, builder, signature, arguments)
        table, stride, column, lines, first, last, added, at = w.arguments
        vector = w.load(w.place(added, _INDEX(0), _INDEX(0), at))

        def body(k: Any, _sums: Sequence[Any]) -> list[Any]:
            line = builder.zext(builder.load(builder.gep(lines, [k])), _INDEX)
            place = w.place(table, line, stride, column)
            w.store(builder.fadd(w.load(place), vector), place)
            return []

        w.loop(first, last, [], body)
        return context.get_dummy_value()

    return signature, write


_tile: Any = intrinsic(_write_tile)
_gather: Any = intrinsic(_write_gather)
_scatter: Any = intrinsic(_write_scatter)


@part
def multiply(
    out: Any,
    width: int,
    left: Any,
    row_stride: int,
    depth_stride: int,
    right: Any,
    height: int,
    depth: int,
) -> None:
    """Add left @ right to `out`; the strides say where `left` has row and column."""
    for column in range(0, width, LANES):
        for row in range(0, height, HEIGHT):
            _tile(
                out,
                row * width + column,
                width,
                left,
                row * row_stride,
                row_stride,
                depth_stride,
                right,
                column,
                width,
                depth,
            )


@part
def gather(out: Any, row: int, table: Any, width: int, lines: Any, first: int, last: int) -> None:
    """Add the lines lines[first:last] of `table` to a row of `out`."""
    for column in range(0, width, LANES):
        _gather(out, row * width + column, table, width, column, lines, first, last)


@part
def scatter(
    table: Any, width: int, lines: Any, first: int, last: int, added: Any, row: int
) -> None:
    """Add a row of `added` to the lines lines[first:last] of `table`."""
    for column in range(0, width, LANES):
        _scatter(table, width, column, lines, first, last, added, row * width + column)
