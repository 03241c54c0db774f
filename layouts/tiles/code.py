"""Generate code for a TiledMMA or a TiledCopy: CuTe in C++, its Python DSL, and Lanescope's Python.

CUTLASS 4.7: include/cute/arch (names of atoms), python/CuTeDSL/cutlass/cute/nvgpu/warp/mma.py and warpgroup/mma.py
(operations and what they accept).
"""

from __future__ import annotations

from lanescope.cute import algebra
from lanescope.cute.layout import CuteLayout
from lanescope.cute.spelling import format_cxx, format_cxx_tiler, format_python
from lanescope.ptx.dtypes import get_dtype
from lanescope.ptx.table import atoms
from lanescope.tiles.copy import TiledCopy
from lanescope.tiles.mma import TiledMMA

_OF_BITS = {4: "uint4_t", 8: "uint8_t", 16: "half_t", 32: "float", 64: "double", 128: "uint128_t"}


def get_atom_name(tiled_mma: TiledMMA) -> str:
    """Return the atom's name in CUTLASS's code, "" if it has none."""
    name = tiled_mma.atom.cutlass.split(" (")[0].replace("SM90::GMMA::MMA_", "SM90_").replace("SM90::MMA_", "SM90_")
    if tiled_mma.atom.instruction.family.by_descriptor and "a" not in tiled_mma.atom.shared:
        name = name.replace("_SS", "_RS")
    return name


def is_permuted(tiled_mma: TiledMMA) -> bool:
    """Return whether the permutation does more than place atoms side by side."""
    unpermuted = tuple(size * count for size, count in zip(tiled_mma.atom.shape, tiled_mma.atoms, strict=True))
    return tiled_mma.permutation != unpermuted


def format_compact(layout: CuteLayout) -> str:
    """Format a layout, without strides if they are compact."""
    return str(layout).partition(":")[0] if str(layout) == str(algebra.make_layout(layout.shape)) else str(layout)


def _format_cxx_layout(layout: CuteLayout) -> str:
    """Format a layout as a C++ type, without strides if they are compact."""
    text = format_cxx(layout)
    return text.partition(",Stride<")[0] + ">" if str(layout) == str(algebra.make_layout(layout.shape)) else text


def _format_python_layout(layout: CuteLayout) -> str:
    """Format a layout in the DSL, without strides if they are compact."""
    text = format_python(layout)
    plain = str(layout) == str(algebra.make_layout(layout.shape))
    return text.partition(", stride=")[0] + ")" if plain else text


def render_cute_cpp(tiled_mma: TiledMMA) -> str:
    """Return make_tiled_mma in C++ with the fragments of the tile; "" if CUTLASS has no name for the atom."""
    name = get_atom_name(tiled_mma)
    if not name:
        return ""
    atom = f"{name}{_format_arguments(tiled_mma, name)}"
    lines = [
        f"auto tiled_mma = make_tiled_mma(MMA_Atom<{atom}>{{}},",
        f"                                {_format_cxx_layout(tiled_mma.atom_layout)}{{}}"
        + ("," if is_permuted(tiled_mma) else ");"),
    ]
    if is_permuted(tiled_mma):
        lines.append(f"                                {format_cxx_tiler(tiled_mma.permutation)}{{}});")
    m, n, _ = tiled_mma.tile
    lines += ["", f"auto thr_mma = tiled_mma.get_slice(threadIdx.x);  // size(tiled_mma) == {tiled_mma.threads}"]
    for op in (tiled_mma.a, tiled_mma.b):
        letter, dim = op.name.upper(), "m" if op.name == "a" else "n"
        shape = ",".join("1" if op.shared and not n else str(size) for n, size in enumerate(op.modes))
        what = "descriptors" if op.shared else "registers"
        lines.append(
            f"Tensor tCr{letter} = thr_mma.partition_fragment_{letter}(s{letter});  // s{letter} is"
            f" ({dim},k); {what} ({shape})"
        )
    shape = ",".join(map(str, tiled_mma.c.modes))
    lines.append(
        f"Tensor tCrC = partition_fragment_C(tiled_mma, make_shape(Int<{m}>{{}}, Int<{n}>{{}}));  // ({shape})"
    )
    return "\n".join(lines) + "\n"


def _format_arguments(tiled_mma: TiledMMA, name: str) -> str:
    """Return the template arguments of a wgmma's name: majors if the type has them, else ""."""
    if not tiled_mma.atom.instruction.family.by_descriptor or "_S32" in name:
        return ""
    return "<>" if "_TN" in name else "<GMMA::Major::K,GMMA::Major::K>"


def render_cute_python(tiled_mma: TiledMMA) -> str:
    """Return make_tiled_mma in CuTe's Python DSL; "" if cute.nvgpu has no such operation."""
    operation = _format_operation(tiled_mma)
    if not operation:
        return ""
    lines = [
        "import cutlass",
        "import cutlass.cute as cute",
        "",
        f"op = {operation}",
        "tiled_mma = cute.make_tiled_mma(",
        f"    op, {_format_python_layout(tiled_mma.atom_layout)}" + ("," if is_permuted(tiled_mma) else ")"),
    ]
    if is_permuted(tiled_mma):
        parts = ", ".join(
            _format_python_layout(tiler) if isinstance(tiler, CuteLayout) else str(tiler)
            for tiler in tiled_mma.permutation
        )
        lines.append(f"    permutation_mnk=({parts}))")
    return "\n".join(lines) + "\n"


def _format_operation(tiled_mma: TiledMMA) -> str:
    instruction = tiled_mma.atom.instruction
    types, shape = instruction.types, tiled_mma.atom.shape
    a, b, d = (types.get(letter, types["a"]) for letter in "abd")
    if (
        not all(get_dtype(kind).names.dsl for kind in (a, b, d))
        or types.get("c", d) != d
        or "satfinite" in instruction.modifiers
    ):
        return ""
    names = [get_dtype(kind).names.python for kind in (a, b, d)]
    if instruction.family.by_descriptor:
        place = "SMEM" if "a" in tiled_mma.atom.shared else "RMEM"
        major = "cute.nvgpu.OperandMajorMode.K"
        rest = f"{shape},\n    cute.nvgpu.warpgroup.OperandSource.{place}, {major}, {major})"
        if a == b in ("f16", "bf16"):
            return f"cute.nvgpu.warpgroup.MmaF16BF16Op({names[0]}, {names[2]}, {rest}"
        if {a, b} <= {"e4m3", "e5m2"}:
            return f"cute.nvgpu.warpgroup.MmaF8Op({', '.join(names)}, {rest}"
        return ""
    if a == b in ("f16", "bf16") and shape in ((16, 8, 8), (16, 8, 16)):
        return f"cute.nvgpu.warp.MmaF16BF16Op({names[0]}, {names[2]}, {shape})"
    return ""


def render_lanescope_python(tiled_mma: TiledMMA, atom: str) -> str:
    """Return Lanescope's Python code of the maps; atom: the text of the request."""
    parts = [repr(atom), repr(format_compact(tiled_mma.atom_layout))]
    if is_permuted(tiled_mma):
        parts.append(f"permutation={algebra.format_tiler(tiled_mma.permutation)!r}")
    parts.append(f"tile={tiled_mma.tile}")
    return (
        "from lanescope import tiled_mma\n\n"
        f"made = tiled_mma({', '.join(parts)})\n"
        "made.a.rows, made.a.cols  # int32 [thread, value], as partition_A orders them\n"
        "made.c.owner(0, 0)        # [(thread, value), …]\n"
    )


def render_copy_cpp(tiled_copy: TiledCopy, thr: CuteLayout | None, val: CuteLayout | None, operand: str = "") -> str:
    """Return make_tiled_copy in C++, or make_tiled_copy_A, _B, _C of a TiledMMA's operand."""
    element = _OF_BITS.get(tiled_copy.element_bits, "half_t")
    atom = get_copy_atom_name(tiled_copy)
    if operand:
        which = operand[0].upper() + operand[1:]
        return f"auto copy = make_tiled_copy_{which}(Copy_Atom<{atom}, {element}>{{}}, tiled_mma);\n"
    if thr is None or val is None:
        return (
            f"auto copy = make_tiled_copy_impl(Copy_Atom<{atom}, {element}>{{}},\n"
            f"                                 {format_cxx(tiled_copy.tv)}{{}},\n"
            f"                                 {format_cxx_tiler(tiled_copy.tilers)}{{}});\n"
        )
    return (
        f"auto copy = make_tiled_copy(Copy_Atom<{atom}, {element}>{{}},\n"
        f"                            {_format_cxx_layout(thr)}{{}},\n"
        f"                            {_format_cxx_layout(val)}{{}});\n"
    )


def get_copy_atom_name(tiled_copy: TiledCopy) -> str:
    """Return CUTLASS's name of the copy operation, else its PTX."""
    if tiled_copy.atom.name == "universal":
        return f"UniversalCopy<uint{tiled_copy.atom.bits}_t>"
    if tiled_copy.atom.name == "cp.async":
        kind = "GLOBAL" if tiled_copy.atom.bits == 128 else "ALWAYS"
        return f"SM80_CP_ASYNC_CACHE{kind}<uint{tiled_copy.atom.bits}_t>"
    assert tiled_copy.atom.instruction
    return atoms.get_atom_name(tiled_copy.atom.instruction) or tiled_copy.atom.name
