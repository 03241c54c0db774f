"""A thread's part of a tensor and its registers: CuTe's partition_A, partition_fragment_A and retile (also _B, _C).

    made = tiled_mma("SM80_16x8x16_F32F16F16F32_TN", "(2,2,1)", "(32,32,16)", (128, 128, 64))
    make_fragment(made, "a", parse_layout("(128,64):(64,1)")).registers     ((2,2,2),4,4):((1,2,4),32,8)

Sources: CUTLASS 4.7 (7107b05), include/cute/atom/mma_atom.hpp and copy_atom.hpp; the output of its headers is in
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

    partition: (values, repeats, repeats) → index, for thread 0; dynamic: nested like its strides, True if the sign of
    the stride depends on the thread because of a swizzle, () for none; registers: (values, repeats, repeats) →
    register.
    """

    operand: str
    tensor: CuteLayout
    partition: CuteLayout
    dynamic: Nested
    registers: CuteLayout


def make_fragment(tiled: TiledMMA, operand: str, tensor: CuteLayout) -> Fragment:
    """Return partition_A, _B or _C of a tensor for thread 0, and the fragment for it.

    tensor: (m, k), (n, k) or (m, n) → index, of the tile or a multiple of it. The registers of C are always compact.
    LayoutError if the operand is in shared memory or the tensor does not fit.
    """
    tiled.require_registers("tiled_mma")
    name = {"d": "c"}.get(operand.lower(), operand.lower())
    if name not in SIDES:
        raise LayoutError("unknown_operand", f"A TiledMMA has no operand '{operand}'.", "a, b or c.", "operand")
    if name in tiled.atom.shared:
        raise LayoutError(
            "bad_operand",
            f"Operand {name.upper()} of {tiled.atom.instruction.ptx} is read from shared memory by a descriptor.",
            "partition_fragment makes descriptors there, no registers.",
            "operand",
        )
    _require_fit(tiled, name, tensor)
    divided = tiled.divide_tensor(name, tensor)
    value, rests = divided.modes[1].modes
    thread_part = algebra.concatenate(value, *(CuteLayout(mode.shape, mode.stride) for mode in rests.modes))
    partition, dynamic = algebra.decay_swizzle(replace(thread_part, swizzle=tensor.swizzle))
    registers = (
        algebra.make_fragment_like(CuteLayout(thread_part.shape, tuples.make_compact_strides(thread_part.shape)))
        if name == "c"
        else algebra.make_fragment_like(partition, dynamic)
    )
    return Fragment(name, tensor, partition, dynamic, registers)


def retile_fragment(tiled: TiledMMA, fragment: Fragment, values: int) -> CuteLayout:
    """Return retile_D (of A and B) or retile_S (of C): the registers in the modes of make_tiled_copy_A, _B or _C.

    values: of one copy atom, e.g. 8 for ldmatrix.x4 of 16-bit elements.
    """
    tv, tiler = copy_from_operand(tiled, fragment.operand, values)
    return algebra.retile(fragment.registers, tv, tiler, values)


def _require_fit(tiled: TiledMMA, name: str, tensor: CuteLayout) -> None:
    """Raise LayoutError for a tensor that the TiledMMA does not divide."""
    if tensor.rank != 2 or tensor.unit_bits or tensor.offset:
        raise LayoutError(
            "bad_layout", f"{tensor} is not a tensor of two modes.", "Try (128,64):(64,1), with a swizzle.", "tensor"
        )
    for mode, side in zip(tensor.modes, SIDES[name], strict=True):
        step = tiled.shape[side]
        if mode.size % step:
            raise LayoutError(
                "bad_layout",
                f"{LETTERS[side]} = {mode.size} of {tensor} is not a multiple of the TiledMMA's {step}.",
                f"Multiples of {step}.",
                "tensor",
            )
