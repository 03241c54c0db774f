"""What the paste box makes of names with wildcards, of names and words that are wrong, and of CuTe's algebra."""

from __future__ import annotations

from lanescope.app.read import certain_links, text_meanings
from tests.cases import for_each

WGMMA = "wgmma.mma_async.sync.aligned.m64n{}k16.f32.bf16.bf16"
# PTX: N of a wgmma is a multiple of 8 up to 256
EVERY_N = [WGMMA.format(n) for n in range(8, 257, 8)]
TN = "SM80_16x8x16_F32F16F16F32_TN"


@for_each(
    ("pattern", "expected"),
    [
        (WGMMA.format("*"), EVERY_N),
        ("wgmma.m64n*k16.f32.bf16.bf16", EVERY_N),
        ("SM90_64x*x16_F32BF16BF16_SS", EVERY_N),
        (
            "mma.m16n8k*.row.col.f32.f16.f16.f32",
            [f"mma.sync.aligned.m16n8k{k}.row.col.f32.f16.f16.f32" for k in (8, 16)],
        ),
        (
            "ldmatrix.m8n8.*",
            [f"ldmatrix.sync.aligned.m8n8.x{n}{t}.shared.b16" for t in ("", ".trans") for n in (1, 2, 4)],
        ),
        (
            "tcgen05.ld.16x*.x8.b32",
            [f"tcgen05.ld.sync.aligned.16x{n}.x8.b32" for n in ("64b", "128b", "256b", "32bx2")],
        ),
        ("HMMA.16816.*BF16", ["mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"]),
    ],
)
def test_a_name_with_wildcards_means_every_instruction_that_it_matches(pattern: str, expected: list[str]) -> None:
    told = text_meanings.read_text(pattern)
    assert told.kind == "instruction" and sorted(told.facts["candidates"]) == sorted(expected)
    assert certain_links.find_certain_link(pattern) == ""


@for_each("pattern", ["mma.m16n8k7*", "SM99_*", "wgmma.m64n*k5.*"])
def test_a_pattern_without_a_match_is_no_instruction(pattern: str) -> None:
    told = text_meanings.read_text(pattern)
    assert told.kind == "unknown" and told.notices[0].startswith(f"No instruction matches '{pattern}'.")


@for_each(
    ("name", "nearest"),
    [
        ("SM80_16x8x16_F32F16F16F32_NT", TN),
        ("SM80_16x8x16_F32F16F16F32_T", TN),
        ("SM90_16x8x16_F32F16F16F32_TN", TN),
        ("SM90_64x12x16_F32F16F16_SS", "SM90_64x16x16_F32F16F16_SS"),
        ("SM90_64x128x16_F32BF16BF16_SSS", "SM90_64x128x16_F32BF16BF16_SS"),
        ("SM75_U32x3_LDSM_N", "SM75_U32x4_LDSM_N"),
    ],
)
def test_an_atom_that_cute_does_not_have_is_said_to_be_none(name: str, nearest: str) -> None:
    assert text_meanings.read_text(name).notices[0] == f"CuTe has no atom '{name}'. Nearest: {nearest}."
    assert certain_links.find_certain_link(name) == "", "the page of the instruction would not say so"


# CUTLASS's documentation of the algebra: by-mode coalesce, composition, logical_divide
@for_each(
    ("expression", "result"),
    [
        ("coalesce(Layout<Shape<_2,Shape<_1,_6>>,Stride<_1,Stride<_6,_2>>>{})", "12:1"),
        ("composition((6,2):(8,2), (4,3):(3,1))", "((2,2),3):((24,2),8)"),
        ("logical_divide((4,2,3):(2,1,8), 4:2)", "((2,2),(2,3)):((4,1),(2,8))"),
    ],
)
def test_an_expression_is_its_result_and_not_its_arguments(expression: str, result: str) -> None:
    told = text_meanings.read_text(expression)
    assert (told.kind, told.facts["cute"]) == ("layout", result)
    assert told.link == certain_links.find_certain_link(expression)


@for_each(
    "expression",
    ["logical_divide(sA, _32{})", "zipped_divide(Layout<_8>{}, tiler)", "logical_divide((4,2,3):(2,1,8), 5:2)"],
)
def test_an_expression_without_a_result_is_unknown(expression: str) -> None:
    assert text_meanings.read_text(expression).kind == "unknown"


@for_each("text", ["tcgen05 0xc000004000010000", "0xc000004000010000 tcgen05", "umma desc: 0x4000004000010000"])
def test_a_word_of_tcgen05_without_its_version_is_said_to_lack_it(text: str) -> None:
    """PTX, matrix descriptor of tcgen05: bits 46 to 48 are 0b001."""
    assert "tcgen05 needs version 1 there" in text_meanings.read_text(text).notices[0]


@for_each(
    ("text", "swizzle"),
    [
        ("uint64_t desc = ((uint64_t)hi << 32) | lo;\n", None),
        ("/*0a40*/ HGMMA.64x64x16.F32 R24, gdesc[UR8], R24, gsb0 ;", None),
        ("uint64_t desc = ((uint64_t)sbo << 32) | ((uint64_t)lbo << 16) | (addr >> 4);\n", "none"),
    ],
)
def test_two_unknown_halves_say_nothing_of_the_swizzle(text: str, swizzle: str | None) -> None:
    told = text_meanings.read_text(text)
    builders = [each for each in (told, *told.also) if each.kind == "builder"]
    assert builders and {each.facts["fields"]["swizzle"] for each in builders} == {swizzle}


MAP = (
    "cuTensorMapEncodeTiled(&m, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, p, dims, strides, {64, 128}, steps,"
    " CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B"
)


@for_each("rest", [")", ", CU_TENSOR_MAP_L2_PROMOTION_NONE)", ", ...)"])
def test_a_call_that_is_cut_short_keeps_its_arguments_in_their_places(rest: str) -> None:
    facts = text_meanings.read_text(MAP + rest).facts
    assert (facts["box"], facts["swizzle"], facts["element_bits"]) == ([64, 128], "128B", 16)


@for_each(
    "text",
    [
        "UMMA::InstrDescriptor idesc; idesc.m_dim_ = 128 >> 4; idesc.n_dim_ = 256 >> 3; idesc.c_format_ = 1;",
        "idesc.a_format_ = 1; idesc.m_dim_ = 8;",
    ],
)
def test_a_field_of_an_instruction_descriptor_is_not_the_word(text: str) -> None:
    told = text_meanings.read_text(text)
    assert not any("accepts the word" in notice for notice in told.notices)


def test_bits_of_an_instruction_descriptor_are_no_matrix_descriptor() -> None:
    """The f32 of D, and bf16 of A: M and N are 0."""
    told = text_meanings.read_text("uint32_t idesc = 1 << 4 | 1 << 7;")
    assert told.notices[0] == "No kind of tcgen05.mma accepts the word 0x00000090." and not told.also


def test_the_intrinsic_of_a_fence_has_no_types_to_paste() -> None:
    (notice,) = text_meanings.read_text("llvm.nvvm.wgmma.fence.sync.aligned").notices
    assert "has no shape and no types" in notice
