"""Build the timeline of a run: waits of warps, phases of barriers, copies and wgmma in flight, and their dependencies.

Positions are steps, the number of statements executed so far, not time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lanescope.descriptor.matrix import SHARED_BEGIN

Event = Mapping[str, Any]
Place = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Span:
    """An interval. kind: wait, phase, copy, store or wgmma; open: whether it had not ended when the run did."""

    kind: str
    first: int
    last: int
    text: str
    line: int
    open: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """An event at one step. kind: arrive, expect, copy, store, complete, wgmma, commit, barrier, init."""

    kind: str
    step: int
    text: str
    line: int


@dataclass(slots=True)
class Lane:
    """A row: of warps with identical events, or of one barrier. kind: warps, mbarrier, copies or wgmma."""

    kind: str
    block: Place
    name: str
    spans: list[Span] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Link:
    """An arrival and a wait that it releases: (lane, step) of each, lanes as indices of the list."""

    source: tuple[int, int]
    target: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Timeline:
    """Rows of a cluster's blocks, and links between them. steps: of the whole run."""

    lanes: list[Lane]
    links: list[Link]
    steps: int


def build_timeline(events: Iterable[Event], steps: int, names: Mapping[int, str] | None = None) -> Timeline:
    """Return the timeline of a run's events. names: address of an mbarrier → its variable."""
    builder = _Builder(names or {})
    for event in events:
        builder.take(event)
    return builder.finish(steps)


class _Builder:
    def __init__(self, names: Mapping[int, str]) -> None:
        self.names = names
        self.warps: dict[tuple[Place, int], Lane] = {}
        self.barriers: dict[tuple[Place, int], Lane] = {}
        self.copies: dict[Place, Lane] = {}
        self.stores: dict[Place, Lane] = {}
        self.products: dict[tuple[Place, tuple[int, ...]], Lane] = {}
        self.waiting: dict[tuple[Place, int], tuple[int, str, int]] = {}
        self.phases: dict[tuple[Place, int], tuple[int, int]] = {}  # barrier → (phase, its first step)
        self.flights: list[tuple[Place, int, int, int, Event]] = []
        self.uncommitted: dict[tuple[Place, tuple[int, ...]], list[int]] = {}
        self.committed: dict[tuple[Place, tuple[int, ...]], list[tuple[int, int, int]]] = {}
        self.releases: dict[tuple[Place, int, int], tuple[Lane, int]] = {}  # (block, barrier, phase) → its last arrival
        self.arrived: dict[tuple[Place, int], tuple[Lane, int]] = {}
        self.raw_links: list[tuple[Lane, int, Lane, int]] = []

    def take(self, event: Event) -> None:
        handler = getattr(self, f"_take_{event['kind']}", None)
        if handler is not None:
            handler(event)

    # warps

    def _lanes_of(self, event: Event) -> list[Lane]:
        block = event["block"]
        return [self.warps.setdefault((block, warp), Lane("warps", block, f"warp {warp}")) for warp in event["warps"]]

    def _mark(self, event: Event, kind: str, text: str) -> Lane | None:
        lanes = self._lanes_of(event)
        for lane in lanes:
            lane.marks.append(Mark(kind, event["step"], text, event["line"]))
        return lanes[0] if lanes else None

    def _take_wait(self, event: Event) -> None:
        if event["wait"] == "mbarrier":
            text = f"wait for phase {event['phase']} of {self.name(event['mbarrier'] + SHARED_BEGIN)}"
        else:
            text = f"wait for {event['what']}"
        self._lanes_of(event)
        for warp in event["warps"]:
            self.waiting.setdefault((event["block"], warp), (event["step"], text, event["line"]))

    def _take_resume(self, event: Event) -> None:
        for warp in event["warps"]:
            begun = self.waiting.pop((event["block"], warp), None)
            if begun is None:
                continue
            lane = self.warps[event["block"], warp]
            lane.spans.append(Span("wait", begun[0], event["step"], begun[1], begun[2]))
            if event["wait"] == "mbarrier":
                self._link(event, lane)

    def _link(self, event: Event, lane: Lane) -> None:
        released = self.releases.get((event["block"], event["mbarrier"] + SHARED_BEGIN, event["phase"]))
        if released is not None:
            self.raw_links.append((*released, lane, event["step"]))

    def _take_barrier(self, event: Event) -> None:
        self._mark(event, "barrier", f"arrive at barrier {event['barrier']}")

    def _take_cluster_arrive(self, event: Event) -> None:
        self._mark(event, "barrier", "arrive at the cluster's barrier")

    # mbarriers

    def name(self, address: int) -> str:
        known = self.names.get(address)
        return f"{known} ({address:#x})" if known else f"mbarrier {address:#x}"

    def _barrier_of(self, event: Event) -> tuple[tuple[Place, int], Lane]:
        block = event.get("owner", event["block"])
        key = (block, event["mbarrier"])
        return key, self.barriers.setdefault(key, Lane("mbarrier", block, self.name(event["mbarrier"])))

    def _take_mbarrier_init(self, event: Event) -> None:
        key = (event["block"], event["mbarrier"])
        lane = self.barriers.setdefault(key, Lane("mbarrier", event["block"], self.name(event["mbarrier"])))
        lane.marks.append(Mark("init", event["step"], f"init for {event['count']} arrivals", event["line"]))
        self.phases[key] = (0, event["step"])
        self._mark(event, "init", f"mbarrier.init of {lane.name}")

    def _take_mbarrier_arrive(self, event: Event) -> None:
        key, lane = self._barrier_of(event)
        text = f"{event['count']} arrive" + (f", expect {event['bytes']:,} bytes" if event["bytes"] else "")
        lane.marks.append(Mark("arrive", event["step"], text, event["line"]))
        source = self._mark(event, "arrive", f"{text} on {lane.name}")
        if source is not None:
            self.arrived[key] = source, event["step"]

    def _take_expect_tx(self, event: Event) -> None:
        _, lane = self._barrier_of(event)
        lane.marks.append(Mark("expect", event["step"], f"expect {event['bytes']:,} bytes", event["line"]))

    def _take_mbarrier_complete(self, event: Event) -> None:
        key, lane = self._barrier_of(event)
        lane.marks.append(Mark("complete", event["step"], f"{event['bytes']:,} bytes complete", event["line"]))
        for number, (block, address, size, step, issued) in enumerate(self.flights):
            if address == event["mbarrier"] and size == event["bytes"] and issued["line"] == event["line"]:
                copies = self._copies_of(block)
                copies.spans.append(
                    Span("copy", step, event["step"], f"{size:,} bytes by TMA for {lane.name}", event["line"])
                )
                self.arrived[key] = copies, event["step"]
                del self.flights[number]
                return

    def _take_mbarrier_phase(self, event: Event) -> None:
        key, lane = self._barrier_of(event)
        phase, begun = self.phases.get(key, (event["phase"], 0))
        lane.spans.append(Span("phase", begun, event["step"], f"phase {event['phase']}", event["line"]))
        self.phases[key] = (phase + 1, event["step"])
        if key in self.arrived:
            self.releases[(*key, event["phase"])] = self.arrived[key]

    # copies

    def _copies_of(self, block: Place) -> Lane:
        return self.copies.setdefault(block, Lane("copies", block, "TMA loads"))

    def _take_tma_load(self, event: Event) -> None:
        self._mark(event, "copy", f"TMA load of {event['bytes']:,} bytes")
        self._copies_of(event["block"])
        ranks = event.get("ranks")
        for _ in ranks if ranks is not None else [0]:
            address = event["mbarrier"]
            self.flights.append((event["block"], address, event["bytes"], event["step"], event))

    def _take_tma_store(self, event: Event) -> None:
        self._mark(event, "store", f"TMA store of {event['bytes']:,} bytes")

    def _take_cp_async(self, event: Event) -> None:
        self._mark(event, "copy", f"cp.async of {event['bytes']:,} bytes")

    def _take_st_async(self, event: Event) -> None:
        self._mark(event, "store", f"st.async of {event['bytes']:,} bytes")

    # products

    def _take_tensor_product(self, event: Event) -> None:
        self._mark(event, "wgmma", f"tcgen05.mma into column {event['d'] & 0xFFFF}")

    def _take_tensor_alloc(self, event: Event) -> None:
        self._mark(event, "init", f"tcgen05.alloc of {event['columns']} columns")

    def _take_wgmma(self, event: Event) -> None:
        self._mark(event, "wgmma", str(event.get("instruction", "wgmma")))
        self.uncommitted.setdefault((event["block"], tuple(event["warps"])), []).append(event["step"])

    def _take_wgmma_commit(self, event: Event) -> None:
        self._mark(event, "commit", "wgmma.commit_group")
        key = (event["block"], tuple(event["warps"]))
        issued = self.uncommitted.pop(key, [])
        self.committed.setdefault(key, []).append((issued[0] if issued else event["step"], len(issued), event["line"]))

    def _take_wgmma_wait(self, event: Event) -> None:
        key = (event["block"], tuple(event["warps"]))
        groups = self.committed.get(key, [])
        while len(groups) > int(event["pending"]):
            first, count, line = groups.pop(0)
            self._products_of(key).spans.append(
                Span(
                    "wgmma",
                    first,
                    event["step"],
                    f"group of {count} wgmma, ended by wait_group in line {event['line']}",
                    line,
                )
            )

    def _products_of(self, key: tuple[Place, tuple[int, ...]]) -> Lane:
        block, warps = key
        name = f"wgmma of warps {warps[0]}–{warps[-1]}"
        return self.products.setdefault(key, Lane("wgmma", block, name))

    # the end

    def finish(self, steps: int) -> Timeline:
        for (block, warp), (first, text, line) in self.waiting.items():
            self.warps[block, warp].spans.append(Span("wait", first, steps, text, line, True))
        for key, (phase, first) in self.phases.items():
            if key in self.barriers:
                self.barriers[key].spans.append(Span("phase", first, steps, f"phase {phase}", 0, True))
        for block, address, size, step, issued in self.flights:
            text = f"{size:,} bytes by TMA for {self.name(address)}"
            self._copies_of(block).spans.append(Span("copy", step, steps, text, issued["line"], True))
        for product, groups in self.committed.items():
            for first, count, line in groups:
                self._products_of(product).spans.append(
                    Span("wgmma", first, steps, f"group of {count} wgmma", line, True)
                )
        lanes, places = self._order_lanes()
        links = [
            Link((places[id(source)], start), (places[id(target)], end))
            for source, start, target, end in self.raw_links
        ]
        return Timeline(lanes, list(dict.fromkeys(links)), steps)

    def _order_lanes(self) -> tuple[list[Lane], dict[int, int]]:
        """Return the rows by block, identical warps merged; and identity → index of its row."""
        lanes: list[Lane] = []
        places: dict[int, int] = {}
        every = [
            *self.warps,
            *self.barriers,
            *((block, 0) for block in self.copies),
            *((key[0], 0) for key in self.products),
        ]
        for block in sorted({key[0] for key in every}, key=lambda block_index: block_index[::-1]):
            for warp in sorted(number for block_index, number in self.warps if block_index == block):
                lane = self.warps[block, warp]
                alike = next(
                    (
                        n
                        for n, other in enumerate(lanes)
                        if other.kind == "warps" and other.block == block and _same(other, lane)
                    ),
                    None,
                )
                if alike is None:
                    lanes.append(Lane("warps", block, lane.name, lane.spans, lane.marks))
                    alike = len(lanes) - 1
                else:
                    lanes[alike].name = _join_name(lanes[alike].name, warp)
                places[id(lane)] = alike
            others = [lane for key, lane in self.products.items() if key[0] == block]
            others += [self.copies[block]] if block in self.copies else []
            others += [
                lane for key, lane in sorted(self.barriers.items(), key=lambda row: row[0][1]) if key[0] == block
            ]
            for lane in others:
                places[id(lane)] = len(lanes)
                lanes.append(lane)
        return lanes, places


def _same(first: Lane, second: Lane) -> bool:
    return first.spans == second.spans and first.marks == second.marks


def _join_name(name: str, warp: int) -> str:
    """Return a row's name with a warp added: warps 0 and 1 become `warps 0–1`."""
    numbers = name.partition(" ")[2]
    first, _, last = numbers.rpartition("–")
    parts, tail = (first, int(last)) if first else ("", int(numbers.rpartition(", ")[2]))
    if warp == tail + 1:
        return f"warps {parts or numbers}–{warp}"
    return f"warps {numbers}, {warp}"
