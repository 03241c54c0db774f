"""The steps of an mma with a user's own matrices: the process the printed m8n8k16 walk-through shows, on
every surface.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
from pydantic import TypeAdapter

from lanescope.app.kit.question import labels_of
from lanescope.app.steps.facts import Steps
from lanescope.app.steps.forms import ElementForm
from lanescope.app.steps.stepper import StepperQuestion
from lanescope.app.steps.wgmma import WgmmaSteps
from tests.cases import for_each
from tests.client import Client
from tests.command import run_lanescope
from tests.test_labels import read_alert

S8 = "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32"
LABELS = labels_of(ElementForm) | labels_of(StepperQuestion)
OWN = {"a": "i", "b": "-(i + 1)"}
A = np.arange(128).reshape(8, 16)
B = -(np.arange(128).reshape(8, 16).T + 1)  # (k, n); memory has it column by column


def test_the_printed_process_with_its_own_data(client: Client) -> None:
    """A = i and B = -(i + 1): what lies in memory, which row each of lanes 0 to 7 points at, four values a
    lane, and D.
    """
    text = client.get(f"/steps/{S8}.txt", params=OWN | {"row": "3", "col": "2"}).text
    assert text.splitlines()[1] == "NumPy simulation, no GPU; A = i, B = -(i + 1), C = 0; D agrees with NumPy's product"
    assert "     0    0   1   2   3   4   5   6   7   8   9  10  11  12  13  14  15" in text
    assert "     7  -113 -114 -115 -116 -117 -118 -119 -120 -121 -122 -123 -124 -125 -126 -127 -128" in text
    for name in "AB":
        assert (
            f"2. {name}: ldmatrix.sync.aligned.m8n8.x1.shared.b16; offset = (lane & 7) * 16\n   T0:0 T1:16 T2:32 T3:48"
            " T4:64 T5:80 T6:96 T7:112" in text
        )
    for lane in range(32):
        a, b = (
            " ".join(str(n) for n in values)
            for values in (range(4 * lane, 4 * lane + 4), range(-4 * lane - 1, -4 * lane - 5, -1))
        )
        assert (
            f"   T{lane:<3} a 0x" in text and f"({a})  b 0x" in text and f"({b})  c 0x00000000 0x00000000 (0 0)" in text
        )
    total = int((A[3] * B[:, 2]).sum())
    assert f"   + C 0 (T13:c0) = {total}; D holds {total} (T13:d0)" in text
    assert f"   k   5   53 (T13:a1) × {B[5, 2]} (T9:b1) = {53 * B[5, 2]}" in text


def test_every_surface_says_the_same(client: Client, tmp_path: Path) -> None:
    asked = OWN | {"row": "3", "col": "2"}
    answer = client.post("/api/v1/steps", json={"instruction": S8, "data": OWN, "row": 3, "col": 2}).json()
    told = TypeAdapter(Steps).validate_python(answer)
    assert told.data == OWN | {"c": "0"} and np.array_equal(told.d, A @ B) and told.agrees
    assert [[int(v or 0) for v in lane] for lane in told.values["b"]] == [
        [-n - 1 for n in range(4 * lane, 4 * lane + 4)] for lane in range(32)
    ]
    assert client.get(f"/steps/{S8}.json", params=asked).json() == answer
    text = client.get(f"/steps/{S8}.txt", params=asked).text
    np.save(tmp_path / "A.npy", A.astype(np.int8))
    (tmp_path / "B.csv").write_text("\n".join(",".join(map(str, row)) for row in B.tolist()))
    for a, b in (
        ("i", "-(i + 1)"),
        (str(tmp_path / "A.npy"), str(tmp_path / "B.csv")),
        (" ".join(map(str, range(128))), "[" + ",".join(str(-n - 1) for n in range(128)) + "]"),
    ):
        done = run_lanescope("steps", S8, "--a", a, "--b", b, "--at", "3,2")
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[2:] == text.splitlines()[2:]
    assert (
        json.loads(run_lanescope("steps", S8, "--a", "i", "--b", "-(i + 1)", "--at", "3,2", "--json").stdout) == answer
    )
    page = client.get(f"/steps/{S8}", params=asked).text
    assert (
        "A = i" in page
        and f"<strong>{int((A[3] * B[:, 2]).sum())}</strong>" in page
        and ">i</textarea>" in page
        and f"steps/{S8}.txt?{urlencode({'row': 3, 'col': 2} | OWN)}".replace("&", "&amp;") in page
    )
    posted = client.post(
        f"/steps/{S8}", content=urlencode(asked), headers={"content-type": "application/x-www-form-urlencoded"}
    )
    shared = r'  <meta property=.*?summary_large_image">\s*|<details class="drop share".*?</script>'  # of an address
    without = re.sub(shared, "", page, flags=re.S)
    assert posted.status_code == 200 and posted.text.split("<main")[1].split() == without.split("<main")[1].split()


@for_each(
    ("given", "field", "says"),
    [
        ({"a": "i * i"}, "a", "A[0,12] = 144 is not representable as s8"),
        ({"b": "i +"}, "b", "a value is missing"),
        ({"c": "1 2 3"}, "c", "c is 3"),
        ({"row": "8"}, "row", "row 8"),
        ({"seed": "x"}, "seed", "seed is 'x'"),
        ({"a": "open('x')"}, "a", "has no meaning"),
        ({"backend": "tpu"}, "backend", "backend is 'tpu'"),
    ],
)
def test_refusals_stand_beside_their_field(client: Client, given: dict[str, Any], field: str, says: str) -> None:
    page = client.get(f"/steps/{S8}", params=given)
    label = LABELS.get(field, field)
    assert page.status_code == 422 and read_alert(page.text).startswith(label)
    assert says.replace(f"{field} is ", f"{label} is ") in read_alert(page.text)
    assert all(
        f">{value}</textarea>".replace("'", "&#39;") in page.text for name, value in given.items() if name in "abc"
    )
    body = {"instruction": S8, "data": given} if field in "abc" else {"instruction": S8} | given
    error = client.post("/api/v1/steps", json=body).json()["error"]
    assert error["field"] == ("data." if field in "abc" else "") + field and says in error["message"]
    for name in ("d", "a", "x"):
        assert client.post("/api/v1/steps", json={"instruction": S8, name: "i"}).json()["error"]["field"] == name


@for_each(
    ("ptx", "given"),
    [
        ("mma.m16n8k16.row.col.f32.f16.f16.f32", {"a": "i / 7.0", "b": "row == col"}),
        ("mma.m8n8k4.row.col.f32.f16.f16.f32", {"a": "i + product", "product": "2"}),
        ("mma.sp::ordered_metadata.m16n8k32.row.col.f32.f16.f16.f32", {"a": "col % 4 > 1 ? i % 64 : 0", "b": "1"}),
        ("mma.m16n8k256.row.col.s32.b1.b1.s32.and.popc", {"a": "i & 1", "b": "1"}),
        ("wmma.mma.row.col.m16n16k16.f32.f32", {"a": "i % 5"}),
        ("mma.m16n8k32.row.col.f32.e4m3.e4m3.f32", {"a": "i / 3.0", "c": "i"}),
        ("mma.m8n8k4.row.col.f64.f64.f64.f64", {"a": "i / 3.0", "b": "0.1"}),
    ],
    sample=4,
)
def test_every_kind_of_mma_takes_them(client: Client, ptx: str, given: dict[str, str]) -> None:
    place = {name: value for name, value in given.items() if name == "product"}
    data = {name: value for name, value in given.items() if name != "product"}
    answer = client.post("/api/v1/steps", json={"instruction": ptx, "data": data} | place).json()
    assert TypeAdapter(Steps).validate_python(answer).agrees
    assert (
        "D is A × B + C from the registers" in client.get(f"/steps/{ptx}", params=given).text
        and client.get(f"/steps/{ptx}.txt", params=given).status_code == 200
    )
    if "i / 7.0" in given["a"]:
        assert answer["memory"]["a"]["lines"][0][0][1] == float(np.float16(1 / 7))


WGMMA = "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16"


def test_a_wgmma_takes_storage_and_matrices(client: Client) -> None:
    """In a and b of a wgmma name=value is storage, anything else a matrix; data_a and data_b stand beside storage."""
    body = {
        "instruction": WGMMA,
        "a": "major=MN,swizzle=64B",
        "data": {"a": "i % 7", "b": "row == col"},
        "row": 5,
        "col": 3,
    }
    answer = client.post("/api/v1/steps", json=body).json()
    told = TypeAdapter(WgmmaSteps).validate_python(answer)
    assert (
        told.agrees
        and told.data == {"a": "i % 7", "b": "row == col", "c": "0"}
        and told.shared["a"].how == "swizzle 64B"
    )
    assert np.array_equal(told.d, (np.arange(1024).reshape(64, 16) % 7))
    asked = {"a": "major=MN,swizzle=64B", "data_a": "i % 7", "b": "row == col", "row": "5", "col": "3"}
    assert client.get(f"/steps/{WGMMA}.json", params=asked).json() == answer
    page = client.get(f"/steps/{WGMMA}", params=asked).text
    assert (
        "A = i % 7" in page
        and 'value="major=MN,swizzle=64B"' in page
        and ">i % 7</textarea>" in page
        and "D is A × B + C from the tiles" in page
    )
    done = run_lanescope(
        "steps", WGMMA, "--a", "major=MN,swizzle=64B", "--data-a", "i % 7", "--b", "row == col", "--at", "5,3"
    )
    assert done.returncode == 0 and done.stdout == client.get(f"/steps/{WGMMA}.txt", params=asked).text
    assert "A = i % 7, B = row == col, C = 0" in done.stdout
    wrong = client.get(f"/steps/{WGMMA}", params=asked | {"data_a": "x"})
    assert wrong.status_code == 422 and re.search(r'name="data_a"[^>]*aria-invalid="true"', wrong.text)
    both = client.get(f"/steps/{WGMMA}", params={"a": "i", "data_a": "i"})
    assert both.status_code == 422 and "both give a matrix" in both.text


def test_storage_is_for_wgmma(client: Client) -> None:
    for name, value in (("a", "swizzle=64B"), ("d", "scale=0")):
        page = client.get(f"/steps/{S8}", params={name: value})
        assert page.status_code == 422 and f"{LABELS.get(name, name)}: " in page.text and "is for wgmma" in page.text
