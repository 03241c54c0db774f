"""Find a tile in a dump of memory, and its layout.

Every layout keeps 16 bytes of the contiguous dimension together, so the search is for chunks of the tile, not for
elements. Chunks that occur once are anchors, first at 16-byte boundaries, then anywhere. For each swizzle mode the XOR
is removed from their addresses. If the result is a walk of rows or panels, it gives the strides; otherwise the layout
does not have that mode. A layout must give every anchor its address; it is rated by the number of elements that it
explains.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.deadline import check_deadline
from lanescope.descriptor.matrix import Addresses, Descriptor, View
from lanescope.errors import LayoutError
from lanescope.ptx.codec import Bits
from lanescope.ptx.element_bytes import read_known_codes
from lanescope.shared.storage import Storage, storage
from lanescope.shared.swizzle import MODES, Mode

ABSENT, SEVERAL = -1, -2  # instead of an address
MOST_COPIES = 4  # copies of a tile that are distinguished
MOST_ANCHORS = 1024  # anchors from which strides are derived; all are checked
MOST_TRIED = 64  # different storages compared with the complete tile
LEAST_SHARE = 0.5  # minimum share of elements that a layout must explain
Chunks = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class MemoryImage:
    """Bytes of memory; base: the address of the first byte."""

    data: NDArray[np.uint8]
    base: int


@dataclass(frozen=True, slots=True)
class TileFit:
    """A layout of the tile; matched: number of elements with their values at the layout's addresses.

    determined: whether the strides follow from values that occur once; else it is a standard layout that fits.
    """

    stored: Storage
    matched: int
    total: int
    determined: bool = True

    @property
    def is_complete(self) -> bool:
        return self.matched == self.total


@dataclass(frozen=True, slots=True)
class ElementPlaces:
    """The address of each element of the operand, [row][k].

    ABSENT: its value is not in the dump. SEVERAL: it occurs more than once, and no layout decides. instead: the element
    of the tile with the value, [row][k] of (mn, k). by: "layout" or "value".
    """

    address: Addresses
    by: str


def find_layouts(image: MemoryImage, tile: Bits, bits: int, word: Descriptor) -> list[TileFit]:
    """Return the layouts of the tile in the image that explain the most elements; [] if none explains half.

    Layouts with the same address for every element count once. tile: codes [mn][k]. If no chunk occurs only once, the
    standard layouts at the first byte of the dump and of the word are tried, and all that fit are returned.
    """
    if not image.data.size:
        raise LayoutError("bad_dump", "The image of memory has 0 bytes.", "At least 1.", "image")
    for candidates, determined in (
        (_list_walked_storages(image, tile, bits, 16), True),
        (_list_walked_storages(image, tile, bits, max(bits // 8, 1)), True),
        (_list_standard_storages(image, tile.shape, bits, word), False),
    ):
        fits: dict[bytes, TileFit] = {}
        for spec, major in islice(_drop_repeats(candidates), MOST_TRIED):
            check_deadline()
            fit = _fit_storage(image, tile, bits, spec, major)
            if fit is not None:
                fits.setdefault(
                    fit.stored.compute_addresses(*tile.shape).tobytes(), replace(fit, determined=determined)
                )
        if fits:
            most = max(fit.matched for fit in fits.values())
            return [fit for fit in fits.values() if fit.matched == most]
    return []


def _drop_repeats(candidates: Iterator[tuple[dict[str, Any], str]]) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield candidates without repeats; walks of several widths and copies often describe the same storage."""
    yielded = set()
    for spec, major in candidates:
        key = (major, *sorted(spec.items(), key=lambda item: item[0]))
        if key not in yielded:
            yielded.add(key)
            yield spec, major


def _list_walked_storages(image: MemoryImage, tile: Bits, bits: int, step: int) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the storages that fit the anchors; step: alignment of chunks in bytes."""
    for major in ("K", "MN") if bits >= 8 else ("K",):
        lines = _encode_lines(tile if major == "K" else tile.T, bits)
        for line, at, address in _find_anchors(image, lines, step):
            for mode in MODES:
                for spec in _fit_walks(mode, lines.shape, line, at, address, major):
                    yield from ((named, major) for named in _name_storage(spec, tile.shape, bits))


def _encode_lines(codes: Bits, bits: int) -> NDArray[np.uint8]:
    """Return lines of elements as their bytes in memory: [line][byte]."""
    if bits < 8:
        return np.packbits(codes.astype(np.uint8), axis=1, bitorder="little")
    contiguous = np.ascontiguousarray(codes.astype(f"<u{bits // 8}"))
    return contiguous.view(np.uint8).reshape(codes.shape[0], -1)


def _find_anchors(image: MemoryImage, lines: NDArray[np.uint8], step: int) -> Iterator[tuple[Chunks, Chunks, Chunks]]:
    """Yield (line, byte along it, address) of chunks that are unique in the tile and in memory.

    If memory has several copies of the tile, a chunk has an item for each copy.
    """
    size = gcd(16, lines.shape[1])
    first = -image.base % step
    if size < 8 or len(image.data) < first + size:
        return
    windows = np.lib.stride_tricks.sliding_window_view(image.data, size)[first::step]
    in_memory = hash_chunks(windows)
    chunks = hash_chunks(lines.reshape(-1, size))
    order = np.argsort(in_memory, kind="stable")
    ranked = in_memory[order]
    low = np.searchsorted(ranked, chunks, "left")
    counts = np.searchsorted(ranked, chunks, "right") - low
    _, inverse, times = np.unique(chunks, return_inverse=True, return_counts=True)
    single = times[inverse] == 1
    per = lines.shape[1] // size
    for copies in range(1, MOST_COPIES + 1):
        usable = np.flatnonzero(single & (counts == copies))
        if len(usable) < 4:
            continue
        for copy in range(copies):
            yield usable // per, usable % per * size, order[low[usable] + copy] * step + first + image.base
        return


def hash_chunks(chunks: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each chunk of 8 or 16 bytes; matches are compared byte by byte later."""
    words = np.ascontiguousarray(chunks).view("<u8")
    hashes = words[:, 0] * np.uint64(0x9E3779B97F4A7C15)
    if words.shape[1] > 1:
        hashes ^= (words[:, 1] + np.uint64(0x632BE59BD9B4E019)) * np.uint64(0xC2B2AE3D27D4EB4F)
    return np.asarray(hashes ^ hashes >> np.uint64(29))


def _fit_walks(
    mode: Mode, shape: tuple[int, ...], line: Chunks, at: Chunks, address: Chunks, major: str
) -> Iterator[dict[str, Any]]:
    """Yield the storages of one swizzle mode, as `atoms` of the contract, that give every anchor its address."""
    past = shape[1]
    widths = dict.fromkeys([*(w for w in (mode.width_bytes, 16, 32, 64, 128) if w < past), past])
    begin = address[(line == 0) & (at == 0)]
    bases = [None] if mode.chunks == 1 else [None, *(int(b) for b in begin)]
    for base in bases:  # swizzled by address, or relative to the tile's start, which is then the first element
        plain = address if base is None else address - base
        plain = mode.unswizzle(plain)
        for width in widths:
            solved = _fit_strides(line, at, plain, width)
            if solved is None:
                continue
            start, outer, inner, across = solved
            if base is not None:
                start += base
            if min(start, outer, inner, across) < 0 or (base is not None and base % mode.pattern_bytes == 0):
                continue
            yield {
                "kind": "atoms",
                "inner": major,
                "width_bytes": width,
                "outer8_stride": outer,
                "inner_stride": across,
                "line_stride": inner,
                "swizzle": mode.name,
                "swizzle_by": "address" if base is None else "tile",
                "base": start,
            }


def _fit_strides(line: Chunks, at: Chunks, plain: Chunks, width: int) -> tuple[int, int, int, int] | None:
    """Return (start, stride of 8 lines, of a line, of a panel) in bytes; None unless exactly one walk fits."""
    terms = np.stack([np.ones_like(line), line // 8, line % 8, at // width], axis=1).astype(np.float64)
    places = (plain - at % width).astype(np.float64)
    open_ = terms.any(axis=0)
    some = np.linspace(0, len(line) - 1, min(len(line), MOST_ANCHORS)).astype(np.int64)
    used = terms[:, open_]
    solved, _, rank, _ = np.linalg.lstsq(used[some], places[some], rcond=None)
    if rank < used.shape[1]:
        return None
    weights = np.zeros(4)
    weights[open_] = np.rint(solved)
    if not np.array_equal(terms @ weights, places):
        return None
    start, outer, inner, across = (int(n) for n in weights)
    return start, outer or 8 * inner, inner, across


def _name_storage(spec: Mapping[str, Any], shape: tuple[int, ...], bits: int) -> Iterator[dict[str, Any]]:
    """Yield descriptions of a storage, the simplest first: a canonical tile, rows with a pitch, the storage itself.

    The first one that gives every element the same address is used.
    """
    major, base, swizzle, by = spec["inner"], spec["base"], spec["swizzle"], spec["swizzle_by"]
    for order in ("mn", "k"):
        yield {
            "kind": "canonical",
            "element_bits": bits,
            "major": major,
            "swizzle": swizzle,
            "swizzle_by": by,
            "mn": shape[0],
            "k": shape[1],
            "order": order,
            "base": base,
        }
    if spec["outer8_stride"] == 8 * spec["line_stride"] and spec["inner_stride"] in (0, spec["width_bytes"]):
        yield {
            "kind": "rows",
            "inner": major,
            "pitch_bytes": spec["line_stride"],
            "swizzle": swizzle,
            "swizzle_by": by,
            "base": base,
        }
    yield dict(spec)


def _list_standard_storages(
    image: MemoryImage, shape: tuple[int, ...], bits: int, word: Descriptor
) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the canonical tiles and plain rows that begin at the dump's first byte, or at the word's pattern."""
    start = word.start_address
    bases = dict.fromkeys((start // word.mode.pattern_bytes * word.mode.pattern_bytes, start, image.base))
    for base in bases:
        for mode in MODES:
            for major in ("K", "MN") if bits >= 8 else ("K",):
                pitch = shape[major == "K"] * bits // 8
                spec = {
                    "kind": "atoms",
                    "inner": major,
                    "width_bytes": pitch,
                    "outer8_stride": 8 * pitch,
                    "inner_stride": 0,
                    "line_stride": pitch,
                    "swizzle": mode.name,
                    "swizzle_by": "address",
                    "base": base,
                }
                yield from ((named, major) for named in _name_storage(spec, shape, bits) if named["kind"] != "atoms")


def _fit_storage(image: MemoryImage, tile: Bits, bits: int, spec: Mapping[str, Any], major: str) -> TileFit | None:
    """Return a storage with the number of elements at its addresses.

    Returns None if it is invalid, explains too few elements, or gives two elements the same address, as a walk does if
    the dump does not contain its panels.
    """
    try:
        stored = storage(spec, bits, major)
    except LayoutError:
        return None
    address = stored.compute_addresses(*tile.shape)
    codes, inside = read_known_codes(image.data, address - image.base, bits)
    matched = int((inside & (codes == tile)).sum())
    if matched <= LEAST_SHARE * tile.size or (bits >= 8 and len(np.unique(address)) < tile.size):
        return None
    return TileFit(stored, matched, tile.size)


def locate_elements(
    image: MemoryImage, tile: Bits, bits: int, fits: list[TileFit], origin: tuple[int, int], view: View
) -> ElementPlaces:
    """Locate the elements of the operand.

    The layout gives the places if exactly one was found and it explains the complete tile. Otherwise each element is
    located by its value, if that occurs once in memory.
    """
    mn, k = origin
    part = np.s_[mn : mn + view.rows, k : k + view.k]
    if len(fits) == 1 and fits[0].is_complete and fits[0].determined:
        return ElementPlaces(fits[0].stored.compute_addresses(*tile.shape)[part], "layout")
    expected = tile[part]
    if bits < 8:
        return ElementPlaces(np.full(expected.shape, SEVERAL, np.int64), "value")
    size = bits // 8
    aligned = len(image.data) // size * size
    codes = image.data[:aligned].copy().view(f"<u{size}").astype(np.uint64)
    order = np.argsort(codes, kind="stable")
    first = np.searchsorted(codes[order], expected, "left")
    count = np.searchsorted(codes[order], expected, "right") - first
    if not len(order):
        return ElementPlaces(np.full(expected.shape, ABSENT, np.int64), "value")
    near = order[np.minimum(first, len(order) - 1)] * size + image.base
    return ElementPlaces(np.where(count == 1, near, np.where(count == 0, ABSENT, SEVERAL)).astype(np.int64), "value")
