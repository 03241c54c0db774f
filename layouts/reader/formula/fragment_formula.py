"""Rewrite a formula `row = …  col = …` in the style of the PTX ISA as C++, with its cases and values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lanescope.reader.formula.lane_code import parse_lane_code, run_lane_code
from lanescope.reader.formula.lane_places import make_open_error

INDEX = ("i", "v", "value", "valueId", "value_id")
_LETTER = re.compile(r"(?<![\w.])[rc](?!\w)")
_ASSIGNED_LETTER = re.compile(r"(?<![\w.>])([rc])\s*=(?!=)")
_LONG_NAME = re.compile(r"row|col", re.I)
_SPECIAL = re.compile(r"%(?=(?:laneid|tid|warpid)\b)")
_FLOOR, _NAMED_FLOOR = re.compile(r"//(?=\s*\d)"), re.compile(r"//\s*[A-Za-z_]\w*\s*(?:[-+*%)]|$)", re.M)
_TOGETHER = re.compile(r",\s*(?=\w*(?:row|col)\w*\s*=(?!=))", re.I)  # row = lane / 4, col = …
_ON_ONE_LINE = re.compile(  # … % 4 row = …: line ends lost
    r"(?:(?<=[)}])|(?<=\s\d))[ \t]+(?=(?:group_?ID|threadID_in_group|\w*row\w*|\w*col\w*)[ \t]*=(?!=))", re.I
)
_NAMED = re.compile(  # for c0 and c1: values by their PTX names
    r"\bfor\s+(?:each\s+)?(?P<letter>[a-d])\d+(?:(?:\s*,\s*(?:and\s+)?|\s+and\s+|\s*&\s*)(?P=letter)\d+)*\b", re.I
)
_AFTER_NAMED = re.compile(r"(for [a-d]i where \([^()]*\))[ \t]*,?[ \t]*(?!and\b|or\b)(?=[\w(%])", re.I)
_NEXT_CASE = re.compile(  # … for ci where i < 2, groupID + 8 for …
    r"(\s(?:for|where|when|if)\s[^\n{}]*?(?:\{[^{}\n]*\})?),[ \t]*"
    r"(?!where\b|when\b|if\b|for\b|and\b|or\b|otherwise\b|else\b)(?=[^,\n]*\s(?:for|where|when|if|otherwise|else)\b)",
    re.I,
)
_CASE = re.compile(
    r"^(?:\s*(?P<name>\w+)\s*=(?!=))?\s*(?P<value>.+?)"
    r"(?:\s+for\s+(?:each\s+)?(?P<letter>[a-d])\w*)?"
    r"(?:\s*,?\s+(?:where|when|if|for(?=\s+\w+\s*=))\s+(?P<where>.+?)|\s+(?P<rest>otherwise|else))?\s*$",
    re.I,
)
_SET = re.compile(r"(\w+)\s*=\s*\{\s*(\d+)\s*,[\s.…,]*?(\d+)\s*\}")
_CHAIN = re.compile(r"(\d+)\s*(<=?)\s*(\w+)\s*(<=?)\s*(\d+)")
_TYPES = r"(?:u?int(?:32_t|8_t|16_t)?|unsigned(?:\s+int)?|float|half2?|__half2?|__nv_bfloat162?)"
_REGISTER = r"(?P<name>(?:[abcd]|acc|r[abcABC]|reg|frag)\d{1,2})"
_STORED = _REGISTER.replace("name", "stored")
_SCALAR_MOVE = re.compile(  # a0 = …[…]; or …[…] = d0;
    rf"(?:(?<![\w.])(?={_REGISTER}\s*=(?!=)[^;=]*[\])])|(?<=\])\s*=(?!=)\s*(?={_STORED}\s*;))"
)
_LANE_BY_ASM = re.compile(
    r"""asm(?:\s+volatile)?\s*\(\s*"mov\.[us]32 %0, %%?(laneid|warpid|tid\.x);"\s*:\s*"=r"\s*\((\w+)\)\s*\);"""
)
_NO_CASE = 1 << 20  # impossible coordinate, for threads without a case
_MOST_VALUES = 512


@dataclass(frozen=True, slots=True)
class FormulaText:
    """A formula as C++.

    letter: the operand that it names, "" if none; values: those that its cases cover, () if unknown.
    """

    source: str
    letter: str = ""
    values: tuple[int, ...] = ()

    @property
    def count(self) -> int:
        """The number of values, 0 if unknown or if the values do not begin at 0."""
        return len(self.values) if self.values == tuple(range(len(self.values))) else 0


@dataclass(frozen=True, slots=True)
class _Case:
    """The expression of a coordinate and its condition, "" for none."""

    where: str
    value: str


def spell_registers(text: str) -> str:
    """Spell the registers a0, a1 … of a text that moves them as elements of an array, and a lane that asm reads by its
    name.

    >>> spell_registers("uint32_t a0 = *(int*)&A[lane]; uint32_t a1 = *(int*)&A[lane + 8];")
    'a[0] = *(int*)&A[lane]; a[1] = *(int*)&A[lane + 8];'
    """
    text = _LANE_BY_ASM.sub(r"\2 = \1;", text)
    moved = {match["name"] or match["stored"] for match in _SCALAR_MOVE.finditer(text)}
    for letter in {name.rstrip("0123456789") for name in moved}:
        numbers = sorted(int(name[len(letter) :]) for name in moved if name.rstrip("0123456789") == letter)
        if (
            len(numbers) > 1
            and numbers == list(range(len(numbers)))
            and not re.search(rf"(?<![\w.]){letter}\s*\[", text)
        ):
            text = re.sub(
                rf"(?:(?<![\w<(,*])(?:const\s+)?{_TYPES}\s+)?(?<![\w.]){letter}(\d+)(?!\w)", rf"{letter}[\1]", text
            )
    return text


def assigns_letters(text: str) -> bool:
    """Return whether a text calls its row r and its column c.

    >>> [assigns_letters(text) for text in ("r = lane / 4; c = lane % 4;", "row = 1; r = 2; c = 3;", "c = lane;")]
    [True, False, False]
    """
    return {"r", "c"} == set(_ASSIGNED_LETTER.findall(text)) and not _LONG_NAME.search(text)


def rewrite_formula(text: str) -> FormulaText:
    """Rewrite a formula in PTX's style as C++; C++ code stays unchanged, but for r and c: they are row and col."""
    text = _SPECIAL.sub("", text)
    if assigns_letters(text):
        text = _LETTER.sub(lambda match: {"r": "row", "c": "col"}[match[0]], text)
    if ";" in text and not _NAMED.search(text):
        return FormulaText(text)
    text = _NAMED.sub(_spell_named, text.replace(";", "\n"))
    text = _TOGETHER.sub("\n", _FLOOR.sub("/", text))
    if _NAMED_FLOOR.search(text):
        raise make_open_error("'//' may be a division or a comment")
    text = _ON_ONE_LINE.sub("\n", re.sub(r"//.*", "", text))
    text = _NEXT_CASE.sub(r"\1\n", _AFTER_NAMED.sub(r"\1\n", text))
    cases: dict[str, list[_Case]] = {}
    name, letter = "", ""
    for line in filter(str.strip, text.split("\n")):
        match = _CASE.match(line.rstrip().rstrip(","))
        if match is None or not (name := match["name"] or name):
            raise make_open_error(f"'{line.strip()[:40]}' cannot be parsed")
        letter = letter or (match["letter"] or "").lower()
        cases.setdefault(name, []).append(_Case(_rewrite_condition(match["where"] or ""), match["value"]))
    lines = [f"{name} = {_join_cases(choices)};" for name, choices in cases.items()]
    return FormulaText("\n".join(lines), letter, _list_values(cases))


def _spell_named(match: re.Match[str]) -> str:
    """Spell `for c0 and c1` as a condition of i."""
    numbers = re.findall(r"\d+", match[0])
    return f"for {match['letter']}i where ({' || '.join(f'i == {int(n)}' for n in numbers)})"


def _rewrite_condition(text: str) -> str:
    """Rewrite `0 <= i < 2 || i = {4,..,7}` in C++; a set becomes a range."""
    text = _SET.sub(lambda match: f"({match[2]} <= {match[1]} && {match[1]} <= {match[3]})", text)
    return _CHAIN.sub(lambda match: f"({match[1]} {match[2]} {match[3]} && {match[3]} {match[4]} {match[5]})", text)


def _join_cases(choices: Sequence[_Case]) -> str:
    value = str(_NO_CASE)
    for case in reversed(choices):
        value = f"({case.where}) ? ({case.value}) : ({value})" if case.where else f"({case.value})"
    return value


def _list_values(cases: Mapping[str, Sequence[_Case]]) -> tuple[int, ...]:
    """Return the values that the cases cover, () if all. LayoutError if the coordinates cover different values."""
    limited: dict[str, tuple[int, ...]] = {}
    for name, choices in cases.items():
        if all(case.where for case in choices) and not (covered := _find_covered(choices)).all():
            limited[name] = tuple(int(n) for n in np.flatnonzero(covered))
    if len(set(limited.values())) > 1:
        counts = " and ".join(f"{name} for {len(values)} values" for name, values in limited.items())
        raise make_open_error(f"the text gives {counts}")
    return next(iter(limited.values()), ())


def _find_covered(choices: Sequence[_Case]) -> NDArray[np.bool_]:
    """Return the values for which one of the conditions is true."""
    index = np.arange(_MOST_VALUES, dtype=np.int64)[None, None, :]
    source = "".join(f"covered{n} = {case.where};" for n, case in enumerate(choices))
    names = run_lane_code(parse_lane_code(source), dict.fromkeys(INDEX, index)).names
    covered = np.zeros(_MOST_VALUES, dtype=bool)
    for n in range(len(choices)):
        if f"covered{n}" not in names:
            raise make_open_error(f"'{choices[n].where[:40]}' cannot be parsed")
        truth = names[f"covered{n}"] != 0
        of_value = truth.any(axis=(0, 1)) if truth.shape[2] > 1 else np.full(_MOST_VALUES, truth.any())
        covered |= of_value  # for some threads: %laneid < 16
    return covered
