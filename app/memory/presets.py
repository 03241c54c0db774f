"""How tiles are commonly stored: one row a preset, from which the page, its thumbnails and its tests derive.

Sizes and order are those of CUTLASS's sm90 collectives (lanescope.shared.tiling.DEFAULT_ORDER); what a preset cannot
know, the swizzle and the first byte, is taken from the word, and the page says so. No framework.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import lcm
from typing import Any

import numpy as np

from lanescope.descriptor.matrix import Descriptor, View
from lanescope.shared.storage import storage
from lanescope.shared.swizzle import Mode, mode
from lanescope.shared.tiling import Tile

Spec = dict[str, str]
DEPTH = 128  # bytes of K that a stage of the collectives holds: one row of the widest swizzle


@dataclass(frozen=True, slots=True)
class Asked:
    """What a preset is made for: the operand as the instruction reads it, and the word."""

    seen: View
    word: Descriptor

    @property
    def mode(self) -> Mode:
        """The swizzle that the word names; 128B where it names none, or the one that this operand can have."""
        form, seen = self.seen.form, self.seen
        named = [m for m, code in form.codes.items() if code == self.word.mode_code]
        wide = [m for m in (*named, mode("128B"), *form.codes) if m.chunks > 1]
        legal = [m for m in wide if form.allows(seen.bits, seen.major, m)]
        return legal[0]

    def base(self, stored: Mode) -> int:
        """The tile's first byte: the word's start, taken back to its pattern's boundary."""
        start = self.word.start_address
        return start // stored.pattern_bytes * stored.pattern_bytes if stored.chunks > 1 else start

    def tile(self, stored: Mode, depth: int = 0) -> Tile:
        """A canonical tile of whole atoms that holds the operand; depth: bytes of K, one stage's where it is 0."""
        seen = self.seen
        atom_mn, atom_k = stored.atom(seen.bits, seen.major)
        k = lcm(atom_k, seen.k, (depth or DEPTH) * 8 // seen.bits)
        mn = -(-seen.rows // atom_mn) * atom_mn
        return Tile(seen.bits, seen.major, stored, mn, k, form=seen.form)


def _box(asked: Asked) -> Spec:
    return {"kind": "rows", "inner": "K", "pitch_bytes": str(asked.mode.width_bytes), **_swizzled(asked)}


def _panels(asked: Asked) -> Spec:
    width = asked.mode.width_bytes
    return {
        "kind": "atoms",
        "inner": "MN",
        "width_bytes": str(width),
        "outer8_stride": str(8 * width),
        "inner_stride": str(asked.tile(asked.mode).k * width),
        "line_stride": str(width),
        **_swizzled(asked),
    }


def _swizzled(asked: Asked) -> Spec:
    return {"swizzle": asked.mode.name, "swizzle_by": "address", "base": hex(asked.base(asked.mode))}


def _canonical(asked: Asked, stored: Mode, depth: int = 0) -> Spec:
    tile = asked.tile(stored, depth)
    return {
        "kind": "canonical",
        "swizzle": stored.name,
        "swizzle_by": "address",
        "mn": str(tile.mn),
        "k": str(tile.k),
        "order": "",
        "base": hex(asked.base(stored)),
    }


def _atoms(asked: Asked) -> Spec:
    return _canonical(asked, asked.mode)


def _cores(asked: Asked) -> Spec:
    return _canonical(asked, mode("none"), 32)


def _plain(asked: Asked) -> Spec:
    seen = asked.seen
    pitch = DEPTH if seen.major == "K" else seen.rows * seen.bits // 8
    return {
        "kind": "rows",
        "inner": seen.major,
        "pitch_bytes": str(pitch),
        "swizzle": "none",
        "swizzle_by": "address",
        "base": hex(asked.word.start_address),
    }


def _cute(asked: Asked) -> Spec:
    tile = asked.tile(asked.mode)
    return {"kind": "cute", "layout": tile.cute()["elements"], "unit": "elements", "base": hex(asked.base(asked.mode))}


def _own(asked: Asked) -> Spec:
    seen = asked.seen
    lines = seen.rows if seen.major == "K" else seen.k
    return {
        "kind": "atoms",
        "inner": seen.major,
        "width_bytes": "16",
        "outer8_stride": "128",
        "inner_stride": str(lines * 16),
        "line_stride": "16",
        "swizzle": "none",
        "swizzle_by": "address",
        "base": hex(asked.word.start_address),
    }


@dataclass(frozen=True, slots=True)
class Preset:
    """One common way to store a tile. major: what it fixes, "" where it takes either; is_of: whether a storage's form
    is of this kind.
    """

    name: str
    title: str
    about: str
    major: str
    make: Callable[[Asked], Spec]
    is_of: Callable[[Mapping[str, str]], bool]


def _is_swizzled(spec: Mapping[str, str]) -> bool:
    return spec.get("swizzle", "none") != "none"


PRESETS = (
    Preset(
        "box",
        "TMA box with swizzle",
        "K-major, one box",
        "K",
        _box,
        lambda s: s["kind"] == "rows" and _is_swizzled(s) and s["inner"] == "K",
    ),
    Preset(
        "panels",
        "TMA panels, MN-major",
        "one box per panel of M or N",
        "MN",
        _panels,
        lambda s: s["kind"] == "atoms" and _is_swizzled(s) and s["inner"] == "MN",
    ),
    Preset(
        "atoms",
        "CuTe atom layout",
        "tile_to_shape(atom, …)",
        "",
        _atoms,
        lambda s: s["kind"] == "canonical" and _is_swizzled(s),
    ),
    Preset(
        "cores",
        "8×8 core matrices",
        "no swizzle, stored by hand",
        "",
        _cores,
        lambda s: s["kind"] == "canonical" and not _is_swizzled(s),
    ),
    Preset(
        "plain",
        "Plain row-major",
        "rows with a pitch",
        "",
        _plain,
        lambda s: s["kind"] == "rows" and not (_is_swizzled(s) and s["inner"] == "K"),
    ),
    Preset("cute", "A CuTe layout", "paste its text", "", _cute, lambda s: s["kind"] == "cute"),
    Preset(
        "own",
        "My own strides",
        "panels of rows",
        "",
        _own,
        lambda s: s["kind"] == "atoms" and not (_is_swizzled(s) and s["inner"] == "MN"),
    ),
)


def preset_of(spec: Mapping[str, str]) -> Preset | None:
    """Return the preset of a storage's kind, None if there is none."""
    return next((preset for preset in PRESETS if preset.is_of(spec)), None)


def asked_of(preset: Preset, asked: Asked) -> Asked | None:
    """The same for a preset that fixes the major; None where the element type is not read so."""
    seen = asked.seen
    major = preset.major or seen.major
    if not seen.form.allows(seen.bits, major) or (seen.form.by_idesc and major != seen.major):
        return None  # of tcgen05 the instruction descriptor says the major
    return Asked(replace(seen, major=major), asked.word)


def first_k(spec: Mapping[str, str], asked: Asked) -> int:
    """The K step at which the word starts, as its start address says: 0 unless it lies whole steps of 32 bytes inside
    the swizzle atom's row.
    """
    past = asked.word.start_address - int(spec["base"], 0)
    if asked.seen.major != "K" or not 0 < past < asked.mode.width_bytes or past % 32:
        return 0
    return past * 8 // asked.seen.bits


THUMB = 8  # cells each way


def thumbnail(spec: Mapping[str, Any], seen: View) -> list[int]:
    """The first KiB of a tile stored so, 8 chunks of 16 bytes a row: a number for the chunk of the contiguous dimension
    and the group of 8 rows that lie there, -1 where none do.
    """
    whole = {**spec, "base": "0"}
    stored = storage(whole, seen.bits, seen.major, seen.form)
    inner = stored.major(seen.major)
    lines, chunks = np.arange(64)[:, None], np.arange(THUMB)[None, :]
    limits = (stored.mn, stored.k) if inner == "K" else (stored.k, stored.mn)
    lines = lines[: limits[0] or None]
    chunks = chunks[:, : (limits[1] or 1 << 20) // seen.per or 1]
    mn, k = (lines, chunks * seen.per) if inner == "K" else (chunks * seen.per, lines)
    at = np.asarray(stored.address(mn, k)) >> 4
    out = np.full(THUMB * THUMB, -1)
    inside = (at >= 0) & (at < THUMB * THUMB)
    out[at[inside]] = (chunks + lines // 8)[inside]
    return [int(n) for n in out]
