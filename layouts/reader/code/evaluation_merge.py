"""Merge the evaluations of two variants of a text: what differs depends on the condition, as after an unknown `if`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from lanescope.reader.code.expression.integer_values import get_integer
from lanescope.reader.code.findings import AsmRun, BodilessCall, FoundDescriptor, Pitfall
from lanescope.reader.code.naming.scopes import Cell, get_content
from lanescope.reader.code.symbolic_integers import Span, SymbolicInt, make_free, merge_ints
from lanescope.reader.code.values import Address, ArrayValue, ObjectValue, OpaqueValue, Pointer

MOST_DEPTH = 6  # nesting of values
Place = Callable[[Span], bool]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class EvaluationRecords:
    """The findings of an evaluation.

    holds: whether a span of the pasted text is in the evaluated variant. loses: whether its evaluation there is
    incomplete.
    """

    descriptors: tuple[FoundDescriptor, ...]
    bodiless_calls: tuple[BodilessCall, ...]
    warnings: tuple[Pitfall, ...]
    asm_runs: tuple[AsmRun, ...]
    holds: Place
    loses: Place


def merge_records(condition: str, yes: EvaluationRecords, no: EvaluationRecords) -> EvaluationRecords:
    """Merge the findings of both variants of a condition."""
    calls, asm_runs = _merge_calls_and_asm(condition, yes, no)
    return EvaluationRecords(
        _merge_descriptors(condition, yes, no),
        calls,
        _merge_pitfalls(condition, yes, no),
        asm_runs,
        lambda span: yes.holds(span) or no.holds(span),
        lambda span: yes.loses(span) or no.loses(span),
    )


# values ---------------------------------------------------------------------------------------------------------------


def is_same_value(left: Any, right: Any, depth: int = 0) -> bool:
    """Return whether values of two evaluations are equal, as far as they can be compared."""
    if isinstance(left, SymbolicInt) and isinstance(right, SymbolicInt):
        return (left.const, left.pieces, left.type) == (right.const, right.pieces, right.type)
    if type(left) is not type(right) or depth > MOST_DEPTH:
        return False
    compare = _COMPARED.get(type(left))
    if compare is not None:
        return compare(left, right, depth + 1)
    return bool(left == right) or str(left) == str(right)


def _is_same_array(left: ArrayValue, right: ArrayValue, depth: int) -> bool:
    return len(left.cells) == len(right.cells) and all(
        is_same_value(a.value, b.value, depth) for a, b in zip(left.cells, right.cells, strict=True)
    )


def _is_same_pointer(left: Pointer, right: Pointer, depth: int) -> bool:
    kinds = str(left.element) == str(right.element) and left.shared == right.shared
    return kinds and left.base == right.base and is_same_value(left.array, right.array, depth)


def _is_same_address(left: Address, right: Address, depth: int) -> bool:
    return is_same_value(get_content(left.place), get_content(right.place), depth)


def _is_same_object(left: ObjectValue, right: ObjectValue, depth: int) -> bool:
    return (
        _is_same_struct(left, right)
        and is_same_value(left.store.value, right.store.value, depth)
        and all(is_same_value(cell.value, right.members[name].value, depth) for name, cell in left.members.items())
    )


def _is_same_term(left: OpaqueValue, right: OpaqueValue, depth: int) -> bool:
    if left.text != right.text or left.head != right.head or len(left.arguments) != len(right.arguments):
        return False
    return all(is_same_value(a, b, depth) for a, b in zip(left.arguments, right.arguments, strict=True))


_COMPARED: dict[type, Callable[[Any, Any, int], bool]] = {
    ArrayValue: _is_same_array,
    Pointer: _is_same_pointer,
    Address: _is_same_address,
    ObjectValue: _is_same_object,
    OpaqueValue: _is_same_term,
}


def _is_same_struct(left: ObjectValue, right: ObjectValue) -> bool:
    """Return whether two objects are of the same struct."""
    return left.record.name == right.record.name and left.members.keys() == right.members.keys()


def merge_values(condition: str, yes: Any, no: Any, depth: int = 0) -> Any:
    """Merge the values of both variants of a condition."""
    if is_same_value(yes, no):
        return yes
    if depth > MOST_DEPTH:
        return OpaqueValue(f"({condition} ? {yes} : {no})")
    merge_inside = _MERGED.get(type(yes)) if type(yes) is type(no) else None
    merged = merge_inside(condition, yes, no, depth) if merge_inside is not None else None
    if merged is not None:
        return merged
    a, b = get_integer(yes), get_integer(no)
    if a is not None and b is not None:
        return merge_ints(condition, a, b)
    return OpaqueValue(f"({condition} ? {yes} : {no})")


def _merge_arrays(condition: str, yes: ArrayValue, no: ArrayValue, depth: int) -> ArrayValue | None:
    if len(yes.cells) != len(no.cells):
        return None
    cells = [
        replace(a, value=merge_values(condition, a.value, b.value, depth + 1))
        for a, b in zip(yes.cells, no.cells, strict=True)
    ]
    return ArrayValue(cells, yes.element if str(yes.element) == str(no.element) else None, yes.name, yes.typed)


def _merge_addresses(condition: str, yes: Address, no: Address, depth: int) -> Address | None:
    if not isinstance(yes.place, Cell):
        return None
    values = merge_values(condition, get_content(yes.place), get_content(no.place), depth + 1)
    return Address(replace(yes.place, value=values))


def _merge_objects(condition: str, yes: ObjectValue, no: ObjectValue, depth: int) -> ObjectValue | None:
    if not _is_same_struct(yes, no):
        return None
    store = replace(yes.store, value=merge_values(condition, yes.store.value, no.store.value, depth + 1))
    members = {
        name: replace(cell, value=merge_values(condition, cell.value, no.members[name].value, depth + 1))
        for name, cell in yes.members.items()
    }
    return ObjectValue(yes.record, store, members)


def _merge_calls(condition: str, yes: OpaqueValue, no: OpaqueValue, depth: int) -> OpaqueValue | None:
    return merge_calls(condition, yes, no, depth) if yes.head and yes.head == no.head else None


_MERGED: dict[type, Callable[[str, Any, Any, int], Any]] = {
    ArrayValue: _merge_arrays,
    Address: _merge_addresses,
    ObjectValue: _merge_objects,
    OpaqueValue: _merge_calls,
}


def merge_calls(condition: str, yes: OpaqueValue, no: OpaqueValue, depth: int = 0) -> OpaqueValue:
    """Merge two calls of the same function."""
    if len(yes.arguments) != len(no.arguments) or [n for n, _ in yes.named] != [n for n, _ in no.named]:
        return OpaqueValue(f"({condition} ? {yes} : {no})", yes.kind, "", (), (), yes.span)
    arguments = tuple(
        merge_values(condition, a, b, depth + 1) for a, b in zip(yes.arguments, no.arguments, strict=True)
    )
    named = tuple(
        (n, merge_values(condition, a, b, depth + 1)) for (n, a), (_, b) in zip(yes.named, no.named, strict=True)
    )
    text = yes.text if yes.text == no.text else f"({condition} ? {yes.text} : {no.text})"
    return replace(yes, text=text, arguments=arguments, named=named)


# records --------------------------------------------------------------------------------------------------------------


def _number_by_key(items: Iterable[T], key: Callable[[T], Hashable]) -> dict[Hashable, T]:
    """Index items by (key, number among items with that key)."""
    seen: dict[Hashable, int] = {}
    result: dict[Hashable, T] = {}
    for item in items:
        name = key(item)
        seen[name] = n = seen.get(name, -1) + 1
        result[name, n] = item
    return result


def _make_turn_key(loops: Sequence[tuple[str, SymbolicInt]]) -> Hashable:
    return tuple((name, turn.known if turn.known is not None else str(turn)) for name, turn in loops)


def _weave_keys(yes: Sequence[Hashable], no: Sequence[Hashable]) -> list[Hashable]:
    """Interleave the keys of both: a key that only the second has follows its predecessor."""
    of_yes = set(yes)
    keys_after: dict[Hashable, list[Hashable]] = {}
    last: Hashable = None
    for key in no:
        if key in of_yes:
            last = key
        else:
            keys_after.setdefault(last, []).append(key)
    keys = list(keys_after.get(None, ()))
    for key in yes:
        keys += [key, *keys_after.get(key, ())]
    return keys


def _merge_descriptors(condition: str, yes: EvaluationRecords, no: EvaluationRecords) -> tuple[FoundDescriptor, ...]:
    def key(descriptor: FoundDescriptor) -> Hashable:
        return descriptor.name, descriptor.span, descriptor.calls, _make_turn_key(descriptor.loops), descriptor.kind

    by_key_yes, by_key_no = _number_by_key(yes.descriptors, key), _number_by_key(no.descriptors, key)
    cells: dict[int, Cell] = {}  # id of a variable in the second → the same variable in the first
    for name, our_descriptor in by_key_yes.items():
        if name in by_key_no and our_descriptor.cell is not None and by_key_no[name].cell is not None:
            cells[id(by_key_no[name].cell)] = our_descriptor.cell
    result: list[FoundDescriptor] = []
    for name in _weave_keys(list(by_key_yes), list(by_key_no)):
        a, b = by_key_yes.get(name), by_key_no.get(name)
        if a is not None and b is not None:
            result.append(
                a if is_same_value(a.value, b.value) else replace(a, value=merge_ints(condition, a.value, b.value))
            )
        elif a is not None:
            result.append(_limit_to_choice(condition, a, no.holds))
        elif b is not None:
            cell = cells.get(id(b.cell), b.cell)
            result.append(_limit_to_choice(f"!({condition})", replace(b, cell=cell), yes.holds))
    return tuple(result)


def _limit_to_choice(condition: str, descriptor: FoundDescriptor, holds: Place) -> FoundDescriptor:
    """Limit a descriptor to one variant: if the other has the same line, its value there differs."""
    if not all(holds(span) for span in (descriptor.span, *descriptor.calls)):
        return descriptor
    other = make_free("another value", descriptor.value.type)
    return replace(descriptor, value=merge_ints(condition, descriptor.value, other))


def _is_lost(span: Span, calls: Iterable[tuple[str, Span]], other: EvaluationRecords) -> bool:
    """Return whether an evaluation is incomplete at a span or at a call that leads there."""
    return other.loses(span) or any(other.loses(at) for _, at in calls)


def _make_other_value(condition: str, value: SymbolicInt | None) -> SymbolicInt | None:
    return value and merge_ints(condition, value, make_free("another value", value.type))


def _make_unknown_call(condition: str, opaque: OpaqueValue) -> OpaqueValue:
    """Make a call that is known under one variant only."""
    arguments = tuple(
        _make_other_value(condition, x) if isinstance(x, SymbolicInt) else OpaqueValue(f"({condition} ? {x} : …)")
        for x in opaque.arguments
    )
    named = tuple(
        (
            name,
            _make_other_value(condition, x) if isinstance(x, SymbolicInt) else OpaqueValue(f"({condition} ? {x} : …)"),
        )
        for name, x in opaque.named
    )
    return replace(opaque, arguments=arguments, named=named)


def _merge_pitfalls(condition: str, yes: EvaluationRecords, no: EvaluationRecords) -> tuple[Pitfall, ...]:
    """Merge the pitfalls of both; a pitfall of one variant names its condition."""
    first = {(warning.code, warning.span): warning for warning in yes.warnings}
    second = {(warning.code, warning.span): warning for warning in no.warnings}
    pitfalls = []
    for key in _weave_keys(list(first), list(second)):
        a, b = first.get(key), second.get(key)  # type: ignore[call-overload]
        warning = a or b
        assert warning is not None  # a key is one of either
        where = f" This applies {'if' if a else 'unless'} {condition} holds."
        pitfalls.append(warning if a and b else replace(warning, message=warning.message + where))
    return tuple(pitfalls)


def _merge_calls_and_asm(
    condition: str, yes: EvaluationRecords, no: EvaluationRecords
) -> tuple[tuple[BodilessCall, ...], tuple[AsmRun, ...]]:
    """Merge the calls and asm statements of both, renumbered in execution order."""
    by_key_yes, by_key_no = _index_records(yes), _index_records(no)
    merged_: list[BodilessCall | AsmRun] = []
    for n, name in enumerate(_weave_keys(list(by_key_yes), list(by_key_no)), 1):
        a, b = by_key_yes.get(name), by_key_no.get(name)
        if a is not None and b is not None:
            run = _merge_run(condition, a, b)
        elif a is not None:
            run = _run_under_one_choice(condition, a, no)
        else:
            run = _run_under_one_choice(condition, by_key_no[name], yes)
        merged_.append(replace(run, order=n))
    calls = tuple(run for run in merged_ if isinstance(run, BodilessCall))
    return calls, tuple(run for run in merged_ if isinstance(run, AsmRun))


def _index_records(records: EvaluationRecords) -> dict[Hashable, BodilessCall | AsmRun]:
    """Index calls and asm statements by identity, in execution order."""

    def key(record: BodilessCall | AsmRun) -> Hashable:
        key: Hashable
        if isinstance(record, BodilessCall):
            key = (record.term.head, record.term.span, record.result, len(record.term.arguments))
        else:
            key = (record.text, record.span, len(record.inputs))
        return key, record.calls, _make_turn_key(record.loops)

    return _number_by_key(sorted((*records.bodiless_calls, *records.asm_runs), key=lambda run: run.order), key)


def _merge_run(condition: str, yes: BodilessCall | AsmRun, no: BodilessCall | AsmRun) -> BodilessCall | AsmRun:
    """Merge a call or asm statement with its counterpart in the other variant."""
    if isinstance(yes, BodilessCall) and isinstance(no, BodilessCall):
        return replace(yes, term=merge_calls(condition, yes.term, no.term))
    assert isinstance(yes, AsmRun) and isinstance(no, AsmRun)  # of one identity
    inputs = tuple(
        (kind, _merge_input(condition, x, y), at)
        for (kind, x, at), (_, y, _) in zip(yes.inputs, no.inputs, strict=True)
    )
    return replace(yes, inputs=inputs)


def _merge_input(condition: str, yes: SymbolicInt | None, no: SymbolicInt | None) -> SymbolicInt | None:
    """Merge an operand of an asm statement."""
    if yes is None or no is None:
        return None
    return yes if is_same_value(yes, no) else merge_ints(condition, yes, no)


def _run_under_one_choice(
    condition: str, record: BodilessCall | AsmRun, other: EvaluationRecords
) -> BodilessCall | AsmRun:
    """Return a call or asm statement of one variant; its operands become unknown if the other is incomplete there."""
    if isinstance(record, BodilessCall):
        is_lost = _is_lost(record.term.span, record.calls, other)
        return replace(record, term=_make_unknown_call(condition, record.term)) if is_lost else record
    if not _is_lost(record.span, record.calls, other):
        return record
    return replace(record, inputs=tuple((kind, _make_other_value(condition, x), at) for kind, x, at in record.inputs))
