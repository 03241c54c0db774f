"""Whether an instruction holds its operands as a print of a TiledMMA shows them."""

from __future__ import annotations

import numpy as np

from lanescope.cute.layout import CuteLayout
from lanescope.cute.tuples import find_size, list_leaves
from lanescope.ptx.instruction import Instruction, Operand
from lanescope.reader.cute import shapes
from lanescope.reader.cute.atom_meaning import count_atom_threads


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
    shape, stride = layout.shape, layout.stride
    if not isinstance(shape, tuple) or len(shape) != 2:
        return False
    if (find_size(shape[0]), find_size(shape[1])) != (op.threads, op.values):
        return False
    index = CuteLayout(shape, stride).list_indices().reshape(op.values, op.threads).T
    rows, cols = (op.cols, op.rows) if turned else (op.rows, op.cols)
    height = op.col_count if turned else op.row_count
    return bool(np.array_equal(index, rows + height * cols))


def holds_a(i: Instruction, block: dict[str, str]) -> bool:
    """Return whether a print shows A of a wgmma distributed over threads, so in registers."""
    printed_layout = shapes.parse_printed_layout(block.get("a", ""))
    of_threads = printed_layout.stride[0] if printed_layout and isinstance(printed_layout.stride, tuple) else 0
    return any(list_leaves(of_threads)) and i.family.by_descriptor
