"""Mistakes of one place in a ring of stages whose calls span several lines: each at the line that has to change."""

from __future__ import annotations

import pytest

from tests.cases import for_each
from tests.checked import check_text, list_codes
from tests.ring_kernels import RING, plant_after
from tests.test_copied_bytes import RIGHT as COPIES
from tests.transfer_kernels import TMA, plant

LOOP = "for (int turn = 1"
MISTAKES = {
    "rows of the second tile": (LOOP, "m * 64 * BK", "m * 32 * BK", "other_slice"),
    "stages that an array lacks": ("struct Ring", "ROWS * BK * STAGES", "ROWS * BK * (STAGES - 1)", "copy_past_array"),
}


def test_the_right_kernel_is_verified() -> None:
    report = check_text(RING)
    assert (report.findings, report.unverified, report.steps) == ((), (), 96)


@pytest.mark.thorough
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


def test_the_bytes_of_the_other_tile_name_no_buffer() -> None:
    """B begins behind A, in the memory of a stage that no operand names."""
    text = plant(
        ("constexpr int BM = 64,", "#define A_BYTES (STAGES * BM * BK * 2)\nconstexpr int BM = 64,"),
        ("  bf16* sB = sA + STAGES * BM * BK;\n", ""),
        ('"l"(desc_a), "l"(desc_b)', '"l"(make_smem_desc(p)), "l"(make_smem_desc(q + A_BYTES / 2))'),
        ("uint64_t desc_a, uint64_t desc_b", "bf16* p, bf16* q"),
        ("make_smem_desc(sA + slot * BM * BK + k * 16)", "sA + slot * BM * BK + k * 16"),
        ("make_smem_desc(sB + slot * BN * BK + k * 16)", "sA + slot * BN * BK + k * 16"),
    )
    report = check_text(text.replace("sB", "(sA + A_BYTES / 2)").replace("sA", "tile"))
    assert (report.findings, report.unverified, report.open) == ((), (), ())


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


@for_each("name", MISTAKES, sample=1)
def test_a_mistake_stands_at_its_line(name: str) -> None:
    after, old, new, code = MISTAKES[name]
    text, line = plant_after(after, old, new)
    found = [(finding.code, text.count("\n", 0, finding.span[0])) for finding in check_text(text).findings]
    assert found == [(code, line)]


# persistent kernels ---------------------------------------------------------------------------------------------------

_SUM = "  float d[64] = {};\n"
_TURN_END = "    __syncthreads();\n  }\n"
_STAGED = TMA.replace(_SUM, _SUM + "  for (int i = 0; i < M / BM; i += gridDim.x)\n")
_COUNTED = (
    _STAGED.replace(_SUM, _SUM + "  int slot = 0, phase = 0;\n")
    .replace("    int slot = t % STAGES;\n", "")
    .replace("(t / STAGES) & 1", "phase")
    .replace(_TURN_END, "    if (++slot == STAGES) { slot = 0; phase ^= 1; }\n" + _TURN_END)
)


def plant_step(text: str, offset: str) -> str:
    right = "make_smem_desc(sB + slot * BN * BK + k * 16)"
    assert text.count(right) == 1
    return text.replace(right, f"make_smem_desc(sB + {offset})")


def test_every_tile_of_a_persistent_kernel_is_verified() -> None:
    """The first tile has turns at stages 0, 1 and 2; the second begins at a stage that nobody knows."""
    answer = check_text(_COUNTED)
    assert not answer.findings and not answer.unverified
    assert answer.steps > check_text(TMA).steps > 0


@pytest.mark.thorough
def test_a_step_that_is_open_is_no_stage() -> None:
    """What differs between the K steps of one turn is not a stage, even if its factor is that of the stages."""
    wide = _COUNTED.replace("int N, int K) {\n  extern", "int N, int K, bool wide) {\n  extern")
    answer = check_text(plant_step(wide, "slot * BN * BK + k * (wide ? 16 : 8)"))
    assert not answer.findings and sum(reads.count for reads in answer.unverified) >= 9


def test_a_wrong_distance_of_stages_is_not_verified() -> None:
    answer = check_text(plant_step(_COUNTED, "slot * BM * BK + k * 16"))
    assert answer.findings or answer.unverified
    assert answer.steps < check_text(_COUNTED).steps
