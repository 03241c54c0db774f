"""Launches of a kernel, and instances of its template, have tiles of their own: boxes of one are none of another."""

from __future__ import annotations

from tests.checked import check_text
from tests.transfer_kernels import plant

COPY_OF_A = "tma_load(sA + slot * BM * BK, &ta, &full[slot], t * BK, row);"
HALVES = (
    "for (int h = 0; h < 2; ++h)"
    " tma_load(sA + slot * BM * BK + h * BM / 2 * BK, &ta, &full[slot], t * BK, row + h * BM / 2);"
)
MAP_OF_A = "make_map(&map_a, A, M, K, HALVES ? BM / 2 : BM, BK);"
RUN = "void run(bf16* A, bf16* B, bf16* C, int M, int N, int K) {"
# one instance copies A's tile in one box, the other in two; one function launches both
INSTANCES = (
    plant(
        ("__global__ void", "template <bool HALVES> __global__ void"),
        (COPY_OF_A, f"if constexpr (HALVES) {{ {HALVES} }} else {COPY_OF_A}"),
        (RUN, f"template <bool HALVES> {RUN.replace('run', 'launch')}"),
        ("make_map(&map_a, A, M, K, BM, BK);", MAP_OF_A),
        ("cudaFuncSetAttribute(gemm,", "cudaFuncSetAttribute(gemm<HALVES>,"),
        ("gemm<<<", "gemm<HALVES><<<"),
    )
    + f"{RUN}\n  launch<false>(A, B, C, M, N, K);\n  launch<true>(A, B, C, M, N, K);\n}}\n"
)
READS = 24  # two operands of four K steps, in three turns


def test_each_instance_is_verified_with_its_own_boxes() -> None:
    report = check_text(INSTANCES)
    assert (report.findings, report.unverified, report.steps) == ((), (), 2 * READS)


def test_a_box_that_is_too_small_for_one_instance_is_told() -> None:
    text = plant(("HALVES ? BM / 2 : BM,", "HALVES ? BM / 4 : BM,"), text=INSTANCES)
    report = check_text(text)
    assert [finding.code for finding in report.findings] == ["tma_tile_part"]
    at = report.findings[0].span[0]
    assert "HALVES ? BM / 4" in text[text.rindex("\n", 0, at) : text.index("\n", at)]
    assert report.steps == READS + READS // 2  # all of the other instance, and B of this one


def test_launches_of_equal_tiles_are_verified_once() -> None:
    again = "gemm<<<dim3(N / BN, M / BM), 128, bytes>>>(map_a, map_b, C, M, N, K);"
    assert check_text(plant((again, f"{again}\n  {again}"))).steps == READS


def test_a_loop_of_copies_that_was_not_run_to_its_end_may_fill_the_tile() -> None:
    """Of 64 boxes, one for each row, some turns are run."""
    rows = "for (int r = 0; r < BM; ++r) tma_load(sA + slot * BM * BK + r * BK, &ta, &full[slot], t * BK, row + r);"
    text = plant((COPY_OF_A, rows), ("make_map(&map_a, A, M, K, BM, BK);", "make_map(&map_a, A, M, K, 1, BK);"))
    assert not check_text(text).findings


# one box has the two panels of a turn, each with 64 elements of K
PANELS = plant(
    ("BK = 64, STAGES = 4;", "BK = 128, STAGES = 2;"),
    ("tensor.2d.shared", "tensor.3d.shared"),
    ("[%1, {%3, %4}]", "[%1, {%5, %4, %3}]"),
    ('"r"(x), "r"(y) :', '"r"(x), "r"(y), "r"(0) :'),
    ("dims[2] = {cols, rows}, strides[1] = {cols *", "dims[3] = {64, rows, cols / 64}, strides[2] = {cols *"),
    ("sizeof(bf16)};", "sizeof(bf16), 128};"),
    ("box[2] = {box_cols, box_rows}, ones[2] = {1, 1}", "box[3] = {64, box_rows, box_cols / 64}, ones[3] = {1, 1, 1}"),
    ("BFLOAT16, 2, ptr", "BFLOAT16, 3, ptr"),
    ("for (int k = 0; k < BK / 16; ++k)", "for (int p = 0; p < 2; ++p)\n    for (int k = 0; k < 4; ++k)"),
    ("sA + slot * BM * BK + k * 16)", "sA + slot * BM * BK + p * BM * 64 + k * 16)"),
    ("sB + slot * BN * BK + k * 16)", "sB + slot * BN * BK + p * BN * 64 + k * 16)"),
).replace("t * BK,", "t * BK / 64,")


def test_a_loop_over_panels_multiplies_the_slices_of_one_turn() -> None:
    report = check_text(PANELS)
    assert (report.findings, report.unverified, report.steps) == ((), (), 2 * READS)
    short = check_text(plant(("k < 4; ++k", "k < 3; ++k"), text=PANELS))
    assert [finding.code for finding in short.findings] == ["k_slices_unread"]
