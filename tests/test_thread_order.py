"""The order of copies, waits, barriers and reads in kernels with mma: right kernels pass, each lack is found."""

from __future__ import annotations

import pytest

from lanescope.workbench.fragments.thread_order import check_thread_order
from tests.cases import for_each
from tests.checked import check_text, list_codes
from tests.known_kernels import TILED
from tests.thread_tile_kernels import HELPERS, PADDED, STAGED, SWIZZLED
from tests.transfer_kernels import plant

BARRIER = "__syncthreads();\n    for (int kk"
LONGER = "half As[BM * PITCH]", "half As[BM * PITCH + 8]"


def list_found(text: str) -> list[tuple[str, str]]:
    """Return (code, its line) of each mistake of the order."""
    report = check_thread_order(text, {})
    return [(m.code, text[text.rfind("\n", 0, m.span[0]) + 1 :].split("\n")[0].strip()) for m in report.mistakes]


@for_each("text", [PADDED, SWIZZLED, STAGED], sample=2)
def test_right_kernels_are_followed(text: str) -> None:
    report = check_thread_order(text, {})
    assert (report.mistakes, report.left) == ((), frozenset())


def test_a_value_of_an_option_does_not_replace_a_constant_of_the_text() -> None:
    report = check_thread_order(STAGED, {"STAGES": "1", "K": "64"})
    assert (report.mistakes, report.left) == ((), frozenset())


@for_each(
    ("text", "old", "new", "code", "line"),
    [
        (STAGED, "wait<STAGES - 2>();", "wait<STAGES - 1>();", "copy_wait_short", "wait<STAGES - 1>();"),
        (STAGED, "    wait<STAGES - 2>();\n", "", "copy_wait_missing", "__syncthreads();"),
        (STAGED, "    __syncthreads();\n", "", "barrier_missing", "fill((t + STAGES - 1)"),
        (STAGED, "fill((t + STAGES - 1)", "fill((t + STAGES)", "refill_early", "fill((t + STAGES) % STAGES"),
        (
            PADDED,
            "    }\n    __syncthreads();\n    for",
            "    }\n    for",
            "barrier_missing",
            "for (int kk = 0;",
        ),
        (PADDED, "    }\n    __syncthreads();\n  }", "    }\n  }", "refill_early", "}"),
        (SWIZZLED, 'asm volatile("cp.async.wait_all;");', "", "copy_wait_missing", "__syncthreads();"),
        (SWIZZLED, "wait_all", "wait_group 0", "copy_commit_missing", "};"),
        (STAGED, "    COMMIT();  // each turn\n", "", "copy_commit_missing", "uint32_t a[4];"),
        # the first copies are in a later group
        (STAGED, "    COMMIT();\n", "", "copy_commit_missing", "for (int t = 0;"),
    ],
)
def test_what_is_missing_is_found_where_it_belongs(text: str, old: str, new: str, code: str, line: str) -> None:
    assert text.count(old) == 1
    ((found, place),) = list_found(text.replace(old, new))
    assert found == code
    assert place.startswith(line)


@for_each("turns", ["K / splits / BK", "(K / BK + splits - 1) / splits"], sample=1)
def test_an_argument_that_a_size_is_divided_by_counts_its_parts(turns: str) -> None:
    text = plant(("int K)", "int K, int splits)"), ("t < K / BK", f"t < {turns}"), text=STAGED)
    assert check_thread_order(text, {}).left == frozenset()
    assert list_found(text) == []
    assert list_found(text.replace("    COMMIT();  // each turn\n", ""))[0][0] == "copy_commit_missing"


def test_a_condition_that_is_not_known_hides_nothing_that_is_certain() -> None:
    maybe = STAGED.replace("    __syncthreads();\n", "    if (C[0] > 0) __syncthreads();\n")
    assert list_found(maybe) == []  # it may be executed


def test_a_shuffle_is_no_barrier() -> None:
    exchanged = "    acc[0][0] += __shfl_xor_sync(~0u, acc[0][0], 1);\n    wait<STAGES - 2>();\n"
    text = plant(("    wait<STAGES - 2>();\n    __syncthreads();\n", exchanged), text=STAGED)
    assert [one.code for one in check_thread_order(text, {}).mistakes] == ["barrier_missing"]


@pytest.mark.thorough
def test_a_function_without_a_body_may_be_a_barrier() -> None:
    assert list_found(STAGED.replace("    __syncthreads();\n", "    meet_at_stage(t);\n")) == []


OBJECTS = {
    "a constructor with an argument": ("Sync(int) { __syncthreads(); }", "{ Sync sync(t); }"),
    "a destructor": ("~Sync() { __syncthreads(); }", "{ Sync sync{}; (void)sync; }"),
    "an operator with a value": ("void operator<<(int) { __syncthreads(); }", "meet << t;"),
}


@pytest.mark.thorough
@for_each("name", OBJECTS, sample=1)
def test_an_object_may_hold_a_barrier(name: str) -> None:
    method, use = OBJECTS[name]
    declared = "" if "sync" in use else "  Sync meet;\n"
    text = STAGED.replace("__global__", f"struct Sync {{ __device__ {method} }};\n__global__")
    text = text.replace("  float acc", f"{declared}  float acc").replace(
        "    __syncthreads();\n    fill", f"    {use}\n    fill"
    )
    assert list_found(text) == []
    assert [code for code, _ in list_found(text.replace("__syncthreads();", ";"))] == ["barrier_missing"]


def test_an_object_commits_its_copies_where_its_scope_ends() -> None:
    text = STAGED.replace("__global__", "struct Group { __device__ ~Group() { COMMIT(); } };\n__global__")
    fill = "    fill((t + STAGES - 1) % STAGES, t + STAGES - 1);\n"
    text = text.replace(f"{fill}    COMMIT();", f"    {{ Group group; {fill.strip()} }}")
    assert text.count("Group") == 3 and list_found(text) == []


@pytest.mark.thorough
def test_the_base_of_a_class_may_hold_a_barrier() -> None:
    text = STAGED.replace("__global__", "struct Sync : Base {};\n__global__")
    assert list_found(text.replace("    __syncthreads();\n    fill", "    { Sync sync; }\n    fill")) == []


@pytest.mark.thorough
def test_an_order_that_is_not_followed_is_said() -> None:
    text = STAGED.replace("    __syncthreads();\n", "    meet(t);\n").replace("fill((t + ", "meet(t);\n    fill((t + ")
    assert [kernel.gap for kernel in check_text(text).kernels] == [
        "with stores and barriers whose order is not followed"
    ]


@pytest.mark.thorough
@for_each(
    ("ahead", "found"),
    [
        ("uint32_t b[2]; ldm_x2(b, smem_addr(&Bs[lane % 8 * PITCH]));", []),
        ("", [("refill_early", "As[tid] = acc[0][0];")]),
    ],
)
def test_the_last_turn_of_a_loop_may_read_ahead_for_nothing(ahead: str, found: list[tuple[str, str]]) -> None:
    """A matrix that no product takes, and beside it bytes that would be dequantized for that product."""
    end = f"    __syncthreads();\n  }}\n  {ahead}\n  half packed = As[lane];\n  As[tid] = acc[0][0];\n}}"
    assert list_found(PADDED.replace("    __syncthreads();\n  }\n}", end)) == found


# each warp has tiles of its own in two stages, so that one barrier a turn is enough
PACKED = r"""
using namespace nvcuda;
__global__ void __launch_bounds__(64) gemm(const int* A, const int* B, int* C, int N, int K) {
  __shared__ __align__(16) int8_t As[2][2][8][16], Bs[2][2][8][16];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  wmma::fragment<wmma::accumulator, 8, 8, 32, int> c;
  wmma::fill_fragment(c, 0);
  int stage = 0;
  for (int k = 0; k < K; k += 32, stage ^= 1) {
    const int at = k / 8 + lane % 4;
    *(int*)&As[stage][warp][lane / 4][lane % 4 * 4] = A[((blockIdx.y * 2 + warp) * 8 + lane / 4) * (K / 8) + at];
    *(int*)&Bs[stage][warp][lane / 4][lane % 4 * 4] = B[(blockIdx.x * 8 + lane / 4) * (K / 8) + at];
    __syncthreads();
    wmma::fragment<wmma::matrix_a, 8, 8, 32, wmma::experimental::precision::s4, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 8, 8, 32, wmma::experimental::precision::s4, wmma::col_major> b;
    wmma::load_matrix_sync(a, &As[stage][warp][0][0], 32);
    wmma::load_matrix_sync(b, &Bs[stage][warp][0][0], 32);
    wmma::mma_sync(c, a, b, c);
  }
  wmma::store_matrix_sync(C + (blockIdx.y * 2 + warp) * 8 * N + blockIdx.x * 8, c, N, wmma::mem_row_major);
}
"""


def test_the_pitch_of_packed_elements_is_not_in_bytes() -> None:
    """Rows of 32 elements of 4 bits are 16 bytes apart: no warp reads the tile of another."""
    assert list_found(PACKED) == []


# a block of one warp, which needs no __syncthreads(), by wmma: a fragment may have more than the rows that are followed
ONE_WARP = r"""
using namespace nvcuda;
constexpr int BK = 32, P = 40;
__global__ void __launch_bounds__(32) gemm(const half* A, const half* B, float* C, int N, int K) {
  __shared__ half As[16 * P], Bs[16 * P];
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
  wmma::fill_fragment(c, 0.f);
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = threadIdx.x; i < 16 * BK; i += 32) {
      As[i / BK * P + i % BK] = A[(blockIdx.y * 16 + i / BK) * K + k0 + i % BK];
      Bs[i / BK * P + i % BK] = B[(blockIdx.x * 16 + i / BK) * K + k0 + i % BK];
    }
    __syncwarp();
    for (int kk = 0; kk < BK; kk += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
      wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
      wmma::load_matrix_sync(a, &As[kk], P);
      wmma::load_matrix_sync(b, &Bs[kk], P);
      wmma::mma_sync(c, a, b, c);
    }
    __syncwarp();
  }
  wmma::store_matrix_sync(C + blockIdx.y * 16 * N + blockIdx.x * 16, c, N, wmma::mem_row_major);
}
"""


@for_each("second", ["__syncwarp();\n  }", ";\n  }"])
def test_a_warp_overwrites_what_it_need_not_have_read(second: str) -> None:
    assert list_found(ONE_WARP.replace("__syncwarp();\n  }", second)) == []


# warps ----------------------------------------------------------------------------------------------------------------

TWO_BY_TWO = (
    PADDED.replace("warp * 16 + lane % 16", "warp_m + lane % 16")
    .replace("n < 8; n++", "n < 2; n++")
    .replace("(n * 8 + lane % 8)", "(warp_n + n * 8 + lane % 8)")
    .replace("float acc", "int warp_m = warp / 2 * 16, warp_n = warp % 2 * 16;\n  float acc")
    .replace("BM = 64, BN = 64", "BM = 32, BN = 32")
)


@for_each(
    ("old", "new"),
    [
        ("m = warp / 2 * 16", "m = warp % 2 * 16"),
        ("n = warp % 2 * 16", "n = warp / 2 * 16"),
        ("n = warp % 2 * 16", "n = warp % 2 * 8"),
    ],
    sample=2,
)
def test_warps_that_multiply_the_same_fragments(old: str, new: str) -> None:
    assert check_text(TWO_BY_TWO).findings == ()
    text = TWO_BY_TWO.replace(old, new)
    (finding,) = check_text(text).findings
    assert (
        finding.code == "warps_overlap" and "int warp_m" in text[: finding.span[0]].rpartition("\n")[2] + "int warp_m"
    )
    assert text.count("\n", 0, finding.span[0]) == text.count("\n", 0, text.index("int warp_m"))


@pytest.mark.thorough
def test_a_part_of_the_tile_that_no_warp_reads() -> None:
    """Warps 2 and 3 multiply the rows of 0 and 1 again; rows 32 to 63 are loaded for nothing."""
    text = PADDED.replace("warp * 16 + lane % 16", "warp % 2 * 16 + lane % 16")
    assert list_codes(text) == ["warps_overlap"]


@pytest.mark.thorough
def test_a_warp_that_stores_nothing_may_repeat_another_one() -> None:
    """Three tiles for four warps: the last one multiplies the third tile again, and only the others store."""
    again = TILED.replace("warp * 16 + lane % 16", "min(warp, 2) * 16 + lane % 16")
    assert check_text(again).findings
    assert not check_text(again.replace("for (int e = 0;", "if (warp < 3) for (int e = 0;")).findings


# each warp has 32 rows, in two fragments
TALL = plant(
    ("BM = 64, BN = 64", "BM = 128, BN = 128"),
    ("warp = tid / 32;", "warp = tid / 32;\n  int warp_m = warp % 4;\n  int row0 = warp_m * 32;"),
    ("acc[8][4]", "acc[2][16][4]"),
    ("      uint32_t a[4];", "      for (int m = 0; m < 2; m++) {\n      uint32_t a[4];"),
    ("(warp * 16 + lane % 16)", "(row0 + m * 16 + lane % 16)"),
    ("n < 8", "n < 16"),
    ("mma16816(acc[n], a, b);\n      }", "mma16816(acc[m][n], a, b);\n      }\n      }"),
    text=PADDED,
)


@pytest.mark.thorough
def test_warps_that_share_a_part_of_their_rows() -> None:
    """The distance of the warps is too short: the first 80 of 128 rows are multiplied."""
    assert check_text(TALL).findings == ()
    text = TALL.replace("warp_m * 32", "warp_m * 16")
    (finding,) = check_text(text).findings
    assert (finding.code, text[slice(*finding.span)]) == ("warps_overlap", "warp_m * 16")


def test_two_copies_into_the_same_bytes() -> None:
    text = STAGED.replace("smem_addr(&Bs[stage]", "smem_addr(&As[stage]")
    assert [code for code, _ in list_found(text)] == ["stores_overlap"]


OTHER = "*reinterpret_cast<uint4*>(&As[{}]) = *reinterpret_cast<const uint4*>(&B[(blockIdx.x * BN + r) * K + k0 + c]);"
COPY_A = "*reinterpret_cast<uint4*>(&As[r * PITCH + c]) ="
AGAIN = f"for (int i = {{}}; i < 256; i += 128) {{{{ int r = i / 4, c = i % 4 * 8; {{}} }}}}\n    {BARRIER}"


@for_each(
    ("changes", "codes"),
    [
        (((COPY_A, OTHER.format("r * PITCH + c") + COPY_A),), []),  # the thread itself stores the right one last
        (((BARRIER, AGAIN.format("127 - tid", OTHER.format("r * PITCH + c"))),), ["stores_overlap"]),
        (((BARRIER, AGAIN.format("127 - tid", OTHER.format("BM * PITCH"))), LONGER), []),  # where nothing reads
    ],
    sample=2,
)
def test_only_what_another_thread_stored_is_lost(changes: tuple[tuple[str, str], ...], codes: list[str]) -> None:
    assert list_codes(plant(*changes, text=PADDED)) == codes


@for_each(
    ("changes", "left"),
    [
        ((), False),
        (((BARRIER, "if (warp < 2) " + BARRIER),), True),
        (((BARRIER, "if (warp < 2) __syncthreads(); else " + BARRIER),), False),
        ((("(128) gemm", "(160) gemm"), ("acc[8][4] = {};", "acc[8][4] = {};\n  if (tid >= 128) return;")), False),
    ],
    sample=2,
)
def test_all_threads_that_have_not_left_come_to_a_barrier(changes: tuple[tuple[str, str], ...], left: bool) -> None:
    assert bool(check_thread_order(plant(*changes, text=PADDED), {}).left) == left


def test_a_size_may_be_that_of_the_buffer() -> None:
    """Each warp copies `length` elements to 16 rows of its own: longer rows than these would be those of the next."""
    row = "for (int i = lane; i < length / 8; i += 32) copy16(smem_addr(own + i * 8), A + warp * length + i * 8, true);"
    text = f"""{HELPERS}{STAGED[STAGED.index("#define COMMIT") : STAGED.index("constexpr")]}
__global__ void __launch_bounds__(128) transform(const half* A, float* D, int length) {{
  __shared__ half rows[4 * 256];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  half* own = rows + warp * 256;
  {row}
  COMMIT();
  wait<0>();
  __syncwarp();
  uint32_t a[4], b[2];
  ldm_x4(a, smem_addr(own + lane % 16 * 16 + lane / 16 * 8));
  ldm_x2(b, smem_addr(own + lane % 8 * 16 + lane / 8 % 2 * 8));
  float d[4] = {{}};
  mma16816(d, a, b);
}}
"""
    assert list_found(text) == []


# every warp multiplies the same tiles and stages D in the same bytes
SAME_TILES = """#include <mma.h>
using namespace nvcuda;
__global__ void __launch_bounds__(64) gemm(const half* A, const half* B, half* C, int N, int K) {
  __shared__ half tile[16 * 16];
  int warp = threadIdx.x / 32, row = blockIdx.y * 16, column = blockIdx.x * 16;
  wmma::fragment<wmma::accumulator, 16, 16, 16, half> sum;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
  wmma::fill_fragment(sum, __float2half(0.0f));
  for (int k = 0; k < K; k += 16) {
    wmma::load_matrix_sync(a, A + row * K + k, K);
    wmma::load_matrix_sync(b, B + column * K + k, K);
    wmma::mma_sync(sum, a, b, sum);
  }
  wmma::store_matrix_sync(tile, sum, 16, wmma::mem_row_major);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += 64) C[(row + i / 16) * N + column + i % 16] = tile[i];
}
"""


@for_each(
    ("change", "codes"),
    [
        (("", ""), []),
        (("A + row", "A + (row + warp * 16)"), ["stores_overlap"]),
        (("B + column", "B + (column + warp * 16)"), ["stores_overlap"]),
    ],
    sample=3,
)
def test_warps_that_store_the_same_elements(change: tuple[str, str], codes: list[str]) -> None:
    text = SAME_TILES.replace(*change) if change[0] else SAME_TILES
    assert [code for code in list_codes(text) if code == "stores_overlap"] == codes
