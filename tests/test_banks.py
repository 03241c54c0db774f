"""The bank model: against cycle counts an H100 gave, against a simulation, and its refusals."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from lanescope.app.banks.draw import build_chart, list_turns
from lanescope.app.hardware.bank_counters import parse_report
from lanescope.app.hardware.evidence import FOLDER
from lanescope.app.hardware.numpy_device import NumpyDevice
from lanescope.errors import LayoutError
from lanescope.shared.bank_counters import name_metrics, predict_counters
from lanescope.shared.bank_schedule import list_wavefronts
from lanescope.shared.banks import ACCESSES, compute_cost, get_access, make_address_use, make_rows_use
from lanescope.shared.freeing import PLAIN, find_freeing_swizzle
from lanescope.shared.swizzle import Swizzle
from tests.cases import for_each

# (access, lane stride in bytes, clocks an access on an H100, 16 warps, 2026-11-21); loads issue two wavefronts in about
# a clock there
H100 = [
    ("st.shared.b32", 4, 1.03),
    ("st.shared.b32", 8, 2.04),
    ("st.shared.b32", 16, 4.08),
    ("st.shared.b32", 128, 32.71),
    ("st.shared.b64", 8, 2.05),
    ("st.shared.b64", 16, 4.10),
    ("st.shared.b64", 0, 2.05),
    ("st.shared.b128", 16, 4.12),
    ("st.shared.b128", 128, 32.79),
    ("stmatrix.x1", 16, 1.03),
    ("stmatrix.x2", 32, 4.09),
    ("stmatrix.x4", 16, 4.12),
    ("stmatrix.x4", 128, 32.85),
    ("stmatrix.x4", 0, 4.10),
]


@for_each(("name", "stride", "clocks"), H100)
def test_wavefronts_are_the_clocks_an_h100_took(name: str, stride: int, clocks: float) -> None:
    found = compute_cost(get_access(name), [stride * lane for lane in range(ACCESSES[name].lanes)])
    assert abs(clocks / found.wavefronts - 1) < 0.06


@for_each("name", list(ACCESSES))
def test_matrix_loads_and_stores_are_counted_as_loads_and_stores(name: str) -> None:
    assert all(metric.endswith(f"_op_{name[:2]}.sum") for metric in name_metrics(get_access(name)))


# (access, lane → address, wavefronts and bank conflicts that ncu counted, clocks an access took): an H100, 2026-11-26;
# wide loads are served in halves and quarters of the warp, which join where neighbours want the same bytes.
COUNTED: list[tuple[str, Callable[[int], int], int, int, float]] = [
    ("ld.shared.b64", lambda lane: 8 * lane, 2, 0, 2.05),
    ("ld.shared.b64", lambda lane: 0, 1, 0, 1.13),
    ("ld.shared.b64", lambda lane: lane // 2 * 8, 1, 0, 1.13),
    ("ld.shared.b64", lambda lane: lane % 2 * 8, 1, 0, 1.13),
    ("ld.shared.b64", lambda lane: lane % 16 * 8, 2, 0, 2.05),
    ("ld.shared.b64", lambda lane: lane // 2 * 128, 16, 15, 16.31),
    ("ld.shared.b64", lambda lane: lane % 2 * 1024 + lane // 2 * 8, 4, 2, 4.07),
    ("ld.shared.b128", lambda lane: 16 * lane, 4, 0, 4.07),
    ("ld.shared.b128", lambda lane: 0, 2, 0, 2.15),
    ("ld.shared.b128", lambda lane: lane // 2 * 16, 2, 0, 2.13),
    ("ld.shared.b128", lambda lane: lane % 2 * 16, 2, 0, 2.13),
    ("ld.shared.b128", lambda lane: lane % 8 * 16, 4, 0, 4.07),
    ("ld.shared.b128", lambda lane: lane % 16 * 16, 4, 0, 4.07),
    ("ld.shared.b128", lambda lane: lane // 2 * 128, 16, 14, 16.08),
    ("ld.shared.b128", lambda lane: lane % 2 * 1024 + lane // 2 * 16, 8, 4, 8.05),
    ("st.shared.b128", lambda lane: 0, 4, 0, 4.06),
]


@for_each(("name", "place", "wavefronts", "conflicts", "clocks"), COUNTED)
def test_wavefronts_are_what_ncu_counted_and_the_clocks_they_took(
    name: str, place: Callable[[int], int], wavefronts: int, conflicts: int, clocks: float
) -> None:
    cost = compute_cost(get_access(name), [place(lane) for lane in range(32)])
    assert tuple(predict_counters(cost).values()) == (wavefronts, conflicts)
    assert abs(clocks - wavefronts) < 0.25 or abs(clocks / wavefronts - 1) < 0.08


def test_lanes_without_an_access_do_not_keep_two_quarters_apart() -> None:
    """ncu on an H100: with the even lanes alone every lane's neighbour is inactive; with 28 lanes it is not."""
    apart = [16 * lane for lane in range(32)]
    even = [at if lane % 2 == 0 else None for lane, at in enumerate(apart)]
    assert tuple(predict_counters(compute_cost(get_access("ld.shared.b128"), even)).values()) == (4, 2)
    mixed: list[int | None] = [16 * lane if lane in (0, 1, 16, 18, 23, 24, 27, 28, 31) else None for lane in range(32)]
    assert [phase.lanes for phase in compute_cost(get_access("ld.shared.b128"), mixed).phases] == [
        (0, 1),
        (),
        (16, 18, 23),
        (24, 27, 28, 31),
    ]


def test_every_pattern_was_counted_as_predicted() -> None:
    """With all lanes active and, by the counters, with some."""
    for path in FOLDER.glob("*.json"):
        evidence = json.loads(path.read_text())
        for part in ("banks", "counters"):
            assert set(evidence[part]) == set(ACCESSES)
            for name, row in evidence[part].items():
                both = 2 if part == "counters" and not ACCESSES[name].matrices else 1
                assert row["ran"] == row["agreed"] == both * 40, (path.name, name)


def test_ncu_s_report_is_read_launch_by_launch() -> None:
    report = (
        "==PROF== Connected\n"
        '"ID","Kernel Name","gpu__time.sum","l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"\n'
        '"","","nsecond",""\n'
        '"0","cupy_copy(int)","1","7"\n'
        '"1","k","2","9,216"\n'
    )
    assert parse_report(report) == [
        {"gpu__time.sum": 2.0, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": 9216.0}
    ]


@given(st.sampled_from(sorted(ACCESSES)), st.lists(st.integers(0, 300), min_size=32, max_size=32))
def test_the_model_is_the_simulation(name: str, chunks: list[int]) -> None:
    row = get_access(name)
    address = [row.bytes * chunk for chunk in chunks][: row.lanes]
    found = compute_cost(row, address)
    assert found.wavefronts == NumpyDevice().cycles(row, address)[0]
    assert found.ideal <= found.wavefronts and found.ways >= 1


def test_padding_and_swizzles_do_what_they_are_for() -> None:
    ldmatrix = get_access("ldmatrix.x4")
    lane = np.arange(32)
    rows = (lane % 16) * 128 + lane // 16 * 16
    assert compute_cost(ldmatrix, rows.tolist()).ways == 8
    assert compute_cost(ldmatrix, ((lane % 16) * 144 + lane // 16 * 16).tolist()).ways == 1
    assert compute_cost(ldmatrix, (rows ^ (rows >> 3 & 0x70)).tolist()).ways == 1


@for_each(
    ("name", "address", "message"),
    [
        ("ld.shared.b64", [4] * 32, "multiple of 8"),
        ("ldmatrix.x4", [0] * 31, "31 addresses"),
        ("ldmatrix.x1", [None] * 8, "no address"),
        ("ld.shared.b32", [-4] * 32, "not a shared-memory address"),
        ("ld.shared.b32", [None] * 32, "No lane"),
    ],
)
def test_refusals(name: str, address: list[int | None], message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        compute_cost(get_access(name), address)


def test_inactive_lanes_ask_for_nothing() -> None:
    assert compute_cost(get_access("ld.shared.b32"), [0, 128, None] + [None] * 29).wavefronts == 2


# the solver: against every swizzle there is, judged by the simulation -------------------------------------------------

LINES = st.lists(st.integers(4, 15), min_size=5, max_size=5)  # the address bit each bit of the lane moves
NAMES = st.sampled_from(
    ["ldmatrix.x1", "ldmatrix.x4", "st.shared.b128", "st.shared.b64", "ld.shared.b32", "ld.shared.b128", "st.shared.b8"]
)


def list_swizzles() -> list[Swizzle]:
    return [Swizzle(0, 4, 3), *(Swizzle(b, m, s) for b in range(1, 6) for m in range(2, 9) for s in range(b, 15))]


def is_conflict_free(row: str, address: list[int], xor: Swizzle) -> bool:
    moved = [xor(a) for a in address]
    if any(a % ACCESSES[row].bytes for a in moved) or (xor.bits and 1 << xor.base < ACCESSES[row].bytes):
        return False
    return NumpyDevice().cycles(ACCESSES[row], moved)[0] == compute_cost(ACCESSES[row], moved).ideal


@settings(max_examples=15)
@given(st.lists(st.tuples(NAMES, LINES), min_size=1, max_size=2))
def test_the_smallest_swizzle_is_the_smallest(given_: list[tuple[str, list[int]]]) -> None:
    """Against a search of all B, M, S that shares nothing with the solver: the same least B, and free where
    it says so.
    """
    wanted = [
        (name, [sum((lane >> bit & 1) << line for bit, line in enumerate(lines)) for lane in range(32)])
        for name, lines in given_
    ]
    wanted = [(name, address[: ACCESSES[name].lanes]) for name, address in wanted]
    free = [xor for xor in list_swizzles() if all(is_conflict_free(name, address, xor) for name, address in wanted)]
    found = find_freeing_swizzle([make_address_use(get_access(name), address) for name, address in wanted])
    assert found.free == bool(free), found.why
    if free:
        assert found.swizzle.bits == min(xor.bits for xor in free)
        assert all(is_conflict_free(name, address, found.swizzle) for name, address in wanted)
    else:
        assert max(c.ways for c in found.costs) == min(
            max(compute_cost(get_access(n), [xor(a) for a in address]).ways for n, address in wanted)
            for xor in list_swizzles()
            if all(1 << xor.base >= ACCESSES[n].bytes or not xor.bits for n, _ in wanted)
        )


def test_addresses_no_swizzle_can_part_say_which_bits_are_to_blame() -> None:
    scattered = [(lane & 1) << 9 | (lane >> 1 & 1) << 11 | (lane >> 2) << 13 for lane in range(8)]
    found = find_freeing_swizzle([make_address_use(get_access("ldmatrix.x1"), scattered)])
    assert (
        not found.free
        and "differ in address bits 9, 11 and 13;" in found.why
        and "at most 3, into bits 4 to 6" in found.why
    )


def test_accesses_that_need_different_swizzles_are_named() -> None:
    words, chunks = (
        make_address_use(get_access("ld.shared.b32"), [128 * lane for lane in range(32)]),
        make_rows_use(get_access("ldmatrix.x4"), "rows", 128),
    )
    assert find_freeing_swizzle([words]).swizzle == Swizzle(5, 2, 5) and find_freeing_swizzle(
        [chunks]
    ).swizzle == Swizzle(3, 4, 3)
    both = find_freeing_swizzle([words, chunks])
    assert not both.free and "needs Swizzle<5,2,5>, but ldmatrix.x4 rows needs 16 contiguous bytes" in both.why
    other = find_freeing_swizzle(
        [chunks, make_address_use(get_access("ldmatrix.x4"), [1024 * lane for lane in range(32)])]
    )
    assert not other.free and "is conflict-free with Swizzle<3,4,3>" in other.why and "Swizzle<3,4,6>" in other.why


def test_a_free_access_needs_no_swizzle_and_a_swizzle_never_parts_a_lane() -> None:
    use = make_address_use(get_access("ld.shared.b128"), [16 * lane for lane in range(32)])
    assert find_freeing_swizzle([use]).swizzle == PLAIN and find_freeing_swizzle([use]).why == "No swizzle is needed."
    with pytest.raises(LayoutError, match="would split the 16 bytes"):
        use.compute_use_cost(Swizzle(5, 2, 5))


# banks over time ------------------------------------------------------------------------------------------------------

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
