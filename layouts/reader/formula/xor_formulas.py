"""Recognise the formula of a swizzled address, such as `row * 64 + ((col / 8 ^ row % 8) * 8) + col % 8`, by its values.

A formula of one variable is compared with Swizzle<B,M,S>; one of a row and a column with the swizzle of rows of some
length. One that differs anywhere is not named.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.cxx.formula import evaluate_formula
from lanescope.cxx.source_text import find_closing, strip_parentheses, walk_outside_brackets
from lanescope.errors import LayoutError
from lanescope.inputs import join_words
from lanescope.reader.cute import cute_layout
from lanescope.reader.meaning import TextMeaning
from lanescope.shared.swizzle import MODES, Swizzle

_RETURN = re.compile(r"[^;{}]{0,200}\{\s*return\b([^;{}]+);\s*\}\s*;?\s*")
_MACRO = re.compile(r"\s*#\s*define\s+\w+\([\w\s,]*\)\s((?:[^;{}\n]|\\\n)+)\s*")
_PYTHON = re.compile(r"\s*(?:def\s+\w+\s*\([^()]*\)[^:()]*:\s*return\b|(?:\w+\s*=\s*)?lambda\b[\w\s,]*:)([^;:=]+)")
_DECLARED = r"(?:(?:const|constexpr|auto|let|mut|unsigned|\w+_t|int|size_t)\s+){0,4}%?"
_ASSIGNED = re.compile(rf"\s*(?:return\b|{_DECLARED}\w+\s*:?=(?!=))([^;=]+);?\s*")
_INDEXED = re.compile(r"\s*[A-Za-z_]\w*\[([^\[\]]+)\]\s*;?\s*")
_STATEMENT = re.compile(
    rf"\s*{_DECLARED}(?P<name>[A-Za-z_]\w*)\s*(?P<op>[\^+]?):?=(?!=)(?P<value>(?!\s*lambda\b)[^;=]+)"
)
_REMARK = re.compile(r"/\*.*?\*/|(?<=;)[ \t]*//[^\n]*|(?<=[\w)])[ \t]+#[ \t][^\n]*", re.S)
_SUFFIX = re.compile(r"\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]{1,3}\b")
_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?![\w.(])")
_FUNCTOR = re.compile(r"(?:\b\w+::)*\bSwizzle\s*<\s*(\d)\s*,\s*(\d)\s*,\s*(-?\d)\s*>\s*(?:\{\s*\}|::apply)\s*\(")
_APPLIED = re.compile(  # to a number
    r"\s*(?:\w+::)*Sw(?:izzle)?\s*[<(]\s*(?P<bits>\d)\s*,\s*(?P<base>\d{1,2})\s*,\s*(?P<shift>-?\d{1,2})\s*[>)]\s*"
    r"(?:\{\s*\}|\(\s*\)|(?:::|\.)apply)?\s*(?:of\s+|\(\s*)?(?P<index>0[xX][0-9a-fA-F]{1,8}|\d{1,9})[uUlL]*\s*\)?\s*;?\s*"
)
_CAST = re.compile(r"\((?:u?int\d*_t|int|unsigned(?: int)?|size_t)\)(?=\s*[\w(])")
_ARGUMENTS = (re.compile(r"\["), re.compile(r"(?<=\w)\("))
_LONGEST, _LONGEST_TEXT, _MOST_FORMULAS = 400, 1000, 24
_BITS, _INDICES, _OTHERS, _LONGEST_ROW = 31, 1 << 14, 1 << 12, 1 << 10
_COMPARED = f"Compared for {_INDICES:,} indices from 0, each power of two and {_OTHERS:,} others below 2^{_BITS}."


def recognise_xor_formulas(text: str) -> tuple[TextMeaning, ...]:
    """Return the swizzle that a formula computes; () if it is none, or if its variables are not one or two."""
    if applied := _APPLIED.fullmatch(text):
        return _apply_swizzle(applied)
    if len(text) > _LONGEST_TEXT or not ("^" in text or _FUNCTOR.search(text)):
        return ()
    text = _CAST.sub("", expand_functors(_REMARK.sub("", text)))
    joined = _join_statements(text)
    if len(joined) > 1 and (several := _match_values(joined)):
        return several
    found = _match_sum(next(iter(joined.values()), "") or _take_formula(text)) if len(joined) < 2 else ()
    if found:
        return found
    each = [
        meanings for formulas in _list_targets(text) if (meanings := next(filter(None, map(_match_sum, formulas)), ()))
    ]
    return each[0] if each and all(meanings[0].title == each[0][0].title for meanings in each) else ()


def _apply_swizzle(match: re.Match[str]) -> tuple[TextMeaning, ...]:
    """Return the swizzled value of a number; () if CuTe has no such swizzle."""
    swizzle, index = Swizzle(*(int(match[name]) for name in ("bits", "base", "shift"))), int(match["index"], 0)
    if swizzle.bits > abs(swizzle.shift):
        return ()
    words = f"Swizzle<{swizzle.bits},{swizzle.base},{swizzle.shift}>"
    value = swizzle(index)
    title = f"{words} of {index} is {value} ({index:#x} → {value:#x})"
    return (TextMeaning("topic", title, {"topic": "swizzle", "name": words}, (), True),)


def expand_functors(text: str) -> str:
    """Write the calls of CuTe's Swizzle as the operators that they apply.

    >>> expand_functors("Swizzle<3,4,3>{}(at)")
    '((at) ^ (((at) >> 3) & 112))'
    """
    while match := _FUNCTOR.search(text):
        bits, base, shift = map(int, match.groups())
        closing = find_closing(text, match.end() - 1)
        if len(text) > _LONGEST_TEXT or not 0 < bits <= abs(shift):  # as CuTe asserts
            return text
        inner = text[match.end() : closing]
        mask = (1 << bits) - 1 << base + max(0, -shift)
        moved = f"(({inner}) {'>>' if shift > 0 else '<<'} {abs(shift)})"
        text = f"{text[: match.start()]}(({inner}) ^ ({moved} & {mask})){text[closing + 1 :]}"
    return text


def _match_sum(formula: str) -> tuple[TextMeaning, ...]:
    """Return the swizzle of a formula, or of the terms of a sum that it swizzles."""
    if "^" not in formula or len(formula) > _LONGEST:
        return ()
    summed = _write_or_as_sum(formula)
    offset, base = _split_base(summed)
    try:
        found = _match_formula(formula) or (_match_formula(offset, base) if base else ())
    except LayoutError:
        return ()
    if not found or not base or summed == formula:
        return found
    notice = f"The | is a + if no bit of {base} is in what is XORed."
    return tuple(replace(meaning, notices=(*meaning.notices, notice)) for meaning in found)


def _write_or_as_sum(formula: str) -> str:
    """Write a formula of two parts that | joins as their sum; any other formula unchanged."""
    cuts = list(walk_outside_brackets(formula, "|", 0, len(formula)))
    if len(cuts) != 1:
        return formula
    first, second = formula[: cuts[0]].strip(), formula[cuts[0] + 1 :].strip()
    return f"{strip_parentheses(first)} + ({second})" if "^" in second and "^" not in first else formula


def _list_targets(text: str) -> Iterator[list[str]]:
    """Yield for each value, index or argument with a ^ the formulas that it may be, with some names replaced by the
    values that earlier statements give them.
    """
    values: dict[str, str] = {}
    for statement in _split_statements(text):
        parts = [_STATEMENT.fullmatch(part) for part in _split_outside(statement, ",")]
        if all(parts):
            assigned = [(part["name"], part["value"].strip()) for part in parts if part and not part["op"]]
            targets = [value for _, value in assigned]
        else:
            assigned, targets = [], [match for pattern in _ARGUMENTS for match in _find_arguments(statement, pattern)]
        for target in targets:
            yield list(_list_replaced(_SUFFIX.sub(r"\1", target), values))
        for name, value in assigned:
            values[name] = _SUFFIX.sub(r"\1", value)


def _list_replaced(formula: str, values: Mapping[str, str]) -> Iterator[str]:
    """Yield a formula with none, some and all of its names replaced by their values, the fewest first."""
    seen = [formula]
    for at in seen:
        yield at
        for name in dict.fromkeys(_NAME.findall(at)):
            if name in values and len(seen) < _MOST_FORMULAS:
                replaced = _NAME.sub(partial(_replace_name, name, values[name]), at)
                if replaced not in seen and len(replaced) <= _LONGEST:
                    seen.append(replaced)


def _replace_name(name: str, value: str, match: re.Match[str]) -> str:
    return f"({value})" if match[0] == name else match[0]


def _find_arguments(text: str, opening: re.Pattern[str]) -> Iterator[str]:
    """Yield the indices or arguments of a text after an opening bracket."""
    for match in opening.finditer(text):
        inner = text[match.end() : find_closing(text, match.end() - 1)]
        yield from map(str.strip, _split_outside(inner, ","))


def _split_statements(text: str) -> list[str]:
    lines = _split_outside(text, ";\n")
    return [line.strip() for line in lines if line.strip()]


def _split_outside(text: str, letters: str) -> list[str]:
    """Split a text at letters outside of brackets."""
    cuts = [-1, *walk_outside_brackets(text, letters, 0, len(text)), len(text)]
    return [text[first + 1 : past] for first, past in pairwise(cuts)]


def _match_formula(formula: str, base: str = "") -> tuple[TextMeaning, ...]:
    """Return the swizzle of a formula of one or two variables. base: what is added to it."""
    names = list(dict.fromkeys(_NAME.findall(formula)))
    if len(names) == 1:
        return _match_index(formula, names[0], base)
    return _match_rows(formula, names, base) if len(names) == 2 else ()


def _split_base(formula: str) -> tuple[str, str]:
    """Return (the swizzled terms of a sum and those that share names with them, the other terms); "" for the other
    terms of other formulas.

    >>> _split_base("base + row * 128 + ((chunk ^ row & 7) << 4)")
    ('row * 128 + ((chunk ^ row & 7) << 4)', 'base')
    """
    if any(walk_outside_brackets(formula, "^|&<>?-=:;", 0, len(formula))):
        return formula, ""
    cuts = [-1, *walk_outside_brackets(formula, "+", 0, len(formula)), len(formula)]
    terms = [formula[first + 1 : past].strip() for first, past in pairwise(cuts)]
    swizzled = [term for term in terms if "^" in term]
    names = set(_NAME.findall(" ".join(swizzled)))
    offset = [term for term in terms if "^" in term or names.intersection(_NAME.findall(term))]
    base = [term for term in terms if term not in offset]
    return (" + ".join(offset), " + ".join(base)) if swizzled and all(terms) else (formula, "")


def _take_formula(text: str) -> str:
    """Return the formula of a function, a macro, an assignment or an index; otherwise the text."""
    if match := _PYTHON.fullmatch(text):
        return match[1].replace("//", "/")
    if match := _MACRO.fullmatch(text):
        text = match[1].replace("\\\n", " ")
    for pattern in (_RETURN, _ASSIGNED, _INDEXED):
        if match := pattern.fullmatch(text):
            text = match[1]
    return strip_parentheses(_SUFFIX.sub(r"\1", text.strip().rstrip(";")))


def _join_statements(text: str) -> dict[str, str]:
    """Return name → value of statements that assign to names, as a formula of the others, without the values that
    later ones use; {} for another text, and for a formula that is too long.

    >>> _join_statements("int at = row * 128 + c; at ^= (row & 7) << 4; int b = row;")
    {'at': '(row * 128 + c) ^ ((row & 7) << 4)', 'b': 'row'}
    """
    values: dict[str, str] = {}
    used: set[str] = set()
    for statement in text.strip().rstrip(";").split(";"):
        match = _STATEMENT.fullmatch(statement)
        if match is None:
            return {}
        name, value = match["name"], _SUFFIX.sub(r"\1", match["value"].strip())
        used = (used | set(_NAME.findall(value))) - {name}
        value = _NAME.sub(lambda used: f"({values[used[0]]})" if used[0] in values else used[0], value)
        values[name] = f"({values.get(name, name)}) {match['op']} ({value})" if match["op"] else value
        if len(values[name]) > _LONGEST:  # it may double with each statement
            return {}
    return {name: strip_parentheses(value) for name, value in values.items() if name not in used}


def list_addresses(text: str) -> list[str]:
    """List the statements with a ^ that combine two values of earlier statements, and that no later one uses.

    >>> list_addresses("row = lane % 16; col = lane / 16; at = row * 64 + (col ^ row);")
    ['at = row * 64 + (col ^ row)']
    """
    found: dict[str, str] = {}
    assigned: set[str] = set()
    for statement in _split_statements(_REMARK.sub("", text)):
        if match := _STATEMENT.fullmatch(statement):
            names = set(_NAME.findall(match["value"]))
            found = {name: value for name, value in found.items() if name not in names}
            if "^" in match["value"] and len(names & assigned) > 1:
                found[match["name"]] = f"{match['name']} = {match['value'].strip()}"
            assigned.add(match["name"])
    return list(found.values())


def _match_values(values: Mapping[str, str]) -> tuple[TextMeaning, ...]:
    """Return the swizzle of each of several values, named, with a notice of the values that have none."""
    found = {name: meanings for name, value in values.items() if (meanings := _match_sum(value))}
    others = "; ".join(f"{name} = {value}" for name, value in values.items() if name not in found)
    notices = (f"No swizzle is read from {others}.",) if others else ()
    topics = [f"{one.title} ({name})" for name, (one, *_) in found.items() if one.kind == "topic"]
    if len(topics) > 1:  # one topic is shown
        notices = (f"The text computes {join_words(topics, 'and')}.", *notices)
    return tuple(
        replace(meaning, title=f"{meaning.title} ({name})", notices=(*meaning.notices, *notices))
        for name, meanings in found.items()
        for meaning in meanings
    )


def _evaluate(formula: str, **values: NDArray[Any]) -> NDArray[np.int64] | None:
    """Return the values of a formula; None if they are not integers from 0."""
    numbers, integral = evaluate_formula(formula, values)
    return numbers.astype(np.int64) if integral and np.isfinite(numbers).all() and (numbers >= 0).all() else None


def _find_swizzle(evaluate: Callable[[NDArray[np.int64]], NDArray[np.int64] | None]) -> Swizzle | None:
    """Return the swizzle that a function of an index is; None if none agrees with it."""
    powers = 1 << np.arange(_BITS, dtype=np.int64)
    values = evaluate(powers)
    if values is None or (pairs := _pair_bits(values ^ powers)) is None:
        return None
    (first, base), count = pairs[0], len(pairs)
    swizzle = Swizzle(count, base, first - base)
    others = np.random.default_rng(0).integers(0, 1 << _BITS, _OTHERS)
    index = np.concatenate([np.arange(_INDICES, dtype=np.int64), others])
    values = evaluate(index)
    is_swizzle = first - base >= count and pairs == [(first + n, base + n) for n in range(count)]
    return swizzle if is_swizzle and values is not None and (swizzle(index) == values).all() else None


def _pair_bits(moved: NDArray[np.int64]) -> list[tuple[int, int]] | None:
    """Return (bit, the bit that it is XORed into) for each bit that adds one to the index; None if one adds more."""
    added = [(bit, int(low)) for bit, low in enumerate(moved) if low]
    if not added or any(low & (low - 1) for _, low in added):
        return None
    return [(bit, low.bit_length() - 1) for bit, low in added]


def _match_index(formula: str, name: str, base: str) -> tuple[TextMeaning, ...]:
    swizzle = _find_swizzle(lambda index: _evaluate(formula, **{name: index}))
    if swizzle is None:
        return ()
    words = f"Swizzle<{swizzle.bits},{swizzle.base},{swizzle.shift}>"
    says = (
        f"It XORs {_name_bits(swizzle.base + swizzle.shift, swizzle.bits)} of {name} into"
        f" {_name_bits(swizzle.base, swizzle.bits)}. {_COMPARED}",
        *_name_modes(swizzle),
        *_describe_base(base, swizzle, 1),
    )
    return (TextMeaning("topic", f"{words} of {name}", {"topic": "swizzle", "name": words}, says),)


def _name_bits(low: int, count: int) -> str:
    return f"bit {low}" if count == 1 else f"bits {low}–{low + count - 1}"


def _name_modes(swizzle: Swizzle) -> tuple[str, ...]:
    """Return a sentence for each unit in which it is a swizzle of TMA and of matrix descriptors."""
    units = {8: "bytes", 16: "16-bit elements", 32: "32-bit elements", 128: "chunks of 16 bytes"}
    found = [(bits, mode) for bits in units for mode in MODES if mode.bits and mode.swizzle(bits) == swizzle]
    return tuple(
        f"On {units[bits]} it is the {mode.name} swizzle of TMA and of matrix descriptors." for bits, mode in found
    )


def _describe_base(base: str, swizzle: Swizzle, unit: int) -> tuple[str, ...]:
    """Return the sentence about what is added to a swizzled offset of elements of `unit`."""
    size = unit << swizzle.base + swizzle.shift + swizzle.bits
    if base.isdecimal() and int(base) % size:
        return (
            f"The code adds {base} after the XOR, but the hardware swizzles the whole address. The results can differ:"
            f" {base} is not a multiple of {size:,}.",
        )
    alike = f"the hardware swizzles addresses, which is the same if {base} is a multiple of {size:,}"
    return (f"The offset from {base} is swizzled: {alike}.",) if base else ()


def _match_rows(formula: str, names: list[str], base: str) -> tuple[TextMeaning, ...]:
    """Return the layout of rows of some length whose index is swizzled; the row is the name with the larger step."""
    for row, column in (names, reversed(names)):
        steps = _evaluate(formula, **{row: np.array([1, 0]), column: np.array([0, 1])})
        if steps is None or not all(steps):
            continue
        unit = int(steps[1])
        length = (1 << int(steps[0]).bit_length() - 1) // unit
        if unit & (unit - 1) or not 1 < length <= _LONGEST_ROW:
            continue
        swizzle = _find_swizzle(partial(_evaluate_rows, formula, row, column, length, unit))
        if swizzle is not None:
            (meaning,) = _make_layout_meaning(swizzle, length, unit, row, column)
            return (replace(meaning, notices=(*meaning.notices, *_describe_base(base, swizzle, unit))),)
    return ()


def _evaluate_rows(
    formula: str, row: str, column: str, length: int, unit: int, index: NDArray[np.int64]
) -> NDArray[np.int64] | None:
    """Return the values of a formula in units, for indices into rows of a length; None if one is not whole."""
    values = _evaluate(formula, **{row: index // length, column: index % length})
    return None if values is None or (values % unit).any() else values // unit


def _make_layout_meaning(swizzle: Swizzle, length: int, unit: int, row: str, column: str) -> tuple[TextMeaning, ...]:
    """Return the meaning of a swizzled index. Which of row and column is M, N or K is not known."""
    rows = max(8, (1 << swizzle.base + swizzle.shift + swizzle.bits) // length)
    layout = f"{swizzle} o ({rows},{length}):({length},1)"
    says = (
        f"({row}, {column}) → index{f' in units of {unit}' if unit > 1 else ''}. {_COMPARED}",
        *_name_modes(swizzle),
    )
    (meaning, *_) = cute_layout.recognise_layouts(layout)
    facts = {**meaning.facts, "storage": None}
    return (TextMeaning("layout", f"CuTe layout {layout}", facts, says, undetermined=meaning.undetermined),)
