"""Exchange within warps: shfl, vote, match, redux, elect, activemask. PTX ISA 9.1, 9.7.9.6, 9.7.13.9 to 9.7.13.14."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.emulate.code import Action, Compiler, Reader, UnknownInstructionError, instruction
from lanescope.emulate.instructions.arithmetic import check_words
from lanescope.emulate.instructions.floats import choose_extreme
from lanescope.emulate.instructions.flow import wait_for_members
from lanescope.emulate.instructions.reductions import UFUNCS
from lanescope.emulate.instructions.rounding import ELEMENTS
from lanescope.emulate.state.block import Group
from lanescope.emulate.state.memory import FaultError
from lanescope.emulate.text.program import Operand, PairOperand, Statement
from lanescope.ptx.register_types import TYPES
from lanescope.ptx.threads import WARP

Array = NDArray[Any]
_U32, _PRED = TYPES["u32"], TYPES["pred"]
_BITS = np.uint32(1) << np.arange(WARP, dtype=np.uint32)


class Warps:
    """The warps of a block as rows: the threads that are present, and the threads each membermask names.

    members: [warps, 1 or 32, 32], whether lane j takes part in lane i's result: it is present and in i's mask.
    """

    def __init__(self, group: Group, mask: Array, statement: Statement) -> None:
        wait_for_members(group, mask)
        ids = group.ids
        self.first = int(ids[0]) // WARP
        self.places = ids - self.first * WARP if self.first else ids
        self.count = int(ids[-1]) // WARP - self.first + 1
        present = np.zeros(self.count * WARP, bool)
        present[self.places] = True
        self.here = present.reshape(-1, WARP)
        if np.ndim(mask) == 0 and int(mask) == 0xFFFFFFFF:
            self.members = self.here[:, None, :]
            return
        masks = np.broadcast_to(mask, (len(ids),)).astype(np.uint32)
        if not (masks & _BITS[ids % WARP]).all():
            raise FaultError(
                "not_in_mask",
                f"{statement.words[0]}.sync: an executing thread is not in its own membermask, which is undefined"
                " behavior in PTX.",
            )
        if (masks == masks[0]).all():
            self.members = (self.here & ((_BITS & masks[0]) != 0))[:, None, :]
        else:
            named = self.spread(masks, np.dtype(np.uint32))
            self.members = self.here[:, None, :] & ((named[:, :, None] & _BITS) != 0)

    def spread(self, values: Array, dtype: np.dtype[Any]) -> Array:
        """Return values of the group's threads at their lanes: [warps, 32], 0 where the group has no thread."""
        rows = np.zeros(self.count * WARP, dtype)
        rows[self.places] = values
        return rows.reshape(-1, WARP)

    def gather(self, values: Array) -> Array:
        """Return each thread's value of [warps, 1 or 32] results."""
        return np.broadcast_to(values, (self.count, WARP)).reshape(-1)[self.places]


def _collect(flags: Array) -> Array:
    """Return boolean flags, lanes on the last axis, as the bits of words."""
    return np.asarray((flags * _BITS).sum(axis=-1, dtype=np.uint32))


def _split_target(target: Operand) -> tuple[Operand, Operand | None]:
    return (target.first, target.second) if isinstance(target, PairOperand) else (target, None)


@instruction("shfl.sync")
def build_shuffle(compiler: Compiler, statement: Statement) -> Action:
    """Build shfl: copy a register from another lane of the segment; with a source out of range, keep one's own."""
    check_words(statement, ("sync", "up", "down", "bfly", "idx"))
    mode = statement.words[2]
    target, source, lane, clamp, mask = statement.take(5)
    first, second = _split_target(target)
    read, read_lane, read_clamp, read_mask = (compiler.read(operand, _U32) for operand in (source, lane, clamp, mask))
    write = compiler.write(first, _U32)
    write_flag = compiler.write(second, _PRED) if second is not None else None

    def shuffle(group: Group) -> None:
        warps = Warps(group, read_mask(group), statement)
        lanes = group.ids % WARP
        by, limit = np.asarray(read_lane(group)).astype(np.int64) & 31, np.asarray(read_clamp(group)).astype(np.int64)
        segment, clamp_value = limit >> 8 & 31, limit & 31
        highest = (lanes & segment) | (clamp_value & ~segment & 31)
        if mode == "up":
            origin = lanes - by
            inside = origin >= highest
        else:
            if mode == "down":
                origin = lanes + by
            elif mode == "bfly":
                origin = lanes ^ by
            else:
                origin = (lanes & segment) | (by & ~segment & 31)
            inside = origin <= highest
        origin = np.where(inside, origin, lanes)
        values = warps.spread(read(group), np.dtype(np.uint32)).reshape(-1)
        write(group, values[warps.places - lanes + origin])
        if write_flag is not None:
            write_flag(group, inside)

    return shuffle


@instruction("vote.sync")
def build_vote(compiler: Compiler, statement: Statement) -> Action:
    mode = statement.words[2]
    check_words(statement, ("sync", "all", "any", "uni", "ballot"))
    target, source, mask = statement.take(3)
    read, read_mask = compiler.read(source, _PRED), compiler.read(mask, _U32)
    write = compiler.write(target, _U32 if mode == "ballot" else _PRED)

    def vote(group: Group) -> None:
        warps = Warps(group, read_mask(group), statement)
        flags = warps.spread(read(group), np.dtype(bool))[:, None, :]
        yes, no = (warps.members & flags), (warps.members & ~flags)
        if mode == "ballot":
            write(group, warps.gather(_collect(yes)))
            return
        some, others = np.asarray(yes.any(axis=-1)), np.asarray(no.any(axis=-1))
        result = ~others if mode == "all" else some if mode == "any" else ~(some & others)
        write(group, warps.gather(result))

    return vote


@instruction("match.any.sync", "match.all.sync")
def build_match(compiler: Compiler, statement: Statement) -> Action:
    (row,) = check_words(statement, ("any", "all", "sync"))
    every = statement.words[1] == "all"
    target, source, mask = statement.take(3)
    first, second = _split_target(target)
    read, read_mask = compiler.read(source, row), compiler.read(mask, _U32)
    write = compiler.write(first, _U32)
    write_flag = compiler.write(second, _PRED) if second is not None else None

    def match(group: Group) -> None:
        warps = Warps(group, read_mask(group), statement)
        values = warps.spread(read(group), row.dtype)
        equal = warps.members & (values[:, :, None] == values[:, None, :])
        if not every:
            write(group, warps.gather(_collect(equal)))
            return
        same = ~(warps.members & ~equal).any(axis=-1)
        write(group, warps.gather(np.where(same, _collect(np.broadcast_to(warps.members, equal.shape)), np.uint32(0))))
        if write_flag is not None:
            write_flag(group, warps.gather(same))

    return match


_NEUTRAL: dict[str, Callable[[np.dtype[Any]], int]] = {
    "add": lambda dtype: 0,
    "or": lambda dtype: 0,
    "xor": lambda dtype: 0,
    "and": lambda dtype: 0xFFFFFFFF,
    "min": lambda dtype: int(np.iinfo(dtype).max),
    "max": lambda dtype: int(np.iinfo(dtype).min),
}


@instruction("redux.sync")
def build_reduction(compiler: Compiler, statement: Statement) -> Action:
    (row,) = check_words(statement, ("sync", *_NEUTRAL, "abs", "NaN"))
    name = statement.words[2]
    if row.name == "f32":
        return _reduce_floats(compiler, statement, name)
    kinds = {"add": "us", "min": "us", "max": "us"}.get(name, "b")
    if row.bits != 32 or row.kind not in kinds or statement.has("abs") or statement.has("NaN") or name not in _NEUTRAL:
        raise UnknownInstructionError(statement)
    target, source, mask = statement.take(3)
    read, read_mask, write = compiler.read(source, row), compiler.read(mask, _U32), compiler.write(target, row)
    neutral = row.dtype.type(_NEUTRAL[name](row.dtype))

    def reduce(group: Group) -> None:
        warps = Warps(group, read_mask(group), statement)
        values = np.where(warps.members, warps.spread(read(group), row.dtype)[:, None, :], neutral)
        write(group, warps.gather(UFUNCS[name].reduce(values, axis=-1, dtype=row.dtype)))

    return reduce


def _reduce_floats(compiler: Compiler, statement: Statement, name: str) -> Action:
    if name not in ("min", "max"):
        raise UnknownInstructionError(statement)
    target, source, mask = statement.take(3)
    bits, element = TYPES["b32"], ELEMENTS["f32"]
    read, read_mask, write = compiler.read(source, bits), compiler.read(mask, _U32), compiler.write(target, bits)
    words, magnitude = frozenset(statement.words[1:]) & {"NaN"}, statement.has("abs")
    neutral = np.uint32(0x7F800000 if name == "min" else 0xFF800000)
    if "NaN" not in words:
        neutral = np.uint32(element.nan)  # a NaN loses against every number

    def reduce(group: Group) -> None:
        warps = Warps(group, read_mask(group), statement)
        values = np.asarray(read(group))
        values = values & np.uint32(0x7FFFFFFF) if magnitude else values
        lanes = np.where(warps.members, warps.spread(values, np.dtype(np.uint32))[:, None, :], neutral)
        parts = [np.ascontiguousarray(lanes[..., lane]) for lane in range(WARP)]
        write(group, warps.gather(choose_extreme(parts, element, words, name == "min")))

    return reduce


@instruction("activemask")
def build_active_mask(compiler: Compiler, statement: Statement) -> Action:
    """Build activemask: the lanes of the warp that execute it together."""
    check_words(statement, ())
    write = compiler.write(statement.operand(0), _U32)

    def act(group: Group) -> None:
        ids = group.ids
        bits = np.zeros(group.block.padded // WARP, np.uint32)
        np.bitwise_or.at(bits, ids // WARP, _BITS[ids % WARP])
        write(group, bits[ids // WARP])

    return act


@instruction("elect.sync")
def build_election(compiler: Compiler, statement: Statement) -> Action:
    """Build elect: choose the lowest lane of the membermask that is present."""
    check_words(statement, ("sync",), types=0)
    target, mask = statement.take(2)
    first, second = _split_target(target)
    read_mask: Reader = compiler.read(mask, _U32)
    write = compiler.write(first, _U32)
    write_flag = compiler.write(second, _PRED) if second is not None else None

    def elect(group: Group) -> None:
        warps = Warps(group, read_mask(group), statement)
        leader = warps.gather(warps.members.argmax(axis=-1))
        write(group, leader.astype(np.uint32))
        if write_flag is not None:
            write_flag(group, leader == group.ids % WARP)

    return elect
