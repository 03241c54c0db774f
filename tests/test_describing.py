"""Which descriptors read a layout: LBO and SBO as CUTLASS's canonical layouts give them, and why a layout has none."""

from __future__ import annotations

import json

from lanescope.descriptor.matrix import reads
from lanescope.descriptor.tile_descriptors import TileDescriptors, describe_stored_tile
from tests.cases import for_each
from tests.client import Client
from tests.command import run_lanescope
from tests.written_kernels import CODES, OperandTile

TILES = [
    *((16, OperandTile(rows, k, "none", first)) for rows, k, first in ((64, 16, "K"), (128, 64, "K"), (64, 32, "MN"))),
    *((16, OperandTile(64, 64, swizzle)) for swizzle in ("32B", "64B", "128B")),
    *((16, OperandTile(128, 32, swizzle, "MN", k_first=True)) for swizzle in ("32B", "64B", "128B")),
    *((16, OperandTile(256, 16, swizzle, "MN")) for swizzle in ("32B", "64B", "128B")),
    *((8, OperandTile(96, 128, swizzle, k_first=True)) for swizzle in ("none", "32B", "64B", "128B")),
    *((32, OperandTile(40, 32, swizzle)) for swizzle in ("none", "32B", "64B", "128B")),
]


def format_cute(own: OperandTile, bits: int, flagged: bool) -> str:
    """The layout as CuTe prints it: with the pointer's width, or in elements."""
    shape, stride = (str(one).replace(" ", "") for one in own.layout(bits))
    rows = own.atom(bits)[0 if own.major == "MN" else 1] * bits // 8 // 16
    chunks = rows.bit_length() - 1
    if not chunks:
        return f"{shape}:{stride}" if not flagged else f"smem_ptr[{bits}b](unset) o {shape}:{stride}"
    if flagged:
        return f"Sw<{chunks},4,3> o smem_ptr[{bits}b](unset) o {shape}:{stride}"
    return f"Sw<{chunks},{(128 // bits).bit_length() - 1},3> o {shape}:{stride}"


def describe_layout(layout: str, bits: int | None = None) -> list[TileDescriptors]:
    return describe_stored_tile({"kind": "cute", "layout": layout}, bits)


@for_each(("bits", "own"), TILES, ids=str)
@for_each("flagged", [True, False])
def test_every_canonical_layout_has_its_descriptor(bits: int, own: OperandTile, flagged: bool) -> None:
    """LBO, SBO, mode and major are those of the canonical layout; each word reads every element from where pycute puts
    it.
    """
    (one,) = describe_layout(format_cute(own, bits, flagged), bits)
    first, (lbo, sbo) = one.words[0], own.lbo_sbo(bits)
    assert (one.seen.major, first.mode.name, first.mode_code) == (own.major, own.swizzle, CODES[own.swizzle])
    assert one.seen.rows == own.rows and len(one.words) == own.k * bits // 256
    for name, amount, wanted in (("lbo", first.lbo_bytes, lbo), ("sbo", first.sbo_bytes, sbo)):
        assert name in one.unused or amount == 16 * wanted
    for n, word in enumerate(one.words):
        read = reads(word, one.seen)
        for row in range(0, own.rows, 7):
            for k in range(0, one.seen.k, 3):
                assert read[row, k] == own.address(row, n * one.seen.k + k, bits)


def test_the_width_of_elements_that_the_text_leaves_open_is_said_to_be_taken() -> None:
    """Eight elements of stride 1 are a 16-byte chunk of 16 bits; a swizzle moves chunks of 2^M elements."""
    (plain,) = describe_layout("((8,8),(8,2)):((8,64),(1,512))")
    assert (plain.seen.bits, plain.assumed) == (16, True)
    bytes_ = describe_layout("Sw<3,4,3> o ((8,8),128):((128,1024),1)")[-1]
    assert (bytes_.seen.bits, bytes_.words[0].sbo_bytes) == (8, 1024)
    (words,) = describe_layout("((8,8),(4,2)):((4,32),(1,256))")
    assert (words.seen.bits, words.words[0].lbo_bytes, words.words[0].sbo_bytes) == (32, 1024, 128)


def test_a_swizzle_without_a_pointer_may_count_bytes_or_elements() -> None:
    """People write the atom of 16-bit elements so; by CuTe's rules it is that of bytes."""
    half, byte = describe_layout("Sw<3,4,3> o (8,64):(64,1)")
    assert (half.seen.bits, half.on_bytes, half.words[0].mode.name) == (16, True, "128B")
    assert (byte.seen.bits, byte.on_bytes, byte.words[0].mode.name) == (8, False, "64B")
    (flagged,) = describe_layout("Sw<3,4,3> o smem_ptr[16b](unset) o (8,64):(64,1)", 16)
    assert not flagged.on_bytes and flagged.words == half.words


def test_a_layout_of_16_byte_chunks_is_read_by_every_width() -> None:
    """Seen so in notes: K-major without a swizzle, LBO 64 and SBO 8 chunks."""
    found = describe_layout("Sw<0,4,3> o smem_ptr[128b](unset) o ((8,8),(1,2)):((1,8),(1,64))", 128)
    assert [one.seen.bits for one in found] == [16, 8, 32]
    assert {(one.words[0].lbo_bytes, one.words[0].sbo_bytes) for one in found} == {(64 * 16, 8 * 16)}


@for_each(
    ("layout", "bits", "why"),
    [
        ("(64,64):(64,1)", 16, "its rows of 16 bytes are 128 bytes apart"),
        ("(64,64):(1,64)", 16, "its rows of 16 bytes are 128 bytes apart"),
        ("(64,16):(24,1)", 16, "48 bytes apart"),
        ("(128,128):(1,128)", 8, "wgmma reads 8-bit elements K-major only"),
        ("(4,8):(8,1)", 16, "one wgmma reads at least 8 × 16"),
        ("((8,8),64):((64,512),1)", 16, "128 bytes apart"),
    ],
)
def test_why_no_descriptor_reads_a_layout(layout: str, bits: int, why: str) -> None:
    (one,) = describe_layout(layout, bits)
    assert not one.words and why in one.why


TEXT = "Sw<3,4,3> o smem_ptr[16b](unset) o ((64,2),(8,4)):((1,512),(64,1024))"
SAID = {  # by hand: MN-major, 128B; 64 elements of N are 1,024 bytes of 8 k apart, 8 of K 2,048
    "element_bits": 16,
    "assumed": False,
    "rows": 128,
    "major": "MN",
    "transpose": 1,
    "swizzle": "128B",
    "swizzle_code": 1,
    "lbo_bytes": 1024,
    "sbo_bytes": 2048,
    "lbo_encoded": 64,
    "sbo_encoded": 128,
    "base_offset": 0,
    "unused": {},
    "base": 0x1000,
    "why": "",
    "instruction": "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16",
    "k_steps": [
        {"k": 0, "start_offset_bytes": 0, "descriptor": "0x4000008000400100"},
        {"k": 16, "start_offset_bytes": 4096, "descriptor": "0x4000008000400200"},
    ],
}


def test_a_word_that_does_not_read_a_layout_is_told_which_does(client: Client) -> None:
    """Where the wrong word is in another major, no repair of it can be: the right one is named all the same."""
    asked = {
        "descriptor": "0x4000004000010100",
        "instruction": "wgmma.mma_async.m64n128k16.f32.f16.f16",
        "operand": "b",
        "storage": {"kind": "cute", "layout": TEXT, "base": 0x1000},
    }
    told = client.post("/api/v1/descriptors/verify", json=asked).json()
    assert told["verdict"] == "mismatch" and told["described"][0]["k_steps"] == SAID["k_steps"]
    words = ["--instruction", asked["instruction"], "--operand", "b", "--storage", "kind=cute"]
    words += ["--storage", f"layout={TEXT}", "--storage", "base=0x1000"]
    printed = run_lanescope("descriptor", "verify", str(asked["descriptor"]), *words)
    assert "read by: LBO 1024 bytes (64), SBO 2048 bytes (128)" in printed.stdout
    right = client.post("/api/v1/descriptors/verify", json=asked | {"descriptor": "0x4000008000400100", "major": "MN"})
    assert right.json()["verdict"] == "match" and "described" not in right.json()
    assert json.loads(run_lanescope("descriptor", "verify", str(asked["descriptor"]), *words, "--json").stdout)[
        "described"
    ]


def test_a_stride_that_the_instruction_does_not_read_is_named() -> None:
    words = ["--instruction", "wgmma.mma_async.m64n64k16.f32.f16.f16", "--storage", "swizzle=128B,mn=64,k=64,base=1024"]
    usual, strange = (
        run_lanescope("descriptor", "verify", word, *words).stdout.splitlines()
        for word in ("0x4000004000010040", "0x4000004000400040")
    )
    assert usual == ["match: 1024 of 1024 elements"]
    assert strange[:1] == usual and strange[1].startswith(
        "  LBO (1024 bytes) is not read: in a swizzled K-major layout"
    )
