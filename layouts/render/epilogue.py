"""CUDA C++ of an epilogue: loads of D, then stmatrix into a swizzled tile or vector stores to global rows."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lanescope.blackwell.epilogue import CHUNK, MATRIX, MOST_MATRICES, WARPS, Epilogue, SharedStore
from lanescope.render.cuda import render_swizzled
from lanescope.render.template import Templates
from lanescope.render.tmem import render_statement

_PROGRAMS = Templates(__package__)
PACKED = {"f16": "cvt.rn.f16x2.f32", "bf16": "cvt.rn.bf16x2.f32"}


def _render_loads(epilogue: Epilogue, body: Sequence[str]) -> str:
    """Return the loops of one warp over its loads.

    The body sees row and col, the position in D where a load begins.
    """
    first = [next(load for load in epilogue.loads if load.warp == warp) for warp in range(WARPS)]
    corners = [epilogue.locate_elements(load) for load in first]
    rows = ", ".join(str(int(row[row >= 0].min())) for row, _ in corners)
    cols = ", ".join(str(int(col[col >= 0].min())) for _, col in corners)
    lines = _PROGRAMS.lines(
        "epilogue_loads.cu",
        rows=rows,
        cols=cols,
        lanes=max(load.lane for load in epilogue.loads) + epilogue.access.tall,
        tall=epilogue.access.tall,
        columns=epilogue.d.columns,
        step=epilogue.access.columns,
        load=render_statement(epilogue.access),
        body=body,
    )
    return "\n".join(lines)


def render_shared_store(epilogue: Epilogue, to: SharedStore, element: str) -> str:
    """Return code that stores registers with stmatrix into a row-major tile.

    The tile is divided into panels as wide as the swizzle. element: f16 or bf16.
    """
    count = min(epilogue.matrices, MOST_MATRICES)
    panel = to.panel
    body = _PROGRAMS.lines(
        "epilogue_shared.cu",
        pack=f"const uint32_t (&p)[{epilogue.matrices}] = r;"
        if epilogue.access.packed
        else _render_pairs(epilogue, element),
        matrices=epilogue.matrices,
        count=count,
        side=MATRIX,
        names=", ".join(f"%{n + 1}" for n in range(count)),
        registers=", ".join(f'"r"(p[m + {n}])' for n in range(count)),
    )
    head = _PROGRAMS.fill(
        "epilogue_tile.cu",
        how=f"panels of {panel} bytes, {to.mode.name} swizzle" if to.mode else f"rows of {panel} bytes",
        rows=to.rows,
        before=f"col / {panel // 2} * {to.rows * panel} + row * {panel} + col % {panel // 2} * 2",
        swizzled=render_swizzled(to.mode.swizzle(1), "before") if to.mode else "before",
    )
    return f"{head}\n{_render_loads(epilogue, body)}"


def _render_pairs(epilogue: Epilogue, element: str) -> str:
    """Return the expression `p` that packs two neighbouring registers into two 16-bit elements."""
    count = epilogue.access.registers // 2
    if epilogue.halves:  # the low half of a register is the element
        join = "  p[i] = r[2 * i + 1] << 16 | r[2 * i] & 0xFFFF;\n"
    else:
        join = (
            f'  asm("{PACKED[element]} %0, %1, %2;" : "=r"(p[i]) : "f"(__uint_as_float(r[2 * i + 1])),'
            ' "f"(__uint_as_float(r[2 * i])));\n'
        )
    return f"uint32_t p[{count}];\nfor (unsigned i = 0; i < {count}; ++i)\n{join}"


def _render_single(epilogue: Epilogue, element: str) -> str:
    """Return the expression `h` that makes a 16-bit element of one register."""
    if epilogue.halves:
        return "const unsigned short h = r[i];"
    name = PACKED[element].replace("x2", "")
    return f'unsigned short h;\nasm("{name} %0, %1;" : "=h"(h) : "f"(__uint_as_float(r[i])));'


def render_global_store(epilogue: Epilogue, bits: int, element: str) -> str:
    """Return code that stores registers to rows of global memory: each thread's runs of adjacent columns as vectors."""
    wide, requests, _ = epilogue.count_sectors(bits)
    words = wide // 4
    packs = bits == 16 and words and not epilogue.access.packed
    name = "p" if packs else "r"
    forward = epilogue.access.pattern.forward_formula(("row", "col"))
    names = ", ".join(f"%{n + 1}" for n in range(words))
    guard = "half" in epilogue.d.axes and len(epilogue.access.pattern.threads) == 1
    body = _PROGRAMS.lines(
        "epilogue_global.cu",
        chunk=CHUNK,
        pack=_render_pairs(epilogue, element) if packs else "",
        requests=requests,
        guard="if (lane >= 16) break;  // D has 16 lanes of the quarter" if guard else "",
        single="" if words else _render_single(epilogue, element),
        run=wide * 8 // bits,
        down=_format_value(forward["row"]),
        across=_format_value(forward["col"]),
        bytes=bits // 8,
        vector=f".v{words}.b32" if words > 1 else ".b32" if words else ".b16",
        names=f"{{{names}}}" if words > 1 else "%1",
        registers=", ".join(f'"r"({name}[{words} * i + {n}])' for n in range(words)) or '"h"(h)',
    )
    return _render_loads(epilogue, body)


def _format_value(expression: str) -> str:
    """Return a formula in the value index, as C++ with v for the index."""
    return re.sub(r"\bi\b", "v", expression)
