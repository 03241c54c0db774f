"""Parse a TTGIR module's layouts with their tensors and operations, and its layout conversions.

Only types and operation names are parsed: `tensor<…, #blocked>` and `!ttg.memdesc<…>` after an operation. Aliases
(`#blocked = #ttg.blocked<…>`) are expanded, so each layout's text is self-contained. Source: Triton 3.9's output.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lanescope.cxx.sizes import ELEMENT_BITS, find_mlir_bits
from lanescope.cxx.source_text import split_list

_ALIAS = re.compile(r"^[^\S\n]*(#\w+)\s*=\s*(#[\w.]+[^\S\n]*)", re.MULTILINE)
_SECTION = re.compile(r"^[ \t]*//[ \t]*-{4,}[ \t]*$", re.M)  # separates the inputs of a test file
_COMMENT = re.compile(r"//[^\n]*|\\(?=\n)")  # also of lines that end with a backslash, as in FileCheck
_NAME = re.compile(r"#\w+\b(?![.\w]|\s*=)")
_OP = re.compile(r'^\s*(?:%[\w#:, %-]+=\s*)?"?([a-z_]\w*(?:\.\w+)+)"?')
_TYPE = re.compile(r"\b(tensor|memdesc)\s*<")
_DIMS = re.compile(r"\s*((?:\d+x)+)\s*(!?[\w.]+)")
_TRAIT = re.compile(r"\"?(ttg\.num-warps|ttg\.num-ctas|ttg\.target|ttg\.threads-per-warp)\"?\s*=\s*(\"[^\"]*\"|\d+)")
MOST_MOVES = 256  # different conversions listed
MOST_LAYOUTS, MOST_LINES, LONGEST_LAYOUT = 64, 20_000, 2048


@dataclass(frozen=True, slots=True)
class TensorType:
    """A tensor's type: sizes, element type, bits (None for pointers and unknown types), and the layout's text."""

    shape: tuple[int, ...]
    element: str
    bits: int | None
    layout: str
    names: tuple[str, ...]

    def __str__(self) -> str:
        return f"{'x'.join(map(str, self.shape))}x{self.element}"


@dataclass(frozen=True, slots=True)
class ModuleLayout:
    """A layout of a module. text: with aliases expanded; names: its aliases; tensors: the types with this layout, the
    most frequent first; ops: operation → number of its types with this layout.
    """

    text: str
    names: tuple[str, ...]
    tensors: tuple[TensorType, ...]
    ops: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class LayoutConversion:
    """The ttg.convert_layout operations with one source and destination; lines: their line numbers, from 1."""

    source: TensorType
    target: TensorType
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TtgirModule:
    """A TTGIR module. traits: ttg.num-warps and the like, as written; left: number of layouts and conversions not
    listed.
    """

    layouts: tuple[ModuleLayout, ...]
    moves: tuple[LayoutConversion, ...]
    traits: tuple[tuple[str, str], ...]
    left: tuple[int, int] = (0, 0)


def parse_module(text: str) -> TtgirModule | None:
    """Parse a module or part of one; None without operations on tensors with a layout."""
    ops: dict[str, dict[str, int]] = {}
    tensors: dict[str, dict[TensorType, int]] = {}
    moves: dict[tuple[TensorType, TensorType], list[int]] = {}
    names: dict[str, dict[str, None]] = {}
    behind = 0
    for part in _SECTION.split(text):  # each part of a test file has its own aliases
        part = _COMMENT.sub("", part)
        aliases = dict(_find_aliases(part))
        known: dict[str, str] = {}
        lines = part.split("\n")
        for number, line in enumerate(lines[: max(0, MOST_LINES - behind)], behind + 1):
            match = _OP.match(line)
            types = list(_find_tensor_types(line, aliases, known)) if match else []
            for tensor_type in types:
                name = match[1] if match else ""
                ops.setdefault(tensor_type.layout, {})
                ops[tensor_type.layout][name] = ops[tensor_type.layout].get(name, 0) + 1
                seen = tensors.setdefault(tensor_type.layout, {})
                seen[tensor_type] = seen.get(tensor_type, 0) + 1
            if match and match[1].endswith("convert_layout") and len(types) == 2:
                moves.setdefault((types[0], types[1]), []).append(number)
        behind += len(lines) - 1
        for alias in aliases:
            names.setdefault(_expand_aliases(alias, aliases, known), {})[alias] = None
    if not tensors:
        return None
    order = list(dict.fromkeys([*names, *tensors]))
    layouts = tuple(
        ModuleLayout(
            text_,
            tuple(names.get(text_, {})),
            tuple(sorted(tensors.get(text_, {}), key=lambda tensor_type: -tensors[text_][tensor_type])),
            tuple(sorted(ops.get(text_, {}).items(), key=lambda item: -item[1])),
        )
        for text_ in order
        if "<" in text_ and "shared_memory" not in text_ and len(text_) <= LONGEST_LAYOUT
    )
    return TtgirModule(
        layouts[:MOST_LAYOUTS],
        tuple(LayoutConversion(a, b, tuple(lines)) for (a, b), lines in moves.items())[:MOST_MOVES],
        tuple(dict(_TRAIT.findall(text)).items()),
        (max(0, len(layouts) - MOST_LAYOUTS), max(0, len(moves) - MOST_MOVES)),
    )


def _find_aliases(text: str) -> Iterator[tuple[str, str]]:
    """Yield (name, attribute) of every alias. An attribute may span several lines."""
    for match in _ALIAS.finditer(text):
        depth, end = 0, match.end()
        for at in range(match.end(), min(len(text), match.end() + LONGEST_LAYOUT)):
            mark = text[at]
            depth += (mark in "<[({") - (mark in "])}" or (mark == ">" and text[at - 1] != "-"))
            if depth <= 0:
                end = at + (mark in "])}>")
                break
        yield match[1], text[match.start(2) : end].strip()


def _expand_aliases(text: str, aliases: dict[str, str], known: dict[str, str]) -> str:
    """Expand the aliases in a layout's text."""
    if text not in known:
        expanded = text.strip()
        for _ in range(8):
            after = _NAME.sub(lambda m: aliases.get(m[0], m[0]), expanded)
            if after == expanded or len(after) > LONGEST_LAYOUT:
                break
            expanded = after
        known[text] = re.sub(r"\s+", " ", expanded).strip()
    return known[text]


def _find_tensor_types(line: str, aliases: dict[str, str], known: dict[str, str]) -> Iterator[TensorType]:
    """Yield the types with a layout in a line, left to right."""
    for match in _TYPE.finditer(line):
        places, end = split_list(line, match.end())
        parts = [line[slice(*place)] for place in places] if end < len(line) else []
        sizes = _DIMS.match(parts[0]) if parts else None
        layout = next((part for part in parts[1:] if part.strip().startswith("#")), "")
        if not sizes or not layout or len(sizes[1]) > 128:
            continue
        shape = tuple(int(n) for n in sizes[1].strip("x").split("x"))
        name = sizes[2]
        name = "ptr" if name.startswith("!") else name
        yield TensorType(
            shape,
            name,
            64 if name == "ptr" else find_mlir_bits(name) or ELEMENT_BITS.get(name),
            _expand_aliases(layout, aliases, known),
            tuple(m[0] for m in [_NAME.fullmatch(layout.strip())] if m),
        )
