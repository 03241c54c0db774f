"""Every cause that the verifier names has a title for people, and no title is idle."""

from __future__ import annotations

from pathlib import Path

import lanescope
from lanescope.descriptor import causes
from tests.cases import for_each
from tests.test_diagnosis import diagnose_example, list_examples

ENGINE = Path(lanescope.__file__).parent
SOURCES = "".join(path.read_text() for path in ENGINE.rglob("*.py") if path.name != "causes.py")


def test_every_cause_that_is_named_has_a_title() -> None:
    named = {diagnosis.code for name in list_examples() for diagnosis in diagnose_example(name).diagnoses}
    assert len(named) > 25 and named <= causes.TITLES.keys(), named - causes.TITLES.keys()


@for_each("code", causes.TITLES)
def test_a_title_is_a_short_phrase_of_a_cause_that_exists(code: str) -> None:
    assert f'"{code}"' in SOURCES
    said = causes.get_cause_title(code)
    assert said[0].isupper() and said[-1] != "." and len(said) <= 64 and "_" not in said
    assert list(causes.TITLES.values()).count(said) == 1
