"""Evaluate code that builds a 64-bit word: assignments to CUTLASS's bit fields, or statements or a function that return
it.

desc.bitfield.leading_byte_offset_ = 1024 >> 4; … unassigned fields are 0, as in `GmmaDescriptor desc{}` uint64_t d =
(uint64_t)(1024 >> 4) << 16; d |= …; return d | start;

Names of variables do not matter. One value may be unknown: the address in the start field.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lanescope.cxx.expression import LONGEST
from lanescope.cxx.integers import ULONG
from lanescope.cxx.source_text import walk_outside_brackets
from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value
from lanescope.reader.code.evaluator import Evaluator
from lanescope.reader.code.expression.expressions import BudgetError
from lanescope.reader.code.expression.integer_values import get_integer
from lanescope.reader.code.naming.definitions import DEFINITIONS
from lanescope.reader.code.naming.scopes import Cell, NameScope, number_places
from lanescope.reader.code.preprocessing.preprocessor import prepare_source
from lanescope.reader.code.running.paths import EarlyExit
from lanescope.reader.code.running.statement_run import BUDGET, make_evaluator
from lanescope.reader.code.symbolic_integers import FIELD_BITS, FIELD_SHIFT, SymbolicInt, convert_int
from lanescope.reader.code.syntax import cxx, tree
from lanescope.reader.code.syntax.tree_statements import ExpressionStatement
from lanescope.reader.code.values import PLACES, FunctionSet, ObjectValue, OpaqueValue

_ASSIGNS = re.compile(r"\s*[A-Za-z_][\w.>\[\]-]*(?:\.|->)\w+\s*=[^=]")  # a member
HINT = "Allowed: `desc.bitfield.member_ = constant;` statements, or declarations and a `return` of one expression."


@dataclass(frozen=True, slots=True)
class BuiltWord:
    """A word that code builds.

    start: the symbol whose address is in the start field (which is 0 in `word`), "" if the start is known. notices:
    warnings about the code.
    """

    word: int
    start: str = ""
    notices: tuple[str, ...] = ()


def build_word(text: str, field: str = "descriptor") -> BuiltWord:
    """Return the word that code builds; LayoutError if more than the start is unknown.

    >>> start = "desc.bitfield.start_address_ = cast_smem_ptr_to_uint(smem) >> 4;"
    >>> built = build_word(f"{start} desc.bitfield.layout_type_ = 1;")
    >>> hex(built.word), built.start
    ('0x4000000000000000', 'smem')
    """
    built = build_words(text, field)
    if len(built) > 1:
        names = " and ".join(sorted(name for name, _ in built))
        raise _make_error(f"it builds {len(built)} descriptors, {names}", field, "Paste one of them.")
    return built[0][1]


@number_places()
def build_words(text: str, field: str = "descriptor") -> tuple[tuple[str, BuiltWord], ...]:
    """Return (variable, word) of each word that code builds, at least one; the name is "" for a single word.

    >>> [name for name, _ in build_words("a.bitfield.layout_type_ = 1; b.bitfield.layout_type_ = 2;")]
    ['a', 'b']
    """
    if len(text) > LONGEST:
        raise LayoutError("bad_word", f"The code has {len(text)} characters.", f"At most {LONGEST}.", field)
    ev, values = _evaluate_words(text, field)
    return tuple((name, _make_word(ev, value, field)) for name, value in values.items())


def _make_word(ev: Evaluator, value: Any, field: str) -> BuiltWord:
    integer = get_integer(value)
    if integer is None or (isinstance(value, OpaqueValue) and value.kind is None):
        raise _make_error(
            f"'{shorten_value(str(value), 60)}' has no value" if value is not None else "nothing is returned", field
        )
    notices = tuple(dict.fromkeys(warning.message for warning in ev.warned.values()))
    word = convert_int(integer, ULONG) if integer.type.bits < ULONG.bits else integer
    if word.known is not None:
        return BuiltWord(word.known & ULONG.mask, "", notices)
    return BuiltWord(word.const & ULONG.mask, _get_start(word, field), notices)


def _make_error(why: str, field: str, hint: str = HINT) -> LayoutError:
    return LayoutError("bad_word", f"The code is not understood: {why}.", hint, field)


def _get_start(value: SymbolicInt, field: str) -> str:
    """Return the symbol in a word's start field; LayoutError if anything else is unknown."""
    names = list(dict.fromkeys(str(piece.source) for piece in value.pieces))
    start_piece = value.pieces[0]
    if len(value.pieces) > 1 or start_piece.low >= FIELD_BITS:
        raise _make_error(
            f"{shorten_value(', '.join(names), 80)}: no value", field, "Only the start address may be unknown."
        )
    if start_piece.low or start_piece.shift != FIELD_SHIFT or value.const & ((1 << FIELD_BITS) - 1):
        raise _make_error(
            f"the start field is not bits {FIELD_SHIFT} and up of the address '{shorten_value(names[0], 60)}'",
            field,
            "The start field is (address & 0x3FFFF) >> 4 in bits 0 to 13.",
        )
    return names[0]


def _evaluate_words(text: str, field: str) -> tuple[Evaluator, dict[str, Any]]:
    """Evaluate a text; return the evaluator, and the value of each variable that it builds, "" for a returned value."""
    text = _complete_statement(_split_assignments(text.rstrip()))
    source = prepare_source(text)
    if not cxx.is_well_formed(source):
        raise _make_error("a part of it is not C++", field)
    body = cxx.parse_cxx(source)
    ev, scope = make_evaluator(text, BUDGET)
    try:
        for statement in body:
            ev.define(statement, scope)
        values = _evaluate_loose_lines(ev, body, scope, field)
        if isinstance(values, dict):
            return ev, values
        if isinstance(values, FunctionSet):  # a lambda that nothing calls
            return ev, {"": ev.run_entry(values.functions[0], values.captured or values.scope)}
        value = values
        functions = [node for node in body if isinstance(node, tree.Function)]
        for function in functions if value is None else ():
            if function.key not in ev.called:
                value = ev.run_entry(function, scope)
    except (BudgetError, RecursionError):
        raise _make_error("it takes too many steps", field, "Paste only what builds the word.") from None
    return ev, {"": value}


def _split_assignments(text: str) -> str:
    """Write assignments to members that commas join as statements: `d.a = 1, d.b = 2;`."""
    places = [at for at in walk_outside_brackets(text, ",", 0, len(text)) if _ASSIGNS.match(text, at + 1)]
    for at in places:
        statement = text[1 + max(text.rfind(end, 0, at) for end in ";{}\n,") :]
        if _ASSIGNS.match(statement):
            text = f"{text[:at]};{text[at + 1 :]}"
    return text


def _complete_statement(text: str) -> str:
    """Return an expression as a return statement, and any other text with its last semicolon."""
    is_code = ";" in text or "{" in text or text.lstrip().startswith("return") or _ASSIGNS.match(text)
    text = text if is_code else f"return {text}"
    return text if text[-1:] in (";", "}") else f"{text};"


def _evaluate_loose_lines(ev: Evaluator, body: tuple[tree.Statement, ...], scope: NameScope, field: str) -> Any:
    """Evaluate the lines outside functions.

    The result is the value they return, else the last expression, the object whose bits they assign, or the variable
    that they write last; a dict by name if they build several.
    """
    last: Any = None
    written: list[str] = []
    for statement in body:
        if isinstance(statement, DEFINITIONS):
            continue
        if isinstance(statement, ExpressionStatement) and not isinstance(
            statement.value, tree.Assignment | tree.Member
        ):
            last = ev.evaluate_expression(statement.value, scope)
            continue
        _check_target(ev, statement, scope, field)
        early_exit = ev.execute_statement(statement, scope)
        if isinstance(early_exit, EarlyExit) and early_exit.word == "return":
            return early_exit.value
        written += _list_written_names(statement)
    if last is not None or not written:
        return last
    assigned = {
        name
        for statement in body
        if isinstance(statement, ExpressionStatement)
        for name in _list_written_names(statement)
    }
    return _choose_written(ev, scope, written, assigned)


def _choose_written(ev: Evaluator, scope: NameScope, written: list[str], assigned: set[str]) -> Any:
    """Return the object whose bits are assigned, or the variable written last; a dict by name if there are several.

    written: the variables in the order of their statements. assigned: those assigned after their declaration.
    """
    cells = {name: scope.names[name] for name in written if isinstance(scope.names.get(name), Cell)}
    objects = [name for name, cell in cells.items() if isinstance(cell.value, ObjectValue) and name in assigned]
    ends = [name for name in cells if not objects and _is_final_word(ev, name, cells[name], written)]
    for names in (objects, ends):
        if len(names) > 1:
            return {name: cells[name].value for name in names}
    if objects:
        return cells[objects[0]].value
    chosen = cells.get(written[-1])
    if ends and chosen is not None and _is_narrow(chosen):  # an instruction descriptor
        chosen = cells[ends[0]]
    return chosen.value if chosen is not None and not isinstance(chosen.value, ObjectValue) else None


def _is_narrow(cell: Cell) -> bool:
    """Return whether a variable is an integer of less than 64 bits."""
    integer = get_integer(cell.value)
    return integer is not None and integer.type.bits < ULONG.bits


def _is_final_word(ev: Evaluator, name: str, cell: Cell, written: list[str]) -> bool:
    """Return whether a 64-bit variable has fields in its upper half and is never read."""
    value = get_integer(cell.value) if not isinstance(cell.value, ObjectValue | OpaqueValue) else None
    complete = value is not None and value.type.bits == ULONG.bits and value.const >> 32 != 0
    return complete and len(re.findall(rf"\b{re.escape(name)}\b", ev.text)) == written.count(name)


def _check_target(ev: Evaluator, statement: tree.Statement, scope: NameScope, field: str) -> None:
    """Reject assignments to unknown members, and compound assignments to variables without a value."""
    if not isinstance(statement, ExpressionStatement) or not isinstance(statement.value, tree.Assignment):
        return
    target = statement.value.target
    if isinstance(target, tree.Member) and not isinstance(ev.find_place(target, scope), PLACES):
        raise _make_error(f"'{shorten_value(target.name)}' is not a member of the descriptor's bit field", field)
    if isinstance(target, tree.Name) and statement.value.op and ev.resolve_name(target.path, scope) is None:
        raise _make_error(f"'{shorten_value(target.last)}' has no value before it is changed", field)


def _list_written_names(statement: tree.Statement) -> Iterator[str]:
    """Yield the variable that a statement declares or writes."""
    if isinstance(statement, tree.Declaration) and statement.name:
        yield statement.name
    if isinstance(statement, ExpressionStatement) and isinstance(statement.value, tree.Assignment):
        target = statement.value.target
        while isinstance(target, tree.Member | tree.Index):
            target = target.value
        if isinstance(target, tree.Name):
            yield target.last
