"""Whole kernels in the styles that people write (tests/kernels): a right one is verified to its last read, and one with
a planted mistake is not told to be right.

What each must give was reasoned by hand from the tile's layout: docs/guide has the canonical layouts, and each file
says what it stores.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from lanescope.reader.threads.kernels import run_kernels
from lanescope.workbench.check_report import CheckReport
from tests.cases import for_each
from tests.checked import check_text, check_whole
from tests.sample import take_sample

KERNELS = Path(__file__).parent / "kernels"
SHARED = '#include "accumulators.h"\n'
# file → (reads of one round of its loops, mistakes as (what stands there, what is written instead))
TABLE: dict[str, tuple[int, tuple[tuple[str, str], ...]]] = {
    "one_stage": (
        8,
        (
            ("encode((uint64_t)1024) << 32", "encode((uint64_t)64) << 32"),  # half of the rows' distance in elements
            ("1llu << 62", "2llu << 62"),  # the 64B swizzle
            ("1llu << 62", "3llu << 62"),  # the tensor map's code of 128B
            ("&sA[2 * 16], &sB[2 * 16]", "&sA[2 * 16], &sB[2 * 32]"),
            ("SWIZZLE_128B", "SWIZZLE_64B"),
            ("<1, 0, 0>(d, &sA[16]", "<1, 0, 1>(d, &sA[16]"),  # B of one step transposed
        ),
    ),
    "ring_of_stages": (
        24,
        (
            ("stage * BN * BK + k * 16", "stage * BN * BK + k * 32"),
            ("(uint64_t)(1024 >> 4) << 32", "(uint64_t)1024 << 32"),  # SBO is not shifted
            ("(smem_u32(tile) & 0x3FFFF) >> 4", "(smem_u32(tile) & 0x3FFFF)"),
            ("&s.B[stage * BN * BK + k * 16]", "&s.B[stage * BM * BK + k * 16]"),  # A's stride between stages
            ("box[2] = {64, box_rows}", "box[2] = {32, box_rows}"),
        ),
    ),
    "gmma_descriptor": (
        8,
        (
            ("LayoutType::B128", "LayoutType::B64"),
            ("8 * 64 * sizeof(half_t) >> 4", "8 * 64 >> 4"),  # elements, not bytes
            ("desc_b.desc_ + k * 2", "desc_b.desc_ + k * 32"),
            ("cast_smem_ptr_to_uint(tile) >> 4", "cast_smem_ptr_to_uint(tile)"),
            ("stride_byte_offset_ = 8", "leading_byte_offset_ = 8"),
        ),
    ),
    "fp8_class_of_instruction": (
        16,
        (
            ("smem_b[s] + k * WGMMA::K, 1)", "smem_b[s] + k * WGMMA::K / 2, 1)"),
            ("stride_byte_offset = 1024", "stride_byte_offset = 512"),
            ("smem_a[s] + k * WGMMA::K, 1)", "smem_a[s] + k * WGMMA::K, 2)"),
            ("M = 64, N = 64, K = 32", "M = 64, N = 64, K = 16"),  # the step of bf16
            ("CU_TENSOR_MAP_SWIZZLE_128B", "CU_TENSOR_MAP_SWIZZLE_NONE"),
        ),
    ),
    "tile_types": (
        16,
        (
            ("(chunk / 4) * ST::rows * 128", "(chunk / 4) * 128"),  # the next row instead of the next panel
            ("(chunk % 4) * 32 + (chunk / 4) * ST::rows * 128", "chunk * 32"),
            ("(1llu << 62)", "(1llu << 61)"),
            ("matrix_descriptor_encode((uint64_t)1024) << 32", "matrix_descriptor_encode((uint64_t)2048) << 32"),
        ),
    ),
    "narrow_swizzle": (
        4,
        (
            ("B128 = 1, B64 = 2", "B128 = 2, B64 = 1"),
            ("&Bs[0][k], 8 * BK * sizeof(half)", "&Bs[0][k], 8 * BK"),
            ("&As[0][k]", "&As[k][0]"),
            ("SWIZZLE_64B", "SWIZZLE_128B"),
        ),
    ),
    "attention": (
        12,
        (
            ("k + i * 16, 16, 1024", "k + i * 16 * kHeadDim, 16, 1024"),  # V's step for K
            ("v + i * 16 * kHeadDim, 1024, 1024", "v + i * 16, 1024, 1024"),
            ("%36, 1, 1, 1, 1;", "%36, 1, 1, 1, 0;"),  # V is not transposed
            ("v + i * 16 * kHeadDim, 1024, 1024", "v + i * 16 * kHeadDim, 1024, 512"),
        ),
    ),
    "two_consumers": (
        8,
        (
            ("a += 2, b += 2", "a += 2, b += 4"),
            ("group * 64 * BK * sizeof(bf16)", "group * 64 * BK"),  # half a tile further
            ("uint64_t(1024 >> 4) << 32", "uint64_t(512 >> 4) << 32"),
        ),
    ),
    "mn_major_b": (
        4,
        (
            ("wgmma<1>(d", "wgmma<0>(d"),
            ("b + k * 16 * PANEL * sizeof(T)", "b + k * 32"),  # a K-major step
            (
                "lbo = TILE_K * PANEL * sizeof(T), sbo = 8 * PANEL * sizeof(T)",
                "sbo = TILE_K * PANEL * sizeof(T), lbo = 8 * PANEL * sizeof(T)",
            ),
            ("uint64_t(512 >> 4) << 32", "uint64_t(1024 >> 4) << 32"),
        ),
    ),
    "words_in_ptx": (
        8,
        (
            ("mov.u32 hi, 0x40000040", "mov.u32 hi, 0x80000040"),
            ("mov.u32 hi, 0x40000040", "mov.u32 hi, 0x40000400"),
            ("shr.u32 lo, lo, 4", "shr.u32 lo, lo, 3"),
            ("advance(desc_b, k * 32)", "advance(desc_b, k * 64)"),
            ("shr.u64 by, by, 4; ", ""),
        ),
    ),
    "tf32_short_rows": (
        8,
        (
            ("k_major_descriptor<128>(b_tile + k)", "k_major_descriptor<64>(b_tile + k)"),
            ("8 * kSwizzleBytes / 16", "kSwizzleBytes / 16"),
            ("k < kTileK; k += 8", "k < kTileK; k += 16"),  # every other step is left out
        ),
    ),
    "halves_of_a_word": (
        24,
        (
            ("lower_w + 2 * k", "lower_w + 4 * k"),
            ("1u << 30 | 1024 / 16", "1u << 31 | 1024 / 16"),
            ("1u << 30 | 1024 / 16", "1u << 30 | 1024"),
            ("w = x + kRowsA * kDepth * sizeof(bf16)", "w = x + kRowsA * kDepth"),  # B begins in the midst of A
        ),
    ),
    "wide_depth": (
        48,
        (
            ("k / 64 * kPanelBytes + k % 64 * 2", "k * 2"),
            ("kPanelBytes = kRows * 128", "kPanelBytes = 64 * 128"),  # A's panel for B
            ("1024 / 16 | 1u << 30", "1024 / 16 | 1u << 29"),
        ),
    ),
    "chosen_kernel": (
        12,
        (
            ("a + kStep * 32, 1024", "a + kStep * 16, 1024"),
            ("b + kStep * 32, 1024", "b + kStep * 32, 2048"),
            ("(uint64_t)(stride_bytes >> 4) << 32", "(uint64_t)(stride_bytes >> 4) << 30"),
            ("part * 64 * 128", "part * 64 * 64"),
        ),
    ),
}
# What is written instead where the text leaves open whether it is a mistake: boxes that its TMA loads lay over one
# another or do not load; how many warpgroups share a tile is not known.
OPEN = frozenset(
    {
        "box[2] = {32, box_rows}",
        "M = 64, N = 64, K = 16",
        "group * 64 * BK",
        "wgmma<0>(d",
        "shr.u32 lo, lo, 3",
        "w = x + kRowsA * kDepth",
        "kPanelBytes = 64 * 128",
    }
)
MISTAKES = [(name, *pair) for name, (_, pairs) in TABLE.items() for pair in pairs]


@cache
def check_kernel(name: str, old: str = "", new: str = "") -> CheckReport:
    """What check says of a kernel, with the file that the kernels share put in and one text replaced."""
    text = (KERNELS / f"{name}.cu").read_text()
    assert not old or old in text
    checks = check_text if old else check_whole
    return checks(text.replace(old, new).replace(SHARED, (KERNELS / "accumulators.h").read_text()))


def test_every_kernel_stands_in_the_table() -> None:
    assert {path.stem for path in KERNELS.glob("*.cu")} == set(TABLE)


@for_each("name", TABLE, sample=5)
def test_a_right_kernel_is_verified(name: str) -> None:
    found = check_kernel(name)
    open_points = [point for point in found.open if "is not known to be A·B" not in point.message]  # some store no D
    assert (found.findings, open_points, found.steps) == ((), [], TABLE[name][0])


@for_each(("name", "old", "new"), take_sample(MISTAKES, 6), sample=3)
def test_a_mistake_is_found_or_open(name: str, old: str, new: str) -> None:
    found = check_kernel(name, old, new)
    assert found.open if new in OPEN else found.findings


ROUNDED = "(static_cast<uint32_t>(__cvta_generic_to_shared(unaligned)) + 1023) & ~1023u"
SPELLED = [  # other words for the same
    ("wide_depth", ROUNDED, "(static_cast<uint32_t>(__cvta_generic_to_shared(unaligned)) + 1023) / 1024 * 1024"),
    ("wide_depth", ROUNDED, "((uint32_t)__cvta_generic_to_shared(unaligned) + 1023) >> 10 << 10"),
    ("wide_depth", ROUNDED, "((uint32_t)__cvta_generic_to_shared(unaligned) + 0x3FF) & 0xFFFFFC00"),
    (
        "wide_depth",
        ROUNDED,
        "(uint32_t)__cvta_generic_to_shared((void*)(((uintptr_t)unaligned + 1023) & ~uintptr_t(1023)))",
    ),
    ("two_consumers", "threadIdx.x / 128", "threadIdx.x >> 7"),
    ("two_consumers", "threadIdx.x / 128", "(threadIdx.x / 32) / 4"),
    ("two_consumers", "threadIdx.x / 128", "(int)threadIdx.x / 128"),
    ("two_consumers", "threadIdx.x / 128", "__shfl_sync(0xffffffff, threadIdx.x / 128, 0)"),
    ("two_consumers", "threadIdx.x / 128;\n  if (group == 2)", "threadIdx.x / 128 - 1;\n  if (group == -1)"),
    ("one_stage", "threadIdx.x == 0", "elect_one_sync()"),
    ("one_stage", "if (!map_a || last_m != M)", "if (last_m != M || map_a == nullptr)"),
    ("halves_of_a_word", "__cvta_generic_to_shared(smem)", "smem_u32(smem)"),
    ("narrow_swizzle", "selp.u32 %0, 1, 0, p;", "selp.b32 %0, 1, 0, p;"),
]


@for_each(("name", "old", "new"), take_sample(SPELLED, 4), sample=2)
def test_a_right_kernel_in_other_words_is_verified(name: str, old: str, new: str) -> None:
    found = check_kernel(name, old, new)
    assert (found.findings, found.open, found.steps) == ((), (), TABLE[name][0])


TAKEN = [  # the ring of stages in arrays that an object gives out, in a class whose members make others of its template
    (
        "template <int BM, int BN, int BK, int STAGES>\n__global__",
        """template <int ROWS> struct Rows { bf16 x[ROWS * 64]; };
struct Memory {
  uint8_t* at;
  template <typename T> __device__ T& take() { T* out = reinterpret_cast<T*>(at); at += sizeof(T); return *out; }
};
template <int SIZE> struct Range {
  uint32_t at;
  __device__ explicit Range(uint32_t first) : at(first) {}
  template <int PART> __device__ Range<PART> part(int n) const { return Range<PART>(at + n * SIZE); }
};
template <int BM, int BN, int BK, int STAGES>
__global__""",
    ),
    (
        "  const int blocks",
        "  Memory memory{raw};\n  Rows<BM> (&a)[STAGES] = memory.take<Rows<BM>[STAGES]>();\n"
        "  auto& b = memory.take<Rows<BN>[2][STAGES / 2]>();\n  const int blocks",
    ),
    ("s.A[stage * BM * BK", "a[stage].x[0"),
    ("s.B[stage * BN * BK", "b[stage / 2][stage % 2].x[0"),
    ('"r"(smem_u32(&s.full[stage])), "r"((BM', '"r"(Range<8>(smem_u32(s.full)).part<4>(stage).at), "r"((BM'),
    ("map_b, int K)", "map_b, int K, float* C, int N)"),
    (
        "      if (++stage == STAGES) { stage = 0; phase ^= 1; }\n    }\n  }\n}",
        """      if (++stage == STAGES) { stage = 0; phase ^= 1; }
    }
    int row = blockIdx.y * BM + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
    float* to = C + row * N + blockIdx.x * BN + threadIdx.x % 4 * 2;
    for (int j = 0; j < BN / 8; ++j)
      for (int e = 0; e < 4; ++e) to[e / 2 * 8 * N + j * 8 + e % 2] = d[j * 4 + e];
  }
}""",
    ),
    ("void* b, int M", "void* b, float* c, int M"),
    ("(map_a, map_b, K)", "(map_a, map_b, K, c, N)"),
]


def test_arrays_that_an_object_gives_out_are_followed() -> None:
    text = (KERNELS / "ring_of_stages.cu").read_text().replace(SHARED, (KERNELS / "accumulators.h").read_text())
    for old, new in TAKEN:
        assert old in text
        text = text.replace(old, new)
    right = check_whole(text)
    assert (right.findings, right.open, right.steps) == ((), (), TABLE["ring_of_stages"][0])
    assert check_text(text.replace(".x[0 + k * 16]", ".x[0 + k * 32]")).findings


def test_a_word_that_an_open_step_moves_is_open() -> None:
    """Without its header, the macro in the asm is open, and so is k after it: the word is a sum with all its fields."""
    assert not check_text((KERNELS / "words_in_ptx.cu").read_text()).findings


def test_a_kernel_without_products_is_left_sooner() -> None:
    """The time of a file is for kernels that multiply."""
    loop = "__global__ void sums(float* p) {{ float s = 0; for (int i = 0; i < 3000; ++i) {{ s += p[i]; }} {} }}\n"
    launch = "int main() { sums<<<1, 32>>>(p); }\n"
    for rest, complete in (("p[0] = s;", False), ("mma_sync(d, a, b, d);", True)):
        [[run]] = run_kernels(loop.format(rest) + launch, {})
        assert run.complete == complete
