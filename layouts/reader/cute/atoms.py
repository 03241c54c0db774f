"""Find the atom that a term names, builds or selects, in C++ or in the Python DSL.

CUTLASS 4.7: cute/arch/mma_sm90.hpp (op selectors), python/CuTeDSL/cutlass/utils (make_trivial_tiled_mma).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from lanescope.blackwell.idesc import get_kind
from lanescope.blackwell.kind import MmaKind
from lanescope.errors import LayoutError
from lanescope.ptx.table.umma_atoms import OPERATIONS
from lanescope.reader.cute.atom_meaning import AtomMeaning, find_products, parse_dtype, parse_majors, parse_umma
from lanescope.reader.cute.dsl_operations import parse_operation
from lanescope.reader.cutlass_names import cutlass
from lanescope.reader.cutlass_names.cutlass import SELECTED_N
from lanescope.reader.grammars.terms import SyntaxTerm, TermText

_CONTAINERS = frozenset(("MMA_Atom", "MMA_Traits", "Copy_Atom", "Copy_Traits", "make_mma_atom", "MMAAtom"))
_DEEPEST = 8  # nesting depth of atoms


def parse_atom(text: TermText, value: Any, depth: int = 0) -> AtomMeaning | None:
    """Return the atom that a value names, builds or selects; None if it is unknown."""
    value = text.resolve_value(value)
    if not isinstance(value, SyntaxTerm) or depth > _DEEPEST:
        return None
    if value.name in _CONTAINERS:
        return parse_atom(text, next(iter(value.inside), None), depth + 1)
    if value.name in ("conditional_t", "conditional") and len(value.angle or ()) == 3:
        return _merge_atoms(text, (value.angle or ())[1:], depth)
    return _parse_alone(text, value, depth)


def _parse_alone(text: TermText, value: SyntaxTerm, depth: int) -> AtomMeaning | None:
    """Return the atom of a term that neither wraps another atom nor is conditional."""
    if value.name in ("ss_op_selector", "rs_op_selector") and value.angle:
        return (
            parse_selector(text, value)
            if any(parse_dtype(text, argument) for argument in (value.angle or ())[:2])
            else None
        )
    if value.name == "make_trivial_tiled_mma":
        return _parse_trivial_mma(text, value)
    if value.name.endswith("Op") and value.args is not None:
        return parse_operation(text, value)
    if value.name in ("UniversalFMA", "MmaUniversalOp"):  # cute/arch/mma.hpp: 1×1×1, one thread
        return AtomMeaning((), value.name, {}, scalar=True)
    if inner := _parse_owner(value):
        return parse_atom(text, inner, depth + 1) if value.name in ("get", "declval") else None
    return _parse_named_atom(text, value)


def _parse_owner(value: SyntaxTerm) -> SyntaxTerm | None:
    """Return the first argument of a call if it is a term: the atom inside get(…) or declval(…)."""
    return value.args[0] if value.args and isinstance(value.args[0], SyntaxTerm) and not value.angle else None


def _parse_named_atom(text: TermText, value: SyntaxTerm) -> AtomMeaning | None:
    """Parse SM80_16x8x16_F32F16F16F32_TN, SM90_64x128x16_F32F16F16_SS<…> or SM100_MMA_F16BF16_SS<…>."""
    words = text.text[value.span[0] : value.span[1]]
    if re.search(r"SM1[01]\d\w*_MMA|SM103_MXF4|UMMA", words):
        return parse_umma(text, value, words)
    try:
        found = cutlass.find_atom_instructions(words)
    except LayoutError:
        return None
    majors = parse_majors(text.resolve_value(argument) for argument in value.angle or ())
    registers = re.search(r"\d_\w+_RS(?:_|\b)", words) is not None
    return AtomMeaning(tuple(found), " ".join(words.split())[:60], majors, from_registers=registers) if found else None


def _merge_atoms(text: TermText, branches: Sequence[Any], depth: int) -> AtomMeaning | None:
    """Return the atom with the candidates of all branches; None if none of them is known."""
    known = [atom for branch in branches if (atom := parse_atom(text, branch, depth + 1))]
    if not known:
        return None
    found = tuple(dict.fromkeys(i for atom in known for i in atom.found))
    majors = known[0].majors if len(known) == 1 else {}
    return AtomMeaning(found, known[0].name, majors, all(atom.tensor_memory for atom in known))


def _parse_tile_n(text: TermText, value: SyntaxTerm) -> int | None:
    """Return the N of a selector's tile."""
    angle = value.angle or ()
    shape = text.resolve_value(angle[3]) if len(angle) > 3 else None
    sizes = [text.parse_number(item) for item in shape.inside] if isinstance(shape, SyntaxTerm) else []
    return sizes[1] if len(sizes) > 1 else None


def parse_extended_n(text: TermText, value: SyntaxTerm) -> int | None:
    """Return the N that a selector chooses with CUTLASS's extended shapes (any multiple of 8 up to 256)."""
    n = _parse_tile_n(text, value)
    return next((each for each in range(256, 0, -8) if n % each == 0), None) if n else None


def list_undefined(text: TermText, value: SyntaxTerm) -> tuple[str, ...]:
    """List the arguments of a selector that the text does not define: types, and N of the tile."""
    angle = [text.resolve_value(argument) for argument in value.angle or ()]
    out = [text.format_words(argument) for argument in angle[:3] if not parse_dtype(text, argument)]
    if len(angle) > 3 and _parse_tile_n(text, value) is None:
        shape = angle[3]
        sizes = shape.inside if isinstance(shape, SyntaxTerm) else ()
        out.append(text.format_words(sizes[1] if len(sizes) > 1 else shape))
    return tuple(dict.fromkeys(out))


def parse_selector(text: TermText, value: SyntaxTerm) -> AtomMeaning | None:
    """Parse GMMA::ss_op_selector<A, B, C, TileShape_MNK, MajorA, MajorB>.

    The result has the largest N that divides the tile's N, or all candidates if N or a type is unknown.
    """
    angle = [text.resolve_value(argument) for argument in value.angle or ()]
    if len(angle) < 4:
        return None
    a, b, d = (parse_dtype(text, argument) for argument in angle[:3])
    n = _parse_tile_n(text, value)
    a, b = ("tf32" if t == "f32" else t for t in (a, b))
    wide = next((each for each in SELECTED_N if n and n % each == 0), None)
    found = find_products({"a": a, "b": b, "d": d}, {"n": wide} if wide else {}, warpgroup=True)
    if not found:
        return None
    return AtomMeaning(
        tuple(found), value.name, parse_majors(angle[4:6]), from_registers=value.name == "rs_op_selector"
    )


BLACKWELL = re.compile(r"sm1[01]\d|blackwell")  # in a module name of the DSL
# operation by the type of A, as sm100_utils.make_trivial_tiled_mma chooses it (CUTLASS 4)
_TRIVIAL = ("MmaF16BF16Op", "MmaTF32Op", "MmaI8Op", "MmaF8F6F4Op")


def _get_kind(operation: str) -> MmaKind:
    return get_kind(OPERATIONS[operation].kind)


def _parse_trivial_umma(text: TermText, value: SyntaxTerm, paired: int) -> AtomMeaning | None:
    """Parse sm100_utils.make_trivial_tiled_mma(ab | a, b, a_major, b_major, acc, cta_group, mma_tiler_mn, a_source).

    paired: 1 if A and B have separate type arguments, else 0.
    """
    first = value.get_argument(0, "a_dtype", "ab_dtype")
    types = {
        "a": first,
        "ab": first,
        "b": value.get_argument(1, "b_dtype") if paired else first,
        "d": value.get_argument(3 + paired, "acc_dtype"),
    }
    element = parse_dtype(text, first)
    element = "tf32" if element == "f32" else element
    name = next((name for name in _TRIVIAL if element in _get_kind(name).get_field("a").codes), None)
    tiler = text.resolve_value(value.get_argument(5 + paired, "mma_tiler_mn"))
    if name is None or not isinstance(tiler, tuple) or len(tiler) < 2:
        return None
    source = value.get_argument(6 + paired, "a_source")
    arguments = (
        *(types[field] for field in OPERATIONS[name].types),
        (*tiler[:2], _get_kind(name).k),
        value.get_argument(4 + paired, "cta_group"),
        "tcgen05.OperandSource.SMEM" if source is None else source,
        value.get_argument(1 + paired, "a_leading_mode"),
        value.get_argument(2 + paired, "b_leading_mode"),
    )
    atom = parse_umma(text, SyntaxTerm(f"tcgen05.{name}", args=arguments), "")
    return atom if atom.known else None


def _parse_trivial_mma(text: TermText, value: SyntaxTerm) -> AtomMeaning | None:
    """Parse make_trivial_tiled_mma of sm90_utils(a, b, a_major, b_major, acc, atom_layout_mnk, tiler_mn=(64, n)), or of
    sm100_utils.
    """
    for paired in (0, 1):
        group = value.get_argument(4 + paired, "cta_group")
        if isinstance(
            group, SyntaxTerm
        ) and "cta_group" in f"{group.path} {text.format_words(text.resolve_value(group))}".lower().replace(
            "ctagroup", "cta_group"
        ):
            return _parse_trivial_umma(text, value, int(paired or any(name == "b_dtype" for name, _ in value.named)))
    if BLACKWELL.search(value.path):
        return None
    a, b = (parse_dtype(text, value.get_argument(n, name)) for n, name in ((0, "a_dtype"), (1, "b_dtype")))
    d = parse_dtype(text, value.get_argument(4, "acc_dtype"))
    tiler = text.resolve_value(value.get_argument(6, "tiler_mn"))
    n = text.parse_number(tiler[1]) if isinstance(tiler, tuple) and len(tiler) > 1 else None
    found = find_products({"a": a, "b": b, "d": d}, {"n": n} if n else {}, warpgroup=True)
    return AtomMeaning(tuple(found), value.name, {}) if found and a else None
