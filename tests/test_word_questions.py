"""Words of descriptors beside other words, in the box: which of them are read."""

from __future__ import annotations

import re

from lanescope.app.read.text_meanings import read_text
from tests.cases import for_each
from tests.client import Client
from tests.command import run_lanescope


@for_each(
    ("text", "query"),
    [
        ("0x4000004000010000 wgmma m64n128k16 bf16 A K-major", "operand=a&major=K"),
        ("wgmma m64n128k16 bf16 operand b MN-major: 0x4000004000010000", "operand=b&major=MN"),
        ("desc_b = 0x4000004000010000, wgmma m64n128k16 bf16", "operand=b"),
        ("what does 0x4000004000010000 mean for A of wgmma.m64n128k16 bf16?", "operand=a"),
        ("{0x00010000, 0x40000040} for B of wgmma m64n128k16 bf16", "operand=b"),
        ("0x40000040:0x00010000 for A of HGMMA.64x128x16.F32.BF16", "operand=a"),
    ],
)
def test_a_word_beside_its_instruction_opens_what_it_reads(client: Client, text: str, query: str) -> None:
    opcode = "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16"
    reading = read_text(text)
    assert reading.link == f"/descriptor/wgmma/0x4000004000010000?instruction={opcode}&{query}", reading
    assert not reading.notices and client.get(reading.link).status_code == 200


def test_a_word_of_tcgen05_beside_its_instruction_opens_what_it_reads(client: Client) -> None:
    reading = read_text("0x4000404000010000 for A of tcgen05.mma.cta_group::1.kind::f16")
    opcode = "tcgen05.mma.cta_group%3A%3A1.kind%3A%3Af16"
    assert reading.link == f"/descriptor/tcgen05/0x4000404000010000?instruction={opcode}&operand=a"
    assert client.get(reading.link).status_code == 200


@for_each(
    ("text", "says"),
    [
        ("0x4000004000010000 tcgen05.mma.cta_group::1.kind::f16", "tcgen05 needs version 1"),
        ("0x4000404000010000 wgmma m64n128k16 bf16", "wgmma.mma_async reads descriptors of wgmma"),
        ("0x4000004000010000 mma.m16n8k16 bf16", "mma reads no matrix descriptor"),
        ("UR4:UR5 = 0x10100:0x40000040 HGMMA.64x64x16.F32 R24, gdesc[UR4], R24, gsb0", "Not read: 0x40000040."),
        ("desc_a 0x4000004000010100 wgmma.mma_async.sync.aligned.m64n100k16.f32.f16.f16", "N is 100"),
    ],
)
def test_what_is_not_read_of_a_text_is_said(text: str, says: str) -> None:
    assert any(says in notice for notice in read_text(text).notices), read_text(text)


@for_each(
    "text",
    [
        "0x4000004000010100 + 2",
        "(0x4000004000010100 | 0x2)",
        "HMMA.16816.F32 R24, R4, R12, R24 ; /* 0x0000000c0804723c */",
        "wgmma.fence.sync.aligned;",
        "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r0], 64;",
        "tcgen05.wait::ld.sync.aligned",
    ],
)
def test_what_is_read_is_not_called_unread(text: str) -> None:
    said = ("Not read", "Not used", "No instruction")  # an opcode without tables exists, too
    assert not any(notice.startswith(said) for notice in read_text(text).notices)


@for_each(
    ("text", "notices"),
    [
        ("0x4000004000010000 lbo=16 sbo=1024", ()),
        ("0x4000004000010100 start 0x1000, 128B swizzle", ()),
        ("0x4000004000010000 SBO 0x20", ("The text says SBO 0x20, but the word has SBO 0x400.",)),
        ("0x0000004000010000 128B swizzle", ("The text says swizzle 128B, but the word has swizzle none.",)),
        ("0x4000004000010000 tcgen05 128B swizzle", ("Not used: tcgen05 128B swizzle.",)),
    ],
)
def test_fields_beside_a_bare_word_are_compared_with_its_own(text: str, notices: tuple[str, ...]) -> None:
    reading = read_text(text)
    assert reading.kind == "descriptor" and reading.notices == notices


def test_a_labelled_word_keeps_its_label_beside_fields() -> None:
    assert read_text("desc: 0x4000004000010000 sbo=512").title.endswith("(desc)")


def test_a_start_in_other_units_than_the_strides_is_said() -> None:
    assert "The start address is read as bytes." in read_text("start 0x4000 LBO 1 SBO 64 swizzle 128B").notices
    assert not any("start are" in notice for notice in read_text("LBO=1 SBO=64 layout_type=3").notices)


def test_a_type_beside_a_word_names_no_instruction() -> None:
    assert read_text("0x4000004000010000 bf16").notices == ("Not used: bf16.",)


@for_each("text", ["tcgen05.mma f64", "tcgen05.mma m128n300k16 f16", "tcgen05.mma m128n256k64 bf16"])
def test_no_descriptor_is_made_up_for_what_none_says(text: str) -> None:
    reading = read_text(text)
    assert "idesc=" not in reading.link and not any("idesc=" in one.link for one in reading.also)


def test_a_word_may_name_its_kind_after_it() -> None:
    reading = read_text("0x4000004000010100 wgmma")
    assert reading.kind == "descriptor" and reading.facts["word"] == "0x4000004000010100"
    assert read_text("cutlass::gemm::GemmShape<16,8,16>").title == read_text("m16n8k16").title


@for_each(
    ("text", "word"),
    [  # C++'s operators on 64 bits
        ("~0x4000004000010100", 0xBFFFFFBFFFFEFEFF),
        ("~(0x4000004000010100)", 0xBFFFFFBFFFFEFEFF),
        ("!0x4000004000010100", 0),
        ("~0x4000004000010100 & 0x4000004000010101", 1),
    ],
)
def test_an_operator_before_a_word_is_computed(text: str, word: int) -> None:
    told = read_text(text)
    assert int(told.facts["word"], 0) == word and not any("Not read" in notice for notice in told.notices)


def test_a_negative_word_in_hexadecimal_is_refused() -> None:
    told = read_text("-0x4000004000010100")
    assert told.kind == "unknown" and "is negative" in told.notices[0]


@for_each(
    "line",
    [
        "tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, 0x08400490, p;",
        "tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r5, p; // %r5 = 0x08400490",
        "UTCHMMA gdesc[UR10], gdesc[UR8], tmem[UR6], tmem[UR4], idesc[UR5], UP0 ; UR5 = 0x08400490",
    ],
)
def test_the_instruction_descriptor_in_a_line_is_read_beside_its_instruction(line: str) -> None:
    told = read_text(line)
    assert told.kind == "instruction" and told.also[0].link == "/idesc/0x08400490?kind=f16"


def test_a_number_that_the_kind_does_not_accept_is_not_its_descriptor() -> None:
    told = read_text("tcgen05.mma.cta_group::1.kind::i8 [%r1], %rd1, %rd2, 0x08400490, p;")
    assert told.notices == ("Not read: 0x08400490.",) and not told.also


def test_a_kind_beside_a_word_makes_it_an_instruction_descriptor() -> None:
    told = read_text("0x08400490 kind::f16 bf16")
    assert told.link == "/idesc/0x08400490?kind=f16" and told.notices == ("Not used: bf16.",)


@for_each(
    ("text", "status"),
    [
        ("0x4000004000010100 LBO 99", 1),
        ("idesc 0x08400490 N 128", 1),  # N is 256
        ("0x4000004000010100 LBO 16", 0),
    ],
)
def test_a_word_that_contradicts_its_text_fails_the_command(text: str, status: int) -> None:
    assert run_lanescope("read", text).returncode == status


def test_leading_zeros_of_a_labelled_word_are_decimal() -> None:
    assert "0x00002774" in read_text("idesc 00010100").notices[0]  # 10100


def test_an_unknown_text_is_told_a_command_that_answers() -> None:
    refused = run_lanescope("read", "hello")
    tried = re.search(r'Try lanescope read "([^"]+)"', refused.stdout)
    assert refused.returncode == 1 and tried and "lanescope serve" in refused.stdout
    assert run_lanescope("read", tried[1]).returncode == 0
