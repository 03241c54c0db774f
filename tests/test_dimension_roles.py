"""The names of a tensor map's dimensions decide nothing where they may be those of another product."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases import for_each
from tests.checked import check_text, list_codes

KERNELS = Path(__file__).parent / "kernels"
ATTENTION = (
    (KERNELS / "attention.cu")
    .read_text()
    .replace('#include "accumulators.h"', (KERNELS / "accumulators.h").read_text())
)
SIZES = "{kHeadDim, (cuuint64_t)seqlen}"


@for_each(
    ("inner", "outer"),
    [
        ("kHeadDim", "seqlen"),
        ("kHeadDim", "N"),  # the prefix of a constant is no K
        ("K", "N"),  # K is the length of a head: that of Q · Kᵀ, and N of P · V
        ("N", "M"),
    ],
    sample=2,
)
def test_each_product_of_attention_has_its_own_k(inner: str, outer: str) -> None:
    head = "" if inner == "kHeadDim" else f", int {inner}"
    text = ATTENTION.replace(SIZES, f"{{(cuuint64_t){inner}, (cuuint64_t){outer}}}")
    report = check_text(text.replace("seqlen /", f"{outer} /").replace("int seqlen)", f"int {outer}{head})"))
    assert (report.findings, report.steps, report.open) == ((), 12, ())


@pytest.mark.thorough
def test_names_of_one_product_still_decide() -> None:
    """B is stored (n, k), N inner; without the transpose it is read K-major."""
    right = (
        (KERNELS / "mn_major_b.cu")
        .read_text()
        .replace('#include "accumulators.h"', (KERNELS / "accumulators.h").read_text())
    )
    wrong = right.replace("wgmma<1>(d", "wgmma<0>(d")
    assert wrong != right
    assert list_codes(wrong) == ["wrong_transpose"]
