"""Memory dumps by the API, the page and its form, and the command."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import pytest

from lanescope import dump as engine
from lanescope.app.dump.examples import build_files
from lanescope.app.kit.examples import BODIES
from tests.cases import for_each
from tests.client import Client
from tests.command import run_lanescope

F16 = "wgmma.mma_async.m64n64k16.f32.f16.f16"


def test_the_api_answers_with_the_repair(client: Client) -> None:
    dump, expected = (base64.b64encode(raw).decode() for raw in build_files("swizzle"))
    body = {
        "dump": dump,
        "expected": expected,
        "descriptor": "0x4000004000010042",
        "instruction": F16,
        "slice": {"mn": 0, "k": 16},
    }
    answer = client.post("/api/v1/dumps/verify", json=body).json()
    assert answer["verdict"] == "mismatch" and answer["layout_count"] == 1 and answer["lies_by"] == "layout"
    assert answer["layouts"][0]["storage"]["swizzle"] == "64B"
    fix = answer["layouts"][0]["diagnoses"][0]["fix"]["descriptor"]
    repaired = client.post("/api/v1/dumps/verify", json=body | {"descriptor": fix}).json()
    assert (repaired["verdict"], repaired["matched"], repaired["wrong"], repaired["layouts"]) == ("match", 1024, [], [])
    without_expected = client.post(
        "/api/v1/dumps/verify", json={n: v for n, v in body.items() if n not in ("expected", "slice")}
    )
    assert without_expected.json()["verdict"] == "unknown" and "right" not in without_expected.json()


def test_a_body_with_files_may_be_larger(client: Client) -> None:
    large = base64.b64encode(bytes(engine.MOST_DUMP)).decode()
    assert client.post("/api/v1/dumps/verify", json=BODIES["/api/v1/dumps/verify"] | {"dump": large}).status_code == 200
    assert client.post("/api/v1/read", json={"text": large}).status_code == 413
    huge = client.post("/api/v1/dumps/verify", content=b"x" * ((1 << 20) + 1))
    assert huge.status_code == 413 and "1048576" in huge.json()["error"]["hint"]


FORM = {"descriptor": "0x4000004000010042", "instruction": F16, "slice_k": "16"}


@for_each(
    ("data", "files", "name", "message"),
    [
        (FORM, {"other": ("x", b"1")}, "dump", "No file was chosen"),
        (FORM | {"slice_k": "0"}, {"dump": ("x", b"")}, "dump", "The file is empty"),
        (FORM | {"base": "0x401", "slice_k": "0"}, {"dump": ("x", bytes(64))}, "base", "Address of the first byte"),
        (FORM | {"kept_dump": "!"}, {"other": ("x", b"1")}, "dump", "which is not base64"),
        (FORM, {"dump": ("x", bytes(64))}, "slice_k", "First k is 16, but no expected tile is given"),
        (FORM | {"descriptor": " "}, {"dump": ("x", bytes(64))}, "descriptor", "Descriptor is empty"),
    ],
)
def test_a_wrong_form_gets_an_error_at_its_field(
    client: Client, data: Any, files: Any, name: str, message: str
) -> None:
    page = client.post("/dump", data=data, files=files)
    said = re.findall(r'<small [^>]*id="(\w+)-error" role="alert">(.*?)</small>', page.text, re.S)
    assert page.status_code == 422 and [field for field, _ in said] == [name] and message in said[0][1]


def test_every_field_is_validated_before_a_file_is_there(client: Client) -> None:
    """With what was typed, whether or not it is right."""
    typed = {"descriptor": "0xZZ", "instruction": "mma.m16n8k7", "base": "0x800"}
    for page in (client.get("/dump", params=typed), client.post("/dump", data=typed, files={"other": ("x", b"1")})):
        wrong = set(re.findall(r'<small [^>]*id="(\w+)-error" role="alert">', page.text))
        assert page.status_code == 422 and {"descriptor", "instruction"} <= wrong and "base" not in wrong
        assert all(f'value="{text}"' in page.text for text in typed.values())


def test_a_body_that_is_not_a_form_is_refused(client: Client) -> None:
    assert client.post("/dump", content=b"a=1").status_code == 415
    broken = client.post("/dump", content=b"x", headers={"content-type": "multipart/form-data; boundary=b"})
    assert broken.status_code in (200, 422)
    assert client.post("/dump", content=b"x", headers={"content-type": "multipart/form-data"}).status_code == 422


def test_the_command_exits_with_0_1_or_2_by_verdict(tmp_path: Any) -> None:
    dump, expected = build_files("swizzle")
    (tmp_path / "smem.bin").write_bytes(dump)
    (tmp_path / "a.npy").write_bytes(expected)

    def run(*words: str) -> tuple[int, str]:
        done = run_lanescope("dump", "verify", *words)
        return done.returncode, done.stdout + done.stderr

    usual = [str(tmp_path / "smem.bin"), "--instruction", F16, "--expected", str(tmp_path / "a.npy"), "--slice-k", "16"]
    status, output = run(*usual, "--descriptor", "0x4000004000010042")
    assert status == 1 and "repair: 0x8000002000010042" in output and "stored_swizzle" in output
    assert run(*usual, "--descriptor", "0x8000002000010042")[0] == 0
    assert run(*usual, "--descriptor", "0x8000002000010042", "--base", "0x800")[0] == 1
    assert run(*usual, "--descriptor", "0x8000002000010042", "--base", "0x10000")[0] == 2
    assert run(str(tmp_path / "none"), "--descriptor", "0x0", "--instruction", F16)[0] == 2
    status, output = run(*usual, "--descriptor", "0x4000004000010042", "--json")
    assert status == 1 and json.loads(output)["missing"]["found"] == 1008
    status, output = run(
        usual[0], "--descriptor", "0x8000002000010042", "--instruction", F16, "--base", "0x900", "--json"
    )
    assert status == 2 and json.loads(output, parse_constant=pytest.fail)["values"][0][0] is None
    status, output = run(usual[0], "--descriptor", "0x8000002000010042", "--instruction", F16)
    assert status == 0 and "[0,0…] -240 -239" in output
