"""A descriptor format is one row: fields, codes, words, JSON, page, colours and picture of another one
follow from it.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

from lanescope.app.kit.page import render_palette_css
from lanescope.app.memory import descriptors, word_form
from lanescope.bits import BitField
from lanescope.descriptor.format import DescriptorFormat
from lanescope.descriptor.matrix import Descriptor, encode_descriptor
from lanescope.errors import LayoutError
from lanescope.ptx.table.descriptors import BASE_OFFSET, LBO, SBO, START, WGMMA
from lanescope.render.descriptor_bits import render_descriptor_bits
from lanescope.render.palette import LIGHT, render_css as palette_css
from lanescope.shared.swizzle import MODES, Mode, Swizzle, get_mode

# PTX ISA 9.1, 9.7.16.4.1: the row that Blackwell's format will be, with a swizzle that is none of wgmma's codes.
BASE_32B = Mode("128B_base32B", 4, 8, Swizzle(2, 5, 2))
OTHER = DescriptorFormat(
    "tcgen05",
    (
        START,
        LBO,
        SBO,
        BitField("version", 46, 48, 1, "1 in every word"),
        BASE_OFFSET,
        BitField("lbo_mode", 52, 52, 1, "0 byte offset, 1 address"),
        BitField("swizzle", 61, 63, 1, "3 bits"),
    ),
    {get_mode("none"): 0, BASE_32B: 1, get_mode("128B"): 2, get_mode("64B"): 4, get_mode("32B"): 6},
    "PTX ISA 9.1, 9.7.16.4.1",
    constants={"version": 1},
)
AMOUNTS = {"start_address": 0x4000, "lbo_bytes": 4096, "sbo_bytes": 1024, "base_offset": 3, "lbo_mode": 1}


def test_it_encodes_and_decodes() -> None:
    word = encode_descriptor(OTHER, AMOUNTS, "128B_base32B")
    assert word.word == 0x4000 >> 4 | 4096 >> 4 << 16 | 1024 >> 4 << 32 | 1 << 46 | 3 << 49 | 1 << 52 | 1 << 61
    assert (
        word.facts == {**AMOUNTS, "version": 1, "swizzle": "128B_base32B"}
        and word.mode is BASE_32B
        and not word.reserved
    )
    again = Descriptor(word.word | 1 << 53, OTHER)
    assert again.reserved == 1 << 53 and again.replace(lbo_encoded=2, swizzle=6).facts == {
        **word.facts,
        "lbo_bytes": 32,
        "swizzle": "32B",
    }
    assert [row.name for row in descriptors.build_fields(word)] == [f.name for f in OTHER.fields]
    assert {f.name: f.encoded_name for f in OTHER.fields}["sbo"] == "sbo_encoded"


def test_codes_are_the_formats_own() -> None:
    assert [OTHER.codes[m] for m in MODES] == [0, 2, 4, 6] and [WGMMA.codes[m] for m in MODES] == [0, 1, 2, 3]
    assert (
        OTHER.get_field_name(61) == "swizzle"
        and WGMMA.get_field_name(61) == ""
        and OTHER.get_field_name(46) == "version"
    )
    reserved = encode_descriptor(OTHER, AMOUNTS).replace(swizzle=5)
    with pytest.raises(LayoutError, match="Swizzle code 5 is reserved in tcgen05"):
        _ = reserved.mode
    assert reserved.facts["swizzle"] == "reserved (5)"
    with pytest.raises(LayoutError, match="No swizzle mode '16B'") as refused:
        encode_descriptor(OTHER, AMOUNTS, "16B")
    assert "128B_base32B" in refused.value.hint
    with pytest.raises(TypeError, match="has no 'sbo'"):
        encode_descriptor(OTHER, AMOUNTS).replace(sbo=1)
    with pytest.raises(LayoutError, match="outside the 18-bit shared window"):
        encode_descriptor(OTHER, AMOUNTS | {"start_address": 1 << 18})


def test_a_bad_row_is_refused() -> None:
    with pytest.raises(ValueError, match="overlap"):
        DescriptorFormat("x", (START, BitField("y", 13, 14)), {get_mode("none"): 0}, "")
    with pytest.raises(ValueError, match="do not fit"):
        DescriptorFormat("x", WGMMA.fields, {get_mode("none"): 4}, "")
    with pytest.raises(ValueError, match="two are equal"):
        DescriptorFormat("x", WGMMA.fields, {get_mode("none"): 1, get_mode("64B"): 1}, "")


@pytest.mark.parametrize("form", [WGMMA, OTHER])
def test_names_of_narrow_fields_do_not_touch(form: DescriptorFormat) -> None:
    """lbo_mode has one bit of 23.7 pixels, and its name nine letters."""
    drawn = render_descriptor_bits(Descriptor(0, form), LIGHT)
    names = re.findall(r'<text x="([\d.]+)" y="(\d+)" font-size="11"[^>]*>([^<]+)', drawn)
    lines: dict[str, float] = {}
    for x, y, text in names:
        assert float(x) > lines.get(y, 0)
        lines[y] = float(x) + 6.6 * len(text)
    assert len(names) >= 5


def test_the_picture_and_the_words_follow() -> None:
    word = encode_descriptor(OTHER, AMOUNTS, "128B_base32B")
    for palette in (LIGHT, None):
        svg = render_descriptor_bits(word, palette)
        assert f"<title>tcgen05 matrix descriptor {word}</title>" in svg
        assert (
            "version 1<" in svg
            and "lbo_mode 1<" in svg
            and "swz 128B_base32B<" not in svg
            and "swizzle 128B_base32B<" in svg
        )
        fills = re.findall(r'<rect x="[^"]+" y="[^"]+" width="23.7" height="24" fill="([^"]+)"', svg)
        by_bit = dict(zip(range(63, -1, -1), fills, strict=True))
        assert len({by_bit[f.low] for f in OTHER.fields}) == 7 and by_bit[48] == by_bit[46] != by_bit[53] == by_bit[60]
    rules = re.findall(r"\.bit\.(\w+) ", palette_css(f.name for f in OTHER.fields))
    assert rules == [f.name for f in OTHER.fields] and ".bit.swizzle " in render_palette_css()
    assert descriptors.build_decoded(encode_descriptor(WGMMA, {"start_address": 1024}, "64B")).swizzle == "64B"


def test_the_fields_of_the_page_are_those_of_the_row() -> None:
    amounts = word_form.build_amounts(encode_descriptor(OTHER, AMOUNTS, "128B_base32B"))
    assert [part.name for part, _ in amounts] == [part.name for part in reversed(OTHER.fields)]
    controls = {control.name: control for _, control in amounts}
    assert controls["swizzle"].value == "128B_base32B" and controls["lbo_bytes"].value == "4096"
    assert [text for _, text in controls["swizzle"].choices] == [f"{m.name} ({c})" for m, c in OTHER.codes.items()]
    assert controls["version"].label == "version [48:46]"
    assert word_form.list_form_fields(OTHER)[3] == {
        "name": "version",
        "low": 46,
        "high": 48,
        "unit": 1,
        "label": "version [48:46]",
    }


def test_the_xor_is_stated_once() -> None:
    address = np.arange(0, 1 << 13, 16)
    for m in (*MODES, BASE_32B):
        own = m.swizzle()
        bits = sum(((address >> read ^ address >> changed) & 1) << changed for changed, read in own.list_terms())
        kept = address & ~sum(1 << changed for changed, _ in own.list_terms())
        assert np.array_equal(own(address), kept | bits) and np.array_equal(m.unswizzle(address), own(address))
        for back in range(8):
            once = m.unswizzle(address, back)
            assert np.array_equal(m.unswizzle(once, back), address)
            moved = address + 128 * back  # a pattern that begins `back` rows later
            if m is not BASE_32B:
                assert np.array_equal(m.unswizzle(moved, back) - 128 * back, own(address)), (m.name, back)
    assert (
        BASE_32B.swizzle(128) == Swizzle(2, 1, 2)
        and BASE_32B.swizzle(1).base == 8
        and get_mode("128B").swizzle().list_terms() == [(4, 7), (5, 8), (6, 9)]
    )
