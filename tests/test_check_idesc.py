"""tcgen05 in source files: instruction descriptors, tensor memory and TiledMMAs; planted mistakes at their line."""

from __future__ import annotations

from tests.cases import for_each
from tests.checked import check_text, list_findings
from tests.test_check_tcgen05 import KERNEL, RIGHT

ALLOC = r"""  asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;"
      :: "r"(sA), "r"(COLUMNS));
"""
WITH_ALLOC = RIGHT.replace("  for (int k", ALLOC + "  for (int k")
SCALED = r"""__global__ void mx(uint32_t t, uint64_t a, uint64_t b, uint32_t sfa, uint32_t sfb) {
  constexpr uint32_t idesc = (0u << 4) | (5u << 7) | (5u << 10) | ((128u >> 3) << 17) | (1u << 23)
      | ((128u >> 7) << 27) | (2u << 29);
  asm volatile("tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::2X [%0], %1, %2, %3, [%4], [%5], 1;"
      :: "r"(t), "l"(a), "l"(b), "r"(idesc), "r"(sfa), "r"(sfb));
}
""".replace("5u", "1u")
TILED = (
    "auto mma = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_2, _2>>{},\n  Tile<_32, _32, _16>{});\n"
)
ATOMS = TILED.replace(",\n  Tile<_32, _32, _16>{}", "")
WORD = "(1u << 4) | (1u << 7) | (1u << 10) | ((64u >> 3) << 17) | ((128u >> 4) << 24);"
BUILT = RIGHT.replace(WORD, "make_word(ROWS, 64);").replace(
    "__global__",
    """constexpr int ROWS = 128;
__device__ constexpr uint32_t make_word(int m, int n) {
  uint32_t word = (1u << 4) | (1u << 7) | (1u << 10);
  word |= (((uint32_t)(n >> 3) & 0x3F) << 17);
  word |= (((uint32_t)(m >> 4) & 0x1F) << 24);
  return word;
}
__global__""",
    1,
)
COPY = r"""__device__ void copy(uint32_t to, const CUtensorMap* map, uint32_t bar, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
      :: "r"(to), "l"(map), "r"(x), "r"(y), "r"(bar) : "memory");
}
__global__ void gemm(const __grid_constant__ CUtensorMap tma_a, const __grid_constant__ CUtensorMap tma_b,
                     uint32_t bar, """
COPIES = """  copy(sA, &tma_a, bar, 0, 0);
  for (int n = 0; n < 2; ++n) copy(sB + n * 64 * 32, &tma_b, bar, 0, n * 64);
  for (int n = 0; n < 2; ++n)
    mma(taddr + n * 64, make_desc(sA), make_desc(sB + n * 64 * 32), idesc, 0);
}
"""
TWO_TILES = RIGHT.replace("SWIZZLE_128B", "SWIZZLE_32B").replace("= {64", "= {16").replace("1024 >> 4", "256 >> 4")
TWO_TILES = TWO_TILES.replace("2ull << 61", "6ull << 61").replace("128 * 128", "128 * 32")
TWO_TILES = TWO_TILES.replace("__global__ void gemm(", COPY).split("  for (int k")[0] + COPIES  # of 64 of 128 columns
NAMED = KERNEL.replace("uint32_t taddr) {", "uint32_t taddr, const __nv_bfloat16* A, const __nv_bfloat16* B) {")


@for_each("text", [RIGHT, BUILT, WITH_ALLOC.replace("COLUMNS", "64"), SCALED, TILED, TWO_TILES, NAMED])
def test_right_code_has_no_finding(text: str) -> None:
    assert list_findings(text) == []


@for_each(
    ("text", "old", "new", "code", "line"),
    [
        (RIGHT, "(64u >> 3) << 17", "(64u >> 3) << 16", "idesc_shift", "<< 16"),  # N one bit low
        (RIGHT, "(128u >> 4) << 24", "(128u >> 4) << 23", "idesc_shift", "<< 23"),
        (RIGHT, "(128u >> 4) << 24", "(128u >> 4) << 27", "idesc_shift", "<< 27"),  # where M of a scaled kind begins
        (SCALED, "(128u >> 7) << 27", "(128u >> 7) << 24", "idesc_shift", "<< 24"),
        (RIGHT, "(128u >> 4) << 24", "(128u >> 3) << 24", "idesc_unit", "128u >> 3"),
        (RIGHT, "(64u >> 3) << 17", "(64u / 16) << 17", "idesc_unit", "64u / 16"),
        (RIGHT, "(64u >> 3)", "(32u >> 3)", "idesc_size", "32u >> 3"),
        (RIGHT, "(128u >> 4)", "(64u >> 4)", "idesc_size", "64u >> 4"),
        (RIGHT, "(128u >> 4)", "(96u >> 4)", "idesc_illegal", "96u"),
        (BUILT, "(n >> 3) &", "(n >> 4) &", "idesc_unit", "n >> 4"),
        (BUILT, "(ROWS, 64)", "(ROWS / 2, 64)", "idesc_size", "make_word(ROWS / 2, 64)"),
        (BUILT, "(ROWS, 64)", "(ROWS, 32)", "idesc_size", "make_word(ROWS, 32)"),
        (RIGHT, "(1u << 7) |", "(3u << 7) |", "idesc_illegal", "3u << 7"),
        (RIGHT, "(1u << 4) |", "(0u << 4) |", "idesc_illegal", "0u << 4"),
        (RIGHT, "(1u << 7) |", "(0u << 7) |", "idesc_type", "0u << 7"),
        (NAMED, "(1u << 7) |", "(0u << 7) |", "idesc_type", "0u << 7"),
        (NAMED, "| (1u << 10)", "", "idesc_type", "1u << 7"),  # beside which it is missing
        (RIGHT, "| (1u << 10)", "", "idesc_type", "1u << 7"),
        (RIGHT, "kind::f16", "kind::tf32", "idesc_illegal", "1u << 7"),
        (RIGHT, "cta_group::1", "cta_group::2", "idesc_size", "64u >> 3"),
        (RIGHT, "| ((64u", "| (1u << 23) | ((64u", "idesc_reserved_bits", "idesc"),
        (WITH_ALLOC, "COLUMNS", "32", "tmem_columns", "(32)"),
        (WITH_ALLOC, "COLUMNS", "96", "tmem_allocation", "(96)"),
        (SCALED, "(2u << 29)", "(1u << 29)", "idesc_illegal", "1u << 29"),
        (SCALED, "mxf4.block_scale.scale_vec::2X", "mxf4nvf4.block_scale.scale_vec::4X", "scale_factor_id", "2u << 29"),
        (TILED, "_32, _16>", "_24, _16>", "tiled_mma_permutation", "_24"),
        (TILED, "_2>>", "_2>, Stride<_1, _1>>", "tiled_mma_refused", "Shape<_2, _2>, Stride"),  # threads of two atoms
        (ATOMS, "<_2, _2>", "<_20, _2>", "tiled_mma_refused", "_20"),  # 40 warps
    ],
    sample="code",
)
def test_a_planted_mistake_is_found_at_its_line(text: str, old: str, new: str, code: str, line: str) -> None:
    assert old in text
    found = list_findings(text.replace(old, new, 1))
    assert any(one == code and line in at for one, at in found), found


@for_each("sizes", ["_24, _32, _16", "_32, _24, _16"])
def test_the_mode_that_the_atoms_do_not_divide_is_named(sizes: str) -> None:
    text = TILED.replace("_32, _32, _16", sizes)
    [found] = check_text(text).findings
    assert text[slice(*found.span)] == "_24"


def test_a_tensor_map_may_carry_the_bits_of_the_other_type_if_code_names_it() -> None:
    carried = RIGHT.replace("DATA_TYPE_BFLOAT16", "DATA_TYPE_FLOAT16")
    assert {code for code, _ in list_findings(carried)} == {"idesc_type"}
    assert list_findings(f"using Element = __nv_bfloat16;\n{carried}") == []


@for_each("line", ["// f16 in A", "using Other = half;"])
def test_a_type_that_the_text_names_may_be_meant(line: str) -> None:
    assert list_findings(f"{line}\n" + NAMED.replace("(1u << 7) |", "(0u << 7) |")) == []


@for_each(
    ("old", "new"),
    [
        ("(64u >> 3) << 17", "(n >> 3) << 17"),  # a size that only the launch says
        ("kind::f16", "kind::KIND"),
        ("constexpr uint32_t idesc =", "uint32_t idesc = open |"),
    ],
)
def test_what_is_open_is_no_finding(old: str, new: str) -> None:
    assert list_findings(RIGHT.replace(old, new, 1)) == []
