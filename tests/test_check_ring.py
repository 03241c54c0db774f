"""Mistakes of one place in a ring of stages whose calls span several lines: each at the line that has to change."""

from __future__ import annotations

from tests.cases import for_each
from tests.checked import check_text, list_codes
from tests.ring_kernels import RING, plant_after
from tests.test_copied_bytes import RIGHT as COPIES
from tests.transfer_kernels import TMA, plant

LOOP = "for (int turn = 1"
MISTAKES = {
    "rows of the second tile": (LOOP, "m * 64 * BK", "m * 32 * BK", "other_slice"),
    "distance of the stages that are read": (LOOP, "stage * BN", "stage * 2 * BN", "stage_distance"),
    "stages that an array lacks": ("struct Ring", "ROWS * BK * STAGES", "ROWS * BK * (STAGES - 1)", "copy_past_array"),
}


def test_the_right_kernel_is_verified() -> None:
    report = check_text(RING)
    assert (report.findings, report.unverified, report.steps) == ((), (), 96)


def test_an_iteration_may_fill_several_stages() -> None:
    """Each stage has its own barrier, and its slice of K is multiplied whole."""
    loop = "  for (int t = 0; t < K / BK; ++t) {\n    int slot = t % STAGES;\n"
    rings = "  for (int ring = 0; ring < K / BK / STAGES; ++ring)\n  for (int slot = 0; slot < STAGES; ++slot) {\n"
    report = check_text(plant((loop, f"{rings}    const int t = ring * STAGES + slot;\n")))
    assert report.steps and not report.findings


def test_the_distance_of_an_array_of_stages_is_told_once() -> None:
    """Each stage has a pointer, set in a loop: its number is at fault, not the reads and copies that take it."""
    tile = "  bf16* sB = sA + STAGES * BM * BK;\n"
    fill = "  bf16* stages_b[STAGES];\n  for (int i = 0; i < STAGES; ++i) stages_b[i] = (sB + i * BM * BK);\n"
    text = plant((tile, tile + fill)).replace("sB + slot * BN * BK", "stages_b[slot]")
    (finding,) = check_text(text).findings
    assert (finding.code, text[slice(*finding.span)]) == ("stages_overlap", "i * BM * BK")


def test_a_barrier_may_announce_several_tiles() -> None:
    """Both tiles of an iteration are multiplied whole, by loops of their own."""
    second = "t * BK", "(t + 1) * BK"
    loads = TMA[TMA.index("      tma_load(sA") : TMA.index("    }\n    wait(&full")]
    more = loads.replace(*second).replace("slot *", "(slot + 1) *")
    loop = TMA[TMA.index("    for (int k = 0; k < BK / 16") : TMA.index("    warpgroup_commit();\n    warpgroup_wait")]
    text = plant(
        (loads, loads + more),
        (loop, loop + loop.replace("slot *", "(slot + 1) *")),
        ("t < K / BK; ++t", "t < K / BK; t += 2"),
        ("(BM * BK + BN * BK) * sizeof", "2 * (BM * BK + BN * BK) * sizeof"),
    )
    report = check_text(text)
    assert report.steps and not report.findings


def test_a_member_of_a_union_may_be_filled_beyond_its_end() -> None:
    """The bytes after it are those of another member."""
    array = "alignas(1024) bf16 A[STAGES][BM * BK];"
    first = array.replace("STAGES", "1")
    assert not check_text(plant((array, f"union {{ {first} {array.replace('A[', 'all[')} }};"), text=COPIES)).findings


def test_a_copy_to_a_number_is_of_no_array() -> None:
    """Its destination is known, but no variable."""
    text = plant(("tma_load(s.A[q],", "tma_load(reinterpret_cast<bf16*>(1024),"), text=COPIES)
    assert "copy_past_array" not in list_codes(text)


@for_each("name", MISTAKES)
def test_a_mistake_stands_at_its_line(name: str) -> None:
    after, old, new, code = MISTAKES[name]
    text, line = plant_after(after, old, new)
    found = [(finding.code, text.count("\n", 0, finding.span[0])) for finding in check_text(text).findings]
    assert found == [(code, line)]
