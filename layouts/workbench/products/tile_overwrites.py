"""Find stores of threads to tiles that TMA fills, while a product may still read them or a copy may still fill them.

The mbarriers of the run of one block are simulated with its stores, products and copies. Every agent knows which of
them have been issued, and which have completed: wgmma.wait_group and tcgen05.commit complete products, the phase of an
mbarrier its copies; arrivals, waits and barriers pass this on (PTX ISA 9.1, 9.7.15.7, 9.7.13.15 and 9.7.16.6). What the
lanes of a warp know is taken together. A mistake is one that every schedule shows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from lanescope.descriptor.matrix import View
from lanescope.errors import LayoutError
from lanescope.reader.code.findings import Pitfall
from lanescope.reader.threads.barriers.barrier_agents import WAITS, Agent, is_exact, make_agents
from lanescope.reader.threads.barriers.barrier_simulation import SCHEDULES, Simulation, StepTaken
from lanescope.reader.threads.barriers.barrier_trace import BarrierEvent
from lanescope.reader.threads.barriers.tensor_order import Clocks, merge_events
from lanescope.reader.threads.memory.matrix_reads import find_described_places
from lanescope.reader.threads.memory.storage import SHARED_BYTES, Ints, Mask
from lanescope.reader.threads.memory.tile_steps import TileStep
from lanescope.reader.threads.memory.tile_trace import TileProduct
from lanescope.workbench.copies.copied_bytes import count_box_span
from lanescope.workbench.products.product_origins import WARPGROUP, OriginFinder
from lanescope.workbench.results import Span

CODE = "store_order_missing"
TITLES = {CODE: "Threads store to a tile that may still be read or filled"}
_READ, _FILLED = "read", "filled"
_Box = tuple[tuple[int, int], int, int]  # event and warp, address, bytes
_MESSAGES = {
    _READ: "{} stores here to bytes of a tile that a product of other threads may still read: nothing makes these"
    " threads wait until it has ended, such as a barrier after its wait.",
    _FILLED: "{} stores here to bytes of a tile that a TMA copy may be filling: nothing makes the copy come before"
    " these stores, or wait until what they stored has been read.",
}


def find_overwritten_tile(finder: OriginFinder) -> Pitfall | None:
    """Return the finding of a store to a tile that may still be read or filled; None if there is none, or not all of
    the run is known.
    """
    trace = finder.trace
    if trace.steps.open or finder.run.cluster is not None or not is_exact(trace.events):
        return None
    boxes = _list_boxes(finder)
    filled = np.zeros(SHARED_BYTES, np.bool_)
    for _, base, span in boxes:
        filled[base : base + span] = True
    steps = [step for step in trace.steps.steps if step.kind != "store" or filled[_list_bytes(step, step.mask)].any()]
    kept = _follow_schedules(finder, boxes, filled, steps) if any(step.kind == "store" for step in steps) else ()
    return next((Pitfall(CODE, _MESSAGES[kind].format(finder.run.kernel), site) for kind, site in kept), None)


def _follow_schedules(
    finder: OriginFinder, boxes: Sequence[_Box], filled: Mask, steps: Sequence[TileStep]
) -> list[tuple[str, Span]]:
    """Return the kinds and places of the mistakes that every schedule shows that ends, in the order of the first."""
    events, placed = merge_events(finder.trace.events, steps)
    moved = [n for n, event in enumerate(events) if event.kind != "tensor"]
    agents = make_agents(events, finder.run.threads)
    simulation = Simulation(agents)
    kept: list[tuple[str, Span]] | None = None
    for schedule in SCHEDULES:
        outcome = simulation.run(schedule)
        if outcome.blocked or kept == []:
            continue
        follower = _Follower(agents, events, placed, filled)
        follower.boxes = _key_boxes(boxes, moved)
        follower.products = {moved[product.event]: product for product in finder.trace.products}
        for taken in outcome.order:
            follower.follow(taken)
        kept = [one for one in (follower.found if kept is None else kept) if one in follower.found]
    return kept or []


def _list_boxes(finder: OriginFinder) -> list[_Box]:
    """Return all boxes whose map is known."""
    found = []
    for move in finder.trace.loads:
        tensor_map = finder.maps.find(finder.run.kernel, move.maps)
        span = count_box_span(tensor_map) if tensor_map is not None else 0
        for lane in np.flatnonzero(move.mask).tolist():
            if 0 <= int(move.place[lane]) < SHARED_BYTES - span:
                found.append(((move.event, lane // 32), int(move.place[lane]), span))
    return found


def _key_boxes(boxes: Sequence[_Box], moved: Sequence[int]) -> dict[tuple[int, int], list[tuple[int, int]]]:
    """Return (event, warp) → address and bytes of boxes. moved: the numbers that events have with further steps."""
    found: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for (event, warp), base, span in boxes:
        found[moved[event], warp].append((base, span))
    return found


def _list_bytes(step: TileStep, mask: Mask) -> Ints:
    """Return the addresses of the bytes that threads store."""
    assert step.places is not None
    places = (step.places[mask][:, None] + np.arange(step.count)).ravel()
    return places[(places >= 0) & (places < SHARED_BYTES)]


@lru_cache(maxsize=4096)
def _list_read(word: int, seen: View) -> Ints:
    """Return the addresses of the bytes that a descriptor reads; none if they are not known."""
    try:
        places = find_described_places(word, seen).ravel() if seen.bits >= 8 else np.zeros(0, np.int64)
    except LayoutError:
        return np.zeros(0, np.int64)
    return places[(places >= 0) & (places < SHARED_BYTES)]


@dataclass(slots=True)
class _Products:
    """The products of an agent that may be running: (slot, number) in no group yet, and in groups."""

    loose: list[tuple[int, int]] = field(default_factory=list)
    groups: list[list[tuple[int, int]]] = field(default_factory=list)


class _Follower:
    """Follows the steps of a schedule.

    Slots of the clocks: each agent, for the tcgen05.mma that it issues; each warpgroup, for its wgmma; each warp, for
    its stores; each mbarrier, for the phases of its copies. found: the mistakes, in the order of the schedule.
    """

    def __init__(
        self,
        agents: Sequence[Agent],
        events: Sequence[BarrierEvent],
        placed: Mapping[int, TileStep],
        filled: Mask,
    ) -> None:
        self.agents, self.events, self.placed, self.filled = agents, events, placed, filled
        warps = 1 + max(agent.warp for agent in agents)
        self.of_groups, self.of_warps = len(agents), len(agents) + warps
        barriers = sorted({s.place for agent in agents for s in agent.steps if s.kind in ("copy", *WAITS)})
        self.of_barriers = {place: self.of_warps + warps + n for n, place in enumerate(barriers)}
        slots = self.of_warps + warps + len(barriers)
        self.clocks = Clocks(agents, np.zeros((len(agents), 2 * slots), np.int64), np.zeros(slots, np.int64))
        self.mates = [[m for m, other in enumerate(agents) if other.warp == agent.warp] for agent in agents]
        self.products: Mapping[int, TileProduct] = {}
        self.boxes: Mapping[tuple[int, int], Sequence[tuple[int, int]]] = {}
        self.issued: dict[tuple[int, int], int] = {}  # (event, slot) → number of a product or a store
        self.running = [_Products() for _ in agents]
        self.readers: dict[int, Ints] = defaultdict(_make_bytes)  # slot → the last product that reads each byte
        self.writers: dict[int, Ints] = defaultdict(_make_bytes)  # slot → the last store to each byte
        self.sites: dict[tuple[int, int], Span] = {}  # of stores, by slot and number
        self.copies: list[tuple[int, int]] = [(0, 0)]  # slot of the mbarrier, and the phases that tell of the arrival
        self.copy = _make_bytes()  # the last copy to each byte
        self.found: dict[tuple[str, Span], None] = {}

    def follow(self, taken: StepTaken) -> None:
        """Follow a step of an agent."""
        n, event = taken.agent, taken.step.event
        step, product = self.placed.get(event), self.products.get(event)
        if step is not None:
            (self._store if step.kind == "store" else self._follow_group)(n, step, event)
            return
        self.clocks.pass_on(taken, self.events[event].commits)
        if product is not None and taken.passes:
            self._multiply(n, product, event)
        elif taken.step.kind == "copy":
            self._fill(n, taken, event)
        elif taken.step.kind in WAITS and taken.passes:
            slot = 2 * self.of_barriers[taken.step.place]
            self.clocks.known[n, slot] = max(int(self.clocks.known[n, slot]), taken.turn + 1)

    def _get_known(self, n: int) -> Ints:
        known: Ints = self.clocks.known[self.mates[n]].max(axis=0)
        return known

    def _issue(self, n: int, event: int, slot: int) -> tuple[int, bool]:
        """Return (the number of an operation of a slot, whether an agent comes to it first)."""
        fresh = (event, slot) not in self.issued
        if fresh:
            self.clocks.counts[slot] += 1
            self.issued[event, slot] = int(self.clocks.counts[slot])
        known = self.clocks.known[self.mates[n], 2 * slot]
        self.clocks.known[self.mates[n], 2 * slot] = np.maximum(known, self.issued[event, slot])
        return self.issued[event, slot], fresh

    def _follow_group(self, n: int, step: TileStep, event: int) -> None:
        running = self.running[n]
        if step.kind == "commit":
            running.groups.append(running.loose)
            running.loose = []
        elif step.kind == "wait":
            left = running.groups[-step.count :] if step.count else []
            for group in running.groups[: len(running.groups) - len(left)]:
                for slot, number in group:
                    self.clocks.known[n, 2 * slot + 1] = max(int(self.clocks.known[n, 2 * slot + 1]), number)
            running.groups = left

    def _multiply(self, n: int, product: TileProduct, event: int) -> None:
        group = self.agents[n].warp // WARPGROUP
        slot = n if product.in_memory else self.of_groups + group
        number, fresh = self._issue(n, event, slot)
        if not product.in_memory:
            self.running[n].loose.append((slot, number))
        if not fresh:
            return
        known = self._get_known(n)
        lane = 0 if product.in_memory else 32 * WARPGROUP * group
        for name, words in product.words.items():
            places = _list_read(int(words[lane]) & ((1 << 64) - 1), product.views[name])
            self.readers[slot][places] = number
            self._check_writers(places, known, _READ)

    def _fill(self, n: int, taken: StepTaken, event: int) -> None:
        known = self._get_known(n)
        for base, span in self.boxes.get((event, self.agents[n].warp), ()):
            places = np.arange(base, base + span)
            self._check_writers(places, known, _FILLED)
            for writer in self.writers.values():
                writer[places] = 0
            self.copy[places] = len(self.copies)
            self.copies.append((self.of_barriers[taken.step.place], max(taken.turn, 1)))

    def _check_writers(self, places: Ints, known: Ints, kind: str) -> None:
        """Note stores to bytes that something else reads or fills, of which its threads do not know."""
        for slot, writer in self.writers.items():
            last = int(writer[places].max(initial=0))
            if last > known[2 * slot]:
                self.found.setdefault((kind, self.sites[slot, last]))

    def _store(self, n: int, step: TileStep, event: int) -> None:
        warp = self.agents[n].warp
        slot, known = self.of_warps + warp, self._get_known(n)
        mine = step.mask & (np.arange(len(step.mask)) // 32 == warp)
        number, fresh = self._issue(n, event, slot)
        if not fresh:
            return
        places = _list_bytes(step, mine)
        places = places[self.filled[places]]
        for reader, numbers in self.readers.items():
            if int(numbers[places].max(initial=0)) > known[2 * reader + 1]:
                self.found.setdefault((_READ, step.call))
        for copy in np.unique(self.copy[places]).tolist():
            barrier, phase = self.copies[copy]
            if known[2 * barrier] < phase:
                self.found.setdefault((_FILLED, step.call))
        self.writers[slot][places] = number
        self.sites[slot, number] = step.call


def _make_bytes() -> Ints:
    return np.zeros(SHARED_BYTES, np.int64)
