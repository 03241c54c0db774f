"""The names in fragment patterns (g, t, i, …) explained in terms of lanes, rows and columns, for menus and legends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from lanescope.ptx.digits import DigitTerm
from lanescope.ptx.instruction import WARP, Operand, OperandPlace
from lanescope.render.view import ADDRESS

REGISTER = "register"
_HALVES = {"row": "upper / lower", "lane": "upper / lower", "col": "left / right", "column": "left / right"}
_THREAD_NAMES = {(8, 4): "lane group", (4, 1): "thread in group"}


def describe_names(operands: Iterable[Operand]) -> dict[str, str]:
    """Return each name's explanation, with all operands in which it has a different meaning.

    >>> from lanescope.ptx.catalog import find
    >>> mma = find("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    >>> words = describe_names(mma.operands.values())
    >>> words["g"], words["i"], words["e"]
    ('lane group (lane / 4)', 'upper / lower 8 rows', 'even / odd column (A, C, D), row (B)')
    """
    return _merge_operands(operands, _describe_thread_term, _describe_half)


def format_names(operands: Iterable[Operand]) -> dict[str, str]:
    """Return the formula of each name, in the lane or in the element's coordinates.

    >>> from lanescope.ptx.catalog import find
    >>> mma = find("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    >>> format_names([mma.operand("a")])
    {'g': 'lane / 4', 't': 'lane % 4', 'j': 'column / 8', 'i': 'row / 8', 'e': 'column % 2', 'register': 'register'}
    """
    return _merge_operands(operands, _format_thread_term, lambda axis, term, extent: _format_digit(axis, term, extent))


def _merge_operands(
    operands: Iterable[Operand],
    thread: Callable[[Operand, DigitTerm], str],
    place: Callable[[str, DigitTerm, int], str],
) -> dict[str, str]:
    """Return each name's text; where operands differ, with the operands it applies to."""
    texts: dict[str, dict[str, list[str]]] = {}
    for op in operands:
        title = op.name.upper() if len(op.name) == 1 else op.name
        for name, text in _list_names(op, thread, place):
            titles = texts.setdefault(name, {}).setdefault(text, [])
            if title not in titles:  # ldmatrix.x4 has four operands of one name
                titles.append(title)
    joined = {name: _join_texts(by_text) for name, by_text in texts.items()}
    twice = {text for text, count in Counter(joined.values()).items() if count > 1}
    for name, text in joined.items():
        if text in twice:
            joined[name] = f"{text} ({', '.join(texts[name][text])})"
    return joined | {REGISTER: REGISTER}


def _list_names(
    op: Operand, thread: Callable[[Operand, DigitTerm], str], place: Callable[[str, DigitTerm, int], str]
) -> Iterator[tuple[str, str]]:
    for term in op.pattern.thread_terms():
        yield term.name, thread(op, term)
    for term in op.pattern.value_terms():
        yield term.name, _describe_place(op, term.name, place) or "copy"


def _describe_place(op: Operand, name: str, place: Callable[[str, DigitTerm, int], str]) -> str:
    """Return the explanation of a name in the element's coordinates."""
    places = [
        place("column" if axis == "col" else axis, at, op.extents[axis])
        for axis, terms in zip(op.axes, op.pattern.coord_terms(), strict=True)
        for at in terms
        if at.name == name
    ]
    return " and ".join(places)


def _join_texts(by_text: dict[str, list[str]]) -> str:
    """Return the text alone where there is one, else each with its operands; a common beginning is written once."""
    if len(by_text) == 1:
        return next(iter(by_text))
    words = [text.rpartition(" ") for text in by_text]
    alike = len({start for start, _, _ in words}) == 1
    first, *others = (f"{text} ({', '.join(titles)})" for text, titles in by_text.items())
    rest = [other.removeprefix(words[0][0]).lstrip() if alike else other for other in others]
    return ", ".join([first, *rest])


def _describe_thread_term(op: Operand, term: DigitTerm) -> str:
    """Return "lane group (lane / 4)" for a term with a name, else its formula; for an address, the matrix or row."""
    if op.name == ADDRESS:
        return _describe_place(op, term.name, _describe_half)
    formula = _format_thread_term(op, term)
    if op.scope.place is OperandPlace.TENSOR:
        name = "quarter" if term.weight == WARP.threads and term.size == 4 else ""
    else:
        name = "warp" if term.weight >= WARP.threads else _THREAD_NAMES.get((term.size, term.weight), "")
    return f"{name} ({formula})" if name else formula


def _format_thread_term(op: Operand, term: DigitTerm) -> str:
    if op.scope.place is OperandPlace.TENSOR:
        return _format_digit(op.scope.thread, term, op.threads)
    if term.weight >= WARP.threads:
        return f"thread / {term.weight}"
    return _format_digit("lane", term, min(op.threads, WARP.threads))


def _describe_half(axis: str, term: DigitTerm, extent: int) -> str:
    """Return "upper / lower 8 rows" for a digit of extent two, else its formula."""
    if term.size != 2:
        return _format_digit(axis, term, extent)
    halves = term.weight * 2 == extent
    if term.weight == 1:
        return f"first / second {axis}" if halves else f"even / odd {axis}"
    half = f"{_HALVES.get(axis, 'first / second')} {term.weight} {axis}s"
    return half if halves else f"{half} of {2 * term.weight}"


def _format_digit(unit: str, term: DigitTerm, extent: int) -> str:
    text = f"{unit} / {term.weight}" if term.weight > 1 else unit
    return text if term.size * term.weight >= extent else f"{text} % {term.size}"
