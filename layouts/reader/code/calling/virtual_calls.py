"""Resolve virtual calls: find the final override in an object's class. ISO C++20: [class.virtual]."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lanescope.reader.code.calling.overloads import OverloadCandidate
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.types.templates import is_same_type
from lanescope.reader.code.values import FunctionSet, ObjectValue, RecordType

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


def resolve_virtual_call(
    ev: Evaluator, closure: FunctionSet, chosen: OverloadCandidate, count: int
) -> tuple[FunctionSet, OverloadCandidate | None]:
    """Return the function that a call runs, by the object's class if it is virtual; None if unknown."""
    function, this = chosen.function, closure.this
    owner = _find_dispatching_class(closure, function)
    if owner is None:
        return closure, chosen
    complete = (this.derived or this) if isinstance(this, ObjectValue) else None
    dynamic = _find_exact_class(complete)
    if dynamic is owner:
        return closure, chosen
    virtual = _is_declared_virtual(ev, owner, function)
    if virtual is False or (virtual is None and dynamic is None):
        return closure, chosen
    if virtual is None or dynamic is None:
        return closure, None
    final_override = _find_final_override(ev, dynamic, function, owner)
    if final_override is None or (final_override[0] is not function and count < len(function.parameters)):
        return closure, None
    other, home = final_override
    if other is function:
        return closure, chosen
    function_set = FunctionSet((other,), home.scope, complete, closure.templates, constant=closure.constant)
    return function_set, replace(chosen, function=other)


def _find_dispatching_class(closure: FunctionSet, function: tree.Function) -> RecordType | None:
    """Return the class of a member function that a call dispatches on; None if the call is not dispatched."""
    owner = closure.get_home(function).owner
    if closure.direct or closure.this is None or function.static:
        return None
    return owner if isinstance(owner, RecordType) and owner.polymorphic else None


def _find_exact_class(instance: ObjectValue | None) -> RecordType | None:
    """Return the dynamic class of an object; None if it may be a derived one."""
    if instance is None or (instance.loose and not instance.dynamic):
        return None
    return instance.dynamic or instance.record


def _is_declared_virtual(ev: Evaluator, owner: RecordType, function: tree.Function) -> bool | None:
    """Return whether a member function is virtual, declared so or overriding a virtual one; None if unknown."""
    if function.virtual:
        return True
    if owner.opaque:
        return None
    answers: list[bool | None] = [False]
    for base in owner.bases:
        answers.append(_is_declared_virtual_like(ev, base, function, owner))
    return True if True in answers else None if None in answers else False


def _is_declared_virtual_like(
    ev: Evaluator, record: RecordType, function: tree.Function, owner: RecordType
) -> bool | None:
    """Return whether a class or a base declares a virtual function that another overrides; None if unknown."""
    answers = [_is_declared_virtual_like(ev, base, function, owner) for base in record.bases]
    for declared in _list_own_functions(record, function.name):
        same = _is_override(ev, function, owner, declared, record)
        answers.append(None if same is None else same and declared.virtual)
    return True if True in answers else None if None in answers else False


def _is_override(
    ev: Evaluator, derived_function: tree.Function, home: RecordType, base_function: tree.Function, other: RecordType
) -> bool | None:
    """Return whether a function of a derived class has the parameters of one of a base; None if unknown."""
    if (
        len(derived_function.parameters) != len(base_function.parameters)
        or derived_function.const != base_function.const
        or derived_function.templates
        or base_function.templates
    ):
        return False
    answers: list[bool | None] = []
    for a, b in zip(derived_function.parameters, base_function.parameters, strict=True):
        if a.type is None or b.type is None:
            return None
        type_a, type_b = ev.resolve_type(a.type, home.scope), ev.resolve_type(b.type, other.scope)
        types = [k if k.pointers or k.reference else replace(k, const=False) for k in (type_a, type_b)]
        answers.append(is_same_type(*types))
    return False if False in answers else None if None in answers else True


def _find_final_override(
    ev: Evaluator, record: RecordType, function: tree.Function, owner: RecordType
) -> tuple[tree.Function, RecordType] | None:
    """Return (final override of a function in a class, its class); None if unknown."""
    if record is owner:
        return function, owner
    for declared in _list_own_functions(record, function.name):
        same = _is_override(ev, declared, record, function, owner)
        if same is None:
            return None
        if same:
            return declared, record
    bases = [base for base in record.bases if base.is_derived_from(owner)]
    if len(bases) != 1 or record.opaque:
        return None
    final_override: tuple[tree.Function, RecordType] | None = _find_final_override(ev, bases[0], function, owner)
    return final_override


def _list_own_functions(record: RecordType, name: str) -> list[tree.Function]:
    """Return the functions of a name that a class declares itself."""
    overloads = record.methods.get(name)
    return [f for f in overloads.functions if overloads.get_home(f).owner is record] if overloads is not None else []
