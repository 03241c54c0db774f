"""Every cause that the verifier names has a title for people, and no title is idle."""

from __future__ import annotations

from lanescope.descriptor import causes
from tests.test_diagnosis import diagnose_example, list_examples


def test_every_cause_that_is_named_has_a_title() -> None:
    named = {diagnosis.code for name in list_examples() for diagnosis in diagnose_example(name).diagnoses}
    assert len(named) > 25 and named <= causes.TITLES.keys(), named - causes.TITLES.keys()
