"""Find slices of K that no product takes, of A and of B alike: the step along K is longer than what is multiplied."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from lanescope.reader.threads.memory.records import MmaUse
from lanescope.reader.threads.memory.storage import Ints, spread_coefficient
from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.fragments.fragment_origin import FragmentOrigin
from lanescope.workbench.fragments.thread_fragments import ArrivedOperand, find_mma, locate_operand
from lanescope.workbench.fragments.warp_coverage import split_origin
from lanescope.workbench.kernels.address_values import list_values
from lanescope.workbench.results import CheckFinding, Span
from lanescope.workbench.text.function_texts import blank_text
from lanescope.workbench.text.loop_texts import LoopText, list_loops_at

TITLES = {"k_slice_skipped": "No product takes some slices of K"}
MOST = 4000  # products that are located
Pair = tuple[MmaUse, ArrivedOperand, ArrivedOperand]
_WORD = re.compile(r"[A-Za-z_][\w.]*")


@dataclass(slots=True)
class _Line:
    """The K of one matrix that products take: its array, the product of names that K is multiplied by, and the offsets
    of elements along it.
    """

    array: str
    name: str
    width: int
    offsets: set[int] = field(default_factory=set)

    def list_gaps(self) -> list[tuple[int, int]]:
        """Return (first, past) of what is left out, in elements from the first one."""
        places = np.array(sorted(self.offsets))
        places = (places - places[0]) // int(np.diff(places).min(initial=1 << 40))
        after = np.flatnonzero(np.diff(places) > 1)
        return [(int(places[n]) + 1, int(places[n + 1])) for n in after]

    def is_loaded(self, run: KernelRunner) -> bool:
        """Return whether a load begins in what is left out, as for a product by other instructions."""
        names = tuple(self.name.split("*")) if self.name else ()
        starts = [load.offset.terms.get(names, 0) for load in run.records if load.array == self.array]
        if not starts:
            return False
        loaded = np.unique(np.concatenate([spread_coefficient(one, run.threads) for one in starts]))
        inside = loaded[(loaded > min(self.offsets)) & (loaded < max(self.offsets))]
        return not set(inside.tolist()) <= self.offsets


def find_skipped_slices(run: KernelRunner, pairs: Sequence[Pair]) -> Iterator[CheckFinding]:
    """Yield the step of the loop by which the products of a kernel leave out the same K of A and of B.

    pairs: products of the kernel, with A and B; the others are only located if these leave K out.
    """
    if adds_result(run) or not pairs or run.descriptors or find_gaps(pairs) is None or len(run.products) > MOST:
        return
    every = list(_locate_products(run))
    lines = find_gaps(every) if len(every) == len(run.products) else None
    if lines is None or any(line.is_loaded(run) for line in lines):
        return
    first, past = lines[0].list_gaps()[0]
    message = (
        f"No product takes the elements of A and B from K = {first} to {past - 1}, and some take those from {past} on:"
        " the step along K is longer than what is multiplied."
    )
    yield CheckFinding("k_slice_skipped", message, _find_step(run, every))


def adds_result(run: KernelRunner) -> bool:
    """Return whether D is added to what its array has: another launch may take the other slices."""
    loaded = {load.array for load in run.records}
    return any(store.adds or store.array in loaded for store in run.outputs)


def _locate_products(run: KernelRunner) -> Iterator[Pair]:
    for use in run.products:
        instruction = find_mma(use.opcode)
        if instruction is None:
            return
        yield use, locate_operand(run, use, instruction, "a"), locate_operand(run, use, instruction, "b")


def find_gaps(pairs: Sequence[Pair]) -> tuple[_Line, _Line] | None:
    """Return the K of A and of B of all products if both leave out the same, by whole fragments; else None."""
    a, b = _collect_line(a for _, a, _ in pairs), _collect_line(b for _, _, b in pairs)
    if a is None or b is None:
        return None
    gaps = a.list_gaps()
    whole = all((past - first) % a.width == 0 for first, past in gaps)
    return (a, b) if gaps and whole and gaps == b.list_gaps() else None


def _collect_line(operands: Iterable[ArrivedOperand]) -> _Line | None:
    """Return the K of one operand in all products; None if it is not along one line of one array."""
    line: _Line | None = None
    for warp in (warp for operand in operands for warp in operand.warps or (None,)):
        at = _find_k(warp) if warp is not None else None
        if warp is None or at is None:
            return None
        line = line or _Line(warp.array, warp.names[at], warp.places[at].shape[1])
        if (line.array, line.name) != (warp.array, warp.names[at]):
            return None
        line.offsets.update(warp.places[at][0].tolist())
    return line if line is not None and len(line.offsets) > 1 else None


def _find_k(warp: FragmentOrigin) -> int | None:
    """Return the number of the product of names that K is multiplied by; None if blocks of the grid, or unknown values,
    may take other K.
    """
    if split_origin(warp) is None:
        return None
    at = next(n for n, step in enumerate(warp.k_step) if step)
    k = set(_WORD.findall(warp.names[at]))
    pitch = {
        word for name, rows in zip(warp.names, warp.rows, strict=True) if any(rows) for word in _WORD.findall(name)
    }
    for n, (name, first) in enumerate(zip(warp.names, warp.base, strict=True)):
        words = set(_WORD.findall(name))
        along_k = words >= k if k else not words & pitch
        if n != at and first and name and along_k:
            return None
    return at


# places ---------------------------------------------------------------------------------------------------------------


def _find_step(run: KernelRunner, pairs: Sequence[Pair]) -> Span:
    """Return the step of the loop that moves along K, a value that its variable is in, or an address of A."""
    use, a, _ = pairs[0]
    blank, site = blank_text(run.text), _list_sites(run, a)
    at = use.calls[0] if use.calls else use.span
    loops = list_loops_at(blank, at[0])
    depth = _find_depth(pairs)
    if depth is None or depth >= len(loops) or not site:
        return site[0][0] if site else at
    if (step := _find_head_step(blank, loops[depth])) is not None:
        return step
    values = [value for place, calls in site for value in list_values(run.text, place, calls)]
    word = re.compile(rf"\b{loops[depth].variable}\b[^,;]*\*|\*[^,;]*\b{loops[depth].variable}\b")
    return next((value for value in values if loops[depth].variable and word.search(blank[slice(*value)])), site[0][0])


def _find_head_step(blank: str, loop: LoopText) -> Span | None:
    """Return the step in the head of a loop if it is not 1."""
    start = blank.rfind(";", *loop.head) + 1
    step = blank[start : loop.head[1] - 1]
    found = re.search(r"\w+\s*[+-]=\s*(?!1\b)[^,;]+|\w+\s*=[^,;]+", step) if start else None
    return None if found is None else (start + found.start(), start + found.end())


def _find_depth(pairs: Sequence[Pair]) -> int | None:
    """Return the depth of the outermost loop whose turns take other K."""
    starts: dict[tuple[int, ...], Ints] = {}
    for use, a, _ in pairs:
        if a.warps:
            starts.setdefault(use.turns, a.warps[0].places[_find_k(a.warps[0]) or 0])
    moving = set()
    for turns, places in starts.items():
        for depth in range(len(turns)):
            before = starts.get((*turns[:depth], turns[depth] - 1, *turns[depth + 1 :]))
            if before is not None and before[0, 0] != places[0, 0]:
                moving.add(depth)
    return min(moving, default=None)


def _list_sites(run: KernelRunner, operand: ArrivedOperand) -> list[tuple[Span, tuple[Span, ...]]]:
    """List the addresses in global memory that an operand's elements are loaded from, with the calls around them."""
    data = [register.data for register in operand.registers if register.data is not None]
    records = [run.records[int(n)] for one in data for n in np.unique(one.record) if n > 1]
    return list(dict.fromkeys((load.site, load.calls) for load in records if load.site != (0, 0)))
