"""Find missing fences, groups and waits around CuTe's gemm, and accumulators that nothing sets.

CUTLASS 4.7: gemm of an SM90 TiledMMA issues wgmma.mma_async alone (cute/algorithm/gemm.hpp, cute/atom/mma_atom.hpp);
warpgroup_arrive is wgmma.fence, warpgroup_commit_batch and warpgroup_wait are its groups (cute/arch/mma_sm90_gmma.hpp);
an accumulator is added to unless `accumulate_` is ScaleOut::Zero (cute/atom/mma_traits_sm90_gmma.hpp). Only mistakes on
every path are reported, and none across a call whose code is unknown. Rules: PTX ISA 9.1, 9.7.15.7.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lanescope.cute.calls.functions import FUNCTIONS, OpenCuteValueError
from lanescope.errors import LayoutError
from lanescope.reader.code.cute.cute_mmas import CuteAtom, find_tiled_mma
from lanescope.reader.code.cute.cute_values import CuteEvaluator
from lanescope.reader.code.findings import BodilessCall, Pitfall
from lanescope.reader.code.values import CALLED, ArrayValue, OpaqueValue
from lanescope.workbench.kernels.kernel_runs import KernelEvent, KernelRun, KernelText
from lanescope.workbench.kernels.wgmma_groups import RunningProducts, describe_short_wait
from lanescope.workbench.text.function_texts import find_enclosing_function

Accumulators = tuple[str, tuple[int, int]]  # the call that makes them, and its place

_MAKES = frozenset(("make_fragment_C", "partition_fragment_C"))
_ACCESSES = frozenset("copy copy_if copy_aligned axpby transform fill".split())
# CuTe's and CUTLASS's functions that neither multiply nor order wgmma
_QUIET = frozenset(
    "size rank shape stride depth cosize layout data begin end get select congruent local_tile local_partition with"
    " tma_partition group_modes flatten tensor recast partition_A partition_B partition_C partition_S partition_D"
    " retile partition_fragment_A partition_fragment_B make_fragment_A make_fragment_B get_slice get_thread_slice"
    " get_tma_tensor get_tma_descriptor thr_id elect_one_sync print print_tensor thread thread0 block0 index phase"
    " count PipelineState producer_acquire producer_try_acquire producer_commit producer_get_barrier producer_tail"
    " consumer_wait consumer_try_wait consumer_release advance clear warpgroup_fence_operand cp_async_fence"
    " cp_async_wait CUTE_STATIC_ASSERT CUTE_STATIC_ASSERT_V CUTE_INVALID_CONTROL_PATH prefetch init wait arrive sync"
    " as_position_independent_swizzle_tensor cooperative_copy umma_arrive umma_arrive_multicast"
    " umma_arrive_multicast_2x1SM allocate free release_allocation_lock arrive_and_expect_tx initialize_barrier"
    " wait_barrier set_barrier_transaction_bytes".split()
)
_KNOWN = _QUIET | _MAKES | FUNCTIONS
_FOREIGN = re.compile(r"\busing\s+namespace\s+(?!(?:::)?(?:cute|cutlass|std)\b)")
_ADDS = re.compile(r"\b(?:\w+(?:\.|->))?accumulate_\s*=\s*(?:\w+::)*ScaleOut::One\s*;")
_NO_ACCESS = re.compile(
    r"\b(?:warpgroup_fence_operand|print|size|rank|sizeof|decltype|shape|layout)\s*(?:<\d*>)?\s*\([^()]*\)"
    r"|\b\w+\.data\(\)\s*="
)


@dataclass(frozen=True, slots=True)
class _Step:
    """What a kernel does at an event: gemm, fence, commit, wait, clear, access, view (no effect on memory) or unknown.

    sums: the accumulators that it writes or reads; atom: of a gemm.
    """

    kind: str
    event: KernelEvent
    sums: frozenset[Accumulators] = frozenset()
    atom: CuteAtom | None = None

    @property
    def is_grouped(self) -> bool:
        """Whether it issues wgmma, which ends with a group."""
        return self.atom is not None and self.atom.form is not None and not self.atom.in_tensor_memory

    @property
    def in_memory(self) -> bool:
        """Whether its accumulators are in tensor memory."""
        return self.atom is not None and self.atom.in_tensor_memory


def find_cute_order_mistakes(text: KernelText) -> list[Pitfall]:
    """Find mistakes in the order of CuTe's gemm and of what reads its accumulators, each once."""
    if not re.search(r"\bgemm\s*\(", text.blank) or "cute" not in text.code.text or _FOREIGN.search(text.blank):
        return []
    return text.check_runs(lambda kernel: _find_mistakes(kernel, text))


def _find_mistakes(kernel: KernelRun, text: KernelText) -> Iterator[Pitfall]:
    steps = [_read_step(event, text.code.text) for event in kernel.events]
    products = [step for step in steps if step.kind == "gemm"]
    grouped = [step for step in products if step.is_grouped]
    reset = list(_check_reset(text, steps))
    if grouped and any(step.kind in ("fence", "commit", "wait") for step in steps):  # else an excerpt
        yield from _check_fence(kernel.name, grouped[0], steps)
        if not reset:  # which writes accumulators, too
            yield from _check_groups(text, steps)
    yield from _check_unset(text, products, steps)
    yield from reset


def _read_step(event: KernelEvent, text: str) -> _Step:
    """Read what an event does."""
    if event.kind in ("fence", "commit", "wait"):
        return _Step(event.kind, event)
    if isinstance(event.run, BodilessCall):
        return _read_call(event, event.run.term, text)
    return _Step("unknown" if event.kind in ("unknown", "wgmma", "tcgen05") else "view", event)


def _read_call(event: KernelEvent, call: OpaqueValue, text: str) -> _Step:
    """Read what a call of a function of CuTe, or of a tensor, does."""
    if call.head == "gemm" and call.text.startswith(("gemm(", "cute::gemm(")):
        return _read_product(event, call, text)
    if any(isinstance(index, OpaqueValue) and index.text == "_" for index in call.arguments):
        return _Step("view", event)  # tile(_, 0)
    indexed = [value for name, value in call.named if name == CALLED]  # tile(0)
    sums = frozenset(filter(None, map(_find_accumulators, indexed or call.arguments)))
    if indexed or call.head in _ACCESSES:
        return _Step("access" if sums else "view", event, sums)
    if call.head == "clear" and sums:
        return _Step("clear", event, sums)
    return _Step("view" if event.kind != "unknown" or call.head in _KNOWN else "unknown", event, sums)


def _read_product(event: KernelEvent, call: OpaqueValue, text: str) -> _Step:
    """Read gemm(mma, A, B, C) or gemm(mma, D, A, B, C)."""
    values = call.arguments
    found = _find_accumulators(values[{4: 3, 5: 1}.get(len(values), 0)]) if values else None
    try:
        atom = find_tiled_mma(values[0], CuteEvaluator(text, None).evaluate_value).atom if found else None
    except (OpenCuteValueError, LayoutError):
        atom = None
    if found is None or atom is None:
        return _Step("unknown", event)
    return _Step("gemm", event, frozenset((found,)), atom)


def _find_accumulators(value: Any, depth: int = 0) -> Accumulators | None:
    """Return the accumulators that a value is, or is a part of."""
    kind = value.typed if isinstance(value, ArrayValue) and not value.cells else value
    if not isinstance(kind, OpaqueValue) or depth > 4:
        return None
    if kind.head in _MAKES and kind.span is not None:
        return kind.head, kind.span
    named = dict(kind.named)
    return _find_accumulators(named[CALLED], depth + 1) if CALLED in named else None


def _check_fence(kernel: str, first: _Step, steps: Sequence[_Step]) -> Iterator[Pitfall]:
    if not any(step.kind in ("fence", "unknown") for step in steps[: steps.index(first)]):
        yield Pitfall(
            "wgmma_fence_missing",
            f"{kernel} calls gemm, which issues wgmma.mma_async, without a warpgroup_arrive (wgmma.fence) before it:"
            " the accesses to its registers before it are not ordered.",
            first.event.at,
        )


def _check_groups(text: KernelText, steps: Sequence[_Step]) -> Iterator[Pitfall]:
    """Yield the first use of accumulators whose gemm may be running."""
    running = RunningProducts[_Step]()
    for step in steps:
        if step.is_grouped:
            running.loose.append(step)
            continue
        running.follow(step.kind, step.event)
        if step.kind in ("access", "clear"):
            writing = [product for product in (*running.grouped, *running.loose) if product.sums & step.sums]
            if writing and writing[-1].event.leads_to(step.event):
                yield _describe_running(text, writing[-1], step, running)
                return


def _describe_running(text: KernelText, product: _Step, access: _Step, running: RunningProducts[_Step]) -> Pitfall:
    name = _name_accumulators(text, next(iter(product.sums & access.sums))) or "the accumulator"
    wait = running.find_last_wait(product.event)
    if wait is None:
        message = (
            f"{name} is used while the wgmma of gemm that write it may be running: no warpgroup_wait waits for them"
            " before."
        )
        return Pitfall("wgmma_wait_missing", message, access.event.at)
    if product in running.loose:
        message = (
            "No warpgroup_commit_batch follows this gemm: its wgmma are in no group, so the warpgroup_wait after it"
            f" does not wait for them, and {name} is used then."
        )
        return Pitfall("wgmma_commit_missing", message, product.event.at)
    return Pitfall("wgmma_wait_short", describe_short_wait(f"warpgroup_wait<{wait.count}>", wait.count, name), wait.at)


def _check_unset(text: KernelText, products: Sequence[_Step], steps: Sequence[_Step]) -> Iterator[Pitfall]:
    """Yield accumulators that every gemm adds to, and that nothing sets before the first."""
    if re.search(r"\baccumulate_\b|\bScaleOut\b", _ADDS.sub("", text.blank)):
        return
    for sums in dict.fromkeys(found for step in products for found in step.sums):
        first = next(step for step in products if sums in step.sums)
        name = _name_accumulators(text, sums)
        if name and _is_never_set(text, name, sums, first, steps):
            where, way = ("memory", "Set") if first.in_memory else ("registers", f"Call clear({name}), or set")
            yield Pitfall(
                "accumulator_unset",
                f"{name} is not set before the first gemm, which computes D = A·B + D and adds to {where} that nothing"
                f" has written. {way} accumulate_ to ScaleOut::Zero the first time.",
                sums[1],
            )


def _is_never_set(text: KernelText, name: str, sums: Accumulators, first: _Step, steps: Sequence[_Step]) -> bool:
    """Return whether a function declares accumulators, nothing sets them before their first gemm, and they are used."""
    at = _find_place_after(text, sums[1][0], first)
    if at is None:
        return False
    before = steps[: steps.index(first)]
    named = re.search(rf"\b{name}\b", _NO_ACCESS.sub("", text.blank[sums[1][1] : at]))
    if named or any(sums in step.sums and step.kind != "view" for step in before):
        return False
    if first.in_memory and any(_may_set(step, sums) for step in before):
        return False
    return any(sums in step.sums and step.kind in ("access", "view", "unknown") for step in steps)


def _find_place_after(text: KernelText, declared: int, product: _Step) -> int | None:
    """Return where the function that declares accumulators runs a gemm, or calls what does; None if it does neither."""
    function = find_enclosing_function(text.blank, declared)
    run = product.event.run
    places = [span[0] for _, span in product.event.calls]
    places += [run.term.span[0]] if isinstance(run, BodilessCall) and run.term.span is not None else []
    return next((at for at in places if function is not None and declared < at < function.body[1]), None)


def _may_set(step: _Step, sums: Accumulators) -> bool:
    """Return whether unknown code may set accumulators in tensor memory, which it does not have to name."""
    return step.kind == "unknown" and step.event.at[0] > sums[1][1]


def _check_reset(text: KernelText, steps: Sequence[_Step]) -> Iterator[Pitfall]:
    """Yield where accumulators are cleared between two gemm of one function, and nothing reads the first one's sum."""
    last: dict[Accumulators, _Step] = {}  # gemm whose sum nothing has read
    cleared: dict[Accumulators, _Step] = {}  # what clears it
    for step in steps:
        last, cleared = ({} if step.kind == "unknown" else _keep_own(kept, step) for kept in (last, cleared))
        for sums in step.sums:
            if step.kind == "clear" and _leads_to(last.get(sums), step):
                cleared[sums] = step
            elif step.kind == "gemm" and _leads_to(cleared.get(sums), step) and (name := _name_whole(text, sums)):
                message = f"{name} is cleared before gemm adds to it again, and nothing reads the sum so far."
                yield Pitfall("accumulator_reset", message, cleared[sums].event.at)
                return
            elif step.kind == "gemm":
                last[sums] = step
            elif step.kind in ("access", "view"):
                last.pop(sums, None)


def _keep_own(steps: Mapping[Accumulators, _Step], last: _Step) -> dict[Accumulators, _Step]:
    """Return the steps of the function that runs the last one."""
    return {sums: step for sums, step in steps.items() if step.event.calls == last.event.calls}


def _leads_to(step: _Step | None, later: _Step) -> bool:
    return step is not None and step.event.leads_to(later.event)


def _name_whole(text: KernelText, sums: Accumulators) -> str:
    """Return the variable of accumulators; "" if it is not found, or if the text uses parts or members of it."""
    name = _name_accumulators(text, sums)
    return "" if re.search(rf"\b{name}\s*[\[.]", text.blank) else name


def _name_accumulators(text: KernelText, sums: Accumulators) -> str:
    """Return the variable that accumulators are declared as, "" if it is not found."""
    match = re.search(r"([A-Za-z_]\w*)\s*=\s*(?:[\w.]+(?:\.|::|->))?\Z", text.blank[: sums[1][0]])
    return match[1] if match else ""
