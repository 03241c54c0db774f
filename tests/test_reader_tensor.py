"""Names and words of Blackwell kernels as they are pasted: copies of tensor memory in CUTLASS and CuTe's DSL,
instruction descriptors, swizzle atoms of UMMA.
"""

from __future__ import annotations

import pytest

from lanescope import reader
from lanescope.errors import LayoutError
from lanescope.reader.cute import dsl_operations
from lanescope.reader.words.descriptor_word import recognise_word
from lanescope.reader.words.instruction_word import recognise_instruction_word
from tests.cases import for_each
from tests.client import share_client

LD, ST = "tcgen05.ld.sync.aligned", "tcgen05.st.sync.aligned"

NAMES = (
    ("cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition(32)), self.acc_dtype)", f"{LD}.32x32b.x32.b32"),
    ("tcgen05.copy.Ld32x32bOp(tcgen05.copy.Repetition.x64, tcgen05.copy.Pack.NONE)", f"{LD}.32x32b.x64.b32"),
    ("tcgen05.Ld16x256bOp(tcgen05.Repetition.x4, tcgen05.Pack.PACK_16b_IN_32b)", f"{LD}.16x256b.x4.pack::16b.b32"),
    ("cute.nvgpu.tcgen05.Ld16x64bOp()", f"{LD}.16x64b.x1.b32"),
    ("tcgen05.copy.Ld16x32bx2Op(tcgen05.copy.Repetition(8))", f"{LD}.16x32bx2.x8.b32"),
    ("cute.make_copy_atom(tcgen05.copy.St32x32bOp(tcgen05.copy.Repetition(16)), Float32)", f"{ST}.32x32b.x16.b32"),
    (
        "tcgen05.St16x128bOp(tcgen05.Repetition.x2, tcgen05.Unpack.UNPACK_32b_IN_16b)",
        f"{ST}.16x128b.x2.unpack::16b.b32",
    ),
    ("tcgen05.Cp4x32x128bOp(tcgen05.CtaGroup.ONE)", "tcgen05.cp.cta_group::1.32x128b.warpx4"),
    ("tcgen05.Cp2x64x128b0123Op(tcgen05.CtaGroup.TWO)", "tcgen05.cp.cta_group::2.64x128b.warpx2::01_23"),
    ("using Load = cute::SM100_TMEM_LOAD_16dp256b8x_16b;", f"{LD}.16x256b.x8.pack::16b.b32"),
    ("auto c = make_tmem_copy(SM100_TMEM_STORE_16dp32b2x{}, tAcc);", f"{ST}.16x32bx2.x2.b32"),
    ("SM100_UTCCP_2x64dp128bitlw0213_2cta", "tcgen05.cp.cta_group::2.64x128b.warpx2::02_13"),
)


@for_each(("text", "ptx"), NAMES)
def test_a_name_is_the_instruction_that_it_issues(text: str, ptx: str) -> None:
    told = share_client().post("/api/v1/read", json={"text": text}).json()
    assert (told["kind"], told["link"]) == ("instruction", f"/i/{ptx}"), told
    assert not [one for one in told.get("also", []) if one["link"] == "/tmem"]


def test_a_reduction_whose_type_is_open_may_be_three() -> None:
    (one,) = reader.recognise_text(
        "tcgen05.LdRed32x32bOp(tcgen05.Repetition(32), redOp=tcgen05.TmemLoadRedOp.MIN)"
    ).found
    head = "tcgen05.ld.red.sync.aligned.32x32b.x32.min"
    assert one.facts["candidates"] == [f"{head}.{kind}" for kind in ("f32", "u32", "s32")]


@for_each(
    "text",
    [
        "tcgen05.Ld32x32bOp(tcgen05.Repetition(count))",
        "SM100_TMEM_LOAD_32dp32b3x",
        "SM100_TMEM_LOAD_16dp256b64x",
        "tcgen05.Ld32x32bOp(repeat=n)",
    ],
)
def test_what_is_open_or_no_instruction_is_not_made_one(text: str) -> None:
    assert [one.kind for one in reader.recognise_text(text).found] == ["topic"]


WORDS = (
    ("0x08400490", "/idesc/0x08400490?kind=f16"),  # 128 × 256, bf16
    ("0x8200490", "/idesc/0x08200490?kind=f16"),
    ("0x08A00000u", "/idesc/0x08a00000?kind=mxf8f6f4"),
    ("0x04210010;", "/idesc/0x04210010?kind=f16"),
    ("0x08400490 kind::f8f6f4", "/idesc/0x08400490?kind=f8f6f4"),
    ("kind::f16: 0x08400490", "/idesc/0x08400490?kind=f16"),
    (
        "constexpr uint32_t i_desc = (1U << 4U) | (1U << 7U) | (1U << 10U) | ((uint32_t)256 >> 3U << 17U)"
        " | ((uint32_t)128 >> 4U << 24U);",
        "/idesc/0x08400490?kind=f16",
    ),
    ("idesc = (1 << 4) | (1 << 7) | (1 << 10) | ((64 >> 3) << 17) | ((128 >> 4) << 24)", "/idesc/0x08100490?kind=f16"),
    (
        "uint32_t idesc = 0; idesc |= 1 << 4; idesc |= 1 << 16; idesc |= (64 / 8) << 17; idesc |= (64 / 16) << 24;",
        "/idesc/0x04110010?kind=f16",
    ),
    ("idesc = 0x490 | 8 << 17 | 8 << 24", "/idesc/0x08100490?kind=f16"),
    ("idesc = 0x08100490 & ~(1 << 7)", "/idesc/0x08100410?kind=f16"),
    ("idesc = 0x08100490 | M = 128 | N = 64", "/idesc/0x08100490?kind=f16"),
    ("idesc = 0x08100490\nidesc2 = idesc | 1 << 16", "/idesc/0x08110490?kind=f16"),
    ("idesc = 0x490 | 8 << 17 | 128 // 16 << 24", "/idesc/0x08100490?kind=f16"),
    ("idesc = 0x08100490 // bf16", "/idesc/0x08100490?kind=f16"),
    ("uint32_t i_desc = 0x10;\ni_desc |= 0x480;\ni_desc |= 8 << 24 | 32 << 17;", "/idesc/0x08400490?kind=f16"),
    (
        "uint32_t make_idesc(int m, int n) { uint32_t idesc = 0x490; idesc |= (n >> 3) << 17; idesc |= (m >> 4) << 24;"
        " return idesc; }\nauto word = make_idesc(128, 64);",
        "/idesc/0x08100490?kind=f16",
    ),
)


@for_each(("text", "link"), WORDS)
def test_a_word_of_32_bits_leads_to_its_fields(text: str, link: str) -> None:
    told = share_client().post("/api/v1/read", json={"text": text}).json()
    assert told["link"] == link and told["title"].startswith("tcgen05 instruction descriptor 0x"), told
    assert share_client().get(link).status_code == 200


CALLED = (
    (
        "auto idesc = cute::UMMA::make_instr_desc<cutlass::bfloat16_t, cutlass::bfloat16_t, float, 128, 256,"
        " cute::UMMA::Major::K, cute::UMMA::Major::MN>();",
        "0x08410490?kind=f16",
    ),
    (
        "UMMA::make_instr_desc<tfloat32_t, tfloat32_t, float, 64, 32, UMMA::Major::K, UMMA::Major::K,"
        " UMMA::ScaleIn::Neg>()",
        "0x04082910?kind=tf32",
    ),
    (
        "make_instr_desc<int8_t, uint8_t, int32_t, 128, 64, Major::K, Major::K, ScaleIn::One, ScaleIn::One,"
        " Saturate::True, true>()",
        "0x081000ac?kind=i8",
    ),
    (
        "make_instr_desc<float_e4m3_t, detail::float_e2m1_unpacksmem_t, half_t, 128, 128, Major::K, Major::K>()",
        "0x08201400?kind=f8f6f4",
    ),
    (
        "UMMA::make_instr_desc_block_scaled<float_e4m3_t, float_e4m3_t, float, float_ue8m0_t, 128, 128, UMMA::Major::K,"
        " UMMA::Major::K>()",
        "0x08a00000?kind=mxf8f6f4",
    ),
    (
        "constexpr int kN = 256; auto d = make_runtime_instr_desc_block_scaled<cutlass::float_e2m1_t,"
        " cutlass::float_e2m1_t, float, cutlass::float_ue4m3_t, 256, kN, Major::K, Major::K>(sfa, sfb);",
        "0x10400480?kind=mxf4nvf4",
    ),
)


@for_each(("text", "link"), CALLED)
def test_cutlasss_call_is_its_word(text: str, link: str) -> None:
    told = share_client().post("/api/v1/read", json={"text": text}).json()
    assert told["link"] == f"/idesc/{link}", told


def test_a_call_that_leaves_a_type_open_is_no_word() -> None:
    open_ = "make_instr_desc<a_type, b_type, float, 128, 256, Major::K, Major::K>()"
    assert not any("word" in one.facts for one in reader.recognise_text(f"UMMA::{open_}").found)


def test_a_word_inside_inline_ptx_stands_beside_the_instruction() -> None:
    asm = (
        'asm volatile("{{\\n\\t" "mov.b32 id, {};\\n\\t"'
        ' "@leader tcgen05.mma.cta_group::1.kind::{} [%0], [%2 + 8], db, id, p0;\\n\\t}}"'
    )
    told = share_client().post("/api/v1/read", json={"text": asm.format(134743184, "f16")}).json()
    assert told["link"] == "/i/tcgen05.mma.cta_group::1.kind::f16"
    assert "/idesc/0x08080490?kind=f16" in [one["link"] for one in told["also"]]
    other = reader.recognise_text(asm.format("0x8080490", "f8f6f4")).found
    assert [one.facts["kind"] for one in other if "word" in one.facts] == ["f8f6f4"]
    wrong = reader.recognise_text(asm.format("0x8080490", "i8")).found
    assert not any("word" in one.facts for one in wrong)


def test_other_words_of_32_bits_are_what_they_were() -> None:
    for text in ("0x00400040", "0x3f800000", "0xdeadbeef", "0x08400490 0x08400490", "12345678"):
        assert not any("instruction descriptor" in one.title for one in reader.recognise_text(text).found), text


def test_an_atom_of_tf32_has_four_values_of_k() -> None:
    one = reader.recognise_text("UMMA::Layout_MN_SW128_32B_Atom<cutlass::tfloat32_t>").found[0]
    assert one.facts["cute"] == "Sw<2,5,2> o smem_ptr[32b](unset) o (32,4):(1,32)"
    assert one.notices[0].endswith(". tcgen05 reads this tile.")
    dsl = "make_smem_layout_atom(tcgen05.SmemLayoutAtomKind.MN_SW128_32B, cutlass.TFloat32)"
    assert reader.recognise_text(dsl).found[0].facts == one.facts
    other = reader.recognise_text("UMMA::Layout_MN_SW64_Atom<cutlass::tfloat32_t>").found[0]
    assert other.notices[0].endswith(". tcgen05 has no MN-major tile with this swizzle.")
    byte = reader.recognise_text("UMMA::Layout_MN_SW128_Atom<cutlass::float_e4m3_t>").found[0]
    assert byte.notices[0].endswith(". tcgen05 reads this tile.")


TRIVIAL = (
    "sm100_utils.make_trivial_tiled_mma(cutlass.{}, tcgen05.OperandMajorMode.K, tcgen05.OperandMajorMode.K,"
    " cutlass.{}, tcgen05.CtaGroup.ONE, (128, 64))"
)


@for_each(
    ("element", "accumulator", "kind", "k"),
    [
        ("Float16", "Float32", "f16", 16),
        ("BFloat16", "Float32", "f16", 16),
        ("TFloat32", "Float32", "tf32", 8),
        ("Float32", "Float32", "tf32", 8),
        ("Int8", "Int32", "i8", 32),
        ("Uint8", "Int32", "i8", 32),
        ("Float8E4M3FN", "Float32", "f8f6f4", 32),
        ("Float4E2M1FN", "Float32", "f8f6f4", 32),
    ],
)
def test_a_trivial_product_is_of_the_kind_of_its_type(element: str, accumulator: str, kind: str, k: int) -> None:
    (one,) = (m for m in reader.recognise_text(TRIVIAL.format(element, accumulator)).found if m.kind == "tiled_mma")
    assert one.facts["candidates"] == [f"tcgen05.mma.cta_group::1.kind::{kind}"]
    assert one.facts["tile_mnk"] == [128, 64, k]


@for_each(("tile", "n"), [(256, 256), (224, 32), (192, 192), (160, 32), (96, 96), (24, 8)])
def test_a_selector_takes_its_largest_n(tile: int, n: int) -> None:
    text = f"GMMA::ss_op_selector<half_t, half_t, float, Shape<_64,Int<{tile}>,_64>>()"
    assert reader.recognise_text(text).found[0].facts["ptx"] == f"wgmma.mma_async.sync.aligned.m64n{n}k16.f32.f16.f16"


def test_an_operation_takes_the_counts_of_its_class() -> None:
    taken = {"LdMatrix8x16x8bOp": (1, 2, 4), "LdMatrix16x16x8bOp": (1, 2), "StMatrix16x8x8bOp": (1, 2, 4)}
    for name, counts in taken.items():
        for count in (1, 2, 4):
            turned = name != "LdMatrix8x16x8bOp"
            text = f"warp.{name}(transpose={turned}, num_matrices={count})"
            if count in counts:
                assert f".x{count}." in reader.recognise_text(text).found[0].facts["ptx"], text
            else:
                with pytest.raises(LayoutError, match="num_matrices is 4"):
                    dsl_operations.parse_operations(text)


# instruction descriptors in statements -------------------------------------------------------------------------------

BF16_128_256 = "0x08400490"
TERMS = "(1 << 4) | (1 << 7) | (1 << 10) | ((256 >> 3) << 17) | ((128 >> 4) << 24)"


@for_each(
    "text",
    [
        f"idesc = {TERMS}  # bf16, M128 N256",
        f"idesc = {TERMS[:30]} \\\n  {TERMS[30:]}",
        "idesc = 1 << 4  # D is f32\nidesc |= 1 << 7\nidesc |= 1 << 10\nidesc |= 32 << 17\nidesc |= 8 << 24",
        "d->a_format_ = 1; d->b_format_ = 1; d->c_format_ = 1; d->n_dim_ = 32; d->m_dim_ = 8;",
        "d.a_format_ = 1;\nd.b_format_ = 1;\nd.c_format_ = 1;\nd.n_dim_ = 256 >> 3;\nd.m_dim_ = 128 >> 4;",
        "UMMA::InstrDescriptor d = {}; d.a_format_ = uint8_t(UMMA::to_UMMAFormat<bfloat16_t>()); d.b_format_ = 1;"
        "d.c_format_ = uint8_t(UMMA::to_CFormat<float>()); d.n_dim_ = 32; d.m_dim_ = 8;"
        "uint32_t w = __builtin_bit_cast(uint32_t, d);",
    ],
)
def test_an_instruction_descriptor_is_read_from_statements(text: str) -> None:
    (meaning,) = recognise_instruction_word(text)
    assert meaning.facts["word"] == BF16_128_256


@for_each("text", ["desc_a = 0x4000004000010000 + 2 * k", "desc 0x4000004000010000 + 0x2", "idesc = 0x490 | flags"])
def test_a_number_that_is_an_operand_is_no_descriptor(text: str) -> None:
    assert reader.recognise_text(text).found == ()


@for_each("text", [f"{TERMS}  # idesc for bf16", "idesc for 2 CTAs", "instruction descriptor of 16 bits"])
def test_a_number_of_a_remark_or_a_sentence_is_no_descriptor(text: str) -> None:
    assert recognise_instruction_word(text) == ()


@for_each(
    ("text", "title"),
    [
        ("to_UMMAFormat<half_t>()", "F16F32Format::F16: 0"),
        ("cute::UMMA::to_UMMAFormat<cutlass::float_e5m2_t>()", "MXF8F6F4Format::E5M2: 1"),
        ("UMMA::to_UMMAFormat<float_e2m1_t>()", "MXF4Format::E2M1: 1"),
        ("UMMA::to_UMMAFormat<float_e2m1_unpacksmem_t>()", "MXF8F6F4Format::E2M1: 5"),
        ("UMMA::to_ScaleFormat<float_ue8m0_t>()", "ScaleFormat::UE8M0: 1"),
    ],
)
def test_a_type_has_its_code_in_an_instruction_descriptor(text: str, title: str) -> None:
    assert [meaning.title for meaning in recognise_instruction_word(text)] == [title]


@for_each(
    ("types", "says"),
    [
        (("float_e4m3_t", "float"), "with kind::f8f6f4"),
        (("int8_t", "int32_t"), "with kind::i8"),
        (("int8_t", "float"), "No kind of tcgen05.mma has these types"),
        (("__nv_bfloat16", "float"), "does not accept __nv_bfloat16"),
    ],
)
def test_the_types_of_calls_choose_the_kind(types: tuple[str, str], says: str) -> None:
    element = f"UMMA::to_UMMAFormat<{types[0]}>()"
    members = f"d.a_format_ = {element}; d.b_format_ = {element}; d.c_format_ = UMMA::to_CFormat<{types[1]}>();"
    (meaning,) = recognise_instruction_word(f"{members} d.n_dim_ = 8; d.m_dim_ = 8;")
    assert says in " ".join((meaning.title, *meaning.notices)) and "kind::f16" not in meaning.title


@for_each(("beside", "says"), [("kind::i8", "is not a legal"), ("m64n64k16", "says M 64"), ("kind::f16 M=128", "")])
def test_what_is_stated_beside_an_instruction_descriptor_is_compared(beside: str, says: str) -> None:
    (meaning,) = recognise_instruction_word(f"instruction descriptor 0x08100490 {beside}")
    assert says in " ".join(meaning.notices) and len(meaning.notices) == (2 if says else 0)


def test_sizes_that_are_not_shifted_do_not_fit_their_fields() -> None:
    (meaning,) = recognise_instruction_word("d.c_format_ = 1; d.n_dim_ = 256; d.m_dim_ = 128;")
    assert [says.partition(":")[2] for says in meaning.notices] == [
        " 256 does not fit. Write N >> 3.",
        " 128 does not fit. Write M >> 4.",
    ]


def test_members_that_commas_join_are_all_assigned() -> None:
    fields = {"start_address": 1024, "leading_byte_offset": 1, "stride_byte_offset": 64, "base_offset": 0}
    text = ", ".join(f"desc.bitfield.{name}_ = {value}" for name, value in (fields | {"layout_type": 1}).items())
    for code in (f"{text};", f"GmmaDescriptor desc{{}}; {text};"):
        (meaning,) = recognise_word(code)
        assert meaning.facts["word"] == "0x4000004000010400", code
