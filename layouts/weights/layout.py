"""A matrix of prepacked weights: pack and unpack, and which word, field, lane and register hold an element.

>>> layout = packed_weights("marlin", k=64, n=128)
>>> place = layout.locate(5, 18)
>>> place.word, place.field, place.thread, place.word_of_thread, place.register, place.value
(41, 4, 10, 1, 0, 1)
>>> layout.find_element(place.word, place.field)
(5, 18)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from lanescope.errors import LayoutError
from lanescope.inputs import check_coordinate, parse_choice, parse_integer
from lanescope.ptx.pattern import IntArray, Pattern
from lanescope.ptx.threads import WARP
from lanescope.weights.formats import FORMATS, SideValues, WeightFormat

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lanescope.ptx.operand import Operand

    Words: TypeAlias = NDArray[np.uint32]
    Longs: TypeAlias = NDArray[np.int64]
else:
    Words = Longs = Any

WORD_BITS = 32
MOST = 1 << 20  # rows or columns


@dataclass(frozen=True, slots=True)
class FragmentPlace:
    """The place of an element in the operand of an instruction.

    instruction: its number in the tile; thread: among the instruction's threads.
    """

    instruction: int
    row: int
    col: int
    thread: int
    value: int
    register: int
    bit: int


@dataclass(frozen=True, slots=True)
class WeightPlace:
    """The place of an element of W.

    word: in the whole array; tile: its number in memory; thread: the one that loads the word, -1 if the format does not
    determine it; value: in the thread's fragment, as `register` and `instruction`, or -1.
    """

    k: int
    n: int
    word: int
    field: int
    tile: int
    thread: int
    word_of_thread: int
    fragment: FragmentPlace | None

    @property
    def register(self) -> int:
        return self.fragment.register if self.fragment else -1

    @property
    def value(self) -> int:
        return self.fragment.value if self.fragment else -1


@dataclass(frozen=True)
class WeightLayout:
    """W (k, n) of `bits`-bit integers in a format; sizes are multiples of the tile."""

    format: WeightFormat
    bits: int
    k: int
    n: int

    @cached_property
    def tile(self) -> Pattern:
        """The map (thread)(word field) → (k)(n) of one tile."""
        return Pattern.parse(self.format.tile_of(self.bits))

    @cached_property
    def fragment(self) -> Pattern | None:
        """The map (thread)(word field) → (instruction)(row)(column) of its operand; None if it is not known."""
        text = self.format.fragment
        return Pattern.parse(f"{self.format.left[self.bits]} -> {text}") if text else None

    @cached_property
    def operand(self) -> Operand | None:
        """The operand that the words feed."""
        from lanescope.ptx import catalog

        return catalog.find(self.format.ptx).operand(self.format.operand) if self.format.ptx else None

    @property
    def fields(self) -> int:
        """The number of integers in a word."""
        return WORD_BITS // self.bits

    @property
    def threads(self) -> int:
        """The number of threads that hold a tile; 0 if the format does not determine who loads a word."""
        return self.tile.thread_count if self.tile.threads else 0

    @property
    def warps(self) -> int:
        """The number of warps that hold a tile; 0 if the format does not determine who loads a word."""
        return self.threads // WARP

    @property
    def words_of_thread(self) -> int:
        return self.tile.value_count // self.fields

    @property
    def words_of_tile(self) -> int:
        return self.tile.thread_count * self.words_of_thread

    @property
    def tiles(self) -> tuple[int, int]:
        """The number of tiles along k and along n."""
        down, across = self.tile.extents
        return self.k // down, self.n // across

    @property
    def word_count(self) -> int:
        return self.k * self.n // self.fields

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the published array of words; flat if only the order matters."""
        axis, count = self.format.rows
        if not axis:
            return (self.word_count,)
        rows = (self.k if axis == "k" else self.n) // (count or self.fields)
        return rows, self.word_count // rows

    def pack(self, weights: NDArray[Any]) -> Words:
        """Pack W, integers [k][n] from 0 to 2**bits − 1, into words of the published shape."""
        import numpy as np

        values = np.asarray(weights)
        if values.shape != (self.k, self.n):
            raise LayoutError("bad_shape", f"weights have the shape {values.shape}.", f"Give ({self.k}, {self.n}).")
        check_integers(values, self.bits, "weights")
        (down, across), (rows, cols) = self.tile.extents, self.tiles
        k, n = self.tile.evaluate()
        tiles = values.reshape(rows, down, cols, across).transpose(0, 2, 1, 3)[:, :, k, n]
        if not self.format.k_first:
            tiles = tiles.swapaxes(0, 1)
        return join_fields(tiles.reshape(-1, self.fields), self.bits).reshape(self.shape)

    def unpack(self, words: NDArray[Any]) -> NDArray[np.int64]:
        """Unpack 32-bit words of any shape into W: int64 [k][n]."""
        import numpy as np

        flat = np.asarray(words).reshape(-1)
        if flat.size != self.word_count or flat.dtype.kind not in "iu" or flat.dtype.itemsize < 4:
            problem = f"{flat.size} words of type {flat.dtype} were given."
            raise LayoutError("bad_words", problem, f"Give {self.word_count} integers of 32 bits.")
        (down, across), (rows, cols) = self.tile.extents, self.tiles
        k, n = self.tile.evaluate()
        outer = (rows, cols) if self.format.k_first else (cols, rows)
        values = split_fields(flat, self.bits).reshape(*outer, *k.shape)
        if not self.format.k_first:
            values = values.swapaxes(0, 1)
        tiles = np.empty((rows, cols, down, across), np.int64)
        tiles[:, :, k, n] = values
        return tiles.transpose(0, 2, 1, 3).reshape(self.k, self.n)

    def locate(self, k: int, n: int) -> WeightPlace:
        """Return the place of element (k, n); LayoutError names the axis and its limit."""
        for name, at, size in (("k", k, self.k), ("n", n, self.n)):
            if not 0 <= at < size:
                raise LayoutError(
                    "outside", f"{name} is {at}. W is {self.k} × {self.n}.", f"From 0 to {size - 1}.", name
                )
        down, across = self.tile.extents
        ((thread, value),) = self.tile.owners(k % down, n % across)
        tile = self._number_tile(k // down, n // across)
        word, field = divmod(value, self.fields)
        return WeightPlace(
            k,
            n,
            tile * self.words_of_tile + thread * self.words_of_thread + word,
            field,
            tile,
            thread if self.threads else -1,
            word if self.threads else -1,
            self._find_fragment(thread, value),
        )

    def find_element(self, word: int, field: int) -> tuple[int, int]:
        """Return the (k, n) of a field of a word, in memory order."""
        check_coordinate(word, self.word_count, f"W has {self.word_count} words.")
        check_coordinate(field, self.fields, f"A word has {self.fields} fields.")
        tile, inside = divmod(word, self.words_of_tile)
        thread, value_index = divmod(inside, self.words_of_thread)
        k, n = self.tile.element_at(thread, value_index * self.fields + field)
        (down, across), (rows, cols) = self.tile.extents, self.tiles
        row, col = divmod(tile, cols) if self.format.k_first else divmod(tile, rows)[::-1]
        return int(row * down + k), int(col * across + n)

    def number_elements(self, k: Longs, n: Longs) -> tuple[Longs, Longs, Longs]:
        """Return (word, field, thread) of elements of W, int64 of the shape of k and n; thread 0 if it is not known."""
        import numpy as np

        thread, value = self._find_values(k, n)
        (down, across), (rows, cols) = self.tile.extents, self.tiles
        tile = k // down * cols + n // across if self.format.k_first else n // across * rows + k // down
        word = tile * self.words_of_tile + thread * self.words_of_thread + value // self.fields
        return word.astype(np.int64), (value % self.fields).astype(np.int64), thread.astype(np.int64)

    def find_operand_places(self, k: Longs, n: Longs) -> tuple[IntArray, ...]:
        """Return (instruction, row, column) of elements of W in the operand that the words feed."""
        assert self.fragment
        thread, value = self._find_values(k, n)
        return tuple(axis[thread, value] for axis in self.fragment.evaluate())

    def _find_values(self, k: Longs, n: Longs) -> tuple[IntArray, IntArray]:
        down, across = self.tile.extents
        thread, value = self.tile.inverse()
        return thread[k % down, n % across, 0], value[k % down, n % across, 0]

    def _number_tile(self, row: int, col: int) -> int:
        rows, cols = self.tiles
        return row * cols + col if self.format.k_first else col * rows + row

    def _find_fragment(self, thread: int, value: int) -> FragmentPlace | None:
        operand = self.operand
        if self.fragment is None or operand is None:
            return None
        instruction, row, col = self.fragment.element_at(thread, value)
        ((lane, value_of_lane),) = operand.owner(row, col)
        register, bit = operand.register_of(value_of_lane)
        return FragmentPlace(instruction, row, col, lane, value_of_lane, register, bit)


def packed_weights(name: str, k: int | None = None, n: int | None = None, bits: int = 4) -> WeightLayout:
    """Return the layout of a format (marlin, awq, gptq, machete …) for W (k, n), by default one tile.

    LayoutError names formats, widths, and the multiples that k and n must be.
    """
    row = FORMATS[parse_choice(name, "format", tuple(FORMATS), "bad_format")]
    if bits not in row.left:
        allowed = " or ".join(map(str, sorted(row.left)))
        raise LayoutError(
            "bad_bits", f"bits is {bits}. The format {row.title} is known for other widths.", f"Give {allowed}.", "bits"
        )
    tile = Pattern.parse(row.tile_of(bits))
    sizes = []
    for axis, extent, unit in zip("kn", (k, n), tile.extents, strict=True):
        size = unit if extent is None else parse_integer(extent, axis, 1)
        if size % unit or size > MOST:
            message = f"{axis} is {size}. A tile of {row.title} with {bits} bits has {unit}."
            raise LayoutError("bad_tile", message, f"Give a multiple of {unit} up to {MOST}.", axis)
        sizes.append(size)
    return WeightLayout(row, bits, *sizes)


def join_fields(values: NDArray[Any], bits: int) -> Words:
    """Join [..., fields] into 32-bit words, field 0 in the low bits."""
    import numpy as np

    shifts = np.arange(values.shape[-1], dtype=np.uint32) * np.uint32(bits)
    words: Words = np.bitwise_or.reduce(values.astype(np.uint32) << shifts, axis=-1)
    return words


def split_fields(words: NDArray[Any], bits: int) -> NDArray[np.int64]:
    """Split 32-bit words into [..., fields]."""
    import numpy as np

    shifts = np.arange(WORD_BITS // bits, dtype=np.int64) * bits
    fields: NDArray[np.int64] = words.astype(np.int64)[..., None] >> shifts & ((1 << bits) - 1)
    return fields


def check_integers(values: NDArray[Any], bits: int, what: str) -> None:
    """Raise LayoutError if the values are not an array of integers from 0 to 2**bits − 1."""
    most = (1 << bits) - 1
    if values.dtype.kind not in "iu":
        raise LayoutError("bad_weights", f"{what} have the type {values.dtype}.", f"Give integers from 0 to {most}.")
    if values.size and (values.min() < 0 or values.max() > most):
        problem = f"{what} reach from {values.min()} to {values.max()}."
        raise LayoutError("bad_weights", problem, f"{bits} bits hold 0 to {most}: add the zero point first.")


def find_side_order(side: SideValues, key: str, what: str) -> Pattern:
    """Return the order of scales or zero points; LayoutError if they have none of that name."""
    if key not in side.orders:
        known = f"Known: {', '.join(side.orders)}." if side.orders else f"They are {side.about}."
        raise LayoutError("no_order", f"{what} have no order '{key}' here.", known)
    return Pattern.parse(side.orders[key])


def evaluate_columns(order: Pattern) -> IntArray:
    """Return the column of every stored place of a block, in memory order."""
    (columns,) = order.evaluate()
    flat: IntArray = columns.reshape(-1)
    return flat


def permute_scales(layout: WeightLayout, scales: NDArray[Any], by: str = "group") -> NDArray[Any]:
    """Return scales [groups][n] in the format's order. by: "group", or "channel" (one scale per column)."""
    import numpy as np

    values = np.asarray(scales)
    if values.ndim != 2 or values.shape[1] != layout.n:
        raise LayoutError("bad_shape", f"scales have the shape {values.shape}.", f"Give (groups, {layout.n}).")
    if layout.format.scales.plain:
        return values
    columns = evaluate_columns(find_side_order(layout.format.scales, by, "Scales"))
    stored: NDArray[Any] = values.reshape(len(values), -1, columns.size)[:, :, columns].reshape(values.shape)
    return stored


def pack_zeros(layout: WeightLayout, zeros: NDArray[Any]) -> Words:
    """Pack zero points [groups][n] like the format: uint32 [groups][words].

    Offsets that a format adds or subtracts (GPTQ) are not applied.
    """
    import numpy as np

    values = np.asarray(zeros)
    if values.ndim != 2 or values.shape[1] != layout.n:
        raise LayoutError("bad_shape", f"zeros have the shape {values.shape}.", f"Give (groups, {layout.n}).")
    columns = evaluate_columns(find_side_order(layout.format.zeros, str(layout.bits), "Zero points"))
    if layout.n % columns.size:
        raise LayoutError("bad_tile", f"n is {layout.n}.", f"Zero points need a multiple of {columns.size}.", "n")
    check_integers(values, layout.bits, "zeros")
    stored = values.reshape(len(values), -1, columns.size)[:, :, columns]
    return join_fields(stored.reshape(len(values), -1, layout.fields), layout.bits)
