"""Find the types of expressions that are not evaluated: the other arm of `c ? a : b`, and operands of sizeof."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.cxx import integers as c_integers
from lanescope.cxx.integers import BOOL, ULONG, IntegerType, find_common_type, promote
from lanescope.reader.code.naming.lookup import find_name
from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.symbolic_integers import UNKNOWN, SymbolicInt
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.values import (
    PLACES,
    Address,
    ArrayValue,
    EnumerationType,
    FunctionSet,
    ObjectPart,
    ObjectValue,
    OpaqueValue,
    PointedPlace,
    Pointer,
    RecordType,
    ResolvedType,
    TemplateEntity,
)

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

MOST_DEPTH = 32


def find_integer_type(
    ev: Evaluator, expression: tree.Expression, scope: NameScope, depth: int = 0
) -> IntegerType | None:
    """Return the integer type of an expression; UNKNOWN if undetermined, None if it is not an integer."""
    if depth > MOST_DEPTH:
        return UNKNOWN

    def find_type(inner: tree.Expression) -> IntegerType | None:
        return find_integer_type(ev, inner, scope, depth + 1)

    match expression:
        case tree.NumberLiteral(type=kind):
            return kind
        case tree.StringLiteral() | tree.Lambda() | tree.DictLiteral():
            return None
        case tree.Binary(op=op, left=left, right=right):
            return _find_binary_type(op, find_type(left), find_type(right))
        case tree.Unary(op="post", value=tree.Assignment(target=target)) | tree.Assignment(target=target):
            return find_type(target)
        case tree.Unary(op="!" | "not"):
            return BOOL
        case tree.Unary(op=op, value=inner):
            return _find_unary_type(op, find_type(inner))
        case tree.ConditionalExpression(yes=yes, no=no):
            return _find_common_type(find_type(yes), find_type(no), c_integers.find_arms_type)
        case tree.SizeOf():
            return ULONG
        case tree.Cast(type=type_node) | tree.ItemList(type=tree.Type() as type_node):
            return _get_integer_type(ev.resolve_type(type_node, scope))
    return _find_named_type(ev, expression, scope)


def _find_unary_type(op: str, inner: IntegerType | None) -> IntegerType | None:
    if inner is None or op == "&":
        return None
    return UNKNOWN if op == "*" else promote(inner)


def _find_named_type(ev: Evaluator, expression: tree.Expression, scope: NameScope) -> IntegerType | None:
    """Return the integer type of a call, a variable or a member."""
    match expression:
        case tree.Call(function=tree.Name() | tree.Type() as function):
            return _find_call_type(ev, function, scope)
        case tree.Name() | tree.Type():
            return _get_value_type(ev, ev.resolve_name(expression.path, scope))
        case tree.Member(value=tree.Name()):
            return _get_value_type(ev, ev.find_place(expression, scope))
    return UNKNOWN


def _find_binary_type(op: str, left: IntegerType | None, right: IntegerType | None) -> IntegerType | None:
    if op == ",":
        return right
    if op in ("&&", "||", *c_integers.COMPARED):
        return BOOL
    if op in ("<<", ">>"):
        return promote(left) if left is not None else None
    return _find_common_type(left, right, find_common_type)


def _find_common_type(left: IntegerType | None, right: IntegerType | None, combine: Any) -> IntegerType | None:
    if left is None or right is None:
        return None
    integer_type: IntegerType = combine(left, right)
    return integer_type


def _get_integer_type(kind: ResolvedType) -> IntegerType | None:
    if kind.pointers or kind.record is not None:
        return None
    return kind.integer or UNKNOWN


def _get_value_type(ev: Evaluator, place: Any) -> IntegerType | None:
    if isinstance(place, Cell):
        if place.kind is not None and place.kind.integer is not None and not place.kind.pointers:
            return place.kind.integer
        place = place.value
    if isinstance(place, ObjectPart):
        place = ev.load_place(place, tree.OpaqueExpression(""))
    if isinstance(place, SymbolicInt):
        return place.type
    if isinstance(place, OpaqueValue):
        return place.kind.integer if place.kind is not None and place.kind.integer is not None else UNKNOWN
    if isinstance(place, Pointer | Address | ArrayValue | FunctionSet | ObjectValue | TemplateEntity | str):
        return None
    return place.integer if isinstance(place, EnumerationType) else UNKNOWN


def _find_call_type(ev: Evaluator, function: tree.Name | tree.Type, scope: NameScope) -> IntegerType | None:
    binding = ev.resolve_name(function.path, scope)
    if isinstance(binding, FunctionSet):
        returns = binding.functions[0].returns
        if returns is None or returns.name in ("auto", "decltype") or len(binding.functions) > 1:
            return UNKNOWN
        return _get_integer_type(ev.resolve_type(returns, binding.scope))
    if isinstance(binding, ResolvedType):
        return _get_integer_type(binding)
    called_type = ev.find_builtin_type(function.path, scope) if binding is None else None
    return _get_integer_type(called_type) if called_type is not None and called_type.integer is not None else UNKNOWN


# declared types ------------------------------------------------------------------------


def find_declared_type(
    ev: Evaluator, expression: tree.Expression, scope: NameScope, depth: int = 0
) -> ResolvedType | None:
    """Return the declared type of a variable, member, array item or pointer target, without reference.

    None if the text does not declare it. An array keeps its sizes.
    """
    if depth > MOST_DEPTH:
        return None
    match expression:
        case tree.Name() | tree.Type():
            return _find_path_type(ev, expression, scope)
        case tree.Member(value=inner, name=name, owner=()):
            kind = find_declared_type(ev, inner, scope, depth + 1)
            if kind is None or kind.pointers + len(kind.dims) != int(expression.arrow):
                return None
            return find_member_type(ev, kind.record, name)
        case tree.Index(value=inner, indices=(_,)) | tree.Unary(op="*", value=inner):
            kind = find_declared_type(ev, inner, scope, depth + 1)
            return None if kind is None else _get_item_type(kind)
        case tree.Unary(op="&", value=inner):
            kind = find_declared_type(ev, inner, scope, depth + 1)
            return replace(kind, pointers=kind.pointers + 1) if kind is not None and not kind.dims else None
        case tree.Cast(type=type_node):
            cast: ResolvedType = ev.resolve_type(type_node, scope)
            return replace(cast, reference="")
        case tree.Call(function=tree.Name() | tree.Type() as function):
            return _find_returned_type(ev, ev.resolve_name(function.path, scope, function.span[0]))
    return None


def find_member_type(ev: Evaluator, record: RecordType | None, name: str) -> ResolvedType | None:
    """Return the declared type of a data member, without reference; None if there is no such member."""
    declared = record.members.get(name) if record is not None else None
    if record is None or declared is None or declared.type is None or declared.bits is not None:
        return None
    if name in record.hidden or None in declared.type.dims:
        return None
    kind: ResolvedType = ev.resolve_type(declared.type, record.homes.get(name, record.scope))
    return replace(kind, reference="") if kind.name != "auto" else None  # a pointer to an array


def _find_path_type(ev: Evaluator, node: tree.Name | tree.Type, scope: NameScope) -> ResolvedType | None:
    if not node.path or (isinstance(node, tree.Type) and _is_derived(node)):
        return None
    if len(node.path) == 1:
        return _find_name_type(ev, node, scope)
    owner = ev.resolve_name(node.path[:-1], scope, node.span[0])
    owner = ev.apply_template(owner, []) if isinstance(owner, TemplateEntity) else owner
    if isinstance(owner, ResolvedType) and owner.record is not None and node.path[-1][0] in owner.record.members:
        return find_member_type(ev, owner.record, node.path[-1][0])
    return _find_resolved_type(ev, node, scope)


def _is_derived(type_node: tree.Type) -> bool:
    """Return whether a type is more than a name: a pointer, an array, a reference, const, or a definition."""
    return bool(type_node.pointers or type_node.dims or type_node.reference or type_node.body or type_node.const)


def _find_name_type(ev: Evaluator, node: tree.Name | tree.Type, scope: NameScope) -> ResolvedType | None:
    name = node.path[0][0]
    if name == "this":
        record = _find_this_class(scope)
        return ResolvedType(record.name, record=record, bits=record.bits or None, pointers=1) if record else None
    home = find_name(scope, name)[1]
    record = _find_this_class(home) if "this" in home.names else None
    if record is not None and name in record.members:
        return find_member_type(ev, record, name)
    kind = _find_resolved_type(ev, node, scope)
    if kind is not None and kind.dims and f"({name})" in home.consts:  # a parameter is a pointer
        return replace(kind, dims=(), pointers=kind.pointers + 1) if len(kind.dims) == 1 else None
    return kind


def _find_resolved_type(ev: Evaluator, node: tree.Name | tree.Type, scope: NameScope) -> ResolvedType | None:
    binding = ev.resolve_name(node.path, scope, node.span[0])
    return _find_place_type(ev, binding) if isinstance(binding, PLACES) else None


def _find_place_type(ev: Evaluator, place: Any) -> ResolvedType | None:
    if isinstance(place, Cell):
        return _find_cell_type(ev, place)
    if isinstance(place, PointedPlace):
        return None if place.pointer.dims else place.pointer.element
    if isinstance(place, ObjectPart):
        kind: ResolvedType | None = ev.find_declared_type(place, None)
        return replace(kind, dims=(SymbolicInt(place.field.count, ULONG),)) if kind and place.field.count else kind
    return None


def _find_cell_type(ev: Evaluator, cell: Cell) -> ResolvedType | None:
    """Return the declared type of a variable, else the type of its value."""
    value = cell.value
    if isinstance(value, PLACES):
        return _find_place_type(ev, value)
    if cell.kind is not None and cell.kind.name not in ("auto", ""):
        return replace(cell.kind, reference="")
    if value is None or (isinstance(value, Pointer) and _may_lead_to_array(value)):
        return None
    kind: ResolvedType | None = ev.find_declared_type(cell, value)
    if kind is None or (isinstance(value, Address) and kind.dims):
        return None
    return replace(kind, reference="")


def _may_lead_to_array(pointer: Pointer) -> bool:
    """Return whether a pointer's items are or may be arrays, which its type does not show."""
    array = pointer.array
    if array is None:
        return bool(pointer.dims)
    return (
        bool(pointer.dims) or array.inside is not None or any(isinstance(c.value, ArrayValue) for c in array.cells[:1])
    )


def _find_this_class(scope: NameScope) -> RecordType | None:
    """Find the class of the object that `this` points to."""
    this = find_name(scope, "this")[0]
    value = this.value if isinstance(this, Cell) else None
    if isinstance(value, OpaqueValue):
        return value.kind.record if value.kind is not None else None
    place = value.place if isinstance(value, Address) else None
    if isinstance(place, ObjectPart):
        return place.field.inner
    pointed = place.value if isinstance(place, Cell) else place
    return pointed.record if isinstance(pointed, ObjectValue) else None


def _get_item_type(kind: ResolvedType) -> ResolvedType | None:
    if kind.dims:
        return replace(kind, dims=kind.dims[1:])
    return replace(kind, pointers=kind.pointers - 1) if kind.pointers else None


def _find_returned_type(ev: Evaluator, functions: Any) -> ResolvedType | None:
    """Return the return type of the only function of a name, if it is not a template."""
    if not isinstance(functions, FunctionSet) or len(functions.functions) > 1 or functions.functions[0].templates:
        return None
    returns = functions.functions[0].returns
    if returns is None or returns.name in ("auto", "decltype"):
        return None
    kind: ResolvedType = ev.resolve_type(returns, functions.get_home(functions.functions[0]))
    return replace(kind, reference="")
