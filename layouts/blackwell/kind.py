"""The kinds of tcgen05.mma: which fields the 32-bit instruction descriptor of each has, what their codes mean, and
which M and N are legal. Its rows stand in layouts/ptx/table/kinds.py.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from lanescope.bits import BitField, find_gaps
from lanescope.errors import LayoutError

FORMS = ("cta_group::1", "cta_group::2", "ws")  # how an MMA is issued: by one CTA, a pair, or weights stationary
IDESC_BITS = 32
RUBIN = "sm_107"  # the architecture whose descriptors have more fields
K_BYTES = 32  # of a row of a dense A or B that one MMA reads, whatever its kind


@dataclass(frozen=True, slots=True)
class KindField:
    """One field of an instruction descriptor.

    codes: what its codes are called; none where the field holds a number. chosen: a wish gives it by such a name (a
    type), not as a number or a flag.
    """

    field: BitField
    codes: Mapping[str, int] = dataclasses.field(default_factory=dict)
    chosen: bool = False

    @property
    def name(self) -> str:
        return self.field.name

    def format_code(self, word: int) -> str:
        """Return what the field of a word says: a name, a number, or that the code is reserved.

        >>> KindField(BitField("a", 7, 9), {"f16": 0, "bf16": 1}, True).format_code(3 << 7)
        'reserved (3)'
        """
        code = self.field.get(word)
        if not self.codes:
            return str(code * self.field.unit)
        return next((name for name, known in self.codes.items() if known == code), f"reserved ({code})")

    def is_legal(self, word: int) -> bool:
        """Return whether the code has a meaning in this kind."""
        return not self.codes or self.field.get(word) in self.codes.values()


@dataclass(frozen=True, slots=True)
class LegalSizes:
    """The M and N that one form of a kind may have."""

    m: tuple[int, ...]
    n: tuple[int, ...]
    n_words: str


@dataclass(frozen=True, slots=True)
class MmaKind:
    """One kind: its parts from bit 0 on, K of a dense product, and (form, sparse) → sizes; what is not there is
    illegal.

    scaled: factors along K by the text's scale_vec, empty without block scaling, each with the ids a step may take.
    needs: D type → the only types A and B may then have. turned: the types that may be MN-major. selectors: of
    sparsity metadata, from 0 on; kept: how many of every group of a sparse A's row are stored. alike: whether A and B
    are known with one type alone, though the codes allow two. ValueError if fields overlap or a code does not fit.
    """

    name: str
    parts: tuple[KindField, ...]
    k: int
    sizes: Mapping[tuple[str, bool], LegalSizes]
    source: str
    scaled: Mapping[str, tuple[int, ...]] = dataclasses.field(default_factory=dict)
    needs: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    turned: tuple[str, ...] = ()
    selectors: int = 1
    kept: tuple[int, int] = (2, 4)
    alike: bool = False
    gaps: tuple[tuple[int, int], ...] = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "gaps", find_gaps(tuple(part.field for part in self.parts), IDESC_BITS))
        for part in self.parts:
            if part.codes and max(part.codes.values()) > part.field.most:
                raise ValueError(f"a code of {part.name} of kind {self.name} does not fit its field")

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def element_bits(self) -> int:
        """Bits that an element of A or B takes in memory: f8f6f4 and mxf8f6f4 pad 4 and 6 bits to bytes, 16 elements in
        16 bytes."""
        return K_BYTES * 8 // self.k

    def get_field(self, name: str) -> KindField:
        """Return a part by its name; LayoutError lists them."""
        for part in self.parts:
            if part.name == name:
                return part
        raise LayoutError(
            "unknown_field",
            f"kind::{self.name} has no field '{name}'.",
            f"It has {', '.join(part.name for part in self.parts)}.",
            "field",
        )

    def has_field(self, name: str) -> bool:
        return any(part.name == name for part in self.parts)

    @property
    def reserved_mask(self) -> int:
        """The bits that must be 0."""
        return sum(((1 << (high - low + 1)) - 1) << low for low, high in self.gaps)
