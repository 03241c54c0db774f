"""Every kind of page at every width: nothing overflows or is cut off, nothing moves after the first paint, axe-core
finds nothing.

axe-core comes with the package axe-playwright-python. A page is loaded on a phone in dark colours, then resized. The
first page of a template is measured at widths of phones and of desktops, the others at the narrowest and the widest.
axe's rules run on the phone; those that depend on the screen run on the first page made a desktop in light colours,
too. Of many parts that are alike axe looks at the first ones, and so do all widths but the narrowest.

LANESCOPE_FULL=1 asks every page, loads the first of a template on the desktop, too, and measures at more widths.
Otherwise only some pages beside the first ones are asked: EDGES.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.conftest import hide_page, record_complaints
from tests.sample import FULL, take_rows, take_sample
from tests.workbench_cases import CASES

pytestmark = pytest.mark.browser

MMA, WGMMA = (
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16",
)
SCALED = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"
SPARSE = "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"
WMMA = "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"
MISMATCH = (
    f"/descriptor/wgmma/0x4000004004000101?instruction={WGMMA}&operand=a&major=K&s_kind=canonical"
    "&s_swizzle=128B&s_mn=64&s_k=64&s_base=4096"
)
WORKBENCH, RIGHT = (
    next(c.text for c in CASES if c.title == title)
    for title in (
        "the tensor map, the builder and the call of one kernel",
        "a printout with a CuTe layout",
    )
)
COMPARED = "/layouts/tv?tile=16x16&" + urlencode(
    {
        "cute": "((4,8),(2,2,2)):((32,1),(16,8,128))",
        "to": "((8,4),(2,2,2)):((1,64),(8,32,128))",
    }
)
LIST = "/instructions"
PAGES = (  # of pages that share a template the fullest first: on it axe sees both screens
    "/",
    "/?q=zzz",
    LIST,
    f"{LIST}?family=mma&type=f16",
    "/help",
    "/docs",
    "/docs/integrations",
    "/nothing-here",
    "/read?" + urlencode({"text": WORKBENCH}),
    "/read?" + urlencode({"text": RIGHT}),
    "/read?text=lbo",
    "/read?text=1<<62",
    "/read?text=fp8",
    f"/i/{WGMMA}",
    f"/i/{MMA}",
    f"/i/{MMA}?pin=d:3,2",
    f"/i/{SCALED}",
    f"/i/{SPARSE}",
    f"/i/{WMMA}",
    "/i/mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32",
    "/i/ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16",
    "/i/mma.m16n8k12.row.col.f32.f16.f16.f32",
    f"/metadata/{SPARSE}",
    f"/steps/{WGMMA}",
    f"/steps/{MMA}",
    f"/kernel/{WGMMA}",
    MISMATCH,
    "/descriptor",
    "/descriptor/wgmma/0x4000004000010100",
    "/smem",
    "/smem?major=MN&mn=128&base=0x1000",
    "/smem?swizzle=none&mn=256&k=64&pin=tile:5,9",
    "/smem?element_bits=8&major=MN&swizzle=64B&mn=128&k=64",
    "/smem/atoms",
    "/banks?access=ldmatrix.x4&pattern=rows&row_bytes=128",
    "/banks",
    "/chain",
    f"/reuse?from={MMA}&to={MMA}",
    f"/compare?left={MMA}/a&right={MMA}/b",
    "/compare",
    f"/diagram?ptx={MMA}&operand=a",
    "/diagram",
    "/gallery",
    "/gpu",
    "/tiles/mma",
    "/tiles/copy",
    "/tiles/loop?pin=a:5,9&pin2=b:3,4",
    "/tiles/mma/chain?pin=c:5,9",
    "/layouts/triton",
    COMPARED,
    "/cute",
    "/dump?example=swizzle",
    "/dump?example=right",
    "/dump",
    "/idesc/0x48400496?kind=f16",
    "/zero-column-mask",
    "/targets?target=sm_120a",
    "/descriptor/tcgen05",
    "/tmem?m=64&n=128&a_at=100&access=tcgen05.st.16x128b.x4&at=0:128&warp=0&pin=cta0:3,130&pin2=cta0:3,3",
    "/tmem?kind=mxf8f6f4&n=64",
    "/tmem/epilogue",
    "/scale-factors",
    "/triton-dot",
    "/deliver",
    "/weights",
    "/emulate",
    "/guide/five-minutes",
    "/guide/check-rules",
    "/guide",
    "/guide/paste",
    "/guide/ldmatrix",
    "/guide/128-bytes",
    "/guide/descriptor",
    "/guide/atom-to-tile",
)


def get_page_kind(path: str) -> str:
    """The page's template, about: the first word of its address, or two where each page of a group has its own."""
    words = path.partition("?")[0].split("/")[1:]
    return "/".join(words[: 2 if words[0] in ("tiles", "layouts", "smem") else 1])


FIRST = {get_page_kind(path): path for path in reversed(PAGES)}
# What is written where it hardly fits, or where a page has another order than the first of its template.
EDGES = (
    f"/i/{SCALED}",
    "/read?text=lbo",
    "/smem?swizzle=none&mn=256&k=64&pin=tile:5,9",
    "/tiles/mma/chain?pin=c:5,9",
    f"/steps/{MMA}",
)
ASKED = tuple(path for path in PAGES if FULL or path in EDGES or path == FIRST[get_page_kind(path)])
SCREENS = {
    "phone": (390, "dark", (320, 390, 768) if FULL else (320, 768)),
    "desktop": (1440, "light", (1024, 1366, 1440, 1920, 2560) if FULL else (1024, 2560)),
}
ENDS = (320, 2560)
# axe takes half a minute on all of them. The page where many are.
ALIKE = {
    "tbody tr:nth-child(n+5)": f"/steps/{MMA}",
    ".matrix td:nth-child(n+9)": LIST,
    ".gallery figure:nth-child(n+3)": "/gallery",
    ".api .route:nth-of-type(n+2)": "/docs",
    "table.cells td:nth-child(n+19)": f"/steps/{WGMMA}",
}
OF_A_SCREEN = ("color-contrast", "link-in-text-block", "scrollable-region-focusable")  # not the markup's
THINNED = """(alike) => {
  for (const selector of [...alike, "svg > :not(title)"]) {
    for (const found of document.querySelectorAll(`main ${selector}`)) found.remove();
  }
}"""
# axe judges contrast only where colours, a size and a weight of text first meet: judging costs it most of its time, and
# what looks the same is judged the same. A text's background is that of the parts around it, as far as one is opaque.
LOOKS = """() => {
  const seen = new Set(), around = new Map();
  const ground = (e) => {
    if (!e) return "";
    if (!around.has(e)) {
      const style = getComputedStyle(e), own = `${style.backgroundColor} ${style.backgroundImage} ${style.opacity}`;
      const opaque = /^rgb\\(/.test(style.backgroundColor) && style.opacity === "1";
      around.set(e, opaque ? own : `${own} ${ground(e.parentElement)}`);
    }
    return around.get(e);
  };
  for (const e of document.querySelectorAll("body *")) {
    const written = [...e.childNodes].some((one) => one.nodeType === 3 && one.data.trim());
    if (!written && !e.matches("input, select, textarea")) continue;
    const style = getComputedStyle(e), held = e.closest("[disabled], [aria-disabled], [aria-hidden], [hidden]");
    const look = [e.localName, style.color, style.fontSize, style.fontWeight, style.textShadow, style.position,
      style.visibility, !!held, e.getClientRects().length > 0, ground(e)].join();
    if (!seen.has(look)) e.setAttribute("data-look", "");
    seen.add(look);
  }
  axe.configure({ rules: [{ id: "color-contrast", selector: "[data-look]" }] });
}"""
AXE = (files("axe_playwright_python") / "axe.min.js").read_text()

# What is wider than the page, or hides a part of its own text without a way to scroll to it.
CUT_OFF = """() => {
  const wide = document.documentElement.scrollWidth - innerWidth;
  const found = wide > 0 ? [`the page is ${wide} px too wide`] : [];
  const name = (e) => `${e.tagName}.${e.className} "${(e.textContent || "").trim().slice(0, 40)}"`;
  const brush = document.createElement("canvas").getContext("2d"), px = (v) => parseFloat(v) || 0;
  const choice = (select, style) => {
    const text = select.selectedOptions[0]?.label;
    if (!text) return;
    brush.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    const arrow = style.appearance === "none" ? 0 : 16;
    const room = select.clientWidth - px(style.paddingLeft) - px(style.paddingRight) - arrow;
    const needs = brush.measureText(text).width;
    if (needs > room + 1) found.push(`"${text}" needs ${Math.ceil(needs)} px of ${Math.floor(room)} in ${select.name}`);
  };
  const look = (e, scrolled) => {
    if (e.matches(".hidden, svg, [hidden]")) return;
    const style = getComputedStyle(e), overflow = style.overflowX, { width, right } = e.getBoundingClientRect();
    if (width && style.visibility !== "hidden") {
      const more = e.scrollWidth > e.clientWidth + 1; // .sticky repeats in one line what stands above in whole
      if (more && (overflow === "hidden" || overflow === "clip") && !e.matches("input, .sticky")) {
        found.push(`${name(e)} is cut off`);
      }
      if (!scrolled && right > innerWidth + 1) found.push(`${name(e)} ends at ${right}`);
      if (e.matches("select")) {
        if (more) found.push(`${name(e)} hides its choice`);
        choice(e, style);
      }
    }
    if (style.display === "none") return;
    const closed = e.matches("details:not([open])");
    for (const inner of e.children) {
      if (!closed || inner.matches("summary")) look(inner, scrolled || overflow !== "visible");
    }
  };
  const clips = (e) => e && (getComputedStyle(e).overflowX !== "visible" || clips(e.parentElement));
  for (const part of document.querySelectorAll("main, header:not(main header)")) {
    for (const e of part.children) look(e, clips(part));
  }
  return found.slice(0, 8);
}"""


# From the first paint on: what moved by how much, until the list is asked for.
WATCH = """() => {
  const seen = [], note = (entries) => {
    for (const shift of entries) {
      seen.push([shift.value, ...shift.sources.map((s) => s.node?.outerHTML?.slice(0, 80) ?? "text")]);
    }
  };
  const observer = new PerformanceObserver((list) => note(list.getEntries()));
  observer.observe({ type: "layout-shift", buffered: true });
  window.shifts = () => { note(observer.takeRecords()); return seen; };
}"""
TWO_FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


def find_cut_off(page: Page, width: int) -> list[str]:
    page.set_viewport_size({"width": width, "height": 900})
    page.evaluate(TWO_FRAMES)
    found: list[str] = page.evaluate(CUT_OFF)
    return found


def find_shifts(page: Page) -> list[Any]:
    page.wait_for_load_state("networkidle")
    page.evaluate(TWO_FRAMES)
    shifts: list[Any] = page.evaluate("() => shifts()")
    return shifts if sum(shift[0] for shift in shifts) >= 0.01 else []


def find_violations(page: Page, screen: str, rules: tuple[str, ...] = ()) -> list[str]:
    """What axe finds, by all rules or by some, on a page that is thinned first: of parts that are alike a few are
    left, and nothing inside pictures, whose colours are the palette's (tests/test_palette.py). Leaving out costs axe as
    much as judging.
    """
    width, scheme, _ = SCREENS[screen]
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.evaluate(THINNED, list(ALIKE))
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE)
    page.evaluate("() => document.querySelectorAll('[data-look]').forEach((e) => e.removeAttribute('data-look'))")
    page.evaluate(LOOKS)
    options: dict[str, Any] = {"resultTypes": ["violations"], "preload": False, "iframes": False}  # no style sheets
    if rules:
        options["runOnly"] = {"type": "rule", "values": rules}
    found = page.evaluate("(options) => axe.run(document, options)", options)["violations"]
    return [
        f"{rule['id']}: {' '.join(map(str, node['target']))} {node['failureSummary'][:300]}"
        for rule in found
        for node in rule["nodes"][:4]
    ]


@pytest.fixture(scope="module")
def screens(browser: Browser) -> Iterator[tuple[dict[str, Page], list[str]]]:
    """One page a screen for all tests, and what they wrote to the console."""
    complaints: list[str] = []
    pages = {}
    for screen, (width, scheme, _) in SCREENS.items():
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,  # type: ignore[arg-type]
        )
        context.add_init_script(f"({WATCH})()")
        pages[screen] = context.new_page()
        record_complaints(pages[screen], complaints)
    yield pages, complaints
    for page in pages.values():
        page.context.close()


@pytest.fixture
def loaded(site: str, screens: tuple[dict[str, Page], list[str]]) -> Iterator[Any]:
    """Load a path on both screens, or on one; the test fails at its end if one complained."""
    every, complaints = screens

    def load(path: str, *on: str) -> dict[str, Page]:
        pages = {screen: every[screen] for screen in on or every}
        for screen, page in pages.items():
            hide_page(page)
            page.set_viewport_size({"width": SCREENS[screen][0], "height": 900})
            page.emulate_media(color_scheme=SCREENS[screen][1])  # type: ignore[arg-type]
        for page in pages.values():
            page.goto(site + path, wait_until="commit")  # both load at the same time
        return pages

    complaints.clear()
    yield load
    assert complaints == []


@pytest.mark.parametrize("path", take_rows(take_sample(ASKED, 5), 3), ids=lambda path: path[:60])
def test_a_page_holds_still_fits_every_width_and_pleases_axe(loaded: Any, path: str) -> None:
    found: dict[str, Any] = {}
    first = path == FIRST[get_page_kind(path)]
    pages = loaded(path) if first and FULL else loaded(path, "phone")
    for screen, page in pages.items():
        found[f"moves on a {screen}"] = find_shifts(page)
    for alike in (alike for alike, page in ALIKE.items() if page == path):  # a selector that fits nothing thins nothing
        of_them, all_of_them = (pages["phone"].locator(f"main {s}").count() for s in (alike, alike.partition(":")[0]))
        assert 0 < of_them < all_of_them
    for screen, (width, scheme, widths) in SCREENS.items():
        page = pages.get(screen, pages["phone"])
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        for width in sorted(widths if first else set(widths) & set(ENDS)):
            found[f"cut off at {width}"] = find_cut_off(page, width)
            if not FULL:  # the narrowest width has seen all parts
                page.evaluate(THINNED, list(ALIKE))
    if first or FULL:
        found["axe on a phone"] = find_violations(pages["phone"], "phone")
    if first:
        found["axe on a desktop"] = find_violations(pages["phone"], "desktop", OF_A_SCREEN)
    assert {what: wrong for what, wrong in found.items() if wrong} == {}
