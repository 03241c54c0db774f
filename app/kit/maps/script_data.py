"""Data from which the scripts of a stage draw its maps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lanescope.app.kit.fact import copy_fact, fact, make_optional_field
from lanescope.app.kit.maps.answer import build_words, get_element_template, get_line_template
from lanescope.app.kit.maps.bench import PIN, HolderMap, MapBench
from lanescope.app.kit.matrix import MatrixData
from lanescope.render import palette
from lanescope.render.view import BETWEEN_OWNERS, SPOKEN
from lanescope.tiles.shades import TileShade


@fact
class ShadeData:
    """A colouring for the script: by a digit of thread or value, or by a number per cell ([] for the register)."""

    of: str
    step: int
    count: int
    numbers: tuple[int, ...] | None
    wheel: tuple[str, ...]
    names: tuple[str, ...] | None = make_optional_field()


@fact
class TileData(MatrixData):
    """A map for the script.

    first, steps: cell of each thread's first value, and what each value adds; cells: [thread][value] instead, -1 for
    none, where the cells are not such sums. Both repeat every `period` values.
    """

    held_by: list[int]
    team: int
    first: list[int]
    steps: list[int]
    period: int
    shared: bool
    registers: int
    register: tuple[int, ...]
    categories: dict[str, ShadeData]
    repeats: dict[str, dict[str, int]]
    cells: list[int] | None = make_optional_field()
    fields: dict[str, list[int]] | None = make_optional_field()
    folded: bool | None = make_optional_field()
    text: str | None = make_optional_field()
    unlisted: bool | None = make_optional_field()
    held: str
    answer: str
    value_bits: tuple[str, ...]
    per_register: int


def build_page_data(
    bench: MapBench,
    state: Mapping[str, Any],
    defaults: Mapping[str, Any],
    pictured: Mapping[str, Any],
    *,
    operands: Mapping[str, TileData] | None = None,
) -> dict[str, Any]:
    """Return the page's data under the names that an instruction's page has (app/instruction/context.py).

    state, defaults: fields of the address; pictured: fields of the picture's address; operands: those of a page that
    says more than its maps do.
    """
    sizes = bench.extents
    return {
        "ptx": bench.says,
        "path": bench.path,
        "threads": bench.lanes,
        "warp": bench.lanes if bench.unit == "thread" else 0,
        "warps": bench.warps,
        "unit": "lane" if bench.unit == "thread" else bench.unit,
        "state": dict(state),
        "defaults": dict(defaults),
        "pictured": dict(pictured),
        "pin": PIN,
        "labels": dict(bench.texts),
        "spoken": {"cell": SPOKEN, "owner": bench.owner, "between": BETWEEN_OWNERS},
        "extents": sizes,
        "opening": {dim: (0, size) for dim, size in sizes.items()},
        "colours": dict(bench.colours),
        "result": "",
        "holder": bench.letter,
        "words": build_words(bench),
        "panels": [
            {
                "name": holder_map.name,
                "title": holder_map.title,
                "rows": holder_map.rows,
                "cols": holder_map.cols,
                "dims": bench.get_dims(holder_map),
                "warp_edges": holder_map.edges[0],
                "col_edges": holder_map.edges[1],
                "lines_from": 9,
            }
            for holder_map in bench.maps
        ],
        "operands": operands
        or {
            holder_map.name: build_tile_data(
                holder_map, get_element_template(bench, holder_map), get_line_template(bench, holder_map)
            )
            for holder_map in bench.maps
        },
    }


def build_shade(shade: TileShade, numbers: tuple[int, ...] | None = None) -> ShadeData:
    """Return a colouring by a digit of thread or value for the script."""
    return copy_fact(ShadeData, shade, numbers=numbers, wheel=palette.list_fill_variables(shade.count))


def build_tile_data(holder_map: HolderMap, element: str = "", answer: str = "") -> TileData:
    """Return a map for the script. element, answer: templates of an element's name and of the sentence about it."""
    values, bits = holder_map.cell.shape[1], holder_map.element_bits
    steps = holder_map.cell[0] - holder_map.cell[0, 0]
    adds_up = bool((holder_map.cell >= 0).all()) and bool((holder_map.cell == holder_map.cell[:, :1] + steps).all())
    colours = {name: build_shade(shade) for name, shade in holder_map.shades.items()}
    for name, colouring in holder_map.of_cells.items():
        numbers = tuple(colouring.numbers.reshape(-1).tolist())
        colours[name] = ShadeData(
            of="cell",
            step=0,
            count=len(colouring.names),
            numbers=numbers,
            wheel=palette.list_fill_variables(len(colouring.names)),
            names=colouring.names,
        )
    return copy_fact(
        TileData,
        holder_map,
        element_type=f"b{bits}",
        copies=holder_map.find_first_holders().copies,
        held_by=list(range(holder_map.cell.shape[0])),
        team=1,
        first=holder_map.cell[:, 0].tolist() if adds_up else [],
        steps=steps.tolist() if adds_up else [0] * values,
        period=values,
        registers=0,
        register=holder_map.group,
        bits=tuple(f"[{v * bits % 32 + bits - 1}:{v * bits % 32}]" for v in range(values)),
        spoken_bits=tuple(f"bits {v * bits % 32} to {v * bits % 32 + bits - 1}" for v in range(values)),
        digits=(),
        categories=colours,
        repeats={},
        extra={},
        cells=None if adds_up else holder_map.cell.reshape(-1).tolist(),
        fields={name: numbers.reshape(-1).tolist() for name, numbers in holder_map.fields.items()} or None,
        folded=True if holder_map.folded else None,
        text=holder_map.text or None,
        unlisted=None if holder_map.listed else True,
        held=element,
        answer=answer,
        value_bits=("",) * values,
        per_register=1,
    )
