"""The TMA loads of a text, as calls and as PTX: where each puts its box, through which map and on which barrier."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from lanescope.reader.code.evaluation import Evaluation
from lanescope.reader.code.expression.integer_values import get_integer
from lanescope.reader.code.findings import AsmRun, BodilessCall
from lanescope.reader.code.naming.scopes import Cell
from lanescope.reader.code.symbolic_integers import LinearExpression, Span, SymbolicInt
from lanescope.reader.code.values import Address, OpaqueValue, Pointer, ResolvedType
from lanescope.workbench.text.asm_operands import find_operand_argument, join_strings

_CALL = re.compile(r"tma|bulk|tensor|load|copy|fetch|issue", re.I)
_OTHER = re.compile(r"store|prefetch|reduce|s2g|shared_?(?:to|2)_?global|make|create|encode|desc|partition|print", re.I)
_ASM = re.compile(
    r"cp\.async\.bulk\.tensor\S*shared::(?:cluster|cta)\S*global\S*"
    r"\s*\[\s*%(\d{1,3})\s*[,\]](?:\s*,\s*\[\s*%(\d{1,3}))?"
)
_BARRIER = re.compile(r"\}\s*\]\s*,\s*\[\s*%(\d{1,3})\s*\]")  # behind the coordinates
_STORE = re.compile(r"(?<![\w.])(?:st(?:\.\w+)*\.shared|stmatrix)\S*\s*\[\s*%(\d{1,3})\s*[\]+]")
Launch = tuple[Span, ...]  # the calls that lead to one run of a kernel, with its launch; () outside of kernels
MAP_NAME = re.compile(r"[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)*")


@dataclass(frozen=True, slots=True)
class BoxLoad:
    """One execution of a call that loads a box.

    to: byte address of the destination; maps: possible names of its map; span: the call; loops: values of the enclosing
    loop variables if the loop bounds are known; endless: whether other loops enclose it; turn: the iteration of these;
    barriers: its other address arguments, one of which is the mbarrier; order: its position in execution order; launch:
    the run of a kernel that it belongs to.
    """

    to: LinearExpression
    maps: frozenset[str]
    span: Span
    loops: tuple[tuple[str, int | None], ...] = ()
    endless: bool = False
    turn: tuple[tuple[str, str], ...] = ()
    barriers: frozenset[str] = frozenset()
    order: int = 0
    launch: Launch = ()


def is_load_name(head: str) -> bool:
    """Return whether a function's name suggests a TMA load."""
    return bool(_CALL.search(head)) and not _OTHER.search(head)


def is_load(call: BodilessCall) -> bool:
    """Return whether a call loads by TMA: by its name, or for copy() by its type's, else by the barrier it is given."""
    head = call.term.head
    if head != "copy":
        return is_load_name(head)
    owner = dict(call.term.named).get("::")
    name = owner.name if isinstance(owner, ResolvedType) else call.term.text.partition("(")[0]
    if re.search(r"load|store|reduce", name, re.I):
        return is_load_name(f"{name}::{head}")
    places = [value for value in call.term.arguments if isinstance(value, Address | Pointer)]
    return len(places) > 2  # a map, a barrier and the destination


def list_loads(code: Evaluation, kernels: Collection[str]) -> Iterator[BoxLoad]:
    for call in code.bodiless_calls:
        if is_load(call):
            for load in _list_call_loads(call, code.unbounded_variables):
                yield replace(load, launch=find_launch(call, kernels))
    for ran in code.asm_runs:
        if (found := _find_assembly_load(ran, code.unbounded_variables)) is not None:
            yield replace(found, launch=find_launch(ran, kernels))


def find_launch(run: AsmRun | BodilessCall, kernels: Collection[str]) -> Launch:
    depth = next((n for n, (name, _) in enumerate(run.calls) if name in kernels), -1)
    return tuple(span for _, span in run.calls[: depth + 1])


def _list_call_loads(call: BodilessCall, endless: Collection[str]) -> Iterator[BoxLoad]:
    """Yield the loads of a bodiless call: any address argument may be the destination; only one is in a tile."""
    maps = {name for value in call.term.arguments for name in list_map_names(value)}
    for value in call.term.arguments:
        address = get_integer(value) if isinstance(value, Pointer | SymbolicInt) else None
        if address is not None and address.plain is not None and address.plain.terms:
            load = _make_load(address.plain, maps, call.term.span, call.loops, endless)
            barriers = frozenset(_list_other_addresses(call, address.plain))
            yield replace(load, barriers=barriers, order=call.order)


def _list_other_addresses(call: BodilessCall, to: LinearExpression) -> Iterator[str]:
    """Yield the address and object arguments of a call except the destination, in this iteration of its loops."""
    for value in call.term.arguments:
        if isinstance(value, OpaqueValue):
            turn = (f"{name} = {n.known}" for name, n in call.loops if re.search(rf"\b{re.escape(name)}\b", value.text))
            yield " ".join((value.text, *turn))
        elif isinstance(value, Address):
            yield str(value)
        elif isinstance(value, Pointer | SymbolicInt):
            address = get_integer(value)
            line = address.plain if address is not None else None
            if line is None or line == to:
                continue
            if isinstance(value, Pointer) or dict(line.terms).keys() == dict(to.terms).keys():  # else a coordinate
                yield str(line)


def _find_assembly_load(asm_run: AsmRun, endless: Collection[str]) -> BoxLoad | None:
    """Find PTX's cp.async.bulk.tensor into shared memory: its first operand is the destination."""
    code = join_strings(asm_run.text)
    match = _ASM.search(code)
    value = _get_operand(asm_run, match, 1)
    to = value.plain if value is not None else None
    if match is None or to is None or not to.terms:
        return None
    words = (word.plain for kind, word, _ in asm_run.inputs if "l" in kind and word is not None)
    symbols = {name for word in words if word is not None for name, _ in word.terms}
    maps = {name for symbol in symbols for name in _list_symbol_names(asm_run, symbol)}
    at = asm_run.calls[-1][1] if asm_run.calls else asm_run.span
    barrier = _get_operand(asm_run, _BARRIER.search(code, match.end()), 1)
    barriers = frozenset[str]() if barrier is None else frozenset((str(barrier.plain),))
    return replace(_make_load(to, maps, at, asm_run.loops, endless), order=asm_run.order, barriers=barriers)


def _get_operand(run: AsmRun, match: re.Match[str] | None, group: int) -> SymbolicInt | None:
    """Return the value of the operand whose number is in a group of a match; None if there is none or it is open."""
    number = match[group] if match is not None else None
    return find_operand_argument(run, f"%{number}", 0)[0] if number else None


def list_thread_stores(code: Evaluation) -> Iterator[tuple[LinearExpression, int]]:
    """Yield (byte address, order) of the stores of threads: through pointers, and by st.shared and stmatrix of PTX."""
    for store in code.memory_stores:
        yield store.to, store.order
    for run in code.asm_runs:
        value = _get_operand(run, _STORE.search(join_strings(run.text)), 1)
        first = next((piece for piece in value.pieces if not piece.shift), None) if value is not None else None
        if value is not None and first is not None:
            yield value.plain or first.source, run.order


def find_assembly_map(asm_run: AsmRun) -> str:
    """Return the tensor map that a cp.async.bulk.tensor into shared memory loads through, "" if it has none."""
    value = _get_operand(asm_run, _ASM.search(join_strings(asm_run.text)), 2)
    line = value.plain if value is not None else None
    if line is None or len(line.terms) != 1 or line.const:
        return ""
    names = [name.lstrip("&") for name in _list_symbol_names(asm_run, line.terms[0][0])]
    return next((name for name in reversed(names) if MAP_NAME.fullmatch(name)), "")


def _list_symbol_names(asm_run: AsmRun, symbol: str) -> tuple[str, ...]:
    """Return a symbol of an asm statement, and what its place is called."""
    return (symbol, *dict(asm_run.places).get(symbol, ()))


def _make_load(
    to: LinearExpression,
    maps: Iterable[str],
    span: Span,
    loops: Iterable[tuple[str, SymbolicInt]],
    endless: Collection[str],
) -> BoxLoad:
    known = tuple((name, value.known) for name, value in loops if name not in endless)
    own_maps = frozenset(maps) - {name for name, _ in to.terms}
    turn = tuple((name, str(value)) for name, value in loops if name in endless)
    return BoxLoad(to, own_maps, span, known, bool(turn), turn)


def list_map_names(value: object) -> Iterator[str]:
    """Yield the possible tensor-map names of an argument."""
    if isinstance(value, Address) and isinstance(value.place, Cell):
        yield value.place.name
        if isinstance(value.place.value, OpaqueValue):
            yield value.place.value.text
    elif isinstance(value, Pointer):
        yield from (name for name, _ in value.base.terms)
