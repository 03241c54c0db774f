"""The tile explorer's page: what it offers leads on, for every element size wgmma reads."""

from __future__ import annotations

import re
from html import unescape
from itertools import product

from lanescope.app.memory.presets import PRESETS, PresetRequest, StoragePreset, adapt_request, find_preset
from lanescope.app.memory.storage import STORAGE
from lanescope.descriptor.matrix import Descriptor, View
from lanescope.descriptor.repair import compute_expected_reads, find_repairs
from lanescope.descriptor.verify import verify
from lanescope.ptx.table.descriptors import WGMMA
from lanescope.shared.storage import storage
from lanescope.shared.swizzle import MODES
from lanescope.shared.tiling import ELEMENT_BITS
from tests.cases import for_each
from tests.client import Client, share_client
from tests.sample import take_sample

B1 = "wgmma.mma_async.sync.aligned.m64n64k256.s32.b1.b1.and.popc"


STORED = (("64", "none"), ("64", "32B"), ("16", "128B"), ("40", "64B"))


@for_each(("bits", "stored"), take_sample([*product(ELEMENT_BITS, STORED)], 9), sample=4)
def test_the_descriptor_of_every_k_step_verifies(client: Client, bits: int, stored: tuple[str, str]) -> None:
    rows, swizzle = stored
    page = client.get(f"/smem?element_bits={bits}&swizzle={swizzle}&mn=80&k={2048 // bits}&rows={rows}&base=2048")
    assert page.status_code == 200
    links = [unescape(link) for link in re.findall(r'href="(/descriptor/wgmma/[^"]*slice_k[^"]*)"', page.text)]
    assert len(links) == 10 and links[0] == links[1] == links[2]  # the page leads to the first step's, too
    for link in links[:1] + links[-1:]:
        assert "data-verdict=match" in client.get(link).text, link


def test_wgmma_reads_b1(client: Client) -> None:
    """1-bit elements are read through descriptors like any other: the page of such an instruction verifies them."""
    for operand in ("a", "b"):
        query = f"instruction={B1}&operand={operand}&s_swizzle=128B&s_mn=64&s_k=1024&s_base=0x1000"
        page = client.get(f"/descriptor/wgmma/0x4000004000010100?{query}").text
        assert "All 16,384 elements are read from where they are stored" in page and "reads no" not in page
    answer = client.get("/api/v1/smem/tile?element_bits=1&swizzle=none&mn=64&k=256").json()
    assert (
        answer["atom"]["k"] == 128 and [s["k"] for s in answer["k_steps"]] == [0] and answer["offset_bytes"][1][8] == 17
    )


def test_wrong_number_is_told_beside_its_field_in_the_words_of_the_form(client: Client) -> None:
    """The field's own note says what is allowed, as the notice above does."""
    page = client.get("/smem?mn=zz").text
    beside = re.search(r'name="mn" value="zz"[^>]*><small [^>]*id="mn-error"[^>]*>([^<]*)<', page)
    assert beside is not None
    assert unescape(beside[1]) == "Tile M or N is 'zz'. Give an integer, 0 or more (decimal, 0x… or 0b…)."

    page = client.get(f"/descriptor/wgmma/0x4000004000010100?instruction={B1}&s_kind=canonical&s_mn=zz").text
    beside = re.search(
        r'name="s_mn" value="zz"[^>]*aria-describedby="s_mn-error"[^>]*><small [^>]*id="s_mn-error"[^>]*>([^<]*)<', page
    )
    assert beside is not None
    assert "'zz'. Give an integer from 0" in unescape(beside[1])


# presets of storages --------------------------------------------------------------------------------------------------

VIEWS = [
    View(64, 16, 16, "K"),
    View(128, 16, 16, "MN"),
    View(200, 32, 8, "K"),
    View(8, 8, 32, "K"),
    View(24, 16, 16, "MN"),
]
READABLE = [preset for preset in PRESETS if preset.name != "plain"]


def build_word(preset: StoragePreset, seen: View, word: Descriptor) -> tuple[PresetRequest, dict[str, str]] | None:
    own = adapt_request(preset, PresetRequest(seen, word))
    return (own, preset.make(own)) if own else None


@for_each("preset", PRESETS, ids=lambda p: p.name)
def test_a_preset_knows_its_own_storage(preset: StoragePreset) -> None:
    for seen in VIEWS:
        found = build_word(preset, seen, Descriptor(0x4000004000010100))
        if found:
            assert find_preset(STORAGE | found[1]) is preset
            assert preset.major in ("", found[0].seen.major)


@for_each("preset", READABLE, ids=lambda p: p.name)
def test_some_word_reads_every_preset_but_plain_rows(preset: StoragePreset) -> None:
    """The tile holds the operand, and the right word for it verifies in every mode that the word may name."""
    tried = 0
    for seen in VIEWS:
        for mode in MODES:
            word = Descriptor(0x100).replace(swizzle=WGMMA.codes[mode])
            found = build_word(preset, seen, word)
            if not found:
                continue
            own, spec = found
            stored = storage(spec, own.seen.bits, own.seen.major)
            right = find_repairs(compute_expected_reads(stored, own.seen, 0, 0), own.seen, word, True)
            assert right and verify(right[0], own.seen, stored).match, (seen, mode.name, spec)
            tried += 1
    assert tried >= 8


def test_a_word_from_an_expression_keeps_its_warning() -> None:
    client = share_client()
    page = client.get("/descriptor", params={"word": "1 << 62"}).text
    notes = page.split('id="word-notes"')[1].split("</p>")[0]
    assert "hidden" not in notes and "32" in notes
