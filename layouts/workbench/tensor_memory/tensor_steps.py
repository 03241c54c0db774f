"""The tcgen05 instructions of a kernel in execution order, with its barriers and the threads that run each of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain

from lanescope.cxx.source_text import strip_parentheses
from lanescope.ptx.threads import WARP
from lanescope.reader.code.findings import AsmRun, BodilessCall, Pitfall
from lanescope.reader.code.running.run_records import Arms, Fork, SkippedCode
from lanescope.reader.code.symbolic_integers import LinearExpression, SymbolicInt
from lanescope.reader.instructions.statements import list_operands
from lanescope.workbench.kernels.kernel_runs import KernelRun, KernelText, find_own_place
from lanescope.workbench.kernels.running_groups import (
    OPEN_BLOCK,
    BlockShape,
    WarpgroupRuns,
    evaluate_for_thread,
    is_shared,
)
from lanescope.workbench.results import Span
from lanescope.workbench.tensor_memory.mma_runs import fill_opcode
from lanescope.workbench.text.asm_operands import find_operand_argument, join_strings

_SAMPLED = (0, 1, 31)  # lanes of a warp
_WORDS = r"(?:\.[\w%]+(?:::[\w%]+)*)*"
_INSTRUCTION = re.compile(
    r"(?P<guard>@!?[\w%]+\s+)?(?<![\w.])(?:tcgen05\.(?P<verb>(?:wait|fence)::\w+|\w+)"
    r"|(?P<wait>mbarrier\.(?:try|test)_wait)|(?P<init>mbarrier\.init)"
    r"|(?P<arrive>mbarrier\.(?!inval)\w+|cp\.async\.(?:bulk|mbarrier)|cp\.reduce\.async\.bulk|(?:st|red)\.async)"
    rf"|(?P<sync>bar|barrier))(?P<words>{_WORDS})(?![\w.:])"
)
_TENSOR_CALL = re.compile(r"tcgen05|tmem", re.I)  # of libcu++, CUTLASS or a header that is not found
_SYNC_CALL = re.compile(r"__syncthreads\w*|\w*(?:sync|wait|arrive|barrier)\w*", re.I)
_ADDRESS = re.compile(r"\[\s*(%\w+|%\[\w+\])\s*\]")
MULTICAST = ".multicast::cluster"
_Tests = tuple[tuple[str, ...], tuple[str, ...]]  # what a thread has to pass, and conditions under which it has left


@dataclass(frozen=True, slots=True)
class TensorStep:
    """One instruction of a kernel run.

    kind: the verb of tcgen05 (mma, ld, wait::ld, …), or wait, init, arrive (for an mbarrier) or sync; words: its
    qualifiers; at: its place in the kernel's own lines; guarded: whether a predicate of PTX guards it.
    """

    kind: str
    words: str
    operands: tuple[str, ...]
    run: AsmRun | BodilessCall
    at: Span
    guarded: bool = False
    code: str = ""

    @property
    def order(self) -> int:
        return self.run.order

    @property
    def span(self) -> Span:
        return self.run.term.span if isinstance(self.run, BodilessCall) else self.run.span

    @property
    def site(self) -> tuple[Span, tuple[tuple[str, Span], ...]]:
        """The place of the instruction with the calls that lead to it."""
        return self.span, self.run.calls

    @property
    def arms(self) -> Arms:
        return self.run.arms

    def find_value(self, number: int) -> LinearExpression | None:
        """Return the value of an operand; None if it is open."""
        value = self.find_integer(number)
        return None if value is None else value.make_linear()

    def find_integer(self, number: int) -> SymbolicInt | None:
        """Return the value of an operand by its bits; None if it is open."""
        argument = self.operands[number].strip("[] ") if number < len(self.operands) else ""
        return find_operand_argument(self.run, argument, 0)[0] if isinstance(self.run, AsmRun) else None

    def find_number(self, number: int) -> int | None:
        """Return the value of an operand that is one number; None otherwise."""
        value = self.find_value(number)
        return value.const if value is not None and not value.terms else None

    def find_source(self, number: int) -> Span:
        """Return where an operand is given; the place of the step if that is not known."""
        argument = self.operands[number].strip("[] ") if number < len(self.operands) else ""
        return find_operand_argument(self.run, argument, 0)[1] if isinstance(self.run, AsmRun) else self.at

    def find_barrier(self) -> LinearExpression | None:
        """Return the address of the mbarrier that it is for; None if it is open."""
        addresses = [operand for operand in self.operands if _ADDRESS.fullmatch(operand.strip())]
        place = self.operands.index(addresses[-1]) if addresses else None
        return None if place is None else self.find_value(place)


@dataclass(frozen=True)
class TensorKernel:
    """The instructions of one kernel run, and the threads of its block."""

    text: KernelText
    run: KernelRun
    steps: tuple[TensorStep, ...]

    def list_steps(self, *kinds: str) -> list[TensorStep]:
        return [step for step in self.steps if step.kind in kinds]

    @cached_property
    def _groups(self) -> WarpgroupRuns:
        return WarpgroupRuns(self.text)

    @cached_property
    def block(self) -> BlockShape:
        """The threads of a block; OPEN_BLOCK if they are open."""
        return self._groups.find_block(self.run.name) or OPEN_BLOCK

    def find_state(self, step: TensorStep, thread: int) -> bool | None:
        """Return whether a thread runs a step; None if that is open."""
        tests = self._tests.get(id(step.run))
        if tests is None:
            tests = self._tests[id(step.run)] = tuple(self.list_conditions(step)), tuple(self._list_left(step))
        if (tests, thread) not in self._states:
            answers, left = ([_is_true(condition, thread, self.block) for condition in part] for part in tests)
            open_ = None if None in (*answers, *left) else True
            self._states[tests, thread] = False if False in answers or True in left else open_
        return self._states[tests, thread]

    @cached_property
    def _tests(self) -> dict[int, _Tests]:
        """The conditions on the path to each record, by its id."""
        return {}

    @cached_property
    def _states(self) -> dict[tuple[_Tests, int], bool | None]:
        """Whether a thread passes some conditions."""
        return {}

    def list_warps(self, step: TensorStep, all_lanes: bool = True) -> list[int]:
        """List the warps of which all threads certainly run a step, or some do."""
        quantify = all if all_lanes else any
        warps = range(self.block.threads // WARP)
        return [w for w in warps if quantify(self.find_state(step, WARP * w + lane) for lane in _SAMPLED)]

    def are_disjoint(self, one: TensorStep, other: TensorStep) -> bool:
        """Return whether certainly no thread runs both steps."""
        arms = dict(other.arms)
        if any(arms.get(number, arm) != arm for number, arm in one.arms):
            return True
        if not self.block.threads:
            return False
        threads = [WARP * warp + lane for warp in range(self.block.threads // WARP) for lane in _SAMPLED]
        return all(
            self.find_state(one, thread) is False or self.find_state(other, thread) is False for thread in threads
        )

    def list_conditions(self, step: TensorStep) -> list[str]:
        """List the undecided conditions under which a step runs in a kernel that is launched."""
        forks = self._groups.forks
        return [
            forks[number].conditions[arm] if number in forks else "an open condition"
            for number, arm in step.arms
            if number not in forks or self._holds(forks[number])
        ]

    def _holds(self, fork: Fork) -> bool:
        """Return whether a fork is in the kernel, not in what launches it for all threads or for none."""
        return len(fork.calls) >= len(self.run.calls)

    def _list_left(self, step: TensorStep) -> list[str]:
        """List the conditions under which some threads have left before a step, and others may not."""
        parameters = {
            name for f in self.text.functions if f.kernel and f.name == self.run.name for name in f.parameters
        }
        return [
            fork.conditions[arm]
            for fork in self._groups.leaving
            if fork.order < step.order
            and self._holds(fork)
            and step.run.calls[: len(fork.calls)] == fork.calls
            and step.arms[: len(fork.arms)] == fork.arms
            and all(number != fork.number for number, _ in step.arms)
            for arm in fork.left
            if not is_shared(fork.conditions[arm], parameters)
        ]


@lru_cache(maxsize=8192)
def _is_true(condition: str, thread: int, block: BlockShape) -> bool | None:
    """Return whether a condition holds in a thread; None if that is open."""
    inside = strip_parentheses(condition.strip())
    for operator, decided in (("||", True), ("&&", False)):
        parts = _split_condition(inside, operator)
        if len(parts) > 1:
            answers = {_is_true(part, thread, block) for part in parts}
            return decided if decided in answers else None if None in answers else not decided
    if inside.startswith("!") and inside[1:2] != "=":
        answer = _is_true(inside[1:], thread, block)
        return None if answer is None else not answer
    value = evaluate_for_thread(inside, thread, block)
    return None if value is None else bool(value)


def _split_condition(condition: str, operator: str) -> list[str]:
    """Split a condition at an operator outside brackets."""
    parts, depth, first, at = [], 0, 0, 0
    while at < len(condition):
        depth += (condition[at] in "([{") - (condition[at] in ")]}")
        if not depth and condition.startswith(operator, at):
            parts.append(condition[first:at])
            first = at = at + len(operator)
        else:
            at += 1
    return [*parts, condition[first:]]


def check_tensor_kernels(text: KernelText, *checks: Callable[[TensorKernel], Iterable[Pitfall]]) -> list[Pitfall]:
    """Return the mistakes in kernels with tcgen05 of which all instructions are known, each code and place once."""
    if "tcgen05." not in text.code.text or text.code.overflowed:  # what comes later is not kept
        return []

    def check_run(run: KernelRun) -> Iterator[Pitfall]:
        kernel = _make_tensor_kernel(text, run)
        return chain.from_iterable(check(kernel) for check in checks if kernel is not None)

    return text.check_runs(check_run)


def _make_tensor_kernel(text: KernelText, run: KernelRun) -> TensorKernel | None:
    """Return a kernel run; None if one of its instructions is not known, or none is of tcgen05."""
    if not run.complete or not run.events or any(event.kind == "unknown" for event in run.events):
        return None
    body = next((f.body for f in reversed(text.functions) if f.kernel and f.name == run.name), None)
    records = text.list_records(run)
    if any(isinstance(record, BodilessCall) and _TENSOR_CALL.search(record.term.head) for record in records):
        return None
    steps = [
        step
        for record in records
        if not isinstance(record, SkippedCode)
        for step in _list_steps(record, _find_place(record, text, len(run.calls), body))
    ]
    return TensorKernel(text, run, tuple(steps)) if any(s.words.startswith(".cta_group") for s in steps) else None


def _find_place(record: AsmRun | BodilessCall, text: KernelText, depth: int, body: Span | None) -> Span:
    """Return the innermost place that leads to a record within the lines of its kernel, those of lambdas among them."""
    own = record.term.span if isinstance(record, BodilessCall) else record.span
    chain = [*(span for _, span in record.calls[depth:]), own]
    inside = [span for span in chain if body is not None and body[0] <= span[0] < body[1]]
    return inside[-1] if inside else find_own_place(text.functions, chain)


def _list_steps(record: AsmRun | BodilessCall, at: Span) -> Iterator[TensorStep]:
    if isinstance(record, BodilessCall):
        if _SYNC_CALL.fullmatch(record.term.head):
            yield TensorStep("sync", "", (), record, at)
        return
    if record.part:
        return
    code = join_strings(record.text)
    for match in _INSTRUCTION.finditer(code):
        kind = match["verb"] or next(name for name in ("wait", "init", "arrive", "sync") if match[name])
        words = fill_opcode(match["words"], record)
        operands = list_operands(f"{code[match.end() :]};")
        words = match["words"] if words is None else words
        yield TensorStep(kind, words, operands, record, at, bool(match["guard"]), code)


def find_base(address: LinearExpression | None, bases: Collection[str]) -> str:
    """Return the one symbol among some that an address begins at; "" if there is none."""
    found = [name for name, factor in address.terms if factor == 1 and name in bases] if address is not None else []
    return found[0] if len(found) == 1 else ""


def list_base_names(steps: Sequence[TensorStep]) -> frozenset[str]:
    """Return the symbols of first operands that are one symbol, or one symbol plus a constant."""
    values = [step.find_value(0) for step in steps]
    return frozenset(v.terms[0][0] for v in values if v is not None and len(v.terms) == 1 and v.terms[0][1] == 1)


def evaluate_at_thread(value: LinearExpression, base: str, thread: int, block: BlockShape) -> int | None:
    """Return an address in a thread if its base is 0; None if it depends on anything else."""
    total = value.const
    for name, factor in value.terms:
        relative = re.sub(rf"(?<![\w.]){re.escape(base)}(?![\w.\[])", "0", name) if base else name
        amount = evaluate_for_thread(relative, thread, block)
        if amount is None:
            return None
        total += factor * amount
    return total
