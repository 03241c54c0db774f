"""What stands in a text as it is written: instructions with their operands, printed descriptor words, CuTe layouts.

`contents.py` makes pieces of what is found here; `uses.py` reads the operands of asm statements with it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice

from lanescope.cute import layout as cute
from lanescope.descriptor.matrix import WINDOW_BYTES
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction
from lanescope.reader import cutlass, printed, ptx, sass, smem
from lanescope.reader.layout import overlap
from lanescope.workbench.found import Span

MOST = 32  # instructions, words or layouts of one text
MOST_WRONG = 16  # atoms that are none: each is compared with all there are
MOST_OPERANDS = 8192  # characters of an instruction's operands
_ESCAPED = re.compile(r'\\(?:[nt]|0[9aAdD])|"\s*"')
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
class Mention:
    """An instruction where it is written. arguments: its operands as text; majors: operand → K or MN, as far as the
    text fixes them; registers: whether A comes from registers, None where the text does not say."""

    instruction: Instruction
    span: Span
    arguments: tuple[str, ...] = ()
    majors: dict[str, str] = field(default_factory=dict)
    registers: bool | None = None


@dataclass(frozen=True, slots=True)
class Word:
    """A printed descriptor: its label and its value."""

    label: str
    word: int
    span: Span


@dataclass(frozen=True, slots=True)
class Layout:
    """A CuTe layout of a printout: its label, and its first two modes as a storage has them.

    stages: of a third mode; stage_stride: their distance in the layout's unit, None where it is no single one; start:
    the address in its smem_ptr; overlap: that they do not lie apart, "" where they do.
    """

    label: str
    text: str
    span: Span
    unit_bits: int | None
    start: int | None = None
    stages: int = 1
    whole: str = ""
    stage_stride: int | None = None
    overlap: str = ""


def mentions(text: str) -> Iterator[Mention]:
    """The instructions of a text, in its order of writing; only those that multiply."""
    return islice(chain(_of_ptx(text), _of_sass(text), _of_atoms(text)), MOST)


def _of_ptx(text: str) -> Iterator[Mention]:
    """The instructions that are spelled as PTX."""
    joined, places = _joined(text)
    known: dict[str, Instruction | None] = {}
    for match in catalog.OPCODE.finditer(joined):
        if not match[2]:
            continue
        spelled = match[0]
        if spelled not in known:
            known[spelled] = ptx.known(spelled)
        found = known[spelled]
        if found is not None and found.family.multiplies:
            given = operands(joined[match.end() : match.end() + MOST_OPERANDS])
            span = (places(match.start()), places(match.end() - 1) + 1)
            yield Mention(found, span, given, *_sides(found, given))


def _of_atoms(text: str) -> Iterator[Mention]:
    """The instructions of CUTLASS's atoms: with the majors of their arguments and whether A is in registers."""
    wrong = 0
    for match in _ATOM.finditer(text):
        if wrong > MOST_WRONG:
            return
        try:
            named = cutlass.read(match[0])
        except LayoutError:
            wrong += 1
            continue
        if len(named) == 1 and named[0].facts["ptx"]:
            found = catalog.find(named[0].facts["ptx"])
            described = found.family.by_descriptor
            majors = dict(zip("ab", _MAJOR.findall(match[0]), strict=False)) if described else {}
            registers = bool(re.search(r"_RS\b|_RS_", match[0])) if described else None
            yield Mention(found, match.span(), (), majors, registers)


def _of_sass(text: str) -> Iterator[Mention]:
    """The warpgroup instructions of a disassembly that one PTX instruction alone becomes; `.tnspA` and `.tnspB` of the
    descriptor are the majors.
    """
    for count, match in enumerate(_GMMA.finditer(text)):
        if count >= MOST:
            return
        try:
            (read,) = sass.read(match[0])
        except (LayoutError, ValueError):
            continue
        if len(read.facts["candidates"]) == 1:
            found = catalog.find(read.facts["candidates"][0])
            majors = read.facts.get("majors") or {}
            yield Mention(found, match.span("name"), (), majors, "a" not in majors if majors else None)


def operands(behind: str) -> tuple[str, ...]:
    """The operands of an instruction whose opcode ends here: up to the semicolon, {…} and (…) kept whole."""
    out, deep, last = [], 0, 0
    for at, letter in enumerate(behind):
        if letter in "{([":
            deep += 1
        elif letter in "})]":
            deep -= 1
            if deep < 0:
                return ()
        elif deep == 0 and letter in ",;":
            out.append(_plain(behind[last:at]))
            last = at + 1
            if letter == ";":
                return tuple(out)
        elif letter == '"':
            break
    return tuple(out) if len(out) > 2 else ()


def _plain(operand: str) -> str:
    return " ".join(operand.replace("//", " ").split())


def trans_at(instruction: Instruction, given: tuple[str, ...], registers: bool) -> dict[str, str]:
    """Operand → the text of its transpose immediate. PTX ISA 9.1, wgmma.mma_async: d, a, b (sparse: metadata and
    selector), scale-d, imm-scale-a, imm-scale-b, then imm-trans-a and imm-trans-b of .f16 and .bf16, no imm-trans-a
    where A is in registers.
    """
    if instruction.operand("a").element.bits != 16:
        return {}
    first = 6 + (2 if instruction.operands["a"].sparsity else 0)
    names = ("b",) if registers else ("a", "b")
    rest = given[first : first + len(names)]
    return dict(zip(names, rest, strict=False)) if len(rest) == len(names) else {}


def _sides(found: Instruction, given: tuple[str, ...]) -> tuple[dict[str, str], bool | None]:
    if not found.family.by_descriptor:
        return {}, None
    registers = given[1].startswith("{") if len(given) > 1 else None
    told = trans_at(found, given, bool(registers))
    return {n: "MN" if t == "1" else "K" for n, t in told.items() if t in ("0", "1")}, registers


def words(text: str) -> Iterator[Word]:
    """Descriptor words of a printout, in its order."""
    for one in printed.words(text):
        yield Word(one.label, one.word, one.span)


def layouts(text: str) -> Iterator[Layout]:
    """CuTe layouts of a text that have two modes, or two and stages."""
    found = 0
    for match in _CUTE.finditer(text):
        spelled = _balanced(match[0])
        if found >= MOST:
            return
        try:
            one = cute.parse(spelled)
        except LayoutError:
            continue
        if not isinstance(one.shape, tuple) or len(one.shape) not in (2, 3):
            continue
        found += 1
        line = text.rfind("\n", 0, match.start()) + 1
        label = _NAME.search(text[max(line, match.start() - 80) : match.start()])
        yield _layout(one, spelled, label[0] if label else "", (match.start(), match.start() + len(spelled)))


def tiled(text: str, bits: int | None) -> Iterator[Layout]:
    """The layouts that tile_to_shape makes, and those that a text defines under a name of A's or B's tile, as a print
    of them says. bits: of an element whose type is open.
    """
    for count, (label, span, spelled) in enumerate((*smem.made(text, bits), *smem.named(text, bits))):
        try:
            one = cute.parse(spelled)
        except LayoutError:  # a tile without elements
            continue
        if count < MOST and isinstance(one.shape, tuple) and len(one.shape) in (2, 3):
            yield _layout(one, spelled, label, span)


def of_cute(one: cute.CuteLayout, label: str, span: Span) -> Layout | None:
    """A layout that code makes; None for one that has not two modes, or two and stages."""
    if not isinstance(one.shape, tuple) or len(one.shape) not in (2, 3):
        return None
    return _layout(one, str(one), label, span)


def _layout(one: cute.CuteLayout, spelled: str, label: str, span: Span) -> Layout:
    assert isinstance(one.shape, tuple) and isinstance(one.stride, tuple)
    head = spelled[: spelled.rindex(" o ") + 3] if " o " in spelled else ""
    shape, stride = (f"({','.join(cute.spelled(part) for part in parts[:2])})" for parts in (one.shape, one.stride))
    address = re.search(r"smem_ptr\[\d+b\]\(\s*(0x[0-9a-fA-F]+)\s*\)", spelled)
    start = int(address[1], 16) if address else None
    if start is not None and start >= WINDOW_BYTES:
        start = None  # a generic address, or an index into shared memory as the host sees it
    stages, steps = 1, []
    if len(one.shape) == 3:
        third = zip(cute.leaves(one.shape[2]), cute.leaves(one.stride[2]), strict=True)
        steps = [(size, step) for size, step in third if size > 1]
        for size, _ in steps:
            stages *= size
    apart = steps[0][1] if len(steps) == 1 else None
    over = overlap(one, apart) if stages > 1 else ""
    return Layout(
        label,
        head + shape + ":" + stride,
        span,
        unit_bits=one.unit_bits,
        start=start,
        stages=stages,
        whole=spelled,
        stage_stride=apart,
        overlap=over,
    )


def _balanced(spelled: str) -> str:
    """Without closing parentheses that opened before it."""
    while spelled.count(")") > spelled.count("("):
        spelled = spelled[: spelled.rindex(")")].rstrip(" ,")
    return spelled


def _joined(text: str) -> tuple[str, Callable[[int], int]]:
    """The text with string literals joined and \\n as blanks, and what place of the text each of its characters is."""
    out: list[str] = []
    starts: list[int] = [0]
    origins: list[int] = [0]
    last = length = 0
    for match in _ESCAPED.finditer(text):
        out.append(text[last : match.start()])
        length += match.start() - last
        blank = "" if match[0].startswith('"') else " " * len(match[0])
        out.append(blank)
        if not blank:
            starts.append(length)
            origins.append(match.end())
        length += len(blank)
        last = match.end()
    out.append(text[last:])

    def place(at: int) -> int:
        n = bisect_right(starts, at) - 1
        return origins[n] + at - starts[n]

    return "".join(out), place


def plain_label(label: str) -> str:
    """A label without its number: desc_a[3] and desc_a3 are desc_a."""
    return label if ":" in label else re.sub(r"[\[(]\d+[\])]|\d+$", "", label)
