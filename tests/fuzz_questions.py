"""What tests/test_fuzz.py asks, thought of by schemathesis from the OpenAPI document; loaded by the worker that asks,
as the document and schemathesis take a second.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Sequence
from typing import Any

import requests
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.core.transport import Response
from schemathesis.generation.feedback import NO_FEEDBACK, FeedbackSources
from schemathesis.pytest._test_builder import build_operation_test
from schemathesis.python._constants.orchestrator import make_constants_value_source
from schemathesis.transport.asgi import ASGI_TRANSPORT

from tests import asgi
from tests.client import share_client

load_all_checks()
EXAMPLES = int(os.environ.get("LANESCOPE_FUZZ", "0"))
APP: Any = share_client().app


def keep_first_kind(model: dict[str, Any], *fields: str) -> dict[str, Any]:
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


def drop_repeated_kinds(document: dict[str, Any]) -> dict[str, Any]:
    """The document in which a main loop's operands have every kind of storage in /tiles/loop's A alone."""
    out = copy.deepcopy(document)
    models, place = out["components"]["schemas"], "#/components/schemas/"
    models["OneKind"] = keep_first_kind(models["OperandOfLoop"], "storage", "loaded_from")
    models["OperandOfLoop"] = keep_first_kind(models["OperandOfLoop"], "loaded_from")
    models["LoopBody"]["properties"]["b"]["anyOf"][0]["$ref"] = place + "OneKind"
    models["LoopOfOneKind"] = copy.deepcopy(models["LoopBody"])
    models["LoopOfOneKind"]["properties"]["a"]["anyOf"][0]["$ref"] = place + "OneKind"
    for name in ("ChainBody", "BanksBody"):
        kinds = models[name]["anyOf"]
        kinds[kinds.index({"$ref": place + "LoopBody"})] = {"$ref": place + "LoopOfOneKind"}
    return out


SCHEMA = schemathesis.openapi.from_dict(APP.openapi() if EXAMPLES else drop_repeated_kinds(APP.openapi()))
SCHEMA.app, SCHEMA.location = APP, "/openapi.json"
SCHEMA.config.checks.not_a_server_error.expected_statuses = [
    "2xx",
    "3xx",
    "4xx",
    "503",
]  # 503: a machine without a device says so
SCHEMA.config.checks.negative_data_rejection.expected_statuses = ["4xx", "503"]
if not EXAMPLES:  # thought of one by one, of which `select_questions` keeps two: two are thought of
    THOUGHT_OF = SCHEMA.get_strategies_from_examples

    def both_ends(*given: Any, **more: Any) -> list[Any]:
        """The first and the last of the values that the document shows of an operation's parameters."""
        every = THOUGHT_OF(*given, **more)
        return [*every[:1], *every[1:][-1:]]

    SCHEMA.get_strategies_from_examples = both_ends
OPERATIONS = {found.ok().label: found.ok() for found in SCHEMA.get_all_operations()}
FEEDBACK = FeedbackSources(constants_value_source=make_constants_value_source(SCHEMA)) if EXAMPLES else NO_FEEDBACK
# A body can be right by its schema and name a tile that does not exist: a 422 is no contradiction.
NOT_PROMISED = CHECKS.get_by_names(["positive_data_acceptance"])


async def ask_application(case: Any) -> None:
    """A question to the application in this thread, as a client with a session takes longer than the answer; what is
    said against its answer.
    """
    case.freeze_metadata()
    sent = requests.Request(**ASGI_TRANSPORT.serialize_case(case, base_url="http://127.0.0.1")).prepare()
    body = sent.body.encode() if isinstance(sent.body, str) else sent.body or b""
    given = {name.lower(): value for name, value in sent.headers.items()} | {"accept-encoding": "identity"}
    told = await asgi.send_request(APP, str(sent.method), sent.path_url, body, headers=given)
    headers = {name: [value] for name, value in told.headers.items()}
    answer = Response(told.status, headers, told.body, sent, 0.0, True)
    case.validate_response(answer, excluded_checks=NOT_PROMISED)


@settings(max_examples=EXAMPLES or 2, derandomize=not EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def run_case(case: Any) -> None:
    asgi.run_coroutine(ask_application(case))


def ask_all(questions: Sequence[Any]) -> None:
    async def each() -> None:
        for question in questions:
            await ask_application(question.kwargs["case"])

    asgi.run_coroutine(each())


MANY = {"VALID_OBJECT": 24, "OBJECT_REQUIRED_AND_OPTIONAL": 8}


def select_questions(questions: Sequence[Any]) -> list[Any]:
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


def make_questions(operation: str, asked: Any) -> Any:
    """The test that asks an operation, by its label, what schemathesis thinks of."""
    return build_operation_test(
        config=SCHEMA.config, operation=OPERATIONS[operation], test_func=asked, given_kwargs={}, feedback=FEEDBACK
    )
