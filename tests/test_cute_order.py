"""Fences, groups and waits around CuTe's gemm, and accumulators that nothing sets: each mistake at its line."""

from __future__ import annotations

from tests.cases import for_each
from tests.checked import check_text

HOPPER = """
#include <cute/tensor.hpp>
using namespace cute;
__global__ void __launch_bounds__(decltype(size(Mma{}))::value) multiply(half_t* x, float* out) {
  extern __shared__ char smem[];
  auto tile = tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, make_shape(Int<64>{}, Int<64>{}));
  Tensor sA = make_tensor(make_smem_ptr((half_t*)smem), tile);
  Tensor sB = make_tensor(make_smem_ptr((half_t*)smem + 8192), tile);
  Tensor gC = make_tensor(make_gmem_ptr(out), make_shape(Int<64>{}, Int<64>{}), make_stride(Int<64>{}, Int<1>{}));
  auto mma = make_tiled_mma(SM90_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{});
  auto part = mma.get_thread_slice(threadIdx.x);
  Tensor a = part.partition_fragment_A(sA);
  Tensor b = part.partition_fragment_B(sB);
  Tensor c = part.partition_C(gC);
  Tensor sum = part.make_fragment_C(c);
  clear(sum);
  for (int tile = 0; tile < 4; ++tile) {
    warpgroup_fence_operand(sum);
    warpgroup_arrive();
    for (int k = 0; k < size<2>(a); ++k) {
      gemm(mma, a(_, _, k), b(_, _, k), sum);
    }
    warpgroup_commit_batch();
    warpgroup_wait<0>();
  }
  copy(sum, c);
}
"""
MISTAKES = [
    ("    warpgroup_arrive();\n", "", "wgmma_fence_missing", "gemm(mma"),
    ("    warpgroup_commit_batch();\n", "", "wgmma_commit_missing", "gemm(mma"),
    ("    warpgroup_wait<0>();\n", "", "wgmma_wait_missing", "copy(sum, c)"),
    ("warpgroup_wait<0>", "warpgroup_wait<1>", "wgmma_wait_short", "warpgroup_wait<1>"),
    ("  clear(sum);\n", "", "accumulator_unset", "Tensor sum"),
    ("    warpgroup_arrive();\n", "    clear(sum);\n    warpgroup_arrive();\n", "accumulator_reset", "    clear(sum)"),
]


def list_findings(text: str) -> list[tuple[str, int]]:
    return [(finding.code, text.count("\n", 0, finding.span[0]) + 1) for finding in check_text(text).findings]


def find_line(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


def test_a_kernel_in_order_has_no_finding_and_its_reads_are_verified() -> None:
    report = check_text(HOPPER)
    assert not report.findings
    assert report.steps == 8  # four steps of 16 along K, for A and for B


@for_each(("old", "new", "code", "part"), MISTAKES, ids=[row[2] for row in MISTAKES])
def test_a_mistake_is_found_at_its_line(old: str, new: str, code: str, part: str) -> None:
    wrong = HOPPER.replace(old, new, 1)
    assert wrong != HOPPER
    assert list_findings(wrong) == [(code, find_line(wrong, part))]


WAIT = "    warpgroup_wait<0>();\n  }\n"


@for_each(
    ("waits", "code", "part"),
    [
        (
            "    warpgroup_wait<2>();\n  }\n  warpgroup_wait<1>();\n",
            "wgmma_wait_short",
            "  warpgroup_wait<1>",
        ),  # the last
        ("  }\n", "wgmma_wait_missing", "copy(sum, c)"),
    ],
)
def test_the_last_wait_after_a_product_is_too_short(waits: str, code: str, part: str) -> None:
    """A wait before the products does not wait for them."""
    head = HOPPER.replace("  for (int tile", "  warpgroup_wait<0>();\n  for (int tile")
    wrong = head.replace(WAIT, waits)
    assert wrong != head and list_findings(wrong) == [(code, find_line(wrong, part))]


@for_each(
    ("old", "new"),
    [
        ("  clear(sum);\n", "  mma.accumulate_ = GMMA::ScaleOut::Zero;\n"),
        ("  clear(sum);\n", "  for (int i = 0; i < size(sum); ++i) sum(i) = 0.f;\n"),
        ("    warpgroup_arrive();\n", "    begin_products();\n"),  # a function that the text lacks
        ("    warpgroup_wait<0>();\n", "    finish_products();\n"),
        ("    warpgroup_wait<0>();\n  }\n", "    warpgroup_wait<1>();\n  }\n  warpgroup_wait<0>();\n"),
        ("    warpgroup_arrive();\n", "    copy(sum, c);\n    clear(sum);\n    warpgroup_arrive();\n"),
    ],
)
def test_what_may_be_right_is_no_finding(old: str, new: str) -> None:
    assert not list_findings(HOPPER.replace(old, new, 1))


def test_the_first_product_in_tensor_memory_must_not_add() -> None:
    """Nothing clears tensor memory: accumulate_ is Zero for the first product."""
    head = HOPPER.replace(
        "SM90_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>",
        "SM100_MMA_F16BF16_SS<half_t, half_t, float, 128, 64, UMMA::Major::K, UMMA::Major::K>",
    )
    text = (
        head.replace("GMMA::Layout", "UMMA::Layout")
        .replace("Int<64>{}, Int<64>{}));\n  Tensor sA", "Int<128>{}, Int<64>{}));\n  Tensor sA")
        .replace("  clear(sum);\n", "")
        .replace("+ 8192", "+ 16384")
    )
    for word in (
        "warpgroup_fence_operand(sum)",
        "warpgroup_arrive()",
        "warpgroup_commit_batch()",
        "warpgroup_wait<0>()",
    ):
        text = text.replace(f"    {word};\n", "")
    assert list_findings(text) == [("accumulator_unset", find_line(text, "Tensor sum"))]
    assert not list_findings(
        text.replace("  for (int tile", "  mma.accumulate_ = UMMA::ScaleOut::Zero;\n  for (int tile")
    )


def test_accumulators_are_followed_in_the_function_of_a_class() -> None:
    head, body = HOPPER.split("  extern __shared__", 1)
    includes, kernel = head.split("__global__")
    member = "struct Multiply {\nstatic __device__ void run(half_t* x, float* out) {\n"
    caller = f"__global__{kernel.rstrip()}\n  Multiply::run(x, out);\n}}\n"
    text = f"{includes}{member}  extern __shared__{body}}};\n{caller}"
    assert list_findings(text) == []
    wrong = text.replace("  clear(sum);\n", "")
    assert list_findings(wrong) == [("accumulator_unset", find_line(wrong, "Tensor sum"))]
