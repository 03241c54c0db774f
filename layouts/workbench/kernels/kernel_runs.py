"""The events of a kernel in execution order: fences, products, groups, waits and copies of the async proxy.

`order.py` and `transfers.py` check them. Calls with unknown effects are events as well: an operation that they may
perform is never reported as missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import takewhile

from lanescope.cxx.source_text import strip_comments
from lanescope.reader.code.evaluation import Evaluation
from lanescope.reader.code.findings import AsmRun, BodilessCall, Pitfall
from lanescope.reader.code.maps import tensor_maps
from lanescope.reader.code.maps.tma_rules import TensorMap
from lanescope.reader.code.running.run_records import Arms, Calls, MemoryStore, SkippedCode, find_last_skipped
from lanescope.reader.code.running.work_words import COMPUTING
from lanescope.reader.code.symbolic_integers import LinearExpression, SymbolicInt
from lanescope.workbench.barriers.cutlass_calls import classify_cutlass_call, is_atom_store
from lanescope.workbench.repair.blamed_terms import narrow_to_term
from lanescope.workbench.results import Span
from lanescope.workbench.text.asm_operands import find_operand_number, join_strings
from lanescope.workbench.text.function_texts import FunctionText, blank_text, find_function_at, find_functions

_STEPS = re.compile(
    r"wgmma\.fence|wgmma\.mma_async|wgmma\.commit_group|wgmma\.wait_group|tcgen05\.mma(?!\w)|fence\.proxy\.async"
    r"|cp(?:\.reduce)?\.async\.bulk(?!\.(?:commit|wait|prefetch))|cp\.async\.(?:ca|cg)|st(?:\.\w+)*\.shared|stmatrix"
    r"|mbarrier(?:\.arrive)?\.expect_tx"
)
_KINDS = {
    "wgmma.fence": "fence",
    "wgmma.mma_async": "wgmma",
    "wgmma.commit_group": "commit",
    "wgmma.wait_group": "wait",
    "tcgen05.mma": "tcgen05",
    "fence.proxy.async": "proxy",
}
PRODUCTS = frozenset(kind for opcode, kind in _KINDS.items() if ".mma" in opcode)  # kinds of events that multiply
_PARTS = {"bulk": "bulk", "expect": "expect_tx"}
# names in CUTLASS and libcu++, whose code is not in the text
_NAMED = {
    "warpgroup_arrive": "fence",
    "warpgroup_commit_batch": "commit",
    "warpgroup_wait": "wait",
    "fence_view_async_shared": "proxy",
    "tma_store_fence": "proxy",
    "fence_proxy_async": "proxy",
    "fence_proxy_async_shared_cta": "proxy",
    "barrier_arrive_tx": "expect",
    "barrier_expect_tx": "expect",
    "mbarrier_arrive_expect_tx": "expect",
}
# calls that are neither a fence, a product nor a wait
_HARMLESS = re.compile(rf"__\w+|{COMPUTING}|warpgroup_fence_operand")
_BULK_STORE = re.compile(r"cp(?:\.reduce)?\.async\.bulk(?:\.tensor)?(?:\.[1-5]d)?\.global\.shared")
_PTX_COPIES = frozenset(("cp_async_bulk", "cp_async_bulk_tensor"))  # of cuda::ptx, in both directions
_PTX_STORE_ARGUMENTS = 5  # those of a load have an mbarrier, too
_LIBRARY = re.compile(r"(?:::)?(?:cde|cuda|std)::")
_ALIAS = re.compile(r"\bnamespace\s+(\w+)\s*=\s*(?:::)?cuda::")
_LIBRARY_STORE = re.compile(r"mem(?:cpy|move|set)\w*|copy\w*|fill\w*|(?:st|red)_async")  # functions of it that store
# a variable or a member of one, perhaps with a first index, or an open sum that begins with it: storage.C, (sa[0] + …)
_BUFFER = re.compile(r"\(?([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?:\[\d+\])*(?: \+ .*)?", re.DOTALL)
_STRING = re.compile(r"\"(?:[^\"\\]|\\.)*\"")
Record = AsmRun | BodilessCall | SkippedCode


@dataclass(frozen=True, slots=True)
class KernelEvent:
    """One event of a kernel.

    kind: fence, wgmma, commit, wait, tcgen05, proxy, bulk (a copy of the async proxy), expect, store (to memory, by
    threads) or unknown; at: its place in the kernel's own lines; count: for a wait, the groups that may stay pending,
    None if open.
    """

    kind: str
    at: Span
    order: int
    arms: Arms
    calls: tuple[tuple[str, Span], ...]
    count: int | None = None
    run: AsmRun | BodilessCall | SkippedCode | MemoryStore | None = None

    @property
    def loops(self) -> tuple[tuple[str, SymbolicInt], ...]:
        """The loops around an asm statement or a call, with their counters' values."""
        return self.run.loops if isinstance(self.run, AsmRun | BodilessCall) else ()

    def leads_to(self, later: KernelEvent) -> bool:
        """Return whether every path to a later event that does not leave the kernel passes through this event."""
        return later.arms[: len(self.arms)] == self.arms


def is_bulk_store(event: KernelEvent) -> bool:
    """Return whether an event copies shared memory to global memory by the async proxy."""
    run = event.run
    if event.kind != "bulk":
        return False
    if isinstance(run, AsmRun):
        return bool(_BULK_STORE.search(join_strings(run.text)))
    if not isinstance(run, BodilessCall):
        return False
    of_ptx = run.term.head in _PTX_COPIES and len(run.term.arguments) == _PTX_STORE_ARGUMENTS
    return "shared_to_global" in run.term.head or is_atom_store(run) or of_ptx


def list_buffers(event: KernelEvent) -> set[str]:
    """Return the buffers that an event's addresses are in."""
    run = event.run
    places: list[LinearExpression] = []
    if isinstance(run, MemoryStore):
        places = [run.to]
    elif isinstance(run, AsmRun):
        places = [piece.source for _, value, _ in run.inputs if value is not None for piece in value.pieces]
    elif isinstance(run, BodilessCall):
        values = run.term.arguments
        places = [piece.source for value in values if isinstance(value, SymbolicInt) for piece in value.pieces]
        places += [value.base for value in values if getattr(value, "base", None) is not None]
    named = (_BUFFER.fullmatch(name) for place in places for name, factor in place.terms if factor == 1)
    return {match[1] for match in named if match is not None}


def find_common_place(event: KernelEvent, other: KernelEvent) -> Span:
    """Return the place of an event in the innermost function that runs both."""
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(event.calls, other.calls, strict=False)))
    if common < len(event.calls):
        return event.calls[common][1]
    return _get_span(event.run) if event.run is not None else event.at


@dataclass(frozen=True, slots=True)
class KernelRun:
    """One run of a kernel.

    calls: those that lead to it, its own last; complete: whether all its actions but stores to memory are among the
    events.
    """

    calls: tuple[tuple[str, Span], ...]
    events: tuple[KernelEvent, ...]
    complete: bool

    @property
    def name(self) -> str:
        return self.calls[-1][0]


@dataclass(frozen=True)
class KernelText:
    """A text with kernels as the kernel checks need it. blank: without comments and literals."""

    code: Evaluation

    @cached_property
    def blank(self) -> str:
        return blank_text(self.code.text)

    @cached_property
    def functions(self) -> tuple[FunctionText, ...]:
        return find_functions(self.blank)

    @cached_property
    def maps(self) -> tuple[TensorMap, ...]:
        return tensor_maps.find_named_maps(self.code)

    @cached_property
    def runs(self) -> tuple[KernelRun, ...]:
        return tuple(_list_kernel_runs(self.code, self.functions))

    def list_records(self, run: KernelRun) -> list[Record]:
        """List what a kernel runs, but for its stores to memory, in order."""
        records: tuple[Record, ...] = (*self.code.asm_runs, *self.code.bodiless_calls, *self.code.skipped)
        inner = (record for record in records if record.calls[: len(run.calls)] == run.calls)
        return sorted(inner, key=lambda record: record.order)

    def check_runs(self, check: Callable[[KernelRun], Iterable[Pitfall]]) -> list[Pitfall]:
        """Return the mistakes of all kernels, the first of each code and place."""
        found: dict[tuple[str, Span], Pitfall] = {}
        for run in self.runs:
            for mistake in check(run):
                found.setdefault((mistake.code, mistake.span), mistake)
        return list(found.values())

    def check_copies(self, check: Callable[[KernelRun], Iterable[Pitfall]]) -> list[Pitfall]:
        """Return the mistakes of all kernels if the text has tensor maps; see check_runs."""
        return self.check_runs(check) if self.runs and self.maps else []

    def narrow_event(self, event: KernelEvent, value: Span, variable: str) -> Span:
        """Return the argument, or its term with a variable, in a kernel's own lines that sets a value of an event."""
        chain = [value, *(call for _, call in reversed(event.calls))]
        return narrow_to_term(self.blank, chain, event.at, variable)


def _list_kernel_runs(code: Evaluation, functions: tuple[FunctionText, ...]) -> list[KernelRun]:
    """List the kernels of a text that are run, each launched instance separately."""
    if code.merged or code.python:
        return []
    kernels = {function.name for function in functions if function.kernel}
    if not kernels:
        return []
    groups: dict[tuple[tuple[str, Span], ...], list[KernelEvent]] = {}
    reached: dict[tuple[tuple[str, Span], ...], int] = {}  # the order of a kernel's last record, event or not
    records: list[AsmRun | BodilessCall | SkippedCode | MemoryStore]
    complete_runs = [run for run in code.asm_runs if not run.part]
    records = [*code.bodiless_calls, *complete_runs, *code.skipped, *code.memory_stores]
    ends = {calls[:2]: _find_end(code, calls) for calls in {record.calls for record in records} if calls}
    for record in sorted(records, key=lambda record: record.order):
        depth = next((n for n, (name, _) in enumerate(record.calls) if name in kernels), None)
        if depth is not None:
            inner = record.calls[depth + 1 :]
            group = groups.setdefault(record.calls[: depth + 1], [])
            reached[record.calls[: depth + 1]] = record.order
            if record.order <= (ends[record.calls[:2]] or record.order):
                chain = [*(call for _, call in inner), _get_span(record)]
                group += _list_events(record, find_own_place(functions, chain), code.text)
    return [
        KernelRun(calls, tuple(events), _is_complete(code, calls, events, reached[calls]))
        for calls, events in groups.items()
    ]


def find_own_place(functions: tuple[FunctionText, ...], chain: Sequence[Span]) -> Span:
    """Return the first place of a chain of calls that is in a function: not where a macro makes the kernel."""
    return next((place for place in chain if find_function_at(functions, place[0]) is not None), chain[0])


def _is_complete(
    code: Evaluation, calls: tuple[tuple[str, Span], ...], events: Sequence[KernelEvent], reached: int
) -> bool:
    """Return whether all events of a kernel except its stores are known. reached: the order of its last record."""
    unfinished = {name for name, _ in code.unfinished}
    if code.unread or unfinished & {name for name, _ in calls}:
        return False
    end = _find_end(code, calls)
    if end is None and "" in unfinished:
        end = max((run.order for run in code.asm_runs), default=0)
    return end is None or (bool(events) and reached < end)


def _find_end(code: Evaluation, calls: Calls) -> int | None:
    """Return the order behind which fences and waits of some calls may be left out, None if none are."""
    ends = (dict(code.overflowed).get(calls[0][0]), find_last_skipped(code.skipped, calls))
    return min((end for end in ends if end is not None), default=None)


def _get_span(record: AsmRun | BodilessCall | SkippedCode | MemoryStore) -> Span:
    return record.term.span if isinstance(record, BodilessCall) else record.span


def _list_events(
    record: AsmRun | BodilessCall | SkippedCode | MemoryStore, at: Span, text: str
) -> Iterator[KernelEvent]:
    def make(kind: str, count: int | None = None) -> KernelEvent:
        return KernelEvent(kind, at, record.order, record.arms, record.calls, count, record)

    if isinstance(record, SkippedCode):
        yield make("unknown")
    elif isinstance(record, MemoryStore):
        yield make("store")
    elif isinstance(record, AsmRun):
        for kind, rest in _list_steps(record.text):
            yield make(kind, _find_wait_count(record, rest) if kind == "wait" else None)
    else:
        kind = _classify_call(record, text)
        if kind:
            yield make(kind, _find_template_count(record) if kind == "wait" else None)


@lru_cache(maxsize=256)
def _list_steps(text: str) -> tuple[tuple[str, str], ...]:
    """List the kind of each event of an asm statement, with the PTX after its opcode."""
    code = join_strings(text)
    steps = [
        (_KINDS.get(step[0]) or next((k for k, word in _PARTS.items() if word in step[0]), "store"), code[step.end() :])
        for step in _STEPS.finditer(code)
    ]
    unknown = re.search(r"[A-Za-z_]\w*", strip_comments(_STRING.sub("", text)))  # a macro among its strings
    return (("unknown", ""), *steps) if unknown else tuple(steps)


def _find_wait_count(run: AsmRun, rest: str) -> int | None:
    """Return the number of groups that a wait leaves pending. rest: the PTX after its opcode."""
    match = re.match(r"[.\w]*\s+(%\w+|%\[\w+\]|\d+)", rest)
    return find_operand_number(run, match[1]) if match else None


def _find_template_count(call: BodilessCall) -> int | None:
    templates = dict(call.term.named).get("<>", ())
    known = getattr(templates[0], "known", None) if templates else None
    return known if isinstance(known, int) else None


def _is_of_library(spelled: str, text: str) -> bool:
    """Return whether a call is one of libcu++, by its name or by that of an alias of the text."""
    if _LIBRARY.match(spelled):
        return True
    return spelled.partition("::")[0] in _list_aliases(text) if "::" in spelled else False


@lru_cache(maxsize=16)
def _list_aliases(text: str) -> frozenset[str]:
    """List the names that a text gives to namespaces of libcu++: namespace ptx = cuda::ptx."""
    return frozenset(_ALIAS.findall(text))


def _classify_call(call: BodilessCall, text: str) -> str:
    """Return the kind of a call without a body; "" if it is none of these."""
    head, spelled = call.term.head, call.term.text
    if head in _NAMED:
        return _NAMED[head]
    named = classify_cutlass_call(call)
    if named is not None:
        return named
    if _is_of_library(spelled, text) and not _LIBRARY_STORE.fullmatch(head):
        return "bulk" if "bulk" in head and "group" not in head else ""
    if head in ("wait", "arrive", "arrive_and_wait", "init", "native_handle") and "cuda::barrier" in text:
        return ""
    return "" if _HARMLESS.fullmatch(head) else "unknown"
