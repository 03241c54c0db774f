"""The asynchronous work of CuTe in a run that follows mbarriers: TMA copies, gemm of wgmma, and their groups.

Each copy has the places that it fills and the coordinates of its elements, each gemm the places that it reads of A and
of B. PTX ISA 9.1, 9.7.15.7; CUTLASS 4.7, cute/arch/mma_sm90_gmma.hpp and cute/atom/copy_traits_sm90_tma.hpp.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lanescope.cute import algebra
from lanescope.cute.layout import CuteLayout
from lanescope.cute.tuples import list_leaves
from lanescope.reader.threads.cute.tensors import CuteTensor
from lanescope.reader.threads.memory.shared_fills import Key, get_key
from lanescope.reader.threads.memory.storage import Ints, LocalMemory, Mask, Span, spread_coefficient

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

DIGIT_BITS = 15  # of a coordinate in the index of an element of a tensor that TMA copies
MOST_DIGITS = 4
MOST_ELEMENTS = 1 << 17  # of a tile
MOST_STEPS = 3000


@dataclass(frozen=True, slots=True, eq=False)
class TileElements:
    """The elements of a tile in shared memory.

    array: the array that holds them; places: their addresses, those of A and B as [rows, k]; bytes: of an element;
    operand: a or b if a TiledMMA has partitioned it, else "".
    """

    array: Key
    places: Ints
    bytes: int
    operand: str


@dataclass(frozen=True, slots=True, eq=False)
class AsyncStep:
    """One step of some threads.

    at: the number of events of the trace before it; kind: fence, commit or wait (of wgmma), product, copy, set or use
    (of accumulators), or view (which may use them); call: its place in the text itself; count: the groups that a wait
    leaves pending; sums: the accumulators, by the id of their memory; adds: whether a product adds to them, None if
    that is not known; unset: where they are declared, if nothing has written them; tiles: A and B, or the tile that a
    copy fills, None if it is not in shared memory; sites: of A and B; scale: the last assignment of accumulate_;
    source: the call that makes the TMA atom; indices: those of the elements that it copies.
    """

    at: int
    kind: str
    mask: Mask
    call: Span
    count: int = 0
    sums: int = 0
    adds: bool | None = True
    unset: Span | None = None
    scale: Span | None = None
    tiles: tuple[TileElements | None, ...] = ()
    sites: tuple[Span, ...] = ()
    source: Span = (0, 0)
    indices: Ints | None = None


@dataclass(slots=True)
class AsyncTrace:
    """The steps of a run.

    lost: why they are not known, "" if they are; inline: whether inline PTX multiplies, too; sized: whether the
    operands of all products have the element size of the instruction; misfit: why CuTe does not compile an atom, and
    its place; sums: the memory of accumulators that products write, by its id; extents: the sizes of a tensor, by the
    call that makes its TMA atom; made: where accumulators are declared, by the id of their memory.
    """

    steps: list[AsyncStep] = field(default_factory=list)
    lost: str = ""
    inline: bool = False
    sized: bool = True
    misfit: tuple[str, Span] | None = None
    sums: dict[int, LocalMemory] = field(default_factory=dict)
    extents: dict[Span, tuple[int, ...]] = field(default_factory=dict)
    made: dict[int, Span] = field(default_factory=dict)

    def lose(self, why: str) -> None:
        self.lost = self.lost or why

    def add(self, run: KernelRunner, kind: str, call: Span, **values: Any) -> None:
        """Add a step of the running threads."""
        if run.barriers is None or not run.mask.any():
            return
        if (run.assumed and kind != "view") or len(self.steps) >= MOST_STEPS:
            self.lose("a condition around one is not known" if run.assumed else "there are too many")
            return
        self.steps.append(AsyncStep(len(run.barriers.events), kind, run.mask.copy(), call, **values))

    def note_sums(self, run: KernelRunner, kind: str, tensor: Any, call: Span) -> None:
        """Note that threads set or use accumulators that products have written, or may use them."""
        kind = "view" if kind == "use" and run.assumed else kind
        number = id(tensor.base.array) if isinstance(tensor, CuteTensor) and tensor.base is not None else 0
        last = self.steps[-1] if self.steps else None
        again = last is not None and (last.kind, last.sums) == (kind, number) and (last.mask == run.mask).all()
        if number in self.sums and not again:
            self.add(run, kind, call, sums=number)

    def note_product(self, run: KernelRunner, call: Span, sums: LocalMemory, **values: Any) -> None:
        """Note a product that adds to accumulators, or sets them."""
        written = id(sums) in self.sums or sums.cells or sums.forgotten
        unset = None if written else self.made.get(id(sums))
        self.sums[id(sums)] = sums
        self.add(run, "product", call, sums=id(sums), unset=unset, **values)


def locate_tile(run: KernelRunner, tensor: Any) -> TileElements | None:
    """Return the elements of a tensor in shared memory; None if they are not known.

    The swizzle is left out, which copies and products of a tile share.
    """
    indices = list_element_indices(run, tensor)
    if indices is None or tensor.space != "shared":
        return None
    base, first = get_key((tensor.base, 0))
    return TileElements((base, 0), first + indices * tensor.base.type.size, tensor.base.type.size, tensor.operand)


def locate_operand(run: KernelRunner, tensor: Any) -> TileElements | None:
    """Return the elements of a fragment ((rows, k), MMA_M or _N[, MMA_K]) as [rows, k]; None if not known."""
    tile = locate_tile(run, tensor)
    modes: tuple[CuteLayout, ...] = tensor.layout.modes if tile is not None else ()
    if tile is None or not 2 <= len(modes) <= 3 or modes[0].rank != 2:
        return None
    sizes = (*(mode.size for mode in (*modes[0].modes, *modes[1:])), 1)[:4]
    rows, k, more, steps = sizes
    places = tile.places.reshape(steps, more, k, rows).transpose(1, 3, 0, 2).reshape(more * rows, steps * k)
    return replace(tile, places=places)


def list_element_indices(run: KernelRunner, tensor: Any) -> Ints | None:
    """Return the index of each element of a tensor for the running threads; None if it is not known, or they differ."""
    if not isinstance(tensor, CuteTensor) or tensor.layout.size > MOST_ELEMENTS or tensor.offset is None:
        return None
    if tensor.offset.const is None or any(abs(step) >= 1 << 62 for step in list_leaves(tensor.layout.stride)):
        return None
    firsts = set(spread_coefficient(tensor.offset.const, run.threads)[run.mask].tolist())
    if len(firsts) != 1:
        return None
    indices: Ints = algebra.strip_swizzle(tensor.layout).list_indices() + firsts.pop()
    return indices


def make_coordinate_strides(shape: Any) -> Any:
    """Return strides that give each coordinate its own bits of an index; None if the shape has too many modes."""
    count = len(list(list_leaves(shape)))
    if count > MOST_DIGITS:
        return None
    numbers = iter(range(count))

    def make(part: Any) -> Any:
        return tuple(map(make, part)) if isinstance(part, tuple) else 1 << DIGIT_BITS * next(numbers)

    return make(shape)


def split_coordinates(indices: Ints) -> Ints:
    """Return the coordinates of elements of a tensor that TMA copies: [elements, MOST_DIGITS]."""
    return np.stack([(indices >> DIGIT_BITS * n) & ((1 << DIGIT_BITS) - 1) for n in range(MOST_DIGITS)], axis=-1)
