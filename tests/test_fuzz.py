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
from schemathesis.checks import CHECKS

from app.main import create_app

EXAMPLES = int(os.environ.get("LANESCOPE_FUZZ", "0"))
APP = create_app()
SCHEMA = schemathesis.openapi.from_asgi("/openapi.json", APP)
SCHEMA.config.checks.not_a_server_error.expected_statuses = [
    "2xx",
    "3xx",
    "4xx",
    "503",
]  # 503: a machine without a device says so
SCHEMA.config.checks.negative_data_rejection.expected_statuses = ["4xx", "503"]
# A body can be right by its schema and name a tile that does not exist: a 422 is no contradiction.
NOT_PROMISED = CHECKS.get_by_names(["positive_data_acceptance"])


@pytest.fixture(scope="module", autouse=True)
def closed() -> Iterator[None]:
    """The threads and the worker that the questions started, ended."""
    yield
    APP.state.work.close()
    APP.state.hardware.pool.close()


@SCHEMA.parametrize()
@settings(max_examples=EXAMPLES or 6, derandomize=not EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_it_keeps_its_word(case: Any) -> None:
    case.validate_response(case.call(), excluded_checks=NOT_PROMISED)
