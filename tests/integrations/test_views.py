"""Live views without a browser: their traits, their links, what a notebook stores, and the example that is executed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from traitlets import TraitError

from lanescope import find, tiled_mma
from lanescope.errors import LayoutError
from lanescope.shared.swizzle import get_mode
from lanescope.shared.tiling import Tile
from lanescope.widget import LayoutView, link, show

ROOT = Path(__file__).parents[2]
EXAMPLE, DOCUMENT = ROOT / "examples" / "descriptor.ipynb", ROOT / "docs" / "notebooks.md"
M16 = find("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
WGMMA = find("wgmma.mma_async.m64n64k16.f32.f16.f16")
TILE = Tile(16, "K", get_mode("128B"), 64, 64, base=0x1000)


def get_selection(view: LayoutView) -> tuple[Any, ...]:
    return view.matrix, view.lane, view.value, view.element


def test_lane_value_and_element_belong_together() -> None:
    view = show(M16)
    seen: list[tuple[Any, ...]] = []
    view.observe(lambda _: seen.append(get_selection(view)), ["lane", "value", "element"])
    view.element = [11, 2]
    assert get_selection(view) == ("a", 13, 2, (11, 2))
    view.value = 3
    assert get_selection(view) == ("a", 13, 3, (11, 3))
    view.matrix = "d"  # which has [11][3], in the same lane and value
    assert get_selection(view) == ("d", 13, 3, (11, 3))
    view.lane = 0
    assert get_selection(view) == ("d", 0, 3, (8, 1))
    view.lane = None
    assert get_selection(view) == ("d", None, None, None)
    view.value = 1  # of every lane
    assert get_selection(view) == ("d", None, 1, None)
    assert ("a", 13, 2, (11, 2)) in seen and all(owns(one) for one in seen)


def owns(selected: tuple[Any, ...]) -> bool:
    """Whether no observer saw parts that do not belong together."""
    matrix, lane, value, element = selected
    return element is None or (lane, value) in M16.operand(matrix).owner(*element)


def test_what_the_page_sets_is_checked_as_a_whole() -> None:
    view = show(M16)
    view.set_state({"matrix": "d", "element": [3, 2], "lane": 13, "value": 0})
    assert get_selection(view) == ("d", 13, 0, (3, 2))
    with pytest.raises(TraitError):
        view.set_state({"lane": 5, "element": [16, 0]})
    assert get_selection(view) == ("d", 13, 0, (3, 2))
    view.set_state({"matrix": "a", "element": [3, 10], "lane": 5, "value": 0})  # parts that do not belong together
    assert owns(get_selection(view))


@pytest.mark.parametrize(
    ("shown", "part", "given", "says"),
    [
        (M16, "lane", 32, "lane is 32. From 0 to 31."),
        (M16, "lane", "13", "lane is '13'. An integer, or None."),
        (M16, "lane", True, "lane is 'true'. An integer, or None."),
        (M16, "value", 8, "value is 8. From 0 to 7."),
        (M16, "element", (0, 16), "element is (0, 16). (row, column) of A: 16 rows, 16 columns, from 0."),
        (M16, "element", 5, "element is '5'. (row, column) of A"),
        (M16, "matrix", "c", "matrix is 'c'. Allowed: a, b, d."),
        (TILE, "lane", 0, "lane is 0. Memory has no lanes"),
        (TILE, "value", 4096, "value is 4096. An offset of an element, from 0 to 4095."),
        (tiled_mma("SM80_16x8x16_F32F16F16F32_TN", "(1,2,1):(1,2,1)").c, "lane", 40, "lane is 40."),
    ],
)
def test_what_is_not_there_is_refused_and_changes_nothing(shown: Any, part: str, given: Any, says: str) -> None:
    view = show(shown)
    view.element = 3, 2
    before = get_selection(view)
    with pytest.raises(TraitError) as refused:
        setattr(view, part, given)
    assert str(refused.value).startswith(says)
    assert get_selection(view) == before


def test_a_link_places_one_matrix_in_another() -> None:
    d, a = show(M16.operand("d")), show(M16.operand("a"))
    joined = link(d, a, at=(0, 8))
    seen: list[tuple[Any, ...]] = []
    a.observe(lambda _: seen.append(get_selection(a)), ["lane", "value", "element"])
    d.element = 3, 2
    assert get_selection(a) == ("a", 13, 4, (3, 10))
    d.element = 4, 2
    assert set(seen) == {("a", 13, 4, (3, 10)), ("a", 17, 4, (4, 10))}  # nothing between
    a.element = 3, 7  # left of D
    assert get_selection(d) == ("d", None, None, None) and a.element == (3, 7)
    a.element = 15, 15
    assert d.element == (15, 7)
    joined.unlink()
    d.element = 0, 0
    assert a.element == (15, 15)


def test_a_link_by_lane_and_of_a_tile() -> None:
    product, b = show(M16), show(M16.operand("b"))
    product.lane = 7
    link(product, b, by="lane")
    assert b.lane == 7
    b.element = 2, 3
    assert product.lane == b.lane == 13
    tile, read = show(TILE), show(TILE.descriptor(k=16), TILE, WGMMA, k=16)
    link(read, tile, at=(0, 16))
    read.element = 9, 3
    assert tile.element == (9, 19) and read.value == TILE.base + 2 * tile.value
    with pytest.raises(LayoutError, match="Allowed: element, lane, value"):
        link(tile, read, by="bank")


def test_a_link_keeps_the_lane_of_a_copy() -> None:
    """A[11][2] of two warps along N is in threads 13 and 77."""
    mma = tiled_mma("SM80_16x8x16_F32F16F16F32_TN", "(2,2,1)", "(32,32,16)", (64, 32, 16))
    first, second = show(mma.a), show(mma)
    link(first, second)
    first.lane = 77
    first.element = 11, 2
    assert get_selection(second) == ("a", 77, 2, (11, 2))


def test_a_matrix_that_is_not_linked_moves_nothing() -> None:
    product, a = show(M16), show(M16.operand("a"))
    link(product, a)  # by A of the product
    product.element = 3, 2
    assert a.element == (3, 2)
    product.select(type(product.selection)("d", 0, 0, (0, 0)))
    assert a.element is None and product.element == (0, 0)


def test_ptx_is_an_instruction() -> None:
    assert show(M16.ptx).matrices == show(M16).matrices == ("a", "b", "d")
    with pytest.raises(LayoutError, match="No instruction"):
        show("mma.m16n8k12")


def test_a_descriptor_needs_its_reader() -> None:
    with pytest.raises(LayoutError, match="reader="):
        show(0x4000004000010100, TILE)
    with pytest.raises(LayoutError, match="reader="):
        show("0x4000004000010100")


def test_a_tile_is_also_its_text() -> None:
    text = show(TILE.descriptor(k=16), f"64x64 f16 K 128B base={TILE.base}", WGMMA, k=16)
    assert text._html == show(TILE.descriptor(k=16), TILE, WGMMA, k=16)._html
    with pytest.raises(LayoutError, match="has no major"):
        show(TILE.descriptor(), "64x64 f16", WGMMA)
    fp8 = "wgmma.mma_async.m64n64k32.f32.e4m3.e4m3"
    for sixteen_bits in (TILE, "64x64 f16 K 128B base=0x1000"):
        with pytest.raises(LayoutError, match="16-bit elements, the instruction 8"):
            show(TILE.descriptor(), sixteen_bits, fp8)


def test_what_is_not_looked_at_is_refused() -> None:
    a = show(M16.operand("a"))
    with pytest.raises(LayoutError, match="is shown alone"):
        show(M16.operand("a"), TILE)
    for other, at in ((5, (0, 0)), (a, (0, 0)), (show(M16), 5), (show(M16), (0, 1.5))):
        with pytest.raises(LayoutError):
            link(a, other, at=at)  # type: ignore[arg-type]
    joined = link(a, show(M16))
    joined.unlink()
    joined.unlink()


def test_where_there_is_no_front_end_the_picture_stays() -> None:
    stored = show(M16.operand("a"))._repr_mimebundle_()
    data = stored[0] if isinstance(stored, tuple) else stored
    assert "application/vnd.jupyter.widget-view+json" in data
    assert ">T13:2<" in data["image/svg+xml"] and "var(" not in data["image/svg+xml"]


def test_the_code_of_the_document_does_what_it_says() -> None:
    scope: dict[str, Any] = {}
    checked = 0
    for block in re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.S):
        for line in block.splitlines():
            code, _, said = line.partition("  # ")
            if said.startswith("TraitError: "):
                with pytest.raises(TraitError, match=re.escape(said.removeprefix("TraitError: "))):
                    exec(code, scope)
            elif said.startswith("("):
                assert repr(eval(code, scope)) == said
            else:
                exec(code, scope)
                continue
            checked += 1
    assert checked == 2


def test_the_example_runs_and_stores_no_output() -> None:
    notebook = nbformat.read(EXAMPLE, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.execution_count is None and not cell.outputs for cell in code)
    assert EXAMPLE.stat().st_size < 10_000
    NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
    said = "\n".join(str(dict(output.get("data", {}))) for cell in code for output in cell.outputs)
    assert said.count("application/vnd.jupyter.widget-view+json") == 6
    assert "mismatch: 128 of 1024 elements" in said and "Repair: <code>0x4000004000010102</code>" in said
