"""What `check` says of a text, computed once in each worker: many tests ask it of the same right kernel."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from lanescope.workbench import check
from lanescope.workbench.check_report import CheckReport

check_alone = lru_cache(maxsize=512)(check.check_text)


def check_text(text: str, choices: Mapping[str, str] | None = None, target: str = "") -> CheckReport:
    """Return the report of a text."""
    return check.check_text(text, choices, target=target) if choices or target else check_alone(text)


def list_codes(text: str) -> list[str]:
    """List the code of each finding of a text."""
    return [finding.code for finding in check_text(text).findings]


def list_findings(text: str) -> list[tuple[str, str]]:
    """List (code, the line it stands at) of a text."""
    lines = text.split("\n")
    return [(one.code, lines[text.count("\n", 0, one.span[0])].strip()) for one in check_text(text).findings]
