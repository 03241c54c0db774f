"""Find CuTe layouts inside other text: after a label, a print or a pointer, on several lines, or in C++ and Python as
Layout<Shape<…>, Stride<…>>, make_layout(…) and ComposedLayout<Swizzle<…>, …>.

CUTLASS 4: print of a Tensor is `ptr o layout`; of the DSL tensor<ptr<f16, smem, align<1024>, S<3,4,3>> o layout>, whose
swizzle is the pointer's and applies to byte addresses (cute/pointer_flagged.hpp).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from lanescope.cute import layout as cute
from lanescope.cute.text import parse_layout, parse_swizzle
from lanescope.cxx.sizes import ELEMENT_BITS, find_mlir_bits
from lanescope.errors import LayoutError
from lanescope.reader.cute import smem_layouts
from lanescope.reader.grammars import terms

MOST_LINES = 512
LONGEST_LINE = 1024
MOST = 16  # layouts per text
_MOST_BEGUN = 4  # places per line where a layout may begin
_BEGIN = re.compile(r"\bS(?:w(?:izzle)?)?\s?<\s?\d|\bsmem_ptr\s?\[|\(\s?[(_\d]|(?<![\w)])_?\d+\s?:\s?_?\d")
_LABEL = re.compile(
    r"[ \t>*!-]{0,20}(?P<label>[A-Za-z_](?:[\w.]|[()\[\]<>&*,\"' -](?![ \t]*[:=]\s*$)){0,80}?[()\]>\"']{0,4})"
    r"[ \t]{0,20}(?P<joint>->|[:=]|\bis\b|(?<=ayout)|(?<=TV)|(?<=AYOUT))[ \t]{0,20}"
)
_POINTER = re.compile(
    r"!?(?:cute\.)?memref<(?P<memref>[^\"\n]{1,120})\"|!?cute\.(?:composed_)?layout<\"|"
    r"(?P<descriptors>(?:[GU]MMA::)?DescriptorIterator)\s?o\s?|"
    r"(?:(?:raw_)?[Tt]ensor(?:_value)?\s?[<(]\s?)?"
    r"(?:(?:[gsrt]mem_|raw_|counting_)?(?:ptr|iterator)\w{0,12}|[gsrt]mem_(?=\[))"  # tmem_[32b](0x0000.0000)
    r"(?:\[(?P<bits>\d{1,3})b\]|<(?P<inside>[^()\n]{1,120}>{1,3}))?(?:\((?P<shown>[^()\n]{0,120})\))?\s?o\s?"
)
_MODE = re.compile(r"(?<=[(,])\s?[A-Za-z_]\w{0,16}\s?=\s?(?=[(\d_])")  # (MMA=(128,16), STAGE=8)
_RESULT = re.compile(
    r"[ \t]*%[\w#:]{1,20} = \"?[a-z][\w.]{1,40}\"?(?:\(\))?[ \t]*:?[ \t]*(?:\(\) -> )?"
)  # of an operation of MLIR
_OTHER_SCRIPT = re.compile(r"[\s\u3000-\u303f\u3400-\u9fff\uac00-\ud7a3]{1,24}[:=]?\s{0,4}")
_MEMORY = re.compile(r"(?<![A-Za-z])[gsrt]mem(?![A-Za-z])")
_UNDERSCORED = re.compile(r"raw_ptr_(\d{1,3})b")
_ENDING = re.compile(r"[\s>;,.|\")]{0,20}(?:data ?= ?.*|(?://|#).*)?")
_WORDS = r"[A-Za-z][\w'-]*(?:[\s,.;]+[A-Za-z0-9][\w'-]*){0,23}"
_BEHIND = re.compile(  # words that describe a layout further
    rf"\s*[,;.–-]?\s+(?!o\b)(?:{_WORDS}[\s,.;]*(?:\({_WORDS}\))?|\({_WORDS}\))[\s,.;!]*"
)
_CODE = re.compile(
    r"(?<![\w.])(?:\w+(?:::|\.)){0,6}(?:(?:Composed)?Layout\s*<"
    r"|make_(?:ordered_)?layout\s*\(|make_composed_layout\s*\(|Layout\s*\(\s*\()"
)
_VALUE_END = re.compile(r"\n|//|#|(?<=\))\s")
DESCRIPTOR_UNIT_BITS = 128  # of the strides between matrix descriptors: 16 bytes (cute/atom/mma_traits_sm90_gmma.hpp)
LONGEST_VALUE = 600  # characters of a field's value


@dataclass(frozen=True, slots=True)
class LabelledLayout:
    """A layout and its label ("" if none); pointed: a pointer precedes it; worded: words follow it; of_descriptors: its
    elements are matrix descriptors. memory (gmem, smem, rmem, tmem or ""), element_bits: those of its pointer.
    """

    label: str
    layout: cute.CuteLayout
    pointed: bool = False
    worded: bool = False
    of_descriptors: bool = False
    memory: str = ""
    element_bits: int | None = None


def find_layout_lines(text: str) -> Iterator[LabelledLayout]:
    """Yield the layouts of lines that contain only a label, a pointer and a layout."""
    count = 0
    for line in text.split("\n"):
        if ":" not in line or len(line) > LONGEST_LINE:
            continue
        count += 1
        if count > MOST_LINES:
            return
        labelled = _parse_line((_MODE.sub("", line) if "=" in line else line).strip())
        if labelled is not None:
            yield labelled


def find_print_fields(named: re.Pattern[str], text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yield (match of the name, value) for each named field of a print.

    A value extends to the end of the line, a comment or the blank after a parenthesis.
    """
    at = 0
    while match := named.search(text, at):
        at = first = match.end()
        ended = _VALUE_END.search(text, first + 1, first + LONGEST_VALUE + 1)
        past = ended.start() if ended else len(text)
        if past - first <= LONGEST_VALUE and text[first : first + 1] not in ("", "\n"):
            yield match, text[first:past].strip()
            at = past


def _parse_line(line: str) -> LabelledLayout | None:
    for match, _ in zip(_BEGIN.finditer(line), range(_MOST_BEGUN), strict=False):
        before = line[: match.start()]
        pointer = _match_pointer(before)
        head = before[: pointer.start()] if pointer else before
        if _RESULT.fullmatch(head) or (_OTHER_SCRIPT.fullmatch(head) and not match[0][0].isdigit()):
            head = ""
        label = _match_label(head)
        if head.strip(" \t>*-") and label is None:
            continue
        layout, worded = _parse_layout_before_words(line[match.start() :])
        if layout is not None:
            name = _get_layout_name(label["label"]) if label else ""
            if pointer is None:
                return LabelledLayout(name, layout, worded=worded)
            memory = _MEMORY.search(pointer[0])
            return LabelledLayout(
                name,
                _add_pointer(pointer, layout),
                True,
                worded,
                pointer["descriptors"] is not None,
                memory[0] if memory else "",
                _find_pointed_bits(pointer, _get_pointed_text(pointer)),
            )
    return None


def _match_label(head: str) -> re.Match[str] | None:
    """Match the label before a layout, or the last one of two."""
    label = _LABEL.fullmatch(head) if head.strip() else None
    if label is None and ": " in head:  # a label before the label
        label = _LABEL.fullmatch(head[head[:-2].rfind(": ") + 2 :])
    return label


def _parse_layout_before_words(rest: str) -> tuple[cute.CuteLayout | None, bool]:
    """Return the layout in the rest of a line, and whether words follow it."""
    close = max(rest.rfind(")"), max((m.end() - 1 for m in re.finditer(r":\s?_?\d+", rest)), default=-1))
    layout = _parse_layout(rest[: close + 1]) if _ENDING.fullmatch(rest, close + 1) else None
    if layout is None and (close := find_pair_end(rest)) >= 0 and _BEHIND.fullmatch(rest, close + 1):
        return _parse_layout(rest[: close + 1]), True
    return layout, False


def _parse_layout(text: str) -> cute.CuteLayout | None:
    try:
        return parse_layout(text)
    except LayoutError:
        return None


def find_pair_end(rest: str) -> int:
    """Return the end of a shape and its strides, both in parentheses; -1 if the line does not begin with them."""
    depth = 0
    colon = False
    for at, letter in enumerate(rest):
        depth += (letter == "(") - (letter == ")")
        if letter == ":" and not depth:
            if colon or not rest[:at].rstrip().endswith(")") or not rest[at + 1 :].lstrip().startswith("("):
                return -1
            colon = True
        elif letter == ")" and not depth and colon:
            return at
    return -1


def _match_pointer(text: str) -> re.Match[str] | None:
    """Match a pointer at the end of a short text."""
    starts = (
        m.start()
        for m in re.finditer(
            r"(?<!\w)(?:raw_|[gsrt]mem_|counting_|ptr|[Tt]ensor|[GU]MMA::D|D(?=escriptorI)|!?cute\.(?:memref|(?:composed_)?layout)|memref)",
            text,
        )
    )
    return next((m for at in starts if (m := _POINTER.fullmatch(text, at))), None)


def _get_layout_name(words: str) -> str:
    """Return the name of a printed layout: sA in `print(sA.layout())`, tCrC in `tCrC layout`."""
    inner = re.sub(r"^(?:cute::)?print\w*\s*\(|\.layout\(?\)?|[()\"'&*]|\s+layout$", "", words.strip(), flags=re.I)
    return inner.strip()[:40]


def _add_pointer(pointer: re.Match[str] | None, layout: cute.CuteLayout) -> cute.CuteLayout:
    """Return a layout with the swizzle of its pointer, and the element size of one into shared memory."""
    if pointer is None or layout.unit_bits or layout.offset:
        return layout
    if pointer["descriptors"]:
        return replace(layout, unit_bits=DESCRIPTOR_UNIT_BITS)
    inside = _get_pointed_text(pointer)
    bits = _find_pointed_bits(pointer, inside)
    if not bits or "smem" not in pointer[0]:
        return layout
    if layout.swizzle is not None:  # of the DSL it may be meant for bytes
        return _swizzle_bytes(layout, bits, pointer["shown"] or "") if pointer["bits"] else layout
    swizzle = re.search(r"\bSw?(?:izzle)?<[-\d, ]+>", inside)
    return replace(layout, swizzle=parse_swizzle(swizzle[0]) if swizzle else None, unit_bits=bits)


def _swizzle_bytes(layout: cute.CuteLayout, bits: int, address: str) -> cute.CuteLayout:
    """Return a layout that swizzles indices as one that swizzles byte addresses; itself where they may differ.

    bits: of an element; address: of the first element as printed, "" or other text if it is not known.
    """
    swizzle, shift = layout.swizzle, (bits // 8).bit_length() - 1
    period = 1 << (swizzle.bits + swizzle.base + swizzle.shift + shift) if swizzle and bits >= 8 else 0
    aligned = not address.startswith("0x") or (period and int(address.split(":")[0], 16) % period == 0)
    if swizzle is None or not period or bits & (bits - 1) or swizzle.shift < 0 or not aligned:
        return layout
    return replace(layout, swizzle=replace(swizzle, base=swizzle.base + shift), unit_bits=bits)


def _get_pointed_text(pointer: re.Match[str]) -> str:
    """Return what a pointer of the DSL says of itself: 0x400: bf16, smem, align<1024>, S<3,4,3>."""
    return pointer["inside"] or pointer["memref"] or (pointer["shown"] or "").partition(": ")[2]


def _find_pointed_bits(pointer: re.Match[str], inside: str) -> int | None:
    """Return the element bits of a pointer: ptr[16b], raw_ptr_16b, or the type in its brackets."""
    flagged = _UNDERSCORED.search(pointer[0])
    if bits := int(pointer["bits"] or (flagged[1] if flagged else 0)):
        return bits
    kind = re.match(r"\s*([\w:]+)", inside)
    name = kind[1] if kind else ""
    return find_mlir_bits(name) or ELEMENT_BITS.get(name)


def find_code_layouts(text: str) -> Iterator[LabelledLayout]:
    """Yield the layouts that C++ or Python spells, except those with symbols."""
    if "ayout" not in text or not _CODE.search(text):
        return
    home = terms.make_term_text(text)
    for count, term in enumerate(terms.find_terms(home, _CODE)):
        if count >= MOST:
            return
        layout = smem_layouts.find_known_layout(home, term)
        if layout is not None:
            line = text.rfind("\n", 0, term.span[0]) + 1
            named = re.search(r"([A-Za-z_]\w{0,40})\s*=\s*$", text[max(line, term.span[0] - 80) : term.span[0]])
            yield LabelledLayout(named[1] if named else "", layout)
