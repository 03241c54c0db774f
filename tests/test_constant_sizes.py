"""D of kernels with one block, whose M, N and K are constants or numbers of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lanescope.workbench.products.result_judge import judge_results
from tests.cases import for_each
from tests.checked import check_whole
from tests.known_kernels import KERNEL
from tests.transfer_kernels import plant

# 16 × 16 × 48: each of two warps multiplies 16 × 8
ONE_BLOCK = """#include <cstdint>
__global__ void __launch_bounds__(64) gemm(const uint16_t* A, const uint16_t* B, float* C) {
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, col = threadIdx.x / 32 * 8;
  float d[4] = {};
  for (int k = t * 2; k < K; k += 16) {
    uint32_t x[4], y[2];
    for (int i = 0; i < 4; ++i) x[i] = *reinterpret_cast<const uint32_t*>(A + (g + i % 2 * 8) * K + k + i / 2 * 8);
    for (int i = 0; i < 2; ++i) y[i] = *reinterpret_cast<const uint32_t*>(B + (col + g) * K + k + i * 8);
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9},"
        " {%0,%1,%2,%3};" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
  }
  for (int i = 0; i < 4; ++i) C[(g + i / 2 * 8) * N + col + t * 2 + i % 2] = d[i];
}
"""
# rows of A and B along M and N, which do not show how long K is
ALONG_M_AND_N = (
    (
        "*reinterpret_cast<const uint32_t*>(A + (g + i % 2 * 8) * K + k + i / 2 * 8)",
        "A[(k + i / 2 * 8) * M + g + i % 2 * 8] | A[(k + i / 2 * 8 + 1) * M + g + i % 2 * 8] << 16",
    ),
    (
        "*reinterpret_cast<const uint32_t*>(B + (col + g) * K + k + i * 8)",
        "B[(k + i * 8) * N + col + g] | B[(k + i * 8 + 1) * N + col + g] << 16",
    ),
)
CONSTANTS = "constexpr int M = 16, N = 16, K = 48;\n"
SIZES = {"M": "16", "N": "16", "K": "48"}


def write_numbers(text: str) -> str:
    """Return a text with numbers in place of M, N and K."""
    return re.sub(r"\b[MNK]\b", lambda name: SIZES[name[0]], text)


def list_open(text: str) -> list[str]:
    """List why D of the kernel is not known to be A·B."""
    wrong, open_, _ = judge_results(text, {}, (), {"gemm"})
    assert not wrong
    return [one.message for one in open_]


@for_each(
    "text",
    [
        CONSTANTS + ONE_BLOCK,
        "#define M 16\n#define N 16\n#define K 48\n" + ONE_BLOCK,
        CONSTANTS + plant(*ALONG_M_AND_N, text=ONE_BLOCK),
        re.sub(r"\b(?=[MNK]\b)", "k", CONSTANTS) + write_numbers(ONE_BLOCK),
        write_numbers(ONE_BLOCK),
    ],
    ids=["constants", "macros", "rows along M and N", "names that are not used", "numbers"],
)
def test_d_of_one_block_is_compared_with_the_sizes_of_the_code(text: str) -> None:
    assert list_open(text) == []


@for_each(
    "change",
    [
        ("8) * N + col", "8) * 24 + col"),
        ("k < K", "k < 32"),
        ("k < K", "k < 64"),
        ("(col + g) * K", "g * K"),
        ("t * 2 + i % 2", "t * 2 + i / 2"),
    ],
    ids=["pitch of D", "a part of K", "more than K", "one tile of B", "column"],
)
def test_d_of_one_block_with_a_mistake_is_open(change: tuple[str, str]) -> None:
    text = plant(change, text=ONE_BLOCK)
    assert list_open(CONSTANTS + text) and list_open(write_numbers(text))


def test_a_constant_shows_that_the_last_slice_of_k_is_left_out() -> None:
    assert list_open(CONSTANTS + plant(*ALONG_M_AND_N, ("k < K", "k < K - 16"), text=ONE_BLOCK))


def test_sizes_of_several_blocks_are_parameters() -> None:
    numbers = re.sub(r"\b[MNK]\b", "64", KERNEL.replace(", int M, int N, int K)", ")"))
    assert "is called M, N or K" in list_open(numbers)[0]


EXAMPLES = Path(__file__).parents[1] / "examples"


def read_example(name: str) -> str:
    """Return an example with the files that it includes."""
    text = (EXAMPLES / name).read_text()
    return re.sub(r'#include "(hopper\.cuh|host\.h)"', lambda file: (EXAMPLES / file[1]).read_text(), text)


@pytest.mark.thorough
@for_each(
    ("name", "changes"),
    [
        ("wgmma_tma_k_major.cu", [("STEP_K; ++step", "STEP_K - 1; ++step"), ("% 4 * 2", "% 4")]),
        ("wgmma_mn_major_b.cu", [("STEP_K; ++step", "STEP_K / 2; ++step"), ("% 4 * 2", "% 8 * 2")]),
    ],
    sample=1,
)
def test_d_of_one_block_may_have_equal_sizes(name: str, changes: list[tuple[str, str]]) -> None:
    text = read_example(name)
    report = check_whole(text)
    assert not report.findings and not report.open
    for change in changes:
        report = check_whole(plant(change, text=text))
        assert report.open or report.findings
