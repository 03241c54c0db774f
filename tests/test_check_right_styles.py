"""Right kernels in styles that look like a mistake, and the mistake itself, which is still found."""

from __future__ import annotations

import pytest

from lanescope.workbench.fragments.thread_tiles import check_thread_tiles
from tests.cases import for_each
from tests.checked import check_text
from tests.thread_tile_kernels import PADDED
from tests.transfer_kernels import STORES, TMA, plant

FILLS_A = "sA[place(i / 64, i % 64)] = A[(row + i / 64) * K + t * 64 + i % 64];"
FILLS_B = "sB[place(i / 64, i % 64)] = B[(col + i / 64) * K + t * 64 + i % 64];"

# tiles that global memory holds as they are read ----------------------------------------------------------------------


def list_codes(text: str) -> list[str]:
    return [finding.code for finding in check_thread_tiles(text, {}).findings]


def test_a_tile_that_is_swizzled_in_global_memory_is_copied_as_it_is() -> None:
    """Weights are packed once, in the order of the descriptor's swizzle: which one they have is not known."""
    packed = (FILLS_B, "sB[i] = B[(blockIdx.x * (K / BK) + t) * 128 * 64 + i];")
    assert list_codes(plant(packed, text=STORES)) == []


@pytest.mark.thorough
def test_rows_that_are_a_pitch_apart_in_global_memory_are_not_swizzled_there() -> None:
    forgotten = (FILLS_A, "sA[i] = A[(row + i / 64) * K + t * 64 + i % 64];")
    assert list_codes(plant(forgotten, text=STORES)) == ["fragment_mismatch"]


FEW_ROWS = (
    ("bf16 sA[64 * 64]", "bf16 sA[8 * 64]"),
    ("i < 64 * 64; i += 128)", "i < 8 * 64; i += 128)"),
)
REPEATED = ("make_smem_desc(sA + k * 16)", "make_smem_desc(sA + k * 16) & ~(0x3FFFull << 32)")


def test_eight_rows_may_be_repeated_up_to_the_rows_of_an_instruction() -> None:
    """With SBO 0 each group of eight rows is the first one: of a tile with more rows that is a mistake."""
    assert list_codes(plant(*FEW_ROWS, REPEATED, text=STORES)) == []
    assert list_codes(plant(REPEATED, text=STORES)) == ["rows_repeated"]


READS_XOR = (
    "As[(warp * 16 + lane % 16) * PITCH + kk + lane / 16 * 8]",
    "As[(warp * 16 + lane % 16) * BK + ((kk / 8 + lane / 16) ^ (lane / 2 & 3)) * 8]",
)
STORED = "As[r * PITCH + c]) ="
LOADED = "A[(blockIdx.y * BM + r) * K + k0 + c]"
PACKED = "A[(blockIdx.y * (K / BK) + k0 / BK) * BM * BK + i * 8]"


@pytest.mark.thorough
@for_each(("loaded", "found"), [(PACKED, []), (LOADED, ["fragment_mismatch"])])
def test_ldmatrix_reads_a_tile_that_is_packed_in_global_memory(loaded: str, found: list[str]) -> None:
    text = plant((STORED, "As[i * 8]) ="), (LOADED, loaded), READS_XOR, text=PADDED)
    assert list_codes(text) == found


EIGHT_ROWS = (
    ("As[BM * PITCH]", "As[16 * PITCH]"),
    ("      *reinterpret_cast<uint4*>(&As", "      if (r < 8) *reinterpret_cast<uint4*>(&As"),
)


@for_each(("pitch", "found"), [("PITCH", []), ("(PITCH - 8)", ["fragment_mismatch"])])
def test_rows_of_padding_need_not_be_filled(pitch: str, found: list[str]) -> None:
    """Each row of D takes one row of A: what is multiplied of rows that no thread stores may be left alone."""
    reads = ("As[(warp * 16 + lane % 16) * PITCH", f"As[(lane % 16) * {pitch}")
    assert list_codes(plant(*EIGHT_ROWS, reads, text=PADDED)) == found


# buffers that code aligns ---------------------------------------------------------------------------------------------

BUFFER = "extern __shared__ __align__(1024) uint8_t smem[];"
RAW = "extern __shared__ __align__(16) uint8_t raw[];\n  "


@for_each(
    ("rounding", "found"),
    [
        ("uint8_t* smem = raw + ((1024 - (shared_address(raw) & 1023)) & 1023);", []),
        ("uint8_t* smem = reinterpret_cast<uint8_t*>((uintptr_t(raw) + 1023) & ~uintptr_t(1023));", []),
        ("uint8_t* smem = raw;", ["tile_alignment"]),
    ],
    sample=2,
)
def test_a_buffer_that_code_aligns_may_be_declared_with_less(rounding: str, found: list[str]) -> None:
    assert [one.code for one in check_text(plant((BUFFER, RAW + rounding), text=TMA)).findings] == found


# constants in bit fields ----------------------------------------------------------------------------------------------

WORD = """union Word {
  uint64_t whole;
  struct { uint64_t start : 14, : 2, lbo : 14, : 2, sbo : 14, version : 3, offset : 3, mode : 12; };
};
__device__ uint64_t make_desc(const void* p) {
  Word desc; desc.whole = 0;
  desc.start = (uint32_t)__cvta_generic_to_shared(p) >> 4;
  desc.sbo = 64;
  desc.version = VERSION;
  return desc.whole;
}
"""


@for_each(("said", "found"), [("0xb001", []), ("0xb011", ["bit_field_overflow"]), ("9", ["bit_field_overflow"])])
def test_a_binary_constant_that_is_spelled_as_hexadecimal_is_stored_as_it_is_meant(said: str, found: list[str]) -> None:
    """The low bits of 0xb001 are those of 0b001, which the PTX ISA gives for bits 46 to 48."""
    assert [one.code for one in check_text(WORD.replace("VERSION", said)).findings] == found


# one box in several places --------------------------------------------------------------------------------------------

BIAS = (
    (
        "      tma_load(sA + slot",
        "      for (int i : {0, 4096}) tma_load(bias + i, &tc, &full[slot], 0, 0);\n      tma_load(sA + slot",
    ),
    ("(BM * BK + BN * BK) * sizeof(bf16));\n      for", "(BM * BK + BN * BK) * sizeof(bf16) + 2 * 8192);\n      for"),
    ("CUtensorMap tb, bf16* C", "CUtensorMap tb, const __grid_constant__ CUtensorMap tc, bf16* C"),
    ("  int row = blockIdx", "  bf16* bias = sB + STAGES * BN * BK + 64;\n  int row = blockIdx"),
    ("map_a, map_b;", "map_a, map_b, map_c;\n  make_map(&map_c, C, 64, 64, 64, 64);"),
    ("(map_a, map_b, C", "(map_a, map_b, map_c, C"),
)


def test_a_box_that_no_instruction_reads_may_be_needed_in_several_places() -> None:
    assert not check_text(plant(*BIAS)).findings


def test_comments_may_be_between_the_strings_of_an_instruction() -> None:
    """Also a line of slashes, at which a search for the next string must not begin again and again."""
    comments = ("%66, 1, 1, 0,", '%66, "  // accumulate\n  ' + "/" * 60 + '\n  "1, 1, "  /* scales */ "0,')
    wrong = plant(("1, 1, 0, 0;", "1, 1, 0, 1;"), text=TMA)
    found = [check_text(text) for text in (wrong, plant(comments, text=wrong))]
    assert [[one.code for one in report.findings] for report in found] == [["wrong_transpose"]] * 2


# words of two rows ----------------------------------------------------------------------------------------------------

WORDS = r"""#include <cstdint>
__global__ void gemm(const uint32_t* A, const uint32_t* B, float* C, int M, int N, int K) {  // a word has two k
  const int lane = threadIdx.x, g = lane / 4, t = lane % 4, m0 = blockIdx.x * 16, n0 = blockIdx.y * 8;
  float d[4] = {};
  for (int k = 0; k < K / 2; k += 8) {
    const uint32_t* a = A + (m0 + g) * (K / 2) + k + t;
    const uint32_t* b = B + (k + t) * N + n0 + g;  // row k / 2 has the words of every n
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[8 * (K / 2)]), "r"(a[4]), "r"(a[8 * (K / 2) + 4]), "r"(b[0]), "r"(b[4 * N]));
  }
  for (int i = 0; i < 4; ++i) C[(m0 + g + i / 2 * 8) * N + n0 + t * 2 + i % 2] = d[i];
}
void run(const uint32_t* A, const uint32_t* B, float* C, int M, int N, int K) {
  gemm<<<dim3(M / 16, N / 8), 32>>>(A, B, C, M, N, K);
}
"""


ROWS = "(k + t) * N + n0 + g;"
HALVES = "const uint32_t* b = B + (k + t) * N + n0 + g;"  # from B[K][N] of half, a word has two columns


@for_each(
    ("old", "new", "found"),
    [
        (ROWS, ROWS, []),
        (ROWS, "(k + t) * N + n0 + g / 2;", ["fragment_mismatch"]),
        (
            HALVES,
            "const uint32_t* b = (const uint32_t*)((const half*)B + (k + t) * N + n0 + g);",
            ["fragment_mismatch"],
        ),
    ],
)
def test_words_of_two_k_may_lie_a_row_apart(old: str, new: str, found: list[str]) -> None:
    assert list_codes(plant((old, new), text=WORDS)) == found
