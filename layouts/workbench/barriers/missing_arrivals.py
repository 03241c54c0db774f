"""Find where the arrival belongs that a wait of other threads needs, and that no thread makes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from lanescope.reader.threads.barriers.barrier_agents import WAITS, Agent, AgentStep
from lanescope.reader.threads.barriers.barrier_trace import BarrierEvent
from lanescope.workbench.results import Span
from lanescope.workbench.text.loop_texts import LoopText, find_next_statement, find_statement_start, list_loops_at


@dataclass(frozen=True, slots=True)
class ArrivalSearch:
    """The mbarriers of a traced kernel. blank: its blanked text; filled: those that bytes of copies arrive on."""

    blank: str
    events: Sequence[BarrierEvent]
    agents: Sequence[Agent]
    filled: Collection[int]

    def find_place(self, waiting: int, wait: AgentStep) -> Span | None:
        """Return where an arrival at the mbarrier that an agent waits for in vain belongs: before a copy that brings
        bytes to it, behind the products that the agent waits for, or at the end of the loop that waits for what the
        agent copies or multiplies; None if threads arrive there, or the place is not clear.
        """
        if wait.place in self.filled:
            copies = [] if self._arrives(self.agents, wait.place) else self._list_calls(wait.place, ("copy",))
            at = find_statement_start(self.blank, copies[0][0]) if copies else 0
            return (at, at + 1) if copies else None
        works = self._multiplies(self.agents[waiting]) or any(s.kind == "copy" for s in self.agents[waiting].steps)
        if not works:
            return self._find_place_after_products(wait.place)
        return self._find_end_of_turn(waiting, wait.place)

    def _find_place_after_products(self, place: int) -> Span | None:
        """Return the statement after the loop that waits for copies and multiplies them."""
        issuing = [agent for agent in self.agents if self._multiplies(agent)]
        if not issuing or self._arrives(self.agents, place):
            return None
        loop = self._find_loop(step for agent in issuing for step in agent.steps if step.place in self.filled)
        at = find_next_statement(self.blank, (loop.body[1] - 1, loop.body[1] - 1)) if loop is not None else 0
        return (at, at + 1) if loop is not None else None

    def _find_end_of_turn(self, waiting: int, place: int) -> Span | None:
        """Return the end of the loop that waits for what an agent signals and never arrives at an mbarrier after it."""
        signalled = {step.place for step in self.agents[waiting].steps if step.kind in ("copy", "arrive")} - {place}
        waits: list[AgentStep] = []
        for agent in (one for n, one in enumerate(self.agents) if n != waiting):
            own = [n for n, step in enumerate(agent.steps) if step.kind in WAITS and step.place in signalled]
            if own and any(step.kind == "arrive" and step.place == place for step in agent.steps[own[0] :]):
                return None
            waits += (agent.steps[n] for n in own)
        loop = self._find_loop(waits)
        end = loop.body[1] - 1 if loop is not None else 0
        return (end, end + 1) if loop is not None and self.blank[end] == "}" else None

    def _find_loop(self, steps: Iterable[AgentStep]) -> LoopText | None:
        """Return the innermost loop around all waits among some steps; None if they are in several, or in none."""
        calls = dict.fromkeys(self.events[step.event].call[0] for step in steps if step.kind in WAITS)
        around = [list_loops_at(self.blank, call) for call in calls]
        loops = {loops[-1] if loops else None for loops in around}
        return loops.pop() if len(loops) == 1 else None

    def _list_calls(self, place: int, kinds: Collection[str]) -> list[Span]:
        return sorted({self.events[step.event].call for step in self._list_steps(place) if step.kind in kinds})

    def _list_steps(self, place: int) -> Iterator[AgentStep]:
        return (step for agent in self.agents for step in agent.steps if step.place == place)

    def _arrives(self, agents: Iterable[Agent], place: int) -> bool:
        return any(step.kind == "arrive" and step.place == place for agent in agents for step in agent.steps)

    def _multiplies(self, agent: Agent) -> bool:
        return any(step.kind == "product" for step in agent.steps)
