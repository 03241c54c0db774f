"""What the engine's single modules answer, held: tests/calls asks, tests/golden/modules has the answers, a
long one by its checksum.
"""

from __future__ import annotations

import zlib

import pytest

from tests.calls import modules
from tests.calls.rules import overlapping
from tests.held import attempt, held, whole

MODULES = modules()
LONGEST = 160  # characters of an answer that stands there in full


@pytest.mark.parametrize("module", MODULES)
def test_what_a_module_answers(module: str) -> None:
    lines = []
    for words, call in MODULES[module]():
        answer = attempt(lambda call=call: whole(call()))  # type: ignore[misc]
        long = f"… {len(answer)} characters, crc {zlib.crc32(answer.encode()):08x}"
        said = answer if len(answer) <= LONGEST else answer[: LONGEST // 2] + long
        lines.append(f"{words} → {said}".encode("unicode_escape").decode())
    held(f"modules/{module}", "\n".join(lines) + "\n")


def test_fields_of_one_bit_are_refused() -> None:
    assert overlapping() == "fields overlap"
