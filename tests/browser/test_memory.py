"""The tile explorer and the descriptor editor as a person uses them."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from app.memory import facts as memory
from layouts.descriptor import Descriptor
from layouts.table.descriptors import WGMMA
from layouts.tile_map import TileMap
from tests.browser.waiting import until

pytestmark = pytest.mark.browser
START = "0x4000004000010100"


def of_drawing(page: Page, name: str) -> Any:
    """What the tile page's script knows of one drawing."""
    data = page.evaluate("JSON.parse(document.getElementById('data').textContent)")
    return next(one for one in data["drawings"] if one["name"] == name)


def point(page: Page, drawing: str, panel: Any, row: int, col: int) -> None:
    """Move the pointer to a cell of a tile's picture."""
    picture = page.locator(f"[data-drawing={drawing}] [data-panel={panel['name']}] > svg")
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    assert box
    page.mouse.move(box["x"] + panel["x"] + (col + 0.5) * panel["cell_width"],
                    box["y"] + panel["y"] + (row + 0.5) * panel["cell_height"])  # fmt: skip


def word_of(page: Page) -> str:
    return page.input_value("#word")


def bits_of(page: Page) -> int:
    texts = page.eval_on_selector_all("#bits .bit span", "all => all.map((b) => b.textContent).join('')")
    return int(texts, 2)


def said(page: Page, word: str) -> None:
    expect(page.locator("#word")).to_have_value(word)


def analysed(page: Page, word: str) -> None:
    page.wait_for_selector(f"html[data-analysed='{word}']")


def test_every_view_follows_a_bit(open_page: Any) -> None:
    page = open_page(f"/descriptor/wgmma/{START}")
    analysed(page, START)
    page.click("#bits [data-bit='38']")
    expected = f"0x{int(START, 16) ^ (1 << 38):016x}"
    analysed(page, expected)
    assert word_of(page) == expected and bits_of(page) == int(expected, 16)
    assert page.input_value("[name=sbo_bytes]") == "0" and expected in page.url
    page.click("#undo")
    analysed(page, START)
    assert word_of(page) == START and page.input_value("[name=sbo_bytes]") == "1024"
    page.click("#redo")
    analysed(page, expected)


def test_an_edit_after_undo_clears_redo(open_page: Any) -> None:
    """By a bit, by a drag and by a field: what was undone before an edit cannot come back; what it changed can."""
    page = open_page(f"/descriptor/wgmma/{START}")
    before, redo = START, page.locator("#redo")
    for edit, after in (
        (lambda: page.click("#bits [data-bit='30']"), "0x4000004040010100"),
        (lambda: page.drag_and_drop("#bits [data-bit='12']", "#bits [data-bit='10']"), "0x4000004040011500"),
        (lambda: page.fill("[name=sbo_bytes]", "2048"), "0x4000008040011500"),
    ):
        page.click("#bits [data-bit='45']")
        page.click("#undo")
        said(page, before)
        expect(redo).to_be_enabled()
        edit()
        said(page, after)
        expect(redo).to_be_disabled()
        page.click("#undo")
        said(page, before)
        page.click("#redo")
        said(page, after)
        expect(redo).to_be_disabled()
        before = after


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_field_has_one_colour_in_its_bits_and_its_label(open_page: Any, scheme: str) -> None:
    page = open_page(f"/descriptor/wgmma/{START}", scheme=scheme)
    painted = "(all, side) => all.map((one) => [one.dataset.bit ?? one.id, getComputedStyle(one)[side]])"
    bits = {int(bit): colour for bit, colour in page.eval_on_selector_all("#bits .bit", painted, "backgroundColor")}
    labels = dict(page.eval_on_selector_all("#fields label", painted, "borderLeftColor"))
    names = {field.name: range(field.low, field.high + 1) for field in WGMMA.fields}
    assert set(labels) == set(names) and len(set(labels.values())) == len(names)
    assert {name: {bits.pop(at) for at in places} for name, places in names.items()} == {
        name: {colour} for name, colour in labels.items()
    }
    assert len(set(bits.values())) == 1 and not set(bits.values()) & set(labels.values())  # the reserved bits


def test_dragging_paints_the_first_bits_new_value(open_page: Any) -> None:
    page = open_page("/descriptor/wgmma/0x0000000000000000")
    first, last = (page.locator(f"#bits [data-bit='{bit}']").bounding_box() for bit in (13, 10))
    page.mouse.move(first["x"] + 5, first["y"] + 5)
    page.mouse.down()
    page.mouse.move(last["x"] + 5, last["y"] + 5, steps=12)
    page.mouse.up()
    analysed(page, "0x0000000000003c00")
    assert bits_of(page) == 0x3C00 and page.input_value("[name=start_address]") == str(0x3C000)


def test_bits_by_keyboard(open_page: Any) -> None:
    page = open_page("/descriptor/wgmma/0x0000000000000000")
    page.focus("#bits [data-bit='63']")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    analysed(page, "0x4000000000000000")
    assert page.input_value("[name=swizzle]") == "128B"
    for _ in range(32):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    analysed(page, "0x4000000040000000")
    expect(page.locator("#analysis .notice").first).to_contain_text("Reserved bits are set")


def test_the_field_being_typed_in_is_never_rewritten(open_page: Any) -> None:
    page = open_page(f"/descriptor/wgmma/{START}")
    box = page.locator("[name=sbo_bytes]")
    box.fill("0x800")
    analysed(page, "0x4000008000010100")
    assert box.input_value() == "0x800"
    box.press("Tab")
    expect(box).to_have_value("2048")
    box.fill("100")
    expect(page.locator("#field-note")).to_contain_text("a multiple of 16, e.g. 96")
    assert word_of(page) == "0x4000008000010100" and box.input_value() == "100"
    box.press("Escape")
    expect(box).to_have_value("2048")
    box.press("ArrowUp")
    expect(box).to_have_value("2064")
    page.fill("[name=base_offset]", "8")
    expect(page.locator("#field-note")).to_contain_text("at most 7")


def test_reserved_bits_survive_every_edit(open_page: Any) -> None:
    word = "0x4123804040010100"
    page = open_page(f"/descriptor/wgmma/{word}")
    before = Descriptor(int(word, 16)).reserved
    page.fill("[name=start_address]", "8192")
    page.select_option("[name=swizzle]", "64B")
    page.locator("[name=lbo_bytes]").press("ArrowUp")
    until(page, lambda: Descriptor(bits_of(page)).lbo_bytes, Descriptor(int(word, 16)).lbo_bytes + 16)
    now = Descriptor(bits_of(page))
    assert now.reserved == before and (now.start_address, now.mode.name) == (8192, "64B")


def test_a_field_reads_the_numbers_the_server_reads(open_page: Any) -> None:
    page = open_page(f"/descriptor/wgmma/{START}")
    for text, amount in (("0x40", 64), ("0080", 80), ("1_6u", 16), ("0b100000", 32), ("4'8ULL", 48)):
        page.fill("[name=lbo_bytes]", text)
        until(page, lambda: Descriptor(bits_of(page)).lbo_bytes, amount)
    for text in ("", "0o20", "1e2", "-16", "0x", "1__6", "１６", "sixteen"):
        page.fill("[name=lbo_bytes]", text)
        expect(page.locator("#field-note")).to_contain_text(f"LBO, bytes [29:16] is '{text}': a whole number")
        assert Descriptor(bits_of(page)).lbo_bytes == 48


def test_verify_explain_and_apply(open_page: Any) -> None:
    page = open_page("/descriptor/wgmma/0x4000004004000101?s_swizzle=128B")
    expect(page.locator("#verdict")).to_contain_text("All 1,024 elements are read from the wrong place")
    expect(page.locator("#lbo")).to_have_class(re.compile("unread"))
    page.click("#apply")
    analysed(page, "0x4000004004000100")
    expect(page.locator("#verdict")).to_contain_text("All 1,024 elements are read from where they are stored")
    page.select_option("[name=s_swizzle]", "64B")
    expect(page.locator("#verdict")).to_have_attribute("data-verdict", "mismatch")
    expect(page.locator("#analysis")).to_contain_text("stored_swizzle")
    assert "s_swizzle=64B" in page.url
    page.reload()
    expect(page.locator("#verdict")).to_have_attribute("data-verdict", "mismatch")


def test_storage_kinds_show_their_own_fields(open_page: Any) -> None:
    page = open_page(f"/descriptor/wgmma/{START}")
    expect(page.locator("[name=s_pitch_bytes]")).to_have_count(0)
    page.click("[data-preset=box]")
    expect(page.locator("[name=s_pitch_bytes]")).to_be_visible()
    expect(page.locator("[name=s_mn]")).to_have_count(0)
    expect(page.locator("#verdict")).to_have_attribute("data-verdict", "match")
    page.fill("[name=s_pitch_bytes]", "x")
    page.press("[name=s_pitch_bytes]", "Tab")
    expect(page.locator("#analysis .notice")).to_contain_text("Row pitch, bytes is 'x'")
    assert page.input_value("[name=s_pitch_bytes]") == "x"


def test_a_pasted_expression_and_a_wrong_one(open_page: Any) -> None:
    page = open_page(f"/descriptor/wgmma/{START}")
    page.fill("#word", "((uint64_t)1 << 62) | ((uint64_t)(1024 >> 4) << 32) | (0x1000 >> 4)")
    page.press("#word", "Enter")
    analysed(page, "0x4000004000000100")
    page.fill("#word", "1 | x")
    page.press("#word", "Enter")
    expect(page.locator("#word-error")).to_contain_text("not a constant expression")
    assert page.input_value("#word") == "1 | x" and bits_of(page) == 0x4000004000000100


def test_editor_without_scripts(open_page: Any) -> None:
    page = open_page("/descriptor/wgmma/0x4000004004000101", scripts=False)
    page.click("[data-preset=box]")
    expect(page.locator("#analysis")).to_contain_text("All 1,024 elements are read from the wrong place")
    page.fill("[name=start_address]", "4096")
    page.click("#fields button")
    expect(page).to_have_url(re.compile("/descriptor/wgmma/0x4000004004000100"))


@pytest.mark.parametrize("plain", ["0", "1"])
def test_tile_explorer_links_both_pictures(open_page: Any, plain: str) -> None:
    page = open_page(f"/smem?plain={plain}", wait=False)
    tile, _ = memory.tile_of({})
    cells = TileMap(tile)
    views = {name: cells.memory(name == "before").ravel() for name in ("before", "after")}
    panels = {p["name"]: p for p in of_drawing(page, "whole")["panels"]}
    row, col = 11, 4
    chunk = row * cells.cols + col
    m = panels["memory"]
    point(page, "whole", panels["logical"], row, col)
    place = int((views["before"] if plain == "1" else views["after"])[chunk])
    mark = page.locator("[data-drawing=whole] [data-mark=memory]")
    expect(page.locator("html")).to_have_attribute("data-chunk", str(chunk))
    assert float(mark.get_attribute("x")) == pytest.approx(m["x"] + place % 8 * m["cell_width"])
    assert float(mark.get_attribute("y")) == pytest.approx(m["y"] + place // 8 * m["cell_height"])
    expect(page.locator("#chunk")).to_contain_text("row 11, k 32 to 39")
    expect(page.locator("#chunk")).to_contain_text(f" = {int(views['after'][chunk]) * 16}\n")
    point(page, "whole", m, 0, 0)
    first = list(views["before" if plain == "1" else "after"]).index(0)
    expect(page.locator("html")).to_have_attribute("data-chunk", str(first))
    point(page, "whole", m, place // 8, place % 8)
    expect(page.locator("html")).to_have_attribute("data-chunk", str(chunk))


@pytest.mark.parametrize(
    "path",
    [
        "/smem",
        "/smem?major=MN&swizzle=32B&mn=128&k=64",
        f"/descriptor/wgmma/{START}",
        "/guide/mn-major-64b",
        "/reuse",
        "/compare",
    ],
)
@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1440, "dark")])
def test_nothing_runs_off_the_page(open_page: Any, path: str, width: int, scheme: str) -> None:
    page = open_page(path, width=width, scheme=scheme, wait=False)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_editor_reads_back_what_it_prints(open_page: Any) -> None:
    page = open_page("/descriptor/wgmma/0x4000004000010100", wait=False)
    page.click("#analysis details:last-of-type summary")
    expect(page.locator("#analysis details:last-of-type pre")).to_have_count(3)
    texts = page.locator("#analysis details:last-of-type pre").all_inner_texts()
    for text in texts:
        page.fill("[name=sbo_bytes]", "16")
        page.fill("#word", text)
        page.press("#word", "Enter")
        expect(page.locator("#word")).to_have_value("0x4000004000010100")
        assert bits_of(page) == 0x4000004000010100 and page.locator("#word-error").is_hidden()
        assert page.locator("#word-notes").is_visible() == ("make_desc" in text)


@pytest.mark.parametrize(
    "query",
    [
        "unit=element&mn=16&k=64",
        "major=MN&swizzle=64B&mn=64&k=16&down=mn",
        "show=memory&mn=16&k=64",
        "base=0x1010&mn=16&k=64",
    ],
)
def test_cells_of_every_kind_are_linked_to_memory(open_page: Any, query: str) -> None:
    """A cell under the pointer names its element and address, as the engine has it; the same element is marked in
    memory.
    """
    page = open_page(f"/smem?{query}", wait=False)
    given = dict(part.split("=") for part in query.split("&"))
    tile, _ = memory.tile_of(given)
    cells = TileMap(tile, given.get("down", ""), given.get("unit", "chunk"))
    panels = {p["name"]: p for p in of_drawing(page, "whole")["panels"]}
    row, col = 5, 3
    first = tile.base // 128 * 128
    at = int(cells.memory()[row, col]) * cells.bits // 8 + tile.base
    place = (at - first) * 8 // cells.bits
    panel, cell = (panels["logical"], row * cells.cols + col) if "logical" in panels else (panels["memory"], place)
    point(page, "whole", panel, cell // panel["cols"], cell % panel["cols"])
    expect(page.locator("#chunk")).to_contain_text(f" = {at}\n")
    mn, k = int(cells.mn[row, col]), int(cells.k[row, col])
    expect(page.locator("#chunk")).to_contain_text(f"row {mn}, k {k}" if tile.major == "K" else f"k {k}, mn {mn}")
    m = panels["memory"]
    assert float(page.locator("[data-drawing=whole] [data-mark=memory]").get_attribute("x")) == pytest.approx(
        m["x"] + place % m["cols"] * m["cell_width"], abs=0.01
    )
    assert float(page.locator("[data-drawing=whole] [data-mark=memory]").get_attribute("y")) == pytest.approx(
        m["y"] + place // m["cols"] * m["cell_height"], abs=0.01
    )


@pytest.mark.parametrize(
    "query", ["", "swizzle=64B&major=MN&mn=128&k=32&base=2048", "swizzle=none&unit=element&mn=16&k=32&element_bits=8"]
)
def test_a_cell_says_its_place_its_xor_and_its_banks(open_page: Any, query: str) -> None:
    """By pointer in silence, by keyboard aloud; the address bits are those of the engine, changed as its swizzle
    changes them.
    """
    page = open_page(f"/smem?{query}", wait=False)
    tile, _ = memory.tile_of(dict(pair.split("=") for pair in query.split("&") if pair and "unit" not in pair))
    cells = TileMap(tile, unit="element" if "unit" in query else "chunk")
    size, swizzle = cells.bits // 8, tile.mode.swizzle()
    row, col = min(5, cells.rows - 1), min(6, cells.cols - 1)
    page.focus("[data-drawing=whole] [data-panel] svg >> nth=0")
    for key, count in (("ArrowDown", row), ("ArrowRight", col)):
        for _ in range(count):
            page.keyboard.press(key)
    expect(page.locator("html")).to_have_attribute("data-chunk", str(row * cells.cols + col))
    mn, k = int(cells.mn[row, col]), int(cells.k[row, col])
    before, after = (tile.base + int(cells.memory(plain)[row, col]) * size for plain in (True, False))
    assert after == swizzle(before)
    first, *rest = page.inner_text("#chunk").split("\n")
    place, banks = first.split(" · ")
    along = f"{k if tile.major == 'K' else mn}" + (
        f" to {(k if tile.major == 'K' else mn) + cells.span - 1}" if cells.span > 1 else ""
    )
    assert place == f"{cells.unit}: " + (f"row {mn}, k {along}" if tile.major == "K" else f"k {k}, mn {along}")
    for text, name, address in zip(rest, ("before", "after"), (before, after), strict=False):
        said, bits, *numbers = re.split(r" = |(?<=[a-z]) +", text)
        high, *groups = bits.split(" ")
        assert said == name and numbers == [f"{address:#x}", str(address)]
        assert int(bits.replace(" ", ""), 2) == address and [len(group) for group in groups] == [3, 3, 4]
        assert len(high) >= 2
    terms = [tuple(map(int, pair)) for pair in re.findall(r"bit (\d+) \^= bit (\d+)", rest[2])]
    assert len(terms) == swizzle.bits and sum((before >> other & 1) << bit for bit, other in terms) == before ^ after
    assert rest[2] == "no swizzle: the address is not changed" or terms
    touched = sorted({(after + byte) // 4 % 32 for byte in range(size)})
    assert banks == (f"bank {touched[0]}" if len(touched) == 1 else f"banks {touched[0]} to {touched[-1]}")
    spoken = page.inner_text("#spoken")
    assert spoken == f"{place.replace(': ', ' ', 1)}: address {after}, {banks}"
    page.hover("[data-drawing=whole] [data-panel] svg >> nth=0")
    expect(page.locator("html")).not_to_have_attribute("data-chunk", str(row * cells.cols + col))
    assert page.inner_text("#spoken") == spoken


def test_a_dense_tile_has_its_atom_close_up(open_page: Any) -> None:
    """The atom's cells are as large as their numbers need, and answer like those of the whole."""
    page = open_page("/smem?mn=256&k=64", wait=False)
    atom, whole = (of_drawing(page, name)["panels"][0] for name in ("atom", "whole"))
    assert (atom["rows"], atom["cols"]) == (8, 8) and atom["cell_height"] >= 14 > whole["cell_height"]
    point(page, "atom", atom, 3, 2)
    expect(page.locator("#chunk")).to_contain_text("row 3, k 16 to 23")
    expect(page.locator("[data-drawing=atom] [data-mark=memory]")).to_have_attribute("visibility", "visible")
    expect(page.locator("[data-drawing=whole] [data-mark=memory]")).to_have_attribute("visibility", "hidden")
    assert page.locator("[data-drawing=atom]").bounding_box()["y"] < 700
    page.goto(page.url.replace("mn=256&k=64", "mn=8&k=64"))
    assert page.locator("[data-drawing]").count() == 1  # one atom is the whole


def test_a_tile_is_chosen_by_clicks(open_page: Any) -> None:
    """A preset, a major and a swizzle are one click each; sizes grow to whole atoms and nothing else changes."""
    page = open_page("/smem?mn=64&k=64&number=memory", wait=False)
    page.click(".preset >> text=128×32")
    expect(page.locator(".preset[aria-current]")).to_have_text(re.compile("^f16, K-major, 64B"))
    page.click(".segments a:text-is('128B')")
    expect(page).to_have_url(re.compile("k=64"))
    assert "k=64" in page.url and "mn=128" in page.url and "number=memory" in page.url
    page.click(".segments a:text-is('MN-major')")
    expect(page.locator("#answer")).to_contain_text("MN-major")
    blocked = page.locator(".segments > span", has_text="8-bit elements are read K-major only")
    expect(blocked).to_have_count(1)
    page.fill("[name=k]", "32")
    page.press("[name=k]", "Enter")
    expect(page.locator("#answer")).to_contain_text("128×32 elements of 16 bits, MN-major")


# journeys, counted in actions after the word is pasted ----------------------------------------------------------------


def verdict(page: Page, said: str) -> None:
    expect(page.locator("#verdict")).to_have_attribute("data-verdict", said)


def test_a_tma_tile_is_verified_by_word_and_preset(open_page: Any) -> None:
    page = open_page("/descriptor")
    verdict(page, "unknown")
    page.fill("#word", "0x40000040000100C2")  # the second K step of a tile at 0xc00
    page.click("[data-preset=box]")
    verdict(page, "match")
    expect(page.locator("[name=s_base]")).to_have_value("0xc00")
    expect(page.locator("[name=slice_k]")).to_have_value("16")
    page.reload()
    verdict(page, "match")


def test_a_preset_clicked_before_the_word_was_answered_is_the_words_own(open_page: Any) -> None:
    page = open_page("/descriptor")
    page.route("**/descriptor/**part=analysis**", lambda route: (page.wait_for_timeout(600), route.continue_()))
    page.fill("#word", "0x40000040000100C2")
    page.click("[data-preset=box]")
    expect(page.locator("[name=s_base]")).to_have_value("0xc00")
    verdict(page, "match")


def test_an_mn_major_operand_is_verified_in_three(open_page: Any) -> None:
    page = open_page("/descriptor?instruction=wgmma.mma_async.m64n128k16.f32.f16.f16")
    page.fill("#word", "0x4000004002000100")
    page.select_option("[name=operand]", "b")
    page.click("[data-preset=panels]")
    verdict(page, "match")
    expect(page.locator("select[name=major]")).to_have_value("MN")


def test_core_matrices_by_hand_are_verified_in_three(open_page: Any) -> None:
    page = open_page("/descriptor")
    page.fill("#word", "0x0000001000080100")  # K first: LBO 128, SBO 256
    page.click("[data-preset=cores]")
    page.select_option("[name=s_order]", "k")
    verdict(page, "match")


def test_a_mismatch_is_repaired_in_one_and_undone(open_page: Any) -> None:
    page = open_page("/descriptor/wgmma/0x4000004004000101?s_swizzle=128B")
    page.click("#apply")
    verdict(page, "match")
    page.click("#undo")
    verdict(page, "mismatch")


def test_an_element_is_paired_with_the_byte_it_is_read_from(open_page: Any) -> None:
    page = open_page("/descriptor/wgmma/0x4000004004000101?s_swizzle=128B")
    page.hover("#picture-operand [data-state=wrong] >> nth=0")
    expect(page.locator("#paired")).to_have_text("A[0, 0 to 7] is read from 0x1010; it is stored at 0x1000")
    expect(page.locator("#picture-memory [data-pointed]")).to_have_count(2)
    page.hover("#picture-memory [data-state=read] >> nth=0")
    expect(page.locator("#paired")).to_contain_text("read as A[")
    expect(page.locator("#paired")).to_contain_text("holds no element")


def test_a_larger_operand_grows_the_tile(open_page: Any) -> None:
    page = open_page(
        f"/descriptor/wgmma/{START}?instruction=wgmma.mma_async.m64n128k16.f32.f16.f16&s_swizzle=128B&s_mn=64&s_k=64"
    )
    page.select_option("[name=operand]", "b")
    expect(page.locator(".grew")).to_contain_text("64 → 128")
    expect(page.locator("[name=s_mn]")).to_have_value("128")
    verdict(page, "match")


def test_an_error_stands_beside_its_field_and_keeps_the_picture(open_page: Any) -> None:
    page = open_page(f"/descriptor/wgmma/{START}?s_swizzle=128B")
    page.fill("[name=s_k]", "60")
    page.press("[name=s_k]", "Tab")
    expect(page.locator("label:has([name=s_k]) [data-error]")).to_contain_text("not a multiple of the atom")
    expect(page.locator("#picture-memory")).to_be_visible()


@pytest.mark.parametrize("width", [390, 768])
def test_on_a_narrow_screen_the_verdict_and_its_cause_stand_above_the_form(open_page: Any, width: int) -> None:
    page = open_page("/descriptor/wgmma/0x4000004000010101?s_swizzle=128B", width=width)
    tops = [
        page.locator(name).first.bounding_box()["y"] for name in ("#verdict", ".diagnosis", "#verify-form", ".pair")
    ]
    assert tops == sorted(tops)


@pytest.mark.parametrize("path", ["/compare", "/descriptor/wgmma/0x4000004000010100"])
def test_an_underscore_is_seen_in_every_box(open_page: Any, path: str) -> None:
    """An input of a set height, or one whose line is as high as the font, cuts off what lies below the baseline."""
    page = open_page(path)
    page.evaluate("document.activeElement?.blur()")
    boxes = [box for box in page.locator("input:not([type=hidden]):not([type=checkbox])").all() if box.is_visible()]
    assert boxes
    for box in boxes:
        seen = []
        for text in (" ", "____"):
            box.evaluate("(box, text) => { box.value = text; }", text)
            seen.append(box.screenshot())
        assert seen[0] != seen[1], f"{box.get_attribute('name')} shows no underscore"


def test_the_start_stands_in_hex_beside_its_box(open_page: Any) -> None:
    page = open_page(f"/descriptor/wgmma/{START}")
    box, said = (page.locator(one).bounding_box() for one in ("[name=start_address]", "#start-hex"))
    assert (
        box["y"] <= said["y"] + said["height"] / 2 <= box["y"] + box["height"] and said["x"] > box["x"] + box["width"]
    )
    assert page.locator("[name=lbo_bytes]").bounding_box()["y"] == pytest.approx(box["y"], abs=4)
    page.click("#bits [data-bit='9']")
    expect(page.locator("#start-hex")).to_have_text("= 0x3000")
