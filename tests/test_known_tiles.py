"""D of tiles that threads fill, of sums of too little, and of launches with numbers."""

from __future__ import annotations

import pytest

from lanescope.workbench.fragments.thread_tiles import check_thread_tiles
from lanescope.workbench.products.result_judge import judge_results
from tests.ampere_kernels import TEMPLATES
from tests.cases import for_each
from tests.checked import check_whole
from tests.known_kernels import GROUPS, KERNEL, LAUNCH, TILED, list_wrong
from tests.sample import take_sample
from tests.test_check_results import WMMA
from tests.transfer_kernels import plant

SHORT, PARTIAL = "k_slices_left", "tile_not_filled"
LAST = ("K; k0 += BK", "K - BK; k0 += BK")
WRONG = {
    "a sum without its last slice": (KERNEL, ("k < K / 32", "k < K / 32 - 1"), SHORT, "k < K / 32 - 1"),
    "a sum without its first slice": (KERNEL, ("k = 0", "k = 1"), SHORT, "k < K / 32"),
    "a sum that goes on beyond K": (KERNEL, ("k < K / 32", "k <= K / 32"), SHORT, "k <= K / 32"),
    "by ldmatrix": (TILED, LAST, SHORT, "k0 < K - BK"),
    "by wgmma": (GROUPS, ("k0 < K", "k0 < K - 64"), SHORT, "k0 < K - 64"),
    "half of each tile": (TILED, ("kk < BK;", "kk < BK - 16;"), "k_slice_skipped", "kk < BK - 16"),
    "one of two slices of each tile": (WMMA, ("k < TK; k += 16", "k < TK; k += 32"), "k_slice_skipped", "k < TK"),
    "a copy of half of K": (TILED, ("c = i % (BK / 8) * 8;", "c = i % (BK / 16) * 8;"), PARTIAL, "i < BM * BK / 8"),
    "a copy of half the rows": (GROUPS, ("i < 64 * 8", "i < 32 * 8"), PARTIAL, "i < 32 * 8"),
}
SECOND = """
__global__ void rest(const half* A, const half* B, float* C, int M, int N, int K) {}
void run(const half* A, const half* B, float* C, int M, int N, int K) {
  gemm<<<dim3(N / 64, M / 64), 128>>>(A, B, C, M, N, K);
  rest<<<1, 1>>>(A, B, C, M, N, K);
}
"""


B_WORD = ", k * 32 + t * 4 + 20 < K ? *reinterpret_cast<const uint32_t*>(b + k * 32) : 0,"
LOAD, DEPTH = "x[i] = *reinterpret", "k * 32 + t * 4 + i / 2 * 16"
SQUARE = LAUNCH.replace("sb, M, N, K);\n", "sb, M, N, M);\n")


BATCHES = plant(  # one of x, the matrices of a batch along y
    ("row = blockIdx.y * 32", "tiles = N / 8, row = blockIdx.x / tiles * 32"),
    ("col = blockIdx.x * 8", "col = blockIdx.x % tiles * 8"),
    *((f"blockIdx.z * {size}", f"blockIdx.y * {size}") for size in ("M * K", "N * K", "M * N")),
    text=KERNEL + LAUNCH,
)
BATCHES = plant(
    ("dim3(N / 8, M / 32)", "dim3(N / 8 * (M / 32), batch)"),
    ("int K) {\n  gemm", "int K, int batch) {\n  gemm"),
    text=BATCHES,
)
PARTS = plant(  # of K, each stored in a matrix of its own
    ("blockIdx.z * M * K", "blockIdx.z * (K / gridDim.z)"),
    ("blockIdx.z * N * K", "blockIdx.z * (K / gridDim.z)"),
    ("k < K / 32", "k < K / 32 / gridDim.z"),
    ("sa[r] * sb[n] * d[i]", "d[i]"),
    ("M / 32)", "M / 32, parts)"),
    ("int K) {\n  gemm", "int K, int parts) {\n  gemm"),
    text=KERNEL + LAUNCH,
)


@for_each(
    ("text", "wrong"),
    [
        (BATCHES, ("blockIdx.y * M * K", "blockIdx.y * M * N")),
        (BATCHES, ("C + blockIdx.y", "C + blockIdx.z")),
        (PARTS, ("C + blockIdx.z * M * N", "C + blockIdx.z * M * K")),
        (PARTS, ("A + blockIdx.z * (K / gridDim.z)", "A + blockIdx.z * 32")),
    ],
    ids=["batches", "batches that share D", "parts of K", "parts that overlap"],
)
def test_a_matrix_for_each_block_along_y_or_for_each_part_of_k(text: str, wrong: tuple[str, str]) -> None:
    report = check_whole(text)
    assert report.open == () == report.findings
    report = check_whole(plant(wrong, text=text))
    assert report.findings or any("not known to be A·B" in point.message for point in report.open)


@for_each(
    ("change", "mistakes"),
    [
        ((LOAD, f"if ({DEPTH} < K) {LOAD}"), []),
        ((LOAD, f"if (row < M && {DEPTH} < K) {LOAD}"), []),
        ((LOAD, f"if (threadIdx.x < M) {LOAD}"), []),
        (("k < K / 32", "k < K / 32 && k * 32 < K"), []),
        (("c[r *", "if (r < M && n < N) c[r *"), []),
        ((LOAD, f"if ({DEPTH} < M) {LOAD}"), [("bound_of_other_size", "M")]),
        (("x[i] = *", f"x[i] = {DEPTH} >= N ? 0 : *"), [("bound_of_other_size", "N")]),
    ],
    sample="mistakes",
)
def test_bounds_along_k_are_k(change: tuple[str, str], mistakes: list[tuple[str, str]]) -> None:
    """K is not larger than M or N in most runs: that k < M is wrong is seen where it is."""
    assert list_wrong(plant(change, text=KERNEL)) == mistakes


@for_each(
    ("change", "place"),
    [
        (("x[i] = *", f"x[i] = {DEPTH} + 4 >= K ? 0 : *"), (">=", ">")),
        (("x[i] = *", f"x[i] = {DEPTH} + 32 > K ? 0 : *"), ("32", "4")),
        ((", *reinterpret_cast<const uint32_t*>(b + k * 32),", B_WORD), ("<", "<=")),
    ],
    sample=1,
)
def test_conditions_leave_out_no_elements_along_k(change: tuple[str, str], place: tuple[str, str]) -> None:
    text = plant(change, text=KERNEL)
    [found] = judge_results(text, {}, (), {"gemm"}).mistakes
    assert (found.code, text[slice(*found.span)], found.edits[0].text) == (SHORT, *place)


def test_a_bound_of_a_size_that_all_launches_make_equal_is_no_mistake() -> None:
    report = check_whole(plant((LOAD, f"if ({DEPTH} < M) {LOAD}"), text=KERNEL + SQUARE))
    assert report.open and not report.findings


def test_columns_are_not_kept_below_k() -> None:
    text = plant(("c[r *", "if (r < M && n < K) c[r *"), text=KERNEL + LAUNCH)
    [found] = check_whole(text).findings
    assert (found.code, text[slice(*found.span)], found.edits[0].text) == ("bound_of_other_size", "K", "N")


@for_each("text", [TILED, GROUPS], ids=["by ldmatrix", "by wgmma"])
def test_tiles_of_threads_give_the_product(text: str) -> None:
    assert judge_results(text, {}, (), {"gemm"}) == ([], [], {"gemm": False})


def test_each_warpgroup_stores_its_own_rows() -> None:
    """Both issue the same wgmma: the elements of D that one stores are not those of the other."""
    pair = plant(
        ("__launch_bounds__(128)", "__launch_bounds__(256)"),
        ("sA[64 * 64];", "sA[128 * 64];"),
        ("i < 64 * 8; i += 128", "i < 128 * 8; i += 256"),
        ("      *(uint4*)&sB", "      if (i < 64 * 8) *(uint4*)&sB"),
        ("make_desc(sA", "make_desc(sA + threadIdx.x / 128 * 64 * 64"),
        ("A[(blockIdx.x * 64", "A[(blockIdx.x * 128"),
        ("C + (blockIdx.x * 64", "C + (blockIdx.x * 128"),
        text=GROUPS,
    )
    assert judge_results(pair, {}, (), {"gemm"}) == ([], [], {"gemm": False})


HOST = "int main() {{ half *A, *B; float* C; gemm<<<dim3({}), 128>>>(A, B, C, {}); }}\n"


@for_each(
    ("grid", "sizes", "codes", "why"),
    [
        ("64, 32", "2048, 4096, 1024", ["k_slices_left"], ""),  # N / 64, M / 64
        ("32, 16", "2048, 4096, 1024", [], "all of its tiles"),
        ("16, 16", "1000, 1000, 1000", [], "is not a multiple of 16"),
        ("6, 5", "320, 384, 192", [], ""),  # tiles divide them
    ],
    sample=1,
)
def test_m_n_and_k_may_be_numbers_of_the_launch(grid: str, sizes: str, codes: list[str], why: str) -> None:
    """A long K is run for 384 of its elements. The last slice is left out of the sum that is wrong."""
    host = HOST.format(grid, sizes)
    report = check_whole(TILED + host)
    assert not report.findings
    assert [why in one.message for one in report.open] == [True] * bool(why)
    assert [one.code for one in check_whole(plant(LAST, text=TILED) + host).findings] == codes


@for_each(("text", "change", "code", "place"), take_sample(list(WRONG.values()), 4), sample=2)
def test_a_sum_of_too_little_is_found(text: str, change: tuple[str, str], code: str, place: str) -> None:
    assert list_wrong(plant(change, text=text)) == [(code, place)]


LOADS = """__device__ void load(uint32_t (&x)[4][4], uint32_t at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
      : "=r"(x[0][0]), "=r"(x[0][1]), "=r"(x[0][2]), "=r"(x[0][3]) : "r"(at));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
      : "=r"(x[1][0]), "=r"(x[1][1]), "=r"(x[1][2]), "=r"(x[1][3]) : "r"(at + 32));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
      : "=r"(x[2][0]), "=r"(x[2][1]), "=r"(x[2][2]), "=r"(x[2][3]) : "r"(at + 64));
}
"""
FIRST = "      uint32_t a[4];\n      ldm_x4(a, smem_addr(&As[(warp * 16 + lane % 16) * PITCH + kk + lane / 16 * 8]));\n"
UNROLLED = plant(
    ("constexpr int BM", f"{LOADS}constexpr int BM"),
    ("BK = 32", "BK = 48"),
    (
        "    for (int kk",
        "    uint32_t x[4][4], at = smem_addr(&As[(warp * 16 + lane % 16) * PITCH + lane / 16 * 8]);\n"
        "    load(x, at);\n"
        "    for (int kk",
    ),
    (FIRST, "      uint32_t (&a)[4] = x[kk / 16];\n"),
    text=TILED,
)


@pytest.mark.thorough
@for_each(
    ("change", "found"),
    [
        (('x[1][1]), "=r"(x[1][2])', 'x[1][2]), "=r"(x[1][1])'), [("registers_exchanged", "x[1][2]")]),
        (('x[2][0]), "=r"(x[2][1])', 'x[2][1]), "=r"(x[2][0])'), [("registers_exchanged", "x[2][1]")]),
    ],
    sample=1,
)
def test_a_load_unlike_the_others_is_wrong_if_an_edit_gives_the_product(
    change: tuple[str, str], found: list[tuple[str, str]]
) -> None:
    assert list_wrong(UNROLLED) == [] and list_wrong(plant(change, text=UNROLLED)) == found


@pytest.mark.thorough
@for_each(
    "changes",
    [
        (("int K)", "int K, int past)"), ("k0 < K", "k0 < past * BK")),  # K of this launch is not known
        (LAST, ("n * 8 + e % 2] = acc", "n * 8 + e % 2] += acc")),  # another launch adds the rest
        (LAST, ("float acc[8][4] = {};", "float acc[8][4] = {};\n  if (*C > 0) K += BK;")),
        (("BK = 32", "BK = 80"),),  # K is a multiple of 80
    ],
    sample=2,
)
def test_a_sum_that_may_be_meant_is_open(changes: tuple[tuple[str, str], ...]) -> None:
    assert list_wrong(plant(*changes, text=TILED)) == []


@for_each(("place", "found"), [("As + BM", []), ("As - BN", ["store_outside"])], sample=2)
def test_a_store_before_dynamic_shared_memory_is_found(place: str, found: list[str]) -> None:
    arrays = ("__shared__ half As[BM * PITCH]", "extern __shared__ half As[]")
    text = plant(arrays, ("__shared__ half Bs[BN", f"half* Bs = ({place}"), ("PITCH];", "PITCH);"), text=TILED)
    assert [code for code, _ in list_wrong(text)] == found


@pytest.mark.thorough
def test_another_kernel_that_is_launched_beside_may_add_the_rest() -> None:
    assert check_whole(plant(LAST, text=TILED) + SECOND).findings == ()


@pytest.mark.thorough
def test_a_kernel_elsewhere_that_adds_to_an_array_may_add_the_rest() -> None:
    rest = "__global__ void rest(float* C) { C[threadIdx.x] += 1; }\n"
    assert list_wrong(plant(LAST, text=TILED)) and not list_wrong(plant(LAST, text=TILED) + rest)


@pytest.mark.thorough
def test_elements_that_are_combined_with_computed_ones_are_open() -> None:
    sums = (
        "  __shared__ float sums[128];\n  sums[threadIdx.x] = float(A[threadIdx.x * K]) + float(A[threadIdx.x]);\n"
        "  __syncthreads();\n"
    )
    text = plant(("  float* c = C", f"{sums}  float* c = C"), ("= acc[n][e];", "= acc[n][e] + sums[lane];"), text=TILED)
    wrong, (open_,), _ = judge_results(text, {}, (), {"gemm"})
    assert not wrong and "combined with elements of an array" in open_.message


@pytest.mark.thorough
def test_the_rows_of_a_matrix_of_unknown_size_may_be_padding() -> None:
    half = plant(("i < 64 * 8", "i < 32 * 8"), text=GROUPS)
    assert list_wrong(half.replace("int M, int N, int K", "int N, int K")) == []


@for_each(("given", "needed"), [("0, 1", "0"), ("1, 0", "0")], sample=1)
def test_a_transpose_immediate_is_wrong_if_the_other_one_gives_the_product(given: str, needed: str) -> None:
    text = plant(("1, 1, 1, 0, 0;", f"1, 1, 1, {given};"), text=GROUPS)
    (found,) = judge_results(text, {}, (), set(), {"gemm"})[0]
    (edit,) = found.edits
    assert (found.code, edit.text, edit.span) == ("wrong_transpose", needed, found.span)
    assert text[: found.span[1]].endswith(given.partition("1")[0] + "1")


def test_descriptors_that_may_have_the_other_major_are_doubted() -> None:
    report = check_thread_tiles(plant(("1, 1, 1, 0, 0;", "1, 1, 1, 0, 1;"), text=GROUPS), {})
    assert (report.described, report.doubted) == (set(), {"gemm"})
    assert check_thread_tiles(GROUPS, {}).described == {"gemm"}


# each block along z adds the sum over its part of K
PARTS = plant(
    ("int K)", "int K, int splits)"),
    ("int k0 = 0; k0 < K;", "int k0 = blockIdx.z * (K / splits); k0 < (blockIdx.z + 1) * (K / splits);"),
    ("c[e / 2 * 8 * N + n * 8 + e % 2] = acc[n][e]", "atomicAdd(&c[e / 2 * 8 * N + n * 8 + e % 2], acc[n][e])"),
    text=TILED,
)


@for_each(
    ("change", "why"),
    [
        (("(blockIdx.z + 1) * (K / splits)", "(blockIdx.z + 1) * (K / splits) - BK"), "not the sum over each"),
        (("float* C", "float* C"), ""),
    ],
    sample=1,
)
def test_blocks_along_z_may_divide_a_k_of_any_length(change: tuple[str, str], why: str) -> None:
    report = check_whole(plant(change, text=PARTS) + HOST.format("64, 32, 8", "2048, 4096, 8192, 8"))
    assert not report.findings
    assert [why in one.message for one in report.open] == [True] * bool(why)


TURNED = plant(
    ("float* C", "half* C"),
    (
        "float* c = C + (blockIdx.y * BM + warp * 16 + lane / 4) * N + blockIdx.x * BN + lane % 4 * 2;",
        "__shared__ half s[BN][BM + 8];",
    ),
    (
        "c[e / 2 * 8 * N + n * 8 + e % 2] = acc",
        "s[n * 8 + lane % 4 * 2 + e % 2][warp * 16 + lane / 4 + e / 2 * 8] = acc",
    ),
    (
        "acc[n][e];\n}",
        """acc[n][e];
  __syncthreads();
  for (int i = threadIdx.x; i < BN * BM / 8; i += 128) {
    int row = i / (BM / 8), m = i % (BM / 8) * 8;
    *(uint4*)&C[(blockIdx.x * BN + row) * M + blockIdx.y * BM + m] = *(uint4*)&s[row][m];
  }
}""",
    ),
    text=TILED,
)


@for_each(
    ("change", "why"),
    [(("BN + row) * M", "BN + row) * 4096"), "row and column"), (("half* C", "half* C"), "")],
    sample=1,
)
def test_columns_of_d_may_become_rows_in_shared_memory(change: tuple[str, str], why: str) -> None:
    wrong, open_, _ = judge_results(plant(change, text=TURNED), {}, (), {"gemm"})
    assert not wrong
    assert [why in one.message for one in open_] == [True] * bool(why)


def test_a_k_that_the_program_refuses_shows_no_mistake() -> None:
    """They are not run, and what a longer K shows need not hold for those that are."""
    short = plant(("k < K / 32", "k < K / 32 - 1"), text=KERNEL)
    assert [code for code, _ in list_wrong(short)] == [SHORT]
    assert list_wrong(f"void check(int K) {{ if (K > 256) throw 1; }}\n{short}") == []
    assert list_wrong(f"void check(int K) {{ if (K > 65536) throw 1; }}\n{short}")


@pytest.mark.thorough
def test_tiles_that_overlap_reach_beyond_k() -> None:
    """The products take half of each tile, and the last one has its other half after the last row."""
    text = plant(("kk < BK;", "kk < BK - 16;"), ("K; k0 += BK", "K; k0 += BK / 2"), text=TILED)
    assert [code for code, _ in list_wrong(text)] == ["load_outside"]


GUARD = "if (tile + kStages - 1 < tiles) load_tile"


@pytest.mark.thorough
@for_each(
    ("changes", "found"),
    [
        (((GUARD, "load_tile"),), [("load_outside", "load_tile((slot + kStages - 1) % kStages, tile + kStages - 1)")]),
        ((), []),
        (((GUARD, GUARD.replace("<", "<=")),), [("load_outside", "load_tile((slot + kStages - 1) % kStages,")]),
        ((("    load_tile(s, s);", "    if (s < K / BK) load_tile(s, s);"),), []),
    ],
    sample=1,
)
def test_the_last_turns_load_no_slice_beyond_k(
    changes: tuple[tuple[str, str], ...], found: list[tuple[str, str]]
) -> None:
    """Those before the loop may: K fills the ring, or is too short for the kernel. It is a note: A may be longer."""
    text = plant(*changes, text=TEMPLATES)
    report = check_whole(text)
    codes = [(one.code, text[slice(*one.span)]) for one in report.doubts]
    assert [(code, at[: len(place)]) for (code, at), (_, place) in zip(codes, found, strict=True)] == found
    assert not report.findings


@pytest.mark.thorough
def test_a_ring_may_be_longer_than_k() -> None:
    """Before the loop, 7 slices of 64 are loaded; the first run has K = 384."""
    report = check_whole(TEMPLATES.replace("64, 64, 64, 4>", "64, 64, 64, 8>").replace("bytes = 4 *", "bytes = 8 *"))
    assert (report.findings, report.doubts, report.open) == ((), (), ())


@for_each(
    ("old", "new", "found"),
    [
        ("sa[r]", "sa[row]", True),  # for row + 8, too
        ("sa[r]", "sa[row + i / 2 * 4]", True),
        ("sb[n]", "sb[col + t * 2]", True),
        ("sb[n]", "sb[i % 2 ? n + 1 : n]", True),
        ("sb[n]", "sb[i % 2 && blockIdx.x ? n + 1 : n]", True),
        ("sb[n]", "sb[n + 1]", False),  # of all elements: perhaps the array begins earlier
        ("sb[n]", "sb[n / 16]", False),
        ("sb[n]", "sb[n / 512]", False),
        ("sb[n]", "sb[n % 8]", False),  # of the tile
        ("sb[n] * d[i]", "(d[i] * sb[n / 2 * 2] - d[i ^ 1] * sb[n / 2 * 2 + 1])", False),  # rotates pairs
        ("sb[n] * d[i]", "(i % 2 ? d[i - 1] * sb[n - 1] + d[i] * sb[n] : d[i] * sb[n])", False),
    ],
    sample="found",
)
def test_an_element_takes_its_own_factor_as_the_others_do(old: str, new: str, found: bool) -> None:
    wrong = list_wrong(plant((old, new), text=KERNEL))
    assert [code for code, _ in wrong] == ["factor_misplaced"] * found
    assert not found or wrong[0][1] == new


@for_each(
    ("place", "found"),
    [
        ("c[r * N + n]", False),
        ("c[r + N + n]", True),
        ("c[r * 4 + n]", True),
        ("c[r * N + n % 4]", True),
        ("c[r >= n ? r * (r + 1) / 2 + n : n * (n + 1) / 2 + r]", False),  # of A·Aᵀ
        ("c[r * N * 2 + n]", False),  # the left half of a wider matrix
        ("c[r * 4096 + n]", False),
        ("c[(n / 64 * M + r) * 64 + n % 64]", False),  # in panels of 64 columns
    ],
    sample=3,
)
def test_no_element_is_stored_over_another(place: str, found: bool) -> None:
    text = plant(("c[r * N + n]", place), text=KERNEL)
    assert list_wrong(text) == [("result_misplaced", place)] * found
    assert not list_wrong(plant((f"{place} = sa[r] * sb[n] * d[i]", f"atomicAdd(&{place}, float(d[i]))"), text=text))


def test_a_pitch_that_the_launch_gives_may_be_long() -> None:
    pitch = plant(("int K)", "int K, int pitch)"), ("c[r * N + n]", "c[r * pitch + n]"), text=KERNEL)
    assert not check_whole(pitch + plant(("sb, M, N, K);", "sb, M, N, K, padded);"), text=LAUNCH)).findings


@for_each(("place", "count"), [("row", 0), ("row + threadIdx.x / 32", 1)], sample="place")
def test_warps_may_compute_the_same(place: str, count: int) -> None:
    changes = ("row = blockIdx.y * 32 + threadIdx.x / 32 * 16 + g", "row = blockIdx.y * 16 + g"), ("M / 32", "M / 16")
    tile = """  __shared__ float tile[16 * 8];
  for (int i = 0; i < 4; ++i) tile[(g + i / 2 * 8) * 8 + t * 2 + i % 2] = d[i];
  __syncthreads();
  for (int i = threadIdx.x; i < 128; i += 64) C[(blockIdx.y * 16 + i / 8) * N + col + i % 8] = tile[i];
}
"""
    text = (
        plant(*changes, text=KERNEL + LAUNCH)
        .replace("blockIdx.z * M * K + row * K", f"({place}) * K")
        .replace("blockIdx.z * N * K + ", "")
    )
    text = text[: text.index("  float* c = C")] + tile + LAUNCH.replace("M / 32", "M / 16")
    report = judge_results(text, {}, (), {"gemm"})
    assert len(report.open) == count and not report.mistakes
