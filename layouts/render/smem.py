"""CUDA C++ for a tile in shared memory: where an element lies, the fill, and the descriptor of a slice."""

from __future__ import annotations

from dataclasses import replace

from layouts.tiling import Tile

_TYPES = {8: "unsigned char", 16: "unsigned short", 32: "unsigned"}


def fill(tile: Tile, name: str = "a") -> str:
    """`{name}_offset(mn, k)` in bytes and `fill_{name}`: global [mn][k] rows (K-major) or [k][mn] rows (MN-major) into the tile.

    b1 is filled as bytes, eight elements each: k counts bytes there.
    """
    if tile.element_bits < 8:
        return f"// {tile.k} × b1 along K are {tile.k // 8} bytes: below, k counts bytes.\n" + fill(_bytes(tile), name)
    (am, ak), (sm, sk) = tile.atom, tile.strides
    size, kind = tile.element_bits // 8, _TYPES[tile.element_bits]
    line, along = ("mn % 8", f"k % {ak}") if tile.major == "K" else ("k % 8", f"mn % {am}")
    xor = f"before ^ ((before >> 7 & {tile.mode.chunks - 1}) << 4)" if tile.mode.chunks > 1 else "before"
    source = f"mn * {tile.k} + k" if tile.major == "K" else f"k * {tile.mn} + mn"
    return (
        f"// {tile.mn}×{tile.k} {tile.element_bits}-bit, {tile.major}-major, swizzle {tile.mode.name}; the tile starts on {tile.mode.pattern_bytes} bytes.\n"
        f"__device__ inline unsigned {name}_offset(unsigned mn, unsigned k) {{\n"
        f"  const unsigned before = mn / {am} * {sm} + k / {ak} * {sk} + {line} * {tile.mode.width_bytes} + {along} * {size};\n"
        f"  return {xor};\n}}\n"
        f"__device__ inline void fill_{name}({kind}* tile, const {kind}* global) {{\n"
        f"  for (unsigned i = threadIdx.x; i < {tile.mn * tile.k}; i += blockDim.x) {{\n"
        f"    const unsigned mn = i / {tile.k}, k = i % {tile.k};\n"
        f"    tile[{name}_offset(mn, k) / {size}] = global[{source}];\n  }}\n"
        '  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // wgmma reads through the async proxy\n'
        "  __syncthreads();\n}\n"
    )


def describe(tile: Tile, name: str = "a") -> str:
    """`{name}_descriptor(tile, mn, k)`: the 64-bit word of a slice; mn a multiple of the atom, k of the instruction's K (b1: in bytes)."""
    tile = _bytes(tile)
    (am, ak), (sm, sk) = tile.atom, tile.strides
    lbo, sbo = tile.lbo_sbo()
    inside = f" + k % {ak} * {tile.element_bits // 8}" if tile.major == "K" else ""
    return (
        f"__device__ inline unsigned long long {name}_descriptor(const void* tile, unsigned mn, unsigned k) {{\n"
        "  const unsigned long long base = __cvta_generic_to_shared(tile);\n"
        f"  const unsigned long long start = base + mn / {am} * {sm} + k / {ak} * {sk}{inside};\n"
        f"  return (start & 0x3FFFF) >> 4 | {lbo >> 4}ull << 16 | {sbo >> 4}ull << 32 | {tile.mode.code}ull << 62;\n}}\n"
    )


def _bytes(tile: Tile) -> Tile:
    """A tile of b1 as the tile of its bytes; any other as it is."""
    return replace(tile, element_bits=8, k=tile.k // 8) if tile.element_bits < 8 else tile
