"""The rows that a copy reaches are those of its tensor: exchanged maps, axes and coordinates contradict the launch."""

from __future__ import annotations

from tests.cases import for_each
from tests.checked import check_text
from tests.transfer_kernels import TMA, plant

LAUNCH = "(map_a, map_b, C, M, N, K)"
GRID = "dim3(N / BN, M / BM)"
ROW, COL = "&full[slot], t * BK, row)", "&full[slot], t * BK, col)"
AXES = "row = blockIdx.y * BM, col = blockIdx.x * BN"
# names without letters of operands, boxes of one size: only the launch and the sizes of the tensors say who is who
PLAIN = TMA.replace("map_a", "first").replace("map_b", "second").replace("BM = 64", "BM = 128")
PLAIN = PLAIN.replace("bf16* A, bf16* B, bf16* C", "bf16* x, bf16* y, bf16* C")
PLAIN = PLAIN.replace("&first, A,", "&first, x,").replace("&second, B,", "&second, y,")
NUMBERS = plant((GRID, "dim3(32, 24)"), ("x, M, K", "x, 3072, 2048"), ("y, N, K", "y, 4096, 2048"), text=PLAIN)
MISTAKES = [  # text, what stands there, what is planted, code, the words that are told
    (TMA, LAUNCH, "(map_b, map_a, C, M, N, K)", "tma_map_other", "map_b"),
    (TMA, COL, ROW, "row_coordinate_other", "row"),
    (TMA, ROW, COL, "row_coordinate_other", "col"),
    (TMA, AXES, "row = blockIdx.x * BM, col = blockIdx.y * BN", "row_coordinate_other", "row"),
    (TMA, GRID, "dim3(M / BM, N / BN)", "row_coordinate_other", "row"),
    (PLAIN, "(first, second, C", "(second, first, C", "tma_map_other", "second"),
    (NUMBERS, COL, ROW, "row_coordinate_other", "row"),
]
RIGHT = [
    PLAIN,
    NUMBERS,
    plant((GRID, "dim3((N + BN - 1) / BN, (M + BM - 1) / BM)")),
    plant(
        (GRID, "dim3(N / BN * (M / BM))"), (AXES, "row = blockIdx.x / (N / BN) * BM, col = blockIdx.x % (N / BN) * BN")
    ),
    plant((GRID, "launch_grid")),  # not known
]


@for_each(("text", "old", "new", "code", "told"), MISTAKES)
def test_rows_of_the_other_operand_are_told(text: str, old: str, new: str, code: str, told: str) -> None:
    text = plant((old, new), text=text)
    assert [(one.code, text[slice(*one.span)]) for one in check_text(text).findings] == [(code, told)]


@for_each("text", RIGHT)
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
