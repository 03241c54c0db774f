"""Find bounds by another size than that of their dimension, in runs with known sizes.

In a run whose tiles divide M, N and K nothing exceeds a right bound. A bound that something exceeds is wrong if D is
A·B with another size in its place.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from lanescope.cxx.source_text import split_arguments
from lanescope.inputs import capitalize_sentence
from lanescope.reader.code.running.run_records import KernelLaunchRecord
from lanescope.reader.threads.memory.comparisons import DIFFERENT, Compared
from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.products.known_matrices import KnownMatrices
from lanescope.workbench.products.product_sizes import shorten_name
from lanescope.workbench.results import CheckFinding, Span, TextEdit
from lanescope.workbench.text.function_texts import FunctionText, blank_text, find_enclosing_function

_ORDERED = re.compile(r"(?<![<>-])[<>]=?(?![<>=])")
_OTHER = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_ADDED = re.compile(r"[+-]\s*(\d+)(?![\w.]|\s*[*/%])")
_NAME = re.compile(r"((?:[A-Za-z_]\w*\s*(?:\.|->)\s*)*)([A-Za-z_]\w*)")


def list_open_bounds(text: str, runs: Sequence[KernelRunner], known: KnownMatrices) -> list[Span]:
    """Return the comparisons with M or N of what is the same in all blocks, such as an index along K."""
    found = []
    for span, size in dict.fromkeys(key for run in runs for key in run.compared):
        seen = {run.compared[span, size] for run in runs if (span, size) in run.compared}
        if len(seen) == 1 and size in (known.m, known.n) and _list_names(text, span, known, size):
            found.append(span)
    return found


def list_bound_edits(
    text: str, runs: Sequence[KernelRunner], known: KnownMatrices, always: Collection[Span] = ()
) -> Iterator[TextEdit]:
    """Yield edits that put another size into the comparisons whose values reach the size, outside the heads of loops.

    always: comparisons that are changed even if all values are less.
    """
    blank = blank_text(text)
    for span, size in sorted({key for run in runs for key in run.compared}):
        beyond = any(run.compared.get((span, size), Compared(0, 0)).greatest >= size for run in runs)
        beyond |= span in always
        names = _list_names(blank, span, known, size) if beyond else []
        for name in () if names and is_in_head(blank, span[0]) else names:
            letter = shorten_name(name[2])
            others = (_spell(blank, name, other) for other in "mnk" if other != letter)
            yield from (TextEdit(name.span(2), other) for other in others if other)


def list_guard_edits(text: str, runs: Sequence[KernelRunner]) -> Iterator[TextEdit]:
    """Yield edits of comparisons that only some threads meet: <= in place of <, the reverse, or a smaller number."""
    blank = blank_text(text)
    for first, past in sorted({span for run in runs for span, of in run.outcomes.items() if DIFFERENT in of}):
        if past > len(blank) or is_in_head(blank, first):  # in the code of a library
            continue
        for one in _ORDERED.finditer(blank, first, past):
            yield TextEdit(one.span(), _OTHER[one[0]])
        for one in _ADDED.finditer(blank, first, past):
            yield from (TextEdit(one.span(1), str(int(one[1]) >> n)) for n in (1, 2, 3) if not int(one[1]) % (1 << n))


def describe_guard(edit: TextEdit) -> CheckFinding:
    """Make the finding of a condition that puts zeros in place of elements, if D is A·B after an edit."""
    message = f"This condition leaves out elements along K: with {edit.text} here, D is A·B."
    return CheckFinding("k_slices_left", message, edit.span, edits=(edit,))


def describe_bound(text: str, edit: TextEdit) -> CheckFinding:
    """Make the finding of a bound with which D is A·B after an edit."""
    name = text[slice(*edit.span)]
    message = f"This bound compares with {name}, the size of another dimension: with {edit.text} here, D is A·B."
    return CheckFinding("bound_of_other_size", message, edit.span, edits=(edit,))


def describe_tail(text: str, edit: TextEdit, reason: str) -> CheckFinding:
    """Make the finding of a comparison that makes the last block store other elements than those inside D. reason: the
    sentence that says so.
    """
    change = f"with {edit.text} in place of {text[slice(*edit.span)]} here"
    message = f"{capitalize_sentence(reason)}: {change}, it stores these."
    return CheckFinding("result_misplaced", message, edit.span, edits=(edit,))


def are_equal(function: FunctionText, launches: Iterable[KernelLaunchRecord], names: Sequence[str]) -> bool:
    """Return whether all launches of a kernel pass the same for two of its parameters."""
    if not set(names) <= set(function.parameters):
        return False
    places = [function.parameters.index(name) for name in names]
    passed = [one.arguments for one in launches if one.name == function.name]
    alike = [len({str(of[n]) for n in places}) == 1 for of in passed if len(of) == len(function.parameters)]
    return bool(alike) and all(alike)


def find_half_exchange(
    text: str, function: FunctionText, launches: Iterable[KernelLaunchRecord], sizes: Mapping[str, int]
) -> Span | None:
    """Return the launch that gives a kernel the sizes of a run exchanged, unless it exchanges A and B as well as M and
    N, as for Dᵀ = Bᵀ·Aᵀ; None if it does neither. sizes: by the names of the kernel's parameters.
    """
    own = {shorten_name(name): size for name, size in sizes.items()}
    usual = KnownMatrices()
    expected = {"m": usual.m, "n": usual.n, "k": usual.k}
    if not own.keys() >= expected.keys() or sorted(own[of] for of in "mnk") != sorted(expected.values()):
        return None
    changed = {of for of in "mnk" if own[of] != expected[of]}
    for launch in launches if changed else ():
        call = text[slice(*launch.call)]
        given = [shorten_name(one.strip()) for one in split_arguments(call[call.rfind(">>>") + 4 : call.rfind(")")])]
        passed = dict(zip(map(shorten_name, function.parameters), given, strict=False))
        if launch.name == function.name and (changed != {"m", "n"} or (passed.get("a"), passed.get("b")) != ("b", "a")):
            return launch.call
    return None


def _list_names(text: str, span: Span, known: KnownMatrices, size: int) -> list[re.Match[str]]:
    """Return where a comparison names the size that it compares with."""
    return [one for one in _NAME.finditer(text, *span) if known.find(one[2]) == size]


def is_in_head(blank: str, at: int) -> bool:
    """Return whether a place is in the head of a loop."""
    depth = 0
    for place in range(at - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(blank[place], 0)
        if blank[place] in "{}" and depth <= 0:
            break
        if depth < 0:
            if re.search(r"\b(?:for|while)\s*$", blank[max(place - 8, 0) : place]):
                return True
            depth = 0
    return False


def _spell(blank: str, name: re.Match[str], letter: str) -> str:
    """Return what another size is called beside a name: a parameter of the function, or a member of the same object."""
    function = find_enclosing_function(blank, name.start())
    if name[1]:
        around = re.finditer(re.escape(name[1]) + r"(\w+)", blank)
        names: Iterable[str] = (one[1] for one in around)
    else:
        names = function.parameters if function is not None else ()
    return next((one for one in names if shorten_name(one) == letter), "")
