"""The mbarriers of a kernel with tcgen05: which commits signal them, and which threads wait for them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property

from lanescope.reader.code.findings import BodilessCall, Pitfall
from lanescope.workbench.results import Span
from lanescope.workbench.tensor_memory.tensor_places import narrow_operand
from lanescope.workbench.tensor_memory.tensor_steps import MULTICAST, TensorKernel, TensorStep, find_base
from lanescope.workbench.text.known_values import require_known
from lanescope.workbench.text.loop_texts import find_next_statement, list_loops_at

_ARRIVES = re.compile(r"arrive|expect|cp_async|_async$")  # names of functions of libcu++
_LITERAL = re.compile(r"[\s(]*(?:u?int\d+_t|short|unsigned|\s)*\)*\s*(?:0[xX][0-9a-fA-F]+|\d+)[uU]?[\s)]*")
_MOST_KNOWN = 16  # turns of a loop that are run


class TensorBarriers:
    """The waits and signals of one kernel run, by the addresses of their mbarriers."""

    def __init__(self, kernel: TensorKernel) -> None:
        self.kernel = kernel
        self.waits = _list_waits(kernel.steps)
        self.commits = kernel.list_steps("commit")
        inits = [step.find_barrier() for step in kernel.list_steps("init")]
        self.names = frozenset(value.terms[0][0] for value in inits if value is not None and len(value.terms) == 1)
        self.all_inits_known = bool(inits) and all(v is not None and len(v.terms) == 1 for v in inits)

    def locate(self, step: TensorStep) -> tuple[str, int | None] | None:
        """Return (array of the mbarriers, byte offset; None if it is open) of a step; None if the array is open."""
        value = step.find_barrier()
        name = find_base(value, self.names)
        if value is None or not name:
            return None
        return name, value.const if len(value.terms) == 1 else None

    @cached_property
    def signals(self) -> list[tuple[str, int | None]] | None:
        """Where threads, commits or copies arrive; None if one may arrive anywhere."""
        if self._has_calls_that_arrive:
            return None
        steps = (*self.kernel.list_steps("arrive"), *self.commits)
        return require_known(self.locate(step) for step in steps if step.operands)

    @cached_property
    def _has_calls_that_arrive(self) -> bool:
        """Return whether calls of libcu++, such as cuda::ptx's, may arrive at mbarriers."""
        copies = (event.run for event in self.kernel.run.events if event.kind in ("bulk", "expect"))
        runs = (*copies, *(step.run for step in self.kernel.steps))
        return any(isinstance(run, BodilessCall) and _ARRIVES.search(run.term.head) for run in runs)

    def find_missing_commits(self, products: Sequence[TensorStep]) -> Iterator[Pitfall]:
        """Yield mbarriers that threads wait for and at which nothing arrives."""
        if self.signals is None or not self.all_inits_known:
            return
        seen: set[str] = set()
        for wait in self.waits:
            place = self.locate(wait)
            if place is None or place[0] in seen or self._is_signalled(place):
                continue
            seen.add(place[0])
            before = f"Nothing arrives at the mbarrier {_format_place(place)}, for which this kernel waits:"
            if self.kernel.are_disjoint(wait, products[0]) or wait.order > products[0].order:
                message = f"{before} no tcgen05.commit to it follows these products."
                yield Pitfall("tcgen05_commit_missing", message, self._find_place_of_commit(products[-1].at, wait.at))
            else:
                message = f"{before} an mbarrier.arrive or a copy to it is missing."
                yield Pitfall("barrier_arrival_missing", message, wait.at)

    def _find_place_of_commit(self, product: Span, wait: Span) -> Span:
        """Return what follows the loops of a product, but for as many as are around the wait."""
        blank = self.kernel.text.blank
        around, others = ([one for one in list_loops_at(blank, at[0]) if one.variable] for at in (product, wait))
        left = around[len(others) :]
        end = re.compile(r"\s*").match(blank, left[0].body[1]) if left else None
        at = find_next_statement(blank, product) if end is None else end.end()
        return at, at + 1

    def find_single_commits(self) -> Iterator[Pitfall]:
        """Yield commits of one CTA of a pair that signal its own mbarrier only, while both CTAs wait for theirs."""
        if self.signals is None:
            return
        commits = [step for step in self.commits if ".cta_group::2" in step.words]
        alone = [step for step in commits if self._is_of_one_cta(step) and _is_single(step)]
        others = [*self.kernel.list_steps("arrive"), *(step for step in commits if step not in alone)]
        for step in alone:
            place = self.locate(step)
            waits = [wait for wait in self.waits if self.locate(wait) == place and not self._is_of_one_cta(wait)]
            if place is None or not waits or any(self._may_meet(other, place) for other in others):
                continue
            message = (
                f"This tcgen05.commit signals the mbarrier {_format_place(place)} of one CTA only, and both CTAs of the"
                " pair wait for theirs. Use .multicast::cluster with both bits of the mask."
            )
            masked = MULTICAST in step.words
            source = step.find_source(1)
            literal = _LITERAL.fullmatch(self.kernel.text.blank, *source) is not None
            at = source if literal else narrow_operand(self.kernel.text, step, source)
            yield Pitfall("tcgen05_commit_mask", message, at if masked else step.at)

    def _is_of_one_cta(self, step: TensorStep) -> bool:
        """Return whether a step depends on a condition on the rank in the cluster."""
        return any("cluster_cta" in condition for condition in self.kernel.list_conditions(step))

    def _is_signalled(self, place: tuple[str, int | None]) -> bool:
        """Return whether something may arrive at an mbarrier."""
        name, offset = place
        offsets = {other for array, other in self.signals or () if array == name}
        if offset is None or None in offsets or len(offsets) >= _MOST_KNOWN:
            return bool(offsets)
        return offset in offsets

    # before a read ----------------------------------------------------------------------------------------------------

    def list_committed(self, last: TensorStep) -> list[str]:
        """List the mbarriers that commits after the last product signal, as text."""
        places = [self.locate(step) for step in self.commits if step.order > last.order]
        return list(dict.fromkeys(_format_place(place) for place in places if place is not None))

    def may_wait_before(self, load: TensorStep, last: TensorStep) -> bool:
        """Return whether a wait for the last products may come before a load, in its thread or before a barrier."""
        if not self.all_inits_known:
            return True
        after = [step for step in self.commits if step.order > last.order]
        for wait in self.waits:
            place = self.locate(wait)
            if place is not None and not any(self._may_meet(step, place) for step in after):
                continue
            if place is not None and self._is_of_earlier_phase(wait, place):
                continue
            apart = self.kernel.are_disjoint(wait, load)
            if self._is_passed_on(wait, load) or (wait.order < load.order and not apart):
                return True
        return False

    def _is_passed_on(self, wait: TensorStep, load: TensorStep) -> bool:
        """Return whether the threads of a wait may signal those of a load, by a barrier or an mbarrier."""
        later = (step for step in self.kernel.list_steps("sync", "arrive") if step.order > wait.order)
        signals = (step for step in later if not self.kernel.are_disjoint(step, wait))
        return any(step.order < load.order or self.kernel.are_disjoint(step, load) for step in signals)

    def find_unsignalled_wait(self, load: TensorStep) -> str:
        """Return the mbarrier of the last wait in the threads of a load, if nothing that is known arrives at it."""
        waits = [wait for wait in self.waits if wait.order < load.order and not self.kernel.are_disjoint(wait, load)]
        place = self.locate(waits[-1]) if waits else None
        if place is None or place[1] is None or waits[-1].arms != load.arms[: len(waits[-1].arms)]:
            return ""
        known = [self.locate(step) for step in (*self.kernel.list_steps("arrive"), *self.commits)]
        if self._has_calls_that_arrive:
            return ""
        return "" if any(other and _may_be_same(place, other) for other in known) else _format_place(place)

    def _is_of_earlier_phase(self, wait: TensorStep, place: tuple[str, int | None]) -> bool:
        """Return whether all waits for an mbarrier at one place of the text are for earlier phases than its last one.

        The first one passes a new mbarrier, since it waits for parity 1.
        """
        own = [other for other in self.waits if other.run.calls == wait.run.calls and self.locate(other) == place]
        elsewhere = any(other.run.calls != wait.run.calls and self._may_meet(other, place) for other in self.waits)
        commits = require_known(self.locate(step) for step in self.commits)
        if place[1] is None or elsewhere or commits is None or (place[0], None) in commits:
            return False
        return bool(own) and self.find_parity(own[0]) == 1 and len(own) <= commits.count(place)

    def _may_meet(self, step: TensorStep, place: tuple[str, int | None]) -> bool:
        """Return whether a step may be for the mbarrier at a place."""
        found = self.locate(step)
        return found is None or _may_be_same(found, place)

    def find_parity(self, wait: TensorStep) -> int | None:
        """Return the parity that a wait is for; None if it is open."""
        number = next((n for n, text in enumerate(wait.operands) if text.strip().startswith("[")), None)
        return None if number is None or ".parity" not in wait.words else wait.find_number(number + 1)

    def may_signal(self, between: tuple[int, int], load: TensorStep) -> bool:
        """Return whether something between two places of the order may signal threads that then load."""
        steps = [step for step in self.kernel.steps if between[0] < step.order < between[1]]
        if any(step.kind == "sync" for step in steps):
            return True
        places = [self.locate(step) for step in steps if step.kind in ("commit", "arrive") and step.operands]
        for wait in self.waits:
            place = self.locate(wait)
            met = any(place is None or other is None or _may_be_same(place, other) for other in places)
            if met and wait.order < load.order and not self.kernel.are_disjoint(wait, load):
                return True
        return False


def _is_single(commit: TensorStep) -> bool:
    """Return whether a commit certainly signals one CTA only."""
    if MULTICAST not in commit.words:
        return True
    mask = commit.find_number(1)
    return mask is not None and mask.bit_count() == 1


def _list_waits(steps: Sequence[TensorStep]) -> list[TensorStep]:
    """List the waits for mbarriers, of those that a loop repeats until they succeed the first."""
    apart = (step for n, step in enumerate(steps) if not n or not _is_repeated(steps[n - 1], step))
    return [step for step in apart if step.kind == "wait"]


def _is_repeated(one: TensorStep, other: TensorStep) -> bool:
    same = one.kind == other.kind and one.run.calls == other.run.calls and one.at == other.at
    return same and one.find_barrier() == other.find_barrier()


def _may_be_same(one: tuple[str, int | None], other: tuple[str, int | None]) -> bool:
    return one[0] == other[0] and (one[1] is None or other[1] is None or one[1] == other[1])


def _format_place(place: tuple[str, int | None]) -> str:
    name, offset = place
    if "(" in name:
        return "of a struct"  # that has no name in the text
    return f"{name} + {offset}" if offset else name
