"""From one instruction's accumulator to the next one's A: what stays in its lane, what moves, and the code for it.

A's columns are D's columns, several D tiles side by side where A is wider (flash attention: S = Q·Kᵀ becomes the A of S·V).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from layouts.errors import LayoutError
from layouts.instruction import Instruction, Operand
from layouts.pattern import IntArray


@dataclass(frozen=True)
class Reuse:
    """Where every value of A comes from.

    tile, lane, value: int arrays [threads, A values]: the D tile, the thread and the value that hold the element.
    order: None, or for each column of A the column of D that could stand in its place so that nothing leaves its lane; B's rows
    must then be taken in the same order.
    """

    source: Operand
    target: Operand
    tile: IntArray
    lane: IntArray
    value: IntArray
    order: tuple[int, ...] | None

    @property
    def stays(self) -> IntArray:
        """1 where the element is already in its thread, else 0."""
        out: IntArray = (self.lane == np.arange(self.target.threads)[:, None]).astype(np.int32)
        return out

    @property
    def tiles(self) -> int:
        return int(self.tile.max()) + 1

    @property
    def verdict(self) -> str:
        """ "registers", "reordered" or "shuffle"."""
        if bool(self.stays.all()):
            return "registers"
        return "reordered" if self.order else "shuffle"


def reuse(first: Instruction, second: Instruction) -> Reuse:
    """Match D of `first` with A of `second`; LayoutError says why they cannot meet."""
    source, target = first.operand("d"), second.operand("a")
    if target.sparsity:
        raise LayoutError("no_reuse", f"A of {second.ptx} is stored compressed.", "Choose an instruction with a dense A.", "to")
    if source.threads != target.threads:
        raise LayoutError(
            "no_reuse", f"D belongs to {source.threads} threads, A to {target.threads}.", "Both must be warp or warpgroup level.", "to"
        )
    if source.row_count != target.row_count or len(source.axes) != len(target.axes):
        raise LayoutError("no_reuse", f"D has {source.row_count} rows, A has {target.row_count}.", "They must be equal.", "to")
    if max(source.col_count, target.col_count) % min(source.col_count, target.col_count):
        raise LayoutError(
            "no_reuse", f"D's {source.col_count} columns and A's {target.col_count} do not divide each other.", "Choose other shapes.", "to"
        )
    tile, col = np.divmod(target.cols, source.col_count)
    thread, value = source.pattern.inverse()
    at: Any = (target.rows, col, *(target.coords[a] for a in target.axes[2:]), 0)
    return Reuse(source, target, tile, thread[at], value[at], _order(source, target, int(tile.max()) + 1))


def _order(source: Operand, target: Operand, tiles: int) -> tuple[int, ...] | None:
    """A's columns in the order in which each lane already holds them, if that order is the same for every row."""
    if len(target.axes) != 2 or tiles * source.col_count != target.col_count:
        return None
    order: dict[int, int] = {}
    for thread in range(target.threads):
        held: dict[int, list[int]] = {}
        for number in range(tiles):
            for row, col in zip(source.rows[thread].tolist(), source.cols[thread].tolist(), strict=True):
                held.setdefault(row, []).append(number * source.col_count + col)
        taken = dict.fromkeys(held, 0)
        for row, col in zip(target.rows[thread].tolist(), target.cols[thread].tolist(), strict=True):
            if taken.get(row, 0) >= len(held.get(row, [])):
                return None
            found = sorted(held[row])[taken[row]]
            taken[row] += 1
            if order.setdefault(col, found) != found:
                return None
    return tuple(order[col] for col in range(target.col_count))


_NARROW = {
    "f16": "__half_as_ushort(__float2half_rn({}))",
    "bf16": "__bfloat16_as_ushort(__float2bfloat16_rn({}))",
    "e4m3": "__nv_cvt_float_to_fp8({}, __NV_SATFINITE, __NV_E4M3)",
    "e5m2": "__nv_cvt_float_to_fp8({}, __NV_SATFINITE, __NV_E5M2)",
}


def code(found: Reuse) -> str:
    """CUDA that makes A's registers from D's: plain packing where nothing moves, else shuffles; d[tile][value] are elements."""
    target, source = found.target, found.source
    per = 32 // target.container_bits if target.register_bits == 32 else 1
    bits = target.container_bits
    masked = f"((unsigned)({{}}) & 0x{(1 << bits) - 1:X}u)" if bits < 32 else "{}" if bits == 64 else "(unsigned)({})"
    narrow = {**_NARROW, "tf32": "__float_as_uint({})"}.get(target.element.name, masked) if source.element.name == "f32" else masked
    head = [
        f"// a[{target.registers}] of {target.element.name} from d[{found.tiles}][{source.values}] of {source.element.name}, one element an entry"
    ]
    if found.verdict == "shuffle":
        return "\n".join(head + _shuffles(found, per, bits, narrow)) + "\n"
    if found.verdict == "reordered":
        head.append("// B's rows in the order " + " ".join(map(str, found.order or ())))
    for register in range(target.registers):
        parts = []
        for inside in range(per):
            tile, value = _in_lane(found, register * per + inside)
            element = narrow.format(f"d[{tile}][{value}]")
            parts.append(f"{element} << {bits * inside}" if inside else element)
        head.append(f"a[{register}] = {' | '.join(parts)};")
    return "\n".join(head) + "\n"


def _in_lane(found: Reuse, number: int) -> tuple[int, int]:
    """(tile, value) of the D element that a lane packs as value `number` of A."""
    if found.verdict == "registers":
        return int(found.tile[0, number]), int(found.value[0, number])
    assert found.order is not None
    row, col = int(found.target.rows[0, number]), found.order[int(found.target.cols[0, number])]
    tile, inside = divmod(col, found.source.col_count)
    return tile, next(v for t, v in found.source.owner(row, inside) if t == 0)


def _shuffles(found: Reuse, per: int, bits: int, narrow: str) -> list[str]:
    out = ["const unsigned lane = threadIdx.x % 32;", f"unsigned from; {'double' if bits == 64 else 'unsigned'} x, y;"]
    for number in range(found.target.values):
        choices = sorted({(int(t), int(v)) for t, v in zip(found.tile[:, number], found.value[:, number], strict=True)})
        lanes = ", ".join(str(int(n) % 32) for n in found.lane[:32, number])
        register, inside = divmod(number, per)
        out.append(f"{{ constexpr unsigned char lanes[32] = {{{lanes}}}; from = lanes[lane]; }}")
        for tile, value in choices:
            holders = (found.tile[:32, number] == tile) & (found.value[:32, number] == value)
            mask = sum(1 << n for n in np.flatnonzero(holders).tolist())
            element = narrow.format(f"d[{tile}][{value}]")
            out.append(f"y = __shfl_sync(0xFFFFFFFFu, {element}, from); if (0x{mask:08X}u >> lane & 1) x = y;")
        out.append(f"a[{register}] = {'x' if inside == 0 else f'a[{register}] | x << {bits * inside}'};")
    return out
