"""D is A·B of kernels whose M, N and K have other names, are one number, or are constants."""

from __future__ import annotations

import re
from collections.abc import Mapping

from lanescope.cxx.integers import INT
from lanescope.reader.code.running.run_records import KernelLaunchRecord
from lanescope.reader.code.symbolic_integers.integer import make_free
from lanescope.workbench.products.known_runs import USUAL
from lanescope.workbench.products.known_sizes import KnownSizes
from lanescope.workbench.products.result_judge import judge_results
from lanescope.workbench.products.size_names import has_other_numbers
from lanescope.workbench.text.function_texts import find_functions
from tests.cases import for_each
from tests.checked import check_whole
from tests.known_kernels import KERNEL, LAUNCH
from tests.transfer_kernels import plant

PARAMETERS = ", int M, int N, int K)"


def rename(names: Mapping[str, str], text: str = KERNEL) -> str:
    return re.sub(r"\b[MNK]\b", lambda word: names.get(word[0], word[0]), text)


def is_proved(text: str) -> bool:
    return set(judge_results(text, {}, (), {"gemm"}).proved) == {"gemm"}


SQUARE = rename({"M": "n_", "N": "n_", "K": "n_"}, plant((PARAMETERS, ", int N)"), text=KERNEL))
CONSTANTS = plant(
    (PARAMETERS, ")"), ("__global__", "constexpr int M = 4096, N = 1 << 11, K{1024};\n__global__"), text=KERNEL
)
SINGLE = plant(  # one matrix, of which the kernel needs no number of rows
    (" + blockIdx.z * M * N", ""), (" + blockIdx.z * M * K", ""), (" + blockIdx.z * N * K", ""), text=KERNEL
)
STYLES = {
    "rows": rename({"M": "rows", "N": "cols", "K": "depth"}),
    "tokens": rename({"M": "tokens", "N": "features", "K": "hidden"}),
    "unused rows": rename({"M": "rows", "N": "cols", "K": "depth"}, SINGLE),
    "one number": SQUARE,
    "constants": CONSTANTS,
    "strides": rename({"M": "m_ld", "N": "n_ld", "K": "k_ld"}),
    "padded": rename({"M": "M_PAD", "N": "N_PAD", "K": "padded_K"}),
    "a constant and parameters": plant(
        (", int K)", ")"), ("__global__", "constexpr int K{4096};\n__global__"), text=KERNEL
    ),
    "members": rename({"M": "kM", "N": "kN", "K": "kK"}, CONSTANTS),
}


@for_each("text", STYLES.values(), ids=list(STYLES), sample=2)
def test_sizes_of_other_names_are_found(text: str) -> None:
    assert is_proved(text)
    wrong = re.sub(r"c\[r \* \w+ \+ n\]", "c[r * 64 + n]", text)
    assert wrong != text and not is_proved(wrong)


def test_why_d_is_open_is_told_for_a_size_only_if_its_name_is_that_of_a_square() -> None:
    launch = plant(("int M, int N, int K) {", "int N) {"), ("M, N, K);", "N);"), ("M / 32", "N / 32"), text=LAUNCH)
    wrong = re.sub(r"c\[r \* \w+ \+ n\]", "c[r * 64 + n]", SQUARE).replace("n_", "N") + launch
    host = "int main() { run(A, B, C, sa, sb, 512); }"
    for name, told in (("N", True), ("k1", False)):
        (point,) = check_whole(re.sub(r"\bN\b", name, wrong) + host).open
        assert ("none of its parameters is called" in point.message) != told


def test_leading_dimensions_and_counts_are_no_sizes() -> None:
    more = plant((PARAMETERS, ", int M, int N, int K, int num_parts, int ldx)"), text=KERNEL)
    assert is_proved(rename({"M": "rows", "N": "cols", "K": "depth"}, more))


def test_a_name_of_another_function_is_no_digit_separator() -> None:
    assert KnownSizes({"K": 384, "split": 2}).evaluate("(K'10 + 31) / 32 * split'4") == 24
    assert KnownSizes({"m": 1792}).evaluate("(m'' / 128)") == 14


def test_a_grid_that_cuda_refuses_is_none_of_a_launch() -> None:
    record = KernelLaunchRecord("gemm", (), None, None, (0, 0), grid=(make_free("n - 8", INT),))
    assert KnownSizes({"n": 12}).find_grid("gemm", [record]) == (4, 1, 1)
    assert KnownSizes({"n": 1}).find_grid("gemm", [record]) is None


@for_each(
    ("given", "others"),
    [
        ("M N K M", False),
        ("p.M p.N p.K p.M", False),
        ("p->M p->N p->K p->N", False),
        ("M N K tile.M", True),  # the M of another object
        ("p.M p.N p.K tile.M", True),
        ("M N K stride", True),
    ],
)
def test_numbers_of_a_launch_are_sizes_or_members_of_what_gives_these(given: str, others: bool) -> None:
    text = "__global__ void gemm(int M, int N, int K, int rows) { }"
    arguments = tuple(make_free(word, INT) for word in given.split())
    launch = KernelLaunchRecord("gemm", (), None, None, (0, 0), arguments=arguments)
    assert has_other_numbers(text, find_functions(text)[0], [launch], USUAL) == others
