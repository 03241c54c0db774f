"""The word of an instruction descriptor: its kind, its fields, and how it is written."""

from __future__ import annotations

from dataclasses import dataclass

from lanescope.blackwell.kind import FORMS, K_DIM_ARCHITECTURE, MmaKind
from lanescope.descriptor import spelling
from lanescope.descriptor.spelling import parse_word
from lanescope.errors import LayoutError
from lanescope.inputs import parse_choice, parse_integer, shorten_value
from lanescope.ptx.table.kinds import ALONE, KINDS, PAIR, WS
from lanescope.ptx.targets import strip_suffix

NAMES = tuple(kind.name for kind in KINDS)
MOST = (1 << 32) - 1
CALLED = {ALONE: ".cta_group::1", PAIR: ".cta_group::2", WS: ".ws"}
K96, K_OPEN = "96", "not documented"  # what the field of K may say


def get_kind(name: object) -> MmaKind:
    """Return a kind by its name, with or without `kind::`; LayoutError lists them."""
    text = name.strip().lower().removeprefix(".").removeprefix("kind::") if isinstance(name, str) else name
    choice = parse_choice(text, "kind", NAMES, "unknown_kind")
    return KINDS[NAMES.index(choice)]


def get_form(cta_group: object = "1", ws: object = "0") -> str:
    """Return the form that two words of a request name: cta_group 1 or 2, ws 0 or 1."""
    group = parse_integer(cta_group, "cta_group", 1, 2)
    if parse_integer(ws, "ws", 0, 1):
        if group == 2:
            raise LayoutError("bad_form", ".ws is issued by one CTA.", "cta_group: 1, or ws: 0.", "ws")
        return WS
    return FORMS[group - 1]


HINT = spelling.HINT.replace("16 hex", "8 hex").replace(" hi:lo, {lo, hi},", "")


def parse_idesc_word(value: object, field: str = "word") -> int:
    """Parse a 32-bit word in any spelling; LayoutError for more bits, with a hint for CUTLASS's 64-bit form."""
    try:
        word = parse_word(value, field).word
    except LayoutError as error:
        hint = HINT if error.hint == spelling.HINT else error.hint
        raise LayoutError(error.code, error.message, hint, field) from None
    decimal = str(value).strip()
    if word > MOST and decimal.isdecimal() and int(decimal) <= MOST:  # nine digits can only be decimal here
        word = int(decimal)
    if word <= MOST:
        return word
    hint = "An instruction descriptor has 32 bits."
    if not word & MOST:
        hint = f"CUTLASS's idescE holds it in the upper half: {word >> 32:#010x}."
    raise LayoutError("bad_word", f"'{shorten_value(str(value))}' has {word.bit_length()} bits.", hint, field)


def format_word(word: int) -> str:
    """Return a word as eight hex digits."""
    return f"0x{word:08x}"


@dataclass(frozen=True, slots=True)
class IdescWord:
    """An instruction descriptor of one kind, read for one target, or for any. Reserved bits are kept."""

    word: int
    kind: MmaKind
    target: str = ""

    @property
    def has_k_dim(self) -> bool:
        """Whether its target reads k_dim from it, and the bit is set: nobody documents which K that is."""
        return strip_suffix(self.target) == K_DIM_ARCHITECTURE and bool(self.word >> self.kind.k_dim_bit & 1)

    def format_field(self, name: str) -> str:
        """Return what a field says: a type, a size, "K" or "MN"; "no" for a field that this kind does not have."""
        if name == "k" and self.has_k_dim:
            return K_OPEN
        return self.kind.get_field(name).format_code(self.word) if self.kind.has_field(name) else "no"

    def get_code(self, name: str) -> int:
        """Return the code of a field, 0 for one that this kind does not have."""
        return self.kind.get_field(name).field.get(self.word) if self.kind.has_field(name) else 0

    @property
    def m(self) -> int:
        return self.get_code("m") * self.kind.get_field("m").field.unit

    @property
    def n(self) -> int:
        return self.get_code("n") * self.kind.get_field("n").field.unit

    @property
    def sparse(self) -> bool:
        return bool(self.get_code("sparse"))

    @property
    def k(self) -> int:
        """K of one instruction: twice as much with a sparse A; 96 where bit 31 of a 4-bit kind says so."""
        if self.format_field("k") == K96:
            return 96
        return self.kind.k * (2 if self.sparse else 1)

    @property
    def types(self) -> dict[str, str]:
        """The types of D, A and B; a scaled product is f32."""
        d = self.format_field("d") if self.kind.has_field("d") else "f32"
        return {"d": d, "a": self.format_field("a"), "b": self.format_field("b")}

    @property
    def reserved(self) -> int:
        k_dim = 1 << self.kind.k_dim_bit if self.has_k_dim else 0
        return self.word & self.kind.reserved_mask & ~k_dim

    def __str__(self) -> str:
        return format_word(self.word)


def get_factor_types(row: MmaKind, vector: str) -> dict[str, object]:
    """Return the type of scale factors that a vector demands, as a wish; empty for a kind without factors.

    ue8m0, except for 4X, which also takes ue4m3 (PTX ISA 9.1, Table 57).
    """
    return {"scale_type": "ue8m0"} if row.has_field("scale_type") and vector != "4X" else {}
