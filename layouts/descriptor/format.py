"""A 64-bit matrix descriptor's format: its fields, and the codes of its swizzle modes. Its rows stand in
layouts/ptx/table/descriptors.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lanescope.bits import BitField, find_gaps
from lanescope.errors import LayoutError
from lanescope.shared.swizzle import Mode


@dataclass(frozen=True, slots=True)
class DescriptorFormat:
    """One format: who reads it, its fields from bit 0 on, mode → code in the field `coded`.

    constants: fields that hold one value in every word of this format; reader: the instruction that reads it;
    transpose: what says whether an operand is MN-major; element_bits: what it reads; narrow: others → what to do about
    them; turned: element bits → the modes in which such elements may be MN-major. usual: whether it is meant where a
    request names none; by_idesc: whether an instruction descriptor says sizes, types and majors of what reads it; runs:
    whether a run on hardware executes it; ignores: whether hardware takes no notice of bits of no field. readers:
    element bits → an instruction that reads such a tile, its N left out as {n}, or the kind of one. cutlass: C++'s type
    of such a word, and what stands before its members. example: a word that a page opens on; documented: that of the
    API's document, the same where it is ""; agrees: whose layouts its reads equal, and how many; notice: what to tell
    who pasted a word of it; kept_clear: (low, high, how a
    program keeps them 0) of reserved bits that a field runs over into. target: what it is read for, "" for any;
    block_bytes: shared memory of a block there; open: fields that, where they are not 0, leave open which bytes are
    read → what such a word says. ValueError if fields overlap or a code does not fit.
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
            raise ValueError(f"the codes of {self.name} do not fit their field, or two are the same")

    def __hash__(self) -> int:
        return hash(self.name)

    def get_field(self, name: str) -> BitField:
        """Return a field by its own name or its amount's; LayoutError lists them."""
        for known in self.fields:
            if name in (known.name, known.amount):
                return known
        raise LayoutError(
            "unknown_field",
            f"No field '{name}' in {self.name}.",
            f"It has {', '.join(f.name for f in self.fields)}.",
            "field",
        )

    def has_field(self, name: str) -> bool:
        """Return whether the format has a field of this name."""
        return any(name in (known.name, known.amount) for known in self.fields)

    @property
    def query(self) -> dict[str, str]:
        """The format as a request names it, with the target that it is read for: empty for the usual one."""
        return {} if self.usual else {"format": self.name, **({"target": self.target} if self.target else {})}

    @property
    def window_bytes(self) -> int:
        """Bytes that a start can address."""
        return self.get_field("start_address").mask + 1

    def matches_word(self, word: int) -> bool:
        """Return whether a word has the format's constants, and none of its reserved bits."""
        right = all(
            self.get_field(name).get(word) * self.get_field(name).unit == n for name, n in self.constants.items()
        )
        return right and not word & self.reserved_mask

    def format_place(self, name: str) -> str:
        """Return where a field is, as prose has it: `[63:62]`."""
        bits = self.get_field(name)
        return f"[{bits.high}:{bits.low}]"

    def get_field_name(self, bit: int) -> str:
        """Return the name of the field a bit belongs to, "" for a reserved one."""
        return next((f.name for f in self.fields if f.low <= bit <= f.high), "")

    def allows_elements(self, bits: int, major: str, mode: Mode | None = None) -> bool:
        """Return whether elements of a width are read in this major, and in this mode where one is given."""
        if major == "K":
            return True
        return bits in self.turned and (mode is None or mode in self.turned[bits])

    @property
    def reserved_mask(self) -> int:
        return sum(((1 << (high - low + 1)) - 1) << low for low, high in self.reserved)

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The modes by their codes, lowest first."""
        return tuple(sorted(self.codes, key=lambda mode: self.codes[mode]))

    @property
    def names(self) -> tuple[str, ...]:
        """The modes' names in the order of the row."""
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
        """Return a mode by name, in any case; LayoutError lists this format's."""
        for mode in self.codes:
            if mode.name.lower() == name.lower():
                return mode
        allowed = ", ".join(mode.name for mode in sorted(self.codes, key=lambda mode: mode.chunks))
        raise LayoutError("unknown_swizzle", f"No swizzle mode '{name}'.", f"Allowed: {allowed}.", self.coded)

    def format_field_value(self, word: int, bits: BitField) -> str:
        """Return what a field of a word says: bytes, a number, the mode's name, or that the code is reserved."""
        value = bits.get(word)
        if bits.name != self.coded:
            return f"{value * bits.unit}{' B' if bits.in_bytes else ''}"
        return next((mode.name for mode, code in self.codes.items() if code == value), f"reserved ({value})")
