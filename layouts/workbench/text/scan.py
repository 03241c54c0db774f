"""Find instructions with their operands, printed descriptor words and CuTe layouts as written in a text.

`contents.py` makes pieces of the results; `uses.py` reads the operands of asm statements with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, islice
from math import prod

from lanescope.cute import layout as cute
from lanescope.cute.text import parse_layout
from lanescope.cxx.source_text import COMMENT, blank_matches
from lanescope.descriptor.matrix import WINDOW_BYTES
from lanescope.errors import LayoutError
from lanescope.ptx import catalog, short_names
from lanescope.ptx.instruction import Instruction
from lanescope.reader.cute import smem_layouts
from lanescope.reader.cute.cute_layout import describe_stage_overlap
from lanescope.reader.cutlass_names import cutlass
from lanescope.reader.instructions import sass
from lanescope.reader.instructions.immediates import MAJORS, find_transposes
from lanescope.reader.instructions.statements import MOST_OPERANDS, join_literals, list_operands
from lanescope.reader.words import printed_words
from lanescope.workbench.results import Span

MOST = 32  # instructions, words or layouts of one text
MOST_WRONG = 16  # wrong atoms that are looked up: each is compared with all there are
_ATOM = re.compile(r"\bSM90_\w+(?:\s*<[^<>;]{0,200}>)?|\bMMA_\d+x\d+x\d+_\w+(?:\s*<[^<>;]{0,200}>)?")
_MAJOR = re.compile(r"\bMajor::(K|MN)\b")
_CUTE = re.compile(
    r"(?:Sw(?:izzle)?<\d+,\s*\d+,\s*\d+>(?:\s*o\s*|_(?=smem_ptr))"
    r"(?:smem_ptr\[\d+b\]\([^()\n]{0,40}\)\s*o\s*|_?\d+\s*o\s*)?)?"
    r"\([\d_,() ]{1,200}\):\([\d_,() ]{1,200}\)"
)
_GMMA = re.compile(r"(?<![\w.])(?P<name>[HIQB]GMMA(?:\.\w+){1,8})(?![\w.])[^;\n]{0,200}")
_NAME = re.compile(r"[A-Za-z_][\w.]*(?=\W{0,4}$)")


@dataclass(frozen=True, slots=True)
class InstructionMention:
    """An instruction as written.

    arguments: its operands as text; majors: operand → K or MN, as far as the text fixes them; registers: whether A
    comes from registers, None if the text does not say.
    """

    instruction: Instruction
    span: Span
    arguments: tuple[str, ...] = ()
    majors: dict[str, str] = field(default_factory=dict)
    registers: bool | None = None


@dataclass(frozen=True, slots=True)
class PrintedWord:
    """A printed descriptor: its label and its value."""

    label: str
    word: int
    span: Span


@dataclass(frozen=True, slots=True)
class PrintedLayout:
    """A CuTe layout of a printout: its label, and its first two modes as a storage has them.

    start: the address in its smem_ptr; stage_stride: the distance of the stages of a third mode in the layout's unit,
    None if it is not constant; overlap: a note if they overlap, else "".
    """

    label: str
    text: str
    span: Span
    unit_bits: int | None
    start: int | None = None
    notation: str = ""
    stage_stride: int | None = None
    overlap: str = ""


@lru_cache(maxsize=32)
def find_mentions(text: str) -> tuple[InstructionMention, ...]:
    """Find the multiplying instructions of a text, in source order; once for all benches of the text."""
    found = chain(_find_ptx_mentions(text), _find_sass_mentions(text), _find_atom_mentions(text))
    return tuple(islice(found, MOST))


def _find_ptx_mentions(text: str) -> Iterator[InstructionMention]:
    """Yield the instructions that are spelled as PTX."""
    joined, places = join_literals(text)
    known: dict[str, Instruction | None] = {}
    for match in catalog.OPCODE.finditer(joined):
        if not match[2]:
            continue
        spelled = match[0]
        if spelled not in known:
            known[spelled] = short_names.find_instruction(spelled)
        instruction = known[spelled]
        if instruction is not None and instruction.family.multiplies:
            rest = blank_matches(COMMENT, joined[match.end() : match.end() + MOST_OPERANDS])
            operands = list_operands(rest)
            span = (places(match.start()), places(match.end() - 1) + 1)
            yield InstructionMention(instruction, span, operands, *_find_majors(instruction, operands))


def _find_atom_mentions(text: str) -> Iterator[InstructionMention]:
    """Yield the instructions of CUTLASS's atoms, with the majors of their arguments and whether A is in registers."""
    wrong = 0
    for match in _ATOM.finditer(text):
        if wrong > MOST_WRONG:
            return
        try:
            named = cutlass.recognise_cutlass_atoms(match[0])
        except LayoutError:
            wrong += 1
            continue
        if len(named) == 1 and named[0].facts["ptx"]:
            instruction = catalog.find(named[0].facts["ptx"])
            described = instruction.family.by_descriptor
            majors = dict(zip("ab", _MAJOR.findall(match[0]), strict=False)) if described else {}
            registers = bool(re.search(r"_RS\b|_RS_", match[0])) if described else None
            yield InstructionMention(instruction, match.span(), (), majors, registers)


def _find_sass_mentions(text: str) -> Iterator[InstructionMention]:
    """Yield the warpgroup instructions of a disassembly that stem from exactly one PTX instruction.

    `.tnspA` and `.tnspB` of the descriptor are the majors.
    """
    for count, match in enumerate(_GMMA.finditer(text)):
        if count >= MOST:
            return
        try:
            (read,) = sass.recognise_sass(match[0])
        except (LayoutError, ValueError):
            continue
        if len(read.facts["candidates"]) == 1:
            instruction = catalog.find(read.facts["candidates"][0])
            majors = read.facts.get("majors") or {}
            yield InstructionMention(instruction, match.span("name"), (), majors, "a" not in majors if majors else None)


def _find_majors(instruction: Instruction, operands: tuple[str, ...]) -> tuple[dict[str, str], bool | None]:
    if not instruction.family.by_descriptor:
        return {}, None
    registers = operands[1].startswith("{") if len(operands) > 1 else None
    transposes = find_transposes(instruction, operands, bool(registers))
    return {name: MAJORS[text] for name, text in transposes.items() if text in MAJORS}, registers


@lru_cache(maxsize=32)
def find_words(text: str) -> tuple[PrintedWord, ...]:
    """Find the descriptor words of a printout, in its order; once for all benches of the text."""
    found = printed_words.find_descriptor_words(text)
    return tuple(PrintedWord(printed.label, printed.word, printed.span) for printed in found)


def find_layouts(text: str) -> Iterator[PrintedLayout]:
    """Find the CuTe layouts of a text with two modes, or with two modes and stages."""
    count = 0
    for match in _CUTE.finditer(text):
        spelled = _balance_parentheses(match[0])
        if count >= MOST:
            return
        try:
            layout = parse_layout(spelled)
        except LayoutError:
            continue
        if not _is_tile(layout):
            continue
        count += 1
        line = text.rfind("\n", 0, match.start()) + 1
        label = _NAME.search(text[max(line, match.start() - 80) : match.start()])
        yield _make_layout(layout, spelled, label[0] if label else "", (match.start(), match.start() + len(spelled)))


def find_tiled_layouts(text: str, bits: int | None) -> Iterator[PrintedLayout]:
    """Yield the layouts of tile_to_shape, and those that a text names after A's or B's tile, as if they were printed.

    bits: of an element whose type is open.
    """
    for count, (label, span, layout) in enumerate(
        (*smem_layouts.find_tiled_layouts(text, bits), *smem_layouts.find_named_layouts(text, bits))
    ):
        if count < MOST and _is_tile(layout):
            yield _make_layout(layout, str(layout), label, span)


def make_printed_layout(layout: cute.CuteLayout, label: str, span: Span) -> PrintedLayout | None:
    """Return a layout made by code; None unless it has two modes, or two modes and stages."""
    return _make_layout(layout, str(layout), label, span) if _is_tile(layout) else None


def _is_tile(layout: cute.CuteLayout) -> bool:
    """Return whether a layout has two modes, or two modes and stages."""
    return isinstance(layout.shape, tuple) and len(layout.shape) in (2, 3)


def _make_layout(layout: cute.CuteLayout, spelled: str, label: str, span: Span) -> PrintedLayout:
    head = spelled[: spelled.rindex(" o ") + 3] if " o " in spelled else ""
    shape, stride = (
        f"({','.join(cute.format_tuple(part) for part in parts[:2])})" for parts in (layout.shape, layout.stride)
    )
    address = re.search(r"smem_ptr\[\d+b\]\(\s*(0x[0-9a-fA-F]+)\s*\)", spelled)
    start = int(address[1], 16) if address else None
    if start is not None and start >= WINDOW_BYTES:
        start = None  # a generic address, or an index into shared memory as the host sees it
    steps = [(size, step) for mode in layout.modes[2:] for size, step in mode.digits if size > 1]
    stages = prod(size for size, _ in steps)
    distance = steps[0][1] if len(steps) == 1 else None
    over = describe_stage_overlap(layout, distance) if stages > 1 else ""
    return PrintedLayout(
        label,
        head + shape + ":" + stride,
        span,
        unit_bits=layout.unit_bits,
        start=start,
        notation=spelled,
        stage_stride=distance,
        overlap=over,
    )


def _balance_parentheses(spelled: str) -> str:
    """Remove closing parentheses that were opened before the text begins."""
    while spelled.count(")") > spelled.count("("):
        spelled = spelled[: spelled.rindex(")")].rstrip(" ,")
    return spelled


def strip_label_number(label: str) -> str:
    """Remove the number from a label: desc_a[3] and desc_a3 are desc_a."""
    return label if ":" in label else re.sub(r"[\[(]\d+[\])]|\d+$", "", label)
