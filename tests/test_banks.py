"""The bank model: against cycle counts an H100 gave, against a simulation, and its refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.gpu.reference import Reference
from layouts.banks import ACCESSES, access, cost
from layouts.errors import LayoutError

# (access, lane stride in bytes, clocks an access on an H100, 16 warps, 2026-11-21); loads issue two wavefronts in about a clock there
H100 = [
    ("st.shared.b32", 4, 1.03), ("st.shared.b32", 8, 2.04), ("st.shared.b32", 16, 4.08), ("st.shared.b32", 128, 32.71),
    ("st.shared.b64", 8, 2.05), ("st.shared.b64", 16, 4.10), ("st.shared.b64", 0, 2.05), ("st.shared.b128", 16, 4.12), ("st.shared.b128", 128, 32.79),
    ("stmatrix.x1", 16, 1.03), ("stmatrix.x2", 32, 4.09), ("stmatrix.x4", 16, 4.12), ("stmatrix.x4", 128, 32.85), ("stmatrix.x4", 0, 4.10),
]  # fmt: skip


@pytest.mark.parametrize(("name", "stride", "clocks"), H100)
def test_wavefronts_are_the_clocks_an_h100_took(name: str, stride: int, clocks: float) -> None:
    found = cost(access(name), [stride * lane for lane in range(ACCESSES[name].lanes)])
    assert abs(clocks / found.wavefronts - 1) < 0.06


def test_wide_loads_are_not_split_as_wide_stores_are() -> None:
    """Measured: 32 lanes that want the same 16 bytes are one wavefront to ld.shared.b128, four to st.shared.b128."""
    assert cost(access("ld.shared.b128"), [0] * 32).wavefronts == 1
    assert cost(access("st.shared.b128"), [0] * 32).wavefronts == 4
    quarter = [16 * (lane % 8) for lane in range(32)]
    assert cost(access("ld.shared.b128"), quarter).wavefronts == 1


@given(st.sampled_from(sorted(ACCESSES)), st.lists(st.integers(0, 300), min_size=32, max_size=32))
def test_the_model_is_the_simulation(name: str, chunks: list[int]) -> None:
    row = access(name)
    address = [row.bytes * chunk for chunk in chunks][: row.lanes]
    found = cost(row, address)
    assert found.wavefronts == Reference().cycles(row, address)[0]
    assert found.ideal <= found.wavefronts and found.ways >= 1


def test_padding_and_swizzles_do_what_they_are_for() -> None:
    ldmatrix = access("ldmatrix.x4")
    lane = np.arange(32)
    rows = (lane % 16) * 128 + lane // 16 * 16
    assert cost(ldmatrix, rows.tolist()).ways == 8
    assert cost(ldmatrix, ((lane % 16) * 144 + lane // 16 * 16).tolist()).ways == 1
    assert cost(ldmatrix, (rows ^ (rows >> 3 & 0x70)).tolist()).ways == 1


@pytest.mark.parametrize(
    ("name", "address", "message"),
    [("ld.shared.b64", [4] * 32, "multiple of 8"), ("ldmatrix.x4", [0] * 31, "31 addresses"), ("ldmatrix.x1", [None] * 8, "no address"), ("ld.shared.b32", [-4] * 32, "multiple"), ("ld.shared.b32", [None] * 32, "No lane")],
)  # fmt: skip
def test_refusals(name: str, address: list[int | None], message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        cost(access(name), address)


def test_inactive_lanes_ask_for_nothing() -> None:
    assert cost(access("ld.shared.b32"), [0, 128, None] + [None] * 29).wavefronts == 2
