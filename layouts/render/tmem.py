"""CUDA C++ for an access to tensor memory, and for scale factors in the order that tcgen05.cp and tcgen05.mma want."""

from __future__ import annotations

from lanescope.blackwell.scales import COLUMNS, GROUPS, ROWS, SCALE_ATOM
from lanescope.blackwell.tmem import TensorAccess

ATOM_BYTES = ROWS * COLUMNS


def render_statement(found: TensorAccess) -> str:
    """Return a load or store by one warp, with its wait, or a copy or shift by one thread.

    taddr: lane << 16 | column.
    """
    if found.verb == "cp":
        return f'asm volatile("{found.ptx} [%0], %1;" :: "r"(taddr), "l"(smem_desc) : "memory");'
    if found.verb == "shift":
        return f'asm volatile("{found.ptx} [%0];" :: "r"(taddr) : "memory");'
    count = found.registers
    half = f", {found.split or found.columns // 2}" if found.halves else ""
    if found.verb == "ld":
        names = ", ".join(f"%{n}" for n in range(count))
        held = ", ".join(f'"=r"(r[{n}])' for n in range(count))
        address = f"[%{count}]{half}"
        return (
            f'uint32_t r[{count}];\nasm volatile("{found.ptx} {{{names}}}, {address};"\n    : {held}\n'
            '    : "r"(taddr));\n'
            'asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");'
        )
    names = ", ".join(f"%{n + 1}" for n in range(count))
    held = ", ".join(f'"r"(r[{n}])' for n in range(count))
    address = f"[%0]{half}"
    return (
        f'asm volatile("{found.ptx} {address}, {{{names}}};"\n    :: "r"(taddr), {held} : "memory");\n'
        'asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");'
    )


def render_scale_order() -> dict[str, str]:
    """Return code from row-major scale factors [rows][factors] to atoms: {"numpy", "pytorch", "cuda"}.

    Both sizes are padded to whole atoms: rows to 128, factors to 4.
    """
    lines, chunk = GROUPS, ROWS // GROUPS
    return {
        "numpy": (
            "def to_atoms(factors):  # uint8 [rows][factors], both whole atoms\n"
            f"    rows, count = factors.shape\n"
            f"    tiles = factors.reshape(rows // {ROWS}, {chunk}, {lines}, count // {COLUMNS}, {COLUMNS})\n"
            "    return tiles.transpose(0, 3, 2, 1, 4).reshape(-1)  # atoms along K first"
        ),
        "pytorch": (
            "def to_atoms(factors):  # uint8 [rows, factors], both whole atoms\n"
            "    rows, count = factors.shape\n"
            f"    tiles = factors.view(rows // {ROWS}, {chunk}, {lines}, count // {COLUMNS}, {COLUMNS})\n"
            "    return tiles.permute(0, 3, 2, 1, 4).reshape(-1)  # atoms along K first"
        ),
        "cuda": (
            "// Byte of the factor of row m and block s; count: factors a row, a multiple of 4.\n"
            "__host__ __device__ inline unsigned scale_offset(unsigned m, unsigned s, unsigned count) {\n"
            f"  const unsigned atom = m / {ROWS} * (count / {COLUMNS}) + s / {COLUMNS};\n"
            f"  return {ATOM_BYTES} * atom + {SCALE_ATOM.line} * (m % {lines}) + {COLUMNS} * (m % {ROWS} / {lines})"
            f" + s % {COLUMNS};\n}}"
        ),
    }
