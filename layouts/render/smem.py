"""CUDA C++ for a tile in shared memory: the place of an element, the fill, and the descriptor of a slice. For b1, K is
in bytes.
"""

from __future__ import annotations

from dataclasses import replace

from lanescope.descriptor.matrix import Descriptor
from lanescope.ptx.table.descriptors import BASE_OFFSET, LBO, SBO, START, SWIZZLE, WGMMA
from lanescope.ptx.table.wgmma_order import BY_NAME
from lanescope.render.template import Templates
from lanescope.shared.swizzle import Mode
from lanescope.shared.tiling import Tile

_PROGRAMS = Templates(__package__)
UNITS = {
    8: "unsigned char",
    16: "unsigned short",
    32: "unsigned",
    64: "double",
}  # C type of an addressable unit, by bits
_PROXY = BY_NAME["fence.proxy.async"].syntax[-1]
FENCE = f'  asm volatile("{_PROXY}" ::: "memory");  // wgmma reads through the async proxy\n  __syncthreads();\n'


def render_xor(mode: Mode, past: int = 0) -> str:
    """Return the C expression of the swizzled byte offset `before`.

    past: the distance in bytes from a pattern boundary to the offset's zero.
    """
    if mode.chunks == 1:
        return "before"
    xor, at = mode.swizzle(), f"(before + {past})" if past else "before"
    swizzled = f"{at} ^ (({at} >> {xor.base + xor.shift} & {(1 << xor.bits) - 1}) << {xor.base})"
    return f"({swizzled}) - {past}" if past else swizzled


def render_offset(tile: Tile, name: str = "a") -> str:
    """Return the C++ function `{name}_offset(mn, k)`: the byte offset of an element from the tile's start."""
    if tile.element_bits < 8:
        return f"// {tile.k} × b1 along K are {tile.k // 8} bytes: below, k counts bytes.\n" + render_offset(
            _tile_in_bytes(tile), name
        )
    (am, ak), (sm, sk) = tile.atom, tile.strides
    size = tile.element_bits // 8
    line, along = ("mn % 8", f"k % {ak}") if tile.major == "K" else ("k % 8", f"mn % {am}")
    past = tile.base % tile.mode.pattern_bytes if tile.swizzle_by == "address" else 0
    starts = (
        f"starts {past} bytes past a boundary of {tile.mode.pattern_bytes}"
        if past
        else f"starts on {tile.mode.pattern_bytes} bytes"
    )
    if tile.swizzle_by == "tile" and tile.mode.chunks > 1:
        starts = "is swizzled from its own start"
    return _PROGRAMS.fill(
        "smem_offset.cu",
        name=name,
        mn=tile.mn,
        k=tile.k,
        bits=tile.element_bits,
        major=tile.major,
        swizzle=tile.mode.name,
        starts=starts,
        atom_mn=am,
        step_mn=sm,
        atom_k=ak,
        step_k=sk,
        line=line,
        width=tile.mode.width_bytes,
        along=along,
        size=size,
        swizzled=render_xor(tile.mode, past),
    )


def render_fill(tile: Tile, name: str = "a", rows: int = 0, first: int = 0, fenced: bool = True) -> str:
    """Return `{name}_offset(mn, k)` and `fill_{name}`, which copies a global matrix into the tile.

    The matrix has [mn][k] rows (K-major) or [k][mn] rows (MN-major). rows: number of mn indices filled, from `first`
    on; 0 for all. fenced: whether the function ends with the proxy fence that wgmma requires.
    """
    head = render_offset(tile, name)
    tile, rows = _tile_in_bytes(tile), rows or tile.mn
    size, kind = tile.element_bits // 8, UNITS[tile.element_bits]
    source = f"mn * {tile.k} + k" if tile.major == "K" else f"k * {rows} + mn"
    order = f"mn = i / {tile.k}, k = i % {tile.k}" if tile.major == "K" else f"k = i / {rows}, mn = i % {rows}"
    return head + _PROGRAMS.fill(
        "smem_fill.cu",
        name=name,
        unit=kind,
        units=rows * tile.k,
        order=order,
        row=f"{first} + mn" if first else "mn",
        size=size,
        source=source,
        fence=FENCE if fenced else "",
    )


def render_descriptor(
    tile: Tile, name: str = "a", reach: int = 0, word: Descriptor | None = None, first: int = 0
) -> str:
    """Return `{name}_descriptor(tile, mn, k)`: the 64-bit descriptor of a slice.

    mn: a multiple of the atom; k: a multiple of the instruction's K.

    reach: elements of K the instruction reads where that is not 32 bytes. word: a descriptor whose fields replace those
    of the tile; its start address counts from shared memory's first byte and belongs to the slice at (first, 0).
    """
    lbo, sbo = tile.get_lbo_sbo_bytes(reach)
    base_offset, mode, reserved, moved = tile.base_offset, tile.mode, 0, 0
    if word is not None:
        lbo, sbo, base_offset, mode, reserved = (
            word.lbo_bytes,
            word.sbo_bytes,
            word.base_offset,
            word.mode,
            word.reserved,
        )
        moved = word.start_address - tile.base - int(tile.compute_offset_before(first, 0))
    units = _tile_in_bytes(tile)
    (am, ak), (sm, sk) = units.atom, units.strides
    inside = f" + k % {ak} * {units.element_bits // 8}" if tile.major == "K" else ""
    inside += f" + mn % {am} * {units.element_bits // 8}" if tile.major == "MN" else ""
    inside += f" {'-' if moved < 0 else '+'} {abs(moved)}" if moved else ""
    parts = [f"(start & 0x{START.mask:X}) >> 4", f"{lbo >> 4}ull << {LBO.low}", f"{sbo >> 4}ull << {SBO.low}"]
    parts += [f"{base_offset}ull << {BASE_OFFSET.low}"] if base_offset else []
    parts += [f"{reserved:#x}ull"] if reserved else []
    parts += [f"{WGMMA.codes[mode]}ull << {SWIZZLE.low}"]
    return _PROGRAMS.fill(
        "smem_descriptor.cu",
        name=name,
        atom_mn=am,
        step_mn=sm,
        atom_k=ak,
        step_k=sk,
        inside=inside,
        word=" | ".join(parts),
    )


def _tile_in_bytes(tile: Tile) -> Tile:
    """Return a b1 tile as a tile of bytes; any other tile unchanged."""
    return replace(tile, element_bits=8, k=tile.k // 8) if tile.element_bits < 8 else tile
