"""Find reads of bytes whose copies arrive on mbarriers that the kernel has not waited for.

A wait of any thread counts, since a barrier between threads may pass it on. Nothing is reported where a wait may not be
known: a call that may wait, or an address that may be that of the copies' barrier; nor in an excerpt that uses its
mbarriers for nothing but copies. Phases are not followed. Rules: PTX ISA 9.1, 9.7.13.15 (mbarrier).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lanescope.reader.code.findings import AsmRun
from lanescope.reader.code.symbolic_integers import LinearExpression
from lanescope.workbench.copies.copied_bytes import FilledBytes, find_buffer
from lanescope.workbench.copies.transfers import is_known
from lanescope.workbench.kernels.kernel_runs import KernelEvent, KernelRun, KernelText
from lanescope.workbench.text.asm_operands import find_operand_argument, join_strings
from lanescope.workbench.text.known_values import require_known
from lanescope.workbench.text.shared_variables import are_separate

_WAIT = re.compile(r"(?:try|test)_wait")
_ADDRESS = re.compile(r"(?:try|test)_wait[\w.:]*\s+%?\w+\s*,\s*\[\s*(%\w+|%\[\w+\])\s*\]")
_OTHER_WAITS = frozenset({"warpgroup_wait"})  # of calls without a body: for no mbarrier
_NAME = re.compile(r"&?[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_USE = re.compile(r"mbarrier\.(?:init|arrive|expect_tx|try_wait|test_wait)")


@dataclass(frozen=True, slots=True)
class BarrierWait:
    """A wait for an mbarrier. array: the variable or member that the barrier is in; address: that of the barrier."""

    run: AsmRun
    array: str
    address: LinearExpression


class CopyWaits:
    """The waits for mbarriers of one kernel run."""

    def __init__(self, text: KernelText, run: KernelRun) -> None:
        self.text, self.run = text, run
        self.waits = _list_waits(text, run)

    def are_missing(self, event: KernelEvent, fills: Sequence[FilledBytes]) -> bool:
        """Return whether a product certainly reads before any thread has waited for the copies that fill its bytes."""
        if self.waits is None or not fills:
            return False
        return all(self._is_missing(event, fill, self.waits) for fill in fills)

    def _is_missing(self, event: KernelEvent, fill: FilledBytes, waits: Sequence[BarrierWait]) -> bool:
        key = fill.copy.barrier
        array, _, rest = key.partition(" ")
        if not _NAME.fullmatch(array):
            return False
        exact = fill.sure and re.fullmatch(r"(?:\+ \d+)?", rest) is not None and self._are_all_run(event, waits)
        for wait in waits:
            other = wait.array != array and are_separate(wait.array, array, self.text.blank)
            other |= exact and wait.array == array and len(wait.address.terms) == 1 and str(wait.address) != key
            later = wait.run.order > event.order and wait.run.arms[: len(event.arms)] == event.arms
            if not other and not later:
                return False
        return True

    def _are_all_run(self, event: KernelEvent, waits: Sequence[BarrierWait]) -> bool:
        """Return whether every iteration with a wait was run that may come before a product."""
        cut = self.text.code.cut_variables | self.text.code.unbounded_variables
        around = {name for name, _ in event.loops}
        return "" not in cut and all(name in around or name not in cut for w in waits for name, _ in w.run.loops)


def _list_waits(text: KernelText, run: KernelRun) -> list[BarrierWait] | None:
    """List the waits of a kernel run; None if one may not be known."""
    own = [asm for asm in text.code.asm_runs if _is_of(asm.calls, run)]
    if not is_known(run) or not _uses_barriers(run, own):
        return None
    called = (call.term for call in text.code.bodiless_calls if _is_of(call.calls, run))
    if any("wait" in term.text.lower() and term.head not in _OTHER_WAITS for term in called):
        return None
    return require_known(_read_wait(asm) for asm in own if _WAIT.search(join_strings(asm.text)))


def _read_wait(asm: AsmRun) -> BarrierWait | None:
    """Read an asm statement that waits; None if its barrier is open, or if it has several waits."""
    code = join_strings(asm.text)
    match = _ADDRESS.search(code)
    value = find_operand_argument(asm, match[1], 0)[0] if match is not None else None
    address = value.plain if value is not None else None
    array = find_buffer(address) if address is not None else ""
    if address is None or not _NAME.fullmatch(array) or len(_WAIT.findall(code)) > 1:
        return None
    return BarrierWait(asm, array, address)


def _uses_barriers(run: KernelRun, own: Iterable[AsmRun]) -> bool:
    """Return whether a kernel initializes, arrives on, or waits for mbarriers; else the text leaves that out."""
    return any(event.kind == "expect" for event in run.events) or any(_USE.search(join_strings(a.text)) for a in own)


def _is_of(calls: Sequence[tuple[str, object]], run: KernelRun) -> bool:
    return any(name == run.name for name, _ in calls)
