"""What `check` says of a text, computed once in each worker: many tests ask it of the same right kernel.

The runs that simulate mbarriers, follow D to its place and ask whether D is A·B take more than half of the time. Only
`check_whole` has them; in a full run, `check_text` and all others have them, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from unittest.mock import patch

from lanescope.reader.code.evaluation import evaluate_text
from lanescope.reader.code.findings import Pitfall
from lanescope.workbench import check
from lanescope.workbench.check_report import CheckReport
from lanescope.workbench.kernels.kernel_runs import KernelText
from lanescope.workbench.products.result_origins import OriginReport, check_origins
from lanescope.workbench.results import CheckFinding
from tests.sample import FULL

Checks = Callable[..., CheckReport]
check_whole = lru_cache(maxsize=512)(check.check_text)


@lru_cache(maxsize=512)
def _check_reads(
    text: str, choices: tuple[tuple[str, str], ...] = (), target: str = "", search: bool = False
) -> CheckReport:
    with (
        patch.object(check, "_check_barriers", return_value=([], OriginReport())),
        patch.object(check, "_check_products", return_value=check.ProductReport()),
    ):
        return check.check_text(text, dict(choices), target=target, search=search)


def check_text(text: str, choices: Mapping[str, str] | None = None, target: str = "") -> CheckReport:
    """Return the report of a text."""
    if FULL:
        return check.check_text(text, choices, target=target) if choices or target else check_whole(text)
    return _check_reads(text, tuple((choices or {}).items()), target)


def search_cause(text: str) -> CheckReport:
    """Return the report of a text with its mistakes at the number that causes them."""
    return _check_reads(text, search=True)


def list_codes(text: str, checks: Checks = check_text) -> list[str]:
    """List the code of each finding of a text."""
    return get_codes(checks(text))


def get_codes(report: CheckReport) -> list[str]:
    """List the code of each finding of a report."""
    return [finding.code for finding in report.findings]


@lru_cache(maxsize=64)
def run_blocks(text: str) -> OriginReport:
    """Return what the runs of a few blocks say."""
    code = evaluate_text(text)
    assert code is not None
    return check_origins(KernelText(code), {}, code.launches)


def list_findings(text: str, checks: Checks = check_text) -> list[tuple[str, str]]:
    """List (code, the line it stands at) of a text."""
    return locate_findings(text, checks(text).findings)


def locate_findings(text: str, found: Iterable[CheckFinding | Pitfall]) -> list[tuple[str, str]]:
    """List (code, the line it stands at) of findings."""
    lines = text.split("\n")
    return [(one.code, lines[text.count("\n", 0, one.span[0])].strip()) for one in found]
