"""Questions in the box: who holds an element, what a lane holds; words, messages, and instructions of other makers."""

from __future__ import annotations

import random
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

from lanescope.app.catalogue import full_text, topics
from lanescope.app.guide import index as guide_index
from lanescope.app.guide.rendering import list_sections
from lanescope.app.instruction.state import parse_state
from lanescope.app.kit.names import name_form
from lanescope.app.read import elements, text_meanings
from lanescope.app.read.facts import Reading
from lanescope.ptx import catalog
from lanescope.tiles.tiled_mma import tiled_mma
from tests.client import Client

BF16 = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
HELD = [i for i in catalog.instructions() if {"a", "d"} <= set(i.operands) and len(i.operands["a"].axes) == 2]


def read(text: str) -> Reading:
    return text_meanings.read_text(text)


# an element ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "A[5][9] of mma.m16n8k16 bf16",
        "a[5,9] of mma m16n8k16 bf16",
        "which lane holds A(5, 9) in mma.m16n8k16 f32 += bf16 × bf16",
        "element (5,9) of A of mma.m16n8k16 bf16",
        "mma.m16n8k16 bf16 A[5][9]",
        "who owns row 5, column 9 of A of mma.m16n8k16 bf16?",
        f"A[5][9] of {BF16}",
        "A[5][9] of SM80_16x8x16_F32BF16BF16F32_TN",
    ],
)
def test_an_element_is_pinned_on_the_page_that_opens(client: Client, text: str) -> None:
    """By hand, PTX ISA 9.7.14.5.8: row 5 is group 5, column 9 = 8 + 2·0 + 1: lane 5·4 + 0, a5, the upper half of R2."""
    reading = client.post("/api/v1/read", json={"text": text}).json()
    assert reading["link"] == f"/i/{BF16}?pin=a:5,9" and reading["facts"]["ptx"] == BF16
    (holder,) = reading["facts"]["holders"]
    assert (holder["thread"], holder["value"], holder["register"], holder["bit"]) == (20, 5, 2, 16)
    assert reading["notices"][0] == "A[5][9] is in lane 20, register R2, bits 31:16."
    opened = client.get("/read", params={"text": text}, follow_redirects=False)
    assert opened.headers["location"] == reading["link"]
    assert "is not used" not in client.get(reading["link"]).text


def test_the_answer_is_where_the_maps_put_the_element() -> None:
    """The engine's forward map finds the element again, and the pin is one that the page takes."""
    draw = random.Random(5)
    for form in draw.sample(HELD, 60):
        op = form.operands[draw.choice("ad")]
        thread, value = draw.randrange(op.threads), draw.randrange(op.values)
        row, col = int(op.coords["row"][thread, value]), int(op.coords["col"][thread, value])
        reading = read(f"{op.name.upper()}[{row}][{col}] of {form.ptx}")
        assert reading.kind == "instruction", form.ptx
        held = [(one["thread"], one["value"]) for one in reading.facts["holders"]]
        places = np.argwhere((op.coords["row"] == row) & (op.coords["col"] == col))
        assert sorted(held) == sorted((int(t), int(v)) for t, v in places) and (thread, value) in held
        query = {name: values[0] for name, values in parse_qs(urlsplit(reading.link).query).items()}
        state, notices = parse_state(form, query)
        assert state.pinned() == (op.name, row, col) and not notices


def test_several_forms_answer_the_plain_one_first_with_the_same_pin(client: Client) -> None:
    text = "which lane holds element (3,5) of the accumulator of wgmma.m64n64k16 f16"
    reading = read(text)
    assert reading.link.endswith("m64n64k16.f32.f16.f16?pin=d:3,5")
    assert [one.link.rpartition("?")[2] for one in reading.also] == ["pin=d:3,5"]
    assert (reading.facts["holders"][0]["register"], reading.also[0].facts["holders"][0]["register"]) == (1, 0)
    page = client.get("/read", params={"text": text}, follow_redirects=False)
    assert page.status_code == 200 and "register R1" in page.text, "they differ: neither is chosen"


def test_forms_with_the_same_answer_open_the_plain_one() -> None:
    link = text_meanings.find_certain_link("A[1][1] of wgmma.m64n64k16 f16")
    assert link.endswith("m64n64k16.f32.f16.f16?pin=a:1,1")


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("A[5][20] of mma.m16n8k16 bf16", "columns from 0 to 15"),
        ("D[16][0] of mma.m16n8k16 bf16", "rows go from 0 to 15"),
        ("lane 32 of mma.m16n8k16 bf16", "from 0 to 31"),
        ("R9 of lane 3 of mma.m16n8k16 bf16", "R0 to R3"),
        ("B[3][5] of wgmma.m64n64k16 bf16", "shared memory"),
        ("A[0][0] of ldmatrix x4", "It has data"),
    ],
)
def test_what_does_not_exist_is_an_error_that_names_the_range(text: str, limit: str) -> None:
    reading = read(text)
    assert reading.kind == "unknown" and limit in reading.notices[0], reading.notices
    assert text_meanings.find_certain_link(text) == ""


def test_what_is_assumed_is_said() -> None:
    assert any(
        "names no matrix: this is D" in notice for notice in read("who holds (3,5) in mma.m16n8k16 bf16").notices
    )
    assert any("stored compressed" in notice for notice in read("A[0][3] of mma.sp.m16n8k32 f16").notices)
    assert any("usual instruction descriptor" in notice for notice in read("D[70][3] of tcgen05.mma.kind::f16").notices)
    assert read("A[5][9]").title == read("lane 13").title == "Of which instruction?"


def test_a_lane_and_a_register() -> None:
    lane = read("lane 13 of mma.m16n8k16 bf16")
    assert "lanes=13" in lane.link and "D: R0 D[3][2], R1 D[3][3], R2 D[11][2], R3 D[11][3]." in lane.notices
    register = read("R2 of lane 20 of A of mma.m16n8k16 bf16")
    assert [(one["row"], one["col"]) for one in register.facts["holders"]] == [(5, 8), (5, 9)]
    assert register.link.endswith("?lanes=20&pin=a:5,8")


def test_an_element_of_a_whole_tile(client: Client) -> None:
    text_of_tile = "make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_2,_2>>{}, Tile<_64,_64,_16>{})"
    made = tiled_mma("SM80_16x8x16_F32F16F16F32_TN", "(2,2,1)", "(64,64,16)")
    for text in (f"{text_of_tile} C(37,50)", f"C[37][50] of {text_of_tile}"):
        reading = read(text)
        held = [(one["thread"], one["value"]) for one in reading.facts["holders"]]
        assert held == made.operand("c").owner(37, 50) and reading.link.endswith("&pin=c:37,50")
        assert "is not used" not in client.get(reading.link).text
        assert text_meanings.find_certain_link(text) == reading.link
    assert "rows go from 0 to 63" in read(f"C(64,0) of {text_of_tile}").notices[0]


@pytest.mark.parametrize(
    "code",
    [
        f'float c[2][4]; asm volatile("{BF16} {{%0}};");',
        f"c[0][1] = 3\n{BF16}",
        "Layout<Shape<_2,_2>> a(1,2)",
        "for lane in range(32): a[0, 1] = lane",
    ],
)
def test_code_is_no_question(code: str) -> None:
    assert elements.parse_question(code) is None


# words ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "pages"),
    [
        ("2CTA", ("/guide/wgmma-to-tcgen05",)),
        ("wrong results", ("/guide/debugging",)),
        ("scale factor layout", ("/guide/scale-factors", "/scale-factors")),
        ("reorder_meta", ("/metadata/order",)),
        ("TMA multicast", ("/smem",)),
        ("how do I build a wgmma descriptor", ("/guide/five-minutes", "/descriptor", "/guide/descriptor")),
        ("what is SBO", ("/guide/lbo-sbo",)),
        ("which warp may read tensor memory", ("/guide/tensor-memory", "/tmem")),
        ("how do I advance the descriptor by a K step", ("/guide/descriptor", "/guide/five-minutes")),
        ("GMMA::Major::K", ("/guide/canonical-layouts",)),
        ("two accumulators in flight", ("/guide/wgmma.wait_group",)),
        ("cuTensorMapEncodeTiled returned CUDA_ERROR_INVALID_VALUE", ("/guide/paste",)),
        ("Failed to initialize the TMA descriptor 1", ("/guide/paste",)),
        ("CUDA error: misaligned address", ("/guide/ldmatrix",)),
        (
            "ptxas info : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized",
            ("/instructions", "/guide/fence-commit-wait"),
        ),
    ],
)
def test_words_and_messages_lead_to_their_page(client: Client, text: str, pages: tuple[str, ...]) -> None:
    reading = client.post("/api/v1/read", json={"text": text}).json()
    assert reading["kind"] == "topic" and reading["link"].partition("#")[0].partition("?")[0] in pages, reading["link"]
    assert client.get(reading["link"]).status_code == 200


def test_titles_and_headings_lead_to_their_page_and_anchor() -> None:
    for topic in topics.list_topics():
        found = full_text.find_pages(topic.title)
        assert topic.page in [one.page.partition("#")[0] for one in found[:3]], topic.title
    assert full_text.find_pages("which address is swizzled")[0].page == "/guide/swizzle#which-address-is-swizzled"


def test_every_anchor_of_the_search_stands_on_its_page() -> None:
    for slug in guide_index.ORDER:
        anchors = {anchor for anchor, _ in list_sections(slug)}
        sections = [one for one in full_text._build_index().sections if one.page == f"/guide/{slug}" and one.anchor]
        assert {one.anchor for one in sections} <= anchors, slug


def test_a_sentence_that_shares_words_with_a_page_is_recognised() -> None:
    draw = random.Random(3)
    words = [word for slug in guide_index.ORDER for word in full_text.split_words(guide_index.read_title(slug))]
    for _ in range(60):
        text = f"why does my {draw.choice(words)} and the {draw.choice(words)} look odd"
        assert read(text).title != "Not recognised", text


@pytest.mark.parametrize(
    ("text", "who"),
    [
        ("v_mfma_f32_32x32x8f16", "AMD's Matrix Instruction Calculator"),
        ("v_wmma_f32_16x16x16_f16", "AMD's Matrix Instruction Calculator"),
        ("rocwmma::fragment<matrix_a, 16, 16, 16, half, row_major>", "AMD's Matrix Instruction Calculator"),
        ("dpas.8x8 (8|M0)", "Intel's own documentation"),
        ("_tile_dpbf16ps(0, 1, 2)", "Intel's own documentation"),
        ("tdpbf16ps tmm0, tmm1, tmm2", "Intel's own documentation"),
        ("simdgroup_matrix<float, 8, 8>", "Metal Shading Language"),
    ],
)
def test_other_makers_are_named(text: str, who: str) -> None:
    reading = read(text)
    assert reading.kind == "unknown" and who in reading.notices[0] and "NVIDIA" in reading.notices[0]


def test_a_comment_about_another_maker_changes_nothing() -> None:
    kernel = f'// the same as v_mfma on AMD\nasm volatile("{BF16} {{%0,%1,%2,%3}}, …;");'
    assert read(kernel).facts["ptx"] == BF16
    assert name_form(catalog.find(BF16)).text in read(f"{name_form(catalog.find(BF16)).text}").title
