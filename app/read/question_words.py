"""Rewrite the words of a question for its parser: ordinals, fragments of C++, and the registers of a line of SASS."""

from __future__ import annotations

import re

from lanescope.reader.instructions.fragment import FRAGMENT, index_fragments, make_key

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
_ORDINAL = re.compile(
    rf"\b(?:the\s+)?(?:(?P<number>\d{{1,3}})(?:st|nd|rd|th)|(?P<word>{'|'.join(_ORDINALS)}))\s+"
    r"(?P<what>register|reg|value|element|row|col(?:umn)?|lane|thread)\b(?!\s*\d)",
    re.I,
)
_FRAGMENT = re.compile(rf"(?:\w+::)*\b(?:{FRAGMENT.pattern})")
_ATOM = re.compile(r"(?:\w+::)*\b(?:MMA|Copy)_(?:Atom|Traits)\s*<\s*(?:\w+::)*(SM\d+_\w+)\s*(?:,[^<>]*)?>")
_STORED = re.compile(r"(?<![\w.])(?:\w+\.)?x\[(\d{1,3})\]")  # fragment.x[5]
_SASS = re.compile(
    r"\b(?P<opcode>[DHIQOB]MMA[.\w]*)\s+R(\d+)[.\w]*,\s*R(\d+)[.\w]*,\s*R(\d+)[.\w]*,\s*(?:R\d+|RZ)\b"
    r"(?:,\s*!?U?[RP]\w+)*"
)
_LANE = re.compile(r"\b(?:lane|thread)\b", re.I)
_LANE = re.compile(r"\b(?:lane|thread)\b", re.I)
_REGISTER = re.compile(r"\bR(\d{1,3})\b")
_MOST_REGISTERS = 8  # of an operand of mma.sync


def rewrite_question(text: str) -> str:
    """Return a question with a number for each ordinal, PTX for a fragment of C++, and registers by their operand.

    >>> rewrite_question("the second register of lane 3")
    'register 1 of lane 3'
    >>> rewrite_question("R25 of HMMA.16816.F32 R24, R4, R8, R24 in lane 5")
    'R1 of D of HMMA.16816.F32 in lane 5'
    """
    return _rewrite_registers(_rewrite_fragments(_ATOM.sub(r"\1", _ORDINAL.sub(_write_number, text))))


def _write_number(match: re.Match[str]) -> str:
    number = int(match["number"]) if match["number"] else 1 + _ORDINALS.index(match["word"].lower())
    what = "value" if match["what"].lower() == "element" else match["what"]
    return f"{what} {max(number - 1, 0)}"


def _rewrite_fragments(text: str) -> str:
    """Write the load that fills a fragment for its type; x[5] is the value 5 of a thread."""
    match = _FRAGMENT.search(text)
    fragment = index_fragments().get(make_key(match[1])) if match else None
    if match is None or fragment is None:
        return text
    written = f"{text[: match.start()]} {fragment.instruction.ptx} {text[match.end() :]}"
    return _STORED.sub(r"value \1", written).strip()


def _rewrite_registers(text: str) -> str:
    """Count the registers of a question from the first one of their operand in the text's only line of SASS."""
    lines = list(_SASS.finditer(text))
    if len(lines) != 1 or not _LANE.search(text):
        return text
    line = lines[0]
    firsts = [(int(first), letter) for first, letter in zip(line.groups()[1:], "DAB", strict=True)]

    def write_register(match: re.Match[str]) -> str:
        number = int(match[1])
        below = [(first, letter) for first, letter in firsts if 0 <= number - first < _MOST_REGISTERS]
        if not below:
            return match[0]
        first, letter = max(below, key=lambda place: place[0])
        return f"R{number - first} of {letter}"

    before, after = (_REGISTER.sub(write_register, part) for part in (text[: line.start()], text[line.end() :]))
    return f"{before}{line['opcode']}{after}"
