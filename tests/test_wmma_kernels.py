"""Fragments of wmma in kernels: D as a whole, the types that are followed, and elements that code takes one by one."""

from __future__ import annotations

import numpy as np
import pytest

from lanescope.ptx.catalog import find
from lanescope.reader.threads import runner
from lanescope.workbench.fragments.fragment_messages import describe_fragment
from lanescope.workbench.fragments.fragment_origin import FragmentOrigin
from lanescope.workbench.fragments.thread_fragments import ArrivedOperand
from lanescope.workbench.fragments.thread_gaps import NO_THREADS
from lanescope.workbench.products.product_report import ProductReport
from lanescope.workbench.products.result_judge import judge_results
from tests.cases import for_each
from tests.checked import check_text, list_findings
from tests.test_check_results import WMMA
from tests.transfer_kernels import plant

SUM = "for (int i = 0; i < 4; ++i) wmma::mma_sync(acc[i / 2][i % 2], fa[i / 2], fb[i % 2], acc[i / 2][i % 2]);"
STORE = WMMA[WMMA.index("  for (int i = 0; i < 4; ++i)\n    wmma::store") : WMMA.index("}\nvoid run")]
STAGED = """  __shared__ float sc[TM * TN];
  for (int i = 0; i < 4; ++i)
    wmma::store_matrix_sync(&sc[(wr + i / 2 * 16) * TN + wc + i % 2 * 16], acc[i / 2][i % 2], TN, wmma::mem_row_major);
  __syncthreads();
  for (int i = threadIdx.x; i < TM * TN; i += 128) C[(size_t)(m0 + i / TN) * N + n0 + i % TN] = 2.0f * sc[i];
"""
EACH = "for (int e = 0; e < {0}.num_elements; ++e) {0}.x[e] = "
TF32 = (
    WMMA.replace("16, 16, 16, half", "16, 16, 8, wmma::precision::tf32")
    .replace("16, 16, 16, float", "16, 16, 8, float")
    .replace("k < TK; k += 16", "k < TK; k += 8")
    .replace("half", "float")
    .replace("TK / 8", "TK / 4")
    .replace("TN / 8", "TN / 4")
    .replace("i / 4", "i / 8")
    .replace("i % 4 * 8", "i % 8 * 4")
    .replace("sb[i / 8 * LDB + i % 8 * 8]", "sb[i / 16 * LDB + i % 16 * 4]")
    .replace("t * TK + i / 8) * N + n0 + i % 8 * 8", "t * TK + i / 16) * N + n0 + i % 16 * 4")
    .replace("uint4", "float4")
)
KINDS: dict[str, tuple[tuple[str, str], ...] | None] = {
    "half": (),
    "tf32": None,
    "in shared memory first": ((STORE, STAGED),),
    "scaled": ((STORE, f"  for (auto& row : acc) for (auto& f : row) {EACH.format('f')}M * f.x[e];\n{STORE}"),),
    "stored as half": (
        (
            STORE,
            "  for (int i = 0; i < 4; ++i) {\n    wmma::fragment<wmma::accumulator, 16, 16, 16, half> h;\n"
            f"    {EACH.format('h')}__float2half(acc[i / 2][i % 2].x[e]);\n"
            + STORE.split("\n", 1)[1].replace("acc[i / 2][i % 2]", "h").rstrip()
            + "\n  }\n",
        ),
        ("float* C, int M, int N, int K) {\n  __shared__", "half* C, int M, int N, int K) {\n  __shared__"),
        ("float* C, int M, int N, int K) {\n  gemm", "half* C, int M, int N, int K) {\n  gemm"),
    ),
    "zeros one by one": (("wmma::fill_fragment(acc[i / 2][i % 2], 0.0f);", f"{EACH.format('acc[i / 2][i % 2]')}0;"),),
    "clamped": ((STORE, f"  for (auto& f : acc[1]) {EACH.format('f')}fmaxf(f.x[e], 0.0f);\n{STORE}"),),
}


def judge(*changes: tuple[str, str], text: str = WMMA) -> ProductReport:
    return judge_results(plant(*changes, text=text), {}, (), {"gemm"})


@for_each("kind", KINDS, sample=1)
def test_d_of_wmma_is_the_product(kind: str) -> None:
    changes = KINDS[kind]
    report = judge(text=TF32) if changes is None else judge(*changes)
    assert not report.mistakes and not report.open


@pytest.mark.thorough
@for_each(
    ("change", "code", "place"),
    [
        (("t < K / TK;", "t < K / TK - 1;"), "k_slices_left", "t < K / TK - 1"),
        (("i < TK * TN / 8", "i < TK * TN / 16"), "tile_not_filled", "i < TK * TN / 16"),
    ],
    sample=1,
)
def test_sums_of_wmma_are_over_all_of_k(change: tuple[str, str], code: str, place: str) -> None:
    [found] = judge(change).mistakes
    text = plant(change, text=WMMA)
    assert found.code == code and text[found.span[0] :].startswith(place)


@for_each(
    ("change", "why"),
    [
        (("m0 + wr + i / 2 * 16) * N", "m0 + wr + i / 2 * 16) * K"), "row and column"),
        ((SUM, SUM + " acc[0][0].x[0] = 0.0f;"), "where 128 of the elements"),
        ((SUM, SUM + f" {EACH.format('acc[0][0]')}acc[0][0].x[e] + C[threadIdx.x];"), "where 128 of the elements"),
        ((SUM, SUM + f" {EACH.format('acc[0][0]')}0.5f * acc[0][0].x[e];"), "after arithmetic"),
        ((SUM, SUM + f" {EACH.format('acc[0][0]')}fmaxf(acc[0][0].x[e], 0);"), "after arithmetic"),
        ((SUM, f"{EACH.format('fa[0]')}A[e];\n      {SUM}"), "known of this register"),
        ((SUM, f"fa[0].x[0] = A[threadIdx.x];\n      {SUM}"), "known of this register"),
    ],
    sample=2,
)
def test_d_of_wmma_that_may_be_another_is_open(change: tuple[str, str], why: str) -> None:
    report = judge(change)
    assert not report.mistakes and [why in one.message for one in report.open] == [True]


def test_tiles_of_wmma_are_not_stored_over_each_other() -> None:
    report = judge(("i % 2 * 16], acc", "i % 2 * 8], acc"))
    assert [one.code for one in report.mistakes] == ["result_misplaced"]


@pytest.mark.thorough
def test_tiles_of_tf32_are_verified() -> None:
    assert not (report := check_text(TF32)).findings and [kernel.gap for kernel in report.kernels] == [""]
    assert [code for code, _ in list_findings(plant(("wc + i * 16], LDB", "wc + i * 16], LDA"), text=TF32))] == [
        "fragment_mismatch"
    ]


BUFFERED = """#include <mma.h>
using namespace nvcuda;
__global__ void __launch_bounds__(64) gemm(const half* A, const half* B, float* C, int M, int N, int K) {
  __shared__ half sa[2][32 * 40], sb[2][16 * 40];
  const int warp = threadIdx.x / 32;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a[2];
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b[2];
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;
  wmma::fill_fragment(acc, 0.0f);
  auto fill = [&](int s, int k) {
    for (int i = threadIdx.x; i < 32 * 32; i += 64)
      sa[s][i / 32 * 40 + i % 32] = A[(blockIdx.y * 32 + i / 32) * K + k + i % 32];
    for (int i = threadIdx.x; i < 16 * 32; i += 64)
      sb[s][i / 32 * 40 + i % 32] = B[(blockIdx.x * 16 + i / 32) * K + k + i % 32];
  };
  fill(0, 0);
  __syncthreads();
  for (int t = 0; t < K / 32; ++t) {
    if (t + 1 < K / 32) fill((t & 1) ^ 1, (t + 1) * 32);
    for (int i = 0; i < 2; ++i) {
      wmma::load_matrix_sync(a[i], &sa[t & 1][warp * 16 * 40 + i * 16], 40);
      wmma::load_matrix_sync(b[i], &sb[t & 1][i * 16], 40);
    }
    wmma::mma_sync(acc, a[0], b[0], acc);
    wmma::mma_sync(acc, a[1], b[1], acc);
    __syncthreads();
  }
  wmma::store_matrix_sync(&C[(blockIdx.y * 32 + warp * 16) * N + blockIdx.x * 16], acc, N, wmma::mem_row_major);
}
"""


@for_each(
    ("change", "mistakes"),
    [
        ((), []),
        (("(t + 1) * 32", "t * 32"), [("k_slice_repeated", "fill((t & 1) ^ 1, t * 32)")]),
        (("t < K / 32; ++t) {", "t < 100; ++t) {"), []),  # as kernels that measure the time
        (("  fill(0, 0);", "  for (int n = 0; n < 2; ++n) fill(0, 0);"), []),
    ],
    sample="mistakes",
)
def test_the_next_tile_of_two_buffers_is_another_one(change: tuple[str, str], mistakes: list[tuple[str, str]]) -> None:
    text = plant(*[change] if change else [], text=BUFFERED)
    assert [(one.code, text[slice(*one.span)]) for one in check_text(text).findings] == mistakes


def test_a_tile_after_the_loop_is_read_from_a_stage_that_depends_on_k() -> None:
    body = BUFFERED[BUFFERED.index("    for (int i = 0; i < 2; ++i) {") : BUFFERED.index("    __syncthreads();\n  }\n")]
    last = body.replace("t & 1", "K / 32 - 1 & 1")
    text = plant(("t < K / 32; ++t", "t < K / 32 - 1; ++t"), ("  wmma::store", f"{last}  wmma::store"), text=BUFFERED)
    report = check_text(text)
    assert not report.findings and [kernel.gap for kernel in report.kernels] == [""]


@for_each(("pitch", "codes"), [("LDA", ["fragment_mismatch"]), ("LDB", [])], sample=1)
def test_fragments_of_a_loop_that_is_too_long_are_verified(
    pitch: str, codes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "MOST_STEPS", 2000)
    long = ("int K) {\n  __shared__", "int) {\n  constexpr int K = 1 << 18;\n  __shared__")
    report = check_text(plant(long, ("wc + i * 16], LDB", f"wc + i * 16], {pitch}"), text=WMMA))
    assert [one.code for one in report.findings] == codes and [kernel.gap for kernel in report.kernels] == [""]


OF_GRID = """#include <mma.h>
using namespace nvcuda;
__global__ void gemm(const half* a, const half* b, float* c, int M, int N, int K) {
  const int thread = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = thread / warpSize * 16, col = (blockIdx.y * blockDim.y + threadIdx.y) * 16;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;
  wmma::fill_fragment(acc, 0.0f);
  for (int k = 0; k < K; k += 16) {
    if (row >= M || col >= N) break;
    wmma::load_matrix_sync(fa, a + row * K + k, K);
    wmma::load_matrix_sync(fb, b + col * K + k, K);
    wmma::mma_sync(acc, fa, fb, acc);
  }
  if (row < M && col < N) wmma::store_matrix_sync(c + row * N + col, acc, N, wmma::mem_row_major);
}
void run(const half* a, const half* b, float* c, int M, int N, int K) {
  gemm<<<dim3(M / 64, N / 64), dim3(128, 4)>>>(a, b, c, M, N, K);
}
"""


@for_each(
    ("change", "codes"),
    [
        (("c + row * N + col", "c + row * K + col"), ["result_misplaced"]),
        (("thread / warpSize", "(thread >> 5)"), []),
        ((), []),
    ],
    sample=1,
)
def test_warps_are_numbered_in_the_whole_grid(change: tuple[str, ...], codes: list[str]) -> None:
    report = check_text(OF_GRID.replace(*change) if change else OF_GRID)
    assert [one.code for one in report.findings] == codes
    assert codes or [kernel.gap for kernel in report.kernels] == [""]


@for_each(
    "around",
    [
        "switch (K) { case 1: { dim3 block(256); break; } case 2: default: DECLARED LAUNCH }",
        "try { DECLARED LAUNCH } catch (...) {}",
        "for (int size : sizes) { DECLARED LAUNCH }",
        "int x; if (K > 8) x = K; else { x = 128; } dim3 block(x, 4); LAUNCH",
        "int x = 64; x = 128; dim3 block(x, 4); LAUNCH",
        "int x = 128; { int x = 64; x = 32; } if (!K) { x = 32; return; } dim3 block(x, 4); LAUNCH",
        "dim3 block; if (K > 8) block = dim3(128, 4); LAUNCH",
    ],
    sample=2,
)
def test_a_launch_that_is_not_reached_is_read_with_the_block_around_it(around: str) -> None:
    """Here an exception ends the host's code, as it may in a library that is not understood."""
    kernel, call, rest = OF_GRID.partition("  gemm<<<")
    launch = (call + rest.removesuffix("}\n")).replace("dim3(128, 4)", "block")
    body = "throw K; " + around.replace("DECLARED", "dim3 block(128, 4);").replace("LAUNCH", launch)
    text = f"{kernel}{body}}}\n"
    assert [kernel.gap for kernel in check_text(text).kernels] == [""]


def test_a_block_that_a_loop_or_itself_changes_is_not_known() -> None:
    kernel, call, rest = OF_GRID.partition("  gemm<<<")
    launch = (call + rest).replace("dim3(128, 4)", "dim3(x, 4)")
    for change in (
        "int x = 64; x = x * 2;",
        "int x = 64; x *= 2;",
        "int x = 64; while (x < 128) x = 2 * x;",
        "int x; if (K > 8) x = 64; else x = 128;",
        "int y = 4; int x = y * 32; y = 8;",
        "int x = 128, y = 64, t = x; x = y; y = t;",
    ):
        text = f"{kernel}throw K; {change}{launch}"
        assert [kernel.gap for kernel in check_text(text).kernels] == [NO_THREADS]


# two warps with 32 rows of A; while both multiply from one buffer, either fills the other one for both
TURNS = BUFFERED.replace("i = threadIdx.x; i < 32 * 32; i += 64", "i = threadIdx.x % 32; i < 32 * 32; i += 32").replace(
    "i = threadIdx.x; i < 16 * 32; i += 64", "i = threadIdx.x % 32; i < 16 * 32; i += 32"
)
_MULTIPLY = TURNS[TURNS.index("    for (int i = 0; i < 2; ++i) {") : TURNS.index("    __syncthreads();\n  }\n")]
_LOOP = TURNS[TURNS.index("  fill(0, 0);") : TURNS.index("  wmma::store")]
BRANCHES = TURNS.replace(
    _LOOP,
    f"""  auto multiply = [&](int t) {{
{_MULTIPLY}  }};
  if (warp == 0) fill(warp, 0);
  __syncthreads();
  for (int t = 0; t < K / 32; t += 2) {{
    if (warp == 0) {{
      multiply(warp);
      __syncthreads();
      if (t + 1 < K / 32) multiply(warp + 1);
      __syncthreads();
      if (t + 2 < K / 32) fill(warp, (t + 2) * 32);
      __syncthreads();
    }} else {{
      if (t + 1 < K / 32) fill(warp, (t + 1) * 32);
      __syncthreads();
      multiply(warp - 1);
      __syncthreads();
      if (t + 1 < K / 32) multiply(warp);
      __syncthreads();
    }}
  }}
""",
)


@for_each(
    ("change", "codes", "why"),
    [
        ((), [], []),
        (("fill(warp, (t + 2) * 32)", "fill(warp, (t + 1) * 32)"), [], ["k = 32 is added 2 times"]),
        (("fill(warp, (t + 1) * 32)", "fill(0, (t + 1) * 32)"), ["tile_not_filled"], []),
    ],
    sample=1,
)
def test_warps_in_two_branches_meet_at_their_barriers(
    change: tuple[str, ...], codes: list[str], why: list[str]
) -> None:
    report = judge(*[change] if change else [], text=BRANCHES)
    assert [one.code for one in report.mistakes] == codes
    assert [one.reason.rpartition(": ")[2] for one in report.open] == why


def load_bounded(zero: str) -> str:
    """Return a kernel for any M, N and K that are multiples of 16, with `zero` outside of A and B."""
    a = "sa[i / TK * LDA + i % TK] = m0 + i / TK < M && t * TK + i % TK < K ? A[(m0 + i / TK) * K + t * TK + i % TK] : "
    b = "sb[i / TN * LDB + i % TN] = t * TK + i / TN < K && n0 + i % TN < N ? B[(t * TK + i / TN) * N + n0 + i % TN] : "
    lines = WMMA.split("\n")
    (first,) = (n for n, line in enumerate(lines) if "TM * TK / 8" in line)
    lines[first + 1], lines[first + 3] = f"      {a}{zero};", f"      {b}{zero};"
    return plant(
        ("i < TM * TK / 8", "i < TM * TK"),
        ("i < TK * TN / 8", "i < TK * TN"),
        ("t < K / TK", "t < (K + TK - 1) / TK"),
        ("dim3(N / TN, M / TM)", "dim3((N + TN - 1) / TN, (M + TM - 1) / TM)"),
        (
            "    wmma::store_matrix_sync(&C",
            "    if (m0 + wr + i / 2 * 16 < M && n0 + wc + i % 2 * 16 < N) wmma::store_matrix_sync(&C",
        ),
        ("  gemm<<<", "  if (M % 16 || N % 16 || K % 16) return;\n  gemm<<<"),
        text="\n".join(lines),
    )


@for_each("zero", ["__float2half(0)", "half{}", "half()", "CUDART_ZERO_FP16", "__int2half_rn(0)"], sample=2)
def test_a_tile_beyond_k_is_filled_with_zeros_of_any_spelling(zero: str) -> None:
    report = judge(text=load_bounded(zero))
    assert not report.mistakes and not report.open


def test_a_tile_beyond_k_that_is_filled_with_ones_is_no_part_of_the_product() -> None:
    report = judge(text=load_bounded("__float2half(1.0f)"))
    assert report.mistakes or report.open


def test_a_fragment_of_rows_in_other_places_than_those_before_is_described_as_that() -> None:
    places = np.arange(8)[:, None] * 16 + np.arange(16) * 2  # each element is where its row and column put it
    origin = FragmentOrigin("B", ("",), (places,), np.ones((8, 16), np.bool_))
    mma = find("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    message = describe_fragment(ArrivedOperand("b", mma, (), (origin,)), "fragment_mismatch")
    assert "its columns are not those of the fragments before it along K" in message


def test_a_last_slice_of_one_element_along_k_is_part_of_the_product() -> None:
    text = plant(
        ("(A, B, C, M, N, K);", "(A, B, C, M, N, 65);"),
        ("  if (M % 16", "  if (0 && M % 16"),
        text=load_bounded("half{}"),
    )
    report = judge(text=text)
    assert not report.mistakes and not report.open
