"""Every operation of the OpenAPI document, asked by schemathesis: what the document forbids is refused, what it
promises is kept, nothing fails.

`make test` asks a few times with the same questions every time; `make fuzz` asks LANESCOPE_FUZZ times with new ones.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.generation.feedback import FeedbackSources
from schemathesis.pytest._test_builder import build_operation_test
from schemathesis.python._constants.orchestrator import make_constants_value_source

from app.main import create_app

load_all_checks()
EXAMPLES = int(os.environ.get("LANESCOPE_FUZZ", "0"))
APP = create_app()
SCHEMA = schemathesis.openapi.from_asgi("/openapi.json", APP, timeout=600)
SCHEMA.config.checks.not_a_server_error.expected_statuses = [
    "2xx",
    "3xx",
    "4xx",
    "503",
]  # 503: a machine without a device says so
SCHEMA.config.checks.negative_data_rejection.expected_statuses = ["4xx", "503"]
OPERATIONS = {found.ok().label: found.ok() for found in SCHEMA.get_all_operations()}
FEEDBACK = FeedbackSources(constants_value_source=make_constants_value_source(SCHEMA))
# A body can be right by its schema and name a tile that does not exist: a 422 is no contradiction.
NOT_PROMISED = CHECKS.get_by_names(["positive_data_acceptance"])


@pytest.fixture(scope="module", autouse=True)
def closed() -> Iterator[None]:
    """The threads and the worker that the questions started, ended."""
    yield
    APP.state.work.close()
    APP.state.hardware.pool.close()


@settings(max_examples=EXAMPLES or 6, derandomize=not EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def asked(case: Any) -> None:
    case.validate_response(case.call(), excluded_checks=NOT_PROMISED)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_it_keeps_its_word(operation: str) -> None:
    """The questions are thought of here: `SCHEMA.parametrize()` does it while tests are collected, in every worker."""
    build_operation_test(
        config=SCHEMA.config, operation=OPERATIONS[operation], test_func=asked, given_kwargs={}, feedback=FEEDBACK
    )()


def test_a_wrong_answer_fails() -> None:
    """A body that the document forbids is among the questions, and a test that wants no refusal ends with it."""

    @settings(max_examples=1, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    def never_refused(case: Any) -> None:
        assert case.call().status_code != 422

    with pytest.raises(BaseException, match="422"):
        build_operation_test(
            config=SCHEMA.config, operation=OPERATIONS["POST /api/v1/chain"], test_func=never_refused, given_kwargs={},
            feedback=FEEDBACK,
        )()  # fmt: skip
