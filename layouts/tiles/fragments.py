"""What a thread of a TiledMMA holds of a tensor: CuTe's partition_A, _B and _C, the registers that
partition_fragment_A, _B and _C make for it, and those registers in the values of a TiledCopy.

    made = tiled_mma("SM80_16x8x16_F32F16F16F32_TN", "(2,2,1)", "(32,32,16)", (128, 128, 64))
    make_fragment(made, "a", parse_layout("(128,64):(64,1)")).registers     ((2,2,2),4,4):((1,2,4),32,8)

Sources: CUTLASS 4.7 (7107b05), include/cute/atom/mma_atom.hpp and copy_atom.hpp; what its headers print stands in
tests/golden/fragments/.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from lanescope.cute import algebra, tuples
from lanescope.cute.layout import CuteLayout
from lanescope.cute.tuples import Nested
from lanescope.errors import LayoutError
from lanescope.tiles.copy_layouts import copy_from_operand
from lanescope.tiles.mma import LETTERS, SIDES, TiledMMA


@dataclass(frozen=True, slots=True)
class Fragment:
    """A thread's part of a tensor, and its registers.

    partition: (values, rest, rest) → index of thread 0; dynamic: nested as its strides, True where a swizzle makes the
    sign of a stride depend on the thread, () for none; registers: (values, rest, rest) → register of one element each.
    """

    operand: str
    tensor: CuteLayout
    partition: CuteLayout
    dynamic: Nested
    registers: CuteLayout


def make_fragment(made: TiledMMA, operand: str, tensor: CuteLayout) -> Fragment:
    """Return partition_A, _B or _C of a tensor for thread 0 and the fragment made for it.

    tensor: (m, k), (n, k) or (m, n) → index, of the whole tile or a multiple of it. C's registers are compact whatever
    the tensor. LayoutError where the operand lies in shared memory or the tensor does not fit.
    """
    made.require_registers("tiled_mma")
    name = {"d": "c"}.get(operand.lower(), operand.lower())
    if name not in SIDES:
        raise LayoutError("unknown_operand", f"A TiledMMA has no operand '{operand}'.", "a, b or c.", "operand")
    if name in made.atom.shared:
        raise LayoutError(
            "bad_operand",
            f"Operand {name.upper()} of {made.atom.instruction.ptx} is read from shared memory by a descriptor.",
            "partition_fragment makes descriptors there, no registers.",
            "operand",
        )
    _require_fit(made, name, tensor)
    whole = made.divide_tensor(name, tensor)
    value, rests = whole.modes[1].modes
    own = algebra.concatenate(value, *(CuteLayout(mode.shape, mode.stride) for mode in rests.modes))
    partition, dynamic = algebra.decay_swizzle(replace(own, swizzle=tensor.swizzle))
    registers = (
        algebra.make_fragment_like(CuteLayout(own.shape, tuples.make_compact_strides(own.shape)))
        if name == "c"
        else algebra.make_fragment_like(partition, dynamic)
    )
    return Fragment(name, tensor, partition, dynamic, registers)


def retile_fragment(made: TiledMMA, fragment: Fragment, values: int) -> CuteLayout:
    """Return retile_D (of A and B) or retile_S (of C): the registers in the values of make_tiled_copy_A, _B or _C.

    values: of one copy atom, e.g. 8 for ldmatrix.x4 of 16-bit elements.
    """
    tv, tiler = copy_from_operand(made, fragment.operand, values)
    return algebra.retile(fragment.registers, tv, tiler, values)


def _require_fit(made: TiledMMA, name: str, tensor: CuteLayout) -> None:
    """Raise LayoutError for a tensor that the TiledMMA does not divide."""
    if tensor.rank != 2 or tensor.unit_bits or tensor.offset:
        raise LayoutError(
            "bad_layout", f"{tensor} is not a tensor of two modes.", "e.g. (128,64):(64,1), with a swizzle.", "tensor"
        )
    for mode, side in zip(tensor.modes, SIDES[name], strict=True):
        own = made.shape[side]
        if mode.size % own:
            raise LayoutError(
                "bad_layout",
                f"{LETTERS[side]} = {mode.size} of {tensor} is not a multiple of the TiledMMA's {own}.",
                f"Multiples of {own}.",
                "tensor",
            )
