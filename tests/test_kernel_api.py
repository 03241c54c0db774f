"""Whole programs over HTTP and on the command line: the same text, the same options, the same refusals."""

from __future__ import annotations

import json
from pathlib import Path

from lanescope import find
from lanescope.product.planning import make_plan
from lanescope.render import kernel
from tests.client import Client
from tests.command import run_lanescope

PTX = "wgmma.mma_async.m64n32k16.f32.f16.f16"
GIVEN = {"a": "major=MN,swizzle=64B,order=mn", "b": "major=MN,order=mn"}


def test_the_api_gives_the_program_and_what_it_was_made_of(client: Client) -> None:
    found = client.get(f"/api/v1/instructions/{PTX}/kernel", params=GIVEN).json()
    made = make_plan(find(PTX), *GIVEN.values())
    assert found["cu"] == kernel.render_program(made) and found["py"] == kernel.render_script_program(made)
    assert found["immediates"] == {"imm_scale_a": 1, "imm_scale_b": 1, "imm_trans_a": 1, "imm_trans_b": 1}
    # LBO 32 and SBO 64 of A, LBO 32 and SBO 8 of B, in units of 16 bytes
    assert found["descriptors"] == {"a": ["0x8000004000200000"], "b": ["0x0000000800200080"]}
    assert found["options"]["a"]["order"] == "mn" and found["options"]["d"] == {"scale": "1"}
    again = make_plan(find(PTX), *(found["options"][side] for side in "abd"))
    assert again.options == made.options


def test_the_same_bytes_by_address_command_and_api(client: Client, tmp_path: Path) -> None:
    api = client.get(f"/api/v1/instructions/{PTX}/kernel", params=GIVEN).json()
    for form in ("cu", "py"):
        assert client.get(f"/kernel/{PTX}.{form}", params=GIVEN).text == api[form]
        file = tmp_path / f"out.{form}"
        done = run_lanescope("kernel", PTX, "--a", GIVEN["a"], "--b", GIVEN["b"], "-o", str(file))
        assert done.returncode == 0 and file.read_text() == api[form]
    assert run_lanescope("kernel", PTX, "--a", GIVEN["a"], "--b", GIVEN["b"]).stdout == api["cu"]
    assert json.loads(run_lanescope("kernel", PTX, "--a", GIVEN["a"], "--b", GIVEN["b"], "--json").stdout) == api
    assert client.get(f"/kernel/{PTX}.json", params=GIVEN).json() == api


def test_refusals_name_the_option(client: Client) -> None:
    for given, field in (({"a": "swizle=64B"}, "a.swizle"), ({"b": "major=X"}, "b.major"), ({"d": "scale"}, "d")):
        answer = client.get(f"/api/v1/instructions/{PTX}/kernel", params=given)
        assert answer.status_code == 422 and answer.json()["error"]["field"] == field
        page = client.get(f"/kernel/{PTX}", params=given)
        assert page.status_code == 422 and 'role="alert"' in page.text and 'name="a.swizzle"' in page.text
    assert client.get(f"/kernel/{PTX}.cu", params={"a": "k=24"}).status_code == 422
    assert client.get("/api/v1/instructions/movmatrix.m8n8.trans.b16/kernel").status_code == 422
    assert client.get(f"/api/v1/instructions/{PTX}/kernel", params={"e": "1"}).status_code == 422
    refused = run_lanescope("kernel", PTX, "--a", "swizzle=96B")
    assert refused.returncode == 2 and "none, 128B, 64B, 32B" in refused.stderr
    assert run_lanescope("kernel", PTX, "-o", "program.txt").returncode == 2


def test_a_load_has_a_program_of_its_own(client: Client, tmp_path: Path) -> None:
    """Page, file, API and command say the same of ldmatrix; a product has no data, a load no A."""
    load, data = "ldmatrix.m8n8.x1.trans.shared.b16", "pitch_bytes=80,fill=s8"
    api = client.get(f"/api/v1/instructions/{load}/kernel", params={"data": data}).json()
    assert api["options"] == {"a": {}, "b": {}, "d": {}, "data": {"pitch_bytes": "80", "swizzle": "none", "fill": "s8"}}
    assert api["k"] is None and api["steps"] == 1 and "lane %2u" in api["cu"]
    for form in ("cu", "py"):
        assert client.get(f"/kernel/{load}.{form}", params={"data": data}).text == api[form]
        file = tmp_path / f"out.{form}"
        assert run_lanescope("kernel", load, "--data", data, "-o", str(file)).returncode == 0
        assert file.read_text() == api[form]
    sent = client.get(f"/kernel/{load}", params={"data.fill": "s8", "data.swizzle": ""}, follow_redirects=False)
    assert sent.status_code == 303 and sent.headers["location"].endswith("?data=fill=s8")
    page = client.get(sent.headers["location"])
    assert page.status_code == 200 and "move.cu" in page.text and "/gpu/run?kind=mma" not in page.text
    for ptx, side in ((load, "a"), (PTX, "data")):
        refused = client.get(f"/kernel/{ptx}", params={side: "k=16"})
        assert refused.status_code == 422 and f"has no {side}." in refused.text
