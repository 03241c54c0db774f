"""Linear layouts: every bit of an index has a basis; a coordinate is the XOR of the bases of the set bits.

    register = [[0,1],[8,0]], lane = [[0,2],[0,4],[1,0],[2,0],[4,0]]        the C fragment of m16n8k16

Triton converts every layout to this form (Zhou et al., arXiv 2505.23819; include/triton/Tools/LinearLayout.h).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod

import numpy as np
from numpy.typing import NDArray

from lanescope.cute.layout import CuteLayout
from lanescope.cute.tuples import make_compact_strides, unwrap_single
from lanescope.errors import LayoutError

Basis = tuple[int, ...]
Longs = NDArray[np.int64]


def log2(count: int) -> int:
    """Return the exponent of a power of two; LayoutError for another number."""
    if count < 1 or count & (count - 1):
        raise LayoutError(
            "bad_layout", f"{count} is not a power of two.", "Sizes of Triton's layouts are powers of two.", "text"
        )
    return count.bit_length() - 1


@dataclass(frozen=True, slots=True)
class LinearLayout:
    """A linear layout.

    bases: name of an index (register, lane, warp, block, offset) → one basis per bit, lowest first; sizes: of each
    axis; order: the axes as they grow, fastest first.
    """

    bases: Mapping[str, tuple[Basis, ...]]
    sizes: tuple[int, ...]
    order: tuple[int, ...]

    @property
    def rank(self) -> int:
        return len(self.sizes)

    def count_values(self, name: str) -> int:
        """Return the number of values of an index."""
        return 1 << len(self.bases.get(name, ()))

    def __mul__(self, other: LinearLayout) -> LinearLayout:
        """Return the product: the bases of self, then those of `other` scaled by self's sizes."""
        bases = {name: list(vectors) for name, vectors in self.bases.items()}
        for name, vectors in other.bases.items():
            scaled = [tuple(v * s for v, s in zip(basis, self.sizes, strict=True)) for basis in vectors]
            bases.setdefault(name, []).extend(scaled)
        sizes = tuple(a * b for a, b in zip(self.sizes, other.sizes, strict=True))
        return LinearLayout({name: tuple(vectors) for name, vectors in bases.items()}, sizes, self.order)

    def grow_to(self, shape: Sequence[int]) -> LinearLayout:
        """Return a layout of at least a shape: the first index is extended along every short axis, fastest first."""
        name, layout = next(iter(self.bases)), self
        for axis in self.order:
            if layout.sizes[axis] < shape[axis]:
                layout = layout * make_identity(name, shape[axis] // layout.sizes[axis], axis, self.rank, self.order)
        return layout

    def cut_to(self, shape: Sequence[int], drop: bool = False) -> LinearLayout:
        """Return a layout of at most a shape: bits beyond it become copies; drop: remove those of the first index."""
        name = next(iter(self.bases))
        bases = {key: [list(basis) for basis in vectors] for key, vectors in self.bases.items()}
        dropped: set[int] = set()
        for axis, size in enumerate(shape):
            for key, at in [
                (key, at) for key, vectors in bases.items() for at, b in enumerate(vectors) if b[axis] >= size
            ]:
                bases[key][at][axis] = 0
                if key == name and not any(bases[key][at]):
                    dropped.add(at)
        sizes = tuple(map(min, self.sizes, shape))
        if drop:
            bases[name] = [basis for at, basis in enumerate(bases[name]) if at not in dropped]
        return LinearLayout({k: tuple(tuple(b) for b in vectors) for k, vectors in bases.items()}, sizes, self.order)

    def drop_axis(self, axis: int) -> LinearLayout:
        """Return the layout without one axis; bits of the first index that become copies are removed."""
        name = next(iter(self.bases))
        short = {k: tuple(b[:axis] + b[axis + 1 :] for b in vectors) for k, vectors in self.bases.items()}
        short[name] = tuple(basis for basis in short[name] if any(basis))
        order = tuple(a - (a > axis) for a in self.order if a != axis)
        return LinearLayout(short, self.sizes[:axis] + self.sizes[axis + 1 :], order)

    def permute_axes(self, axes: Sequence[int]) -> LinearLayout:
        """Return the layout with its axes permuted: axis n of the result is axis axes[n]."""
        place = {axis: n for n, axis in enumerate(axes)}
        bases = {k: tuple(tuple(b[a] for a in axes) for b in vectors) for k, vectors in self.bases.items()}
        return LinearLayout(bases, tuple(self.sizes[a] for a in axes), tuple(place[a] for a in self.order))

    def list_coordinates(self, axis: int, names: Iterable[str]) -> Longs:
        """Return the coordinates along one axis: int64, one array axis per index name, slowest first."""
        coordinates = np.zeros((), dtype=np.int64)
        for name in names:
            coordinates = np.asarray(coordinates[..., None] ^ self._walk_bases(axis, name))
        return coordinates

    def _walk_bases(self, axis: int, name: str) -> Longs:
        values = np.zeros(1, dtype=np.int64)
        for basis in self.bases.get(name, ()):
            values = np.concatenate([values, values ^ basis[axis]])
        return values

    def list_bases(self) -> dict[str, list[list[int]]]:
        """Return the bases as lists."""
        return {name: [list(basis) for basis in vectors] for name, vectors in self.bases.items()}

    def make_cute_layout(self, names: Sequence[Sequence[str]]) -> CuteLayout | None:
        """Return the CuTe layout with a mode per group of indices, over coordinates with the first axis fastest.

        None if bases share bits (a swizzle): CuTe adds what a linear layout XORs.
        """
        steps = make_compact_strides(self.sizes)
        flat = {
            name: [sum(v * s for v, s in zip(basis, steps, strict=True)) for basis in vectors]
            for name, vectors in self.bases.items()
        }
        groups = [[value for name in group for value in flat.get(name, ())] for group in names]
        every = [value for group in groups for value in group]
        if sum(every) != reduce(lambda a, b: a | b, every, 0):
            return None
        modes = [_merge_digits(group) for group in groups]
        shapes, strides = (tuple(unwrap_single(digit[part] for digit in mode) for mode in modes) for part in (0, 1))
        return CuteLayout(shapes, strides)


def make_identity(name: str, count: int, axis: int, rank: int, order: Sequence[int]) -> LinearLayout:
    """Return the layout of an index along one axis."""
    bases = tuple(tuple(1 << bit if n == axis else 0 for n in range(rank)) for bit in range(log2(count)))
    return LinearLayout({name: bases}, tuple(count if a == axis else 1 for a in range(rank)), tuple(order))


def make_copies(name: str, count: int, rank: int, order: Sequence[int]) -> LinearLayout:
    """Return the layout of an index whose values are all copies."""
    return LinearLayout({name: ((0,) * rank,) * log2(count)}, (1,) * rank, tuple(order))


def make_block(
    name: str, shape: Sequence[int], order: Sequence[int], grows: Sequence[int] | None = None
) -> LinearLayout:
    """Return the layout of an index that fills a shape, axis order[0] fastest."""
    rank = len(shape)
    block = LinearLayout({name: ()}, (1,) * rank, tuple(grows or order))
    for axis in order:
        block = block * make_identity(name, shape[axis], axis, rank, order)
    return block


def combine_cluster(
    of_block: LinearLayout, of_cluster: LinearLayout, shape: tuple[int, ...], drop: bool = False
) -> LinearLayout:
    """Return the product of one block's layout, fitted to its part of the shape, and that of the cluster."""
    cluster = of_cluster.cut_to(shape)
    part = [max(1, size // cluster_size) for size, cluster_size in zip(shape, cluster.sizes, strict=True)]
    return of_block.grow_to(part).cut_to(part, drop) * cluster


def _merge_digits(values: Iterable[int]) -> list[tuple[int, int]]:
    """Return the (size, stride) modes of bits with these strides, lowest first; contiguous bits become one mode."""
    digits: list[tuple[int, int]] = []
    for value in values:
        if digits and digits[-1][0] * digits[-1][1] == value:  # also where both are 0
            digits[-1] = (2 * digits[-1][0], digits[-1][1])
        else:
            digits.append((2, value))
    return digits or [(1, 0)]


def linear_from_cute(layout: CuteLayout, tile: Sequence[int]) -> LinearLayout:
    """Return the linear layout of a thread-value layout over a tile; LayoutError if it is not linear."""
    if layout.swizzle or layout.offset or layout.rank != 2 or isinstance(layout.shape, int):
        raise LayoutError(
            "not_linear", f"'{layout}' is not a thread-value layout.", "Two modes without a swizzle.", "cute"
        )
    bases: dict[str, tuple[Basis, ...]] = {}
    steps = make_compact_strides(tuple(tile))
    for key, mode in zip(("lane", "register"), layout.modes, strict=True):
        vectors: list[Basis] = []
        index = mode.list_indices()
        bits = mode.size.bit_length() - 1
        if mode.size != 1 << bits:
            raise LayoutError(
                "not_linear",
                f"The {'threads' if key == 'lane' else 'values'} of '{layout}' are {mode.size}, not a power of two.",
                "A linear layout has one basis per bit.",
                "cute",
            )
        for bit in range(bits):
            at = int(index[1 << bit])
            vectors.append(tuple(at // step % size for step, size in zip(steps, tile, strict=True)))
        bases[key] = tuple(vectors)
    lanes = bases["lane"]
    cut = log2(32)
    linear = LinearLayout(
        {"register": bases["register"], "lane": lanes[:cut], "warp": lanes[cut:], "block": ()},
        tuple(tile),
        tuple(range(len(tile))),
    )
    expected = layout.list_indices().reshape(-1, layout.modes[0].size)
    indices = sum(
        linear.list_coordinates(axis, ("register", "warp", "lane")).reshape(expected.shape) * step
        for axis, step in enumerate(steps)
    )
    if int(layout.list_indices().max()) >= prod(tile) or not np.array_equal(expected, indices):
        raise LayoutError(
            "not_linear",
            f"'{layout}' is not linear: its sums carry, so that they are not the XOR of one basis per bit.",
            "Give strides that are powers of two and do not overlap, in a tile whose sizes are powers of two.",
            "cute",
        )
    return linear
