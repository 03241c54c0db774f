"""Find mistakes in the order of CuTe's wgmma products and TMA copies of a traced kernel, and in their sums.

The mbarriers of the run are simulated with its copies, its gemm and the groups of wgmma. Every agent knows which
products and which phases of copies have completed; arrivals, waits and barriers pass this on. PTX ISA 9.1, 9.7.15.7 and
9.7.13.15; CUTLASS 4.7, cute/arch/mma_sm90_gmma.hpp.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from lanescope.descriptor.matrix import MOST_SHARED
from lanescope.ptx.architectures import KB
from lanescope.ptx.threads import GROUP_WARPS
from lanescope.reader.code.findings import Pitfall
from lanescope.reader.threads.barriers.barrier_agents import WAITS, make_agents
from lanescope.reader.threads.barriers.barrier_simulation import SCHEDULES, Simulation, StepTaken
from lanescope.reader.threads.barriers.barrier_trace import BarrierTrace
from lanescope.reader.threads.barriers.tensor_order import Clocks, merge_events
from lanescope.reader.threads.cute.async_trace import AsyncStep, AsyncTrace, TileElements
from lanescope.reader.threads.memory.storage import Ints, Span
from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.cute.async_sums import SLICES_LEFT, AddedTile, MadeSum, TileSource, find_sum_mistake
from lanescope.workbench.kernels.wgmma_groups import describe_pending
from lanescope.workbench.repair.blamed_numbers import find_stage_count
from lanescope.workbench.text.function_texts import blank_text
from lanescope.workbench.text.loop_texts import find_next_statement

_FOLLOWING = ("mbarrier_refilled", "mbarrier_unawaited")  # codes of mistakes that a wrong stage may cause


def find_async_mistake(run: KernelRunner, kernel: str) -> Pitfall | None:
    """Return the mistake of a kernel whose mbarriers are right; None if it has none, or is not followed."""
    trace = run.barriers
    assert trace is not None
    if trace.asynchronous.misfit is not None:
        return Pitfall("cute_copy_misfit", *trace.asynchronous.misfit)
    follower = _follow_schedule(run, trace, kernel) if _is_followed(trace) else None
    if follower is None:
        return None
    found = follower.found or follower.find_last_mistake()
    if found is not None and found.code not in _FOLLOWING:
        return found
    of_sums = find_sum_mistake(list(follower.sums.values()), trace.asynchronous.extents, run.text, run.kernel)
    if found is None or (of_sums is not None and of_sums.code != SLICES_LEFT):
        return of_sums or _find_excess(run, trace, follower, kernel)
    return found


def _find_excess(run: KernelRunner, trace: BarrierTrace, follower: _Follower, kernel: str) -> Pitfall | None:
    """Return the finding of copies that fill more shared memory than a block has."""
    size = follower.bytes_of_element if trace.asynchronous.sized else 0
    filled = size * sum(int(np.count_nonzero(one.owner >= 0)) for one in follower.arrays.values())
    if filled <= MOST_SHARED:
        return None
    message = (
        f"The TMA copies of {kernel} fill {filled:,} bytes of shared memory; a block has at most {MOST_SHARED:,}"
        f" ({MOST_SHARED // KB} KB, on sm_90 and sm_100)."
    )
    return Pitfall(
        "shared_memory_over", message, find_stage_count(blank_text(run.text)) or trace.asynchronous.steps[0].call
    )


def describe_open_sums(run: KernelRunner, kernel: str) -> Pitfall | None:
    """Return the note that D of a kernel with CuTe's atoms is not known to be A·B."""
    own = run.barriers.asynchronous if run.barriers is not None else AsyncTrace()
    at = re.search(rf"\b{kernel}\s*\(", run.text)
    if at is None or own.inline or not (own.lost or any(step.kind == "product" for step in own.steps)):
        return None
    why = own.lost
    if not why and run.barriers is not None and _follow_schedule(run, run.barriers, kernel) is None:
        why = "threads wait forever in its run"
    what = f"its copies and gemm are not followed, since {why}" if why else "where it is stored is not followed"
    span = at.start(), at.start() + len(kernel)
    return Pitfall("cute_sums_open", f"D of {kernel} is not known to be A·B: {what}.", span)


def _follow_schedule(run: KernelRunner, trace: BarrierTrace, kernel: str) -> _Follower | None:
    """Follow a schedule up to a mistake in the order; None if every schedule deadlocks."""
    events, steps = merge_events(trace.events, trace.asynchronous.steps)
    products = {n for n, step in steps.items() if step.kind == "product"}
    merged = [replace(event, kind="wgmma") if n in products else event for n, event in enumerate(events)]
    agents = make_agents(merged, run.threads)
    outcome = next((one for one in map(Simulation(agents).run, SCHEDULES) if not one.blocked), None)
    if outcome is None:
        return None
    places = sorted({step.place for agent in agents for step in agent.steps if step.kind in ("copy", *WAITS)})
    groups = 1 + max(agent.warp for agent in agents) // GROUP_WARPS
    slots = groups + len(places)
    clocks = Clocks(agents, np.zeros((len(agents), 2 * slots), np.int64), np.zeros(slots, np.int64))
    follower = _Follower(run.text, kernel, clocks, {place: groups + n for n, place in enumerate(places)})
    for taken in outcome.order:
        follower.follow(taken, steps.get(taken.step.event), merged[taken.step.event].call)
        if follower.found is not None and follower.found.code not in _FOLLOWING:
            break
    return follower


def _is_followed(trace: BarrierTrace) -> bool:
    """Return whether all copies and products of a trace are known, and there are some."""
    own = trace.asynchronous
    return not own.lost and not own.inline and any(step.kind == "product" for step in own.steps)


@dataclass(slots=True, eq=False)
class _Product:
    """A product of an agent.

    group: its warpgroup; index: its number among those of the agent; wait, arrival: the last wait and the first arrival
    after it while it may be running.
    """

    step: AsyncStep
    agent: int
    group: int
    index: int
    wait: AsyncStep | None = None
    arrival: Span | None = None


@dataclass(slots=True, eq=False)
class _Copy:
    """A copy that was issued.

    slot: of its mbarrier; phase: the least number of completed phases of the mbarrier that tell of its arrival;
    readers: the products that read its tile.
    """

    step: AsyncStep
    slot: int
    phase: int
    readers: list[_Product] = field(default_factory=list)


@dataclass(slots=True)
class _AgentState:
    """The products of an agent that may be running: in no group yet (loose), and in groups, the oldest first.

    issued: the number of all products; fenced: whether a fence follows the last access to their registers; copying: a
    copy whose mbarrier is not known yet.
    """

    issued: int = 0
    fenced: bool = False
    loose: list[_Product] = field(default_factory=list)
    groups: list[list[_Product]] = field(default_factory=list)
    copying: AsyncStep | None = None

    @property
    def running(self) -> list[_Product]:
        return [*(product for group in self.groups for product in group), *self.loose]


@dataclass(slots=True)
class _ArrayContents:
    """The elements that copies have stored to an array, by their first byte: the number of the copy, and the index."""

    owner: Ints = field(default_factory=lambda: np.full(0, -1, np.int64))
    index: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    def reach(self, past: int) -> None:
        more = past - len(self.owner)
        if more > 0:
            self.owner = np.concatenate([self.owner, np.full(more, -1, np.int64)])
            self.index = np.concatenate([self.index, np.zeros(more, np.int64)])


class _Follower:
    """Follows the steps of the agents in a schedule. slots: the columns of the clocks for each mbarrier."""

    def __init__(self, text: str, kernel: str, clocks: Clocks, slots: dict[int, int]) -> None:
        self.text, self.kernel, self.clocks, self.slots = text, kernel, clocks, slots
        self.states = [_AgentState() for _ in clocks.agents]
        self.copies: list[_Copy] = []
        self.arrays: dict[object, _ArrayContents] = {}
        self.sums: dict[tuple[int, int], list[MadeSum]] = {}
        self.meeting: dict[tuple[int, int], list[StepTaken]] = defaultdict(list)  # (event, warpgroup) → those that wait
        self.found: Pitfall | None = None
        self.bytes_of_element = 0  # the smallest of all tiles

    def follow(self, taken: StepTaken, step: AsyncStep | None, call: Span) -> None:
        """Follow a step of an agent. step: its asynchronous operation, None for one of an mbarrier; call: its place."""
        if step is None:
            found = self.follow_event(taken, call)
        elif step.kind == "product":
            found = self._meet(taken, step)
        else:
            found = self.follow_step(taken.agent, step) if taken.passes else None
        self.found = self.found or found

    def _meet(self, taken: StepTaken, step: AsyncStep) -> Pitfall | None:
        """Follow an agent that comes to a product, for which the warps of a warpgroup meet: it begins for all of them
        when the first one goes on.
        """
        self.clocks.pass_on(taken, False)
        key = taken.step.event, self._find_group(taken.agent)
        if not taken.passes:
            self.meeting[key].append(taken)
            return None
        found = None
        for other in self.meeting.pop(key, ()):
            self.clocks.pass_on(replace(other, passes=True), False)
            found = found or self.follow_step(other.agent, step)
        return found

    def follow_event(self, taken: StepTaken, call: Span) -> Pitfall | None:
        """Follow an operation of an mbarrier or a barrier of threads."""
        n, step = taken.agent, taken.step
        if step.kind == "product":
            return None
        for product in self.states[n].running if step.kind == "arrive" else ():
            product.arrival = product.arrival or call
        self.clocks.pass_on(taken, False)
        if step.kind in WAITS and taken.passes:
            known, slot = self.clocks.known[n], 2 * self.slots[step.place]
            known[slot] = max(known[slot], taken.turn + 1)
        copying = self.states[n].copying
        if step.kind == "copy" and copying is not None:
            self.states[n].copying = None
            return self._fill(n, _Copy(copying, 2 * self.slots[step.place], max(taken.turn, 1)))
        return None

    def follow_step(self, n: int, step: AsyncStep) -> Pitfall | None:
        """Follow an asynchronous operation, or an access to accumulators."""
        state = self.states[n]
        match step.kind:
            case "fence":
                state.fenced = True
            case "commit":
                state.groups.append(state.loose)
                state.loose = []
            case "wait":
                self._wait(n, step)
            case "copy":
                state.copying = step
            case "product":
                return self._multiply(n, step)
            case _:
                return self._access(n, step)
        return None

    def _find_group(self, n: int) -> int:
        return self.clocks.agents[n].warp // GROUP_WARPS

    def _wait(self, n: int, step: AsyncStep) -> None:
        state = self.states[n]
        left = state.groups[-step.count :] if step.count else []
        done = [product.index for group in state.groups[: len(state.groups) - len(left)] for product in group]
        ended = 2 * self._find_group(n) + 1
        self.clocks.known[n, ended] = max([int(self.clocks.known[n, ended]), *done])
        state.groups = left
        for product in state.running:
            product.wait = step

    def _access(self, n: int, step: AsyncStep) -> Pitfall | None:
        """Follow an access to accumulators."""
        state = self.states[n]
        running = [product for product in state.running if product.step.sums == step.sums]
        if running and step.kind != "view":
            return self._describe_running(running[-1], state, "its accumulators are used", step.call)
        of_sums = self.sums.setdefault((n, step.sums), [])
        if step.kind == "set":
            state.fenced = False
            of_sums.append(MadeSum())
        elif of_sums:
            of_sums[-1].used = True
        return None

    # products ---------------------------------------------------------------------------------------------------------

    def _multiply(self, n: int, step: AsyncStep) -> Pitfall | None:
        state, known = self.states[n], self.clocks.known[n]
        if not state.fenced:
            message = (
                f"{self.kernel} calls gemm, which issues wgmma.mma_async, without a warpgroup_arrive (wgmma.fence)"
                " between it and the earlier accesses to its registers: they are not ordered."
            )
            return Pitfall("wgmma_fence_missing", message, step.call)
        if step.unset is not None and step.adds:
            message = (
                "Nothing sets these accumulators before the first gemm, which computes D = A·B + D. Call clear() for"
                " them, or set accumulate_ to ScaleOut::Zero the first time."
            )
            return Pitfall("accumulator_unset", message, step.unset)
        state.issued += 1
        group = self._find_group(n)
        known[2 * group] = max(known[2 * group], state.issued)
        product = _Product(step, n, group, state.issued)
        state.loose.append(product)
        a, b = (self._find_source(tile, product) for tile in step.tiles)
        added = AddedTile(step, a, b)
        read = (self.copies[at] for tile in step.tiles if tile is not None for at in self._list_owners(tile) if at >= 0)
        early = next((copy for copy in read if known[copy.slot] < copy.phase), None)
        if early is not None:
            message = "This gemm reads a tile that a TMA copy fills, and no thread has waited for its mbarrier before."
            return Pitfall("mbarrier_unawaited", message, step.call)
        of_sum = self.sums.setdefault((n, step.sums), [])
        lost = _find_lost_sum(step, of_sum)
        if not of_sum or step.adds is False:
            of_sum.append(MadeSum())
        of_sum[-1].tiles.append(added)
        return lost

    def _list_owners(self, tile: TileElements) -> list[int]:
        """Return the numbers of the last copies to a tile; -1 for elements that no copy has filled."""
        contents = self.arrays.setdefault(tile.array, _ArrayContents())
        contents.reach(int(tile.places.max()) + 1)
        owners: list[int] = np.unique(contents.owner[tile.places]).tolist()
        return owners

    def _find_source(self, tile: TileElements | None, product: _Product) -> TileSource | None:
        """Return the source of an operand; None if not all of it is filled, or by several TMA atoms."""
        owners = self._list_owners(tile) if tile is not None else [-1]
        for copy in (self.copies[number] for number in owners if number >= 0):
            copy.readers.append(product)
        if tile is None or -1 in owners:
            return None
        copies = [self.copies[number].step for number in owners]
        atoms = {copy.source for copy in copies}
        index = self.arrays[tile.array].index[tile.places]
        known = len(atoms) == 1
        return TileSource(atoms.pop(), index, tile.operand, copies[0].call, tuple(owners)) if known else None

    # copies -----------------------------------------------------------------------------------------------------------

    def _fill(self, n: int, copy: _Copy) -> Pitfall | None:
        """Follow a copy to a tile: its agent must know that the products that read the tile before have ended."""
        (tile,), known = copy.step.tiles, self.clocks.known[n]
        assert tile is not None and copy.step.indices is not None
        owners, found = self._list_owners(tile), None
        for before in (self.copies[number] for number in owners if number >= 0):
            for product in before.readers:
                if known[2 * product.group + 1] < product.index:
                    issued = known[2 * product.group] >= product.index
                    found = found or self._describe_overwritten(product, copy.step, bool(issued))
        contents = self.arrays[tile.array]
        self.bytes_of_element = min(filter(None, (self.bytes_of_element, tile.bytes)))
        contents.owner[tile.places] = len(self.copies)
        contents.index[tile.places] = copy.step.indices
        self.copies.append(copy)
        return found

    def _describe_overwritten(self, product: _Product, copy: AsyncStep, issued: bool) -> Pitfall:
        if issued:
            state = self.states[product.agent]
            return self._describe_running(
                product, state, "a copy overwrites a tile that it reads", product.arrival or copy.call
            )
        message = (
            "This copy may overwrite a tile while a gemm reads it: no wait before it is for an arrival of the gemm's"
            " threads."
        )
        return Pitfall("mbarrier_refilled", message, copy.call)

    def find_last_mistake(self) -> Pitfall | None:
        """Return the finding of a product that nothing waits for before the kernel ends."""
        for state in self.states:
            if state.running:
                return self._describe_running(state.running[-1], state, "the kernel ends", state.running[-1].step.call)
        return None

    def _describe_running(self, product: _Product, state: _AgentState, event: str, at: Span) -> Pitfall:
        """Return the finding of an event at a place that needs a product to have ended."""
        if product in state.loose:
            place = find_next_statement(blank_text(self.text), product.step.call)
            place = product.wait.call[0] if product.wait is not None else place
            message = (
                "A warpgroup_commit_batch is missing before this: the wgmma of gemm are in no group, so no"
                f" warpgroup_wait waits for them, and {event}."
            )
            return Pitfall("wgmma_commit_missing", message, (place, place + 1))
        if product.wait is not None:
            count = product.wait.count
            message = f"{describe_pending(f'warpgroup_wait<{count}>', count)}, and {event}. Wait for 0."
            return Pitfall("wgmma_wait_short", message, product.wait.call)
        message = f"{event.capitalize()} while a gemm may be running: no warpgroup_wait waits for it before."
        return Pitfall("wgmma_wait_missing", message, at)


def _find_lost_sum(step: AsyncStep, sums: Sequence[MadeSum]) -> Pitfall | None:
    """Return the finding of a product that overwrites accumulators before anything has used their sum."""
    if step.adds is not False or not sums or not sums[-1].tiles or sums[-1].used:
        return None
    message = (
        "gemm overwrites its accumulators, since accumulate_ is ScaleOut::Zero here, and nothing has used their sum:"
        " set it to ScaleOut::One after the first gemm of a sum."
    )
    return Pitfall("accumulator_reset", message, step.scale or step.call)
