"""CUDA C++ for an epilogue: each warp's loads of D, then stmatrix into a swizzled tile, or vectors into rows of global
memory.
"""

from __future__ import annotations

import re

from lanescope.blackwell.epilogue import CHUNK, MATRIX, MOST_MATRICES, WARPS, Epilogue, SharedStore
from lanescope.render.cuda import render_swizzled
from lanescope.render.tmem import render_statement

PACKED = {"f16": "cvt.rn.f16x2.f32", "bf16": "cvt.rn.bf16x2.f32"}


def _render_loads(made: Epilogue, body: str) -> str:
    """Return the loops of one warp over its loads; row and col: of D, where the load begins."""
    first = [next(one for one in made.loads if one.warp == warp) for warp in range(WARPS)]
    corners = [made.locate_elements(one) for one in first]
    rows = ", ".join(str(int(row[row >= 0].min())) for row, _ in corners)
    cols = ", ".join(str(int(col[col >= 0].min())) for _, col in corners)
    lanes = sorted({one.lane for one in made.loads})
    step = made.access.columns
    return (
        f"// warp: 0 to 3 of the warpgroup. tmem: D's address. row0, col0: of D, where each warp's lanes begin.\n"
        f"constexpr unsigned row0[] = {{{rows}}}, col0[] = {{{cols}}};\n"
        f"for (unsigned lane16 = 0; lane16 < {lanes[-1] + 1}; lane16 += 16)\n"
        f"for (unsigned c = 0; c < {made.d.columns}; c += {step}) {{\n"
        "  const unsigned taddr = tmem + (32 * warp + lane16 << 16) + c;\n"
        "  const unsigned row = row0[warp] + lane16, col = col0[warp] + c;\n"
        + "".join(f"  {line}\n" for line in (render_statement(made.access) + "\n" + body).splitlines())
        + "}"
    )


def render_shared_store(made: Epilogue, to: SharedStore, element: str) -> str:
    """Return code from registers through stmatrix to the tile, row-major in panels of the swizzle's width.

    element: f16 or bf16.
    """
    count = min(made.matrices, MOST_MATRICES)
    panel = to.panel
    before = f"col / {panel // 2} * {to.rows * panel} + row * {panel} + col % {panel // 2} * 2"
    names = ", ".join(f"%{n + 1}" for n in range(count))
    held = ", ".join(f'"r"(p[m + {n}])' for n in range(count))
    pack = f"const uint32_t (&p)[{made.matrices}] = r;\n" if made.access.packed else _render_pairs(made, element)
    body = (
        f"{pack}for (unsigned m = 0; m < {made.matrices}; m += {count}) {{\n"
        f"  const unsigned at = m + lane / 8 % {count};  // the matrix whose row lane % 8 this lane names\n"
        f"  const unsigned address = shared + tile_offset(row + at % 2 * {MATRIX} + lane % 8, col + at / 2 *"
        f" {MATRIX});\n"
        f'  asm volatile("stmatrix.sync.aligned.m8n8.x{count}.shared.b16 [%0], {{{names}}};"\n'
        f'      :: "r"(address), {held} : "memory");\n}}'
    )
    how = f"panels of {panel} bytes, {to.mode.name} swizzle" if to.mode else f"rows of {panel} bytes"
    made_of = render_swizzled(to.mode.swizzle(1), "before") if to.mode else "before"
    head = (
        f"// Byte of D[row, col] of 16 bits: {how}, {to.rows} rows. shared: a multiple of 1024.\n"
        "__device__ inline unsigned tile_offset(unsigned row, unsigned col) {\n"
        f"  const unsigned before = {before};\n  return {made_of};\n}}\n"
    )
    return f"{head}\n{_render_loads(made, body)}"


def _render_pairs(made: Epilogue, element: str) -> str:
    """Return the expression `p` of two neighbouring registers as two 16-bit elements."""
    count = made.access.registers // 2
    if made.halves:  # the low half of a register is the element
        join = "  p[i] = r[2 * i + 1] << 16 | r[2 * i] & 0xFFFF;\n"
    else:
        join = (
            f'  asm("{PACKED[element]} %0, %1, %2;" : "=r"(p[i]) : "f"(__uint_as_float(r[2 * i + 1])),'
            ' "f"(__uint_as_float(r[2 * i])));\n'
        )
    return f"uint32_t p[{count}];\nfor (unsigned i = 0; i < {count}; ++i)\n{join}"


def _render_single(made: Epilogue, element: str) -> str:
    """Return the expression `h` of one register as one 16-bit element."""
    if made.halves:
        return "  const unsigned short h = r[i];\n"
    name = PACKED[element].replace("x2", "")
    return f'  unsigned short h;\n  asm("{name} %0, %1;" : "=h"(h) : "f"(__uint_as_float(r[i])));\n'


def render_global_store(made: Epilogue, bits: int, element: str) -> str:
    """Return code from registers to rows of global memory: each thread's own runs of neighbouring columns."""
    wide, requests, _ = made.count_sectors(bits)
    words = wide // 4
    joined = bits == 16 and words and not made.access.packed
    name = "p" if joined else "r"
    forward = made.access.pattern.forward_formula(("row", "col"))
    held = ", ".join(f'"r"({name}[{words} * i + {n}])' for n in range(words)) or '"h"(h)'
    names = ", ".join(f"%{n + 1}" for n in range(words))
    vector = f".v{words}.b32" if words > 1 else ".b32" if words else ".b16"
    guard = "half" in made.d.axes and len(made.access.pattern.threads) == 1
    lines = (
        (_render_pairs(made, element) if joined else "")
        + f"for (unsigned i = 0; i < {requests}; ++i) {{\n"
        + ("  if (lane >= 16) break;  // D has 16 lanes of the quarter\n" if guard else "")
        + ("" if words else _render_single(made, element))
        + f"  const unsigned thread = lane, v = {wide * 8 // bits} * i;  // the first value of the run\n"
        f"  const unsigned down = {_format_value(forward['row'])}, across = {_format_value(forward['col'])};\n"
        f"  char* to = global + (size_t)(row + down) * pitch + (col + across) * {bits // 8};\n"
        f'  asm volatile("st.global{vector} [%0], {f"{{{names}}}" if words > 1 else "%1"};" :: "l"(to), {held} :'
        ' "memory");\n}'
    )
    return _render_loads(
        made, f"// global: the first byte of D's row 0; pitch: bytes of a row, a multiple of {CHUNK}.\n{lines}"
    )


def _format_value(expression: str) -> str:
    """Return a formula of the value index, which the code calls v."""
    return re.sub(r"\bi\b", "v", expression)
