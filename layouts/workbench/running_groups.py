"""Find which warpgroups of a kernel run an event, and the value of a symbol in each of them.

The conditions of branches are evaluated for threads of every warpgroup. What depends on anything else is open.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from lanescope.cxx.expression import evaluate_constant
from lanescope.errors import LayoutError
from lanescope.reader.code.run_records import ThreadFork
from lanescope.reader.code.symbolic_integers import LinearExpression
from lanescope.workbench.function_texts import FunctionText, list_launches
from lanescope.workbench.kernel_runs import KernelEvent, KernelText
from lanescope.workbench.results import Span
from lanescope.workbench.shared_budget import compute_number

GROUP_THREADS = 128
MOST_GROUPS = 8  # of a block of 1,024 threads
_BOUNDS = re.compile(r"__launch_bounds__\s*\(\s*([^(),]+)")
_THREAD = re.compile(r"\bthreadIdx\.x\b")
_NAME = re.compile(r"(?<![\w.%])[%A-Za-z_][\w.']*")
_TYPES = frozenset("int unsigned uint32_t int32_t bool uint64_t size_t".split())
_SAMPLED = (0, 1, 31, 32, 63, 64, 96, 127)  # threads of a warpgroup


@dataclass(frozen=True)
class WarpgroupRuns:
    """The warpgroups of the kernels of a text."""

    text: KernelText

    @cached_property
    def forks(self) -> Mapping[int, ThreadFork]:
        return {fork.number: fork for fork in self.text.code.thread_forks}

    @cached_property
    def leaving(self) -> tuple[ThreadFork, ...]:
        return tuple(fork for fork in self.text.code.thread_forks if fork.left)

    def count_groups(self, kernel: str) -> int | None:
        """Return the least number of warpgroups that a kernel is launched with; None if the text does not say."""
        blank, functions = self.text.blank, self.text.functions
        kernels = [function for function in functions if function.kernel]
        own = [function for function in kernels if function.name == kernel]
        launched = [
            arguments[1]
            for name, arguments in list_launches(blank)
            if len(arguments) > 1 and (name == kernel or len(kernels) == 1)
        ]
        bounds = [place for function in own for place in self._list_bounds(function)]
        for places in (launched, bounds):
            counts = [compute_number(blank, functions, place) for place in places]
            threads = [count for count in counts if count is not None]
            if threads and len(threads) == len(counts):
                return min(threads) // GROUP_THREADS
        return None

    def _list_bounds(self, function: FunctionText) -> Iterator[Span]:
        """Yield where the launch bounds of a kernel give its threads."""
        before = max((other.body[1] for other in self.text.functions if other.body[1] < function.body[0]), default=0)
        yield from (match.span(1) for match in _BOUNDS.finditer(self.text.blank, before, function.body[0]))

    def list_states(self, kernel: str, event: KernelEvent) -> dict[int, bool | None]:
        """Map each warpgroup to whether it runs an event, None if that is open. Without a number of warpgroups, all
        that are possible are open.
        """
        count = self.count_groups(kernel)
        states: dict[int, bool | None] = {}
        for group in range(MOST_GROUPS if count is None else min(count, MOST_GROUPS)):
            state = self._decide(event, group)
            states[group] = None if state and count is None else state
        return states

    def _decide(self, event: KernelEvent, group: int) -> bool | None:
        taken = [
            (self.forks[number].conditions[arm], True)
            for number, arm in event.arms
            if number in self.forks and arm < len(self.forks[number].conditions)
        ]
        taken += [(fork.conditions[arm], False) for fork in self.leaving if _is_after(event, fork) for arm in fork.left]
        answers = [_is_condition(condition, group, wanted) for condition, wanted in taken]
        return False if False in answers else None if None in answers else True


def _is_after(event: KernelEvent, fork: ThreadFork) -> bool:
    """Return whether an event can run only if a fork was left by none of the alternatives that end early."""
    inside = any(number == fork.number for number, _ in event.arms)
    same = event.calls[: len(fork.calls)] == fork.calls and event.arms[: len(fork.arms)] == fork.arms
    return event.order > fork.order and same and not inside


def _is_condition(condition: str, group: int, wanted: bool) -> bool | None:
    """Return whether a condition has a truth value in all threads of a warpgroup; None if it differs or is open.

    Conditions that no thread number is in are taken to have it.
    """
    if not _THREAD.search(condition):
        return None if "threadIdx" in condition else True
    values = {evaluate_for_thread(condition, GROUP_THREADS * group + thread) for thread in _SAMPLED}
    if None in values or len({bool(value) for value in values}) > 1:
        return None
    return bool(values.pop()) == wanted


@lru_cache(maxsize=4096)
def evaluate_for_thread(expression: str, thread: int) -> int | None:
    """Evaluate an expression in threadIdx.x for a thread; None if it depends on anything else.

    >>> evaluate_for_thread("threadIdx.x/128 - 1", 0)
    -1
    """
    text = _THREAD.sub(str(thread), expression).replace("·", "*")
    if any(name not in _TYPES for name in _NAME.findall(text)):
        return None
    try:
        word = evaluate_constant(text).word
    except LayoutError:
        return None
    return word - (1 << 64) if word >> 63 else word


def evaluate_terms(line: LinearExpression, group: int) -> LinearExpression:
    """Return an address with the values that its thread symbols have in a warpgroup; others stay."""
    const, rest = line.const, []
    for name, factor in line.terms:
        value = _find_group_value(name, group)
        if value is None:
            rest.append((name, factor))
        else:
            const += factor * value
    return LinearExpression(const, tuple(rest))


@lru_cache(maxsize=4096)
def _find_group_value(name: str, group: int) -> int | None:
    """Return the value of a symbol if it is the same in all threads of a warpgroup."""
    if not _THREAD.search(name):
        return None
    values = {evaluate_for_thread(name, GROUP_THREADS * group + thread) for thread in _SAMPLED}
    return values.pop() if len(values) == 1 else None


def depends_on_thread(terms: Iterable[tuple[str, int]]) -> bool:
    return any("threadIdx" in name for name, _ in terms)
