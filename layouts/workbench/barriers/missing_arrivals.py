"""Find where the arrival belongs that a wait of other threads needs, and that no thread makes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from lanescope.reader.threads.barriers.barrier_agents import WAITS, Agent, AgentStep
from lanescope.reader.threads.barriers.barrier_trace import BarrierEvent
from lanescope.workbench.results import Span
from lanescope.workbench.text.loop_texts import LoopText, find_enclosing_brace, find_statement_start, list_loops_at

_WORD = re.compile(r"[A-Za-z_]\w*")
_MOST_COUNTERS = 3  # statements that count stages, such as ++q and the flip of a parity


@dataclass(frozen=True, slots=True)
class ArrivalSearch:
    """The mbarriers of a traced kernel. blank: its blanked text; filled: those that bytes of copies arrive on."""

    text: str
    blank: str
    events: Sequence[BarrierEvent]
    agents: Sequence[Agent]
    filled: Collection[int]

    def find_place(self, waiting: int, wait: AgentStep) -> Span | None:
        """Return the first line after the statement that an arrival has to follow, as _find_statement finds it."""
        found = self._find_statement(waiting, wait)
        if found is None:
            return None
        line = self.text.find("\n", len(self.blank[: found[0]].rstrip()))
        if not 0 <= line < found[0]:
            return found
        at = line + len(self.text[line:]) - len(self.text[line:].lstrip())
        return at, at + 1

    def _find_statement(self, waiting: int, wait: AgentStep) -> Span | None:
        """Return where an arrival at the mbarrier that an agent waits for in vain belongs: before a copy that brings
        bytes to it, behind the products that the agent waits for, or at the end of the loop that waits for what the
        agent copies or multiplies; None if threads arrive there, or the place is not clear.
        """
        if wait.place in self.filled:
            copies = [] if self._arrives(wait.place) else self._list_calls(wait.place, ("copy",))
            at = find_statement_start(self.blank, copies[0][0]) if copies else 0
            return (at, at + 1) if copies else None
        works = self._multiplies(self.agents[waiting]) or any(s.kind == "copy" for s in self.agents[waiting].steps)
        if not works:
            return self._find_place_after_products(wait.place)
        return self._find_end_of_turn(waiting, wait.place)

    def _find_place_after_products(self, place: int) -> Span | None:
        """Return the statement after the loop that waits for copies and multiplies them."""
        issuing = [agent for agent in self.agents if self._multiplies(agent)]
        if not issuing or self._arrives(place):
            return None
        loop = self._find_loop(step for agent in issuing for step in agent.steps if step.place in self.filled)
        if loop is None:
            return None
        after = self.blank[loop.body[1] :]
        at = loop.body[1] + len(after) - len(after.lstrip())
        return at, at + 1

    def _find_end_of_turn(self, waiting: int, place: int) -> Span | None:
        """Return the end of the loop that waits for what an agent signals and never arrives at an mbarrier after it."""
        signalled = {step.place for step in self.agents[waiting].steps if step.kind in ("copy", "arrive")} - {place}
        waits: list[AgentStep] = []
        for agent in self._list_waiting(waiting, signalled):
            own = [n for n, step in enumerate(agent.steps) if step.kind in WAITS and step.place in signalled]
            if _arrives(agent.steps[own[0] :], place):
                return None
            waits += (agent.steps[n] for n in own)
        loop = self._find_loop(waits)
        end = loop.body[1] - 1 if loop is not None else 0
        if not end or self.blank[end] != "}":
            return None
        at = self._skip_counters(end, self._list_words(waits))
        return at, at + 1

    def _list_waiting(self, waiting: int, signalled: Collection[int]) -> list[Agent]:
        """Return the agents that wait for what another one signals: those that arrive at no mbarrier which that one
        waits for, if some do not.
        """
        awaited = {step.place for step in self.agents[waiting].steps if step.kind in WAITS}
        others = [
            agent
            for n, agent in enumerate(self.agents)
            if n != waiting and any(step.kind in WAITS and step.place in signalled for step in agent.steps)
        ]
        idle = [one for one in others if not any(_arrives(one.steps, place) for place in awaited)]
        return idle or others

    def _list_words(self, waits: Iterable[AgentStep]) -> set[str]:
        """Return the words of the calls of waits."""
        calls = {self.events[step.event].call for step in waits}
        return {name for call in calls for name in _WORD.findall(self.blank[slice(*call)])}

    def _skip_counters(self, end: int, names: Collection[str]) -> int:
        """Return where the last statements of a block begin that only go on to the next stage or parity. names: of the
        arguments of a wait.
        """
        change = rf"(?:\+\+|--)\s*(?:{'|'.join(names)})\b|\b(?:{'|'.join(names)})\s*(?:\+\+|--|[-+^]?=(?!=))"
        for _ in range(_MOST_COUNTERS):
            last = len(self.blank[:end].rstrip()) - 1
            opening = find_enclosing_brace(self.blank, last, 0) if self.blank[last] == "}" else last
            start = find_statement_start(self.blank, opening)
            statement = self.blank[start:end]
            given = {*_WORD.findall(statement.partition("(")[2])}
            if start >= end or not (re.search(change, statement) or (given and given <= {*names})):
                break
            end = start
        return end

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

    def _arrives(self, place: int) -> bool:
        return _arrives(self._list_steps(place), place)

    def _multiplies(self, agent: Agent) -> bool:
        return any(step.kind == "product" for step in agent.steps)


def _arrives(steps: Iterable[AgentStep], place: int) -> bool:
    """Return whether a step is an arrival at an mbarrier."""
    return any(step.kind == "arrive" and step.place == place for step in steps)
