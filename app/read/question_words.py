"""Rewrite the words of a question for its parser: ordinals, fragments of C++, and the registers of a line of SASS."""

from __future__ import annotations

import re

from lanescope.errors import LayoutError
from lanescope.inputs import join_words
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction
from lanescope.reader.instructions import sass
from lanescope.reader.instructions.fragment import FRAGMENT, index_fragments, make_key

_ONES = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth"
    " sixteenth seventeenth eighteenth nineteenth"
).split()
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ORDINAL = re.compile(
    rf"\b(?:the\s+)?(?:(?P<number>\d{{1,3}})(?:st|nd|rd|th)|(?:(?P<ten>{'|'.join(_TENS)})[\s-]+)?(?P<word>{'|'.join(_ONES)}))"
    r"\s+(?P<what>register|reg|value|element|row|col(?:umn)?|lane|thread)\b(?!\s*\d)",
    re.I,
)
_FRAGMENT = re.compile(rf"(?:\w+::)*\b(?:{FRAGMENT.pattern})(?:\s*\w*\s*;\s*$)?")
_ATOM = re.compile(r"(?:\w+::)*\b(?:MMA|Copy)_(?:Atom|Traits)\s*<\s*(?:\w+::)*(SM\d+_\w+)\s*(?:,[^<>]*)?>(?:\{\})?")
_STORED = re.compile(r"(?<![\w.])(?:\w+\.)?x\[(\d{1,3})\]")  # fragment.x[5]
_NAME = r"R(?P<{}>\d+)[.\w]*(?:-R\d+)?"  # R24, or R24-R27
_SASS = re.compile(
    rf"(?:/\*\w+\*/\s*)?(?:@!?U?P\w+\s+)?\b(?P<opcode>[DHIQOB]G?MMA[.\w]*)\s+{_NAME.format('d')},\s*"
    rf"(?:{_NAME.format('a')},\s*)?(?:{_NAME.format('b')},|gdesc\[\w+\][.\w]*,)\s*(?:{_NAME.format('c')}|RZ\b)"
    r"(?P<more>(?:,\s*!?U?[RP]\w+|,\s*gsb\d|,\s*0x\w+)*)(?:\s*;)?"
)
_SPELLINGS = (  # of threads and of what they hold, as programs and CuTe spell them
    (re.compile(r"\bthreadIdx\.x\s*(?:=+|is)?\s*(?=\d)"), "thread "),
    (re.compile(r"%?\blane_?id\s*(?:=+|is)?\s*(?=\d)", re.I), "lane "),
    (re.compile(r"\bT(\d{1,3})\s*V(\d{1,3})\b"), r"T\1 V\2"),
    (re.compile(r"\b(?:acc(?:um(?:ulators?)?)?|[cd]_?frag|frag_?[cd]|t\wr[CD])\s*[\[(](\d{1,3})[\])]", re.I), r"d[\1]"),
    (re.compile(r"\bt\wr([AB])[\[(](\d{1,3})[\])]"), r"value \2 of \1"),
    (re.compile(r"\belement\s+(\d{1,3})\s+of\s+(?:the\s+)?([A-D])\b(?:\s+fragment)?(?!\s*[\[(])"), r"value \1 of \2"),
    (
        re.compile(r"\b[DHIQOB]G?MMA[ .]\d[\dx]*(?:[ .](?:[BT]?F(?:16|32)|[SU][48]|E\dM\d)\b)*", re.I),
        lambda match: sass.spell_mnemonic(match[0].replace(" ", ".")),
    ),
)
_MNEMONIC = re.compile(r"(?<![\w.])[DHIQOB]G?MMA(?:\.\w+)+")
_LANE = re.compile(r"\b(?:lane|thread)\b", re.I)
_ELEMENT = re.compile(
    r"\b(?:SF[AB]|[A-E])\s?[\[(]\d+(?:\]\[|\)\(|,\s?)\d+[\])]|\b(?:row|col(?:umn)?)\s+\d+\s+of\b", re.I
)
_OPERAND = re.compile(r"\b[A-D]\b|\b[a-d]\d")
_A = re.compile(r"\bA\b(?!\s+(?:lane|thread|warp))|\ba\d")
_REGISTER = re.compile(r"\bR(\d{1,3})\b")
_RANGE = re.compile(r"\bR(\d{1,3})\s?(?:-|:|–|\.\.)\s?R(\d{1,3})\b")
_MOST_REGISTERS = 8  # of an operand of an unknown mnemonic
_REGISTER_BITS = 32  # of SASS
_MMA_884 = "mma.m8n8k4"


def rewrite_question(text: str) -> str:
    """Return a question with a number for each ordinal, PTX for a fragment of C++, and registers by their operand.

    LayoutError if a register of a line of SASS is of several operands, or there are several registers.

    >>> rewrite_question("the second register of lane 3")
    'register 1 of lane 3'
    >>> rewrite_question("R25 of HMMA.16816.F32 R24, R4, R8, R24 in lane 5")
    'R1 of D of mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 in lane 5'
    """
    if _LANE.search(text) or re.search(r"(?i)threadIdx|laneid|lane_id|\bT\d+\s*V\d|mma\s+\d", text):
        for pattern, spelled in _SPELLINGS:
            text = pattern.sub(spelled, text)
    rewritten = _rewrite_registers(_rewrite_fragments(_ATOM.sub(r"\1", _ORDINAL.sub(_write_number, text))))
    return _MNEMONIC.sub(_write_instruction, rewritten)


def _write_instruction(match: re.Match[str]) -> str:
    """Write PTX for a mnemonic of SASS if all instructions that compile to it have the same shape and types."""
    forms = _list_compiled(match[0])
    is_same = len({(form.shape, form.syntax.types, form.syntax.layouts) for form in forms}) == 1
    return forms[0].ptx if is_same else match[0]


def _list_compiled(mnemonic: str) -> list[Instruction]:
    """Return the instructions of PTX that compile to a mnemonic of SASS, [] if it is unknown."""
    try:
        found = sass.recognise_sass(mnemonic)
    except LayoutError:
        return []
    return [catalog.find(ptx) for meaning in found for ptx in meaning.facts.get("candidates", ())]


def _write_number(match: re.Match[str]) -> str:
    if match["number"]:
        number = int(match["number"])
    else:
        tens = 10 * (2 + _TENS.index(match["ten"].lower())) if match["ten"] else 0
        number = tens + 1 + _ONES.index(match["word"].lower())
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
    """Count the register of a question from the first one of its operand in the text's only line of SASS."""
    lines = list(_SASS.finditer(text))
    if len(lines) != 1:
        return text
    line = lines[0]
    before, after = text[: line.start()], text[line.end() :]
    context = before + after
    is_place = bool(_LANE.search(context) or _ELEMENT.search(context))
    if not is_place and re.search(r"[\n;\[/]", context.strip()):
        return text  # a listing
    if is_place and not line["a"] and _A.search(context):
        raise LayoutError("bad_find", "This line of SASS reads A by gdesc: no register holds it.", "", "text")
    if span := _RANGE.search(before) or _RANGE.search(after):
        raise _make_range_error(span, line, context)
    registers = [*_REGISTER.finditer(before), *_REGISTER.finditer(after)]
    if not registers:
        held = "" if line["a"] or _OPERAND.search(context) else "D of "  # A comes through a descriptor
        return f"{before}{held}{line['opcode']}{after}" if is_place else text
    if len(registers) > 1:
        raise LayoutError("bad_text", "The question has several registers of SASS.", "Ask for one of them.", "text")
    place = _name_register(int(registers[0][1]), line)
    return f"{_REGISTER.sub(place, before)}{line['opcode']}{_REGISTER.sub(place, after)}"


def _make_range_error(span: re.Match[str], line: re.Match[str], context: str) -> LayoutError:
    """Return the error for registers from one to another: which of an operand they are, and how to ask for one. around:
    the question, which may name the lane.
    """
    lane = re.search(r"\b(?:lane|thread) \d+\b", context)
    first, last = (_name_register(int(number), line).partition(" of ") for number in span.groups())
    written = f"{first[0]} to {last[0]} of {last[2]}" if first[2] == last[2] else f"{''.join(first)} to {''.join(last)}"
    hint = f"Ask for one of them: R{span[1]} of {lane[0] if lane else 'lane 20'} of {line[0].strip()}."
    return LayoutError("bad_find", f"{span[0]} of this line of SASS is {written} in every lane.", hint, "text")


def _name_register(number: int, line: re.Match[str]) -> str:
    """Return a register of a line of SASS by its operand, R1 of D. LayoutError if it is of several, or of none."""
    firsts = {letter: int(line[letter]) for letter in "dabc" if line[letter]}
    if firsts.get("c") == firsts["d"]:
        del firsts["c"]
    if f"R{number}" in re.findall(r"\w+", line["more"]):
        raise LayoutError("bad_text", f"R{number} of this line of SASS holds scale factors or metadata.", "", "text")
    counts = _count_registers(line["opcode"])
    below = [first for letter, first in firsts.items() if 0 <= number - first < counts.get(letter, _MOST_REGISTERS)]
    names = [letter.upper() for letter, first in firsts.items() if below and first == max(below)]
    if len(names) != 1:
        what = (
            f"is of {' and '.join(names)}" if names else f"is not of {join_words(list(map(str.upper, firsts)), 'or')}"
        )
        hint = f"They begin at {', '.join(f'R{first} ({letter.upper()})' for letter, first in firsts.items())}."
        raise LayoutError("bad_text", f"R{number} of this line of SASS {what}.", hint, "text")
    if names == ["D"] and ".STEP" in line["opcode"]:
        hint = "The four steps of HMMA.884 each write two registers of it; ask for its R0 to R7 in PTX."
        raise LayoutError("bad_text", f"D of this line of SASS is a part of D of {_MMA_884}.", hint, "text")
    wide = 2 if line["opcode"].startswith("DMMA") else 1  # registers of SASS for one of f64
    return f"R{(number - max(below)) // wide} of {names[0]}"


def _count_registers(opcode: str) -> dict[str, int]:
    """Count the registers of SASS of each operand of a mnemonic: the most that an instruction of it has."""
    counts: dict[str, int] = {}
    for form in _list_compiled(opcode):
        for name, operand in form.operands.items():
            count = operand.registers * operand.register_bits // _REGISTER_BITS
            counts[name] = max(count, counts.get(name, 0))
    return counts
