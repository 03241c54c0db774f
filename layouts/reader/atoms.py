"""The instructions behind an atom of CuTe, in C++ or in the Python DSL: names, selectors, operations, prints.

CUTLASS 4.7: cute/arch/mma_sm90.hpp (op selectors), python/CuTeDSL/cutlass/cute/nvgpu (warp, warpgroup, tcgen05).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.ptx.dtypes import SPELLED
from lanescope.ptx.instruction import WARPGROUP, Instruction, OperandPlace
from lanescope.ptx.role import InstructionVerb
from lanescope.ptx.table import atoms as names
from lanescope.reader import cutlass, terms, umma
from lanescope.reader.operation_types import list_takeable
from lanescope.reader.terms import SyntaxTerm, TermText
from lanescope.reader.umma import SpelledAtom

_CONTAINERS = frozenset(("MMA_Atom", "MMA_Traits", "Copy_Atom", "Copy_Traits", "make_mma_atom", "MMAAtom"))
_SELECTED = (256, 192, 128, 96, 64, 32, 16, 8)  # N that the selectors choose from, without the extended shapes
_DEEPEST = 8  # atoms in one another
_K_MAJOR, _MN_MAJOR = re.compile(r"(?:^|::|\.|_)K$"), re.compile(r"(?:^|::|\.|_)(?:MN|M|N)$")
_SCALED = {
    "MmaMXF8Op": "kind::mxf8f6f4",
    "MmaMXF8F6F4Op": "kind::mxf8f6f4",
    "MmaMXF4Op": "kind::mxf4",
    "MmaMXF4NVF4Op": "kind::mxf4nvf4",
}
_ONE_TYPE = frozenset(("MmaMXF8Op", "MmaMXF4Op", "MmaMXF4NVF4Op"))  # of A and B; a scale's type stands behind
OPERATION = re.compile(
    r"(?<![\w.])(?:\w+\.){0,6}(?:Mma(?:F16BF16|TF32|F8|FP8|I8|F8F6F4|MX\w{2,10})Op|(?:Ld|St)Matrix\w{4,12}Op)\s*\("
)


@dataclass(frozen=True, slots=True)
class AtomMeaning:
    """What an atom is: its instructions (several where its text leaves them open), which way its operands lie, whether
    it is one of tensor memory (tcgen05), whether a wgmma takes A from registers, the UMMA atom where its arguments are
    known, and what to know beside its instructions."""

    found: tuple[Instruction, ...]
    name: str
    majors: dict[str, str]
    tensor_memory: bool = False
    from_registers: bool = False
    umma: SpelledAtom | None = None
    note: str = ""

    @property
    def spelled(self) -> str | None:
        """Its first instruction as POST /tiles/mma takes it: PTX, or CUTLASS's name where that alone says _RS."""
        if self.umma:
            return self.name if self.umma.atom else None
        if not self.found:
            return None
        name = names.get_atom_name(self.found[0]).split(" (")[0].replace("SM90::GMMA::MMA_", "SM90_")
        return name.replace("_SS", "_RS") if self.from_registers and "_SS" in name else self.found[0].ptx

    @property
    def known(self) -> bool:
        """Whether the text says which instructions it is."""
        return bool(self.found or (self.umma and self.umma.atom))

    @property
    def threads(self) -> int | None:
        if self.umma:
            return self.umma.atom.ctas if self.umma.atom else None
        scopes = {threads_of(i) for i in self.found}
        return scopes.pop() if len(scopes) == 1 else None

    @property
    def shape(self) -> list[int] | None:
        if self.umma:
            return list(self.umma.atom.shape) if self.umma.atom else None
        shapes = {tuple(i.sizes[dim] for dim in "mnk") for i in self.found if i.family.multiplies}
        return list(shapes.pop()) if len(shapes) == 1 else None


def threads_of(i: Instruction) -> int:
    """How many threads an instruction's atom has: the quad pairs of mma.m8n8k4 are 8."""
    return 8 if i.shape == "m8n8k4" and i.types["a"] != "f64" else i.family.scope.threads


def parse_dtype(text: TermText, value: Any) -> str:
    """PTX's name of an element type, "" where it is no known one."""
    value = text.resolve_value(value)
    name = value if isinstance(value, str) else value.name if isinstance(value, SyntaxTerm) else ""
    return SPELLED.get(name.lower(), "")


def parse_majors(values: Iterable[Any]) -> dict[str, str]:
    """{"a","b"}: K or MN, of the values that name a major, in order."""
    said = []
    for value in values:
        path = value.path if isinstance(value, SyntaxTerm) else ""
        if re.search(r"major|OperandMajorMode", path, re.I) or path in ("K", "MN"):
            said.append("MN" if _MN_MAJOR.search(path) else "K" if _K_MAJOR.search(path) else "")
    return dict(zip("ab", said, strict=False)) if len(said) == 2 and all(said) else {}


def parse_atom(text: TermText, value: Any, deep: int = 0) -> AtomMeaning | None:
    """The atom that a value names, builds or selects; None where it is unknown."""
    value = text.resolve_value(value)
    if not isinstance(value, SyntaxTerm) or deep > _DEEPEST:
        return None
    if value.name in _CONTAINERS:
        return parse_atom(text, next(iter(value.inside), None), deep + 1)
    if value.name in ("conditional_t", "conditional") and len(value.angle or ()) == 3:
        return _merge_atoms(text, (value.angle or ())[1:], deep)
    if value.name in ("ss_op_selector", "rs_op_selector") and value.angle:
        return _selected_by_types(text, value)
    if value.name == "make_trivial_tiled_mma":
        return _parse_trivial_mma(text, value)
    if value.name.endswith("Op") and value.args is not None:
        return parse_operation(text, value)
    if inner := _called_on(value):
        return parse_atom(text, inner, deep + 1) if value.name in ("get", "declval") else None
    return _named(text, value)


def _called_on(value: SyntaxTerm) -> SyntaxTerm | None:
    """The term that a call is around."""
    return value.args[0] if value.args and isinstance(value.args[0], SyntaxTerm) and not value.angle else None


def _named(text: TermText, value: SyntaxTerm) -> AtomMeaning | None:
    """SM80_16x8x16_F32F16F16F32_TN, SM90_64x128x16_F32F16F16_SS<…>, SM100_MMA_F16BF16_SS<…>"""
    words = text.text[value.span[0] : value.span[1]]
    if re.search(r"SM1[01]\d\w*_MMA|SM103_MXF4|UMMA", words):
        return _parse_umma(text, value, words)
    try:
        found = cutlass.find_atom_instructions(words)
    except LayoutError:
        return None
    majors = parse_majors(text.resolve_value(one) for one in value.angle or ())
    registers = re.search(r"\d_\w+_RS(?:_|\b)", words) is not None
    return AtomMeaning(tuple(found), " ".join(words.split())[:60], majors, from_registers=registers) if found else None


def _parse_umma(text: TermText, value: SyntaxTerm, words: str) -> AtomMeaning:
    """An atom of tensor memory; its arguments where they are known, defined names put in."""
    try:
        spelled = umma.parse_umma_term(text, value)
    except LayoutError:
        spelled = None
    said = umma.expand_names(text, value) if spelled and spelled.atom else " ".join(words.split())[:60]
    majors = {name: spelled.atom.get_major(name) for name in "ab"} if spelled and spelled.atom else {}
    return AtomMeaning((), said, majors, True, umma=spelled)


def _merge_atoms(text: TermText, branches: Sequence[Any], deep: int) -> AtomMeaning | None:
    """The atom that one of several types is; None where none of them is known."""
    known = [one for branch in branches if (one := parse_atom(text, branch, deep + 1))]
    if not known:
        return None
    found = tuple(dict.fromkeys(i for one in known for i in one.found))
    majors = known[0].majors if len(known) == 1 else {}
    return AtomMeaning(found, known[0].name, majors, all(one.tensor_memory for one in known))


def _parse_tile_n(text: TermText, value: SyntaxTerm) -> int | None:
    """N of the tile that a selector is given."""
    angle = value.angle or ()
    shape = text.resolve_value(angle[3]) if len(angle) > 3 else None
    sizes = [text.parse_number(one) for one in shape.inside] if isinstance(shape, SyntaxTerm) else []
    return sizes[1] if len(sizes) > 1 else None


def parse_extended_n(text: TermText, value: SyntaxTerm) -> int | None:
    """N that a selector chooses where CUTLASS is built with its extended shapes: any multiple of 8 up to 256."""
    n = _parse_tile_n(text, value)
    return next((each for each in range(256, 0, -8) if n % each == 0), None) if n else None


def list_undefined(text: TermText, value: SyntaxTerm) -> tuple[str, ...]:
    """What a selector is given that the text does not define: types, and N of the tile."""
    angle = [text.resolve_value(one) for one in value.angle or ()]
    out = [text.format_words(one) for one in angle[:3] if not parse_dtype(text, one)]
    if len(angle) > 3 and _parse_tile_n(text, value) is None:
        shape = angle[3]
        sizes = shape.inside if isinstance(shape, SyntaxTerm) else ()
        out.append(text.format_words(sizes[1] if len(sizes) > 1 else shape))
    return tuple(dict.fromkeys(out))


def _selected_by_types(text: TermText, value: SyntaxTerm) -> AtomMeaning | None:
    """What a selector chooses; None where the text leaves both types of A and B open."""
    return parse_selector(text, value) if any(parse_dtype(text, one) for one in (value.angle or ())[:2]) else None


def parse_selector(text: TermText, value: SyntaxTerm) -> AtomMeaning | None:
    """GMMA::ss_op_selector<A, B, C, TileShape_MNK, MajorA, MajorB>: the largest N that divides the tile's; of types and
    an N that the text leaves open all there are.
    """
    angle = [text.resolve_value(one) for one in value.angle or ()]
    if len(angle) < 4:
        return None
    a, b, d = (parse_dtype(text, one) for one in angle[:3])
    n = _parse_tile_n(text, value)
    a, b = ("tf32" if t == "f32" else t for t in (a, b))
    wide = next((each for each in _SELECTED if n and n % each == 0), None)
    found = find_products({"a": a, "b": b, "d": d}, {"n": wide} if wide else {}, warpgroup=True)
    if not found:
        return None
    return AtomMeaning(
        tuple(found), value.name, parse_majors(angle[4:6]), from_registers=value.name == "rs_op_selector"
    )


BLACKWELL = re.compile(r"sm1[01]\d|blackwell")  # in the name of a module of the DSL
_TRIVIAL = (  # of sm100_utils.make_trivial_tiled_mma: its types, the operation it makes, K (CUTLASS 4)
    ({"f16", "bf16"}, "MmaF16BF16Op({a}, {d}, ", 16),
    ({"tf32", "f32"}, "MmaTF32Op(", 8),
    ({"s8", "u8"}, "MmaI8Op({a}, ", 32),
    ({"e4m3", "e5m2", "e3m2", "e2m3", "e2m1"}, "MmaF8F6F4Op({a}, {b}, {d}, ", 32),
)


def _parse_trivial_umma(text: TermText, value: SyntaxTerm, paired: int) -> AtomMeaning | None:
    """sm100_utils.make_trivial_tiled_mma(ab | a, b, a_major, b_major, acc, cta_group, mma_tiler_mn, a_source).

    paired: 1 where A and B have a type each.
    """
    first = value.get_argument(0, "a_dtype", "ab_dtype")
    given = {
        "a": first,
        "b": value.get_argument(1, "b_dtype") if paired else first,
        "d": value.get_argument(3 + paired, "acc_dtype"),
        "group": value.get_argument(4 + paired, "cta_group"),
        "x": value.get_argument(1 + paired, "a_leading_mode"),
        "y": value.get_argument(2 + paired, "b_leading_mode"),
        "source": value.get_argument(6 + paired, "a_source"),
    }
    words = {name: text.format_words(text.resolve_value(one)) for name, one in given.items() if one is not None}
    tiler = text.resolve_value(value.get_argument(5 + paired, "mma_tiler_mn"))
    sizes = [text.parse_number(one) for one in tiler] if isinstance(tiler, tuple) else []
    kind = parse_dtype(text, first)
    row = next((row for row in _TRIVIAL if kind in row[0]), None)
    if row is None or len(sizes) < 2 or None in sizes[:2] or not {"a", "b", "d", "group", "x", "y"} <= set(words):
        return None
    source = words.get("source", "tcgen05.OperandSource.SMEM")
    said = f"tcgen05.{row[1].format(**words)}({sizes[0]}, {sizes[1]}, {row[2]}), {words['group']}, {source}"
    try:
        spelled = umma.parse_umma_text(f"{said}, {words['x']}, {words['y']})")
    except LayoutError:
        return None
    return (
        AtomMeaning((), spelled.text, {n: spelled.atom.get_major(n) for n in "ab"}, True, umma=spelled)
        if (spelled and spelled.atom)
        else None
    )


def _parse_trivial_mma(text: TermText, value: SyntaxTerm) -> AtomMeaning | None:
    """sm90_utils.make_trivial_tiled_mma(a, b, a_major, b_major, acc, atom_layout_mnk, tiler_mn=(64, n)), or that of
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


def find_products(types: dict[str, str], sizes: dict[str, int], warpgroup: bool) -> list[Instruction]:
    """The dense products with these types and sizes, those left empty being open; without rounding and saturation."""
    return [
        i
        for i in catalog.instructions()
        if i.family.multiplies
        and i.family.specified
        and (i.family.scope is WARPGROUP) == warpgroup
        and not i.family.sparsity
        and not i.family.scale_blocks
        and not set(i.modifiers) & {"satfinite", "rn", "rz", "rm", "rp"}
        and all(i.types.get(letter) == kind for letter, kind in types.items() if kind)
        and all(i.sizes.get(dim) == size for dim, size in sizes.items())
    ]


def parse_operation(text: TermText, value: SyntaxTerm) -> AtomMeaning | None:
    """An operation of cute.nvgpu: warp.MmaF16BF16Op(ab, acc, shape), warpgroup.MmaF8Op(a, b, acc, shape, …),
    warp.LdMatrix8x8x16bOp(transpose, num_matrices).
    """
    if re.match(r"(?:Ld|St)Matrix", value.name):
        return _parse_move(text, value)
    if "tcgen05" in value.path:
        return _parse_umma(text, value, text.text[value.span[0] : value.span[1]])
    args = [text.resolve_value(one) for one in (*(value.args or ()), *(one for _, one in value.named))]
    kinds, shape = _types_and_shape(text, args)
    warpgroup = "warpgroup" in value.path or shape[:1] == [64]
    if not warpgroup and "warp" not in value.path and not shape:
        return None
    types = _operand_types(value, kinds)
    if scaled := _SCALED.get(value.name):
        found = _scaled_products(scaled, types["a"], types["b"])
    else:
        sizes = {dim: size for dim, size in zip("mnk", shape, strict=False) if size}
        found = list_takeable(value.name, find_products(types, sizes, warpgroup))
    registers = any(isinstance(one, SyntaxTerm) and one.name == "RMEM" for one in args)
    return AtomMeaning(tuple(found), value.path, parse_majors(args), from_registers=registers) if found else None


def _types_and_shape(text: TermText, args: list[Any]) -> tuple[list[str], list[int | None]]:
    """The types that stand before an operation's shape, and the shape; None for a size that is open."""
    kinds: list[str] = []
    for one in args:
        if isinstance(one, tuple) and one:
            return kinds, [text.parse_number(each) for each in one]
        if kind := parse_dtype(text, one):
            kinds.append(kind)
    return kinds, []


def _operand_types(value: SyntaxTerm, kinds: list[str]) -> dict[str, str]:
    """The types of A, B and D that an operation is given, "" for one that is open."""
    if "TF32" in value.name and len(kinds) < 2:
        kinds = ["tf32", "f32"]
    a = b = kinds[0] if kinds else ""
    if len(kinds) > 2 and value.name not in _ONE_TYPE and "ab_dtype" not in value.given:
        b = kinds[1]
    d = kinds[-1] if len(kinds) > 1 else "s32" if "I8" in value.name else ""
    return {"a": a, "b": b, "d": d}


def _scaled_products(kind: str, a: str, b: str) -> list[Instruction]:
    """The dense products with scale factors of a kind; the types are open where they are ""."""
    return [
        i
        for i in catalog.instructions()
        if i.family.scale_blocks
        and kind in i.modifiers
        and not i.family.sparsity
        and (not a or i.types["a"] == a)
        and (not b or i.types["b"] == b)
    ]


@dataclass(frozen=True, slots=True)
class _MoveOperation:
    """What an operation that moves matrices takes. shape, bits: of the instruction's matrix, each of which is `each` of
    the operation's; turned: its transpose, None for either; unpacks: the unpack_bits it takes; older: whether releases
    before CUTLASS 4.4 had it, with num_matrices alone.
    """

    shape: str
    bits: int
    counts: tuple[int, ...]
    turned: bool | None = None
    unpacks: tuple[int, ...] = ()
    each: int = 1
    older: bool = False
    note: str = ""


# CUTLASS 4.0 and 4.7, python/CuTeDSL/cutlass/cute/nvgpu/warp/copy.py
_MOVES = {
    "LdMatrix8x8x16bOp": _MoveOperation("m8n8", 16, (1, 2, 4)),
    "LdMatrix8x16x8bOp": _MoveOperation("m8n16", 8, (1, 2, 4), False, (4, 6)),
    "LdMatrix16x16x8bOp": _MoveOperation("m16n16", 8, (1, 2), True, (4, 6), older=True),
    "LdMatrix16x8x8bOp": _MoveOperation(
        "m16n16",
        8,
        (2, 4),
        turned=True,
        unpacks=(4, 6),
        each=2,
        older=False,
        note="The operation permutes addresses and values around this instruction, so that a thread holds what"
        " stmatrix.m16n8.trans stores; the instruction's own map is the one before that.",
    ),
    "StMatrix8x8x16bOp": _MoveOperation("m8n8", 16, (1, 2, 4)),
    "StMatrix16x8x8bOp": _MoveOperation("m16n8", 8, (1, 2, 4), True, older=True),
}


def _parse_move(text: TermText, value: SyntaxTerm) -> AtomMeaning | None:
    """LdMatrix8x8x16bOp(transpose=False, num_matrices=1, unpack_bits=None). LayoutError `bad_operation` for arguments
    that no release takes.
    """
    row = _MOVES.get(value.name)
    if row is None:
        return None
    args = [text.resolve_value(one) for one in value.args or ()]
    older = row.older and _has_count_alone(value, args)
    names = ("num_matrices",) if older else ("transpose", "num_matrices", "unpack_bits")
    given = {**dict(zip(names, args, strict=False)), **{name: text.resolve_value(one) for name, one in value.named}}
    turned = True if older else given.get("transpose", False)
    if isinstance(turned, SyntaxTerm):
        turned = {"True": True, "False": False}.get(turned.name, turned)
    count = text.parse_number(given.get("num_matrices", 1))
    unpack = text.parse_number(given.get("unpack_bits"))
    if why := _move_fault(row, turned, count, unpack):
        raise _make_move_error(value.name, row, why)
    verb = InstructionVerb.LOAD if value.name.startswith("Ld") else InstructionVerb.STORE
    found = _move_instructions(row, verb, turned if isinstance(turned, bool) else None, count, unpack)
    return AtomMeaning(tuple(found), value.path, {}, note=_OLDER if older else row.note) if found else None


_OLDER = "Written as before CUTLASS 4.4, with num_matrices alone; since then transpose=True comes first."


def _has_count_alone(value: SyntaxTerm, args: list[Any]) -> bool:
    """Whether an operation is given num_matrices and nothing else."""
    if args:
        return len(args) == 1 and isinstance(args[0], int) and not value.named
    return [name for name, _ in value.named] == ["num_matrices"]


def _move_fault(row: _MoveOperation, turned: Any, count: int | None, unpack: int | None) -> str:
    """Say which argument no release takes; "" where all may be right."""
    if isinstance(turned, bool) and row.turned is not None and turned is not row.turned:
        return f"transpose is {turned}; it must be {row.turned}"
    if not isinstance(turned, bool) and isinstance(turned, int):
        return f"transpose is {turned}, which is no bool"
    if count is not None and count not in row.counts:
        return f"num_matrices is {count}"
    if unpack is not None and unpack not in row.unpacks:
        return f"unpack_bits is {unpack}"
    return ""


def _move_instructions(
    row: _MoveOperation, verb: InstructionVerb, turned: bool | None, count: int | None, unpack: int | None
) -> list[Instruction]:
    """The instructions of an operation; None for an argument that is open."""
    whole = row.shape == "m8n16" and unpack is None  # eight rows of 16 bytes
    shape, bits = ("m8n8", 16) if whole else (row.shape, row.bits)
    return [
        i
        for i in catalog.instructions()
        if i.family.verb is verb
        and i.family.memory is OperandPlace.ROWS
        and i.shape == shape
        and (count is None or i.counts.get("x", 1) == count // row.each)
        and (turned is None or ("trans" in i.modifiers) == turned)
        and next(iter(i.operands.values())).container_bits == bits
        and (f"b{unpack}x16" in i.family.unpacks if unpack is not None else not i.family.unpacks)
    ]


def list_moves(name: str) -> list[AtomMeaning]:
    """What the class of an operation that moves matrices makes, with each of the arguments that it takes; the first
    is of its defaults where it takes these. [] for other names.
    """
    row = _MOVES.get(name)
    if row is None:
        return []
    turned = (False, True) if row.turned is None else (row.turned,)
    given = [
        f"transpose={way}, num_matrices={count}, unpack_bits={unpack}"
        for unpack in (None, *row.unpacks)
        for way in turned
        for count in row.counts
    ]
    homes = [terms.make_term_text(f"{name}({one})") for one in given]
    return [one for home in homes for term in terms.find_terms(home, OPERATION) if (one := _parse_move(home, term))]


def describe_defaults(name: str) -> str:
    """What an operation that moves matrices is without arguments, or that it has to be given some.

    >>> describe_defaults("StMatrix8x8x16bOp")
    'StMatrix8x8x16bOp() is stmatrix.sync.aligned.m8n8.x1.shared.b16.'
    """
    home = terms.make_term_text(f"{name}()")
    try:
        made = [one for term in terms.find_terms(home, OPERATION) if (one := _parse_move(home, term))]
    except LayoutError as error:
        return error.hint
    return f"{name}() is {made[0].found[0].ptx}." if made else ""


def _make_move_error(name: str, row: _MoveOperation, why: str) -> LayoutError:
    counts = "|".join(map(str, row.counts))
    turned = "True|False" if row.turned is None else str(row.turned)
    unpacks = f", unpack_bits=None|{'|'.join(map(str, row.unpacks))}" if row.unpacks else ""
    return LayoutError(
        "bad_operation",
        f"{name} does not take these arguments: {why}.",
        f"Allowed: {name}(transpose={turned}, num_matrices={counts}{unpacks}).",
        "text",
    )


def parse_operations(text: str) -> list[AtomMeaning]:
    """Every operation of cute.nvgpu that a text builds. LayoutError where it builds wrong ones alone."""
    home = terms.make_term_text(text)
    out: list[AtomMeaning] = []
    refused: list[LayoutError] = []
    for term in terms.find_terms(home, OPERATION):
        try:
            one = parse_operation(home, term) if term.args is not None else None
        except LayoutError as error:
            refused.append(error)
            continue
        out += [one] if one else []
    if refused and not out:
        raise refused[0]
    return out
