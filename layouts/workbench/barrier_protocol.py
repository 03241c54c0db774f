"""Find mbarriers with a wrong count of arrivals, waits with a wrong parity, and waits that never end.

`lanescope.reader.threads` traces what every thread does with mbarriers, for known sizes of matrices, and simulates it.
A mistake is a schedule of the threads that ends badly; it is reported at the one count or parity that mends every
schedule, or at a wait for which the code has too few arrivals.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial

from lanescope.cxx.source_text import is_kernel_head
from lanescope.deadline import OverdueError
from lanescope.errors import LayoutError
from lanescope.reader.code.findings import Pitfall
from lanescope.reader.code.run_records import KernelLaunchRecord
from lanescope.reader.threads.barrier_bytes import join_bytes
from lanescope.reader.threads.barrier_simulation import (
    SCHEDULES,
    WAITS,
    AgentStep,
    Outcome,
    Simulation,
    find_phase,
    is_exact,
    join_events,
    make_cluster_agents,
)
from lanescope.reader.threads.barrier_trace import MOST_EVENTS, BarrierEvent, BarrierTrace
from lanescope.reader.threads.cutlass_source import NAMES
from lanescope.reader.threads.kernels import BARRIERS, KernelRun, run_kernels
from lanescope.workbench import barrier_initialization, cluster_mistakes
from lanescope.workbench.barrier_initialization import find_early_signal, find_uninitialized, find_unsynchronized_use
from lanescope.workbench.barrier_messages import (
    describe_count,
    describe_long,
    describe_lost,
    describe_mask,
    describe_misread,
    describe_open_cluster,
    describe_other_bytes,
    describe_parity,
    describe_stuck,
    describe_unread,
)
from lanescope.workbench.barrier_repairs import (
    ProtocolRepair,
    keep_first,
    list_joint_parities,
    list_other_mbarriers,
    list_repairs,
)
from lanescope.workbench.cluster_mistakes import find_late_signal, find_refill, find_uneven_arrival

TITLES = {
    "mbarrier_count": "An mbarrier is initialized for another number of arrivals",
    "mbarrier_parity": "A wait for an mbarrier has the wrong parity",
    "mbarrier_other": "A thread arrives on another mbarrier than the one that is waited for",
    "mbarrier_unawaited": "No thread waits for the mbarrier of a copy or a product",
    "mbarrier_refilled": "Nothing keeps a copy from overwriting a stage that is still waited for",
    "mbarrier_uninitialized": "An mbarrier is used that is not initialized",
    **barrier_initialization.TITLES,
    **cluster_mistakes.TITLES,
    "stage_unread": "No product reads a stage that copies fill",
    "mbarrier_stuck": "A wait for an mbarrier never ends",
    "mbarriers_open": "The mbarriers of a kernel are not simulated, since something is not known",
    "mbarriers_unfinished": "A kernel takes too many steps to simulate its mbarriers",
}
# sizes of matrices, and blocks of the grid: rings of a few stages come round several times
LARGE, PERSISTENT = (1536, 128), (768, 8)
SMALL = 384, 128  # if the others take too long
# a kernel may be right only if K fills its ring an even number of times
_OTHERS = {LARGE: (1024, 128), PERSISTENT: (512, 4), SMALL: (512, 128)}
_ELEMENTS = (1, 4, 8)  # bytes that those of an open type may have, instead of 2
_MBARRIER = re.compile(rf"mbarrier[._](?:try|test)_wait|\bcuda\s*::\s*barrier\b|{NAMES.pattern}")
CountBytes = Callable[[str, frozenset[str]], int | None]
STUCK, STALE, LAPPED, EARLY, SKIPPED = "stuck", "stale", "lapped", "early", "skipped"


def find_protocol_mistakes(
    text: str,
    macros: Mapping[str, str],
    recorded: Sequence[KernelLaunchRecord] = (),
    count_bytes: CountBytes | None = None,
) -> list[Pitfall]:
    """Find the mistakes of a text's kernels, one for each kernel, that two sizes of matrices show; else doubts about
    kernels that are not simulated. count_bytes: those of a box of a kernel's map with some names.
    """
    if not _MBARRIER.search(text) or not is_kernel_head(text):
        return []
    long: list[KernelRun] = []
    open_: list[KernelRun] = []
    try:
        for size in (PERSISTENT if "gridDim" in text else LARGE, SMALL):
            branches = list(run_kernels(text, macros, recorded, BARRIERS, size))
            if len(branches) != 1:
                return []
            found = _judge_runs(branches[0], count_bytes)
            if found:
                other = (text, macros, recorded, BARRIERS, _OTHERS[size])
                found = _keep_repeated(found, run_kernels(*other), count_bytes)
                depends = any(one.code == "expect_tx_bytes" for one in found)
                for element in _ELEMENTS if depends else ():
                    if _may_have(branches[0], element):
                        found = _keep_repeated(found, run_kernels(*other, element=element), count_bytes)
                return found
            open_ = list(filter(_is_of_open_cluster, branches[0]))
            long = list(filter(_is_long, branches[0]))
            if not long:
                break
    except (LayoutError, OverdueError):
        return []
    return _list_doubts(branches[0], long, open_)


def _list_doubts(runs: Sequence[KernelRun], long: Sequence[KernelRun], open_: Sequence[KernelRun]) -> list[Pitfall]:
    """List a doubt about each kernel that takes too many steps, or whose run ended at something that is not known."""
    lost = {run.runner.reached: run for run in reversed(runs) if _is_lost(run)}
    doubts = [describe_long(run.function, SMALL[0]) for run in long]
    doubts += [describe_open_cluster(run.function) for run in open_]
    return doubts + [describe_lost(run.function.name, run.runner.text, at) for at, run in reversed(lost.items())]


def _keep_repeated(
    found: Sequence[Pitfall], branches: Iterable[Sequence[KernelRun]], count_bytes: CountBytes | None
) -> list[Pitfall]:
    """Keep the mistakes that other runs show, too."""
    same = {(one.code, one.span) for runs in branches for one in _judge_runs(runs, count_bytes)}
    return [one for one in found if (one.code, one.span) in same]


def _may_have(runs: Iterable[KernelRun], element: int) -> bool:
    """Return whether the bytes that an mbarrier expects may be a number for elements of this size."""
    traces = filter(None, (run.runner.barriers for run in runs))
    differences = filter(None, (trace.bytes.find_difference() for trace in traces))
    return any(2 * expected == element * copied for _, expected, copied in differences)


def _is_long(run: KernelRun) -> bool:
    """Return whether a run was ended for its number of steps or events."""
    trace = run.runner.barriers
    many = trace is not None and len(trace.events) >= MOST_EVENTS
    return not run.complete and (many or run.runner.steps > run.runner.most_steps)


def _is_lost(run: KernelRun) -> bool:
    """Return whether a kernel has mbarriers, and its run was ended by something that is not known."""
    trace = run.runner.barriers
    if trace is None or run.complete or run.why or trace.of_cluster or _is_long(run):
        return False
    used = any(event.kind in ("init", "arrive", "copy", *WAITS) for event in trace.events)
    return used or _MBARRIER.search(run.runner.text, *run.function.span) is not None


def _is_of_open_cluster(run: KernelRun) -> bool:
    return run.runner.barriers is not None and run.runner.barriers.of_cluster


def _judge_runs(runs: Sequence[KernelRun], count_bytes: CountBytes | None) -> list[Pitfall]:
    found = (_judge_run(run, count_bytes) for run in runs)
    return list({(one.code, one.span): one for one in filter(None, found)}.values())


def _judge_run(run: KernelRun, count_bytes: CountBytes | None) -> Pitfall | None:
    traces = _list_traces(run)
    if not run.complete or len(traces) < len(run.runners):
        return None
    name, runner = run.function.name, run.runner
    for trace in traces:
        if (mistake := _describe_trace(trace, len(traces), name, runner.text)) is not None:
            return mistake
    of_blocks = [trace.events for trace in traces]
    events = join_events(of_blocks)
    early = find_early_signal(of_blocks, name, runner.text)
    if early is not None or not is_exact(events):
        return early or find_uninitialized(events, name)
    if not all(one.turn_counts.are_alike for one in run.runners):
        return find_unsynchronized_use(events, name, runner.text) if len(traces) == 1 else None
    sums = join_bytes([trace.bytes for trace in traces], partial(count_bytes, name) if count_bytes else None)
    mistake = _find_mistake(_Judge(of_blocks, runner.threads, name, runner.text), describe_other_bytes(sums, name))
    return mistake or (describe_unread(traces[0].fills.stages) if len(traces) == 1 else None)


def _list_traces(run: KernelRun) -> list[BarrierTrace]:
    traces = filter(None, (runner.barriers for runner in run.runners))
    return [trace for trace in traces if trace.ended]


def _describe_trace(trace: BarrierTrace, blocks: int, kernel: str, text: str) -> Pitfall | None:
    """Return the mistake that a trace has itself."""
    if (misread := trace.fills.find_mistake()) is not None:
        return describe_misread(misread, text)
    return describe_mask(trace.beyond, blocks, kernel) if trace.beyond is not None else None


def _find_mistake(judge: _Judge, other_bytes: Pitfall | None) -> Pitfall | None:
    """Return the mistake of a traced kernel: that of its bytes first in a cluster, whose phases wait for them."""
    first = other_bytes if len(judge.of_blocks) > 1 else None
    return first or judge.find_mistake() or other_bytes


class _Judge:
    """The mbarriers of one traced kernel: of all blocks of a cluster."""

    def __init__(self, of_blocks: Sequence[Sequence[BarrierEvent]], threads: int, kernel: str, text: str) -> None:
        self.of_blocks, self.kernel, self.text = of_blocks, kernel, text
        self.events = join_events(of_blocks)
        self.agents = make_cluster_agents(of_blocks, threads)

    def find_mistake(self) -> Pitfall | None:
        """Return the mistake of a kernel that copies or commits; others may only try what mbarriers do."""
        if not self.arriving or (not self.filled and not any(event.commits for event in self.events)):
            return None  # an excerpt without arrivals, or a trial of mbarriers
        if self.unawaited:
            return self._describe_unawaited()
        if self.committed and not self.committed & self.awaited:
            return self._describe_uncollected()
        unsynchronized = (find_unsynchronized_use(one, self.kernel, self.text) for one in self.of_blocks)
        return next(filter(None, unsynchronized), None) or self._find_bad_schedule()

    def _find_bad_schedule(self) -> Pitfall | None:
        outcomes = self._simulate()
        blocked = [outcome for outcome in outcomes if outcome.blocked]
        always = len(blocked) == len(outcomes)
        troubles = {self._find_trouble(outcome) for outcome in outcomes if always or not self._is_idle(outcome)}
        if troubles <= {""}:
            return None if blocked else self._find_early_wait() or self._find_cluster_mistake()
        mended = self._list_mending_repairs()
        if len(mended) == 1:
            return self._describe(mended[0], STUCK in troubles)
        if mended or STUCK not in troubles:
            return None
        moved = self._find_other_arrival() if always else None
        if moved is None and always and len(self.of_blocks) > 1:
            moved = find_uneven_arrival(outcomes[0], self.agents, self.events, self.kernel)
        return moved or self._find_stuck_wait(outcomes, always)

    def _list_mending_repairs(self) -> list[ProtocolRepair]:
        """List the repairs that mend every schedule, one for each place; of several those that complete every phase,
        and of these those that let work begin.
        """
        mended = [repair for repair in list_repairs(self.events, self.agents) if self._is_mended(repair)]
        mended = mended or list(filter(self._is_mended, list_joint_parities(self.events, self.agents)))
        if len(keep_first(mended)) > 1:
            mended = list(filter(self._completes_every_phase, mended)) or mended
        if len(keep_first(mended)) > 1:
            mended = list(filter(self._lets_work_begin, mended))
        return keep_first(mended)

    def _completes_every_phase(self, repair: ProtocolRepair) -> bool:
        """Return whether no schedule ends in the middle of a phase."""
        barriers = (barrier for outcome in self._simulate(repair) for barrier in outcome.barriers.values())
        return all(barrier.pending == barrier.count for barrier in barriers)

    def _describe(self, repair: ProtocolRepair, stuck: bool) -> Pitfall:
        if repair.code == "mbarrier_count":
            return describe_count(repair, self.events, self.kernel)
        return describe_parity(repair, self.events, self.agents, self.text, stuck)

    def _find_cluster_mistake(self) -> Pitfall | None:
        """Return what is wrong if one block of a cluster lags behind the others."""
        if len(self.of_blocks) == 1:
            return None
        outcomes = self._simulate(lags=True)
        refill = find_refill(outcomes, self.agents, self.events, self.kernel)
        if refill is None:
            return find_late_signal(outcomes, self.events, self.kernel)
        counts = [one for one in list_repairs(self.events, self.agents) if one.counts and self._is_mended(one)]
        counts = [one for one in counts if not any(outcome.refilled for outcome in self._simulate(one, lags=True))]
        return self._describe(counts[0], False) if len(counts) == 1 else refill

    def _simulate(self, repair: ProtocolRepair | None = None, lags: bool = False) -> list[Outcome]:
        counts, parities = ({}, {}) if repair is None else (repair.counts, repair.parities)
        agents = self.agents if repair is None or not repair.places else repair.redirect(self.agents)
        simulation = Simulation(agents, counts, parities)
        if lags:
            return [simulation.run(SCHEDULES[0], block) for block in range(len(self.of_blocks))]
        return [simulation.run(schedule) for schedule in SCHEDULES]

    def _is_mended(self, repair: ProtocolRepair) -> bool:
        """Return whether every schedule ends well, and every wait with another parity has a phase of its own."""
        outcomes = self._simulate(repair)
        return not any(map(self._find_trouble, outcomes)) and all(_has_phases(repair, one) for one in outcomes)

    def _lets_work_begin(self, repair: ProtocolRepair) -> bool:
        """Return whether waits pass at once that come before copies or products: for a stage that is still free."""
        ones = {n for (n, event), parity in repair.parities.items() if event == repair.event and parity}
        return bool(ones) and ones <= self.working

    def _is_idle(self, outcome: Outcome) -> bool:
        """Return whether only threads wait for ever that neither copy nor multiply: in practice the others do not
        overtake them by two phases.
        """
        return bool(outcome.blocked) and not any(n in self.working for n, step in outcome.blocked if step.kind in WAITS)

    # what a schedule shows --------------------------------------------------------------------------------------------

    def _find_trouble(self, outcome: Outcome) -> str:
        """Return what is wrong with the end of a schedule, "" if nothing is."""
        if outcome.blocked:
            return STUCK
        for (n, place), passed in outcome.passed.items():
            completed = outcome.barriers[place].completed
            if len(passed) == completed and (trouble := self._judge_waits(n, place, passed)):
                return trouble
        skipped = any(self._skips_phases(outcome, place, phases) for (_, place), phases in outcome.awaited.items())
        return SKIPPED if skipped else ""

    def _skips_phases(self, outcome: Outcome, place: int, phases: Sequence[int]) -> bool:
        """Return whether an agent that arrives in every phase of an mbarrier skips a phase, or waits in one in
        which no thread that copies has arrived.
        """
        copying = self.copying.get(place, set()) & self.arriving[place]
        events = {step.event for m in copying for step in self.agents[m].steps if step.place == place}
        fed = {phase for (m, event), phase in outcome.begun.items() if m in copying and event in events}
        return phases != list(range(len(phases))) or bool(fed and not fed.issuperset(phases))

    def _judge_waits(self, n: int, place: int, passed: Sequence[tuple[int, int, int]]) -> str:
        """Judge the waits of an agent that waits once for every phase of an mbarrier."""
        first = passed[0][1]
        for turn, (_, parity, completed) in enumerate(passed):
            if parity != (turn + first) % 2:
                return STALE
            if completed >= turn - first + 3 and n in self.working:
                return LAPPED
        return EARLY if first and place in self.filled and n not in self.arriving[place] else ""

    @cached_property
    def filled(self) -> frozenset[int]:
        """The mbarriers that bytes of copies arrive on."""
        return frozenset(step.place for step in self._list_steps() if step.kind == "copy")

    @cached_property
    def copying(self) -> Mapping[int, set[int]]:
        """The agents that copy bytes that arrive on each mbarrier."""
        found: dict[int, set[int]] = defaultdict(set)
        for n, agent in enumerate(self.agents):
            for step in agent.steps:
                if step.kind == "copy":
                    found[step.place].add(n)
        return found

    @cached_property
    def unawaited(self) -> frozenset[int]:
        """The mbarriers that bytes of copies arrive on and that no thread waits for."""
        return self.filled - self.awaited

    @cached_property
    def awaited(self) -> frozenset[int]:
        """The mbarriers that a thread waits for."""
        return frozenset(step.place for step in self._list_steps() if step.kind in WAITS)

    @cached_property
    def committed(self) -> frozenset[int]:
        """The mbarriers on which the commits of products arrive."""
        return frozenset(step.place for step in self._list_steps() if self.events[step.event].commits)

    @cached_property
    def arriving(self) -> Mapping[int, set[int]]:
        """The agents that arrive on each mbarrier."""
        found: dict[int, set[int]] = defaultdict(set)
        for n, agent in enumerate(self.agents):
            for step in agent.steps:
                if step.kind == "arrive":
                    found[step.place].add(n)
        return found

    @cached_property
    def working(self) -> frozenset[int]:
        """The agents that copy or multiply."""
        kinds = ((n, step.kind) for n, agent in enumerate(self.agents) for step in agent.steps)
        return frozenset(n for n, kind in kinds if kind in ("copy", "product"))

    def _list_steps(self) -> Iterator[AgentStep]:
        return (step for agent in self.agents for step in agent.steps)

    # findings without a trouble, or without a repair ------------------------------------------------------------------

    def _describe_unawaited(self) -> Pitfall | None:
        product = next((event for event in self.events if event.kind == "product"), None)
        if product is None:
            return None
        awaited = self.filled - self.unawaited
        where = f"{len(self.unawaited)} of the {len(self.filled)} mbarriers" if awaited else "the mbarriers"
        message = (
            f"No thread of {self.kernel} waits for {where} on which the bytes of copies arrive: this product may read a"
            " tile before it is there."
        )
        return Pitfall("mbarrier_unawaited", message, product.call)

    def _describe_uncollected(self) -> Pitfall:
        commit = next(event for event in self.events if event.commits)
        message = (
            f"No thread of {self.kernel} waits for the mbarriers on which its commits of products arrive: what follows"
            " may overwrite operands that are still read, or read a sum that is not there."
        )
        return Pitfall("mbarrier_unawaited", message, commit.call)

    def _find_early_wait(self) -> Pitfall | None:
        """Return a wait for products that passes before the first one has ended, though it could wait for it."""
        for repair in list_repairs(self.events, self.agents):
            ones = {n for n, event in repair.parities if event == repair.event}
            places = {step.place for n in ones for step in self.agents[n].steps if step.event == repair.event}
            begins = bool(ones) and not any(repair.parities[n, repair.event] for n in ones)
            if begins and places <= self.committed and not ones & self.working and self._is_mended(repair):
                return self._describe(repair, False)
        return None

    def _find_other_arrival(self) -> Pitfall | None:
        """Return the one arrival that lets every schedule end well if it is on another mbarrier."""
        repairs = [one for one in list_other_mbarriers(self.events, self.agents) if self._is_mended(one)]
        repairs = list(filter(self._completes_every_phase, repairs)) or repairs
        if len(repairs) != 1:
            return None
        message = (
            f"{self.kernel} never ends: this arrives on another mbarrier than the one that is waited for. Check its"
            " array and its stage."
        )
        return Pitfall("mbarrier_other", message, repairs[0].site)

    def _find_stuck_wait(self, outcomes: Sequence[Outcome], always: bool) -> Pitfall | None:
        """Return the wait of a schedule that cannot end: the code has too few arrivals for its phase, or a thread that
        nothing holds back arrives again before the wait has ended.
        """
        for outcome in outcomes:
            for n, step in outcome.blocked:
                if step.kind not in WAITS or (self._is_idle(outcome) and not always):
                    continue
                phase = find_phase(outcome, n, step)
                barrier = outcome.barriers[step.place]
                if (total := self._count_all(step.place)) < (phase + 1) * barrier.count:
                    message = describe_stuck(phase, barrier.count, total)
                    return Pitfall("mbarrier_stuck", message, self.events[step.event].call)
                alone = not any(m in self.arriving[step.place] for m, place in outcome.passed if place == step.place)
                if step.place in self.filled and barrier.completed >= phase + 2 and n in self.working and alone:
                    return self._describe_refill(step.place)
        return None

    def _describe_refill(self, place: int) -> Pitfall:
        steps = (step for step in self._list_steps() if step.place == place and step.kind in ("arrive", "copy"))
        message = (
            f"{self.kernel} may come here for the next tile of a stage while another thread still waits for the one"
            " before: nothing makes this thread wait until the stage has been read."
        )
        return Pitfall("mbarrier_refilled", message, self.events[min(step.event for step in steps)].call)

    def _count_all(self, place: int) -> int:
        """Count the arrivals on an mbarrier in the whole kernel."""
        steps = ((agent.count, step) for agent in self.agents for step in agent.steps)
        return sum(count * step.value for count, step in steps if step.kind == "arrive" and step.place == place)


def _has_phases(repair: ProtocolRepair, outcome: Outcome) -> bool:
    for (n, place), passed in outcome.passed.items():
        if any((n, event) in repair.parities for event, _, _ in passed):
            completed = outcome.barriers[place].completed
            if not completed or completed < len(passed) - passed[0][1]:
                return False
    return True
