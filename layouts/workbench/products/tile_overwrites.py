"""Find tiles that threads or TMA copies overwrite while something may still read them or a copy may still fill them.

The mbarriers of the run of one block are simulated with its loads, stores, products and copies in both directions.
Every agent knows which of them have been issued, and which have completed: wgmma.wait_group and tcgen05.commit complete
products, the phase of an mbarrier copies into a tile, cp.async.bulk.wait_group copies out of it; arrivals, waits and
barriers pass this on (PTX ISA 9.1, 9.7.15.7, 9.7.13.15 and 9.7.16.6). What the lanes of a warp know is taken together.
A mistake is one that every schedule shows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from lanescope.descriptor.matrix import View
from lanescope.errors import LayoutError
from lanescope.ptx.threads import GROUP_WARPS, WARPGROUP
from lanescope.reader.code.findings import Pitfall
from lanescope.reader.threads.barriers.barrier_agents import WAITS, is_exact, make_agents
from lanescope.reader.threads.barriers.barrier_simulation import SCHEDULES, Simulation, StepTaken
from lanescope.reader.threads.barriers.tensor_order import Clocks, merge_events
from lanescope.reader.threads.memory.matrix_reads import find_described_places
from lanescope.reader.threads.memory.shared_memory import SHARED_BYTES
from lanescope.reader.threads.memory.storage import Ints, Mask
from lanescope.reader.threads.memory.tile_records import TileProduct
from lanescope.reader.threads.memory.tile_steps import TileStep
from lanescope.workbench.copies.copied_bytes import count_box_span
from lanescope.workbench.products.pending_reads import CODE, Overwrite, PendingRead, ReadExplainer
from lanescope.workbench.products.product_origins import OriginFinder
from lanescope.workbench.results import Span
from lanescope.workbench.text.loop_texts import find_next_statement

TITLES = {CODE: "A tile is overwritten that may still be read or filled"}
_READ, _FILLED, _REFILLED, _RELEASED = "read", "filled", "refilled", "released"
_Box = tuple[tuple[int, int], int, int]  # event and warp, address, bytes
_MESSAGES = {
    _READ: "{} stores here to bytes of a tile that a product of other threads may still read: nothing makes these"
    " threads wait until it has ended, such as a barrier after its wait.",
    _REFILLED: "{} copies into a tile that a product of other threads may still read: nothing makes the thread that"
    " copies wait until it has ended, such as a barrier after its wait, or an arrival for an empty stage"
    " after it.",
    _RELEASED: "This arrival lets a TMA copy of {} overwrite a tile that a product of these threads may still read: a"
    " wait for its group has to come before.",
    _FILLED: "{} stores here to bytes of a tile that a TMA copy may be filling: nothing makes the copy come before"
    " these stores, or wait until what they stored has been read.",
}


def find_overwritten_tile(finder: OriginFinder, blank: str) -> Pitfall | None:
    """Return the finding of a tile that is overwritten too early; None if there is none, or not all of the run is
    known. blank: the text of the kernel without comments.
    """
    trace = finder.trace
    if trace.steps.open or finder.run.cluster is not None or not is_exact(trace.events):
        return None
    boxes = _list_boxes(finder)
    filled = np.zeros(SHARED_BYTES, np.bool_)
    for _, base, span in boxes:
        filled[base : base + span] = True
    steps = [_measure_copy(finder, step) if step.kind == "copy" else step for step in trace.steps.steps]
    shared = filled.copy()
    for step in steps:
        if step.kind in ("load", "copy"):
            shared[_list_bytes(step, step.mask)] = True
    steps = [step for step in steps if not step.accesses or shared[_list_bytes(step, step.mask)].any()]
    if not any(step.accesses for step in steps) and not boxes:
        return None
    found = _follow_schedules(finder, boxes, (filled, shared), steps, blank)
    return found[0] if found else None


def _measure_copy(finder: OriginFinder, step: TileStep) -> TileStep:
    """Return a copy of a box to global memory with its bytes; with none if its map is not known."""
    tensor_map = finder.find_map(step.maps)
    return replace(step, count=count_box_span(tensor_map)) if tensor_map is not None else step


def _follow_schedules(
    finder: OriginFinder, boxes: Sequence[_Box], bytes_: tuple[Mask, Mask], steps: Sequence[TileStep], blank: str
) -> list[Pitfall]:
    """Return the mistakes of the schedules that end: stores that each of them shows, and what overwrites a read in one,
    since it comes before the read in another.
    """
    events, placed = merge_events(finder.trace.events, steps)
    moved = [n for n, event in enumerate(events) if event.kind != "tensor"]
    agents = make_agents(events, finder.run.threads)
    simulation = Simulation(agents)
    stores: dict[Span, Pitfall] | None = None
    reads: dict[Span, Pitfall] = {}
    for schedule in SCHEDULES:
        outcome = simulation.run(schedule)
        if outcome.blocked:
            continue
        follower = _Follower(ReadExplainer(blank, agents, events, placed), finder.run.kernel, bytes_)
        follower.boxes = _key_boxes(boxes, moved)
        follower.products = {moved[product.event]: product for product in finder.trace.products}
        for taken in outcome.order:
            follower.follow(taken)
        follower.end()
        found = follower.found
        stores = {at: one for at, one in (found if stores is None else stores).items() if at in found}
        reads |= follower.overwritten
    return [*(stores or {}).values(), *reads.values()]


def _list_boxes(finder: OriginFinder) -> list[_Box]:
    """Return all boxes whose map is known."""
    found = []
    for move in finder.trace.loads:
        tensor_map = finder.find_map(move.maps, len(move.at))
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
        places = find_described_places(word, seen).ravel()
    except LayoutError:
        return np.zeros(0, np.int64)
    return places[(places >= 0) & (places < SHARED_BYTES)]


@dataclass(slots=True)
class _Groups:
    """What an agent has issued that may be running: (slot, number) in no group yet, and in groups."""

    loose: list[tuple[int, int]] = field(default_factory=list)
    groups: list[list[tuple[int, int]]] = field(default_factory=list)

    def commit(self) -> None:
        self.groups.append(self.loose)
        self.loose = []

    def wait(self, left: int) -> list[tuple[int, int]]:
        """Return what has completed when all but some groups have.

        >>> one = _Groups(groups=[[(0, 1)], [(0, 2)]])
        >>> one.wait(3), one.wait(1)
        ([], [(0, 1)])
        """
        done = self.groups[: max(len(self.groups) - left, 0)]
        self.groups = self.groups[len(done) :]
        return [one for group in done for one in group]


class _Follower:
    """Follows the steps of a schedule.

    Slots of the clocks: each agent, for the tcgen05.mma that it issues, and for its bulk copies to global memory; each
    warpgroup, for its wgmma; each warp, for its loads and stores; each mbarrier, for the phases of its copies. A clock
    has two columns for a slot: what has been issued, and what has completed. bytes_: those that TMA fills, and those
    that something else than a product reads, too. found, overwritten: the stores that come too early, and what
    overwrites a read, in the order of the schedule, by their places.
    """

    def __init__(self, explainer: ReadExplainer, kernel: str, bytes_: tuple[Mask, Mask]) -> None:
        self.kernel, self.explainer, self.agents, self.events = kernel, explainer, explainer.agents, explainer.events
        self.placed, (self.filled, self.shared) = explainer.placed, bytes_
        agents = self.agents
        warps = 1 + max(agent.warp for agent in agents)
        self.of_bulk, self.of_groups = len(agents), 2 * len(agents)
        self.of_warps = self.of_groups + warps
        barriers = sorted({s.place for agent in agents for s in agent.steps if s.kind in ("copy", *WAITS)})
        self.of_barriers = {place: self.of_warps + warps + n for n, place in enumerate(barriers)}
        slots = self.of_warps + warps + len(barriers)
        self.clocks = Clocks(agents, np.zeros((len(agents), 2 * slots), np.int64), np.zeros(slots, np.int64))
        self.mates = [[m for m, other in enumerate(agents) if other.warp == agent.warp] for agent in agents]
        self.products: Mapping[int, TileProduct] = {}
        self.boxes: Mapping[tuple[int, int], Sequence[tuple[int, int]]] = {}
        self.issued: dict[tuple[int, int], int] = {}  # (event, slot) → its number
        self.running = [_Groups() for _ in agents]
        self.copying = [_Groups() for _ in agents]
        self.readers: dict[int, Ints] = defaultdict(_make_bytes)  # column → the last product that reads each byte
        self.loads: dict[int, Ints] = defaultdict(_make_bytes)  # column → the last load or copy that reads each byte
        self.reads: dict[tuple[int, int], PendingRead] = {}  # by column and number
        self.writers: dict[int, Ints] = defaultdict(_make_bytes)  # slot → the last store to each byte
        self.sites: dict[tuple[int, int], Span] = {}  # of stores, by slot and number
        self.staged: dict[int, Ints] = defaultdict(_make_bytes)  # warp → its last store to each byte
        self.now = 0  # the steps taken
        self.stored = _make_bytes()  # when each byte was stored last
        self.copies: list[tuple[int, int]] = [(0, 0)]  # slot of the mbarrier, and the phases that tell of the arrival
        self.copy = _make_bytes()  # the last copy to each byte
        # (mbarrier, phase) → warpgroup → when and where it arrived last; by agent, those that it has waited for
        self.arrivals: dict[tuple[int, int], dict[int, tuple[int, int]]] = defaultdict(dict)
        self.heard: list[dict[int, tuple[int, int]]] = [{} for _ in agents]
        self.full = {s.place for agent in agents for s in agent.steps if s.kind == "copy"}
        self.waits: dict[int, Span] = {}  # by agent, its last wait for products
        self.found: dict[Span, Pitfall] = {}
        self.overwritten: dict[Span, Pitfall] = {}

    def follow(self, taken: StepTaken) -> None:
        """Follow a step of an agent."""
        n, event = taken.agent, taken.step.event
        self.now += 1
        step, product = self.placed.get(event), self.products.get(event)
        if step is not None:
            (self._access if step.accesses else self._follow_group)(n, step, event)
            return
        self.clocks.pass_on(taken, self.events[event].commits)
        if product is not None and taken.passes:
            self._multiply(n, product, event)
        elif taken.step.kind == "copy":
            self._fill(n, taken, event)
        elif taken.step.kind == "arrive" and taken.step.place not in self.full:
            self.arrivals[taken.step.place, taken.turn][self.agents[n].warp // GROUP_WARPS] = self.now, event
        elif taken.step.kind in WAITS and taken.passes:
            slot = 2 * self.of_barriers[taken.step.place]
            self.clocks.known[n, slot] = max(int(self.clocks.known[n, slot]), taken.turn + 1)
            for group, arrival in self.arrivals.get((taken.step.place, taken.turn), {}).items():
                self.heard[n][group] = max(self.heard[n].get(group, (0, -1)), arrival)

    def end(self) -> None:
        """Note the bulk copies that nothing has waited for when the kernel ends."""
        for running in self.copying:
            for slot, number in [one for group in (*running.groups, running.loose) for one in group]:
                self._note_read(self.reads[2 * slot + 1, number], Overwrite())

    def _get_known(self, n: int) -> Ints:
        known: Ints = self.clocks.known[self.mates[n]].max(axis=0)
        return known

    def _know(self, n: int, column: int, number: int) -> None:
        """Note that the lanes of an agent's warp know of an operation."""
        known = self.clocks.known[self.mates[n], column]
        self.clocks.known[self.mates[n], column] = np.maximum(known, number)

    def _issue(self, n: int, event: int, slot: int) -> tuple[int, bool]:
        """Return (the number of an operation of a slot, whether an agent comes to it first)."""
        fresh = (event, slot) not in self.issued
        if fresh:
            self.clocks.counts[slot] += 1
            self.issued[event, slot] = int(self.clocks.counts[slot])
        self._know(n, 2 * slot, self.issued[event, slot])
        return self.issued[event, slot], fresh

    def _follow_group(self, n: int, step: TileStep, event: int) -> None:
        bulk = step.kind.startswith("bulk")
        running = (self.copying if bulk else self.running)[n]
        if step.kind.endswith("commit"):
            running.commit()
        if step.kind == "wait":
            self.waits[n] = step.call
        for slot, number in running.wait(step.count) if step.kind.endswith("wait") else ():
            if bulk:
                self._know(n, 2 * slot + 1, number)
            else:
                self.clocks.known[n, 2 * slot + 1] = max(int(self.clocks.known[n, 2 * slot + 1]), number)

    def _multiply(self, n: int, product: TileProduct, event: int) -> None:
        group = self.agents[n].warp // GROUP_WARPS
        slot = n if product.in_memory else self.of_groups + group
        number, fresh = self._issue(n, event, slot)
        if not product.in_memory:
            self.running[n].loose.append((slot, number))
        if not fresh:
            return
        known = self._get_known(n)
        lane = 0 if product.in_memory else WARPGROUP * group
        for name, words in product.words.items():
            places = _list_read(int(words[lane]) & ((1 << 64) - 1), product.views[name])
            self.readers[2 * slot + 1][places] = number
            self._check_writers(places, known, _READ)

    def _fill(self, n: int, taken: StepTaken, event: int) -> None:
        known = self._get_known(n)
        for base, span in self.boxes.get((event, self.agents[n].warp), ()):
            places = np.arange(base, base + span)
            self._check_writers(places, known, _FILLED)
            self._check_reads(places, known, n, event)
            self._check_products(places, known, n, event)
            for writer in self.writers.values():
                writer[places] = 0
            self.copy[places] = len(self.copies)
            self.copies.append((self.of_barriers[taken.step.place], max(taken.turn, 1)))

    def _check_products(self, places: Ints, known: Ints, n: int, event: int) -> None:
        """Note products that read bytes which an agent's copy fills again, of whose end it does not know."""
        for column, numbers in self.readers.items():
            last = int(numbers[places].max(initial=0))
            if last > known[column]:
                group = column // 2 - self.of_groups
                heard = max(self.heard[m].get(group, (0, -1)) for m in self.mates[n])[1]
                product = next(e for (e, slot), number in self.issued.items() if (slot, number) == (column // 2, last))
                if heard > product:
                    self._note(_RELEASED, self.events[heard].call)
                else:
                    self._note(_REFILLED, self._find_place_of_barrier(n) or self.events[event].call)

    def _find_place_of_barrier(self, n: int) -> Span | None:
        """Return what follows the last wait for products of an agent's warp, None if it never waits for any."""
        waits = [self.waits[m] for m in self.mates[n] if m in self.waits]
        at = find_next_statement(self.explainer.blank, waits[-1]) if waits else 0
        return (at, at + 1) if at else None

    def _check_writers(self, places: Ints, known: Ints, kind: str) -> None:
        """Note stores to bytes that something else reads or fills, of which its threads do not know."""
        for slot, writer in self.writers.items():
            last = int(writer[places].max(initial=0))
            if last > known[2 * slot]:
                self._note(kind, self.sites[slot, last])

    def _check_reads(self, places: Ints, known: Ints, n: int, event: int) -> None:
        """Note loads of and copies from bytes that an agent overwrites, of whose end it does not know."""
        for column, numbers in self.loads.items():
            last = int(numbers[places].max(initial=0))
            if last > known[column]:
                read = self.reads[column, last]
                group = self.agents[read.agent].warp // GROUP_WARPS
                when, heard = max(self.heard[m].get(group, (0, -1)) for m in self.mates[n])
                later = when > int(self.stored[places].max())
                self._note_read(read, Overwrite(event, n, heard if later else -1))

    def _note(self, kind: str, site: Span) -> None:
        self.found.setdefault(site, Pitfall(CODE, _MESSAGES[kind].format(self.kernel), site))

    def _note_read(self, read: PendingRead, overwrite: Overwrite) -> None:
        mistake = self.explainer.explain(read, overwrite)
        self.overwritten.setdefault(mistake.span, mistake)

    def _access(self, n: int, step: TileStep, event: int) -> None:
        warp = self.agents[n].warp
        slot, known = self.of_bulk + n if step.kind == "copy" else self.of_warps + warp, self._get_known(n)
        mine = step.mask & (np.arange(len(step.mask)) // 32 == warp)
        number, fresh = self._issue(n, event, slot)
        if step.kind == "copy":
            self.copying[n].loose.append((slot, number))
        if not fresh:
            return
        places = _list_bytes(step, mine)
        places = places[self.shared[places]]
        if step.kind == "store":
            self._store(n, event, places, (known, slot, number))
        else:
            self._check_stores(warp, places, known)
            column = 2 * slot + (step.kind == "copy")
            self.loads[column][places] = number
            self.reads[column, number] = PendingRead(n, event)

    def _check_stores(self, warp: int, places: Ints, known: Ints) -> None:
        """Note a read of bytes to which warps of two warpgroups have stored, if nothing orders it with one of them."""
        for other, numbers in self.staged.items():
            late = places[numbers[places] > known[2 * (self.of_warps + other)]]
            mine = [w for w in self.staged if w // GROUP_WARPS == warp // GROUP_WARPS and self.staged[w][late].any()]
            if other // GROUP_WARPS != warp // GROUP_WARPS and mine:
                slot = self.of_warps + mine[0]
                site = self.sites[slot, int(self.staged[mine[0]][late].max())]
                mistake = self.explainer.explain_shared(site, (warp // GROUP_WARPS, other // GROUP_WARPS))
                self.found.setdefault(mistake.span, mistake)

    def _store(self, n: int, event: int, places: Ints, of: tuple[Ints, int, int]) -> None:
        """Note a store. of: what its agent knows, its slot and its number."""
        (known, slot, number), site = of, self.placed[event].call
        self._check_reads(places, known, n, event)
        filled = places[self.filled[places]]
        for column, numbers in self.readers.items():
            if int(numbers[filled].max(initial=0)) > known[column]:
                self._note(_READ, site)
        for copy in np.unique(self.copy[filled]).tolist():
            barrier, phase = self.copies[copy]
            if known[2 * barrier] < phase:
                self._note(_FILLED, site)
        self.writers[slot][filled] = number
        self.staged[slot - self.of_warps][places] = number
        self.stored[places] = self.now
        self.sites[slot, number] = site


def _make_bytes() -> Ints:
    return np.zeros(SHARED_BYTES, np.int64)
