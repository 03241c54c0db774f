"""Verify the descriptors of CuTe's fragments of A or B in shared memory against the layout of their tensors.

CUTLASS 4.7, cute/atom/mma_atom.hpp: partition_A and partition_B tile a tensor by the atom; make_fragment_A gives the
first tile's descriptor (layouts/descriptor/cute_descriptors.py), and adds the other tiles' distances to its start.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lanescope.cute import algebra
from lanescope.cute.calls.functions import OpenCuteValueError
from lanescope.cute.layout import CuteLayout
from lanescope.cute.tuples import Nested
from lanescope.descriptor.cute_descriptors import make_cute_descriptor
from lanescope.descriptor.matrix import Descriptor, View, reads
from lanescope.errors import LayoutError
from lanescope.reader.code.cute.cute_mmas import CuteAtom, CuteMma, find_tiled_mma
from lanescope.reader.code.cute.cute_values import CuteEvaluator, make_tensor_layout
from lanescope.reader.code.evaluation import Evaluation
from lanescope.reader.code.findings import Pitfall
from lanescope.reader.code.symbolic_integers import Span
from lanescope.reader.code.values import CALLED, OpaqueValue, shorten_name
from lanescope.workbench.source.gaps import find_multiplier
from lanescope.workbench.text.function_texts import blank_text, find_enclosing_function

TITLES = {
    "cute_not_canonical": "CuTe cannot make a descriptor for the layout of the tile",
    "cute_tile_indivisible": "The atoms of a TiledMMA do not divide the tile",
}
OPEN_MMA, OPEN_LAYOUT = "of CuTe, whose TiledMMA is open", "of CuTe, whose layout is open"
OTHER_TILE = "of CuTe, of a tile that is divided otherwise"
MOST_FRAGMENTS = 64  # of one text
MOST_STEPS = 512  # of one fragment
_FRAGMENTS = {
    f"{call}_{operand.upper()}": (operand, call == "partition_fragment")
    for call in ("make_fragment", "partition_fragment")
    for operand in "ab"
}
_PARTITIONS = {"partition_A": "a", "partition_B": "b"}
_MAKES_MMA = re.compile(r"\b(?:make_tiled_mma|TiledMMA)\b[^;]*;")
_DEEPEST = 8
_SAME = frozenset(("as_position_independent_swizzle_tensor",))


@dataclass(frozen=True, slots=True)
class CuteFragment:
    """A fragment of A or B that CuTe makes.

    name: of the atom, "" if unknown; gap: the unknown part, "" if it has a verdict; words: the expression that the gap
    depends on; reads: steps that read every element from its place in the layout of its tensor; swizzled: whether these
    depend on the alignment of the tile; in_registers: whether it is in registers or tensor memory, and has no
    descriptor; problem: the reason for which CuTe rejects it; assumed_bits: element bits of the atom, if the tensor's
    type is unknown, else 0.
    """

    span: Span
    operand: str
    name: str
    gap: str = ""
    words: str = ""
    reads: int = 0
    swizzled: bool = False
    in_registers: bool = False
    problem: Pitfall | None = None
    assumed_bits: int = 0


def list_named_fragments(code: Evaluation | None, choices: Iterable[str]) -> list[CuteFragment]:
    """List the fragments that CuTe makes, with the template parameters that open ones depend on."""
    if code is None:
        return []
    known_names = {key.removeprefix("macro.") for key in choices}
    return [name_open_parameters(fragment, code.text, known_names) for fragment in list_cute_fragments(code)]


def list_cute_fragments(code: Evaluation) -> tuple[CuteFragment, ...]:
    """List the fragments that a text's code makes of A and B in shared memory, each once."""
    found: dict[object, CuteFragment] = {}
    for call in code.bodiless_calls:
        if call.term.head in _FRAGMENTS and len(found) < MOST_FRAGMENTS:
            fragment = _read_fragment(call.term, code.text)
            found.setdefault(fragment, fragment)
    known = {
        fragment.span for fragment in found.values() if not fragment.gap
    }  # evaluated from a launch: the kernel alone gives no more
    descriptors = bool(find_multiplier(code.text))  # else an open TiledMMA is one of mma.sync
    return tuple(
        fragment
        for fragment in found.values()
        if not fragment.in_registers
        and (not fragment.gap or (fragment.span not in known and (fragment.name or descriptors)))
    )


def describe_open_fragment(fragment: CuteFragment) -> str:
    """Describe the unknown part of a fragment in a sentence."""
    what = f"The descriptors that CuTe makes of {fragment.operand.upper()}"
    where = f" for {fragment.name}" if fragment.name else ""
    part = {OPEN_MMA: "which TiledMMA it is", OPEN_LAYOUT: "how the tile is laid out"}.get(fragment.gap, "its parts")
    words = " ".join(fragment.words.split())
    if " ? " in words:
        words = f"it depends on {words.partition(' ? ')[0].lstrip('(')}"
    if fragment.gap.startswith("depends on "):
        return f"{what}{where} are not verified: this {fragment.gap}; give values by -D."
    return f"{what}{where} are not verified: the text leaves open {part}" + (f" ({words})." if words else ".")


def name_open_parameters(fragment: CuteFragment, text: str, known_names: Collection[str]) -> CuteFragment:
    """Add the template parameters that a fragment without a verdict depends on to its gap.

    text: the code; known_names: names that have a value. Unchanged if the text instantiates the template, or the gap
    depends on no parameter.
    """
    blank = blank_text(text)
    is_open = fragment.gap in (OPEN_MMA, OPEN_LAYOUT)
    function = find_enclosing_function(blank, fragment.span[0]) if is_open else None
    if function is None or re.search(rf"\b{function.name}\s*<", blank):
        return fragment
    definition = (
        " ".join(_MAKES_MMA.findall(blank[slice(*function.body)])) if fragment.gap == OPEN_MMA else fragment.words
    )
    names = [name for name in function.templates if name not in known_names and re.search(rf"\b{name}\b", definition)]
    return replace(fragment, gap=f"depends on {', '.join(names)}") if names else fragment


def describe_assumed_type(fragment: CuteFragment) -> str:
    """State that a fragment's element type is assumed to be the atom's."""
    return (
        f"The elements of {fragment.operand.upper()} are assumed to have {fragment.assumed_bits} bits, as those of"
        f" {fragment.name}: their type is not known."
    )


def _read_fragment(term: OpaqueValue, text: str) -> CuteFragment:
    """Return the CuteFragment of a fragment."""
    operand, partitioned = _FRAGMENTS[term.head]
    owner = dict(term.named).get("self")
    try:
        mma = find_tiled_mma(owner, _Values(text, None).evaluate)
    except (OpenCuteValueError, LayoutError) as error:
        return CuteFragment(term.span, operand, "", gap=OPEN_MMA, words=getattr(error, "words", ""))
    if mma.atom.form is None or (operand == "a" and not mma.atom.a_shared):
        return CuteFragment(term.span, operand, mma.atom.name, in_registers=True)
    fragment = CuteFragment(term.span, operand, mma.atom.name)
    try:
        tile = _Values(text, mma.atom.bits).find_tile(term.arguments[0], mma, operand, not partitioned)
        assumed_bits = 0 if _has_type(term, text, mma, operand, not partitioned) else mma.atom.bits
        return _verify_fragment(replace(fragment, assumed_bits=assumed_bits), tile, mma)
    except OpenCuteValueError as error:
        return replace(fragment, gap=OPEN_LAYOUT, words=error.words)
    except LayoutError as error:
        return replace(fragment, gap=OPEN_LAYOUT, words=error.message)


def _has_type(term: OpaqueValue, text: str, mma: CuteMma, operand: str, divided: bool) -> bool:
    """Return whether the element type of a fragment's tensor is known."""
    try:
        _Values(text, None).find_tile(term.arguments[0], mma, operand, divided)
    except (OpenCuteValueError, LayoutError):
        return False
    return True


@dataclass(frozen=True, slots=True)
class _Tile:
    """A tile in shared memory: its layout; divided: whether its first mode is that of one instruction."""

    layout: CuteLayout
    divided: bool


@dataclass(frozen=True, slots=True)
class _Values:
    """Values of CuTe in a text. bits: of elements whose type is open."""

    text: str
    bits: int | None

    def evaluate(self, value: Any) -> Any:
        return CuteEvaluator(self.text, self.bits).evaluate_value(value)

    def find_tile(self, value: Any, mma: CuteMma, operand: str, divided: bool, depth: int = 0) -> _Tile:
        """Find the tile of a tensor. divided: whether a plain tensor is tiled already."""
        if not isinstance(value, OpaqueValue) or depth > _DEEPEST:
            raise OpenCuteValueError(shorten_name(value))
        named = dict(value.named)
        if value.head in _PARTITIONS and value.arguments:
            if _PARTITIONS[value.head] != operand:
                raise OpenCuteValueError(value.text)
            return replace(self.find_tile(value.arguments[0], mma, operand, False, depth + 1), divided=False)
        if value.head == "make_tensor":
            if "smem" not in self.text[slice(*value.span)] and "__shared__" not in self.text:
                raise OpenCuteValueError(value.text)
            return _Tile(make_tensor_layout(value, self.text, self.bits), divided)
        if CALLED in named:
            inner = self.find_tile(named[CALLED], mma, operand, divided, depth + 1)
            return replace(inner, layout=self._slice_operand(inner.layout, value))
        if value.head in _SAME and value.arguments:
            return self.find_tile(value.arguments[0], mma, operand, divided, depth + 1)
        raise OpenCuteValueError(value.text)

    def _slice_operand(self, layout: CuteLayout, call: OpaqueValue) -> CuteLayout:
        """Return tensor(_, _, 0): an open index is taken as 0."""
        modes = []
        for argument in call.arguments:
            try:
                modes.append(self.evaluate(argument))
            except OpenCuteValueError:
                modes.append(0)
        sliced, _ = algebra.slice_and_offset(algebra.strip_swizzle(layout), tuple(modes))
        return replace(sliced, swizzle=layout.swizzle, unit_bits=layout.unit_bits, offset=0)


class _OtherTileError(Exception):
    """Raised if a tile is not divided into the tiles of an atom. The text is what differs."""


def _verify_fragment(fragment: CuteFragment, tile: _Tile, mma: CuteMma) -> CuteFragment:
    """Compare what each descriptor of a fragment reads with its tensor's layout."""
    try:
        _require_order(tile, mma)
        return _compare_reads(fragment, tile, mma.atom)
    except _OtherTileError as error:
        return replace(fragment, gap=OTHER_TILE, words=str(error))


def _require_order(tile: _Tile, mma: CuteMma) -> None:
    """_OtherTileError if the elements or the order of a tile are not those of a product."""
    if tile.layout.unit_bits not in (None, mma.atom.bits):
        raise _OtherTileError(f"elements of {tile.layout.unit_bits} bits")
    if tile.layout.offset or not mma.ordered or (mma.atom.ctas > 1 and not tile.divided):
        raise _OtherTileError("its order")


def _compare_reads(fragment: CuteFragment, tile: _Tile, atom: CuteAtom) -> CuteFragment:
    """Return the verdict on a fragment. _OtherTileError if its tiles are not those of the atom."""
    operand, layout = fragment.operand, tile.layout
    expected, major = atom.get_tile(operand), atom.get_major(operand)
    assert atom.form is not None
    plain = algebra.strip_swizzle(layout)
    if not tile.divided:
        counts = tuple(mode.size for mode in plain.modes[:2])
        if len(counts) < 2 or any(size % part for size, part in zip(counts, expected, strict=True)):
            return _refuse_tile(fragment, counts, expected)
        plain = algebra.tiled_divide(plain, expected)
    tile_mode, *rest = plain.modes
    if tile_mode.rank != 2 or tuple(mode.size for mode in tile_mode.modes) != expected:
        raise _OtherTileError(f"its first mode, {tile_mode}")
    first = CuteLayout(tile_mode.shape, tile_mode.stride, layout.swizzle, layout.unit_bits)
    try:
        word = make_cute_descriptor(first, major, atom.bits, atom.form)
    except LayoutError as error:
        return replace(fragment, problem=_make_problem(fragment, first, atom, error), name=atom.name)
    seen = View(*expected, atom.bits, major, atom.form)
    steps = list(_list_offsets(rest))
    if len(steps) > MOST_STEPS:
        raise _OtherTileError(f"its {len(steps)} parts")
    if not all(_is_right(word, seen, first, offset) for offset in steps):
        raise _OtherTileError(str(first))
    return replace(fragment, reads=len(steps), swizzled=bool(layout.swizzle))


def _refuse_tile(fragment: CuteFragment, sizes: Nested, expected: tuple[int, int]) -> CuteFragment:
    side = "M" if fragment.operand == "a" else "N"
    size = "×".join(map(str, sizes)) if isinstance(sizes, tuple) else str(sizes)
    message = (
        f"{fragment.operand.upper()} of {fragment.name}: the tile has {size} elements ({side}×K), which the atom's"
        f" {expected[0]}×{expected[1]} do not divide. Give a multiple of these."
    )
    return replace(fragment, problem=Pitfall("cute_tile_indivisible", message, fragment.span))


def _make_problem(fragment: CuteFragment, tile: CuteLayout, atom: CuteAtom, error: LayoutError) -> Pitfall:
    """Explain why CuTe rejects an instruction's tile, or that it is canonical for the other major."""
    major = atom.get_major(fragment.operand)
    other = "MN" if major == "K" else "K"
    why = f"{error.message} {error.hint}"
    with suppress(LayoutError):
        assert atom.form is not None
        make_cute_descriptor(tile, other, atom.bits, atom.form)
        why = f"The layout of the tensor is {other}-major. Give the atom the major {other}, or a {major}-major layout."
    return Pitfall(
        "cute_not_canonical",
        f"{fragment.operand.upper()} of {fragment.name} is {major}-major. {why}".strip(),
        fragment.span,
    )


def _list_offsets(modes: Iterable[CuteLayout]) -> Iterator[int]:
    """Yield where each tile begins, in elements."""
    offsets = np.zeros(1, dtype=np.int64)
    for mode in modes:
        offsets = (mode.list_indices()[:, None] + offsets).reshape(-1)
        if len(offsets) > MOST_STEPS:
            break
    yield from (int(offset) for offset in offsets)


def _is_right(word: Descriptor, view: View, first: CuteLayout, offset: int) -> bool:
    """Return whether the descriptor of the tile at an offset reads all elements where the layout has them."""
    bits = view.bits
    if offset * bits % 128:
        return False
    start = offset * bits // 8
    linear = start * 8 + algebra.strip_swizzle(first).list_indices().reshape(view.k, view.rows).T * bits
    expected = linear // 8
    if first.swizzle:
        expected = first.swizzle(expected)
    try:
        return bool(np.array_equal(reads(word.replace(start_address_encoded=start >> 4), view), expected))
    except LayoutError:
        return False
