"""The lane panel and the table of every lane: each value's text names the element the map says, with all its
coordinates.
"""

from __future__ import annotations

import re

from lanescope.app.instruction import lanes
from lanescope.ptx import catalog
from lanescope.render.figure import make_figure
from tests.cases import for_each
from tests.sample import take_sample

SHOWN = tuple(
    {(i.family.name, i.shape, i.syntax.opcode): i for i in catalog.instructions() if i.threads == 32}.values()
)


@for_each("found", take_sample(SHOWN, 26), ids=lambda i: i.ptx)
def test_every_value_in_the_panel_is_where_its_map_says(found: object) -> None:
    assert isinstance(found, catalog.Instruction)
    figure = make_figure(found)
    seen = 0
    for panel, grid in lanes.build_panel_grids(found, figure).items():
        op = grid.operand
        for thread in range(op.threads):
            told = lanes.build_lane_registers(grid, panel, thread)
            for register, values in (told.registers if told else {}).items():
                for each in values:
                    if op.name == "address":
                        assert (grid.product, int(each.text.removeprefix("row "))) == tuple(
                            int(op.coords[a][thread, 0]) for a in ("matrix", "row")
                        )
                        continue
                    ((title, row, col),) = re.findall(r"^(\w+)\[(\d+)\]\[(\d+)\]$", each.text)
                    value = re.fullmatch(r"[a-z]+(\d+), bits \[\d+:\d+\]", each.tip)[1]  # type: ignore[index]
                    place = [int(row), int(col)]
                    third = [axis for axis in op.axes if axis not in op.plane]
                    if third:
                        place.insert(
                            op.axes.index(third[0]), int(title[6:]) if title.startswith("matrix") else grid.product
                        )
                    assert [int(op.coords[axis][thread, int(value)]) for axis in op.axes] == place
                    assert op.register_of(int(value))[0] == register
                    seen += 1
    assert seen
