"""A generic pointer in a descriptor is called one, wherever its upper bits land."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings, strategies as st

from lanescope.descriptor.matrix import Descriptor, view
from lanescope.descriptor.verify import verify
from lanescope.ptx import catalog
from lanescope.shared.storage import storage
from lanescope.shared.swizzle import MODES, Mode
from lanescope.shared.tiling import Tile
from lanescope.workbench import build_workbench
from tests.checked import list_codes
from tests.sample import choose_count
from tests.test_tma_loads import read_kernel

POINTERS = st.tuples(st.sampled_from(("or", "add")), st.integers(0x70, 0x7F), st.integers(0, 0xFFFF))
BASES = st.integers(1, 150)
READ_BY = (
    ("m64n64k16.f32.f16.f16", 16),
    ("m64n256k16.f32.bf16.bf16", 16),
    ("m64n8k16.f32.f16.f16", 16),
    ("m64n128k32.f32.e4m3.e4m3", 8),
    ("m64n64k8.f32.tf32.tf32", 32),
)


@settings(max_examples=choose_count(150, 40), deadline=None)
@given(POINTERS, st.sampled_from(READ_BY), st.sampled_from("ab"), st.booleans(), st.sampled_from(MODES), st.data())
def test_a_pointer_that_reaches_into_the_strides_is_called_one(
    pointer: tuple[str, int, int], reader: tuple[str, int], operand: str, turned: bool, mode: Mode, data: st.DataObject
) -> None:
    """A generic address of Linux has 47 bits, the shared window begins at a multiple of 16 MiB: whatever the strides
    were, and whichever of them is read, the rest of the address is the cause.
    """
    (how, top, middle), (shape, bits) = pointer, reader
    major = "MN" if turned and bits == 16 else "K"
    seen = view(catalog.find(f"wgmma.mma_async.sync.aligned.{shape}"), operand, major)
    assume(how == "or" or seen.rows > 8)  # SBO of 8 rows is not read: a sum of it and an address tells nothing
    mn, k = mode.get_atom_size(bits, major)
    order = data.draw(st.sampled_from(("mn", "k")))
    tile = Tile(
        bits, major, mode, -(-seen.rows // mn) * mn, 4 * max(k, seen.k), order=order, base=1024 * data.draw(BASES)
    )
    at = seen.k * data.draw(st.integers(0, 3))
    right = tile.descriptor(0, at, seen.k)
    rest = (top << 40 | middle << 24) >> 4  # of the address, above what the field of the start has
    word = right.word | rest if how == "or" else right.word + rest & (1 << 64) - 1
    spec = {
        "kind": "canonical",
        "element_bits": bits,
        "major": major,
        "swizzle": mode.name,
        "mn": tile.mn,
        "k": tile.k,
        "order": order,
        "base": tile.base,
    }
    verdict = verify(Descriptor(word), seen, storage(spec, bits, major), mn=0, k=at)
    assert verdict.match or verdict.diagnoses[0].code == "generic_pointer"


def test_a_wrong_panel_is_still_called_one() -> None:
    """LBO of a panel of 64 values of K, of a tile whose panels have 32: no address does that."""
    seen = view(catalog.find("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16"), "b", "MN")
    tile = Tile(16, "MN", next(mode for mode in MODES if mode.name == "128B"), 128, 32, order="k", base=0x2000)
    right = tile.descriptor()
    for factor in (2, 4):
        wrong = right.replace(lbo_encoded=factor * right.lbo_bytes // 16)
        spec = {"kind": "canonical", "swizzle": "128B", "mn": 128, "k": 32, "order": "k", "base": 0x2000}
        verdict = verify(wrong, seen, storage(spec, 16, "MN"))
        assert verdict.diagnoses[0].code == "panel_stride_wrong"


@pytest.mark.thorough
def test_code_that_leaves_a_pointer_unmasked_reads_nothing_right() -> None:
    """The symbol of an address has no upper bits, the pointer has: a match of the fields is none."""
    old = "uint32_t addr = static_cast<uint32_t>(__cvta_generic_to_shared(p));"
    new = "uint64_t addr = reinterpret_cast<uint64_t>(p);"
    code = read_kernel("one_stage", (old, new), ("desc |= encode(addr);", "desc |= addr >> 4;"))
    made = build_workbench(code)
    assert made.verdict == "mismatch" and "generic pointer is used as a shared-memory address" in made.headline
    assert list_codes(code) == ["generic_pointer"]
    assert (
        build_workbench(read_kernel("one_stage", (old, new))).verdict == "match"
    )  # masked to 18 bits it is the shared address
    assert build_workbench(read_kernel("one_stage", ("desc |= encode(addr);", "desc |= addr >> 4;"))).verdict == "match"
