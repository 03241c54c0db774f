"""The overview folds the whole catalogue, loses nothing, and says of shapes and versions what PTX's own table says."""

from __future__ import annotations

from lanescope.ptx import catalog
from lanescope.ptx.overview import list_overview_rows
from tests.cases import for_each
from tests.oracle.shapes import SHAPES


def test_every_product_stands_in_one_line() -> None:
    found = [i for row in list_overview_rows() for i in row.found]
    assert (
        len(found)
        == len(set(found))
        == sum("a" in i.operands and "d" in i.operands and i.family.name != "movmatrix" for i in catalog.instructions())
    )
    for row in list_overview_rows():
        for i in row.found:
            known = catalog.get_target_support(i)
            assert i.shape in row.shapes and (i.types["d"], i.types.get("c", i.types["d"])) in row.results
            assert (i.operands["a"].element.name, i.types.get("b", i.operands["a"].element.name)) in row.pairs
            later = [
                name
                for name, version, _ in row.newer
                if version == known.ptx_version and set(name.split()) <= {f".{m}" for m in i.modifiers}
            ]
            assert (known.ptx_version, known.targets) == (row.ptx_version, row.targets) or later, i.ptx
        assert row.multiplicands and row.accumulators and row.target_text


@for_each(("section", "types", "shapes", "version"), SHAPES)
def test_shapes_and_versions_are_those_of_the_document(
    section: str, types: tuple[str, ...], shapes: tuple[str, ...], version: str
) -> None:
    lines = [
        row
        for row in list_overview_rows()
        if row.section == section and any(set(pair) <= set(types) for pair in row.pairs)
    ]
    for shape in shapes:
        ages = [[int(n) for n in row.ptx_version.split(".")] for row in lines if shape in row.shapes]
        assert min(ages) == [int(n) for n in version.split(".")], (shape, ages)
