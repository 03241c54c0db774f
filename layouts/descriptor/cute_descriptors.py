"""Make a descriptor from a tile's layout as CuTe does: make_gmma_desc (wgmma), make_umma_desc (tcgen05.mma).

CUTLASS 4.7, cute/atom/mma_traits_sm90_gmma.hpp and cute/arch/mma_sm100_desc.hpp. Both take the layout in units of 16
bytes, divide it by the atom of its swizzle, and take SBO and LBO from its strides; a layout that is not canonical is
rejected.
"""

from __future__ import annotations

from lanescope.cute import algebra
from lanescope.cute.layout import CuteLayout
from lanescope.descriptor.format import DescriptorFormat
from lanescope.descriptor.matrix import Descriptor, encode_descriptor
from lanescope.errors import LayoutError
from lanescope.ptx.table.descriptors import BASE32B
from lanescope.shared.swizzle import Mode, get_mode

_CHUNK_BITS = 128


def make_cute_descriptor(layout: CuteLayout, major: str, bits: int, form: DescriptorFormat) -> Descriptor:
    """Return the descriptor that CuTe makes for one instruction's tile, (M or N, K) in elements, at byte 0.

    Raises LayoutError `not_canonical` if CuTe rejects the layout for this major.

    >>> from lanescope.cute.text import parse_layout
    >>> from lanescope.ptx.table.descriptors import WGMMA
    >>> tile = parse_layout("Sw<3,4,3> o smem_ptr[16b](unset) o ((8,8),16):((64,512),1)")
    >>> make_cute_descriptor(tile, "K", 16, WGMMA).sbo_bytes
    1024
    """
    mode = _find_mode(layout, form)
    chunks = _count_chunks(layout, bits)
    if major == "K":
        lbo, sbo = _read_k_major(chunks, mode)
    else:
        lbo, sbo = _read_mn_major(chunks, mode, 0 if form.by_idesc else bits)
    return encode_descriptor(form, {"start_address": 0, "lbo_bytes": 16 * lbo, "sbo_bytes": 16 * sbo}, mode.name)


def _find_mode(layout: CuteLayout, form: DescriptorFormat) -> Mode:
    """Return the mode of the pointer's swizzle."""
    if layout.swizzle is None:
        return get_mode("none")
    mode = next((candidate for candidate in form.codes if candidate.swizzle() == layout.swizzle), None)
    if mode is None:
        raise _refuse(f"{layout.swizzle} is not a swizzle mode of {form.name}.")
    if layout.unit_bits is None:
        raise _refuse(
            f"{layout.swizzle} applies to element indices, not to addresses, because the layout has no pointer."
        )
    return mode


def _count_chunks(layout: CuteLayout, bits: int) -> CuteLayout:
    """Return the layout in units of 16 bytes."""
    try:
        return algebra.upcast(algebra.strip_swizzle(layout), _CHUNK_BITS // bits)
    except LayoutError as error:
        raise _refuse(error.message) from error


def _divide(chunks: CuteLayout, first: int, second: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the strides of ((first, rest), (second, rest)); each of the four must be a single mode."""
    try:
        canonical = algebra.logical_divide(chunks, (first, second))
    except LayoutError as error:
        raise _refuse(error.message) from error
    strides = canonical.stride
    pairs: list[tuple[int, int]] = []
    for pair in strides if isinstance(strides, tuple) else (strides,):
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise _refuse(f"its atoms are not evenly spaced: {canonical} in units of 16 bytes.")
        inner, outer = pair
        if not isinstance(inner, int) or not isinstance(outer, int):
            raise _refuse(f"its atoms are not evenly spaced: {canonical} in units of 16 bytes.")
        pairs.append((inner, outer))
    if len(pairs) != 2:
        raise _refuse(f"it has {len(pairs)} modes.")
    return pairs[0], pairs[1]


def _read_k_major(chunks: CuteLayout, mode: Mode) -> tuple[int, int]:
    """Return LBO and SBO in units of 16 bytes."""
    rows, columns = chunks.modes[0].size, chunks.modes[1].size
    if mode is BASE32B:
        raise _refuse("128B_base32B is for MN-major tiles.")
    if rows % 8:
        raise _refuse(f"it has {rows} rows of M or N, not a multiple of 8.")
    if columns != 2:
        raise _refuse(f"along K it has {columns} units of 16 bytes, not 2.")
    (row, sbo), (column, _) = _divide(chunks, 8, 2)
    if row != mode.chunks:
        raise _refuse(f"rows are {16 * row} bytes apart, not the {mode.width_bytes} bytes of swizzle {mode.name}.")
    if column != 1 and mode.bits:
        raise _refuse(f"the 16-byte units along K are {16 * column} bytes apart, not 16.")
    return column, sbo


def _read_mn_major(chunks: CuteLayout, mode: Mode, bits: int) -> tuple[int, int]:
    """Return LBO and SBO in units of 16 bytes. bits: element bits if K must be that of one wgmma, else 0."""
    columns = chunks.modes[1].size
    if bits and columns != 256 // bits:
        raise _refuse(f"along K it has {columns} elements, not {256 // bits}.")
    (run, outer), (line, deep) = _divide(chunks, mode.chunks, mode.deep)
    if run != 1 and mode.bits:
        raise _refuse(f"the 16-byte units along M or N are {16 * run} bytes apart, not 16.")
    if line != mode.chunks:
        raise _refuse(
            f"lines of K are {16 * line} bytes apart, not the {mode.width_bytes} bytes of swizzle {mode.name}."
        )
    return (outer, deep) if mode.bits else (deep, outer)


def _refuse(why: str) -> LayoutError:
    return LayoutError(
        "not_canonical", f"The layout is not canonical: {why}", "Give a layout of GMMA's or UMMA's atoms."
    )
