"""The overview folds the whole catalogue, loses nothing, and says of shapes and versions what PTX's own table says."""

from __future__ import annotations

from lanescope.ptx import catalog
from lanescope.ptx.overview import fold_shapes, list_overview_rows
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


def test_the_document_leaves_no_line_out() -> None:
    """Every shape of the overview stands in the document's table for its section."""
    for row in list_overview_rows():
        if not row.section.startswith("wgmma"):
            listed = {
                shape
                for section, types, shapes, _ in SHAPES
                if section == row.section and any(set(pair) <= set(types) for pair in row.pairs)
                for shape in shapes
            }
            assert set(row.shapes) <= listed, (row.section, row.pairs)


def test_folded_shapes() -> None:
    assert fold_shapes(["m16n8k8", "m16n8k16"]) == ["m16n8k8", "m16n8k16"]
    assert fold_shapes([f"m64n{n}k16" for n in range(8, 257, 8)]) == ["m64nNk16, N = 8 to 256 in steps of 8"]
    assert fold_shapes([f"m64n{n}k32" for n in (8, 16, 24, *range(32, 257, 16))]) == [
        "m64nNk32, N = 8, 16, 24, 32 to 256 in steps of 16"
    ]


def test_words() -> None:
    told = {
        (row.section, row.multiplicands, row.accumulators, row.ptx_version, row.target_text)
        for row in list_overview_rows()
    }
    assert ("mma", "s4 or u4, A and B each", "s32", "7.0", "sm_80 and later") in told
    assert ("wmma", "s8 × s8, u8 × u8", "s32", "6.3", "sm_75 and later") in told
    assert ("mma", "f16", "f16, f32 with C f16, f32", "6.4", "sm_75 and later") in told
    single_bit = next(row for row in list_overview_rows() if row.section == "mma" and row.shapes == ("m8n8k128",))
    assert single_bit.newer == ((".and", "7.1", "sm_80 and later"),)
