"""Every cause that the verifier names has a title for people, and no title is idle."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lanescope.descriptor import causes
from tests.held import FOLDER

SOURCES = "".join(path.read_text() for path in Path(causes.__file__).parent.rglob("*.py") if path.name != "causes.py")


def test_every_code_of_the_golden_diagnoses_has_a_title() -> None:
    named = set()
    for path in FOLDER.glob("diagnoses*.txt"):
        named |= set(re.findall(r"^    ([a-z_0-9]+): ", path.read_text(), re.M))
    assert len(named) > 25 and named <= causes.TITLES.keys(), named - causes.TITLES.keys()


@pytest.mark.parametrize("code", causes.TITLES)
def test_a_title_is_a_short_phrase_of_a_cause_that_exists(code: str) -> None:
    assert f'"{code}"' in SOURCES
    said = causes.title(code)
    assert said[0].isupper() and said[-1] != "." and len(said) <= 64 and "_" not in said
    assert list(causes.TITLES.values()).count(said) == 1
