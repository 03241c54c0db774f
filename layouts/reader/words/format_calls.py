"""Calls of CUTLASS's functions that return the code of an element type in an instruction descriptor.

CUTLASS, cute/arch/mma_sm100_desc.hpp.
"""

from __future__ import annotations

import re

from lanescope.blackwell.kind import MmaKind
from lanescope.inputs import join_words
from lanescope.ptx.table.kinds import KINDS
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


def list_kinds(text: str) -> list[MmaKind]:
    """List the kinds of tcgen05.mma that have the types of all such calls in a text.

    >>> [kind.name for kind in list_kinds("to_UMMAFormat<int8_t>(), to_CFormat<int32_t>()")]
    ['i8']
    """
    members = [member for match in _CALL.finditer(text) if (member := _find_member(match))]
    return [row for row in KINDS if all(_has_member(row, *member) for member in members)]


def _has_member(row: MmaKind, enum: str, member: str) -> bool:
    """Return whether a kind has a type: of A or B those of its enum, of D and of the factors any with its code."""
    field, kinds = ELEMENT_FORMATS[enum]
    names = row.get_field(field).codes if row.has_field(field) else {}
    return (field != "a" or row.name in kinds) and any(TYPE_NAMES.get(name, name.upper()) == member for name in names)


def recognise_format_call(text: str) -> tuple[TextMeaning, ...]:
    """Return the meaning of a text that is only such a call; () for other texts."""
    match = _CALL.fullmatch(text.strip().rstrip(";").strip())
    if match is None or (member := _find_member(match)) is None:
        return _refuse_call(text)
    field, _ = ELEMENT_FORMATS[member[0]]
    named = join_words([f"kind::{kind.name}" for kind in list_kinds(text)], "or")
    notice = f"It is the value of {_FIELDS[field]} in an instruction descriptor of {named}."
    title = f"{member[0]}::{member[1]}: {MEMBERS[member]}"
    return (TextMeaning("topic", title, {"topic": "idesc"}, (notice,), True),)


def _refuse_call(text: str) -> tuple[TextMeaning, ...]:
    """Return that CUTLASS's function does not accept the type of a call in a text; () if each has its value."""
    for match in _CALL.finditer(text):
        if parse_element_type(match["type"]) and _find_member(match) is None:
            notice = (
                f"CUTLASS's to_{match['enum']}Format does not accept {match['type']}. For A and B it takes CUTLASS's"
                " own types, such as half_t and bfloat16_t, for D half_t, float or int32_t."
            )
            return (TextMeaning("topic", "tcgen05 instruction descriptor", {"topic": "idesc"}, (notice,)),)
    return ()


def _find_member(match: re.Match[str]) -> tuple[str, str] | None:
    """Return the enum and the member that a call returns; None if its type has none, as those of CUDA's headers."""
    if not (match["type"].endswith("_t") or match["type"] in ("float", "int")):
        return None
    name = parse_element_type(match["type"])
    member = TYPE_NAMES.get(name, name.upper())
    enums = [f"{match['enum']}Format"]
    if match["enum"] == "UMMA":  # one byte of e2m1 has two elements unless they are unpacked
        enums = ["MXF4Format"] if name == "e2m1" and "unpack" not in match["type"] else [*_OF_UMMA]
    return next(((enum, member) for enum in enums if (enum, member) in MEMBERS), None)
