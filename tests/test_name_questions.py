"""Names of instructions in the box: as people write them, and those that do not exist."""

from __future__ import annotations

import re

from lanescope.app.read.certain_links import find_certain_link
from lanescope.app.read.text_meanings import read_text
from lanescope.names import forms
from lanescope.names.form_names import name_form
from lanescope.ptx import catalog
from tests.cases import for_each
from tests.client import Client


@for_each(
    ("text", "title"),
    [
        ("sttm.X16", "STTM.x16: compiled from tcgen05.st.sync.aligned.32x32b.x16.b32"),
        ("UTCCP.T.S.4x32dp128bit", "UTCCP.T.S.4x32dp128bit: compiled from tcgen05.cp.cta_group::1.32x128b.warpx4"),
        ("GemmShape<128, 128, 32>", "A tile of CUTLASS 2.x: M 128, N 128, K 32"),
        ("cutlass::gemm::GemmShape<64,64,32>", "A tile of CUTLASS 2.x: M 64, N 64, K 32"),  # also a shape of wgmma
        ("GemmShape<16,8,16>", "32 instructions with 'm16n8k16'"),
        ("GemmShape<16, 16, 16>", "64 instructions with 'm16n16k16'"),  # wmma
        ("gemm::GemmShape<1, 1, 1>", "GemmShape<1, 1, 1> of CUTLASS 2.x"),
    ],
)
def test_a_name_is_read_as_its_tool_spells_it(text: str, title: str) -> None:
    assert read_text(text).title == title


def test_the_shape_and_types_of_tcgen05_mma_become_its_instruction_descriptor(client: Client) -> None:
    """By hand, PTX ISA table 51: D f32 1 << 4, A bf16 1 << 7, B bf16 1 << 10, N / 8 << 17, M / 16 << 24."""
    reading = read_text("tcgen05.mma 128x256x16 bf16")
    word = 1 << 4 | 1 << 7 | 1 << 10 | (256 // 8) << 17 | (128 // 16) << 24
    assert reading.link == f"/i/tcgen05.mma.cta_group::1.kind::f16?idesc=0x{word:08x}"
    assert "f32 += bf16 × bf16" in reading.title and "f32 += bf16 × bf16" in client.get(reading.link).text
    pair = read_text("tcgen05.mma 2cta e4m3 e5m2")
    assert "kind::f8f6f4 f32 += e4m3 × e5m2 cta_group::2: M 256" in pair.title
    assert not any("wgmma" in one.link for one in (reading, *reading.also))


@for_each(
    ("text", "name", "types"),
    [
        ("imma 16832", "IMMA.16832", {"s8", "u8", "s4", "u4"}),
        ("hmma 16816 bf16", "HMMA.16816.BF16", {"bf16"}),
        ("qmma.16832", "QMMA.16832", {"e4m3", "e5m2", "e3m2", "e2m3", "e2m1"}),
        ("igmma 64x128x32", "IGMMA.64x128x32", {"s8", "u8"}),
    ],
)
def test_sass_may_have_blanks_for_dots(text: str, name: str, types: set[str]) -> None:
    reading = read_text(text)
    assert reading.title.startswith(f"{name}: compiled from")
    assert {catalog.find(ptx).types["a"] for ptx in reading.facts["candidates"]} <= types


@for_each(
    ("text", "ptx"),
    [
        ("wgmma n=256 bf16 k=16", "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16"),
        ("movmatrix", "movmatrix.sync.aligned.m8n8.trans.b16"),
        ("mma f32 16 8 16 with bf16 for sm_80", None),
        ("mma.sync.m16n8k16 with f16 accumulator", None),
        ("bf16 x bf16 -> f32 m16n8k16", None),
        ("dmma", None),
    ],
)
def test_a_name_may_be_said_in_other_words(text: str, ptx: str | None) -> None:
    reading = read_text(text)
    assert reading.kind == "instruction" and (ptx is None or reading.facts["ptx"] == ptx), reading


@for_each(
    "text",
    ["wgmma", "ldmatrix", "mma.sync", "tcgen05.mma", "tcgen05.ld", "wmma", "wgmma layouts", "wgmma register layout"],
)
def test_an_opcode_alone_lists_its_forms_first(text: str) -> None:
    reading, opcode = read_text(text), text.split()[0].split(".")[0]
    assert reading.link.startswith("/instructions?q=") and reading.facts["candidates"][0].startswith(opcode)


def test_the_parts_of_a_line_may_stand_apart() -> None:
    for form in catalog.instructions()[::97]:
        apart = [part for part in form.ptx.split(".") if part not in ("sync", "aligned")]
        found = forms.find_forms(" ".join(apart))
        assert found.exact and found.forms == (form,), form.ptx
    assert forms.find_forms("mma m16n8k8 f16 f16 f16").forms[0].types["d"] == "f16"  # as often as the text has it
    assert "row.row" in forms.find_forms("wmma row row m32n8k16 s32 u8").forms[0].ptx
    for form in catalog.instructions()[::53]:  # a name without its signs means the form first
        named = forms.find_forms(re.sub(r"\+=|×|,|=|\+", " ", name_form(form).text))
        assert named.forms[0] is form, (form.ptx, named.forms[0].ptx)
    assert read_text("wgmma 64 x 128 x 16 bf16").title == read_text("wgmma 64x128x16 bf16").title


def test_a_word_is_not_respelled_into_one_with_another_first_letter() -> None:
    assert "Did you mean" not in "".join(read_text("settings").notices)
    assert "Did you mean ‘mbarrier’?" in read_text("mbarier").notices
    assert "Did you mean" not in "".join(read_text("ping-pong kernel").notices)  # png is a word of the site


@for_each(
    ("text", "reason"),
    [
        ("wgmma m64n100k16", "Nearest shapes: m64n104k16, m64n96k16"),
        ("wgmma 64x100x16", "Nearest shapes: m64n104k16, m64n96k16"),
        ("wgmma n=100 bf16", "Nearest shapes: m64n104k16, m64n96k16"),
        ("m64n100k16", "No instruction has 'm64n100k16'. Nearest shapes: m64n104k16"),
        ("mma m100n8k16", "Nearest shapes: m16n8k16"),
        ("wmma m16n16k17", "Nearest shapes: m16n16k16"),
        ("D[6][3] of wgmma m64n100k16 f16", "Nearest shapes: m64n104k16"),
        ("tcgen05.mma m100n64k16", "mma.cta_group::1.kind::f16: M 64 or 128, N 8 to 256 in steps of 8, K 16;"),
        ("umma 128x300x16", "No tcgen05.mma has m128n300k16"),
        ("tcgen05.mma m64n8 bf16 cta_group::2", "kind::f16: M 128 or 256, N 16 to 256 in steps of 16, K 16."),
        ("D[6][3] of tcgen05.mma m100n64k16", "No tcgen05.mma has m100n64k16"),
        ("SM100_MMA_F16BF16_SS<half_t, half_t, float, 100, 256, UMMA::Major::K, UMMA::Major::K>", "32, 64, 128 or 256"),
        ("ldmatrix x3", "No instruction has 'x3'. Instead: x1, x2 or x4."),
        ("stmatrix x8", "Instead: x1, x2 or x4."),
        ("tcgen05.ld 32x64b x4", "Instead: 16x64b, 16x128b, 16x256b or 32x32b."),
        ("tcgen05.cp 128x512b", "or 128x256b."),
    ],
    sample=8,
)
def test_a_shape_that_does_not_exist_is_refused_with_what_does(text: str, reason: str) -> None:
    reading = read_text(text)
    assert reading.kind == "unknown", reading
    assert reason in reading.notices[0] and not find_certain_link(text)


@for_each("text", ["error: Illegal instruction 'wgmma.mma_async' without sm_90a", "llvm.nvvm.tcgen05.mma.shared"])
def test_a_matrix_opcode_is_neither_another_instruction_nor_refused(text: str) -> None:
    reading = read_text(text)
    assert reading.kind != "unknown" and "neither multiplies" not in "".join(reading.notices)


@for_each(
    ("text", "reason"),
    [
        ("mma.m16n8k16 row.row", "has row.row. Instead: row.col."),
        ("is row.row allowed for mma.m16n8k16?", "has row.row. Instead: row.col."),
        ("mma m16n8k16 bf16 col.col", "has col.col. Instead: row.col."),
    ],
)
def test_layouts_that_an_instruction_lacks_are_refused(text: str, reason: str) -> None:
    told = read_text(text)
    assert told.kind == "unknown" and reason in told.notices[0]


def test_layouts_select_the_forms_that_have_them() -> None:
    assert read_text("wmma m16n16k16 row row bf16").facts["ptx"].startswith("wmma.mma.sync.aligned.row.row.m16n16k16")
    assert all(".col.row." in ptx for ptx in read_text("mma.m8n8k4 col.row f16").facts["candidates"])


@for_each(
    ("text", "target"),
    [("can I use wgmma on B200?", "sm_100a"), ("can we use ldmatrix on Turing", "sm_75")],
)
def test_whether_a_gpu_has_an_instruction_may_be_asked_in_any_words(text: str, target: str) -> None:
    assert read_text(text).link == f"/targets?target={target}"
