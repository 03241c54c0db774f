"""Identify the elements of A and B (fills or real matrices) in recorded memory.

The search uses 16-byte chunks, which repeat far less often in real data than single elements. A single element is
identified by its value if no other element has that value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import lcm

import numpy as np
from numpy.typing import NDArray

from lanescope.capture import fills
from lanescope.descriptor.tile_search import hash_chunks
from lanescope.ptx import codec
from lanescope.ptx.codec import Bits
from lanescope.ptx.dtypes import DType, get_dtype
from lanescope.ptx.element_bytes import read_known_codes

Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]
NONE, SEVERAL = -1, -2  # instead of an index
CHUNK = 16  # bytes
MAJORS = ("K", "MN")


@dataclass(frozen=True, slots=True)
class ChunkTable:
    """The chunks of a matrix along one dimension: sorted hashes, and each chunk's first element."""

    ranked: NDArray[np.uint64]
    mn: Ints
    k: Ints

    def find_chunks(self, chunks: NDArray[np.uint64]) -> tuple[Ints, Ints]:
        """Return (mn, k) of each chunk's first element, or NONE or SEVERAL."""
        return _find_words(self.ranked, self.mn, self.k, chunks)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownOperand:
    """One operand.

    codes: [mn][k], one array per pass; periods: of 16-byte chunks along mn and k; code_periods: of codes; (0, 0) for a
    real matrix. chunks: major → table; blocks: number of K values, fills.K apart, that a code may mean, 1 if it
    determines the element.
    """

    operand: str
    element: DType
    codes: tuple[Bits, ...]
    periods: tuple[int, int]
    code_periods: tuple[int, int]
    chunks: dict[str, ChunkTable]
    singles: ChunkTable
    blocks: int = 1

    @property
    def real(self) -> bool:
        return self.periods == (0, 0)

    @property
    def extents(self) -> tuple[int, int]:
        """The extents (mn, k), or the periods of a fill."""
        return self.codes[0].shape[0], self.codes[0].shape[1]

    def get_codes(self, mn: Ints, k: Ints, part: int = 0) -> Ints:
        """Return the codes of elements (mn, k), which broadcast; -1 outside a real matrix."""
        rows, columns = self.extents
        if not self.real:
            return np.asarray(self.codes[part][mn % rows, k % columns]).astype(np.int64)
        inside = (mn >= 0) & (mn < rows) & (k >= 0) & (k < columns)
        codes = self.codes[part][np.clip(mn, 0, rows - 1), np.clip(k, 0, columns - 1)].astype(np.int64)
        return np.where(inside, codes, -1)

    def identify_elements(self, codes: Sequence[Bits]) -> tuple[Ints, Ints]:
        """Return (mn, k) of elements from their codes (one array per pass): NONE if unknown, SEVERAL if not unique."""
        combined = _join_passes(codes)
        mn, k = (part.reshape(combined.shape) for part in self.singles.find_chunks(combined.ravel()))
        return (mn, k) if self.blocks == 1 else self._identify_in_block(mn, k)

    def _identify_in_block(self, mn: Ints, k: Ints) -> tuple[Ints, Ints]:
        """Return elements in the block of K (not determined by codes) that makes the most rows consecutive."""
        present = mn >= 0
        if mn.ndim != 2 or not present.any():
            return np.where(present, SEVERAL, mn), np.where(present, SEVERAL, k)
        wraps = (k < fills.K // 4) & bool((k[present] > fills.K * 3 // 4).any())  # beyond the block's end

        def placed(block: int) -> tuple[Ints, Ints]:
            shifted = (block + wraps) % self.blocks
            return np.where(present, mn ^ shifted, mn), np.where(present, k + fills.K * shifted, k)

        def follow(block: int) -> int:
            rows, columns = placed(block)
            return int(((np.diff(rows, axis=0) == 1) & (np.diff(columns, axis=0) == 0)).sum())

        return placed(max(range(self.blocks), key=follow))

    def identify_lines(self, codes: Sequence[Bits]) -> tuple[Ints, Ints]:
        """Return the elements of a grid [row][k], identified by chunks along K, then by single codes."""
        mn, k = self.identify_elements(codes)
        per = CHUNK * 8 // self.element.bits
        rows, depth = mn.shape
        if depth % per:
            return mn, k
        lines = np.ascontiguousarray(codes[0].astype(f"<u{self.element.bits // 8}")).view(np.uint8)
        first_mn, first_k = self.chunks["K"].find_chunks(hash_chunks(lines.reshape(-1, CHUNK)))
        by_chunk = np.repeat((first_mn >= 0).reshape(rows, -1), per, axis=1)
        of_chunk = np.repeat(first_k.reshape(rows, -1), per, axis=1) + np.arange(depth) % per
        return (
            np.where(by_chunk, np.repeat(first_mn.reshape(rows, -1), per, axis=1), mn),
            np.where(by_chunk, of_chunk, k),
        )

    def get_first_k(self, k: int) -> int:
        """Return the smallest multiple of a chunk's elements whose codes begin like those of k."""
        if self.real or self.code_periods[1] == self.periods[1]:
            return k
        per, period = CHUNK * 8 // self.element.bits, self.code_periods[1]
        return per * (k * pow(per, -1, period) % period)


@lru_cache(maxsize=8)
def operand_from_fill(name: str, operand: str, parts: tuple[int, ...], earlier: bool = False) -> KnownOperand:
    """Return A or B as a fill.

    parts: the pass of each file; earlier: use the codes of earlier header versions.
    """
    fill_periods = fills.get_periods(name, earlier)
    per = CHUNK * 8 // get_dtype(name).bits
    periods = (fill_periods[0], lcm(fill_periods[1], per))  # chunks begin at multiples of `per`
    mn, k = np.arange(periods[0])[:, None], np.arange(periods[1])[None, :]
    codes = tuple(fills.compute_codes(mn, k, name, operand, part, earlier) for part in parts)
    blocks = 1 if earlier or fills.count_passes(name) == 2 else fills.count_blocks(name)
    return _make_operand(operand, get_dtype(name), codes, periods, fill_periods, blocks)


def operand_from_matrix(codes: Bits, name: str, operand: str, parts: int = 1) -> KnownOperand:
    """Return A or B from its codes [mn][k]."""
    row = get_dtype(name)
    return _make_operand(operand, row, (codec.mask_unread_bits(codes, row.name),) * parts, (0, 0))


def _make_operand(
    operand: str,
    row: DType,
    codes: tuple[Bits, ...],
    periods: tuple[int, int],
    fill_periods: tuple[int, int] = (0, 0),
    blocks: int = 1,
) -> KnownOperand:
    chunks = {major: _make_chunk_table(codes[0], row, major) for major in (MAJORS if row.bits == 16 else MAJORS[:1])}
    once = [part[:, : fill_periods[1] // blocks or part.shape[1]] for part in codes]
    mn, k = np.divmod(np.arange(once[0].size, dtype=np.int64), once[0].shape[1])
    return KnownOperand(
        operand=operand,
        element=row,
        codes=codes,
        periods=periods,
        code_periods=fill_periods,
        chunks=chunks,
        singles=_sort_chunks(_join_passes(once).ravel(), mn, k),
        blocks=blocks,
    )


def _make_chunk_table(codes: Bits, row: DType, major: str) -> ChunkTable:
    """Return the table of aligned chunks."""
    lines = codes if major == "K" else codes.T
    per = CHUNK * 8 // row.bits
    count = lines.shape[1] // per
    chunks = np.ascontiguousarray(lines[:, : count * per].astype(f"<u{row.bits // 8}"))
    line = np.repeat(np.arange(lines.shape[0], dtype=np.int64), count)
    along = np.tile(np.arange(count, dtype=np.int64) * per, lines.shape[0])
    mn, k = (line, along) if major == "K" else (along, line)
    return _sort_chunks(hash_chunks(chunks.view(np.uint8).reshape(-1, CHUNK)), mn, k)


def _sort_chunks(words: NDArray[np.uint64], mn: Ints, k: Ints) -> ChunkTable:
    order = np.argsort(words, kind="stable")  # independent of the processor's byte order
    return ChunkTable(words[order], mn[order], k[order])


def _find_words(ranked: NDArray[np.uint64], mn: Ints, k: Ints, words: NDArray[np.uint64]) -> tuple[Ints, Ints]:
    low = np.searchsorted(ranked, words, "left")
    count = np.searchsorted(ranked, words, "right") - low
    if not len(ranked):
        return np.full(words.shape, NONE, np.int64), np.full(words.shape, NONE, np.int64)
    at = np.minimum(low, len(ranked) - 1)
    axes = (np.where(count == 1, axis[at], np.where(count == 0, NONE, SEVERAL)) for axis in (mn, k))
    found_mn, found_k = (part.astype(np.int64) for part in axes)
    return found_mn, found_k


def _join_passes(codes: Sequence[Bits]) -> NDArray[np.uint64]:
    """Return the codes of both passes joined into one word."""
    combined = np.asarray(codes[0]).astype(np.uint64)
    for more in codes[1:]:
        combined = combined << np.uint64(32) | np.asarray(more).astype(np.uint64)
    return combined


# memory ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RecordedMemory:
    """Recorded shared memory, with the elements of one operand identified.

    windows: the bytes, one array per pass; base: address of the first byte; mn, k, major: for each 16-byte chunk from
    `base` on, its first element (or NONE, SEVERAL) and its dimension (0: K, 1: MN).
    """

    known: KnownOperand
    windows: tuple[Bytes, ...]
    base: int
    mn: Ints
    k: Ints
    major: Ints

    @property
    def end(self) -> int:
        return self.base + len(self.windows[0])

    def gather_codes(self, address: Ints) -> tuple[tuple[Bits, ...], NDArray[np.bool_]]:
        """Return (codes of each pass, whether they were recorded) at byte addresses."""
        at, bits = address - self.base, self.known.element.bits
        read = [read_known_codes(window, at, bits) for window in self.windows]
        return tuple(codes for codes, _ in read), read[0][1]

    def find_elements(self, address: Ints) -> tuple[Ints, Ints]:
        """Return the elements (mn, k) at byte addresses, or NONE or SEVERAL."""
        codes, inside = self.gather_codes(address)
        mn, k = self.known.identify_elements(codes)
        chunk = (address - self.base) // CHUNK
        safe = np.where((chunk >= 0) & (chunk < len(self.mn)), chunk, 0)
        if len(self.mn):
            along = (address - self.base) % CHUNK // (self.known.element.bits // 8)
            by_chunk = inside & (chunk < len(self.mn)) & (self.mn[safe] >= 0)
            along_k = self.major[safe] == 0
            mn = np.where(by_chunk, self.mn[safe] + np.where(along_k, 0, along), mn)
            k = np.where(by_chunk, self.k[safe] + np.where(along_k, along, 0), k)
            if not self.known.real:
                rows, columns = self.known.extents
                mn, k = np.where(mn >= 0, mn % rows, mn), np.where(k >= 0, k % columns, k)
        return np.where(inside, mn, NONE), np.where(inside, k, NONE)

    def find_address(self, mn: int, k: int) -> int:
        """Return the address of an element, or NONE or SEVERAL; by chunks, else by its value."""
        rows, columns = self.known.extents
        per = CHUNK * 8 // self.known.element.bits
        away_mn, away_k = mn - self.mn, k - self.k
        if not self.known.real:
            away_mn, away_k = away_mn % rows, away_k % columns
        across, along = np.where(self.major == 0, away_mn, away_k), np.where(self.major == 0, away_k, away_mn)
        hits = np.flatnonzero((self.mn >= 0) & (across == 0) & (along >= 0) & (along < per))
        size = self.known.element.bits // 8
        if len(hits) == 1:
            return int(self.base + CHUNK * hits[0] + along[hits[0]] * size)
        if len(hits) > 1:
            return SEVERAL
        aligned = len(self.windows[0]) // size * size
        values = [window[:aligned].copy().view(f"<u{size}").astype(np.uint64) for window in self.windows]
        expected = [self.known.get_codes(np.array(mn), np.array(k), part) for part in range(len(values))]
        same = np.logical_and.reduce([value == want for value, want in zip(values, expected, strict=True)])
        at = np.flatnonzero(same)
        return NONE if not len(at) else SEVERAL if len(at) > 1 else int(self.base + at[0] * size)

    def find_present_rectangle(self) -> tuple[tuple[int, int], tuple[int, int]] | None:
        """Return the bounding rectangle of the elements in memory: ((first mn, count), (first k, count)).

        For a fill, which is periodic, this is the smallest one. Returns None if no element is in memory.
        """
        present = self.mn >= 0
        if not present.any():
            return None
        per = CHUNK * 8 // self.known.element.bits
        sides = []
        for axis, first in enumerate((self.mn, self.k)):
            long = np.where(self.major[present] == 1 - axis, per, 1)
            sides.append(_find_shortest_arc(first[present], long, 0 if self.known.real else self.known.periods[axis]))
        return sides[0], sides[1]


def _find_shortest_arc(first: Ints, long: Ints, period: int) -> tuple[int, int]:
    """Return the shortest interval that contains every [first, first + long), cyclic if there is a period."""
    if not period:
        low = int(first.min())
        return low, int((first + long).max()) - low
    used = np.zeros(period, np.bool_)
    for step in range(int(long.max())):
        used[(first + np.minimum(step, long - 1)) % period] = True
    at = np.flatnonzero(used)
    gaps = np.diff(np.append(at, at[0] + period))
    widest = int(gaps.argmax())
    if gaps[widest] == 1:
        return 0, period
    begin = int(at[(widest + 1) % len(at)])
    return begin, int(period - gaps[widest] + 1)


def make_memory(known: KnownOperand, windows: Sequence[Bytes], base: int) -> RecordedMemory:
    """Return recorded memory with its elements identified; windows: one array of bytes per pass."""
    masked = [codec.mask_unread_memory(window, known.element.name) for window in windows]
    count = len(masked[0]) // CHUNK
    mn, k, major = (np.full(count, NONE, np.int64), np.full(count, NONE, np.int64), np.zeros(count, np.int64))
    if count:
        chunks = hash_chunks(masked[0][: count * CHUNK].reshape(-1, CHUNK))
        for number, table in enumerate(known.chunks.values()):
            found_mn, found_k = table.find_chunks(chunks)
            new = (found_mn >= 0) & (mn < 0)
            mn, k = np.where(new, found_mn, mn), np.where(new, found_k, k)
            major = np.where(new, number, major)
    return RecordedMemory(known, tuple(masked), base, mn, k, major)
