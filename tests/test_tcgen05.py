"""The rows of tcgen05: every text assembles and no other, every sample of CUTLASS's maps is a row's, and the pages say
what is open.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from app.main import create_app
from layouts import catalog, find
from layouts.errors import LayoutError
from layouts.instruction import Instruction, Place
from layouts.render import ptx
from tests.ptxas import assembler

SAMPLES = json.loads((Path(__file__).parent / "golden" / "tcgen05.json").read_text())["tmem"]
ROWS = [i for i in catalog.instructions() if i.family.tensor]
TARGETS = ("sm_100a", "sm_103a", "sm_110a")
API = "/api/v1/instructions"


@lru_cache(maxsize=1)
def client() -> TestClient:
    return TestClient(create_app())


def line(found: Instruction, form: str) -> assembler.Line:
    """The text with the operands that its page shows, by names that the assembler declares."""
    spelled, numbers = [], {"f32": ("f", iter(range(300))), "b64": ("q", iter(range(8))), "pred": ("p", iter([""]))}
    registers = iter(range(600))
    for slot in ptx.slots(found, form):
        letter, free = numbers.get(slot.type, ("r", registers))
        names = [f"{letter}{next(free)}" for _ in range(slot.registers)]
        spelled.append(
            {"vector": f"{{{', '.join(names)}}}", "address": f"[{''.join(names)}]", "immediate": slot.value}.get(
                slot.kind, "".join(names)
            )
        )
    return assembler.Line(found.ptx, ", ".join(spelled))


@pytest.mark.skipif(assembler.ptxas() is None, reason="no ptxas: it comes with nvidia-cuda-nvcc")
@pytest.mark.parametrize("target", TARGETS)
def test_every_text_assembles_in_every_form_where_it_is_said_to(target: str) -> None:
    """One module a target: what a page shows of an operand list is what ptxas takes."""
    lines = [
        line(i, form) for i in ROWS if target in catalog.assembled(i).targets for form in i.family.forms
    ]  # fmt: skip
    good = assembler.accepted(lines, target, "9.0", chunk=len(lines))
    assert [one for n, one in enumerate(lines) if n not in good] == []


REFUSED = (
    "tcgen05.ld.32x32b.x3.b32", "tcgen05.ld.16x256b.x64.b32", "tcgen05.cp.cta_group::1.64x128b",
    "tcgen05.cp.cta_group::1.128x256b.warpx4", "tcgen05.ld.red.32x32b.x1.min.f32", "tcgen05.cp.128x256b",
    "tcgen05.ld.red.32x32b.x2.min.abs.u32", "tcgen05.ld.red.16x64b.x2.min.f32", "tcgen05.shift.cta_group::1.up",
    "tcgen05.st.32x32b.x2.pack::16b.b32",
)  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_what_ptxas_refuses_is_no_row_and_the_nearest_are_named(text: str) -> None:
    with pytest.raises(LayoutError) as caught:
        find(text)
    assert caught.value.code == "unknown_instruction" and "tcgen05." in caught.value.hint
    answer = client().get(f"{API}/{text}/operands/data")
    assert answer.status_code == 404 and answer.json()["error"]["code"] == "unknown_instruction"


MOVED = [s for s in SAMPLES if s["operand"].startswith("tcgen05.")]


def text_of(sample: dict[str, Any]) -> str:
    shape, _, packed = sample["case"].partition(".")
    if sample["operand"].endswith(".cp"):
        return f"tcgen05.cp.cta_group::1.{sample['case']}"
    pack = f".{packed}" if packed else ""
    return f"{sample['operand']}.sync.aligned.{shape}.x{sample['example_parameters']['x']}{pack}.b32"


@pytest.mark.parametrize("sample", MOVED, ids=text_of)
def test_a_row_has_the_map_that_cutlass_has(sample: dict[str, Any]) -> None:
    found = find(text_of(sample))
    told = client().get(f"{API}/{found.ptx}/operands/data").json()
    axes = ("row", "word") if found.operand("data").scope.place is Place.TENSOR else ("lane", "column")
    held = [np.array(told[axis]) for axis in axes]
    assert held[0].shape == (sample["threads"], sample["values"])
    for thread, value, *where in sample["cells"]:
        assert [int(axis[thread, value]) for axis in held] == where[:2]
    assert any(item["text"].startswith("agrees with CUTLASS (") for item in told["evidence"])
    assert "verified" not in json.dumps(told["evidence"])


def test_registers_and_columns_of_a_load() -> None:
    """PTX's Table 49, and the low halves of two columns in a register."""
    for shape, each, columns in (("32x32b", 1, 1), ("16x64b", 1, 2), ("16x128b", 2, 4), ("16x256b", 4, 8)):
        for packed in ("", ".pack::16b"):
            told = client().get(f"{API}/tcgen05.ld.sync.aligned.{shape}.x8{packed}.b32/operands/data").json()
            assert (told["registers"], told["columns"]) == (8 * each, 8 * columns * (2 if packed else 1))
            assert max(map(max, told["column"])) == told["columns"] - 1


def test_a_reduction_is_one_register_of_its_own_columns() -> None:
    found = find("tcgen05.ld.red.16x32bx2.x4.f32.max.NaN.abs")
    assert found.ptx == "tcgen05.ld.red.sync.aligned.16x32bx2.x4.max.abs.NaN.f32"
    red = client().get(f"{API}/{found.ptx}/operands/red").json()
    assert red["registers"] == 1 and red["lane"][17] == [1] and red["half"][17] == [1]
    page = client().get(f"/i/{found.ptx}").text
    assert "inferred" in page and "open" in page
    whole = find("tcgen05.ld.red.32x32b.x4.min.u32")
    assert "inferred" not in client().get(f"/i/{whole.ptx}").text
    assert catalog.assembled(whole).targets == ("sm_103a", "sm_110a")


def test_rows_move_by_a_lane_in_every_quarter() -> None:
    told = client().get(f"{API}/tcgen05.shift.cta_group::2.down/operands/data").json()
    lanes = [row[0] for row in told["from_lane"]]
    assert lanes[:3] == [1, 2, 3] and lanes[30:34] == [31, 31, 33, 34] and lanes[127] == 127 and len(lanes) == 128
    assert "measured by others" in client().get("/i/tcgen05.shift.cta_group::1.down").text


def test_a_decompressing_copy_says_what_is_open() -> None:
    page = client().get("/i/tcgen05.cp.cta_group::1.128x128b.b8x16.b6x16_p32").text
    assert "6 bits and 32 bits of padding" in page and "is open" in page
    assert not find("tcgen05.cp.cta_group::1.128x128b.b8x16.b4x16_p64").family.agrees


def test_words_are_those_of_tensor_memory() -> None:
    page = client().get("/i/tcgen05.cp.cta_group::1.64x128b.warpx2::02_13").text
    assert "Columns a lane" in page and ">L5:0<" in page and "agrees with CUTLASS (6 maps of all shapes)" in page
    quarters = client().get("/i/tcgen05.cp.cta_group::1.4x256b").text
    assert "Columns a quarter" in quarters and "Quarter q is lane 32q" in quarters
