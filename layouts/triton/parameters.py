"""Read and check the parameters of a layout."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value
from lanescope.triton.linear import Basis, LinearLayout, log2, make_copies, make_identity

Params = Mapping[str, Any]
LANES, WAVE_LANES = 32, 64  # of a warp, or wave32; of a wave of AMD's CDNA GPUs
WARP_LANES = (LANES, WAVE_LANES)
MOST_RANK, MOST_SIZE = 8, 1 << 16
DISTRIBUTED = ("blocked", "nvidia_mma", "dot_op", "slice", "linear", "generic_linear", "amd_mfma", "amd_wmma")
TENSOR = ("tensor_memory_encoding", "tensor_memory_scales_encoding")
SHARED = ("swizzled_shared", "nvmma_shared", "padded_shared", "shared_linear")
INDICES = ("register", "lane", "warp", "block")


def make_error(message: str, hint: str, field: str = "text") -> LayoutError:
    return LayoutError("bad_triton", message, hint, field)


@dataclass(frozen=True, slots=True)
class LayoutParameters:
    """The parameters of one layout; every read_… method raises LayoutError for an invalid value."""

    kind: str
    params: Params

    def read_sizes(self, name: str, rank: int | None = None, default: Sequence[int] | None = None) -> tuple[int, ...]:
        """Return a list of powers of two, or of axes if the name is an order."""
        value = self.params.get(name, default)
        is_valid = isinstance(value, list | tuple) and all(type(n) is int and 0 <= n <= MOST_SIZE for n in value)
        if is_valid and value is not None and rank is not None and len(value) != rank:
            raise make_error(
                f"{self.kind}: {name} is {shorten_value(str(list(value)), 60)}, and the tensor's rank is {rank}.",
                f"A list of {rank} number{'s' * (rank > 1)}, one for each axis"
                + (f"; or a tensor of rank {len(value)}" if 1 <= len(value) <= MOST_RANK else "")
                + (
                    f"; or #ttg.slice<{{dim = 0, parent = #ttg.{self.kind}<…>}}> of this layout"
                    * (len(value) == rank + 1)
                )
                + ".",
            )
        if value is None or not is_valid:
            expected = f"{rank} numbers" if rank else "numbers"
            raise make_error(
                f"{self.kind}: {name} is {shorten_value(str(value), 60)}.", f"A list of {expected}: [1, 4]."
            )
        for n in value if "rder" not in name else ():
            log2(n)
        return tuple(value)

    def read_order(self, name: str, rank: int, default: Sequence[int] | None = None) -> tuple[int, ...]:
        order = self.read_sizes(name, rank, default)
        if sorted(order) != list(range(rank)):
            raise make_error(
                f"{self.kind}: {name} is {list(order)}.", f"Every axis from 0 to {rank - 1} once, the fastest first."
            )
        return order

    def read_number(self, name: str, least: int = 0, most: int = MOST_SIZE, default: int | None = None) -> int:
        value = self.params.get(name, default)
        if type(value) is not int or not least <= value <= most:
            raise make_error(
                f"{self.kind}: {name} is {shorten_value(str(value), 40)}.", f"An integer from {least} to {most}."
            )
        return value

    def read_flag(self, name: str) -> bool:
        """Return a boolean; false by default."""
        value = self.params.get(name, False)
        if type(value) is not bool:
            raise make_error(f"{self.kind}: {name} is {shorten_value(str(value), 40)}.", "true or false.")
        return value

    def read_bases(self, name: str, rank: int) -> tuple[Basis, ...]:
        """Return a list of bases; empty by default."""
        bases = self.params.get(name, [])
        is_valid = isinstance(bases, list) and all(
            isinstance(b, list) and len(b) == rank and all(type(n) is int and 0 <= n < MOST_SIZE for n in b)
            for b in bases
        )
        if not is_valid or len(bases) > 24:
            each = "1 coordinate" if rank == 1 else f"{rank} coordinates"
            raise make_error(f"{self.kind}: {name} is {shorten_value(str(bases), 60)}.", f"A list of bases of {each}.")
        return tuple(tuple(basis) for basis in bases)

    def make_cga_layout(self, rank: int) -> LinearLayout:
        """Return the layout of the blocks of a cluster: CGALayout's bases, or CTAsPerCGA, CTASplitNum and CTAOrder."""
        if "CGALayout" in self.params:
            bases = self.read_bases("CGALayout", rank)
            return LinearLayout(
                {"block": bases}, get_reached_sizes({"block": bases}, rank, self.kind), tuple(reversed(range(rank)))
            )
        ones = (1,) * rank
        ctas, split = self.read_sizes("CTAsPerCGA", rank, ones), self.read_sizes("CTASplitNum", rank, ones)
        order = self.read_order("CTAOrder", rank, tuple(reversed(range(rank))))
        layout = make_copies("block", 1, rank, order)
        for axis in order:
            if ctas[axis] % split[axis]:
                raise make_error(
                    f"{self.kind}: CTASplitNum {list(split)} does not divide CTAsPerCGA {list(ctas)}.", "Give divisors."
                )
            layout = layout * make_identity("block", split[axis], axis, rank, order)
            layout = layout * make_copies("block", ctas[axis] // split[axis], rank, order)
        return layout


Maker = Callable[[LayoutParameters, tuple[int, ...], int], LinearLayout]


def make_layout(
    kinds: Mapping[str, Maker], kind: str, params: Params, shape: Sequence[int], element_bits: int
) -> LinearLayout:
    """Return the linear layout of a kind over a tensor; LayoutError if it does not cover the tensor."""
    if not 1 <= len(shape) <= MOST_RANK:
        raise make_error(f"shape has {len(shape)} sizes.", f"From 1 to {MOST_RANK}.", "shape")
    for size in shape:
        if size > MOST_SIZE or size < 1 or size & (size - 1):
            raise make_error(
                f"shape is {list(shape)}.", f"Powers of two up to {MOST_SIZE}, as Triton's tensors have.", "shape"
            )
    make = kinds.get(kind)
    if make is None:
        raise LayoutError(
            "unsupported_layout", f"No maps of '{shorten_value(kind)}'.", f"Allowed: {', '.join(kinds)}.", "text"
        )
    layout = make(LayoutParameters(kind, params), tuple(shape), element_bits)
    if layout.sizes != tuple(shape):
        raise make_error(
            f"{kind} covers {list(layout.sizes)}, the tensor is {list(shape)}.",
            "Give a layout of the tensor's rank and size.",
        )
    return layout


def get_reached_sizes(bases: Mapping[str, Sequence[Basis]], rank: int, kind: str) -> tuple[int, ...]:
    """Return the size of each axis that bases span; LayoutError if some element is not reached."""
    every = [basis for group in bases.values() for basis in group]
    sizes = tuple(1 << max([v.bit_length() for v in (basis[axis] for basis in every)] or [0]) for axis in range(rank))
    vectors, pivots = [sum(v << (17 * axis) for axis, v in enumerate(basis)) for basis in every], 0
    while vectors := [v for v in vectors if v]:
        top = max(vectors)
        high = 1 << (top.bit_length() - 1)
        vectors = [v ^ top if v & high and v != top else v for v in vectors if v != top]
        pivots += 1
    if 1 << pivots < prod(sizes):
        raise make_error(
            f"{kind}: its bases reach {1 << pivots} of the {prod(sizes)} elements of {list(sizes)}.",
            "Every element needs a register, lane, warp or block that holds it.",
        )
    return sizes
