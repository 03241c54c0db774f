"""Banks over time: the wavefronts of an access, word by word."""

from __future__ import annotations

from collections import Counter

from lanescope.app.banks.draw import build_chart, list_turns
from lanescope.shared.bank_schedule import list_wavefronts
from lanescope.shared.banks import ACCESSES, compute_cost, get_access
from tests.cases import for_each

PITCHES = (0, 4, 16, 64, 128, 144, 272)  # bytes from lane to lane


@for_each("name", ACCESSES)
def test_wavefronts_serve_every_word_once_and_no_bank_twice(name: str) -> None:
    """And there are as many as the cost says, phase by phase; every fifth lane is inactive where it may be."""
    kind = get_access(name)
    for pitch in PITCHES:
        addresses = [
            None if lane % 5 == 4 and not kind.matrices else lane * pitch // kind.bytes * kind.bytes
            for lane in range(32)
        ]
        cost, wavefronts = compute_cost(kind, addresses), list_wavefronts(kind, addresses)
        taken = Counter(one.phase for one in wavefronts)
        assert [taken[n] for n in range(len(cost.phases))] == [phase.wavefronts for phase in cost.phases]
        for n, lanes in enumerate(kind.list_phases(addresses[: kind.lanes])):
            served = [word for one in wavefronts if one.phase == n for word in one.words]
            assert len({word.word for word in served}) == len(served) == sum(cost.phases[n].words)
            asked = {
                (lane, (at + byte) // 4)
                for lane in lanes
                if (at := addresses[lane]) is not None
                for byte in range(kind.bytes)
            }
            assert {(lane, word.word) for word in served for lane in word.lanes} == asked
        for one in wavefronts:
            banks = [word.bank for word in one.words]
            assert banks == sorted(set(banks))


def test_a_row_of_128_bytes_makes_ldmatrix_take_one_lane_at_a_time() -> None:
    """Rows 128 bytes apart begin in bank 0: each of the 8 lanes of a matrix has banks 0–3 to itself."""
    wavefronts = list_wavefronts(get_access("ldmatrix.x1"), [128 * lane for lane in range(32)])
    assert [[(word.bank, word.lanes) for word in one.words] for one in wavefronts] == [
        [(bank, (lane,)) for bank in range(4)] for lane in range(8)
    ]
    assert list_turns(wavefronts)[3] == (3, 0, "0–3", "3")


def test_lanes_that_ask_for_one_word_share_it() -> None:
    (only,) = list_wavefronts(get_access("ld.shared.b32"), [0] * 16 + [4] * 8 + [None] * 8)
    assert [(word.address, word.lanes) for word in only.words] == [(0, tuple(range(16))), (4, tuple(range(16, 24)))]
    chart = build_chart(get_access("ld.shared.b32"), [only])
    assert chart["wavefronts"][0]["words"][1] == [1, "0x4", tuple(range(16, 24))]
