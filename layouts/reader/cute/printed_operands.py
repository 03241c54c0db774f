"""Whether an instruction holds its operands as a print of a TiledMMA shows them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lanescope.cute.layout import CuteLayout
from lanescope.cute.text import parse_layout
from lanescope.cute.tuples import list_leaves
from lanescope.ptx.instruction import Instruction, Operand
from lanescope.reader.cute import shapes
from lanescope.reader.cute.atom_meaning import count_atom_threads

MOST_ELEMENTS = 1 << 17  # elements of a layout that are counted


def list_places(layout: CuteLayout) -> NDArray[np.int64] | None:
    """Return the element of every (thread, value), threads first; None if the layout is not (thread, value)."""
    if layout.rank != 2 or layout.size > MOST_ELEMENTS:
        return None
    return layout.list_indices().reshape(-1, layout.modes[0].size)


def matches_print(i: Instruction, sizes: dict[str, int], threads: int, block: dict[str, str]) -> bool:
    """Return whether an instruction's fragments agree with a print."""
    if not i.family.multiplies or not i.family.specified or i.sizes != sizes:
        return False
    if threads != count_atom_threads(i):
        return False
    return threads == 8 or all(_can_print(i, letter, block) for letter in "abc")


def _can_print(i: Instruction, letter: str, block: dict[str, str]) -> bool:
    """Return whether an operand's map agrees with a print; operands not shown or in shared memory always agree."""
    op = i.operands.get(letter) or (i.operands.get("d") if letter == "c" else None)
    layout = shapes.parse_printed_layout(block[letter]) if letter in block else None
    if layout is None or op is None:
        return True
    if letter == "a" and any(operand.sparsity for operand in i.operands.values()):
        return True
    if i.family.by_descriptor and (letter == "b" or (letter == "a" and 0 in list_leaves(layout.stride[:1]))):
        return True
    return _is_same_map(op, layout, letter == "b")


def _is_same_map(op: Operand, layout: CuteLayout, turned: bool) -> bool:
    """Return whether a layout (thread, value) → element is an operand's map; turned: transposed, as for CuTe's B."""
    theirs, mine = list_places(parse_layout(op.transposed_cute if turned else op.cute)), list_places(layout)
    return theirs is not None and mine is not None and np.array_equal(theirs, mine)


def holds_a(i: Instruction, block: dict[str, str]) -> bool:
    """Return whether a print shows A of a wgmma distributed over threads, so in registers."""
    printed_layout = shapes.parse_printed_layout(block.get("a", ""))
    of_threads = printed_layout.stride[0] if printed_layout and isinstance(printed_layout.stride, tuple) else 0
    return any(list_leaves(of_threads)) and i.family.by_descriptor
