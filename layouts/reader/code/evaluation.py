"""Evaluate one text: enter its definitions, run the lines outside functions, then each uncalled function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

from lanescope.deadline import note_reading_place
from lanescope.reader.code import cxx, evaluation_merge, ptx_module, python, sass_module, tree
from lanescope.reader.code.definitions import DEFINITIONS
from lanescope.reader.code.entries import CLUE, is_never_instantiated, list_entries, run_function_alone
from lanescope.reader.code.evaluation_merge import EvaluationRecords
from lanescope.reader.code.evaluator import Evaluator
from lanescope.reader.code.expressions import BudgetError, CallFrame
from lanescope.reader.code.findings import AsmRun, BodilessCall, FoundDescriptor, Pitfall
from lanescope.reader.code.header_names import PRELUDE, find_fields_union
from lanescope.reader.code.launches import note_instantiations
from lanescope.reader.code.predefined import ARCHITECTURE, PresumedMacro
from lanescope.reader.code.preprocessor import Preprocessor
from lanescope.reader.code.run_records import MemoryStore, SkippedCode
from lanescope.reader.code.scopes import Cell, NameScope, number_places
from lanescope.reader.code.source import PreparedSource, UnreadPart, make_plain_source
from lanescope.reader.code.source_text import blank_printed, is_python
from lanescope.reader.code.supplied_values import select_names, select_values
from lanescope.reader.code.symbolic_integers import Span, SymbolicInt
from lanescope.reader.code.tree_statements import ExpressionStatement
from lanescope.reader.code.used_functions import Entry
from lanescope.reader.code.values import NamespaceValue
from lanescope.reader.code.variants import Variant, VariantChoice, list_leaves, make_variants
from lanescope.reader.code.work_words import WORDS

BUDGET = 8_000  # steps of one text's evaluation
MOST_STEPS = 3_000  # of one function, so that a long function leaves steps for the others
MOST_TIMES = 2  # factor on the budget that all preprocessor variants of a text share
MOST_TEXT = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The results of evaluating a text.

    unfinished: (name, span of the name) of each function that exceeded the budget, "" for the lines outside functions.
    """

    descriptors: tuple[FoundDescriptor, ...]
    bodiless_calls: tuple[BodilessCall, ...]
    warnings: tuple[Pitfall, ...]
    unfinished: tuple[tuple[str, Span], ...]
    python: bool
    spent_loops: tuple[tuple[str, tuple[str, ...]], ...] = ()  # unfinished function → variables of its loops then
    asm_runs: tuple[AsmRun, ...] = ()
    overflowed: tuple[tuple[str, int], ...] = ()  # (function, order from which its asm statements are not all recorded)
    skipped: tuple[SkippedCode, ...] = ()
    memory_stores: tuple[MemoryStore, ...] = ()
    merged: bool = False  # from several variants of #if; a record does not say which variant it belongs to
    unbounded_variables: frozenset[str] = frozenset()  # variables of loops with an unknown bound
    cut_variables: frozenset[str] = frozenset()  # variables of loops that were run in part
    recast_names: frozenset[str] = frozenset()  # undeclared names that are cast to pointers to a type
    text: str = ""
    encode_functions: tuple[str, ...] = ()  # bodiless functions taken to be PTX's matrix-descriptor-encode
    widened_names: frozenset[str] = frozenset()  # undeclared names that are cast to an integer with a step added
    presumed: tuple[PresumedMacro, ...] = ()  # undefined macros that decide a branch, with the value assumed for each
    unread: tuple[UnreadPart, ...] = ()
    assumed_unions: tuple[
        tuple[str, str], ...
    ] = ()  # (undefined type or object, the union whose members it is assumed to have)

    @property
    def complete(self) -> bool:
        """Whether everything was read and evaluated within the budget."""
        return not self.unfinished and not self.unread


def make_evaluator(text: str, budget: int, python: bool = False) -> tuple[Evaluator, NameScope]:
    """Make an evaluator for a text; return it with the scope of the text's global names."""
    ev = Evaluator(text, budget, python)
    ev.frames.append(CallFrame("", (0, len(text))))
    ev.prelude = NameScope()
    for statement in () if python else parse_prelude():
        ev.define(statement, ev.prelude)
    union, ev.unions = ("", frozenset()) if python else find_fields_union(text)
    for statement in cxx.parse_cxx(make_plain_source(union)) if union else ():
        ev.define(statement, ev.prelude)
    ev.globals = NameScope(NameScope(ev.prelude), "namespace")
    return ev, ev.globals


@cache
def parse_prelude() -> tuple[tree.Statement, ...]:
    return cxx.parse_cxx(make_plain_source(PRELUDE))


def _evaluate_assembly(text: str, ptx: bool, macros: tuple[tuple[str, str], ...]) -> Evaluation:
    """Evaluate a PTX module, else a listing of SASS."""
    evaluate = ptx_module.evaluate_module if ptx else sass_module.evaluate_listing
    module = evaluate(text, select_values(text, macros))
    evaluation = Evaluation(
        descriptors=module.descriptors, bodiless_calls=(), warnings=(), unfinished=(), python=False, text=text
    )
    return replace(evaluation, asm_runs=module.asm_runs)


@lru_cache(maxsize=4)
@number_places()
def evaluate_text(
    text: str,
    patience: int = 1,
    standard: tuple[tuple[str, str], ...] = (),
    macros: tuple[tuple[str, str], ...] = (),
    headers: tuple[Span, ...] = (),
) -> Evaluation | None:
    """Evaluate what C++ or Python code builds; None if the text has none of the clue words or cannot be parsed.

    standard: (bodiless function, swizzle of the K-major tile whose descriptor it builds). macros: values of macros that
    the text does not define. If no directive tests the name, an integer is also the value of an undeclared name and of
    a function or template parameter without an argument.

    headers: spans of included headers; their functions are run only if the rest of the text uses them.

    If an #if depends on undefined macros, every variant of the text is evaluated. A value is known if the variants
    agree on it; otherwise it depends on the condition.

    patience: factor on the server's step budget. The last few results are cached, since the reader, the workbench and
    `check` evaluate the same text one after the other.
    """
    text, cut = _cut_text(text, MOST_TEXT * patience)
    is_ptx = ptx_module.is_ptx_module(text)
    if is_ptx or sass_module.is_sass_listing(text):
        return replace(_evaluate_assembly(text, is_ptx, macros), unread=cut)
    if not CLUE.search(text):
        return None
    code = blank_printed(text)
    if is_python(text):
        ev, scope = make_evaluator(text, BUDGET * patience, True)
        evaluation = _evaluate_statements(ev, scope, python.parse_python(code), standard)
        return evaluation and replace(evaluation, unread=cut)
    supplied: dict[str, int | str] = {**select_values(code, macros), **select_names(code, macros)}
    variants = make_variants(
        Preprocessor(code, patience, {n: v for n, v in macros if n not in supplied and n.isidentifier()})
    )
    leaves = tuple(list_leaves(variants))
    budget = BUDGET * patience * (1 if len(leaves) == 1 else MOST_TIMES) // len(leaves)
    targeted = any(name == ARCHITECTURE for name, _ in macros)
    variant = _evaluate_variant(text, variants, budget, _EvaluationSettings(standard, supplied, headers, targeted))
    presumed = {item.name: item for leaf in leaves for item in leaf.presumed}
    unread = dict.fromkeys((*cut, *(item for leaf in leaves for item in leaf.unread), *variant.evaluation.unread))
    if not variant.parsed and not unread:
        return None
    return replace(variant.evaluation, presumed=tuple(presumed.values()), unread=tuple(unread))


@dataclass(frozen=True, slots=True)
class _EvaluationSettings:
    """The arguments of evaluate_text. targeted: whether the caller wants the instructions that the target lacks."""

    standard: tuple[tuple[str, str], ...]
    values: Mapping[str, int | str]
    headers: tuple[Span, ...]
    targeted: bool


@dataclass(frozen=True, slots=True)
class _VariantEvaluation:
    """The evaluation of some variants of a text. parsed: whether it is code. holds, loses: see EvaluationRecords."""

    evaluation: Evaluation
    parsed: bool
    holds: evaluation_merge.Place
    loses: evaluation_merge.Place

    @property
    def records(self) -> EvaluationRecords:
        result = self.evaluation
        return EvaluationRecords(
            result.descriptors, result.bodiless_calls, result.warnings, result.asm_runs, self.holds, self.loses
        )


def _cut_text(text: str, most: int) -> tuple[str, tuple[UnreadPart, ...]]:
    """Cut a text to whole lines within `most` characters; return them with the part that is not read."""
    if len(text) <= most:
        return text, ()
    end = text.rfind("\n", 0, most) + 1 or most
    line = text.count("\n", 0, end) + 1
    stopped = UnreadPart(f"Reading stopped at line {line}: the text has more than {most:,} characters.", (end, end))
    return text[:end], (stopped,)


def _evaluate_variant(text: str, variant: Variant, budget: int, settings: _EvaluationSettings) -> _VariantEvaluation:
    """Evaluate every variant in a tree of conditions and merge the results."""
    if isinstance(variant, VariantChoice):
        yes, no = (_evaluate_variant(text, branch, budget, settings) for branch in (variant.yes, variant.no))
        return _merge_evaluations(variant.condition, yes, no)
    ev, scope = make_evaluator(text, budget)
    ev.supplied_values.update({name: value for name, value in settings.values.items() if isinstance(value, int)})
    ev.supplied_names.update({name: value for name, value in settings.values.items() if isinstance(value, str)})
    ev.headers, ev.asks_every_instruction = settings.headers, settings.targeted
    return _evaluate_leaf(ev, scope, variant, settings.standard)


def _evaluate_leaf(
    ev: Evaluator, scope: NameScope, source: PreparedSource, standard: tuple[tuple[str, str], ...]
) -> _VariantEvaluation:
    text = ev.text
    body, left_out = cxx.parse_cxx_parts(source.source)
    evaluation = _evaluate_statements(ev, scope, body, standard)
    unread = tuple(
        UnreadPart(
            f"Lines {_get_line(text, a)} to {_get_line(text, b)} are not read: parsing them takes too much.", (a, b)
        )
        for a, b in left_out
    )
    lost_spans = (*source.lost, *left_out)
    incomplete = evaluation is not None and bool(evaluation.unfinished)

    def loses(span: Span) -> bool:
        return incomplete or any(first < span[1] and span[0] < past for first, past in lost_spans)

    return _VariantEvaluation(
        replace(
            evaluation
            or Evaluation(descriptors=(), bodiless_calls=(), warnings=(), unfinished=(), python=False, text=text),
            unread=unread,
        ),
        evaluation is not None,
        lambda span: source.source.has_place(span[0]),
        loses,
    )


def _get_line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _merge_evaluations(condition: str, yes: _VariantEvaluation, no: _VariantEvaluation) -> _VariantEvaluation:
    """Merge the evaluations under both choices of a condition."""
    a, b = yes.evaluation, no.evaluation
    both = evaluation_merge.merge_records(condition, yes.records, no.records)
    evaluation = Evaluation(
        descriptors=both.descriptors,
        bodiless_calls=both.bodiless_calls,
        warnings=both.warnings,
        unfinished=tuple(dict.fromkeys((*a.unfinished, *b.unfinished))),
        python=False,
        spent_loops=tuple(dict.fromkeys((*a.spent_loops, *b.spent_loops))),
        asm_runs=both.asm_runs,
        overflowed=tuple({**dict(a.overflowed), **dict(b.overflowed)}.items()),
        merged=True,
        unbounded_variables=a.unbounded_variables | b.unbounded_variables,
        cut_variables=a.cut_variables | b.cut_variables,
        recast_names=a.recast_names | b.recast_names,
        text=a.text,
        encode_functions=tuple(dict.fromkeys((*a.encode_functions, *b.encode_functions))),
        widened_names=a.widened_names | b.widened_names,
        unread=tuple(dict.fromkeys((*a.unread, *b.unread))),
        assumed_unions=tuple(dict.fromkeys((*a.assumed_unions, *b.assumed_unions))),
    )
    return _VariantEvaluation(evaluation, yes.parsed or no.parsed, both.holds, both.loses)


def _evaluate_statements(
    ev: Evaluator, scope: NameScope, body: tuple[tree.Statement, ...], standard: tuple[tuple[str, str], ...]
) -> Evaluation | None:
    """Evaluate the statements of a text within the step budget; None if there are no statements."""
    if not body:
        return None
    with note_reading_place(lambda: ev.statement_start):
        return _run_statements(ev, scope, body, standard)


def _run_statements(
    ev: Evaluator, scope: NameScope, body: tuple[tree.Statement, ...], standard: tuple[tuple[str, str], ...]
) -> Evaluation:
    text, budget, is_py = ev.text, ev.steps_left, ev.python
    ev.standard_functions = dict(standard)
    if scope.parent is not None:  # the text's own declarations hide them
        scope.parent.names.update(
            {name: Cell(SymbolicInt(value), name=name) for name, value in ev.supplied_values.items()}
        )
    unfinished: list[tuple[str, Span]] = []
    spent_loops: dict[str, tuple[str, ...]] = {}
    try:
        _run_loose_lines(ev, scope, body)
    except (BudgetError, RecursionError):
        unfinished.append(("", (0, 0)))
    earlier = [] if is_py else _list_earlier_writes(ev, body)
    if not is_py:
        note_instantiations(ev, body, scope)
    first, later = list_entries(ev, body, text)
    entries, left_out = [*first, *later], set[int]()
    for n, entry in enumerate(entries):
        if n == len(first):  # run instances that are never launched before the functions they call
            entries[n:] = sorted(later, key=lambda entry: id(entry[0]) not in ev.named_instances)
            entry = entries[n]
        function = entry[0]
        if id(function) in ev.called:
            continue
        if n >= len(first) and not unfinished and is_never_instantiated(ev, entry, entries, left_out):
            left_out.add(id(function))
            continue
        if ev.steps_left <= 0:
            unfinished.append((function.name, _get_name_span(text, function)))
            break
        share = max(budget * MOST_STEPS // BUDGET, ev.steps_left // (len(entries) - n))
        if id(function) in ev.named_instances:  # a kernel for a JIT compiler is the subject of the text
            share = max(share, ev.steps_left * 3 // 4)
        if not _run_entry(ev, entry, share, earlier):
            unfinished.append((function.name, _get_name_span(text, function)))
            spent_loops[function.name] = ev.spent_loops
    return Evaluation(
        descriptors=tuple(ev.descriptors),
        bodiless_calls=tuple(ev.bodiless_calls),
        warnings=tuple(ev.warned.values()),
        unfinished=tuple(unfinished),
        python=is_py,
        spent_loops=tuple(spent_loops.items()),
        asm_runs=tuple(ev.asm_runs),
        overflowed=tuple(ev.overflowed.items()),
        skipped=tuple(ev.skipped),
        memory_stores=tuple(ev.memory_stores),
        unbounded_variables=frozenset(ev.unbounded_variables),
        cut_variables=frozenset(ev.cut_variables),
        recast_names=frozenset(ev.recast_names),
        text=text,
        encode_functions=tuple(ev.encode_functions),
        widened_names=frozenset(ev.widened_names),
        assumed_unions=tuple(ev.assumed_unions.items()),
    )


def _run_loose_lines(ev: Evaluator, scope: NameScope, body: tuple[tree.Statement, ...]) -> None:
    """Enter the definitions of a text, then run its lines outside functions."""
    outer = scope.parent  # for values that a line uses before the line that assigns them
    if outer is not None:
        for late_value in _find_late_values(body):
            outer.names.setdefault(late_value.name, ev.make_later_member(late_value, scope))
    for statement in body:
        if not isinstance(statement, tree.UsingDeclaration):
            ev.define(statement, scope)
    for statement in body:
        if not isinstance(statement, DEFINITIONS):
            ev.execute_statement(statement, scope)


def _run_entry(ev: Evaluator, entry: Entry, share: int, earlier: list[tuple[Cell, Any, Any]]) -> bool:
    """Run a function by itself; return whether `share` steps sufficed."""
    function, owner, home = entry
    reserved = max(ev.steps_left - share, 0)
    ev.steps_left -= reserved
    ev.runs_main = function.name == "main" and owner is None and home is ev.globals
    for cell, first, value in earlier:
        cell.value = ev.copy_unshared(first if ev.runs_main else value)
    ev.forget_entry_writes()
    ev.asm_runs_before = len(ev.asm_runs)
    try:
        instances = ev.named_instances.get(id(function), []) if owner is None else []
        for instance in instances:
            ev.run_entry(function, home, templates=instance.templates)
        if not instances:
            run_function_alone(ev, function, owner, home)
    except (BudgetError, RecursionError):
        return False
    finally:
        ev.steps_left = max(ev.steps_left, 0) + reserved
        del ev.frames[1:]
        ev.loops.clear()
        for records in (ev.write_log, ev.branches, ev.branch_arms, ev.escaped_paths, ev.jump_targets, ev.try_blocks):
            records.clear()
        ev.nesting, ev.pending_objects = 0, []
    return True


def _list_earlier_writes(ev: Evaluator, body: tuple[tree.Statement, ...]) -> list[tuple[Cell, Any, Any]]:
    """List the global variables that one function may have written before another is run.

    Each comes with its initial value, which main reads, and an unknown value, which other functions read. Variables
    that the lines outside functions use are omitted.
    """
    loose = " ".join(
        ev.text[slice(*statement.span)]
        for statement in body
        if not isinstance(statement, (*DEFINITIONS, tree.Declaration))
    )
    loose_words = set(WORDS.findall(loose))
    writes: list[tuple[Cell, Any, Any]] = []
    pending, seen = [ev.globals], set()
    while pending:
        scope = pending.pop()
        if id(scope) in seen:
            continue
        seen.add(id(scope))
        for name, cell in scope.names.items():
            if isinstance(cell, NamespaceValue):
                pending.append(cell.scope)
            elif isinstance(cell, Cell) and not cell.const and name not in loose_words and ev.may_asm_write(name):
                first = ev.copy_unshared(cell.value)
                ev.give_earlier_value(cell)
                writes.append((cell, first, cell.value))
    return writes


def _get_name_span(text: str, function: tree.Function) -> Span:
    """Return the span of a function's name."""
    at = text.find(function.name, *function.span)
    return (at, at + len(function.name)) if function.name and at >= 0 else (function.span[0], function.span[0])


def _find_late_values(body: tuple[tree.Statement, ...]) -> Iterator[tree.Declaration]:
    """Find lines outside functions that name a list or a layout: people paste them after the call that uses them."""
    for statement in body:
        if isinstance(statement, tree.Declaration) and statement.name and statement.type and statement.type.dims:
            if isinstance(statement.value, tree.ItemList):
                yield statement
        elif (
            isinstance(statement, ExpressionStatement)
            and isinstance(statement.value, tree.Assignment)
            and not statement.value.op
        ):
            target, value = statement.value.target, statement.value.value
            layout = isinstance(value, tree.Call) and "ayout" in "".join(_get_name_parts(value.function))
            if isinstance(target, tree.Name) and len(target.path) == 1 and (layout or isinstance(value, tree.ItemList)):
                yield tree.Declaration(None, target.last, value, span=statement.span)


def _get_name_parts(function: tree.Expression) -> tuple[str, ...]:
    """Return the parts of a called function's name, as in NVMMASharedLayout.get_default_for."""
    if isinstance(function, tree.Member):
        return (*_get_name_parts(function.value), function.name)
    return tuple(name for name, _ in function.path) if isinstance(function, tree.Name) else ()
