"""Storages that a reader of code chooses by name: where each puts an element, written out by hand for a small tile."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from lanescope.descriptor.matrix import Descriptor, View
from lanescope.errors import LayoutError
from lanescope.ptx.table.descriptors import TCGEN05, WGMMA
from lanescope.shared.storage import storage
from lanescope.shared.swizzle import get_mode
from lanescope.workbench.reads import presets
from lanescope.workbench.reads.tiles import TileRequest
from tests.cases import for_each

Places = Callable[[np.ndarray, np.ndarray], np.ndarray]
K, MN = View(64, 16, 16, "K"), View(64, 16, 16, "MN")


def build_word(mode: str) -> int:
    return Descriptor(0).replace(swizzle=WGMMA.codes[get_mode(mode)]).word


def list_addresses(name: str, seen: View, rows: int, depth: int, mode: str) -> np.ndarray:
    """Byte address of every element of the stored tile: [rows, depth]."""
    tile = presets.lay_preset(name, TileRequest("a", seen, rows, depth, {}), build_word(mode))
    assert "base" not in tile.spec
    mn, k = np.indices((rows, depth))
    return np.asarray(storage({**tile.spec, "base": 0}, seen.bits, seen.major).address(mn, k))


@for_each(
    ("name", "seen", "rows", "depth", "mode", "places"),
    [
        (
            "box",
            K,
            64,
            128,
            "128B",
            lambda mn, k: k // 64 * 64 * 128 + mn * 128 + (k % 64 // 8 ^ mn % 8) * 16 + k % 8 * 2,
        ),
        (
            "box",
            MN,
            128,
            32,
            "128B",
            lambda mn, k: mn // 64 * 32 * 128 + k * 128 + (mn % 64 // 8 ^ k % 8) * 16 + mn % 8 * 2,
        ),
        ("box", K, 64, 32, "64B", lambda mn, k: mn * 64 + (k // 8 ^ mn // 2 % 4) * 16 + k % 8 * 2),
        ("rows", K, 64, 48, "128B", lambda mn, k: mn * 96 + k * 2),
        ("rows", MN, 64, 48, "128B", lambda mn, k: k * 128 + mn * 2),
        ("atoms", K, 64, 64, "128B", lambda mn, k: mn * 128 + (k // 8 ^ mn % 8) * 16 + k % 8 * 2),
        ("cores", K, 8, 16, "128B", lambda mn, k: k // 8 * 128 + mn * 16 + k % 8 * 2),  # 8 rows of 16 bytes, dense
    ],
)
def test_every_element_lies_where_the_name_says(
    name: str, seen: View, rows: int, depth: int, mode: str, places: Places
) -> None:
    mn, k = np.indices((rows, depth))
    assert np.array_equal(list_addresses(name, seen, rows, depth, mode), places(mn, k))


@for_each(
    ("name", "mode", "size"),
    [
        ("atoms", "128B", (64, 64)),  # atoms of 8 × 64
        ("atoms", "32B", (64, 48)),  # 8 × 16
        ("cores", "128B", (64, 48)),  # 8 × 8, but the instruction reads 16 of K
    ],
)
def test_a_tile_of_60_by_40_is_filled_up_to_whole_atoms_and_k_steps(
    name: str, mode: str, size: tuple[int, int]
) -> None:
    spec = presets.lay_preset(name, TileRequest("a", K, 60, 40, {}), build_word(mode)).spec
    assert (spec["mn"], spec["k"]) == size


def test_the_swizzle_is_the_words_or_the_widest_that_the_operand_can_have() -> None:
    for mode in ("128B", "64B", "32B"):
        assert K.choose_mode(Descriptor(build_word(mode)).mode_code).name == mode
    assert K.choose_mode(WGMMA.codes[get_mode("none")]).name == "128B"
    turned = View(64, 8, 32, "MN", form=TCGEN05)  # PTX: tf32 is MN-major only in the mode with atoms of 32 bytes
    assert not TCGEN05.allows_elements(32, "MN", get_mode("128B"))
    assert TCGEN05.allows_elements(32, "MN", turned.choose_mode(0))


def test_another_name_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(LayoutError, match=r"stored\.a is 'stripes'") as refused:
        presets.lay_preset("stripes", TileRequest("a", K, 64, 64, {}), build_word("128B"))
    assert refused.value.hint == "Allowed: box, atoms, cores, rows." and refused.value.field == "stored.a"
