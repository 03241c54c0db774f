"""Evaluate TiledMMAs: the shape of the instruction, the descriptors that it reads, the layout of atoms.

CUTLASS 4.7: cute/arch/mma_sm90_gmma.hpp, mma_sm100_umma.hpp (names and template arguments), cute/arch/mma_sm90.hpp
(ss_op_selector, rs_op_selector), cute/atom/mma_atom.hpp (TiledMMA).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from lanescope.blackwell.idesc import get_kind
from lanescope.blackwell.kind import MmaKind
from lanescope.cute import algebra
from lanescope.cute.calls.functions import OpenCuteValueError, call_function
from lanescope.cute.layout import CuteLayout
from lanescope.cute.tuples import find_size
from lanescope.cxx.sizes import find_element_bits
from lanescope.descriptor.format import DescriptorFormat
from lanescope.errors import LayoutError
from lanescope.ptx.table.descriptors import TCGEN05, WGMMA
from lanescope.ptx.table.kinds import ALONE, MAJORS, PAIR
from lanescope.ptx.table.umma_atoms import SHARED
from lanescope.reader.code.expression.integer_values import get_integer
from lanescope.reader.code.values import ArrayValue, OpaqueValue, ResolvedType, shorten_name
from lanescope.reader.cute.umma import find_atom_row
from lanescope.reader.cutlass_names.cutlass import SELECTED_BITS, choose_wgmma_shape, find_warp_shape, find_wgmma

_WRAPPERS = frozenset("MMA_Atom MMA_Traits decltype make_mma_atom remove_cvref_t remove_cv_t decay_t".split())
_TRIVIAL = {"sm100_make_1sm_trivial_tiled_mma": ALONE, "sm100_make_2sm_trivial_tiled_mma": PAIR}
MAJOR_NAMES = {code: name for name, code in MAJORS.items()}  # cute::SM90::GMMA::Major and UMMA::Major


def get_last_word(path: str) -> str:
    """Return the last name of a path: make_layout of cute::make_layout and of cute.make_layout."""
    return re.split(r"::|\.", path)[-1]


@dataclass(frozen=True, slots=True)
class CuteAtom:
    """The instruction of a TiledMMA.

    shape: M, N and K, of both CTAs together. form: the format of its descriptors, None for operands in registers. bits:
    of a stored element. majors: of A and B. a_shared: whether A is read through a descriptor. thr_size: size of its
    ThrID, the number of threads, or of CTAs for tcgen05.mma.
    """

    name: str
    shape: tuple[int, int, int]
    form: DescriptorFormat | None = None
    bits: int = 0
    majors: tuple[str, str] = ("K", "K")
    a_shared: bool = True
    ctas: int = 1
    thr_size: int = 128

    @property
    def in_tensor_memory(self) -> bool:
        """Whether the accumulators are in tensor memory, not in registers."""
        return self.form is not None and self.thr_size == self.ctas

    def get_tile(self, operand: str) -> tuple[int, int]:
        """Return (rows along M or N, elements along K) that one CTA stores of operand a or b."""
        return self.shape["ab".index(operand)] // self.ctas, self.shape[2]

    def get_major(self, operand: str) -> str:
        return self.majors["ab".index(operand)]


@dataclass(frozen=True, slots=True)
class CuteMma:
    """A TiledMMA. atoms: number along M, N and K. tiler: its permutation, None for a mode without one."""

    atom: CuteAtom
    atoms: tuple[int, int, int] = (1, 1, 1)
    tiler: tuple[Any, ...] = ()

    @property
    def tile(self) -> tuple[int, int, int]:
        """M, N and K of the tile: tile_size<i>."""
        sizes = [n * count for n, count in zip(self.atom.shape, self.atoms, strict=True)]
        for mode, mode_tiler in enumerate(self.tiler[:3]):
            if mode_tiler is not None:
                sizes[mode] = max(sizes[mode], mode_tiler if isinstance(mode_tiler, int) else mode_tiler.size)
        return sizes[0], sizes[1], sizes[2]

    @property
    def ordered(self) -> bool:
        """Whether rows and columns keep their order; a permutation of sizes alone changes nothing."""
        return all(size is None or isinstance(size, int) for size in self.tiler)


def find_tiled_mma(value: Any, evaluate: Any, depth: int = 0) -> CuteMma:
    """Find the TiledMMA that a value is, or is a slice of. evaluate: returns the layout or tuple of a value.

    OpenCuteValueError if it is unknown.
    """
    if depth > 8:
        raise OpenCuteValueError(shorten_name(value))
    kind = value.typed if isinstance(value, ArrayValue) and not value.cells else value
    if isinstance(kind, OpaqueValue) and not kind.head and kind.kind is not None:
        kind = kind.kind
    find: _FindMma | None = None
    if isinstance(kind, OpaqueValue):
        find = _CALLED_MMAS.get(kind.head)
    elif isinstance(kind, ResolvedType) and kind.arguments:
        find = _TYPED_MMAS.get(kind.name.split("::")[-1])
    if find is None:
        raise OpenCuteValueError(name_value(value))
    return find(kind, evaluate, depth + 1)


_FindMma = Callable[[Any, Any, int], CuteMma]  # of an unevaluated call or a type, `evaluate`, and the depth
_CALLED_MMAS: dict[str, _FindMma] = {
    "make_tiled_mma": lambda call, evaluate, depth: _make_mma(call.arguments, evaluate),
    **dict.fromkeys(
        ("get_slice", "get_thread_slice"),
        lambda call, evaluate, depth: find_tiled_mma(dict(call.named).get("self"), evaluate, depth),
    ),
    **dict.fromkeys(_TRIVIAL, lambda call, evaluate, depth: CuteMma(_make_trivial_atom(call, evaluate))),
}
_TYPED_MMAS: dict[str, _FindMma] = {
    "TiledMMA": lambda kind, evaluate, depth: _make_mma(kind.arguments, evaluate),
    **dict.fromkeys(
        ("decltype", "ThrMMA"), lambda kind, evaluate, depth: find_tiled_mma(kind.arguments[0], evaluate, depth)
    ),
}


def name_value(value: Any) -> str:
    """Return the last name of the path that a value depends on."""
    if isinstance(value, OpaqueValue) and value.head:
        return value.head
    return shorten_name(value).split("::")[-1] if value is not None else "a TiledMMA"


def _make_mma(arguments: Sequence[Any], evaluate: Any) -> CuteMma:
    if not arguments:
        raise OpenCuteValueError("make_tiled_mma")
    atom = find_atom(arguments[0], evaluate)
    atom_layout = evaluate(arguments[1]) if len(arguments) > 1 else (1, 1, 1)
    tiler = evaluate(arguments[2]) if len(arguments) > 2 else ()
    shape = call_function("make_layout", [atom_layout], text=shorten_name(arguments[-1])).shape
    counts = [get_size(mode) for mode in (shape if isinstance(shape, tuple) else (shape,))]
    sizes = (*counts, 1, 1, 1)[:3]
    if not isinstance(tiler, tuple) or not all(part is None or isinstance(part, int | CuteLayout) for part in tiler):
        raise OpenCuteValueError(shorten_name(arguments[2]))
    return CuteMma(atom, (sizes[0], sizes[1], sizes[2]), tiler)


def get_size(mode: Any) -> int:
    """Return the size of a mode; OpenCuteValueError unless it is a number or a tuple."""
    size = find_size(mode)
    if size is None:
        raise OpenCuteValueError(str(mode))
    return size


def find_atom(value: Any, evaluate: Any, depth: int = 0) -> CuteAtom:
    """Find the atom that a value names, wraps or selects; OpenCuteValueError if it is unknown."""
    kind = value.typed if isinstance(value, ArrayValue) and not value.cells else value
    if isinstance(kind, OpaqueValue) and kind.head in ("ss_op_selector", "rs_op_selector"):
        return _select_atom(kind, evaluate)
    name, arguments = "", ()
    if isinstance(kind, ResolvedType):
        name, arguments = kind.name, kind.arguments
    elif isinstance(kind, OpaqueValue):
        name, arguments = kind.head or kind.text, dict(kind.named).get("<>", kind.arguments)
    if name.split("::")[-1] in _WRAPPERS and arguments and depth < 8:
        return find_atom(arguments[0], evaluate, depth + 1)
    atom = _parse_atom_name(name, arguments)
    if atom is None:
        raise OpenCuteValueError(name or shorten_name(value))
    return atom


def _parse_atom_name(name: str, arguments: Sequence[Any]) -> CuteAtom | None:
    """Parse an atom's name and template arguments; None for an unknown atom."""
    short = name if name.startswith("SM90::GMMA::MMA_") else name.split("::")[-1]
    if (wgmma := find_wgmma(short)) is not None:
        majors = ("K", "K") if "_TN" in short else _parse_majors(arguments[:2])
        if majors is None:
            return None
        rows, columns, k = (wgmma.sizes[letter] for letter in "mnk")
        bits = wgmma.operands["a"].element.bits
        return CuteAtom(short, (rows, columns, k), WGMMA, bits, majors, "_SS" in short)
    if (shape := find_warp_shape(short)) is not None:
        return CuteAtom(short, shape)
    return _parse_umma_name(short, arguments)


def _parse_umma_name(name: str, arguments: Sequence[Any]) -> CuteAtom | None:
    """Parse the name and template arguments of a dense atom without block scaling; None for another atom."""
    try:
        row, ending, pair = find_atom_row(name)
    except LayoutError:
        return None
    if 0 not in row.kinds or "SPARSE" in ending:
        return None
    sizes_and_majors = [
        argument for argument in arguments[3:] if _get_number(argument) is not None or parse_major(argument)
    ]
    m, n = (*map(_get_number, sizes_and_majors[:2]), None, None)[:2]
    majors = _parse_majors(sizes_and_majors[2:4])
    kind, a_shared = get_kind(row.kinds[0]), ending.startswith(SHARED)
    return _make_umma_atom(name, kind, PAIR if pair else ALONE, (m, n), majors, a_shared)


def _make_umma_atom(
    name: str,
    kind: MmaKind,
    form: str,
    size: tuple[int | None, int | None],
    majors: tuple[str, str] | None,
    a_shared: bool = True,
) -> CuteAtom | None:
    """Make the atom of M and N; None if one of them or a major is unknown or illegal."""
    (m, n), legal = size, kind.sizes[form, False]
    if majors is None or m is None or n is None or m not in legal.m or n not in legal.n or kind.scaled:
        return None
    ctas = 2 if form == PAIR else 1
    return CuteAtom(name, (m, n, kind.k), TCGEN05, kind.element_bits, majors, a_shared, ctas, ctas)


def _select_atom(call: OpaqueValue, evaluate: Any) -> CuteAtom:
    """Return the atom of GMMA::ss_op_selector<A, B, D, TileShape_MNK, MajorA, MajorB>(), with the largest N that
    divides the tile's.
    """
    arguments = get_templates(call)
    bits = get_type_bits(arguments[0]) if arguments else None
    if len(arguments) < 4 or bits not in SELECTED_BITS:
        raise OpenCuteValueError(shorten_name(arguments[0]) if arguments else call.text)
    tile = evaluate(arguments[3])
    major_arguments = arguments[4:6]
    majors = (
        _parse_majors(major_arguments) if len(major_arguments) == 2 else ("K", "K") if not major_arguments else None
    )
    if not isinstance(tile, tuple) or len(tile) < 3 or majors is None:
        raise OpenCuteValueError(call.text)
    shape = choose_wgmma_shape(bits, get_size(tile[1]))
    if shape is None:
        raise OpenCuteValueError(call.text)
    return CuteAtom("m{}n{}k{}".format(*shape), shape, WGMMA, bits, majors, call.head[0] == "s")


def _make_trivial_atom(call: OpaqueValue, evaluate: Any) -> CuteAtom:
    """Return the atom of sm100_make_1sm_trivial_tiled_mma<A, B, D, TileShape_MNK, Cluster, MajorA, MajorB>():
    cutlass/gemm/collective/builders/sm100_common.inl.
    """
    arguments = get_templates(call)
    if len(arguments) < 7:
        raise OpenCuteValueError(call.head)
    bits, majors, tile = get_type_bits(arguments[0]), _parse_majors(arguments[5:7]), evaluate(arguments[3])
    if bits not in SELECTED_BITS or majors is None or not isinstance(tile, tuple) or len(tile) < 3:
        raise OpenCuteValueError(shorten_name(arguments[0]) if bits is None else call.head)
    kind, m, n = get_kind(TCGEN05.readers[bits]), get_size(tile[0]), get_size(tile[1])
    atom = _make_umma_atom(f"tcgen05.mma m{m}n{n}k{kind.k}", kind, _TRIVIAL[call.head], (m, n), majors)
    if atom is None:
        raise OpenCuteValueError(call.head)
    return atom


def get_templates(call: OpaqueValue) -> tuple[Any, ...]:
    return tuple(
        argument for argument in dict(call.named).get("<>", ()) if str(argument) not in ("typename", "template")
    )


def get_type_bits(value: Any) -> int | None:
    """Return the bits of an element type that a value is or names; None for another value."""
    if isinstance(value, ResolvedType) and value.bits:
        return value.bits
    return find_element_bits(get_last_word(str(value)))


def _get_number(value: Any) -> int | None:
    if isinstance(value, ResolvedType):
        match = re.fullmatch(r"_(\d+)", value.name.split("::")[-1])
        inner = value.arguments[-1] if value.arguments and value.name.split("::")[-1] in ("Int", "C") else None
        return int(match[1]) if match else _get_number(inner) if inner is not None else None
    number = get_integer(value) if value is not None and not isinstance(value, str) else None
    return number.known if number is not None else None


def parse_major(value: Any) -> str:
    """Return K or MN, "" for another value."""
    if (number := _get_number(value)) is not None:
        return MAJOR_NAMES.get(number, "")
    word = get_last_word(str(value))
    return word if word in MAJORS else ""


def _parse_majors(values: Sequence[Any]) -> tuple[str, str] | None:
    majors = [parse_major(value) for value in values]
    return (majors[0], majors[1]) if len(majors) == 2 and all(majors) else None


# what depends on a TiledMMA -------------------------------------------------------------------------------------------

MEMBER_TYPES = frozenset(("AtomThrID", "AtomShape_MNK", "Shape_MNK"))


def find_member_type(name: str, owner: Any, evaluate: Any) -> ResolvedType | None:
    """Return TiledMMA::AtomThrID (the CTAs or threads of an instruction) or ::AtomShape_MNK, or Shape_MNK of an
    MMA_Traits or MMA_Atom; None if unknown.
    """
    try:
        atom = find_atom(owner, evaluate) if name == "Shape_MNK" else find_tiled_mma(owner, evaluate).atom
    except (OpenCuteValueError, LayoutError):
        return None
    if name != "AtomThrID":
        return ResolvedType("Shape", arguments=tuple(ResolvedType(f"_{size}") for size in atom.shape))
    if atom.form is None:
        return None
    return ResolvedType("Layout", arguments=(ResolvedType(f"_{atom.thr_size}"),))


MMA_CALLS = frozenset(("tile_size", "partition_shape_A", "partition_shape_B", "tile_to_mma_shape"))


def evaluate_mma_call(name: str, term: OpaqueValue, evaluate: Any) -> Any:
    """Evaluate a call of MMA_CALLS: sizes of a TiledMMA, the shape of a partitioned tensor, a tile of that shape.

    None for unsupported arguments; OpenCuteValueError if the TiledMMA is unknown.
    """
    arguments = term.arguments
    if name == "tile_to_mma_shape":
        return tile_to_mma_shape([evaluate(argument) for argument in arguments])
    if name == "tile_size":
        place = _get_number(next(iter(dict(term.named).get("<>", ())), None))
        if len(arguments) != 1 or place is None or place > 2:
            return None
        return find_tiled_mma(arguments[0], evaluate).tile[place]
    if len(arguments) != 2:
        return None
    mma, shape = find_tiled_mma(arguments[0], evaluate), evaluate(arguments[1])
    operand = name[-1].lower()
    if not isinstance(shape, tuple) or len(shape) < 2 or mma.atom.form is None or not mma.ordered:
        return None
    parts = (mma.atom.shape["ab".index(operand)] * mma.atoms["ab".index(operand)], mma.atom.shape[2] * mma.atoms[2])
    sizes = tuple(get_size(mode) for mode in shape[:2])
    if any(size % part for size, part in zip(sizes, parts, strict=True)):
        return None
    return (mma.atom.get_tile(operand), sizes[0] // parts[0], sizes[1] // parts[1], *shape[2:])


def tile_to_mma_shape(values: Sequence[Any]) -> CuteLayout | None:
    """Return UMMA::tile_to_mma_shape(atom, ((M, K), rest of M, rest of K, …), order)."""
    if not 2 <= len(values) <= 3 or not isinstance(values[0], CuteLayout):
        return None
    shape = values[1]
    if not isinstance(shape, tuple) or len(shape) < 3 or not isinstance(shape[0], tuple) or len(shape[0]) != 2:
        return None
    atom_shape = tuple(get_size(mode) for mode in shape[0])
    tile_shape = (atom_shape[0] * get_size(shape[1]), atom_shape[1] * get_size(shape[2]), *shape[3:])
    return algebra.tiled_divide(algebra.tile_to_shape(values[0], tile_shape, *values[2:]), atom_shape)
