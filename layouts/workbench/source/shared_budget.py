"""Check the shared memory of kernels against the target's limit per block, and 48 KB if a launch does not raise it.

Source: CUDA C++ Programming Guide 13.0, "Technical Specifications per Compute Capability" and cudaFuncSetAttribute.
Arrays have at most 48 KB, for a target with `a` as many bytes as a block may have (ptxas 13.5, tests/test_targets.py).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from lanescope.cxx.expression import evaluate_constant
from lanescope.cxx.sizes import find_element_bits, find_size
from lanescope.cxx.source_text import find_closing, is_kernel_head
from lanescope.descriptor.matrix import MOST_SHARED
from lanescope.errors import LayoutError
from lanescope.ptx.architectures import KB, STATIC_SHARED_MEMORY, get_architecture
from lanescope.reader.code.evaluation import Evaluation
from lanescope.reader.code.expression.integer_values import get_integer
from lanescope.reader.code.findings import Pitfall
from lanescope.reader.code.running.run_records import KernelLaunchRecord
from lanescope.workbench.kernels.kernel_runs import KernelText
from lanescope.workbench.repair.blamed_numbers import find_argument_span, find_given_value, follow_number
from lanescope.workbench.repair.blamed_terms import list_source_words
from lanescope.workbench.results import Span
from lanescope.workbench.text.function_texts import find_enclosing_function, find_functions, list_launches

TITLES = {
    "shared_memory_over": "More shared memory than a block may have",
    "shared_memory_short": "A launch gives less shared memory than the kernel stores to",
}
_ARRAY = re.compile(
    r"(?<!extern )__shared__\s+(?:(?:alignas|__align__)\s*\([^()]*\)\s*|volatile\s+)*"
    r"([\w:]+)\s+(\w+)\s*((?:\[[^\]]*\]\s*)+);"
)
_WORD = re.compile(r"\w+")
_LAUNCH = re.compile(r"\s*(?:<[^;{}]*>\s*)?<<<")  # after a kernel's name
_RAISED = re.compile(r"cudaFuncSetAttribute|cuFuncSetAttribute|MaxDynamicSharedMemorySize|hipFuncSetAttribute")
_NO_VARIABLES = frozenset("nullptr NULL true false sizeof static_cast reinterpret_cast const_cast".split())
_DEEP = 8


@dataclass(frozen=True, slots=True)
class _SharedLimit:
    """The limit of bytes per block, and its target."""

    bytes: int
    where: str

    def __str__(self) -> str:
        kb = f"{self.bytes // KB} KB, " if not self.bytes % KB else ""
        return f"{self.bytes:,} ({kb}{self.where})"


def _get_limit(target: str, static: bool) -> _SharedLimit | None:
    """Return the limit of a target, "" for any; None if undocumented. static: of its arrays."""
    if not target:
        return _SharedLimit(MOST_SHARED, "on sm_90 and sm_100")
    most = get_architecture(target).block_shared_memory
    if static and not target.endswith("a"):
        return _SharedLimit(STATIC_SHARED_MEMORY, f"of arrays, for {target}")
    return _SharedLimit(most, f"on {target}") if most is not None else None


def find_budget_mistakes(text: KernelText, target: str = "") -> list[Pitfall]:
    """Find kernels and launches that exceed the shared memory of a target ("" for any)."""
    if text.code.python or not is_kernel_head(text.code.text):
        return []
    arrays, limit = _get_limit(target, True), _get_limit(target, False)
    return [
        *(_check_arrays(text.blank, arrays) if arrays else ()),
        *(_check_limits(text.code, text.blank, limit) if limit else ()),
        *_check_launches(text.code, text.blank),
    ]


def _check_arrays(blank: str, limit: _SharedLimit) -> Iterator[Pitfall]:
    """Yield kernels whose arrays, as far as known, are more than ptxas 13.5 takes; older releases take 48 KB."""
    for kernel in find_functions(blank):
        body = blank[slice(*kernel.body)]
        if not kernel.kernel or re.search(r"^[ \t]*#[ \t]*(?:if|el)", body, re.M):
            continue
        sizes: dict[Span, int] = {}
        for match in _ARRAY.finditer(blank, *kernel.body):
            before = blank[kernel.body[0] : match.start()]
            if before.count("{") == before.count("}"):
                size = count_array_bytes(blank, match)
                sizes.update({match.span(3): size} if size is not None else {})
        total = sum(sizes.values())
        if total > limit.bytes:
            yield Pitfall(
                "shared_memory_over",
                f"The __shared__ arrays of {kernel.name} have {total:,} bytes; a block has at most {limit}.",
                max(sizes, key=lambda span: sizes[span]),
            )


def count_array_bytes(blank: str, match: re.Match[str]) -> int | None:
    """Count the bytes of an array, None if they are open. match: its groups 1 and 3 are its type and its brackets."""
    name = match[1].rpartition("::")[2]
    known, bits = find_size(name), find_element_bits(name)
    size = known.bytes if known is not None else bits // 8 if bits and bits % 8 == 0 else None
    counts = [
        compute_number(blank, (match.start(3) + dimension.start(1), match.start(3) + dimension.end(1)))
        for dimension in re.finditer(r"\[([^\]]*)\]", match[3])
    ]
    sure = [count for count in counts if count is not None]
    return prod(sure) * size if size and len(sure) == len(counts) else None


def _check_limits(code: Evaluation, blank: str, limit: _SharedLimit) -> Iterator[Pitfall]:
    """Yield limits that are raised beyond what a block may have."""
    reported: set[Span] = set()
    for call in code.bodiless_calls:
        arguments = call.term.arguments
        if (
            call.term.head != "cudaFuncSetAttribute"
            or len(arguments) != 3
            or "MaxDynamicShared" not in str(arguments[1])
        ):
            continue
        value = get_integer(arguments[2])
        at = find_argument_span(blank, call.term.span, 2)
        if value is None or value.known is None or value.known <= limit.bytes or at is None:
            continue
        place = follow_number(blank, at, call.calls)
        if place not in reported:
            reported.add(place)
            yield Pitfall(
                "shared_memory_over",
                f"{value.known:,} bytes of dynamic shared memory; a block has at most {limit}. The call fails, and so"
                " does the launch.",
                place,
            )


def _check_launches(code: Evaluation, blank: str) -> Iterator[Pitfall]:
    """Yield launches with more than 48 KB for a kernel whose limit is not raised."""
    kernels = {function.name for function in find_functions(blank) if function.kernel}
    unraised = {name for name in kernels - _find_raised(blank, kernels) if _is_only_launched(blank, name)}
    found: dict[Span, int] = {}
    for name, arguments in list_launches(blank):
        if len(arguments) >= 3 and name in unraised:
            count = compute_number(blank, arguments[2])
            found.update({arguments[2]: count} if count is not None else {})
    for launch in code.launches:
        if launch.size is not None and launch.name in unraised:
            found.setdefault(launch.span, launch.size)
    for span, count in found.items():
        if count > STATIC_SHARED_MEMORY and not _passes_undeclared(blank, span):
            yield Pitfall(
                "shared_memory_over",
                f"The launch asks for {count:,} bytes of shared memory; without cudaFuncSetAttribute(…,"
                f" cudaFuncAttributeMaxDynamicSharedMemorySize, …) it gets at most {STATIC_SHARED_MEMORY:,}, and"
                " fails.",
                span,
            )


def find_short_launches(
    blank: str,
    recorded: Sequence[KernelLaunchRecord],
    needed: Mapping[str, int],
    evaluate: Callable[[Span], int | None] = lambda at: None,
) -> Iterator[Pitfall]:
    """Yield launches with less dynamic shared memory than their kernel certainly stores to. needed: of each kernel;
    evaluate: returns the value of an expression of which only the threads know it, such as the size of a struct.
    """
    sizes = {launch.span: launch.size for launch in recorded}
    names = {launch.span: launch.name for launch in recorded}  # also of kernels that a variable holds
    for written, arguments in list_launches(blank):
        if len(arguments) < 2:
            continue
        sized = len(arguments) > 2  # else there are 0 bytes
        at = arguments[2 if sized else -1]
        name = names.get(at, written)
        if not needed.get(name) or _passes_undeclared(blank, arguments[0]):
            continue
        known = _find_size(blank, at, sizes, evaluate) if sized else 0
        if known is not None and known < needed[name] and not _is_size_passed(blank, arguments):
            yield Pitfall(
                "shared_memory_short",
                f"The launch gives {name} {known:,} bytes of dynamic shared memory, and its threads and"
                f" copies fill {needed[name]:,}.",
                follow_number(blank, at, ()) if sized else at,
            )


def _find_size(
    blank: str, at: Span, recorded: Mapping[Span, int | None], evaluate: Callable[[Span], int | None]
) -> int | None:
    """Return the bytes that an argument of a launch gives; None if they are not known."""
    count = compute_number(blank, at)
    if count is None:
        count = recorded.get(at)
    return evaluate(follow_number(blank, at, ())) if count is None else count


def _is_size_passed(blank: str, arguments: Sequence[Span]) -> bool:
    """Return whether the bytes of a launch depend on what the kernel is passed: it may store to as many."""
    opening = blank.find("(", blank.find(">>>", arguments[-1][1]))
    passed = set(re.findall(r"[A-Za-z_]\w*", blank[opening : find_closing(blank, opening)]))
    return len(arguments) > 2 and bool(passed & list_source_words(blank, arguments[2]))


def _passes_undeclared(blank: str, launch: Span) -> bool:
    """Return whether a launch passes a name that the text has nowhere else: then it is an excerpt of its host code."""
    at = blank.find("(", blank.find(">>>", launch[0]) % len(blank))
    if at < 0:
        return False
    passed = blank[at : find_closing(blank, at)]
    names = set(re.findall(r"(?<![\w.:>])[A-Za-z_]\w*", passed)) - _NO_VARIABLES
    inside, everywhere = Counter(_WORD.findall(passed)), _index_words(blank)
    return any(inside[name] == len(everywhere[name]) for name in names)


@lru_cache(maxsize=2)
def _index_words(blank: str) -> Mapping[str, list[int]]:
    """Return the places of each word of a text, which is asked for every launch."""
    places = defaultdict[str, list[int]](list)
    for word in _WORD.finditer(blank):
        places[word[0]].append(word.start())
    return places


def _is_only_launched(blank: str, name: str) -> bool:
    """Return whether a text names a kernel only where it declares or launches it."""
    others = (at for at in _index_words(blank)[name] if not _LAUNCH.match(blank, at + len(name)))
    return all(_is_declared(blank, at) for at in others)


def _is_declared(blank: str, at: int) -> bool:
    """Return whether a name follows void, or the parenthesis of an attribute."""
    while at and blank[at - 1].isspace():
        at -= 1
    return blank.endswith(("void", ")"), 0, at) and not blank.endswith("*)", 0, at)


def _find_raised(blank: str, kernels: set[str]) -> set[str]:
    """Return the kernels whose limit may be raised: those that a call which raises one names, else all."""
    raised: set[str] = set()
    for match in _RAISED.finditer(blank):
        called = match[0] != "MaxDynamicSharedMemorySize"
        past = find_closing(blank, blank.find("(", match.end())) + 1 if called else 0
        first = find_argument_span(blank, (match.start(), past), 0) if called else None
        named = set(re.findall(r"[A-Za-z_]\w*", blank[slice(*first)])) & kernels if first is not None else set()
        if called and not named:
            return kernels
        raised |= named
    return raised if raised or not _RAISED.search(blank) else kernels


def compute_number(blank: str, at: Span, depth: int = 0) -> int | None:
    """Compute an expression of a text from its constants; None if it depends on anything else."""
    known: dict[str, str] = {}
    text = blank[slice(*at)]
    for name in dict.fromkeys(re.findall(r"(?<![\w.])[A-Za-z_]\w*", re.sub(r"sizeof\s*\([^()]*\)", "", text))):
        if find_size(name) is not None:
            continue  # a cast
        function = find_enclosing_function(blank, at[0])
        further = find_given_value(blank, name, at) if depth < _DEEP else None
        if further is None or (function is not None and name in function.parameters):
            return None
        value = compute_number(blank, further, depth + 1)
        if value is None:
            return None
        known[name] = str(value)
    try:
        return evaluate_constant(re.sub(r"(?<![\w.])[A-Za-z_]\w*", lambda name: known.get(name[0], name[0]), text)).word
    except LayoutError:
        return None
