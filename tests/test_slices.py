"""Steps along K and M or N: over all kinds of tiles, every number in every sentence is compared with the tile's
addresses.
"""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import numpy as np
import pytest

from lanescope.descriptor.matrix import View, find_unread_fields, reads
from lanescope.errors import LayoutError
from lanescope.shared import slices
from lanescope.shared.swizzle import MODES, Mode
from lanescope.shared.tiling import ELEMENT_BITS, Tile
from tests.cases import for_each

KINDS = [
    (bits, major, mode) for bits, major, mode in product(ELEMENT_BITS, ("K", "MN"), MODES) if major == "K" or bits == 16
]
SENTENCES = (
    r"the tile's start",
    (
        r"\+(?P<moved>\d+) bytes: a step has (?P<spans>\d+) (?P<piece>core matrices|atoms) along K, (?P<across>\d+)"
        r" bytes apart \((?P<field>LBO|SBO)\)"
    ),
    (
        r"\+(?P<moved>\d+) bytes: a step has (?P<spans>one) (?P<piece>core matrix|atom) along K, and the next (?:core"
        r" matrix|atom) begins (?P<across>\d+) bytes after it"
    ),
    (
        r"\+(?P<moved>\d+) bytes inside the atom: the XOR works on address bits, so only the start moves and base"
        r" offset stays"
    ),
    r"\+(?P<moved>\d+) bytes: the next atom along K, which begins (?P<across>\d+) bytes after the one before",
)


def generate_tiles(bits: int, major: str, mode: Mode) -> list[Tile]:
    """Tiles of one kind: one atom and several each way, both orders, on a pattern boundary."""
    width = 128 // bits * mode.chunks
    wide, deep = (8, width) if major == "K" else (width, 8)
    return [
        Tile(bits, major, mode, wide * m, deep * n, order=order, base=3072)
        for m in (1, 3)
        for n in (1, 2, 4)
        for order in ("mn", "k")
    ]


@for_each("kind", KINDS, ids=str)
def test_every_number_of_a_k_step_is_the_tiles(kind: tuple[int, str, Mode]) -> None:
    seen = set()
    for tile in generate_tiles(*kind):
        at = [int(tile.address(0, k)) for k in range(tile.k)]
        near = (0, max(1, tile.element_bits // 8))
        for step in slices.list_k_steps(tile):
            k, why = step.k, step.why
            (number, match), *more = [(n, m) for n, text in enumerate(SENTENCES) if (m := re.fullmatch(text, why))]
            assert not more, why
            seen.add(number)
            said = match.groupdict()
            assert step.start_offset_bytes == at[k] - tile.base
            if k:
                assert int(said["moved"]) == at[k] - at[k - tile.step()], why
            if number == 0:
                assert k == 0
            if number == 3:
                assert at[k] - at[k - 1] in near and tile.k > k and k % tile.atom[1], why
            if "across" in said:
                assert k % tile.atom[1] == 0 and int(said["across"]) == at[k] - at[k - tile.atom[1]], why
            if "spans" in said:
                columns = {j // tile.atom[1] for j in range(k, k + tile.step())}
                assert len(columns) == (1 if said["spans"] == "one" else int(said["spans"])), why
                assert ("core" in said["piece"]) == (tile.mode.name == "none")
            if "field" in said:
                word = step.descriptor
                assert int(said["across"]) == (word.lbo_bytes if said["field"] == "LBO" else word.sbo_bytes), why
            got = reads(step.descriptor, View(tile.mn, tile.step(), tile.element_bits, tile.major))
            assert np.array_equal(
                got, tile.address(np.arange(tile.mn)[:, None], np.arange(k, k + tile.step())[None, :])
            ), why
    assert 0 in seen and len(seen) >= 2


def test_the_field_of_the_k_stride_is_the_one_the_hardware_reads() -> None:
    """Facts measured on an H100: none takes 2·LBO a step whatever is contiguous, swizzled MN-major 2·SBO; swizzled
    K-major reads no LBO.
    """
    fields = {
        (major, m.name): slices.get_k_stride_field(Tile(16, major, m, 64, 64)) for major in ("K", "MN") for m in MODES
    }
    assert {key: field for key, field in fields.items() if key[1] == "none"} == {
        ("K", "none"): "LBO",
        ("MN", "none"): "LBO",
    }
    assert {field for (major, name), field in fields.items() if major == "MN" and name != "none"} == {"SBO"}
    assert {field for (major, name), field in fields.items() if major == "K" and name != "none"} == {""}


@for_each("kind", KINDS, ids=str)
def test_a_step_along_mn_is_legal_where_it_reads_the_tile(kind: tuple[int, str, Mode]) -> None:
    told: set[str] = set()
    for tile in generate_tiles(*kind):
        if tile.k < tile.step():
            continue
        for rows in (8, 16, 24, 40, 64):
            view = View(rows, tile.step(), tile.element_bits, tile.major)
            for step in slices.list_mn_steps(tile, rows):
                mn, why = step.mn, step.why
                if mn + rows > tile.mn and not why.startswith("illegal"):
                    assert why == f"only {tile.mn - mn} of {rows} rows are left" and step.descriptor is None
                    continue
                wanted = tile.address(np.arange(mn, mn + rows)[:, None], np.arange(tile.step())[None, :])
                start = (tile.base + int(tile.compute_offset_before(mn, 0))) // 16
                word = step.descriptor or tile.descriptor().replace(start_address_encoded=start)
                told.add(why.partition(":")[0])
                assert np.array_equal(reads(word, view), wanted) == (not why.startswith("illegal")), (
                    tile,
                    mn,
                    rows,
                    why,
                )
                if why.startswith("illegal"):
                    with pytest.raises(LayoutError):
                        tile.descriptor(mn, 0, rows=rows)
    if kind[1] == "MN" and kind[2].chunks > 2:
        assert told == {"", "illegal", "inside the atom, which holds all of its rows"}


@for_each("kind", KINDS, ids=str)
def test_the_canonical_form_says_what_the_descriptor_reads(kind: tuple[int, str, Mode]) -> None:
    """The form with the tile's own LBO and SBO put in gives the chunk addresses before the XOR."""
    import pycute

    for tile in generate_tiles(*kind):
        if tile.k < tile.step():
            continue
        word = tile.descriptor()
        shape, _, stride = tile.canonical().partition(":")
        n = tile.mn // (8 if tile.major == "K" else tile.atom[0])
        values: dict[str, Any] = {"n": n, "k": 2, "LBO": word.lbo_bytes // 16, "SBO": word.sbo_bytes // 16, "X": 0}
        layout = pycute.Layout(eval(shape, values), eval(stride, values))
        along = tile.per if tile.major == "K" else 8
        rows = tile.mn if tile.major == "K" else tile.mn // 8
        cols = 2 if tile.major == "K" else 16
        for row, col in product(range(rows), range(cols)):
            mn, k = (row, col * along) if tile.major == "K" else (row * along, col)
            assert layout(row, col) * 16 == tile.compute_offset_before(mn, k), (tile.canonical(), row, col)
    assert find_unread_fields(word.mode, View(64, tile.step(), tile.element_bits, tile.major)).keys() <= {
        "lbo",
        "base_offset",
    }


def test_elements_that_wgmma_does_not_read_are_refused_with_the_way_out() -> None:
    with pytest.raises(LayoutError, match="wgmma reads no 4-bit elements") as caught:
        Tile(4, "K", MODES[0], 64, 64)
    assert (
        caught.value.hint
        == "Widen them to 8 bits before wgmma. For ldmatrix the tile is one of bytes: element_bits 8 and half of k."
        " Allowed: 1, 8, 16, 32 (1 is b1, eight to a byte)."
    )
    with pytest.raises(LayoutError, match="6-bit") as caught:
        Tile(6, "K", MODES[0], 64, 64)
    assert "occupies a byte" in caught.value.hint
    with pytest.raises(LayoutError, match="12-bit") as caught:
        Tile(12, "K", MODES[0], 64, 64)
    assert caught.value.hint == "Allowed: 1, 8, 16, 32 (1 is b1, eight to a byte)."
