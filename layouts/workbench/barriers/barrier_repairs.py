"""Counts and parities that may mend the mbarriers of a traced kernel; `barrier_protocol.py` simulates each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product

from lanescope.reader.threads.barriers.barrier_agents import Agent, AgentStep
from lanescope.reader.threads.barriers.barrier_trace import BarrierEvent
from lanescope.reader.threads.barriers.clusters import RANK_BIT, get_rank
from lanescope.workbench.results import Span

MOST_REPAIRS = 24
MOST_TOGETHER = 4  # instructions of which two may arrive in the same phase


@dataclass(frozen=True, slots=True)
class ProtocolRepair:
    """A change at one place.

    counts: other arrival counts, by event of the initialization; parities: other parities, by agent and event of the
    wait; places: other mbarriers, by event and mbarrier of the arrival; event: the first one that it changes.
    """

    code: str
    site: Span
    event: int
    counts: Mapping[int, int] = field(default_factory=dict)
    parities: Mapping[tuple[int, int], int] = field(default_factory=dict)
    places: Mapping[tuple[int, int], int] = field(default_factory=dict)

    def redirect(self, agents: Sequence[Agent]) -> Sequence[Agent]:
        """Return the agents with the arrivals on other mbarriers."""
        return [replace(agent, steps=tuple(map(self._redirect_step, agent.steps))) for agent in agents]

    def _redirect_step(self, step: AgentStep) -> AgentStep:
        place = self.places.get((step.event, step.place)) if step.kind == "arrive" else None
        return step if place is None else replace(step, place=place)


def list_repairs(events: Sequence[BarrierEvent], agents: Sequence[Agent]) -> list[ProtocolRepair]:
    """List the counts and parities that are tried."""
    return [*_list_counts(events, agents), *_list_parities(events, agents)][:MOST_REPAIRS]


def _list_counts(events: Sequence[BarrierEvent], agents: Sequence[Agent]) -> Iterator[ProtocolRepair]:
    """Yield other counts of each initialization: those of the arrivals on its mbarriers in one turn."""
    sites: dict[tuple[Span, Span], list[AgentStep]] = defaultdict(list)
    for step in (step for agent in agents for step in agent.steps if step.kind == "init"):
        sites[events[step.event].site, events[step.event].origin].append(step)
    for (site, _), steps in sites.items():
        tried = {step.value for step in steps}
        for count in sorted(_count_arrivals(events, agents, {step.place for step in steps}) - tried):
            yield ProtocolRepair("mbarrier_count", site, steps[0].event, {step.event: count for step in steps})


def _count_arrivals(events: Sequence[BarrierEvent], agents: Sequence[Agent], places: Iterable[int]) -> set[int]:
    """Return how many arrivals one turn may bring: those of one execution, or of one of each instruction."""
    counts: set[int] = set()
    for place in places:
        of_event: dict[tuple[int, int], int] = defaultdict(int)
        for agent in agents:
            for step in agent.steps:
                if step.kind == "arrive" and step.place == place:
                    of_event[agent.block, step.event] += agent.count * step.value
        of_call: dict[tuple[int, Span], int] = {}
        for (block, event), count in of_event.items():
            of_call.setdefault((block, events[event].call), count)
        counts |= {*of_event.values(), sum(of_call.values())}
        if len(of_call) <= MOST_TOGETHER:  # some of them only begin the first phase
            counts |= {sum(some) for size in (1, 2) for some in combinations(of_call.values(), size)}
    return {count for count in counts if count > 0}


def _list_parities(events: Sequence[BarrierEvent], agents: Sequence[Agent]) -> Iterator[ProtocolRepair]:
    """Yield the waits of each place with parities that alternate, from 0 on and from 1 on."""
    for site in dict.fromkeys(event.site for event in events if event.kind == "wait"):
        for first in (0, 1):
            parities: dict[tuple[int, int], int] = {}
            changed: list[int] = []
            for n, agent in enumerate(agents):
                for step, turn in list_turns(agent):
                    if events[step.event].site == site:
                        parities[n, step.event] = (turn + first) % 2
                        changed += [step.event] if (turn + first) % 2 != step.value else []
            if changed:
                yield ProtocolRepair("mbarrier_parity", site, min(changed), {}, parities)


def list_joint_parities(events: Sequence[BarrierEvent], agents: Sequence[Agent]) -> Iterator[ProtocolRepair]:
    """Yield all waits whose parity never changes, at several places, with parities that alternate from theirs on."""
    values: dict[Span, set[int]] = defaultdict(set)
    turns: dict[Span, int] = defaultdict(int)
    for step, turn in (one for agent in agents for one in list_turns(agent)):
        values[events[step.event].site].add(step.value)
        turns[events[step.event].site] = max(turns[events[step.event].site], turn)
    fixed = {site for site, seen in values.items() if len(seen) == 1 and turns[site]}
    if len(fixed) < 2:
        return
    waits = [
        (n, step, (turn + step.value) % 2)
        for n, agent in enumerate(agents)
        for step, turn in list_turns(agent)
        if events[step.event].site in fixed
    ]
    parities = {(n, step.event): parity for n, step, parity in waits}
    changed = min(step.event for _, step, parity in waits if parity != step.value)
    yield ProtocolRepair("mbarrier_parity", events[changed].site, changed, {}, parities)


def list_alternations(events: Sequence[BarrierEvent], agents: Sequence[Agent]) -> Iterator[ProtocolRepair]:
    """Yield the waits of each mbarrier that is waited for at several places with parities that alternate from one wait
    to the next, whatever its place.
    """
    sites: dict[int, set[Span]] = defaultdict(set)
    for step in (step for agent in agents for step in agent.steps if step.kind == "wait"):
        sites[step.place].add(events[step.event].site)
    turns = [(n, *one) for n, agent in enumerate(agents) for one in list_turns(agent)]
    for place, first in product((place for place, of in sites.items() if len(of) > 1), (0, 1)):
        own = [(n, step, (turn + first) % 2) for n, step, turn in turns if step.place == place]
        changed = [step.event for _, step, parity in own if parity != step.value]
        if changed:
            parities = {(n, step.event): parity for n, step, parity in own}
            yield ProtocolRepair("mbarrier_parity", events[min(changed)].site, min(changed), {}, parities)


def list_other_mbarriers(events: Sequence[BarrierEvent], agents: Sequence[Agent]) -> Iterator[ProtocolRepair]:
    """Yield each arrival on the next or the previous mbarrier of its array, or on the same one of another array."""
    arrays: dict[tuple[Span, Span], set[int]] = defaultdict(set)
    blocks = sorted({agent.block for agent in agents})
    calls: dict[Span, set[tuple[int, int]]] = defaultdict(set)
    for step in (step for agent in agents for step in agent.steps):
        event = events[step.event]
        if step.kind == "init":
            arrays[event.call, event.site].add(step.place)
        elif step.kind == "arrive":
            calls[event.call].add((step.event, step.place))
    rings = [sorted(places) for places in arrays.values()]
    for call, arrivals in calls.items():
        used = {place for _, place in arrivals}
        for ring in (ring for ring in rings if used <= set(ring)):
            others = [other for other in rings if other is not ring and len(other) == len(ring)]
            for targets in (*_turn_ring(ring, len(blocks)), *others):
                yield _move_arrivals(call, arrivals, dict(zip(ring, targets, strict=True)))
        yield from _list_other_blocks(call, arrivals, blocks)


def _list_other_blocks(
    call: Span, arrivals: Collection[tuple[int, int]], blocks: Sequence[int]
) -> Iterator[ProtocolRepair]:
    """Yield arrivals on the same mbarriers of other blocks of the cluster."""
    for other in blocks[1:]:
        moved = {place: place ^ other << RANK_BIT for _, place in arrivals}
        if get_rank(max(moved.values())) <= blocks[-1]:
            yield _move_arrivals(call, arrivals, moved)


def _move_arrivals(call: Span, arrivals: Iterable[tuple[int, int]], moved: Mapping[int, int]) -> ProtocolRepair:
    places = {(event, place): moved[place] for event, place in arrivals}
    return ProtocolRepair("mbarrier_other", call, min(event for event, _ in places), places=places)


def _turn_ring(ring: Sequence[int], blocks: int) -> list[list[int]]:
    """Return the mbarriers of an array in each block, each exchanged with the next or the previous one."""
    size = len(ring) // blocks
    parts = [ring[at : at + size] for at in range(0, len(ring), size or 1)]
    turned = [[at for part in parts for at in (*part[step:], *part[:step])] for step in (1, -1)]
    return turned[: size - 1]  # two are exchanged in one way


def list_turns(agent: Agent) -> list[tuple[AgentStep, int]]:
    """List the waits of an agent, each with how often the agent has waited for the same mbarrier before."""
    turns: dict[int, int] = defaultdict(int)
    found = []
    for step in agent.steps:
        if step.kind == "wait":
            found.append((step, turns[step.place]))
            turns[step.place] += 1
    return found


def keep_first(repairs: Sequence[ProtocolRepair]) -> list[ProtocolRepair]:
    """Keep the first repair of each place."""
    return list({(repair.code, repair.site): repair for repair in reversed(repairs)}.values())
