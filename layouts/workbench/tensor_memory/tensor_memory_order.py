"""Find ordering mistakes in kernels with tcgen05: accumulators that are never set or set again too early, products
whose completion nothing signals or waits for, and registers of tcgen05.ld that are used without a wait.

Only kernels are checked in which every call is known. Rules: PTX ISA 9.1, 9.7.16.6.4 (asynchronous operations),
9.7.16.7.1 (allocation), 9.7.16.8 (tcgen05.ld, tcgen05.wait) and 9.7.16.10.9 (enable-input-d).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lanescope.ptx.threads import WARP
from lanescope.reader.code.findings import AsmRun, BodilessCall, Pitfall
from lanescope.workbench.kernels.accumulators import find_access, find_accumulator
from lanescope.workbench.results import Span
from lanescope.workbench.tensor_memory.tensor_barriers import TensorBarriers
from lanescope.workbench.tensor_memory.tensor_places import find_enclosing_condition, narrow_operand
from lanescope.workbench.tensor_memory.tensor_steps import TensorKernel, TensorStep
from lanescope.workbench.text.asm_operands import find_operand_argument
from lanescope.workbench.text.function_texts import find_enclosing_function
from lanescope.workbench.text.known_values import require_known
from lanescope.workbench.text.loop_texts import find_enclosing_brace, find_next_statement, find_place_between

TITLES = {
    "tcgen05_accumulator_unset": "Every tcgen05.mma adds to an accumulator that nothing sets",
    "tcgen05_accumulator_reset": "A later tcgen05.mma overwrites an accumulator that nothing has read",
    "tcgen05_commit_missing": "No tcgen05.commit follows the products",
    "tcgen05_read_early": "tcgen05.ld reads an accumulator before anything waits for its products",
    "tcgen05_wait_missing": "No tcgen05.wait follows tcgen05.ld or tcgen05.st",
    "barrier_arrival_missing": "Nothing arrives at an mbarrier for which the kernel waits",
    "tcgen05_threads": "Several threads of a warp issue a tcgen05 instruction of one thread, or too few one of a warp",
    "tcgen05_barrier_missing": "No barrier between tcgen05.alloc and other warps' use of tensor memory",
    "tcgen05_commit_mask": "tcgen05.commit signals only one CTA of a pair in which both wait",
    "tmem_freed_early": "No barrier between the accesses of tensor memory and tcgen05.dealloc in another warp",
}
_OF_WARP = ("alloc", "dealloc", "relinquish_alloc_permit", "ld", "st", "wait::ld", "wait::st")  # .sync.aligned
_OF_THREAD = ("mma", "commit")
_LITERALS = {"true": True, "false": False}
_SETP = r"setp\.(eq|ne)\.\w+\s+"


def find_tensor_order_mistakes(kernel: TensorKernel) -> Iterator[Pitfall]:
    """Find missing operations in a kernel with tcgen05."""
    products, loads = kernel.list_steps("mma"), kernel.list_steps("ld")
    if not kernel.list_steps("alloc") or not loads:
        return  # an excerpt
    barriers = TensorBarriers(kernel)
    if products and not kernel.list_steps("commit"):
        message = (
            "No tcgen05.commit follows this tcgen05.mma: no mbarrier signals its completion before tcgen05.ld reads"
            " its accumulator."
        )
        yield Pitfall("tcgen05_commit_missing", message, products[-1].at)
    elif products:
        missing = [*barriers.find_missing_commits(products), *barriers.find_single_commits()]
        yield from missing
        early = [] if missing or kernel.list_steps("st") else list(_check_first_read(kernel, barriers, products, loads))
        yield from early
        if not (missing or early or kernel.list_steps("st")):
            yield from _check_resets(kernel, barriers, products, loads)
    yield from _check_first_input(kernel, products)
    yield from _check_waits(kernel, loads)
    yield from _check_threads(kernel)
    yield from _check_allocation(kernel)


# products -------------------------------------------------------------------------------------------------------------


def _check_first_input(kernel: TensorKernel, products: Sequence[TensorStep]) -> Iterator[Pitfall]:
    """Yield a pitfall if every product adds to its accumulator, and nothing writes it before."""
    inputs = [_find_input(step) for step in products]
    if products and all(value for value, _ in inputs) and not kernel.list_steps("st"):
        message = (
            "enable-input-d is never false: D = A·B + D adds to tensor memory that nothing has written. Make it false"
            " for the first product of a tile."
        )
        place = narrow_operand(kernel.text, products[0], inputs[0][1])
        yield Pitfall("tcgen05_accumulator_unset", message, place)


def _check_resets(
    kernel: TensorKernel, barriers: TensorBarriers, products: Sequence[TensorStep], loads: Sequence[TensorStep]
) -> Iterator[Pitfall]:
    """Yield a product that overwrites what others have accumulated before any thread can have read it."""
    last: dict[str, TensorStep] = {}
    begun: dict[str, TensorStep] = {}  # the product that began each sum
    readers = ("cp", "shift")
    if any(step.operands[1].startswith("[") for step in products if len(step.operands) > 1):
        return  # tensor memory is an operand, too
    if kernel.list_steps(*readers):
        return
    for step in products:
        address = step.find_value(0)
        value, place = _find_input(step)
        if address is None or value is None:
            return
        before, first = last.get(str(address)), begun.get(str(address))
        if value is False:
            begun[str(address)] = step
        if first is not None and value is False and _is_repeated(kernel, first, step):
            continue
        if before is not None and value is False and not _may_be_read(kernel, barriers, (before, step), loads):
            message = (
                "enable-input-d is false here again: D = A·B drops what the products before have accumulated, and"
                " nothing has read it. Make it false for the first product of the tile only."
            )
            yield Pitfall("tcgen05_accumulator_reset", message, narrow_operand(kernel.text, step, place))
            return
        last[str(address)] = step


def _is_repeated(kernel: TensorKernel, first: TensorStep, again: TensorStep) -> bool:
    """Return whether a sum begins again with the same product of the same tiles, as in a benchmark.

    Nothing may have been stored to the tiles since, also by other threads, which would signal it at an mbarrier.
    """
    values = [(step.find_value(1), step.find_value(2)) for step in (first, again)]
    if values[0] != values[1] or None in values[0]:
        return False
    fills = [event for event in kernel.run.events if event.kind in ("store", "bulk")]
    signals = [event for event in fills if event.kind == "bulk"] + list(filter(_may_signal, kernel.steps))
    between = any(first.order < event.order < again.order for event in fills)
    return not between and all(one.arms == again.arms[: len(one.arms)] for one in signals)


def _may_signal(step: TensorStep) -> bool:
    """Return whether threads arrive at a barrier."""
    return step.kind == "arrive" or (isinstance(step.run, BodilessCall) and "arrive" in step.run.term.head)


def _may_be_read(
    kernel: TensorKernel, barriers: TensorBarriers, between: tuple[TensorStep, TensorStep], loads: Sequence[TensorStep]
) -> bool:
    """Return whether some thread may load an accumulator between two products."""
    first, past = between
    if kernel.list_conditions(first) != kernel.list_conditions(past) or first.run.calls[:-1] != past.run.calls[:-1]:
        return True
    for load in loads:
        apart = kernel.are_disjoint(load, past)
        if not apart and first.order < load.order < past.order:
            return True
        if apart and barriers.may_signal((first.order, past.order), load):
            return True
    return False


def _find_input(step: TensorStep) -> tuple[bool | None, Span]:
    """Return (enable-input-d, None if it is open; where it is given)."""
    flag = _find_input_operand(step)
    if flag is None or not isinstance(step.run, AsmRun):
        return None, step.at
    if flag in _LITERALS:
        return _LITERALS[flag], step.run.span
    if flag.startswith("%") or flag.isdecimal():
        value, span, _ = find_operand_argument(step.run, flag, 0)
        return None if value is None or value.known is None else bool(value.known), span
    return _read_comparison(step.run, step.code, flag)


def _find_input_operand(step: TensorStep) -> str | None:
    """Return the operand enable-input-d of a product; None if the instruction may have it elsewhere."""
    if re.search(r"\.sp|\.ws", step.words):
        return None
    operands = list(step.operands[6 if ".block_scale" in step.words else 4 :])
    if operands and operands[0].startswith("{"):  # disable-output-lane
        del operands[0]
    return operands[0].strip() if operands else None


def _read_comparison(run: AsmRun, code: str, predicate: str) -> tuple[bool | None, Span]:
    """Return (the predicate that setp sets, None if it is open; the place of the side that is not a literal)."""
    compared = re.search(_SETP + re.escape(predicate) + r"\s*,\s*([%\w\[\]]+)\s*,\s*([%\w\[\]]+)", code)
    if compared is None:
        return None, run.span
    sides = [find_operand_argument(run, compared[n], 0) for n in (2, 3)]
    span = next((place for value, place, _ in sides if value is None or place != run.span), run.span)
    known = require_known(None if value is None else value.known for value, _, _ in sides)
    return None if known is None else (known[0] == known[1]) == (compared[1] == "eq"), span


def _check_first_read(
    kernel: TensorKernel, barriers: TensorBarriers, products: Sequence[TensorStep], loads: Sequence[TensorStep]
) -> Iterator[Pitfall]:
    """Yield the first tcgen05.ld if no thread has waited for the last products before it."""
    load = loads[0]
    last = next((step for step in reversed(products) if step.order < load.order), products[-1])
    if barriers.may_wait_before(load, last):
        return
    unsignalled = barriers.find_unsignalled_wait(load)
    if unsignalled:
        message = (
            f"No tcgen05.commit after these products signals the mbarrier {unsignalled}, for which the kernel waits"
            " before tcgen05.ld."
        )
        yield Pitfall("tcgen05_commit_missing", message, last.at)
        return
    fences = [
        step
        for step in kernel.list_steps("fence::after_thread_sync")
        if step.order < load.order
        and step.arms == load.arms[: len(step.arms)]
        and (step.arms == load.arms or step.order > last.order)
    ]
    names = ", ".join(barriers.list_committed(last))
    message = (
        "tcgen05.ld reads the accumulator, and no thread has waited for the mbarrier that tcgen05.commit signals"
        f"{f' ({names})' if names else ''}: its products may be running. Wait before tcgen05.fence::after_thread_sync."
    )
    yield Pitfall("tcgen05_read_early", message, (fences[-1] if fences else load).at)


# registers ------------------------------------------------------------------------------------------------------------


def _check_waits(kernel: TensorKernel, loads: Sequence[TensorStep]) -> Iterator[Pitfall]:
    """Yield a pitfall if no tcgen05.wait::ld follows a load before its registers are used."""
    waits = kernel.list_steps("wait::ld")
    late = []
    last = max((wait.order for wait in waits), default=-1)
    waited = {step.site for step in loads if step.order <= last}
    for load in loads:
        if load.site in waited:
            following = next((wait for wait in waits if wait.order >= load.order), None)
            used = _find_early_use(kernel, load, following)
        else:
            used = _find_early_use(kernel, load, None) or load.at
        if used is not None:
            late.append(used)
    if late:
        message = (
            "No tcgen05.wait::ld stands between tcgen05.ld and the use of its registers: they may not be loaded yet."
            if late[0] not in {load.at for load in loads}
            else "No tcgen05.wait::ld follows this tcgen05.ld before the kernel ends: its registers may be used before"
            " they are loaded."
        )
        yield Pitfall("tcgen05_wait_missing", message, _find_place_of_wait(kernel.text.blank, loads, late[0]))
    stores = kernel.list_steps("st")
    if stores and not kernel.list_steps("wait::st"):
        message = "No tcgen05.wait::st follows this tcgen05.st: a later read may return the previous contents."
        yield Pitfall("tcgen05_wait_missing", message, stores[-1].at)


def _find_place_of_wait(blank: str, loads: Sequence[TensorStep], use: Span) -> Span:
    """Return the statement after the last load before a use of its registers, if that is in the same block of their
    function, else the outermost block with the use alone; the use if the load is in another function.
    """
    function = find_enclosing_function(blank, use[0])
    before = max((load.at for load in loads if load.at[1] <= use[0]), default=None)
    if function is None or before is None or before[0] < function.body[0]:
        return use
    start, first = find_place_between(blank, function, before, use), function.body[0]
    after = find_next_statement(blank, before)
    if find_enclosing_brace(blank, after, first) == find_enclosing_brace(blank, start, first):
        start = min(start, after)
    return start, start + 1


def _find_early_use(kernel: TensorKernel, load: TensorStep, wait: TensorStep | None) -> Span | None:
    """Find where a function uses the registers of a load before the wait that follows it; None if not certain."""
    run = load.run
    if not isinstance(run, AsmRun) or (wait is not None and wait.run is run):
        return None
    holder = find_accumulator(run, kernel.text.blank)
    if holder is None or holder.indexed:
        return None
    body = holder.function.body
    past = body[1] if wait is None else _find_place_within(wait, body)
    if past <= holder.at[1] or (wait is not None and wait.run.loops != run.loops and past != body[1]):
        return None
    between = (holder.at[1], past)
    if wait is not None and "}" in kernel.text.blank[slice(*between)].split(holder.name, 1)[0]:
        return None  # a loop or a branch ends first
    return find_access(holder, kernel.text.blank, between, [load.at])


def _find_place_within(step: TensorStep, body: Span) -> int:
    """Return where a function's body runs a step, itself or by a call; its end if it does not."""
    places = (*(call for _, call in step.run.calls), step.span)
    return next((at[0] for at in places if body[0] <= at[0] < body[1]), body[1])


# threads --------------------------------------------------------------------------------------------------------------


def _check_threads(kernel: TensorKernel) -> Iterator[Pitfall]:
    """Yield one-thread instructions that several threads issue, and warp instructions that a part of a warp issues."""
    for step in kernel.steps:
        if step.guarded or "elect.sync" in step.code:
            continue
        place = find_enclosing_condition(kernel.text, step.at)
        if step.kind in _OF_THREAD and (warps := kernel.list_warps(step)):
            message = (
                f"All threads of warp {warps[0]} issue tcgen05.{step.kind}, which one thread must issue: use"
                " elect.sync, or one lane."
            )
            yield Pitfall("tcgen05_threads", message, place)
        elif step.kind in _OF_WARP and (warp := _find_part_of_warp(kernel, step)) is not None:
            message = (
                f"Only some threads of warp {warp} execute tcgen05.{step.kind}. It is .sync.aligned: all 32 threads of"
                " the warp must execute it."
            )
            yield Pitfall("tcgen05_threads", message, place)


def _find_part_of_warp(kernel: TensorKernel, step: TensorStep) -> int | None:
    """Return a warp of which some threads certainly run a step and others certainly do not."""
    for warp in range(kernel.block.threads // WARP):
        states = {kernel.find_state(step, WARP * warp + lane) for lane in (0, 1, 31)}
        if {True, False} <= states:
            return warp
    return None


def _check_allocation(kernel: TensorKernel) -> Iterator[Pitfall]:
    """Yield an allocation that other warps use without a barrier, and a deallocation beside their loads."""
    uses = kernel.list_steps("mma", "ld", "st", "cp")
    allocation, freed = kernel.list_steps("alloc")[-1], kernel.list_steps("dealloc")
    first = next((use for use in uses if use.order > allocation.order), None)
    if first is not None and _is_unordered(kernel, allocation, first) and _list_other_warps(kernel, first, allocation):
        message = (
            f"tcgen05.{first.kind} of another warp uses the allocated columns without a barrier after tcgen05.alloc: it"
            " may read the address before it is written."
        )
        yield Pitfall("tcgen05_barrier_missing", message, first.at)
    last = uses[-1]
    late = [step for step in freed[:1] if step.order > last.order and _list_other_warps(kernel, last, step)]
    if late and _is_unordered(kernel, last, late[0]):
        message = (
            f"tcgen05.dealloc may free the columns while another warp still accesses them by tcgen05.{last.kind}: all"
            " warps need a barrier before it."
        )
        yield Pitfall("tmem_freed_early", message, late[0].at)


def _list_other_warps(kernel: TensorKernel, step: TensorStep, other: TensorStep) -> set[int]:
    """Return the warps that certainly run a step and not another one, if some warp certainly runs that."""
    others = set(kernel.list_warps(other, all_lanes=False))
    return set(kernel.list_warps(step, all_lanes=False)) - others if others else set()


def _is_unordered(kernel: TensorKernel, first: TensorStep, then: TensorStep) -> bool:
    """Return whether no barrier stands between two steps, and no wait for what threads of the first signal after it."""
    signals = [
        step
        for step in kernel.list_steps("arrive", "commit")
        if step.order > first.order and not kernel.are_disjoint(step, first)
    ]
    syncs = kernel.list_steps("sync", *(("wait",) if signals else ()))
    return not any(first.order <= sync.order <= then.order for sync in syncs)
