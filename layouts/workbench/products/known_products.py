"""Run kernels that multiply tiles of threads with different M, N and K, and compare every element of D with A·B.

An element of D at row m and column n is the sum over all k of A[m, k] · B[k, n], each k once. With numbers for M, N and
K each place in an array says which row, column, k and matrix of a batch it is, whatever the code computes it from: a
step, a pitch or a bound of another size gives other places. A kernel for which this does not hold may be right, such as
one with weights in an order of their own, so that it is open and not wrong. Wrong is what leaves no doubt: D of bytes
that nothing has stored, and sums that miss, or have too many, of the same number of k at one end, whatever K is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

from lanescope.deadline import OverdueError
from lanescope.workbench.fragments.skipped_slices import adds_result
from lanescope.workbench.products.attention import Verdict
from lanescope.workbench.products.known_bounds import (
    are_equal,
    describe_bound,
    describe_guard,
    describe_tail,
    find_half_exchange,
    list_bound_edits,
    list_guard_edits,
)
from lanescope.workbench.products.known_fragments import explain_nothing, find_change
from lanescope.workbench.products.known_mistakes import (
    FACTOR_MISPLACED,
    OTHER_LOADS,
    WRONG_TRANSPOSE,
    describe_part,
    find_other_type,
    find_outside_load,
    find_unfilled,
    find_wrong_access,
    leaves_slices,
    may_be_completed,
)
from lanescope.workbench.products.known_runs import USUAL, OtherTail
from lanescope.workbench.products.known_sums import UNCOVERED, KnownFragment, OpenPart, find_collision, find_part_of_k
from lanescope.workbench.products.other_sizes import DEEP, FIRST, LAST, TAILED, has_own_tail, list_other_sizes
from lanescope.workbench.products.product_report import ProductVerdict
from lanescope.workbench.products.replaced_sizes import limits_depth
from lanescope.workbench.products.searched_runs import LONGEST, SearchedRun
from lanescope.workbench.products.size_names import (
    NamedSizes,
    explain_sizes,
    has_blocks,
    has_other_numbers,
    list_named_sizes,
    list_own_sizes,
    list_sizes,
    names_square,
)
from lanescope.workbench.products.sum_examples import give_example
from lanescope.workbench.repair.flags import edit_load, flip_transposes
from lanescope.workbench.repair.repairs import apply_edits
from lanescope.workbench.results import CheckFinding, Span, TextEdit
from lanescope.workbench.text.function_texts import blank_text

_DEEP = 4  # times the usual K
MOST_FLIPS, MOST_EDITS = 6, 12  # transpose immediates, and edits of a load or of bounds, that are tried
_WGMMA = re.compile(r"wgmma\s*\.\s*mma_async(?:\s*\.\s*\w+)*")


def _is_followed(part: OpenPart) -> bool:
    """Return whether the products and places of all elements of D are known."""
    return part.whole or (part.wrong is not None and part.wrong.fragment is not None)


@dataclass(frozen=True, slots=True)
class KnownJudge(SearchedRun):
    """Judges a kernel in runs with known sizes."""

    def judge_launched(self) -> Verdict:
        """Judge D with the sizes of the launch, if it gives them."""
        return self.fit_launch().judge_named()

    def judge_named(self) -> tuple[OpenPart | None, CheckFinding | None]:
        """Judge D, also with M, N and K by other names if the kernel lacks one of them: only a proof counts there."""
        few = len(self.sizes) < 3
        square = self._judge_renamed() if few and len(list_sizes(self.text, self.function)) == 1 else None
        if square is not None:
            return square
        open_part, mistake = self.judge()
        if open_part is not None and open_part.choices:
            return self._judge_choices(open_part)
        if mistake is not None or open_part is None or open_part.whole or not few:
            return open_part, mistake
        return self._judge_renamed() or (open_part, None)

    def _judge_renamed(self) -> Verdict | None:
        """Judge D with M, N and K by other names, of which only a proof counts, or as one number; None if D is open."""
        named = chain(list_named_sizes(self.text, self.function, self.recorded, USUAL), self._list_own_sizes())
        runs = [self.rename_sizes(one) for one in named]
        judged = [run.judge(explain=False) for run in runs[:1]]
        if (None, None) in judged or any(run.judge(explain=False) == (None, None) for run in runs[1:]):
            return None, None
        square = all(map(names_square, list_sizes(self.text, self.function)))
        if not runs or not square or not all(run.is_square for run in runs):
            return None
        first = next(runs[0].list_verdicts())
        return (judged[0][0], runs[0].find_short_grid(first)) if first.grid is not None else None

    def _judge_choices(self, open_part: OpenPart) -> tuple[OpenPart | None, CheckFinding | None]:
        """Judge D for each choice of #if; what is wrong with one is wrong if the others cannot be followed."""
        judged = [replace(self, choice=n).judge() for n in range(open_part.choices)]
        if all(one == (None, None) for one in judged):
            return None, None
        mistakes = {(found.code, found.span): found for _, found in judged if found is not None}
        followed = any(found is None and (of is None or _is_followed(of)) for of, found in judged)
        return open_part, next(iter(mistakes.values())) if len(mistakes) == 1 and not followed else None

    def _list_own_sizes(self) -> Iterator[NamedSizes]:
        """Yield what M, N and K are if one block of a kernel without integers computes all of D."""
        if has_blocks(self.text, self.function) or list_sizes(self.text, self.function):
            return
        fragments = [one for of in next(self.list_verdicts()).fragments.values() for one in of]
        for known in list_own_sizes(self.text, fragments):
            yield NamedSizes(self.text, self.recorded, known, alone=True)

    def judge(self, explain: bool = True) -> tuple[OpenPart | None, CheckFinding | None]:
        """Return (why D is not known to be A·B, None if it is with some strides that its parameters may have; what is
        certainly wrong). explain: whether to search for what is wrong if no strides give A·B.
        """
        if exchange := find_half_exchange(self.text, self.function, self.recorded, self.choose_sizes()[0]):
            return OpenPart("its launch exchanges sizes, and not A and B with them", exchange), None
        if self.exact and self.known.k > LONGEST * self.parts:
            return OpenPart(f"a run with K = {self.known.k:,}, which its launch has, is too long"), None
        verdicts: list[ProductVerdict] = []
        for verdict in self.list_verdicts():
            if verdict.open is None:
                return self._judge_right(verdict)
            verdicts.append(verdict)
        open_part = explain_sizes(verdicts[-1].open, set("mnk") if self.known.names else self.sizes)
        if not explain:
            return open_part, None
        return open_part, self._find_cause(verdicts)

    def _judge_right(self, verdict: ProductVerdict) -> tuple[OpenPart | None, CheckFinding | None]:
        """Judge what else is run, and with other sizes. verdict: D is A·B."""
        any_ = any(verdict.fragments.values())
        count = self.known.m * self.known.n
        known = find_change(verdict.runners, count) if any_ else explain_nothing(verdict.runners, self.known.k)
        head = self.text[self.text.rfind("__global__", 0, self.function.body[0]) : self.function.body[0]]
        types = (find_other_type(self.text, head, run) for run in verdict.runners)
        found = next(filter(None, types), None) or (self._find_outside_load(verdict) if known is None else None)
        if known is None and found is None and (tail := self.find_other_tail(verdict)) is not None:
            return tail.open, self._find_tail_edit(verdict, tail) or tail.outside
        return self._judge_again(verdict) or (known, found)

    def _find_cause(self, verdicts: Sequence[ProductVerdict]) -> CheckFinding | None:
        """Return what is certainly wrong; None if it is not found in time."""
        first = verdicts[0]
        try:
            found = (
                self.find_short_grid(first)
                or self._find_guard(first)
                or self._find_bound(first)
                or self._find_edit(first)
            )
            return found or self._find_mistake(verdicts)
        except OverdueError:
            return None

    def _judge_again(self, verdict: ProductVerdict) -> tuple[OpenPart, CheckFinding | None] | None:
        """Return why D is not A·B with other sizes, and the bound that is wrong; None if D is right, or if there is no
        time for other runs. verdict: of this run.
        """
        others = () if self.exact else list_other_sizes(self.text, self.function, verdict.runners, self.known)
        runs = (
            (replace(self, known=replace(known, names=self.known.names), alone=block), spans)
            for known, block, spans in others
        )
        judged = (run._judge_other(verdict, spans) for run, spans in runs if run._may_differ)
        try:
            return next(filter(None, judged), None)
        except OverdueError:
            return None

    @property
    def _may_differ(self) -> bool:
        """Return whether a kernel has to be right with these sizes, too, and the last block is that at the corner."""
        return self.known == DEEP or not (self.given is not None or (self.alone == LAST and self.takes_turns))

    def _judge_other(
        self, before: ProductVerdict, spans: Sequence[Span]
    ) -> tuple[OpenPart, CheckFinding | None] | None:
        """Return what is wrong with the sizes of this run. before: the verdict with others; spans: the bounds that this
        run is for.
        """
        verdicts = list(self.list_verdicts())
        why = next((one.open for one in verdicts if one.open not in (None, UNCOVERED)), None)
        every = [one for of in before.fragments.values() for one in of]
        runners = verdicts[0].runners
        if why is None or any(one.open in (None, UNCOVERED) for one in verdicts):
            return None
        if self.known == TAILED and not has_own_tail(self.text, before.runners, runners, every):
            return None
        reason = f"with M = {self.known.m}, N = {self.known.n} and K = {self.known.k}, {why.reason}"
        seen = {span for one in before.runners for span, _ in one.compared}
        new = {span for one in runners for span, _ in one.compared} - seen
        found = self._find_guard(verdicts[0]) or self._find_bound(verdicts[0], new)
        return OpenPart(reason + give_example(why.wrong), spans[0] if spans else why.span), found

    def _find_guard(self, verdict: ProductVerdict) -> CheckFinding | None:
        """Return the finding of a condition that puts zeros in place of elements, and with which D is A·B after a
        change.
        """
        fragments = (one for of in verdict.fragments.values() for one in of)
        if not any(side.zeros is not None for one in fragments for each in one.products for side in each.sides):
            return None
        for edit in islice(list_guard_edits(self.text, verdict.runners), MOST_EDITS):
            edited = replace(self, text=apply_edits(self.text, [edit]))
            first = next(replace(edited, alone=FIRST).list_verdicts())
            if first.open is None and edited._is_of_product():
                return describe_guard(edit)
        return None

    def _find_bound(self, verdict: ProductVerdict, always: Collection[Span] = ()) -> CheckFinding | None:
        """Return the finding of a bound with which D is A·B if it is another one of M, N and K.

        If both others give A·B, the bound may name the right size beside a wrong number, and nothing is reported.
        """
        found: dict[Span, list[TextEdit]] = {}
        for edit in islice(list_bound_edits(self.text, verdict.runners, self.known, always), MOST_EDITS):
            equal = are_equal(self.function, self.recorded, (self.text[slice(*edit.span)], edit.text))
            edited = replace(self, text=apply_edits(self.text, [edit]))
            # if only whether all tiles are computed is open, an edit has to show that they are
            if not equal and edited._is_product_in_both_runs() and (verdict.open != UNCOVERED or edited._is_proved()):
                found.setdefault(edit.span, []).append(edit)
        certain = (edits[0] for edits in found.values() if len(edits) == 1)
        return next((describe_bound(self.text, edit) for edit in certain), None)

    def _find_tail_edit(self, verdict: ProductVerdict, tail: OtherTail) -> CheckFinding | None:
        """Return the finding of the only comparison with which the last block stores the elements inside D, and loads
        those of A and B.
        """
        found: dict[Span, list[TextEdit]] = {}
        compared = {span for run in tail.runners for span, _ in run.compared}
        bounds = list_bound_edits(self.text, tail.runners, tail.known, compared)
        for edit in islice(chain(bounds, list_guard_edits(self.text, tail.runners)), MOST_EDITS):
            edited = replace(self, text=apply_edits(self.text, [edit]))
            if edited.find_other_tail(verdict) is None and edited._is_of_product():
                found.setdefault(edit.span, []).append(edit)
        if len(found) != 1 or len(edits := found.popitem()[1]) > 1:
            return None
        return describe_tail(self.text, edits[0], tail.open.reason) if tail.open is not None else None

    def _is_of_product(self) -> bool:
        """Return whether all that is run is of A·B."""
        return any(verdict.open in (None, UNCOVERED) for verdict in self.list_verdicts())

    def _is_proved(self) -> bool:
        """Return whether D is A·B with some strides."""
        return any(verdict.open is None for verdict in self.list_verdicts())

    def _is_product_in_both_runs(self) -> bool:
        """Return whether all that is run is of A·B, first of one block."""
        return self.shorten_run(self.known.k, 1)._is_of_product() and self._is_of_product()

    def _find_mistake(self, verdicts: Sequence[ProductVerdict]) -> CheckFinding | None:
        """Return what is certainly wrong, if the sum of no other kernel is added to D, and K may be that of the run."""
        refused = limits_depth(blank_text(self.text), self.known.k)
        if self.exact or refused or not self.choose_sizes()[0].are_named:
            return None
        return next(filter(None, map(self._judge_verdict, verdicts)), None)

    def _judge_verdict(self, verdict: ProductVerdict) -> CheckFinding | None:
        """Return what is certainly wrong with one choice of strides."""
        doubt = any(run.undecided or run.open_loads for run in verdict.runners)
        found = None if doubt else next(filter(None, map(find_wrong_access, verdict.runners)), None)
        doubt |= may_be_completed(self.text, self.function, self.recorded, verdict.stored)
        doubt |= any(map(adds_result, verdict.runners))
        if found is not None or doubt:
            return found
        other = verdict.open.factor if verdict.open is not None else None
        if other is not None and other.site is not None:
            return CheckFinding("factor_misplaced", FACTOR_MISPLACED.format(other.array), other.site)
        found_of = (self._judge_fragments(verdict, launch) for launch in verdict.fragments)
        return next(filter(None, found_of), None)

    def _judge_fragments(self, verdict: ProductVerdict, launch: int) -> CheckFinding | None:
        fragments = verdict.fragments[launch]
        found = find_unfilled(self.text, verdict.runners[0], fragments, len(self.sizes) == 3)
        return found or self._find_part(verdict, launch) or self._find_collision(fragments)

    def _find_collision(self, fragments: Sequence[KnownFragment]) -> CheckFinding | None:
        """Return the finding of elements of D that are stored over others, if the launch gives no other numbers."""
        if len(self.sizes) < 3 or has_other_numbers(self.text, self.function, self.recorded, self.known):
            return None
        found = find_collision(fragments, self.known)
        if found is None:
            return None
        message = f"Different elements of D are stored at the same place: those of {found[1]}."
        return CheckFinding("result_misplaced", message, found[0])

    def _find_outside_load(self, verdict: ProductVerdict) -> CheckFinding | None:
        """Return the finding of a load beyond a matrix, if a long K has it, too: K may fill the stages of a ring."""
        found = find_outside_load(verdict)
        if found is None or self.exact:
            return found
        again = next(replace(self, known=replace(self.known, k=_DEEP * self.known.k)).list_verdicts())
        return found if again.open is None and find_outside_load(again) is not None else None

    def _find_edit(self, verdict: ProductVerdict) -> CheckFinding | None:
        """Return the finding of the first edit that makes D A·B: of a transpose immediate of wgmma, or of an ldmatrix
        that loads other rows than the others.
        """
        reads = {use.span for run in verdict.runners for use in run.descriptors}
        ends = (one.end() for first, past in reads for one in _WGMMA.finditer(self.text, first, past))
        edits = (edit for end in ends for edit in flip_transposes(self.text, end))
        tried = dict.fromkeys(islice(dict.fromkeys(edits), MOST_FLIPS), WRONG_TRANSPOSE)
        if verdict.open is not None and verdict.open.load is not None:
            loads = edit_load(self.text, verdict.open.load)
            tried |= {edit: OTHER_LOADS[len(edit) - 1] for edit in islice(loads, MOST_EDITS)}
        for edit, (code, message) in tried.items():
            edited = replace(self, text=apply_edits(self.text, edit))
            if edited._is_product_in_both_runs():
                return CheckFinding(code, message.format(edit[0].text), edit[0].span, edits=edit)
        return None

    def _find_part(self, verdict: ProductVerdict, launch: int) -> CheckFinding | None:
        """Return the loop that leaves out some k, or goes on beyond K, and does so with another K."""
        fragments = verdict.fragments[launch]
        part = find_part_of_k(fragments, self.known, verdict.grid)
        has_gaps = bool(part) and len(part) <= part[-1] - part[0]
        if not part or (has_gaps and not leaves_slices(verdict.runners[0], fragments)):
            return None
        again = replace(self, known=replace(self.known, k=2 * self.known.k, others=self.known.others + 1))
        times = again.known.k // self.known.k
        more = range(part[0], part[-1] + 1 + again.known.k - self.known.k)
        expected = {n * self.known.k + k for n in range(times) for k in part} if has_gaps else more
        for other in again.list_verdicts():
            found = find_part_of_k(other.fragments.get(launch, ()), again.known, other.grid)
            if found == tuple(sorted(expected)):
                return describe_part(self.text, fragments, part, self.known.k)
        return None
