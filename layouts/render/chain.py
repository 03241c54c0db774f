"""CUDA C++ of a chain: the loop that loads an operand with ldmatrix, or stores one with stmatrix."""

from __future__ import annotations

from itertools import pairwise

from layouts import chain
from layouts.render.cuda import function_name, wrapper


def code(found: chain.Chain) -> str:
    """The instruction's wrapper and the loop around it."""
    return wrapper(found.load.instruction) + "\n" + loop(found)


def loop(found: chain.Chain) -> str:
    """The CUDA loop that does it (executed by `lanescope gpu verify`), for rows with a pitch in bytes; a swizzle is a function of the offset."""
    load = found.load.instruction
    stores = load.family.name == chain.STORES
    formula, steps = chain.lane_formula(found), chain.turn_steps(found)
    count = found.load.registers
    operand = found.want.operand
    name = operand.name
    what = "store" if stores else "load"
    line = found.want.contiguous
    lines_along = next(dim for dim in operand.dims if dim != line)
    warps = operand.threads // 32 > 1
    body = [
        f"// {name.upper()} {operand.row_count}×{operand.col_count} {operand.element.name}, {line} contiguous: lines of {lines_along}, `pitch` bytes apart (a multiple of 16).",
        "// `swizzle` turns a byte offset into a byte offset; identity where there is none.",
        "template <class Swizzle>",
        f"__device__ inline void {what}_{name}({'const unsigned' if stores else 'unsigned'} (&r)[{operand.registers}], unsigned tile, unsigned pitch, Swizzle swizzle) {{",
        "  const unsigned lane = threadIdx.x % 32;",
        *(["  const unsigned warp = threadIdx.x / 32 % 4;"] if warps else []),
        f"  const unsigned line = {formula['line']}, byte = {formula['byte']};",
    ]
    at = "line * pitch + byte"
    if found.count > 1:
        strides = {(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(steps)}
        if len(strides) == 1:
            ((lines, along),) = strides
            at = f"{f'(line + {lines} * i)' if lines else 'line'} * pitch + byte{f' + {along} * i' if along else ''}"
        else:
            tables = [", ".join(str(step[n]) for step in steps) for n in (0, 1)]
            body.append(f"  constexpr unsigned lines[] = {{{tables[0]}}}, bytes[] = {{{tables[1]}}};")
            at = "(line + lines[i]) * pitch + byte + bytes[i]"
        body += ["#pragma unroll", f"  for (int i = 0; i < {found.count}; ++i)"]
    part = f"reinterpret_cast<{'const ' if stores else ''}unsigned (&)[{count}]>(r[{count} * i])" if found.count > 1 else "r"
    address = f"tile + swizzle({at})"
    body.append(f"{'  ' * (1 + (found.count > 1))}{function_name(load)}({', '.join((address, part) if stores else (part, address))});")
    return "\n".join([*body, "}"]) + "\n"
