"""Find mbarriers that other warps use although no barrier of threads has come after their initialization.

Only the first use of a warp is judged: before it, the warp has passed no barrier since another warp initialized the
mbarrier, so that nothing tells it that this has happened (PTX ISA 9.1, 9.7.13.15.9, mbarrier.init).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from lanescope.cxx.source_text import find_closing
from lanescope.inputs import format_count
from lanescope.ptx.threads import WARP
from lanescope.reader.code.findings import Pitfall
from lanescope.reader.threads.barriers.barrier_agents import USES
from lanescope.reader.threads.barriers.barrier_trace import BarrierEvent
from lanescope.reader.threads.barriers.clusters import EVERYONE, get_rank
from lanescope.workbench.results import Span
from lanescope.workbench.text.function_texts import blank_text, find_enclosing_function
from lanescope.workbench.text.loop_texts import find_enclosing_brace, find_next_statement

TITLES = {"mbarrier_unsynchronized": "No barrier between mbarrier.init and the use of the mbarrier by other threads"}


def find_uninitialized(events: Sequence[BarrierEvent], kernel: str) -> Pitfall | None:
    """Return the finding of mbarriers that continue an array whose first ones a loop initializes."""
    sites: dict[Span, list[int]] = defaultdict(list)
    for event in events:
        if event.kind == "init":
            sites[event.site] += map(int, event.places[event.mask])
    ready = [place for places in sites.values() for place in places]
    used = {int(at) for event in events if event.kind in USES for at in event.places[event.mask]}
    missing = used - set(ready)
    if len(ready) != len(set(ready)) or not missing:
        return None
    behind = {site: 8 * len(places) + min(places) for site, places in sites.items() if len(places) > 1}
    if missing != set(behind.values()) & missing or any(after not in missing for after in behind.values()):
        return None
    first = next(event for event in events if event.kind == "init" and event.site in behind)
    count = format_count(len(missing), "mbarrier")
    message = f"{kernel} uses {count} behind those that are initialized here: one more of each array is needed."
    return Pitfall("mbarrier_uninitialized", message, first.call)


def find_unsynchronized_use(events: Sequence[BarrierEvent], kernel: str, text: str) -> Pitfall | None:
    """Return the finding of an mbarrier that a warp uses before any barrier after its initialization by another one."""
    found = _find_first_use(events)
    if found is None:
        return None
    begun, used = found
    message = (
        f"Other warps of {kernel} may use this mbarrier before mbarrier.init: no barrier is between. Put"
        " __syncthreads() here, before its first use."
    )
    return Pitfall("mbarrier_unsynchronized", message, _find_place(text, begun.call, used.call))


def _find_first_use(events: Sequence[BarrierEvent]) -> tuple[BarrierEvent, BarrierEvent] | None:
    """Return (initialization, use) of the first mbarrier that is used before a barrier of threads."""
    begun: dict[int, tuple[int, BarrierEvent, set[int]]] = {}  # mbarrier → the warp that initializes it, the event,
    # and the warps that have passed a barrier since, or used an mbarrier
    for event in events:
        lanes = np.flatnonzero(event.mask)
        if event.kind == "init":
            begun |= {int(event.places[n]): (int(n) // WARP, event, set()) for n in lanes}
        for n in lanes if event.kind in USES else ():
            owner, initialization, passed = begun.get(int(event.places[n]), (-1, event, set()))
            if int(n) // WARP not in passed and owner not in (-1, int(n) // WARP):
                return initialization, event
        if event.kind in ("block", "pass", "join", *USES):
            for _, _, passed in begun.values():
                passed.update((lanes // WARP).tolist())
    return None


def find_early_signal(of_blocks: Sequence[Sequence[BarrierEvent]], kernel: str, text: str) -> Pitfall | None:
    """Return what reaches an mbarrier of another block of the cluster in a thread that has not yet arrived at the
    barrier of the cluster: nothing tells it that the other block has initialized it.
    """
    for rank, events in enumerate(of_blocks) if len(of_blocks) > 1 else ():
        arrived: set[int] = set()
        for event in events:
            lanes = np.flatnonzero(event.mask).tolist()
            if event.kind in USES and any(get_rank(int(event.places[n])) != rank for n in lanes if n not in arrived):
                message = (
                    f"{kernel} reaches an mbarrier of another block of its cluster that may not be initialized yet: let"
                    " all threads arrive at the cluster's barrier here, and wait for it, not for one of the block."
                )
                begun = next((one for one in events if one.kind == "init"), event)
                return Pitfall("mbarrier_unsynchronized", message, _find_place(text, begun.call, event.call))
            if event.kind == "pass" and event.places[event.mask].max(initial=0) == EVERYONE:
                arrived.update(lanes)
    return None


def _find_place(text: str, begun: Span, used: Span) -> Span:
    """Return the statement before which a barrier belongs: after the outermost block with the initialization that does
    not have the use, if one function has both.
    """
    blank = blank_text(text)
    function = find_enclosing_function(blank, begun[0])
    if function is None or function is not find_enclosing_function(blank, used[0]):
        return begun
    at, end = begun[0], -1
    while (brace := find_enclosing_brace(blank, at, function.body[0])) > function.body[0]:
        closing = find_closing(blank, brace)
        if brace < used[0] < closing:
            break
        at, end = brace, closing
    place = find_next_statement(blank, begun) if end < 0 else end + 1
    place += len(blank[place:]) - len(blank[place:].lstrip())
    return place, place + 1
