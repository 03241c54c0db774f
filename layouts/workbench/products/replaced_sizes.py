"""Replace the numbers that a text gives M, N and K by different ones.

The numbers of a host's code are often equal, as in `const int M = 8192, N = 8192, K = 8192`, so that they hide
exchanged sizes, and too large for a run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial

from lanescope.cxx.expression import evaluate_constant
from lanescope.cxx.source_text import walk_outside_brackets
from lanescope.errors import LayoutError
from lanescope.reader.code.evaluation import Evaluation
from lanescope.reader.code.maps.tma_rules import TensorMap
from lanescope.reader.code.preprocessing.used_functions import blank_spans
from lanescope.reader.code.running.run_records import KernelLaunchRecord
from lanescope.workbench.kernels.kernel_runs import KernelText
from lanescope.workbench.products.known_sizes import (
    ALL_SIZES,
    GivenSizes,
    KnownSizes,
    find_given,
    has_number_of_run,
    is_depth,
    list_sizes,
    list_widths,
)
from lanescope.workbench.products.product_sizes import shorten_name
from lanescope.workbench.repair.repairs import apply_edits
from lanescope.workbench.results import Span, TextEdit
from lanescope.workbench.source.shared_budget import compute_number
from lanescope.workbench.text.function_texts import find_enclosing_function

Evaluate = Callable[[str], Evaluation | None]
_LEAST = 128  # of a number that may be a size of a matrix, not of a tile
_NAMES = 3  # M, N and K
_ASSIGNED = re.compile(r"\b([A-Za-z_]\w*)\s*(?:=(?!=)|\{)\s*")
_DEFINED = re.compile(r"^[ \t]*#[ \t]*define[ \t]+([A-Za-z_]\w*)[ \t]+(\S[^\n]*)", re.M)
_NUMBER = re.compile(r"[\d\s()*<+uUlL']+")
_ARGUMENT = re.compile(r"\bargv\b")  # a value that may be any number
Named = Mapping[str, Sequence[Span]]  # what M, N and K are assigned


_REFUSED = re.compile(r"(?<![\w.>])([A-Za-z_]\w*)\s*>=?\s*(?=[\w(])")
_REQUIRED = re.compile(r"\b(?:assert|\w*(?:CHECK|ASSERT)\w*)\s*\((?:[^;{}]*[|&(])?\s*([A-Za-z_]\w*)\s*<=?\s*(?=[\w(])")
_END = re.compile(r"\b(?:exit|_Exit|abort|throw|terminate|__trap)\b|\breturn\b(?!\s*\w+\s*[(*+])")
_NEAR = 200  # characters from a condition to what it ends


class Change(Enum):
    """What differs from M < N: M is the larger one, or numbers that are equal in the text stay so."""

    NONE, TURNED, EQUAL = range(3)


@dataclass(frozen=True, slots=True)
class SizedText:
    """A text of which M, N and K are known, with its launches and what its kernels are given.

    edits: those that made it of another text; certain: whether mistakes with these sizes are mistakes of that text.
    """

    source: KernelText
    recorded: Sequence[KernelLaunchRecord]
    given: GivenSizes | None
    edits: Sequence[TextEdit] = ()
    certain: bool = True

    def restore_span(self, span: Span) -> Span:
        """Return a place of this text in the other one."""
        return self._restore(span[0]), self._restore(span[1])

    def _restore(self, at: int) -> int:
        for edit in self.edits:  # in order: the text before one of them is as it was
            past = edit.span[0] + len(edit.text)
            if at > edit.span[0]:
                at = edit.span[1] + at - past if at >= past else edit.span[0]
        return at


def replace_sizes(
    source: KernelText,
    recorded: Sequence[KernelLaunchRecord],
    evaluate: Evaluate,
    depth: int,
    change: Change = Change.NONE,
) -> SizedText | None:
    """Return a text with different numbers for M, N and K; None if it does not name them, or if what depends on them
    does not follow. evaluate: evaluates a text; depth: of K.
    """
    named = _choose_names(source)
    beside = blank_spans(source.blank, sorted(span for spans in named.values() for span in spans))
    if len(named) != _NAMES or has_number_of_run(beside, list_sizes(depth)):
        return None
    replaced = partial(_replace_named, source, recorded, evaluate, named)
    deep = [name for name in named if is_depth(name)]
    for name in deep if len(deep) == 1 else named:
        others = iter(list_widths(depth, change is Change.TURNED))
        numbers = {name: depth, **{one: next(others) for one in named if one != name}}
        found = replaced(_join_equal(source.blank, named, numbers) if change is Change.EQUAL else numbers)
        if found is not None and (len(deep) == 1 or _is_shared(found.source.maps, depth)):
            return found
    return None


def limits_depth(blank: str, depth: int) -> bool:
    """Return whether a program refuses a K as long as that of a run, or one of which the limit is not known."""
    for one in (*_REFUSED.finditer(blank), *_REQUIRED.finditer(blank)):
        past = next(walk_outside_brackets(blank, "|&;{}),", one.end(), len(blank)), one.end())
        limit = compute_number(blank, (one.end(), past)) if is_depth(one[1]) else depth
        ends = one.re is _REQUIRED or _END.search(blank[past : past + _NEAR].partition("}")[0])
        if ends and (limit is None or limit < depth):
            return True
    return False


def _choose_names(source: KernelText) -> Named:
    """Return the names whose numbers are the sizes of maps: those of M, N and K if there are others."""
    sizes = {size for one in source.maps for size in one.dims}
    found: dict[str, list[Span]] = {}
    for name, span in list_assigned(source.blank):
        found.setdefault(name, []).append(span)
    values = _read_numbers(source.blank, found)
    open_ = any(_ARGUMENT.search(symbol) for one in source.maps for symbol in one.symbols.values())
    named = {
        name: found[name]
        for name, of in values.items()
        if (open_ and None in of) or any(number in sizes for number in of if number is not None)
    }
    letters = {name: spans for name, spans in named.items() if shorten_name(name) in tuple("mnk")}
    return letters if len(letters) == _NAMES else named


def list_assigned(blank: str) -> Iterator[tuple[str, Span]]:
    """Yield (name, the place of what it is assigned) for numbers of the host, and for arguments of the program."""
    found = [(one[1], one.span(2)) for one in _DEFINED.finditer(blank)]
    for one in _ASSIGNED.finditer(blank):
        past = blank.find(";", one.end())
        span = one.end(), next(walk_outside_brackets(blank, ",;}", one.end(), past + 1), past)
        found += [(one[1], span)] if not _is_in_device_code(blank, one.start()) else []
    for name, span in found:
        value = blank[slice(*span)]
        if (_read_number(value) or 0) >= _LEAST or _ARGUMENT.search(value):
            yield name, (span[0], span[0] + len(value.rstrip()))


def _is_in_device_code(blank: str, at: int) -> bool:
    function = find_enclosing_function(blank, at)
    if function is None:
        return False
    before = max(blank.rfind(mark, 0, function.body[0] - 1) for mark in ";}")
    return function.kernel or "__device__" in blank[before + 1 : function.body[0]]


def _read_number(value: str) -> int | None:
    """Return the number that a text of digits and operators is, None for another text."""
    if not _NUMBER.fullmatch(value):
        return None
    try:
        return evaluate_constant(value).word
    except LayoutError:
        return None


def _replace_named(
    source: KernelText,
    recorded: Sequence[KernelLaunchRecord],
    evaluate: Evaluate,
    named: Named,
    numbers: Mapping[str, int],
) -> SizedText | None:
    """Return the text with some numbers for names; None if maps, launches or grids do not follow."""
    edits = [TextEdit(span, str(numbers[name])) for name, of in named.items() for span in of]
    edits.sort(key=lambda edit: edit.span)
    code = evaluate(apply_edits(source.code.text, edits))
    if code is None:
        return None
    replaced = KernelText(code)
    given = find_given(replaced, code.launches, KnownSizes(numbers))
    used = {size for one in replaced.maps for size in one.dims}
    if given is None or not used >= set(numbers.values()) or _has_same_grid(source.blank, recorded, code.launches):
        return None
    own = {numbers[name]: one for name, of in _read_numbers(source.blank, named).items() for one in of if one}
    return SizedText(replaced, code.launches, replace(given, own=own), edits, _are_apart(source.blank, named))


def _has_same_grid(blank: str, before: Sequence[KernelLaunchRecord], after: Sequence[KernelLaunchRecord]) -> bool:
    """Return whether a grid that decides which tiles a kernel computes is the same for other sizes."""
    grids = {one.name: [*map(str, one.grid)] for one in before}
    return "gridDim" not in blank and any(grids.get(one.name) == [*map(str, one.grid)] for one in after)


def _are_apart(blank: str, named: Named) -> bool:
    """Return whether the numbers of M, N and K differ, or are arguments of the program."""
    values = list(_read_numbers(blank, named).values())
    return len(set().union(*values)) == sum(map(len, values)) or all(None in of for of in values)


def _join_equal(blank: str, named: Named, numbers: Mapping[str, int]) -> dict[str, int]:
    """Return the numbers with the first of those that the text has equal for all of these."""
    before = _read_numbers(blank, named)
    return {name: next(numbers[one] for one in numbers if before[one] == before[name]) for name in numbers}


def _read_numbers(blank: str, named: Named) -> dict[str, set[int | None]]:
    """Return the numbers that names are assigned, None for an argument of the program."""
    return {name: {_read_number(blank[slice(*span)]) for span in spans} for name, spans in named.items()}


def _is_shared(maps: Sequence[TensorMap], depth: int) -> bool:
    """Return whether K is the only size that several maps have."""
    sizes = [{size for size in one.dims if size in ALL_SIZES} for one in maps]
    shared = {size for n, of in enumerate(sizes) for other in sizes[n + 1 :] for size in of & other if of != other}
    return shared == {depth}
