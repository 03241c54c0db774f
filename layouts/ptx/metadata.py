"""Sparsity metadata of a stored A, and block-scale factors: which lane supplies which bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lanescope.errors import LayoutError
from lanescope.ptx.dtypes import DType
from lanescope.ptx.pattern import IntArray, Pattern

if TYPE_CHECKING:
    from numpy.typing import NDArray

HALF_NIBBLES = (0x4, 0xE)  # nibbles that keep the first and the last half of a group of four positions
FIRST, LAST = (nibble * 0x11111111 for nibble in HALF_NIBBLES)  # words of eight such nibbles


@dataclass(frozen=True, slots=True)
class SparseRow:
    """The sparsity of a table row: `kept` of every `group` columns are stored; index: pattern text (S: selectors)."""

    kept: int
    group: int
    index: str
    selectors: int
    index_bits: int = 2

    def bind_sizes(self, sizes: dict[str, int]) -> Sparsity:
        index = Pattern.parse(self.index, S=self.selectors, **sizes)
        return Sparsity(self.kept, self.group, index, self.index_bits, self.selectors)


@dataclass(frozen=True, slots=True)
class Sparsity:
    """Structured sparsity of A: `kept` of every `group` columns are stored, and metadata says which.

    index: (thread, selector · value) → (thread that supplies the metadata, index number in its 32-bit e, low bits
    first). index_bits: 2, or 4 if one index takes a whole nibble (tf32: 0x4 keeps the first, 0xE the second).
    PTX ISA 9.1, 9.7.14.6.1; measured on an H100 by toggling every nibble of every lane.
    """

    kept: int
    group: int
    index: Pattern
    index_bits: int
    selectors: int

    @property
    def per_index(self) -> int:
        """The stored elements that one 2-bit index selects: two adjacent ones for 4-bit types, else one."""
        return self.kept // 2 or 1

    @property
    def nibbles(self) -> tuple[int, ...]:
        """The legal values of a metadata nibble: one index, or two ascending ones."""
        return self.half_nibbles or tuple(high << 2 | low for high in range(4) for low in range(high))

    @property
    def half_nibbles(self) -> tuple[int, int] | None:
        """The nibbles for the first and the last position if one index takes a whole nibble, else None."""
        return HALF_NIBBLES if self.index_bits == 4 else None

    def list_first_columns(self, stored: IntArray) -> IntArray:
        """Return each stored column's dense column if every index keeps the first positions (metadata 0x44444444)."""
        columns: IntArray = stored // self.kept * self.group + stored % self.kept
        return columns

    def list_group_columns(self, stored: IntArray) -> IntArray:
        """Return the first dense column of each stored column's group."""
        columns: IntArray = stored // self.kept * self.group
        return columns

    def find_suppliers(self, selector: int = 0) -> tuple[IntArray, IntArray]:
        """Return (thread, first bit of the index in its e), each [thread][value]; LayoutError names the legal
        selectors.
        """
        if not 0 <= selector < self.selectors:
            allowed = f"0 to {self.selectors - 1}" if self.selectors > 1 else "0"
            raise LayoutError(
                "bad_selector", f"No sparsity selector {selector} here.", f"Allowed: {allowed}.", "selector"
            )
        thread, number = self.index.evaluate()
        values = thread.shape[1] // self.selectors
        part = slice(selector * values, (selector + 1) * values)
        return thread[:, part], number[:, part] * self.index_bits

    def list_dense_columns(self, stored: IntArray, words: list[int], selector: int = 0) -> IntArray:
        """Return the dense column of every [thread][value] under the given metadata words, one 32-bit e a thread.

        LayoutError names the thread and bits of an index pair that does not ascend, or a nibble that is neither 0x4 nor
        0xE.
        """
        import numpy as np

        thread, bit = self.find_suppliers(selector)
        e = np.array(words, dtype=np.int64)
        nibble = e[thread] >> (bit & ~3) & 0xF
        low, high = nibble & 3, nibble >> 2
        bad = ~np.isin(nibble, self.nibbles)
        if bad.any():
            t, v = (int(n) for n in np.argwhere(bad)[0])
            at, first = int(thread[t, v]), int(bit[t, v]) & ~3
            pairs = f"two ascending positions: {' '.join(f'{n:X}' for n in self.nibbles)} (hex)"
            allowed = "0x{:X} (first) or 0x{:X} (second)".format(*self.half_nibbles) if self.half_nibbles else pairs
            raise LayoutError(
                "bad_metadata",
                f"Lane {at}'s metadata 0x{words[at]:08X} has nibble 0x{int(nibble[t, v]):X} in bits {first} to"
                f" {first + 3}.",
                f"Allowed: {allowed}.",
                "metadata",
            )
        position = np.where(bit & 2, high, low) if self.index_bits == 2 else low // 2
        inside = stored % self.kept % self.per_index
        columns: IntArray = (stored // self.kept * self.group + position * self.per_index + inside).astype(np.int32)
        return columns

    def find_kept_positions(self, dense: NDArray[Any]) -> IntArray:
        """Return the positions that each group of a dense matrix keeps, ascending: int [rows, groups, indices].

        Every nonzero element is kept; the leftmost zeros fill the rest. LayoutError names the first group with too many
        nonzero elements.
        """
        import numpy as np

        rows, cols = dense.shape
        indices, places = self.kept // self.per_index, self.group // self.per_index
        used = (dense != 0).reshape(rows, cols // self.group, places, self.per_index).any(axis=3)
        too_many = used.sum(axis=2) > indices
        if too_many.any():
            row, group = (int(n) for n in np.argwhere(too_many)[0])
            unit = "pairs of elements" if self.per_index > 1 else "elements"
            first = group * self.group
            raise LayoutError(
                "too_dense",
                f"Row {row}, columns {first} to {first + self.group - 1} have {int(used[row, group].sum())} nonzero"
                f" {unit}.",
                f"mma.sp stores {indices} of every {places}: e.g. col % {self.group} < {self.kept} ? i : 0.",
            )
        chosen: IntArray = np.sort(np.argsort(~used, axis=2, kind="stable")[:, :, :indices], axis=2).astype(np.int32)
        return chosen

    def compress(self, dense: NDArray[Any]) -> NDArray[Any]:
        """Return the elements of a dense matrix that are stored: [rows, stored columns]."""
        import numpy as np

        rows, cols = dense.shape
        positions = self.find_kept_positions(dense)
        groups = np.arange(cols // self.group)[None, :, None, None] * self.group
        at = groups + positions[..., None] * self.per_index + np.arange(self.per_index)
        stored: NDArray[Any] = np.take_along_axis(dense, at.reshape(rows, -1), axis=1)
        return stored

    def pack_words(self, dense: NDArray[Any], rows: IntArray, stored: IntArray, selector: int = 0) -> list[int]:
        """Return every thread's metadata word e for a dense matrix; rows, stored: the fragment's, [thread][value]."""
        import numpy as np

        positions = self.find_kept_positions(dense)
        at = positions[rows, stored // self.kept, stored % self.kept // self.per_index]
        value = np.where(at == 0, *self.half_nibbles) if self.half_nibbles else at
        words = [FIRST] * rows.shape[0]
        thread, bit = self.find_suppliers(selector)
        for t, first, index in zip(thread.ravel().tolist(), bit.ravel().tolist(), value.ravel().tolist(), strict=True):
            words[t] = words[t] & ~(((1 << self.index_bits) - 1) << first) | index << first
        return words


@dataclass(frozen=True, slots=True)
class ScaleOperandMap:
    """A block-scale operand: which lane and byte supplies the factor of a row (scale_a) or column (scale_b) and K
    block.

    pattern: (lane, byte) → (row or column, block); its names h and y are the thread-id and the byte-id's step.
    PTX ISA 9.1, 9.7.14.3.
    """

    name: str
    element: DType
    pattern: Pattern
    blocks: int

    @property
    def thread_ids(self) -> tuple[int, ...]:
        return tuple(range(next(d.size for d in self.pattern.threads if d.name == "h")))

    @property
    def byte_ids(self) -> tuple[int, ...]:
        """The legal byte-ids: every `blocks`-th byte of the 32-bit register."""
        return tuple(range(0, 4, self.blocks))

    def find_owners(self, byte_id: int = 0, thread_id: int = 0) -> tuple[IntArray, IntArray]:
        """Return (thread, byte), each [row or column][block]; LayoutError names the legal selectors."""
        import numpy as np

        for field, value, legal in (("byte_id", byte_id, self.byte_ids), ("thread_id", thread_id, self.thread_ids)):
            if value not in legal:
                allowed = ", ".join(map(str, legal))
                raise LayoutError(
                    "bad_selector",
                    f"No {field.replace('_', '-')} {value} for {self.name}.",
                    f"Allowed: {allowed}.",
                    field,
                )
        thread, byte = self.pattern.inverse()
        digits = self.pattern.digit_values()
        chosen = digits["h"][thread] == thread_id
        if "y" in digits:
            chosen = chosen & (digits["y"][byte] == byte_id // self.blocks)
        at = np.argmax(chosen, axis=-1)[..., None]
        return np.take_along_axis(thread, at, -1)[..., 0], np.take_along_axis(byte, at, -1)[..., 0]
