"""Search for the edit that makes D A·B in a kernel of which runs with TMA copies have found a mistake of D."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import replace
from functools import partial

from lanescope.deadline import OverdueError, end_when, is_late
from lanescope.errors import LayoutError
from lanescope.reader.code.evaluation import Evaluation
from lanescope.workbench.check_report import FindRepair, ProductRepair
from lanescope.workbench.kernels.kernel_runs import KernelText
from lanescope.workbench.products.known_matrices import KnownMatrices
from lanescope.workbench.products.known_sizes import DEPTH
from lanescope.workbench.products.missing_tiles import TITLES as MISSING_TITLES
from lanescope.workbench.products.product_edits import ProductSearch
from lanescope.workbench.products.replaced_sizes import Evaluate
from lanescope.workbench.products.result_origins import OriginJudge, OriginReport, check_origins
from lanescope.workbench.products.unproved_results import UNSHOWN
from lanescope.workbench.repair.repairs import apply_edits
from lanescope.workbench.results import Span, TextEdit
from lanescope.workbench.text.function_texts import FunctionText, list_reached_texts


def find_origin_search(
    source: KernelText, macros: Mapping[str, str], evaluate: Evaluate, mistakes: Set[str]
) -> FindRepair | None:
    """Return the search for what makes D A·B in the only kernel of a text. mistakes: the codes of what was found."""
    kernels = [one for one in source.functions if one.kernel]
    if len(kernels) != 1:
        return None
    judge = OriginJudge(source, macros, source.code.launches, evaluate, DEPTH)
    try:
        with end_when(is_late):
            for one in judge.list_alone():
                report = one.judge() or OriginReport()
                if not mistakes.isdisjoint(found.code for found in report.mistakes):
                    stores = report.stores if mistakes - MISSING_TITLES.keys() else ()  # else only tiles are wrong
                    return partial(_find_repair, one, stores, kernels[0])
    except OverdueError:
        return lambda _: None  # the search is cut short
    except LayoutError:
        return None
    return None


def _find_repair(
    judge: OriginJudge, stores: Iterable[Span], kernel: FunctionText, places: Iterable[Span]
) -> ProductRepair | None:
    """Return the edit that makes D A·B. judge: of one block; stores: of D; places: where a mistake shows."""
    source = judge.source
    reached = frozenset(list_reached_texts(source.blank, source.functions, kernel))
    proves, is_size = partial(_is_right_with, judge), KnownMatrices().is_size
    search = ProductSearch(source.code.text, kernel.name, reached, proves, is_size, stores=sorted(stores))
    return search.find_repair(places)


def _is_right_with(judge: OriginJudge, edit: TextEdit) -> bool:
    """Return whether D is A·B after an edit, first in the run of one block."""
    code = _evaluate(judge, edit, whole=False)
    with end_when(is_late):
        short = replace(judge, source=KernelText(code)).judge() if code is not None else None
    if short is None or short.mistakes or not all(point.reason.startswith(UNSHOWN) for point in short.open):
        return False
    code = _evaluate(judge, edit, whole=True)
    report = check_origins(KernelText(code), judge.macros, code.launches, judge.evaluate) if code is not None else None
    return report is not None and bool(report.proved) and not report.mistakes and not report.open


def _evaluate(judge: OriginJudge, edit: TextEdit, whole: bool) -> Evaluation | None:
    """Return the evaluation of a text after an edit. whole: whether its maps and launches may be others, too."""
    code = judge.source.code
    text = apply_edits(code.text, [replace(edit, text=edit.text.ljust(edit.span[1] - edit.span[0]))])
    return judge.evaluate(text) if whole or len(text) > len(code.text) else replace(code, text=text)
