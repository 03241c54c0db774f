"""Find a name of M, N or K in place of which another makes D A·B: of a bound, a pitch, the slices of K, in a launch.

If M is less than N, a bound of the rows by N never applies: such bounds are judged in a second run, where M is greater.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice

from lanescope.cxx.source_text import list_argument_spans
from lanescope.reader.code.findings import Pitfall
from lanescope.workbench.kernels.kernel_runs import KernelText
from lanescope.workbench.products.known_sizes import find_given
from lanescope.workbench.products.product_origins import OriginFinder, SumOrigin
from lanescope.workbench.products.product_sizes import shorten_name
from lanescope.workbench.products.replaced_sizes import Evaluate, SizedText
from lanescope.workbench.products.unproved_results import UNORDERED
from lanescope.workbench.repair.repairs import apply_edits
from lanescope.workbench.results import Span, TextEdit
from lanescope.workbench.text.function_texts import FunctionText

MOST = 6  # edits that are tried
_INDEXED = re.compile(r"\[[^][]*\]|\bif\s*\([^;{}]*\)")  # where a name is not that of a number of slices
_FACTOR = re.compile(r"\*\s*(?:\(\w+\)\s*)?$")  # before a pitch
_BOUND = "This bound compares with {}, the size of another dimension: with {} here, D is A·B."
_SLICES = "The products of a tile of D are counted by {}, which is not the size along K: with {} here, D is A·B."
_PITCH = "This pitch of D is {}, the size of another dimension: with {} here, D is A·B."
_LAUNCH = "This launch passes {} and {} for each other: exchanged here, D is A·B."
IsProved = Callable[[SizedText], bool]
Edits = Sequence[TextEdit]
Describe = Callable[[str, Edits], Pitfall]


def find_size_edits(sized: SizedText, tried: Iterable[Edits], evaluate: Evaluate, proves: IsProved) -> Edits:
    """Return the first edits of a text that make D A·B, none if none do."""
    for edits in islice(tried, MOST):
        code = evaluate(apply_edits(sized.source.code.text, edits))
        if code is None or sized.given is None:
            continue
        edited = KernelText(code)
        given = find_given(edited, code.launches, sized.given.sizes)
        if given is not None and proves(SizedText(edited, code.launches, given)):
            return edits
    return ()


def list_size_edits(
    sized: SizedText, finders: Sequence[OriginFinder], sums: Sequence[SumOrigin], reasons: Sequence[str]
) -> Iterator[tuple[Describe, Iterable[Edits]]]:
    """Yield (what describes edits, the edits) for a text of which D is not A·B. reasons: why not."""
    yield describe_slices, list_slice_edits(sized, finders, sums)
    yield describe_launch, list_launch_edits(sized, finders, sums)
    if UNORDERED in reasons:
        yield describe_pitch, list_pitch_edits(sized, finders, sums)
    else:
        yield describe_bound, list_bound_edits(sized, finders, sums, proved=False)


def list_bound_edits(
    sized: SizedText, finders: Sequence[OriginFinder], sums: Sequence[SumOrigin], proved: bool
) -> Iterator[Edits]:
    """Yield edits of bounds. proved: whether D is A·B; then all that is compared is less than another size, too, else
    something is beyond of the bound.
    """
    sizes = sorted({*sums[0].sizes, sums[0].get_depth(0) or 0})
    names = _list_names(sized, finders)
    greatest: dict[tuple[Span, int], int] = {}
    for key, compared in ((key, of) for finder in finders for key, of in finder.run.compared.items()):
        greatest[key] = max(compared.greatest, greatest.get(key, 0))
    for (span, size), most in sorted(greatest.items()):
        others = [other for other in sizes if most < other != size and (other < size) == proved]
        if size in sizes and (most < size) == proved:
            yield from _list_edits(sized, names, span, size, others)


def list_slice_edits(sized: SizedText, finders: Sequence[OriginFinder], sums: Sequence[SumOrigin]) -> Iterator[Edits]:
    """Yield edits of the name of a size that is not K's if as many slices of K are multiplied as it has."""
    names, depth = _list_names(sized, finders), sums[0].get_depth(0)
    counts = {len(one.k) * one.step for one in sums}
    kernel = _find_kernel(sized, finders)
    if depth is None or len(counts) != 1 or kernel is None:
        return
    count = counts.pop()
    if count not in sums[0].sizes or count == depth:
        return
    body = sized.source.blank[slice(*kernel.body)]
    indexed = [(kernel.body[0] + one.start(), kernel.body[0] + one.end()) for one in _INDEXED.finditer(body)]
    for edits in _list_edits(sized, names, kernel.body, count, [depth]):
        if not any(first <= edits[0].span[0] < past for first, past in indexed):
            yield edits


def list_pitch_edits(sized: SizedText, finders: Sequence[OriginFinder], sums: Sequence[SumOrigin]) -> Iterator[Edits]:
    """Yield edits of the names of M or N that are factors of an index."""
    kernel, names, sizes = _find_kernel(sized, finders), _list_names(sized, finders), sums[0].sizes
    for size in sizes if kernel is not None else ():
        assert kernel is not None
        for edits in _list_edits(sized, names, kernel.body, size, [one for one in sizes if one != size]):
            before = sized.source.blank[kernel.body[0] : edits[0].span[0]]
            if _FACTOR.search(before[before.rfind(";") + 1 :]):
                yield edits


def list_launch_edits(sized: SizedText, finders: Sequence[OriginFinder], sums: Sequence[SumOrigin]) -> Iterator[Edits]:
    """Yield the edit of a launch that passes two of M, N and K for each other, by the names of the parameters."""
    kernel, (rows, columns) = _find_kernel(sized, finders), sums[0].sizes
    launches = [one for one in sized.recorded if one.name == finders[0].run.kernel]
    if kernel is None or len(launches) != 1:
        return
    right = {"m": rows, "n": columns, "k": sums[0].get_depth(0)}
    passed = _list_names(sized, finders)
    wrong = [one for one in kernel.parameters if right.get(shorten_name(one), passed.get(one)) != passed.get(one)]
    first, past = launches[0].call
    opened = sized.source.blank.find("(", sized.source.blank.find(">>>", first, past), past)
    spans = list_argument_spans(sized.source.blank, opened + 1, past - 1)
    if len(wrong) == 2 and len(spans) == len(kernel.parameters):
        one, other = (spans[kernel.parameters.index(name)] for name in wrong)
        text = sized.source.code.text
        yield TextEdit(one, text[slice(*other)]), TextEdit(other, text[slice(*one)])


def describe_bound(text: str, edits: Edits) -> Pitfall:
    """Make the finding of a bound of another size."""
    edit = edits[0]
    return Pitfall("bound_of_other_size", _BOUND.format(text[slice(*edit.span)], edit.text), edit.span)


def describe_pitch(text: str, edits: Edits) -> Pitfall:
    """Make the finding of a pitch of another size."""
    edit = edits[0]
    return Pitfall("pitch_of_other_size", _PITCH.format(text[slice(*edit.span)], edit.text), edit.span)


def describe_slices(text: str, edits: Edits) -> Pitfall:
    """Make the finding of products that another size than K counts."""
    edit = edits[0]
    return Pitfall("k_slices_left", _SLICES.format(text[slice(*edit.span)], edit.text), edit.span)


def describe_launch(_text: str, edits: Edits) -> Pitfall:
    """Make the finding of a launch that exchanges sizes."""
    first, second = edits
    return Pitfall("dimensions_exchanged", _LAUNCH.format(second.text, first.text), (first.span[0], second.span[1]))


def _find_kernel(sized: SizedText, finders: Sequence[OriginFinder]) -> FunctionText | None:
    return next((one for one in sized.source.functions if one.kernel and one.name == finders[0].run.kernel), None)


def _list_names(sized: SizedText, finders: Sequence[OriginFinder]) -> Mapping[str, int]:
    """Return the names of numbers in a kernel: its parameters, and those of the host that are constants; not those
    that have one number in the text, of which one may be no size of a matrix.
    """
    assert sized.given is not None
    chosen, passed = sized.given.sizes.names, sized.given.arguments.get(finders[0].run.kernel, {})
    values = [*passed.values()]
    return {**chosen, **{name: value for name, value in passed.items() if chosen or values.count(value) == 1}}


def _list_edits(
    sized: SizedText, names: Mapping[str, int], span: Span, size: int, others: Sequence[int]
) -> Iterator[Edits]:
    """Yield edits in a part of a text that write a name of another size in place of each name of one."""
    for name in (name for name, value in names.items() if value == size):
        for one in re.finditer(rf"(?<![\w.>]){re.escape(name)}(?!\w)", sized.source.blank[slice(*span)]):
            at = span[0] + one.start(), span[0] + one.end()
            news = (new for other in others for new, value in names.items() if value == other and _are_alike(name, new))
            yield from ((TextEdit(at, new),) for new in news)


def _are_alike(name: str, other: str) -> bool:
    """Return whether two names are of one object, or of none."""
    return name.rpartition(".")[0] == other.rpartition(".")[0]
