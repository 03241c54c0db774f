"""The quantities by which elements of a tile are coloured: digits of the thread, or of the value, that holds one.

A number is (id // step) % count of the thread's or the value's id; step 0 means that the operand has no such number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lanescope.ptx.threads import WARP, WARPGROUP
from lanescope.tiles.mma import SIDES, TiledMMA, TileOperand

Longs = NDArray[np.int64]
WORDS = {
    "warp": "warp",
    "warpgroup": "warpgroup",
    "group": "lane group (lane / 4)",
    "lane": "thread in group (lane % 4)",
    "value": "value",
    "register": "register",
    "k": "K iteration",
    "m": "repeat in M",
    "n": "repeat in N",
}


@dataclass(frozen=True, slots=True)
class TileShade:
    """A digit of the thread or the value. of: "thread" or "value".

    numbers: [value], if it is not a digit (registers).
    """

    of: str
    step: int
    count: int
    numbers: tuple[int, ...] | None = None

    def number_cells(self, threads: Longs, values: Longs) -> Longs:
        """Return the number of each cell from its thread and value; -1 if it has none."""
        if self.numbers is not None:
            return np.asarray(self.numbers, dtype=np.int64)[values]
        ids = threads if self.of == "thread" else values
        return ids // self.step % self.count if self.step else np.full_like(ids, -1)


NONE = TileShade("thread", 0, 0)


def map_registers(tiled_mma: TiledMMA, op: TileOperand) -> tuple[int, ...]:
    """Return the index of the register that holds each value, among the thread's registers of this operand."""
    operand = tiled_mma.atom.instruction.operands.get(op.name) or tiled_mma.atom.instruction.operands["d"]
    each = [operand.register_of(value)[0] for value in range(op.modes[0])]
    return tuple(each[v % op.modes[0]] + v // op.modes[0] * operand.registers for v in range(op.values))


def list_operand_shades(tiled_mma: TiledMMA, op: TileOperand) -> dict[str, TileShade]:
    """Return name → shade of an operand; "warp" is always included."""
    last = int(tiled_mma.thread_ids[-1]) + 1
    first, second = ("mnk"[side] for side in SIDES[op.name])
    shades = {"warp": NONE if op.shared else TileShade("thread", WARP, -(-last // WARP))}
    if last > WARPGROUP:
        shades["warpgroup"] = TileShade("thread", WARPGROUP, -(-last // WARPGROUP))
    if not op.shared:
        numbers = map_registers(tiled_mma, op)
        shades |= {
            "group": TileShade("thread", 4, 8),
            "lane": TileShade("thread", 1, 4),
            "value": TileShade("value", 1, op.values),
            "register": TileShade("value", 1, max(numbers) + 1, numbers),
        }
    else:
        shades |= dict.fromkeys(("group", "lane", "value", "register"), NONE)
    repeats = {first: TileShade("value", op.modes[0], op.modes[1])}
    repeats[second] = TileShade("value", op.modes[0] * op.modes[1], op.modes[2])
    return shades | {dim: repeats.get(dim, NONE) for dim in "kmn"}


def list_shades(tiled_mma: TiledMMA) -> dict[str, str]:
    """Return name → description of every shade that distinguishes cells of A, B or C."""
    every = [list_operand_shades(tiled_mma, op) for op in (tiled_mma.a, tiled_mma.b, tiled_mma.c)]
    most = {
        name: max(operand_shades[name].count for operand_shades in every if name in operand_shades)
        for name in WORDS
        if name in every[0]
    }
    return {name: WORDS[name] for name, count in most.items() if count > 1 or name == "warp"}
