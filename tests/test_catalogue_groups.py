"""The catalogue by groups: every form stands once, in the row of its types and the column of its shape."""

from __future__ import annotations

from collections import Counter

from lanescope.app.catalogue import groups
from lanescope.app.kit import menus
from lanescope.ptx import catalog
from tests.cases import for_each
from tests.client import Client


def test_every_form_stands_once() -> None:
    assert Counter(i.ptx for i in groups.sort_instructions(catalog.instructions())) == Counter(
        i.ptx for i in catalog.instructions()
    )


def test_groups_hold_their_families() -> None:
    held = {group.name: {i.family.name for i in group.forms} for group in groups.group_forms(catalog.instructions())}
    assert list(held) == ["mma", "wgmma", "tcgen05", "ldmatrix", "sparse", "block-scaled", "wmma"]
    assert held["mma"] == {"mma"} and held["wgmma"] == {"wgmma"} and held["wmma"] == {"wmma"}
    assert held["ldmatrix"] == {"ldmatrix", "stmatrix", "movmatrix"}
    assert held["sparse"] == {"mma_sp", "wgmma_sp", "tcgen05_mma_sp", "tcgen05_mma_ws_sp"}
    assert held["block-scaled"] == {"mma_scaled", "tcgen05_mma", "tcgen05_mma_sp"}


@for_each(
    ("ptx", "row", "column", "label"),
    [
        ("mma.m16n8k16.row.col.f32.bf16.bf16.f32", "f32 += bf16 × bf16", "m16n8k16", "k16"),
        ("mma.m16n8k32.row.col.s32.s8.u8.s32", "s32 += s8|u8 × s8|u8", "m16n8k32", "k32"),
        ("mma.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e5m2.f32", "f32 += f8f6f4, with fp4 or fp6", "m16n8k32", "k32"),
        ("mma.m8n8k4.row.col.f32.f16.f16.f16", "f32 = f16 × f16 + f16", "m8n8k4", "k4"),
        ("mma.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e3m2.f32", "f32 += f8f6f4, with fp4 or fp6", "m16n8k32", "k32"),
        ("wgmma.mma_async.m64n96k16.f32.f16.f16", "f32 += f16 × f16 · k16", "96", "96"),
        ("ldmatrix.m8n8.x2.trans.b16", "m8n8 trans b16", "x2", "x2"),
        ("tcgen05.mma.cta_group::2.kind::f16", "kind::f16", "cta_group::2", "cta 2"),
        ("tcgen05.mma.cta_group::1.kind::f16.collector::a::fill", "kind::f16", "cta_group::1", "cta 1"),
        ("tcgen05.ld.32x32b.x8.b32", "32x32b b32", "x8", "x8"),
        ("wmma.load.a.row.m16n16k16.f16", "load.a f16", "m16n16k16", "k16"),
    ],
)
def test_a_form_has_its_row_and_column(ptx: str, row: str, column: str, label: str) -> None:
    form = catalog.find(ptx)
    matrices = groups.build_matrices(i for i in catalog.instructions() if i.family is form.family)
    (place,) = {
        (line.text, matrix.columns[at], cell.label)
        for matrix in matrices
        for line in matrix.rows
        for at, cell in enumerate(line.cells)
        if cell and any(variant.ptx == form.listed_ptx for variant in cell.variants)
    }
    assert place == (row, column, label)


def test_every_tool_stands_in_one_menu_with_a_name_of_its_own(client: Client) -> None:
    links = [entry for entries in menus.list_entries().values() for entry in entries]
    assert max(Counter(entry.href for entry in links).values()) == 1
    assert max(Counter(entry.text.rstrip("s") for entry in links).values()) == 1
    assert {entry.below for entry in links} - {""} <= {entry.href for entry in links if not entry.below}
    page = client.get("/help").text
    assert all(f'href="{entry.href}"' in page for entry in links)
