"""What takes the green from a match: a reserved bit and an assumption, and nothing that is legal and only unusual."""

from __future__ import annotations

import re
from html import unescape

from hypothesis import given, settings, strategies as st

from lanescope.app.memory.verdicts import Verified, build_verified
from lanescope.descriptor.format import DescriptorFormat
from lanescope.descriptor.matrix import Descriptor, view
from lanescope.descriptor.notices import list_cautions
from lanescope.ptx import catalog
from lanescope.ptx.table.descriptors import FORMATS, TCGEN05, WGMMA
from tests.cases import for_each
from tests.client import share_client

M64N64 = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"
BOX = {"kind": "rows", "inner": "K", "pitch_bytes": "128", "swizzle": "128B", "base": 0}
SEEN = view(catalog.find(M64N64), "a", "K")
# format → (bit, what keeps it 0), from PTX ISA 9.1's tables of both descriptors: which field lies below each gap
BITS = {
    WGMMA: {
        14: "the address with 0x3FFFF",
        15: "the address with 0x3FFFF",
        30: "LBO with 0x3FFFF",
        31: "LBO with 0x3FFFF",
        46: "tcgen05",
        47: "SBO with 0x3FFFF",
        48: "base offset begins at bit 49",
        52: "base offset with 7",
        53: "no field",
        57: "no field",
        60: "no field",
        61: "begins at bit 62",
    },
    TCGEN05: {
        14: "the address with 0x3FFFF",
        15: "the address",
        30: "LBO with 0x3FFFF",
        31: "LBO",
        53: "no field",
        60: "no field",
    },
}


def post_verify(word: int, **more: object) -> Verified:
    body = {"descriptor": hex(word), "instruction": M64N64, "operand": "a", "major": "K", "storage": BOX, **more}
    return build_verified(body)


@for_each("form", FORMATS, ids=lambda form: form.name)
def test_every_reserved_bit_has_its_own_advice(form: DescriptorFormat) -> None:
    """Each bit that no field covers is named with what a program does to keep it 0; no field's bit ever is."""
    good = form.codes[form.get_mode_by_name("128B")] << form.get_field("swizzle").low | sum(
        n << form.get_field(name).low for name, n in form.constants.items()
    )
    for bit in range(64):
        if form.get_field_name(bit) in ("swizzle", *form.constants):
            continue
        said = list_cautions(Descriptor(good | 1 << bit, form), SEEN)
        if not form.get_field_name(bit):
            assert f"bit {bit} is set" in said[0] and all("On sm_107" in more for more in said[1:]), bit
            assert BITS[form].get(bit, "") in said[0]
        else:
            assert said == (), bit


@for_each("bit", [bit for bit in range(64) if not WGMMA.get_field_name(bit)])
def test_a_reserved_bit_stands_beside_a_match(bit: int) -> None:
    told = post_verify(0x4000004000000000 | 1 << bit)
    assert told.verdict == "match" and f"bit {bit} is set" in " ".join(told.caution)


def test_bits_of_one_gap_are_one_caution() -> None:
    told = list_cautions(Descriptor(0x400000400000C000 | 1 << 30), SEEN)
    assert told == (
        "Reserved bits 14 and 15 are set: mask the address with 0x3FFFF.",
        "Reserved bit 30 is set: mask LBO with 0x3FFFF.",
    )


def test_a_mismatch_has_causes_and_no_caution() -> None:
    told = post_verify(0x4000008000004000)
    assert told.verdict == "mismatch" and told.caution == () and told.diagnoses


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 0x3FFF), st.integers(0, 7))
def test_unusual_but_legal_fields_are_no_caution(lbo: int, start_row: int) -> None:
    """LBO is not read here, and a start inside the pattern is right for data that TMA swizzled by address."""
    base = 128 * start_row
    told = post_verify(0x4000004000000000 | lbo << 16 | base >> 4, storage={**BOX, "base": base})
    assert told.verdict == "match" and told.caution == ()


def test_tcgen05s_reserved_bits_are_named_too() -> None:
    body = {
        "descriptor": hex(0x4000404000000000 | 1 << 55),
        "format": "tcgen05",
        "idesc": "0x08200490",
        "operand": "a",
        "instruction": "tcgen05.mma.cta_group::1.kind::f16",
        "storage": BOX,
    }
    told = build_verified(body)
    assert told.verdict == "match"
    assert told.caution == ("Reserved bit 55 is set: no field of tcgen05’s descriptor is there.",)
    assert build_verified({**body, "descriptor": hex(0x4000404000000000)}).caution == ()


def read_verdict(page: str) -> str:
    part = page[page.index('<div class="verdict') :]
    return " ".join(unescape(part[: part.index("</div>")]).split())


def list_presets(page: str) -> dict[str, str]:
    return {name: unescape(to) for name, to in re.findall(r'data-preset="(\w+)"\s+href="([^"]+)"', page)}


def test_a_standard_tile_found_from_the_word_does_not_confirm_it() -> None:
    client = share_client()
    at = "/descriptor/wgmma/0x4000004000010040"
    fits = [unescape(to) for to in re.findall(r'<li><a data-store href="([^"]+)"', client.get(at).text)]
    assert fits
    for to in fits:
        assert "if the word is right about the tile itself" in read_verdict(client.get(at + to).text)


def test_a_value_that_differs_from_the_words_own_was_given() -> None:
    client = share_client()
    at = "/descriptor/wgmma/0x4000004000010040"
    box = list_presets(client.get(at).text)["box"].replace("s_base=0x400", "s_base=0x0")
    assert "first byte" not in client.get(at + box).text.split('id="from-word"')[-1].split("</p>")[0]


def test_the_page_of_a_reserved_bit_is_not_green() -> None:
    client = share_client()
    word = "/descriptor/wgmma/0x4000004000004000"
    shown = read_verdict(client.get(word + "?s_kind=rows&s_inner=K&s_pitch_bytes=128&s_swizzle=128B&s_base=0").text)
    assert 'class="verdict care"' in shown and "✓" not in shown
    assert "<h2>The bytes are right; reserved bit 14 is set: mask the address with 0x3FFFF</h2>" in shown
    assert "/descriptor/wgmma/0x4000004000000000?" in shown  # the same word without the bit
    clear = read_verdict(client.get("/descriptor/wgmma/0x4000004000000000?s_kind=rows&s_pitch_bytes=128&s_base=0").text)
    assert 'class="verdict ok"' in clear
