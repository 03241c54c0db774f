"""Run the mbarriers of a traced kernel: which phases complete, what each wait passes, and whether every thread ends.

Each schedule of the threads that is tried is one that hardware may choose; copies and commits arrive at once. A wait
for a parity passes if the phase of that parity has completed: the current phase has the other one (PTX ISA 9.1,
9.7.13.15.16, mbarrier.test_wait, try_wait).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lanescope.cxx.value_class import value_class
from lanescope.reader.threads.barriers.barrier_agents import MEETINGS, THREAD_BARRIERS, USES, Agent, AgentStep
from lanescope.reader.threads.barriers.clusters import EVERYONE, get_rank

SCHEDULES = ("first thread first", "last thread first", "in turns")
REPLAY = "in turns, copies with the step before"  # no product is ahead of the copies that its barrier expects
_ALL = 1 << 30


@dataclass(slots=True)
class PhaseBarrier:
    """An mbarrier: the arrivals of a phase, those that the current one lacks, and the phases that have completed.

    expected: the parts of copies that the phase still lacks, in a cluster.
    """

    count: int
    pending: int
    completed: int = 0
    expected: int = 0

    def arrive(self, count: int) -> None:
        self.pending -= count
        self._complete_phases()

    def expect(self, parts: int) -> None:
        """Expect parts of copies; a negative number of them has arrived."""
        self.expected += parts
        self._complete_phases()

    def _complete_phases(self) -> None:
        while self.pending <= 0 and not self.expected:
            self.completed += 1
            self.pending += self.count


@value_class(frozen=True, slots=True)
class StepTaken:
    """A step of an agent. passes: whether it goes on, after what arrived before; turn: the phase of the barrier."""

    agent: int
    step: AgentStep
    turn: int = 0
    passes: bool = True


@dataclass(slots=True)
class Outcome:
    """How one schedule ends.

    blocked: the agents that wait for ever, each with its step; passed: (agent, mbarrier) → (event, parity, completed
    phases) of its waits; begun: (agent, arrival) → its phase; awaited: (agent, mbarrier) → the phases of the arrivals
    that it has waited for; barriers: every mbarrier at the end; moves: (agent, event) of copies and products in order;
    order: the steps of all agents in order.
    """

    blocked: list[tuple[int, AgentStep]] = field(default_factory=list)
    passed: dict[tuple[int, int], list[tuple[int, int, int]]] = field(default_factory=lambda: defaultdict(list))
    begun: dict[tuple[int, int], int] = field(default_factory=dict)
    awaited: dict[tuple[int, int], list[int]] = field(default_factory=lambda: defaultdict(list))
    barriers: dict[int, PhaseBarrier] = field(default_factory=dict)
    moves: list[tuple[int, int]] = field(default_factory=list)
    order: list[StepTaken] = field(default_factory=list)
    late: tuple[int, int] | None = None  # (agent, event) that first reaches a block of the cluster that has ended
    refilled: tuple[int, AgentStep, int] | None = None  # see _note_refill


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
        clustered = any(agent.block for agent in agents)
        self.parts = _count_parts(agents) if clustered else {}
        self.readers = _list_readers(agents) if clustered else {}

    def run(self, schedule: str, last: int = -1) -> Outcome:
        """Run a schedule until no agent can continue. last: the block of a cluster that goes on if no other can."""
        outcome = Outcome(barriers=self._initialize())
        order = list(range(len(self.agents)))
        if schedule == SCHEDULES[1]:
            order.reverse()
        most = 1 if schedule in (SCHEDULES[2], REPLAY) else _ALL
        state = _BlockState(self, outcome, schedule == REPLAY)
        moved = True
        while moved:
            moved = False
            for n in order if last < 0 else sorted(order, key=lambda n: self.agents[n].block == last):
                lags = self.agents[n].block == last
                if moved and lags:
                    break
                moved |= state.advance(n, 1 if lags else most)
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


def _count_parts(agents: Sequence[Agent]) -> dict[tuple[str, int], int]:
    """Return the parts that each expectation and each copy of an mbarrier stands for, since bytes may not be known: as
    many as make the sums of the whole kernel equal. Without an expectation, copies arrive at once.
    """
    counts: Counter[tuple[str, int]] = Counter()
    for agent in agents:
        for step in agent.steps:
            if step.kind in ("expect", "copy"):
                counts[step.kind, step.place] += agent.count
    return {
        (kind, place): (counts["copy", place] if kind == "expect" else -counts["expect", place])
        for kind, place in counts
    }


def _list_readers(agents: Sequence[Agent]) -> dict[int, list[int]]:
    """Map the mbarriers that copies signal to the agents that multiply, wait for them most often, and release what they
    have read themselves: nothing here holds a warp back for which another one of its warpgroup does so.
    """
    filled = {step.place for agent in agents for step in agent.steps if step.kind == "copy"}
    waits: dict[int, Counter[int]] = defaultdict(Counter)
    for n, agent in enumerate(agents):
        if any(step.kind == "product" for step in agent.steps):
            for step in agent.steps:
                if step.kind == "wait" and step.place in filled:
                    waits[step.place][n] += 1
    return {
        place: [n for n in count if count[n] == max(count.values()) and _releases(agents[n], count[n])]
        for place, count in waits.items()
    }


def _releases(agent: Agent, turns: int) -> bool:
    return sum(step.kind == "arrive" for step in agent.steps) >= turns


def _key_meeting(agent: Agent, step: AgentStep) -> tuple[int, int]:
    """Return what the agents that meet have in common."""
    return step.event, agent.warp // 4 if step.kind == "wgmma" else agent.warp


class _BlockState:
    """Where every agent is, and who has come to which barrier of threads."""

    def __init__(self, simulation: Simulation, outcome: Outcome, joins_copies: bool) -> None:
        self.simulation, self.outcome = simulation, outcome
        self.joins_copies = joins_copies
        self.at = [0] * len(simulation.agents)
        self.reached: dict[tuple[int, int], int] = {}  # (event, warp or warpgroup) → agents that have come to a meeting
        self.members = Counter(_key_meeting(a, s) for a in simulation.agents for s in a.steps if s.kind in MEETINGS)
        self.arrived: Counter[int] = Counter()  # threads at each barrier of the block
        self.passes: Counter[int] = Counter()  # how often it has completed
        self.waiting: dict[int, int] = {}  # agent → the completion that it waits for
        self.met: set[int] = set()  # agents that have come to their meeting
        self.joined: dict[int, int] = {}  # agent → the completion of the cluster's barrier that its arrival is for

    def advance(self, n: int, most: int) -> bool:
        """Run an agent until it is blocked, or for some steps; return whether it has moved."""
        agent, moved = self.simulation.agents[n], 0
        while self.at[n] < len(agent.steps):
            step = agent.steps[self.at[n]]
            joined = self.joins_copies and step.kind == "copy"
            if (moved >= most and not joined) or not self._take(n, agent, step):
                break
            self.at[n] += 1
            moved += 1
        if moved and self.at[n] == len(agent.steps):
            self._complete_blocks()
        return moved > 0

    def _take(self, n: int, agent: Agent, step: AgentStep) -> bool:
        """Execute a step; return whether the agent goes on. One that uses an mbarrier without an initialization waits
        forever.
        """
        if step.kind in (*USES, "expect") and step.place not in self.outcome.barriers:
            return False
        if step.kind in ("arrive", "copy", "expect"):
            self._note_late(n, agent, step)
        if step.kind == "arrive":
            phase = self.outcome.begun[n, step.event] = self.outcome.barriers[step.place].completed
            self._note_order(n, step, phase, False)
            self.outcome.barriers[step.place].arrive(agent.count * step.value)
        elif step.kind == "await":
            return self._await(n, step)
        elif step.kind == "wait":
            return self._wait(n, step)
        elif step.kind in ("copy", "expect"):
            if step.kind == "copy":
                self._note_refill(n, step)
                self._note_order(n, step, self.outcome.barriers[step.place].completed, False)
                self.outcome.moves.append((n, step.event))
            parts = agent.count * self.simulation.parts.get((step.kind, step.place), 0)
            self.outcome.barriers[step.place].expect(parts)
        elif step.kind in MEETINGS:
            return self._meet(n, agent, step)
        elif step.kind in THREAD_BARRIERS:
            return (self._join if step.place == EVERYONE else self._block)(n, agent, step)
        else:
            self._note_order(n, step)
        return True

    def _note_order(self, n: int, step: AgentStep, turn: int = 0, passes: bool = True) -> None:
        self.outcome.order.append(StepTaken(n, step, turn, passes))

    def _note_late(self, n: int, agent: Agent, step: AgentStep) -> None:
        block = get_rank(step.place)
        if block != agent.block and self.outcome.late is None:
            others = (m for m, other in enumerate(self.simulation.agents) if other.block == block)
            if all(map(self._has_ended, others)):
                self.outcome.late = n, step.event

    def _has_ended(self, n: int) -> bool:
        """Return whether an agent has no steps left, but for a barrier of the block that has completed."""
        steps, at = self.simulation.agents[n].steps, self.at[n]
        left = steps[at:] if at >= len(steps) - 1 else steps
        return not left or (n in self.waiting and len(left) == 1 and self.passes[left[0].place] != self.waiting[n])

    def _note_refill(self, n: int, step: AgentStep) -> None:
        """Note a copy of a cluster for which a reader still waits for the phase before it: (agent, copy, reader)."""
        phase = self.outcome.barriers[step.place].completed
        for reader in self.simulation.readers.get(step.place, ()) if self.outcome.refilled is None else ():
            if len(self.outcome.passed.get((reader, step.place), ())) < phase:
                self.outcome.refilled = n, step, reader

    def _join(self, n: int, agent: Agent, step: AgentStep) -> bool:
        """Arrive at the barrier of the cluster, or wait until all of its threads have arrived that have not ended."""
        if step.kind == "pass":
            self.joined[n] = self.passes[step.place]
            self._note_order(n, step, self.joined[n], False)
            self._complete_cluster()
            return True
        if n not in self.joined or self.passes[step.place] <= self.joined[n]:
            return False
        self._note_order(n, step, self.joined[n])
        return True

    def _complete_cluster(self) -> None:
        agents, now = self.simulation.agents, self.passes[EVERYONE]
        open_ = any(
            at < len(a.steps) and self.joined.get(n) != now
            for n, (a, at) in enumerate(zip(agents, self.at, strict=True))
        )
        self.passes[EVERYONE] += not open_ and now in self.joined.values()

    def _wait(self, n: int, step: AgentStep) -> bool:
        barrier = self.outcome.barriers[step.place]
        parity = self.simulation.parities.get((n, step.event), step.value & 1)
        if barrier.completed % 2 == parity:
            return False
        self.outcome.passed[n, step.place].append((step.event, parity, barrier.completed))
        self._note_order(n, step, barrier.completed - 1)
        return True

    def _await(self, n: int, step: AgentStep) -> bool:
        phase = self.outcome.begun[n, step.value]
        if self.outcome.barriers[step.place].completed <= phase:
            return False
        self.outcome.awaited[n, step.place].append(phase)
        self._note_order(n, step, phase)
        return True

    def _meet(self, n: int, agent: Agent, step: AgentStep) -> bool:
        key = _key_meeting(agent, step)
        if n not in self.met:
            self.met.add(n)
            self.reached[key] = self.reached.get(key, 0) + 1
            self._note_order(n, step, key[1], False)
        if self.reached[key] < self.members[key]:
            return False
        self.met.discard(n)
        self._note_order(n, step, key[1])
        if step.kind in ("wgmma", "load"):
            self.outcome.moves.append((n, step.event))
        return True

    def _block(self, n: int, agent: Agent, step: AgentStep) -> bool:
        if step.kind == "pass":
            self._note_order(n, step, self.passes[step.place], False)
            self.arrived[step.place] += agent.count
            self._complete_block(step.place, step.value)
            return True
        if n not in self.waiting:
            self.waiting[n] = self.passes[step.place]
            self._note_order(n, step, self.waiting[n], False)
            self.arrived[step.place] += agent.count
            self._complete_block(step.place, step.value)
        if self.passes[step.place] == self.waiting[n]:
            return False
        self._note_order(n, step, self.waiting.pop(n))
        return True

    def _complete_block(self, place: int, count: int) -> None:
        """Complete a barrier of threads if enough have come. count: -1 for all that have not ended."""
        agents, block = zip(self.simulation.agents, self.at, strict=True), get_rank(place)
        running = sum(a.count for a, at in agents if at < len(a.steps) and a.block == block)
        if self.arrived[place] >= (running if count < 0 else count):
            self.arrived[place] = 0
            self.passes[place] += 1

    def _complete_blocks(self) -> None:
        """Complete the barriers for all threads that wait for the ended one no longer."""
        for n in list(self.waiting):
            step = self.simulation.agents[n].steps[self.at[n]]
            if step.value < 0 and self.passes[step.place] == self.waiting[n]:
                self._complete_block(step.place, step.value)
        if self.joined:
            self._complete_cluster()


def count_arrivals(agents: Sequence[Agent], place: int) -> int:
    """Count the arrivals on an mbarrier in a whole kernel."""
    steps = ((agent.count, step) for agent in agents for step in agent.steps)
    return sum(count * step.value for count, step in steps if step.kind == "arrive" and step.place == place)


def find_phase(outcome: Outcome, n: int, step: AgentStep) -> int:
    """Return the phase that an agent waits for."""
    if step.kind == "await":
        return outcome.begun[n, step.value]
    before = outcome.passed.get((n, step.place), [])
    return len(before) - (before[0][1] if before else step.value)
