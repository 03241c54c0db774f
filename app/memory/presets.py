"""Common storages of tiles, a row per preset; the page, its thumbnails and its tests derive from the rows.

Sizes and order are those of CUTLASS's sm90 collectives (lanescope.shared.tiling.DEFAULT_ORDER). The swizzle and
the first byte are taken from the word, and the page mentions that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import lcm
from typing import Any

import numpy as np

from lanescope.descriptor.matrix import Descriptor, View
from lanescope.shared.storage import storage
from lanescope.shared.swizzle import Mode, get_mode
from lanescope.shared.tiling import Tile

Spec = dict[str, str]
DEPTH = 128  # bytes of K in one stage of the collectives: a row of the widest swizzle


@dataclass(frozen=True, slots=True)
class PresetRequest:
    """The input of a preset: the operand as the instruction reads it, and the word."""

    seen: View
    word: Descriptor

    @property
    def mode(self) -> Mode:
        """Return the swizzle of the word; if its code is reserved, 128B, or the only one that this operand can have."""
        return self.seen.choose_mode(self.word.mode_code)

    def compute_base(self, stored: Mode) -> int:
        """Return the tile's first byte: the word's start, rounded down to its swizzle pattern."""
        start = self.word.start_address
        return start // stored.pattern_bytes * stored.pattern_bytes if stored.chunks > 1 else start

    def build_tile(self, stored: Mode, depth: int = 0) -> Tile:
        """Return a canonical tile of whole atoms that holds the operand. depth: bytes of K; 0: those of one stage."""
        seen = self.seen
        atom_mn, atom_k = stored.get_atom_size(seen.bits, seen.major)
        k = lcm(atom_k, seen.k, (depth or DEPTH) * 8 // seen.bits)
        mn = -(-seen.rows // atom_mn) * atom_mn
        return Tile(seen.bits, seen.major, stored, mn, k, form=seen.form)


def _make_box(request: PresetRequest) -> Spec:
    return {"kind": "rows", "inner": "K", "pitch_bytes": str(request.mode.width_bytes), **_make_swizzle_fields(request)}


def _make_panels(request: PresetRequest) -> Spec:
    width = request.mode.width_bytes
    return {
        "kind": "atoms",
        "inner": "MN",
        "width_bytes": str(width),
        "outer8_stride": str(8 * width),
        "inner_stride": str(request.build_tile(request.mode).k * width),
        "line_stride": str(width),
        **_make_swizzle_fields(request),
    }


def _make_swizzle_fields(request: PresetRequest) -> Spec:
    return {"swizzle": request.mode.name, "swizzle_by": "address", "base": hex(request.compute_base(request.mode))}


def _make_canonical(request: PresetRequest, stored: Mode, depth: int = 0) -> Spec:
    tile = request.build_tile(stored, depth)
    return {
        "kind": "canonical",
        "swizzle": stored.name,
        "swizzle_by": "address",
        "mn": str(tile.mn),
        "k": str(tile.k),
        "order": "",
        "base": hex(request.compute_base(stored)),
    }


def _make_atoms(request: PresetRequest) -> Spec:
    return _make_canonical(request, request.mode)


def _make_core_matrices(request: PresetRequest) -> Spec:
    return _make_canonical(request, get_mode("none"), 32)


def _make_rows(request: PresetRequest) -> Spec:
    seen = request.seen
    pitch = DEPTH if seen.major == "K" else seen.rows * seen.bits // 8
    return {
        "kind": "rows",
        "inner": seen.major,
        "pitch_bytes": str(pitch),
        "swizzle": "none",
        "swizzle_by": "address",
        "base": hex(request.word.start_address),
    }


def _make_cute(request: PresetRequest) -> Spec:
    tile = request.build_tile(request.mode)
    return {
        "kind": "cute",
        "layout": tile.cute()["elements"],
        "unit": "elements",
        "base": hex(request.compute_base(request.mode)),
    }


def _make_custom(request: PresetRequest) -> Spec:
    seen = request.seen
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
        "base": hex(request.word.start_address),
    }


@dataclass(frozen=True, slots=True)
class StoragePreset:
    """A common way to store a tile. major: the one it requires, "" for either; is_of: whether a storage has this
    form.
    """

    name: str
    title: str
    about: str
    major: str
    make: Callable[[PresetRequest], Spec]
    is_of: Callable[[Mapping[str, str]], bool]


def _is_swizzled(spec: Mapping[str, str]) -> bool:
    return spec.get("swizzle", "none") != "none"


PRESETS = (
    StoragePreset(
        "box",
        "TMA box with swizzle",
        "K-major, one box",
        "K",
        _make_box,
        lambda s: s["kind"] == "rows" and _is_swizzled(s) and s["inner"] == "K",
    ),
    StoragePreset(
        "panels",
        "TMA panels, MN-major",
        "one box per panel of M or N",
        "MN",
        _make_panels,
        lambda s: s["kind"] == "atoms" and _is_swizzled(s) and s["inner"] == "MN",
    ),
    StoragePreset(
        "atoms",
        "CuTe atom layout",
        "tile_to_shape",
        "",
        _make_atoms,
        lambda s: s["kind"] == "canonical" and _is_swizzled(s),
    ),
    StoragePreset(
        "cores",
        "8×8 core matrices",
        "no swizzle, stored by hand",
        "",
        _make_core_matrices,
        lambda s: s["kind"] == "canonical" and not _is_swizzled(s),
    ),
    StoragePreset(
        "plain",
        "Plain row-major",
        "rows with a pitch",
        "",
        _make_rows,
        lambda s: s["kind"] == "rows" and not (_is_swizzled(s) and s["inner"] == "K"),
    ),
    StoragePreset("cute", "A CuTe layout", "paste its text", "", _make_cute, lambda s: s["kind"] == "cute"),
    StoragePreset(
        "own",
        "My own strides",
        "panels of rows",
        "",
        _make_custom,
        lambda s: s["kind"] == "atoms" and not (_is_swizzled(s) and s["inner"] == "MN"),
    ),
)


def find_preset(spec: Mapping[str, str]) -> StoragePreset | None:
    """Return the preset of a storage's kind, None if there is none."""
    return next((preset for preset in PRESETS if preset.is_of(spec)), None)


def adapt_request(preset: StoragePreset, request: PresetRequest) -> PresetRequest | None:
    """Return the request with the major that a preset requires; None if the element type cannot be read so."""
    seen = request.seen
    major = preset.major or seen.major
    if not seen.form.allows_elements(seen.bits, major) or (seen.form.by_idesc and major != seen.major):
        return None  # for tcgen05 the instruction descriptor gives the major
    return PresetRequest(replace(seen, major=major), request.word)


def find_first_k_step(spec: Mapping[str, str], request: PresetRequest) -> int:
    """Return the K step at which the word starts: 0 unless the start is whole steps of 32 bytes inside an atom's
    row.
    """
    past = request.word.start_address - int(spec["base"], 0)
    if request.seen.major != "K" or not 0 < past < request.mode.width_bytes or past % 32:
        return 0
    return past * 8 // request.seen.bits


THUMB = 8  # cells in each dimension


def compute_thumbnail(spec: Mapping[str, Any], seen: View) -> list[int]:
    """Return the first KiB of a tile stored so, 8 chunks of 16 bytes per row.

    Each number combines the chunk along the contiguous dimension and the group of 8 rows; -1 where nothing is stored.
    """
    at_zero = {**spec, "base": "0"}
    stored = storage(at_zero, seen.bits, seen.major, seen.form)
    inner = stored.get_major(seen.major)
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
