"""Other views of a layout: its bases as a matrix, the operands it supplies, and the moves of a conversion."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from lanescope.app.kit import links
from lanescope.ptx import catalog
from lanescope.ptx.instruction import WARP
from lanescope.tiles.feeds import MatchingOperand
from lanescope.triton.linear import LinearLayout

WAYS = {
    "same": ("Nothing moves", "Every register of the second layout is the same register of the first."),
    "registers": ("Registers are renamed", "Every thread already holds its elements, in another order. No shuffle."),
    "warp": ("Lanes of a warp exchange elements", "Warp shuffles are enough: no shared memory and no barrier."),
    "shared": ("Through shared memory", "Warps need elements that other warps hold: a store, a barrier, a load."),
    "cluster": ("Through distributed shared memory", "Blocks of the cluster need elements that other blocks hold."),
}


def split_sizes(text: str) -> list[str]:
    """Split the sizes of a tensor or tile: 64x128, 64×128, (64,128), [64, 128].

    >>> split_sizes("(64, 128)"), split_sizes("16x8")
    (['64', ' 128'], ['16', '8'])
    """
    return [part for part in text.replace("×", "x").replace("x", ",").strip("[]() ").split(",") if part.strip()]


@dataclass(frozen=True, slots=True)
class IndexBases:
    """A column group of the matrix: an index, and its bases from the lowest bit."""

    name: str
    bases: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OperandFeeds:
    """Operands of one kind that a layout supplies: instruction names with links, number of fragments, and their
    order.
    """

    operand: str
    bits: int
    size: str
    shapes: list[tuple[str, str]]
    more: int
    times: int
    family: str
    scope: str
    order: str


def build_matrix(linear: LinearLayout) -> dict[str, Any]:
    """Return the layout over F2: a column per bit of an index, a row per bit of a coordinate."""
    names = [IndexBases(name, bases) for name, bases in linear.bases.items() if bases]
    rows = []
    for axis, size in enumerate(linear.sizes):
        for bit in range(size.bit_length() - 1):
            cells = [[basis[axis] >> bit & 1 for basis in index.bases] for index in names]
            rows.append({"axis": axis, "bit": bit, "value": 1 << bit, "first": bit == 0, "cells": cells})
    return {"fields": names, "rows": rows, "bits": {axis: n.bit_length() - 1 for axis, n in enumerate(linear.sizes)}}


def format_bases(linear: LinearLayout) -> str:
    """Return the bases as Triton prints a linear layout's attribute."""
    parts = (f"{name} = {[list(b) for b in bases]}" for name, bases in linear.bases.items())
    return "{" + ", ".join(parts) + "}"


def group_feeds(found: Iterable[MatchingOperand], first: str = "") -> list[OperandFeeds]:
    """Return the operands that a layout supplies, equal ones grouped; those of operand `first` come first."""
    groups: dict[tuple[object, ...], list[MatchingOperand]] = {}
    for operand in found:
        fragment = operand.fragment
        groups.setdefault(
            (fragment.family, fragment.operand, fragment.bits, fragment.size, operand.registers, operand.times), []
        ).append(operand)
    out = []
    for many in groups.values():
        operand = many[0]
        first_of: dict[str, str] = {}
        for ptx in (ptx for other in many for ptx in other.ptx):
            first_of.setdefault(_find_shape(ptx), ptx)
        shapes = [(shape, links.link_instruction(catalog.find(ptx))) for shape, ptx in first_of.items()]
        out.append(
            OperandFeeds(
                operand=operand.fragment.operand.upper(),
                bits=operand.fragment.bits,
                size="×".join(map(str, operand.fragment.size)),
                shapes=shapes[:6],
                more=max(0, len(shapes) - 6),
                times=operand.times,
                family=operand.fragment.family,
                scope=catalog.find(operand.ptx[0]).family.scope.name,
                order="in order" if operand.in_order else "in another order: " + _format_numbers(operand.registers),
            )
        )
    return sorted(out, key=lambda feeds: (feeds.operand != first, feeds.scope == WARP.name, feeds.times))


def _find_shape(ptx: str) -> str:
    return next((word for word in ptx.split(".") if re.fullmatch(r"m\d+n\d+k\d+", word)), ptx)


def _format_numbers(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers[:8])) + (" …" if len(numbers) > 8 else "")
