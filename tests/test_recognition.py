"""What a pasted text is: a descriptor only where the text says so; a number that it does not name is offered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lanescope import reader
from lanescope.app.read import certain_links, text_meanings
from lanescope.app.read.facts import Reading
from lanescope.workbench import build_workbench
from tests.cases import for_each
from tests.client import Client, share_client
from tests.command import run_lanescope

FIELDS = "{t} start_address_ : 14, : 2; {t} leading_byte_offset_ : 14, : 2; {t} stride_byte_offset_ : 14, : 2;"
WGMMA_UNION = (
    "union {name} {{ uint64_t desc_; struct {{ "
    + FIELDS.format(t="uint16_t")
    + " uint8_t : 1, base_offset_ : 3, : 4; uint8_t : 6, layout_type_ : 2; }} bitfield; }};"
)
BLACKWELL_UNION = (
    "union D {{ uint64_t desc_; struct {{ uint16_t start_address_ : 14, : 2; uint16_t leading_byte_offset_ : 14, : 2;"
    " uint16_t stride_byte_offset_ : 14, version_ : 2; uint8_t : 1, base_offset_ : 3, lbo_mode_ : 1, : 3;"
    " uint8_t : 5, layout_type_ : 3; }}; }};"
)


def list_kinds(told: Reading) -> list[str]:
    return [one.kind for one in (told, *told.also)]


def list_builders(text: str) -> list[dict[str, object]]:
    told = text_meanings.read_text(text)
    return [dict(one.facts["fields"]) for one in (told, *told.also) if one.kind == "builder"]


# types and their fields -----------------------------------------------------------------------------------------------


@for_each(
    ("text", "form"),
    [
        (WGMMA_UNION.format(name="GmmaDescriptor"), "wgmma"),
        (f"// a header\n#pragma once\n{WGMMA_UNION.format(name='Other')}", "wgmma"),
        (f"typedef {WGMMA_UNION.format(name='X')[:-1]} x_t;", "wgmma"),
        (BLACKWELL_UNION.format(), "tcgen05"),
        (
            "struct D { uint64_t start_address : 14, : 2, leading_byte_offset : 14, : 2, stride_byte_offset : 14, : 3,"
            " base_offset : 3, : 10, swizzle : 2; };",
            "wgmma",
        ),
    ],
)
def test_the_definition_of_a_descriptors_type_holds_no_value(text: str, form: str) -> None:
    told = text_meanings.read_text(text)
    assert list_kinds(told) == ["topic"] and told.link == "/descriptor"
    assert form in told.title and "has no value" in told.notices[0]


def test_a_type_beside_a_word_does_not_hide_it() -> None:
    told = text_meanings.read_text(f"{WGMMA_UNION.format(name='D')}\ndesc_a: 0x4000004000010100")
    assert told.kind == "descriptor" and told.facts["word"] == "0x4000004000010100"


@for_each(
    "text",
    [
        "{v}.bitfield.stride_byte_offset_ = 64; {v}.bitfield.layout_type_ = 1; {v}.bitfield.leading_byte_offset_ = 1;",
        "{v}.stride_byte_offset_ = 64; {v}.layout_type_ = 1; {v}.leading_byte_offset_ = 1;",
        "{v}.bits.stride_byte_offset = 64; {v}.bits.swizzle_mode = 1; {v}.bits.leading_byte_offset = 1;",
        "{v}->f.stride_byte_offset_ = 64; {v}->f.layout_type_ = 1; {v}->f.leading_byte_offset_ = 1;",
        "void k() {{ Foo {v}{{}}; {v}.stride_byte_offset_ = 64; {v}.layout_type_ = 1; {v}.leading_byte_offset_ = 1;"
        " {v}.start_address_ = p >> 4; }}",
        "void k() {{ Foo {v}{{}}; {v}.bitfield.stride_byte_offset_ = 64; {v}.bitfield.layout_type_ = 1;"
        " {v}.bitfield.leading_byte_offset_ = 1; {v}.bitfield.start_address_ = p >> 4; }}",
    ],
)
@for_each("name", ["descA", "x"])
def test_a_union_that_was_not_pasted_is_known_by_its_fields(text: str, name: str) -> None:
    (fields,) = list_builders(text.format(v=name))
    assert fields == {"lbo_bytes": 16, "sbo_bytes": 1024, "base_offset": 0, "swizzle": "128B"}


@for_each(
    "text",
    [
        "void k() {{ cute::GmmaDescriptor d; {fields} }} void m(cute::UMMA::SmemDescriptor& s) {{ s.version_ = 1; }}",
        "void k() {{ Missing d; {fields} }} // wgmma; tcgen05 reads other descriptors",
    ],
)
def test_code_of_blackwell_beside_a_hopper_descriptor_does_not_change_its_fields(text: str) -> None:
    fields = "d.bitfield.start_address_ = p >> 4; d.bitfield.leading_byte_offset_ = 1;"
    fields += " d.bitfield.stride_byte_offset_ = 64; d.bitfield.base_offset_ = 0; d.bitfield.layout_type_ = 1;"
    told = text_meanings.read_text(text.format(fields=fields))
    builder = next(one for one in (told, *told.also) if one.kind == "builder" and "fields" in one.facts)
    assert builder.facts["format"] == "wgmma" and builder.facts["fields"]["swizzle"] == "128B"


@for_each("end", ["", ";"])
def test_one_field_alone_is_that_field(end: str) -> None:
    (fields,) = list_builders(f"descA.bitfield.stride_byte_offset_ = 8{end}")
    assert fields["sbo_bytes"] == 128


def test_blackwells_fields_say_the_format() -> None:
    told = text_meanings.read_text("d.version_ = 1; d.lbo_mode_ = 0; d.layout_type_ = 2; d.stride_byte_offset_ = 64;")
    assert told.kind == "builder" and told.facts["format"] == "tcgen05"
    assert told.facts["fields"]["swizzle"] == "128B" and told.facts["fields"]["sbo_bytes"] == 1024


@for_each(
    "text",
    [
        "a.bitfield.stride_byte_offset_ = 8;\nb.bitfield.stride_byte_offset_ = 64;",
        "uint64_t da = 0x0000000800010000 | (p >> 4); uint64_t db = 0x0000004000010000 | (q >> 4);",
        "uint64_t f(uint32_t a) { return (uint64_t)((a & 0x3FFFF) >> 4) | 1ull << 16 | 8ull << 32 | 1ull << 62; }\n"
        "uint64_t g(uint32_t a) { return (uint64_t)((a & 0x3FFFF) >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62; }",
    ],
)
def test_each_of_several_builders_gets_its_reading(text: str) -> None:
    assert [one["sbo_bytes"] for one in list_builders(text)] == [128, 1024]


# numbers --------------------------------------------------------------------------------------------------------------


@for_each(
    "text",
    [
        "smem desc ptr 0x7f0000001000",
        "desc_a ptr = 0x7f3a54000400",
        "&desc = 0x7ffd12345670",
        "desc_ptr: 0x00007f0000001000",
        "smem_desc_addr=0x7f0000001000",
        "address of descriptor: 0x55aa12345678",
        "descriptor at 0x7ffd7d2800c0",
        "device ptr 0x0000000b04000000",
        "tma_desc: 0x7ffe4a3fd980",
        "(cuda-gdb) p/x &desc_a\n$1 = 0x7ffff5fffca0",
        "$2 = (const GmmaDescriptor *) 0x7fffffffd980",
        "CUtensorMap desc = 0x7fff12340040",
        "descPtr 0x302000000",
        "0x7f0000001000",
    ],
)
def test_an_address_is_no_descriptor(text: str) -> None:
    told = text_meanings.read_text(text)
    assert list_kinds(told) == ["unknown"] and "is an address of memory" in told.notices[0]
    wgmma = f"{text}\nwgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"
    assert not any(piece.kind == "descriptor" for piece in build_workbench(wgmma).pieces)


@pytest.mark.parametrize(
    "text",
    [
        "gmem 0x302000000",
        "smem base 0x0000010000000400",
        "desc = 0x7f0000001000",
        "0x302000000",
        "gbase: 0x0000000b04000000",
        "timestamp 0x4000004000010100",
        "checksum: 0x8006000e000e000e",
    ],
)
def test_a_number_that_the_text_does_not_name_is_offered_and_not_chosen(text: str, tmp_path: Path) -> None:
    told = text_meanings.read_text(text)
    assert told.kind == "unknown" and told.facts == {} and list_kinds(told)[1:] == ["descriptor"]
    file = tmp_path / "log.txt"
    file.write_text(text)
    said = run_lanescope("read", str(file), "--json")
    assert said.returncode == 1 and json.loads(said.stdout)["kind"] == "unknown"
    client = share_client()
    page = client.get("/read", params={"text": text}, follow_redirects=False)
    assert page.status_code == 200 and told.also[0].link in page.text
    assert client.post("/api/v1/read", json={"text": text}).json()["also"][0]["kind"] == "descriptor"


@for_each(
    "text",
    ["0x4000004000010100", "desc_a 0x4000004000010100 at 0x7ffd7d2800c0", "R4:R5\nR4 0x10100\nR5 0x40000040"],
)
def test_a_number_that_nothing_else_has_stays_a_descriptor(text: str) -> None:
    assert "descriptor" in list_kinds(text_meanings.read_text(text))


@for_each(
    "text",
    [
        "idesc 0x08400490",
        "instr_desc: 0x08400490",
        "i_desc = 0x8400490",
        "InstrDesc 138413200",
        "instruction descriptor 0x08400490",
        "instr desc 0x0000000008400490",
        "idescE = 0x0840049000000000",
        "uint32_t idesc = 0x08400490;",
        "constexpr uint32_t kIdesc = 0x08400490u;",
        "kInstrDesc = 0x08400490",
        "uint64_t runtime_instr_desc = 0x0840049000000000",
        "mov.u32 %idesc, 138413200;",
        "inst_desc: 138413200",
        "instr_desc.desc_ = 0x08400490;",
        "UMMA::InstrDescriptor instr_desc;\ninstr_desc.desc_ = 0x08400490;",
        "0x08400490",
        "0x0840_0490",
    ],
)
def test_the_32_bits_of_an_instruction_descriptor_are_no_matrix_descriptor(text: str) -> None:
    told = text_meanings.read_text(text)
    assert told.kind == "topic" and "/idesc/0x08400490" in told.link
    assert not {"descriptor", "builder"} & set(list_kinds(told))


@for_each(
    ("text", "link"),
    [
        (
            "0x4000004000010100 wgmma m64n64k16 bf16",
            "/descriptor/wgmma/0x4000004000010100?instruction=wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16",
        ),
        ("0x4000004000010100ull, wgmma bf16", "/descriptor/wgmma/0x4000004000010100"),  # of many shapes
        ("0x4000004000010100 bf16 128x64", "/descriptor/wgmma/0x4000004000010100"),
        ("64x64 f16 K 128B base=0x400", "/smem?element_bits=16&major=K&swizzle=128B&mn=64&k=64&base=0x400"),
        ("128x64 bf16 K-major", "/smem?element_bits=16&major=K&swizzle=none&mn=128&k=64"),
    ],
)
def test_a_word_with_its_instruction_and_a_tile_in_words_have_a_page(client: Client, text: str, link: str) -> None:
    assert text_meanings.read_text(text).link == link and client.get(link).status_code == 200


@for_each("text", ["138413200", "0x0000000008400490"])
def test_digits_that_may_be_an_instruction_descriptor_are_offered_as_one(text: str) -> None:
    told = text_meanings.read_text(text)
    assert list_kinds(told) == ["unknown", "topic"] and "/idesc/0x08400490" in told.also[0].link


def test_a_matrix_descriptor_beside_an_instruction_descriptor_keeps_its_reading() -> None:
    told = text_meanings.read_text("const uint64_t desc = 0x4000004000010100; const uint32_t idesc = 0x08400490;")
    assert sorted(list_kinds(told)) == ["builder", "topic"]
    told = text_meanings.read_text("idesc: 0x08400490\ndesc_a: 0x4000404000010100")
    assert sorted(list_kinds(told)) == ["descriptor", "topic"]


def test_pointers_that_are_called_as_operands_are_not_chosen() -> None:
    told = text_meanings.read_text("A=0x302000000 B=0x302400000 C=0x302800000")
    assert list_kinds(told) == ["unknown", "descriptor", "descriptor", "descriptor"]


def test_an_instruction_descriptor_that_no_kind_takes_is_said_to_be_wrong() -> None:
    told = text_meanings.read_text("idesc: 0xffffffff")
    assert told.link == "/idesc" and "No kind" in told.notices[0]


@for_each(
    ("sizes", "said"),
    [
        ("((N / 8) << 17) | (8 << 24)", "M 128, N open"),
        ("(16 << 17) | ((M >> 4) << 24)", "M open, N 128"),
        ("(N >> 3 << 17) | (M >> 4 << 24)", "M open, N open"),
    ],
)
def test_an_instruction_descriptor_may_leave_its_sizes_open(sizes: str, said: str) -> None:
    told = text_meanings.read_text(f"uint32_t idesc = (1 << 4) | (1 << 7) | (1 << 10) | {sizes};")
    assert told.title.startswith(f"tcgen05 instruction descriptor: {said}, f32 += bf16 × bf16 with kind::f16")


@for_each("parameter", ["Desc d", "Desc& d", "Desc const& d"])
def test_members_that_a_function_does_not_assign_of_its_parameter_are_open(parameter: str) -> None:
    text = f"uint64_t f({parameter}) {{ d.bitfield.stride_byte_offset_ = 64; return d.desc_; }}"
    assert not any(one.kind == "builder" for one in reader.recognise_text(text).found)
    own = text.replace(f"({parameter})", "()").replace("{ d", "{ Desc d; d", 1)
    assert [one.facts["word"] for one in reader.recognise_text(own).found] == ["0x0000004000000000"]


def test_fields_that_a_text_does_not_assign_are_null() -> None:
    told = text_meanings.read_text("descA.bitfield.stride_byte_offset_ = 8;")
    assert told.facts["fields"] == {"lbo_bytes": None, "sbo_bytes": 128, "base_offset": None, "swizzle": None}
    assert told.facts["word"] is None and told.title.endswith("SBO 128 B")
    declared = text_meanings.read_text(
        "GmmaDescriptor d; d.bitfield.stride_byte_offset_ = 8; d.bitfield.layout_type_ = 1;"
    )
    assert declared.facts["word"] == "0x4000000800000000"


@for_each("text", ["(*a)[3] * b", "*p + 3", "smem[threadIdx.x]", "(lane >> 2) * 8"])
def test_an_expression_of_cxx_opens_no_page(text: str) -> None:
    found = text_meanings.read_text(text)
    assert (found.kind, found.title) == ("unknown", "An expression of C++")
    assert not certain_links.find_certain_link(text)


@for_each(
    ("start", "count"),
    [
        ("desc_base", 0),
        ("start_encoded", 0),
        ("init", 0),
        ("smem_addr", 2),  # neither shifted nor masked
        ("(uint64_t)p >> 4", 1),
    ],
)
def test_a_name_is_an_address_only_if_it_says_so(start: str, count: int) -> None:
    """A word that is made already has a start."""
    told = text_meanings.read_text(f"uint64_t desc = {start} | (1ull << 16) | (64ull << 32) | (1ull << 62);")
    assert told.kind == "builder" and len(told.facts["warnings"]) == count, told.facts
