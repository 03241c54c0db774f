"""CUDA C++ for operands in rows, panels or a CuTe layout: element offsets, the fill, the descriptors of each step."""

from __future__ import annotations

import numpy as np

from lanescope.errors import LayoutError
from lanescope.product.plan import PlacedSide
from lanescope.ptx.table.descriptors import START
from lanescope.render.cuda import get_memory_type, render_swizzled
from lanescope.render.template import Templates

_PROGRAMS = Templates(__package__)
MOST_SUMMANDS = 12


def find_summands(offsets: list[int]) -> list[tuple[int, int, int]]:
    """Return [(unit, size, stride), …] with offset[x] = offset[0] + Σ (x div unit mod size) · stride, exactly.

    LayoutError where no such sum exists.

    >>> find_summands([0, 2, 4, 6, 64, 66, 68, 70])
    [(1, 4, 2), (4, 2, 64)]
    """
    out: list[tuple[int, int, int]] = []
    unit, count = 1, len(offsets)
    while unit < count and len(out) < MOST_SUMMANDS:
        stride = offsets[unit] - offsets[0]
        size = 1
        while unit * size < count and offsets[unit * size] - offsets[0] == stride * size:
            size += 1
        out.append((unit, size, stride))
        unit *= size
    x = np.arange(count)
    total = offsets[0] + sum((x // unit % size * stride for unit, size, stride in out), np.zeros(count, np.int64))
    if total.tolist() != offsets:
        raise LayoutError(
            "no_formula",
            "The offsets are not a sum of strides.",
            "Give a layout whose modes have one stride each.",
            "kind",
        )
    return out


def _format_sum(name: str, offsets: list[int]) -> str:
    """Return the sum as C++."""
    terms = []
    for unit, size, stride in find_summands(offsets):
        inside = f"{name} / {unit}" if unit > 1 else name
        inside = inside if unit * size >= len(offsets) else f"{inside} % {size}"
        terms += [f"{inside} * {stride}" if stride != 1 else inside] if stride else []
    return " + ".join(terms)


def render_offset(side: PlacedSide) -> str:
    """Return `{name}_offset(mn, k)`: the byte offset of an element from shared memory's first byte.

    For b1, k counts bytes.
    """
    placed, per = side.where.placed, side.per_unit
    assert placed is not None
    mn = [int(placed.before(n, 0, 0)) >> 3 for n in range(side.mn)]
    k = [int(placed.before(0, n * per, 0)) >> 3 for n in range(side.units_k)]
    both = (
        np.asarray(placed.before(np.arange(side.mn)[:, None], per * np.arange(side.units_k)[None, :], 0), np.int64) >> 3
    )
    assert np.array_equal(both, np.array(mn)[:, None] + np.array(k)[None, :] - mn[0]), "CuTe's modes are M or N, and K"
    terms = " + ".join(filter(None, (_format_sum("mn", mn), _format_sum("k", k), str(mn[0]) if mn[0] else ""))) or "0"
    base = f"{placed.base} + " if placed.base else ""
    swizzled = render_swizzled(placed.xor, "before")
    inner, outer = (
        (f"{base}{terms}", swizzled) if placed.by == "address" else (terms, f"{base}({swizzled})" if base else swizzled)
    )
    return _PROGRAMS.fill(
        "placed_offset.cu",
        name=side.letter,
        operand=side.letter.upper(),
        storage=side.where.text,
        before=inner,
        swizzled=outer,
    )


def render_fill(side: PlacedSide) -> str:
    """Return `{name}_offset` and `fill_{name}`, which copies from global lines of the contiguous dimension."""
    kind = get_memory_type(side.element, side.container_bits)
    k, mn = side.units_k, side.mn
    order = f"mn = i / {k}, k = i % {k}" if side.major == "K" else f"k = i / {mn}, mn = i % {mn}"
    return render_offset(side) + _PROGRAMS.fill(
        "placed_fill.cu", name=side.letter, unit=kind, units=side.units, order=order
    )


def render_descriptor(side: PlacedSide, steps: int) -> str:
    """Return `{name}_descriptor(shared, step)`: the descriptor of each step, relative to the block's shared memory."""
    words = ", ".join(f"{side.get_descriptor(step).word:#x}ull" for step in range(steps))
    return _PROGRAMS.fill("placed_descriptor.cu", name=side.letter, words=words, mask=f"0x{START.mask:X}")
