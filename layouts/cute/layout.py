"""CuTe layouts as text, as CuTe, its Python DSL and pycute print them, and as people copy them.

    (8,64):(64,1)                                   shape:stride, nested alike
    Sw<3,4,3> o smem_ptr[16b](unset) o ((_8,_8),_64):((_64,_512),_1)
    S<3,4,3> o 0 o (8,64):(64,1)

`_8` is 8; blanks mean nothing. A swizzle in front XORs the index; with smem_ptr it XORs the byte address, and the index
counts units of that many bits (cute/pointer_flagged.hpp). Sw<B,M,S> demands |S| ≥ B (cute/swizzle.hpp).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.cute import tuples
from lanescope.cute.tuples import Nested, format_tuple, is_congruent, list_leaves
from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value
from lanescope.notebook import NotebookObject
from lanescope.shared.swizzle import Swizzle

__all__ = [
    "CuteLayout",
    "Nested",
    "compute_index",
    "format_tuple",
    "list_leaves",
    "parse_layout",
    "parse_shape_stride",
    "parse_swizzle",
]

LONGEST = 4096  # characters
DEEPEST = 32  # nested parentheses
MOST = 2**31 - 1  # a size or stride: CuTe's are int
HINT = "Allowed: 'shape:stride', e.g. '((4,8),2):((2,8),1)', with 'Sw<3,4,3> o' in front."
_PREFIX = re.compile(
    r"(?:(?:Swizzle|Sw|S)\s*<\s*(?P<bits>[0-9]{1,20})\s*,\s*(?P<base>[0-9]{1,20})\s*,\s*(?P<shift>-"
    r"?[0-9]{1,20})\s*>\s*(?:o\s*|_(?=smem_ptr)))?"
    r"(?:smem_ptr\s*\[?\s*(?P<unit>[0-9]{1,3})b\s*\]?\s*(?:\(\s*(?:unset|0x[0-9a-fA-F]{1,16})\s*\)\s*)?o\s*)?"
    r"(?:_?(?P<offset>[0-9]{1,10})\s*o\s*)?"
)
_SWIZZLE = re.compile(r"(?:(?:Sw|Swizzle)\s*<)?\s*([0-9]{1,20})\s*,\s*([0-9]{1,20})\s*,\s*(-?[0-9]{1,20})\s*>?")
_HALF = re.compile(r"[0-9(),]+")
_SPLIT = re.compile(r"[0-9]\s+_?[0-9]")  # two numbers with nothing between
_TOKEN = re.compile(r"[0-9]+|[(),]")


@dataclass(frozen=True, slots=True)
class CuteLayout(NotebookObject):
    """swizzle ∘ offset + (shape:stride).

    unit_bits: the width that smem_ptr gives the index; the XOR is then on byte addresses.
    """

    shape: Nested
    stride: Nested
    swizzle: Swizzle | None = None
    unit_bits: int | None = None
    offset: int = 0

    def __str__(self) -> str:
        parts = [str(self.swizzle)] if self.swizzle else []
        parts += (
            [f"smem_ptr[{self.unit_bits}b](unset)"] if self.unit_bits else [str(self.offset)] if self.offset else []
        )
        return " o ".join([*parts, f"{format_tuple(self.shape)}:{format_tuple(self.stride)}"])

    @property
    def size(self) -> int:
        return tuples.size(self.shape)

    @property
    def rank(self) -> int:
        return tuples.rank(self.shape)

    @property
    def cosize(self) -> int:
        """One more than the largest index before any swizzle."""
        ends = zip(list_leaves(self.shape), list_leaves(self.stride), strict=True)
        return self.offset + 1 + sum((count - 1) * step for count, step in ends)

    @property
    def modes(self) -> tuple[CuteLayout, ...]:
        """The plain layouts of the modes; a layout of one int is its own only mode."""
        pairs = zip(tuples.list_modes(self.shape), tuples.list_modes(self.stride), strict=True)
        return tuple(CuteLayout(shape, stride) for shape, stride in pairs)

    def __call__(self, *coord: Nested) -> int:
        """Return the index at a coordinate: one number per mode, or one for all modes together."""
        at = self.offset + tuples.coordinate_to_index(coord[0] if len(coord) == 1 else coord, self.shape, self.stride)
        return self.swizzle(at) if self.swizzle else at

    def list_indices(self) -> NDArray[np.int64]:
        """Return the indices of all coordinates in colexicographic order: int64 [size]."""
        out = np.full(1, self.offset, dtype=np.int64)
        for count, step in zip(list_leaves(self.shape), list_leaves(self.stride), strict=True):
            out = (np.arange(count, dtype=np.int64)[:, None] * step + out).reshape(-1)
        return self.swizzle(out) if self.swizzle else out


def parse_layout(text: str, field: str = "layout") -> CuteLayout:
    """Parse a layout with everything that may precede it; LayoutError says which part cannot be read."""
    if len(text) > LONGEST:
        raise LayoutError("bad_cute", f"The layout has {len(text)} characters.", f"At most {LONGEST}.", field)
    text = text.strip()
    if not text:
        raise LayoutError("bad_cute", "The layout is empty.", HINT, field)
    prefix = _PREFIX.match(text)
    assert prefix is not None  # all its parts are optional
    shape, stride = parse_shape_stride(text[prefix.end() :], field, text)
    swizzle, unit = None, prefix["unit"]
    if prefix["bits"] is not None:
        swizzle = _make_swizzle(int(prefix["bits"]), int(prefix["base"]), int(prefix["shift"]), field)
    if unit is not None and int(unit) not in (1, 2, 4, 8, 16, 32, 64, 128):
        raise LayoutError(
            "bad_cute",
            f"'{shorten_value(text, 80)}' counts units of {unit} bits.",
            "Allowed: 1, 2, 4, 8, 16, 32, 64, 128.",
            field,
        )
    offset = int(prefix["offset"] or 0)
    if offset > MOST or (offset and unit is not None):
        raise LayoutError(
            "bad_cute", f"'{shorten_value(text, 80)}' has the offset {offset}.", "Give it as the base, in bytes.", field
        )
    return CuteLayout(shape, stride, swizzle, int(unit) if unit else None, offset)


def parse_swizzle(given: object, field: str = "swizzle") -> Swizzle:
    """Parse Sw<B,M,S>, Swizzle<B,M,S> or B,M,S; LayoutError for anything else."""
    match = _SWIZZLE.fullmatch(given.strip()) if isinstance(given, str) and len(given) <= LONGEST else None
    if not match:
        hint = "none, 32B, 64B, 128B, or B,M,S in bytes with S ≥ B: 3,4,3."
        raise LayoutError("unknown_swizzle", f"No swizzle '{shorten_value(given)}'.", hint, field)
    return _make_swizzle(int(match[1]), int(match[2]), int(match[3]), field)


def _make_swizzle(bits: int, base: int, shift: int, field: str) -> Swizzle:
    if bits > abs(shift) or bits + base + abs(shift) > 32:
        raise LayoutError(
            "bad_cute",
            f"Sw<{bits},{base},{shift}> is not a swizzle of 32-bit indices.",
            "Sw<B,M,S> needs |S| ≥ B and B + M + |S| ≤ 32.",
            field,
        )
    return Swizzle(bits, base, shift)


def parse_shape_stride(text: str, field: str = "", whole: str = "") -> tuple[Nested, Nested]:
    """Parse `shape:stride` into two congruent nested tuples of ints; LayoutError names the part that cannot be read."""
    told = shorten_value(whole or text, 80)
    if len(text) > LONGEST:
        raise LayoutError("bad_cute", f"The layout has {len(text)} characters.", f"At most {LONGEST}.", field)
    halves = re.sub(r"\s|_(?=[0-9])", "", text).split(":")
    if len(halves) != 2 or _SPLIT.search(text) or not all(_HALF.fullmatch(half) for half in halves):
        raise LayoutError("bad_cute", f"'{told}' is not a CuTe layout.", HINT, field)
    shape, stride = (_parse_nested(told, half, field) for half in halves)
    if not is_congruent(shape, stride):
        raise LayoutError("bad_cute", f"Shape and stride of '{told}' are not nested alike.", HINT, field)
    if 0 in list_leaves(shape):
        raise LayoutError("bad_cute", f"'{told}' has a size of 0.", HINT, field)
    return shape, stride


def _parse_nested(told: str, text: str, field: str) -> Nested:
    """Parse one int tuple with a stack: a number, or items between parentheses."""

    def bad(why: str) -> LayoutError:
        return LayoutError("bad_cute", f"'{told}' {why}.", HINT, field)

    open_: list[list[Nested]] = [[]]
    item_due = True
    for token in _TOKEN.findall(text):
        item_due = _take_item(token, open_, bad) if item_due else _take_separator(token, open_, bad)
    if len(open_) > 1 or item_due:
        raise bad("has unbalanced parentheses")
    return open_[0][0]


def _take_item(token: str, open_: list[list[Nested]], bad: Callable[[str], LayoutError]) -> bool:
    """Put a number, or an opened tuple, on the stack; return whether an item is due next."""
    if token == "(":
        open_.append([])
        if len(open_) > DEEPEST:
            raise bad(f"is nested deeper than {DEEPEST}")
        return True
    if token in "),":
        raise bad(f"has '{token}' where a number or '(' is expected")
    if len(token) > 10 or int(token) > MOST:
        raise bad(f"has the number {shorten_value(token)}, more than {MOST}")
    open_[-1].append(int(token))
    return False


def _take_separator(token: str, open_: list[list[Nested]], bad: Callable[[str], LayoutError]) -> bool:
    """Take a comma, or close the innermost tuple; return whether an item is due next."""
    if len(open_) == 1:
        raise bad("goes on after its layout" if token != ")" else "has unbalanced parentheses")
    if token not in (",", ")"):
        raise bad(f"has '{token}' where ',' or ')' is expected")
    if token == ")":
        done = tuple(open_.pop())
        open_[-1].append(done)
    return token == ","


def compute_index(coordinate: Any, modes: list[tuple[int, int]]) -> Any:
    """Return the index of CuTe's colexicographic coordinate in one mode, [(size, stride)]; the last digit takes the
    rest.

    Broadcasts.
    """
    out = 0
    for number, (size, step) in enumerate(modes):
        digit = coordinate if number + 1 == len(modes) else coordinate % size
        out = out + digit * step
        coordinate = coordinate // size
    return out
