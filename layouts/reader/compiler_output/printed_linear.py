"""Spell the linear layouts that Triton's debugger and tests print as Gluon's classes. Triton, LinearLayout::toString:

- register=1 -> (0, 1)
  register=2 -> (8, 0)
- warp is a size 1 dimension
where out dims are: [dim0 (size 16), dim1 (size 2)]
"""

from __future__ import annotations

import re

_LONGEST = 64  # lines of a print: bits of the inputs
_LINE = r"[ \t]*-?[ \t]*(?:[a-z]\w{0,15}=\d{1,9} -> \([-\d, ]{1,60}\)|[a-z]\w{0,15} is a size 1 dimension)[ \t]*\n"
_PRINT = re.compile(rf"(?P<bases>(?:{_LINE}){{1,{_LONGEST}}})[ \t]*where out dims are: \[(?P<sizes>[^\]\n]{{1,120}})\]")
_BASIS = re.compile(r"([a-z]\w*)=(\d+) -> \(([-\d, ]+)\)|([a-z]\w*) is a size 1")
_COORDINATES = re.compile(r"-?\d{1,9}(?:, ?-?\d{1,9})*")
_SIZE = re.compile(r"dim(\d) \(size (\d{1,9})\)")
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
    return _PRINT.sub(_spell, text) if "where out dims are" in text else text


def _spell(match: re.Match[str]) -> str:
    sizes = [(int(dim), int(size)) for dim, size in _SIZE.findall(match["sizes"])]
    bases = _parse_bases(match["bases"], [dim for dim, _ in sizes])
    if bases is None:
        return match[0]
    for name, first, arguments in _CLASSES:
        if first in bases and bases.keys() <= arguments.keys():
            shown = ", ".join(f"{argument}={bases.get(dim, [])}" for dim, argument in arguments.items())
            shape = f", shape={[size for _, size in sorted(sizes)]}" if name == "DistributedLinearLayout" else ""
            return f"gl.{name}({shown}{shape})"
    return match[0]


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
