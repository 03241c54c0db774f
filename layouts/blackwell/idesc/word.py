"""The word of an instruction descriptor: its kind, its fields, parsing and formatting."""

from __future__ import annotations

from dataclasses import dataclass

from lanescope.blackwell.kind import FORMS, RUBIN, MmaKind
from lanescope.descriptor import spelling
from lanescope.descriptor.spelling import parse_word
from lanescope.errors import LayoutError
from lanescope.inputs import parse_choice, parse_integer, shorten_value
from lanescope.ptx.table.kinds import ALONE, KINDS, PAIR, RUBIN_KINDS, WS
from lanescope.ptx.targets import strip_suffix

NAMES = tuple(kind.name for kind in KINDS)
MOST = (1 << 32) - 1
CALLED = {ALONE: ".cta_group::1", PAIR: ".cta_group::2", WS: ".ws"}
K96, K128 = "96", "128"  # values of the field of K


def get_kind(name: object, target: str = "") -> MmaKind:
    """Return a kind by its name, with or without `kind::`, with the fields of a target; LayoutError lists the names."""
    text = name.strip().lower().removeprefix(".").removeprefix("kind::") if isinstance(name, str) else name
    choice = parse_choice(text, "kind", NAMES, "unknown_kind")
    return fit_kind(KINDS[NAMES.index(choice)], target)


def fit_kind(row: MmaKind, target: str) -> MmaKind:
    """Return a kind with the fields that it has on a target ("" for any)."""
    return RUBIN_KINDS[row.name] if strip_suffix(target) == RUBIN else KINDS[NAMES.index(row.name)]


def get_form(cta_group: object = "1", ws: object = "0") -> str:
    """Return the form that cta_group (1 or 2) and ws (0 or 1) of a request select."""
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
    if word > MOST and decimal.isdecimal() and int(decimal) <= MOST:  # more than eight digits are decimal
        word = int(decimal)
    if word <= MOST:
        return word
    hint = "An instruction descriptor has 32 bits."
    if not word & MOST:
        hint = f"CUTLASS's idescE holds it in the upper half: {word >> 32:#010x}."
    raise LayoutError("bad_word", f"'{shorten_value(str(value))}' has {word.bit_length()} bits.", hint, field)


def format_word(word: int) -> str:
    """Format a word as eight hex digits."""
    return f"0x{word:08x}"


@dataclass(frozen=True, slots=True)
class IdescWord:
    """An instruction descriptor of one kind on a target ("" for any). Reserved bits are kept."""

    word: int
    kind: MmaKind
    target: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", fit_kind(self.kind, self.target))

    @property
    def on_rubin(self) -> bool:
        return strip_suffix(self.target) == RUBIN

    def format_field(self, name: str) -> str:
        """Format the value of a field: a type, a size, "K" or "MN"; "no" for a field that this kind does not have."""
        if name == "k" and self.get_code("k_high"):
            return "reserved (3)" if self.get_code("k") else K128
        return self.kind.get_field(name).format_code(self.word) if self.kind.has_field(name) else "no"

    def get_code(self, name: str) -> int:
        """Return the code of a field; 0 for one that this kind does not have."""
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
        """The K of one instruction, doubled for a sparse A; 0 if its code has no meaning."""
        text = self.format_field("k") if self.kind.has_field("k") else str(self.kind.k)
        if text == K96 and not self.on_rubin:
            return 96
        return int(text) * (2 if self.sparse else 1) if text.isdecimal() else 0

    @property
    def is_wide(self) -> bool:
        """Whether K of an 8-bit kind is twice the usual (only on sm_107)."""
        return self.on_rubin and self.kind.element_bits == 8 and bool(self.get_code("k"))

    def has_open_packing(self, operand: str) -> bool:
        """Return whether A or B has a type of 4 or 6 bits without padding, whose layout is not documented."""
        return self.is_wide and self.types[operand] in ("e3m2", "e2m3", "e2m1")

    @property
    def types(self) -> dict[str, str]:
        """The types of D, A and B; D of a scaled product is f32."""
        d = self.format_field("d") if self.kind.has_field("d") else "f32"
        return {"d": d, "a": self.format_field("a"), "b": self.format_field("b")}

    @property
    def reserved(self) -> int:
        return self.word & self.kind.reserved_mask

    def __str__(self) -> str:
        return format_word(self.word)


def get_factor_types(row: MmaKind, vector: str) -> dict[str, object]:
    """Return the field of the scale factors' type if the vector size determines it: ue8m0, except for 4X.

    PTX ISA 9.1, Table 57.
    """
    return {"scale_type": "ue8m0"} if row.has_field("scale_type") and vector != "4X" else {}
