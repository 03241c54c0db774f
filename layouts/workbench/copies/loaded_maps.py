"""Tensor maps that a kernel uses and the text does not encode: parameters, or members of parameters.

The box and the swizzle of such a map are unknown; -D gives them, by names derived from the map's (`map.box_0`,
innermost first, and `map.swizzle`). `contents.py` makes stores of these maps if the text encodes none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lanescope.reader.code.evaluation import Evaluation
from lanescope.reader.code.findings import AsmRun, BodilessCall
from lanescope.reader.code.maps.tma_rules import LOADED, TensorMap, read_swizzle_code
from lanescope.reader.code.naming.scopes import Cell
from lanescope.reader.code.preprocessing.supplied_values import parse_value
from lanescope.reader.code.symbolic_integers import Span
from lanescope.reader.code.values import Address, OpaqueValue, Pointer, ResolvedType
from lanescope.shared.tma import WIDTHS
from lanescope.workbench.copies.box_loads import MAP_NAME, find_assembly_map, is_load
from lanescope.workbench.text.asm_operands import join_strings

MOST = 24  # maps of one text
MOST_RANK = 5
PLAIN_RANK = 2  # where neither the call's name nor the instruction says it
_KIND = re.compile(r"tensor_?map|tma_?desc", re.I)
_RANK = re.compile(r"(?<![0-9a-z])([1-5])d(?![0-9a-z])", re.I)


@dataclass(frozen=True, slots=True)
class _LoadedMap:
    name: str
    rank: int
    span: Span


def find_loaded_maps(code: Evaluation, choices: Mapping[str, str]) -> list[TensorMap]:
    """List the tensor maps of a text's TMA loads, each once.

    choices: values by name, as -D gives them; LayoutError for an invalid value.
    """
    found: dict[str, _LoadedMap] = {}
    for loaded in _list_loaded(code):
        known = found.get(loaded.name)
        if known is None or known.rank < loaded.rank:
            found[loaded.name] = loaded
    return [_make_map(loaded, choices) for loaded in list(found.values())[:MOST]]


def _list_loaded(code: Evaluation) -> Iterator[_LoadedMap]:
    for call in code.bodiless_calls:
        if is_load(call):
            for name in dict.fromkeys(map(_find_map_name, call.term.arguments)):
                if name:
                    yield _LoadedMap(name, _find_rank(call), call.term.span)
                    break
    for run in code.asm_runs:
        if name := find_assembly_map(run):
            yield _LoadedMap(name, _find_rank(run), run.span)


def _find_rank(run: BodilessCall | AsmRun) -> int:
    code = join_strings(run.text) if isinstance(run, AsmRun) else run.term.text
    match = _RANK.search(re.sub(r"[_.]", " ", code))
    return int(match[1]) if match else PLAIN_RANK


def _find_map_name(value: object) -> str:
    """Return the name of an argument of tensor-map type; "" for other arguments."""
    if isinstance(value, Address) and isinstance(value.place, Cell):
        cell = value.place
        inner = cell.value if isinstance(cell.value, OpaqueValue) else None
        kinds = (cell.kind, inner.kind if inner is not None else None)
        name = inner.text if inner is not None and MAP_NAME.fullmatch(inner.text) else cell.name
    elif isinstance(value, Pointer) and len(value.base.terms) == 1:
        kinds = (value.element, None)
        name = value.base.terms[0][0].lstrip("&")
    else:
        return ""
    return name if MAP_NAME.fullmatch(name) and any(map(_is_map_type, kinds)) else ""


def _is_map_type(kind: ResolvedType | None) -> bool:
    return kind is not None and _KIND.search(kind.name) is not None


def _make_map(loaded: _LoadedMap, choices: Mapping[str, str]) -> TensorMap:
    sizes = [f"{loaded.name}.box_{n}" for n in range(MOST_RANK)]
    count = max([loaded.rank, *(n + 1 for n, size in enumerate(sizes) if size in choices)])
    swizzle = f"{loaded.name}.swizzle"
    open_ = {f"box[{n}]": sizes[n] for n in range(count)} | {"swizzle": swizzle}
    return TensorMap(
        LOADED,
        loaded.span,
        element_bits=None,
        data_type=None,
        dims=(),
        strides=(),
        box=tuple(parse_value(choices[size]) if size in choices else None for size in sizes[:count]),
        swizzle=parse_swizzle(choices[swizzle]) if swizzle in choices else None,
        storage=None,
        undetermined=("box", "swizzle"),
        symbols=open_,
        names=(loaded.name,),
    )


def parse_swizzle(text: str) -> str | None:
    """Parse a swizzle: a CUtensorMapSwizzle name or code, a width in bytes, or a mode; None for other text.

    >>> parse_swizzle("CU_TENSOR_MAP_SWIZZLE_128B"), parse_swizzle("128"), parse_swizzle("64B"), parse_swizzle("0")
    ('128B', '128B', '64B', 'none')
    """
    if text in WIDTHS:
        return text
    value = parse_value(text)
    if value is None:
        return None
    return f"{value}B" if f"{value}B" in WIDTHS else read_swizzle_code(value)[0]
