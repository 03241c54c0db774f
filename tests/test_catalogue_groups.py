"""The catalogue by groups: every form stands once, in the row of its types and the column of its shape."""

from __future__ import annotations

from collections import Counter

from lanescope import find
from lanescope.app.catalogue import groups
from lanescope.app.kit import menus
from lanescope.ptx import catalog
from lanescope.ptx.qualifiers import describe_convergence, list_opcode_parts
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


# words of opcodes -----------------------------------------------------------------------------------------------------


def test_every_word_of_the_catalogue_is_explained_and_nothing_is_lost() -> None:
    kinds = set()
    for i in catalog.instructions():
        words = list_opcode_parts(i)
        assert "".join(word.text for word in words) == i.ptx
        assert all(word.meaning and word.meaning == word.meaning.strip() for word in words), i.ptx
        kinds |= {word.kind for word in words}
        assert sum(word.kind == "type" for word in words) == len(i.syntax.types), i.ptx
    assert kinds == {"opcode", "convergence", "shape", "layout", "type", "modifier"}
    assert {i.syntax.opcode for i in catalog.instructions()} == set(catalog.OPCODES)


@for_each(
    ("ptx", "word", "meaning"),
    [
        ("mma.m16n8k32.row.col.s32.s8.u8.s32", ".u8", "type of B's elements: 4 a .b32 register"),
        ("mma.m16n8k16.row.col.f32.f16.f16.f32", ".m16n8k16", "A is 16×16, B is 16×8, C and D are 16×8"),
        (
            "wgmma.mma_async.m64n64k16.f32.f16.f16",
            ".aligned",
            "all 128 threads of the warpgroup must execute this same instruction",
        ),
        ("wmma.load.b.col.m16n16k16.shared.f16", ".col", "the matrix is column-major in memory"),
        ("mma.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e4m3.f32", ".e2m1", "type of A's elements: 4 a .b32 register"),
        ("ldmatrix.m8n8.x4.trans.shared::cta.b16", ".x4", "4 matrices"),
    ],
)
def test_words(ptx: str, word: str, meaning: str) -> None:
    assert next(part.meaning for part in list_opcode_parts(find(ptx)) if part.text == word) == meaning


def test_convergence_is_what_ptx_asks() -> None:
    warp, group = (
        describe_convergence(find("mma.m16n8k16.row.col.f32.f16.f16.f32")),
        describe_convergence(find("wgmma.mma_async.m64n8k16.f32.f16.f16")),
    )
    assert "all 32 threads of the warp" in warp and "has exited" in warp
    assert "all 128 threads of the warpgroup" in group and "has exited" not in group
    for load in ("wmma.load.a.row.m16n16k16.f16", "wmma.store.d.row.m16n16k16.f32"):
        assert "the same address and stride" in describe_convergence(find(load))
    assert "has exited" not in describe_convergence(find("movmatrix.m8n8.trans.b16"))
