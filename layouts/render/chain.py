"""CUDA C++ of a layout chain: the loop of ldmatrix or stmatrix with the addresses of the operand's storage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from lanescope.render.cuda import get_function_name, render_swizzled, render_wrapper
from lanescope.shared.chain import Chain, format_affine
from lanescope.shared.pieces import Ints
from lanescope.shared.swizzle import Swizzle


def render_code(chain: Chain) -> str:
    """Return the instruction's wrapper, the swizzle function and the loop in which every lane computes its addresses.

    The tests execute it lane by lane on the host, `lanescope gpu verify` on the device.
    """
    return render_wrapper(chain.load.instruction) + "\n" + render_loop(chain)


def render_loop(chain: Chain) -> str:
    """Return `load_a(r, tile)` (or `store_d`) without the instruction's wrapper.

    tile: the shared address of the storage's first byte.
    """
    placed, operand = chain.where.placed, chain.want.operand
    assert placed is not None
    name, what = operand.name, "store" if chain.store else "load"
    offsets = chain.spread_over_lanes(np.asarray(placed.before(*np.moveaxis(chain.starts, -1, 0)), np.int64) >> 3)
    declared, offset = _render_offsets(offsets, chain)
    swizzle = _render_swizzle(placed.xor, f"swizzle_{name}")
    at = f"tile + {offset}"
    if swizzle:
        at = f"swizzle_{name}({at})" if placed.by == "address" else f"tile + swizzle_{name}({offset})"
    body = [
        f"// {name.upper()} {operand.row_count}×{operand.col_count} {operand.element.name}: {chain.where.text}.",
        *([swizzle] if swizzle else []),
        f"// tile: the shared address where it begins ({placed.base} was verified).",
        f"__device__ inline void {what}_{name}({'const ' if chain.store else ''}unsigned (&r)[{operand.registers}],"
        " unsigned tile) {",
        *_declare_thread_numbers((*declared, offset)),
        *(f"  {line}" for line in declared),
        *_write_calls(chain, at),
        "}",
    ]
    return "\n".join(body) + "\n"


def _declare_thread_numbers(used: Sequence[str]) -> Iterator[str]:
    """Yield the declarations of `lane` and `warp` that the lines of code use."""
    for name, value in (("lane", "threadIdx.x % 32"), ("warp", "threadIdx.x / 32 % 4")):
        if any(name in line for line in used):
            yield f"  const unsigned {name} = {value};"


def _write_calls(chain: Chain, at: str) -> list[str]:
    """Return the call of the wrapper at an address, inside a loop where several calls are needed."""
    load, constant = chain.load, "const " if chain.store else ""
    part = "r"
    if chain.count > 1:
        part = f"reinterpret_cast<{constant}unsigned (&)[{load.registers}]>(r[{load.registers} * i])"
    arguments = (at, part) if chain.store else (part, at)
    call = f"{get_function_name(load.instruction)}({', '.join(arguments)});"
    if chain.count == 1:
        return [f"  {call}"]
    return ["#pragma unroll", f"  for (int i = 0; i < {chain.count}; ++i)", f"    {call}"]


def _render_swizzle(xor: Swizzle, name: str) -> str:
    """Return a C++ function that applies an XOR of address bits; "" where it changes nothing."""
    return (
        f"__device__ inline unsigned {name}(unsigned x) {{ return {render_swizzled(xor, 'x')}; }}" if xor.bits else ""
    )


def _render_offsets(offsets: Ints, chain: Chain) -> tuple[list[str], str]:
    """Return (declarations, expression) of the byte offset before the swizzle, exact for every [warp, turn, lane].

    A sum of bit fields where there is one, else a table lookup.
    """
    first, used = format_affine(offsets[:, 0]), offsets[0, 0] >= 0
    steps = (offsets - offsets[:, :1])[..., used]
    if first is None or (steps != steps[:1, :, :1]).any():
        rows = ["{" + ", ".join(map(str, turn[used].tolist())) + "}" for warp in offsets for turn in warp]
        warp = f"{chain.count} * warp + " if len(offsets) > 1 else ""
        turn = "i" if chain.count > 1 else "0"
        table = f"constexpr unsigned offsets[{len(rows)}][{int(used.sum())}] = {{{', '.join(rows)}}};"
        return [table], f"offsets[{warp}{turn}][lane % {int(used.sum())}]"
    declared = [f"const unsigned offset = {first};"]
    apart = steps[0, :, 0].tolist()
    if chain.count == 1:
        return declared, "offset"
    strides = {b - a for a, b in pairwise(apart)}
    if len(strides) == 1:
        return declared, f"offset + {strides.pop()} * i"
    return [*declared, f"constexpr unsigned steps[] = {{{', '.join(map(str, apart))}}};"], "offset + steps[i]"
