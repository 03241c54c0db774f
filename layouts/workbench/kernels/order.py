"""Find missing fences, groups and waits in kernels with wgmma or bulk copies, and registers that nothing sets.

Only mistakes on every path are reported. If code between two events may contain the missing operation, such as a call
of a bodiless function, nothing is reported. Rules: PTX ISA 9.1, 9.7.15.4 and 9.7.15.7.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from lanescope.reader.code.findings import AsmRun, Pitfall
from lanescope.workbench.kernels import accumulator_resets
from lanescope.workbench.kernels.accumulator_resets import find_resets
from lanescope.workbench.kernels.accumulators import Accumulator, find_access, find_accumulator, is_untouched
from lanescope.workbench.kernels.kernel_runs import (
    PRODUCTS,
    KernelEvent,
    KernelRun,
    KernelText,
    find_common_place,
    is_bulk_store,
    list_buffers,
)
from lanescope.workbench.kernels.scale_inputs import find_scale, find_scale_place
from lanescope.workbench.kernels.wgmma_groups import (
    RunningProducts,
    describe_missing_commit,
    describe_missing_fence,
    describe_missing_wait,
    describe_short_wait,
)
from lanescope.workbench.repair.blamed_numbers import follow_number
from lanescope.workbench.results import Span
from lanescope.workbench.text.asm_operands import join_strings
from lanescope.workbench.text.function_texts import find_enclosing_function
from lanescope.workbench.text.loop_texts import (
    find_next_statement,
    find_place_after_products,
    find_place_before_products,
    find_place_between,
    find_statement_start,
)

TITLES = {
    **accumulator_resets.TITLES,
    "accumulator_unset": "The accumulators are added to before they are set",
    "proxy_fence_missing": "No fence.proxy.async between the stores and the instruction that reads them",
    "wgmma_commit_missing": "No wgmma.commit_group after the wgmma",
    "wgmma_fence_missing": "No wgmma.fence before the first wgmma",
    "wgmma_wait_missing": "No wgmma.wait_group before the accumulators are used",
    "wgmma_wait_short": "wgmma.wait_group leaves the group pending whose accumulators are used",
}

_BARRIER = re.compile(
    r"__syncthreads\s*\(|\bbar(?:rier)?(?:\.cta)?\.sync|\w*(?:named_?barrier|bar_?sync|sync)\w*\s*(?:<[^<>;]*>)?\("
)


def find_order_mistakes(text: KernelText) -> list[Pitfall]:
    """Find operations of kernels in a wrong order, each mistake once."""
    if not re.search(r"mma|async.bulk|async_bulk", text.code.text):
        return []
    return text.check_runs(lambda kernel: _KernelOrder(kernel, text).find_mistakes())


@dataclass(slots=True)
class _KernelOrder:
    """The state of the search in one kernel."""

    kernel: KernelRun
    text: KernelText
    holders: dict[object, Accumulator | None] = field(default_factory=dict)  # by where the wgmma are run

    @property
    def blank(self) -> str:
        return self.text.blank

    def find_mistakes(self) -> Iterator[Pitfall]:
        events = self.kernel.events
        products = [event for event in events if event.kind == "wgmma"]
        described = any(event.kind == "tcgen05" for event in events)
        if any(map(is_bulk_store, events)) or described or (products and not _is_sketch(events, products[0])):
            yield from self._check_stores()
        if not products or _is_sketch(events, products[0]):
            return
        yield from self._check_fence(products[0])
        yield from self._check_unset(products)
        yield from find_resets(self.text, self.kernel)
        if self.kernel.complete:
            yield from self._check_groups()

    # wgmma.fence ----------------------------------------------------------------------------------------------------

    def _check_fence(self, first: KernelEvent) -> Iterator[Pitfall]:
        events = self.kernel.events
        at = events.index(first)
        if not any(event.kind in ("fence", "unknown") for event in events[:at]):
            later = next((event for event in events[at:] if event.kind in ("commit", "wait")), None)
            product = find_common_place(first, later) if later is not None else first.at
            function = find_enclosing_function(self.blank, product[0])
            start = find_place_before_products(self.blank, function, product[0]) if function else product[0]
            yield Pitfall(
                "wgmma_fence_missing",
                describe_missing_fence(self.kernel.name),
                (start, max(start + 1, product[1])),
            )

    # accumulators ---------------------------------------------------------------------------------------------------

    def _find_holder(self, event: KernelEvent) -> Accumulator | None:
        run = event.run
        key = (run.span, run.calls) if isinstance(run, AsmRun) else None
        if key not in self.holders:
            known = isinstance(run, AsmRun) and join_strings(run.text).count("wgmma.mma_async") == 1  # its own outputs
            holder = find_accumulator(run, self.blank) if isinstance(run, AsmRun) and known else None
            self.holders[key] = holder
        return self.holders[key]

    def _check_unset(self, products: Sequence[KernelEvent]) -> Iterator[Pitfall]:
        """Yield accumulators that are not initialized before the first wgmma that adds to them."""
        seen: set[tuple[str, int]] = set()
        for event in products:
            holder = self._find_holder(event)
            if holder is None or holder.key in seen:
                continue
            seen.add(holder.key)
            used = self._is_named_later(holder, products)  # else the kernel is an excerpt
            if used and is_untouched(holder, self.blank) and find_scale(event.run) not in (None, 0):
                yield Pitfall(
                    "accumulator_unset",
                    f"{holder.name} is not set before the first wgmma, whose scale-d is 1: D = A·B + D adds to"
                    f" registers that nothing has written. Set {holder.name} to 0, or give scale-d 0 the first time.",
                    self._find_given_scale(event.run) or self._find_start(holder, products),
                )

    def _find_given_scale(self, run: object) -> Span | None:
        """Return where a call gives a scale-d that the called function takes at run time; None if it is fixed there."""
        if not isinstance(run, AsmRun) or find_scale(run) is None:
            return None
        place = find_scale_place(run)
        at_run_time = any(span == place and kind.startswith("r") for kind, _, span in run.inputs)
        inside = run.span[0] <= place[0] < run.span[1]
        return None if inside or not at_run_time else follow_number(self.blank, place, run.calls)

    def _find_start(self, holder: Accumulator, products: Sequence[KernelEvent]) -> Span:
        """Return the declaration of accumulators if one call multiplies all of them, else their first product."""
        places = {other.at for event in products if (other := self._find_holder(event)) and other.key == holder.key}
        at = self.blank.rfind(holder.name, 0, holder.declared)
        return (at, at + len(holder.name)) if len(places) == 1 and at >= 0 else holder.at

    def _is_named_later(self, holder: Accumulator, products: Sequence[KernelEvent]) -> bool:
        """Return whether code after a wgmma uses its accumulators, other than in wgmma."""
        spans = [event.at for event in products]
        named = re.compile(rf"\b{holder.name}\b").finditer(self.blank, holder.at[1], holder.function.body[1])
        return any(not any(first <= match.start() < past for first, past in spans) for match in named)

    # groups ---------------------------------------------------------------------------------------------------------

    def _check_groups(self) -> Iterator[Pitfall]:
        """Yield wgmma groups whose accumulators are used without a wait."""
        running = RunningProducts[KernelEvent]()
        for event in self.kernel.events:
            if event.kind == "wait" and event.count == 0:
                yield from self._check_wait(running, event)
            if event.kind == "wgmma":
                running.loose.append(event)
            else:
                running.follow(event.kind, event)
        yield from self._check_end(running)

    def _check_wait(self, running: RunningProducts[KernelEvent], wait: KernelEvent) -> Iterator[Pitfall]:
        """Yield products whose accumulators are used before a wait for all groups, or for which it does not wait."""
        loose, grouped = running.loose, running.grouped
        if loose and not grouped and loose[-1].leads_to(wait):
            yield self._make_missing_commit(loose[-1], wait, "so wgmma.wait_group waits for nothing")
            running.loose = []
        else:
            yield from self._check_used([*loose, *grouped], wait)
            yield from self._check_left_out(loose, wait)

    def _check_used(self, running: Sequence[KernelEvent], wait: KernelEvent) -> Iterator[Pitfall]:
        """Yield the use of accumulators between the last wgmma and the wait for it."""
        holder = self._find_holder(running[-1]) if running and running[-1].leads_to(wait) else None
        if holder is None or holder.indexed or not _is_within(wait.at, holder.function.body):
            return
        used = self._find_use(holder, (holder.at[1], wait.at[0]))
        if used is not None:
            yield self._make_missing_wait(holder, used)

    def _check_left_out(self, loose: Sequence[KernelEvent], wait: KernelEvent) -> Iterator[Pitfall]:
        """Yield the last wgmma before a wait that is in no group, if its accumulators are used after the wait."""
        holder = self._find_holder(loose[-1]) if loose and loose[-1].leads_to(wait) else None
        if holder is None or not _is_within(wait.at, holder.function.body):
            return
        used = self._find_use(holder, (wait.at[1], holder.function.body[1]))
        commits = [event.at[0] for event in self.kernel.events if event.kind == "commit" and event.order > wait.order]
        if used is not None and not any(wait.at[1] <= at < used[0] for at in commits):
            why = f"so this wgmma.wait_group does not wait for them, and {holder.name} is used then"
            yield self._make_missing_commit(loose[-1], wait, why)

    def _check_end(self, running: RunningProducts[KernelEvent]) -> Iterator[Pitfall]:
        """Yield the products that may run when a kernel ends, and whose accumulators it has used."""
        for event in (*running.loose[-1:], *running.grouped[-1:]):
            holder = self._find_holder(event)
            used = self._find_use(holder, (holder.at[1], holder.function.body[1])) if holder else None
            if holder is None or used is None:
                continue
            wait = running.find_last_wait(event)
            if event in running.loose:
                why = f"so no wgmma.wait_group waits for them before {holder.name} is used"
                yield self._make_missing_commit(event, None, why)
            elif wait is not None:
                message = describe_short_wait(f"wgmma.wait_group {wait.count}", wait.count, holder.name)
                yield Pitfall("wgmma_wait_short", message, find_common_place(wait, event))
            else:
                yield self._make_missing_wait(holder, self._find_place_of_wait(event) or used)

    def _find_place_of_wait(self, product: KernelEvent) -> Span | None:
        """Return the statement after the commit of a product, in the innermost function that runs both."""
        later = (event for event in self.kernel.events if event.kind == "commit" and event.order >= product.order)
        commit = next(later, None)
        if commit is None:
            return None
        at = find_next_statement(self.blank, find_common_place(commit, product))
        return at, at + 1

    def _make_missing_commit(self, event: KernelEvent, wait: KernelEvent | None, why: str) -> Pitfall:
        """Return the mistake at the wait that follows a product; without one, after the products of its tile."""
        if wait is not None:
            later = (other for other in self.kernel.events if other.kind == "wait" and other.order > event.order)
            place = find_common_place(next(later, wait), event)
            place = find_statement_start(self.blank, place[0]), place[1]
        else:
            function = find_enclosing_function(self.blank, event.at[0])
            at = find_place_after_products(self.blank, function, event.at) if function else event.at[0]
            place = at, at + 1
        return Pitfall("wgmma_commit_missing", describe_missing_commit(why), place)

    def _find_use(self, holder: Accumulator, between: Span) -> Span | None:
        products = [
            other.at
            for event in self.kernel.events
            if event.kind == "wgmma" and (other := self._find_holder(event)) is not None
        ]
        return find_access(holder, self.blank, between, products)

    def _make_missing_wait(self, holder: Accumulator, used: Span) -> Pitfall:
        return Pitfall("wgmma_wait_missing", describe_missing_wait(holder.name), used)

    # fence.proxy.async ----------------------------------------------------------------------------------------------

    def _is_unfenced(self, store: KernelEvent, reader: KernelEvent) -> bool:
        """Return whether a reader certainly follows a store without a (possible) fence in between."""
        fences = [event for event in self.kernel.events if event.kind in ("proxy", "unknown")]
        between = any(store.order < event.order < reader.order for event in fences)
        return not between and (store.leads_to(reader) or not fences)

    def _check_stores(self) -> Iterator[Pitfall]:
        """Yield stores of threads to a buffer that an instruction of the async proxy reads without a fence."""
        events = self.kernel.events
        copies = [event for event in events if event.kind == "bulk"]
        copied = {name for event in copies if not is_bulk_store(event) for name in list_buffers(event)}
        if not all(map(list_buffers, copies)):
            return
        reported: set[str] = set()
        for reader in events:
            if reader.kind not in PRODUCTS and not is_bulk_store(reader):
                continue
            for name in sorted(list_buffers(reader) - copied - reported):
                stores = [e for e in events if e.kind == "store" and e.order < reader.order and name in list_buffers(e)]
                if not stores:
                    continue
                reported.add(name)
                if self._is_unfenced(stores[0], reader):
                    place = self._find_place_of_fence(stores[-1], reader)
                    yield Pitfall(
                        "proxy_fence_missing",
                        f"Threads store to {name}, and {_name_reader(reader)} reads it through the async proxy without"
                        " a fence.proxy.async between: it may read the previous contents. Each thread that stores must"
                        " execute fence.proxy.async before the barrier.",
                        place,
                    )

    def _find_place_of_fence(self, store: KernelEvent, reader: KernelEvent) -> Span:
        """Return the barrier between the last store and a reader, else the outermost block with the reader alone."""
        before, after = find_common_place(store, reader), find_common_place(reader, store)
        function = find_enclosing_function(self.blank, after[0])
        if function is None or not _is_within(before, function.body) or before[0] >= after[0]:
            return reader.at
        barrier = _BARRIER.search(self.text.code.text, before[1], after[0])
        if barrier is not None:
            start = find_statement_start(self.blank, barrier.start(), before[1])
        else:
            start = find_place_between(self.blank, function, before, after)
        return start, max(start + 1, after[1])


def _is_sketch(events: Sequence[KernelEvent], first: KernelEvent) -> bool:
    """Return whether a kernel is an excerpt: without fence, commit and wait, or with registers left out."""
    shape = re.search(r"mma_async\.sync\.aligned\.m64n(\d+)k\d+\.(f16|f32|s32)", getattr(first.run, "text", ""))
    if shape is None or not isinstance(first.run, AsmRun) or not {e.kind for e in events} & {"fence", "commit", "wait"}:
        return True
    registers = int(shape[1]) // (4 if shape[2] == "f16" else 2)
    return sum(kind.startswith("+") for kind, _, _ in first.run.inputs) < registers


def _name_reader(event: KernelEvent) -> str:
    return event.kind if event.kind in PRODUCTS else "the bulk copy to global memory"


def _is_within(span: Span, body: Span) -> bool:
    return body[0] <= span[0] < body[1]
