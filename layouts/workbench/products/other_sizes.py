"""Choose other sizes for a kernel whose D is A·B with the first ones: each bound of a wrong size shows with some.

A bound along K shows if K is larger than M and N, one of rows if M is larger than N, and one of the last slice of K if
that is not whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from lanescope.reader.threads.memory.comparisons import DIFFERENT, MET, UNMET, Compared
from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.products.known_bounds import is_in_head, list_open_bounds
from lanescope.workbench.products.known_matrices import KnownMatrices
from lanescope.workbench.products.known_sums import KnownFragment
from lanescope.workbench.results import Span
from lanescope.workbench.text.function_texts import FunctionText, blank_text

DEEP = KnownMatrices(512, 256, 768)  # K is the largest, else k < M and k < N are always met
TURNED = KnownMatrices(2816, 1792)  # M is larger than N, else row < N is always met for rows of M
TAILED = KnownMatrices(k=400)  # 16 elements are left after slices of 32 to 128
FIRST, LAST = "first", "last"  # block that is run
_MULTIPLE = re.compile(r"\bK\s*%\s*(\w+)\s*(?:==|!=)\s*0", re.I)
_WHOLE_DEPTH = re.compile(r"\bK\b[^.\n]{0,40}\b(?:multiple|divisible|divides)\b|\bdivid\w+ K\b", re.I)


def list_other_sizes(
    text: str, function: FunctionText, runs: Sequence[KernelRunner], known: KnownMatrices
) -> Iterator[tuple[KnownMatrices, str, Sequence[Span]]]:
    """Yield (other sizes, the block that is run with them, the bounds that they are for) of a kernel with bounds.

    runs: with the first sizes, which are known.
    """
    if spans := list_open_bounds(text, runs, known):
        yield DEEP, FIRST, spans
    if spans := _list_size_bounds(runs, known):
        yield TURNED, LAST, spans
    if not _requires_whole_slices(text, function.body) and (_list_guards(text, runs, known) or _has_unmet(runs)):
        yield TAILED, FIRST, ()


def has_own_tail(
    text: str, runs: Sequence[KernelRunner], others: Sequence[KernelRunner], fragments: Sequence[KnownFragment]
) -> bool:
    """Return whether the code has bounds for a last slice of K that is not whole, and blocks do not share K. runs: with
    whole slices, others: with TAILED.
    """
    if any(one.bits < 8 or (one.adds and one.depth > 1) for one in fragments):
        return False
    before, after = (_join_guards(of) for of in (runs, others))
    if any(before.get(span) != after.get(span) for span in _list_guards(text, others, TAILED)):
        return True
    compared, blank = {span for run in runs for span in run.outcomes}, blank_text(text)
    new = {span for run in others for span, of in run.outcomes.items() if DIFFERENT in of} - compared
    return not all(is_in_head(blank, first) for first, _ in new)


def _list_size_bounds(runs: Sequence[KernelRunner], known: KnownMatrices) -> list[Span]:
    """Return the comparisons with M or N, those first that a thread does not meet."""
    sizes = known.m, known.n
    spans = {span: run.outcomes.get(span, set()) for run in runs for span, size in run.compared if size in sizes}
    return sorted(spans, key=lambda span: (spans[span] <= {MET}, span))


def _join_guards(runs: Sequence[KernelRunner]) -> Mapping[Span, Compared]:
    """Return what comparisons of a number of each thread compare with."""
    return {span: of for run in runs for span, of in run.guards.items()}


def _list_guards(text: str, runs: Sequence[KernelRunner], known: KnownMatrices) -> set[Span]:
    """Return the comparisons of a number of each thread with K or what is left of it, outside the heads of loops."""
    blank = blank_text(text)
    found = _join_guards(runs).items()
    spans = {span for span, of in found if of.least < of.greatest or of.greatest == known.k}
    return {span for span in spans if not is_in_head(blank, span[0])}


def _has_unmet(runs: Sequence[KernelRunner]) -> bool:
    """Return whether no thread meets a comparison, such as one for the part of K that slices leave."""
    every = {span for run in runs for span in run.outcomes}
    return any({UNMET} == set().union(*(run.outcomes.get(span, ()) for run in runs)) for span in every)


def _requires_whole_slices(text: str, body: Span) -> bool:
    """Return whether a comment, an assertion, or code outside of a kernel's body says that K is a multiple of another
    number than of 16.
    """
    blank = blank_text(text)
    for one in _MULTIPLE.finditer(text):
        first = max(blank.rfind(mark, 0, one.start()) for mark in ";{}")
        is_code = body[0] <= one.start() < body[1] and blank[one.start()].strip()
        choice = is_code and "assert" not in blank[first : one.start()]
        if not choice and (not one[1].isdigit() or TAILED.k % int(one[1])):
            return True
    return bool(_WHOLE_DEPTH.search(text))
