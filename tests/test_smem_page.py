"""The tile explorer's page: what it offers leads on, for every element size wgmma reads."""

from __future__ import annotations

import re
from html import unescape
from itertools import product

from lanescope.shared.tiling import ELEMENT_BITS
from tests.cases import for_each
from tests.client import Client
from tests.sample import take_sample

B1 = "wgmma.mma_async.sync.aligned.m64n64k256.s32.b1.b1.and.popc"


STORED = (("64", "none"), ("64", "32B"), ("16", "128B"), ("40", "64B"))


@for_each(("bits", "stored"), take_sample([*product(ELEMENT_BITS, STORED)], 9))
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
