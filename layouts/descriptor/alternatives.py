"""List other storages of the same tile that the program may have intended, or for which the descriptor was built."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lanescope.bits import round_up
from lanescope.descriptor.matrix import Descriptor, View, reads
from lanescope.descriptor.repair import compute_expected_reads
from lanescope.errors import LayoutError
from lanescope.shared.storage import Storage, storage
from lanescope.shared.swizzle import Mode
from lanescope.shared.tiling import DEFAULT_ORDER

Spec = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AlternativeStorage:
    """A storage with one difference from the actual one; code: the mistake of a program that assumes it."""

    code: str
    spec: Spec
    stored: Storage
    description: str

    def get_start(self, mn: int, k: int) -> int:
        """Return the byte address of element (mn, k)."""
        return int(np.asarray(self.stored.address(np.array(mn), np.array(k))))


def _try_storage(code: str, spec: Spec, view: View, description: str) -> Iterator[AlternativeStorage]:
    """Yield the storage if its fields are legal."""
    try:
        yield AlternativeStorage(code, spec, storage(spec, view.bits, view.major, view.form), description)
    except LayoutError:
        return


def get_tile_bits(view: View) -> int:
    """Return the element bits of an operand's tile; single bits are packed into bytes."""
    return max(view.bits, min(bits for bits in view.form.element_bits if bits > 1))


def list_misread_storages(stored: Storage, view: View) -> Iterator[AlternativeStorage]:
    """Yield the tile with the other order of atoms, or with the size that one instruction reads."""
    spec = stored.spec
    tile = stored.tile
    if tile:
        full_spec = {**spec, "order": tile.order}
        other = "k" if tile.order == "mn" else "mn"
        words = {"mn": "M/N first", "k": "K first"}
        yield from _try_storage(
            "atom_order",
            {**full_spec, "order": other},
            view,
            f"atoms ordered {words[other]}; in this tile they are ordered {words[tile.order]}",
        )
        sizes_read = (("mn", view.rows, tile.mn, "rows"), ("k", view.k, tile.k, "of K"))
        for (name, reads_, has, unit), atom in zip(sizes_read, tile.atom, strict=True):
            if round_up(reads_, atom) < has and tile.order == name:
                description = f"{reads_} {unit}, as many as one instruction reads; the tile has {has}"
                yield from _try_storage(
                    "panel_stride_from_instruction", {**full_spec, name: round_up(reads_, atom)}, view, description
                )
    elif spec.get("kind") == "atoms" and spec.get("inner_stride"):
        lines = view.rows if spec.get("inner", view.major) == "K" else view.k
        panel = round_up(lines, 8) // 8 * stored.get_number("outer8_stride")
        if panel < stored.get_number("inner_stride"):
            description = (
                f"panels of {lines} lines, as many as one instruction reads; the tile's panels are"
                f" {stored.get_number('inner_stride')} bytes apart"
            )
            yield from _try_storage("panel_stride_from_instruction", {**spec, "inner_stride": panel}, view, description)


def list_restored_storages(stored: Storage, view: View, mode: Mode) -> Iterator[AlternativeStorage]:
    """Yield the tile with other swizzle modes and without padding, `mode` first."""
    spec = stored.spec
    kind = spec.get("kind")
    stored_mode = stored.mode.name
    ranked = sorted(view.form.codes, key=lambda m: (m is not mode, m.chunks))
    if kind != "cute":
        for other in ranked:
            for by in ("address", "tile"):
                if (other.name, by) != (stored_mode, stored.swizzle_by) and (
                    other.name != stored_mode or other.chunks > 1
                ):
                    code = "stored_unswizzled" if stored_mode == "none" and kind != "canonical" else "stored_swizzle"
                    yield from _try_storage(
                        code, {**spec, "swizzle": other.name, "swizzle_by": by}, view, f"swizzle {other.name} by {by}"
                    )
    else:
        yield from _swap_cute_swizzles(stored, view, ranked)
    if kind in ("rows", "atoms"):
        yield from _rewiden_storage(stored, view, ranked)


def _rewiden_storage(stored: Storage, view: View, ranked: list[Mode]) -> Iterator[AlternativeStorage]:
    """Yield the tile with rows or panels of another mode's width."""
    spec = stored.spec
    rows = spec["kind"] == "rows"
    stored_mode = stored.get_number("pitch_bytes" if rows else "width_bytes")
    is_packed = stored_mode == stored.mode.width_bytes and (
        rows or spec.get("line_stride", stored_mode) in (stored_mode, str(stored_mode))
    )
    for other in ranked:
        width, name = other.width_bytes, other.name
        if rows:
            description = f"rows of {width} bytes without padding, swizzle {name}"
            code = "stored_swizzle" if is_packed and other is not stored.mode else "not_canonical"
            yield from _try_storage(code, {**spec, "pitch_bytes": width, "swizzle": name}, view, description)
            continue
        new = {n: v for n, v in {**spec, "width_bytes": width, "swizzle": name}.items() if n != "line_stride"}
        if is_packed and other is not stored.mode:
            for scaled in (
                ("outer8_stride", "inner_stride"),
                ("inner_stride",),
            ):  # consecutive panels, and panels side by side
                strides = {n: stored.get_number(n) * width // stored_mode for n in scaled}
                yield from _try_storage(
                    "stored_swizzle", {**new, **strides}, view, f"panels {width} bytes wide, swizzle {name}"
                )
        yield from _try_storage("not_canonical", new, view, f"panels {width} bytes wide, swizzle {name}")


def _swap_cute_swizzles(stored: Storage, view: View, ranked: list[Mode]) -> Iterator[AlternativeStorage]:
    """Yield the CuTe layout with the XOR of each other mode."""
    spec = stored.spec
    body = str(spec["layout"])
    plain = (
        body.split("o", 1)[1].strip() if body.lstrip().startswith(("Sw<", "Swizzle<", "S<")) and "o" in body else body
    )
    bits = {"bytes": 8, "elements": view.bits, "chunks": 128}[str(spec.get("unit", "elements"))]
    for other in ranked:
        text = plain if other.chunks == 1 else f"{other.swizzle(8 if 'smem_ptr' in plain else bits)} o {plain}"
        if text != body:
            code = "stored_unswizzled" if plain == body else "stored_swizzle"
            yield from _try_storage(code, {**spec, "layout": text}, view, text)


def list_canonical_tiles(
    stored: Storage, view: View, mode: Mode, descriptor: Descriptor | None = None
) -> Iterator[AlternativeStorage]:
    """Yield canonical tiles of a mode with the same number of elements.

    With `descriptor`, also tiles with sizes derived from its strides.
    """
    atom = mode.get_atom_size(view.bits, view.major)
    mn, k = stored.mn or view.rows, stored.k or (stored.pitch_bytes or 0) * 8 // view.bits or view.k
    extents = [(order, mn, k) for order in (DEFAULT_ORDER[view.major], *DEFAULT_ORDER.values())]
    if descriptor:
        extents += [
            (order, max(m, mn), max(n, k))
            for order in ("mn", "k")
            for m, n in list_tile_sizes(descriptor, view, atom, order)
        ]
    for order, m, n in dict.fromkeys(extents):
        spec = {
            "kind": "canonical",
            "element_bits": get_tile_bits(view),
            "major": view.major,
            "swizzle": mode.name,
            "mn": round_up(m, atom[0]),
            "k": round_up(n, atom[1]),
            "order": order,
            "base": stored.base,
        }
        name = "8×8 core matrices" if mode.chunks == 1 else f"{mode.name} atoms"
        yield from _try_storage(
            "row_major_not_core_matrix",
            spec,
            view,
            f"a canonical tile of {name}, {'M/N' if order == 'mn' else 'K'} first",
        )


def list_tile_sizes(descriptor: Descriptor, view: View, atom: tuple[int, int], order: str) -> Iterator[tuple[int, int]]:
    """Yield possible extents (mn, k) of a tile of this order, from the stride that spans its first dimension."""
    pattern = descriptor.mode.count_atom_bytes(view.major)
    rows, deep = round_up(view.rows, atom[0]), round_up(view.k, atom[1])
    swapped = view.major == "K" or descriptor.mode.chunks == 1
    along_k, along_mn = (
        (descriptor.lbo_bytes, descriptor.sbo_bytes) if swapped else (descriptor.sbo_bytes, descriptor.lbo_bytes)
    )
    if order == "mn":
        yield rows, deep
        if along_k and along_k % pattern == 0:
            yield along_k // pattern * atom[0], deep
    elif along_mn and along_mn % pattern == 0:
        yield rows, along_mn // pattern * atom[1]


def is_read_exactly(descriptor: Descriptor, view: View, alternative: AlternativeStorage, mn: int, k: int) -> bool:
    """Return whether the descriptor reads exactly the slice at (mn, k) of an alternative storage."""
    stored = alternative.stored
    if (stored.mn is not None and mn + view.rows > stored.mn) or (stored.k is not None and k + view.k > stored.k):
        return False
    return bool(np.array_equal(reads(descriptor, view), compute_expected_reads(stored, view, mn, k)))
