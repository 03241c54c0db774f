"""Texts that ask for an element, a row, a lane or a register: what they ask for, and the rest, which names the
instruction. No framework.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from lanescope.app.kit.find import parse_places, split_places
from lanescope.errors import LayoutError

LONGEST = 400  # characters of a question
_PLACE = (
    r"(?:\[\s*(\d{1,6})\s*\]\s*\[\s*(\d{1,6})\s*\]|[\[(]\s*(\d{1,6})\s*[,;]\s*(\d{1,6})\s*[\])]"
    r"|row\s+(\d{1,6})\s*,?\s*(?:and\s+)?col(?:umn)?\s+(\d{1,6}))"
)
_BARE = r"(\d{1,6})\s*,\s*(\d{1,6})"  # 5,9
_LETTER = r"(?:the\s+)?(?:matrix\s+|operand\s+|fragment\s+)?(?:the\s+)?(a|b|c|d|accumulator|acc|result|output)"
_PLACES = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        rf"(?<![\w.:])matrix\s+(?P<part>\d)\s*{_PLACE}",
        rf"(?<![\w.:]){_LETTER}(?:\s+(?:fragment|matrix|operand))?(?:\s+(?:element|at))?\s*{_PLACE}(?![\w:(\[]|\s+(?:tile|block|box|shape)\b)",
        rf"(?<![\w.:])(?:element\s+)?(?:{_PLACE}|{_BARE})\s+(?:of|in)\s+{_LETTER}(?![\w.:])",
        rf"(?<![\w.:]){_LETTER}\s+element\s+{_BARE}(?![\w.])",
        rf"(?<![\w.:])(?-i:([ABCD]))\s*{_BARE}(?![\w.])",
        r"(?<![\w.:])(?-i:([ABCD]))\s+(\d{1,6})\s+(\d{1,6})(?![\w.])",
        rf"(?<![\w.:])(?:element|entry|holds|owns|has)\s+(?:{_PLACE}|{_BARE}(?![\w.]))",
        rf"(?:(?<=\bof )|(?<=\bat )|^(?=\[)){_PLACE}",
    )
)
_LINE = re.compile(rf"(?<![\w.])(row|column|col)\s+(\d{{1,6}})\s+(?:of|in)\s+{_LETTER}(?![\w.:])", re.I)
_INDEX = re.compile(r"(?<![\w.:])([ABCD])(?:\s+(\d{1,6})|\[(\d{1,6})\])(?![\w.:\[,])")
_WARP = re.compile(r"(?<![\w.%])warp\s*(\d{1,6})\s*,?\s*(?=lane\s*\d)", re.I)
_LANE = re.compile(r"(?<![\w.%])(?:(lane|thread|tid)\s*(?:id|#|=)?\s*|(?-i:([TL])))(\d{1,6})(?![\w.\]])(?:'s)?", re.I)
_REGISTER = re.compile(r"(?<![\w.%])(?:r|reg|register)\s*(\d{1,6})(?![\w.\]])", re.I)
_VALUE = re.compile(r"(?<![\w.:])([abcd])(?:(\d{1,4})|\[(\d{1,4})\])(?![\w.\[])", re.I)
_OPERAND = re.compile(r"(?<![\w.:])(?:([ABCD])|(accumulator|acc))(?![\w.:\[(])")
_AFTER = re.compile(r"(?<![\w.:])(?:([ABCD])|(accumulator|acc))\s*[?.]?\s*$")
_NAMING = re.compile(r"\s+(?:of|in|:)\s+", re.I)  # before the instruction
_JOINING = re.compile(r"(?:of|in|on|[\s,])*", re.I)  # between a register and its lane
_LONGEST_PAIR = 120  # characters of two places
_ACCUMULATOR = frozenset(("accumulator", "acc", "result", "output"))
_CODE = re.compile(r"[{};\"\\$@<>\n]|%\w|(?<!\+)=|->")  # a question has none of it
ASKING = frozenset(  # words of such a question that name no form
    """accumulator acc address addresses cell cells element elements entries entry find fragment has held hold holds
    lane lanes locate matrix operand output owner owners owns register registers result s thread threads value values
    who whose""".split()
)


@dataclass(frozen=True, slots=True)
class ElementQuestion:
    """What a text asks for, and the rest of it, which names the instruction.

    operand: its letter in small letters, "" if none is named; place: row and column, of which `part` where a load moves
    several matrices; index: of an element, row by row; line: "row" or "col" and its number; lane, register, value: None
    if none is named; by_warp: whether `lane` counts in a warp, and `warp` in which.
    """

    rest: str
    operand: str = ""
    place: tuple[int, int] | None = None
    part: int | None = None
    index: int | None = None
    line: tuple[str, int] | None = None
    lane: int | None = None
    register: int | None = None
    value: int | None = None
    by_warp: bool = False
    warp: int | None = None

    @property
    def text(self) -> str:
        letter = self.operand.upper()
        if self.place:
            matrix = "element" if self.part is None else f"matrix {self.part}"
            return f"{letter or matrix}[{self.place[0]}][{self.place[1]}]"
        if self.index is not None:
            return f"{letter}[{self.index}]"
        if self.line:
            return f"{'row' if self.line[0] == 'row' else 'column'} {self.line[1]} of {letter}"
        what = f"R{self.register} of " if self.register is not None else ""
        if self.value is not None:
            what = f"{self.operand}{self.value} of "
        warp = f"warp {self.warp} " if self.warp is not None else ""
        return f"{what}{warp}{'lane' if self.by_warp else 'thread'} {self.lane}"


@dataclass(frozen=True, slots=True)
class ComparedPlaces:
    """Two places of one instruction. text: both, as a find field takes them; rest: what names the instruction."""

    text: str
    rest: str
    questions: tuple[ElementQuestion, ...]


def parse_comparison(text: str) -> ComparedPlaces | None:
    """Parse a question about two places; None for any other text.

    >>> compared = parse_comparison("lane 3 and lane 4 of mma.m16n8k16 bf16")
    >>> compared.text, compared.rest
    ('lane 3 and lane 4', 'mma.m16n8k16 bf16')
    """
    for match in _NAMING.finditer(text[:_LONGEST_PAIR]):
        places, rest = text[: match.start()], text[match.end() :]
        try:
            count = len(parse_places(places, "abcd", ""))
        except LayoutError:
            continue
        questions = [question for part in split_places(places) if (question := parse_question(part))]
        if count == len(questions) == 2 and all(_JOINING.fullmatch(question.rest) for question in questions):
            return ComparedPlaces(places, rest, tuple(replace(question, rest=rest) for question in questions))
    return None


def parse_question(text: str) -> ElementQuestion | None:
    """Parse a question about an element, a row, a lane or a register; None for any other text.

    >>> question = parse_question("A[5][9] of mma.m16n8k16 bf16")
    >>> question.operand, question.place, question.rest
    ('a', (5, 9), 'of mma.m16n8k16 bf16')
    """
    text = text.strip()
    if len(text) > LONGEST or _CODE.search(text):
        return None
    return _parse_place(text) or _parse_line(text) or _parse_lane(text) or _parse_index(text)


def _parse_place(text: str) -> ElementQuestion | None:
    for pattern in _PLACES:
        if not (match := pattern.search(text)):
            continue
        part = match["part"] if "part" in match.groupdict() else None
        found = [group for group in match.groups() if group][part is not None :]
        numbers = [int(group) for group in found if group.isdecimal()]
        letters = [group.lower() for group in found if not group.isdecimal()]
        rest = f"{text[: match.start()]} {text[match.end() :]}".strip()
        if not letters and part is None and (after := _AFTER.search(rest)):
            letters, rest = [after[0].strip(" ?.").lower()], rest[: after.start()].strip()
        operand = _name_operand(letters[0]) if letters else ""
        return ElementQuestion(rest, operand, (numbers[0], numbers[1]), part=None if part is None else int(part))
    return None


def _parse_line(text: str) -> ElementQuestion | None:
    match = _LINE.search(text)
    if not match:
        return None
    rest = f"{text[: match.start()]} {text[match.end() :]}".strip()
    axis = "row" if match[1].lower() == "row" else "col"
    return ElementQuestion(rest, _name_operand(match[3].lower()), line=(axis, int(match[2])))


def _parse_index(text: str) -> ElementQuestion | None:
    match = _INDEX.search(text)
    if not match:
        return None
    rest = f"{text[: match.start()]} {text[match.end() :]}".strip()
    return ElementQuestion(rest, match[1].lower(), index=int(match[2] or match[3]))


def _parse_lane(text: str) -> ElementQuestion | None:
    lane = _LANE.search(text)
    if not lane:
        return None
    warp = _WARP.search(text)
    rest = f"{text[: lane.start()]} {text[lane.end() :]}"
    register, value = _REGISTER.search(rest), _VALUE.search(rest)
    operand = None if value else _OPERAND.search(rest)
    for match in filter(None, (register, value, operand, warp)):
        rest = rest.replace(match[0], " ", 1)
    letter = value[1] if value else operand[0] if operand else ""
    return ElementQuestion(
        rest.strip(),
        _name_operand(letter.lower()),
        lane=int(lane[3]),
        register=int(register[1]) if register else None,
        value=int(value[2] or value[3]) if value else None,
        by_warp=(lane[1] or "").lower() == "lane" or lane[2] == "L",
        warp=int(warp[1]) if warp else None,
    )


def _name_operand(word: str) -> str:
    return "d" if word in _ACCUMULATOR else word
