"""Moves between registers: the place bits that each permutes, its cost, and its instructions.

A move is a permutation of place bits: the new place bit p is the old place bit `order[p]`. Costs are a warp's
instructions for all registers; selectors and masks that depend on the lane are computed once and not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import permutations, product
from operator import itemgetter

from lanescope.delivery.places import LANE_BITS, count_inner_bits
from lanescope.delivery.program import Blend, Instruction, Permute, Select, Shift, Shuffle, Transpose

Order = tuple[int, ...]
NAMES = ("prmt", "shfl", "movmatrix", "lop3")


@dataclass(frozen=True, slots=True)
class Move:
    """A move.

    kind: the row of EMIT; needs: the instructions that it uses; order: new place bit → old one; rearrange: permutes a
    tuple with one item per place bit.
    """

    kind: str
    needs: tuple[str, ...]
    order: Order
    cost: int
    says: str
    rearrange: Callable[[Order], Order] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rearrange", itemgetter(*self.order))


@dataclass
class Builder:
    """Register numbers and instructions so far. inner, width: of the current elements."""

    registers: list[int]
    width: int
    instructions: list[Instruction]
    fresh: int

    @property
    def inner(self) -> int:
        return count_inner_bits(self.width)

    def name_register(self) -> int:
        self.fresh += 1
        return self.fresh - 1

    def add(self, kind: Callable[..., Instruction], *arguments: object) -> int:
        """Append an instruction and return its target."""
        target = self.name_register()
        self.instructions.append(kind(target, *arguments))
        return target


def list_moves(width: int, count: int, allowed: tuple[str, ...]) -> tuple[Move, ...]:
    """Return all moves over `count` place bits of elements of `width` bits, the cheapest first."""
    return _list_moves(width, count, tuple(sorted(allowed)))


@lru_cache(maxsize=64)
def _list_moves(width: int, count: int, allowed: tuple[str, ...]) -> tuple[Move, ...]:
    every: dict[Order, Move] = {}
    for move in _generate_moves(width, count):
        if set(move.needs) <= set(allowed):
            kept = every.get(move.order)
            if kept is None or move.cost < kept.cost:
                every[move.order] = move
    return tuple(sorted(every.values(), key=lambda move: move.cost))


@dataclass(frozen=True, slots=True)
class _Places:
    """The positions of the place bits in a tuple.

    units: those inside a register that index bytes or halves; nibble: that of 4-bit elements.
    """

    count: int
    nibble: tuple[int, ...]
    units: tuple[int, ...]
    lanes: tuple[int, ...]
    registers: tuple[int, ...]

    @property
    def total(self) -> int:
        """The number of place bits."""
        return 1 << len(self.registers)

    def reorder(self, moved: Mapping[int, int]) -> Order:
        """Return the order that permutes some places."""
        return tuple(moved.get(p, p) for p in range(self.count))

    def exchange(self, a: int, b: int) -> Order:
        return self.reorder({a: b, b: a})


def _generate_moves(width: int, count: int) -> Iterator[Move]:
    inner = count_inner_bits(width)
    first = max(0, inner - 2)
    begin = inner + LANE_BITS
    at = _Places(
        count,
        tuple(range(first)),
        tuple(range(first, inner)),
        tuple(range(inner, begin)),
        tuple(range(begin, count)),
    )
    yield from _generate_byte_moves(at)
    yield from _generate_lane_moves(at)
    yield from _generate_nibble_moves(at)
    if at.units:
        half, (a, b, c, d, e) = inner - 1, at.lanes
        swapped = dict(zip((half, a, b, c, d, e), (c, d, e, half, a, b), strict=True))
        yield Move("matrix", ("movmatrix",), at.reorder(swapped), at.total, "movmatrix")


def _generate_byte_moves(at: _Places) -> Iterator[Move]:
    """Yield the permutations of the byte places and one register place that move a byte place."""
    groups = [at.units, *((*at.units, register) for register in at.registers)]
    for group in groups:
        for order in permutations(group):
            moved = dict(zip(group, order, strict=True))
            if any(moved[p] != p for p in at.units):
                yield Move("bytes", ("prmt",), at.reorder(moved), at.total, "prmt")


def _generate_lane_moves(at: _Places) -> Iterator[Move]:
    for order in permutations(at.lanes):
        if order != at.lanes:
            yield Move("lanes", ("shfl",), at.reorder(dict(zip(at.lanes, order, strict=True))), at.total, "shfl")
    for lane, unit in product(at.lanes, at.units):
        yield Move("lane byte", ("shfl", "prmt"), at.exchange(lane, unit), 2 * at.total, "shfl and prmt")
    for lane, register in product(at.lanes, at.registers):
        yield Move("lane register", ("shfl",), at.exchange(lane, register), 2 * at.total, "selp, shfl and selp")


def _generate_nibble_moves(at: _Places) -> Iterator[Move]:
    for nibble, lane in product(at.nibble, at.lanes):
        yield Move("lane nibble", ("shfl", "lop3"), at.exchange(lane, nibble), 5 * at.total, "shfl and lop3")
    for nibble, unit in product(at.nibble, at.units):
        yield Move("nibbles", ("lop3",), at.exchange(nibble, unit), 4 * at.total, "shifts and lop3")
    for nibble, register in product(at.nibble, at.registers):
        yield Move("nibble register", ("lop3",), at.exchange(nibble, register), 2 * at.total, "shifts and lop3")


@lru_cache(maxsize=64)
def list_turns(width: int, count: int, allowed: tuple[str, ...]) -> tuple[Order, ...]:
    """Return the cycles of a byte place, a lane bit and a register bit, in both directions; () without prmt and shfl.

    join_turn combines such a cycle with a permutation of the lanes at no cost, because the shfl includes it.
    """
    inner = count_inner_bits(width)
    if not {"prmt", "shfl"} <= set(allowed):
        return ()
    places = range(count)
    found = []
    for unit, lane, register in product(
        places[max(0, inner - 2) : inner], places[inner : inner + LANE_BITS], places[inner + LANE_BITS :]
    ):
        for a, b in ((lane, register), (register, lane)):
            cycle = {unit: a, a: b, b: unit}
            found.append(tuple(cycle.get(p, p) for p in places))
    return tuple(found)


def join_turn(turn: Order, lanes: Move) -> Move:
    """Return a permutation of the lanes, followed by a cycle, as one move."""
    order = tuple(lanes.order[p] for p in turn)
    return Move("turn", ("prmt", "shfl"), order, 3 * lanes.cost, "prmt, shfl and selp")


def emit_move(move: Move, builder: Builder) -> None:
    """Append a move's instructions; the builder's registers are replaced by the new ones."""
    EMIT[move.kind](move.order, builder)


def _find_moved(order: Order, places: range) -> list[int]:
    return [p for p in places if order[p] != p]


def _emit_bytes(order: Order, builder: Builder) -> None:
    """Emit prmt: each new register takes bytes from the two old ones that differ in one register bit."""
    inner = builder.inner
    bytes_ = list(range(inner))[max(0, inner - 2) :]
    moved = _find_moved(order, range(inner + LANE_BITS, len(order)))
    bit = moved[0] - inner - LANE_BITS if moved else None
    size = 4 >> len(bytes_)  # bytes of the unit that the places index
    old, new = builder.registers, []
    for number in range(len(old)):
        base = number if bit is None else number & ~(1 << bit)
        pair = (old[base], old[base if bit is None else base | 1 << bit])
        digits = []
        for unit in range(1 << len(bytes_)):
            place = {p: unit >> n & 1 for n, p in enumerate(bytes_)}
            if moved:
                place[moved[0]] = number >> (bit or 0) & 1
            source = {order[p]: value for p, value in place.items()}
            first = sum(source[p] << n for n, p in enumerate(bytes_)) * size
            digits += [first + n + 4 * (source[moved[0]] if moved else 0) for n in range(size)]
        selector = sum(digit << 4 * n for n, digit in enumerate(digits))
        new.append(builder.add(Permute, *pair, (selector,) * 32))
    builder.registers = new


def _emit_lanes(order: Order, builder: Builder) -> None:
    inner = builder.inner
    places = range(inner, inner + LANE_BITS)
    source = tuple(sum((lane >> p - inner & 1) << order[p] - inner for p in places) for lane in range(32))
    builder.registers = [builder.add(Shuffle, register, source) for register in builder.registers]


def _emit_lane_byte(order: Order, builder: Builder) -> None:
    """Emit a shuffle, then prmt of the register and the other lane's."""
    inner = builder.inner
    place, lane_place = _find_moved(order, range(inner + LANE_BITS))
    bit = lane_place - inner
    numbered = inner - max(0, inner - 2)
    place, size = place - (inner - numbered), 4 >> numbered
    selectors = []
    for lane in range(32):
        lane_bit = lane >> bit & 1
        digits = []
        for unit in range(1 << numbered):
            source = (unit & ~(1 << place)) | lane_bit << place
            other = (unit >> place & 1) != lane_bit
            digits += [source * size + n + 4 * other for n in range(size)]
        selectors.append(sum(digit << 4 * n for n, digit in enumerate(digits)))
    partner = tuple(lane ^ 1 << bit for lane in range(32))
    builder.registers = [
        builder.add(Permute, register, builder.add(Shuffle, register, partner), tuple(selectors))
        for register in builder.registers
    ]


def _emit_lane_register(order: Order, builder: Builder) -> None:
    """Emit shuffles in which each lane sends the register that its partner needs."""
    inner = builder.inner
    lane_place, place = _find_moved(order, range(len(order)))
    bit, step = lane_place - inner, 1 << place - inner - LANE_BITS
    partner = tuple(lane ^ 1 << bit for lane in range(32))
    new = list(builder.registers)
    for number, a in enumerate(builder.registers):
        if number & step:
            continue
        b = builder.registers[number | step]
        received = builder.add(Shuffle, builder.add(Select, b, a, bit), partner)
        new[number] = builder.add(Select, a, received, bit)
        new[number | step] = builder.add(Select, received, b, bit)
    builder.registers = new


LOW = 0x0F0F0F0F


def _emit_lane_nibble(order: Order, builder: Builder) -> None:
    (_, lane_place) = _find_moved(order, range(builder.inner + LANE_BITS))
    bit = lane_place - builder.inner
    partner = tuple(lane ^ 1 << bit for lane in range(32))
    mask = tuple(~LOW & 0xFFFFFFFF if lane >> bit & 1 else LOW for lane in range(32))
    new = []
    for register in builder.registers:
        other = builder.add(Shuffle, register, partner)
        up, down = builder.add(Shift, other, 1), builder.add(Shift, other, -1)
        new.append(builder.add(Blend, register, builder.add(Select, up, down, bit), mask))
    builder.registers = new


def _emit_nibbles(order: Order, builder: Builder) -> None:
    """Emit the exchange of the nibbles of a register whose index has exactly one of two bits set."""
    (_, place) = _find_moved(order, range(builder.inner))
    apart = (1 << place) - 1  # distance of the nibbles
    up = sum(0xF << 4 * n for n in range(8) if n & 1 and not n >> place & 1)  # nibbles that move up
    down = up << 4 * apart
    new = []
    for register in builder.registers:
        moved = builder.add(Blend, builder.add(Shift, register, apart), register, (down,) * 32)
        new.append(builder.add(Blend, builder.add(Shift, register, -apart), moved, (up,) * 32))
    builder.registers = new


def _emit_nibble_register(order: Order, builder: Builder) -> None:
    (_, place) = _find_moved(order, range(len(order)))
    step = 1 << place - builder.inner - LANE_BITS
    new = list(builder.registers)
    for number, a in enumerate(builder.registers):
        if not number & step:
            b = builder.registers[number | step]
            new[number] = builder.add(Blend, a, builder.add(Shift, b, 1), (LOW,) * 32)
            new[number | step] = builder.add(Blend, builder.add(Shift, a, -1), b, (LOW,) * 32)
    builder.registers = new


def _emit_matrix(order: Order, builder: Builder) -> None:
    builder.registers = [builder.add(Transpose, register) for register in builder.registers]


def _emit_turn(order: Order, builder: Builder) -> None:
    """Emit shuffles in which lanes send both registers of a pair in the receivers' order.

    The byte bit moves to the lane or to the register: bytes are packed before or after the exchange, and registers are
    selected on the other side.
    """
    inner = builder.inner
    lanes = range(inner, inner + LANE_BITS)
    (unit,) = _find_moved(order, range(inner))
    (register,) = _find_moved(order, range(inner + LANE_BITS, len(order)))
    packs_first = order[unit] == register
    out = next(p for p in lanes if p not in order[inner : inner + LANE_BITS])  # the outgoing lane bit
    new = next(p for p in lanes if order[p] not in lanes) - inner  # place of the incoming lane bit
    tables = [_list_source_lanes(order, inner, out, (new, turn)) for turn in range(2)]
    pack = [_list_packing(unit, inner, value) for value in range(2)]
    step, registers = 1 << register - inner - LANE_BITS, list(builder.registers)

    def arrange(pair: tuple[int, int], bit: int, packs: bool) -> tuple[int, int]:
        if not packs:
            a, b = pair
            return builder.add(Select, a, b, bit), builder.add(Select, b, a, bit)
        packed = []
        for turn in range(2):
            selectors = tuple(pack[(lane >> bit & 1) ^ turn if packs_first else turn] for lane in range(32))
            if not packs_first:  # the pair arrived in the order of the lane's bit
                selectors = tuple(s ^ 0x4444 * (lane >> bit & 1) for lane, s in enumerate(selectors))
            packed.append(builder.add(Permute, *pair, selectors))
        return packed[0], packed[1]

    for number, a in enumerate(builder.registers):
        if number & step:
            continue
        sent = arrange((a, builder.registers[number | step]), out - inner, packs_first)
        got = tuple(builder.add(Shuffle, source, table) for source, table in zip(sent, tables, strict=True))
        registers[number], registers[number | step] = arrange((got[0], got[1]), new, not packs_first)
    builder.registers = registers


def _list_source_lanes(order: Order, inner: int, out: int, selection: tuple[int, int]) -> tuple[int, ...]:
    """Return the source lane of each lane in a shuffle of an exchange.

    inner: the place of lane bit 0; out: the outgoing lane bit; selection: the incoming lane bit, and the value to XOR
    with it.
    """
    new, turn = selection
    lanes = range(inner, inner + LANE_BITS)
    sources = []
    for lane in range(32):
        staying = sum((lane >> p - inner & 1) << order[p] - inner for p in lanes if order[p] in lanes)
        sources.append(staying | ((lane >> new & 1) ^ turn) << out - inner)
    return tuple(sources)


def _list_packing(unit: int, inner: int, value: int) -> int:
    """Return the prmt selector of the units whose bit at a place is `value`, from the first and the second register."""
    first = max(0, inner - 2)
    size, place = 4 >> inner - first, unit - first
    digits = []
    for number in range(4 // size):
        source = number & ~(1 << place) | value << place
        digits += [source * size + n + 4 * (number >> place & 1) for n in range(size)]
    return sum(digit << 4 * n for n, digit in enumerate(digits))


EMIT: dict[str, Callable[[Order, Builder], None]] = {
    "bytes": _emit_bytes,
    "lanes": _emit_lanes,
    "lane byte": _emit_lane_byte,
    "lane register": _emit_lane_register,
    "lane nibble": _emit_lane_nibble,
    "nibbles": _emit_nibbles,
    "nibble register": _emit_nibble_register,
    "matrix": _emit_matrix,
    "turn": _emit_turn,
}
