"""Find descriptor words in printed output by their context.

The context is a label before the word, names on the left of an assignment, a column heading, or a line that has only
the word; in a debugger, two registers with the halves of a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

Span = tuple[int, int]
MOST_LINES = 2048  # lines with a word
_NEAR = 200  # characters before a word that may label it
LONGEST_LINE = 2048
_WORD = re.compile(
    r"(?<![\w.$%#])(?:0[xX][0-9a-fA-F](?:[_']?[0-9a-fA-F]){8,15}"
    r"|0[bB][01](?:[_']?[01]){39,63}|[01]{64}|-\d{10,19}|\d{11,20}|(?=[0-9a-fA-F]*\d)[0-9a-fA-F]{16})"
    r"(?:[uU]?[lL]{1,2}|[uU]|_?[ui]64)?(?![\w.]|[ \t]*:[ \t]*0x)"
)
_HALF = re.compile(r"(?:0[xX])?[0-9a-fA-F]{1,8}")
_NAME = r"[A-Za-z_][\w.]{0,40}(?:[\[(]\d{1,4}[\])])?"
_BEFORE = re.compile(
    rf"(?<![\w.])(?P<label>(?:(?!an?[ \t])[A-Za-z_][\w.]{{0,24}}[ \t])?{_NAME})[\"'\]]?"
    r"(?P<joint>[ \t]{0,40}(?:[:=]=?|->|is|are)?[ \t]{0,40})"
    r"[\[({\"']{0,2}$"
)
_LEFT = re.compile(
    rf"(?<![\w.])(?P<names>{_NAME}(?:[ \t]?[,/][ \t]?{_NAME})+)[ \t]{{0,40}}[)\]]?[ \t]{{0,40}}(?:=|:|->|are)?"
    r"[ \t]{0,40}[(\[{]?[ \t]{0,8}$"
)
_SAME = re.compile(r"[\s,;|/\"'\[\](){}]{0,40}")  # between the words of a label
_DESC = re.compile(r"desc|word", re.I)
_POINTER = re.compile(  # end of an address's label
    r"(?:^|[\s_.\[\]\d])(?:ptrs?|pointers?|addr(?:ess(?:es)?)?|at|location|PTR|ADDR)$"
    r"|(?:^|[\s_.])[a-z]{1,5}(?:ptr|addr)$|[a-z\d](?:Ptr|Addr|Address|Pointer)$"
)
_OF_ADDRESS = re.compile(  # words that introduce an address
    r"&\s?(?:\w+(?:\.|->|::)){0,3}\w*(?:\[\w*\])?$|\*\s?\)$"
    r"|\b(?:addr(?:ess)?|ptr|pointer|location|lies|stored|located)\s+(?:of|to|at|in)\b[^=:;,\n]{0,40}$",
    re.I,
)
_OTHER = re.compile(  # other descriptors: of a tensor map, an instruction
    r"(?:^|[^a-z])(?:tma|k?i_?desc|instr|instruction|inst[\s_.]?desc)|tensor_?map|[a-z](?:TMA|Tma|Idesc|IDesc|Instr)"
    r"|^(?:tma|instr)|\b(?:file|texture|surface|cudnn)[\s_]desc"
)
_SECTION = re.compile(rf"\W{{0,40}}(?P<label>(?:{_NAME}[ \t]){{0,2}}{_NAME})[ \t]{{0,40}}[:=]?\W{{0,40}}")
_ROW = re.compile(r"[\s|,]*(?:(?:\d{1,6}|(?:0[xX])?[0-9a-fA-F]{8}|0[xX][0-9a-fA-F]{1,8})(?:[\s|,]++|$)){2,}")
_RULE = re.compile(r"[\s|+:=-]+")
_CODE = re.compile(
    r"[A-Za-z_]\w*\(|<<|\|=|[{}%]|;\s*\S|\b[a-z]+\.[a-z]\w*|\b[A-Z]{3,}\w*\b.*\bU?R\d|^\s*#\s*(?:define|pragma)|//"
)
_OPCODE = re.compile(r"\b(?:wgmma|tcgen05)(?:(?:\.|::)\w+)+")  # beside words, not in a statement
_OPERANDS = re.compile(r"(?:^|[\s_.])(?:s?[ab]|[ab]s|lhs|rhs)(?:$|[\s_.\[(\d])|s[AB]$", re.I)
_REGISTER = re.compile(
    r"(?<![\w.])\$?(?P<name>U?R\d{1,3})[ \t]*(?:[:=]|[ \t])[ \t]*(?P<value>0[xX][0-9a-fA-F]{1,8})(?![\w.])"
)
_MOVED = re.compile(r"(?<![\w.])U?MOV[ \t]{1,20}(?P<name>U?R\d{1,3}),[ \t]{1,4}(?P<value>0x[0-9a-fA-F]{1,8})(?![\w.])")
_DEBUGGER_COMMAND = re.compile(
    r"\bp(?:rint)?(?:/\w)?[ \t]{1,8}(?P<what>[^\s][^\n]{0,79})\n[ \t]{0,40}\$\d{1,6}[ \t]{0,8}=[ \t]{0,8}"
    r"(?P<value>0[xX][0-9a-fA-F]{1,16}|-?\d{1,20})(?!\w)"
)
_HALVES = re.compile(r"(?P<stem>.*?)[\s._\[(]{0,8}(?P<half>lo|low|hi|high|x|y|0|1)[\])]?$", re.I)
_CONTINUED = re.compile(r"[ \t]*(?:(?:[+*^%&]|<<|>>)[ \t]*[~(]*\w|-[ \t]*\(*\d)")  # by an operator and an operand
_ORED = re.compile(r"[ \t]*\|[ \t]*(?P<rest>[\w(~][^;\n]*)")


def is_operand(text: str, past: int) -> bool:
    """Return whether an operator follows a number that ends at `past`; a | may also stand between columns.

    >>> [is_operand(text, 8) for text in ("a = 0x10 + k", "a = 0x10 | 1 << 4", "a = 0x10 | M = 64", "| x |  7 | b")]
    [True, True, False, False]
    """
    if _CONTINUED.match(text, past):
        return True
    match, before = _ORED.match(text, past), text[text.rfind("\n", 0, past) + 1 : past]
    if match is None or "|" in before or re.search(r"[=:,]|\|\s*$", match["rest"]):
        return False
    return "=" in before or "<<" in match["rest"]


@dataclass(frozen=True, slots=True)
class LabelledWord:
    """A number of up to 64 bits, its label ("" without one), and its place in the text.

    named: whether the label calls it a descriptor.
    """

    label: str
    word: int
    span: Span
    named: bool


def parse_printed_number(spelled: str) -> int:
    """Parse a printed number: 0x…, 0b…, 64 binary digits, 16 hex digits, decimal. C's suffixes are ignored."""
    digits = re.sub(r"_?[ui]64$|[uUlL]+$|[_']", "", spelled)
    if len(digits) == 64 or (len(digits) > 40 and digits[:2].lower() == "0b"):
        return int(digits.lower().removeprefix("0b"), 2)
    if digits[:2].lower() == "0x":
        return int(digits, 16)
    hexadecimal = len(digits) == 16 and (digits[0] == "0" or not digits.isdecimal())
    return int(digits, 16) if hexadecimal or (len(digits) == 16 and digits[0] in "4c8") else int(digits)


def find_labelled_words(text: str) -> Iterator[LabelledWord]:
    """Yield the words of a text's lines; in code only those whose label calls them descriptors."""
    above = _Heading()
    count = start = 0
    for line in text.split("\n"):
        at, start = start, start + len(line) + 1
        if not line.strip():
            above = above if above.fresh else _Heading()
        elif len(line) <= LONGEST_LINE and count < MOST_LINES:
            words = list(_WORD.finditer(line))
            if words:
                count += 1
                above.fresh = False
                yield from _find_line_words(line, at, words, above)
            elif _ROW.fullmatch(line):
                count += 1
                yield from _join_halves(line, at, above)
            elif not _RULE.fullmatch(line):
                above = _Heading(line)


class _Heading:
    """The last line without a word: the names of columns, or one label."""

    def __init__(self, line: str = "") -> None:
        self.line = line
        self.fresh = bool(line)  # no row below it so far

    @cached_property
    def cut(self) -> tuple[list[re.Match[str]], ...]:
        """The columns of a heading, split at its separators and at single blanks; () if the line is not a heading."""
        line = self.line
        if not _DESC.search(line) and not _OPERANDS.search(line):
            return ()
        if _CODE.search(line) or ":" in line.replace("::", ""):
            return ()
        cuts = (_find_cells(line, by) for by in dict.fromkeys((_find_separator(line), " ")))
        return tuple(
            cut for cut in cuts if len(cut) > 1 and any(is_matrix_descriptor_label(cell[0].strip()) for cell in cut)
        )

    def match_columns(self, row: str) -> Iterator[tuple[str, re.Match[str]]]:
        """Yield (column name, cell) of a row with the heading's number of cells; nothing for other rows."""
        for names in self.cut:
            for by in dict.fromkeys((_find_separator(row), " ")):
                cells = _find_cells(row, by)
                if len(cells) == len(names):
                    yield from ((name[0].strip(), cell) for name, cell in zip(names, cells, strict=True))
                    return

    @cached_property
    def label(self) -> str:
        section = None if _CODE.search(self.line) else _SECTION.fullmatch(self.line)
        return section["label"] if section and is_matrix_descriptor_label(section["label"]) else ""

    def find_column(self, row: str, match: re.Match[str]) -> str:
        """Return the name of the column of a match in a row."""
        for name, cell in self.match_columns(row):
            if cell.start() <= match.start() < cell.end():
                return name
        middle = match.start() + match.end()
        return min(self.cut[0], key=lambda cell: abs(cell.start() + cell.end() - middle))[0].strip()


class _Line:
    """A line with words, and where their labels are."""

    def __init__(self, text: str, words: list[re.Match[str]], above: _Heading) -> None:
        self.text, self.words, self.above = text, words, above
        first = words[0].start()
        statement = text.rstrip().endswith(";") and re.search(r"[A-Za-z_]", text[:first])
        self.code = _CODE.search(_OPCODE.sub("", text)) is not None or bool(statement)
        left = _LEFT.search(text[max(0, first - _NEAR) : first])
        self.several = re.split(r"[ \t]?[,/][ \t]?", left["names"]) if left else []  # desc_a, desc_b: 0x… 0x…

    def label(self, place: int, last: str) -> str:
        """Return the label of a word by its place in the line; last: the label of the word before it."""
        word = self.words[place]
        past = self.words[place - 1].end() if place else 0
        gap = self.text[max(past, word.start() - _NEAR) : word.start()]
        before = _BEFORE.search(gap)
        if len(self.several) == len(self.words) > 1:
            return self.several[place]
        if before and (before["joint"].strip() or is_matrix_descriptor_label(before["label"])):
            return before["label"].strip()
        if not self.code and not self.several and self.above.cut:
            return self.above.find_column(self.text, word)
        if place and _SAME.fullmatch(gap):
            return last
        return self.above.label if not place and not self.code else ""


def _find_line_words(text: str, start: int, words: list[re.Match[str]], above: _Heading) -> Iterator[LabelledWord]:
    line, label = _Line(text, words, above), ""
    for place, match in enumerate(words):
        label = line.label(place, label)
        named = _DESC.search(label) is not None
        if not line.code or named:
            yield LabelledWord(
                label, parse_printed_number(match[0]), (start + match.start(), start + match.end()), named
            )


def is_other_label(label: str) -> bool:
    """Return whether a label names another kind of descriptor, such as a tensor map's or an instruction's.

    >>> is_other_label("TMA Desc"), is_other_label("idesc"), is_other_label("smem_desc")
    (True, True, False)
    """
    return any(_OTHER.search(spelling) for spelling in (label, label.lower()))


def is_address_label(label: str, before: str) -> bool:
    """Return whether a label, or the words before a number, call it an address.

    >>> (is_address_label("desc ptr", ""), is_address_label("desc", "the address of desc"),
    ... is_address_label("desc", "store desc"))
    (True, True, False)
    """
    return label.startswith("&") or _POINTER.search(label) is not None or _OF_ADDRESS.search(before) is not None


def is_descriptor_label(label: str) -> bool:
    """Return whether a label contains a word for descriptor."""
    return _DESC.search(label) is not None


def is_matrix_descriptor_label(label: str) -> bool:
    """Return whether a label names a matrix descriptor, by that word or by an operand's name."""
    return bool(_DESC.search(label) or _OPERANDS.search(label))


# tables ---------------------------------------------------------------------------------------------------------------


def _find_cells(line: str, by: str) -> list[re.Match[str]]:
    pattern = {"|": r"[^|]+", "\t": r"[^\t]+", ",": r"[^,]+", "  ": r"\S+(?: \S+)*", " ": r"\S+"}[by]
    return [cell for cell in re.finditer(pattern, line) if cell[0].strip()]


def _find_separator(line: str) -> str:
    inside = line.strip().strip("|")
    return next((mark for mark in ("|", "\t", ",") if mark in inside), "  " if "  " in inside.strip() else " ")


def _join_halves(row: str, start: int, above: _Heading) -> Iterator[LabelledWord]:
    """Yield the words of a row with columns for both halves, such as desc_a.lo and desc_a.hi."""
    halves: dict[str, dict[int, tuple[int, Span]]] = {}
    for name, cell in above.match_columns(row):
        match = _HALVES.fullmatch(name)
        if match and _DESC.search(match["stem"]) and _HALF.fullmatch(cell[0].strip()):
            half = int(match["half"].lower() in ("hi", "high", "y", "1"))
            value = int(cell[0].strip(), 16)
            halves.setdefault(match["stem"], {})[half] = value, (start + cell.start(), start + cell.end())
    for stem, both in halves.items():
        if len(both) == 2:
            spans = sorted(span for _, span in both.values())
            yield LabelledWord(stem, both[0][0] | both[1][0] << 32, (spans[0][0], spans[1][1]), True)


# registers ------------------------------------------------------------------------------------------------------------


def find_register_words(text: str) -> Iterator[LabelledWord]:
    """Yield words in register pairs (even register: low half) of `info registers`, `R12 0x10100` and `p/x $R12`."""
    registers: dict[str, tuple[int, Span]] = {}
    for match in (*_REGISTER.finditer(text), *_MOVED.finditer(text)):
        registers.setdefault(match["name"], (int(match["value"], 16), match.span()))
    for match in _DEBUGGER_COMMAND.finditer(text):
        what = match["what"].strip().lstrip("$")
        if re.fullmatch(r"U?R\d{1,3}", what):
            registers.setdefault(
                what,
                (int(match["value"], 16 if "x" in match["value"].lower() else 10) & 0xFFFFFFFF, match.span("value")),
            )
    for name, (low, span) in registers.items():
        stem, number = name.rstrip("0123456789"), int(name.lstrip("UR"))
        other = registers.get(f"{stem}{number + 1}")
        if number % 2 == 0 and other is not None:
            spans = sorted((span, other[1]))
            yield LabelledWord(f"{name}:{stem}{number + 1}", low | other[0] << 32, (spans[0][0], spans[1][1]), False)


def find_debugger_questions(text: str) -> dict[int, str]:
    """Map the place of a debugger's output to its command, such as `p/x desc_a` before `$1 = 0x…`."""
    return {match.start("value"): match["what"].strip() for match in _DEBUGGER_COMMAND.finditer(text)}
