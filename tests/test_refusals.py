"""What clients do wrong: broken bodies, unknown parameters, other methods. Never a 5xx, always the one shape, and the
field by its name.
"""

from __future__ import annotations

import json
import logging
import re
from typing import Any

import pytest
from hypothesis import given, strategies as st
from pydantic import TypeAdapter

from lanescope.app.kit.api import parse_json
from lanescope.app.kit.errors import Error, ErrorBody
from lanescope.app.kit.examples import BODIES
from lanescope.app.memory import descriptors as memory, facts
from lanescope.errors import LayoutError
from tests.cases import for_each
from tests.client import Client
from tests.sample import is_chosen

VERIFY = "/api/v1/descriptors/verify"
PTX = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"


@pytest.fixture(scope="module")
def client(app: Any) -> Client:
    return Client(app, raise_server_exceptions=False)


def parse_refusal(answer: Any, status: int) -> ErrorBody:
    """The error of an answer, which has its status and one shape."""
    assert answer.status_code == status, answer.text
    told = TypeAdapter(Error).validate_python(answer.json()).error
    assert told.message and told.hint
    return told


@for_each(
    ("raw", "code", "says"),
    [
        (b"", "bad_json", "empty"),
        (b" \n", "bad_json", "empty"),
        (b"{", "bad_json", "line 1, column 2"),
        (b"\xff\xfe{}", "bad_json", "UTF-8"),
        (b'{"descriptor": "\xff"}', "bad_json", "UTF-8"),
        (b'{"descriptor": "\\ud800"}', "bad_json", "UTF-8"),
        (b'["\\udfff"]', "bad_json", "UTF-8"),
        (b"[]", "bad_request", "a list"),
        (b"null", "bad_request", "null"),
        (b'"x"', "bad_request", "x"),
        (b"1", "bad_request", "1"),
        (b'{"slice": NaN}', "bad_json", "NaN"),
        (b'{"slice": {"k": -Infinity}}', "bad_json", "Infinity"),
        (b'{"operand": "a", "operand": "b"}', "bad_json", "operand"),
        (b'{"storage": {"mn": 64, "mn": 8}}', "bad_json", "mn"),
        (b"[" * 200_000, "bad_json", "deep"),
        (b'{"a":' * 50 + b"1" + b"}" * 50, "bad_json", "deep"),
        (b"\xef\xbb\xbf{}", "bad_json", "BOM"),
        (b"{} {}", "bad_json", "column 4"),
        (b"'{}'", "bad_json", "column 1"),
    ],
)
def test_bodies_that_are_no_json_object(client: Client, raw: bytes, code: str, says: str) -> None:
    for path in (VERIFY, "/api/v1/gpu/runs"):
        told = parse_refusal(client.post(path, content=raw, headers={"content-type": "application/json"}), 422)
        assert told.code == code and says in told.message, told


@for_each(
    "kind",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/xml",
        "json",
        "",
    ],
)
def test_a_body_of_another_type(client: Client, kind: str) -> None:
    told = parse_refusal(client.post(VERIFY, content=json.dumps(BODIES[VERIFY]), headers={"content-type": kind}), 415)
    assert told.code == "unsupported_media_type" and "application/json" in told.hint


def test_a_page_takes_its_form_alone(client: Client) -> None:
    answer = client.post(f"/steps/{PTX}", content="{}", headers={"content-type": "application/json"})
    assert answer.status_code == 415 and "Send the form: application/x-www-form-urlencoded." in answer.text


def test_long_numbers_reach_the_reader_that_names_the_field(client: Client) -> None:
    for digits in ("9" * 41, "9" * 5000, "-" + "9" * 5000, "1e999", "1" * 4000 + ".5"):
        raw = f'{{"start_address": 4096, "sbo_bytes": {digits}}}'
        told = parse_refusal(
            client.post("/api/v1/descriptors/encode", content=raw, headers={"content-type": "application/json"}), 422
        )
        assert told.field == "sbo_bytes" and len(told.message) < 300


@for_each(
    ("path", "field"),
    [
        ("descriptors/encode", "swizzle"),
        ("descriptors/encode", "lbo_bytes"),
        ("descriptors/reads", "operand"),
        ("descriptors/reads", "major"),
        ("descriptors/reads", "instruction"),
        ("descriptors/verify", "storage"),
        ("descriptors/verify", "slice"),
        ("descriptors/verify", "slice.k"),
        ("descriptors/verify", "storage.mn"),
        ("descriptors/verify", "storage.swizzle"),
        ("chain", "operand"),
        ("chain", "load"),
        ("chain", "mma"),
        ("chain", "major"),
        ("chain", "storage.pitch_bytes"),
        ("banks", "access"),
        ("banks", "swizzle"),
        ("banks", "address"),
        ("banks/solve", "row_bytes"),
        ("banks/solve", "pad"),
        ("banks/solve", "accesses"),
        ("gpu/runs", "kind"),
        ("gpu/runs", "backend"),
        ("gpu/runs", "device"),
        ("gpu/runs", "seed"),
        ("gpu/runs", "a_from"),
        ("gpu/runs", "instruction"),
    ],
    sample=10,
)
def test_nothing_stands_for_a_value_that_is_none(client: Client, path: str, field: str) -> None:
    """Values that are false to Python are no value: the default stands only where the key is left out."""
    for nothing in (False, "", [], {}, None, 1.5, True, ["a"], {"a": 1}, "\u0000"):
        outer, _, inner = field.rpartition(".")
        body: dict[str, Any] = json.loads(json.dumps(BODIES[f"/api/v1/{path}"]))
        (body[outer] if outer else body)[inner] = nothing
        if (nothing is None and field in ("address", "accesses")) or (nothing == {} and field == "slice"):
            continue
        answer = client.post(f"/api/v1/{path}", json=body)
        assert answer.status_code == 422, (nothing, answer.text)
        told = parse_refusal(answer, 422)
        assert told.field.split(".")[-1] in (inner, "kind", "a") or told.field.startswith(field), (nothing, told)


@for_each(
    ("path", "field", "hint"),
    [
        ("/api/v1/instructions?famly=mma", "famly", "Did you mean 'family'?"),
        ("/api/v1/instructions?family=mma&family=wgmma", "family", "once"),
        (f"/api/v1/instructions/{PTX}?x=1", "x", "Allowed: idesc"),
        (f"/api/v1/instructions/{PTX}/operands/a?select=1", "select", "'selector'"),
        ("/api/v1/smem/tile?swizle=128B", "swizle", "'swizzle'"),
        ("/api/v1/descriptors/0x0?major=K", "major", "Allowed: format"),
        ("/api/v1/gpu?a", "a", "takes none"),
        (f"/api/v1/reuse?from={PTX}&too={PTX}", "too", "'to'"),
        ("/healthz?q=1", "q", "takes none"),
        ("/readyz?q=1", "q", "takes none"),
        ("/metrics?q=1", "q", "takes none"),
        (f"/api/v1/reuse?from={PTX}", "to", "required"),
        (f"/api/v1/compare?right={PTX}/a", "left", "required"),
        (f"/api/v1/instructions/{PTX}/operands/a?selector=x", "selector", "integer"),
        (f"/api/v1/instructions/{PTX}/operands/a?byte_id=1.5", "byte_id", "integer"),
        ("/api/v1/smem/tile?mn=1e2", "mn", "integer"),
        ("/api/v1/smem/tile?mn=" + "9" * 5000, "mn", "integer"),
    ],
)
def test_parameters(client: Client, path: str, field: str, hint: str) -> None:
    told = parse_refusal(client.get(path), 422)
    assert told.field == field and hint in told.hint, told


def test_numbers_in_queries_are_numbers_in_text(client: Client) -> None:
    sparse = "/api/v1/instructions/mma.sp.m16n8k32.row.col.f32.f16.f16.f32/operands/a?selector="
    assert client.get(sparse + "0x1").content == client.get(sparse + "01").content == client.get(sparse + "1u").content
    assert client.get(sparse).json()["selector"] == 0


@for_each("path", [VERIFY + "?x=1", "/api/v1/gpu/runs?kind=mma"])
def test_a_route_with_a_body_takes_no_query(client: Client, path: str) -> None:
    assert parse_refusal(client.post(path, json={}), 422).hint == "This address takes none."


WORDS = ("/api/v1/descriptors/", "/api/v1/instruction-descriptors/", "/api/v1/zero-column-masks/")


METHODS = ("GET", "POST", "BREW", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")


@pytest.mark.thorough
def test_every_other_method_is_refused_with_those_allowed(client: Client) -> None:
    parts = {"ptx": PTX, "name": "a", "operand": "a", "word": "0x0", "value": "0x0", "form": "svg"}
    for path, methods in client.get("/openapi.json").json()["paths"].items():
        for method in METHODS if is_chosen(path, 6) else METHODS[:3]:
            if method.lower() in methods:
                continue
            answer = client.request(method, path.format(**parts))
            if method == "GET" and path.startswith(WORDS):  # …/{word} takes it as a word
                assert parse_refusal(answer, 422).field in ("descriptor", "kind", "word")
                continue
            assert parse_refusal(answer, 405).code == "method_not_allowed"
            assert {m.lower() for m in answer.headers["allow"].split(", ")} - {"head"} == set(methods)


def test_what_nothing_expected_is_logged_and_answered_in_the_one_shape(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_: Any) -> Any:
        raise RuntimeError("a secret path")

    monkeypatch.setattr(memory, "build_fields", broken)
    with caplog.at_level(logging.ERROR, "lanescope"):
        answer = client.post("/api/v1/descriptors/encode", json={})
    assert parse_refusal(answer, 500).code == "internal_error" and "secret" not in answer.text
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert (
        "POST /api/v1/descriptors/encode" in caplog.text
        and "a secret path" in caplog.text
        and "Traceback" in caplog.text
    )
    monkeypatch.setattr(facts, "build_tile", broken)
    page = client.get("/smem?mn=24&k=40")  # no other test asks for it: a page that was kept is not made again
    assert (
        page.status_code == 500 and page.headers["content-type"].startswith("text/html") and "secret" not in page.text
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(
    st.binary(max_size=60)
    | st.text(alphabet='{}[]":,0123456789.eE-+tfn \\u', max_size=60).map(str.encode)
    | JSON.map(lambda value: json.dumps(value).encode())
)
def test_any_bytes_are_an_object_or_refused(raw: bytes) -> None:
    try:
        found = parse_json(raw)
    except LayoutError as error:
        assert error.message and error.hint and error.code in ("bad_json", "bad_request")
    else:
        json.dumps(found, ensure_ascii=False).encode()


@given(st.dictionaries(st.text(), JSON, max_size=5))
def test_what_is_an_object_is_read_as_it_is(value: dict[str, Any]) -> None:
    text = json.dumps(value)
    if "[[[[[[[[" not in text and not re.search(r"[0-9]{41}", text):
        assert parse_json(text.encode()) == json.loads(text)


def test_one_access_and_several_are_not_given_together(client: Client) -> None:
    several = BODIES["/api/v1/banks/solve"]["accesses"]
    for name, value in {"access": "ldmatrix.x4", "address": [0] * 32, "pattern": "rows"}.items():
        told = parse_refusal(client.post("/api/v1/banks/solve", json={"accesses": several, name: value}), 422)
        assert told.field == name and "accesses" in told.message


def test_a_load_is_refused_with_the_loads_that_there_are(client: Client) -> None:
    body = {"storage": {"kind": "rows", "pitch_bytes": 128}, "load": "zzz", "mma": PTX, "operand": "a"}
    refused = client.post("/api/v1/chain", json=body).json()["error"]
    assert (
        refused["field"] == "load" and refused["hint"] == "Allowed: a PTX text that starts with ldmatrix or stmatrix."
    )


@for_each(
    "path",
    [
        "/api/v1/instructions/%00",
        "/api/v1/instructions/%ff%fe",
        "/api/v1/descriptors/%00%0a",
        "/api/v1/descriptors/%F0%9F%98%80",
        "/i/%00.svg",
        "/i/%ff/a.png",
        "/descriptor/wgmma/%00.json",
        "/api/v1/instructions/" + "a" * 4000,
        f"/api/v1/instructions/{PTX}/operands/%00",
        f"/i/{PTX}/%E2%80%AE.svg",
        "/api/v1/instructions/..%2f..%2fetc",
        "/static/%00",
        "/static/..%2f..%2fpyproject.toml",
        "/api/v1//instructions",
        "/api/v1/instructions/",
        "/vendor/plotly-%00.js",
        f"/i/{PTX}.svg?colour=%00",
        "/smem.svg?mn=%ff",
        "/api/v1/instructions?q=%00%ff",
        "/api/v1/instructions?family=%00",
    ],
)
def test_strange_bytes_in_addresses(client: Client, path: str) -> None:
    answer = client.get(path, follow_redirects=False)
    assert answer.status_code in (200, 307, 404, 422), answer.text
    if answer.status_code >= 400:
        parse_refusal(answer, answer.status_code)
