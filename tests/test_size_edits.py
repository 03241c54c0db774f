"""A bound, a number of slices or a launch that names another size than its dimension's is found by the right name."""

from __future__ import annotations

import pytest

from tests.cases import for_each
from tests.checked import locate_findings, run_blocks
from tests.test_check_origins import GRID, KERNEL as NUMBERED, PLACE
from tests.test_replaced_sizes import CALL
from tests.transfer_kernels import plant

KERNEL = plant(
    ("M / BM * (N / BN)", GRID),
    ("int tiles = N / BN, m = blockIdx.x / tiles, n = blockIdx.x % tiles,", "int m = blockIdx.y, n = blockIdx.x,"),
    (PLACE + " =", f"if (r + 8 * h < M && c + e < N) {PLACE} ="),
    text=NUMBERED,
)
ROWS, COLUMNS, SLICES, LAUNCH = "h < M", "e < N", "t < K / BK", "C, M, N, K);"
DIFFERENT, EQUAL = (CALL.format(f"const int M = {m}, N = 2048, K = 1024;", "M, N, K") for m in (4096, 2048))


def find(*edits: tuple[str, str], main: str = "") -> dict[str, str]:
    text = plant(*edits, text=KERNEL) + main
    report = run_blocks(text)
    assert bool(report.mistakes) is not bool(report.open) or not report.open
    return dict(locate_findings(text, report.mistakes))


def test_bounds_of_their_own_dimensions_are_right() -> None:
    assert not find() and not run_blocks(KERNEL).open


def test_rows_below_the_number_of_columns_are_found_where_that_is_less() -> None:
    assert "h < N" in find((ROWS, "h < N"))["bound_of_other_size"]


@pytest.mark.thorough
@for_each(
    ("old", "new", "code"),
    [
        (COLUMNS, "e < M", "bound_of_other_size"),
        (SLICES, "t < N / BK", "k_slices_left"),
        (LAUNCH, "C, N, M, K);", "dimensions_exchanged"),
    ],
)
def test_another_size_is_found_where_it_is_named(old: str, new: str, code: str) -> None:
    assert new in find((old, new))[code]


@pytest.mark.thorough
def test_numbers_of_the_host_decide_whether_it_is_a_mistake() -> None:
    wrong = (ROWS, "h < N")
    assert "h < N" in find(wrong, main=DIFFERENT)["bound_of_other_size"]
    assert not find(wrong, main=EQUAL)
