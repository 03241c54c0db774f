"""A mistake after which D is certainly no product moves to the only place where an edit makes D A·B."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from types import MethodType

import pytest

from lanescope.workbench.check import check_text
from lanescope.workbench.products.broken_products import B
from lanescope.workbench.products.result_judge import find_product_search
from tests.cases import for_each
from tests.known_kernels import KERNEL, LAUNCH, MMA
from tests.test_check_origins import KERNEL as BOXED, ONE_COPY, TWO_GROUPS
from tests.transfer_kernels import plant

TEXT = KERNEL + LAUNCH
# the edit of a right kernel, what the report says to write, and in place of what
PLANTED: dict[str, tuple[str, str, str, str]] = {
    "rows of warps half as far apart": ("threadIdx.x / 32 * 16", "threadIdx.x / 32 * 8", "8", "16"),
    "rows of A by the column": ("blockIdx.z * M * K + row", "blockIdx.z * M * K + col", "col", "row"),
    "columns of B by the other part of the lane": ("(col + g) * K", "(col + t) * K", "t", "g"),
    "a slice of A by the wrong bit": ("i / 2 * 16", "i % 2 * 16", "%", "/"),
    "columns of D without their factor": ("col + t * 2", "col + t", "", " * 2"),
}
# kernels whose D is another function of A and B, or in another order, on purpose
OTHERS: dict[str, tuple[tuple[str, str], ...]] = {
    "rows of D in another order": (("c[r * N + n]", "c[(M - 1 - r) * N + n]"),),
    "rows of A in another order": (("+ row * K + t * 4", "+ (M - 1 - row) * K + t * 4"),),
    "tiles of D transposed": (("c[r * N + n]", "c[(blockIdx.x * gridDim.y + blockIdx.y) * 256 + r % 32 * 8 + n % 8]"),),
    "columns that are left out": (("    c[r * N", "    if (n % 8 != 7) c[r * N"),),
    "two rows of D of each of A": (("= A + blockIdx.z * M * K + row * K", "= A + blockIdx.z * M * K + row / 2 * K"),),
    "half of K": (("k < K / 32", "k < K / 64"),),
    "the same matrix twice": (("= B + blockIdx.z * N * K", "= A + blockIdx.z * N * K"),),
    "every other slice": (("++k) {\n    uint32_t x", "k += 2) {\n    uint32_t x"),),
}


@for_each("name", PLANTED, sample=2)
def test_finds_the_place(name: str) -> None:
    right, wrong, words, written = PLANTED[name]
    text = plant((right, wrong), text=TEXT)
    (found,) = check_text(text, search=True).findings
    (edit,) = found.edits
    at = text.index(wrong)
    assert text[slice(*edit.span)] == words and edit.text == written and at <= edit.span[0] <= at + len(wrong)


ALLOWED = plant(
    ("gemm<<<", "cudaFuncSetAttribute(gemm, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 * 1024);\n  gemm<<<"),
    text=TWO_GROUPS,
)
LOOPS = "for (int h = 0; h < 2; ++h)\n        for (int e = 0; e < 2; ++e)\n          "
STORE = (
    "staged[(threadIdx.x % 128 / 32 * 16 + lane / 4 + 8 * h) * BN + j * 8 + lane % 4 * 2 + e] = d[j * 4 + 2 * h + e];"
)
SERIES = plant(  # one store of each register
    (LOOPS + STORE, "{ " + "".join(f"put({n // 2 * 8}, {n % 2}, d[j * 4 + {n}]); " for n in range(4)) + "}"),
    (
        "    for (int j = 0; j < 16",
        f"#define put(h, e, v) {STORE.replace('8 * h', 'h').partition('=')[0]}= v\n    for (int j = 0; j < 16",
    ),
    text=plant(
        ("gemm<<<", "cudaFuncSetAttribute(gemm, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 * 1024);\n  gemm<<<"),
        text=ONE_COPY,
    ),
)
LOADED: dict[str, tuple[str, str, str, str, str]] = {  # kernels with TMA
    "rows of D by as many values of the lane": (BOXED, "lane / 4", "lane % 8", "% 8", "/ 4"),
    "coordinates of a copy of D exchanged": (
        ALLOWED,
        "staged, col, row + group * BM)",
        "staged, row + group * BM, col)",
        "row + group * BM, col",
        "col, row + group * BM",
    ),
    "a register that two stores take": (SERIES, "put(8, 1, d[j * 4 + 3])", "put(8, 1, d[j * 4 + 2])", "2", "3"),
}


@pytest.mark.thorough
@for_each("name", LOADED)
def test_finds_the_place_where_tma_loads_the_operands(name: str) -> None:
    text, right, wrong, words, written = LOADED[name]
    text = plant((right, wrong), text=text)
    (found,) = check_text(text, search=True).findings
    (edit,) = found.edits
    at = text.index(wrong)
    assert text[slice(*edit.span)] == words and edit.text == written and at <= edit.span[0] <= at + len(wrong)


LEADING = plant(
    ("int K)", "int K, int lda, int ldb)"),
    ("row * K", "row * lda"),
    ("8 * K + k", "8 * lda + k"),
    ("(col + g) * K", "(col + g) * ldb"),
    text=KERNEL,
) + plant(("int K)", "int K, int lda, int ldb)"), ("M, N, K);", "M, N, K, lda, ldb);"), text=LAUNCH)


@pytest.mark.thorough
def test_finds_the_place_with_leading_dimensions_of_any_size() -> None:
    """The edit is proved with the strides for which all other products are right."""
    text = plant(("col + t * 2", "col + t"), text=LEADING)
    (found,) = check_text(text, search=True).findings
    (edit,) = found.edits
    assert (edit.text, text[edit.span[0] - 7 : edit.span[0]]) == (" * 2", "col + t")


def test_first_products_reject_what_the_rest_cannot_mend() -> None:
    """The first product is wrong; only edits with which it is right are run to the end."""
    right, wrong, *_ = PLANTED["a slice of A by the wrong bit"]
    repair = find_product_search(plant((right, wrong), text=TEXT), {}, (), {"gemm"}, certain=True)
    assert isinstance(repair, MethodType) and isinstance(repair.__self__.proves, partial)
    short, count = repair.__self__.proves.args
    assert count == 1 and not short.starts_right(count) and replace(short, text=TEXT).starts_right(count)
    assert not replace(short, text=plant(("row * K + t * 4", "row * K + t * 8"), text=TEXT)).starts_right(count)


def _launch_twice(turns: str) -> str:
    """Return a kernel that is launched with slices of 32 and of 64 along K."""
    return plant(
        ("__global__", "template <int S> __global__"),
        ("for (int k = 0; k < K / 32; ++k) {", f"for (int k = 0; {turns}; ++k) for (int s = 0; s < S; ++s) {{"),
        ("k * 32 + i / 2 * 16", "(k * S + s) * 32 + i / 2 * 16"),
        ("(b + k * 32),", "(b + (k * S + s) * 32),"),
        ("(b + k * 32 + 16)", "(b + (k * S + s) * 32 + 16)"),
        (
            "gemm<<<dim3(N / 8, M / 32), 64>>>(A, B, C, sa, sb, M, N, K);",
            "gemm<1><<<dim3(N / 8, M / 32), 64>>>(A, B, C, sa, sb, M, N, K);\n"
            "  gemm<2><<<dim3(N / 8, M / 32), 64>>>(A, B, C, sa, sb, M, N, K);",
        ),
        text=TEXT,
    )


@pytest.mark.thorough
@for_each("turns", ["k < K / (32 * S)", "k * 32 * S < K"])
def test_tries_edits_with_a_whole_slice_of_every_launch(turns: str) -> None:
    """A run with K = 32 has no slice, or a half of one, in the second launch."""
    text = _launch_twice(turns)
    report = check_text(text)
    assert report.kernels and not report.findings
    wrong = plant(("threadIdx.x / 32 * 16", "threadIdx.x / 32 * 8"), text=text)
    (found,) = check_text(wrong, search=True).findings
    assert [edit.text for edit in found.edits] == ["16"]


def test_finds_what_a_loop_leaves_out_in_each_of_several_launches() -> None:
    """The last slice is 32 of all K in one launch, and 64 in the other."""
    text = _launch_twice("k < K / (32 * S) - 1")
    (found,) = check_text(text).findings
    assert found.code == "k_slices_left" and "K / (32 * S) - 1" in text[slice(*found.span)]


# the edits of a kernel whose D may be another product on purpose, what would make it A·B, and in place of what
OPEN: dict[str, tuple[tuple[tuple[str, str], ...], str, str]] = {
    "a pitch that is a constant": (
        (("  const int g =", "  const int HOP = 32;\n  const int g ="), ("(col + g) * K", "(col + g) * HOP")),
        "HOP",
        "K",
    ),
    "columns of blocks twice as far apart": ((("blockIdx.x * 8", "blockIdx.x * 16"),), "16", "8"),
    "sizes that are members": (
        (
            ("  const int g =", "  const int HOP = 32;\n  const int g ="),
            ("(col + g) * K", "(col + g) * HOP"),
            ("void run(", "struct Sizes { int M, N, K; };\nvoid run("),
            ("float* sb, int M, int N, int K) {\n  gemm", "float* sb, Sizes sizes) {\n  gemm"),
            ("dim3(N / 8, M / 32)", "dim3(sizes.N / 8, sizes.M / 32)"),
            ("sa, sb, M, N, K);", "sa, sb, sizes.M, sizes.N, sizes.K);"),
        ),
        "HOP",
        "K",
    ),
}


@for_each("name", OPEN, sample=1)
def test_says_which_edit_makes_another_product_the_usual_one(name: str) -> None:
    """It is a note: rows that overlap are those of a convolution, too."""
    edits, words, written = OPEN[name]
    text = plant(*edits, text=TEXT)
    report = check_text(text, search=True)
    (point,) = report.open
    assert not report.findings and text[slice(*point.span)] == words
    assert point.message.endswith(f"; with {written} in place of {words} here, D is A·B.")


def test_tries_only_what_a_loop_steps_if_the_first_product_is_right() -> None:
    text = plant(("(b + k * 32),", "(b + k * 64),"), ("(b + k * 32 + 16)", "(b + k * 64 + 16)"), text=TEXT)
    repair = find_product_search(text, {}, (), {"gemm"})
    assert isinstance(repair, MethodType)
    edits = (edit for _, edit in repair.__self__.list_candidates([]) if edit.text != "k")
    tried = {text[: edit.span[0]].count("\n") for edit in edits}
    stepped = {n for n, line in enumerate(text.split("\n")) if "k * " in line or "++k" in line}
    assert text[: text.index("(b + k * 64),")].count("\n") in tried <= stepped


def test_tries_no_edit_of_what_loads_the_other_operand() -> None:
    load = "__device__ uint32_t load_{0}(const int8_t* p) {{ int at = {1} * 4; return *(const uint32_t*)(p + at); }}\n"
    helpers = load.format("a", "0") + load.format("b", "0 / 2")
    text = plant(
        ("__global__", f"{helpers}__global__"),
        ("*reinterpret_cast<const uint32_t*>(a +", "load_a(a +"),
        ("*reinterpret_cast<const uint32_t*>(b + k * 32),", "load_b(b + k * 32),"),
        ("*reinterpret_cast<const uint32_t*>(b + k * 32 + 16)", "load_b(b + k * 32 + 16)"),
        ("(col + g) * K", "(col + t) * K"),
        text=TEXT,
    )
    repair = find_product_search(text, {}, (), {"gemm"})
    assert isinstance(repair, MethodType)
    of_b = replace(repair.__self__, sides=(B,))
    tried = {edit.span[0] for _, edit in of_b.list_candidates([])}
    inside = {name: range(text.index(f"load_{name}("), text.index("\n", text.index(f"load_{name}("))) for name in "ab"}
    assert not tried.intersection(inside["a"]) and tried.intersection(inside["b"])


@for_each("name", OTHERS, sample=1)
def test_leaves_other_products(name: str) -> None:
    found = check_text(plant(*OTHERS[name], text=TEXT), search=True).findings
    assert not any(finding.code == "product_broken" for finding in found)


# right kernels whose D is of other rows or columns, or in another order
MEANT: dict[str, tuple[tuple[str, str], ...]] = {
    "two rows of D of each of A": (("+ row * K", "+ row / 2 * K"), ("a + i % 2 * 8 * K", "a + i % 2 * 4 * K")),
    "two columns of D of each of B": (("(col + g) * K", "(col + g) / 2 * K"),),
    "tiles of D in sequence": (
        ("c[r * N + n]", "c[((blockIdx.y * 2 + r % 32 / 16) * (N / 8) + blockIdx.x) * 128 + r % 16 * 8 + n % 8]"),
    ),
    "a packed triangle": (("    c[r * N + n]", "    if (n <= r) c[r * (r + 1) / 2 + n]"),),
    "overlapping rows of A": (
        ("M * K + row * K", "M * N + row * N"),
        ("8 * K + k", "8 * N + k"),
        ("M, N, K);\n}", "M, N, 2 * N);\n}"),
    ),
}


@for_each("name", MEANT, sample=1)
def test_a_right_kernel_with_another_d_has_no_finding(name: str) -> None:
    report = check_text(plant(*MEANT[name], text=TEXT), search=True)
    assert not report.findings and report.open


def test_judges_each_choice_of_devices() -> None:
    """What is wrong is reported though another choice of #if cannot be followed, not if D is right in that choice."""
    plain = MMA[MMA.index("asm") : MMA.index(";\n}")]
    for other, wrong, codes in ((f"{plain}; change(d)", "row", ["factor_misplaced"]), (plain, "r", [])):
        chosen = f"#if __CUDA_ARCH_SPECIFIC__ == 1200\n{other};\n#else\n{plain};\n#endif"
        report = check_text(plant((f"{plain};", chosen), ("sa[r]", f"sa[{wrong}]"), text=TEXT))
        assert [finding.code for finding in report.findings] == codes
        assert codes or not any(point.of_result for point in report.open)


@pytest.mark.thorough
def test_a_sum_of_products_of_two_shapes_is_judged() -> None:
    """The first product takes 32 of K, the second 16 after these; B is loaded from as many k in another step."""
    half = MMA[MMA.index("__device__") :].replace("multiply", "multiply_half").replace("k32", "k16")
    half = half.replace("{%4,%5,%6,%7}, {%8,%9}", "{%4,%5}, {%6}").replace(', "r"(a[2]), "r"(a[3])', "")
    text = plant(
        ("__global__", half.replace(', "r"(b1)', "") + "__global__"),
        ("k < K / 32; ++k", "k < K / 48; ++k"),
        ("8 * K + k * 32", "8 * K + k * 48"),
        ("(b + k * 32),", "(b + k * 64),"),
        (
            "(b + k * 32 + 16));",
            """(b + k * 64 + 16));
    for (int i = 0; i < 2; ++i) x[i] = *reinterpret_cast<const uint32_t*>(a + i * 8 * K + k * 48 + 32);
    multiply_half(d, x, *reinterpret_cast<const uint32_t*>(b + k * 64 + 32), 0);""",
        ),
        text=TEXT,
    )
    report = check_text(text, search=True)
    assert [kernel.name for kernel in report.kernels] == ["gemm"] and any(point.of_result for point in report.open)
    right = text.replace("(b + k * 64", "(b + k * 48")
    assert not any(point.of_result for point in check_text(right).open)


GIVEN = plant(  # M, N and K are members of the only parameter
    (
        "gemm(const int8_t* A, const int8_t* B, float* C, const float* sa,\n    const float* sb, int M, int N, int K)",
        "gemm(Given p)",
    ),
    *((f"{name} + blockIdx.z", f"p.{name} + blockIdx.z") for name in "ABC"),
    *((f"* {name}", f"* p.{name}") for name in ("M * K", "N * K", "M * N")),
    ("M * K + row * K", "M * p.K + row * p.K"),
    ("N * K + (col + g) * K", "N * p.K + (col + g) * p.K"),
    ("i % 2 * 8 * K", "i % 2 * 8 * p.K"),
    ("k < K / 32", "k < p.K / 32"),
    ("p.M * N;", "p.M * p.N;"),
    ("c[r * N + n] = sa[r] * sb[n]", "c[r * p.N + n] = p.sa[r] * p.sb[n]"),
    ("int M, int N, int K) {\n  gemm", "int M, int N, int K, Given p) {\n  gemm"),
    ("dim3(N / 8, M / 32), 64>>>(A, B, C, sa, sb, M, N, K)", "dim3(p.N / 8, p.M / 32), 64>>>(p)"),
    (
        "__global__ void",
        "struct Given {\n  const int8_t *A, *B;\n  float* C;\n  const float *sa, *sb;\n  int M, N, K;\n};\n"
        "__global__ void",
    ),
    text=TEXT,
)
WHOLE = "dim3(N / 8, M / 32)"
ONE_DIMENSION = plant(
    ("row = blockIdx.y * 32", "row = blockIdx.x / (N / 8) * 32"),
    ("col = blockIdx.x * 8", "col = blockIdx.x % (N / 8) * 8"),
    (WHOLE, "M / 32 * (N / 8)"),
    text=TEXT,
)
PROGRAM = plant(  # with numbers, and loops of the host over elements
    ("c[r * N + n] =", "c[r * N + n] +="),
    (
        LAUNCH[: LAUNCH.index("  gemm<<<")],
        """
int main() {
  const int M = 1024, N = 1024, K = 512;
  int8_t *A, *B;
  float *C, *sa, *sb;
  for (int i = 0; i < M * K; ++i) A[i] = i % 7;
  for (int i = 0; i < M; ++i) sa[i] = 1;
""",
    ),
    text=TEXT,
)
SQUARE = plant(  # all sizes are one number, and a kernel without D checks it
    (
        "  gemm<<<",
        "  naive<<<dim3(N / 16, N / 16), dim3(16, 16)>>>(A, B, reference, N);\n  gemm<<<",
    ),
    (
        "__global__ void __launch_bounds__",
        """__global__ void naive(const int8_t* A, const int8_t* B, float* C, int N) {
  int r = blockIdx.y * 16 + threadIdx.y, n = blockIdx.x * 16 + threadIdx.x, sum = 0;
  for (int k = 0; k < N; ++k) sum += A[r * N + k] * B[n * N + k];
  C[r * N + n] = sum;
}
__global__ void __launch_bounds__""",
    ),
    text=re.sub(r"\b[MK]\b", "N", PROGRAM)
    .replace("int N, int N, int N", "int N")
    .replace("const int N = 1024, N = 1024, N = 512;", "const int N = 4096;")
    .replace("sb, N, N, N)", "sb, N)")
    .replace("float *C, *sa", "float *C, *reference, *sa"),
)


@for_each(
    ("text", "change", "code", "line"),
    [
        (TEXT, (WHOLE, "dim3(M / 32, N / 8)"), "tiles_left", "dim3(M / 32"),
        (TEXT, (WHOLE, "dim3(N / 8, N / 32)"), "tiles_left", "dim3(N / 8, N / 32)"),
        (SQUARE, ("N / 8, N / 32", "N / 8, N / 64"), "tiles_left", "N / 64"),
        (ONE_DIMENSION, ("/ (N / 8) * 32", "/ (M / 8) * 32"), "product_broken", "/ (M / 8)"),
        (TEXT, ("M * K + row * K", "M * K + row * M"), "product_broken", "row * M"),
        (PROGRAM, ("M * K + row * K", "M * K + row * M"), "product_broken", "row * M"),
        (GIVEN, ("dim3(p.N / 8, p.M / 32)", "dim3(p.M / 32, p.N / 8)"), "tiles_left", "dim3(p.M / 32"),
        (TEXT, ("blockIdx.x * 8;", "blockIdx.x * 4;"), "product_broken", "blockIdx.x * 4"),
        (
            TEXT,
            ("int d[4] = {};", "int d[4];\n  for (int i = 0; i < 2; ++i) d[i] = 0;"),
            "accumulator_unset",
            "d[i] = 0",
        ),
    ],
    sample="line",
)
def test_tiles_that_a_launch_leaves_out_and_what_blocks_repeat(
    text: str, change: tuple[str, str], code: str, line: str
) -> None:
    assert not check_text(text, search=True).findings
    wrong = plant(change, text=text)
    (found,) = check_text(wrong, search=True).findings
    assert found.code == code and wrong.count("\n", 0, found.span[0]) == wrong.count("\n", 0, wrong.index(line))


@for_each(
    "changes",
    [
        [(WHOLE, "dim3(M / 32, N / 8)"), ("  gemm<<<", "  if (M != N) return;\n  gemm<<<")],
        [(WHOLE, "dim3(N / 8, M / 64)"), ("  gemm<<<", "  if (M > 4096) return;\n  gemm<<<")],
        [
            (WHOLE, "dim3(N / 8 + 1, M / 32 + 1)"),
            ("  const int g =", "  if (blockIdx.x >= N / 8 || blockIdx.y >= M / 32) return;\n  const int g ="),
        ],
        [(WHOLE, "dim3(16, 16)")],
        [(WHOLE, "dim3(N / 16, M / 32)")],  # what calls the launcher may compute the rest
        [(LAUNCH, PROGRAM[PROGRAM.index("\nint main") :]), ("k < K / 32", "k < K / 64")],
        [("B + blockIdx.z * N * K + (col + g)", "B + blockIdx.z * N * K + (col / 2 * 2 + g)")],
    ],
    ids=[
        "square",
        "few rows",
        "more blocks than tiles",
        "one part",
        "half of the columns",
        "half of K",
        "columns as they are",
    ],
)
def test_a_launch_may_be_for_some_sizes_or_have_more_blocks(changes: list[tuple[str, str]]) -> None:
    assert not check_text(plant(*changes, text=TEXT), search=True).findings
