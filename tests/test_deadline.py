"""A computation whose time is over ends at its next question, and leaves nothing half made behind."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pytest

from lanescope import find, reader
from lanescope.deadline import OverdueError, check_deadline, end_when
from lanescope.errors import LayoutError
from lanescope.reader.code.evaluation import evaluate_text
from lanescope.shared import banks, chain, freeing
from lanescope.shared.operand_storage import make_line_storage
from lanescope.workbench import build_workbench
from lanescope.workbench.check import check_text
from tests.cases import for_each

LOOP = """\
constexpr uint64_t base(uint32_t smem) { return (smem & 0x3FFFF) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62; }
void f(uint32_t smem) {
  for (int k = 0; k < 4; ++k) {
    uint64_t desc = base(smem) + k * 2;
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0}, %1, %1, 1, 1, 1, 0, 0;" : : "l"(desc));
  }
}
"""
TILED = "make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_2,_2>>{}, Tile<_32,_32,_16>{})"
MMA = find("mma.m16n8k16.row.col.f32.f16.f16.f32")


def evaluate_words() -> list[tuple[str, object]]:
    found = evaluate_text(LOOP + " ")
    assert found is not None
    return [(one.name, str(one.value)) for one in found.descriptors]


def list_advised() -> list[str]:
    return [
        one.load.instruction.ptx
        for one in chain.list_best_chains(MMA.operand("a"), make_line_storage(MMA.operand("a"), "K"))
    ]


DOORS: dict[str, Callable[[], Any]] = {
    "code": evaluate_words,
    "a bench": lambda: build_workbench(LOOP),
    "a check": lambda: check_text(LOOP),
    "a TiledMMA": lambda: reader.recognise_text(TILED),
    "a swizzle": lambda: freeing.find_freeing_swizzle(
        [banks.make_address_use(banks.get_access("ldmatrix.x4"), [512 * lane for lane in range(32)])]
    ),
    "a chain": list_advised,
}


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    evaluate_text.cache_clear()


def make_counter() -> tuple[list[int], Callable[[], bool]]:
    asked = [0]

    def over() -> bool:
        asked[0] += 1
        return False

    return asked, over


@for_each("door", DOORS)
def test_an_answer_is_whole_or_there_is_none(door: str) -> None:
    make = DOORS[door]
    make()  # what every process reads once is read
    evaluate_text.cache_clear()
    asked, never = make_counter()
    with end_when(never):
        whole = make()
    assert asked[0] > 1
    for last in sorted({0, 1, asked[0] // 2, asked[0] - 1}):
        evaluate_text.cache_clear()
        left = iter(range(last))
        with pytest.raises(OverdueError), end_when(lambda left=left: next(left, None) is None):  # type: ignore[misc]
            make()
        assert make() == whole, last  # what was computed until then is nowhere kept as an answer


def test_nobody_takes_the_end_for_a_refusal() -> None:
    assert not issubclass(OverdueError, Exception) and not issubclass(OverdueError, LayoutError)


def test_what_is_cached_is_computed_anew_after_an_end() -> None:
    @lru_cache
    def cached() -> int:
        check_deadline()
        return 5

    with pytest.raises(OverdueError), end_when(lambda: True):
        cached()
    assert cached() == 5


def test_a_condition_around_counts_inside_too() -> None:
    """A check that an editor no longer wants ends, though its own time is not over."""
    with end_when(lambda: True), pytest.raises(OverdueError), end_when(lambda: False):
        check_deadline()


def test_a_condition_counts_inside_alone() -> None:
    check_deadline()
    with end_when(lambda: False):
        with pytest.raises(OverdueError), end_when(lambda: True):
            check_deadline()
        check_deadline()
    check_deadline()
