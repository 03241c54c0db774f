"""The format of a 64-bit matrix descriptor: fields and codes of the swizzle modes. Rows: ptx/table/descriptors.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lanescope.bits import BitField, find_gaps
from lanescope.errors import LayoutError
from lanescope.shared.swizzle import Mode


@dataclass(frozen=True, slots=True)
class DescriptorFormat:
    """A descriptor format: its fields from bit 0 on, and swizzle mode → code in the field `coded`.

    constants    fields with a constant value in this format
    reader       the instruction that reads it
    by_idesc     whether an instruction descriptor gives sizes, types and majors
    transpose    what selects an MN-major operand, for sentences
    element_bits the element sizes that are read; narrow: other sizes → advice
    turned       element bits → the modes in which such elements may be MN-major
    usual        whether it is the default format of requests
    runs         whether hardware runs execute it; ignores: whether hardware ignores bits outside the fields
    readers      element bits → an instruction that reads such a tile, with {n} for N, or the kind of one
    cutlass      the C++ type of a word, and the prefix of its members
    example      the word that a page opens with; documented: the word in the API's documentation ("": the same)
    agrees       evidence for its address model; notice: a remark for a pasted word
    kept_clear   (low, high, advice) of reserved bits into which a field may overflow
    target       the target it applies to, "" for any; block_bytes: the shared memory of a block there
    open         fields that make the read bytes undocumented if they are not 0 → the reason

    ValueError if fields overlap or a code does not fit.
    """

    name: str
    fields: tuple[BitField, ...]
    codes: Mapping[Mode, int]
    source: str
    coded: str = "swizzle"
    constants: Mapping[str, int] = field(default_factory=dict)
    reader: str = "wgmma"
    transpose: str = "Its transpose immediate"
    element_bits: tuple[int, ...] = ()
    narrow: Mapping[int, str] = field(default_factory=dict)
    turned: Mapping[int, tuple[Mode, ...]] = field(default_factory=dict)
    usual: bool = False
    by_idesc: bool = False
    runs: bool = False
    ignores: bool = False
    readers: Mapping[int, str] = field(default_factory=dict)
    cutlass: tuple[str, str] = ("", "")
    example: str = "0x0000000000000000"
    documented: str = ""
    agrees: str = ""
    notice: str = ""
    kept_clear: tuple[tuple[int, int, str], ...] = ()
    target: str = ""
    block_bytes: int = 227 * 1024
    open: Mapping[str, str] = field(default_factory=dict)
    reserved: tuple[tuple[int, int], ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "reserved", find_gaps(self.fields))
        object.__setattr__(self, "documented", self.documented or self.example)
        if max(self.codes.values()) > self.get_field(self.coded).most or len(set(self.codes.values())) < len(
            self.codes
        ):
            raise ValueError(f"the codes of {self.name} do not fit their field, or two are equal")

    def __hash__(self) -> int:
        return hash(self.name)

    def get_field(self, name: str) -> BitField:
        """Return a field by its name or the name of its amount. LayoutError lists the names."""
        for bits in self.fields:
            if name in (bits.name, bits.amount):
                return bits
        raise LayoutError(
            "unknown_field",
            f"No field '{name}' in {self.name}.",
            f"It has {', '.join(f.name for f in self.fields)}.",
            "field",
        )

    def has_field(self, name: str) -> bool:
        """Return whether the format has a field of this name."""
        return any(name in (bits.name, bits.amount) for bits in self.fields)

    @property
    def query(self) -> dict[str, str]:
        """The parameters of a request that select this format and target; empty for the usual format."""
        return {} if self.usual else {"format": self.name, **({"target": self.target} if self.target else {})}

    @property
    def window_bytes(self) -> int:
        """The size of the window that a start address can address."""
        return self.get_field("start_address").mask + 1

    def matches_word(self, word: int) -> bool:
        """Return whether a word has the format's constants and no reserved bits set."""
        right = all(
            self.get_field(name).get(word) * self.get_field(name).unit == n for name, n in self.constants.items()
        )
        return right and not word & self.reserved_mask

    def format_place(self, name: str) -> str:
        """Format the bits of a field: `[63:62]`."""
        bits = self.get_field(name)
        return f"[{bits.high}:{bits.low}]"

    def get_field_name(self, bit: int) -> str:
        """Return the name of the field that contains a bit, "" for a reserved bit."""
        return next((f.name for f in self.fields if f.low <= bit <= f.high), "")

    def allows_elements(self, bits: int, major: str, mode: Mode | None = None) -> bool:
        """Return whether elements of a size can be read in this major (and mode, unless None)."""
        if major == "K":
            return True
        return bits in self.turned and (mode is None or mode in self.turned[bits])

    @property
    def reserved_mask(self) -> int:
        return sum(((1 << (high - low + 1)) - 1) << low for low, high in self.reserved)

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The modes in ascending order of their codes."""
        return tuple(sorted(self.codes, key=lambda mode: self.codes[mode]))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the modes, in the order of `codes`."""
        return tuple(mode.name for mode in self.codes)

    def get_mode(self, code: int) -> Mode:
        """Return the mode of a code; LayoutError for a reserved one."""
        for mode, mode_code in self.codes.items():
            if mode_code == code:
                return mode
        allowed = ", ".join(f"{self.codes[mode]} {mode.name}" for mode in self.modes)
        raise LayoutError(
            "reserved_code", f"Swizzle code {code} is reserved in {self.name}.", f"Allowed: {allowed}.", self.coded
        )

    def get_mode_by_name(self, name: str) -> Mode:
        """Return a mode by name, ignoring case; LayoutError lists this format's modes."""
        for mode in self.codes:
            if mode.name.lower() == name.lower():
                return mode
        allowed = ", ".join(mode.name for mode in sorted(self.codes, key=lambda mode: mode.chunks))
        raise LayoutError("unknown_swizzle", f"No swizzle mode '{name}'.", f"Allowed: {allowed}.", self.coded)

    def format_field_value(self, word: int, bits: BitField) -> str:
        """Format the value of a field: bytes, a number, the mode's name, or "reserved (3)"."""
        value = bits.get(word)
        if bits.name != self.coded:
            return f"{value * bits.unit}{' B' if bits.in_bytes else ''}"
        return next((mode.name for mode, code in self.codes.items() if code == value), f"reserved ({value})")
