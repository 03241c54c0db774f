"""The OpenAPI document: what every route takes and gives, from the tables; and real answers of every kind
held to it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from lanescope.app.apidocs.facts import ERRORS, walk_operations
from lanescope.app.diagram.options import DIAGRAM
from lanescope.app.kit.errors import STATUS
from lanescope.app.kit.examples import BODIES
from lanescope.app.kit.media import FORMS
from lanescope.ptx import catalog
from lanescope.ptx.table.descriptors import BASE32B
from lanescope.shared import banks
from lanescope.shared.storage import KEYS
from lanescope.shared.swizzle import MODES
from lanescope.shared.tiling import DEFAULT_ORDER
from tests.cases import for_each
from tests.client import Client

Json = dict[str, Any]
Conforms = Callable[[str, str, Any], Json]
API = "/api/v1/instructions"
FIXED = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"
M16 = "mma.m16n8k16.row.col.f32.f16.f16.f32"


@pytest.fixture(scope="module")
def client(app: Any) -> Client:
    return Client(app, raise_server_exceptions=False, headers={"accept-encoding": "identity"})


@pytest.fixture(scope="module")
def document(client: Client) -> Json:
    made: Json = client.get("/openapi.json").json()
    return made


@pytest.fixture(scope="module")
def conforms(document: Json) -> Conforms:
    """(method, path template, answer) → its JSON, which is as the schema of its status says."""
    known: dict[tuple[str, str, int], Any] = {}

    def check(method: str, path: str, answer: Any) -> Json:
        key = (method, path, answer.status_code)
        if key not in known:
            known[key] = jsonschema_rs.validator_for(
                find_schema(document, *key) | {"components": document["components"]}
            )
        found: Json = answer.json()
        for error in known[key].iter_errors(found):
            raise AssertionError(f"{answer.url} {answer.status_code}: {error.instance_path}: {error.message[:300]}")
        return found

    return check


def find_schema(document: Json, method: str, path: str, status: int) -> Json:
    told = document["paths"][path][method]["responses"][str(status)]
    if "$ref" in told:
        told = document["components"]["responses"][told["$ref"].rpartition("/")[2]]
    schema: Json = told["content"]["application/json"]["schema"]
    return schema


# the document ---------------------------------------------------------------------------------------------------------


def list_parts(part: Json) -> set[tuple[str, str]]:
    """Return (name, text) of each operation, schema, response and parameter below `paths` or `components`."""
    return {
        (f"{name} {inner}", json.dumps(content, sort_keys=True))
        for name, below in part.items()
        for inner, content in below.items()
    }


def test_the_document_is_the_one_checked_in(document: Json) -> None:
    """tests/golden/openapi.json, which `make golden` writes: a changed document is read in review as the difference."""
    path = Path(__file__).parent / "golden" / "openapi.json"
    document = document | {"info": {**document["info"], "version": "…"}}
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    if os.environ.get("LANESCOPE_GOLDEN") == "write":
        path.write_text(text)
    recorded = json.loads(path.read_text())
    differing = {
        name
        for part in ("paths", "components")
        for name, kept in list_parts(document[part]) ^ list_parts(recorded[part])
    }
    assert not differing, f"make golden writes what is changed on purpose: {sorted(differing)}"
    assert text.splitlines() == path.read_text().splitlines()


def test_every_operation_says_what_it_takes_and_gives(document: Json) -> None:
    for path, method, operation in walk_operations(document):
        where = f"{method} {path}"
        assert operation["description"] and operation["summary"] and operation["tags"], where
        assert {str(status) for status in ERRORS} <= set(operation["responses"]), where
        for media, content in operation["responses"]["200"]["content"].items():
            assert media == "text/plain" or content["schema"], (where, media)
        for parameter in operation.get("parameters", ()):
            assert parameter["description"] and parameter["schema"], (where, parameter["name"])
        assert set(re.findall(r"{(\w+)}", path)) == {
            p["name"] for p in operation.get("parameters", ()) if p["in"] == "path"
        }, where
        if method == "post":
            media = operation["requestBody"]["content"]["application/json"]
            assert operation["requestBody"]["required"] and media["schema"] and media["example"], where
    names = [operation["operationId"] for _, _, operation in walk_operations(document)]
    assert len(names) == len(set(names))


def test_every_status_of_a_refusal_is_documented(document: Json) -> None:
    told = document["paths"]["/api/v1/gpu/runs"]["post"]["responses"]
    assert (
        {str(status) for status in STATUS.values()}
        <= set(told)
        == set(document["paths"]["/smem.{form}"]["get"]["responses"]) - {"304"}
    )


def test_every_reference_leads_to_a_component_and_every_object_is_closed(document: Json) -> None:
    def walk(node: Any) -> Iterator[Json]:
        if isinstance(node, dict):
            yield node
        for inner in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
            yield from walk(inner)

    for node in walk({"paths": document["paths"], "components": document["components"]}):
        if isinstance(node.get("$ref"), str):
            _, kind, name = node["$ref"].rsplit("/", 2)
            assert name in document["components"][kind], node
        if node.get("type") == "object" and "properties" in node:
            assert node["additionalProperties"] is False, node["title"]


def test_an_example_is_legal_by_its_own_schema(document: Json) -> None:
    for path, _, operation in walk_operations(document):
        body = operation.get("requestBody", {}).get("content", {}).get("application/json")
        if body:
            jsonschema_rs.validator_for(body["schema"] | {"components": document["components"]}).validate(
                body["example"]
            )
            assert body["example"] == BODIES[path]


def test_words_come_from_the_tables(document: Json) -> None:
    schemas = document["components"]["schemas"]
    for name, known in {
        "Family": catalog.FAMILY_NAMES,
        "Target": catalog.TARGETS,
        "ElementType": catalog.list_element_types(),
        "SwizzleMode": [*(mode.name for mode in MODES), BASE32B.name],
        "Major": DEFAULT_ORDER,
        "Order": DEFAULT_ORDER.values(),
        "AccessName": banks.ACCESSES,
        "AccessPattern": banks.REACHES,
    }.items():
        assert schemas[name]["enum"] == list(known), name
    kinds = {
        schemas[ref["$ref"].rpartition("/")[2]]["properties"]["kind"]["const"]
        for ref in schemas["VerifyBody"]["properties"]["storage"]["oneOf"]
    }
    assert kinds == set(KEYS)
    for kind, names in KEYS.items():
        assert set(schemas[f"{kind.capitalize()}Storage"]["properties"]) == {"kind", *names}
    given = {p["name"]: p["schema"] for p in document["paths"][API]["get"]["parameters"]}
    assert given["family"]["enum"] == ["", *catalog.FAMILY_NAMES] and given["type"]["enum"] == [
        "",
        *catalog.list_element_types(),
    ]
    told = document["paths"]["/i/{ptx}/{operand}.{form}"]["get"]
    assert {p["name"] for p in told["parameters"]} >= set(DIAGRAM)
    assert {media.partition(";")[0] for media in FORMS.values()} == set(told["responses"]["200"]["content"])


# answers --------------------------------------------------------------------------------------------------------------


def test_tiles_and_descriptors(client: Client, conforms: Conforms) -> None:
    path = "/api/v1/smem/tile"
    for mode in MODES:
        for major in DEFAULT_ORDER:
            for query in (
                "mn=64&k=64",
                "mn=128&k=128&rows=64&order=k&base=0x400",
                "mn=304&k=64&base=64",
                "element_bits=8&mn=64&k=128",
                "element_bits=1&mn=8&k=1024",
            ):
                conforms("get", path, client.get(f"{path}?major={major}&swizzle={mode.name}&{query}"))
    for word in ("0x0", "0xffffffffffffffff", "0x4000004004000101", "1ull<<62", "0b1", "40000040:00010100"):
        conforms("get", "/api/v1/descriptors/{word}", client.get(f"/api/v1/descriptors/{word}"))
    for operand in "ab":
        for major in DEFAULT_ORDER:
            given = {"descriptor": "0x4000004000010100", "instruction": FIXED, "operand": operand, "major": major}
            conforms("post", "/api/v1/descriptors/reads", client.post("/api/v1/descriptors/reads", json=given))


@for_each(
    "given",
    [
        {"kind": "mma", "instruction": "mma.m8n8k4.row.col.f32.f16.f16.f32"},
        {"kind": "mma", "instruction": FIXED, "a_from": "shared", "seed": "7"},
        {"kind": "fragment", "instruction": M16, "operand": "d"},
        {"kind": "fragment", "instruction": "ldmatrix.m8n8.x1.shared.b16"},
        {"kind": "descriptor", "instruction": FIXED, "descriptor": "0x4000004000010100", "operand": "b"},
        {"kind": "banks", "access": "st.shared.b64", "address": list(range(0, 512, 16))},
        {"kind": "mma", "instruction": FIXED, "backend": "cuda"},
    ],
)
def test_runs(client: Client, conforms: Conforms, given: Json) -> None:
    conforms("post", "/api/v1/gpu/runs", client.post("/api/v1/gpu/runs", json={"backend": "numpy"} | given))


def test_errors_are_as_documented(client: Client, conforms: Conforms) -> None:
    conforms("get", API + "/{ptx}", client.get(f"{API}/mma.m16n8k12.row.col.f32.f16.f16.f32"))
    conforms("get", API, client.get(f"{API}?family=x"))
    conforms("get", API, client.post(API))
    conforms(
        "post", "/api/v1/chain", client.post("/api/v1/chain", content=b"x", headers={"content-type": "text/plain"})
    )
