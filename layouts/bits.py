"""Words and their bit fields.

Independent of GPUs. Reserved bits survive every change.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from lanescope.errors import LayoutError


def round_up(size: int, unit: int) -> int:
    """Return the least multiple of a unit that is at least a size.

    >>> round_up(33, 16), round_up(32, 16)
    (48, 32)
    """
    return -(-size // unit) * unit


@dataclass(frozen=True, slots=True)
class BitField:
    """Bits `low` to `high` of a word; the encoded value counts in `unit`s of the measured quantity.

    amount: the quantity's name with its unit (lbo_bytes). title, short, phrase: the field's name in headings, pictures
    and sentences. columns: characters of its input. of: what a unit above 1 counts. Missing names default to the
    field's own.
    """

    name: str
    low: int
    high: int
    unit: int = 1
    meaning: str = ""
    amount: str = ""
    title: str = ""
    short: str = ""
    phrase: str = ""
    columns: int = 3
    of: str = "bytes"
    most: int = field(init=False, repr=False)  # the largest encoded value

    def __post_init__(self) -> None:
        object.__setattr__(self, "most", (1 << self.width) - 1)
        for name in ("amount", "title", "short", "phrase"):
            object.__setattr__(self, name, getattr(self, name) or self.name)

    @property
    def in_bytes(self) -> bool:
        """Whether the field holds a number of bytes, in multiples of `unit`."""
        return self.unit > 1 and self.of == "bytes"

    @property
    def encoded_name(self) -> str:
        """The name of its encoded value: lbo_encoded where the quantity has another unit."""
        return f"{self.name}_encoded" if self.unit > 1 else self.name

    @property
    def label(self) -> str:
        """The label of its input: title, unit and bits."""
        place = f"{self.high}:{self.low}" if self.high > self.low else str(self.low)
        return f"{self.title}{', bytes' if self.in_bytes else ''} [{place}]"

    @property
    def mask(self) -> int:
        """The bits of a quantity that the field can represent, including those below its unit."""
        return self.most * self.unit + self.unit - 1

    def truncate(self, amount: int) -> int:
        """Return the encoded value of a quantity, truncated to the field's width as hardware and casts do."""
        return amount // self.unit & self.most

    @property
    def width(self) -> int:
        return self.high - self.low + 1

    def get(self, word: int) -> int:
        """Return the encoded value of the field."""
        return word >> self.low & self.most

    def put(self, word: int, value: int) -> int:
        """Return the word with this field replaced; LayoutError names the limit."""
        if not 0 <= value <= self.most:
            raise LayoutError(
                "bad_field",
                f"{self.name} is {value}, which does not fit {self.width} bits.",
                f"0 to {self.most}.",
                self.name,
            )
        return word & ~(self.most << self.low) | value << self.low

    def find_nearest(self, amount: int) -> int:
        """Return the amount nearest to a given one that the field can hold."""
        return min(max(amount + self.unit // 2, 0) // self.unit, self.most) * self.unit

    def encode(self, amount: int) -> int:
        """Return the encoded value of a quantity; LayoutError unless it is a multiple of the unit and fits."""
        if amount < 0 or amount % self.unit:
            raise LayoutError(
                "misaligned",
                f"{self.amount} is {amount}, not a multiple of {self.unit}.",
                f"Nearest: {self.find_nearest(amount)}.",
                self.name,
            )
        if amount // self.unit > self.most:
            most = self.most * self.unit
            raise LayoutError("bad_field", f"{self.amount} is {amount}.", f"At most {most}.", self.name)
        return amount // self.unit


def find_gaps(fields: tuple[BitField, ...], width: int = 64) -> tuple[tuple[int, int], ...]:
    """Return the (low, high) bit ranges that no field covers; ValueError if two fields overlap."""
    covered = [0] * width
    for entry in fields:
        for bit in range(entry.low, entry.high + 1):
            covered[bit] += 1
    if max(covered) > 1:
        raise ValueError("fields overlap")
    gaps: list[tuple[int, int]] = []
    for bit, count in enumerate(covered):
        if not count and gaps and gaps[-1][1] == bit - 1:
            gaps[-1] = (gaps[-1][0], bit)
        elif not count:
            gaps.append((bit, bit))
    return tuple(gaps)


def format_word(word: int) -> str:
    """Return a word as sixteen hex digits."""
    return f"0x{word:016x}"
