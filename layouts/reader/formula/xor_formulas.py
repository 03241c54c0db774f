"""Recognise the formula of a swizzled address, such as `row * 64 + ((col / 8 ^ row % 8) * 8) + col % 8`, by its values.

A formula of one variable is compared with Swizzle<B,M,S>; one of a row and a column with the swizzle of rows of some
length. One that differs anywhere is not named.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.cxx.formula import evaluate_formula
from lanescope.cxx.source_text import find_closing, walk_outside_brackets
from lanescope.errors import LayoutError
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
_LONGEST = 400
_BITS, _INDICES, _OTHERS, _LONGEST_ROW = 31, 1 << 14, 1 << 12, 1 << 10
_COMPARED = f"Compared for {_INDICES:,} indices from 0, each power of two and {_OTHERS:,} others below 2^{_BITS}."


def recognise_xor_formulas(text: str) -> tuple[TextMeaning, ...]:
    """Return the swizzle that a formula computes; () if it is none, or if its variables are not one or two."""
    if "^" not in text or len(text) > _LONGEST:
        return ()
    text = _REMARK.sub("", text)
    formula = _join_statements(text) or _take_formula(text)
    offset, base = _split_base(formula)
    try:
        return _match_formula(formula) or (_match_formula(offset, base) if base else ())
    except LayoutError:
        return ()


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
    return _unwrap(_SUFFIX.sub(r"\1", text.strip().rstrip(";")))


def _unwrap(formula: str) -> str:
    """Return a formula without brackets around all of it."""
    while formula.startswith("(") and find_closing(formula, 0) == len(formula) - 1:
        formula = formula[1:-1].strip()
    return formula


def _join_statements(text: str) -> str:
    """Return the last value of statements that assign to names, as a formula of the others; "" for another text, and
    for a formula that is too long.

    >>> _join_statements("int at = row * 128 + c; at ^= (row & 7) << 4;")
    '(row * 128 + c) ^ ((row & 7) << 4)'
    """
    values: dict[str, str] = {}
    name = ""
    for statement in text.strip().rstrip(";").split(";"):
        match = _STATEMENT.fullmatch(statement)
        if match is None:
            return ""
        name, value = match["name"], _SUFFIX.sub(r"\1", match["value"].strip())
        value = _NAME.sub(lambda used: f"({values[used[0]]})" if used[0] in values else used[0], value)
        values[name] = f"({values.get(name, name)}) {match['op']} ({value})" if match["op"] else value
        if len(values[name]) > _LONGEST:  # it may double with each statement
            return ""
    return _unwrap(values[name])


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
