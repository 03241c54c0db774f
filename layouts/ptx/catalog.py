"""The catalogue: every instruction of the tables, found by its PTX text in any spelling."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache, lru_cache
from importlib.resources import files
from itertools import chain
from math import prod

from lanescope import inputs
from lanescope.errors import LayoutError
from lanescope.ptx import refusals
from lanescope.ptx.instruction import Family, Instruction
from lanescope.ptx.refusals import shorten as shorten
from lanescope.ptx.syntax import PLACED_FREELY, OpcodeSyntax
from lanescope.ptx.table import TABLES
from lanescope.ptx.table.newer import find_newer_form
from lanescope.ptx.targets import TARGETS as TARGETS

LONGEST = 1 << 16  # characters of a pasted text; the opcode in it has its own limit
LONGEST_OPCODE = 256  # the longest text of the tables has 120


@dataclass(frozen=True, slots=True)
class TargetSupport:
    """The targets for which ptxas assembles one variant, and the lowest PTX version that has it."""

    targets: tuple[str, ...]
    ptx_version: str


def families() -> tuple[Family, ...]:
    """Return every row of every table."""
    return tuple(row for table in TABLES for row in table.FAMILIES)


# In the order of menus.
FAMILY_NAMES = tuple(dict.fromkeys(row.name for row in sorted(families(), key=lambda row: row.menu)))
SPACES = tuple(dict.fromkeys(space for row in families() for space in row.spaces if space))
OPCODES = {row.opcode.text: row.opcode for row in families()}
SHORTS = {row.opcode.short: row.opcode.text for row in families() if row.opcode.short}  # wgmma → wgmma.mma_async
OPCODE_WORDS = frozenset(
    word for opcode in OPCODES.values() for word in opcode.words[1:]
)  # those that may follow its first
_HEADS = sorted({opcode.words[0] for opcode in OPCODES.values()}, key=lambda head: (-len(head), head))
OPCODE = re.compile(rf"(?<![\w.])({'|'.join(_HEADS)})((?:\s*\.\s*[\w:]+)*)", re.I)


@lru_cache(maxsize=1)
def instructions() -> tuple[Instruction, ...]:
    """Return every variant, in the tables' order."""
    return tuple(i for row in families() for shape in row.shapes for i in _bind_variants(row, shape))


@cache
def _bind_variants(row: Family, shape: str) -> tuple[Instruction, ...]:
    """Return the variants of a row with one of its shapes; the same objects on every call."""
    return tuple(row.bind_shape(shape))


@lru_cache(maxsize=1)
def _count_variants() -> int:
    """Return how many instructions the tables have, without binding them."""
    return sum(len(row.shapes) * len(row.types) * prod(map(len, row.options.values())) for row in families())


@lru_cache(maxsize=1)
def _index_rows() -> dict[tuple[str, str], tuple[Family, ...]]:
    """Map (opcode, shape) to the rows that have both."""
    index: dict[tuple[str, str], tuple[Family, ...]] = {}
    for row in families():
        for shape in row.shapes:
            index[row.opcode.text, shape] = (*index.get((row.opcode.text, shape), ()), row)
    return index


@cache
def _index_by_syntax(opcode: str, shape: str) -> dict[tuple[object, ...], Instruction]:
    """Map the syntax to the instruction, among those with an opcode and a shape of the tables."""
    rows = _index_rows()[opcode, shape]
    return {instruction.syntax.key: instruction for row in rows for instruction in _bind_variants(row, shape)}


def _get_listed(syntax: OpcodeSyntax) -> Instruction | None:
    """Return the instruction that the tables list with this syntax. Only rows of its opcode and shape are bound."""
    if (syntax.opcode, syntax.shape) not in _index_rows():
        return None
    return _index_by_syntax(syntax.opcode, syntax.shape).get(syntax.key)


@lru_cache(maxsize=1)
def list_element_types() -> tuple[str, ...]:
    """Return every element type of some operand, in alphabetical order."""
    return tuple(sorted({name for row in families() for types in row.types for name in types.split()}))


@lru_cache(maxsize=1)
def _index_products() -> dict[tuple[int, int, int], tuple[Instruction, ...]]:
    index: dict[tuple[int, int, int], tuple[Instruction, ...]] = {}
    for instruction in instructions():
        if instruction.family.multiplies and instruction.family.specified:
            m, n, k = (instruction.sizes[dim] for dim in "mnk")
            index[m, n, k] = (*index.get((m, n, k), ()), instruction)
    return index


def find_products(m: int, n: int, k: int) -> tuple[Instruction, ...]:
    """Return every product of a shape that PTX specifies, in the tables' order."""
    return _index_products().get((m, n, k), ())


@lru_cache(maxsize=1)
def _load_targets() -> tuple[dict[str, str], dict[str, TargetSupport]]:
    data = json.loads((files("lanescope.ptx.table") / "targets.json").read_text())
    sets = [tuple(names) for names in data["target_sets"]]
    return data["meta"], {
        ptx: TargetSupport(sets[which], version) for ptx, (which, version) in data["variants"].items()
    }


@dataclass(frozen=True, slots=True)
class SassListing:
    """The tensor-core instructions that ptxas emits for one variant, in order, and the targets for which it does."""

    targets: tuple[str, ...]
    runs: tuple[tuple[str, int], ...]  # (mnemonic, how many in a row)

    @property
    def total(self) -> int:
        return sum(count for _, count in self.runs)


@lru_cache(maxsize=1)
def load_sass() -> dict[str, tuple[SassListing, ...]]:
    """Return the SASS of every variant, as disassembled (`make sass`), in the catalogue's order."""
    listings = _load_sass_table()
    return {i.ptx: listings[i.ptx] for i in instructions() if i.ptx in listings}


@lru_cache(maxsize=1)
def load_unmapped_sass() -> dict[str, tuple[SassListing, ...]]:
    """Return the SASS of the forms of newer PTX whose fragments have no map here."""
    return {ptx: forms for ptx, forms in _load_sass_table().items() if find_newer_form(ptx)}


@lru_cache(maxsize=1)
def _load_sass_table() -> dict[str, tuple[SassListing, ...]]:
    data = json.loads((files("lanescope.ptx.table") / "sass.json").read_text())
    sets = [tuple(names) for names in data["target_sets"]]
    return {
        ptx: tuple(SassListing(sets[which], tuple((name, count) for name, count in runs)) for which, *runs in forms)
        for ptx, forms in data["variants"].items()
    }


@lru_cache(maxsize=1)
def _index_target_support() -> dict[str, TargetSupport]:
    """Map the PTX text of every variant to its targets; LayoutError if targets.json lacks a variant."""
    known = _load_targets()[1]
    missing = [i.ptx for i in instructions() if i.ptx not in known or not known[i.ptx].targets]
    if missing:
        rest = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        listed = "Remove its reason from layouts/ptx/table/newer.py, and run" if find_newer_form(missing[0]) else "Run"
        hint = f"{listed} `make targets`, which runs ptxas."
        raise LayoutError("missing_targets", f"targets.json has no targets for '{missing[0]}'{rest}.", hint)
    return known


def get_assembler() -> dict[str, str]:
    """Return the metadata of targets.json: which ptxas it comes from, and when it ran."""
    return _load_targets()[0]


def get_assembler_release() -> str:
    """Return the name and release of that ptxas.

    >>> get_assembler_release()
    'ptxas 13.5'
    """
    name, _, version = get_assembler()["assembler"].partition(" ")
    return f"{name} {'.'.join(version.removeprefix('V').split('.')[:2])}"


def get_target_support(instruction: Instruction) -> TargetSupport:
    """Return the targets and the PTX version of one instruction, as measured with ptxas (`make targets`).

    LayoutError if targets.json lacks a variant of the catalogue. All variants are checked only if the file has too few.
    """
    known = _load_targets()[1]
    support = known.get(instruction.listed_ptx)
    if support and support.targets and len(known) >= _count_variants():
        return support
    return _index_target_support().get(instruction.listed_ptx, TargetSupport((), ""))


def extract_opcode(text: str) -> str:
    """Return the opcode inside a pasted line.

    The line may be an asm string or carry a predicate, an operand list or blanks.
    """
    match = OPCODE.search(text)
    return _spell_opcode(match.group(0)) if match else ""


@lru_cache(maxsize=1 << 10)
def _spell_opcode(written: str) -> str:
    """Return an opcode without blanks, in PTX's capitals."""
    lowered = re.sub(r"\s+", "", written).lower().rstrip(":")
    spelled = ".".join(_index_capitals().get(word, word) for word in lowered.split("."))
    return re.sub(r"(?<=scale_vec::)(\d)x", r"\1X", spelled)


@lru_cache(maxsize=1)
def _index_capitals() -> dict[str, str]:
    """Map the lower-case spelling of each modifier that PTX writes with capitals to PTX's: nan → NaN."""
    texts = {text for row in families() for text in (row.ptx, *chain(*row.options.values()))}
    return {word.lower(): word for text in texts for word in re.split(r"[.{}]", text) if word != word.lower()}


def find(text: str) -> Instruction:
    """Return the instruction that a PTX text names.

    LayoutError says which part is illegal and lists the nearest legal ones.

    >>> find("mma.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1}, ...").ptx
    'mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32'
    """
    opcode = extract_opcode(text if isinstance(text, str) else inputs.require_text(text, "ptx"))
    if not opcode:
        if newer := find_newer_form("".join(text.split()[:1])):
            raise LayoutError("unmapped_form", newer.message, f"See {newer.source}.", "ptx")
        raise LayoutError(
            "unknown_instruction",
            f"'{shorten(text)}' is not the name of a matrix instruction.",
            "Allowed: a PTX text that starts with " + ", ".join(sorted(OPCODES)) + ".",
            "ptx",
            tuple(_list_alike(text)),
        )
    if len(opcode) > LONGEST_OPCODE:
        hint = f"An instruction has at most {LONGEST_OPCODE} characters before its operands."
        raise LayoutError("unknown_instruction", f"'{shorten(opcode, 60)}' has {len(opcode)} characters.", hint, "ptx")
    instruction = _find_opcode(opcode)
    if instruction:
        return instruction
    raise _make_refusal(opcode, OpcodeSyntax.parse(opcode, OPCODE_WORDS))


def _list_alike(text: str) -> Iterator[str]:
    """Yield an instruction for each opcode that is spelled like the beginning of a text; none for other words."""
    words = "".join(text.split()[:1])[:LONGEST_OPCODE].lower().split(".")
    starts = (".".join(words[:count]) for count in (3, 2, 1))
    alike = (found for start in starts for found in get_close_matches(start, OPCODES, 3, 0.66))
    for opcode in dict.fromkeys(alike):
        yield next(i.ptx for i in instructions() if i.syntax.opcode == opcode)


def find_instruction(text: str) -> Instruction | None:
    """Return the instruction that a PTX text names, or None. Unlike `find`, it does not look for the nearest ones.

    >>> find_instruction("mma.sync.aligned.m16n8k17") is None
    True
    """
    opcode = extract_opcode(text)
    return _find_opcode(opcode) if 0 < len(opcode) <= LONGEST_OPCODE else None


@lru_cache(maxsize=1 << 10)
def _find_opcode(opcode: str) -> Instruction | None:
    """Return the instruction with an opcode, None if there is none."""
    return _find_by_syntax(OpcodeSyntax.parse(opcode, OPCODE_WORDS))


def _find_by_syntax(syntax: OpcodeSyntax) -> Instruction | None:
    instruction = _get_listed(syntax) or _find_in_space(syntax) or _get_listed(_move_words_first(syntax))
    completed = None if instruction else _complete_syntax(syntax)
    return instruction or ((_get_listed(completed) or _find_in_space(completed)) if completed else None)


@lru_cache(maxsize=1)
def _index_by_rest() -> dict[tuple[str, tuple[str, ...], frozenset[str]], tuple[OpcodeSyntax, ...]]:
    """Map (opcode, layouts, modifiers without the state space) to every syntax that has them."""
    index: dict[tuple[str, tuple[str, ...], frozenset[str]], dict[OpcodeSyntax, None]] = {}
    for i in instructions():
        index.setdefault(_make_rest_key(i.syntax), {})[i.syntax] = None
    return {key: tuple(alike) for key, alike in index.items()}


def _make_rest_key(syntax: OpcodeSyntax) -> tuple[str, tuple[str, ...], frozenset[str]]:
    return syntax.opcode, syntax.layouts, frozenset(m for m in syntax.modifiers if m not in SPACES)


@lru_cache(maxsize=1024)
def _complete_syntax(syntax: OpcodeSyntax) -> OpcodeSyntax | None:
    """Complete a short name with the shape, types and modifiers that it leaves out, where there is only one choice.

    ldmatrix.m8n8.x4 moves b16, movmatrix.m8n8 transposes.
    """
    if syntax.shape and syntax.types:
        return None
    opcode, layouts, modifiers = rest = _make_rest_key(syntax)
    fits = [candidate for candidate in _index_by_rest().get(rest, ()) if _is_extension(candidate, syntax)] or [
        candidate
        for key, alike in _index_by_rest().items()
        if key[:2] == (opcode, layouts) and key[2] > modifiers
        for candidate in alike
        if _is_extension(candidate, syntax)
    ]
    if len(fits) != 1:
        return None
    spaces = (m for m in syntax.modifiers if m in SPACES)
    return replace(fits[0], modifiers=(*(m for m in fits[0].modifiers if m not in SPACES), *spaces))


def _is_extension(candidate: OpcodeSyntax, short: OpcodeSyntax) -> bool:
    """Return whether a candidate has the shape and the types that a short name gives, and its words in order."""
    in_order = tuple(word for word in candidate.in_order if word in short.in_order)
    has_shape = short.shape in ("", candidate.shape)
    return has_shape and short.types in ((), candidate.types) and in_order == short.in_order


@lru_cache(maxsize=1)
def list_qualifiers() -> frozenset[str]:
    """Return every word that follows a dot in the text of an instruction.

    >>> "trans" in list_qualifiers(), "cuh" in list_qualifiers()
    (True, False)
    """
    return frozenset(word for i in instructions() for word in i.ptx.split(".")[1:])


def _move_words_first(syntax: OpcodeSyntax) -> OpcodeSyntax:
    """Move a mark of sparsity that stands among an opcode's qualifiers to the front.

    CUTLASS writes mma.sync.aligned.kind::f8f6f4.sp::ordered_metadata…; ptxas takes both orders.
    """
    late = [m for m in syntax.modifiers if m in PLACED_FREELY and f"{syntax.opcode}.{m}" in OPCODES]
    rest = tuple(m for m in syntax.modifiers if m not in late)
    return replace(syntax, opcode=".".join((syntax.opcode, *late)), modifiers=rest) if len(late) == 1 else syntax


@lru_cache(maxsize=256)
def _find_in_space(syntax: OpcodeSyntax) -> Instruction | None:
    """Return the instruction of a text whose state space is not the one that the table lists; the map is the same."""
    spaces = [m for m in syntax.modifiers if m in SPACES]
    if len(spaces) > 1:
        return None
    space = spaces[0] if spaces else ""
    rest = tuple(m for m in syntax.modifiers if m not in SPACES)
    for listed in ((), *((space,) for space in SPACES)):
        base = _get_listed(replace(syntax, modifiers=(*rest, *listed)))
        if base and space in base.family.spaces:
            return base.in_space(space)
    return None


def require_access(product: Instruction, operand: str, layout: str) -> Instruction:
    """Return the load or store that fills one operand of a product whose fragments PTX does not specify (wmma).

    layout: row or col. LayoutError if the table has none.
    """
    element = product.operands[operand].element
    for i in instructions():
        same = i.family.name == product.family.name and i.shape == product.shape
        if (
            same
            and i.family.memory
            and i.syntax.layouts == (layout,)
            and operand in i.types
            and i.operands[operand].element == element
        ):
            return i
    raise LayoutError(
        "unknown_instruction",
        f"The table has no {layout} load or store of operand {operand} of {product.ptx}.",
        "Add its row to the family's table.",
        "ptx",
    )


def _make_refusal(opcode: str, syntax: OpcodeSyntax) -> LayoutError:
    """Return the error for a text that is not an instruction; for a form of newer PTX it has release and targets."""
    if newer := find_newer_form(opcode):
        return LayoutError("unmapped_form", newer.message, f"See {newer.source}.", "ptx")
    full_opcode = SHORTS.get(syntax.opcode)
    if full_opcode and not _get_listed(replace(syntax, opcode=full_opcode)):
        syntax = replace(syntax, opcode=full_opcode)  # the short name is understood: report what else is wrong
    return refusals.make_refusal(opcode, syntax, instructions(), tuple(OPCODES))
