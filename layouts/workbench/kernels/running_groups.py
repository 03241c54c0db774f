"""Find which warpgroups of a kernel run an event, and the value of a symbol in each of them.

The conditions of branches are evaluated for threads of every warpgroup. What depends on anything else is open.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from lanescope.cxx.expression import evaluate_constant
from lanescope.cxx.source_text import list_argument_spans
from lanescope.errors import LayoutError
from lanescope.ptx.threads import WARPGROUP
from lanescope.reader.code.running.run_records import Fork
from lanescope.reader.code.symbolic_integers import LinearExpression
from lanescope.workbench.kernels.kernel_runs import KernelEvent, KernelText
from lanescope.workbench.results import Span
from lanescope.workbench.source.shared_budget import compute_number
from lanescope.workbench.text.function_texts import FunctionText, list_launches

MOST_GROUPS = 8  # of a block of 1,024 threads
BOUNDS = re.compile(r"__launch_bounds__\s*\(\s*([^(),]+)")
_CONFIGURED = re.compile(r"\bblockDim\s*=(?!=)\s*([^;]+);")  # of a cudaLaunchConfig_t
_DIM3 = re.compile(r"\s*dim3\s*[({](.*)[)}]\s*", re.S)
_THREAD = re.compile(r"\bthreadIdx\.([xyz])\b")
_QUOTIENT = re.compile(r"\bthreadIdx\.[xyz]/\d+")  # one symbol, also in 32·threadIdx.x/32
_NAME = re.compile(r"(?<![\w.%])[%A-Za-z_][\w.']*")
_OPEN = "an open condition"
_COMMON = re.compile(r"(?:blockIdx|blockDim|gridDim|%cluster)\b")
_TYPES = frozenset("int unsigned uint32_t int32_t bool uint64_t size_t".split())
_SAMPLED = (0, 1, 31, 32, 63, 64, 96, 127)  # threads of a warpgroup


@dataclass(frozen=True, slots=True)
class BlockShape:
    """The threads of a block along x, y and z; x is 0 if that is open."""

    x: int = 0
    y: int = 1
    z: int = 1

    @property
    def threads(self) -> int:
        return self.x * self.y * self.z

    def find_place(self, thread: int) -> dict[str, int]:
        """Return the indexes of a thread that are known, by their letter."""
        if not self.x:
            return {"x": thread}
        return {"x": thread % self.x, "y": thread // self.x % self.y, "z": thread // self.x // self.y}


OPEN_BLOCK = BlockShape()


@dataclass(frozen=True)
class WarpgroupRuns:
    """The warpgroups of the kernels of a text."""

    text: KernelText

    @cached_property
    def forks(self) -> Mapping[int, Fork]:
        return {fork.number: fork for fork in self.text.code.forks}

    @cached_property
    def leaving(self) -> tuple[Fork, ...]:
        return tuple(fork for fork in self.text.code.forks if fork.left)

    def find_block(self, kernel: str) -> BlockShape | None:
        """Return the threads of a block that a kernel is launched with, the fewest of several; else of its bounds; None
        if both are open.
        """
        return self._find_launched(kernel) or self._find_bounds(kernel)

    def _find_launched(self, kernel: str) -> BlockShape | None:
        """Return the fewest threads of the launches of a kernel; None if they are open."""
        reached = [launch.block for launch in self.text.code.launches if launch.name == kernel]
        if reached and None not in reached:
            return _find_fewest([BlockShape(*block) for block in reached if block])
        blank = self.text.blank
        alone = sum(function.kernel for function in self.text.functions) == 1
        places = [
            arguments[1] for name, arguments in list_launches(blank) if len(arguments) > 1 and (name == kernel or alone)
        ]
        if alone and not places:
            places = [match.span(1) for match in _CONFIGURED.finditer(blank)]
        return _find_fewest([self._read_shape(place) for place in places])

    def _find_bounds(self, kernel: str) -> BlockShape | None:
        """Return the threads that the launch bounds of a kernel give."""
        blank = self.text.blank
        kernels = [function for function in self.text.functions if function.kernel and function.name == kernel]
        counts = (compute_number(blank, place) for f in kernels for place in self._list_bounds(f))
        return _find_fewest([BlockShape(count) if count else None for count in counts])

    def _read_shape(self, place: Span) -> BlockShape | None:
        """Return the shape that an argument of a launch gives: a number, dim3(x, y) or a variable of that type."""
        blank = self.text.blank
        count = compute_number(blank, place)
        if count:
            return BlockShape(count)
        match = _DIM3.fullmatch(blank, *place)
        if match is None and (name := re.fullmatch(r"\s*(\w+)\s*", blank[slice(*place)])):
            declared = re.compile(rf"\bdim3\s+{name[1]}\s*(?:=\s*dim3\s*)?[({{]([^;]*)[)}}]\s*;")
            match = next(declared.finditer(blank, 0, place[0]), None)
        sizes = [compute_number(blank, at) for at in list_argument_spans(blank, *match.span(1))] if match else []
        known = [size for size in sizes if size]
        return BlockShape(*known) if known and len(known) == len(sizes) <= 3 else None

    def _list_bounds(self, function: FunctionText) -> Iterator[Span]:
        """Yield where the launch bounds of a kernel give its threads."""
        before = max((other.body[1] for other in self.text.functions if other.body[1] < function.body[0]), default=0)
        yield from (match.span(1) for match in BOUNDS.finditer(self.text.blank, before, function.body[0]))

    def list_states(self, kernel: str, event: KernelEvent) -> dict[int, bool | None]:
        """Map each warpgroup to whether it runs an event, None if that is open. Without a launch, those that may run it
        are open.
        """
        block = self.find_block(kernel)
        count = MOST_GROUPS if block is None else min(block.threads // WARPGROUP, MOST_GROUPS)
        states = {group: self._decide(event, group, block or OPEN_BLOCK) for group in range(count)}
        launched = self._find_launched(kernel) is not None  # launch bounds are an upper limit
        return {group: state if launched or not state else None for group, state in states.items()}

    def _decide(self, event: KernelEvent, group: int, block: BlockShape) -> bool | None:
        kernels = {name for name, _ in event.calls} & {f.name for f in self.text.functions if f.kernel}
        same = frozenset(name for f in self.text.functions if f.name in kernels for name in f.parameters)
        conditions = self._list_conditions(event, kernels)
        answers = [_is_condition(condition, group, block, same, wanted) for condition, wanted in conditions]
        return False if False in answers else None if None in answers else True

    def _list_conditions(self, event: KernelEvent, kernels: Collection[str]) -> Iterator[tuple[str, bool]]:
        """Yield the conditions of a kernel that an event depends on, and the truth value that each must have."""
        for number, arm in event.arms:
            fork = self.forks.get(number)
            if fork is None or _is_in_kernel(fork, kernels):
                yield fork.conditions[arm] if fork is not None else _OPEN, True
        for fork in self.leaving:
            if _is_after(event, fork) and _is_in_kernel(fork, kernels):
                yield from ((fork.conditions[arm], False) for arm in fork.left)


def _find_fewest(shapes: Sequence[BlockShape | None]) -> BlockShape | None:
    """Return the shape with the fewest threads; None if there is none, or if one is open."""
    known = [shape for shape in shapes if shape is not None]
    return min(known, key=lambda shape: shape.threads) if known and len(known) == len(shapes) else None


def _is_in_kernel(fork: Fork, kernels: Collection[str]) -> bool:
    """Return whether a fork is in a kernel, not in the function that launches it for all threads or for none."""
    return not kernels or any(name in kernels for name, _ in fork.calls)


def _is_after(event: KernelEvent, fork: Fork) -> bool:
    """Return whether an event can run only if a fork was left by none of the alternatives that end early."""
    inside = any(number == fork.number for number, _ in event.arms)
    same = event.calls[: len(fork.calls)] == fork.calls and event.arms[: len(fork.arms)] == fork.arms
    return event.order > fork.order and same and not inside


def _is_condition(condition: str, group: int, block: BlockShape, same: Collection[str], wanted: bool) -> bool | None:
    """Return whether a condition has a truth value in all threads of a warpgroup; None if it differs or is open.

    same: names of values that all threads have in common; a condition of these alone is taken to have it.
    """
    if "threadIdx" not in condition:
        return is_shared(condition, same) or None
    values = {bool(value) if value is not None else None for value in _evaluate_in_group(condition, group, block)}
    value = values.pop()
    return None if values or value is None else value == wanted


def is_shared(condition: str, same: Collection[str]) -> bool:
    """Return whether a condition has one truth value in all threads. same: as of _is_condition."""
    names = {name for name in _NAME.findall(condition) if not _COMMON.match(name)}
    return "threadIdx" not in condition and names <= {*same, *_TYPES}


@lru_cache(maxsize=4096)
def _evaluate_in_group(expression: str, group: int, block: BlockShape) -> frozenset[int | None]:
    """Return the values that an expression has in the threads of a warpgroup."""
    return frozenset(evaluate_for_thread(expression, WARPGROUP * group + n, block) for n in _SAMPLED)


def evaluate_for_thread(expression: str, thread: int, block: BlockShape = OPEN_BLOCK) -> int | None:
    """Evaluate an expression in threadIdx for a thread; None if it depends on anything else.

    >>> evaluate_for_thread("threadIdx.x/128 - 1", 0), evaluate_for_thread("(32·threadIdx.x/32) & 2047", 33)
    (-1, 32)
    >>> evaluate_for_thread("threadIdx.y", 256, BlockShape(128, 3))
    2
    """
    place = block.find_place(thread)
    whole = _QUOTIENT.sub(lambda match: f"({match[0]})", expression)
    text = _THREAD.sub(lambda match: str(place.get(match[1], match[0])), whole).replace("·", "*")
    if any(name not in _TYPES for name in _NAME.findall(text)):
        return None
    try:
        word = evaluate_constant(text).word
    except LayoutError:
        return None
    return word - (1 << 64) if word >> 63 else word


def evaluate_terms(line: LinearExpression, group: int, block: BlockShape) -> LinearExpression:
    """Return an address with the values that its thread symbols have in a warpgroup; others stay."""
    const, rest = line.const, []
    for name, factor in line.terms:
        values = _evaluate_in_group(name, group, block) if "threadIdx" in name else frozenset[int | None]()
        value = next(iter(values)) if len(values) == 1 else None
        if value is None:
            rest.append((name, factor))
        else:
            const += factor * value
    return LinearExpression(const, tuple(rest))


def depends_on_thread(terms: Iterable[tuple[str, int]]) -> bool:
    return any("threadIdx" in name for name, _ in terms)
