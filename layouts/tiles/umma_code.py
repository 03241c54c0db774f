"""Generate code for a TiledMMA of an UMMA atom: CuTe in C++, its Python DSL, and Lanescope's Python.

CUTLASS 4.7: examples/cute/tutorial/blackwell, include/cute/atom/mma_traits_sm100.hpp (tile_to_mma_shape, with) and
python/CuTeDSL/cutlass (nvgpu/tcgen05/mma.py, utils/blackwell_helpers.py). Modelled on these; not compiled here.
"""

from __future__ import annotations

from lanescope.blackwell import tmem
from lanescope.blackwell.umma_atom import UmmaAtom, format_stem
from lanescope.ptx.dtypes import get_dtype
from lanescope.ptx.table.kinds import PAIR
from lanescope.ptx.table.umma_atoms import OPERATIONS, OperationRow
from lanescope.render.idesc import get_cutlass_type
from lanescope.shared.swizzle import Mode
from lanescope.tiles.umma import TiledUmma
from lanescope.tiles.umma_shared import SharedOperand

_ATOMS = {"none": "INTER", "32B": "SW32", "64B": "SW64", "128B": "SW128", "128B_base32B": "SW128_32B"}
_LOADED = 32  # maximum columns of a tcgen05.ld of the epilogue


def get_atom_name(atom: UmmaAtom) -> str:
    """Return CUTLASS's name without arguments; "" if it has no such atom."""
    return format_stem(*atom.named, atom.mma.form == PAIR) if atom.named else ""


def format_template(atom: UmmaAtom) -> str:
    """Return the atom's C++ type with all arguments; "" if CUTLASS has none."""
    if atom.named is None:
        return ""
    row, _ = atom.named
    word, types = atom.word, atom.word.types
    parts = [get_cutlass_type(word.kind, types[letter]) for letter in "abd"]
    if atom.factors:
        parts.append(get_cutlass_type(word.kind, word.format_field("scale_type")))
    m, n, _ = atom.shape
    parts += [str(m), str(n), *([str(atom.block)] if 0 not in row.kinds else [])]
    parts += [f"UMMA::Major::{atom.get_major(letter)}" for letter in "ab"]
    if atom.scaled_d:
        parts.append("ScaleC")
    signs = [f"UMMA::ScaleIn::{'Neg' if word.get_code(f'negate_{letter}') else 'One'}" for letter in "ab"]
    if any(word.get_code(f"negate_{letter}") for letter in "ab"):
        parts += signs
    if word.get_code("saturate"):
        parts += [
            *(signs if atom.tensor_a and not parts[-1].startswith("UMMA::ScaleIn") else []),
            "UMMA::Saturate::True",
        ]
    return f"{get_atom_name(atom)}<{', '.join(parts)}>"


def format_layout_atom(mode: Mode, major: str, element: str, sparse: bool = False) -> str:
    """Return CUTLASS's shared-memory layout atom: UMMA::Layout_K_SW128_Atom<half_t>; _SpAtom for a sparse A."""
    return f"UMMA::Layout_{major}_{_ATOMS[mode.name]}_{'Sp' * sparse}Atom<{element}{', 2' * sparse}>"


def _format_element(tiled_mma: TiledUmma, operand: str) -> str:
    return get_cutlass_type(tiled_mma.umma.word.kind, tiled_mma.umma.word.types[operand])


def _format_shared_layout(tiled_mma: TiledUmma, operand: SharedOperand) -> str:
    letter = operand.operand.upper()
    order = ", Step<_2,_1>{}" if operand.tile.order == "k" else ""
    sparse = tiled_mma.umma.word.sparse and operand.operand == "a"
    atom = format_layout_atom(
        operand.tile.mode, operand.tile.major, _format_element(tiled_mma, operand.operand), sparse
    )
    note = " of the elements that are stored; CUTLASS's counts the zeros, too" if sparse else ""
    return (
        f"auto s{letter}_layout = UMMA::tile_to_mma_shape({atom}{{}}, mma_shape_{letter}{order});\n"
        f"// {operand.printed}{note}"
    )


def render_cute_cpp(tiled_mma: TiledUmma) -> str:
    """Return the C++ code: make_tiled_mma, shared memory, fragments, the main loop and the epilogue's copy.

    "" if CUTLASS has no such atom.
    """
    atom = tiled_mma.umma
    spelled = format_template(atom)
    if not spelled:
        return ""
    m, n, k = tiled_mma.tile
    shapes = {"A": (m, k), "B": (n, k)}
    types, majors, rest = spelled.partition(f", {atom.shape[0]}, {atom.shape[1]}")
    inner = " " * (len("auto tiled_mma = make_tiled_mma(") + spelled.index("<") + 1)
    lines = [
        f"auto tiled_mma = make_tiled_mma({types},\n{inner}{majors[2:]}{rest}{{}});",
        f"// size(tiled_mma) == {tiled_mma.threads}: CTAs",
    ]
    lines += [f"// instruction descriptor: {atom.word}", ""]
    for letter, (rows, cols) in shapes.items():
        op = tiled_mma.a if letter == "A" else tiled_mma.b
        rows_per_step = op.rows.shape[1] // (tiled_mma.repeats[letter == "B"] * tiled_mma.repeats[2]) // atom.shape[2]
        shape = f"(({rows_per_step},{atom.shape[2]}),{tiled_mma.repeats[letter == 'B']},{tiled_mma.repeats[2]})"
        size = f"make_shape(Int<{rows}>{{}}, Int<{cols}>{{}})"
        lines.append(f"auto mma_shape_{letter} = partition_shape_{letter}(tiled_mma, {size});  // {shape}")
    for operand in tiled_mma.shared.values():
        lines += _format_shared_layout(tiled_mma, operand).split("\n")
    lines += [] if tiled_mma.shared else ["// sA, sB: the layout of steps of K = 96 is not documented"]
    who = "cluster rank % 2: the CTA of the pair" if tiled_mma.ctas > 1 else "0: one CTA"
    lines += ["", f"auto cta_mma = tiled_mma.get_slice(mma_v);  // {who}"]
    if atom.tensor_a:
        lines.append("Tensor tCrA = cta_mma.make_fragment_A(mma_shape_A);  // tensor memory")
    else:
        lines.append("Tensor tCrA = cta_mma.make_fragment_A(sA);  // descriptors")
    lines.append("Tensor tCrB = cta_mma.make_fragment_B(sB);  // descriptors")
    lines.append(f"Tensor tCtC = cta_mma.make_fragment_C(tCgC);  // tensor memory, {_count_columns(tiled_mma)} columns")
    with_ = _format_with_call(tiled_mma)
    lines += [
        "",
        "tiled_mma.accumulate_ = UMMA::ScaleOut::Zero;",
        "for (int k = 0; k < size<2>(tCrB); ++k) {",
        f"  gemm({with_}, tCrA(_,_,k), tCrB(_,_,k), tCtC);",
        "  tiled_mma.accumulate_ = UMMA::ScaleOut::One;",
        "}",
        "",
        f"auto t2r = make_tmem_copy({get_load_name(tiled_mma)}{{}}, tCtC);  // a TiledCopy: tensor memory to registers",
    ]
    return "\n".join(lines) + "\n"


def _count_columns(tiled_mma: TiledUmma) -> int:
    """Return the columns of D in tensor memory."""
    every = tiled_mma.places["d"]
    return max(placed.column + placed.layout.columns for placed in every) - every[0].column


def _format_with_call(tiled_mma: TiledUmma) -> str:
    if tiled_mma.umma.factors and tiled_mma.umma.word.sparse:
        return "tiled_mma.with(tiled_mma.accumulate_, tCtE(_,_,k), tCtSFA(_,_,k), tCtSFB(_,_,k))"
    if tiled_mma.umma.factors:
        return "tiled_mma.with(tiled_mma.accumulate_, tCtSFA(_,_,k), tCtSFB(_,_,k))"
    if tiled_mma.umma.word.sparse:
        return "tiled_mma.with(tCtE(_,_,k))"
    return "tiled_mma"


def get_load_name(tiled_mma: TiledUmma) -> str:
    """Return CUTLASS's name of the tcgen05.ld that loads D to registers."""
    split = "half" in tmem.make_tmem_layout(tiled_mma.umma.mma, "d").axes
    shape = "16dp256b" if split else "32dp32b"
    return f"SM100_TMEM_LOAD_{shape}{_get_load_count(tiled_mma)}x"


def _get_load_count(tiled_mma: TiledUmma) -> int:
    """Return the largest repeat count of up to 32 columns that divides the columns of D."""
    layout = tmem.make_tmem_layout(tiled_mma.umma.mma, "d")
    each = 8 if "half" in layout.axes else 1
    count = 1
    while 2 * count * each <= _LOADED and layout.columns % (2 * count * each) == 0:
        count *= 2
    return count


def format_operation(atom: UmmaAtom) -> str:
    """Return the operation of cute.nvgpu.tcgen05; "" if the DSL has none."""
    for title, row in OPERATIONS.items():
        if _matches_row(row, atom):
            return f"tcgen05.{title}(\n    {_format_arguments(row, atom)})"
    return ""


def _matches_row(row: OperationRow, atom: UmmaAtom) -> bool:
    word = atom.word
    plain = not (word.sparse or atom.scaled_d or word.get_code("saturate") or atom.mma.form == "ws")
    signs = not any(word.get_code(f"negate_{letter}") for letter in "ab")
    same = "ab" not in row.types or word.types["a"] == word.types["b"]
    return (
        plain
        and signs
        and same
        and row.kind == word.kind.name
        and row.factors == atom.factors
        and (row.k or word.kind.k) == word.k
    )


def _format_arguments(row: OperationRow, atom: UmmaAtom) -> str:
    types = {**atom.word.types, "ab": atom.word.types["a"], "scale_type": atom.word.format_field("scale_type")}
    parts = [get_dtype(types[letter]).names.python for letter in row.types]
    parts += [str(atom.shape), f"tcgen05.CtaGroup.{'TWO' if atom.ctas > 1 else 'ONE'}"]
    parts.append(f"tcgen05.OperandSource.{'TMEM' if atom.tensor_a else 'SMEM'}")
    if row.majors:
        parts += [f"cute.nvgpu.OperandMajorMode.{atom.get_major(letter)}" for letter in "ab"]
    return ", ".join(parts)


def render_cute_python(tiled_mma: TiledUmma) -> str:
    """Return the DSL's code: make_tiled_mma, layouts of shared memory, the accumulator and the epilogue's copy.

    "" if the DSL has no such operation.
    """
    built = format_operation(tiled_mma.umma)
    if not built:
        return ""
    tiler = f"({', '.join(map(str, tiled_mma.tile))})"
    types, split = tiled_mma.umma.word.types, "half" in tmem.make_tmem_layout(tiled_mma.umma.mma, "d").axes
    lines = [
        "import cutlass",
        "import cutlass.cute as cute",
        "import cutlass.utils.blackwell_helpers as sm100_utils",
        "from cutlass.cute.nvgpu import tcgen05",
        "",
        f"op = {built}",
        "tiled_mma = cute.make_tiled_mma(op)",
        "",
        f"mma_tiler = {tiler}",
    ]
    for letter in tiled_mma.shared:
        element = get_dtype(types[letter]).names.python
        lines.append(
            f"{letter}_layout = sm100_utils.make_smem_layout_{letter}(tiled_mma, mma_tiler, {element}, num_stages)"
        )
    load = f"tcgen05.{'Ld16x256bOp' if split else 'Ld32x32bOp'}(tcgen05.Repetition.x{_get_load_count(tiled_mma)})"
    lines += [
        "acc_shape = tiled_mma.partition_shape_C(mma_tiler[:2])",
        "tCtAcc = tiled_mma.make_fragment_C(acc_shape)  # tensor memory",
        "",
        f"load = cute.make_copy_atom({load}, {get_dtype(types['d']).names.python})",
        "tiled_copy = tcgen05.make_tmem_copy(load, tCtAcc)  # tensor memory to registers",
    ]
    return "\n".join(lines) + "\n"


def render_lanescope_python(tiled_mma: TiledUmma, atom: str) -> str:
    """Return Lanescope's Python code of the tile; atom: the text of the request."""
    options = {"swizzles": tiled_mma.swizzles} if any(tiled_mma.swizzles) else {}
    more = "".join(f", {key}={value!r}" for key, value in options.items())
    if tiled_mma.order:
        more += f", order={tiled_mma.order!r}"
    call = "tiled_umma" if more else "tiled_mma"
    where = "lanescope.tiles.tiled_umma" if more else "lanescope"
    return (
        f"from {where} import {call}\n\n"
        f"made = {call}({atom!r}, tile={tiled_mma.tile}{more})\n"
        "made.a.rows, made.a.cols  # int32 [CTA, value], as partition_A orders them\n"
        "made.mmas[0].b            # the descriptor of B of the first MMA\n"
        "made.places['d'][0]       # lane and column of D in tensor memory\n"
    )
