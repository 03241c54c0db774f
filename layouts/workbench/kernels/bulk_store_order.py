"""Find missing barriers, groups and waits around bulk copies from shared to global memory.

A bulk copy reads what all threads have stored only after a barrier, and is complete only when its group was waited for
(PTX ISA 9.1, 9.7.9.25.5 and 9.7.13). Operations that a call without a body may perform are never reported as missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lanescope.reader.code.findings import AsmRun, BodilessCall, Pitfall
from lanescope.reader.code.running.run_records import SkippedCode
from lanescope.workbench.kernels.kernel_runs import (
    KernelEvent,
    KernelRun,
    KernelText,
    Record,
    find_common_place,
    is_bulk_store,
    list_buffers,
)
from lanescope.workbench.results import Span
from lanescope.workbench.text.asm_operands import join_strings
from lanescope.workbench.text.function_texts import find_enclosing_function
from lanescope.workbench.text.loop_texts import find_next_statement, find_place_between

TITLES = {
    "bulk_barrier_missing": "No barrier between the stores of threads and the bulk copy that reads them",
    "bulk_commit_missing": "No cp.async.bulk.commit_group after a bulk copy to global memory",
    "bulk_wait_missing": "No cp.async.bulk.wait_group after a bulk copy to global memory",
}
_COMMIT = re.compile(r"cp\.async\.bulk\.commit_group|(?:tma_store_arrive|cp_async_bulk_commit_group|bulk_commit\w*)")
_WAIT = re.compile(r"cp\.async\.bulk\.wait_group|(?:tma_store_wait|cp_async_bulk_wait_group\w*|bulk_wait\w*)")
_MEETS = re.compile(r"\bbar(?:rier)?\.|(?<!a)sync|wait|barrier|arrive", re.I)
_QUIET = re.compile(r"cp\.async\.bulk|wgmma|cvta|fence|setmaxnreg|elect|cast|__shfl|__float|make_|min$|max$")


@dataclass(frozen=True, slots=True)
class _StoreOrder:
    """The bulk stores of one kernel, and everything that it runs but stores, in order."""

    text: KernelText
    kernel: KernelRun
    records: Sequence[Record]

    def find_mistakes(self) -> Iterator[Pitfall]:
        copies = [event for event in self.kernel.events if is_bulk_store(event)]
        for copy in copies:
            yield from self._check_barrier(copy)
        grouped = [copy for copy in copies if _is_grouped(copy)]
        if grouped:
            yield from self._check_groups(grouped)

    def _check_barrier(self, copy: KernelEvent) -> Iterator[Pitfall]:
        """Yield a copy by one thread of what more threads have stored, without a barrier between."""
        names = list_buffers(copy)
        stores = [
            e for e in self.kernel.events if e.kind == "store" and e.order < copy.order and names & list_buffers(e)
        ]
        if not stores:
            return
        last = stores[-1]
        alone = len(last.arms) < len(copy.arms) and copy.arms[: len(last.arms)] == last.arms
        if alone and not any(map(_may_meet, self._list_between(last.order, copy.order))):
            place = self._find_place_between(last, copy)
            name = ", ".join(sorted(names & list_buffers(last)))
            message = (
                f"One thread copies {name} to global memory, which other threads have stored, without a barrier"
                " between: it may copy the previous contents. All threads that store must reach a barrier before this."
            )
            yield Pitfall("bulk_barrier_missing", message, place)

    def _find_place_between(self, store: KernelEvent, copy: KernelEvent) -> Span:
        before, after = find_common_place(store, copy), find_common_place(copy, store)
        function = find_enclosing_function(self.text.blank, after[0])
        start = find_place_between(self.text.blank, function, before, after) if function is not None else after[0]
        return start, max(after[1], start + 1)

    def _check_groups(self, copies: Sequence[KernelEvent]) -> Iterator[Pitfall]:
        """Yield a kernel's last bulk store in no group, and one that nothing waits for."""
        last = copies[-1]
        later = self._list_between(last.order, None)
        if any(isinstance(record, SkippedCode) or _is_open(record) for record in self.records):
            return
        waits = [record for record in self.records if _matches(_WAIT, record)]
        if not any(_matches(_COMMIT, record) for record in self.records):
            wait = next((record for record in waits if record in later), None)
            at = find_next_statement(self.text.blank, last.at) if wait is None else self._find_own_place(wait, last)[0]
            message = "A cp.async.bulk.commit_group is missing before this: the bulk copies before it are in no group"
            message += ", and cp.async.bulk.wait_group does not wait for them." if waits else "."
            yield Pitfall("bulk_commit_missing", message, (at, at + 1))
        elif not waits:
            commit = next((record for record in later if _matches(_COMMIT, record)), None)
            place = last.at if commit is None else self._find_own_place(commit, last)
            at = find_next_statement(self.text.blank, place)
            message = (
                "No cp.async.bulk.wait_group follows the bulk copy: it may still read shared memory after the block has"
                " overwritten it or has ended. The wait belongs before this."
            )
            yield Pitfall("bulk_wait_missing", message, (at, at + 1))

    def _find_own_place(self, record: Record, copy: KernelEvent) -> Span:
        """Return the place of a record in the innermost function that also runs a copy."""
        span = record.term.span if isinstance(record, BodilessCall) else record.span
        return find_common_place(KernelEvent("", span, record.order, record.arms, record.calls, run=record), copy)

    def _list_between(self, order: int, past: int | None) -> list[Record]:
        return [record for record in self.records if order < record.order and (past is None or record.order < past)]


def find_bulk_store_mistakes(text: KernelText) -> list[Pitfall]:
    """Find missing operations around bulk copies to global memory, each mistake once."""
    if "bulk" not in text.code.text:
        return []

    def check(kernel: KernelRun) -> Iterator[Pitfall]:
        if kernel.complete:
            yield from _StoreOrder(text, kernel, text.list_records(kernel)).find_mistakes()

    return text.check_runs(check)


def _get_code(record: Record) -> str:
    """Return the PTX of a record, or the function that it calls."""
    if isinstance(record, AsmRun):
        return join_strings(record.text)
    return record.term.text if isinstance(record, BodilessCall) else ""


def _matches(form: re.Pattern[str], record: Record) -> bool:
    return bool(form.search(_get_code(record)))


def _may_meet(record: Record) -> bool:
    """Return whether a record may be a barrier."""
    if isinstance(record, SkippedCode):
        return True
    code = _get_code(record)
    if _MEETS.search(_BULK.sub("", code)):
        return True
    return isinstance(record, BodilessCall) and not _QUIET.search(record.term.head)


def _is_open(record: Record) -> bool:
    """Return whether a call without a body may commit or wait."""
    return isinstance(record, BodilessCall) and bool(re.search(r"store|flush|finish|drain|end", record.term.head, re.I))


def _is_grouped(copy: KernelEvent) -> bool:
    code = join_strings(copy.run.text) if isinstance(copy.run, AsmRun) else ""
    return "bulk_group" in code


_BULK = re.compile(r"cp\.async\.bulk[\w.:]*|wgmma[\w.]*sync[\w.]*|\.sync\.aligned")
