"""The outside contract: shapes of answers, errors, compression, ETag and 304."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter

from lanescope.app import cli
from lanescope.app.catalogue.facts import Listing
from lanescope.app.instruction.facts import Detail, OperandMap
from lanescope.app.kit.errors import Error
from lanescope.app.kit.examples import BODIES
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from tests.cases import for_each
from tests.client import Client
from tests.command import CliRunner

M16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
API = "/api/v1/instructions"


@pytest.fixture(scope="module")
def client(app: Any) -> Client:
    return Client(app, raise_server_exceptions=False)


def test_listing(client: Client) -> None:
    answer = TypeAdapter(Listing).validate_python(client.get(API).json())
    assert answer.count == len(answer.instructions) == len(catalog.instructions())


def test_target_filter_agrees_with_the_rows(client: Client) -> None:
    for row in client.get(f"{API}?target=sm_89").json()["instructions"]:
        assert "sm_89" in row["targets"]


def test_detail(client: Client) -> None:
    answer = client.get(f"{API}/mma.m16n8k16.row.col.f32.f16.f16.f32").json()
    TypeAdapter(Detail).validate_python(answer)
    assert answer["ptx"] == M16 and answer["shape"] == {"m": 16, "n": 8, "k": 16}
    assert answer["types"] == {"a": "f16", "b": "f16", "c": "f32", "d": "f32"}
    assert answer["targets"][0] == "sm_80" and answer["ptx_version"] == "7.0"
    a = answer["operands"][0]
    assert (a["rows"], a["cols"], a["threads"], a["values"], a["registers"], a["register_type"]) == (
        16,
        16,
        32,
        8,
        4,
        "b32",
    )
    assert a["cute"] == "((4,8),(2,2,2)):((32,1),(16,8,128))"
    assert a["linear_layout"] == {
        "register": [[0, 1], [8, 0], [0, 8]],
        "lane": [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]],
        "warp": [],
    }
    assert a["formula"]["forward"].splitlines()[-2:] == [
        "row = 8 * ((i >> 1) & 1) + groupID",
        "col = 8 * (i >> 2) + 2 * threadID_in_group + (i & 1)",
    ]


@for_each("name", "abcd")
def test_operand_map(client: Client, name: str) -> None:
    answer = client.get(f"{API}/{M16}/operands/{name}").json()
    TypeAdapter(OperandMap).validate_python(answer)
    op = catalog.find(M16).operand(name)
    assert np.array_equal(answer["row"], op.rows) and np.array_equal(answer["col"], op.cols)
    assert [(r, b) for r, b in zip(answer["register"][5], answer["bit"][5], strict=True)] == [
        op.register_of(v) for v in range(op.values)
    ]


def test_quad_pair_has_its_product(client: Client) -> None:
    answer = client.get(f"{API}/mma.m8n8k4.row.col.f32.f16.f16.f32/operands/d").json()
    TypeAdapter(OperandMap).validate_python(answer)
    assert sorted({q for row in answer["product"] for q in row}) == [0, 1, 2, 3]
    assert answer["product"][21] == [1] * 8


def test_health_and_openapi(client: Client) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json()["instructions"] == len(catalog.instructions())
    paths = client.get("/openapi.json").json()["paths"]
    documented = client.get("/docs").text
    assert all(f" {path}</h3>" in documented for path in paths)
    assert {f"{API}", f"{API}/{{ptx}}", f"{API}/{{ptx}}/operands/{{name}}"} <= set(paths)


def test_every_example_of_the_documentation_answers(client: Client) -> None:
    from lanescope.app.kit.examples import EXAMPLES

    assert all(client.get(link).status_code == 200 for link in EXAMPLES.values())


# pages without a browser ----------------------------------------------------------------------------------------------


def test_page_stands_without_scripts(client: Client) -> None:
    page = client.get(f"/i/{M16}?pin=d:3,2").text
    assert "<svg" in page and "T13:0" in page and "Lane 13" in page
    assert 'title="a2, bits [15:0]">A[11][2]<' in page and "row = 8 * (i &gt;&gt; 1) + groupID" in page
    assert "D[3][2] = d0, R0[31:0]" in re.sub("<[^>]+>", "", page)
    form = re.findall(r'<form action="/i/[^"]*" id="view">.*?</form>', page, re.S)[0]  # it keeps the pin
    assert '<input type="hidden" name="pin" value="d:3,2">' in form and "<button" in form
    assert "T13 R0" in client.get(f"/i/{M16}?pin=d:3,2&label=register").text
    assert "lane : value index" in page
    wide = client.get("/i/wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16").text
    assert "thread : value index" in wide and "lane : value" not in wide  # T85 is a thread of the warpgroup


@for_each(
    ("query", "says"),
    [
        ("colour=zz", "Colour is &#39;zz&#39;. Allowed: g, "),
        ("label=zz", "Label is &#39;zz&#39;. Allowed: lane:value, "),
        ("lanes=40", "numbers from 0 to 31"),
        ("lanes=1-", "numbers from 0 to 31"),
        ("pin=d:99,0", "D has 16 rows and 8 columns"),
        ("pin=q:0,0", "matrix:row,column"),
        ("product=1", "This instruction has 1 product"),
        ("view=m:0-99", "Write all, or ranges as in m:0-16"),
        ("colour=<script>", "Colour is &#39;&lt;script&gt;&#39;."),
    ],
)
def test_a_bad_state_value_is_an_error_of_its_control_or_a_notice(client: Client, query: str, says: str) -> None:
    answer = client.get(f"/i/{M16}?{query}")
    assert answer.status_code == 422 and says in answer.text and "<svg" in answer.text


def test_lanes_that_do_not_exist_stay_in_their_field_with_the_error(client: Client) -> None:
    for ptx, most in ((M16, 31), ("wgmma.mma_async.m64n8k16.f32.f16.f16", 127)):
        page = client.get(f"/i/{ptx}?lanes=0-400&colour=zz").text
        assert re.search(r'<input name="lanes" value="0-400" aria-invalid="true"', page)
        assert (
            f"is &#39;0-400&#39;. Write numbers from 0 to {most} and ranges" in page and page.count("data-error") == 2
        )


def test_every_picker_option_is_legal() -> None:
    from lanescope.app.instruction import pickers

    for text in (
        M16,
        "wgmma.mma_async.m64n96k32.s32.s8.u8",
        "mma.m8n8k4.col.row.f32.f16.f16.f32",
        "mma.m8n8k128.row.col.s32.b1.b1.s32.xor.popc",
    ):
        found = catalog.find(text)
        made = pickers.build_pickers(found)
        assert made and all(sum(o.chosen for o in p.options) == 1 for p in made)
        for option in (o for p in made for o in p.options):
            assert catalog.find(option.ptx).ptx == option.ptx


def test_every_post_route_has_a_documented_body(client: Client) -> None:
    posts = {path for path, methods in client.get("/openapi.json").json()["paths"].items() if "post" in methods}
    assert posts == set(BODIES)
    page = client.get("/docs").text
    assert all(f"{path} -H" in page for path in posts)


def test_a_pointer_and_an_ldm_are_judged(client: Client) -> None:
    """ldm 24 is legal in the CUDA C++ guide and illegal in PTX, whose fragment of halves has 32 bytes."""
    address = "/api/v1/instructions/wmma.load.a.sync.aligned.row.m16n16k16.f16"
    check = client.get(address, params={"pointer": "0x20", "ldm": "24"}).json()["memory"]["check"]
    assert (check["pointer"], check["ldm"], check["legal"]) == ("0x20", 24, False)
    assert [rule["name"] for rule in check["rules"] if not rule["holds"]] == ["PTX ldm"]
    assert client.get(address, params={"ldm": 32}).json()["memory"]["check"]["legal"] is True
    assert client.get(address, params={"pointer": 16}).json()["memory"]["check"]["legal"] is False
    assert "check" not in client.get(address).json()["memory"]
    refused = client.get("/api/v1/instructions/mma.m16n8k16.row.col.f32.f16.f16.f32", params={"ldm": 24})
    assert refused.status_code in (400, 422) and "takes no ldm" in refused.text
    assert client.get(address, params={"ldm": "x"}).status_code == 422


def test_the_command_judges_a_pointer_and_an_ldm() -> None:
    load = ["show", "wmma.load.a.row.m16n16k16.f16"]
    wrong = CliRunner().invoke(cli.build_cli(), [*load, "--pointer", "0x20", "--ldm", "24"])
    assert wrong.exit_code == 1 and "✗ PTX ldm: 24 mod 16 = 8; it must be a multiple of 16 elements" in wrong.output
    right = CliRunner().invoke(cli.build_cli(), [*load, "--pointer", "0x20", "--ldm", "32"])
    assert right.exit_code == 0 and "pointer 0x20, ldm 32: legal" in right.output
    assert isinstance(CliRunner().invoke(cli.build_cli(), [*load, "a", "--ldm", "24"]).exception, LayoutError)


@for_each(
    ("path", "status", "code", "field"),
    [
        (f"{API}/mma.m16n8k12.row.col.f32.f16.f16.f32", 404, "unknown_instruction", "ptx"),
        (f"{API}/{M16}/operands/e", 404, "unknown_operand", "operand"),
        (f"{API}/wgmma.mma_async.m64n8k16.f32.f16.f16/operands/b", 404, "operand_not_in_registers", "operand"),
        (f"{API}?family=nope", 422, "bad_filter", "family"),
        (f"{API}?target=sm_1", 422, "bad_filter", "target"),
        (f"{API}?type=f99", 422, "bad_filter", "type"),
        (f"{API}?colour=g", 422, "bad_filter", "colour"),
        (f"{API}?q={'x' * 3000}", 422, "bad_filter", "q"),
        ("/api/v1/nothing", 404, "not_found", ""),
        ("/i/mma.m16n8k12.row.col.f32.f16.f16.f32.json", 404, "unknown_instruction", "ptx"),
    ],
)
def test_errors_have_one_shape(client: Client, path: str, status: int, code: str, field: str) -> None:
    answer = client.get(path)
    assert answer.status_code == status
    error = TypeAdapter(Error).validate_python(answer.json()).error
    assert (error.code, error.field) == (code, field) and error.message and error.hint


def test_method_not_allowed_has_the_same_shape(client: Client) -> None:
    answer = client.post(API)
    assert answer.status_code == 405
    TypeAdapter(Error).validate_python(answer.json())


@for_each("path", ["/", f"/i/{M16}", "/help", "/docs", "/i/nothing", f"/i/{M16}.svg"])
def test_nothing_is_loaded_from_elsewhere(client: Client, path: str) -> None:
    import re

    text = client.get(path).text.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"(?:src|href|url)\s*[=(]\s*[\"']?(?:https?:)?//", text)
