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
from lanescope.ptx.instruction import WARPGROUP, Instruction, Place
from lanescope.ptx.role import Verb
from lanescope.ptx.table import atoms as names
from lanescope.reader import cutlass, terms, umma
from lanescope.reader.terms import Term, Text
from lanescope.reader.umma import Spelled

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
class Atom:
    """What an atom is: its instructions (several where its text leaves them open), which way its operands lie, whether
    it is one of tensor memory (tcgen05), whether a wgmma takes A from registers, the UMMA atom where its arguments are
    known, and what to know beside its instructions."""

    found: tuple[Instruction, ...]
    name: str
    majors: dict[str, str]
    tensor_memory: bool = False
    from_registers: bool = False
    umma: Spelled | None = None
    note: str = ""

    @property
    def spelled(self) -> str | None:
        """Its first instruction as POST /tiles/mma takes it: PTX, or CUTLASS's name where that alone says _RS."""
        if self.umma:
            return self.name if self.umma.atom else None
        if not self.found:
            return None
        name = names.atom(self.found[0]).split(" (")[0].replace("SM90::GMMA::MMA_", "SM90_")
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


def dtype_of(text: Text, value: Any) -> str:
    """PTX's name of an element type, "" where it is no known one."""
    value = text.meant(value)
    name = value if isinstance(value, str) else value.name if isinstance(value, Term) else ""
    return SPELLED.get(name.lower(), "")


def majors_of(values: Iterable[Any]) -> dict[str, str]:
    """{"a","b"}: K or MN, of the values that name a major, in order."""
    said = []
    for value in values:
        path = value.path if isinstance(value, Term) else ""
        if re.search(r"major|OperandMajorMode", path, re.I) or path in ("K", "MN"):
            said.append("MN" if _MN_MAJOR.search(path) else "K" if _K_MAJOR.search(path) else "")
    return dict(zip("ab", said, strict=False)) if len(said) == 2 and all(said) else {}


def atom(text: Text, value: Any, deep: int = 0) -> Atom | None:
    """The atom that a value names, builds or selects; None where it is unknown."""
    value = text.meant(value)
    if not isinstance(value, Term) or deep > _DEEPEST:
        return None
    if value.name in _CONTAINERS:
        return atom(text, next(iter(value.inside), None), deep + 1)
    if value.name in ("conditional_t", "conditional") and len(value.angle or ()) == 3:
        return _either(text, (value.angle or ())[1:], deep)
    if value.name in ("ss_op_selector", "rs_op_selector") and value.angle:
        return _selected_by_types(text, value)
    if value.name == "make_trivial_tiled_mma":
        return _trivial(text, value)
    if value.name.endswith("Op") and value.args is not None:
        return operation(text, value)
    if inner := _called_on(value):
        return atom(text, inner, deep + 1) if value.name in ("get", "declval") else None
    return _named(text, value)


def _called_on(value: Term) -> Term | None:
    """The term that a call is around."""
    return value.args[0] if value.args and isinstance(value.args[0], Term) and not value.angle else None


def _named(text: Text, value: Term) -> Atom | None:
    """SM80_16x8x16_F32F16F16F32_TN, SM90_64x128x16_F32F16F16_SS<…>, SM100_MMA_F16BF16_SS<…>"""
    words = text.text[value.span[0] : value.span[1]]
    if re.search(r"SM1[01]\d\w*_MMA|SM103_MXF4|UMMA", words):
        return _umma(text, value, words)
    try:
        found = cutlass.instructions(words)
    except LayoutError:
        return None
    majors = majors_of(text.meant(one) for one in value.angle or ())
    registers = re.search(r"\d_\w+_RS(?:_|\b)", words) is not None
    return Atom(tuple(found), " ".join(words.split())[:60], majors, from_registers=registers) if found else None


def _umma(text: Text, value: Term, words: str) -> Atom:
    """An atom of tensor memory; its arguments where they are known, defined names put in."""
    try:
        spelled = umma.of_term(text, value)
    except LayoutError:
        spelled = None
    said = umma.written(text, value) if spelled and spelled.atom else " ".join(words.split())[:60]
    majors = {name: spelled.atom.major(name) for name in "ab"} if spelled and spelled.atom else {}
    return Atom((), said, majors, True, umma=spelled)


def _either(text: Text, branches: Sequence[Any], deep: int) -> Atom | None:
    """The atom that one of several types is; None where none of them is known."""
    known = [one for branch in branches if (one := atom(text, branch, deep + 1))]
    if not known:
        return None
    found = tuple(dict.fromkeys(i for one in known for i in one.found))
    majors = known[0].majors if len(known) == 1 else {}
    return Atom(found, known[0].name, majors, all(one.tensor_memory for one in known))


def _tile_n(text: Text, value: Term) -> int | None:
    """N of the tile that a selector is given."""
    angle = value.angle or ()
    shape = text.meant(angle[3]) if len(angle) > 3 else None
    sizes = [text.number(one) for one in shape.inside] if isinstance(shape, Term) else []
    return sizes[1] if len(sizes) > 1 else None


def extended(text: Text, value: Term) -> int | None:
    """N that a selector chooses where CUTLASS is built with its extended shapes: any multiple of 8 up to 256."""
    n = _tile_n(text, value)
    return next((each for each in range(256, 0, -8) if n % each == 0), None) if n else None


def opened(text: Text, value: Term) -> tuple[str, ...]:
    """What a selector is given that the text does not define: types, and N of the tile."""
    angle = [text.meant(one) for one in value.angle or ()]
    out = [text.words(one) for one in angle[:3] if not dtype_of(text, one)]
    if len(angle) > 3 and _tile_n(text, value) is None:
        shape = angle[3]
        sizes = shape.inside if isinstance(shape, Term) else ()
        out.append(text.words(sizes[1] if len(sizes) > 1 else shape))
    return tuple(dict.fromkeys(out))


def _selected_by_types(text: Text, value: Term) -> Atom | None:
    """What a selector chooses; None where the text leaves both types of A and B open."""
    return selected(text, value) if any(dtype_of(text, one) for one in (value.angle or ())[:2]) else None


def selected(text: Text, value: Term) -> Atom | None:
    """GMMA::ss_op_selector<A, B, C, TileShape_MNK, MajorA, MajorB>: the largest N that divides the tile's; of types and
    an N that the text leaves open all there are.
    """
    angle = [text.meant(one) for one in value.angle or ()]
    if len(angle) < 4:
        return None
    a, b, d = (dtype_of(text, one) for one in angle[:3])
    n = _tile_n(text, value)
    a, b = ("tf32" if t == "f32" else t for t in (a, b))
    wide = next((each for each in _SELECTED if n and n % each == 0), None)
    found = products({"a": a, "b": b, "d": d}, {"n": wide} if wide else {}, warpgroup=True)
    if not found:
        return None
    return Atom(tuple(found), value.name, majors_of(angle[4:6]), from_registers=value.name == "rs_op_selector")


BLACKWELL = re.compile(r"sm1[01]\d|blackwell")  # in the name of a module of the DSL
_TRIVIAL = (  # of sm100_utils.make_trivial_tiled_mma: its types, the operation it makes, K (CUTLASS 4)
    ({"f16", "bf16"}, "MmaF16BF16Op({a}, {d}, ", 16),
    ({"tf32", "f32"}, "MmaTF32Op(", 8),
    ({"s8", "u8"}, "MmaI8Op({a}, ", 32),
    ({"e4m3", "e5m2", "e3m2", "e2m3", "e2m1"}, "MmaF8F6F4Op({a}, {b}, {d}, ", 32),
)


def _trivial_umma(text: Text, value: Term, paired: int) -> Atom | None:
    """sm100_utils.make_trivial_tiled_mma(ab | a, b, a_major, b_major, acc, cta_group, mma_tiler_mn, a_source).

    paired: 1 where A and B have a type each.
    """
    first = value.at(0, "a_dtype", "ab_dtype")
    given = {
        "a": first,
        "b": value.at(1, "b_dtype") if paired else first,
        "d": value.at(3 + paired, "acc_dtype"),
        "group": value.at(4 + paired, "cta_group"),
        "x": value.at(1 + paired, "a_leading_mode"),
        "y": value.at(2 + paired, "b_leading_mode"),
        "source": value.at(6 + paired, "a_source"),
    }
    words = {name: text.words(text.meant(one)) for name, one in given.items() if one is not None}
    tiler = text.meant(value.at(5 + paired, "mma_tiler_mn"))
    sizes = [text.number(one) for one in tiler] if isinstance(tiler, tuple) else []
    kind = dtype_of(text, first)
    row = next((row for row in _TRIVIAL if kind in row[0]), None)
    if row is None or len(sizes) < 2 or None in sizes[:2] or not {"a", "b", "d", "group", "x", "y"} <= set(words):
        return None
    source = words.get("source", "tcgen05.OperandSource.SMEM")
    said = f"tcgen05.{row[1].format(**words)}({sizes[0]}, {sizes[1]}, {row[2]}), {words['group']}, {source}"
    try:
        spelled = umma.read(f"{said}, {words['x']}, {words['y']})")
    except LayoutError:
        return None
    return (
        Atom((), spelled.text, {n: spelled.atom.major(n) for n in "ab"}, True, umma=spelled)
        if (spelled and spelled.atom)
        else None
    )


def _trivial(text: Text, value: Term) -> Atom | None:
    """sm90_utils.make_trivial_tiled_mma(a, b, a_major, b_major, acc, atom_layout_mnk, tiler_mn=(64, n)), or that of
    sm100_utils.
    """
    for paired in (0, 1):
        group = value.at(4 + paired, "cta_group")
        if isinstance(group, Term) and "cta_group" in f"{group.path} {text.words(text.meant(group))}".lower().replace(
            "ctagroup", "cta_group"
        ):
            return _trivial_umma(text, value, int(paired or any(name == "b_dtype" for name, _ in value.named)))
    if BLACKWELL.search(value.path):
        return None
    a, b = (dtype_of(text, value.at(n, name)) for n, name in ((0, "a_dtype"), (1, "b_dtype")))
    d = dtype_of(text, value.at(4, "acc_dtype"))
    tiler = text.meant(value.at(6, "tiler_mn"))
    n = text.number(tiler[1]) if isinstance(tiler, tuple) and len(tiler) > 1 else None
    found = products({"a": a, "b": b, "d": d}, {"n": n} if n else {}, warpgroup=True)
    return Atom(tuple(found), value.name, {}) if found and a else None


def products(types: dict[str, str], sizes: dict[str, int], warpgroup: bool) -> list[Instruction]:
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


def operation(text: Text, value: Term) -> Atom | None:
    """An operation of cute.nvgpu: warp.MmaF16BF16Op(ab, acc, shape), warpgroup.MmaF8Op(a, b, acc, shape, …),
    warp.LdMatrix8x8x16bOp(transpose, num_matrices).
    """
    if re.match(r"(?:Ld|St)Matrix", value.name):
        return _moved(text, value)
    if "tcgen05" in value.path:
        return _umma(text, value, text.text[value.span[0] : value.span[1]])
    args = [text.meant(one) for one in (*(value.args or ()), *(one for _, one in value.named))]
    kinds, shape = _types_and_shape(text, args)
    warpgroup = "warpgroup" in value.path or shape[:1] == [64]
    if not warpgroup and "warp" not in value.path and not shape:
        return None
    types = _operand_types(value, kinds)
    if scaled := _SCALED.get(value.name):
        found = _scaled_products(scaled, types["a"], types["b"])
    else:
        sizes = {dim: size for dim, size in zip("mnk", shape, strict=False) if size}
        found = products(types, sizes, warpgroup)
    registers = any(isinstance(one, Term) and one.name == "RMEM" for one in args)
    return Atom(tuple(found), value.path, majors_of(args), from_registers=registers) if found else None


def _types_and_shape(text: Text, args: list[Any]) -> tuple[list[str], list[int | None]]:
    """The types that stand before an operation's shape, and the shape; None for a size that is open."""
    kinds: list[str] = []
    for one in args:
        if isinstance(one, tuple) and one:
            return kinds, [text.number(each) for each in one]
        if kind := dtype_of(text, one):
            kinds.append(kind)
    return kinds, []


def _operand_types(value: Term, kinds: list[str]) -> dict[str, str]:
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
class _Move:
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
    "LdMatrix8x8x16bOp": _Move("m8n8", 16, (1, 2, 4)),
    "LdMatrix8x16x8bOp": _Move("m8n16", 8, (1, 2, 4), False, (4, 6)),
    "LdMatrix16x16x8bOp": _Move("m16n16", 8, (1, 2), True, (4, 6), older=True),
    "LdMatrix16x8x8bOp": _Move(
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
    "StMatrix8x8x16bOp": _Move("m8n8", 16, (1, 2, 4)),
    "StMatrix16x8x8bOp": _Move("m16n8", 8, (1, 2, 4), True, older=True),
}


def _moved(text: Text, value: Term) -> Atom | None:
    """LdMatrix8x8x16bOp(transpose=False, num_matrices=1, unpack_bits=None). LayoutError `bad_operation` for arguments
    that no release takes.
    """
    row = _MOVES.get(value.name)
    if row is None:
        return None
    args = [text.meant(one) for one in value.args or ()]
    older = row.older and _has_count_alone(value, args)
    names = ("num_matrices",) if older else ("transpose", "num_matrices", "unpack_bits")
    given = {**dict(zip(names, args, strict=False)), **{name: text.meant(one) for name, one in value.named}}
    turned = True if older else given.get("transpose", False)
    if isinstance(turned, Term):
        turned = {"True": True, "False": False}.get(turned.name, turned)
    count = text.number(given.get("num_matrices", 1))
    unpack = text.number(given.get("unpack_bits"))
    if why := _move_fault(row, turned, count, unpack):
        raise _refused_move(value.name, row, why)
    verb = Verb.LOAD if value.name.startswith("Ld") else Verb.STORE
    found = _move_instructions(row, verb, turned if isinstance(turned, bool) else None, count, unpack)
    return Atom(tuple(found), value.path, {}, note=_OLDER if older else row.note) if found else None


_OLDER = "Written as before CUTLASS 4.4, with num_matrices alone; since then transpose=True comes first."


def _has_count_alone(value: Term, args: list[Any]) -> bool:
    """Whether an operation is given num_matrices and nothing else."""
    if args:
        return len(args) == 1 and isinstance(args[0], int) and not value.named
    return [name for name, _ in value.named] == ["num_matrices"]


def _move_fault(row: _Move, turned: Any, count: int | None, unpack: int | None) -> str:
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
    row: _Move, verb: Verb, turned: bool | None, count: int | None, unpack: int | None
) -> list[Instruction]:
    """The instructions of an operation; None for an argument that is open."""
    whole = row.shape == "m8n16" and unpack is None  # eight rows of 16 bytes
    shape, bits = ("m8n8", 16) if whole else (row.shape, row.bits)
    return [
        i
        for i in catalog.instructions()
        if i.family.verb is verb
        and i.family.memory is Place.ROWS
        and i.shape == shape
        and (count is None or i.counts.get("x", 1) == count // row.each)
        and (turned is None or ("trans" in i.modifiers) == turned)
        and next(iter(i.operands.values())).container_bits == bits
        and (f"b{unpack}x16" in i.family.unpacks if unpack is not None else not i.family.unpacks)
    ]


def moves(name: str) -> list[Atom]:
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
    homes = [terms.of(f"{name}({one})") for one in given]
    return [one for home in homes for term in terms.found(home, OPERATION) if (one := _moved(home, term))]


def defaults_of(name: str) -> str:
    """What an operation that moves matrices is without arguments, or that it has to be given some.

    >>> defaults_of("StMatrix8x8x16bOp")
    'StMatrix8x8x16bOp() is stmatrix.sync.aligned.m8n8.x1.shared.b16.'
    """
    home = terms.of(f"{name}()")
    try:
        made = [one for term in terms.found(home, OPERATION) if (one := _moved(home, term))]
    except LayoutError as error:
        return error.hint
    return f"{name}() is {made[0].found[0].ptx}." if made else ""


def _refused_move(name: str, row: _Move, why: str) -> LayoutError:
    counts = "|".join(map(str, row.counts))
    turned = "True|False" if row.turned is None else str(row.turned)
    unpacks = f", unpack_bits=None|{'|'.join(map(str, row.unpacks))}" if row.unpacks else ""
    return LayoutError(
        "bad_operation",
        f"{name} does not take these arguments: {why}.",
        f"Allowed: {name}(transpose={turned}, num_matrices={counts}{unpacks}).",
        "text",
    )


def operations(text: str) -> list[Atom]:
    """Every operation of cute.nvgpu that a text builds. LayoutError where it builds wrong ones alone."""
    home = terms.of(text)
    out: list[Atom] = []
    refused: list[LayoutError] = []
    for term in terms.found(home, OPERATION):
        try:
            one = operation(home, term) if term.args is not None else None
        except LayoutError as error:
            refused.append(error)
            continue
        out += [one] if one else []
    if refused and not out:
        raise refused[0]
    return out
