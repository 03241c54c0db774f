"""Bounds that hold only with some sizes: a kernel whose D is A·B is run with others, too."""

from __future__ import annotations

from tests.cases import for_each
from tests.checked import check_whole
from tests.known_kernels import KERNEL, LAUNCH
from tests.test_known_tiles import DEPTH
from tests.transfer_kernels import plant

ROWS = "const int r = row + i / 2 * 8, n = col + t * 2 + i % 2;\n"
CEILED = ("k < K / 32", "k < (K + 31) / 32"), ("x[i] = *", f"x[i] = {DEPTH} >= K ? 0 : *")
B_WORDS = "*reinterpret_cast<const uint32_t*>(b + k * 32)", "*reinterpret_cast<const uint32_t*>(b + k * 32 + 16)"
B_TAIL = ", ".join(B_WORDS), f"{DEPTH[:14]} < K ? {B_WORDS[0]} : 0, {DEPTH[:14]} + 16 < K ? {B_WORDS[1]} : 0"


@for_each(
    ("changes", "codes", "why"),
    [
        (((ROWS, f"{ROWS}    if (r >= M) continue;\n"),), [], ""),
        (((ROWS, f"{ROWS}    if (r >= N) continue;\n"),), ["bound_of_other_size"], ""),
        ((*CEILED, B_TAIL), [], ""),
        ((CEILED[1], B_TAIL), [], "sum over each of the K = 400"),
        ((CEILED[1], B_TAIL, ("  const int g", "  assert(K % 32 == 0);\n  const int g")), [], ""),
        ((CEILED[1], B_TAIL, ("  const int g", "  // K is a multiple of 32\n  const int g")), [], ""),
        (CEILED, [], "beyond K"),
        ((CEILED[0], ("x[i] = *", f"x[i] = {DEPTH} + 4 >= K ? 0 : *"), B_TAIL), ["k_slices_left"], ""),
    ],
    sample="why",
)
def test_bounds_hold_with_other_sizes(changes: tuple[tuple[str, str], ...], codes: list[str], why: str) -> None:
    """M is larger than N in another run, and K is not a multiple of the slices."""
    report = check_whole(plant(*changes, text=KERNEL + LAUNCH))
    assert [one.code for one in report.findings] == codes
    assert [why in one.message for one in report.open if one.of_result] == [True] * bool(why)


@for_each(
    ("arguments", "whole"),
    [("B, A, C, sb, sa, N, M", True), ("A, B, C, sb, sa, N, M", False), ("A, B, C, sa, sb, K, N", False)],
)
def test_a_launch_exchanges_a_and_b_with_their_sizes(arguments: str, whole: bool) -> None:
    """For Dᵀ = Bᵀ·Aᵀ."""
    changes = ("N / 8, M / 32", "M / 8, N / 32"), ("A, B, C, sa, sb, M, N", arguments)
    report = check_whole(KERNEL + plant(*changes, text=LAUNCH))
    assert not report.findings and any(one.of_result for one in report.open) != whole


def test_a_parameter_of_another_name_is_what_its_launch_gives() -> None:
    assert not check_whole(KERNEL.replace("int M", "int L").replace(" M ", " L ") + LAUNCH).open


def test_blocks_beyond_d_do_not_make_their_bound_wrong() -> None:
    """The last block of a grid that is rounded up returns. With K, as little is shown of the tiles of D as with N."""
    sizes = "void run() {\n  const int M = 512, N = 328, K = 256;\n  int8_t *A, *B;\n  float *C, *sa, *sb;\n"
    head = LAUNCH[: LAUNCH.index("  gemm<<<")]
    padded = plant((head, f"\n{sizes}"), ("N / 8", "(N / 8 + 3) / 4 * 4"), text=LAUNCH)
    guard = "  const int col = blockIdx.x * 8;\n", "  const int col = blockIdx.x * 8;\n  if (col >= N) return;\n"
    report = check_whole(plant(guard, text=KERNEL) + padded)
    assert report.findings == () and [one.of_result for one in report.open] == [True]
