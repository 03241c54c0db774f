"""The catalogue's search: what a question finds, in the server; tests/browser/test_site.py holds an exported site to
the same rows.
"""

from __future__ import annotations

from lanescope.app.catalogue import facts as catalogue
from lanescope.names import search
from lanescope.ptx import catalog
from tests.cases import for_each

LDMATRIX = "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"


ALL = len(catalog.instructions())


def list_ptx(**given: str) -> list[str]:
    return [instruction.ptx for instruction in search.find_instructions(given)]


def test_a_full_text_finds_its_instruction_alone() -> None:
    for full in (i.ptx for i in catalog.instructions()[::7]):
        short = full.replace(".sync.aligned", "")
        for text in (full, short.upper(), f'asm volatile("{short} {{%0, %1}}, [%2];")', short.replace(".", " .")):
            assert list_ptx(q=text) == [full], text


@for_each("space", ["", ".shared", ".shared::cta"])
def test_a_state_space_changes_nothing(space: str) -> None:
    assert list_ptx(q=f"ldmatrix.sync.aligned.m8n8.x4.trans{space}.b16 {{%r0}}, [%r1];") == [LDMATRIX]


def test_the_order_of_types_counts_and_that_of_modifiers_does_not() -> None:
    assert list_ptx(q="ldmatrix.trans.x4.m8n8.b16") == [LDMATRIX]
    one, other = (list_ptx(q=f"mma.m16n8k32.row.col.f32.{types}.f32") for types in ("e4m3.e5m2", "e5m2.e4m3"))
    assert len(one) == len(other) == 1 and one != other


@for_each(
    ("q", "count"),
    [
        ("stmatrix x2 trans b16", 1),
        ("trans.x2 STMATRIX b16", 1),
        ("k1", 0),
        ("bf16 m16n8k16", 3),
        ("zz", 0),
        ("", ALL),
        (" . ; ", ALL),
        ("{", ALL),
        ("m16n8k16\u00a0bf16", 3),
    ],
)
def test_words(q: str, count: int) -> None:
    assert len(list_ptx(q=q)) == count


def test_a_product_of_types_asks_for_both_in_their_order() -> None:
    found = list_ptx(q="s32 += s8 × u8")
    assert found == [i.ptx for i in catalog.instructions() if (i.types.get("a"), i.types.get("b")) == ("s8", "u8")]
    assert list_ptx(q="bf16 * bf16 16x8x16") == [p for p in list_ptx(q="m16n8k16") if ".bf16.bf16" in p]


def test_a_target_and_a_chip_ask_for_what_they_run() -> None:
    assert list_ptx(q="sm_90a wgmma") == list_ptx(q="wgmma h100") == list_ptx(target="sm_90a", q="wgmma")
    assert list_ptx(q="sm_75 bf16") == [] and list_ptx(q="turing") == list_ptx(target="sm_75")


def test_kinds_and_shapes_have_their_everyday_names() -> None:
    assert list_ptx(q="16816 bf16 mma") == list_ptx(q="m16n8k16 bf16 mma")
    assert list_ptx(q="mxfp8") == list_ptx(q="kind::mxf8f6f4") and list_ptx(q="nvfp4") == list_ptx(q="kind::mxf4nvf4")


def test_a_part_of_a_shape_is_whole_and_any_other_word_may_be_its_beginning() -> None:
    assert list_ptx(q="n8") == [i.ptx for i in catalog.instructions() if i.sizes.get("n") == 8]
    assert list_ptx(q="2X") == [i.ptx for i in catalog.instructions() if "2X" in i.ptx]
    assert (
        list_ptx(q="f8f6f4") == list_ptx(q="kind::f8") == [i.ptx for i in catalog.instructions() if "::f8f6f4" in i.ptx]
    )


def test_every_filter_value_finds_what_the_rows_say() -> None:
    rows = catalogue.list_instructions().instructions
    for name, of in {
        "family": lambda row: [row.family],
        "target": lambda row: row.targets,
        "shape": lambda row: [f"{dim}{size}" for dim in "mnk" if (size := getattr(row.shape, dim))],
    }.items():
        for value in {value for row in rows for value in of(row)}:
            assert list_ptx(**{name: value}) == [row.ptx for row in rows if value in of(row)], value
    for value in catalog.list_element_types():
        assert list_ptx(type=value) == [i.ptx for i in catalog.instructions() if value in i.types.values()]


def test_filters_and_text_are_all_asked_for() -> None:
    assert list_ptx(type="ue8m0", q="m16n8k64", target="sm_120a") == [
        i.ptx
        for i in catalog.instructions()
        if "ue8m0" in i.types.values() and i.shape == "m16n8k64" and "sm_120a" in catalog.get_target_support(i).targets
    ]
    assert list_ptx(family="wgmma", q=LDMATRIX) == []


def test_a_word_said_often_is_looked_for_once() -> None:
    assert search.parse_query({"q": "m16 " * 2000 + "n8"}).words == ("m16", "n8")
