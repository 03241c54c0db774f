"""A tile is what the text's TMA calls fill: boxes that they put elsewhere lie there, and those that they leave out are
not verified.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from lanescope.workbench import Workbench, build_workbench
from tests.cases import for_each
from tests.checked import check_text, get_codes
from tests.sample import take_sample

KERNELS = Path(__file__).parent / "kernels"


def read_kernel(name: str, *pairs: tuple[str, str]) -> str:
    text = (KERNELS / f"{name}.cu").read_text()
    text = text.replace('#include "accumulators.h"\n', (KERNELS / "accumulators.h").read_text())
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    return text


A = "cde::cp_async_bulk_tensor_2d_global_to_shared(&sA[0], map_a, block * BK, blockIdx.y * BM, full);"
HALF = ("create_map<BM, BK>", "create_map<BM / 2, BK>")  # a box of 32 rows, where the wgmma reads 64
TWICE = f"for (int h = 0; h < 2; ++h) {A.replace('&sA[0]', '&sA[h * 32 * BK]').replace('y * BM', 'y * BM + h * 32')}"
B = "load_box(&s.B[stage * BN * BK], &map_b, &s.full[stage], block * BK, blockIdx.x * BN);"
SECOND_B = B.replace("BN * BK]", "BN * BK + 64 * BK]").replace("x * BN", "x * BN + 64")
HALF_OF_B = ("make_map(encode, b, N, K, BN)", "make_map(encode, b, N, K, BN / 2)")  # 64 columns of 128


@for_each(
    ("text", "verified"),
    take_sample(
        [
            (read_kernel("one_stage", HALF), 4),  # B alone
            (
                read_kernel(
                    "one_stage", HALF, (A, A + A.replace("&sA[0]", "&sA[32 * BK]").replace("y * BM", "y * BM + 32"))
                ),
                8,
            ),
            (read_kernel("one_stage", HALF, (A, TWICE)), 8),
            (read_kernel("one_stage", HALF, (A, TWICE.replace("h < 2", "h < 1"))), 4),
            (read_kernel("one_stage", HALF, (A, A + A.replace("&sA[0]", "&sA[16 * BK]"))), 4),  # over the first one
            (read_kernel("one_stage", HALF, (A, "")), 4),  # no call at all
            (read_kernel("one_stage", ("create_map<BN, BK>", "create_map<16, BK>")), 4),
            (read_kernel("ring_of_stages", HALF_OF_B), 12),
            (read_kernel("ring_of_stages", HALF_OF_B, (B, B + SECOND_B)), 24),
            (
                read_kernel(
                    "ring_of_stages",
                    HALF_OF_B,
                    (
                        B,
                        f"for (int h = 0; h < BN / 64; ++h) {B}".replace(
                            "stage * BN * BK", "(stage * BN + h * 64) * BK"
                        ).replace("x * BN", "x * BN + h * 64"),
                    ),
                ),
                24,
            ),
            (
                read_kernel(
                    "ring_of_stages", HALF_OF_B, ("&s.B[stage * BN * BK],", "&s.B[(stage * BN + rank() * 64) * BK],")
                ),
                12,
            ),
        ],
        5,
    ),
    sample=2,
)
def test_only_boxes_that_are_loaded_are_verified(text: str, verified: int) -> None:
    found = check_text(text)
    wrong = {finding.code for finding in found.findings}  # a part that is not loaded is told where it is certain
    assert wrong <= {"tma_tile_part", "expect_tx_bytes", "copies_overlap", "bytes_not_copied"}
    assert not wrong or verified < (24 if "load_box" in text else 8)
    assert found.steps == verified
    whole = 24 if "load_box" in text else 8
    assert sum(one.count for one in found.unverified) == whole - verified


BARS = ("__shared__ barrier full;", "__shared__ barrier full; __shared__ uint64_t bars[2];")
STAGES = "for (int s = 0; s < 2; ++s) tma_load(&sA[s * 32 * BK], map_a, &bars[s], s * BK, blockIdx.y * BM);"
HALVES_OF_A = STAGES.replace("&bars[s]", "&bars[0]").replace(
    "s * BK, blockIdx.y * BM", "block * BK, blockIdx.y * BM + s * 32"
)
HALVES = (
    "for (int h = 0; h < 2; ++h)"
    " load_box(&s.B[(stage * BN + h * 64) * BK], &map_b, &s.full[stage], block * BK, h * 64);"
)


@for_each(
    ("text", "verified"),
    [
        (read_kernel("one_stage", HALF, BARS, (A, STAGES)), 4),  # B alone
        (read_kernel("one_stage", HALF, BARS, (A, STAGES.replace("&bars[s]", "bars_of(s)"))), 4),
        (read_kernel("one_stage", HALF, BARS, (A, STAGES.replace("&bars[s]", "ring.full[s]"))), 4),
        (read_kernel("one_stage", HALF, BARS, (A, STAGES.replace("&bars[s]", "&bars[0]"))), 8),
        (read_kernel("one_stage", HALF, BARS, (A, HALVES_OF_A)), 8),
        (read_kernel("ring_of_stages", HALF_OF_B, (B, HALVES)), 24),
        (read_kernel("ring_of_stages", HALF_OF_B, (B, HALVES.replace("full[stage]", "full[stage + h]"))), 12),
    ],
    sample=3,
)
def test_a_box_that_another_mbarrier_announces_may_be_the_next_stages(text: str, verified: int) -> None:
    """Half a tile to a stage, the stages as far apart: the second one does not fill the rest of the first.

    The ring of stages expects the bytes of all boxes on one mbarrier.
    """
    found = check_text(text)
    assert ({*get_codes(found)} - {"expect_tx_bytes"}, found.steps) == (set(), verified)


def test_a_box_that_nothing_loads_leaves_the_operand_open() -> None:
    made = build_workbench(read_kernel("one_stage", HALF))
    assert made.verdict == "unknown" and "No verdict for A" in made.detail
    (why,) = [said for said in made.missing if said.startswith("Boxes of A’s tensor map along M")]
    assert "the box has 32 of M and one instruction takes 64" in why and "fill 1 of the tile’s 2 boxes" in why
    assert {one.name: one.verdict for one in made.operands} == {"a": "unknown", "b": "match"}
    assert (
        build_workbench(read_kernel("one_stage", HALF), {"boxes.a": "2"}).verdict == "match"
    )  # a person says where the rest lies


@pytest.mark.thorough
def test_panels_lie_where_the_calls_put_them() -> None:
    """tile_types: two panels of K, a call each. The code's own step over a panel is right where the loads agree."""
    straight = read_kernel("tile_types", ("(chunk / 4) * ST::rows * 128", "(chunk / 4) * 128"))
    assert set(get_codes(check_text(straight))) == {"k_advance_past_atom"}
    # loaded 16 KiB apart and read so
    apart = read_kernel(
        "tile_types", ("panel * 64 * 64]", "panel * 128 * 64]"), ("* ST::rows * 128", "* ST::rows * 256")
    )
    found = check_text(apart)
    assert (found.findings, found.steps) == ((), 16)
    # loaded 16 KiB apart and read 8 KiB apart
    assert build_workbench(read_kernel("tile_types", ("panel * 64 * 64]", "panel * 128 * 64]"))).verdict == "mismatch"


def test_a_map_that_tma_loads_from_is_its_operands() -> None:
    """attention: three maps whose names say no operand; each tile lies as the map has it that is loaded there."""
    made = build_workbench(read_kernel("attention"))
    assert [one.stored_why.rpartition(" ")[2] for one in made.operands] == ["tma_q)", "tma_k)", "tma_v)"]
    assert not any(key.key.startswith("storage.") for key in made.assumed)


# printed words: what they are judged against
READER = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {{%0}}, %1, %2, 1, 1, 1, 0, 0;\n"
WORDS = "desc_a: {a:#018x}\ndesc_b: {b:#018x}\n" + READER
LAYOUT = "{name}: Sw<3,4,3> o smem_ptr[16b]({at}) o ((8,8),(64,1)):((64,512),(1,0))\n"


def build_printed(a: int, b: int, at_a: str, at_b: str) -> Workbench:
    layouts = LAYOUT.format(name="sA", at=at_a) + LAYOUT.format(name="sB", at=at_b)
    return build_workbench(WORDS.format(a=0x4000004000010000 | a, b=0x4000004000010000 | b) + layouts)


def test_a_first_byte_that_the_layout_says_is_not_assumed() -> None:
    made = build_printed(0x40, 0x240, "0x400", "0x2400")
    assert made.verdict == "match" and made.caution == () and "if the word" not in made.headline
    second = build_printed(0x42, 0x240, "0x400", "0x2400")  # the word of K step 1
    assert second.verdict == "match" and [s.k for s in second.operands[0].steps] == [16]


def test_a_number_in_the_code_does_not_confirm_itself() -> None:
    """A descriptor that the code spells out: its start is all that says where the tile begins."""
    text = read_kernel("one_stage", ("shared_descriptor(a), desc_b", "0x4000004000010040ull, desc_b"))
    made = build_workbench(text)
    a = next(one for one in made.operands if one.name == "a")
    assert [one.key for one in a.assumed] == ["base.a"]
    assert any("taken from the word" in one.reason for one in check_text(text).unverified)


def test_what_a_person_gives_is_no_assumption() -> None:
    """Two boxes, and where each tile begins: said in the request, they are no caution beside the match."""
    text = read_kernel("one_stage", HALF, (A, ""))
    guessed = build_workbench(text)
    assert guessed.verdict == "match" and any("Boxes of A’s tensor map" in said for said in guessed.caution)
    assert build_workbench(text, {"boxes.a": "2"}).caution == ()
    words = WORDS.format(a=0x4000004000010040, b=0x4000004000010240)
    layouts = LAYOUT.format(name="sA", at="unset") + LAYOUT.format(name="sB", at="unset")
    assert build_workbench(words + layouts, {"base.a": "0x400", "base.b": "0x2400"}).caution == ()
