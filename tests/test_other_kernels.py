"""A mistake in one kernel of a file hides nothing of the others."""

from __future__ import annotations

from tests.checked import check_whole
from tests.test_check_results import WMMA
from tests.transfer_kernels import plant

KERNEL = WMMA[WMMA.index("__global__") : WMMA.index("void run")]
WRONG_PITCH = plant(("wc + i * 16], LDB", "wc + i * 16], LDA"), text=WMMA)
SECOND = KERNEL.replace("gemm(", "second(")
LAUNCH = """
void run2(half* A, half* B, float* C, int M, int N, int K) {
  second<<<dim3(N / TN, M / TM), 128>>>(A, B, C, M, N, K);
}
"""


def test_a_right_kernel_beside_a_wrong_one_is_verified() -> None:
    report = check_whole(WRONG_PITCH + SECOND + LAUNCH)
    assert [one.code for one in report.findings] == ["fragment_mismatch"]
    assert {one.name: one.gap for one in report.kernels}["second"] == ""
    assert report.steps == 3  # B of the first is wrong


def test_each_of_two_wrong_kernels_has_its_finding() -> None:
    short = plant(("t < K / TK;", "t < K / TK - 1;"), text=SECOND)
    report = check_whole(WRONG_PITCH + short + LAUNCH)
    assert [one.code for one in report.findings] == ["fragment_mismatch", "k_slices_left"]


def test_a_mistake_in_a_function_of_the_other_kernel_alone_is_found() -> None:
    """It shows only when D is compared, which the first kernel's mistake prevents."""
    helper = "__device__ int count(int K) { return K / TK - 1; }\n"
    short = plant(("t < K / TK;", "t < count(K);"), text=SECOND)
    report = check_whole(WRONG_PITCH + helper + short + LAUNCH)
    assert [one.code for one in report.findings] == ["fragment_mismatch", "k_slices_left"]


def test_a_mistake_in_a_function_of_both_kernels_is_found_once() -> None:
    load = "wmma::load_matrix_sync(fb[i], &sb[k * LDB + wc + i * 16], LDB);"
    shared = (
        "template <class F> __device__ void load_b(F& f, const half* from) { wmma::load_matrix_sync(f, from, LDA); }\n"
    )
    call = "load_b(fb[i], &sb[k * LDB + wc + i * 16]);"
    text = plant((load, call), ("__global__", f"{shared}__global__"), text=WMMA) + plant((load, call), text=SECOND)
    report = check_whole(text + LAUNCH)
    assert {one.code for one in report.findings} == {"fragment_mismatch"}
