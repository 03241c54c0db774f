"""Tiles that threads fill and wgmma reads through descriptors: whether each read is rows and columns of one array."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lanescope.reader.threads.records import DescriptorUse
from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.thread_fragments import FragmentOrigin, locate_descriptor

Span = tuple[int, int]
MOST_ALIKE = 16


@dataclass(frozen=True, slots=True)
class FragmentFinding:
    """One mistake: a code of TITLES, a sentence, its place; reads: how many products get the wrong fragment."""

    code: str
    message: str
    span: Span
    reads: int = 0


def judge_descriptors(run: KernelRunner, complete: bool, good: set[object]) -> Iterator[FragmentFinding]:
    """Yield what descriptors read wrong of the tiles that a kernel's threads fill; good: right reads are added."""
    count: dict[object, int] = {}
    before: dict[object, list[FragmentOrigin]] = {}
    for use in run.descriptors:
        key = use.span, use.calls, use.name
        count[key] = count.get(key, 0) + 1
        origin = locate_descriptor(run, use) if count[key] <= MOST_ALIKE else None
        if origin is None or run.shared.broken or not complete or origin.empty == origin.total:
            continue  # nothing of it is stored: code that is not here, or a copy, may fill it
        earlier = before.setdefault(key, [])
        same = all(not one.is_same_rows(origin) or one.rows == origin.rows for one in earlier)
        plain = origin.separable and origin.k_order == tuple(range(origin.places[0].shape[1]))
        earlier.append(origin)
        if plain and same and not origin.has_rows_twice:
            good.add(key)
        elif plain and same:
            yield FragmentFinding("rows_repeated", _say_twice(use), use.site, 1)
        elif not origin.separable or not same:
            yield _describe(use, origin)


def _say_twice(use: DescriptorUse) -> str:
    return f"{use.name.upper()} of {use.opcode}: descriptor {use.word:#018x} reads rows of the tile twice, not others."


def _describe(use: DescriptorUse, origin: FragmentOrigin) -> FragmentFinding:
    name = f"{use.name.upper()} of {use.opcode}"
    wrong = int(origin.find_misplaced().sum())
    if origin.empty and not wrong:
        message = f"{name}: {origin.empty} of {origin.total} elements are read from bytes that no thread stores."
        return FragmentFinding("tile_not_filled", message, use.site, 1)
    if not origin.array:
        message = f"{name}: the elements that descriptor {use.word:#018x} reads come from several arrays."
        return FragmentFinding("fragment_mismatch", message, use.site, 1)
    message = (
        f"{name}: {wrong} of {origin.total} elements that descriptor {use.word:#018x} reads are not the row and column"
        f" of {origin.array} that the threads would have to store there: the tile's pitch, its swizzle or the"
        " descriptor's fields do not fit each other."
    )
    return FragmentFinding("fragment_mismatch", message, use.site, 1)
