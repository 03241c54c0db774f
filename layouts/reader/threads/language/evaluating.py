"""Expressions of device code: values, places in registers and memory, and assignments."""

from __future__ import annotations

import re
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from lanescope.cxx.integers import COMPARED
from lanescope.reader.code.syntax import tree
from lanescope.reader.threads.cute import async_mma, bulk
from lanescope.reader.threads.cute.cute_types import is_cute_value
from lanescope.reader.threads.cute.tensor_tiles import is_open_element
from lanescope.reader.threads.instructions.special_registers import SPECIAL, copy_variable, read_variable
from lanescope.reader.threads.instructions.wmma_calls import assign_elements
from lanescope.reader.threads.language import calling
from lanescope.reader.threads.language.aggregates import PAIR, evaluate_list, get_part
from lanescope.reader.threads.language.bit_words import compute_elements
from lanescope.reader.threads.language.declaring import assign_list
from lanescope.reader.threads.language.index_elements import number_element
from lanescope.reader.threads.language.names import find_constant, find_type, resolve_path
from lanescope.reader.threads.language.numbers import (
    ULONG,
    ThreadNumber,
    apply_operator,
    as_array,
    find_common_kind,
    get_number,
    make_name,
    make_number,
    make_uniform,
    select_numbers,
)
from lanescope.reader.threads.language.objects import NOT_HERE, call_operator
from lanescope.reader.threads.language.packing import pack_bytes
from lanescope.reader.threads.language.places import DIMS, evaluate_operand, find_place, load_item, move_pointer
from lanescope.reader.threads.language.program import FunctionSet, Scope
from lanescope.reader.threads.language.types import SizedType, find_builtin
from lanescope.reader.threads.language.values import CHANGES, cast_value, load_place, store_place
from lanescope.reader.threads.memory.comparisons import note_comparison
from lanescope.reader.threads.memory.results import Reduction, is_result, keep_result, note_change
from lanescope.reader.threads.memory.storage import (
    CONSTANT,
    ZERO,
    DataBytes,
    FloatConstant,
    LocalMemory,
    Pointer,
    merge_values,
    parse_constant,
    parse_real,
)

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

_ARITHMETIC = ("+", "-", "*", "/")
_LEAST_SIZE = 256  # of M, N and K in a run: less may be a number of tiles that an argument has, too
_NEGATIVE = re.compile(r"-\s*(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?f?", re.I)


def _evaluate_name(run: KernelRunner, node: tree.Name, scope: Scope) -> Any:
    found = resolve_path(run, node.path, scope)
    number = find_constant(node.last) if found is None and scope.find_owner(node.last) is None else None
    if number is not None:
        return run.make_real(CONSTANT if number else ZERO, number)
    if found is None and node.last in SPECIAL:
        return copy_variable(run, node.last)
    return load_place(run, found, node.span) if isinstance(found, Pointer) else found


# operators ------------------------------------------------------------------------------------------------------------


def _evaluate_literal(run: KernelRunner, node: tree.NumberLiteral, scope: Scope) -> Any:
    return make_uniform(node.value, (max(node.type.bits or 32, 32), node.type.signed))


def _evaluate_real(run: KernelRunner, node: tree.RealLiteral, scope: Scope) -> Any:
    return run.make_real(parse_constant(node.text), parse_real(node.text))


def _evaluate_opaque(run: KernelRunner, node: tree.OpaqueExpression, scope: Scope) -> Any:
    found = _NEGATIVE.fullmatch(node.text)
    return run.make_real(CONSTANT, -parse_real(node.text.lstrip("- "))) if found else None


def _evaluate_binary(run: KernelRunner, node: tree.Binary, scope: Scope) -> Any:
    if node.op == ",":
        run.evaluate(node.left, scope)
        return run.evaluate(node.right, scope)
    called = call_operator(run, node.op, (node.left, node.right), node, scope)
    if called is not NOT_HERE:
        return called
    left = evaluate_operand(run, node.left, scope, node.op)
    if node.op in ("&&", "||"):
        return _evaluate_logical(run, node, scope, get_number(left))
    right = evaluate_operand(run, node.right, scope, node.op)
    result = _combine_values(run, node.op, left, right)
    if node.op in COMPARED and isinstance(left, ThreadNumber) and isinstance(right, ThreadNumber):
        note_comparison(run, node.span, left, right, result)
    note_change(run, node, (left, right), node.right, result)
    return result


def _note_division(run: KernelRunner, left: ThreadNumber, right: ThreadNumber) -> None:
    """Note a division by a number of parts, and one of M, N or K by a number that they are no multiples of."""
    if run.order is not None:
        run.turn_counts.note_division(left, right)
    size = left.known or 0
    if run.sizes is not None and size >= _LEAST_SIZE and size in run.sizes.values() and size % (right.known or size):
        run.turn_counts.are_multiples = False


def _combine_values(run: KernelRunner, op: str, left: Any, right: Any) -> Any:
    """Apply a binary operator to pointers, to sums of products, to packed registers or to numbers."""
    if isinstance(left, ThreadNumber) and isinstance(right, ThreadNumber):
        if op == "/":
            _note_division(run, left, right)
        return apply_operator(op, left, right)
    if isinstance(left, Pointer) or isinstance(right, Pointer):
        return move_pointer(op, left, right)
    if run.tape is not None and op in COMPARED:
        return run.tape.compare(run, op, left, right)
    result = compute_elements(run, left, right, name=op) if op in _ARITHMETIC else pack_bytes(op, left, right)
    return result or apply_operator(op, get_number(left), get_number(right))


def _evaluate_logical(run: KernelRunner, node: tree.Binary, scope: Scope, left: ThreadNumber | None) -> Any:
    shortcut = 0 if node.op == "&&" else 1
    if left is not None and left.known is not None and int(left.known != 0) == shortcut:
        return make_number(shortcut)
    right = get_number(run.evaluate(node.right, scope))
    if right is not None and right.known is not None and int(right.known != 0) == shortcut:
        return make_number(shortcut)
    a, b = (None if number is None else number.const for number in (left, right))
    if a is None or b is None:
        return None
    left_true, right_true = np.asarray(as_array(a)) != 0, np.asarray(as_array(b)) != 0
    result = (left_true & right_true) if node.op == "&&" else (left_true | right_true)
    return make_number(int(result) if result.ndim == 0 else result.astype(np.int64))


def _evaluate_post_step(run: KernelRunner, node: tree.Unary, scope: Scope) -> Any:
    """Evaluate x++ and x--: return the old value; None for a[i++]++, whose place changes if it is evaluated again."""
    assert isinstance(node.value, tree.Assignment)
    target = node.value.target
    old = None if CHANGES.search(run.text[slice(*target.span)]) else run.evaluate(target, scope)
    run.evaluate(node.value, scope)
    return old


def _evaluate_unary(run: KernelRunner, node: tree.Unary, scope: Scope) -> Any:
    called = call_operator(run, node.op, (node.value,), node, scope)
    if called is not NOT_HERE:
        return called
    if node.op == "post":
        return _evaluate_post_step(run, node, scope)
    if node.op == "&":
        place = find_place(run, node.value, scope)
        if isinstance(place, Pointer):
            return place
        return run.evaluate(node.value, scope) if isinstance(place, FunctionSet) else None
    if node.op == "*":
        place = find_place(run, node, scope)
        return load_place(run, place, node.span) if isinstance(place, Pointer) else None
    given = evaluate_operand(run, node.value, scope, node.op)
    value = get_number(given)
    if value is None:
        return compute_elements(run, given, name=node.op) if node.op in "+-" else None
    if node.op == "-":
        return apply_operator("-", make_uniform(0, value.kind), value)
    if node.op == "~":
        return apply_operator("^", value, make_uniform(-1, value.kind))
    if node.op == "!":
        return apply_operator("==", value, make_uniform(0, value.kind))
    return value


def _evaluate_conditional(run: KernelRunner, node: tree.ConditionalExpression, scope: Scope) -> Any:
    condition = get_number(run.evaluate(node.condition, scope))
    if condition is not None and condition.known is not None:
        return run.evaluate(node.yes if condition.known else node.no, scope)
    yes, other = run.evaluate(node.yes, scope), run.evaluate(node.no, scope)
    if condition is not None and condition.const is not None:
        return _choose_values(np.asarray(as_array(condition.const)) != 0, yes, other)
    if isinstance(yes, DataBytes) and not isinstance(other, DataBytes | Reduction):
        return yes  # in range, or a padding value
    if isinstance(yes, ThreadNumber) and isinstance(other, ThreadNumber | None):
        return _keep_row(yes, other, _is_inside(run, node.condition, scope)) or _name_choice(condition, yes, other)
    if yes is other:
        return yes
    if isinstance(yes, FloatConstant) and isinstance(other, FloatConstant):
        return CONSTANT
    if isinstance(yes, Pointer):
        return _keep_inside(run, node, yes, other, scope)
    return _keep_element(run, yes, other)


def _keep_element(run: KernelRunner, yes: Any, no: Any) -> Any:
    """Return what an open choice between an element of D and a constant, or several elements, depends on."""
    known = is_result(no) and (isinstance(yes, FloatConstant | Reduction) or is_result(yes))
    return keep_result(run, yes, no) if known else None


def _keep_inside(run: KernelRunner, node: tree.ConditionalExpression, yes: Pointer, other: Any, scope: Scope) -> Any:
    """Return the address of a row that is kept inside its matrix, row < M ? A + row * K : A; None for other choices."""
    inside = _is_inside(run, node.condition, scope)
    kept, spare = (yes, other) if inside else (other, yes)
    return kept if inside is not None and isinstance(kept, Pointer) and _is_spare(spare, kept) else None


def _is_spare(value: Any, kept: Pointer) -> bool:
    """Return whether a pointer is the beginning of the matrix that another one, of each thread, points into."""
    inside = kept.space == "global" and kept.offset is not None and not kept.offset.uniform
    same = isinstance(value, Pointer) and value.space == "global" and value.array == kept.array
    return inside and same and value.offset is not None and value.offset.known == 0


def _is_inside(run: KernelRunner, test: tree.Expression, scope: Scope, depth: int = 0) -> bool | None:
    """Return whether a test, or a variable with its result, is true for rows inside a matrix, row < M, or false for
    them, row >= M; None if it is another test.
    """
    if isinstance(test, tree.Name):
        place = find_place(run, test, scope)
        held = place.array.initializer if isinstance(place, Pointer) and isinstance(place.array, LocalMemory) else None
        return _is_inside(run, held[0], held[1], depth + 1) if held and held[0] is not None and depth < 4 else None
    if isinstance(test, tree.Unary) and test.op == "!":
        inside = _is_inside(run, test.value, scope, depth)
        return None if inside is None else not inside
    if not isinstance(test, tree.Binary):
        return None
    if test.op in ("&&", "||"):
        both = {_is_inside(run, part, scope, depth) for part in (test.left, test.right)}
        return both.pop() if both == {test.op == "&&"} else None
    return _compare_size(run, test, scope)


def _compare_size(run: KernelRunner, test: tree.Binary, scope: Scope) -> bool | None:
    """Return whether a number of each thread is below an open size if a comparison is true; None if it is another."""
    if test.op not in ("<", "<=", ">", ">=") or CHANGES.search(run.text[slice(*test.span)]):
        return None
    left, right = (get_number(run.evaluate(part, scope)) for part in (test.left, test.right))
    if left is None or right is None or left.uniform == right.uniform:
        return None
    size = right if right.uniform else left
    return (test.op[0] == "<") == right.uniform if size.const is None else None


def _keep_row(yes: ThreadNumber, no: ThreadNumber | None, inside: bool | None) -> ThreadNumber | None:
    """Return the row of a choice that keeps it inside a matrix, row < M ? row : 0: in the inner tiles of a grid, it is
    the row, whatever the other number is. inside: whether the condition is true for rows inside, None if it is another.
    """
    row = yes if inside else no
    return row if inside is not None and row is not None and not row.uniform else None


def _name_choice(condition: ThreadNumber | None, yes: ThreadNumber, no: ThreadNumber | None) -> ThreadNumber | None:
    """Return a symbol for an open choice between uniform numbers; the common value if the condition is unknown."""
    if no is None:
        return None
    if condition is None:
        return yes if _are_equal(yes, no) else None
    parts = (condition, yes, no)
    if not all(part.uniform for part in parts):
        return None
    return make_name("?".join(part.format_key() for part in parts), find_common_kind(yes.kind, no.kind))


def _choose_values(mask: Any, yes: Any, no: Any) -> Any:
    """Return one value for the threads of a mask and another for the rest."""
    if isinstance(yes, ThreadNumber) and isinstance(no, ThreadNumber):
        return select_numbers(mask, yes, no)
    if isinstance(yes, Pointer) and isinstance(no, Pointer):
        same = yes.array is no.array and yes.space == no.space
        moved = select_numbers(mask, yes.offset, no.offset) if same else None
        return yes.move(moved) if moved is not None else None
    return merge_values(mask, yes, no)


def _are_equal(left: ThreadNumber, right: ThreadNumber) -> bool:
    same = apply_operator("==", left, right)
    return same is not None and same.known == 1


def _evaluate_cast(run: KernelRunner, node: tree.Cast, scope: Scope) -> Any:
    if node.type.reference and isinstance(place := find_place(run, node, scope), Pointer):
        return load_place(run, place, node.span)
    return cast_value(run, evaluate_operand(run, node.value, scope), find_type(run, node.type, scope))


def _evaluate_assignment(run: KernelRunner, node: tree.Assignment, scope: Scope) -> Any:
    word = node.op * 2 if node.step else f"{node.op}="
    called = call_operator(run, word, (node.target,) if node.step else (node.target, node.value), node, scope)
    if called is not NOT_HERE:
        return called
    if isinstance(node.target, tree.Index) and assign_elements(run, node, scope):
        return None
    place = find_place(run, node.target, scope)
    value = _evaluate_assigned(run, node.value, place, scope)
    if _assign_cute_value(run, node, value, scope):
        return value
    if place is None and is_open_element(run, node.target, scope):
        run.shared.incomplete = run.shared.incomplete or "an element of a tensor is stored where it is not known"
        run.forget_stores()
    return _store_assigned(run, node, place, value, scope)


def _store_assigned(run: KernelRunner, node: tree.Assignment, place: Any, value: Any, scope: Scope) -> Any:
    """Store the value of an assignment, and return it; None for a list of values."""
    if isinstance(place, Pointer):
        if node.op:
            old, other = load_place(run, place, node.target.span), value
            value = _combine_values(run, node.op, old, other)
            note_change(run, node, (old, other), node.value, value)
        if isinstance(place.array, LocalMemory):
            place.array.note_assignment((node.value, scope), bool(node.op))
    if value is None and assign_list(run, node, place, scope):
        return None
    value = number_element(run, node, value, place, scope)
    store_place(run, place, value, node.target.span)
    return value


def _assign_cute_value(run: KernelRunner, node: tree.Assignment, value: Any, scope: Scope) -> bool:
    """Assign to a variable with a value of CuTe, or to accumulate_ of a TiledMMA; return whether this was one."""
    if isinstance(node.target, tree.Member) and node.target.name == "accumulate_":
        async_mma.set_accumulation(run, run.evaluate(node.target.value, scope), value, node.span)
        return True
    if not is_cute_value(value) or not isinstance(node.target, tree.Name) or node.op:
        return False
    scope.rebind(node.target.last, value)
    return True


def _evaluate_assigned(run: KernelRunner, node: tree.Expression, place: Any, scope: Scope) -> Any:
    """Return the value that a place is given: an object is converted, unless the place is one."""
    plain = isinstance(place, Pointer) and (place.type.scope is None or place.type.pointer)
    return evaluate_operand(run, node, scope) if plain else run.evaluate(node, scope)


def _evaluate_index(run: KernelRunner, node: tree.Index, scope: Scope) -> Any:
    return load_item(run, node, find_place(run, node, scope), scope)


def _evaluate_member(run: KernelRunner, node: tree.Member, scope: Scope) -> Any:
    if isinstance(node.value, tree.Name) and node.value.last in SPECIAL and node.name in DIMS:
        return read_variable(run, node.value.last, node.name)
    place = find_place(run, node, scope)
    if isinstance(place, Pointer):
        return load_place(run, place, node.span)
    if isinstance(place, ThreadNumber) or is_cute_value(place):  # of the type, such as a static constant
        return place
    value = run.evaluate(node.value, scope)
    if isinstance(value, DataBytes) and node.name in DIMS and not value.size % 4:
        size = 2 if value.size == 4 else 4
        first = DIMS[node.name] * size
        return value.cut_bytes(first, size) if first + size <= value.size else None
    return get_part(value, PAIR.get(node.name))


def _evaluate_size(run: KernelRunner, node: tree.SizeOf, scope: Scope) -> Any:
    if isinstance(node.value, tree.Type):
        kind = find_type(run, node.value, scope)
        size = kind.size * prod(kind.dims if not kind.pointer else ()) if kind is not None else None
    else:
        place = find_place(run, node.value, scope) if not isinstance(node.value, tree.NumberLiteral) else None
        size = place.type.size * prod(place.dims) if isinstance(place, Pointer) else None
        if place is None and run.barriers is not None and isinstance(node.value, tree.Call):
            size = bulk.count_bytes(run.evaluate(node.value, scope))
        if place is None and isinstance(node.value, tree.Name):
            place = find_builtin(node.value.last)
        if isinstance(place, SizedType):
            size = place.size * prod(place.dims if not place.pointer else ())
    return make_uniform(size, ULONG) if size else None


def _evaluate_lambda(run: KernelRunner, node: tree.Lambda, scope: Scope) -> Any:
    return calling.Closure(node.function, scope)


HANDLERS: dict[type, Any] = {  # by the class of an expression
    tree.Name: _evaluate_name,
    tree.NumberLiteral: _evaluate_literal,
    tree.RealLiteral: _evaluate_real,
    tree.OpaqueExpression: _evaluate_opaque,
    tree.Binary: _evaluate_binary,
    tree.Unary: _evaluate_unary,
    tree.ConditionalExpression: _evaluate_conditional,
    tree.Cast: _evaluate_cast,
    tree.Assignment: _evaluate_assignment,
    tree.Index: _evaluate_index,
    tree.Member: _evaluate_member,
    tree.SizeOf: _evaluate_size,
    tree.Lambda: _evaluate_lambda,
    tree.Call: calling.evaluate_call,
    tree.ItemList: evaluate_list,
}
