"""Calls of CUTLASS's functions that return the code of an element type in an instruction descriptor.

CUTLASS, cute/arch/mma_sm100_desc.hpp.
"""

from __future__ import annotations

import re

from lanescope.inputs import join_words
from lanescope.reader.code.naming.header_names import ELEMENT_FORMATS, MEMBERS, TYPE_NAMES
from lanescope.reader.cute.umma import parse_element_type
from lanescope.reader.meaning import TextMeaning

_CALL = re.compile(
    r"(?<![\w.])(?:\w+::){0,4}to_(?P<enum>UMMA|C|Scale|F16F32|S8|MXF8F6F4|MXF4)Format\s*<\s*(?:\w+::){0,3}(?P<type>\w+)"
    r"\s*>\s*(?:\(\s*\))?"
)
_OF_UMMA = ("F16F32Format", "S8Format", "MXF8F6F4Format")
_FIELDS = {"a": "a_format_ and b_format_", "d": "c_format_", "scale_type": "scale_format_"}


def expand_calls(text: str) -> str:
    """Write each such call of a known type as its value.

    >>> expand_calls("d.a_format_ = uint8_t(UMMA::to_UMMAFormat<bfloat16_t>());")
    'd.a_format_ = uint8_t(1);'
    """
    return _CALL.sub(lambda match: match[0] if (found := _find_member(match)) is None else str(MEMBERS[found]), text)


def recognise_format_call(text: str) -> tuple[TextMeaning, ...]:
    """Return the meaning of a text that is only such a call; () for other texts."""
    match = _CALL.fullmatch(text.strip().rstrip(";").strip())
    if match is None or (member := _find_member(match)) is None:
        return ()
    field, kinds = ELEMENT_FORMATS[member[0]]
    named = join_words([f"kind::{kind}" for kind in kinds], "or")
    notice = f"It is the value of {_FIELDS[field]} in an instruction descriptor of {named}."
    title = f"{member[0]}::{member[1]}: {MEMBERS[member]}"
    return (TextMeaning("topic", title, {"topic": "idesc"}, (notice,), True),)


def _find_member(match: re.Match[str]) -> tuple[str, str] | None:
    """Return the enum and the member that a call returns; None if its type has none."""
    name = parse_element_type(match["type"])
    member = TYPE_NAMES.get(name, name.upper())
    enums = [f"{match['enum']}Format"]
    if match["enum"] == "UMMA":  # one byte of e2m1 has two elements unless they are unpacked
        enums = ["MXF4Format"] if name == "e2m1" and "unpack" not in match["type"] else [*_OF_UMMA]
    return next(((enum, member) for enum in enums if (enum, member) in MEMBERS), None)
