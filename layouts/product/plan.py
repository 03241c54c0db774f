"""A complete product with one instruction: the storage of its operands, the steps of K, and the immediates.

lanescope.product.planning parses options into a plan; lanescope.render.kernel writes the program, app/hardware runs it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from lanescope.descriptor import matrix as desc
from lanescope.descriptor.matrix import Descriptor, View
from lanescope.errors import LayoutError
from lanescope.ptx.dtypes import DType
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.table.descriptors import START
from lanescope.shared.chain import Chain
from lanescope.shared.storage import Storage
from lanescope.shared.swizzle import Mode
from lanescope.shared.tiling import Tile

Options = dict[str, str]


@dataclass(frozen=True)
class ProductSide:
    """One multiplicand: mn × k stored elements, `products` times (four for m8n8k4 .f16).

    major: the contiguous dimension in global memory, and in shared memory if the operand is staged there. A unit is the
    smallest part that has an address.
    """

    letter: str
    element: DType
    container_bits: int
    mn: int
    k: int
    major: str
    products: int = 1
    negated: bool = False

    @property
    def unit_bits(self) -> int:
        """The bits of a unit: of an element, or of the byte that several share."""
        return max(8, self.container_bits)

    @property
    def unit_bytes(self) -> int:
        return self.unit_bits // 8

    @property
    def per_unit(self) -> int:
        """The elements per unit."""
        return self.unit_bits // self.container_bits

    @property
    def padding_below(self) -> int:
        """The bits of padding below an element in its container."""
        return self.element.count_padding_below(self.container_bits)

    @property
    def units_k(self) -> int:
        """The units along K."""
        return self.k // self.per_unit

    @property
    def lines(self) -> int:
        """The lines of all products: rows along K if K-major, along M or N if MN-major."""
        return self.products * (self.mn if self.major == "K" else self.k)

    @property
    def line_units(self) -> int:
        return self.units_k if self.major == "K" else self.mn

    @property
    def units(self) -> int:
        return self.lines * self.line_units

    @property
    def end(self) -> int:
        """The first byte of shared memory after the operand; 0 if it is not staged there."""
        return 0


@dataclass(frozen=True)
class DescribedSide(ProductSide, ABC):
    """A multiplicand of wgmma in shared memory, with a descriptor per step.

    step: stored elements of K per instruction; word: a descriptor to use instead of the right one, its start relative
    to shared memory's first byte; None for the right one.
    """

    step: int = field(kw_only=True)
    word: Descriptor | None = field(kw_only=True, default=None)

    @property
    def view(self) -> View:
        """How one instruction reads the operand."""
        return View(self.mn, self.step, self.element.bits, self.major)

    @property
    @abstractmethod
    def base(self) -> int:
        """The first byte of shared memory that it takes."""

    @abstractmethod
    def address(self, mn: Any, k: Any) -> Any:
        """Return the shared-memory address in bytes of element (mn, k) of the product; arguments broadcast."""

    @abstractmethod
    def get_start(self, step: int) -> int:
        """Return the start of a step in bytes, before the XOR, relative to an arbitrary address."""

    @abstractmethod
    def get_right_descriptor(self, step: int) -> Descriptor:
        """Return the descriptor that reads a step in its storage."""

    def get_descriptor(self, step: int) -> Descriptor:
        """Return the descriptor of a step, its start relative to shared memory's first byte."""
        if self.word is None:
            return self.get_right_descriptor(step)
        moved = self.word.start_address + self.get_start(step) - self.get_start(0)
        return self.word.replace(start_address_encoded=START.truncate(moved))


@dataclass(frozen=True, slots=True)
class TiledSide(DescribedSide):
    """Stored in a canonical tile, from row `first` on."""

    tile: Tile = field(kw_only=True)
    first: int = field(kw_only=True, default=0)

    @property
    def base(self) -> int:
        return self.tile.base

    @property
    def end(self) -> int:
        return self.tile.base + self.tile.bytes

    def address(self, mn: Any, k: Any) -> Any:
        return self.tile.address(self.first + mn, k)

    def get_start(self, step: int) -> int:
        return int(self.tile.compute_offset_before(self.first, step * self.step))

    def get_right_descriptor(self, step: int) -> Descriptor:
        return self.tile.descriptor(self.first, step * self.step, self.step, self.mn)


@dataclass(frozen=True)
class PlacedSide(DescribedSide):
    """Stored as rows, panels, or a CuTe layout. words: the descriptor that reads each step exactly."""

    where: Storage = field(kw_only=True)
    words: tuple[Descriptor, ...] = field(kw_only=True)

    @property
    def base(self) -> int:
        return self.where.base

    @cached_property
    def end(self) -> int:
        return int(self.where.compute_addresses(self.mn, self.k).max()) + self.unit_bytes

    def address(self, mn: Any, k: Any) -> Any:
        return self.where.address(mn, k)

    def get_start(self, step: int) -> int:
        placed = self.where.placed
        assert placed is not None
        return int(placed.before(0, step * self.step, 0)) >> 3

    def get_right_descriptor(self, step: int) -> Descriptor:
        if not 0 <= step < len(self.words):
            hint = f"Allowed: 0 to {len(self.words) - 1}." if self.words else "A descriptor was given in its place."
            raise LayoutError("illegal_step", f"No right word of {self.letter.upper()}'s step {step}.", hint, "step")
        return self.words[step]


@dataclass(frozen=True, slots=True)
class RowsSide(ProductSide):
    """A multiplicand of a warp's mma in shared memory: lines `pitch_bytes` apart, XORed by offset.

    It is loaded by ldmatrix if `chain` is given.
    """

    pitch_bytes: int = field(kw_only=True)
    mode: Mode = field(kw_only=True)
    base: int = field(kw_only=True)
    chain: Chain | None = None

    @property
    def end(self) -> int:
        size = self.lines * self.pitch_bytes
        return self.base + -(-size // self.mode.pattern_bytes) * self.mode.pattern_bytes

    def address(self, line: Any, byte: Any) -> Any:
        """Return the shared-memory address of a line's byte; arguments broadcast."""
        return self.base + self.mode.swizzle()(line * self.pitch_bytes + byte)


@dataclass(frozen=True, slots=True)
class WmmaSide(ProductSide):
    """A multiplicand of wmma in shared memory for wmma.load: lines `ldm` elements apart, starting at byte `base`."""

    ldm: int = field(kw_only=True)
    base: int = field(kw_only=True)
    layout: str = field(kw_only=True)

    @property
    def end(self) -> int:
        return self.base + self.lines * self.ldm * self.container_bits // 8


@dataclass(frozen=True, slots=True)
class ProductPlan:
    """Everything that a program needs.

    options: all options by side, complete ("" if there is none); chosen: those in the request; words: the choices of
    each, empty for a number; accumulate: whether D starts as C; selector: of the metadata; ids: byte-id and thread-id
    of scale_a and scale_b; d_layout, d_ldm: of C and D for wmma.load.c and wmma.store.d.
    """

    instruction: Instruction
    a: ProductSide
    b: ProductSide
    steps: int
    options: dict[str, Options]
    chosen: dict[str, Options]
    words: dict[str, dict[str, tuple[str, ...]]]
    accumulate: bool = True
    selector: int = 0
    ids: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    d_layout: str = "row"
    d_ldm: int = 0

    @property
    def k(self) -> int:
        """The K of the complete product."""
        return self.steps * self.instruction.sizes["k"]

    @property
    def a_from(self) -> str:
        return "shared" if isinstance(self.a, DescribedSide) else "registers"

    @property
    def shared_bytes(self) -> int:
        """The dynamic shared memory of a block: both operands, and what a given descriptor reads."""
        reads = [
            find_read_end(side, self.steps)
            for side in (self.a, self.b)
            if isinstance(side, DescribedSide) and side.word
        ]
        return max(self.a.end, self.b.end, *reads, 0)

    @property
    def immediates(self) -> dict[str, int]:
        """Return the wrapper's template parameters by name, in its order; {} where all are the defaults."""
        immediates = {"f": self.selector} if self.instruction.operands["a"].sparsity else {}
        if self.instruction.family.by_descriptor:
            if self.instruction.types["d"] != "s32":
                immediates |= {f"imm_scale_{side.letter}": -1 if side.negated else 1 for side in (self.a, self.b)}
            if self.a.container_bits == 16:
                tiled = [side for side in (self.a, self.b) if isinstance(side, DescribedSide)]
                immediates |= {f"imm_trans_{side.letter}": int(side.major == "MN") for side in tiled}
        for letter, (byte_id, thread_id) in self.ids.items():
            immediates |= {f"byte_id_{letter}": byte_id, f"thread_id_{letter}": thread_id}
        return immediates


def find_read_end(side: DescribedSide, steps: int) -> int:
    """Return the end of the bytes that the steps read through a given descriptor."""
    size = max(1, side.element.bits // 8)
    return max(int(desc.reads(side.get_descriptor(step), side.view).max()) + size for step in range(steps))
