"""Parse the options of a product, `swizzle=128B,major=MN`, from text or an object."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from lanescope.errors import LayoutError
from lanescope.inputs import check_keys, parse_choice, parse_integer, shorten_value
from lanescope.product.plan import Options

LONGEST = 2000  # characters of one side's options
# A comma before the next name; commas inside a CuTe layout do not match.
_BETWEEN = re.compile(
    r",(?=\s*[a-z_][a-z0-9_]*\s*=)"
)  # a comma before the next name; commas inside a CuTe layout do not match


def parse_options(request: object, side: str) -> Options:
    """Parse options into name → text; LayoutError names what is not `name=value`."""
    if request is None:
        return {}
    if isinstance(request, Mapping):
        return {
            str(name): _format_option(value, f"{side}.{shorten_value(name)}")
            for name, value in request.items()
            if value is not None
        }
    if not isinstance(request, str):
        raise LayoutError(
            "bad_options", f"{side} is {shorten_value(request)}.", "Write name=value,name=value or an object.", side
        )
    if len(request) > LONGEST:
        raise LayoutError("bad_options", f"{side} has {len(request)} characters.", f"At most {LONGEST}.", side)
    options: Options = {}
    for item in filter(None, (part.strip() for part in _BETWEEN.split(request))):
        name, _, value = (part.strip() for part in item.partition("="))
        if not name or not value:
            raise LayoutError(
                "bad_options",
                f"'{shorten_value(item)}' is not an option of {side.upper()}.",
                "Write name=value, e.g. swizzle=128B.",
                side,
            )
        if name in options:
            raise LayoutError(
                "bad_options",
                f"'{shorten_value(name)}' of {side.upper()} occurs twice.",
                "Give every name once.",
                f"{side}.{shorten_value(name)}",
            )
        options[name] = value
    return options


def _format_option(value: object, field: str) -> str:
    """Return an option's value as text: a word, an integer, or 1 and 0 for true and false."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, str) or (isinstance(value, int) and abs(value) < 1 << 64):
        return str(value)
    raise LayoutError("bad_options", f"{field} is '{shorten_value(value)}'.", "Use text or an integer.", field)


@dataclass(frozen=True, slots=True)
class OptionReader:
    """The options of one side, each parsed with its field's name.

    full: the values that were read, including defaults; words: the choices of each option.
    """

    side: str
    options: Options
    allowed: tuple[str, ...]
    full: Options = field(default_factory=dict)
    words: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.allowed and self.options:
            raise LayoutError(
                "unknown_key",
                f"{self.side.upper()} has no options here.",
                f"'{shorten_value(min(self.options))}' was given.",
                self.side,
            )
        check_keys(self.options, self.allowed, self.side)

    def read_choice(self, name: str, allowed: tuple[str, ...], default: str = "") -> str:
        value = self.options.get(name, "")
        self.words[name] = allowed
        self.full[name] = parse_choice(value, f"{self.side}.{name}", allowed) if value else default or allowed[0]
        return self.full[name]

    def read_integer(self, name: str, default: int, least: int = 0, most: int | None = None) -> int:
        value = (
            parse_integer(self.options[name], f"{self.side}.{name}", least, most) if name in self.options else default
        )
        self.full[name] = str(value)
        return value

    def is_negated(self) -> bool:
        """Return whether an imm-scale is -1."""
        return self.read_choice("scale", ("1", "-1")) == "-1"

    def make_error(self, code: str, name: str, message: str, hint: str) -> LayoutError:
        return LayoutError(code, message, hint, f"{self.side}.{name}")


def collect_options(
    reads: Mapping[str, OptionReader],
) -> tuple[dict[str, Options], dict[str, Options], dict[str, dict[str, tuple[str, ...]]]]:
    """Return (all options by side, those in the request, the choices of each), in the order of the fields."""
    full = {s: {name: r.full.get(name, "") for name in r.allowed} for s, r in reads.items()}
    chosen = {s: {name: value for name, value in full[s].items() if name in r.options} for s, r in reads.items()}
    return full, chosen, {s: {name: r.words.get(name, ()) for name in r.allowed} for s, r in reads.items()}
