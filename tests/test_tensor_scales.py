"""Scale factors of tcgen05.mma are followed from global memory to the products: they are those of the rows and of K."""

from __future__ import annotations

import pytest

from lanescope.workbench.products.result_origins import OriginReport
from lanescope.workbench.source.gaps import COPIED
from tests.cases import for_each
from tests.checked import check_whole, run_blocks
from tests.tensor_kernels import BY_TMA, PACKED
from tests.transfer_kernels import plant


@pytest.mark.thorough
def test_factors_that_no_product_takes_leave_d_to_check() -> None:
    copy = 'asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" :: "r"(d + BN), "l"(describe(sB)));'
    text = plant(("      for (int k = 0; k < BK", f"      {copy}\n      for (int k = 0; k < BK"), text=BY_TMA)
    report = run_blocks(text)
    assert report == OriginReport()
    (found,) = run_blocks(plant(("t * BK, row)", "t * BK, col)"), text=text)).mistakes
    assert found.code == "row_coordinate_wrong"


PACKED_MISTAKES = [  # what stands there, what is planted, code
    ("&full, t * BK, row)", "&full, t * BK, col)", "row_coordinate_wrong"),
    ("&full, t * BK, row)", "&full, t * BK / 2, row)", "k_coordinate_wrong"),
    ("t < K / BK;", "t < K / BK - 1;", "k_slices_left"),
    ("(row + threadIdx.x) * N", "(row + threadIdx.x / 2) * N", "result_misplaced"),
    ("describe(sB + k * 32)", "describe(sB + (k ^ 1) * 32)", "k_slice_repeated"),
]


@for_each(("old", "new", "code"), PACKED_MISTAKES, sample=1)
def test_pairs_of_elements_in_a_byte_are_followed(old: str, new: str, code: str) -> None:
    assert run_blocks(PACKED).mistakes == ()
    assert [one.code for one in run_blocks(plant((old, new), text=PACKED)).mistakes] == [code]


SCALES = [  # what stands there, what is planted
    ("SFA + (row / 128", "SFA + (col / 128"),
    ("SFB + (col / 128", "SFB + (row / 128"),
    ("SFB + (col / 128 * (K / 64) +", "SFB + ("),
    ("SFA + (row / 128 * (K / 64)", "SFA + (row / 128 * (K / 128)"),
    ("SFA + (row / 128 * (K / 64) + t * (BK / 64))", "SFA + (row / 128 * (K / 64) + t)"),
    ("bring(sSFB, SFB", "bring(sSFB, SFA"),
    ("sSFA + 512 * k)", "sSFA)"),
    ("sSFA + 512 * k)", "sSFA + 256 * k)"),
    ("sSFB + 512 * k)", "sSFA + 512 * k)"),
    ("k > 0, d + BN + 4 * k,", "k > 0, d + BN + k,"),
    ("k > 0, d + BN + 4 * k,", "k > 0, d + BN + 4 * (k ^ 1),"),
    ("k > 0, d + BN + 4 * k,", "k > 0, d + BN,"),
    ("d + BN + 4 * k, d + BN + 32 + 4 * k);", "d + BN + 32 + 4 * k, d + BN + 4 * k);"),
]


ID = "1u << 7 | 1u << 10 | BN / 8 << 17 | 1u << 27"
BY_BYTE = (  # kind::mxf8f6f4: four products take the bytes of one word, by the id in the instruction descriptor
    PACKED.replace("BK = 256", "BK = 128")
    .replace("(128 + BN) * BK / 2 + 2 * BK * 8", "(128 + BN) * BK + 1024")
    .replace("128 * BK / 2", "128 * BK")
    .replace("BN * BK / 2", "BN * BK")
    .replace("BK * 8", "512")
    .replace(ID, "1u << 23 | BN / 8 << 17 | 1u << 27 | id << 29 | id << 4")
    .replace("int on, ", "uint32_t id, int on, ")
    .replace("kind::mxf4nvf4.block_scale.block16", "kind::mxf8f6f4.block_scale")
    .replace("BK / 64; ++k) {", "1; ++k) {")
    .replace("BK / 64; ++k) mult", "BK / 32; ++k) mult")
    .replace("t > 0 || k > 0, d + BN + 4 * k, d + BN + 32 + 4 * k", "k, t > 0 || k > 0, d + BN, d + BN + 32")
    .replace("(K / 64) + t * (BK / 64)", "(K / 128) + t")
    .replace("{k / 2}", "{k}")
    .replace("16U4_ALIGN8B", "UINT8")
)
BY_BYTE_MISTAKES = [  # what stands there, what is planted
    ("| id << 4", ""),
    ("id << 29 | id << 4", "0"),
    ("copy(d + BN + 32 + 4 * k, sSFB", "copy(d + BN + 32 + 4 * k, sSFA"),
    ("8ull << 32", "4ull << 32"),
    ("SFB + (col / 128 * (K / 128)", "SFB + (col / 128 * (K / 256)"),
]


def explain_open(*changes: tuple[str, str], text: str) -> str:
    """Return why D of a kernel with these changes, none of which is certainly wrong, is not known to be A·B."""
    report = run_blocks(plant(*changes, text=text))
    (point,) = report.open
    assert not report.mistakes
    return point.message


@for_each(("old", "new"), BY_BYTE_MISTAKES, sample=1)
def test_the_id_of_scale_factors_follows_k(old: str, new: str) -> None:
    assert run_blocks(BY_BYTE) == OriginReport()
    assert "scale factors" in explain_open((old, new), text=BY_BYTE)


@for_each(("old", "new"), SCALES, sample=1)
def test_scale_factors_are_those_of_the_rows_and_of_k(old: str, new: str) -> None:
    assert "scale factors" in explain_open((old, new), text=PACKED)


WIDE = (
    plant(  # N = 256: the scale factors of B are in two atoms
        ("BN = 128", "BN = 256"),
        ("col / 128 * (K / 128) + t) * 512, &full);", "col / 128 * (K / 128) + t) * 512, &full);\n      SECOND"),
        ("sSFB + 512 * k);", "sSFB + 512 * k);\n        copy(d + BN + 36 + 4 * k, sSFB + 512);"),
        text=BY_BYTE,
    )
    .replace("* BK + 1024", "* BK + 1536")
    .replace("SECOND", "bring(sSFB + 512, SFB + ((col / 128 + 1) * (K / 128) + t) * 512, &full);")
)


@pytest.mark.thorough
def test_columns_after_the_first_128_have_an_atom_of_their_own() -> None:
    assert "scale factors" not in explain_open(text=WIDE)
    assert "the same scale factors of B" in explain_open(("36 + 4 * k, sSFB + 512)", "36 + 4 * k, sSFB)"), text=WIDE)


@pytest.mark.thorough
def test_the_order_of_scale_factors_in_memory_is_the_hosts() -> None:
    """Atoms of one block of K may follow each other, or those of 256 rows; factors of 1 need not be copied again."""
    assert run_blocks(PACKED) == OriginReport()
    by_k = ("(row / 128 * (K / 64) + t * (BK / 64)) * 512", "(t * (M / 128) + row / 128) * (BK / 64) * 512")
    assert run_blocks(plant(by_k, text=PACKED)) == OriginReport()
    ones = "SFB + (col / 128 * (K / 64) + t * (BK / 64)) * 512", "SFB"
    assert "the same scale factors of B" in explain_open(ones, text=PACKED)


@pytest.mark.thorough
def test_copies_of_scale_factors_are_verified_where_d_is() -> None:
    report = check_whole(PACKED)
    assert ([one.gap for one in report.checked], report.open) == ([""] * len(report.checked), ())


@pytest.mark.thorough
def test_copies_of_scale_factors_are_not_verified_where_d_is_wrong() -> None:
    report = check_whole(plant(("c + i] = r[i]", "c + (i ^ 1)] = r[i]"), text=PACKED))
    assert COPIED in {one.gap for one in report.checked}
