"""Find mbarriers with a wrong count of arrivals, waits with a wrong parity, and waits that never end.

`lanescope.reader.threads` traces what every thread does with mbarriers, for known sizes of matrices, and simulates it.
A mistake is a schedule of the threads that ends badly; it is reported at the one count or parity that mends every
schedule, or at a wait for which the code has too few arrivals.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from operator import itemgetter

from lanescope.cxx.source_text import is_kernel_head
from lanescope.deadline import OverdueError
from lanescope.errors import LayoutError
from lanescope.reader.code.findings import Pitfall
from lanescope.reader.code.running.run_records import KernelLaunchRecord
from lanescope.reader.threads.barriers.barrier_agents import WAITS, is_exact, join_events
from lanescope.reader.threads.barriers.barrier_bytes import BarrierBytes, join_bytes
from lanescope.reader.threads.barriers.barrier_trace import MOST_EVENTS, BarrierTrace
from lanescope.reader.threads.barriers.cutlass_source import NAMES
from lanescope.reader.threads.kernels import BARRIERS, KernelRun, run_kernels
from lanescope.workbench.barriers import barrier_initialization, cluster_mistakes
from lanescope.workbench.barriers.barrier_initialization import (
    find_early_signal,
    find_uninitialized,
    find_unsynchronized_use,
)
from lanescope.workbench.barriers.barrier_judge import ProtocolJudge
from lanescope.workbench.barriers.barrier_messages import (
    describe_blocked,
    describe_long,
    describe_lost,
    describe_mask,
    describe_misread,
    describe_not_run,
    describe_open_cluster,
    describe_other_bytes,
    describe_other_parity,
    describe_unread,
)
from lanescope.workbench.cute.async_order import describe_open_sums, find_async_mistake
from lanescope.workbench.cute.async_sums import SLICES_LEFT
from lanescope.workbench.results import keep_common
from lanescope.workbench.tensor_memory import tensor_races

TITLES = {
    "mbarrier_count": "An mbarrier is initialized for another number of arrivals",
    "mbarrier_parity": "A wait for an mbarrier has the wrong parity",
    "mbarrier_other": "A thread arrives on another mbarrier than the one that is waited for",
    "mbarrier_unawaited": "No thread waits for the mbarrier of a copy or a product",
    "mbarrier_refilled": "Nothing keeps a copy from overwriting a stage that is still waited for",
    "mbarrier_uninitialized": "An mbarrier is used that is not initialized",
    **barrier_initialization.TITLES,
    **cluster_mistakes.TITLES,
    **tensor_races.TITLES,
    "stage_unread": "No product reads a stage that copies fill",
    "mbarrier_stuck": "A wait for an mbarrier never ends",
    "mbarrier_parity_range": "A wait for an mbarrier has another parity than 0 and 1",
    "mbarriers_open": "The mbarriers of a kernel are not simulated, since something is not known",
    "cute_sums_open": "D of a CuTe kernel is not known to be A·B",
    "mbarriers_unfinished": "A kernel takes too many steps to simulate its mbarriers",
}
# sizes of matrices, and blocks of the grid: rings of a few stages come round several times
LARGE, PERSISTENT = (1536, 128), (768, 8)
SMALL = 384, 128  # if the others take too long
# a kernel may be right only if K fills its ring an even number of times; two blocks take each accumulator repeatedly
_OTHERS = {LARGE: [(1024, 128)], PERSISTENT: [(512, 4), (512, 2)], SMALL: [(512, 128)]}
_ELEMENTS = (1, 4, 8)  # bytes that those of an open type may have, instead of 2
_MBARRIER = re.compile(rf"mbarrier[._](?:try|test)_wait|\bcuda\s*::\s*barrier\b|{NAMES.pattern}")
ListBytes = Callable[[str, frozenset[str]], frozenset[int]]


def find_protocol_mistakes(
    text: str,
    macros: Mapping[str, str],
    recorded: Sequence[KernelLaunchRecord] = (),
    list_bytes: ListBytes | None = None,
) -> list[Pitfall]:
    """Find the mistakes of a text's kernels, one for each kernel, that two sizes of matrices show; else doubts about
    kernels that are not simulated. list_bytes: those that a box of a kernel's map with some names may have.
    """
    if not is_kernel_head(text) or not _MBARRIER.search(text):
        return []
    long: list[KernelRun] = []
    open_: list[KernelRun] = []
    try:
        for size in (PERSISTENT if "gridDim" in text else LARGE, SMALL):
            branches = list(run_kernels(text, macros, recorded, BARRIERS, size))
            if len(branches) != 1:
                return []
            found = _judge_runs(branches[0], list_bytes)
            if found:
                others = [(text, macros, recorded, BARRIERS, other) for other in _OTHERS[size]]
                kept = ((other, _keep_repeated(found, run_kernels(*other), list_bytes)) for other in others)
                other, found = next(filter(itemgetter(1), kept), (others[0], []))
                depends = any(one.code == "expect_tx_bytes" for one in found)
                for element in _ELEMENTS if depends else ():
                    if _may_have(branches[0], element, list_bytes):
                        found = _keep_repeated(found, run_kernels(*other, element=element), list_bytes)
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
    idle = {run.function.name: run for run in runs if run.why}
    doubts += [describe_not_run(run.function, run.why) for run in idle.values()]
    traced = {run.function.name: run for run in reversed(runs) if run.complete and not run.others}
    doubts += filter(None, (describe_open_sums(run.runner, name) for name, run in traced.items()))
    traces = {name: run.runner.barriers.events for name, run in traced.items() if run.runner.barriers is not None}
    doubts += filter(None, (describe_other_parity(name, events) for name, events in traces.items()))
    doubts += filter(None, map(_doubt_blocked, traced.values()))
    return doubts + [describe_lost(run.function.name, run.runner.text, at) for at, run in reversed(lost.items())]


def _doubt_blocked(run: KernelRun) -> Pitfall | None:
    """Return the doubt about a kernel without a mistake whose threads wait for ever in every schedule."""
    traces = _list_traces(run)
    of_blocks = [trace.events for trace in traces]
    if not traces or not is_exact(join_events(of_blocks)):
        return None
    wait = ProtocolJudge(of_blocks, run.runner.threads, run.function.name, run.runner.text).find_blocked_wait()
    return None if wait is None else describe_blocked(run.function.name, wait)


def _keep_repeated(
    found: Sequence[Pitfall], branches: Iterable[Sequence[KernelRun]], list_bytes: ListBytes | None
) -> list[Pitfall]:
    """Keep the mistakes that other runs show, too."""
    other = [one for runs in branches for one in _judge_runs(runs, list_bytes)]
    same = [one for one in found if one.code != SLICES_LEFT or one.message in {of.message for of in other}]
    return keep_common([same, other])


def _may_have(runs: Iterable[KernelRun], element: int, list_bytes: ListBytes | None) -> bool:
    """Return whether the bytes that an mbarrier expects may be a number for elements of this size."""
    sums = [_sum_bytes(run, traces, list_bytes) for run in runs if (traces := _list_traces(run))]
    differences = filter(None, (one.find_difference() for one in sums))
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


def _judge_runs(runs: Sequence[KernelRun], list_bytes: ListBytes | None) -> list[Pitfall]:
    found = (_judge_run(run, list_bytes) for run in runs)
    return list({(one.code, one.span): one for one in filter(None, found)}.values())


def _judge_run(run: KernelRun, list_bytes: ListBytes | None) -> Pitfall | None:
    traces = _list_traces(run)
    if not run.complete or len(traces) < len(run.runners):
        return None
    name, runner = run.function.name, run.runner
    if (own := _describe_traces(traces, name, runner.text)) is not None:
        return own
    of_blocks = [trace.events for trace in traces]
    events = join_events(of_blocks)
    early = find_early_signal(of_blocks, name, runner.text)
    if early is not None or not is_exact(events):
        return early or find_uninitialized(events, name)
    if not all(one.turn_counts.are_alike for one in run.runners):
        return find_unsynchronized_use(events, name, runner.text) if len(traces) == 1 else None
    sums = _sum_bytes(run, traces, list_bytes)
    mistake = _find_mistake(
        ProtocolJudge(of_blocks, runner.threads, name, runner.text), describe_other_bytes(sums, name, runner.text)
    )
    mistake = mistake or _find_unread(traces) or (find_async_mistake(runner, name) if not run.others else None)
    return mistake or tensor_races.find_tensor_mistake(traces, runner.threads, name, runner.text[: runner.length])


def _sum_bytes(run: KernelRun, traces: Sequence[BarrierTrace], list_bytes: ListBytes | None) -> BarrierBytes:
    known = partial(list_bytes, run.function.name) if list_bytes else None
    return join_bytes([trace.bytes for trace in traces], known)


def _find_unread(traces: Sequence[BarrierTrace]) -> Pitfall | None:
    """Return the finding of a stage that no product reads; products of other blocks may, in a cluster."""
    return describe_unread(traces[0].fills.stages) if len(traces) == 1 else None


def _list_traces(run: KernelRun) -> list[BarrierTrace]:
    traces = filter(None, (runner.barriers for runner in run.runners))
    return [trace for trace in traces if trace.ended]


def _describe_traces(traces: Sequence[BarrierTrace], kernel: str, text: str) -> Pitfall | None:
    return next(filter(None, (_describe_trace(trace, len(traces), kernel, text) for trace in traces)), None)


def _describe_trace(trace: BarrierTrace, blocks: int, kernel: str, text: str) -> Pitfall | None:
    """Return the mistake that a trace has itself."""
    if (misread := trace.fills.find_mistake()) is not None:
        return describe_misread(misread, text)
    return describe_mask(trace.beyond, blocks, kernel) if trace.beyond is not None else None


def _find_mistake(judge: ProtocolJudge, other_bytes: Pitfall | None) -> Pitfall | None:
    """Return the mistake of a traced kernel: that of its bytes first in a cluster, whose phases wait for them."""
    first = other_bytes if len(judge.of_blocks) > 1 else None
    return first or judge.find_mistake() or other_bytes
