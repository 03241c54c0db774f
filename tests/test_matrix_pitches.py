"""Pitches of A, B and C in kernels whose sizes are parameters: no read is verified by the pitch of another matrix."""

from __future__ import annotations

import re
from functools import lru_cache

import pytest

from lanescope.reader.code.running.run_records import KernelLaunchRecord
from lanescope.workbench.fragments.fragment_report import FragmentReport
from lanescope.workbench.fragments.thread_tiles import check_thread_tiles
from lanescope.workbench.products.equal_sizes import may_be_equal
from lanescope.workbench.products.matrix_pitches import _list_tokens
from lanescope.workbench.text.contents import evaluate_with_choices
from tests.ampere_kernels import REGISTERS, TEMPLATES
from tests.cases import for_each
from tests.checked import locate_findings
from tests.test_check_results import WMMA
from tests.test_cute_kernels import RING
from tests.transfer_kernels import plant

OTHER_NAMES = {"M": "height", "N": "width", "K": "depth"}  # which say nothing
LAUNCH = "<<<dim3(N / TN, M / TM), 128>>>(A, B, C, M, N, K)"
# of WMMA, whose B has N contiguous, and of REGISTERS, whose B has K contiguous
A_ROW, B_ROW, C_ROW = "(m0 + i / 4) * K", "(t * TK + i / 8) * N", "acc[i / 2][i % 2], N"
ROWS, MORE_ROWS, COLUMNS = "TM + r) * K", "pa + i * 32 * K", "TN + r) * K"


def rename_sizes(text: str) -> str:
    """Rename the parameters M, N and K."""
    return re.sub(r"\b[MNK]\b", lambda match: OTHER_NAMES[match[0]], text)


def launch(*sizes: int) -> str:
    """Return the launch of a kernel for the sizes M, N and K."""
    return f"<<<dim3({sizes[1]} / TN, {sizes[0]} / TM), 128>>>(A, B, C, {sizes[0]}, {sizes[1]}, {sizes[2]})"


@lru_cache
def judge(text: str) -> FragmentReport:
    code = evaluate_with_choices(text, 1, {})
    return check_thread_tiles(text, {}, code.launches if code else ())


def list_open(text: str) -> list[str]:
    """List the matrices whose pitches a report calls open."""
    gaps = [kernel.gap for kernel in judge(text).kernels]
    assert all(gap == "" or gap.startswith("the pitch of ") for gap in gaps)
    return [gap.split()[3] for gap in gaps if gap]


def list_lines(text: str) -> list[tuple[str, str]]:
    """List (code, the line it stands at) of each finding."""
    return locate_findings(text, judge(text).findings)


WRONG = [  # kernel, what is right, what is wrong, the matrix
    (REGISTERS, ROWS, "TM + r) * N", "A"),
    (REGISTERS, ROWS, "TM + r) * M", "A"),
    (REGISTERS, MORE_ROWS, "pa + i * 32 * N", "A"),
    (REGISTERS, COLUMNS, "TN + r) * N", "B"),
    (TEMPLATES, "tile * BK * N", "tile * BK * K", "B"),
    (WMMA, A_ROW, "(m0 + i / 4) * N", "A"),
    (WMMA, B_ROW, "(t * TK + i / 8) * K", "B"),
    (WMMA, B_ROW, "(t * TK + i / 8) * M", "B"),
]


@for_each(("text", "old", "new", "matrix"), WRONG, sample=3)
def test_a_read_with_the_pitch_of_another_matrix_is_not_verified(text: str, old: str, new: str, matrix: str) -> None:
    planted = rename_sizes(text.replace(old, new))
    assert planted != rename_sizes(text)
    assert list_open(planted) == [matrix]
    assert judge(planted).verified < judge(rename_sizes(text)).verified


@for_each(
    ("text", "old", "new", "line"),
    [
        (REGISTERS, ROWS, "TM + r) * N", "const half* pa"),
        (REGISTERS, COLUMNS, "TN + r) * M", "const half* pb"),
        (WMMA, A_ROW, "(m0 + i / 4) * M", "*(uint4*)&sa["),
        (WMMA, B_ROW, "(t * TK + i / 8) * K", "*(uint4*)&sb["),
        (WMMA, C_ROW, "acc[i / 2][i % 2], K", "wmma::store_matrix_sync"),
    ],
    sample=2,
)
def test_a_wrong_pitch_stands_at_its_line_if_names_and_loops_prove_it(text: str, old: str, new: str, line: str) -> None:
    ((code, at),) = list_lines(plant((old, new), text=text))
    assert code == "pitch_of_other_size"
    assert at.startswith(line)


WIDE_A = plant((A_ROW, "(m0 + i / 4) * N"), text=WMMA)
NARROW_B = rename_sizes(plant((B_ROW, "(t * TK + i / 8) * K"), (LAUNCH, launch(512, 1024, 256)), text=WMMA))


@pytest.mark.thorough
def test_the_sizes_of_a_launch_decide() -> None:
    square, wide = launch(512, 512, 512), launch(512, 1024, 256)
    assert not list_open(plant((LAUNCH, square), text=WIDE_A))
    assert list_open(plant((LAUNCH, wide), text=WIDE_A)) == ["A"]
    assert list_open(plant((LAUNCH, f"{square}; gemm{wide}"), text=WIDE_A)) == ["A"]
    assert [code for code, _ in list_lines(NARROW_B)] == ["pitch_of_other_size"]  # rows of 1024 are 256 apart


LEADING = plant(("M, int N, int K)", "M, int N, int K, int lda, int ldb, int ldc)"), text=REGISTERS)
for right, leading in (("r) * K + c", "r) * {} + c"), ("i * 32 * K", "i * 32 * {}")):
    for pointer, name in (("A", "lda"), ("B", "ldb"), ("pa", "lda"), ("pb", "ldb")):
        LEADING = re.sub(rf"(\b{pointer} \+ .*){re.escape(right)}", rf"\g<1>{leading.format(name)}", LEADING)
LEADING = LEADING.replace("* N + col", "* ldc + col")
ONE_SIZE = re.sub(r"\b[MNK]\b", "n", REGISTERS).replace("int n, int n, int n", "int n")
COMMON = re.sub(r"\bld[abc]\b", "width", LEADING).replace("int width, int width, int width", "int width")
PART = plant(("int N, int K)", "int N, int K, int depth)"), ("k0 < K;", "k0 < depth;"), text=REGISTERS)
STEPS = plant(("int N, int K)", "int N, int K, int k_tiles)"), ("k0 < K;", "k0 < k_tiles * TK;"), text=REGISTERS)

OWN_NAMES = rename_sizes(re.sub(r"\bld([abc])\b", r"\1_width", LEADING))  # no word says leading
INNER = rename_sizes(plant(("int N, int K)", "int N, int K, int inner)"), ("k0 < K;", "k0 < inner;"), text=REGISTERS))
PANEL = plant(("const half* pb = B", "const half* pb = A"), ("k0 < K;", "k0 < panel;"), text=REGISTERS)
PANEL = re.sub(r"\b[MNK]\b", "n", PANEL).replace("int n, int n, int n", "int n, int panel")  # of one square matrix
WINDOW = plant(  # keys of attention: K is neither where they begin nor where they end
    ("int K) {\n  __shared__", "int K, int window) {\n  __shared__"),
    ("t = 0; t < K / TK;", "t = max(0, m0 - window) / TK; t < (m0 + TM) / TK;"),
    text=WMMA.partition("void run")[0],
)

STORE = "    *reinterpret_cast<float2*>(&C[row"
GRAM = plant(  # the product of A with itself, and its mirror
    ("const half* pb = B", "const half* pb = A"),
    (STORE, f"    C[col * N + row] = acc[j][0];\n    C[(col + 1) * N + row] = acc[j][1];\n{STORE}"),
    text=REGISTERS + "void run(half* A, half* B, float* C, int M, int N, int K) {\n"
    "  register_gemm<<<dim3(N / TN, M / TM), 128>>>(A, B, C, M, N, K);\n}\n",
)


@for_each(
    "text",
    [
        LEADING,
        OWN_NAMES,
        INNER,
        PANEL,
        rename_sizes(REGISTERS),
        rename_sizes(WMMA),
        ONE_SIZE,
        COMMON,
        PART,
        STEPS,
        rename_sizes(WINDOW),
        GRAM,
    ],
    sample=3,
)
def test_right_pitches_are_verified(text: str) -> None:
    report = judge(text)
    assert (report.verified, report.findings, list_open(text)) == (2, [], [])


def test_only_a_product_of_one_array_has_as_many_rows_as_columns() -> None:
    """The mirror of another product has rows of M elements."""
    assert list_open(plant(("const half* pb = A", "const half* pb = B"), text=GRAM)) == ["C"]


def test_two_matrices_do_not_share_a_leading_dimension_while_one_is_left() -> None:
    assert list_open(LEADING.replace("* lda", "* ldb")) == ["A"]


# shapes and strides of CuTe say how long a line is, and how far apart lines are
TENSORS = [  # what is right, what is wrong, the strides
    ("make_shape(N, K), make_stride(K, _1{})", "make_shape(N, K), make_stride(N, _1{})", "make_stride(N, _1{})"),
    ("make_shape(M, N), make_stride(N, _1{})", "make_shape(M, N), make_stride(M, _1{})", "make_stride(M, _1{})"),
]


@for_each(("right", "wrong", "strides"), TENSORS, sample=1)
def test_the_stride_of_a_tensor_is_compared_with_its_shape(right: str, wrong: str, strides: str) -> None:
    planted = plant((right, wrong), text=RING)
    ((code, line),) = list_lines(planted)
    assert code == "pitch_of_other_size" and strides in line
    # M, N and K may be equal where the program compares them
    square = plant(("  using Config =", "  if (M != N || N != K) return;\n  using Config ="), text=planted)
    assert list_lines(square) == [] and list_open(square)


def test_rows_are_counted_by_what_a_pitch_multiplies() -> None:
    """In y * N + x + z * K, y counts rows of N elements and x columns; K is not the length of a row."""
    assert _list_tokens([("blockIdx.y", "N"), ("blockIdx.x",), ("blockIdx.z", "K")], "N") == (
        {"blockIdx.x"},
        {"blockIdx.y"},
    )


EQUAL = [  # what a host has for equal sizes, or for parts of one matrix: a pitch may be that of another matrix there
    ("  using Config =", "  check_square(M, N, K);\n  using Config ="),
    ("  using Config =", "  if (M * N != K * K) return;\n  using Config ="),
    (
        "run(const void* a, const void* b, float* c, int M, int N, int K) {",
        "run(const void* a, const void* b, float* c, int n) {\n  const int M = n, N = n, K = n;",
    ),
    (
        "run(const void* a, const void* b, float* c, int M, int N, int K) {",
        "run(const half_t* c, float* c, int M, int N, int K) {\n  const void *a = c + K, *b = c + K * N;",
    ),
    (
        "run(const void* a, const void* b, float* c, int M, int N, int K) {",
        "run(Tensor A, Tensor B, const void* a, const void* b, float* c) {\n  CHECK(A.size(0) == A.size(1));"
        "\n  int M = A.size(0), N = B.size(0), K = A.size(1);",
    ),
]


@for_each(("old", "new"), EQUAL, sample=2)
def test_a_host_for_equal_sizes_leaves_a_pitch_open(old: str, new: str) -> None:
    wrong = plant(TENSORS[0][:2], text=RING)
    assert list_lines(plant((old, new), text=wrong)) == []


def test_equal_numbers_of_a_host_say_nothing_of_a_pitch() -> None:
    host = "void f(int M, int N, int K) { gemm<<<1, 1>>>(a, b, M, N, K); } int main() { %s }"
    cases = ["int n = 8; f(n, n, n);", "f(8, 8, 8);", "int M = 8, N = 8, K = 8; f(M, N, K);", "f(n, n, n); f(m, n, k);"]
    found = [
        _may_be_equal("__global__ void gemm(half* A, half* B, int M, int N, int K) { }" + host % one) for one in cases
    ]
    assert found == [True, False, False, False]


def _may_be_equal(text: str) -> bool:
    call = text.index("gemm<<<")
    record = KernelLaunchRecord("gemm", (), None, None, (0, 0), call=(call, text.index(";", call)))
    return may_be_equal(text, "gemm", ["A", "B", "M", "N", "K"], [record], ["M", "N", "K"])
