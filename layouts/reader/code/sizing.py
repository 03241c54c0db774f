"""sizeof and alignof of types, values and parameter packs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.cxx import sizes as c_sizes
from lanescope.cxx.integers import ULONG
from lanescope.reader.code import tree, word
from lanescope.reader.code.lookup import find_name
from lanescope.reader.code.records import measured
from lanescope.reader.code.static_types import declared_type
from lanescope.reader.code.values import Array, Cell, Kind, Object, Pack, Pointer, Scope, Term, size_bytes
from lanescope.reader.code.word import UNKNOWN, Int, free

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


def evaluate_sizeof(ev: Evaluator, one: tree.SizeOf, inner: tree.Expression, scope: Scope) -> Int:
    """Return sizeof(inner) or alignof(inner), a symbol where the text does not say."""
    if one.pack:
        found = find_name(scope, inner.path[0][0])[0] if isinstance(inner, tree.Name | tree.Type) else None
        return Int(len(found), ULONG) if isinstance(found, Pack) else free(ev.words(one), ULONG, 16)
    if isinstance(inner, tree.Text) and "\\" not in inner.value:
        return Int(len(inner.value) + 1, ULONG)
    if isinstance(inner, tree.Type):
        item = _misread_item(ev, inner, scope)
        if item is not None:
            return ev.evaluate_sizeof(one, item, scope)
    if not isinstance(inner, tree.Type | tree.Name):
        return _size_of_operand(ev, one, inner, scope)
    declared = declared_type(ev, inner, scope)
    held = ev.named(inner, scope) if declared is None else declared
    if isinstance(held, Array) and held.typed is None:  # a parameter, which is a pointer
        return free(ev.words(one), ULONG, 16)
    return _size_of_value(ev, one, inner, held)


def _misread_item(ev: Evaluator, one: tree.Type, scope: Scope) -> tree.Expression | None:
    """Return the item of sizeof(array[0]), which the grammar reads as a type; None where it is one."""
    if not one.dims or one.pointers or not isinstance(ev.resolve(one.path, scope, one.span[0]), Cell):
        return None
    value: tree.Expression = tree.Name(one.path, span=one.span)
    for dim in one.dims:
        value = tree.Index(value, (dim if dim is not None else tree.Other(""),), span=one.span)
    return value


def _size_of_operand(ev: Evaluator, one: tree.SizeOf, inner: tree.Expression, scope: Scope) -> Int:
    """Return the size of an expression's type."""
    member = isinstance(inner, tree.Member | tree.Index) or (isinstance(inner, tree.Unary) and inner.op in "*&")
    declared = declared_type(ev, inner, scope) if member else None
    if declared is not None and (known := size_of(ev, declared, one)).known is not None:
        return known
    held = _unevaluated(ev, inner, scope)
    unsure = Pointer if isinstance(inner, tree.Member) else Pointer | Int
    if member and isinstance(held, unsure) and declared is None:
        return free(ev.words(one), ULONG, 16)  # an array may be read as a pointer to its first item
    return _size_of_value(ev, one, inner, held)


def _size_of_value(ev: Evaluator, one: tree.SizeOf, inner: tree.Expression, value: Any) -> Int:
    """Return the size of a type, or of the type of a value."""
    kind = _kind_of_size(value)
    if kind is not None:
        return size_of(ev, kind, one)
    if isinstance(value, Int) and value.type.bits and value.type != UNKNOWN:
        return Int(value.type.size, ULONG)
    if isinstance(value, Array) and value.typed is None and value.element is not None:
        return word.times(size_of(ev, value.element, one), Int(len(value.cells), ULONG))
    known = c_sizes.size_of(value.text) if isinstance(value, Term) else None
    if known is not None or isinstance(value, Pointer):
        return Int(known.bytes if known is not None else 8, ULONG)
    return free(f"sizeof({ev.words(inner)})", ULONG, 16)


def _kind_of_size(value: Any) -> Kind | None:
    """Return the type whose size is asked for: a type itself, or of an object or a term; else None."""
    if isinstance(value, Kind):
        return replace(value, reference="")
    if isinstance(value, Object):
        return Kind(value.record.name, record=value.record, bits=value.record.bits or None)
    return value.kind if isinstance(value, Term) else None


def _unevaluated(ev: Evaluator, inner: tree.Expression, scope: Scope) -> Any:
    """The value of an operand that is not evaluated: for its type."""
    values: list[Any] = []
    first = len(ev.temporaries)
    ev.followed(lambda: values.append(ev.value(inner, scope)))
    del ev.temporaries[first:]
    return values[0] if values else Term(ev.words(inner))


def size_of(ev: Evaluator, kind: Kind, one: tree.SizeOf) -> Int:
    """sizeof or alignof of a type."""
    if kind.record is None or kind.pointers or kind.record.fields is not None:
        return _align_of(ev, kind) if one.align else size_bytes(kind)
    if kind.dims:
        whole = size_of(ev, replace(kind, dims=()), one)
        for dim in kind.dims if not one.align else ():
            whole = word.times(whole, dim)
        return whole
    made = measured(ev, kind.record)
    known = made.align if one.align else made.size
    return Int(known, ULONG) if known is not None else free(ev.words(one), ULONG, 16)


def _align_of(ev: Evaluator, kind: Kind) -> Int:
    """Return alignof a type whose members, if it has any, are kept as bits."""
    if kind.pointers:
        return Int(8, ULONG)
    if kind.whole is not None:
        return Int(kind.whole.size, ULONG)
    if kind.record is not None and kind.record.fields is not None:
        return Int(kind.record.align // 8, ULONG)
    size = c_sizes.size_of(kind.name) if kind.record is None and not kind.arguments else None
    return Int(size.align, ULONG) if size is not None else free(f"alignof({kind})", ULONG, 16)
