"""Explain why shared memory is overwritten that threads or a bulk copy may still read, at the line that must change.

A bulk copy to global memory has read its bytes when cp.async.bulk.wait_group, with or without .read, of the thread that
has issued it ends (PTX ISA 9.1, 9.7.9.25.5.2); other threads know of that only by what this thread does afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lanescope.inputs import format_count
from lanescope.ptx.threads import GROUP_WARPS
from lanescope.reader.code.findings import Pitfall
from lanescope.reader.threads.barriers.barrier_agents import THREAD_BARRIERS, WAITS, Agent
from lanescope.reader.threads.barriers.barrier_trace import BarrierEvent
from lanescope.reader.threads.memory.tile_steps import TileStep
from lanescope.workbench.products.origin_places import find_buffer
from lanescope.workbench.results import Span
from lanescope.workbench.text.loop_texts import find_next_statement, find_place_after

CODE = "store_order_missing"
WAIT, COMMIT = "bulk_wait_missing", "bulk_commit_missing"
_FILLED, _STORED = "a TMA copy fills again", "threads store to next"


@dataclass(frozen=True, slots=True)
class PendingRead:
    """A read of shared memory: by the threads of an agent's warp, or by a bulk copy that the agent issues."""

    agent: int
    event: int


@dataclass(frozen=True, slots=True)
class Overwrite:
    """What overwrites the bytes of a pending read.

    event: the store or the copy; agent: its own, -1 if nothing overwrites them before the kernel ends; heard: the last
    arrival of the reader's warpgroup that the agent has waited for, -1 if there is none after the bytes were stored.
    """

    event: int = -1
    agent: int = -1
    heard: int = -1


@dataclass(frozen=True, slots=True)
class ReadExplainer:
    """The steps of a run. events, placed: those of merge_events."""

    blank: str
    agents: Sequence[Agent]
    events: Sequence[BarrierEvent]
    placed: Mapping[int, TileStep]

    def explain(self, read: PendingRead, overwrite: Overwrite) -> Pitfall:
        """Return the finding of a read that may not have ended."""
        if overwrite.agent < 0:
            return self._explain_end(read)
        what = _STORED if self.events[overwrite.event].kind == "tensor" else _FILLED
        if self.placed[read.event].kind == "copy":
            return self._explain_copy(read, overwrite, what)
        if self._is_released(read, overwrite):
            message = (
                f"After this arrival, threads may still read shared memory that {what}: each of them must have read it."
            )
            return Pitfall(CODE, message, self.events[overwrite.heard].call)
        at = find_place_after(self.blank, self.placed[read.event].call, self.events[overwrite.event].call)
        message = f"A barrier is missing before this: other threads may still read shared memory that {what}."
        return Pitfall(CODE, message, (at, at + 1))

    def explain_shared(self, store: Span, groups: tuple[int, int]) -> Pitfall:
        """Return the finding of a store to bytes to which another warpgroup stores before they have been read."""
        one, other = sorted(groups)
        message = (
            f"Warpgroups {one} and {other} store D to the same bytes of shared memory, and one may read there what the"
            " other one has stored."
        )
        return Pitfall(CODE, message, find_buffer(self.blank, store))

    def _explain_copy(self, read: PendingRead, overwrite: Overwrite, what: str) -> Pitfall:
        """Return the finding of a bulk copy whose bytes are overwritten."""
        commit, waits = self._list_waits(read)
        pending = f"the bulk copy may still read shared memory that {what}."
        if commit < 0:
            message = f"A cp.async.bulk.commit_group is missing before this: no wait_group waits for it, and {pending}"
            return self._report_after(COMMIT, message, read.event)
        released = self._is_released(read, overwrite)
        apart = self._find_group(read.agent) != self._find_group(overwrite.agent)
        past = overwrite.heard if released else overwrite.event
        before = [(wait, complete) for wait, complete in waits if wait < past or (apart and not released)]
        done = next((wait for wait, complete in before if complete), -1)
        if done >= 0 and apart and not released:
            message = f"Nothing makes these threads wait here until the bulk copy has ended: {pending}"
            return Pitfall(CODE, message, self.events[overwrite.event].call)
        if done >= 0:
            message = (
                f"A barrier is missing after this wait: other threads do not know that it has ended, and {pending}"
            )
            return Pitfall(CODE, message, self.placed[done].call)
        if before:
            return self._report_weak(before[0][0], pending)
        other = self._find_other_wait(read, commit, past)
        if other >= 0:
            message = f"A thread waits only for groups that it has committed itself: {pending}"
            return Pitfall(WAIT, message, self.placed[other].call)
        message = f"A cp.async.bulk.wait_group.read of the thread that copies is missing before this: {pending}"
        place = past if released else self._find_barrier(read.agent, overwrite.agent, commit, past)
        return (
            Pitfall(WAIT, message, self.events[place].call) if place >= 0 else self._report_after(WAIT, message, commit)
        )

    def _find_group(self, agent: int) -> int:
        return self.agents[agent].warp // GROUP_WARPS

    def _is_released(self, read: PendingRead, overwrite: Overwrite) -> bool:
        """Return whether the threads that overwrite a tile waited for an arrival that releases it: one after the read,
        or before it without a wait for an mbarrier between.
        """
        between = range(overwrite.heard, read.event)
        waits = any(s.kind in WAITS and s.event in between for s in self.agents[read.agent].steps)
        return overwrite.heard >= 0 and not waits

    def _explain_end(self, read: PendingRead) -> Pitfall:
        """Return the finding of a bulk copy that nothing has waited for when the kernel ends."""
        commit, waits = self._list_waits(read)
        pending = "the bulk copy may still read shared memory after the block has ended."
        if commit < 0:
            return self._report_after(
                COMMIT, f"A cp.async.bulk.commit_group is missing before this: {pending}", read.event
            )
        past = find_place_after(self.blank, self.placed[read.event].call)
        weak = [wait for wait, _ in waits if find_place_after(self.blank, self.placed[wait].call) != past]
        if weak:
            return self._report_weak(weak[-1], pending)
        return Pitfall(WAIT, f"A cp.async.bulk.wait_group is missing before this: {pending}", (past, past + 1))

    def _report_weak(self, wait: int, pending: str) -> Pitfall:
        own = self.placed[wait]
        message = f"This wait leaves {format_count(own.count, 'group')} pending, and {pending}"
        return Pitfall(WAIT, message, own.number or own.call)

    def _list_waits(self, read: PendingRead) -> tuple[int, list[tuple[int, bool]]]:
        """Return (the commit of a copy, -1 if there is none; the waits of its thread after that, with whether the copy
        has ended after them).
        """
        commit, groups, waits = -1, 0, []
        for step in self.agents[read.agent].steps:
            own = self.placed.get(step.event)
            if own is None or step.event <= read.event:
                continue
            if own.kind == "bulk commit":
                commit, groups = (step.event if commit < 0 else commit), groups + 1
            elif own.kind == "bulk wait" and commit >= 0:
                waits.append((step.event, own.count < groups))
        return commit, waits

    def _find_other_wait(self, read: PendingRead, after: int, before: int) -> int:
        """Return the first wait of another thread of the warpgroup between two steps, -1 if there is none."""
        group = self.agents[read.agent].warp // GROUP_WARPS
        found: Iterator[int] = (
            step.event
            for n, agent in enumerate(self.agents)
            if n != read.agent and agent.warp // GROUP_WARPS == group
            for step in agent.steps
            if after < step.event < before and step.event in self.placed and self.placed[step.event].kind == "bulk wait"
        )
        return min(found, default=-1)

    def _find_barrier(self, agent: int, other: int, after: int, before: int) -> int:
        """Return the last barrier of threads that two agents meet at between two steps, -1 if there is none."""
        met = [{s.event for s in self.agents[n].steps if s.kind in THREAD_BARRIERS} for n in (agent, other)]
        return max((event for event in met[0] & met[1] if after < event < before), default=-1)

    def _report_after(self, code: str, message: str, event: int) -> Pitfall:
        at = find_next_statement(self.blank, self.placed[event].call)
        return Pitfall(code, message, (at, at + 1))
