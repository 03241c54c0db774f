"""Sentences that describe the results of CuTe's operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lanescope.cute import algebra, tuples
from lanescope.cute.layout import CuteLayout
from lanescope.cute.tuples import size

Value = Any  # a CuteLayout, an int, a tuple, None


def format_value(value: Value) -> str:
    """Format a value like CuTe; a layout of one int as 4:2."""
    if isinstance(value, CuteLayout):
        return str(value)
    if isinstance(value, tuple):
        return f"({','.join(map(format_value, value))})"
    if isinstance(value, bool):
        return str(value).lower()
    return "_" if value is None else str(value)


def _format_size(a: CuteLayout) -> str:
    return f"{a.size} element{'s' * (a.size != 1)}"


def describe_composition(a: CuteLayout, b: Any, result: CuteLayout) -> str:
    if isinstance(b, tuple):
        return f"Each mode of {a} is composed with its part of {format_value(b)}."
    right = algebra.make_layout(b) if isinstance(b, int) else b
    if right is None:
        return "The underscore keeps every mode."
    at = min(1, right.size - 1)
    return (
        f"R(c) = A(B(c)), with the shape of B: it selects {_format_size(right)} of A."
        f" R({at}) = A(B({at})) = A({right(at)}) = {result(at)}."
    )


def describe_complement(a: CuteLayout, target: Any, result: CuteLayout) -> str:
    total = size(target) if target is not None else algebra.filter_layout(a).cosize
    times = f"{result.size} repetition{'s' * (result.size != 1)} of A"
    if algebra.filter_layout(a).size * result.size == total:
        return f"What A leaves out, in ascending order: (A, R) reaches each of the {total} indices once, with {times}."
    last = algebra.concatenate(algebra.strip_swizzle(a), result).cosize - 1
    return f"What A leaves out, in ascending order: (A, R) reaches up to index {last}, with {times}."


def describe_divide(a: CuteLayout, tiler: Any, result: CuteLayout) -> str:
    return f"Mode 0 is the tile that {format_value(tiler)} selects, mode 1 the repetitions that reach the rest of A."


_LAYOUT_OF = {
    "zipped": "((tiles), (rests)): all tiles in mode 0, all rests in mode 1.",
    "tiled": "((tiles), rest, rest, …): each rest is a separate mode.",
    "flat": "(tile, tile, …, rest, rest, …): all modes are separate.",
}


def make_regrouping_description(word: str, of: str) -> Callable[..., str]:
    return lambda *_: f"logical_{of} with its modes gathered as {_LAYOUT_OF[word]}"


def describe_product(a: CuteLayout, tiler: Any, result: CuteLayout) -> str:
    return f"Mode 0 is the block {a}, mode 1 the places of its copies: {format_value(tiler)} in units of the block."


def describe_blocked(a: CuteLayout, tiler: Any, result: CuteLayout) -> str:
    return "Mode by mode (block, copies): each block stays together, the copies are side by side."


def describe_raked(a: CuteLayout, tiler: Any, result: CuteLayout) -> str:
    return "Mode by mode (copies, block): the copies are interleaved, neighbours belong to different blocks."


def describe_right_inverse(a: CuteLayout, result: CuteLayout) -> str:
    return f"A(R(i)) = i for the first {result.size} of {a.cosize} indices: as long as A leaves no gap from 0 on."


def describe_left_inverse(a: CuteLayout, result: CuteLayout) -> str:
    if algebra.count_distinct(a) < a.size:
        return "Indices of A repeat: A(L(A(i))) = A(i)."
    return "L(A(i)) = i for every coordinate i of A."


def describe_coalesce(a: CuteLayout, profile: Any, result: CuteLayout) -> str:
    had, has = len(tuples.list_leaves(a.shape)), len(tuples.list_leaves(result.shape))
    each = " in each mode of the profile" if profile is not None else ""
    if had == has:
        return f"No two adjacent modes are contiguous{each}: only the nesting changes."
    return f"{had} modes become {has}{each}: sizes of 1 go, and a mode that continues the one before joins it."


def describe_layout(layout: CuteLayout) -> str:
    if not layout.size:
        return f"{layout.rank} mode{'s' * (layout.rank != 1)} without an element."
    count, last = algebra.count_distinct(layout), int(layout.list_indices().max())
    repeats = "each index once" if count == layout.size else f"{count} different indices"
    gaps = "without gaps" if count == last + 1 else f"up to {last}"
    return f"{layout.rank} mode{'s' * (layout.rank != 1)}, {_format_size(layout)}: {repeats}, {gaps}."


def describe_fragment(a: CuteLayout, result: CuteLayout) -> str:
    if result.rank < 2:
        return "One register after the other."
    order = sorted(range(1, result.rank), key=lambda at: result.modes[at].list_indices().max())
    modes = [f"mode {at}" for at in order if result.modes[at].size > 1]
    after = f"; then {', '.join(modes)}, as the strides ascend" if modes else ""
    return f"Mode 0 is compact in the first {result.modes[0].cosize} registers{after}. A swizzle is left out."


def describe_retile(fragment: CuteLayout, tv: CuteLayout, tiler: Any, values: int, result: CuteLayout) -> str:
    return (
        f"The same {_format_size(fragment)} in the values of the copy: mode 0 is a thread's part of one tile,"
        f" {values} with each atom."
    )


def describe_rowcol(a: CuteLayout, *rest: Any) -> str:
    modes = [mode.size for mode in rest[-1].modes]
    rows, columns = modes[::-1] if rest[0] is True else modes
    return f"A thread's {rows} rows and {columns} columns. No register moves."


def describe_aregs(a: CuteLayout, *rest: Any) -> str:
    if rest[-1].size > a.size:
        return (
            f"The steps of K have {rest[-1].size} registers, but the accumulator has {a.size}: N is not a multiple of"
            " a step."
        )
    if rest[0] == 8:
        return "The modes of the 8-bit A. The registers hold other elements than A needs until they are permuted."
    return f"The {rest[-1].modes[0].size} values of the next A, its repeats in M and its steps of K. No register moves."


def describe_multicast(ctas: CuteLayout, coord: Any, *rest: int) -> str:
    mask = rest[-1]
    ranks = [str(rank) for rank in range(16) if mask >> rank & 1]
    return f"{mask:#06x}: the load writes to CTA{'s' * (len(ranks) > 1)} {', '.join(ranks)} of the cluster."
