"""The rows of tcgen05: every text assembles and no other, every sample of CUTLASS's maps is a row's, and the pages say
what is open.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lanescope import bind, find
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction, OperandPlace
from lanescope.ptx.slots import list_slots as slots_of
from lanescope.ptx.targets import list_least
from tests.cases import for_each
from tests.client import share_client
from tests.oracle import tensor as oracle
from tests.ptxas import assembler, candidates_tcgen05
from tests.sample import FULL, take_sample
from tests.test_offers import get_refusal

SAMPLES = json.loads((Path(__file__).parent / "golden" / "tcgen05.json").read_text())["tmem"]
ROWS = [i for i in catalog.instructions() if i.family.tensor]
TARGETS = ("sm_100a", "sm_103a", "sm_110a")
API = "/api/v1/instructions"


def format_line(found: Instruction, form: str) -> assembler.Line:
    """The text with the operands that its page shows, by names that the assembler declares."""
    spelled, numbers = [], {"f32": ("f", iter(range(300))), "b64": ("q", iter(range(8))), "pred": ("p", iter([""]))}
    registers = iter(range(600))
    for slot in slots_of(found, form):
        letter, free = numbers.get(slot.type, ("r", registers))
        names = [f"{letter}{next(free)}" for _ in range(slot.registers)]
        spelled.append(
            {"vector": f"{{{', '.join(names)}}}", "address": f"[{''.join(names)}]", "immediate": slot.value}.get(
                slot.kind, "".join(names)
            )
        )
    return assembler.Line(found.ptx, ", ".join(spelled))


@pytest.mark.skipif(assembler.find_ptxas() is None, reason="no ptxas: it comes with nvidia-cuda-nvcc")
@for_each("target", TARGETS if FULL else TARGETS[-1:])
def test_every_text_assembles_in_every_form_where_it_is_said_to(target: str) -> None:
    """One module a target: what a page shows of an operand list is what ptxas takes. Of a fourth in make test."""
    lines = [
        format_line(i, form) for i in ROWS if target in catalog.get_target_support(i).targets for form in i.family.forms
    ]
    lines = take_sample(lines, len(lines) // 4)
    good = assembler.find_accepted(lines, target, "9.0", chunk=len(lines))
    assert [one for n, one in enumerate(lines) if n not in good] == []


REFUSED = (
    "tcgen05.ld.32x32b.x3.b32",
    "tcgen05.ld.16x256b.x64.b32",
    "tcgen05.cp.cta_group::1.64x128b",
    "tcgen05.cp.cta_group::1.128x256b.warpx4",
    "tcgen05.ld.red.32x32b.x1.min.f32",
    "tcgen05.cp.128x256b",
    "tcgen05.ld.red.32x32b.x2.min.abs.u32",
    "tcgen05.ld.red.16x64b.x2.min.f32",
    "tcgen05.shift.cta_group::1.up",
    "tcgen05.st.32x32b.x2.pack::16b.b32",
)


@for_each("text", REFUSED)
def test_what_ptxas_refuses_is_no_row_and_the_nearest_are_named(text: str) -> None:
    with pytest.raises(LayoutError) as caught:
        find(text)
    assert caught.value.code == "unknown_instruction" and "tcgen05." in caught.value.hint
    answer = share_client().get(f"{API}/{text}/operands/data")
    assert answer.status_code == 404 and answer.json()["error"]["code"] == "unknown_instruction"


MOVED = [s for s in SAMPLES if s["operand"].startswith("tcgen05.")]


def get_text(sample: dict[str, Any]) -> str:
    shape, _, packed = sample["case"].partition(".")
    if sample["operand"].endswith(".cp"):
        return f"tcgen05.cp.cta_group::1.{sample['case']}"
    pack = f".{packed}" if packed else ""
    return f"{sample['operand']}.sync.aligned.{shape}.x{sample['example_parameters']['x']}{pack}.b32"


@for_each("sample", MOVED, ids=get_text)
def test_a_row_has_the_map_that_cutlass_has(sample: dict[str, Any]) -> None:
    found = find(get_text(sample))
    told = share_client().get(f"{API}/{found.ptx}/operands/data").json()
    axes = ("row", "word") if found.operand("data").scope.place is OperandPlace.TENSOR else ("lane", "column")
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
            told = share_client().get(f"{API}/tcgen05.ld.sync.aligned.{shape}.x8{packed}.b32/operands/data").json()
            assert (told["registers"], told["columns"]) == (8 * each, 8 * columns * (2 if packed else 1))
            assert max(map(max, told["column"])) == told["columns"] - 1


def test_a_reduction_is_one_register_of_its_own_columns() -> None:
    found = find("tcgen05.ld.red.16x32bx2.x4.f32.max.NaN.abs")
    assert found.ptx == "tcgen05.ld.red.sync.aligned.16x32bx2.x4.max.abs.NaN.f32"
    red = share_client().get(f"{API}/{found.ptx}/operands/red").json()
    assert red["registers"] == 1 and red["lane"][17] == [1] and red["half"][17] == [1]
    page = share_client().get(f"/i/{found.ptx}").text
    assert "inferred" in page and "not documented" in page
    whole = find("tcgen05.ld.red.32x32b.x4.min.u32")
    assert "inferred" not in share_client().get(f"/i/{whole.ptx}").text
    assert list_least(catalog.get_target_support(whole).targets) == ["sm_103f", "sm_107f", "sm_110f"]


def test_rows_move_by_a_lane_in_every_quarter() -> None:
    told = share_client().get(f"{API}/tcgen05.shift.cta_group::2.down/operands/data").json()
    lanes = [row[0] for row in told["from_lane"]]
    assert lanes[:3] == [1, 2, 3] and lanes[30:34] == [31, 31, 33, 34] and lanes[127] == 127 and len(lanes) == 128
    assert "measured by others" in share_client().get("/i/tcgen05.shift.cta_group::1.down").text


def test_a_decompressing_copy_says_what_is_open() -> None:
    page = share_client().get("/i/tcgen05.cp.cta_group::1.128x128b.b8x16.b6x16_p32").text
    assert "6 bits and 32 bits of padding" in page and "is not documented" in page
    assert not find("tcgen05.cp.cta_group::1.128x128b.b8x16.b4x16_p64").family.agrees


def test_words_are_those_of_tensor_memory() -> None:
    page = share_client().get("/i/tcgen05.cp.cta_group::1.64x128b.warpx2::02_13").text
    assert "Columns a lane" in page and ">L5:0<" in page and "agrees with CUTLASS (6 maps of all shapes)" in page
    quarters = share_client().get("/i/tcgen05.cp.cta_group::1.4x256b").text
    assert "Columns a quarter" in quarters and "Quarter q is lane 32q" in quarters


# products -------------------------------------------------------------------------------------------------------------

F16 = "tcgen05.mma.cta_group::1.kind::f16"
PRODUCTS = [i for i in ROWS if i.family.issue]


def test_there_are_as_many_texts_as_ptxas_takes() -> None:
    """880 forms of products, A by a descriptor or in tensor memory, 2224 with a collector of B, and 354 of what moves
    data.
    """
    assert len(ROWS) - len(PRODUCTS) == 354 and sum(len(i.family.forms) for i in PRODUCTS) == 880 + 2224


@for_each(
    "text",
    [
        "ws.cta_group::2.kind::f16",
        "ws.cta_group::1.kind::mxf4.block_scale",
        "cta_group::1.kind::f16.block_scale",
        "cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::2X",
        "cta_group::1.kind::mxf4nvf4.block_scale",
        "cta_group::1.kind::f16.ashift.collector::a::fill",
        "cta_group::1.kind::f16.collector::b0::use",
        "cta_group::1.kind::mxf4.block_scale.block16",
    ],
)
def test_what_ptxas_refuses_of_a_product_is_no_row(text: str) -> None:
    with pytest.raises(LayoutError):
        find(f"tcgen05.mma.{text}")


@pytest.mark.skipif(assembler.find_ptxas() is None, reason="no ptxas: it comes with nvidia-cuda-nvcc")
def test_ptxas_refuses_it_too() -> None:
    texts = (
        *REFUSED,
        "tcgen05.mma.ws.cta_group::2.kind::f16",
        "tcgen05.mma.cta_group::1.kind::mxf4.block_scale.block16",
    )
    lines = []
    for text in texts:
        near = format_line(find(str(get_refusal(text).nearest[0])), "shared")
        lines.append(
            assembler.Line(
                text.replace(".ld.", ".ld.sync.aligned.")
                .replace(".red.sync.aligned", ".red")
                .replace("ld.sync.aligned.red", "ld.red.sync.aligned"),
                near.operands,
            )
        )
    assert assembler.find_accepted(lines, "sm_103a", "9.0") == set()


@pytest.mark.skipif(assembler.find_ptxas() is None, reason="no ptxas: it comes with nvidia-cuda-nvcc")
@for_each("target", TARGETS)
def test_ptxas_takes_the_texts_of_the_syntax_alone(target: str) -> None:
    """400 products at random, A by a descriptor and in tensor memory: ptxas refuses what is no PTX."""
    written = {text: (desc, inside) for text, desc, inside in oracle.product_texts()}
    choose, lines = random.Random(target), list(candidates_tcgen05.generate_tcgen05_mma())
    some = choose.sample(lines, 300) + choose.sample(
        [line for line in lines if line.ptx in written and oracle.targets(line.ptx)], 100
    )
    meant = {
        n
        for n, line in enumerate(some)
        if written.get(line.ptx, (False, False))["q0" not in line.operands] and target in oracle.targets(line.ptx)
    }
    good = assembler.find_accepted(some, target, "9.0")
    assert sorted(str(some[n]) for n in good ^ meant) == [] and 50 < len(good) < 200


def test_a_text_leaves_open_what_its_descriptor_says() -> None:
    bare = share_client().get(f"{API}/{F16}").json()
    assert bare["operands"] == [] and "M (64 or 128)" in bare["open"] and bare["shape"] == dict.fromkeys("mnk")
    refused = share_client().get(f"{API}/{F16}/operands/d")
    assert refused.status_code == 422 and refused.json()["error"]["code"] == "operand_open"
    told = share_client().get(f"{API}/{F16}?idesc=0x08400490").json()
    assert (told["layout"], told["shape"], told["types"]["a"]) == ("D", {"m": 128, "n": 256, "k": 16}, "bf16")
    same = share_client().get(f"{API}/{F16}", params={"idesc": "m=128,n=256,a=bf16,b=bf16"}).json()
    assert same == told
    page = share_client().get(f"/i/{F16}").text
    assert "M (64 or 128)" in page and "Without one, this page shows" in page


def test_fields_in_the_address_become_the_word() -> None:
    moved = share_client().get(f"/i/{F16}?m=64&n=32&a=bf16&b=bf16&colour=w", follow_redirects=False)
    assert moved.status_code == 303 and moved.headers["location"] == f"/i/{F16}?colour=w&idesc=0x04080490"
    page = share_client().get(moved.headers["location"]).text
    assert "M 64 × N 32 × K 16" in page and "layout F" in page and 'name="idesc" value="0x04080490"' in page
    wrong = share_client().get(f"/i/{F16}?m=32&n=32")
    assert wrong.status_code == 422 and 'id="idesc-error"' in wrong.text
    for word in ("0xffffffff", "what", "0x08400494"):  # the last says that A is sparse
        assert 'id="idesc-error"' in share_client().get(f"/i/{F16}?idesc={word}").text
        assert share_client().get(f"{API}/{F16}?idesc={word}").status_code == 422


@for_each(
    ("text", "wish", "letter", "operand", "at", "where"),
    [
        ("tcgen05.mma.cta_group::2.kind::f16", "m=256,n=64", "A", "d", (5, 7), (5, 7)),
        ("tcgen05.mma.cta_group::2.kind::f16", "m=128,n=64", "B", "d", (5, 35), (69, 3)),
        ("tcgen05.mma.sp.cta_group::2.kind::f16", "m=128,n=64", "C", "d", (20, 7, 0), (36, 7)),
        (F16, "m=128,n=64", "D", "d", (5, 7), (5, 7)),
        ("tcgen05.mma.ws.cta_group::1.kind::f16", "m=128,n=64", "D", "d", (5, 7), (5, 7)),
        ("tcgen05.mma.ws.cta_group::1.kind::f16", "m=64,n=64", "E", "d", (5, 35), (69, 3)),
        (F16, "m=64,n=64", "F", "d", (20, 7, 0), (36, 7)),
        (F16, "m=64,n=64", "F", "d", (20, 7, 1), (52, 7)),
        ("tcgen05.mma.ws.cta_group::1.kind::f16", "m=32,n=64", "G", "d", (3, 17), (35, 1)),
        (F16, "m=128,n=64", "D", "a", (9, 5), (9, 5)),
        ("tcgen05.mma.sp.cta_group::1.kind::f16", "m=128,n=64", "D", "metadata", (8, 3), (0, 7)),
        ("tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale", "m=128,n=64", "D", "scale_a", (33, 0), (1, 4)),
    ],
)
def test_every_layout_is_bound(text: str, wish: str, letter: str, operand: str, at: Any, where: Any) -> None:
    """The probes of PTX's data paths A to G; of a 16-bit A, of metadata and of scale factors one element each."""
    found = bind(find(text), wish)
    assert found.mma.place.letter == letter and where in found.operand(operand).owner(*at)
    told = share_client().get(f"{API}/{text}/operands/{operand}", params={"idesc": wish}).json()
    held = [told[axis] for axis in told["axes"]]
    assert tuple(axis[where[0]][where[1]] for axis in held) == at


def test_a_pair_says_whose_rows_and_columns_are_shown() -> None:
    page = share_client().get("/i/tcgen05.mma.cta_group::2.kind::f16?idesc=m=256,n=64").text
    assert "rows 0 to 127 of A and D" in page and "32 of the 64 columns of B" in page


def test_pasted_lines_of_kernels_open_their_pages() -> None:
    for text, ptx_ in (
        ("tcgen05.mma.cta_group::2.kind::f16 [%0], %1, %2, %3, p;", "tcgen05.mma.cta_group::2.kind::f16"),
        (
            "tcgen05.mma.sp.cta_group::1.kind::mxf4nvf4.block_scale.block16 [%0], %1, %2, [%3], %4, [%5], [%6], p",
            "tcgen05.mma.sp.cta_group::1.kind::mxf4nvf4.block_scale.block16",
        ),
        ('"tcgen05.mma.ws.cta_group::1.kind::i8 [%0], %1, %2, %3, p, 0;\\n"', "tcgen05.mma.ws.cta_group::1.kind::i8"),
        (
            "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%0, %1},\\n [%2];\\ntcgen05.wait::ld.sync.aligned;",
            "tcgen05.ld.sync.aligned.32x32b.x2.b32",
        ),
    ):
        gone = share_client().get("/go", params={"ptx": text}, follow_redirects=False)
        assert gone.status_code == 303 and gone.headers["location"] == f"/i/{ptx_}"
        told = share_client().post("/api/v1/read", json={"text": text}).json()
        assert (told["kind"], told["link"]) == ("instruction", f"/i/{ptx_}") and not told["notices"], text


def test_pickers_keep_the_descriptor() -> None:
    """Without scripts, too: a kind in which it is legal shows it, another says why not."""
    page = share_client().get("/i/tcgen05.mma.cta_group::1.kind::f16?idesc=0x08400490").text
    form = page[page.index('<form action="/go"') :]
    assert '<input type="hidden" name="idesc" value="0x08400490">' in form[: form.index("</form>")]
    for kind, legal in (("f8f6f4", True), ("tf32", False)):
        asked = {"ptx": f"tcgen05.mma.cta_group::1.kind::{kind}", "idesc": "0x08400490"}
        gone = share_client().get("/go", params=asked)
        assert gone.url.query == b"idesc=0x08400490" and ('id="idesc-error"' in gone.text) is not legal
    other = share_client().get("/go", params={"ptx": "4:1", "idesc": "0x08400490"}, follow_redirects=False)
    assert "idesc" not in other.headers.get("location", "")
