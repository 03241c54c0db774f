"""Find the instructions of cute.nvgpu.warp's and .warpgroup's operations, which make atoms in CuTe's Python DSL.

CUTLASS 4.7, python/CuTeDSL/cutlass/cute/nvgpu (warp, warpgroup); those of tcgen05 are in layouts/reader/cute/umma.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction, OperandPlace
from lanescope.ptx.role import InstructionVerb
from lanescope.ptx.table.umma_atoms import OPERATIONS
from lanescope.reader.cute.atom_meaning import AtomMeaning, find_products, parse_dtype, parse_majors, parse_umma
from lanescope.reader.grammars import terms
from lanescope.reader.grammars.terms import SyntaxTerm, TermText

_ONE_TYPE = frozenset(("MmaMXF8Op", "MmaMXF4Op", "MmaMXF4NVF4Op"))  # types of A and B; a scale's type follows
# types that an operation accepts for A and B, by its name
_FLOAT8 = frozenset({"e4m3", "e5m2"})
_TYPES: Mapping[str, frozenset[str]] = {
    "MmaF16BF16Op": frozenset({"f16", "bf16"}),
    "MmaTF32Op": frozenset({"tf32"}),
    "MmaF8Op": _FLOAT8,
    "MmaFP8Op": _FLOAT8,
    "MmaF8F6F4Op": _FLOAT8 | {"e3m2", "e2m3", "e2m1"},
    "MmaI8Op": frozenset({"s8", "u8"}),
}
OPERATION = re.compile(
    r"(?<![\w.])(?:\w+\.){0,6}(?:Mma(?:F16BF16|TF32|F8|FP8|I8|F8F6F4|MX\w{2,10})Op|(?:Ld|St)Matrix\w{4,12}Op)\s*\("
)


def _list_accepted_instructions(operation: str, found: Iterable[Instruction]) -> list[Instruction]:
    """Return the instructions whose A and B an operation accepts; all if the operation's name has no types."""
    types = _TYPES.get(operation)
    return [i for i in found if types is None or {i.types["a"], i.types["b"]} <= types]


def _list_arguments(text: TermText, value: SyntaxTerm) -> list[Any]:
    return [
        text.resolve_value(argument) for argument in (*(value.args or ()), *(argument for _, argument in value.named))
    ]


def parse_operation(text: TermText, value: SyntaxTerm) -> AtomMeaning | None:
    """Return the atom of an operation of cute.nvgpu.

    Examples: warp.MmaF16BF16Op(ab, acc, shape), warpgroup.MmaF8Op(a, b, acc, shape, …) or
    warp.LdMatrix8x8x16bOp(transpose, num_matrices).
    """
    if re.match(r"(?:Ld|St)Matrix", value.name):
        return _parse_move(text, value)
    if "tcgen05" in value.path:
        return parse_umma(text, value, text.text[value.span[0] : value.span[1]])
    args = _list_arguments(text, value)
    kinds, shape = _parse_types_and_shape(text, args)
    warpgroup = "warpgroup" in value.path or shape[:1] == [64]
    if not warpgroup and "warp" not in value.path and not shape:
        return None
    types = _list_operand_types(value, kinds)
    if (
        row := OPERATIONS.get(value.name)
    ) and row.factors:  # the warp's names are those of tcgen05's operations of the same kind
        found = _find_scaled_products(f"kind::{row.kind}", types["a"], types["b"])
    else:
        sizes = {dim: size for dim, size in zip("mnk", shape, strict=False) if size}
        found = _list_accepted_instructions(value.name, find_products(types, sizes, warpgroup))
    registers = any(isinstance(argument, SyntaxTerm) and argument.name == "RMEM" for argument in args)
    return AtomMeaning(tuple(found), value.path, parse_majors(args), from_registers=registers) if found else None


def _parse_types_and_shape(text: TermText, args: list[Any]) -> tuple[list[str], list[int | None]]:
    """Return the types before an operation's shape, and the shape (None: unknown size)."""
    kinds: list[str] = []
    for argument in args:
        if isinstance(argument, tuple) and argument:
            return kinds, [text.parse_number(each) for each in argument]
        if kind := parse_dtype(text, argument):
            kinds.append(kind)
    return kinds, []


def _list_operand_types(value: SyntaxTerm, kinds: list[str]) -> dict[str, str]:
    """Return the types of A, B and D in an operation ("": unknown)."""
    if "TF32" in value.name and len(kinds) < 2:
        kinds = ["tf32", "f32"]
    a = b = kinds[0] if kinds else ""
    if len(kinds) > 2 and value.name not in _ONE_TYPE and "ab_dtype" not in value.keywords:
        b = kinds[1]
    d = kinds[-1] if len(kinds) > 1 else "s32" if "I8" in value.name else ""
    return {"a": a, "b": b, "d": d}


def _find_scaled_products(kind: str, a: str, b: str) -> list[Instruction]:
    """Return the dense block-scaled products of a kind; "" matches any type."""
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
    """Arguments that an operation that moves matrices accepts.

    shape, bits: of the instruction's matrix; each: matrices of the operation per instruction's matrix; turned: the
    legal value of transpose, None for both; unpacks: legal values of unpack_bits; older: whether releases before
    CUTLASS 4.4 had the operation, with num_matrices alone.
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
        note="The operation permutes addresses and values around this instruction, so that a thread holds the values"
        " that stmatrix.m16n8.trans stores. The map shown here is that of the instruction alone.",
    ),
    "StMatrix8x8x16bOp": _MoveOperation("m8n8", 16, (1, 2, 4)),
    "StMatrix16x8x8bOp": _MoveOperation("m16n8", 8, (1, 2, 4), True, older=True),
}


def _parse_move(text: TermText, value: SyntaxTerm) -> AtomMeaning | None:
    """Parse LdMatrix8x8x16bOp(transpose=False, num_matrices=1, unpack_bits=None) and the like.

    Raises LayoutError `bad_operation` for arguments that no release accepts.
    """
    row = _MOVES.get(value.name)
    if row is None:
        return None
    args = [text.resolve_value(argument) for argument in value.args or ()]
    older = row.older and _has_count_alone(value, args)
    names = ("num_matrices",) if older else ("transpose", "num_matrices", "unpack_bits")
    values = {
        **dict(zip(names, args, strict=False)),
        **{name: text.resolve_value(item) for name, item in value.named},
    }
    transposed = True if older else values.get("transpose", False)
    if isinstance(transposed, SyntaxTerm):
        transposed = {"True": True, "False": False}.get(transposed.name, transposed)
    count = text.parse_number(values.get("num_matrices", 1))
    unpack = text.parse_number(values.get("unpack_bits"))
    if why := _explain_move_fault(row, transposed, count, unpack):
        raise _make_move_error(value.name, row, why)
    verb = InstructionVerb.LOAD if value.name.startswith("Ld") else InstructionVerb.STORE
    found = _find_move_instructions(row, verb, transposed if isinstance(transposed, bool) else None, count, unpack)
    return AtomMeaning(tuple(found), value.path, {}, note=_OLDER if older else row.note) if found else None


_OLDER = "This is the form before CUTLASS 4.4, with num_matrices only; since then transpose=True comes first."


def _has_count_alone(value: SyntaxTerm, args: list[Any]) -> bool:
    """Return whether num_matrices is the only argument."""
    if args:
        return len(args) == 1 and isinstance(args[0], int) and not value.named
    return [name for name, _ in value.named] == ["num_matrices"]


def _explain_move_fault(row: _MoveOperation, transposed: Any, count: int | None, unpack: int | None) -> str:
    """Return which argument no release accepts; "" if all may be valid."""
    if isinstance(transposed, bool) and row.turned is not None and transposed is not row.turned:
        return f"transpose is {transposed}; it must be {row.turned}"
    if not isinstance(transposed, bool) and isinstance(transposed, int):
        return f"transpose is {transposed}, which is not a bool"
    if count is not None and count not in row.counts:
        return f"num_matrices is {count}"
    if unpack is not None and unpack not in row.unpacks:
        return f"unpack_bits is {unpack}"
    return ""


def _find_move_instructions(
    row: _MoveOperation, verb: InstructionVerb, transposed: bool | None, count: int | None, unpack: int | None
) -> list[Instruction]:
    """Return the instructions of an operation; None for an open argument."""
    eight_rows = row.shape == "m8n16" and unpack is None  # eight rows of 16 bytes per matrix
    shape, bits = ("m8n8", 16) if eight_rows else (row.shape, row.bits)
    return [
        i
        for i in catalog.instructions()
        if i.family.verb is verb
        and i.family.memory is OperandPlace.ROWS
        and i.shape == shape
        and (count is None or i.counts.get("x", 1) == count // row.each)
        and (transposed is None or ("trans" in i.modifiers) == transposed)
        and next(iter(i.operands.values())).container_bits == bits
        and (f"b{unpack}x16" in i.family.unpacks if unpack is not None else not i.family.unpacks)
    ]


def list_moves(name: str) -> list[AtomMeaning]:
    """Return the instructions of a matrix-move class for each combination of its arguments; [] for other names.

    The defaults come first if they are valid.
    """
    row = _MOVES.get(name)
    if row is None:
        return []
    transposes = (False, True) if row.turned is None else (row.turned,)
    spellings = [
        f"transpose={way}, num_matrices={count}, unpack_bits={unpack}"
        for unpack in (None, *row.unpacks)
        for way in transposes
        for count in row.counts
    ]
    homes = [terms.make_term_text(f"{name}({move})") for move in spellings]
    return [move for home in homes for term in terms.find_terms(home, OPERATION) if (move := _parse_move(home, term))]


def describe_defaults(name: str) -> str:
    """Return a sentence on a matrix-move operation without arguments: its instruction, or that arguments are required.

    >>> describe_defaults("StMatrix8x8x16bOp")
    'StMatrix8x8x16bOp() is stmatrix.sync.aligned.m8n8.x1.shared.b16.'
    """
    home = terms.make_term_text(f"{name}()")
    try:
        moves = [move for term in terms.find_terms(home, OPERATION) if (move := _parse_move(home, term))]
    except LayoutError as error:
        return error.hint
    return f"{name}() is {moves[0].found[0].ptx}." if moves else ""


def _make_move_error(name: str, row: _MoveOperation, why: str) -> LayoutError:
    counts = "|".join(map(str, row.counts))
    transpose = "True|False" if row.turned is None else str(row.turned)
    unpacks = f", unpack_bits=None|{'|'.join(map(str, row.unpacks))}" if row.unpacks else ""
    return LayoutError(
        "bad_operation",
        f"{name} does not accept these arguments: {why}.",
        f"Allowed: {name}(transpose={transpose}, num_matrices={counts}{unpacks}).",
        "text",
    )


def parse_operations(text: str) -> list[AtomMeaning]:
    """Return the operations of cute.nvgpu that a text builds. LayoutError if all of them are invalid."""
    home = terms.make_term_text(text)
    out: list[AtomMeaning] = []
    refused: list[LayoutError] = []
    for term in terms.find_terms(home, OPERATION):
        try:
            operation = parse_operation(home, term) if term.args is not None else None
        except LayoutError as error:
            refused.append(error)
            continue
        out += [operation] if operation else []
    if refused and not out:
        raise refused[0]
    return out
