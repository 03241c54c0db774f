"""One text, evaluated: what it defines is entered, its loose lines are run, then every function that nothing calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

from lanescope.deadline import note_reading_place
from lanescope.reader.code import cxx, evaluation_merge, ptx_module, python, sass_module, tree
from lanescope.reader.code.definitions import DEFINITIONS
from lanescope.reader.code.entries import CLUE, WORDS, is_never_instantiated, list_entries, run_function_alone
from lanescope.reader.code.evaluation_merge import EvaluationRecords
from lanescope.reader.code.evaluator import Evaluator
from lanescope.reader.code.expressions import BudgetError, CallFrame
from lanescope.reader.code.findings import AsmRun, BodilessCall, FoundDescriptor, Pitfall
from lanescope.reader.code.given_values import select_names, select_values
from lanescope.reader.code.header_names import PRELUDE, find_fields_union
from lanescope.reader.code.launches import note_instantiations
from lanescope.reader.code.predefined import PresumedMacro
from lanescope.reader.code.preprocessor import Preprocessor
from lanescope.reader.code.reached import Entry
from lanescope.reader.code.run_records import MemoryStore, SkippedCode
from lanescope.reader.code.scopes import Cell, NameScope, number_places
from lanescope.reader.code.source import PreparedSource, UnreadPart, make_plain_source
from lanescope.reader.code.source_text import blank_printed, is_python
from lanescope.reader.code.symbolic_integers import Span, SymbolicInt
from lanescope.reader.code.tree_statements import ExpressionStatement
from lanescope.reader.code.values import NamespaceValue
from lanescope.reader.code.variants import Variant, VariantChoice, list_leaves, make_variants

BUDGET = 8_000  # steps of one text's evaluation
MOST_STEPS = 3_000  # of one function, so that a long one leaves some for the others
MOST_TIMES = 2  # so many times as many steps where a text is several, all of them together
MOST_TEXT = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What came of a text. unfinished: (function, where its name stands) of each that the budget did not suffice for,
    "" for the lines outside all.
    """

    found: tuple[FoundDescriptor, ...]
    made: tuple[BodilessCall, ...]
    warnings: tuple[Pitfall, ...]
    unfinished: tuple[tuple[str, Span], ...]
    python: bool
    assembled: tuple[AsmRun, ...] = ()
    skipped: tuple[SkippedCode, ...] = ()
    stored: tuple[MemoryStore, ...] = ()
    merged: bool = False  # of several choices of #if: records do not say under which one they run
    endless: frozenset[str] = frozenset()  # variables of loops whose end the text leaves open
    cut: frozenset[str] = frozenset()  # variables of loops of which not every turn was run
    recast: frozenset[str] = frozenset()  # undeclared names that are cast to pointers to a type
    text: str = ""
    taken: tuple[str, ...] = ()  # functions without code that were taken as PTX's matrix-descriptor-encode
    widened: frozenset[str] = frozenset()  # undeclared names that are cast to an integer with a step added
    presumed: tuple[PresumedMacro, ...] = ()  # macros that the text does not define and that decide a branch of it
    unread: tuple[UnreadPart, ...] = ()  # parts that are not read
    foreign: tuple[tuple[str, str], ...] = ()  # a type or an object without code, and whose members it is taken to have

    @property
    def complete(self) -> bool:
        """Whether the budget sufficed, and all was read."""
        return not self.unfinished and not self.unread


def make_evaluator(text: str, budget: int, python: bool = False) -> tuple[Evaluator, NameScope]:
    """Return an evaluator for a text, and the scope of its global names."""
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


def _evaluate_assembled(text: str, ptx: bool, macros: tuple[tuple[str, str], ...]) -> Evaluation:
    """Evaluate a PTX module, else a listing of SASS."""
    evaluate = ptx_module.evaluate_module if ptx else sass_module.evaluate_listing
    module = evaluate(text, select_values(text, macros))
    made = Evaluation(found=module.found, made=(), warnings=(), unfinished=(), python=False, text=text)
    return replace(made, assembled=module.assembled)


@lru_cache(maxsize=4)
@number_places()
def evaluate_text(
    text: str,
    patience: int = 1,
    standard: tuple[tuple[str, str], ...] = (),
    macros: tuple[tuple[str, str], ...] = (),
    headers: tuple[Span, ...] = (),
) -> Evaluation | None:
    """Evaluate what a text of C++ or Python builds; None if it has none of the words, or cannot be parsed.

    standard: bodiless functions, and the swizzle of the K-major tile whose descriptor each builds; macros: values for
    those that the text does not define. An integer is also the value of a name that no directive asks for: one that
    nothing declares, and a parameter of a function or template that nothing gives.

    headers: parts of the text that its own includes; their functions are run where the text reaches them.

    Where an #if depends on macros that the text leaves open, every text that it can be is evaluated: what they agree on
    is known, the rest depends on the condition.

    patience: how many times as many steps it may take as a server grants one. The last few are kept: the reader, the
    workbench and `check` ask for the same text one after the other.
    """
    text, cut = _cut_text(text, MOST_TEXT * patience)
    assembled = ptx_module.is_ptx_module(text)
    if assembled or sass_module.is_sass_listing(text):
        return replace(_evaluate_assembled(text, assembled, macros), unread=cut)
    if not CLUE.search(text):
        return None
    written = blank_printed(text)
    if is_python(text):
        ev, scope = make_evaluator(text, BUDGET * patience, True)
        evaluation = _evaluate_statements(ev, scope, python.parse_python(written), standard)
        return evaluation and replace(evaluation, unread=cut)
    given: dict[str, int | str] = {**select_values(written, macros), **select_names(written, macros)}
    tree_ = make_variants(
        Preprocessor(written, patience, {n: v for n, v in macros if n not in given and n.isidentifier()})
    )
    every = tuple(list_leaves(tree_))
    budget = BUDGET * patience * (1 if len(every) == 1 else MOST_TIMES) // len(every)
    variant = _evaluate_variant(text, tree_, budget, standard, given, headers)
    presumed = {part.name: part for leaf in every for part in leaf.presumed}
    unread = dict.fromkeys((*cut, *(part for leaf in every for part in leaf.unread), *variant.made.unread))
    if not variant.parsed and not unread:
        return None
    return replace(variant.made, presumed=tuple(presumed.values()), unread=tuple(unread))


@dataclass(frozen=True, slots=True)
class _VariantEvaluation:
    """What a text builds under some choices of what its #if leave open. parsed: whether it is code; holds, loses: as
    evaluation_merge.EvaluationRecords has them.
    """

    made: Evaluation
    parsed: bool
    holds: evaluation_merge.Place
    loses: evaluation_merge.Place

    @property
    def records(self) -> EvaluationRecords:
        evaluation = self.made
        return EvaluationRecords(
            evaluation.found, evaluation.made, evaluation.warnings, evaluation.assembled, self.holds, self.loses
        )


def _cut_text(text: str, most: int) -> tuple[str, tuple[UnreadPart, ...]]:
    """Cut a text to the lines that are read; return the lines, and what is not read."""
    if len(text) <= most:
        return text, ()
    at = text.rfind("\n", 0, most) + 1 or most
    line = text.count("\n", 0, at) + 1
    stopped = UnreadPart(f"Reading stopped at line {line}: the text has more than {most:,} characters.", (at, at))
    return text[:at], (stopped,)


def _evaluate_variant(
    text: str,
    variant: Variant,
    budget: int,
    standard: tuple[tuple[str, str], ...],
    given: Mapping[str, int | str],
    headers: tuple[Span, ...],
) -> _VariantEvaluation:
    """Evaluate every text of a tree of conditions, and merge the results."""
    if isinstance(variant, VariantChoice):
        yes, no = (
            _evaluate_variant(text, variant.yes, budget, standard, given, headers),
            _evaluate_variant(text, variant.no, budget, standard, given, headers),
        )
        return _merge_evaluations(variant.condition, yes, no)
    ev, scope = make_evaluator(text, budget)
    ev.given.update({name: value for name, value in given.items() if isinstance(value, int)})
    ev.given_names.update({name: value for name, value in given.items() if isinstance(value, str)})
    ev.headers = headers
    return _evaluate_leaf(ev, scope, variant, standard)


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
    lost = (*source.lost, *left_out)
    incomplete = evaluation is not None and bool(evaluation.unfinished)

    def loses(span: Span) -> bool:
        return incomplete or any(first < span[1] and span[0] < past for first, past in lost)

    return _VariantEvaluation(
        replace(
            evaluation or Evaluation(found=(), made=(), warnings=(), unfinished=(), python=False, text=text),
            unread=unread,
        ),
        evaluation is not None,
        lambda span: source.source.has_place(span[0]),
        loses,
    )


def _get_line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _merge_evaluations(condition: str, yes: _VariantEvaluation, no: _VariantEvaluation) -> _VariantEvaluation:
    """Merge the evaluations under both choices of a condition."""
    a, b = yes.made, no.made
    both = evaluation_merge.merge_records(condition, yes.records, no.records)
    evaluation = Evaluation(
        found=both.found,
        made=both.made,
        warnings=both.warnings,
        unfinished=tuple(dict.fromkeys((*a.unfinished, *b.unfinished))),
        python=False,
        assembled=both.assembled,
        merged=True,
        endless=a.endless | b.endless,
        cut=a.cut | b.cut,
        recast=a.recast | b.recast,
        text=a.text,
        taken=tuple(dict.fromkeys((*a.taken, *b.taken))),
        widened=a.widened | b.widened,
        unread=tuple(dict.fromkeys((*a.unread, *b.unread))),
        foreign=tuple(dict.fromkeys((*a.foreign, *b.foreign))),
    )
    return _VariantEvaluation(evaluation, yes.parsed or no.parsed, both.holds, both.loses)


def _evaluate_statements(
    ev: Evaluator, scope: NameScope, body: tuple[tree.Statement, ...], standard: tuple[tuple[str, str], ...]
) -> Evaluation | None:
    """Evaluate the statements of a text within the evaluator's steps; None if there are none."""
    if not body:
        return None
    with note_reading_place(lambda: ev.reached):
        return _run_statements(ev, scope, body, standard)


def _run_statements(
    ev: Evaluator, scope: NameScope, body: tuple[tree.Statement, ...], standard: tuple[tuple[str, str], ...]
) -> Evaluation:
    text, budget, is_py = ev.text, ev.left, ev.python
    ev.standard = dict(standard)
    if scope.parent is not None:  # below what the text itself declares
        scope.parent.names.update({name: Cell(SymbolicInt(value), name=name) for name, value in ev.given.items()})
    unfinished: list[tuple[str, Span]] = []
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
        if n == len(first):  # instances that nothing launched, before the functions that they call
            entries[n:] = sorted(later, key=lambda entry: id(entry[0]) not in ev.named_instances)
            entry = entries[n]
        function = entry[0]
        if id(function) in ev.called:
            continue
        if n >= len(first) and not unfinished and is_never_instantiated(ev, entry, entries, left_out):
            left_out.add(id(function))
            continue
        if ev.left <= 0:
            unfinished.append((function.name, _get_name_span(text, function)))
            break
        share = max(budget * MOST_STEPS // BUDGET, ev.left // (len(entries) - n))
        if id(function) in ev.named_instances:  # what a JIT compiles: the text is about it
            share = max(share, ev.left * 3 // 4)
        if not _run_entry(ev, entry, share, earlier):
            unfinished.append((function.name, _get_name_span(text, function)))
    return Evaluation(
        found=tuple(ev.found),
        made=tuple(ev.made),
        warnings=tuple(ev.warned.values()),
        unfinished=tuple(unfinished),
        python=is_py,
        assembled=tuple(ev.assembled),
        skipped=tuple(ev.skipped),
        stored=tuple(ev.stored),
        endless=frozenset(ev.endless),
        cut=frozenset(ev.cut),
        recast=frozenset(ev.recast),
        text=text,
        taken=tuple(ev.taken),
        widened=frozenset(ev.widened),
        foreign=tuple(ev.foreign.items()),
    )


def _run_loose_lines(ev: Evaluator, scope: NameScope, body: tuple[tree.Statement, ...]) -> None:
    """Enter what a text defines, then run its lines outside every function."""
    below = scope.parent  # what loose lines use before the line that gives it
    if below is not None:
        for late_value in _find_late_values(body):
            below.names.setdefault(late_value.name, ev.make_later_member(late_value, scope))
    for statement in body:
        if not isinstance(statement, tree.UsingDeclaration):
            ev.define(statement, scope)
    for statement in body:
        if not isinstance(statement, DEFINITIONS):
            ev.execute_statement(statement, scope)


def _run_entry(ev: Evaluator, entry: Entry, share: int, earlier: list[tuple[Cell, Any, Any]]) -> bool:
    """Run a function by itself within `share` steps; False where they do not suffice."""
    function, owner, home = entry
    rest = max(ev.left - share, 0)
    ev.left -= rest
    ev.begins = function.name == "main" and owner is None and home is ev.globals
    for cell, first, value in earlier:
        cell.value = ev.copy_unshared(first if ev.begins else value)
    ev.forget_entry_writes()
    try:
        instances = ev.named_instances.get(id(function), []) if owner is None else []
        for instance in instances:
            ev.run_entry(function, home, templates=instance.templates)
        if not instances:
            run_function_alone(ev, function, owner, home)
    except (BudgetError, RecursionError):
        return False
    finally:
        ev.left = max(ev.left, 0) + rest
        del ev.frames[1:]
        ev.loops.clear()
        for list_ in (ev.log, ev.branches, ev.arms, ev.gone, ev.targets, ev.tries):
            list_.clear()
        ev.nested, ev.haunting = 0, []
    return True


def _list_earlier_writes(ev: Evaluator, body: tuple[tree.Statement, ...]) -> list[tuple[Cell, Any, Any]]:
    """Return global variables that some function may have written before another is run.

    Each comes with its first value, which main finds, and an unknown one; loose lines use a variable of theirs.
    """
    loose = " ".join(ev.text[slice(*one.span)] for one in body if not isinstance(one, (*DEFINITIONS, tree.Declaration)))
    loose_words = set(WORDS.findall(loose))
    writes: list[tuple[Cell, Any, Any]] = []
    waiting, seen = [ev.globals], set()
    while waiting:
        scope = waiting.pop()
        if id(scope) in seen:
            continue
        seen.add(id(scope))
        for name, cell in scope.names.items():
            if isinstance(cell, NamespaceValue):
                waiting.append(cell.scope)
            elif isinstance(cell, Cell) and not cell.const and name not in loose_words and ev.may_asm_write(name):
                first = ev.copy_unshared(cell.value)
                ev.give_earlier_value(cell)
                writes.append((cell, first, cell.value))
    return writes


def _get_name_span(text: str, function: tree.Function) -> Span:
    """Return the place of a function's name."""
    at = text.find(function.name, *function.span)
    return (at, at + len(function.name)) if function.name and at >= 0 else (function.span[0], function.span[0])


def _find_late_values(body: tuple[tree.Statement, ...]) -> Iterator[tree.Declaration]:
    """Find loose lines that name a list of values or a layout: people paste them after the call that takes them."""
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
    """Return the names of a called function: NVMMASharedLayout.get_default_for."""
    if isinstance(function, tree.Member):
        return (*_get_name_parts(function.value), function.name)
    return tuple(name for name, _ in function.path) if isinstance(function, tree.Name) else ()
