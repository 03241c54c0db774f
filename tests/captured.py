"""The captures of an H200 in tests/golden/captures, the mistakes that were planted in them, and the tables of
docs/capture.md that say what the verifier names and what recording costs: `python -m tests.captured` writes them.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

import numpy as np

from lanescope.app.hardware import planted
from lanescope.app.hardware.captures import BY_NAME, EXAMPLES, MISTAKES, TIMED
from lanescope.capture.report import Verified
from lanescope.descriptor import causes

FOLDER = Path(__file__).parent / "golden" / "captures"
DOCS = Path(__file__).parents[1] / "docs" / "capture.md"


@lru_cache(maxsize=1)
def files() -> dict[str, bytes]:
    """What the program wrote on the device, by file name."""
    return planted.opened(FOLDER)


def fills_of(example: str, mistake: int) -> list[bytes]:
    return planted.filled(files(), BY_NAME[example], mistake)


def matrix(example: str, operand: str) -> np.ndarray:
    return planted.matrix(files(), BY_NAME[example], operand)


judged = planted.verified  # as it is, whatever a test puts in its place


@lru_cache(maxsize=128)
def verified(example: str, mistake: int, real: bool = False) -> Verified:
    return judged(files(), BY_NAME[example], mistake, real)


def table() -> str:
    """The table of docs/capture.md."""
    lines = ["| Example | Planted | Wrong steps | Named | First wrong step |", "| --- | --- | --- | --- | --- |"]
    good = 0
    for example in EXAMPLES:
        for mistake in range(MISTAKES + 1):
            told = verified(example.name, mistake)
            says = [causes.title(one) for one in planted.named(told)]
            good += planted.agrees(told, example, mistake)
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


def cost() -> str:
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


def written(text: str) -> str:
    """A page with both tables as they are now."""
    for name, made in (("captures", table()), ("cost", cost())):
        begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
        before, _, rest = text.partition(begin)
        text = f"{before}{begin}\n{made}\n{end}{rest.partition(end)[2]}"
    return text


if __name__ == "__main__":
    DOCS.write_text(written(DOCS.read_text()))
