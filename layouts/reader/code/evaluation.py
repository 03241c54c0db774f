"""Evaluate one text: expand its macros, parse it, and run its statements under each undecided #if."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from lanescope.deadline import note_reading_place
from lanescope.reader.code import evaluation_merge
from lanescope.reader.code.evaluation_merge import EvaluationRecords
from lanescope.reader.code.evaluator import Evaluator
from lanescope.reader.code.findings import AsmRun, BodilessCall, FoundDescriptor, Pitfall
from lanescope.reader.code.naming.scopes import NameScope, number_places
from lanescope.reader.code.preprocessing.predefined import ARCHITECTURE, PresumedMacro
from lanescope.reader.code.preprocessing.preprocessor import Preprocessor
from lanescope.reader.code.preprocessing.supplied_values import select_supplied, select_values
from lanescope.reader.code.preprocessing.variants import Variant, VariantChoice, list_leaves, make_variants
from lanescope.reader.code.ptx import ptx_module, sass_module
from lanescope.reader.code.running.entries import has_clue
from lanescope.reader.code.running.run_records import Fork, KernelLaunchRecord, MemoryStore, SkippedCode
from lanescope.reader.code.running.statement_run import BUDGET, make_evaluator, run_statements
from lanescope.reader.code.symbolic_integers import Span
from lanescope.reader.code.syntax import cxx, python, tree
from lanescope.reader.code.syntax.source import PreparedSource, UnreadPart
from lanescope.reader.code.syntax.source_text import blank_printed, is_python

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
    launches: tuple[KernelLaunchRecord, ...] = ()
    forks: tuple[Fork, ...] = ()
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
    unused: tuple[Span, ...] = ()  # functions of headers that the text does not use, sorted

    @property
    def complete(self) -> bool:
        """Whether everything was read and evaluated within the budget."""
        return not self.unfinished and not self.unread


def _evaluate_assembly(text: str, ptx: bool, macros: tuple[tuple[str, str], ...]) -> Evaluation:
    """Evaluate a PTX module, else a listing of SASS."""
    evaluate = ptx_module.evaluate_module if ptx else sass_module.evaluate_listing
    module = evaluate(text, select_values(text, macros))
    evaluation = Evaluation(
        descriptors=module.descriptors, bodiless_calls=(), warnings=(), unfinished=(), python=False, text=text
    )
    return replace(evaluation, asm_runs=module.asm_runs)


def _evaluate_python(
    text: str, code: str, patience: int, standard: tuple[tuple[str, str], ...], cut: tuple[UnreadPart, ...]
) -> Evaluation | None:
    ev, scope = make_evaluator(text, BUDGET * patience, True)
    evaluation = _evaluate_statements(ev, scope, python.parse_python(code), standard)
    return evaluation and replace(evaluation, unread=cut)


@lru_cache(maxsize=8)
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
    if not has_clue(text):
        return None
    code = blank_printed(text)
    if is_python(text):
        return _evaluate_python(text, code, patience, standard, cut)
    supplied = select_supplied(code, macros)
    defined = {name: value for name, value in macros if name.isidentifier() and name not in supplied}
    variants = make_variants(Preprocessor(code, patience, defined))
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
        launches=tuple(dict.fromkeys((*a.launches, *b.launches))),
        merged=True,
        unbounded_variables=a.unbounded_variables | b.unbounded_variables,
        cut_variables=a.cut_variables | b.cut_variables,
        recast_names=a.recast_names | b.recast_names,
        text=a.text,
        encode_functions=tuple(dict.fromkeys((*a.encode_functions, *b.encode_functions))),
        widened_names=a.widened_names | b.widened_names,
        unread=tuple(dict.fromkeys((*a.unread, *b.unread))),
        assumed_unions=tuple(dict.fromkeys((*a.assumed_unions, *b.assumed_unions))),
        unused=tuple(span for span in a.unused if span in set(b.unused)),
    )
    return _VariantEvaluation(evaluation, yes.parsed or no.parsed, both.holds, both.loses)


def _evaluate_statements(
    ev: Evaluator, scope: NameScope, body: tuple[tree.Statement, ...], standard: tuple[tuple[str, str], ...]
) -> Evaluation | None:
    """Evaluate the statements of a text within the step budget; None if there are no statements."""
    if not body:
        return None
    with note_reading_place(lambda: ev.statement_start):
        unfinished, spent_loops = run_statements(ev, scope, body, standard)
    return Evaluation(
        descriptors=tuple(ev.descriptors),
        bodiless_calls=tuple(ev.bodiless_calls),
        warnings=tuple(ev.warned.values()),
        unfinished=unfinished,
        python=ev.python,
        spent_loops=tuple(spent_loops.items()),
        asm_runs=tuple(ev.asm_runs),
        overflowed=tuple(ev.overflowed.items()),
        skipped=tuple(ev.skipped),
        memory_stores=tuple(ev.memory_stores),
        launches=tuple(ev.launches),
        forks=tuple(ev.fork_records),
        unbounded_variables=frozenset(ev.unbounded_variables),
        cut_variables=frozenset(ev.cut_variables),
        recast_names=frozenset(ev.recast_names),
        text=ev.text,
        encode_functions=tuple(ev.encode_functions),
        widened_names=frozenset(ev.widened_names),
        assumed_unions=tuple(ev.assumed_unions.items()),
        unused=ev.unused_spans,
    )
