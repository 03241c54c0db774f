"""Run asm statements: outputs get the values that ptx_evaluation.py computes, else they become unknown.

What a statement may write through its pointer operands becomes unknown, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lanescope.reader.code.calling.call_frames import find_origin
from lanescope.reader.code.expression.integer_values import get_integer
from lanescope.reader.code.findings import MOST_ASM_RUNS, AsmRun, list_named_loops, mark_bits
from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.ptx import inline_ptx as ptx, ptx_evaluation
from lanescope.reader.code.ptx.ptx_evaluation import AsmOperand, RegisterFile
from lanescope.reader.code.running.run_records import list_place_names
from lanescope.reader.code.running.static_writes import find_written_names
from lanescope.reader.code.symbolic_integers import LinearExpression, SymbolicInt
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.syntax.tree_statements import Assembly
from lanescope.reader.code.values import PLACES, Address, ArrayValue, ObjectPart, ObjectValue, Pointer, ReferredPlace

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


MOST_DEPTH = 3  # nesting of arrays that are copied
MOST_PARTS = 256  # parts of a global variable

_EMPTY = re.compile(r"[\"\s]|\\[nt]")  # all that the template of a compiler barrier has
_PRODUCT = re.compile(r"tcgen05\.mma|wgmma\.mma_async")
_OWN = re.compile(r"\.reg\s+\.[bus](?:32|64)\b")
_OPERAND = re.compile(r"%\d+|%\[\w+\]|-?\d\w*|\{.*|\[.*")
_LATEST = 4  # of the operands behind D: descriptors, the instruction descriptor, metadata of a sparse product
MOST_PRODUCTS = 32  # of one statement


def execute_assembly(ev: Evaluator, assembly: Assembly, scope: NameScope) -> None:
    """Run an asm statement: record it, and write its outputs and the targets of its pointers."""
    places: list[Any] = []  # of outputs
    values: list[Any] = []  # before the statement; None for outputs and floating-point operands
    for kind, value in assembly.operands:
        output, real = kind.startswith(("=", "+")), _is_floating(kind)
        place = ev.find_place(value, scope) if output and not real else None
        places.append(place.place if isinstance(place, ReferredPlace) else place)
        if kind.startswith("=") or real:
            values.append(None)
        else:
            values.append(ev.load_place(places[-1], value) if output else ev.evaluate_expression(value, scope))
    _record_assembly(ev, assembly, values)
    write_outputs(ev, assembly, places, values, scope)
    if "memory" in assembly.clobbers and ptx_evaluation.may_store(assembly.code):
        _forget_pointees(
            ev, (value for (kind, _), value in zip(assembly.operands, values, strict=True) if kind[:1] not in "=+")
        )
    for (kind, value), operand_value in zip(assembly.operands, values, strict=True):
        if "l" in kind and operand_value is not None:
            ev.note_value(operand_value, ev.format_expression(value), value.span)


def _record_assembly(ev: Evaluator, assembly: Assembly, values: Sequence[Any]) -> None:
    """Record an asm statement with the values of its operands, up to a limit for each entry function."""
    if not _EMPTY.sub("", assembly.text):
        return
    most = MOST_ASM_RUNS * (2 if "mma" in assembly.text else 1)  # products last: they are what is verified
    if len(ev.asm_runs) - ev.asm_runs_before >= most:
        ev.overflowed.setdefault(ev.frames[1].name if ev.frames[1:] else "", ev.run_count)
        return
    ev.run_count += 1
    integers = (None if value is None else get_integer(value) for value in values)
    origins = [
        (e.span, ()) if value is None else find_origin(ev, e)
        for (_, e), value in zip(assembly.operands, values, strict=True)
    ]
    inputs = tuple(
        (kind, value, at[0]) for (kind, _), value, at in zip(assembly.operands, integers, origins, strict=True)
    )
    call_spans = tuple(at[1] for at in origins)
    ev.asm_runs.append(
        AsmRun(
            _fill_in_strings(assembly, values),
            assembly.span,
            assembly.names,
            inputs=inputs,
            loops=list_named_loops(ev),
            calls=ev.list_running_functions(),
            order=ev.run_count,
            call_spans=call_spans,
            arms=tuple(ev.branch_arms),
            places=list_place_names(ev, values),
        )
    )
    if assembly.code is not None and "mma" in assembly.code:
        _record_products(ev, assembly, ev.asm_runs[-1], values)


def _fill_in_strings(assembly: Assembly, values: Sequence[Any]) -> str:
    """Return a statement's template with its operands of constraint "C": nvcc writes these strings into the PTX."""
    text = assembly.text
    for n, ((kind, _), value) in enumerate(zip(assembly.operands, values, strict=True)):
        string = _read_string(value) if kind == "C" else None
        if string is not None:
            name = re.escape(f"[{assembly.names[n]}]") if assembly.names and assembly.names[n] else rf"{n}\b"
            text = re.sub(f"%{name}", string, text)
    return text


def _read_string(value: Any) -> str | None:
    """Return the word that a string or an array of characters holds; None if it is not known to be one."""
    if isinstance(value, ArrayValue):
        codes = [get_integer(cell.value) for cell in value.cells]
        known = [code.known for code in codes if code is not None and code.known is not None]
        ended = len(known) == len(codes) and known[-1:] == [0] and 0 not in known[:-1]
        value = "".join(map(chr, known[:-1])) if ended else None
    return value if isinstance(value, str) and re.fullmatch(r"[\w.:]*", value) else None


def _list_operands(assembly: Assembly, values: Sequence[Any]) -> list[ptx_evaluation.AsmOperand]:
    """Return the operands of a statement with their values before it."""
    names = assembly.names or ("",) * len(assembly.operands)
    return [
        ptx_evaluation.AsmOperand(kind, name, value)
        for (kind, _), name, value in zip(assembly.operands, names, values, strict=True)
    ]


def _record_products(ev: Evaluator, assembly: Assembly, run: AsmRun, values: Sequence[Any]) -> None:
    """Record the products of an asm statement that its own text does not show."""
    operands = _list_operands(assembly, values)
    for product in list_products(assembly.code or "", operands, ev.evaluate_shared_address):
        added = tuple(
            (kind, None if value is None else get_integer(value), assembly.span) for kind, value in product.values
        )
        ev.asm_runs.append(
            replace(
                run,
                text=product.text,
                inputs=(*run.inputs, *added),
                names=(*run.names, *("" for _ in added)) if run.names else (),
                call_spans=(*run.call_spans, *(() for _ in added)) if run.call_spans else (),
                part=True,
            )
        )


# outputs ---------------------------------------------------------------------------------------------------------


def write_outputs(
    ev: Evaluator, assembly: Assembly, places: Sequence[Any], values: Sequence[Any], scope: NameScope
) -> None:
    """Write the computed outputs of a statement; the others become unknown."""
    outputs = [n for n, (kind, _) in enumerate(assembly.operands) if kind.startswith(("=", "+"))]
    integral = [n for n in outputs if not _is_floating(assembly.operands[n][0])]
    results: Sequence[Any] = _compute_outputs(ev, assembly, values) if integral else [None] * len(assembly.operands)
    key = _make_statement_key(assembly, outputs, values)
    for n in integral:
        kind, target = assembly.operands[n]
        fits = _is_register_sized(places[n], ptx_evaluation.AsmOperand(kind).bits) and not isinstance(target, tree.Cast)
        if results[n] is not None and fits:
            wide = isinstance(results[n], SymbolicInt) and "l" in kind  # may be a descriptor
            ev.store_value(places[n], mark_bits(results[n], assembly.span) if wide else results[n], assembly.span)
        else:
            _forget_output(ev, places[n], target, scope, None if key is None or not fits else (*key, n))
    _forget_real_outputs(ev, assembly, outputs, scope)


def _make_statement_key(assembly: Assembly, outputs: Sequence[int], values: Sequence[Any]) -> tuple[Any, ...] | None:
    """Return a key that is equal for statements with equal outputs; None if the inputs do not decide the outputs."""
    if assembly.volatile or any(n not in outputs and value is None for n, value in enumerate(values)):
        return None
    return assembly.text, *(_make_key(value) for value in values)


def _compute_outputs(ev: Evaluator, assembly: Assembly, values: Sequence[Any]) -> Sequence[Any]:
    """Return the value that a statement's PTX leaves in each operand, None if unknown."""
    if assembly.code is None:
        return [None] * len(assembly.operands)
    operands = _list_operands(assembly, values)
    return ptx_evaluation.evaluate_outputs(assembly.code, operands, ev.evaluate_shared_address)


def _forget_real_outputs(ev: Evaluator, assembly: Assembly, outputs: Sequence[int], scope: NameScope) -> None:
    """Make the variables of floating-point outputs unknown."""
    for root in dict.fromkeys(
        _find_root(assembly.operands[n][1]) for n in outputs if _is_floating(assembly.operands[n][0])
    ):
        place = ev.resolve_name(root.path, scope) if root is not None else None
        if isinstance(place, PLACES):
            ev.forget_place(place, integers=True)


def _forget_output(ev: Evaluator, place: Any, target: tree.Expression, scope: NameScope, key: Any) -> None:
    """Make the target of an output unknown; statements with the same key leave the same value."""
    if key is not None and key in ev.asm_results:
        ev.store_value(place, ev.asm_results[key], (0, 0))
        return
    while isinstance(target, tree.Cast):
        target = target.value
        place = ev.find_place(target, scope)
    if isinstance(place, Address):
        place = place.place
    if isinstance(place, PLACES):
        ev.forget_place(place)
        value = place.value if isinstance(place, Cell) else None
        if key is not None and isinstance(value, SymbolicInt):
            ev.asm_results[key] = value
    else:
        ev.forget_names(ev.text[slice(*target.span)], scope)


def _forget_pointees(ev: Evaluator, values: Iterable[Any]) -> None:
    """Make unknown what a statement may write through pointer operands."""
    for value in values:
        if isinstance(value, Address):
            ev.forget_place(value.place, integers=True)
        elif isinstance(value, Pointer) and value.array is not None:
            ev.forget_place(Cell(value.array), integers=True)
        elif isinstance(value, ArrayValue):
            ev.forget_place(Cell(value), integers=True)
        elif (integer := get_integer(value) if not isinstance(value, str) else None) is not None:
            for name in {
                name for piece in integer.pieces for name, _ in piece.source.terms
            } & ev.shared_addresses.keys():
                ev.forget_place(ev.shared_addresses[name], integers=True)


# variables that outlive a function -------------------------------------------------------------------------------


def may_asm_write(ev: Evaluator, name: str) -> bool:
    """Return whether the text may write a variable of this name."""
    if ev.writes is None:
        ev.writes = find_written_names(ev.text)
    return name in ev.writes


def forget_entry_writes(ev: Evaluator) -> None:
    """Reset static variables and static members before the next entry function."""
    ev.static_variables.clear()
    ev.escaped_places.clear()
    ev.globals_lost = False
    for names, name, later in ev.static_members:
        if later is not None:
            names[name] = later
        else:
            names.pop(name, None)
    ev.static_members.clear()


def is_changed_before_entry(ev: Evaluator, declaration: tree.Declaration) -> bool:
    """Return whether a global or static variable may have changed before a function is entered."""
    fixed = declaration.const and not (declaration.type is not None and declaration.type.pointers)
    return not ev.python and not fixed and not ev.runs_main and may_asm_write(ev, declaration.name)


def give_earlier_value(ev: Evaluator, cell: Cell) -> None:
    """Give a variable an unknown value, as earlier calls may have left it."""
    cell.value = copy_unshared(ev, cell.value)  # copies made before keep their values
    ev.forget_place(cell)
    waiting = [cell.value]
    for value in waiting:
        if isinstance(value, Pointer):
            ev.earlier_pointers.add(str(value))
        elif isinstance(value, ObjectValue) and len(waiting) < MOST_PARTS:
            waiting += [inner.value for inner in value.members.values()]
        elif isinstance(value, ArrayValue) and len(waiting) < MOST_PARTS:
            waiting += [inner.value for inner in value.cells]


def copy_unshared(ev: Evaluator, value: Any, depth: int = 0) -> Any:
    """Copy a value so that its items and members can be written without changing the original's."""
    if isinstance(value, ArrayValue) and depth <= MOST_DEPTH:
        cells = [
            Cell(copy_unshared(ev, cell.value, depth + 1), cell.kind, cell.name, cell.span) for cell in value.cells
        ]
        return ArrayValue(cells, value.element, value.name, value.typed)
    return ev.copy_assigned(value)


def is_absent(ev: Evaluator, value: Any) -> bool:
    """Return whether a pointer has no object yet: it is null, or precedes the function that sets it."""
    return isinstance(value, Pointer) and (value.base == LinearExpression() or str(value) in ev.earlier_pointers)


def _is_floating(constraint: str) -> bool:
    """Return whether an operand is a floating-point register."""
    return "f" in constraint or "d" in constraint


def _is_register_sized(place: Any, bits: int) -> bool:
    """Return whether a place is one integer or pointer as wide as a register; a cast may have changed its type."""
    if isinstance(place, ObjectPart):
        return place.field.width == bits
    if not isinstance(place, Cell):
        return False
    if isinstance(place.value, ArrayValue | ObjectValue):
        return False
    return place.kind is None or (64 if place.kind.pointers else place.kind.bits) in (bits, None)


def _make_key(value: Any) -> Any:
    """Return a key of an input value."""
    integer = get_integer(value) if value is not None and not isinstance(value, str) else None
    return str(value) if integer is None else (integer.const, integer.pieces)


def _find_root(expression: tree.Expression) -> tree.Name | None:
    """Find the variable that an expression is an item or member of."""
    while not isinstance(expression, tree.Name):
        if isinstance(expression, tree.Member | tree.Index | tree.Cast | tree.Unary):
            expression = expression.value
        else:
            return None
    return expression


@dataclass(frozen=True, slots=True)
class AsmProduct:
    """One product. text: its PTX, in which the operands after those of the statement are `values`."""

    text: str
    values: tuple[tuple[str, Any], ...]  # (constraint, value) of each further operand


def list_products(
    code: str, operands: Sequence[AsmOperand], shared: Callable[[Any], Any] = lambda value: value
) -> Iterator[AsmProduct]:
    """Yield the products that a statement's own text does not show: all but the first, and those on its own registers.

    A statement may build its descriptors (`mov.b64 db, {lo, hi}`) and multiply several times; each product becomes a
    statement of its own, with the values of those registers as further operands.

    shared: a pointer → its address in the shared window.

    >>> code = "{ .reg .b64 d; mov.b64 d, {%0, 5}; tcgen05.mma.cta_group::1.kind::f16 [%1], d, d, %1, 1; }"
    >>> [(p.text, len(p.values)) for p in list_products(code, [AsmOperand("r"), AsmOperand("r")])]
    [('"tcgen05.mma.cta_group::1.kind::f16 [%1], %2, %3, %1, 1;"', 2)]
    """
    match = _PRODUCT.search(code)
    if match is None or not (_OWN.search(code) or _PRODUCT.search(code, match.end())):
        return
    registers = RegisterFile(operands, shared)
    count = 0
    for statement in ptx.parse_ptx(code) or ():
        if isinstance(statement, ptx.PtxInstruction) and _PRODUCT.match(statement.opcode):
            product = _make_product(statement, registers)
            if (count or product.values) and count < MOST_PRODUCTS:
                yield product
            count += 1
        if not registers.run_statement(statement):
            return


def _make_product(instruction: ptx.PtxInstruction, registers: RegisterFile) -> AsmProduct:
    """Write a product with operand numbers in place of the statement's own registers."""
    texts, values = list(instruction.operands), list[tuple[str, Any]]()
    for n, text in enumerate(texts[: _LATEST + 1]):
        register = None if n == 0 or _OPERAND.fullmatch(text) else registers.find_register(text)
        if register is not None and registers.bits[register] in (32, 64):
            texts[n] = f"%{len(registers.operand_registers) + len(values)}"
            values.append(("l" if registers.bits[register] == 64 else "r", registers.contents[register]))
    return AsmProduct(f'"{instruction.opcode} {", ".join(texts)};"', tuple(values))
