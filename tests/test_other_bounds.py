"""Rows of D that are kept inside the matrix by its number of columns, and columns by the number of rows."""

from __future__ import annotations

from lanescope.workbench.fragments.thread_tiles import check_thread_tiles
from tests.ampere_kernels import REGISTERS
from tests.cases import for_each
from tests.transfer_kernels import plant

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
)
def test_a_bound_by_the_size_of_the_other_dimension_is_found(text: str, right: str, wrong: str) -> None:
    assert list_places(plant((right, wrong), text=text)) == [("bound_of_other_size", wrong)]


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


def test_names_that_say_nothing_and_no_other_bound_leave_it_open() -> None:
    text = CHOSEN.replace("m < M", "m < N").replace("int M,", "int P,").replace("M - 1", "P - 1")
    assert list_places(text) == []


def test_equal_sizes_of_a_launch_may_stand_for_each_other() -> None:
    square = plant(("min((int)blockIdx.y * TM + r, M - 1)", "min((int)blockIdx.y * TM + r, N - 1)"), text=CLAMPED)
    assert list_places(square + "void f() { register_gemm<<<8, 128>>>(A, B, C, n, n, k); }") == []
