"""Presets of storages: what each row makes verifies with the word that CUTLASS would build for it."""

from __future__ import annotations

from lanescope.app.memory.presets import (
    PRESETS,
    PresetRequest,
    StoragePreset,
    adapt_request,
    find_preset,
)
from lanescope.app.memory.storage import STORAGE
from lanescope.descriptor.matrix import Descriptor, View
from lanescope.descriptor.repair import compute_expected_reads, find_repairs
from lanescope.descriptor.verify import verify
from lanescope.ptx.table.descriptors import WGMMA
from lanescope.shared.storage import storage
from lanescope.shared.swizzle import MODES
from tests.cases import for_each
from tests.client import share_client

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
