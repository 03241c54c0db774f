"""What mma of warps, and wgmma with A in registers, multiply in a replayed block: elements of the boxes that TMA
copies bring.

Threads load them, such as by ldmatrix, at addresses that undo the swizzle themselves. A record of such a load gets its
origin when the copies are in order: the coordinates of each thread's first byte, as one number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from lanescope.ptx.threads import GROUP_WARPS, WARP
from lanescope.reader.code.findings import Pitfall
from lanescope.reader.threads.language.numbers import LONG, make_number
from lanescope.reader.threads.memory.records import MmaUse
from lanescope.reader.threads.memory.shared_memory import SHARED_BYTES
from lanescope.reader.threads.memory.storage import Ints, LoadRecord, make_open_data
from lanescope.reader.threads.memory.tile_records import BoxRead, TileProduct
from lanescope.workbench.fragments.fragment_origin import FragmentOrigin
from lanescope.workbench.fragments.thread_fragments import find_mma, find_register_product, locate_operand
from lanescope.workbench.products.product_origins import LoadedBox, OperandOrigin, OriginFinder

_LINE_BITS = 20  # bytes of a line of a tensor are fewer than a number of these bits has
_LEAST_SLICES = 3


def note_owners(finder: OriginFinder, reads: Sequence[BoxRead], warp: int) -> None:
    """Note which boxes a warp's threads load from: those that have arrived last."""
    for read in reads:
        lanes = np.arange(WARP * warp, WARP * (warp + 1))
        lanes = lanes[read.mask[lanes]]
        owners = finder.read_owners.setdefault(read.record, np.full(len(read.mask), -1, np.int64))
        first, last = read.places[lanes], read.places[lanes] + read.size - 1
        inside = (first >= 0) & (last < SHARED_BYTES)
        first, last = np.where(inside, first, 0), np.where(inside, last, 0)
        same = inside & (finder.owner[first] == finder.owner[last])
        owners[lanes] = np.where(same, finder.owner[first], -1)


def settle_reads(finder: OriginFinder) -> None:
    """Give the records of loads their origin, if all of their threads load from boxes of one map."""
    for read in finder.trace.reads:
        owners = finder.read_owners.get(read.record)
        mine = owners[read.mask] if owners is not None else np.full(1, -1)
        numbers = np.unique(mine).tolist()
        boxes = {n: finder.boxes[n] for n in numbers if n >= 0}
        if owners is None or len(boxes) < len(numbers) or len({id(box.map) for box in boxes.values()}) != 1:
            continue
        offsets = np.zeros(len(owners), np.int64)
        for n, box in boxes.items():
            lanes = np.flatnonzero(read.mask & (owners == n))
            offsets[lanes] = _join_coordinates(box, box.find_coordinates(read.places[lanes]))
        first = next(iter(boxes.values()))
        array = first.map.names[-1] if first.map.names else first.map.source
        finder.run.records[read.record] = LoadRecord(array, make_number(offsets, LONG), first.move.site)
    boxed = [read.record for read in finder.trace.reads]  # which elements of D they are combined with is not compared
    finder.run.factors = [
        replace(use, factor=make_open_data(finder.run.threads, use.factor.size))
        if np.isin(use.factor.record, boxed).any()
        else use
        for use in finder.run.factors
    ]


def _join_coordinates(box: LoadedBox, at: Ints) -> Ints:
    """Return coordinates [places, dimensions] as one number: bytes along the innermost one, lines of 1 MB."""
    number = at[:, 0] * (box.map.element_bits or 8) // 8
    for n in range(1, at.shape[1]):
        number = number + (at[:, n] << _LINE_BITS * n)
    return np.asarray(number, np.int64)


def _split_coordinates(box: LoadedBox, numbers: Ints) -> Ints:
    """Return the coordinates that numbers stand for."""
    count = len(box.find_start())
    parts = [(numbers >> _LINE_BITS * n) & ((1 << _LINE_BITS) - 1) for n in range(count - 1)]
    parts.append(numbers >> _LINE_BITS * (count - 1))
    parts[0] = parts[0] * 8 // (box.map.element_bits or 8)
    return np.stack(parts, axis=-1)


def locate_registers(finder: OriginFinder) -> None:
    """Find the origins of A of all products of warpgroups that take it from registers."""
    known: dict[tuple[int, int], tuple[OperandOrigin, Ints] | None] = {}
    for product in finder.trace.products:
        located = dict(_list_operands(finder, product.use, "a")) if product.use is not None else {}
        for warp, one in located.items():
            assert product.use is not None
            if (id(one), warp) not in known:
                known[id(one), warp] = _find_operand(finder, product.use, "a", warp, one)
        for first in sorted({warp // GROUP_WARPS * GROUP_WARPS for warp in located}):
            found = [known.get((id(located.get(n)), n)) for n in range(first, first + GROUP_WARPS)]
            _join_rows(finder, product, first, [one for one in found if one is not None])


def _join_rows(
    finder: OriginFinder, product: TileProduct, first: int, found: Sequence[tuple[OperandOrigin, Ints]]
) -> None:
    """Note A of a warpgroup, whose warps have 16 rows each. first: its first warp; found: A in each warp that is known,
    and the position along K of each of its columns.
    """
    plain = np.arange(product.views["a"].k)
    if len(found) < GROUP_WARPS or not all(np.array_equal(order, plain) for _, order in found):
        return
    one = found[0][0]
    a = OperandOrigin(np.concatenate([of.rows for of, _ in found]), one.last, one.box)
    for warp in range(first, first + GROUP_WARPS):
        if (product.event, warp) in finder.origins:
            finder.origins[product.event, warp]["a"] = a


def locate_products(finder: OriginFinder) -> None:
    """Find the origins of the operands of all products of warps."""
    known: dict[tuple[int, int], tuple[OperandOrigin, Ints] | None] = {}
    for product in finder.trace.products_of_warps:
        assert product.use is not None
        located = {name: dict(_list_operands(finder, product.use, name)) for name in "ab"}
        for warp in located["a"].keys() & located["b"].keys():
            found = {}
            for name, of_warp in located.items():
                key = id(of_warp[warp]), warp
                if key not in known:
                    known[key] = _find_operand(finder, product.use, name, warp, of_warp[warp])
                found[name] = known[key]
            a, b = found["a"], found["b"]
            if a is not None and b is not None and np.array_equal(a[1], b[1]):
                finder.origins[product.event, warp] = {"a": a[0], "b": b[0]}


def _list_operands(finder: OriginFinder, use: MmaUse, name: str) -> Iterator[tuple[int, FragmentOrigin]]:
    """Yield (warp, origin) of an operand, as far as it is of rows and columns."""
    instruction = find_mma(use.opcode) or find_register_product(use.opcode)
    warps = locate_operand(finder.run, use, instruction, name).warps if instruction is not None else None
    active = np.flatnonzero(use.active.reshape(-1, WARP).all(axis=1)).tolist()
    for warp, one in zip(active, warps or (), strict=False):
        if one.separable and one.names == ("",) and not one.computed and one.unit == 8:
            yield warp, one


def _find_operand(
    finder: OriginFinder, use: MmaUse, name: str, warp: int, one: FragmentOrigin
) -> tuple[OperandOrigin, Ints] | None:
    """Return (an operand by the coordinates of its rows, the position along K of each of its columns)."""
    data = (use.a if name == "a" else use.b)[0].data
    if data is None:
        return None
    record, thread = int(data.record[WARP * warp, 0]), int(data.thread[WARP * warp, 0])
    owners = finder.read_owners.get(record)
    if owners is None or owners[thread] < 0:
        return None
    box, grid = finder.boxes[int(owners[thread])], one.places[0]
    columns = _split_coordinates(box, grid[0])
    order = (columns - columns[0]).sum(axis=1)  # along the one dimension in which they differ
    return OperandOrigin(_split_coordinates(box, grid[:, 0]), columns[-1], box), order


def find_exchanged_coordinates(finder: OriginFinder) -> Pitfall | None:
    """Return the finding of copies of one operand that move along its rows while those of the other move along K."""
    for result in list(finder.products):
        warp = finder.find_first_warp(result)
        chain = [finder.origins.get((one.event, warp), {}) for one in finder.list_products(result, warp)]
        sides = {name: [one for one in (of.get(name) for of in chain) if one is not None] for name in "ab"}
        if len(chain) < _LEAST_SLICES or any(len(of) < len(chain) for of in sides.values()):
            continue
        moves = {name: _measure_moves(of) for name, of in sides.items()}
        turned = [name for name, other in ("ab", "ba") if _are_exchanged(moves[name], moves[other])]
        if len(turned) == 1:
            move = sides[turned[0]][-1].box.move
            message = (
                f"The K coordinate of {turned[0].upper()} stays the same, and its row coordinate advances with K: the"
                " innermost coordinate comes first."
            )
            return Pitfall("coordinates_exchanged", message, move.call if move.call != (0, 0) else move.site)
    return None


def _measure_moves(origins: Sequence[OperandOrigin]) -> tuple[list[int], list[int]]:
    """Return where the boxes of an operand's slices begin along its rows, and along K."""
    first = origins[0]
    starts = np.stack([one.box.find_start() for one in origins])
    rows, k = (first.rows != first.rows[0]).any(axis=0), first.last != first.rows[0]
    return starts[:, rows].sum(axis=1).tolist(), starts[:, k].sum(axis=1).tolist()


def _are_exchanged(moves: tuple[list[int], list[int]], other: tuple[list[int], list[int]]) -> bool:
    """Return whether the boxes of an operand are along its rows where those of the other one are along K, beside a
    place along K that is that of a tile, not the first one: panels and convolutions move along rows, too.
    """
    rows, k = moves
    fixed = len({*k}) == 1 and len({*other[0]}) == 1
    return fixed and k[0] > 0 and len({*rows}) > 1 and rows == other[1]
