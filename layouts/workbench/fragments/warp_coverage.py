"""Find warps of a block that multiply the same fragments while other parts of the tile are not multiplied."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from lanescope.ptx.threads import WARP
from lanescope.reader.threads.memory.storage import ReadBytes
from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.fragments.fragment_origin import FragmentOrigin
from lanescope.workbench.fragments.thread_fragments import ArrivedOperand
from lanescope.workbench.kernels.address_values import list_values
from lanescope.workbench.results import CheckFinding, Span
from lanescope.workbench.text.function_texts import blank_text

TITLES = {"warps_overlap": "Warps multiply the same fragments"}
_OF_WARP = re.compile(r"warp|\bwid\b|\bw[mn]?\b|threadIdx\s*\.\s*y|\w+Warp\w*")
_WARP_NUMBER = re.compile(r"/\s*(?:32\b|\(?\s*WARP_?SIZE|warpSize|kWarpSize|32u)|>>\s*5\b", re.I)
Rows = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class RepeatedWarps:
    """A mistake: certain if `array` is "", else only if the kernel leaves a part of that array unread."""

    kernel: str
    array: str
    finding: CheckFinding


def find_repeated_warps(
    kernel: str, runner: KernelRunner, pairs: Iterable[tuple[ArrivedOperand, ArrivedOperand]]
) -> Iterator[RepeatedWarps]:
    """Yield operands of which several warps multiply the same rows or columns.

    pairs: A and B of the products of one kernel.
    """
    known = [(a, b) for a, b in pairs if a.warps and b.warps and _find_site(a) and _find_site(b)]
    idle = _list_idle_warps(runner)
    products = _keep_complete(_count_products(known, idle))
    if not products or not all(max(count.values()) > 1 for count in products.values()):
        return
    a, b = known[0]
    certain = all(map(_lacks_pairs, products.values()))  # whatever the kernel reads
    for operand, other, what in ((a, b, "rows of A"), (b, a, "parts of the product" if certain else "columns of B")):
        message = (
            f"Several warps multiply the same fragments, and other {what} that the block loads are not multiplied: the"
            " places of two warps in the tile overlap."
        )
        apart = _overlap_partly([pair[operand is b] for pair in known], idle)
        finding = CheckFinding("warps_overlap", message, _find_warp_term(runner, operand, other, apart))
        array = operand.warps[0].array if operand.warps and not (certain and operand is b) else ""
        yield RepeatedWarps(kernel, array, finding)


def _list_idle_warps(runner: KernelRunner) -> set[int]:
    """Return the warps of which no element of D is stored, if elements of others are: they may multiply anything."""
    stored: set[int] = set()
    for store in runner.outputs:
        threads = store.data.thread[store.active][store.data.record[store.active] < 0]
        stored.update(np.unique(threads // WARP).tolist())
    return set(range(runner.threads // WARP)) - stored if stored else set()


def _count_products(
    pairs: Iterable[tuple[ArrivedOperand, ArrivedOperand]], idle: Set[int]
) -> Mapping[object, Counter[tuple[Rows, Rows]]]:
    """Count the warps that multiply rows of A and columns of B, by their K and arrays; {} if some are open. idle: warps
    that do not count.
    """
    products: dict[object, dict[tuple[Rows, Rows], set[int]]] = defaultdict(lambda: defaultdict(set))
    for a, b in pairs:
        for warp, (left, right) in enumerate(zip(a.warps or (), b.warps or (), strict=True)):
            rows, columns = split_origin(left), split_origin(right)
            if rows is None or columns is None or rows[1] != columns[1]:
                return {}
            if warp not in idle:
                products[rows[1], left.array, right.array][rows[0], columns[0]].add(warp)
    return {key: Counter({pair: len(warps) for pair, warps in of.items()}) for key, of in products.items()}


def _keep_complete(products: Mapping[object, Counter[tuple[Rows, Rows]]]) -> dict[object, Counter[tuple[Rows, Rows]]]:
    """Keep the slices of K with all of their products: of many fragments, only the first are known."""
    most = max((count.total() for count in products.values()), default=0)
    return {key: count for key, count in products.items() if count.total() == most}


def list_unread_arrays(runner: KernelRunner) -> set[str]:
    """Return the arrays of which a kernel that was run to its end has stored elements that nothing has read."""
    shared = runner.shared
    left = np.unique(shared.record[(shared.record > 1) & ~shared.was_read])
    return {runner.records[int(n)].array for n in left}


def split_origin(origin: FragmentOrigin) -> tuple[Rows, int] | None:
    """Return (the rows of a fragment, the K that it begins with); None if they cannot be told apart."""
    if not origin.separable:
        return None
    along = [n for n, step in enumerate(origin.k_step) if step]
    if len(along) != 1 or any(origin.rows[along[0]]):
        return None
    c = along[0]
    rest = tuple(at for n, at in enumerate(origin.base) if n != c)
    others = tuple(rows for n, rows in enumerate(origin.rows) if n != c)
    return (origin.names, rest, others), origin.base[c] // origin.k_step[c]


def _lacks_pairs(count: Counter[tuple[Rows, Rows]]) -> bool:
    rows, columns = {a for a, _ in count}, {b for _, b in count}
    return len(count) < len(rows) * len(columns)


def _overlap_partly(operands: Iterable[ArrivedOperand], idle: Set[int]) -> bool:
    """Return whether two warps share some of their rows or columns, and each has others, too."""
    rows: dict[int, set[Rows]] = defaultdict(set)
    for operand in operands:
        for warp, origin in enumerate(operand.warps or ()):
            found = split_origin(origin)
            rows[warp] |= {found[0]} if found is not None and warp not in idle else set()
    return any(one & other and one - other and other - one for one, other in combinations(rows.values(), 2))


def _find_warp_term(runner: KernelRunner, operand: ArrivedOperand, other: ArrivedOperand, apart: bool) -> Span:
    """Return the value that places a warp, through the variables of the address of an ldmatrix, but not a value that
    places it for the other operand, too. apart: whether warps have a place of their own, at a wrong distance.
    """
    own, others = (_list_warp_terms(runner, each, apart) for each in (operand, other))
    if apart and not own:
        return _find_warp_term(runner, operand, other, False)
    site = _find_site(operand)
    return next((span for span in own if span not in others), site[0] if site is not None else (0, 0))


def _find_site(operand: ArrivedOperand) -> tuple[Span, tuple[Span, ...]] | None:
    """Return (the address of an operand's first ldmatrix, or its load; the calls around it); None for another one."""
    if operand.loads:
        return operand.loads[0].site, operand.loads[0].calls
    data = operand.registers[0].data if operand.registers else None
    return (data.site, ()) if isinstance(data, ReadBytes) and data.site != (0, 0) else None


def _list_warp_terms(runner: KernelRunner, operand: ArrivedOperand, apart: bool) -> list[Span]:
    site = _find_site(operand)
    values = list_values(runner.text, *site) if site is not None else []
    blank = blank_text(runner.text)
    spreads = _spreads_warps if apart else _divides_warp
    return [span for span in values if spreads(blank[slice(*span)])]


def _spreads_warps(text: str) -> bool:
    return bool(re.search(r"\*|<<", text) and _OF_WARP.search(text))


def _divides_warp(text: str) -> bool:
    return bool(re.search(r"[%/]|>>|&", text) and _OF_WARP.search(text) and not _WARP_NUMBER.search(text))
