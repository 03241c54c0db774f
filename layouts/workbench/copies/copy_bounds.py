"""Find TMA copies that go beyond the array they fill."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from lanescope.cxx.source_text import read_statement_head
from lanescope.reader.code.findings import Pitfall
from lanescope.workbench.copies.copy_overlaps import PlacedCopy, list_placed
from lanescope.workbench.kernels.kernel_runs import KernelRun, KernelText
from lanescope.workbench.reads.stage_distances import split_address
from lanescope.workbench.source.shared_budget import count_array_bytes
from lanescope.workbench.text.loop_texts import find_enclosing_brace

TITLES = {"copy_past_array": "A copy goes beyond its array"}


def find_copies_past_arrays(text: KernelText, run: KernelRun) -> Iterator[Pitfall]:
    """Yield arrays that are too short for the TMA copies into them."""
    reached: dict[str, int] = {}
    for copy in list_placed(text, run.events):
        if (end := _find_end(copy)) is not None:
            reached[end[0]] = max(reached.get(end[0], 0), end[1])
    for buffer, end_byte in reached.items():
        yield from _check_array(text, buffer, end_byte, set(reached))


def _find_end(copy: PlacedCopy) -> tuple[str, int] | None:
    """Return (buffer, end of the bytes that a copy writes) for the last stage; None if unknown."""
    stages = split_address(copy.to)
    if stages is not None:
        return (stages.buffer, copy.to.const + (stages.count - 1) * stages.step + copy.count) if stages.count else None
    buffers = [name for name, factor in copy.to.terms if factor == 1]
    return (buffers[0], copy.to.const + copy.count) if len(buffers) == len(copy.to.terms) == 1 else None


def _check_array(text: KernelText, buffer: str, end: int, buffers: set[str]) -> Iterator[Pitfall]:
    """Yield a finding if the array of a buffer ends before `end`.

    The first member of a structure may stand for the whole of it, unless another member is filled by copies, too.
    """
    owner, _, name = buffer.rpartition(".")
    others = {other for other in buffers if other != buffer and other.rpartition(".")[0] == owner}
    if owner and not others:
        return
    declared = [
        match
        for match in _list_declared_arrays(text.blank, name)
        if owner or "__shared__" in read_statement_head(text.blank, match.start())
    ]
    if len(declared) != 1 or _is_in_union(text.blank, declared[0].start()):
        return
    size = count_array_bytes(text.blank, declared[0])
    if size is not None and size < end:
        at = declared[0].span(3)
        yield Pitfall(
            "copy_past_array",
            f"{name} has {size:,} bytes, and the copies of its stages write up to byte {end:,}: the memory after it"
            " is overwritten.",
            (at[0], at[0] + len(declared[0][3].rstrip())),
        )


@lru_cache(maxsize=64)
def _list_declared_arrays(blank: str, name: str) -> tuple[re.Match[str], ...]:
    """List the declarations of arrays of a name: (type, name, sizes)."""
    form = re.compile(rf"([A-Za-z_][\w:]*)\s+({re.escape(name)})\s*((?:\[[^\[\];]+\]\s*)+)(?:__attribute__[^;]*)?;")
    return tuple(form.finditer(blank))


def _is_in_union(blank: str, at: int) -> bool:
    """Return whether a member is one of a union, whose bytes other members may continue."""
    brace = find_enclosing_brace(blank, at, 0)
    return re.search(r"\bunion\b[^;{}]*$", blank[:brace]) is not None
