"""The order of a traced kernel's accesses of tensor memory: which have completed when another one begins.

Every agent has a vector of counts: how many accesses of each issuer it knows to have been issued, and to have
completed. tcgen05.wait and tcgen05.commit complete accesses; mbarriers and barriers of threads pass the counts on.
PTX ISA 9.1, 9.7.16.6: mma and cp of one thread are executed in order; ld and st complete at tcgen05.wait.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

import numpy as np

from lanescope.reader.threads.barriers.barrier_agents import MEETINGS, WAITS, Agent, join_events, make_cluster_agents
from lanescope.reader.threads.barriers.barrier_simulation import SCHEDULES, Simulation, StepTaken
from lanescope.reader.threads.barriers.barrier_trace import BarrierEvent, BarrierTrace
from lanescope.reader.threads.barriers.tensor_trace import TensorEvent
from lanescope.reader.threads.memory.storage import Ints, Mask, Span


class _TracedStep(Protocol):
    """A step of some threads. at: the number of events of the trace before it; call: its place."""

    @property
    def at(self) -> int: ...
    @property
    def mask(self) -> Mask: ...
    @property
    def call(self) -> Span: ...


Placed = TypeVar("Placed", bound=_TracedStep)
PIPE = ("mma", "cp")  # executed in order for one thread, and completed by its commits
_CLASSES = ("ld", "st", "alloc")  # of a warp; an allocation is complete at once


@dataclass(frozen=True, slots=True, eq=False)
class OrderedAccess:
    """An access of tensor memory in a schedule.

    issuer: the agent of a product or copy, else the warp; slot: of its issuer in the counts; index: its number among
    the accesses of the issuer; thread: one that executes it, in its block; known: what its agent knows at its begin;
    signalled: where its warp has arrived on an mbarrier since it last waited for one.
    """

    event: TensorEvent
    block: int
    warp: int
    thread: int
    slot: int
    index: int
    known: Ints
    signalled: Span | None

    @property
    def verb(self) -> str:
        return self.event.verb

    def is_complete_before(self, later: OrderedAccess) -> bool:
        """Return whether it has completed when a later one begins, or is executed in order with it."""
        return bool(later.known[2 * self.slot + 1] >= self.index) or (
            self.slot == later.slot and self.verb in PIPE and later.verb in PIPE
        )

    def is_issued_before(self, later: OrderedAccess) -> bool:
        """Return whether the agent of a later one knows that it was issued."""
        return bool(later.known[2 * self.slot] >= self.index)


@dataclass(slots=True)
class Clocks:
    """What the agents know, and what has arrived at each phase of each barrier."""

    agents: Sequence[Agent]
    known: Ints
    counts: Ints
    arrived: dict[tuple[str, int, int], Ints] = field(default_factory=dict)

    def find_slot(self, n: int, verb: str) -> int:
        """Return the slot of the issuer of an agent's instruction."""
        if verb in PIPE:
            return n
        warps = max(agent.warp for agent in self.agents) + 1
        return len(self.agents) + _CLASSES.index(verb) * warps + self.agents[n].warp

    def complete(self, n: int, verb: str) -> None:
        slot = self.find_slot(n, verb)
        self.known[n, 2 * slot + 1] = self.counts[slot]

    def pass_on(self, taken: StepTaken, commits: bool) -> None:
        """Join what an agent knows into a phase, or what has arrived there into the agent."""
        step, n = taken.step, taken.agent
        kind = (
            "meeting" if step.kind in MEETINGS else "mbarrier" if step.kind in ("arrive", "copy", *WAITS) else "barrier"
        )
        place = step.event if kind == "meeting" else step.place
        key = kind, place, taken.turn
        if taken.passes:
            if key in self.arrived:
                np.maximum(self.known[n], self.arrived[key], out=self.known[n])
            return
        known = self.known[n].copy()
        if commits:
            known[2 * n + 1] = self.counts[n]
        earlier = self.arrived.get((kind, place, taken.turn - 1)) if kind == "mbarrier" else None
        for before in (self.arrived.get(key), earlier):
            if before is not None:
                np.maximum(known, before, out=known)
        self.arrived[key] = known


def list_ordered_accesses(traces: Sequence[BarrierTrace], threads: int) -> list[OrderedAccess] | None:
    """Return the accesses of the blocks of a cluster in the order of a schedule; None if it does not end."""
    merged = [merge_events(trace.events, trace.tensor.events) for trace in traces]
    agents = make_cluster_agents([events for events, _ in merged], threads)
    simulation = Simulation(agents)
    outcome = next((one for one in map(simulation.run, SCHEDULES) if not one.blocked), None)
    if outcome is None:
        return None
    joined = join_events([events for events, _ in merged])
    first = np.cumsum([0, *(len(events) for events, _ in merged)])
    tensor = {int(first[n]) + at: event for n, (_, found) in enumerate(merged) for at, event in found.items()}
    return list(_follow_order(agents, outcome.order, joined, tensor))


def merge_events(
    events: Sequence[BarrierEvent], further: Sequence[Placed]
) -> tuple[list[BarrierEvent], Mapping[int, Placed]]:
    """Return the operations of a trace with further steps among them, and these by their numbers."""
    merged: list[BarrierEvent] = []
    numbers: list[int] = []
    placed: dict[int, Placed] = {}
    rest = list(reversed(further))
    for n, event in enumerate([*events, None]):
        while rest and rest[-1].at <= n:
            own = rest.pop()
            nothing = np.zeros(len(own.mask), np.int64)
            placed[len(merged)] = own
            merged.append(BarrierEvent("tensor", own.mask, nothing, nothing, own.call, own.call))
        if event is not None:
            numbers.append(len(merged))
            await_ = event.kind == "await"
            merged.append(replace(event, values=np.asarray(numbers)[event.values]) if await_ else event)
    return merged, placed


def _follow_order(
    agents: Sequence[Agent],
    order: Sequence[StepTaken],
    joined: Sequence[BarrierEvent],
    tensor: Mapping[int, TensorEvent],
) -> Iterator[OrderedAccess]:
    slots = len(agents) + len(_CLASSES) * (max(agent.warp for agent in agents) + 1)
    clocks = Clocks(agents, np.zeros((len(agents), 2 * slots), np.int64), np.zeros(slots, np.int64))
    seen: set[tuple[int, int]] = set()
    signalled: dict[int, Span] = {}
    for taken in order:
        event, n = tensor.get(taken.step.event), taken.agent
        agent = agents[n]
        if event is None:
            step, own = taken.step, joined[taken.step.event]
            if step.kind != "product":
                clocks.pass_on(taken, own.commits)
            if step.kind == "arrive" and not own.commits:
                signalled[n] = own.call
            elif step.kind in WAITS:
                signalled.pop(n, None)
            continue
        verb = event.verb
        if verb.startswith("wait::"):
            clocks.complete(n, verb.removeprefix("wait::"))
        if verb not in (*PIPE, *_CLASSES, "dealloc", "relinquish_alloc_permit"):
            continue
        slot = clocks.find_slot(n, "alloc" if verb not in (*PIPE, *_CLASSES) else verb)
        again = (taken.step.event, slot) in seen
        seen.add((taken.step.event, slot))
        begins = clocks.known[n].copy()
        clocks.counts[slot] += not again
        clocks.known[n, 2 * slot] = clocks.counts[slot]
        if verb == "alloc":
            clocks.complete(n, verb)
        if not again:
            lanes = event.mask.nonzero()[0]
            warp = agent.warp - agent.block * len(event.mask) // 32
            thread = int(next((lane for lane in lanes if lane // 32 == warp), lanes[0]))
            index = int(clocks.counts[slot])
            arrived = next((span for m, span in signalled.items() if agents[m].warp == agent.warp), None)
            yield OrderedAccess(event, agent.block, agent.warp, thread, slot, index, begins, arrived)
