"""Find whether a program may be one for matrices of equal sizes, or for parts of one matrix, where any pitch is right.

A host says so by what it launches a kernel with: one variable for several sizes (`run(a, b, c, n, n, n)`), two pointers
into one array, or sizes that it compares with each other (`assert(M == N)`). Equal numbers, such as 4096 and 4096, say
nothing: another test may have others.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import combinations

from lanescope.cxx.source_text import split_arguments
from lanescope.reader.code.running.run_records import KernelLaunchRecord
from lanescope.workbench.text.dependent_names import list_assignments, list_calls
from lanescope.workbench.text.function_texts import FunctionText, blank_text, find_enclosing_function

_MOST_CALLS = 4  # around a launch
_MOST_VALUES = 6  # of variables that are given one another
_WORD = re.compile(r"[A-Za-z_]\w*")
_SIDE = r"[\w.>*\s-]+"
_COMPARED = re.compile(rf"({_SIDE})[!=]=(?!=)({_SIDE})")
_SQUARE = re.compile(r"\b\w*square\w*\s*\(([^;{}]*?)\)\s*[;)&|]", re.I)
_SHAPE = re.compile(r"(?:cute::)?make_(?:shape|tuple|coord)\s*\(")
_CAST = re.compile(r"(?:static_cast\s*<[\w: ]+>|\(\s*[\w: ]+\s*\)|\b(?:u?int\w*|long|size_t))\s*\(?\s*(\w+)\s*\)?$")
Passed = tuple[str, ...]


def may_be_equal(
    text: str, kernel: str, parameters: Sequence[str], launches: Iterable[KernelLaunchRecord], sizes: Collection[str]
) -> bool:
    """Return whether a program may be for equal sizes alone, or for parts of one matrix. sizes: those of a kernel's
    parameters that are sizes.
    """
    mine = [one for one in launches if one.name == kernel]
    passed = list(_list_passed(text, mine, len(parameters)))
    given = [[one for n, one in enumerate(of) if n >= len(parameters) or parameters[n] in sizes] for of in passed]
    if passed and all(map(_has_equal, given)):
        return True
    arrays = ([one for name, one in zip(parameters, of, strict=False) if name not in sizes] for of in passed)
    return any(map(_has_parts, arrays)) or _are_compared(text, [*parameters], passed, sizes)


def _has_equal(passed: Sequence[str]) -> bool:
    """Return whether one expression with a name is passed for two parameters."""
    return any(one == other and _WORD.search(one) for one, other in combinations(passed, 2))


def _has_parts(passed: Sequence[str]) -> bool:
    """Return whether two pointers point into one array.

    >>> _has_parts(["mat + K", "mat + K * N"]), _has_parts(["a + K", "b + K"])
    (True, False)
    """
    starts = [one[0] for of in passed if (one := re.match(r"&?\s*\(*\s*([A-Za-z_]\w*)\s*(?=[+[]|$)", of)) is not None]
    names = [re.sub(r"\W", "", of) for of in starts]
    return len(set(names)) < len(names)


def _are_compared(
    text: str, parameters: Sequence[str], passed: Iterable[Sequence[str]], sizes: Collection[str]
) -> bool:
    """Return whether a text compares two of some sizes, by their names or by what is passed for them."""
    blank = blank_text(text)
    spelt = {pair for of in passed for pair in zip(of, parameters, strict=False) if pair[1] in sizes}
    for spelling, name in sorted(spelt, reverse=True, key=lambda pair: len(pair[0])):
        if _WORD.search(spelling) and not _WORD.fullmatch(spelling):
            blank = blank.replace(spelling, f" {name} ")
    known = {name.rpartition(".")[2].lower() for name in sizes}
    sides = (
        [{*map(str.lower, _WORD.findall(side))} & known for side in one.groups()] for one in _COMPARED.finditer(blank)
    )
    if any(left and right and left != right for left, right in sides):
        return True
    return any(len({*map(str.lower, _WORD.findall(one[1]))} & known) > 1 for one in _SQUARE.finditer(blank))


def _list_passed(text: str, launches: Iterable[KernelLaunchRecord], count: int) -> Iterator[Passed]:
    """Yield what each launch passes for a kernel's parameters, then the modes of shapes among these, through the
    variables and calls of the host. count: of parameters.
    """
    blank = blank_text(text)
    for call in sorted({one.call for one in launches}):
        code = blank[slice(*call)]
        opened = code.find("(", max(code.rfind(">>>"), 0))
        given = split_arguments(code[opened + 1 : code.rfind(")")])[-count:]
        if len(given) == count:
            yield from _follow(blank, find_enclosing_function(blank, call[0]), tuple(given), _MOST_CALLS)


def _follow(blank: str, caller: FunctionText | None, passed: Passed, most: int) -> Iterator[Passed]:
    """Yield expressions with what the callers of a function pass for its parameters."""
    if caller is None:
        yield passed
        return
    values = dict[str, list[str]]()
    for name, value in list_assignments(blank, caller):
        values.setdefault(name, []).append(re.split(r"(?<![=!<>])=(?!=)", value)[-1].strip())
    passed = tuple(_replace_names(values, one) for one in passed)
    modes = (mode for one in passed if _SHAPE.match(one) for mode in split_arguments(one[one.find("(") + 1 : -1]))
    passed = *passed, *(_replace_names(values, mode) for mode in modes)
    calls = list(list_calls(blank, caller)) if most and not {*passed}.isdisjoint(caller.parameters) else []
    known = [(around, given) for around, given in calls if len(given) == len(caller.parameters)]
    for around, given in known:
        named = dict(zip(caller.parameters, given, strict=True))
        yield from _follow(blank, around, tuple(named.get(one, one) for one in passed), most - 1)
    if not known:
        yield passed


def _replace_names(values: dict[str, list[str]], passed: str) -> str:
    """Return the expression that a variable is set to, if that is one that has a name."""
    passed = _CAST.sub(r"\1", passed.strip())
    for _ in range(_MOST_VALUES):
        given = set(values.get(passed, ()))
        if len(given) != 1 or not _WORD.search(value := given.pop()):
            break
        passed = _CAST.sub(r"\1", value)
    return passed
