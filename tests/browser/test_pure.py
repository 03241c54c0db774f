"""What scripts compute without the page's help, in one page each: ranges of the view, the word and its history, keys,
clicks, lines and ticks of a canvas; held against a model in Python.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from playwright.sync_api import Page

from lanescope import find
from lanescope.errors import LayoutError
from lanescope.inputs import parse_ranges
from lanescope.ptx.table.descriptors import WGMMA as FORMAT
from lanescope.render import window as view_of
from tests.browser.test_instruction import M16, WIDE
from tests.sample import choose_count

pytestmark = pytest.mark.browser
LEAST = 4  # cells of a dimension that zooming in leaves
Range = tuple[float, float]

# Steps of a walk through the view; after each: whether anything moved, and what is shown, in the address's words too.
WALK = """async (steps) => {
  const view = await import("/static/instruction/window.js");
  const panelOf = (name) => lanescope.stage.panels.find((panel) => panel.name === name);
  return steps.map(([what, name, ...given]) => {
    const panel = panelOf(name);
    const moved = {
      zoom: () => view.zoom(panel, given.slice(0, 2), given[2]), all: () => view.zoomAll(given[0]),
      pan: () => view.pan(panel, ...given), fit: view.fit, open: () => view.showView(""),
      reveal: () => view.reveal({ panel, row: given[0], col: given[1] }), look: () => view.showView(given[0]),
    }[what]();
    return { moved, shown: view.shown(), said: view.spelled(), whole: view.isWhole(), opening: view.isOpening() };
  });
}"""


def place_range(start: float, size: float, count: int) -> Range:
    start = max(0.0, min(count - size, start))
    return start, start + size


def scale_range(span: Range, at: float, size: float, count: int) -> Range:
    kept = max(min(LEAST, count), min(count, size))
    return place_range(at - (at - span[0]) * kept / (span[1] - span[0]), kept, count)


class ExpectedView:
    """What the walk must show: a range a dimension."""

    def __init__(self, ptx: str) -> None:
        self.found = find(ptx)
        self.count = view_of.count_cells(self.found)
        self.opening = {dim: (float(a), float(b)) for dim, (a, b) in view_of.make_opening_window(self.found).items()}
        self.whole = {dim: (0.0, float(count)) for dim, count in self.count.items()}
        self.now = dict(self.opening)

    def after(self, what: str, panel: str, *given: Any) -> dict[str, Range]:
        dims = {"a": "mk", "b": "kn", "d": "mn"}.get(panel, "")
        now = dict(self.now)
        match what:
            case "zoom":
                for dim, at in zip(dims, given, strict=False):
                    first, last = now[dim]
                    now[dim] = scale_range(now[dim], at, (last - first) * given[2], self.count[dim])
            case "all":
                for dim, (first, last) in now.items():
                    now[dim] = scale_range(
                        (first, last), (first + last) / 2, (last - first) * given[0], self.count[dim]
                    )
            case "pan":
                for dim, cells in zip(dims, given, strict=True):
                    first, last = now[dim]
                    now[dim] = place_range(first + cells, last - first, self.count[dim])
            case "reveal":
                for dim, at in zip(dims, given, strict=True):
                    first, last = now[dim]
                    now[dim] = place_range(min(at, max(first, at + 1 - (last - first))), last - first, self.count[dim])
            case "fit":
                now = self.whole
            case "open":
                now = self.opening
            case "look":
                now = {dim: (float(a), float(b)) for dim, (a, b) in view_of.parse_window(given[0], self.found).items()}
        return now


@pytest.mark.parametrize("ptx", [M16, WIDE])
def test_a_walk_through_the_view(open_page: Any, ptx: str) -> None:
    dice, view = random.Random(ptx), ExpectedView(ptx)
    names = ["a", "d"] if "wgmma" in ptx else ["a", "b", "d"]

    def step() -> list[Any]:
        panel = dice.choice(names)
        rows, cols = ({"a": "mk", "b": "kn", "d": "mn"}[panel][n] for n in (0, 1))
        at = [dice.randrange(view.count[dim]) for dim in (rows, cols)]
        return dice.choice(
            [
                ["zoom", panel, at[0] + 0.5, at[1] + 0.25, dice.choice([0.5, 0.8, 1.25, 3])],
                ["all", panel, dice.choice([1 / 1.5, 1.5])],
                ["pan", panel, dice.randrange(-6, 7), dice.randrange(-6, 7)],
                ["reveal", panel, *at],
                ["fit", panel],
                ["open", panel],
                ["look", panel, "m:4-12,k:0-8"],
            ]
        )

    steps = [step() for _ in range(choose_count(120, 60))]
    for given, told in zip(steps, open_page(f"/i/{ptx}", stay=True).evaluate(WALK, steps), strict=True):
        now = view.after(*given)
        moved = any(abs(a - b) >= 0.005 for dim in now for a, b in zip(now[dim], view.now[dim], strict=True))
        view.now = now if moved else view.now
        assert told["moved"] is moved, given
        for dim, span in view.now.items():
            assert told["shown"][dim] == pytest.approx(list(span)), (given, dim)
        assert told["whole"] is is_close(view.now, view.whole) and told["opening"] is is_close(view.now, view.opening)
        said = view_of.parse_window(told["said"], view.found)
        assert all(tuple(said[dim]) == pytest.approx(view.now[dim], abs=0.006) for dim in said), told["said"]
        if told["whole"]:
            assert told["said"] == "all"


def is_close(one: dict[str, Range], other: dict[str, Range]) -> bool:
    return all(abs(a - b) < 0.005 for dim in one for a, b in zip(one[dim], other[dim], strict=True))


# the word -------------------------------------------------------------------------------------------------------------

HISTORY = """async (steps) => {
  const word = await import("/static/memory/word.js"), format = await import("/static/memory/format.js");
  let drawn = 0, asked = 0;
  word.follow(() => { drawn += 1; });
  word.whenSettled(() => { asked += 1; });
  const told = steps.map(([what, ...given]) => {
    const before = [drawn, asked], was = word.now();
    if (what === "set") word.set(BigInt(given[0]));
    else if (what === "paint") { for (const at of given) word.paint(at, 1n - word.bit(at)); word.settle(was); }
    else if (what === "field") {
      const field = format.fields[given[0]], { code, problem } = format.read(field, given[1]);
      if (problem) return { problem, word: format.hex(word.now()) };
      word.set(format.withCode(word.now(), field, code));
    } else word[what]();
    const amounts = Object.fromEntries(
      Object.entries(format.fields).map(([name, field]) => [name, format.amountOf(word.now(), field)]));
    return {
      word: format.hex(word.now()), path: format.pathOf(word.now()), ...word.undone(), amounts,
      drawn: drawn - before[0], asked: asked - before[1], bit: String(word.bit(given[0] < 64 ? given[0] : 0)),
    };
  });
  return told;
}"""


def test_a_word_its_fields_and_its_history(open_page: Any) -> None:
    dice = random.Random(5)
    fields = {field.name: field for field in FORMAT.fields}

    def step() -> list[Any]:
        field = dice.choice(FORMAT.fields)
        most = (1 << (field.high - field.low + 1)) - 1
        amount = dice.choice([0, most, most + 1, dice.randrange(most + 1)]) * field.unit
        amount += dice.choice([0, 0, 0, 1]) * (field.unit > 1)
        spelled = dice.choice([str, hex, bin])(amount)
        return dice.choice(
            [
                ["set", f"0x{dice.getrandbits(64):016x}"],
                ["paint", *dice.sample(range(64), 3)],
                ["undo"],
                ["undo"],
                ["redo"],
                ["field", field.name, spelled],
            ]
        )

    steps = [*(step() for _ in range(160)), ["field", "lbo", "x"], ["field", "lbo", ""]]
    start = "0x4000004004000101"
    word, past, future = int(start, 16), [], []  # type: ignore[var-annotated]
    page = open_page(f"/descriptor/wgmma/{start}")
    check_that_a_field_reads_the_numbers_the_server_reads(page)
    for given, told in zip(steps, page.evaluate(HISTORY, steps), strict=True):
        what, before, drawn = given[0], word, 0
        if what == "set":
            word = int(given[1], 16)
        elif what == "paint":
            word, drawn = word ^ sum(1 << at for at in given[1:]), len(given) - 1
        elif what == "field":
            field = fields[given[1]]
            amount, most = int(given[2], 0) if given[2][:1].isdigit() else -1, (2 << (field.high - field.low)) - 1
            if amount < 0 or amount % field.unit or amount // field.unit > most:
                wrong = f": at most {most * field.unit}"
                if amount < 0:
                    wrong = f" is '{given[2]}': a whole number from 0 (decimal, 0x… or 0b…)"
                elif amount // field.unit <= most:
                    wrong = f": a multiple of {field.unit}, e.g. {amount // field.unit * field.unit}"
                assert told == {"problem": field.label + wrong, "word": f"0x{word:016x}"}, given
                continue
            word = word & ~(most << field.low) | amount // field.unit << field.low
        elif what == "undo" and past:
            future.append(word)
            word = past.pop()
        elif what == "redo" and future:
            past.append(word)
            word = future.pop()
        if what in ("set", "paint", "field") and word != before:
            past, future = [*past, before], []
        settled = word != before
        assert told["word"] == f"0x{word:016x}" and told["path"] == f"/descriptor/wgmma/0x{word:016x}", given
        assert (told["past"], told["future"]) == (bool(past), bool(future)), given
        assert told["asked"] == settled, given
        assert told["drawn"] == drawn + (settled or what in ("set", "field")), given
        if what == "paint":
            assert told["bit"] == str(word >> given[1] & 1)
        for name, field in fields.items():
            code = word >> field.low & ((2 << (field.high - field.low)) - 1)
            assert told["amounts"][name] == str(code * field.unit), (given, name)


READ = """async (texts) => {
  const { fields, read } = await import("/static/memory/format.js");
  return texts.map((text) => { const { code, problem } = read(fields.lbo, text); return problem || String(code); });
}"""


def check_that_a_field_reads_the_numbers_the_server_reads(page: Page) -> None:
    """As often 16 bytes as a text says."""
    numbers = {"0x40": 4, "0080": 5, "1_6u": 1, "0b100000": 2, "4'8ULL": 3}
    wrong = ("", "0o20", "1e2", "-16", "0x", "1__6", "１６", "sixteen")
    told = page.evaluate(READ, [*numbers, *wrong])
    assert told[: len(numbers)] == [str(code) for code in numbers.values()]
    for text, problem in zip(wrong, told[len(numbers) :], strict=True):
        assert problem.startswith(f"LBO, bytes [29:16] is '{text}': a whole number"), problem


# keys and clicks ------------------------------------------------------------------------------------------------------

# Whether the page took the key for itself: it then keeps the browser from acting on it.
PRESS = """([key, options, into]) => {
  const target = into ? document.querySelector(into) : document.body;
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...options });
  const free = target.dispatchEvent(event), at = document.activeElement;
  return [!free, location.search, at.name || at.id || at.tagName, document.documentElement.dataset.theme ?? ""];
}"""


def press_key(page: Page, key: str, into: str = "", **options: bool) -> tuple[bool, str, str, str]:
    return tuple(page.evaluate(PRESS, [key, options, into]))  # type: ignore[return-value]


@pytest.mark.thorough
def test_keys_are_taken_only_where_they_are_meant(open_page: Any) -> None:
    page = open_page(f"/i/{M16}?pin=d:3,2")
    for held in ("ctrlKey", "metaKey", "altKey"):
        for key in ("a", "+", "0", "l", "/", "t", "ArrowDown"):
            assert press_key(page, key, **{held: True})[:2] == (False, "?pin=d:3,2"), (held, key)
    for into in ("#paste", "select[data-picker]"):
        for key in ("a", "+", "/", "t", "Enter"):
            assert press_key(page, key, into)[:2] == (False, "?pin=d:3,2"), (into, key)
    for key in ("Enter", " ", "ArrowDown"):
        assert press_key(page, key, "#tabs a")[0] is False, "a link's own key"
    assert press_key(page, "x") == (False, "?pin=d:3,2", "BODY", "")
    assert press_key(page, "ArrowRight")[:2] == (True, "")
    assert page.inner_text("#spoken").startswith("D row 3 column 3:")
    for key, heard in (
        ("b", "B row 0 column 0"),
        ("m", "D row 0 column 0"),
        ("m", "A row 0 column 0"),
        ("ArrowUp", "A row 0 column 0"),
        ("ArrowLeft", "A row 0 column 0"),
        ("ArrowDown", "A row 1 column 0"),
    ):
        assert press_key(page, key)[0] is True
        assert page.inner_text("#spoken").split(":")[0] == heard
    assert press_key(page, " ")[:2] == (True, "?pin=a:1,0") and press_key(page, "Escape")[1] == ""
    assert press_key(page, "/") == (True, "", "text", "")
    page.evaluate("document.activeElement.blur()")
    assert [press_key(page, "t")[3] for _ in range(2)] == ["dark", "light"]
    page.locator("details.menu").first.evaluate("(menu) => { menu.open = true; }")
    press_key(page, "Escape", "details.menu[open] summary")
    assert page.locator("details.menu[open]").count() == 0


# ranges of lanes ------------------------------------------------------------------------------------------------------


def test_a_list_of_lanes_means_what_the_address_means(open_page: Any) -> None:
    """What the box lets through, the script and the server read alike; what it does not, neither of them is asked."""
    page = open_page(f"/i/{M16}", stay=True)
    draw = random.Random(9)
    texts = ["".join(draw.choice("0123456789,- ") for _ in range(draw.randrange(1, 9))) for _ in range(400)]
    texts += [
        "0",
        "00",
        "31",
        "0-31",
        "3,1",
        "5-3",
        "32",
        "0x10",
        "1_0",
        "7u",
        " 4 ",
        "0 - 3",
        "0-3, 8",
        "1e1",
        "+1",
        "٣",
    ]
    told = page.evaluate(
        """async (texts) => {
      const { spans } = await import("/static/instruction/state.js");
      return texts.map((text) => spans(text)?.map((span) => [span[0], span.at(-1)]) ?? null);
    }""",
        texts,
    )
    read = 0
    for text, given in zip(texts, told, strict=True):
        if given is None:
            continue
        fits = all(first <= last < 32 for first, last in given)
        try:
            wanted = [list(pair) for pair in parse_ranges(text, "lanes", 32)]
        except LayoutError:
            assert not fits, (text, given)
            continue
        assert given == wanted, text
        read += 1
    assert read > 20


# what is drawn --------------------------------------------------------------------------------------------------------
