"""What a pasted text is: descriptors only where the text says so, prints of libraries, messages of ptxas, atoms."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from lanescope import reader
from lanescope.app.main import create_app
from lanescope.app.read import text_meanings
from lanescope.app.read.facts import Reading
from lanescope.ptx import catalog
from lanescope.reader import atom_traits, printed_maps
from lanescope.workbench import build_bench
from tests.client import Client
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


@pytest.mark.parametrize(
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
    assert form in told.title and "holds no value" in told.notices[0]


def test_a_type_beside_a_word_does_not_hide_it() -> None:
    told = text_meanings.read_text(f"{WGMMA_UNION.format(name='D')}\ndesc_a: 0x4000004000010100")
    assert told.kind == "descriptor" and told.facts["word"] == "0x4000004000010100"


@pytest.mark.parametrize(
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
@pytest.mark.parametrize("name", ["descA", "x"])
def test_a_union_that_was_not_pasted_is_known_by_its_fields(text: str, name: str) -> None:
    (fields,) = list_builders(text.format(v=name))
    assert fields == {"lbo_bytes": 16, "sbo_bytes": 1024, "base_offset": 0, "swizzle": "128B"}


@pytest.mark.parametrize("end", ["", ";"])
def test_one_field_alone_is_that_field(end: str) -> None:
    (fields,) = list_builders(f"descA.bitfield.stride_byte_offset_ = 8{end}")
    assert fields["sbo_bytes"] == 128


def test_blackwells_fields_say_the_format() -> None:
    told = text_meanings.read_text("d.version_ = 1; d.lbo_mode_ = 0; d.layout_type_ = 2; d.stride_byte_offset_ = 64;")
    assert told.kind == "builder" and told.facts["format"] == "tcgen05"
    assert told.facts["fields"]["swizzle"] == "128B" and told.facts["fields"]["sbo_bytes"] == 1024


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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
    assert not any(piece.kind == "descriptor" for piece in build_bench(wgmma).pieces)


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
    client = Client(create_app())
    page = client.get("/read", params={"text": text}, follow_redirects=False)
    assert page.status_code == 200 and told.also[0].link in page.text
    assert client.post("/api/v1/read", json={"text": text}).json()["also"][0]["kind"] == "descriptor"


@pytest.mark.parametrize(
    "text",
    ["0x4000004000010100", "desc_a 0x4000004000010100 at 0x7ffd7d2800c0", "R4:R5\nR4 0x10100\nR5 0x40000040"],
)
def test_a_number_that_nothing_else_has_stays_a_descriptor(text: str) -> None:
    assert "descriptor" in list_kinds(text_meanings.read_text(text))


@pytest.mark.parametrize(
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
        "0x08400490",
    ],
)
def test_the_32_bits_of_an_instruction_descriptor_are_no_matrix_descriptor(text: str) -> None:
    told = text_meanings.read_text(text)
    assert told.kind == "topic" and "/idesc/0x08400490" in told.link
    assert "descriptor" not in list_kinds(told)


@pytest.mark.parametrize("text", ["138413200", "0x0000000008400490"])
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


# prints of tensor maps ------------------------------------------------------------------------------------------------

CUTLASS = """TMA Desc Addr:   0x7ffd7d2800c0
format         {type}
dim            {rank}
gmem_address   {address}
globalDim      ({k},{m},1,1,1)
globalStrides  ({bytes},{pitch},0,0,0)
boxDim         ({wide},{tall},1,1,1)
elementStrides (1,1,1,1,1)
interleave     0
swizzle        {mode}
l2Promotion    2
oobFill        0
Error: Failed to initialize the TMA descriptor 1
"""
TVM = """Error in cuTensorMapEncodeTiled: invalid argument
cu_dtype: {type}
TMA Desc Addr:   0x7ffd7d2800c0
TMA Interleave:  0
TMA L2Promotion: 2
TMA OOBFill:     0
SMEM Swizzle:    {mode}
tensor rank: {rank}
global prob shape: {k} {m}\x20
global prob stride: {pitch}\x20
smem box shape: {wide} {tall}\x20
smem box stride: 1 1\x20
"""
KITTENS = """Error in tile TMA descriptor creation: invalid argument
cuTensorMapEncodeTiled arguments:
  tma_map: 140725603369152
  tma_format: {type}
  tma_dim: {rank}
  global_addr: 140180000000000
  gmem_shape: 140725603369000 [{k}, {m}]
  gmem_stride: 140725603368960 [{pitch}]
  smem_shape: 140725603368920 [{wide}, {tall}]
  smem_stride: 140725603368900 [1, 1]
  tma_interleave: 0
  tma_swizzle: {mode}
"""
TENSORRT = """tmaFormat: {type} dim: {rank} gmem: 0x7f3a00000000
Shape: {k} {m} 0 0 0
Stride: {pitch} 0 0 0
tileShapes: {wide} {tall} 0 0 0
tileStrides: 1 1 0 0 0
swizzleType: {mode}
"""
DEEP_GEMM = (
    "Making TMA desc: global memory: {k} {m}, shared memory: {wide} {tall}, outer stride: {k}, swizzle: {width}"
    " (base: 0), elem size: {bytes}, pointer: 140180000000000"
)
GOOD = {
    **{"type": 6, "rank": 2, "address": "0x7f7e12000000", "k": 4096, "m": 2048, "bytes": 2, "pitch": 8192},
    **{"wide": 64, "tall": 128, "mode": 3, "width": 128},
}


@pytest.mark.parametrize("form", [CUTLASS, TVM, KITTENS, TENSORRT, DEEP_GEMM], ids=lambda form: form[:12])
def test_the_print_of_a_map_is_read_as_the_map(form: str) -> None:
    told = text_meanings.read_text(form.format(**GOOD))
    assert told.kind == "tensor_map" and "descriptor" not in list_kinds(told), list_kinds(told)
    assert (told.facts["box"], told.facts["swizzle"], told.facts["element_bits"]) == ([64, 128], "128B", 16)
    assert told.facts["storage"]["pitch_bytes"] == 128 and not told.notices
    (one,) = printed_maps.find_printed_maps(form.format(**GOOD))
    assert (one.dims, one.strides) == ((4096, 2048), (8192,))


@pytest.mark.parametrize("form", [CUTLASS, TVM, KITTENS, TENSORRT, DEEP_GEMM], ids=lambda form: form[:12])
@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"tall": 512}, "boxDim[1] is 512; it must be 1 to 256."),
        ({"wide": 128}, "a swizzle of 128B takes at most 128"),
        ({"wide": 4, "mode": 0, "width": 0}, "The inner box is 8 bytes wide"),
        ({"pitch": 8200, "k": 4100}, "globalStrides[0] is 8200 bytes; it must be a multiple of 16."),
    ],
)
def test_a_print_says_which_rule_its_map_breaks(form: str, changed: dict[str, object], said: str) -> None:
    assert said in " ".join(text_meanings.read_text(form.format(**{**GOOD, **changed})).notices)


def test_the_addresses_of_a_map_have_rules_too() -> None:
    told = text_meanings.read_text(CUTLASS.format(**{**GOOD, "address": "0x7f7e12000008"}))
    assert told.notices == ("globalAddress is 0x7f7e12000008; it must be a multiple of 16.",)


def test_where_a_print_has_the_arrays_addresses_their_values_are_open() -> None:
    text = CUTLASS.format(**GOOD).replace("(64,128,1,1,1)", "0x7f02").replace("0x7f02", "0x7ffc24e6b530")
    told = text_meanings.read_text(text)
    assert told.kind == "tensor_map" and told.facts["box"] == [None, None]
    assert "box[0]" in told.facts["undetermined"] and "descriptor" not in list_kinds(told)


def test_every_print_of_a_log_is_a_map() -> None:
    log = "\n".join(DEEP_GEMM.format(**{**GOOD, "tall": tall}) for tall in (64, 128, 512))
    told = text_meanings.read_text(f"{log}\n{TVM.format(**GOOD)}")
    assert sorted(one.facts["box"][1] for one in (told, *told.also)) == [64, 128, 128, 512]


def test_a_program_that_names_such_fields_prints_no_map() -> None:
    for text in (
        "// boxDim 64 64 swizzle 3 globalDim 128 128 stride 256",
        "int box_dim = 64;\nint swizzle = 3;\nint globalDim = 64;",
    ):
        assert printed_maps.find_printed_maps(text) == ()


def test_a_printed_map_is_verified_with_the_descriptor_of_its_log() -> None:
    log = CUTLASS.format(**GOOD) + "desc_b: 0x4000004000010040\nwgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16\n"
    assert build_bench(log).verdict == "match"
    other = log.replace("swizzle        3", "swizzle        2").replace("(64,128", "(32,128")
    assert build_bench(other).verdict == "mismatch"


# PTX and ptxas --------------------------------------------------------------------------------------------------------

WMMA = "wmma.load.a.sync.aligned.row.m16n16k16.f16"


@pytest.mark.parametrize(
    "before",
    [
        "// wmma.mma\n.reg .b32 %r<8>;\n",
        "// uses mma\n.reg .f32 %f<4>;\n",
        "mma\n.reg .b32 y;\n",
        "/* mma */ .reg .f32 d<4>;\n",
        "LOOP: // mma.\n.reg .f16x2 a;\n",
        ".reg .pred p; // wgmma\n.reg .b64 d;\n",
        "// wgmma.mma_async\n.shared .align 128 .b8 s[1024];\n",
        "// mma\n.visible .entry k()\n{\n",
    ],
)
def test_comments_and_directives_do_not_join_an_opcode(before: str) -> None:
    for text in (f"{before}{WMMA} {{x}}, [p], 16;", f'asm("{before}{WMMA} {{x}}, [p], 16;");'.replace("\n", "\\n")):
        told = text_meanings.read_text(text)
        assert told.kind == "instruction" and told.facts["all"] == [WMMA] and not told.notices, told


def test_a_directive_alone_is_no_wrong_instruction() -> None:
    assert text_meanings.read_text("mma .reg .f32").title == "Not recognised"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("wmma.load.a.sync.aligned.row.m16n16k8.f16", "K is 8"),
        ("wmma.load.a.sync.aligned.row.m16n16k16.f32", "'f32' is not legal"),
        ("wmma.store.d.sync.aligned.row.m16n16k16.bf16", "'bf16' is not legal"),
        ("wmma.load.d.sync.aligned.row.m16n16k16.f16", "wmma.load.d"),
    ],
)
def test_a_wrong_instruction_keeps_its_name(text: str, said: str) -> None:
    told = text_meanings.read_text(text)
    assert told.kind == "unknown" and f"No instruction '{text}'" in told.notices[0] and said in told.notices[0]


PTXAS = "ptxas /tmp/k.ptx, line 21; error   : "


@pytest.mark.parametrize(
    ("message", "named"),
    [
        ("Unknown modifier '.m64n256k24'", "m64n256k16"),
        ("Unexpected instruction types specified for 'wgmma.mma_async'", "wgmma.mma_async"),
        ("Unexpected instruction types specified for 'wmma.load.a.sync'", "wmma.load.a"),
        ("Incorrect instruction type specified for mma with shape '.m16n8k64'", "mma"),
        ("Incorrect instruction type specified for Sparse mma", "mma.sp"),
        ("Illegal modifier '.trans' for instruction 'ldmatrix'", "ldmatrix"),
        ("Arguments mismatch for instruction 'wgmma.mma_async'", "wgmma.mma_async"),
        ("Instruction 'wgmma.mma_async with FP32 types' not supported on .target 'sm_80'", "wgmma.mma_async"),
        ("Feature 'stmatrix' requires .target sm_90 or higher", "stmatrix"),
        ("Modifier '.sync' required for instruction 'mma'", "mma"),
    ],
)
def test_a_message_of_ptxas_leads_to_the_instruction(message: str, named: str) -> None:
    told = text_meanings.read_text(PTXAS + message)
    assert told.kind == "topic" and told.link == f"/instructions?q={named}" and told.notices
    assert Client(create_app()).get(told.link).status_code == 200


@pytest.mark.parametrize(
    ("message", "named", "said"),
    [
        (
            "Instruction 'wgmma.mma_async with floating point types' cannot be compiled for architecture 'sm_90'",
            "wgmma.mma_async",
            "compile for sm_90a.",
        ),
        (
            "Instruction 'mma with block scale' cannot be compiled for architecture 'sm_120'",
            "mma",
            "compile for sm_120a (or sm_120f",
        ),
        (
            "Instruction 'mma with block scale' cannot be compiled for architecture 'sm_100a'",
            "mma",
            "takes mma with block scale for sm_120a.",
        ),
        (
            "Feature '.kind::f8f6f4' not supported on .target 'sm_100'",
            "kind::f8f6f4",
            "compile for sm_100a (or sm_100f",
        ),
        (
            "Feature '.kind::i8' not supported on .target 'sm_100'",
            "kind::i8",
            "takes tcgen05.mma with .kind::i8 for sm_100a, sm_110a;",
        ),
        ("Instruction 'tcgen05.alloc' not supported on .target 'sm_100'", "tcgen05", "compile for sm_100a"),
        (
            f"Illegal vector size: 3\n{PTXAS}Arguments mismatch for instruction 'ldmatrix'",
            "ldmatrix",
            "another number of registers than the instruction's fragment. An operand has the wrong kind",
        ),
    ],
)
def test_a_message_of_ptxas_says_the_target_or_the_operand_that_is_wrong(message: str, named: str, said: str) -> None:
    told = text_meanings.read_text(PTXAS + message)
    assert told.kind == "topic" and told.title == f"ptxas about {named}" and said in " ".join(told.notices)
    assert Client(create_app()).get(told.link).status_code == 200


def test_no_target_is_told_where_the_forms_of_an_instruction_differ() -> None:
    message = "Instruction 'mma with FP8 floating point types' cannot be compiled for architecture 'sm_80'"
    assert text_meanings.read_text(PTXAS + message).notices == ("The target or the PTX version lacks it.",)


def test_a_shape_that_ptxas_does_not_know_is_told_its_neighbours() -> None:
    assert "m64n256k16, m64n256k32" in " ".join(
        text_meanings.read_text(f"{PTXAS}Unknown modifier '.m64n256k24'").notices
    )


@pytest.mark.parametrize("message", ["Unexpected instruction types specified for 'cvt'", "Unknown modifier '.mmio'"])
def test_ptxas_on_other_instructions_is_not_read(message: str) -> None:
    assert text_meanings.read_text(PTXAS + message).kind == "unknown"


# operations -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "count", "ptx", "note"),
    [
        ("LdMatrix8x8x16bOp", 6, "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", "LdMatrix8x8x16bOp() is ldmatrix"),
        ("LdMatrix16x16x8bOp", 6, "ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8", "transpose=True"),
        ("warp.LdMatrix16x8x8bOp", 6, "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8", "num_matrices=2|4"),
        ("cute.nvgpu.warp.StMatrix16x8x8bOp", 3, "stmatrix.sync.aligned.m16n8.x4.trans.shared.b8", "transpose=True"),
        ("StMatrix8x8x16bOp\n", 6, "stmatrix.sync.aligned.m8n8.x1.shared.b16", "StMatrix8x8x16bOp() is stmatrix"),
    ],
)
def test_the_name_of_an_operation_alone_leaves_its_arguments_open(name: str, count: int, ptx: str, note: str) -> None:
    told = text_meanings.read_text(name)
    assert told.kind == "instruction" and told.facts["ptx"] is None
    assert len(told.facts["candidates"]) == count and ptx in told.facts["candidates"]
    assert note in told.notices[0]


# atoms ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "ptx"),
    [
        ("LdMatrix16x16x8bOp(2)", "ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8"),
        ("warp.LdMatrix16x16x8bOp(num_matrices=1)", "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8"),
        ("LdMatrix16x16x8bOp(True, 2)", "ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8"),
        ("StMatrix16x8x8bOp(4)", "stmatrix.sync.aligned.m16n8.x4.trans.shared.b8"),
        ("StMatrix16x8x8bOp(transpose=True, num_matrices=2)", "stmatrix.sync.aligned.m16n8.x2.trans.shared.b8"),
        ("LdMatrix16x8x8bOp(True, 4)", "ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8"),
        (
            "LdMatrix16x8x8bOp(transpose=True, num_matrices=2, unpack_bits=4)",
            "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8x16.b4x16_p64",
        ),
        ("LdMatrix8x16x8bOp(num_matrices=2, unpack_bits=6)", "ldmatrix.sync.aligned.m8n16.x2.shared.b8x16.b6x16_p32"),
        ("LdMatrix8x8x16bOp(False, 4)", "ldmatrix.sync.aligned.m8n8.x4.shared.b16"),
    ],
)
def test_an_operation_that_moves_matrices_is_its_instruction(text: str, ptx: str) -> None:
    told = text_meanings.read_text(text)
    assert (told.kind, told.facts["ptx"]) == ("instruction", ptx)
    older = "True" not in text and "16x" in text.split("(")[0] and "x8b" in text
    assert any("before CUTLASS 4.4" in notice for notice in told.notices) == (older and "unpack" not in text)


@pytest.mark.parametrize(
    "text",
    [
        "LdMatrix16x16x8bOp(4)",
        "LdMatrix16x16x8bOp()",
        "LdMatrix16x16x8bOp(False, 2)",
        "StMatrix16x8x8bOp(3)",
        "LdMatrix16x8x8bOp(4)",
        "LdMatrix16x8x8bOp(True, 1)",
        "LdMatrix8x8x16bOp(4)",
        "StMatrix8x8x16bOp(False, 8)",
        "LdMatrix16x16x8bOp(num_matrices=2, unpack_bits=4)",
    ],
)
def test_an_operation_that_no_release_takes_is_refused_with_todays_signature(text: str) -> None:
    told = text_meanings.read_text(text)
    name = text.split("(")[0]
    assert told.kind == "unknown" and f"Allowed: {name}(transpose=" in told.notices[0]


ATOM = "Copy_Atom<DefaultCopy, half_t>{}"


@pytest.mark.parametrize(
    ("text", "tile"),
    [
        (f"make_tiled_copy({ATOM}, Layout<Shape<_16,_8>>{{}}, Layout<Shape<_4,_1>>{{}}, Shape<_64,_32>{{}})", [64, 32]),
        ("cute.make_tiled_copy(atom, cute.make_layout((16,8)), cute.make_layout((4,1)), (64,32))", [64, 32]),
        (
            "cute.make_tiled_copy(atom, thr_layout=cute.make_layout((16,8)), val_layout=cute.make_layout((4,4)),"
            " tiler_mn=(64,32))",
            [64, 32],
        ),
        (f"make_tiled_copy({ATOM}, Layout<Shape<_16,_8>>{{}}, Layout<Shape<_4,_1>>{{}})", [64, 8]),
        (f"make_tiled_copy({ATOM}, Layout<Shape<_16,_8,_1,_2>>{{}}, Layout<Shape<_4,_1,_2,_1>>{{}})", [64, 8, 2, 2]),
        (f"make_tiled_copy({ATOM}, Layout<Shape<_16,_8>>{{}}, Layout<Shape<_4,_1>>{{}}, tiler)", None),
        (f"make_tiled_copy({ATOM}, Layout<Shape<_16,_8>>{{}}, Layout<Shape<_4,_1>>{{}}, Shape<_32,_8>{{}})", None),
    ],
)
def test_the_tile_of_a_copy_is_the_one_that_it_is_given(text: str, tile: list[int] | None) -> None:
    told = text_meanings.read_text(text)
    assert told.kind == "tiled_copy" and told.facts["threads"] in (128, 256) and told.facts["tiler_mn"] == tile
    assert ("tiler_mn" in told.facts.get("undetermined", ())) == (tile is None)


TRAITS = """template <> struct MMA_Traits<SM80_16x8x16_F32F16F16F32_TN> {{
  using Shape_MNK = Shape<_16,_8,_16>;
  using ThrID = Layout<_32>;
  using {letter}Layout = Layout<Shape<Shape<_4,_8>,Shape<{shape}>>, Stride<Stride<{thread}>,Stride<{value}>>>;
}};"""


@pytest.mark.parametrize(
    ("letter", "shape", "thread", "value", "said"),
    [
        ("A", "_2,_2,_2", "_32,_1", "_16,_8,_32", "ALayout covers 160 of the 256 elements of its 16×16 tile"),
        ("B", "_2,_2", "_16,_1", "_8,_8", "BLayout covers 72 of the 128 elements of its 8×16 tile"),
        ("C", "_2,_2", "_32,_1", "_8,_8", "CLayout covers 96 of the 128 elements of its 16×8 tile"),
        ("A", "_2,_2,_2", "_32,_1", "_16,_8,_256", "outside the 256 elements"),
    ],
)
def test_traits_that_cover_a_part_say_so_and_that_they_are_not_the_atoms(
    letter: str, shape: str, thread: str, value: str, said: str
) -> None:
    told = text_meanings.read_text(TRAITS.format(letter=letter, shape=shape, thread=thread, value=value))
    notices = " ".join(told.notices)
    assert told.kind == "instruction" and said in notices
    assert f"{letter}Layout is not that of SM80_16x8x16_F32F16F16F32_TN" in notices


def test_the_layouts_of_every_atom_are_its_own() -> None:
    """As CUTLASS writes them, from the instruction's own maps: A, B over (n, k) and C; any other stride is another."""
    atom = "SM80_16x8x16_F32F16F16F32_TN"
    operands = catalog.find("mma.m16n8k16.row.col.f32.f16.f16.f32").operands
    spelled = {"A": operands["a"].cute, "B": operands["b"].turned, "C": operands["c"].cute}
    for letter, text in spelled.items():
        shape, stride = (part.replace("(", "Shape<").replace(")", ">") for part in text.split(":"))
        using = f"using {letter}Layout = Layout<{shape}, {stride.replace('Shape', 'Stride')}>;"
        body = f"MMA_Traits<{atom}> {{ using Shape_MNK = Shape<_16,_8,_16>; {using} }};"
        assert atom_traits.find_differences(body) == {}, using


OWN_ATOM = """{before}template <> struct MMA_Traits<XE_16x8x16_MY> {{
  using Shape_MNK = Shape<_16,_8,_16>;
  using ThrID = Layout<_32>;
  using BLayout = Layout<Shape<Shape<_4,_8>,Shape<_2,_2>>, Stride<Stride<_16,_1>,Stride<_8,_64>>>;
  using ALayout = {a};
}};"""
PART_OF_A = "Layout<Shape<Shape<_4,_8>,Shape<_2,_2,_2>>, Stride<Stride<_32,_1>,Stride<_16,_8,_32>>>"


@pytest.mark.parametrize(("before", "a"), [("", PART_OF_A), (f"using MyRow = {PART_OF_A};\n", "MyRow")])
def test_an_own_atom_is_told_first_what_its_layout_leaves_out(before: str, a: str) -> None:
    told = text_meanings.read_text(OWN_ATOM.format(before=before, a=a))
    assert told.title.endswith("(ALayout)") and "covers 160 of the 256 elements of its 16×16" in " ".join(told.notices)
    assert [one.title for one in told.also if one.kind == "layout"][-1] == "CuTe layout 32:1 (ThrID)"


@pytest.mark.parametrize(
    "text",
    [
        OWN_ATOM.format(before="", a=PART_OF_A),
        f"auto tv_layout = {PART_OF_A}{{}};",
        "template <> struct Copy_Traits<MY_LDSM> { using ThrID = Layout<_32>;"
        " using SrcLayout = Layout<Shape<_32,_128>, Stride<_128,_1>>;"
        " using DstLayout = Layout<Shape<_32,Shape<_32,_4>>, Stride<_32,Stride<_1,_1024>>>; };",
    ],
)
def test_a_thread_value_layout_is_not_judged_as_storage(text: str) -> None:
    told = text_meanings.read_text(text)
    laid = [one for one in (told, *told.also) if one.kind == "layout"]
    assert laid and all("descriptors" not in one.facts and one.facts["storage"] is None for one in laid)


def test_a_layout_without_traits_counts_its_elements() -> None:
    told = text_meanings.read_text(
        "using ALayout = Layout<Shape<Shape<_4,_8>,Shape<_2,_2,_2>>, Stride<Stride<_32,_1>,Stride<_16,_8,_32>>>;"
    )
    places = [
        32 * t + g + 16 * i + 8 * j + 32 * k
        for t in range(4)
        for g in range(8)
        for i in (0, 1)
        for j in (0, 1)
        for k in (0, 1)
    ]
    assert len(np.unique(places)) == 160
    assert any("covers 160 of 256 elements" in notice for notice in told.notices)


BF16, F16 = "SM80_16x8x16_F32BF16BF16F32_TN", "SM80_16x8x16_F32F16F16F32_TN"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"using M = std::conditional_t<kBf16, {BF16}, {F16}>;", [f"If kBf16, {BF16}", f"If not (kBf16), {F16}"]),
        (f"using M = typename std::conditional<(N > 64), {BF16}, {F16}>::type;", [f"If (N > 64), {BF16}"]),
        (
            f"using A = {BF16};\nusing M = std::conditional_t<x, A, std::conditional_t<y, {F16}, A>>;",
            [f"If x, A = {BF16}", f"If not (x) and y, {F16}", f"If not (x) and not (y), A = {BF16}"],
        ),
        (
            f"using M = std::conditional_t<b, {BF16}, {F16}>;\nusing T = TiledMMA<MMA_Atom<M>, Layout<Shape<_2,_2>>>;",
            [f"If b, {BF16}", f"If not (b), {F16}"],
        ),
        (
            "using C = std::conditional_t<T, Copy_Atom<SM75_U32x4_LDSM_N, half_t>,"
            " Copy_Atom<SM75_U16x8_LDSM_T, half_t>>;",
            ["SM75_U32x4_LDSM_N, half_t>: ldmatrix.sync.aligned.m8n8.x4.shared.b16"],
        ),
    ],
)
def test_the_page_of_a_conditional_says_which_atom_each_arm_is(text: str, said: list[str]) -> None:
    told = text_meanings.read_text(text)
    assert all(any(part in notice for notice in told.notices) for part in said), told.notices
    page = Client(create_app()).get("/read", params={"text": text}, follow_redirects=False)
    assert page.status_code == 200
    ptx = {BF16: "f32.bf16.bf16.f32", F16: "f32.f16.f16.f32"}
    for name, types in ptx.items():
        assert name not in text or f"{name}: mma.sync.aligned.m16n8k16.row.col.{types}." in " ".join(told.notices)


def test_a_conditionals_type_is_each_of_its_arms() -> None:
    text = f"using A = {BF16};\nusing X = typename std::conditional<c, A, {F16}>::type;\n"
    told = text_meanings.read_text(f"{text}using M = TiledMMA<MMA_Atom<X>, Layout<Shape<_2,_2,_1>>>;")
    assert told.kind == "tiled_mma" and len(told.facts["candidates"]) == 2


@pytest.mark.parametrize("parameter", ["Desc d", "Desc& d", "Desc const& d"])
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


def test_layouts_of_one_mode_and_open_types_are_read_without_an_error() -> None:
    (line,) = reader.recognise_text("composition(Swizzle<3,4,3>{}, Layout<_64>{})").found
    assert (line.facts["cute"], line.facts["modes"]) == ("Sw<3,4,3> o 64:1", 1)
    (tiled,) = reader.recognise_text("tile_to_shape(composition<A,B>(), Shape<_8,_8>{})").found
    assert tiled.facts["cute"] is None and "cute" in tiled.undetermined
    (product,) = reader.recognise_text("warp.MmaF16BF16Op(ab_dtype=T, acc_dtype=U, shape_mnk=(16, 8, 16))").found
    assert product.facts["ptx"] is None and len(product.facts["candidates"]) > 1


@pytest.mark.parametrize(
    ("operation", "types"),
    [
        ("warp.MmaF16BF16Op(ab_dtype=T, acc_dtype=U, shape_mnk=(16, 8, 16))", {"f16", "bf16"}),
        ("warpgroup.MmaF16BF16Op(T, U, shape, src, a, b)", {"f16", "bf16"}),
        ("warpgroup.MmaF8Op(T, S, U, (64, 128, 32), src, a, b)", {"e4m3", "e5m2"}),
        ("warpgroup.MmaI8Op(T, S, U, (64, 128, 32), src, a, b)", {"s8", "u8"}),
    ],
)
def test_an_operation_with_open_types_has_those_of_its_name(operation: str, types: set[str]) -> None:
    (product,) = reader.recognise_text(operation).found
    found = [catalog.find(text).types for text in product.facts["candidates"]]
    assert {one[letter] for one in found for letter in "ab"} == types


@pytest.mark.parametrize(
    ("middle", "layout"), [("_0", "Sw<3,4,3> o (8,64):(64,1)"), ("_8", "Sw<3,4,3> o 8 o (8,64):(64,1)")]
)
def test_the_offset_of_a_composed_layout_is_kept(middle: str, layout: str) -> None:
    text = "ComposedLayout<Swizzle<3,4,3>, {}, Layout<Shape<_8,_64>,Stride<_64,_1>>>"
    assert [found.facts["cute"] for found in reader.recognise_text(text.format(middle)).found] == [layout]
    assert reader.recognise_text(text.format("Offset")).found == ()
