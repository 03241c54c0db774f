"""Judge what the kernels of a text compute: D of a product, or O of attention."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set

from lanescope.deadline import OverdueError, end_when, is_late
from lanescope.errors import LayoutError
from lanescope.reader.code.running.run_records import KernelLaunchRecord
from lanescope.workbench.check_report import FindRepair, OpenPoint
from lanescope.workbench.products.attention import RESULT, AttentionJudge, Verdict
from lanescope.workbench.products.known_products import KnownJudge
from lanescope.workbench.products.known_sums import OpenPart
from lanescope.workbench.products.product_report import ProductReport
from lanescope.workbench.products.sum_examples import give_example
from lanescope.workbench.products.unproved_results import PRODUCT, make_open_point
from lanescope.workbench.results import CheckFinding
from lanescope.workbench.text.function_texts import FunctionText, blank_text, find_functions


def judge_results(
    text: str,
    macros: Mapping[str, str],
    recorded: Sequence[KernelLaunchRecord],
    proved: Set[str],
    doubted: Set[str] = frozenset(),
    others: Set[str] = frozenset(),
) -> ProductReport:
    """Return mistakes and open points of the kernels whose D is not known to be A·B, or whose O softmax(Q·Kᵀ)·V.

    proved: the names of those whose fragments are right; doubted: of those with reads that may be wrong or are not
    known, which are open only where a line shows it; others: of those without a verdict, which are run only if they
    have matrices Q, K and V.
    """
    mistakes, open_, blank = list[CheckFinding](), list[OpenPoint](), blank_text(text)
    whole: dict[str, bool] = {}
    for one, judge, result in _list_judges(text, macros, recorded, (proved | doubted, others)):
        open_part, mistake = _judge_in_time(judge)
        mistakes += [mistake] if mistake is not None else []
        whole |= {one.name: result is RESULT} if open_part is None or open_part.whole else {}
        if mistake is None and open_part and open_part.reason and (open_part.span or one.name in {*proved, *whole}):
            reason = open_part.reason + (give_example(open_part.wrong) if result is PRODUCT else "")
            open_.append(make_open_point(one, blank, reason, open_part.span, result))
    return ProductReport(mistakes, open_, whole)


def _list_judges(
    text: str,
    macros: Mapping[str, str],
    recorded: Sequence[KernelLaunchRecord],
    names: tuple[Set[str], Set[str]],
) -> Iterator[tuple[FunctionText, Callable[[], Verdict], tuple[str, str]]]:
    """Yield kernels, what judges each, and the names of its result. names: of those that are judged, and of those that
    are judged if they have matrices Q, K and V.
    """
    blank = blank_text(text)
    for one in find_functions(blank):
        if not one.kernel or one.name not in names[0] | names[1]:
            continue
        run = KnownJudge(text, macros, recorded, one, blank[slice(*one.body)])
        attention = AttentionJudge(run)
        if attention.is_attention:
            yield one, attention.judge, RESULT
        elif one.name in names[0]:
            yield one, run.judge_launched, PRODUCT


def _judge_in_time(judge: Callable[[], Verdict]) -> Verdict:
    """Return (why the result of a kernel is open, what is certainly wrong), also if the run does not end in time."""
    try:
        with end_when(is_late):
            return judge()
    except LayoutError:
        return OpenPart("its run did not end"), None
    except OverdueError:
        return OpenPart("the time limit was reached"), None


def find_product_search(
    text: str,
    macros: Mapping[str, str],
    recorded: Sequence[KernelLaunchRecord],
    names: Collection[str],
    certain: bool = False,
) -> FindRepair | None:
    """Return the search for what makes D A·B in the first of some kernels of which D is certainly no product; else in
    the first of which it is another one. certain: whether another check has found a mistake.
    """
    blank, first = blank_text(text), None
    for one in find_functions(blank):
        if one.kernel and one.name in names:
            run = KnownJudge(text, macros, recorded, one, blank[slice(*one.body)])
            if AttentionJudge(run).is_attention:
                continue
            try:
                with end_when(is_late):
                    search = run.fit_launch().make_search(certain)
            except (LayoutError, OverdueError):
                continue
            if search is not None and search.certain:
                return search.find_repair
            first = first or search
    return first.find_repair if first is not None else None
