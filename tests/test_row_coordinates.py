"""The rows that a copy reaches are those of its tensor: exchanged maps, axes and coordinates contradict the launch."""

from __future__ import annotations

import pytest

from lanescope.workbench.fragments.thread_tiles import check_thread_tiles
from tests.ampere_kernels import REGISTERS
from tests.cases import for_each
from tests.checked import check_text, locate_findings, run_blocks
from tests.transfer_kernels import READ_A, READ_B, TMA, plant

LAUNCH = "(map_a, map_b, C, M, N, K)"
GRID = "dim3(N / BN, M / BM)"
ROW, COL = "&full[slot], t * BK, row)", "&full[slot], t * BK, col)"
AXES = "row = blockIdx.y * BM, col = blockIdx.x * BN"
# names without letters of operands, boxes of one size: only the launch and the sizes of the tensors say who is who
PLAIN = TMA.replace("map_a", "first").replace("map_b", "second").replace("BM = 64", "BM = 128")
PLAIN = PLAIN.replace("bf16* A, bf16* B, bf16* C", "bf16* x, bf16* y, bf16* C")
PLAIN = PLAIN.replace("&first, A,", "&first, x,").replace("&second, B,", "&second, y,")
APART = plant((AXES, "row = blockIdx.y * BM; const int col = blockIdx.x * BN"))  # two statements, one launch
NUMBERS = plant((GRID, "dim3(32, 24)"), ("x, M, K", "x, 3072, 2048"), ("y, N, K", "y, 4096, 2048"), text=PLAIN)
MISTAKES = [  # text, what stands there, what is planted, code, the words that are told
    (TMA, LAUNCH, "(map_b, map_a, C, M, N, K)", "tma_map_other", "map_b"),
    (TMA, COL, ROW, "row_coordinate_other", "row"),
    (TMA, ROW, COL, "row_coordinate_other", "col"),
    (TMA, AXES, "row = blockIdx.x * BM, col = blockIdx.y * BN", "row_coordinate_other", "row"),
    (TMA, GRID, "dim3(M / BM, N / BN)", "row_coordinate_other", "row"),
    (APART, GRID, "dim3(M / BM, N / BN)", "grid_exchanged", "dim3(M / BM, N / BN)"),
    (TMA, "A, M, K, BM", "A, K, M, BM", "dimensions_exchanged", "M"),
    (PLAIN, "(first, second, C", "(second, first, C", "tma_map_other", "second"),
    (NUMBERS, COL, ROW, "row_coordinate_other", "row"),
]
RIGHT = [
    PLAIN,
    NUMBERS,
    APART,
    plant((GRID, "dim3((N + BN - 1) / BN, (M + BM - 1) / BM)")),
    plant(
        (GRID, "dim3(N / BN * (M / BM))"), (AXES, "row = blockIdx.x / (N / BN) * BM, col = blockIdx.x % (N / BN) * BN")
    ),
    plant((GRID, "launch_grid")),  # not known
    plant((GRID, "dim3(M / BM, N / BN)"), ("  gemm<<<", "  assert(M == N);\n  gemm<<<"), text=APART),
    plant(("BM = 64", "BM = 128"), (LAUNCH, "(map_a, map_a, C, M, M, K)"), (GRID, "dim3(M / BN, M / BM)")),  # A·Aᵀ
]


@for_each(("text", "old", "new", "code", "told"), MISTAKES, sample=3)
def test_rows_of_the_other_operand_are_told(text: str, old: str, new: str, code: str, told: str) -> None:
    text = plant((old, new), text=text)
    assert [(one.code, text[slice(*one.span)]) for one in check_text(text).findings] == [(code, told)]


@for_each("text", RIGHT, sample=2)
def test_rows_of_the_own_operand_are_right(text: str) -> None:
    assert not check_text(text).findings


def test_a_transposed_product_exchanges_its_sizes_with_its_maps() -> None:
    """D transposed is B times A transposed: the maps change places, M and N, and the axes of the grid, too."""
    text = plant(
        (LAUNCH, "(map_b, map_a, C, N, M, K)"),
        (GRID, "dim3(M / BN, N / BM)"),
        ("A, M, K, BM, BK", "A, M, K, BN, BK"),
        ("B, N, K, BN, BK", "B, N, K, BM, BK"),
    )
    assert not check_text(text).findings


def test_panels_of_a_tile_are_a_box_apart() -> None:
    """The coordinate of the second box must move by the rows of the first."""
    copy = f"tma_load(sB + slot * BN * BK, &tb, {COL}"
    halves = copy.replace("BK, &tb", "BK + h * 64 * BK, &tb").replace("col", "col + h * 64")
    right = plant((copy, f"for (int h = 0; h < 2; ++h) {halves}"), ("B, N, K, BN,", "B, N, K, 64,"))
    assert not check_text(right).findings
    wrong = plant(("col + h * 64", "col + h * 32"), text=right)
    assert [(one.code, wrong[slice(*one.span)]) for one in check_text(wrong).findings] == [("boxes_overlap", "h * 32")]


# bounds by the other dimension ----------------------------------------------------------------------------------------

A_ROW, B_ROW = "(blockIdx.y * TM + r) * K + c", "(blockIdx.x * TN + r) * K + c"
CLAMPED = plant(
    (A_ROW, "min((int)blockIdx.y * TM + r, M - 1) * K + c"),
    (B_ROW, "min((int)blockIdx.x * TN + r, N - 1) * K + c"),
    text=REGISTERS,
)
CHOSEN = plant(
    (A_ROW, "(m < M ? m : M - 1) * K + c"),
    (B_ROW, "(n < N ? n : N - 1) * K + c"),
    ("  const half* pa", "  int m = blockIdx.y * TM + r, n = blockIdx.x * TN + r;\n  const half* pa"),
    text=REGISTERS,
)


def list_places(text: str) -> list[tuple[str, str]]:
    return [(one.code, text[slice(*one.span)]) for one in check_thread_tiles(text, {}).findings]


@for_each("text", [CLAMPED, CHOSEN])
def test_bounds_by_the_own_size_are_right(text: str) -> None:
    report = check_thread_tiles(text, {})
    assert (report.findings, report.verified) == ([], 2)


@for_each(
    ("text", "right", "wrong"),
    [
        (CLAMPED, "min((int)blockIdx.y * TM + r, M - 1)", "min((int)blockIdx.y * TM + r, N - 1)"),
        (CLAMPED, "min((int)blockIdx.x * TN + r, N - 1)", "min((int)blockIdx.x * TN + r, M - 1)"),
        (CHOSEN, "m < M", "m < N"),
        (CHOSEN, "n < N", "n < M"),
    ],
    sample=2,
)
def test_a_bound_by_the_size_of_the_other_dimension_is_found(text: str, right: str, wrong: str) -> None:
    assert list_places(plant((right, wrong), text=text)) == [("bound_of_other_size", wrong)]


@pytest.mark.thorough
@for_each(
    "use",
    [
        "int last = min(m, N - 1); acc[0][0] = n <= last ? acc[0][0] : 0.f;",  # a causal mask
        "if (m < N) acc[0][0] += pa[m];",
        "if (m < N && m == n) acc[0][0] += 1.f;",
    ],
)
def test_a_row_may_be_compared_with_a_column(use: str) -> None:
    store = CHOSEN.index("  for (", CHOSEN.rindex("mma"))
    assert list_places(f"{CHOSEN[:store]}  {use}\n{CHOSEN[store:]}") == []


def test_a_leading_dimension_is_no_limit_of_columns() -> None:
    """Of a square D whose rows and columns are below N, and whose rows are ldc apart."""
    text = plant(("m < M ? m : M - 1", "m < N ? m : N - 1"), text=CHOSEN)
    assert list_places(text) == [("bound_of_other_size", "m < N")]
    square = text.replace("int M,", "int ldc,").replace("* N + ", "* ldc + ")
    assert square.count("ldc") > 1 and list_places(square) == []


def test_names_that_say_nothing_and_no_other_bound_leave_it_open() -> None:
    text = CHOSEN.replace("m < M", "m < N").replace("int M,", "int P,").replace("M - 1", "P - 1")
    assert list_places(text) == []


def test_equal_sizes_of_a_launch_may_stand_for_each_other() -> None:
    square = plant(("min((int)blockIdx.y * TM + r, M - 1)", "min((int)blockIdx.y * TM + r, N - 1)"), text=CLAMPED)
    assert list_places(square + "void f() { register_gemm<<<8, 128>>>(A, B, C, n, n, k); }") == []


# quotient and remainder -----------------------------------------------------------------------------------------------

LINEAR = plant(
    (GRID, "dim3(N / BN * (M / BM))"),
    (AXES, "cols = N / BN, rows = M / BM, row = blockIdx.x / cols * BM, col = blockIdx.x % cols * BN"),
)
OWN_COLUMN = plant(
    ("blockIdx.x % cols * BN;", "blockIdx.x % cols * BN;\n  int from = blockIdx.x % cols * BN;"),
    (COL, COL.replace("col)", "from)")),
    text=LINEAR,
)


def test_a_remainder_by_another_size_than_the_quotient_is_told() -> None:
    """The copy of B takes column `at % rows`, and its row is `at / cols`."""
    assert not run_blocks(OWN_COLUMN).mistakes
    text = plant(("from = blockIdx.x % cols", "from = blockIdx.x % rows"), text=OWN_COLUMN)
    assert locate_findings(text, run_blocks(text).mistakes) == [
        ("row_coordinate_wrong", "int from = blockIdx.x % rows * BN;")
    ]


def test_a_product_takes_the_rows_of_another_one() -> None:
    """A copy brings the 128 rows of two products, which are all stored: the address of the second one is wrong."""
    first = f"multiply<1>(d, make_smem_desc({READ_A}), make_smem_desc({READ_B}));"
    second = first.replace("(d,", "(low,").replace("sA", "sA + 64 * BK")
    stores = "    C[r * N + c] = d[j * 4];\n    C[(r + 8) * N + c] = d[j * 4 + 2];\n"
    all_stores = "".join(
        f"    C[(r + {64 * n + 8 * h}) * N + c + {e}] = {name}[j * 4 + {2 * h + e}];\n"
        for n, name in enumerate(("d", "low"))
        for h in (0, 1)
        for e in (0, 1)
    )
    text = plant(
        ("BM = 64", "BM = 128"),
        ("float d[64] = {};", "float d[64] = {}, low[64] = {};"),
        (first, f"{{ {first}\n        {second} }}"),
        (stores, all_stores),
    )
    assert not run_blocks(text).mistakes
    wrong = plant((second, first.replace("(d,", "(low,")), text=text)
    ((code, at),) = locate_findings(wrong, run_blocks(wrong).mistakes)
    assert code == "operand_rows_wrong" and at.startswith("multiply<1>(low,")
