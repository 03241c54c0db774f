"""Why D is not known to be A·B, with elements that show it: K = 384, N = 2,816 and M = 1,792 are those of the run."""

from __future__ import annotations

from lanescope.workbench.check import check_text
from tests.cases import for_each
from tests.known_kernels import KERNEL, LAUNCH
from tests.test_known_products import list_points
from tests.transfer_kernels import plant

SHOWN: dict[tuple[str, str], str] = {
    # B of a product begins 32 elements later, in its upper half
    (
        "b + k * 32 + 16",
        "b + k * 32 + 32",
    ): "A[0][16] is multiplied by B[32][0], if A is row-major and B is column-major.",
    # the second row begins at 2,816 = 7 · 384 + 128
    ("row * K + t * 4", "row * N + t * 4"): "A[0][0] and A[7][128] are taken as the same k, if A is row-major.",
    # columns 0 to 3 in place of 0 to 7: thread 1 has elements 4 to 7 of a column
    ("(col + g) * K", "(col + t) * K"): "B[0][0] and B[4][1] are taken as the same column, if B is column-major.",
    ("c[r * N + n]", "c[(r + 8) * N + n]"): "D[8][0] is that of row 0 of A and column 0 of B, if D is row-major.",
}


@for_each(("change", "shown"), list(SHOWN.items()), sample=2)
def test_an_open_product_shows_elements(change: tuple[str, str], shown: str) -> None:
    ((message, _),) = list_points(change, text=KERNEL + LAUNCH)
    assert shown in message


@for_each(("k", "why"), [("40", "K = 40 is not a multiple of 32, the depth"), ("416", "")])
def test_a_given_k_is_compared_with_that_of_a_product(k: str, why: str) -> None:
    """The launch gives the kernel K, whose value is -D's. It ends at once with K / 32, and not with a step of 32."""
    text = plant(("int k = 0; k < K / 32; ++k", "int k = 0; k * 32 < K; ++k"), text=KERNEL + LAUNCH)
    assert [why in point.message for point in check_text(text, {"macro.K": k}).open] == [True] * bool(why)
