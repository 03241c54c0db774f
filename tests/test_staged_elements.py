"""Elements of D that threads store to shared memory on their way to global memory have bytes of their own."""

from __future__ import annotations

from tests.cases import for_each
from tests.checked import locate_findings, run_blocks
from tests.test_check_origins import THROUGH_SHARED
from tests.transfer_kernels import plant

STORE = "stage[(r - row + 8 * h) * (BN + 8) + c - col + e]"


@for_each(
    "wrong", ["stage[(r - row + 8 * h) * (BN / 2) + c - col + e]", "stage[(r - row + 4 * h) * (BN + 8) + c - col + e]"]
)
def test_a_thread_that_stores_over_another_one_is_found(wrong: str) -> None:
    text = plant((STORE, wrong), text=THROUGH_SHARED)
    ((code, line),) = locate_findings(text, run_blocks(text).mistakes)
    assert code == "result_misplaced" and wrong in line


def test_a_row_that_is_a_remainder_of_the_lane_is_found_at_its_value() -> None:
    """Lanes 0, 4, 8 and so on then store their elements to one row."""
    own = STORE.replace("(r - row + 8 * h)", "(warp * 16 + row_of + 8 * h)")
    named = plant(
        ("  bf16* stage = sA;\n", "  bf16* stage = sA;\n  int row_of = threadIdx.x % 32 / 4;\n"),
        (STORE, own.replace("warp", "threadIdx.x / 32")),
        text=THROUGH_SHARED,
    )
    assert not run_blocks(named).mistakes
    wrong = plant(("% 32 / 4;", "% 32 % 4;"), text=named)
    ((code, line),) = locate_findings(wrong, run_blocks(wrong).mistakes)
    assert (code, line) == ("result_misplaced", "int row_of = threadIdx.x % 32 % 4;")


def test_one_element_that_several_threads_store_is_right() -> None:
    """The four lanes of a row store its first element, each to the same bytes."""
    broadcast = (
        "  float* first = reinterpret_cast<float*>(sB);\n  for (int h = 0; h < 2; ++h)\n"
        "    first[warp * 16 + lane / 4 + 8 * h] = __shfl_sync(0xffffffff, d[2 * h], lane & ~3);\n"
    )
    at = THROUGH_SHARED.index("  for (int j = 0; j < 16; ++j) {\n    int r = row + warp")
    text = THROUGH_SHARED[:at] + broadcast + THROUGH_SHARED[at:]
    assert not run_blocks(text).mistakes
