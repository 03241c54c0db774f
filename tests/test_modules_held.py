"""What the engine's single modules answer, held: tests/calls asks, tests/golden/modules has the answers, a
long one by its checksum.
"""

from __future__ import annotations

import os
import zlib

import pytest

from tests.calls import modules
from tests.calls.rules import overlapping
from tests.held import FOLDER, attempt, held, whole

MODULES = modules()
ARROW = r" \u2192 "
LONGEST = 160  # characters of an answer that stands there in full


@pytest.mark.parametrize("module", MODULES)
def test_what_a_module_answers(module: str) -> None:
    lines = []
    for words, call in MODULES[module]():
        answer = attempt(lambda call=call: whole(call()))  # type: ignore[misc]
        long = f"… {len(answer)} characters, crc {zlib.crc32(answer.encode()):08x}"
        said = answer if len(answer) <= LONGEST else answer[: LONGEST // 2] + long
        lines.append(f"{words} → {said}".encode("unicode_escape").decode())
    if os.environ.get("LANESCOPE_GOLDEN") == "write":
        held(f"modules/{module}", "\n".join(lines) + "\n")
    known = set((FOLDER / "modules" / f"{module}.txt").read_text().splitlines())
    asked = {line.partition(ARROW)[0] for line in known}  # a line that was deleted is not compared any more
    assert [line for line in lines if line.partition(ARROW)[0] in asked and line not in known] == []


def test_fields_of_one_bit_are_refused() -> None:
    assert overlapping() == "fields overlap"
