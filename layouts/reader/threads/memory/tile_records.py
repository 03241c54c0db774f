"""What a run for tiles is given, and what it records: boxes of TMA copies and products."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from lanescope.descriptor.matrix import View
from lanescope.reader.threads.memory.records import MmaUse
from lanescope.reader.threads.memory.storage import DataBytes, Ints, Mask, Span


@dataclass(frozen=True, slots=True, eq=False)
class BoxMove:
    """A TMA copy of a box, in either direction.

    event: its number in the trace, -1 for a store; maps: the names that its map may have; place: the address in shared
    memory, at: the coordinates, innermost first, of every thread; sites: where these are given; data: for a store, what
    each thread's box holds; adds: whether it adds to what is there; call: of the helper that copies.
    """

    event: int
    maps: frozenset[str]
    mask: Mask
    place: Ints
    at: tuple[Ints, ...]
    sites: tuple[Span, ...]
    site: Span
    data: dict[int, DataBytes] = field(default_factory=dict)
    adds: bool = False
    call: Span = (0, 0)


@dataclass(frozen=True, slots=True, eq=False)
class LineMove:
    """A cp.async.bulk from global to shared memory. array: its name; start: the offset in it, place: the address in
    shared memory, size: the bytes, of every thread.
    """

    event: int
    mask: Mask
    array: str
    start: Ints
    place: Ints
    size: Ints


@dataclass(frozen=True, slots=True, eq=False)
class BoxRead:
    """A load of bytes by threads that TMA copies bring. record: of its bytes, whose origin is known when the copies are
    in order; places: where they begin in shared memory, of every thread.
    """

    event: int
    mask: Mask
    places: Ints
    size: int
    record: int


@dataclass(frozen=True, slots=True)
class ScaleCopy:
    """A tcgen05.cp.32x128b.warpx4 of scale factors. word: the descriptor of its source; column: where it puts them."""

    event: int
    word: int
    column: int


@dataclass(frozen=True, slots=True)
class ScaleUse:
    """The scale factors of an operand of a product. column: their first one; byte: the first of each word; count: of a
    row.
    """

    column: int
    byte: int
    count: int


@dataclass(frozen=True, slots=True, eq=False)
class TileProduct:
    """A wgmma, a tcgen05.mma, or an mma of warps. words: the descriptors of A and B of every thread; added: the first
    register of D before it, None if D is not added to; sites: where the addresses of A and B are given; in_memory:
    whether D is in tensor memory; mask is then of the threads of four warps, one for each row of D; start: why its sum
    is open; pair: whether two blocks have a half of A, of B and of D each; scales: the scale factors of A and B; use:
    the registers of an mma of warps, or of A of a wgmma.
    """

    event: int
    result: int
    mask: Mask
    words: dict[str, Ints]
    views: dict[str, View]
    added: DataBytes | None
    sites: dict[str, Span]
    calls: tuple[Span, ...]
    in_memory: bool = False
    start: str = ""
    pair: bool = False
    scales: Mapping[str, ScaleUse] = field(default_factory=dict)
    use: MmaUse | None = None


Grid = tuple[int, int, int]
Grids = Mapping[tuple[str, tuple[str, ...]], Grid]  # of kernels by their template arguments, () for all


def find_grid(grids: Grids, kernel: str, templates: tuple[str, ...]) -> Grid | None:
    """Return the grid of a launch of a kernel, None if it is not known."""
    return grids.get((kernel, templates)) or grids.get((kernel, ()))


@dataclass(frozen=True, slots=True)
class TileSetup:
    """What a run for tiles is given: the block, and a function that says where the elements of a box are in
    shared memory: of a kernel's map with some names, among those of its launch, from an address on.

    sizes: the integers of each kernel's parameters, if all are known; computes: whether it computes numbers;
    last_product: the number of the product after which it ends; launches: of a kernel that are run; 0 for all.
    """

    block: tuple[int, int, int]
    list_places: Callable[[str, Collection[str], frozenset[str], int], Ints | None]
    sizes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    grids: Grids = field(default_factory=dict)
    computes: bool = False
    last_product: int = 0
    launches: int = 0
