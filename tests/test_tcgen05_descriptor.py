"""tcgen05's matrix descriptor: fields, reads, tiles and diagnoses against PTX's canonical layouts and CUTLASS's words.

The read model is written anew here from PTX ISA 9.1, 9.7.16.3.3: element by element, without the engine's arrays.
"""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from lanescope.blackwell import idesc, umma
from lanescope.blackwell.idesc import IdescWord
from lanescope.descriptor.fits import find_fitting_tiles
from lanescope.descriptor.matrix import Descriptor, View, encode_descriptor, reads
from lanescope.descriptor.notices import find_outside_reads, find_uncertain_reads, find_warnings
from lanescope.descriptor.verify import verify
from lanescope.errors import LayoutError
from lanescope.ptx.table.descriptors import TCGEN05, WGMMA
from lanescope.shared.storage import storage
from lanescope.shared.tiling import Tile
from tests.cases import for_each
from tests.client import share_client
from tests.sample import take_sample

GOLDEN = json.loads((Path(__file__).parent / "golden" / "tcgen05.json").read_text())
CODES = {0: ("none", 1), 1: ("128B_base32B", 8), 2: ("128B", 8), 4: ("64B", 4), 6: ("32B", 2)}


@for_each("sample", GOLDEN["smem_descriptors"], ids=lambda sample: sample["case"])
def test_words_of_public_kernels(sample: dict[str, object]) -> None:
    names = {"start": "start_address", "lbo": "lbo_bytes", "sbo": "sbo_bytes", "mode": "lbo_mode"}
    amounts = {ours: int(str(sample[theirs])) for theirs, ours in names.items() if theirs in sample}
    made = encode_descriptor(TCGEN05, amounts, CODES[int(str(sample.get("sw", 0)))][0])
    assert made.word == int(str(sample["value"]), 0) and not made.reserved
    assert [made.facts[name] for name in amounts] == list(amounts.values())


def compute_byte(word: int, seen: View, r: int, k: int) -> int:
    """The byte of element (r, k), from the formulas of the canonical layouts."""
    start, lbo, sbo = (((word >> low) & 0x3FFF) << 4 for low in (0, 16, 32))
    name, wide = CODES[word >> 61]
    per, e = 128 // seen.bits, seen.bits / 8
    if seen.major == "K":
        chunk = k // per
        pre = start + r // 8 * sbo + r % 8 * 16 * wide + int(k % per * e)
        pre += chunk * lbo if wide == 1 else chunk // wide * lbo + chunk % wide * 16
    elif name == "none":
        pre = start + r // per * sbo + k // 8 * lbo + k % 8 * 16 + int(r % per * e)
    elif name == "128B_base32B":
        pre = start + r // 32 * lbo + r % 32 * 4 + k // 4 * sbo + k % 4 * 128
        return pre ^ (pre >> 7 & 3) << 5
    else:
        pre = (
            start + r // (wide * per) * lbo + r // per % wide * 16 + k // 8 * sbo + k % 8 * 16 * wide + int(r % per * e)
        )
    return pre ^ ((pre >> 7) - (word >> 49 & 7) & wide - 1) << 4


LEGAL = [
    (bits, major, name)
    for bits in (4, 8, 16, 32)
    for major in ("K", "MN")
    for _, (name, _) in CODES.items()
    if TCGEN05.allows_elements(bits, major, TCGEN05.get_mode_by_name(name))
    and not (major == "K" and name == "128B_base32B")
]


@for_each(("bits", "major", "name"), LEGAL, ids=str)
def test_reads_are_the_canonical_layouts(bits: int, major: str, name: str) -> None:
    seen = View(64, 256 // bits, bits, major, TCGEN05)
    rng = np.random.default_rng(bits)
    for _ in range(4):
        start, lbo, sbo = (int(n) * 16 for n in rng.integers(1, 1 << 9, 3))
        word = encode_descriptor(TCGEN05, {"start_address": start, "lbo_bytes": lbo, "sbo_bytes": sbo}, name)
        found = reads(word, seen)
        for r, k in [(0, 0), (63, seen.k - 1), *((int(a), int(b)) for a, b in rng.integers(0, (64, seen.k), (60, 2)))]:
            assert found[r, k] == compute_byte(word.word, seen, r, k), (r, k)


@for_each(("bits", "major", "name"), LEGAL, ids=str)
def test_a_tile_is_read_by_its_own_word(bits: int, major: str, name: str) -> None:
    """Every tile, in both orders, and every step of K: the word that the tile gives reads it, and fits it."""
    mode = TCGEN05.get_mode_by_name(name)
    mn, k = mode.get_atom_size(bits, major)
    step = 256 // bits
    for order in ("mn", "k"):
        tile = Tile(bits, major, mode, max(2 * mn, 64), max(2 * k, 2 * step), order=order, base=8192, form=TCGEN05)
        spec = {
            "kind": "canonical",
            "element_bits": bits,
            "major": major,
            "swizzle": name,
            "mn": tile.mn,
            "k": tile.k,
            "order": order,
            "base": 8192,
        }
        stored = storage(spec, bits, major, TCGEN05)
        seen = View(64, step, bits, major, TCGEN05)
        for at in range(0, tile.k, step):
            word = tile.descriptor(0, at, step)
            assert verify(word, seen, stored, mn=0, k=at).match, (order, at, str(word))
        assert any(fit["swizzle"] == name for fit, _ in find_fitting_tiles(tile.descriptor(0, 0, step), seen))


@for_each("name", ["none", "32B", "64B", "128B"])
@for_each("code", [3, 5, 7])
def test_a_reserved_swizzle_code_is_mended_to_that_of_the_tile(code: int, name: str) -> None:
    """3 is the tensor map's code of 128B and wgmma's of 32B."""
    tile = Tile(16, "K", TCGEN05.get_mode_by_name(name), 128, 64, order="mn", base=8192, form=TCGEN05)
    spec = {"kind": "canonical", "element_bits": 16, "major": "K", "swizzle": name, "mn": 128, "k": 64, "base": 8192}
    right = tile.descriptor(0, 16, 16)
    told = verify(
        right.replace(swizzle=code), View(64, 16, 16, "K", TCGEN05), storage(spec, 16, "K", TCGEN05), mn=0, k=16
    )
    (cause,) = told.diagnoses
    assert not told.match and cause.fix == right
    wgmmas = "tma_swizzle_enum" if name == "128B" else "wgmma_swizzle_code"
    assert cause.code == (wgmmas if code == 3 else "swizzle_reserved")


def test_the_two_formats_share_bits() -> None:
    """The four modes have the same bits in both; the version is what tells them apart."""
    for name in ("none", "32B", "64B", "128B"):
        amounts = {"start_address": 1024, "lbo_bytes": 16, "sbo_bytes": 1024}
        old, new = encode_descriptor(WGMMA, amounts, name), encode_descriptor(TCGEN05, amounts, name)
        assert new.word == old.word | 1 << 46
        assert [n.code for n in find_warnings(Descriptor(old.word, TCGEN05))][:1] == ["wgmma_format"]
        assert "tcgen05_format" in [n.code for n in find_warnings(Descriptor(new.word))]


F16 = (umma.parse_mma_opcode("tcgen05.mma.cta_group::1.kind::f16"), IdescWord(0x08400490, idesc.get_kind("f16")))
SEEN = umma.make_view(*F16, "b")
SPEC = {"kind": "canonical", "swizzle": "128B", "mn": 256, "k": 64, "base": 4096}
RIGHT = 0x4000404000010100
MISTAKES = {
    "wgmma_format": 0x4000004000010100,  # bit 46 left out (triton #8032)
    "tma_swizzle_enum": 0x6000404000010100,  # the tensor map's 3 in the field of three bits
    "wgmma_swizzle_code": 0x2000404000010100,  # wgmma's 1 in it
    "mode_at_bit_62": 0x8000404000010100,  # its own 2 where wgmma has its field
    "version_wrong": 0x4000C04000010100,
    "swizzle_reserved": 0xE000404000010100,
    "swizzle_mode": 0xC000404000010100,
    "bytes_not_shifted": 0x4000404000011000,
    "high_word_missing": 0x0000000000010100,
}


@for_each("code_", MISTAKES)
def test_a_mistake_has_its_name_and_its_repair(code_: str) -> None:
    found = verify(Descriptor(MISTAKES[code_], TCGEN05), SEEN, storage(SPEC, 16, "K", TCGEN05))
    assert not found.match and found.diagnoses[0].code == code_, [d.code for d in found.diagnoses]
    fix = found.diagnoses[0].fix
    assert fix is not None and fix.format is TCGEN05 and verify(fix, SEEN, storage(SPEC, 16, "K", TCGEN05)).match


def test_a_word_of_the_right_bytes_is_still_no_word_of_the_format() -> None:
    found = verify(Descriptor(MISTAKES["wgmma_format"], TCGEN05), SEEN, storage(SPEC, 16, "K", TCGEN05))
    assert found.matched == found.total and not found.formed and not found.match
    assert verify(Descriptor(RIGHT, TCGEN05), SEEN, storage(SPEC, 16, "K", TCGEN05)).match


def test_an_operand_is_what_the_instruction_descriptor_says() -> None:
    pair, tf32 = IdescWord(0x10400490, idesc.get_kind("f16")), IdescWord(0x08418910, idesc.get_kind("tf32"))
    by = umma.parse_mma_opcode("tcgen05.mma.cta_group::2.kind::f16.collector::a::fill [d], a, b, i, p;")
    assert by.ptx == "tcgen05.mma.cta_group::2.kind::f16"
    views = [umma.make_view(by, pair, operand) for operand in "ab"]
    assert [(v.rows, v.k, v.bits, v.major) for v in views] == [(128, 16, 16, "K"), (128, 16, 16, "K")]
    alone = umma.parse_mma_opcode("tcgen05.mma.cta_group::1.kind::tf32")
    assert [umma.make_view(alone, tf32, x).major for x in "ab"] == ["MN", "MN"] and umma.make_view(
        alone, tf32, "a"
    ).k == 8
    sparse = idesc.encode(idesc.get_kind("f8f6f4"), {"m": 128, "n": 64, "sparse": 1, "a": "e2m1"})
    by = umma.parse_mma_opcode("tcgen05.mma.sp.cta_group::1.kind::f8f6f4")
    assert [(v.rows, v.k, v.bits) for v in (umma.make_view(by, sparse, x) for x in "ab")] == [(128, 32, 8), (64, 64, 8)]
    four = idesc.encode(idesc.get_kind("mxf4"), {"m": 128, "n": 64})
    found = umma.make_view(
        umma.parse_mma_opcode("tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::2X"), four, "b"
    )
    assert (found.rows, found.k, found.bits) == (64, 64, 4)
    with pytest.raises(LayoutError, match="is sparse; the opcode is not"):
        umma.make_view(alone, idesc.encode(idesc.get_kind("tf32"), {"m": 128, "n": 64, "sparse": 1}), "a")
    with pytest.raises(LayoutError, match="major is K, but in the instruction descriptor B is MN-major"):
        umma.make_view(alone, tf32, "b", "K")
    with pytest.raises(LayoutError, match=r"is not a tcgen05.mma with a kind"):
        umma.parse_mma_opcode("tcgen05.ld.sync.aligned.32x32b.x1.b32")


def test_what_is_open_or_inferred_says_so() -> None:
    k_major = View(64, 8, 32, "K", TCGEN05)
    word = encode_descriptor(TCGEN05, {"start_address": 1024, "sbo_bytes": 1024}, "128B_base32B")
    assert "inferred" in find_uncertain_reads(word, k_major)[0].message
    assert not find_uncertain_reads(word, View(64, 8, 32, "MN", TCGEN05)) and not find_outside_reads(word, k_major)
    with pytest.raises(LayoutError, match="which bytes are read then is not documented"):
        reads(word.replace(lbo_mode=1), k_major)
    assert "not documented" in find_warnings(word.replace(lbo_mode=1))[0].message
    with pytest.raises(LayoutError, match=r"32-bit elements is not read with swizzle 64B. Allowed: 128B_base32B"):
        Tile(32, "MN", TCGEN05.get_mode_by_name("64B"), 64, 16, form=TCGEN05)


@for_each(
    "query",
    [
        "",
        "&element_bits=32&major=MN&swizzle=128B_base32B&mn=64&k=32",
        "&element_bits=8&major=MN&mn=128&k=64",
        "&element_bits=4&k=256&mn=128",
        "&major=MN&mn=128&k=64&swizzle=64B",
        "&swizzle=none&mn=256&k=32&rows=256",
    ],
    sample=2,
)
def test_the_tile_page_has_the_format(query: str) -> None:
    """Every word of the page is one of the format, and every link of its choices leads to a tile of it."""
    client = share_client()
    page = client.get(f"/smem?format=tcgen05{query}")
    assert page.status_code == 200 and "documented" in page.text and "/descriptor/wgmma/" not in page.text
    told = client.get(f"/api/v1/smem/tile?format=tcgen05{query}").json()
    for step in told["k_steps"]:
        assert f"/descriptor/tcgen05/{step['descriptor']}?" in page.text
    links = {unescape(link) for link in re.findall(r'href="(/smem\?[^"]+)"', page.text)}
    shown = sorted(link for link in links if "format=tcgen05" in link and "unit=" not in link)
    assert len(shown) > 5 and all(client.get(link).status_code == 200 for link in take_sample(shown, 2))
    verify = unescape(re.search(r'href="(/descriptor/tcgen05/[^"]+)">Verify', page.text)[1])  # type: ignore[index]
    answer = client.get(verify).text
    assert "every element" in answer or "matches" in answer or "reads" in answer
    other = unescape(re.search(r'href="([^"]+)">For wgmma', page.text)[1])  # type: ignore[index]
    assert client.get(other).status_code == 200
