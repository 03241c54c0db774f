"""Every operation of the OpenAPI document, asked by schemathesis: what the document forbids is refused, what it
promises is kept, nothing fails.

`make test` asks some operations a few times with the same questions every time, and every kind of storage once:
schemathesis's own questions grow with the product of the unions in a body. `make fuzz` asks every operation, whole,
LANESCOPE_FUZZ times with new questions.
"""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.routing import APIRoute

from tests.cases import for_each
from tests.client import share_client
from tests.sample import take_sample

OPERATIONS = [
    f"{method} {route.path_format}"
    for route in share_client().app.routes
    if isinstance(route, APIRoute) and route.include_in_schema
    for method in route.methods
]


@pytest.fixture(scope="module")
def schema(app: Any) -> Any:
    """What is asked of the application that all tests share: no question changes it."""
    from tests import fuzz_questions

    assert list(fuzz_questions.OPERATIONS) == OPERATIONS
    return fuzz_questions


@for_each("operation", take_sample(OPERATIONS, 3), sample=1)
def test_it_keeps_its_word(schema: Any, operation: str) -> None:
    """The questions are thought of here: `SCHEMA.parametrize()` does it while tests are collected, in every worker."""
    test = schema.make_questions(operation, schema.run_case)
    if not schema.EXAMPLES:
        schema.ask_all(schema.select_questions(test.hypothesis_explicit_examples))
        test.hypothesis_explicit_examples = []
    test()
