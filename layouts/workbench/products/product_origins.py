"""The rows of A and the columns of B in global memory that each product of a traced kernel multiplies.

The mbarriers of the run are simulated; every product then reads the boxes that have arrived last. Which coordinates of
a box are along K is seen from the products that add to the same D.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np

from lanescope.descriptor.matrix import View
from lanescope.errors import LayoutError
from lanescope.ptx.threads import GROUP_WARPS
from lanescope.reader.code.maps.tma_rules import TensorMap
from lanescope.reader.threads.barriers.clusters import WINDOW
from lanescope.reader.threads.memory.matrix_reads import find_described_places
from lanescope.reader.threads.memory.shared_memory import SHARED_BYTES
from lanescope.reader.threads.memory.storage import Ints
from lanescope.reader.threads.memory.tile_records import BoxMove, TileProduct
from lanescope.reader.threads.memory.tile_trace import TileTrace
from lanescope.reader.threads.runner import KernelRunner
from lanescope.shared.swizzle import get_mode
from lanescope.workbench.copies.box_maps import MapFinder
from lanescope.workbench.copies.copied_bytes import count_box_span, measure_line
from lanescope.workbench.products.scale_memory import ScaleMemory
from lanescope.workbench.results import Span

Block = tuple[int, int, int]
ALL_BITS = (1 << 64) - 1
_HALF_BYTE, _PACKED = 4, "16U4_ALIGN8B"  # bits of an element, and the type of a map that packs two in a byte


@dataclass(frozen=True, slots=True, eq=False)
class LoadedBox:
    """A box that one thread has loaded."""

    move: BoxMove
    lane: int
    map: TensorMap
    base: int

    def find_coordinates(self, places: Ints) -> Ints:
        """Return the coordinates of bytes of the box in the tensor whose panels are joined: [places, dimensions],
        innermost first.
        """
        return flatten_coordinates(self.map, self.find_raw_coordinates(places))

    def find_raw_coordinates(self, places: Ints) -> Ints:
        """Return the coordinates of bytes of the box as the copy counts them."""
        inside = split_places(self.map, places, self.base)
        return np.array([int(at[self.lane]) for at in self.move.at], np.int64) + inside

    def find_start(self) -> Ints:
        """Return the coordinates of the box in the tensor whose panels are joined."""
        first = np.array([[int(at[self.lane]) for at in self.move.at]], np.int64)
        start: Ints = flatten_coordinates(self.map, first)[0]
        return start

    def count_along(self, number: int) -> int:
        """Return the elements of the box along a dimension of that tensor."""
        size = self.map.box[number] or 1
        return size * (self.map.box[2] or 1) if number == 0 and is_in_panels(self.map) else size


@dataclass(frozen=True, slots=True, eq=False)
class OperandOrigin:
    """An operand of one product in one warp: coordinates of its rows at its first K, [rows, dimensions], of the last K
    of its first row, and the box of its first row.
    """

    rows: Ints
    last: Ints
    box: LoadedBox


@dataclass(frozen=True, slots=True, eq=False)
class SumOrigin:
    """The products that add to one D in one warp of a block.

    finder: of the run; rows, columns: of each row of A and column of B, along the one dimension that they move in; k:
    the coordinates along K of A and B in each product; boxes: of A and B in the last product; numbers: the dimensions
    of rows and columns; along: those of K.
    """

    finder: OriginFinder
    warp: int
    rows: Ints
    columns: Ints
    k: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    boxes: tuple[LoadedBox, LoadedBox]
    numbers: tuple[int, int]
    along: tuple[tuple[int, ...], tuple[int, ...]]
    products: tuple[TileProduct, ...]

    @property
    def block(self) -> Block:
        return self.finder.block

    @property
    def group(self) -> int:
        """The warpgroup that multiplies, or the warp if each has a D of its own."""
        return self.warp // self.finder.width

    @property
    def result(self) -> int:
        """The number of the last product."""
        return self.products[-1].result

    @property
    def is_joined(self) -> bool:
        """Return whether elements of D are combined with those of another product."""
        return any(-self.result - 1 in pair for pair in self.finder.run.joined)

    @property
    def is_symmetric(self) -> bool:
        """Return whether A and B are of one matrix: C = A·Aᵀ may be stored at (m, n) and at (n, m)."""
        a, b = (box.map for box in self.boxes)
        return a is b or (bool(a.names) and a.names[-1:] == b.names[-1:])  # the array that both maps are of

    @property
    def step(self) -> int:
        """The elements of K in a product, as the tensor counts them: it may have bytes in place of pairs."""
        seen = self.products[0].views["a"]
        return seen.k * seen.bits // (self.boxes[0].map.element_bits or seen.bits)

    @property
    def sizes(self) -> tuple[int, int]:
        """The rows and columns of D, 0 if they are not known."""
        return self.get_size(0) or 0, self.get_size(1) or 0

    @property
    def elements(self) -> int:
        """The number of elements of D."""
        return len(self.rows) * len(self.columns)

    def get_size(self, side: int) -> int | None:
        """Return the rows of the tensor of A (0), or the columns of that of B (1); None if they are not known."""
        return measure_tensor(self.boxes[side].map)[self.numbers[side]]

    def get_depth(self, side: int) -> int | None:
        """Return the size along K of the tensor of A or B, None if it is not known or not one dimension."""
        along = self.along[side]
        return measure_tensor(self.boxes[side].map)[along[0]] if len(along) == 1 else None

    def find_batch(self, side: int) -> list[int]:
        """Return where a box is along the dimensions that are neither its rows nor K, such as a batch."""
        used = {self.numbers[side], *self.along[side]}
        return [int(at) for number, at in enumerate(self.boxes[side].find_start()) if number not in used]

    def list_slices(self, n: int) -> list[int] | None:
        """Return the K of A (n = 0) or of B (1) in each product; None if it is not one coordinate."""
        found = [pair[n][0] for pair in self.k if len(pair[n]) == 1]
        return found if len(found) == len(self.k) else None


def split_places(tensor_map: TensorMap, places: Ints, base: int) -> Ints:
    """Return where in a box bytes of shared memory are: [places, dimensions], innermost first. base: its address."""
    _, pitch = measure_line(tensor_map)
    mode = get_mode(tensor_map.swizzle or "none")
    past = np.asarray(mode.unswizzle(places), np.int64) - base
    parts = [past % pitch * 8 // (tensor_map.element_bits or 8)]
    line = past // pitch
    for size in tensor_map.box[1:]:
        parts.append(line % (size or 1))
        line = line // (size or 1)
    return np.stack(parts, axis=-1)


def is_in_panels(tensor_map: TensorMap) -> bool:
    """Return whether a map has a matrix as panels that its boxes take whole: (64, rows, columns / 64), and 1s."""
    dims = tensor_map.dims
    return len(dims) > 2 and set(dims[3:]) <= {1} and dims[0] is not None and dims[0] == tensor_map.box[0]


def measure_tensor(tensor_map: TensorMap) -> tuple[int | None, ...]:
    """Return the sizes of a tensor whose panels are joined."""
    dims = tensor_map.dims
    if not is_in_panels(tensor_map):
        return dims
    return (dims[0] or 0) * dims[2] if dims[2] is not None else None, dims[1]


def flatten_coordinates(tensor_map: TensorMap, at: Ints) -> Ints:
    """Return coordinates [places, dimensions] with the panels of a matrix joined."""
    if at.shape[1] < 3 or not is_in_panels(tensor_map):
        return at
    return np.stack([at[:, 0] + (tensor_map.dims[0] or 0) * at[:, 2], at[:, 1]], axis=1)


def list_box_places(tensor_map: TensorMap | None, base: int) -> Ints | None:
    """Return the address of the first byte of each element of a box, innermost first; None if the box is not known."""
    if tensor_map is None or not is_plain_map(tensor_map) or tensor_map.element_bits == _HALF_BYTE:
        return None
    _, pitch = measure_line(tensor_map)
    size, lines = (tensor_map.element_bits or 8) // 8, prod(n or 1 for n in tensor_map.box[1:])
    plain = base + pitch * np.arange(lines)[:, None] + size * np.arange(tensor_map.box[0] or 1)
    return np.asarray(get_mode(tensor_map.swizzle or "none").unswizzle(plain.ravel()), np.int64)


def is_plain_map(tensor_map: TensorMap) -> bool:
    """Return whether the places of a map's box are known: elements without padding, known sizes and swizzle."""
    sizes = all(tensor_map.box) and bool(tensor_map.box)
    packed = tensor_map.element_bits == _HALF_BYTE and tensor_map.data_type == _PACKED
    bits = packed or tensor_map.element_bits in (8, 16, 32, 64)
    return sizes and bits and tensor_map.swizzle in ("none", "32B", "64B", "128B")


class OriginFinder:
    """The origins of the products of the run of one block."""

    def __init__(self, run: KernelRunner, maps: MapFinder) -> None:
        self.run, self.maps, self.block = run, maps, run.block_index
        assert isinstance(run.barriers, TileTrace)
        self.trace: TileTrace = run.barriers
        self.origins: dict[tuple[int, int], dict[str, OperandOrigin | None]] = {}  # by event and warp
        self.products: dict[int, list[TileProduct]] = defaultdict(list)  # by result
        for product in (*self.trace.products, *self.trace.products_of_warps):
            self.products[product.result].append(product)
        self.width = 1 if self.trace.products_of_warps else GROUP_WARPS  # the warps that have a D together
        self.unit = "warp" if self.trace.products_of_warps else "warpgroup"
        self.read_owners: dict[int, Ints] = {}  # by the record of a load: the number of the box of every thread
        self.sums: dict[tuple[int, int], SumOrigin | None] = {}
        self.boxes: list[LoadedBox] = []
        self.mate: OriginFinder | None = None  # the other block of a pair
        self.owner = np.full(SHARED_BYTES, -1, np.int64)
        self.scales = ScaleMemory()

    def take_products(self, other: OriginFinder) -> None:
        """Take the products that the other block of a pair issues for both."""
        self.products, self.mate, other.mate = other.products, other, self

    def map_loads(self) -> dict[int, list[BoxMove]]:
        """Return the copies of boxes by their events."""
        loads: dict[int, list[BoxMove]] = {}
        for move in self.trace.loads:
            loads.setdefault(move.event, []).append(move)
        return loads

    def list_stores(self) -> Iterator[Span]:
        """Yield where elements of D are stored, also to shared memory."""
        yield from (site for of_record in self.trace.staged.sites.values() for site in of_record)
        yield from (store.site for store in self.run.outputs)
        yield from (move.site for move in self.trace.stores)

    def count_dynamic_bytes(self) -> int:
        """Return how many bytes of dynamic shared memory the loaded boxes reach; 0 for a kernel without it."""
        if "" not in self.run.dynamic:
            return 0
        dynamic = self.run.shared.dynamic - self.run.shared.base
        ends = [box.base + count_box_span(box.map) - dynamic for box in self.boxes]
        return max(0, *ends) if ends else 0

    def find_map(self, names: frozenset[str], rank: int = 0) -> TensorMap | None:
        """Find the map of a copy by the names that the kernel gives it."""
        return self.maps.find(self.run.kernel, names, rank, self.run.instance.maps)

    def fill(self, move: BoxMove, lane: int) -> bool:
        """Fill shared memory of the block by a box; return whether its bytes are known."""
        tensor_map = self.find_map(move.maps, len(move.at))
        if tensor_map is None or not is_plain_map(tensor_map) or len(tensor_map.box) != len(move.at):
            return False
        base, span = int(move.place[lane]) & WINDOW, count_box_span(tensor_map)
        if not 0 <= base < SHARED_BYTES - span:
            return False
        self.owner[base : base + span] = len(self.boxes)
        self.boxes.append(LoadedBox(move, lane, tensor_map, base))
        return True

    def locate(self, word: int, seen: View) -> OperandOrigin | None:
        """Return what a product takes through a descriptor; None if it is not known."""
        places = _list_edges(word, seen)
        if places is None or places.min() < 0 or places.max() >= SHARED_BYTES:
            return None
        owners = self.owner[places]
        if owners.min() < 0:
            return None
        number = {int(n) for n in np.unique(owners)}
        boxes = {n: self.boxes[n] for n in number}
        if len({id(box.map) for box in boxes.values()}) > 1:
            return None
        coordinates: Ints | None = None
        for n, box in boxes.items():
            mine = owners == n
            found = box.find_coordinates(places[mine])
            coordinates = np.zeros((len(places), found.shape[1]), np.int64) if coordinates is None else coordinates
            coordinates[mine] = found
        assert coordinates is not None
        return OperandOrigin(coordinates[:-1], coordinates[-1], boxes[int(owners[0])])

    # sums -------------------------------------------------------------------------------------------------------------

    def find_sum(self, result: int, warp: int) -> SumOrigin | None:
        """Return what one D in one warp is the sum of; None if it is not known."""
        key = result, warp
        if key not in self.sums:
            self.sums[key] = self._find_sum(result, warp)
        return self.sums[key]

    def list_joined(self, total: SumOrigin) -> list[SumOrigin]:
        """Return the sums of which the same elements are combined with those of a sum, as far as they are known."""
        joined = (other for one, other in self.run.joined if one == -total.result - 1)
        found = (self.find_sum(-other - 1, self.width * total.group) for other in joined)
        return [one for one in found if one is not None]

    def list_parts(self, total: SumOrigin) -> list[SumOrigin]:
        """Return the sums of the same rows and columns that are added to a sum, such as those of other slices of K."""
        maps = [box.map for box in total.boxes]
        alike = (
            one for one in self.list_joined(total) if all(b.map is m for b, m in zip(one.boxes, maps, strict=True))
        )
        return [one for one in alike if (one.rows[0], one.columns[0]) == (total.rows[0], total.columns[0])]

    def find_first_warp(self, result: int) -> int:
        """Return the first warp that multiplies for a result."""
        return int(np.flatnonzero(self.products[result][0].mask)[0]) // 32 if self.products[result] else 0

    def list_products(self, result: int, warp: int) -> list[TileProduct]:
        """Return the products that add to one D in one warp; none if one of them is not known."""
        seen: list[int] = []
        products: list[TileProduct] = []
        at: int | None = result
        while at is not None:
            if at in seen or at not in self.products:
                return []
            seen.append(at)
            products = [*self.products[at], *products]
            added = self.products[at][0].added
            record = int(added.record[32 * warp, 0]) if added is not None else 0
            at = -record - 1 if record < 0 else None
        return products

    def _find_sum(self, result: int, warp: int) -> SumOrigin | None:
        products = self.list_products(result, warp)
        if not products:
            return None
        chain = [product.event for product in products]
        sides = []
        for name in "ab":
            one = [self.origins.get((event, warp), {}).get(name) for event in chain]
            known = [origin for origin in one if origin is not None]
            side = _split_dimensions(known) if len(known) == len(chain) else None
            if side is None:
                return None
            sides.append((*side, known[-1].box))
        (rows, a, row, of_a, box_a), (columns, b, column, of_b, box_b) = sides
        k = tuple(zip(a, b, strict=True))
        boxes, numbers = (box_a, box_b), (row, column)
        return SumOrigin(self, warp, rows, columns, k, boxes, numbers, (of_a, of_b), tuple(products))


def _split_dimensions(
    origins: Sequence[OperandOrigin],
) -> tuple[Ints, list[tuple[int, ...]], int, tuple[int, ...]] | None:
    """Return (the coordinate of each row, that along K in each product, the dimension of the rows, those of K); None if
    rows move along several dimensions, or along K.
    """
    first = origins[0]
    if len({id(origin.box.map) for origin in origins}) > 1:
        return None
    starts = np.stack([origin.rows[0] for origin in origins])
    along_k = (first.last != first.rows[0]) | (starts != starts[0]).any(axis=0)
    moving = (first.rows != first.rows[0]).any(axis=0)
    rows = np.flatnonzero(moving)
    if len(rows) != 1 or (moving & along_k).any():
        return None
    number = int(rows[0])
    others = np.flatnonzero(~moving)
    for origin in origins:
        rest = origin.rows[:, others]
        if (origin.rows[:, number] != first.rows[:, number]).any() or (rest != rest[0]).any():
            return None
    along = tuple(map(int, np.flatnonzero(along_k)))
    return first.rows[:, number], [tuple(map(int, start[along_k])) for start in starts], number, along


@lru_cache(maxsize=4096)
def _list_edges(word: int, seen: View) -> Ints | None:
    """Return the first byte of each row's first element, and of the last element of the first row."""
    try:
        places = find_described_places(word, seen)
    except LayoutError:
        return None
    return np.concatenate([places[:, 0], places[0, -max(seen.bits // 8, 1) :][:1]])


@dataclass(frozen=True, slots=True)
class BoxLister:
    """Lists the places of a box by the names of its map."""

    maps: MapFinder

    def __call__(self, kernel: str, names: Collection[str], launched: frozenset[str], base: int) -> Ints | None:
        return list_box_places(self.maps.find(kernel, frozenset(names), launched=launched), base)
