"""Run the mbarriers of a traced kernel: which phases complete, what each wait passes, and whether every thread ends.

Each schedule of the threads that is tried is one that hardware may choose; copies and commits arrive at once. A wait
for a parity passes if the phase of that parity has completed: the current phase has the other one (PTX ISA 9.1,
9.7.13.15.16, mbarrier.test_wait, try_wait).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from lanescope.reader.threads.barrier_trace import WARP, BarrierEvent

SCHEDULES = ("first thread first", "last thread first", "in turns")
USES = ("arrive", "copy", "wait", "await")  # events of an mbarrier that is initialized
WAITS = ("wait", "await")
MEETINGS = ("warp", "wgmma")  # events for which the threads of a warp, or of a warpgroup, meet
_CODES = 4096  # values of a step, from -1 on
_ALL = 1 << 30


@dataclass(frozen=True, slots=True)
class AgentStep:
    """One operation of an agent. event: its number in the trace; place, value: those of the agent."""

    event: int
    kind: str
    place: int
    value: int


@dataclass(frozen=True, slots=True, eq=False)
class Agent:
    """Threads of one warp that do the same. count: how many."""

    warp: int
    count: int
    steps: tuple[AgentStep, ...]


@dataclass(slots=True)
class PhaseBarrier:
    """An mbarrier: the arrivals of a phase, those that the current one lacks, and the phases that have completed."""

    count: int
    pending: int
    completed: int = 0

    def arrive(self, count: int) -> None:
        self.pending -= count
        while self.pending <= 0:
            self.completed += 1
            self.pending += self.count


@dataclass(slots=True)
class Outcome:
    """How one schedule ends.

    blocked: the agents that wait for ever, each with its step; passed: (agent, mbarrier) → (event, parity, completed
    phases) of its waits; begun: (agent, arrival) → its phase; awaited: (agent, mbarrier) → the phases of the arrivals
    that it has waited for; barriers: every mbarrier at the end; moves: (agent, event) of copies and products in order.
    """

    blocked: list[tuple[int, AgentStep]] = field(default_factory=list)
    passed: dict[tuple[int, int], list[tuple[int, int, int]]] = field(default_factory=lambda: defaultdict(list))
    begun: dict[tuple[int, int], int] = field(default_factory=dict)
    awaited: dict[tuple[int, int], list[int]] = field(default_factory=lambda: defaultdict(list))
    barriers: dict[int, PhaseBarrier] = field(default_factory=dict)
    moves: list[tuple[int, int]] = field(default_factory=list)


def is_exact(events: Sequence[BarrierEvent]) -> bool:
    """Return whether every mbarrier is initialized once, by one thread, and every value can be simulated."""
    places: list[int] = []
    for event in events:
        values = event.values[event.mask]
        limit = 2 if event.kind == "wait" else _CODES - 2
        if values.size and (values.min() < -1 or values.max() >= limit):
            return False
        if event.kind == "init":
            places += map(int, event.places[event.mask])
    used = {int(at) for event in events if event.kind in USES for at in event.places[event.mask]}
    return bool(places) and len(places) == len(set(places)) and used <= set(places)


def make_agents(events: Sequence[BarrierEvent], threads: int) -> list[Agent]:
    """Put threads of a warp that do the same with the same mbarriers into one agent."""
    table = np.zeros((len(events), threads), np.int64)
    for n, event in enumerate(events):
        table[n] = np.where(event.mask, event.places * _CODES + event.values + 2, 0)
    agents = []
    for warp in range(0, threads, WARP):
        columns, counts = np.unique(table[:, warp : warp + WARP], axis=1, return_counts=True)
        for column, count in zip(columns.T, counts, strict=True):
            agents.append(Agent(warp // WARP, int(count), tuple(_list_steps(events, column))))
    return [agent for agent in agents if agent.steps]


def _list_steps(events: Sequence[BarrierEvent], column: Iterable[int]) -> Iterator[AgentStep]:
    """Yield the steps of an agent; a wait that only repeats the one before it is left out."""
    before: AgentStep | None = None
    for n, code in enumerate(column):
        if not code:
            continue
        place, value = divmod(int(code) - 1, _CODES)
        step = AgentStep(n, events[n].kind, place, value - 1)
        again = before is not None and (before.kind, before.place, before.value) == (step.kind, place, step.value)
        if not again or step.kind != "wait":
            yield step
        before = step


class Simulation:
    """The mbarriers of one block. counts: other arrival counts than the trace's, by event of the initialization;
    parities: other parities, by agent and event.
    """

    def __init__(
        self,
        agents: Sequence[Agent],
        counts: Mapping[int, int] | None = None,
        parities: Mapping[tuple[int, int], int] | None = None,
    ) -> None:
        self.agents = agents
        self.counts, self.parities = counts or {}, parities or {}
        self.threads = sum(agent.count for agent in agents)

    def run(self, schedule: str) -> Outcome:
        """Run a schedule until no agent can continue."""
        outcome = Outcome(barriers=self._initialize())
        order = list(range(len(self.agents)))
        if schedule == SCHEDULES[1]:
            order.reverse()
        most = 1 if schedule == SCHEDULES[2] else _ALL
        state = _BlockState(self, outcome)
        moved = True
        while moved:
            moved = False
            for n in order:
                moved |= state.advance(n, most)
        ends = enumerate(zip(self.agents, state.at, strict=True))
        outcome.blocked = [(n, agent.steps[at]) for n, (agent, at) in ends if at < len(agent.steps)]
        return outcome

    def _initialize(self) -> dict[int, PhaseBarrier]:
        """Return the mbarriers as they are initialized: before anything else, since a fence and a barrier follow."""
        found: dict[int, PhaseBarrier] = {}
        for agent in self.agents:
            for step in agent.steps:
                if step.kind == "init":
                    count = self.counts.get(step.event, step.value)
                    found[step.place] = PhaseBarrier(count, count)
        return found


def _key_meeting(agent: Agent, step: AgentStep) -> tuple[int, int]:
    """Return what the agents that meet have in common."""
    return step.event, agent.warp if step.kind == "warp" else agent.warp // 4


class _BlockState:
    """Where every agent is, and who has come to which barrier of threads."""

    def __init__(self, simulation: Simulation, outcome: Outcome) -> None:
        self.simulation, self.outcome = simulation, outcome
        self.at = [0] * len(simulation.agents)
        self.reached: dict[tuple[int, int], int] = {}  # (event, warp or warpgroup) → agents that have come to a meeting
        self.members = Counter(_key_meeting(a, s) for a in simulation.agents for s in a.steps if s.kind in MEETINGS)
        self.arrived: Counter[int] = Counter()  # threads at each barrier of the block
        self.passes: Counter[int] = Counter()  # how often it has completed
        self.waiting: dict[int, int] = {}  # agent → the completion that it waits for
        self.met: set[int] = set()  # agents that have come to their meeting

    def advance(self, n: int, most: int) -> bool:
        """Run an agent until it is blocked, or for some steps; return whether it has moved."""
        agent, moved = self.simulation.agents[n], 0
        while self.at[n] < len(agent.steps) and moved < most:
            if not self._take(n, agent, agent.steps[self.at[n]]):
                break
            self.at[n] += 1
            moved += 1
        if moved and self.at[n] == len(agent.steps):
            self._complete_blocks()
        return moved > 0

    def _take(self, n: int, agent: Agent, step: AgentStep) -> bool:
        """Execute a step; return whether the agent goes on."""
        if step.kind == "arrive":
            self.outcome.begun[n, step.event] = self.outcome.barriers[step.place].completed
            self.outcome.barriers[step.place].arrive(agent.count * step.value)
        elif step.kind == "await":
            return self._await(n, step)
        elif step.kind == "wait":
            return self._wait(n, step)
        elif step.kind == "copy":
            self.outcome.moves.append((n, step.event))
        elif step.kind in MEETINGS:
            return self._meet(n, agent, step)
        elif step.kind in ("block", "pass"):
            return self._block(n, agent, step)
        return True

    def _wait(self, n: int, step: AgentStep) -> bool:
        barrier = self.outcome.barriers[step.place]
        parity = self.simulation.parities.get((n, step.event), step.value & 1)
        if barrier.completed % 2 == parity:
            return False
        self.outcome.passed[n, step.place].append((step.event, parity, barrier.completed))
        return True

    def _await(self, n: int, step: AgentStep) -> bool:
        phase = self.outcome.begun[n, step.value]
        if self.outcome.barriers[step.place].completed <= phase:
            return False
        self.outcome.awaited[n, step.place].append(phase)
        return True

    def _meet(self, n: int, agent: Agent, step: AgentStep) -> bool:
        key = _key_meeting(agent, step)
        if n not in self.met:
            self.met.add(n)
            self.reached[key] = self.reached.get(key, 0) + 1
        if self.reached[key] < self.members[key]:
            return False
        self.met.discard(n)
        if step.kind == "wgmma":
            self.outcome.moves.append((n, step.event))
        return True

    def _block(self, n: int, agent: Agent, step: AgentStep) -> bool:
        if step.kind == "pass":
            self.arrived[step.place] += agent.count
            self._complete_block(step.place, step.value)
            return True
        if n not in self.waiting:
            self.waiting[n] = self.passes[step.place]
            self.arrived[step.place] += agent.count
            self._complete_block(step.place, step.value)
        if self.passes[step.place] == self.waiting[n]:
            return False
        del self.waiting[n]
        return True

    def _complete_block(self, place: int, count: int) -> None:
        """Complete a barrier of threads if enough have come. count: -1 for all that have not ended."""
        running = sum(a.count for a, at in zip(self.simulation.agents, self.at, strict=True) if at < len(a.steps))
        if self.arrived[place] >= (running if count < 0 else count):
            self.arrived[place] = 0
            self.passes[place] += 1

    def _complete_blocks(self) -> None:
        """Complete the barriers for all threads that wait for the ended one no longer."""
        for n in list(self.waiting):
            step = self.simulation.agents[n].steps[self.at[n]]
            if step.value < 0 and self.passes[step.place] == self.waiting[n]:
                self._complete_block(step.place, step.value)
