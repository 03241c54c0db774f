"""An asm statement of a text: its outputs hold what its PTX computes, where assembly.py evaluates it, else something
unknown; so does what it may write through a pointer that it is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from lanescope.reader.code import assembly, tree
from lanescope.reader.code.finding import MOST_ASSEMBLED, Assembled
from lanescope.reader.code.statics import written_names
from lanescope.reader.code.values import PLACES, Address, Array, Cell, Object, Part, Pointer, Referred, Scope, number
from lanescope.reader.code.word import Int, Linear

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

MOST_DEEP = 3  # arrays in arrays that are copied
MOST_PARTS = 256  # of a global variable


def execute_assembly(ev: Evaluator, one: tree.Assembly, scope: Scope) -> None:
    """Run an asm statement: keep it, and write its outputs and what its pointers point to."""
    places: list[Any] = []  # of outputs
    values: list[Any] = []  # before; what an instruction accumulates into is not looked at
    for kind, value in one.operands:
        output, real = kind.startswith(("=", "+")), _real(kind)
        place = ev.place(value, scope) if output and not real else None
        places.append(place.place if isinstance(place, Referred) else place)
        if kind.startswith("=") or real:
            values.append(None)
        else:
            values.append(ev.load(places[-1], value) if output else ev.value(value, scope))
    _record(ev, one, values)
    ev.write_outputs(one, places, values, scope)
    if "memory" in one.clobbers and assembly.stores(one.code):
        _through(ev, (value for (kind, _), value in zip(one.operands, values, strict=True) if kind[:1] not in "=+"))
    for (kind, value), own in zip(one.operands, values, strict=True):
        if "l" in kind and own is not None:
            ev.notice(own, ev.words(value), value.span)


def _record(ev: Evaluator, one: tree.Assembly, values: Sequence[Any]) -> None:
    """Keep an asm statement with the values that it was given."""
    if len(ev.assembled) >= MOST_ASSEMBLED:
        return
    ev.ran += 1
    held = (None if value is None else number(value) for value in values)
    where = [
        (e.span, ()) if value is None else ev.written(e) for (_, e), value in zip(one.operands, values, strict=True)
    ]
    told = tuple((kind, value, at[0]) for (kind, _), value, at in zip(one.operands, held, where, strict=True))
    loops = tuple(loop for loop in ev.loops if loop[0])
    around = tuple(at[1] for at in where)
    ev.assembled.append(
        Assembled(
            one.text,
            one.span,
            one.names,
            given=told,
            loops=loops,
            calls=ev.within(),
            order=ev.ran,
            around=around,
        )
    )


# outputs ---------------------------------------------------------------------------------------------------------


def write_outputs(
    ev: Evaluator, one: tree.Assembly, places: Sequence[Any], values: Sequence[Any], scope: Scope
) -> None:
    """Write what a statement's PTX computes into its outputs; those that it does not say become unknown."""
    outputs = [n for n, (kind, _) in enumerate(one.operands) if kind.startswith(("=", "+"))]
    whole = [n for n in outputs if not _real(one.operands[n][0])]
    made: Sequence[Any] = _computed(ev, one, values) if whole else [None] * len(one.operands)
    key = _statement_key(one, outputs, values)
    for n in whole:
        kind, target = one.operands[n]
        fits = _fits(places[n], assembly.Operand(kind).bits) and not isinstance(target, tree.Cast)
        if made[n] is not None and fits:
            wide = isinstance(made[n], Int) and "l" in kind  # what may be a descriptor
            ev.store(places[n], ev.mark(made[n], one.span) if wide else made[n], one.span)
        else:
            _lose(ev, places[n], target, scope, None if key is None or not fits else (*key, n))
    _lose_reals(ev, one, outputs, scope)


def _statement_key(one: tree.Assembly, outputs: Sequence[int], values: Sequence[Any]) -> tuple[Any, ...] | None:
    """Return what tells statements apart that leave different outputs; None where the inputs do not say."""
    if one.volatile or any(n not in outputs and value is None for n, value in enumerate(values)):
        return None
    return one.text, *(_key(value) for value in values)


def _computed(ev: Evaluator, one: tree.Assembly, values: Sequence[Any]) -> Sequence[Any]:
    """Return what a statement's PTX leaves in each operand, None where that is not known."""
    if one.code is None:
        return [None] * len(one.operands)
    names = one.names or ("",) * len(one.operands)
    given = [
        assembly.Operand(kind, name, value) for (kind, _), name, value in zip(one.operands, names, values, strict=True)
    ]
    return assembly.outputs(one.code, given, ev.shared_address)


def _lose_reals(ev: Evaluator, one: tree.Assembly, outputs: Sequence[int], scope: Scope) -> None:
    """Make the variables unknown that floating-point outputs are written to."""
    for root in dict.fromkeys(_root(one.operands[n][1]) for n in outputs if _real(one.operands[n][0])):
        found = ev.resolve(root.path, scope) if root is not None else None
        if isinstance(found, PLACES):
            ev.forget(found, integers=True)


def _lose(ev: Evaluator, place: Any, target: tree.Expression, scope: Scope, key: Any) -> None:
    """Make what an output names unknown. key: statements with one key leave the same in it."""
    if key is not None and key in ev.alike:
        ev.store(place, ev.alike[key], (0, 0))
        return
    while isinstance(target, tree.Cast):
        target = target.value
        place = ev.place(target, scope)
    if isinstance(place, Address):
        place = place.place
    if isinstance(place, PLACES):
        ev.forget(place)
        value = place.value if isinstance(place, Cell) else None
        if key is not None and isinstance(value, Int):
            ev.alike[key] = value
    else:
        ev.forget_names(ev.text[slice(*target.span)], scope)


def _through(ev: Evaluator, given: Iterable[Any]) -> None:
    """Make unknown what a statement may write through the pointers that it is given."""
    for value in given:
        if isinstance(value, Address):
            ev.forget(value.place, integers=True)
        elif isinstance(value, Pointer) and value.array is not None:
            ev.forget(Cell(value.array), integers=True)
        elif isinstance(value, Array):
            ev.forget(Cell(value), integers=True)
        elif (whole := number(value) if not isinstance(value, str) else None) is not None:
            for name in {name for piece in whole.pieces for name, _ in piece.source.terms} & ev.lent.keys():
                ev.forget(ev.lent[name], integers=True)


# variables that outlive a function -------------------------------------------------------------------------------


def may_be_written(ev: Evaluator, name: str) -> bool:
    """Whether a statement of the text may write a variable of this name."""
    if ev.writes is None:
        ev.writes = written_names(ev.text)
    return name in ev.writes


def forget_entry(ev: Evaluator) -> None:
    """Forget what the function that was run last did to variables that outlive it, but for global ones."""
    ev.lasting.clear()
    ev.escaped.clear()
    ev.globals_lost = False
    for names, name, later in ev.statics:
        if later is not None:
            names[name] = later
        else:
            names.pop(name, None)
    ev.statics.clear()


def outlives(ev: Evaluator, one: tree.Declare) -> bool:
    """Whether a global or static variable may hold something else than its initialiser when a function begins."""
    fixed = one.const and not (one.type is not None and one.type.pointers)
    return not ev.python and not fixed and not ev.begins and ev.may_be_written(one.name)


def earlier(ev: Evaluator, cell: Cell) -> None:
    """Give such a variable an unknown value of its own."""
    cell.value = ev.unshared(cell.value)  # what was handed on keeps what it held
    ev.forget(cell)
    waiting = [cell.value]
    for value in waiting:
        if isinstance(value, Pointer):
            ev.left_over.add(str(value))
        elif isinstance(value, Object) and len(waiting) < MOST_PARTS:
            waiting += [one.value for one in value.members.values()]
        elif isinstance(value, Array) and len(waiting) < MOST_PARTS:
            waiting += [one.value for one in value.cells]


def unshared(ev: Evaluator, value: Any, deep: int = 0) -> Any:
    """A value whose items and members can be written without another's."""
    if isinstance(value, Array) and deep <= MOST_DEEP:
        cells = [Cell(ev.unshared(one.value, deep + 1), one.kind, one.name, one.span) for one in value.cells]
        return Array(cells, value.element, value.name, value.typed)
    return ev.copied(value)


def absent(ev: Evaluator, value: Any) -> bool:
    """Whether a value is no object yet: a null pointer, or what a cache held before the function that fills it."""
    return isinstance(value, Pointer) and (value.base == Linear() or str(value) in ev.left_over)


def _real(constraint: str) -> bool:
    """Whether an operand is a floating-point register."""
    return "f" in constraint or "d" in constraint


def _fits(place: Any, bits: int) -> bool:
    """Whether a place is one integer or pointer of a register's width: a cast may have made it of another."""
    if isinstance(place, Part):
        return place.field.width == bits
    if not isinstance(place, Cell):
        return False
    if isinstance(place.value, Array | Object):
        return False
    return place.kind is None or (64 if place.kind.pointers else place.kind.bits) in (bits, None)


def _key(value: Any) -> Any:
    """Return what tells inputs apart."""
    whole = number(value) if value is not None and not isinstance(value, str) else None
    return str(value) if whole is None else (whole.const, whole.pieces)


def _root(one: tree.Expression) -> tree.Name | None:
    """The variable whose item or member an expression is."""
    while not isinstance(one, tree.Name):
        if isinstance(one, tree.Member | tree.Index | tree.Cast | tree.Unary):
            one = one.value
        else:
            return None
    return one
