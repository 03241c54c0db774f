"""Find mistakes between the blocks of a cluster in simulated schedules.

Sources: PTX ISA 9.1, 9.7.13.15 (mbarrier in shared::cluster), 9.7.13.4 (barrier.cluster); CUDA C++ Programming Guide,
"Distributed Shared Memory": a block must not end while another one accesses its shared memory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from lanescope.inputs import format_count
from lanescope.reader.code.findings import Pitfall
from lanescope.reader.threads.barriers.barrier_agents import WAITS, Agent
from lanescope.reader.threads.barriers.barrier_simulation import Outcome, count_arrivals
from lanescope.reader.threads.barriers.barrier_trace import BarrierEvent
from lanescope.reader.threads.barriers.clusters import WINDOW
from lanescope.workbench.results import Span

TITLES = {"cluster_exit": "A block of a cluster may end before another one arrives in its shared memory"}


def find_refill(
    outcomes: Sequence[Outcome], agents: Sequence[Agent], events: Sequence[BarrierEvent], kernel: str
) -> Pitfall | None:
    """Return what lets a copy overwrite a tile for which another block still waits: the arrival on the mbarrier that
    the copying thread waits for.
    """
    found = [(outcome, *outcome.refilled) for outcome in outcomes if outcome.refilled is not None]
    for outcome, n, copy, reader in found:
        if len(outcome.passed[reader, copy.place]) < outcome.barriers[copy.place].completed:
            continue  # others read some of the phases
        waits = [step.place for step in agents[n].steps if step.kind == "wait" and step.event < copy.event]
        arrivals = list(_list_arrivals(agents, events, waits[-1:], n))
        calls = [call for m, call in arrivals if m == reader][:1] or list({call for _, call in arrivals})
        message = (
            f"A thread of {kernel} may copy into a stage of another block of the cluster that is still to be read"
            " there: its wait for the stage ends without an arrival of that block after the read."
        )
        return Pitfall("mbarrier_refilled", message, calls[0] if len(calls) == 1 else events[copy.event].call)
    return None


def _list_arrivals(
    agents: Sequence[Agent], events: Sequence[BarrierEvent], places: Collection[int], but: int
) -> Iterator[tuple[int, Span]]:
    """Yield (agent, place in the text) of the arrivals on some mbarriers, but those of one agent."""
    for n, agent in enumerate(agents):
        for step in agent.steps if n != but else ():
            if step.kind == "arrive" and step.place in places:
                yield n, events[step.event].call


def find_uneven_arrival(
    outcome: Outcome, agents: Sequence[Agent], events: Sequence[BarrierEvent], kernel: str
) -> Pitfall | None:
    """Return the only arrival on the mbarrier of a wait that never ends, in all blocks, if another block whose threads
    wait, too, gets more of them.
    """
    waits = [step for agent in agents for step in agent.steps if step.kind in WAITS]
    awaited = {step.place for step in waits}
    for place in dict.fromkeys(step.place for _, step in outcome.blocked if step.kind in WAITS):
        alike = {at for at in outcome.barriers if (at ^ place) & WINDOW == 0}
        calls = {call for _, call in _list_arrivals(agents, events, alike, -1)}
        counts = {at: count_arrivals(agents, at) for at in alike}
        if len(calls) == 1 and counts[place] < max(counts.values()) and alike <= awaited:
            message = (
                f"{kernel} never ends: the mbarrier of one block of the cluster gets"
                f" {format_count(max(counts.values()), 'arrival')} of this, that of another one, which waits for it,"
                f" {counts[place]:,}."
            )
            return Pitfall("mbarrier_other", message, calls.pop())
    return None


def find_late_signal(outcomes: Sequence[Outcome], events: Sequence[BarrierEvent], kernel: str) -> Pitfall | None:
    """Return what reaches the shared memory of a block that may have ended."""
    late = next((outcome.late for outcome in outcomes if outcome.late is not None), None)
    if late is None:
        return None
    message = (
        f"The block of {kernel} that this reaches in its cluster may have ended, and its shared memory with it: let all"
        " threads arrive at and wait for the cluster's barrier before they end."
    )
    return Pitfall("cluster_exit", message, events[late[1]].call)
