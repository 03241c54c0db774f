"""CUDA C++ for accesses to tensor memory, and for scale factors in the order of tcgen05.cp and tcgen05.mma."""

from __future__ import annotations

from lanescope.blackwell.scale_atoms import ATOM_BYTES, ATOM_FACTORS, ATOM_LINES, ATOM_ROWS, LINE_BYTES
from lanescope.blackwell.tmem import TensorAccess
from lanescope.render.template import Templates

_PROGRAMS = Templates(__package__)
SCALE_SIZES = {  # of an atom, as the templates call them
    "rows": ATOM_ROWS,
    "columns": ATOM_FACTORS,
    "groups": ATOM_LINES,
    "chunks": ATOM_ROWS // ATOM_LINES,
    "bytes": ATOM_BYTES,
    "line": LINE_BYTES,
}


def render_statement(access: TensorAccess) -> str:
    """Return a load or store by one warp, with its wait; or a copy or shift by one thread.

    taddr: lane << 16 | column.
    """
    if access.verb == "cp":
        return f'asm volatile("{access.ptx} [%0], %1;" :: "r"(taddr), "l"(smem_desc) : "memory");'
    if access.verb == "shift":
        return f'asm volatile("{access.ptx} [%0];" :: "r"(taddr) : "memory");'
    count = access.registers
    half = f", {access.split or access.columns // 2}" if access.halves else ""
    if access.verb == "ld":
        names = ", ".join(f"%{n}" for n in range(count))
        registers = ", ".join(f'"=r"(r[{n}])' for n in range(count))
        address = f"[%{count}]{half}"
        return (
            f'uint32_t r[{count}];\nasm volatile("{access.ptx} {{{names}}}, {address};"\n    : {registers}\n'
            '    : "r"(taddr));\n'
            'asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");'
        )
    names = ", ".join(f"%{n + 1}" for n in range(count))
    registers = ", ".join(f'"r"(r[{n}])' for n in range(count))
    address = f"[%0]{half}"
    return (
        f'asm volatile("{access.ptx} {address}, {{{names}}};"\n    :: "r"(taddr), {registers} : "memory");\n'
        'asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");'
    )


def render_scale_order() -> dict[str, str]:
    """Return code from row-major scale factors [rows][factors] to atoms: {"numpy", "pytorch", "cuda"}.

    Both extents are padded to whole atoms: rows to 128, factors to 4.
    """
    return {
        name: "\n".join(_PROGRAMS.lines(template, **SCALE_SIZES))
        for name, template in (
            ("numpy", "scale_order.py.in"),
            ("pytorch", "scale_order_torch.py.in"),
            ("cuda", "scale_order.cu"),
        )
    }
