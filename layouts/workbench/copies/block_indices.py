"""Find kernels whose blocks along one index of the grid all multiply the same rows and columns.

D is stored at places that depend on the index, and no load does: A and B are indexed by the same other index of the
block. Nothing is reported unless all loads and all stores of D are known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set as AbstractSet

import numpy as np

from lanescope.reader.threads.language.numbers import ThreadNumber
from lanescope.reader.threads.memory.storage import OPEN, DataBytes
from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.repair.blamed_numbers import list_local_values
from lanescope.workbench.results import CheckFinding, Span
from lanescope.workbench.text.function_texts import blank_text, find_enclosing_function

TITLES = {"block_index_same": "A and B are indexed by the same index of the block"}
_INDEX = re.compile(r"\bblockIdx\.[xyz]")


def find_equal_blocks(run: KernelRunner) -> Iterator[CheckFinding]:
    """Yield the first load of the operand that does not depend on an index of the block as D does."""
    records = run.records[OPEN + 1 :]
    if run.open_loads or run.open_outputs or not records or not run.outputs:
        return
    sides = [_list_arrays(run, name) for name in "ab"]
    if any(len(side) != 1 for side in sides) or sides[0] == sides[1]:
        return
    a, b = map(min, sides)
    loaded: dict[str, set[str]] = {}
    for record in records:
        loaded.setdefault(record.array, set()).update(_list_indices(record.offset))
    shared, index = min(loaded[a] & loaded[b], default=""), _find_missing_index(run, set().union(*loaded.values()))
    if not shared or not index:
        return
    wrong, right = (a, b) if _is_scaled(run, index) else (b, a)
    sites = {record.array: record.site for record in reversed(records)}
    message = (
        f"The addresses of both A and B depend on {shared}, and only that of D on {index}: all blocks along {index}"
        f" compute the same product. Let that of {wrong} depend on {index}."
    )
    yield CheckFinding("block_index_same", message, _find_place(run.text, sites[wrong], sites[right], shared))


def _find_missing_index(run: KernelRunner, loaded: AbstractSet[str]) -> str:
    """Return an index of the block that stores of D depend on, and neither a load nor a condition; "" without one."""
    stored = set[str]().union(*(_list_indices(store.offset) for store in run.outputs))
    return next((index for index in sorted(stored - loaded) if not _is_decisive(blank_text(run.text), index)), "")


def _is_scaled(run: KernelRunner, index: str) -> bool:
    """Return whether an index is multiplied by a size where D is stored: it gives the row of a matrix [M][N]."""
    return any(len(names) > 1 for store in run.outputs for names in store.offset.terms if index in names)


def _is_decisive(blank: str, index: str) -> bool:
    """Return whether a condition depends on an index of the block: it may choose between matrices."""
    names = [index, *re.findall(rf"\b(\w+)\s*=\s*{re.escape(index)}\s*[,;]", blank)]
    word = rf"(?<![\w.])(?:{'|'.join(map(re.escape, names))})(?!\w)"
    return re.search(rf"\b(?:if|switch|while)\s*\([^;{{}}]*{word}|{word}[^;{{}}]*\?", blank) is not None


def _list_indices(offset: ThreadNumber) -> set[str]:
    """Return the indices of the block that an offset depends on."""
    return {index for names in offset.terms for name in names for index in _INDEX.findall(name)}


def _find_place(text: str, site: Span, other: Span, index: str) -> Span:
    """Return where the expression of a load takes an index of the block: through its variables, but for one that the
    other operand's load takes, too.
    """
    blank = blank_text(text)
    passed = {name for name, _, _ in _trace_names(blank, other)}
    for at, name, use in [(site, "", site), *((v, n, u) for n, v, u in _trace_names(blank, site))]:
        found = blank.find(index, *at)
        if found >= 0:
            return use if name in passed else (found, found + len(index))
    return site


def _trace_names(blank: str, at: Span, depth: int = 5) -> Iterator[tuple[str, Span, Span]]:
    """Yield (name, its value, its use) of the variables with one value that an expression is made of."""
    function = find_enclosing_function(blank, at[0])
    for match in re.finditer(r"(?<![\w.])[A-Za-z_]\w*", blank[slice(*at)]) if function is not None and depth else ():
        values = list_local_values(blank, function, match[0], at) if function is not None else []
        if len(values) == 1:
            yield match[0], values[0], (at[0] + match.start(), at[0] + match.end())
            yield from _trace_names(blank, values[0], depth - 1)


def _list_arrays(run: KernelRunner, name: str) -> set[str]:
    """Return the arrays in global memory that an operand of all products comes from; nothing of it is open."""
    registers: Iterable[DataBytes | None] = (
        *(register.data for use in run.products for register in getattr(use, name)),
        *(use.data for use in run.descriptors if use.name == name),
    )
    distinct = {id(data): data.record for data in registers if data is not None}  # several products take a register
    numbers = {n for record in distinct.values() for n in np.unique(record).tolist()}
    return {run.records[n].array for n in numbers if n > OPEN} if min(numbers, default=OPEN) > OPEN else set()
