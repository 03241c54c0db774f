"""Arguments of a launch, encoded as the bytes of a kernel's parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lanescope.emulate.state.memory import Allocation
from lanescope.emulate.state.tensor_maps import MAP_BYTES
from lanescope.emulate.text.program import Variable
from lanescope.errors import LayoutError
from lanescope.inputs import find_nearest_word, format_count, join_words, parse_digits, quote_value
from lanescope.ptx.register_types import TYPES


@dataclass(frozen=True, slots=True)
class ArgumentValues:
    """The buffers and maps that an argument may name. maps: the bytes of tensor maps; placed: their addresses in global
    memory.
    """

    buffers: Mapping[str, Allocation]
    maps: Mapping[str, bytes]
    placed: Mapping[str, Allocation]

    def encode(self, value: object, parameter: Variable, field: str) -> bytes:
        """Return the bytes of an argument; LayoutError names the accepted forms."""
        if isinstance(value, dict):
            return _encode_hex(value, parameter, field)
        if isinstance(value, str) and parse_digits(value.strip().lstrip("-")) is None:
            return self._encode_name(value.strip(), parameter, field)
        return _encode_number(value, parameter, field)

    def _encode_name(self, name: str, parameter: Variable, field: str) -> bytes:
        if name in self.maps:
            if parameter.size != MAP_BYTES:
                raise _refuse(
                    field, f"'{name}', a tensor map of {MAP_BYTES} bytes", parameter, f"For its address give '&{name}'."
                )
            if parameter.align % 64:
                raise _refuse(field, f"'{name}', a tensor map", parameter, "A map by value is aligned to 64 bytes.")
            return self.maps[name]
        address = name.startswith("&")
        table = self.placed if address else self.buffers
        found = table.get(name.removeprefix("&"))
        if found is None:
            names = [*self.buffers, *self.maps, *(f"&{key}" for key in self.maps)]
            near = find_nearest_word(name, names)
            hint = (f"Did you mean '{near}'? " if near else "") + (
                f"The launch has {join_words(names)}." if names else "The launch has no buffer and no tensor map."
            )
            raise LayoutError("bad_argument", f"{field} is {quote_value(name)}.", hint, field)
        if parameter.size != 8 or TYPES[parameter.type].kind == "f":
            raise _refuse(field, f"'{name}', an address of 8 bytes", parameter, "An address needs a 64-bit parameter.")
        return found.base.to_bytes(8, "little")


def _describe(parameter: Variable) -> str:
    row = TYPES[parameter.type]
    return f".{row.name}" if parameter.size == row.bytes else f"a struct of {parameter.size} bytes"


def _refuse(field: str, what: str, parameter: Variable, hint: str) -> LayoutError:
    return LayoutError("bad_argument", f"{field} is {what}; {parameter.name} is {_describe(parameter)}.", hint, field)


def _encode_hex(value: dict[Any, Any], parameter: Variable, field: str) -> bytes:
    text = value.get("hex") if len(value) == 1 else None
    digits = "".join(text.split()).removeprefix("0x") if isinstance(text, str) else "?"
    try:
        raw = bytes.fromhex(digits)
    except ValueError:
        raise LayoutError(
            "bad_argument",
            f"{field} is {quote_value(text) if text else 'an object'}.",
            'Give the bytes in the order of memory, two digits each, as in {hex = "01000000"}.',
            field,
        ) from None
    if len(raw) != parameter.size:
        raise _refuse(field, format_count(len(raw), "byte"), parameter, f"Give {parameter.size} bytes.")
    return raw


def _encode_number(value: object, parameter: Variable, field: str) -> bytes:
    row = TYPES[parameter.type]
    if parameter.size != row.bytes:
        raise _refuse(
            field,
            quote_value(value),
            parameter,
            'Give its bytes, as in {hex = "…"}' + (", or a tensor map's name." if parameter.size == MAP_BYTES else "."),
        )
    number: float | int
    if isinstance(value, str):
        text = value.strip()
        digits = parse_digits(text.lstrip("-"))
        assert digits is not None
        number = -digits[0] if text.startswith("-") else digits[0]
    elif isinstance(value, int | float | np.integer | np.floating):
        number = value.item() if isinstance(value, np.generic) else value
    else:
        raise _refuse(field, quote_value(value), parameter, 'Give a number, a buffer, "&map", "map" or {hex = "…"}.')
    if row.kind == "f":
        return _encode_float(number, parameter, field)
    if isinstance(number, float):
        if not number.is_integer():
            raise _refuse(field, f"{number:g}", parameter, "Give an integer.")
        number = int(number)
    low, high = -(1 << row.bits - 1), (1 << row.bits) - 1
    if not low <= number <= high:
        raise _refuse(field, f"{number}", parameter, f"An integer from {low} to {high}.")
    return (int(number) & high).to_bytes(row.bytes, "little")


def _encode_float(number: float | int, parameter: Variable, field: str) -> bytes:
    row = TYPES[parameter.type]
    with np.errstate(over="ignore"):
        encoded = np.array(number, np.float64).astype(row.dtype)
    if np.isinf(encoded) and not np.isinf(float(number)):
        raise _refuse(field, f"{number:g}", parameter, f"It is past the largest number of .{row.name}.")
    return encoded.tobytes()
