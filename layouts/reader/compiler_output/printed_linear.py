"""Spell the linear layouts that Triton's debugger and tests print as Gluon's classes. Triton, LinearLayout::toString:

- register=1 -> (0, 1)
  register=2 -> (8, 0)
- warp is a size 1 dimension
where out dims are: [dim0 (size 16), dim1 (size 2)]

Also its constructors, LinearLayout.from_bases([("register", [[0, 1]]), …], ["dim0", "dim1"]) in Python and
LinearLayout({{S("register"), {{0, 1}}}, …}, {S("dim0"), S("dim1")}) in C++, and a mapping of the bases,
LinearLayout({"register": [[0, 1]], …}).
"""

from __future__ import annotations

import json
import re
from typing import Any

from lanescope.cxx.source_text import find_closing, strip_comments
from lanescope.errors import LayoutError

_LONGEST = 64  # lines of a print: bits of the inputs
_LINE = r"[ \t]*-?[ \t]*(?:[a-z]\w{0,15}=\d{1,9} -> \([-\d, ]{1,60}\)|[a-z]\w{0,15} is a size 1 dimension)[ \t]*\n"
_PRINT = re.compile(rf"(?P<bases>(?:{_LINE}){{1,{_LONGEST}}})[ \t]*where out dims are: \[(?P<sizes>[^\]\n]{{1,120}})\]")
_BASIS = re.compile(r"([a-z]\w*)=(\d+) -> \(([-\d, ]+)\)|([a-z]\w*) is a size 1")
_COORDINATES = re.compile(r"-?\d{1,9}(?:, ?-?\d{1,9})*")
_SIZE = re.compile(r"dim(\d) \(size (\d{1,9})\)")
_CALL = re.compile(r"\bLinearLayout(?:\.from_bases|\s+\w+)?\s*\((?=\s*[\[{])")
_ALONE = re.compile(r"\s*(?:\w+(?:\.|::))*LinearLayout(?:\.from_bases|\s+\w+)?\s*\(.*\)\s*;?\s*", re.S)
_NAME = re.compile(r'\b(?:S|str_attr)\("(\w+)"\)')
_BRACKETS = str.maketrans("{}()", "[][]")
_TUPLES = str.maketrans("()", "[]")
_FLAG = re.compile(r"\b(?:True|False)\b")
_MAPPING = re.compile(r'\s*\{\s*"[^{}]*\}')
_TRAILING = re.compile(r",(?=\s*[]})])")
_CLASSES = (  # Gluon's class, an input that it has, and its argument for each input
    (
        "DistributedLinearLayout",
        "register",
        {"register": "reg_bases", "lane": "lane_bases", "warp": "warp_bases", "block": "block_bases"},
    ),
    ("SharedLinearLayout", "offset", {"offset": "offset_bases", "block": "block_bases"}),
)


def spell_printed_layouts(text: str) -> str:
    """Return a text with each print of a linear layout spelled as a Gluon class; other prints are left.

    >>> spell_printed_layouts("- offset=1 -> (1)\\n  offset=2 -> (2)\\nwhere out dims are: [dim0 (size 4)]")
    'gl.SharedLinearLayout(offset_bases=[[1], [2]], block_bases=[])'
    """
    text = _PRINT.sub(_spell, text) if "where out dims are" in text else text
    for match in reversed(list(_CALL.finditer(text))):
        end = find_closing(text, match.end() - 1)
        spelled = _spell_call(text[match.end() : end])
        text = f"{text[: match.start()]}{spelled}{text[end + 1 :]}" if spelled else text
    return text


def refuse_open_call(text: str) -> None:
    """Raise LayoutError if a text is nothing but a constructor that `spell_printed_layouts` leaves."""
    if _ALONE.fullmatch(text):
        hint = 'Write a vector for each bit: LinearLayout({"register": [[0, 1]], "lane": [[0, 2], [1, 0]]}).'
        raise LayoutError("bad_layout", "The bases of this LinearLayout are not lists of numbers.", hint, "text")


def _spell_call(arguments: str) -> str:
    """Return a constructor's layout as a Gluon class, "" if its arguments are not numbers and names."""
    listed = _NAME.sub(r'"\1"', strip_comments(arguments)).replace("'", '"')
    listed = _FLAG.sub(lambda flag: flag[0].lower(), _TRAILING.sub("", listed))
    try:
        bases, dims, *rest = _parse_arguments(listed)
        if all(isinstance(dim, list) for dim in dims):  # with their sizes
            dims, rest = [name for name, _ in dims], [[size for _, size in dims]]
        order = sorted(range(len(dims)), key=lambda n: int(dims[n].removeprefix("dim")))
        inputs = {name: [_order_basis(basis, order) for basis in vectors] for name, vectors in bases}
        given = rest[0] if rest and isinstance(rest[0], list) and len(rest[0]) == len(order) else []
        reached = [_measure(inputs, n) for n in range(len(order))]
        sizes = _require_sizes([int(given[n]) for n in order], reached) if given else reached
    except (ValueError, TypeError, AttributeError, IndexError):
        return ""
    return _spell_class(inputs, list(enumerate(sizes)))


def _parse_arguments(listed: str) -> list[Any]:
    """Parse a constructor's bases and dimensions, which a mapping of the bases may leave out; ValueError for others."""
    mapping = _MAPPING.match(listed)
    if mapping is None:
        arguments: list[Any] = json.loads(f"[{listed.translate(_BRACKETS)}]")
        return arguments
    bases = [*json.loads(mapping[0].translate(_TUPLES)).items()]
    rest = json.loads(f"[{listed[mapping.end() :].lstrip(' ,').translate(_BRACKETS)}]")
    return [bases, *(rest or [[f"dim{n}" for n, _ in enumerate(bases[0][1][0])]])]


def _require_sizes(stated: list[int], reached: list[int]) -> list[int]:
    """Return the stated sizes of the outputs; ValueError if the bases reach beyond one."""
    if any(size < least for size, least in zip(stated, reached, strict=True)):
        raise ValueError(stated)
    return stated


def _order_basis(basis: list[Any], order: list[int]) -> list[int]:
    """Return the coordinates of a basis in the order of the dimensions; ValueError if their number differs."""
    if len(basis) != len(order):
        raise ValueError(basis)
    return [int(basis[n]) for n in order]


def _measure(bases: dict[str, list[list[int]]], dim: int) -> int:
    """Return the size of an output that the bases reach: the power of two above all of its coordinates."""
    return 1 << max((basis[dim].bit_length() for vectors in bases.values() for basis in vectors), default=0)


def _spell(match: re.Match[str]) -> str:
    sizes = [(int(dim), int(size)) for dim, size in _SIZE.findall(match["sizes"])]
    bases = _parse_bases(match["bases"], [dim for dim, _ in sizes])
    return (_spell_class(bases, sizes) if bases is not None else "") or match[0]


def _spell_class(bases: dict[str, list[list[int]]], sizes: list[tuple[int, Any]]) -> str:
    """Return the Gluon class of a layout with these inputs, "" if there is none. sizes: those of the outputs."""
    for name, first, arguments in _CLASSES:
        if first in bases and bases.keys() <= arguments.keys():
            shown = ", ".join(f"{argument}={bases.get(dim, [])}" for dim, argument in arguments.items())
            shape = f", shape={[size for _, size in sorted(sizes)]}" if name == "DistributedLinearLayout" else ""
            return f"gl.{name}({shown}{shape})"
    return ""


def _parse_bases(text: str, dims: list[int]) -> dict[str, list[list[int]]] | None:
    """Return the bases of each input, in the order of the dimensions; None if a line is missing or has other outputs.

    dims: the outputs in the order of the print.
    """
    bases: dict[str, list[list[int]]] = {}
    for name, at, to, trivial in _BASIS.findall(text):
        of_name = bases.setdefault(name or trivial, [])
        if trivial:
            continue
        if not _COORDINATES.fullmatch(to):
            return None
        values = [int(value) for value in to.split(",")]
        if int(at) != 1 << len(of_name) or len(values) != len(dims):
            return None
        of_name.append([value for _, value in sorted(zip(dims, values, strict=True))])
    return bases
