"""Conversions of element types, one per row: the place bits that they permute, and their cost.

Unsigned 4- and 8-bit numbers become f16 or bf16 by inserting them into the mantissa of a power of two, which is then
subtracted: Kim, Henry, Fahim and Awadalla, "Who Says Elephants Can't Run", arXiv 2211.10017, section 3.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

from lanescope.delivery.moves import Builder
from lanescope.delivery.places import LANE_BITS, Vectors, count_inner_bits
from lanescope.delivery.program import Convert
from lanescope.errors import LayoutError
from lanescope.inputs import join_words
from lanescope.ptx.dtypes import get_dtype

WIDTHS = {name: get_dtype(name).bits for name in ("u4", "u8", "e4m3", "e5m2", "f16", "bf16", "f32")}


@dataclass(frozen=True, slots=True)
class Conversion:
    """A conversion of element types.

    places: the place bits inside a register of the wider type, in terms of the narrower type's; spread: place bits
    inside a narrow register that become register bits, lowest first; cost: instructions per narrow register.
    """

    source: str
    target: str
    spread: tuple[int, ...]
    cost: int
    says: str

    @property
    def widens(self) -> bool:
        return WIDTHS[self.source] < WIDTHS[self.target]

    @property
    def name(self) -> str:
        return f"{self.source} → {self.target}"

    @property
    def kept_bits(self) -> tuple[int, ...]:
        """The place bits inside a narrow register that stay inside a register."""
        narrow = WIDTHS[self.source] if self.widens else WIDTHS[self.target]
        return tuple(n for n in range(count_inner_bits(narrow)) if n not in self.spread)

    def list_sources(self, vectors: Vectors, natural: bool = False) -> Iterator[Vectors]:
        """Yield the possible place bits before the conversion from those after it; natural: only with registers in
        order.
        """
        wide = WIDTHS[self.target] if self.widens else WIDTHS[self.source]
        narrow = WIDTHS[self.source] if self.widens else WIDTHS[self.target]
        inner = count_inner_bits(narrow)
        if not self.widens:
            lanes = vectors[inner : inner + LANE_BITS]
            spread = [vectors[n] for n in self.spread]
            yield (*(vectors[n] for n in self.kept_bits), *lanes, *spread, *vectors[inner + LANE_BITS :])
            return
        first = count_inner_bits(wide)
        lanes, registers = vectors[first : first + LANE_BITS], vectors[first + LANE_BITS :]
        orders: Sequence[tuple[int, ...]] = list(permutations(range(len(registers)), len(self.spread)))
        for order in orders[:1] if natural else orders:
            places = dict(zip(self.spread, (registers[n] for n in order), strict=True))
            places |= dict(zip(self.kept_bits, vectors[:first], strict=True))
            rest = (vector for n, vector in enumerate(registers) if n not in order)
            yield (*(places[n] for n in range(inner)), *lanes, *rest)

    def emit(self, before: Vectors, after: Vectors, builder: Builder) -> None:
        """Append the conversion's instructions; before, after: the place bits."""
        old_inner, new_inner = count_inner_bits(WIDTHS[self.source]), count_inner_bits(WIDTHS[self.target])
        old, new = before[old_inner + LANE_BITS :], after[new_inner + LANE_BITS :]
        targets = [builder.name_register() for _ in range(1 << len(new))]
        narrow, wide, spread = (old, new, before) if self.widens else (new, old, after)
        parts = [_value_of([spread[place] for place in self.spread], part) for part in range(1 << len(self.spread))]
        for number in range(1 << len(narrow)):
            value = _value_of(narrow, number)
            wides = [_number_of(wide, value ^ part) for part in parts]  # places of its elements
            results: tuple[int, ...]
            sources: tuple[int, ...]
            if self.widens:
                results, sources = tuple(targets[at] for at in wides), (builder.registers[number],)
                moves = tuple(tuple((0, unit) for unit in self._list_units(part)) for part in range(len(parts)))
            else:
                results, sources = (targets[number],), tuple(builder.registers[at] for at in wides)
                moves = (self._list_origins(new_inner),)
            builder.instructions.append(Convert(results, sources, self.name, moves, self.cost))
        builder.registers, builder.width = targets, WIDTHS[self.target]

    def _list_units(self, part: int) -> list[int]:
        """Return the places in a narrow register of a wide register's elements, in order."""
        base = _scatter_bits(part, self.spread)
        return [base + _scatter_bits(unit, self.kept_bits) for unit in range(1 << len(self.kept_bits))]

    def _list_origins(self, inner: int) -> tuple[tuple[int, int], ...]:
        """Return (wide register, place in it) for each place of a narrow register."""
        return tuple(
            (_gather_bits(unit, self.spread), _gather_bits(unit, self.kept_bits)) for unit in range(1 << inner)
        )


def _scatter_bits(number: int, places: Sequence[int]) -> int:
    return sum((number >> n & 1) << place for n, place in enumerate(places))


def _gather_bits(number: int, places: Sequence[int]) -> int:
    return sum((number >> place & 1) << n for n, place in enumerate(places))


def _value_of(vectors: Sequence[int], number: int) -> int:
    value = 0
    for n, vector in enumerate(vectors):
        value ^= vector if number >> n & 1 else 0
    return value


def _number_of(vectors: Sequence[int], value: int) -> int:
    return next(number for number in range(1 << len(vectors)) if _value_of(vectors, number) == value)


ROWS = (
    Conversion("u4", "f16", (0, 1), 9, "shift, lop3 with 0x000f000f and 0x00f000f0, and f16 arithmetic"),
    Conversion("u4", "bf16", (0, 1), 11, "shifts, lop3 with 0x000f000f, and bf16 arithmetic"),
    Conversion("u4", "u8", (0,), 3, "shift and masks"),
    Conversion("u8", "f16", (0,), 4, "prmt with 0x64646464 and f16 arithmetic"),
    Conversion("u8", "f16", (1,), 4, "prmt with 0x64646464 and f16 arithmetic"),
    Conversion("f32", "f16", (0,), 1, "cvt.rn.f16x2"),
    Conversion("f32", "bf16", (0,), 1, "cvt.rn.bf16x2"),
    *(Conversion("f32", narrow, (0, 1), 3, f"cvt.rn.satfinite.{narrow}x2 and mov") for narrow in ("e4m3", "e5m2")),
    *(Conversion(narrow, "f16", (1,), 3, f"mov and cvt.rn.f16x2.{narrow}x2") for narrow in ("e4m3", "e5m2")),
    *(Conversion("f16", narrow, (1,), 3, f"cvt.rn.satfinite.{narrow}x2 and mov") for narrow in ("e4m3", "e5m2")),
)


def find_conversions(source: str, target: str) -> tuple[Conversion, ...]:
    """Return the conversions from one type to another; () for equal types. LayoutError if there is none."""
    conversions = tuple(row for row in ROWS if (row.source, row.target) == (source, target))
    if source != target and not conversions:
        into = [row.source for row in ROWS if row.target == target]
        raise LayoutError(
            "bad_conversion",
            f"{source} cannot be converted to {target}.",
            f"Supported are {join_words(sorted(set(into)), 'and')} to {target}."
            if into
            else f"Leave it out: elements of {target} are moved unchanged.",
            "stored",
        )
    return conversions
