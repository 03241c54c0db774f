"""Shared set-up: no deadlines, as the machine may be busy: hypothesis has none, a server's requests have a minute; the
same examples in every run.
"""

import os
from typing import Any

from hypothesis import settings

os.environ.setdefault("LANESCOPE_SECONDS", "60")

settings.register_profile("lanescope", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("lanescope")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Why a test of tests/browser failed that passed when it was run once more."""
    for report in terminalreporter.stats.get("rerun", ()):
        lines = report.longreprtext.split("\n")
        errors = [line for line in lines if line.startswith("E  ")]
        terminalreporter.line("\n".join([f"RERUN {report.nodeid}", *(errors or lines)[-6:]]))
