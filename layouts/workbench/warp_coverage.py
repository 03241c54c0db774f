"""Find warps of a block that multiply the same fragments while other parts of the tile are not multiplied."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.blamed_numbers import find_given_value, list_local_values
from lanescope.workbench.function_texts import FunctionText, blank_text, find_function_at, find_functions
from lanescope.workbench.thread_descriptors import FragmentFinding
from lanescope.workbench.thread_fragments import ArrivedOperand, FragmentOrigin

TITLES = {"warps_overlap": "Warps multiply the same fragments"}
_OF_WARP = re.compile(r"(?i:warp|wid\b|wm\b|wn\b)|threadIdx\s*\.\s*y")
_WARP_NUMBER = re.compile(r"/\s*(?:32\b|\(?\s*WARP_?SIZE|warpSize|kWarpSize|32u)|>>\s*5\b", re.I)
_MOST_DEEP = 6
Span = tuple[int, int]
Rows = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class RepeatedWarps:
    """A mistake if the kernel never reads a part of what it loads from an array; certain if `array` is ""."""

    kernel: str
    array: str
    finding: FragmentFinding


def find_repeated_warps(
    kernel: str, runner: KernelRunner, pairs: Iterable[tuple[ArrivedOperand, ArrivedOperand]]
) -> Iterator[RepeatedWarps]:
    """Yield operands of which several warps multiply the same rows or columns.

    pairs: A and B of the products of one kernel.
    """
    known = [(a, b) for a, b in pairs if a.warps and b.warps and a.loads and b.loads]
    products: dict[object, Counter[tuple[Rows, Rows]]] = defaultdict(Counter)
    for a, b in known:
        for left, right in zip(a.warps or (), b.warps or (), strict=True):
            rows, columns = _split_origin(left), _split_origin(right)
            if rows is None or columns is None or rows[1] != columns[1]:
                return
            products[rows[1], left.array, right.array][rows[0], columns[0]] += 1
    if not products or not all(max(count.values()) > 1 for count in products.values()):
        return
    for operand in known[0]:
        array = operand.warps[0].array if operand.warps else ""
        certain = operand.name == "b" and all(map(_lacks_pairs, products.values()))
        what = "parts of the product" if certain else "rows of A" if operand.name == "a" else "columns of B"
        message = (
            f"Several warps multiply the same fragments, and other {what} that the block loads are not multiplied: two"
            " warps get the same place in the tile."
        )
        finding = FragmentFinding("warps_overlap", message, _find_warp_term(runner, operand))
        yield RepeatedWarps(kernel, "" if certain else array, finding)


def list_unread_arrays(runner: KernelRunner) -> set[str]:
    """Return the arrays of which a kernel that was run to its end has stored elements that nothing has read."""
    shared = runner.shared
    left = np.unique(shared.record[(shared.record > 1) & ~shared.was_read])
    return {runner.records[int(n)].array for n in left}


def _split_origin(origin: FragmentOrigin) -> tuple[Rows, object] | None:
    """Return (the rows of a fragment, the K that it begins with); None if they cannot be told apart."""
    if not origin.separable:
        return None
    along = [n for n, step in enumerate(origin.k_step) if step]
    if len(along) != 1 or any(origin.rows[along[0]]):
        return None
    c = along[0]
    rest = tuple(at for n, at in enumerate(origin.base) if n != c)
    return (rest, tuple(rows for n, rows in enumerate(origin.rows) if n != c)), origin.base[c] // origin.k_step[c]


def _lacks_pairs(count: Counter[tuple[Rows, Rows]]) -> bool:
    rows, columns = {a for a, _ in count}, {b for _, b in count}
    return len(count) < len(rows) * len(columns)


def _find_warp_term(runner: KernelRunner, operand: ArrivedOperand) -> Span:
    """Return the value that places a warp, through the variables of the address of an ldmatrix."""
    load = operand.loads[0]
    blank = blank_text(runner.text)
    functions = find_functions(blank)
    calls = [(_read_name(blank, span), span) for span in load.calls]
    return _follow(blank, functions, load.site, calls, _MOST_DEEP) or load.site


def _read_name(blank: str, span: Span) -> str:
    match = re.match(r"[\w:]+", blank[slice(*span)])
    return match[0].rpartition("::")[2] if match else ""


def _follow(
    blank: str, functions: tuple[FunctionText, ...], at: Span, calls: Sequence[tuple[str, Span]], depth: int
) -> Span | None:
    """Return the value that divides the number of a warp, behind the most variables."""
    text = blank[slice(*at)]
    for name in dict.fromkeys(re.findall(r"[A-Za-z_]\w*", text)) if depth else ():
        further = _find_value(blank, functions, name, at, calls)
        found = _follow(blank, functions, further, calls, depth - 1) if further and further != at else None
        if found is not None:
            return found
    divides = re.search(r"[%/]|>>|&", text) and _OF_WARP.search(text) and not _WARP_NUMBER.search(text)
    return at if divides else None


def _find_value(
    blank: str, functions: tuple[FunctionText, ...], name: str, at: Span, calls: Sequence[tuple[str, Span]]
) -> Span | None:
    """Return the last value before a place that a variable gets, or the argument for a parameter."""
    function = find_function_at(functions, at[0])
    values = list_local_values(blank, function, name, at) if function is not None else []
    return values[-1] if values else find_given_value(blank, functions, name, at, list(calls))
