"""Every operation of the OpenAPI document, asked by schemathesis: what the document forbids is refused, what it
promises is kept, nothing fails.

`make test` asks a few times with the same questions every time, and every kind of storage once: schemathesis's own
questions grow with the product of the unions in a body. `make fuzz` asks LANESCOPE_FUZZ times with new ones, whole.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator, Sequence
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


def first_kind(model: dict[str, Any], *fields: str) -> dict[str, Any]:
    """The model with the first kind alone of the unions of these fields."""
    out = copy.deepcopy(model)
    for field in fields:
        union = out["properties"][field]
        kinds = next((kinds for kinds in union.get("anyOf", []) if "oneOf" in kinds), union)
        kinds["oneOf"] = kinds["oneOf"][:1]
        kinds["discriminator"]["mapping"] = {
            kind: model
            for kind, model in kinds["discriminator"]["mapping"].items()
            if model == kinds["oneOf"][0]["$ref"]
        }
    return out


def asked_once(document: dict[str, Any]) -> dict[str, Any]:
    """The document in which a main loop's operands have every kind of storage in /tiles/loop's A alone."""
    out = copy.deepcopy(document)
    models, place = out["components"]["schemas"], "#/components/schemas/"
    models["OneKind"] = first_kind(models["OperandOfLoop"], "storage", "loaded_from")
    models["OperandOfLoop"] = first_kind(models["OperandOfLoop"], "loaded_from")
    models["LoopBody"]["properties"]["b"]["anyOf"][0]["$ref"] = place + "OneKind"
    models["LoopOfOneKind"] = copy.deepcopy(models["LoopBody"])
    models["LoopOfOneKind"]["properties"]["a"]["anyOf"][0]["$ref"] = place + "OneKind"
    for name in ("ChainBody", "BanksBody"):
        kinds = models[name]["anyOf"]
        kinds[kinds.index({"$ref": place + "LoopBody"})] = {"$ref": place + "LoopOfOneKind"}
    return out


SCHEMA = schemathesis.openapi.from_dict(APP.openapi() if EXAMPLES else asked_once(APP.openapi()))
SCHEMA.app, SCHEMA.location = APP, "/openapi.json"
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


MANY = {"VALID_OBJECT": 24, "OBJECT_REQUIRED_AND_OPTIONAL": 8}


def some(questions: Sequence[Any]) -> list[Any]:
    """Of the questions that the document itself suggests two of a kind: of one scenario at one place of one parameter.
    Other places take others of theirs, so that every wrong type is sent somewhere.
    """
    alike: dict[Any, list[Any]] = {}
    for question in questions:
        said = question.kwargs["case"].meta.phase.data
        place = [getattr(said, name, None) for name in ("scenario", "parameter", "parameter_location", "location")]
        alike.setdefault(tuple(place), []).append(question)
    kept = []
    for number, (place, kind) in enumerate(alike.items()):
        most = min(len(kind), MANY.get(getattr(place[0], "name", ""), 2))
        kept += [kind[(number + index * len(kind) // most) % len(kind)] for index in range(most)]
    return kept


@pytest.mark.parametrize("operation", OPERATIONS)
def test_it_keeps_its_word(operation: str) -> None:
    """The questions are thought of here: `SCHEMA.parametrize()` does it while tests are collected, in every worker."""
    test: Any = build_operation_test(
        config=SCHEMA.config, operation=OPERATIONS[operation], test_func=asked, given_kwargs={}, feedback=FEEDBACK
    )
    if not EXAMPLES:
        test.hypothesis_explicit_examples = some(test.hypothesis_explicit_examples)
    test()


def test_a_wrong_answer_fails() -> None:
    """A body that the document forbids is among the questions, and a test that wants no refusal ends with it."""

    @settings(max_examples=1, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    def never_refused(case: Any) -> None:
        assert case.call().status_code != 422

    with pytest.raises(BaseException, match="422"):
        build_operation_test(
            config=SCHEMA.config,
            operation=OPERATIONS["POST /api/v1/descriptors/encode"],
            test_func=never_refused,
            given_kwargs={},
            feedback=FEEDBACK,
        )()
