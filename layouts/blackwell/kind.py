"""The kinds of tcgen05.mma: the fields of their instruction descriptors, codes, legal M and N.

Rows: ptx/table/kinds.py.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from lanescope.bits import BitField, find_gaps
from lanescope.errors import LayoutError

FORMS = ("cta_group::1", "cta_group::2", "ws")  # issued by one CTA, by a pair, or weight-stationary
IDESC_BITS = 32
RUBIN = "sm_107"  # the architecture whose descriptors have more fields
K_BYTES = 32  # of a row of dense A or B that one MMA reads, for every kind


@dataclass(frozen=True, slots=True)
class KindField:
    """One field of an instruction descriptor.

    codes: name → code; empty if the field holds a number. chosen: requests give it by such a name (a type), not as a
    number or a flag.
    """

    field: BitField
    codes: Mapping[str, int] = dataclasses.field(default_factory=dict)
    chosen: bool = False

    @property
    def name(self) -> str:
        return self.field.name

    def format_code(self, word: int) -> str:
        """Format the field of a word: a name, a number, or "reserved (3)".

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
    """One kind of tcgen05.mma.

    parts      its fields from bit 0 on; k: of a dense product
    sizes      (form, sparse) → legal M and N; other combinations are illegal
    scaled     vector size of the scale factors → the ids a step may use; empty without block scaling
    needs      D type → the only types that A and B may then have
    turned     the types that may be MN-major
    selectors  number of sparsity selectors; kept: (stored, group) of a sparse A's row
    alike      whether only equal types of A and B are documented, although the codes allow two

    ValueError if fields overlap or a code does not fit.
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
    _fields: Mapping[str, KindField] = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_fields", {part.name: part for part in self.parts})
        object.__setattr__(self, "gaps", find_gaps(tuple(part.field for part in self.parts), IDESC_BITS))
        for part in self.parts:
            if part.codes and max(part.codes.values()) > part.field.most:
                raise ValueError(f"a code of {part.name} of kind {self.name} does not fit its field")

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def element_bits(self) -> int:
        """The bits that an element of A or B takes in memory: f8f6f4 and mxf8f6f4 pad 4 and 6 bits to a byte."""
        return K_BYTES * 8 // self.k

    def get_field(self, name: str) -> KindField:
        """Return a field by its name; LayoutError lists the names."""
        if part := self._fields.get(name):
            return part
        raise LayoutError(
            "unknown_field", f"kind::{self.name} has no field '{name}'.", f"It has {', '.join(self._fields)}.", "field"
        )

    def has_field(self, name: str) -> bool:
        return name in self._fields

    @property
    def reserved_mask(self) -> int:
        """The bits that must be 0."""
        return sum(((1 << (high - low + 1)) - 1) << low for low, high in self.gaps)
