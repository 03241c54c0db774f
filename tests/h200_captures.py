"""The captures of an H200 in tests/golden/captures, the mistakes that were planted in them, and the tables of
docs/capture.md that say what the verifier names and what recording costs: `python -m tests.h200_captures` writes them.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

import numpy as np

from lanescope.app.hardware import capture_verdicts
from lanescope.app.hardware.capture_examples import BY_NAME, EXAMPLES, MISTAKES
from lanescope.app.hardware.captures import TIMED
from lanescope.capture.report import Verified
from lanescope.descriptor import causes

FOLDER = Path(__file__).parent / "golden" / "captures"
DOCS = Path(__file__).parents[1] / "docs" / "capture.md"


@lru_cache(maxsize=1)
def read_files() -> dict[str, bytes]:
    """What the program wrote on the device, by file name."""
    return capture_verdicts.read_archive(FOLDER)


def list_fills(example: str, mistake: int) -> list[bytes]:
    return capture_verdicts.fill_captures(read_files(), BY_NAME[example], mistake)


def read_matrix(example: str, operand: str) -> np.ndarray:
    return capture_verdicts.read_matrix(read_files(), BY_NAME[example], operand)


judged = capture_verdicts.verify_run  # as it is, whatever a test puts in its place


@lru_cache(maxsize=128)
def verify_capture(example: str, mistake: int, real: bool = False) -> Verified:
    return judged(read_files(), BY_NAME[example], mistake, real)


def render_verdict_table() -> str:
    """The table of docs/capture.md."""
    lines = ["| Example | Planted | Wrong steps | Named | First wrong step |", "| --- | --- | --- | --- | --- |"]
    good = 0
    for example in EXAMPLES:
        for mistake in range(MISTAKES + 1):
            told = verify_capture(example.name, mistake)
            says = [causes.get_cause_title(one) for one in capture_verdicts.list_causes(told)]
            good += capture_verdicts.is_planted_mistake(told, example, mistake)
            first = told.first_wrong
            at = "" if first is None else f"{first.index}, `{first.record.where}`"
            cells = (
                f"`{example.name}`",
                example.mistakes[mistake - 1][0] if mistake else "nothing",
                f"{len(told.wrong)} of {len(told.steps)}",
                ", ".join(says) or "right",
                at,
            )
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([f"{good} of {len(EXAMPLES) * (MISTAKES + 1)} are named as they were planted.", "", *lines])


def render_cost_table() -> str:
    """Microseconds a launch, as the program that ran the examples measured them."""
    found = json.loads((FOLDER / "captures.json").read_text())
    device = found["device"]
    lines = [
        f"Microseconds a launch of one block, the mean of {TIMED} launches, on an {device['name']} (driver"
        f" {device['driver']}, CUDA {device['cuda']}). Most of what recording takes is the copy of shared memory.",
        "",
        "| Example | Compiled out | Compiled in, buffer null | Recording |",
        "| --- | ---: | ---: | ---: |",
    ]
    rows = found["microseconds"]
    for one in EXAMPLES:
        out, null, recording = (rows[one.name][key] for key in ("out", "null", "recording"))
        lines.append(f"| `{one.name}` | {out:.1f} | {null:.1f} | {recording:.1f} |")
    return "\n".join(lines)


def fill_page(text: str) -> str:
    """A page with both tables as they are now."""
    for name, made in (("captures", render_verdict_table()), ("cost", render_cost_table())):
        begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
        before, _, rest = text.partition(begin)
        text = f"{before}{begin}\n{made}\n{end}{rest.partition(end)[2]}"
    return text


if __name__ == "__main__":
    DOCS.write_text(fill_page(DOCS.read_text()))
