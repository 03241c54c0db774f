"""Threads that do the same with mbarriers: an agent of a simulation, with its steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lanescope.cxx.value_class import value_class
from lanescope.ptx.threads import WARP
from lanescope.reader.threads.barriers.barrier_trace import BarrierEvent
from lanescope.reader.threads.barriers.clusters import EVERYONE, RANK_BIT

USES = ("arrive", "copy", "wait", "await")  # events of an mbarrier that is initialized
WAITS = ("wait", "await")
THREAD_BARRIERS = ("block", "pass", "join")
MEETINGS = ("warp", "wgmma", "load")  # events for which the threads of a warp, or of a warpgroup, meet
_CODES = 4096  # values of a step, from -1 on


@value_class(frozen=True, slots=True)
class AgentStep:
    """One operation of an agent. event: its number in the trace; place, value: those of the agent."""

    event: int
    kind: str
    place: int
    value: int


@dataclass(frozen=True, slots=True, eq=False)
class Agent:
    """Threads of one warp that do the same. warp: counted over the blocks of a cluster; count: how many; block: their
    rank in the cluster.
    """

    warp: int
    count: int
    steps: tuple[AgentStep, ...]
    block: int = 0


def is_exact(events: Sequence[BarrierEvent]) -> bool:
    """Return whether every mbarrier is initialized once, by one thread, and every value can be simulated."""
    places: list[int] = []
    for event in events:
        values = event.values[event.mask]
        if values.size and (values.min() < -1 or values.max() >= _CODES - 2):
            return False
        if event.kind == "init":
            if values.size and values.min() < 1:
                return False
            places += map(int, event.places[event.mask])
    used = {int(at) for event in events if event.kind in USES for at in event.places[event.mask]}
    return bool(places) and len(places) == len(set(places)) and used <= set(places)


def join_events(traces: Sequence[Sequence[BarrierEvent]]) -> list[BarrierEvent]:
    """Return the events of the blocks of a cluster, one block after the other."""
    joined: list[BarrierEvent] = []
    for events in traces:
        first = len(joined)
        joined += [replace(e, values=e.values + first) if e.kind == "await" and first else e for e in events]
    return joined


def make_cluster_agents(traces: Sequence[Sequence[BarrierEvent]], threads: int) -> list[Agent]:
    """Return the agents of the blocks of a cluster, whose events are those of join_events."""
    joined = join_events(traces)
    agents: list[Agent] = []
    first = 0
    for block, events in enumerate(traces):
        for agent in make_agents(joined[first : first + len(events)], threads):
            steps = tuple(_place_step(step, first, block) for step in agent.steps)
            agents.append(Agent(agent.warp + block * threads // WARP, agent.count, steps, block))
        first += len(events)
    return agents


def _place_step(step: AgentStep, first: int, block: int) -> AgentStep:
    """Return the step of a block of a cluster. first: the number of its first event."""
    own = step.kind in THREAD_BARRIERS and step.place != EVERYONE
    return replace(step, event=step.event + first, place=step.place + (block << RANK_BIT if own else 0))


def make_agents(events: Sequence[BarrierEvent], threads: int) -> list[Agent]:
    """Put threads of a warp that do the same with the same mbarriers into one agent."""
    table = np.zeros((len(events), threads), np.int64)
    for n, event in enumerate(events):
        values = event.values & 1 if event.kind == "wait" else event.values  # other bits of a parity have no effect
        table[n] = np.where(event.mask, event.places * _CODES + values + 2, 0)
    agents = []
    for warp in range(0, threads, WARP):
        columns = Counter(map(tuple, table[:, warp : warp + WARP].T.tolist()))
        for column, count in sorted(columns.items()):
            agents.append(Agent(warp // WARP, count, tuple(_list_steps(events, column))))
    return [agent for agent in agents if agent.steps]


def _list_steps(events: Sequence[BarrierEvent], column: Iterable[int]) -> Iterator[AgentStep]:
    """Yield the steps of an agent; a wait that only repeats the one before it is left out."""
    before: AgentStep | None = None
    for n, code in enumerate(column):
        if not code:
            continue
        place, value = divmod(code - 1, _CODES)
        step = AgentStep(n, events[n].kind, place, value - 1)
        again = before is not None and (before.kind, before.place, before.value) == (step.kind, place, step.value)
        if not again or step.kind != "wait":
            yield step
        before = step
