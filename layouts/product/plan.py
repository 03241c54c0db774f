"""A whole product with one instruction: where its operands lie, in how many steps of K, and which immediates say so.

lanescope.product.planning reads options into a Plan; lanescope.render.kernel writes the program, app/hardware runs it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

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
    """One multiplicand. mn × k stored elements, `products` times (m8n8k4 .f16: four); a unit is what has an address of
    its own.

    major: which way lies side by side in global memory, and in shared memory where the operand is staged there.
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
        """Bits of a unit: an element, or the byte that several share."""
        return max(8, self.container_bits)

    @property
    def unit_bytes(self) -> int:
        return self.unit_bits // 8

    @property
    def per_unit(self) -> int:
        """Elements a unit."""
        return self.unit_bits // self.container_bits

    @property
    def padding_below(self) -> int:
        """Bits of padding below an element in its container."""
        return self.element.count_padding_below(self.container_bits)

    @property
    def units_k(self) -> int:
        """Units along K."""
        return self.k // self.per_unit

    @property
    def lines(self) -> int:
        """Lines of all products: rows of K where K-major, of M or N where MN-major."""
        return self.products * (self.mn if self.major == "K" else self.k)

    @property
    def line_units(self) -> int:
        return self.units_k if self.major == "K" else self.mn

    @property
    def units(self) -> int:
        return self.lines * self.line_units

    @property
    def end(self) -> int:
        """The first byte of shared memory behind the operand; 0 where it is not staged there."""
        return 0


@dataclass(frozen=True)
class DescribedSide(ProductSide, ABC):
    """A multiplicand of wgmma in shared memory, read through a descriptor a step.

    step: stored elements of K an instruction reads; word: the descriptor a program was told to use, its start counted
    from shared memory's first byte, None for the right one.
    """

    step: int = field(kw_only=True)
    word: Descriptor | None = field(kw_only=True, default=None)

    @property
    def view(self) -> View:
        """How one instruction looks at the operand."""
        return View(self.mn, self.step, self.element.bits, self.major)

    @property
    @abstractmethod
    def base(self) -> int:
        """The first byte of shared memory it takes."""

    @abstractmethod
    def address(self, mn: Any, k: Any) -> Any:
        """Return the shared-memory address in bytes of element (mn, k) of the product; arguments broadcast."""

    @abstractmethod
    def get_start(self, step: int) -> int:
        """Return the byte at which a step begins, before the XOR, counted from any fixed place."""

    @abstractmethod
    def get_right_descriptor(self, step: int) -> Descriptor:
        """Return the descriptor that reads a step where it is stored."""

    def get_descriptor(self, step: int) -> Descriptor:
        """Return the word of a step, its start counted from shared memory's first byte."""
        if self.word is None:
            return self.get_right_descriptor(step)
        moved = self.word.start_address + self.get_start(step) - self.get_start(0)
        return self.word.replace(start_address_encoded=START.truncate(moved))


@dataclass(frozen=True, slots=True)
class TiledSide(DescribedSide):
    """In a canonical tile, from row `first` on."""

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
    """Stored in another way: rows, panels, or a CuTe layout. `words`: the descriptor of every step that reads it
    exactly.
    """

    where: Storage = field(kw_only=True)
    words: tuple[Descriptor, ...] = field(kw_only=True)

    @property
    def base(self) -> int:
        return self.where.base

    @cached_property
    def end(self) -> int:
        at = self.where.address(np.arange(self.mn)[:, None], np.arange(self.k)[None, :])
        return int(np.max(at)) + self.unit_bytes

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
    """A multiplicand of a warp's mma in shared memory: lines `pitch_bytes` apart, XORed by offset; loaded by ldmatrix
    where `chain` says how.
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
    """A multiplicand of wmma in shared memory as wmma.load reads it: lines `ldm` elements apart, beginning at byte
    `base`.
    """

    ldm: int = field(kw_only=True)
    base: int = field(kw_only=True)
    layout: str = field(kw_only=True)

    @property
    def end(self) -> int:
        return self.base + self.lines * self.ldm * self.container_bits // 8


@dataclass(frozen=True, slots=True)
class ProductPlan:
    """Everything a program needs. options: all of them by side, spelled in full ("" if there is none); chosen: those
    that were given; words: what each takes, empty for a number.

    accumulate: whether D begins as C; selector: of the metadata; ids: byte-id and thread-id of scale_a and scale_b;
    d_layout and d_ldm: how wmma.load.c and wmma.store.d see C and D.
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
        """Elements of K of the whole product."""
        return self.steps * self.instruction.sizes["k"]

    @property
    def a_from(self) -> str:
        return "shared" if isinstance(self.a, DescribedSide) else "registers"

    @property
    def shared_bytes(self) -> int:
        """Dynamic shared memory of a block: both operands, and whatever a descriptor of the caller's reads."""
        reads = [
            find_read_end(side, self.steps)
            for side in (self.a, self.b)
            if isinstance(side, DescribedSide) and side.word
        ]
        return max(self.a.end, self.b.end, *reads, 0)

    @property
    def immediates(self) -> dict[str, int]:
        """The template parameters of the wrapper that are not at their defaults' place: every one, by name, in the
        wrapper's order.
        """
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
    """Return the end of the bytes that the steps read through the caller's descriptor."""
    size = max(1, side.element.bits // 8)
    return max(int(desc.reads(side.get_descriptor(step), side.view).max()) + size for step in range(steps))
