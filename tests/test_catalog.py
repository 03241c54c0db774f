"""find(): every spelling people paste, and refusals that say which part is wrong."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, strategies as st

from lanescope.app.catalogue import facts as catalogue
from lanescope.app.guide.rendering import render_guide_page
from lanescope.app.main import create_app
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.ptx.instruction import OpcodeWords, cite_ptx
from lanescope.ptx.overview import list_overview_rows
from lanescope.ptx.syntax import OpcodeSyntax
from lanescope.ptx.table.chapters import get_chapter
from tests.cases import for_each
from tests.client import Client
from tests.oracle.shapes import SHAPES

WGMMA = "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16"
M16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
F8 = "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e3m2.f32"


@for_each(
    ("text", "ptx"),
    [
        (M16, M16),
        ("mma.m16n8k16.row.col.f32.f16.f16.f32", M16),
        ("  MMA.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32  ", M16),
        (M16 + " {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%f0,%f1,%f2,%f3};", M16),
        ('    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "\n    "{%0,  %1},"', M16),
        (f'asm volatile("{M16}\\n"', M16),
        ("@%p1 " + M16 + " {…}", M16),
        ("mma . sync . aligned . m16n8k16 . row . col . f32 . f16 . f16 . f32 {a}", M16),
        ("mma.sync.aligned.kind::f8f6f4.m16n8k32.row.col.f32.e2m1.e3m2.f32", F8),
        (
            "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc",
            "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc",
        ),
        ("wmma.load.a.sync.aligned.m16n16k16.global.row.f16", "wmma.load.a.sync.aligned.row.m16n16k16.global.f16"),
        ("ldmatrix.m8n8.x4.trans.shared::cta.b16", "ldmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16"),
        ("ldmatrix.m8n8.x1.b16", "ldmatrix.sync.aligned.m8n8.x1.b16"),
        (
            "ldmatrix.shared::cta.m8n16.x2.b8x16.b6x16_p32",
            "ldmatrix.sync.aligned.m8n16.x2.shared::cta.b8x16.b6x16_p32",
        ),
        (
            "wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32",
            "wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32",
        ),
        ("wgmma.mma_async.m64n8k256.and.popc.s32.b1.b1", "wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc"),
    ],
)
def test_finds_every_spelling(text: str, ptx: str) -> None:
    assert catalog.find(text).ptx == ptx


@given(st.sampled_from(catalog.instructions()), st.booleans())
def test_finds_every_instruction_by_its_text(i: object, short: bool) -> None:
    text = i.ptx.replace(".sync.aligned", "") if short else i.ptx  # type: ignore[attr-defined]
    assert catalog.find(text) is i


@for_each(("what", "says"), [(None, "missing"), (5, "5"), (["mma"], "a list")])
def test_what_is_no_text_is_refused(what: Any, says: str) -> None:
    with pytest.raises(LayoutError, match=f"^ptx is {says}. Give text.$") as caught:
        catalog.find(what)
    assert caught.value.field == "ptx"


@for_each(
    ("text", "says", "nearest"),
    [
        (
            "mma.m16n8k12.row.col.f32.f16.f16.f32",
            "shape 'm16n8k12' is not legal here",
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        ),
        (
            "mma.m16n8k16.row.col.f32.f16.bf16.f32",
            "types 'f32.f16.bf16.f32' are not legal",
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        ),
        ("mma.m16n8k16.col.col.f32.f16.f16.f32", "layout 'col.col' is not legal here (allowed: row.col)", M16),
        (M16 + ".satfinite", "modifier 'satfinite' is not legal here (allowed: none)", M16),
        (
            "wgmma.mma_async.m64n12k16.f32.f16.f16",
            "shape 'm64n12k16'",
            "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16",
        ),
        (
            "wgmma.mma_async.m64n40k32.s32.s8.s8",
            "shape 'm64n40k32'",
            "wgmma.mma_async.sync.aligned.m64n48k32.s32.s8.s8",
        ),
    ],
)
def test_a_refusal_names_the_part_and_the_nearest(text: str, says: str, nearest: str) -> None:
    with pytest.raises(LayoutError) as caught:
        catalog.find(text)
    assert says in caught.value.message
    assert nearest in caught.value.nearest[:3]
    assert caught.value.field == "ptx"


@for_each(
    ("text", "why"),
    [
        ("mma.m16n8k16.row.col.f32.f17.f16.f32", "type 'f17' of A does not exist (allowed here: f16)"),
        ("mma.m16n8k16.row.col.f32.f16.f16.f17", "type 'f17' of C does not exist (allowed here: f32)"),
        ("mma.m16n8k32.row.col.s32.s9.u8.s32", "type 's9' of A does not exist (allowed here: s8, u8)"),
        ("mma.m16n8k32.row.col.f32.e4m3.e6m2.f32", "type 'e6m2' of B does not exist (allowed here: e4m3, e5m2)"),
        ("mma.sp.m16n8k32.row.col.f32.f17.f16.f32", "type 'f17' of A does not exist (allowed here: f16)"),
        ("wgmma.mma_async.m64n8k16.f17.f16.f16", "type 'f17' of D does not exist (allowed here: f16, f32)"),
        ("wgmma.mma_async.m64n8k16.f64.f16.f16", "type 'f64' of D is not legal here (allowed: f16, f32)"),
        ("wmma.load.a.row.m16n16k16.shared.f17", "type 'f17' does not exist (allowed here: bf16, f16, s8, u8)"),
        ("ldmatrix.m8n8.x4.shared.b17", "type 'b17' does not exist (allowed here: b16)"),
        ("mma.m16n8k16.row.cool.f32.f16.f16.f32", "layout 'cool' does not exist (allowed here: col)"),
        ("mma.sync.alined.m16n8k16.row.col.f32.f16.f16.f32", "word 'alined' does not exist (allowed here: aligned)"),
        (
            "mma.m16n8k16.row.col.f32.f16.bf16.f32",
            "types 'f32.f16.bf16.f32' are not legal here (allowed: f16 as the type of B or bf16 as the type of A)",
        ),
        (
            "wgmma.mma_async.m64n12k16.f32.f17.f16",
            "type 'f17' of A does not exist (allowed here: f16); shape 'm64n12k16' is not legal here: N is 12"
            " (allowed: multiples of 8 from 8 to 256)",
        ),
        (  # the sizes of all types, also of those that need a modifier: the text has none
            "mma.sync.aligned.m16n8k12",
            "shape 'm16n8k12' is not legal here: K is 12 (allowed: 4, 8, 16, 32, 64, 128 or 256); layouts and types are"
            " missing",
        ),
        (
            "mma.m16n8k12.row.col.f32.f16.f16.f32",
            "shape 'm16n8k12' is not legal here: K is 12 (allowed: 8 or 16)",
        ),
    ],
)
def test_a_refusal_blames_the_wrong_word_and_lists_what_may_take_its_place(text: str, why: str) -> None:
    with pytest.raises(LayoutError) as caught:
        catalog.find(text)
    assert caught.value.message == f"No instruction '{text}': {why}."


@for_each(
    ("text", "why", "nearest"),
    [
        (
            "wmma.load.a.row.m16n16k32.{}.f16",
            "shape 'm16n16k32' is not legal here: K is 32 (allowed: 16)",
            "k16.{}.f16",
        ),
        ("wmma.load.b.row.m16n16k8.{}.bf16", "shape 'm16n16k8' is not legal here: K is 8 (allowed: 16)", "k16.{}.bf16"),
        ("wmma.load.a.row.m16n16k16.{}.f32", "type 'f32' is not legal here (allowed: bf16, f16, s8, u8)", "{}.f16"),
        ("wmma.load.c.row.m16n16k16.{}.s8", "type 's8' is not legal here (allowed: f16, f32, s32)", "{}.s32"),
        ("wmma.store.d.row.m16n16k16.{}.s8", "type 's8' is not legal here (allowed: f16, f32, s32)", "{}.s32"),
    ],
)
@for_each("space", ["shared", "global", "shared::cta"])
def test_a_legal_state_space_is_no_fault_of_a_wrong_load(text: str, why: str, nearest: str, space: str) -> None:
    with pytest.raises(LayoutError) as caught:
        catalog.find(text.format(space))
    assert caught.value.message == f"No instruction '{text.format(space)}': {why}."
    assert caught.value.nearest[0].endswith(nearest.format(space))
    assert all(space in ptx.split(".") and catalog.find(ptx).ptx == ptx for ptx in caught.value.nearest)


@for_each(
    ("text", "allowed"),
    [
        (
            "wmma.load.a.row.m16n16k16.local.f16",
            "state space 'local' is not legal here (allowed: none, global,",
        ),
        ("ldmatrix.m8n8.x4.global.b16", "state space 'global' is not legal here (allowed: none, shared, shared::cta)"),
        ("wmma.mma.row.col.m16n16k16.shared.f32.f32", "state space 'shared' is not legal here (allowed: none)"),
    ],
)
def test_a_state_space_that_an_instruction_lacks_is_told_its_own(text: str, allowed: str) -> None:
    with pytest.raises(LayoutError) as caught:
        catalog.find(text)
    assert f"': {allowed}" in caught.value.message


@for_each(
    "text",
    [
        "",
        "hello",
        "add.f32 r0, r1, r2",
        "m16n8k16",
        "mma",
        "mma.",
        "wgmma.fence.sync.aligned",
        "<script>alert(1)</script>",
        "\x00",
        "mma." * 500,
    ],
)
def test_anything_else_is_refused_politely(text: str) -> None:
    with pytest.raises(LayoutError) as caught:
        catalog.find(text)
    assert caught.value.code == "unknown_instruction" and caught.value.hint
    assert len(caught.value.message) < 2500


@given(st.text(max_size=60))
def test_find_never_breaks(text: str) -> None:
    try:
        catalog.find(text)
    except LayoutError as error:
        assert error.code == "unknown_instruction"


def test_counts_by_family() -> None:
    """The counts the sweep of ptxas arrived at, and each text once."""
    counts = Counter(i.family.name for i in catalog.instructions())
    assert counts == {
        "wmma": 88 + 26 + 138,
        "mma": 160,
        "mma_sp": 138,
        "mma_scaled": 55 + 55,
        "wgmma": 1092 // 2,
        "wgmma_sp": 1056 // 2,
        "ldmatrix": 18,
        "stmatrix": 9,
        "movmatrix": 1,
        "tcgen05_ld": 74,
        "tcgen05_st": 74,
        "tcgen05_ld_red": 168,
        "tcgen05_cp": 36,
        "tcgen05_shift": 2,
        "tcgen05_mma": 164 + 592,
        "tcgen05_mma_sp": 164 + 592,
        "tcgen05_mma_ws": 68,
        "tcgen05_mma_ws_sp": 68,
    }
    assert len({i.ptx for i in catalog.instructions()}) == len(catalog.instructions())


def test_every_variant_is_in_the_assembled_data_and_the_other_way_round() -> None:
    assert {i.ptx for i in catalog.instructions()} == set(catalog._load_targets()[1])
    assert all(
        catalog.get_target_support(i).targets and catalog.get_target_support(i).ptx_version
        for i in catalog.instructions()
    )


def test_syntax_order_of_types_counts_and_of_modifiers_not() -> None:
    one = OpcodeSyntax.parse("mma.m16n8k32.row.col.satfinite.s32.s8.u8.s32", ())
    assert one.key == OpcodeSyntax.parse("mma.sync.satfinite.m16n8k32.row.col.s32.s8.u8.s32", ()).key
    assert one.key != OpcodeSyntax.parse("mma.m16n8k32.row.col.satfinite.s32.u8.s8.s32", ()).key


def test_an_operand_that_is_not_there() -> None:
    for name in ("x", None, 5):
        with pytest.raises(LayoutError, match=f"has no operand '{name}'"):
            catalog.find(M16).operand(name)  # type: ignore[arg-type]
    with pytest.raises(LayoutError, match="shared memory"):
        catalog.find("wgmma.mma_async.m64n8k16.f32.f16.f16").operand("b")


def test_every_family_stands_in_the_chapter_of_each_of_its_opcodes() -> None:
    shown = catalogue.list_chapters()
    held = {family.name: family for chapter in shown for family in chapter.families}
    assert held == {family.name: family for family in catalogue.count_families()}
    assert sum(family.count for chapter in shown for family in chapter.families) == len(catalog.instructions())
    for chapter in shown:
        for family in chapter.families:
            rows = [row for row in catalog.families() if row.name == family.name]
            assert all(row.opcode.source.section.startswith(f"{chapter.section}.") for row in rows), family.name
            assert set(family.sections) == {row.opcode.source.section for row in rows}


@for_each(
    ("section", "chapter"),
    [("9.7.14.5.14", "9.7.14"), ("9.7.15", "9.7.15"), ("9.7.16.8.3", "9.7.16"), ("9.7.1", ""), ("9.7.140.1", "")],
)
def test_an_opcode_stands_in_one_chapter(section: str, chapter: str) -> None:
    assert get_chapter(OpcodeWords("x", "does", cite_ptx(section))).section == chapter


@for_each(
    ("text", "told"),
    [
        ("wgmma.mma_async.m64n12k16.f32.f16.f16", "N is 12 (allowed: multiples of 8 from 8 to 256)"),
        ("wgmma.m64n12k16.f32.f16.f16", "N is 12 (allowed: multiples of 8 from 8 to 256)"),
        ("mma.m16n8k12.row.col.f32.f16.f16.f32", "K is 12 (allowed: 8 or 16)"),
        ("wgmma.mma_async.sp.m64n64k16.f32.f16.f16", "K is 16 (allowed: 32)"),
        ("mma.m32n8k16.row.col.f32.f16.f16.f32", "M is 32 (allowed: 16)"),
    ],
)
def test_a_wrong_size_is_told_and_nothing_else(text: str, told: str) -> None:
    with pytest.raises(LayoutError) as caught:
        catalog.find(text)
    assert told in caught.value.message and "opcode" not in caught.value.message
    head = text.split(".m", 1)[0].split(".")[0]
    assert all(ptx.startswith(head) for ptx in caught.value.nearest)


@for_each(
    ("short", "ptx"),
    [
        ("ldmatrix.m8n8.x4", "ldmatrix.sync.aligned.m8n8.x4.b16"),
        ("ldmatrix.m8n8.x4.trans.shared", "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"),
        ("ldmatrix.x2", "ldmatrix.sync.aligned.m8n8.x2.b16"),
        ("stmatrix.m16n8.x2.trans", "stmatrix.sync.aligned.m16n8.x2.trans.b8"),
        ("movmatrix.m8n8.trans", "movmatrix.sync.aligned.m8n8.trans.b16"),
        ("movmatrix.m8n8", "movmatrix.sync.aligned.m8n8.trans.b16"),
        ("movmatrix", "movmatrix.sync.aligned.m8n8.trans.b16"),
        ("wgmma.mma_async.m64n8k256", "wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc"),
        ("tcgen05.ld.16x64b.x1", "tcgen05.ld.sync.aligned.16x64b.x1.b32"),
    ],
)
def test_a_short_name_may_leave_out_what_is_unambiguous(short: str, ptx: str) -> None:
    assert catalog.find(short).ptx == ptx


def test_a_short_name_that_fits_several_is_refused() -> None:
    with pytest.raises(LayoutError, match=r"types are missing \(allowed: f32\.tf32\.tf32\.f32, f64"):
        catalog.find("mma.m16n8k4.row.col")
    with pytest.raises(LayoutError, match=r"modifier 'x3' is not legal here \(allowed: x1"):
        catalog.find("ldmatrix.m8n8.x3.b16")


def test_an_error_calls_what_is_left_out_missing() -> None:
    """A shape that exists is not called wrong because the types of another row are none."""
    with pytest.raises(LayoutError) as caught:
        catalog.find("ldmatrix.m8n8.x3")
    assert "shape" not in caught.value.message and "'x3' is not legal" in caught.value.message


def test_a_table_of_targets_that_misses_a_variant_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """By every page that says where an instruction runs, with the variant's text: never by an error of the server."""
    meta, known = catalog._load_targets()
    monkeypatch.setattr(
        catalog, "_load_targets", lambda: (meta, {ptx: one for ptx, one in known.items() if ptx != M16})
    )
    catalog._index_target_support.cache_clear()
    render_guide_page.cache_clear()
    try:
        with pytest.raises(LayoutError, match=f"targets.json .* '{re.escape(M16)}'. Run `make targets`"):
            catalog.get_target_support(catalog.find(F8))
        client = Client(create_app())
        answers = {path: client.get(path) for path in ("/instructions", "/guide/shapes", f"/kernel/{WGMMA}.cu")}
        assert {(path, one.status_code) for path, one in answers.items()} == {(path, 422) for path in answers}
    finally:
        catalog._index_target_support.cache_clear()


def test_rows_are_found_without_binding_the_others() -> None:
    """By opcode and shape: each variant's text has those of its row, and its own instruction answers."""
    for i in catalog.instructions():
        assert (i.syntax.opcode, i.syntax.shape) == (i.family.opcode.text, i.shape)
        assert catalog._get_listed(i.syntax) is i
    assert catalog._count_variants() == len(catalog.instructions())
    assert catalog._get_listed(dataclasses.replace(i.syntax, shape="m9999n8k16")) is None


def test_words_of_the_rows_are_those_of_the_instructions() -> None:
    words = {word for i in catalog.instructions() for word in i.ptx.split(".")}
    assert set(catalog._index_capitals().values()) == {word for word in words if word != word.lower()}
    assert set(catalog.list_element_types()) == {kind for i in catalog.instructions() for kind in i.types.values()}


def test_a_row_whose_forms_are_listed_without_a_map_is_told_where(monkeypatch: pytest.MonkeyPatch) -> None:
    """`make targets` alone would not give them targets."""
    monkeypatch.setattr(catalog, "_load_targets", lambda: ({}, {}))
    for listed, hint in ((False, "Run `make targets`"), (True, "Remove its reason from layouts/ptx/table/newer.py")):
        monkeypatch.setattr(catalog, "find_newer_form", lambda ptx, listed=listed: listed)
        with pytest.raises(LayoutError, match="has no targets for") as refused:
            catalog._index_target_support.__wrapped__()
        assert refused.value.hint.startswith(hint)


# the overview ---------------------------------------------------------------------------------------------------------


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
