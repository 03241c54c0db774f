"""The one door to the tables: every instruction, found by its PTX text however it is written."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import lru_cache
from importlib.resources import files
from math import log2
from typing import Any

from layouts import reading
from layouts.errors import LayoutError
from layouts.instruction import Family, Instruction
from layouts.syntax import Syntax, sizes_of
from layouts.table import TABLES

TARGETS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_103a", "sm_110a", "sm_120a")
LONGEST = 1 << 16  # characters of a pasted text; the opcode in it has its own limit
LONGEST_OPCODE = 256  # the longest text of the tables has 120
MOST_SPELLED = 200  # candidates for a wrong text whose spelling is compared: the nearest by their parts
# The parts of a syntax and how much a caller minds another one: types are what they have, a shape can be changed.
_PARTS = {"opcode": 4.0, "shape": 1.0, "layouts": 1.0, "types": 1.5, "modifiers": 1.0}


@dataclass(frozen=True, slots=True)
class Assembled:
    """What ptxas said of one variant: the targets that make code for it and the least PTX version that reads it."""

    targets: tuple[str, ...]
    ptx_version: str


def families() -> tuple[Family, ...]:
    """Every row of every table."""
    return tuple(row for table in TABLES for row in table.FAMILIES)


FAMILY_NAMES = tuple(
    dict.fromkeys(row.name for row in sorted(families(), key=lambda row: row.menu))
)  # in the order of menus
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
    """Every variant, in the tables' order."""
    return tuple(instruction for row in families() for instruction in row.instructions())


@lru_cache(maxsize=1)
def _index() -> dict[tuple[object, ...], Instruction]:
    return {instruction.syntax.key: instruction for instruction in instructions()}


@lru_cache(maxsize=1)
def _assembled() -> tuple[dict[str, str], dict[str, Assembled]]:
    data = json.loads((files("layouts") / "table" / "targets.json").read_text())
    sets = [tuple(names) for names in data["target_sets"]]
    return data["meta"], {ptx: Assembled(sets[which], version) for ptx, (which, version) in data["variants"].items()}


@dataclass(frozen=True, slots=True)
class Compiled:
    """The tensor-core instructions that ptxas makes of one variant, in order, and the targets for which it does."""

    targets: tuple[str, ...]
    runs: tuple[tuple[str, int], ...]  # (mnemonic, how many in a row)

    @property
    def total(self) -> int:
        return sum(count for _, count in self.runs)


@lru_cache(maxsize=1)
def compiled() -> dict[str, tuple[Compiled, ...]]:
    """The SASS of every variant, as established by disassembling it (`make sass`), in the catalogue's order."""
    data = json.loads((files("layouts") / "table" / "sass.json").read_text())
    sets = [tuple(names) for names in data["target_sets"]]
    found = {
        ptx: tuple(Compiled(sets[which], tuple((name, count) for name, count in runs)) for which, *runs in forms)
        for ptx, forms in data["variants"].items()
    }
    return {i.ptx: found[i.ptx] for i in instructions() if i.ptx in found}


def assembler() -> dict[str, str]:
    """Which ptxas wrote the targets, and when."""
    return _assembled()[0]


def assembler_release() -> str:
    """The assembler by its release.

    >>> assembler_release()
    'ptxas 13.0'
    """
    name, _, version = assembler()["assembler"].partition(" ")
    return f"{name} {'.'.join(version.removeprefix('V').split('.')[:2])}"


def assembled(instruction: Instruction) -> Assembled:
    """Targets and PTX version of one instruction, as established by assembling it (`make targets`)."""
    return _assembled()[1].get(instruction.listed_ptx, Assembled((), ""))


SHARED_A = " A from shared memory"  # how an evidence file names wgmma's form with two descriptors


@dataclass(frozen=True, slots=True)
class Run:
    """One hardware run of an instruction: the device, the date, the methods used, and whether all agreed with the
    maps.
    """

    device: str
    date: str
    methods: tuple[str, ...]
    agrees: bool


@lru_cache(maxsize=1)
def evidence_files() -> tuple[dict[str, Any], ...]:
    """Every stored hardware run: {"meta", "results": {variant: {method: "agrees" or what differs}}, "descriptors",
    "banks"}.
    """
    folder = files("layouts") / "evidence"
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".json")) if folder.is_dir() else []
    return tuple(json.loads((folder / name).read_text()) for name in names)


def runs(instruction: Instruction) -> tuple[Run, ...]:
    """What `lanescope gpu verify` saw of an instruction, a run a device; every form of it must have agreed."""
    out = []
    for data in evidence_files():
        meta, results = data["meta"], data["results"]
        seen = [results[key] for key in (instruction.listed_ptx, instruction.listed_ptx + SHARED_A) if key in results]
        if seen:
            methods = tuple(sorted({method for result in seen for method in result}))
            agrees = all(told == "agrees" for result in seen for told in result.values())
            out.append(Run(meta["device"], meta["date"], methods, agrees))
    return tuple(out)


def short(device: str) -> str:
    """A device as people call it.

    >>> short("NVIDIA H100 80GB HBM3")
    'H100'
    """
    return device.removeprefix("NVIDIA ").split(" ")[0]


def opcode_of(text: str) -> str:
    """The opcode inside a pasted line: an asm string, a predicated line, an operand list behind it, spaces within."""
    match = OPCODE.search(text)
    if not match:
        return ""
    lowered = re.sub(r"\s+", "", match.group(0)).lower().rstrip(":")
    spelled = ".".join(_capitals().get(word, word) for word in lowered.split("."))
    return re.sub(r"(?<=scale_vec::)(\d)x", r"\1X", spelled)


@lru_cache(maxsize=1)
def _capitals() -> dict[str, str]:
    """The modifiers that PTX writes with capitals, by their small letters: nan → NaN."""
    return {word.lower(): word for i in instructions() for word in i.modifiers if word != word.lower()}


def named(given: object, field: str) -> Instruction:
    """The instruction that a field of a request names; LayoutError `bad_instruction` says which field."""
    try:
        return find(reading.text(given, field, LONGEST))
    except LayoutError as error:
        raise error.at(field, "bad_instruction") from None


def find(text: str) -> Instruction:
    """The instruction a PTX text names. LayoutError says which part is illegal and names the nearest legal ones.

    >>> find("mma.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1}, ...").ptx
    'mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32'
    """
    opcode = opcode_of(text)
    if not opcode:
        raise LayoutError(
            "unknown_instruction",
            f"'{shorten(text)}' names no matrix instruction.",
            "Allowed: a PTX text that starts with " + ", ".join(sorted(OPCODES)) + ".",
            "ptx",
            tuple(i.ptx for i in instructions()[:3]),
        )
    if len(opcode) > LONGEST_OPCODE:
        hint = f"An instruction has at most {LONGEST_OPCODE} characters before its operands."
        raise LayoutError("unknown_instruction", f"'{shorten(opcode, 60)}' has {len(opcode)} characters.", hint, "ptx")
    syntax = Syntax.parse(opcode, OPCODE_WORDS)
    found = _of_syntax(syntax)
    if found:
        return found
    raise _refusal(opcode, syntax)


def known(text: str) -> Instruction | None:
    """The instruction that a PTX text names, as `find` gives it; None where it names none, which costs little.

    >>> known("mma.sync.aligned.m16n8k17") is None
    True
    """
    opcode = opcode_of(text)
    return _of_syntax(Syntax.parse(opcode, OPCODE_WORDS)) if 0 < len(opcode) <= LONGEST_OPCODE else None


def _of_syntax(syntax: Syntax) -> Instruction | None:
    return _index().get(syntax.key) or _with_space(syntax) or _index().get(_words_first(syntax).key)


@lru_cache(maxsize=1)
def qualifiers() -> frozenset[str]:
    """Every word that stands behind a dot in the text of an instruction.

    >>> "trans" in qualifiers(), "cuh" in qualifiers()
    (True, False)
    """
    return frozenset(word for i in instructions() for word in i.ptx.split(".")[1:])


def _words_first(syntax: Syntax) -> Syntax:
    """The syntax with words of the opcode that stand among its qualifiers put in front, as CUTLASS's
    mma.sync.aligned.kind::f8f6f4.sp::ordered_metadata… has them: ptxas takes both.
    """
    late = [m for m in syntax.modifiers if m in OPCODE_WORDS and f"{syntax.opcode}.{m}" in OPCODES]
    rest = tuple(m for m in syntax.modifiers if m not in late)
    return replace(syntax, opcode=".".join((syntax.opcode, *late)), modifiers=rest) if len(late) == 1 else syntax


@lru_cache(maxsize=256)
def _with_space(syntax: Syntax) -> Instruction | None:
    """An instruction whose text names another state space than the table's: the same map under the text as given."""
    given = [m for m in syntax.modifiers if m in SPACES]
    if len(given) > 1:
        return None
    space = given[0] if given else ""
    rest = tuple(m for m in syntax.modifiers if m not in SPACES)
    for listed in ((), *((space,) for space in SPACES)):
        base = _index().get(replace(syntax, modifiers=(*rest, *listed)).key)
        if base and space in base.family.spaces:
            return replace(base, ptx=_in_space(base, space), listed=base.ptx)
    return None


def _in_space(instruction: Instruction, space: str) -> str:
    """The text of a load or store with this state space; "" for none, which is generic addressing."""
    tokens = [token for token in instruction.ptx.split(".") if token not in SPACES]
    types = 2 if instruction.family.unpacks else 1
    before, behind = tokens[:-types], tokens[-types:]  # PTX writes the state space before the types
    return ".".join(filter(None, (*before, space, *behind)))


def access(product: Instruction, operand: str, layout: str) -> Instruction:
    """The load or store of the same family that fills or stores one operand of a product whose fragments PTX leaves
    open; layout: row or col.
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
        f"No {layout} access of {operand} of {product.ptx}.",
        "The table of its family lacks it.",
        "ptx",
    )


def shorten(text: str, most: int = 120) -> str:
    """User text inside a message: one line, bounded."""
    line = " ".join(text[: 8 * most].split())
    return line if len(line) <= most else line[: most - 1] + "…"


def nearest(syntax: Syntax, most: int = 5) -> list[Instruction]:
    """The legal instructions most like a syntax: fewest parts differ, then closest spelling."""

    def parts(candidate: Instruction) -> tuple[float, float]:
        other = candidate.syntax
        differ = sum(weight for part, weight in _PARTS.items() if not _same(part, syntax, other))
        return differ, apart(syntax.shape, other.shape)

    def spelling(candidate: Instruction) -> float:
        return -SequenceMatcher(None, _spell(syntax), _spell(candidate.syntax)).ratio()

    same = [i for i in instructions() if i.syntax.opcode == syntax.opcode]
    ranked = sorted(((parts(i), i) for i in same or instructions()), key=lambda one: one[0])[:MOST_SPELLED]
    out: list[Instruction] = []
    for _, alike in itertools.groupby(ranked, key=lambda one: one[0]):  # spelling decides among equals
        if len(out) < most:
            equals = [i for _, i in alike]
            out += sorted(equals, key=spelling) if len(equals) > 1 else equals
    return out[:most]


def _same(part: str, one: Syntax, other: Syntax) -> bool:
    a, b = getattr(one, part), getattr(other, part)
    return sorted(a) == sorted(b) if part == "modifiers" else bool(a == b)


def apart(one: str, other: str) -> float:
    """How far two shapes are from each other: the sum of the sizes' ratios, in octaves."""
    a, b = sizes_of(one), sizes_of(other)
    if not a or not b:
        return 9.0
    return sum(abs(log2(max(a.get(name, 1), 1) / max(b.get(name, 1), 1))) for name in dict.fromkeys((*a, *b)))


def _spell(syntax: Syntax) -> str:
    return ".".join((syntax.opcode, syntax.shape, *syntax.layouts, *syntax.types, *syntax.modifiers))


def _text(part: str, syntax: Syntax) -> str:
    value = getattr(syntax, part)
    return value if isinstance(value, str) else ".".join(value)


def _unfinished(opcode: str, syntax: Syntax) -> LayoutError:
    """The refusal of a text that ends before its opcode does, as `wgmma`: how it may go on, an instruction each."""
    head = syntax.opcode.partition(".")[0]
    begun = [text for text in OPCODES if f"{text}.".startswith(f"{syntax.opcode}.")]
    whole = begun or [text for text in OPCODES if text.partition(".")[0] == head]
    near = [next(i for i in instructions() if i.syntax.opcode == text) for text in whole]
    missing = [part for part in ("layouts", "shape", "types") if all(getattr(i.syntax, part) for i in near)]
    wrong = [
        m for m in syntax.modifiers if all(m not in i.modifiers for i in instructions() if i.syntax.opcode in whole)
    ]
    reasons = [f"opcode '{syntax.opcode}' is not legal here (allowed: {', '.join(whole)})"]
    reasons += [f"modifier '{shorten(m, 40)}' is not legal here" for m in wrong]
    if missing:
        reasons.append(
            f"{reading.listed(missing)} {'are' if len(missing) > 1 or missing == ['types'] else 'is'} missing"
        )
    return _no_instruction(opcode, "; ".join(reasons), near)


def _refusal(opcode: str, syntax: Syntax) -> LayoutError:
    whole = SHORTS.get(syntax.opcode)
    if whole and replace(syntax, opcode=whole).key not in _index():
        syntax = replace(syntax, opcode=whole)  # its short name is understood: told is what else is wrong
    if syntax.opcode not in OPCODES and not (syntax.shape or syntax.layouts or syntax.types):
        return _unfinished(opcode, syntax)
    near = nearest(syntax)
    closest = near[0].syntax
    wrong = [part for part in _PARTS if not _same(part, syntax, closest)]
    missing = [part for part in wrong if not _text(part, syntax) and all(getattr(i.syntax, part) for i in near)]
    if len(missing) > 1:
        wrong = [part for part in wrong if part not in missing]
    reasons = []
    for part in wrong:
        given = _text(part, syntax)
        others = [p for p in _PARTS if p != part]
        allowed = _unique(
            _text(part, i.syntax) or "none" for i in instructions() if all(_same(p, closest, i.syntax) for p in others)
        )
        if part == "shape" and given and (said := _size_said(given, allowed)):
            reasons.append(said)
            continue
        label = part[:-1] if part in ("layouts", "modifiers") else part
        said = (
            f"{label} '{given}' is not legal here" if given else f"{label} {'are' if part == 'types' else 'is'} missing"
        )
        if not (given or part in missing):
            said = f"{label} nothing is not legal here"
        reasons.append(f"{said} (allowed: {', '.join(allowed[:12])}{', …' if len(allowed) > 12 else ''})")
    if len(missing) > 1:
        reasons.append(f"{', '.join(missing[:-1])} and {missing[-1]} are missing")
    return _no_instruction(opcode, "; ".join(reasons), near)


def _size_said(given: str, allowed: list[str]) -> str:
    """What is wrong with a shape of which one size is wrong: the size, and what it may be beside the others; "" where
    more than one is.
    """
    sizes, legal = sizes_of(given), [sizes_of(shape) for shape in allowed]
    for dim, size in sizes.items():
        fitting = sorted({s[dim] for s in legal if s.keys() == sizes.keys() and {**s, dim: size} == sizes})
        if fitting:
            return f"shape '{given}' is not legal here: {dim.upper()} is {size} (allowed: {_sizes(fitting)})"
    return ""


def _sizes(values: list[int]) -> str:
    """Ascending sizes in words: all of them, or the step between them where they are many.

    >>> _sizes([8, 16]), _sizes([8, 16, 24, 32, 40, 48])
    ('8 or 16', 'multiples of 8 from 8 to 48')
    """
    steps = {b - a for a, b in itertools.pairwise(values)}
    if len(values) > 4 and len(steps) == 1 and not values[0] % (step := min(steps)):
        return f"multiples of {step} from {values[0]} to {values[-1]}"
    return reading.listed([str(value) for value in values], "or")


def _no_instruction(opcode: str, why: str, near: list[Instruction]) -> LayoutError:
    return LayoutError(
        "unknown_instruction",
        f"No instruction '{shorten(opcode)}': {why}.",
        "Nearest: " + ", ".join(i.ptx for i in near) + ".",
        "ptx",
        tuple(i.ptx for i in near),
    )


def _unique(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))
