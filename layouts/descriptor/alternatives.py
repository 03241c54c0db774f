"""Other ways the same tile could have been stored: what a program may have meant, or what the word was built for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lanescope.descriptor.matrix import Descriptor, View, reads
from lanescope.descriptor.repair import compute_expected_reads
from lanescope.errors import LayoutError
from lanescope.shared.storage import Storage, storage
from lanescope.shared.swizzle import Mode
from lanescope.shared.tiling import DEFAULT_ORDER

Spec = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AlternativeStorage:
    """A storage that differs from the real one in one respect; `code` is the mistake of a program that assumes it."""

    code: str
    spec: Spec
    stored: Storage
    said: str

    def get_start(self, mn: int, k: int) -> int:
        """Return the byte address of element (mn, k) before any XOR by address; only for storages whose XOR is on
        address bits.
        """
        return int(np.asarray(self.stored.address(np.array(mn), np.array(k))))


def _try_storage(code: str, spec: Spec, seen: View, said: str) -> Iterator[AlternativeStorage]:
    try:
        yield AlternativeStorage(code, spec, storage(spec, seen.bits, seen.major, seen.form), said)
    except LayoutError:
        return


def get_tile_bits(seen: View) -> int:
    """Return the element bits of a tile for an operand: single bits are stored in bytes."""
    return max(seen.bits, min(bits for bits in seen.form.element_bits if bits > 1))


def _round_up(size: int, unit: int) -> int:
    return -(-size // unit) * unit


def list_misread_storages(stored: Storage, seen: View) -> Iterator[AlternativeStorage]:
    """Yield the tile as a program may misread it: in its order, its size or its elements."""
    spec = stored.spec
    tile = stored.tile
    if tile:
        full_spec = {**spec, "order": tile.order}
        other = "k" if tile.order == "mn" else "mn"
        words = {"mn": "M/N first", "k": "K first"}
        yield from _try_storage(
            "atom_order",
            {**full_spec, "order": other},
            seen,
            f"atoms laid {words[other]}; this tile lays them {words[tile.order]}",
        )
        sizes_read = (("mn", seen.rows, tile.mn, "rows"), ("k", seen.k, tile.k, "of K"))
        for (name, reads_, has, unit), atom in zip(sizes_read, tile.atom, strict=True):
            if _round_up(reads_, atom) < has and tile.order == name:
                said = f"{reads_} {unit}, which is what one instruction reads; the tile has {has}"
                yield from _try_storage(
                    "panel_stride_from_instruction", {**full_spec, name: _round_up(reads_, atom)}, seen, said
                )
    elif spec.get("kind") == "atoms" and spec.get("inner_stride"):
        lines = seen.rows if spec.get("inner", seen.major) == "K" else seen.k
        panel = _round_up(lines, 8) // 8 * stored.get_number("outer8_stride")
        if panel < stored.get_number("inner_stride"):
            said = (
                f"panels of {lines} lines, which is what one instruction reads; the tile's panels are"
                f" {stored.get_number('inner_stride')} bytes apart"
            )
            yield from _try_storage("panel_stride_from_instruction", {**spec, "inner_stride": panel}, seen, said)


def list_restored_storages(stored: Storage, seen: View, mode: Mode) -> Iterator[AlternativeStorage]:
    """Yield the same tile stored otherwise, those of `mode` first.

    With another mode, without padding, with the contiguous dimension exchanged.
    """
    spec = stored.spec
    kind = spec.get("kind")
    had = stored.mode.name
    ranked = sorted(seen.form.codes, key=lambda m: (m is not mode, m.chunks))
    if kind != "cute":
        for other in ranked:
            for by in ("address", "tile"):
                if (other.name, by) != (had, stored.swizzle_by) and (other.name != had or other.chunks > 1):
                    code = "stored_unswizzled" if had == "none" and kind != "canonical" else "stored_swizzle"
                    yield from _try_storage(
                        code, {**spec, "swizzle": other.name, "swizzle_by": by}, seen, f"swizzle {other.name} by {by}"
                    )
    else:
        yield from _swap_cute_swizzles(stored, seen, ranked)
    if kind in ("rows", "atoms"):
        yield from _rewiden_storage(stored, seen, ranked)


def _rewiden_storage(stored: Storage, seen: View, ranked: list[Mode]) -> Iterator[AlternativeStorage]:
    """Yield the same rows or panels with the width of another mode.

    Where they are as wide as their own mode has them, that is the mistake.
    """
    spec = stored.spec
    rows = spec["kind"] == "rows"
    had = stored.get_number("pitch_bytes" if rows else "width_bytes")
    is_packed = had == stored.mode.width_bytes and (rows or spec.get("line_stride", had) in (had, str(had)))
    for other in ranked:
        width, name = other.width_bytes, other.name
        if rows:
            said = f"rows of {width} bytes without padding, swizzle {name}"
            code = "stored_swizzle" if is_packed and other is not stored.mode else "not_canonical"
            yield from _try_storage(code, {**spec, "pitch_bytes": width, "swizzle": name}, seen, said)
            continue
        new = {n: v for n, v in {**spec, "width_bytes": width, "swizzle": name}.items() if n != "line_stride"}
        if is_packed and other is not stored.mode:
            for scaled in (
                ("outer8_stride", "inner_stride"),
                ("inner_stride",),
            ):  # panels one after the other, and side by side
                strides = {n: stored.get_number(n) * width // had for n in scaled}
                yield from _try_storage(
                    "stored_swizzle", {**new, **strides}, seen, f"panels {width} bytes wide, swizzle {name}"
                )
        yield from _try_storage("not_canonical", new, seen, f"panels {width} bytes wide, swizzle {name}")


def _swap_cute_swizzles(stored: Storage, seen: View, ranked: list[Mode]) -> Iterator[AlternativeStorage]:
    """Yield a CuTe layout with the XOR of each mode instead of its own."""
    spec = stored.spec
    body = str(spec["layout"])
    plain = (
        body.split("o", 1)[1].strip() if body.lstrip().startswith(("Sw<", "Swizzle<", "S<")) and "o" in body else body
    )
    bits = {"bytes": 8, "elements": seen.bits, "chunks": 128}[str(spec.get("unit", "elements"))]
    for other in ranked:
        text = plain if other.chunks == 1 else f"{other.swizzle(8 if 'smem_ptr' in plain else bits)} o {plain}"
        if text != body:
            code = "stored_unswizzled" if plain == body else "stored_swizzle"
            yield from _try_storage(code, {**spec, "layout": text}, seen, text)


def list_canonical_tiles(
    stored: Storage, seen: View, mode: Mode, descriptor: Descriptor | None = None
) -> Iterator[AlternativeStorage]:
    """Yield canonical tiles of a mode that hold as many elements; with `descriptor`, also those with sizes from its
    strides.
    """
    atom = mode.get_atom_size(seen.bits, seen.major)
    mn, k = stored.mn or seen.rows, stored.k or (stored.pitch_bytes or 0) * 8 // seen.bits or seen.k
    extents = [(order, mn, k) for order in (DEFAULT_ORDER[seen.major], *DEFAULT_ORDER.values())]
    if descriptor:
        extents += [
            (order, max(m, mn), max(n, k))
            for order in ("mn", "k")
            for m, n in list_tile_sizes(descriptor, seen, atom, order)
        ]
    for order, m, n in dict.fromkeys(extents):
        spec = {
            "kind": "canonical",
            "element_bits": get_tile_bits(seen),
            "major": seen.major,
            "swizzle": mode.name,
            "mn": _round_up(m, atom[0]),
            "k": _round_up(n, atom[1]),
            "order": order,
            "base": stored.base,
        }
        name = "8×8 core matrices" if mode.chunks == 1 else f"{mode.name} atoms"
        yield from _try_storage(
            "row_major_not_core_matrix",
            spec,
            seen,
            f"a canonical tile of {name}, {'M/N' if order == 'mn' else 'K'} first",
        )


def list_tile_sizes(descriptor: Descriptor, seen: View, atom: tuple[int, int], order: str) -> Iterator[tuple[int, int]]:
    """Yield extents (mn, k) that a tile of this order may have, from the stride that steps over its first dimension."""
    pattern = descriptor.mode.count_atom_bytes(seen.major)
    rows, deep = _round_up(seen.rows, atom[0]), _round_up(seen.k, atom[1])
    plain = seen.major == "K" or descriptor.mode.chunks == 1
    along_k, along_mn = (
        (descriptor.lbo_bytes, descriptor.sbo_bytes) if plain else (descriptor.sbo_bytes, descriptor.lbo_bytes)
    )
    if order == "mn":
        yield rows, deep
        if along_k and along_k % pattern == 0:
            yield along_k // pattern * atom[0], deep
    elif along_mn and along_mn % pattern == 0:
        yield rows, along_mn // pattern * atom[1]


def is_read_exactly(descriptor: Descriptor, seen: View, world: AlternativeStorage, mn: int, k: int) -> bool:
    """Return whether the word reads exactly the slice of that storage."""
    stored = world.stored
    if (stored.mn is not None and mn + seen.rows > stored.mn) or (stored.k is not None and k + seen.k > stored.k):
        return False
    return bool(np.array_equal(reads(descriptor, seen), compute_expected_reads(stored, seen, mn, k)))
