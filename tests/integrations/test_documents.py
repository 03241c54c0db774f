"""Documents built by sphinx-build and mkdocs build: the pictures that the engine draws, once, for light and dark pages;
and builds that end with our refusal at its line. What docs/documents.md shows is what is built.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from pathlib import Path
from textwrap import indent

import pytest

from lanescope import find
from lanescope.app.diagram.forms import render_instruction
from lanescope.app.documents import cache
from lanescope.app.documents.cache import PictureCache
from lanescope.app.documents.fences import parse_fence, replace_fences
from lanescope.app.documents.figures import read_figure
from lanescope.app.documents.markup import render_style
from lanescope.app.documents.words import check_word
from lanescope.app.kit.picture import explain_missing_renderer
from lanescope.errors import LayoutError

DOCUMENT = (Path(__file__).parents[2] / "docs" / "documents.md").read_text()
[RST] = re.findall(r"^```rst\n(.*?)^```$", DOCUMENT, re.S | re.M)
[MARKDOWN] = re.findall(r"^````markdown\n(.*?)^````$", DOCUMENT, re.S | re.M)
TILED = "make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_2,_2>>{}, Tile<_32,_32,_16>{})"
BLOCKED = "#ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>"
CUTE_COPY = "make_tiled_copy(Copy_Atom<DefaultCopy, half_t>{}, Layout<Shape<_32,_8>>{}, Layout<Shape<_1,_8>>{})"


def draw_operand(theme: str) -> str:
    """The first picture of the document, as the server and the command line draw it."""
    instruction = find("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    query = {"colour": "t", "rows": "0-7", "cols": "0-7", "pin": "a:2,3", "theme": theme}
    return str(render_instruction("svg", instruction, instruction.operand("a"), query))


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def run_tool(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=240)


def list_images(html: str) -> list[tuple[str, str, str]]:
    """(class, address, alt) of the pictures of a page."""
    return re.findall(r'<img class="(lanescope[^"]*)" src="([^"]+)" alt="([^"]*)"', html)


def check_pages(index: Path, other: Path, pictures: Path) -> None:
    """What both builders must have made: the document's two pictures, and one of them on a page below."""
    html = index.read_text()
    images = list_images(html)
    assert [kind for kind, _, _ in images] == ["lanescope only-light", "lanescope only-dark", "lanescope"]
    light, dark, tiled = ((index.parent / address).read_text() for _, address, _ in images)
    assert (light, dark) == (draw_operand("light"), draw_operand("dark"))
    assert tiled == read_figure(TILED, {"operand": "c"}).draw_svg("bw")
    assert images[0][2] == "A of mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    assert re.search(r"<code[^>]*lanescope-word[^>]*>.*0x4000004000010040", html)
    assert re.search(r"<figcaption>.*two neighbours of a row", html, re.S)
    again = list_images(other.read_text())
    assert [alt for _, _, alt in again] == ["once more"] * 2
    same = [(other.parent / address).resolve() for _, address, _ in again]
    assert same == [(index.parent / address).resolve() for _, address, _ in images[:2]]
    assert len(list(pictures.glob("lanescope-*.svg"))) == 3
    for page in (index, other):
        [style] = re.findall(r'<link[^>]*href="([^"?]*lanescope\.css)', page.read_text())
        assert (page.parent / style).read_text() == render_style()


# Sphinx ---------------------------------------------------------------------------------------------------------------

AGAIN = {"colour": "t", "window": "0-7,0-7", "pin": "2,3", "alt": "once more"}
OTHER_RST = "Other\n=====\n\n.. lanescope:: mma.m16n8k16 f16 a\n" + "".join(f"   :{n}: {v}\n" for n, v in AGAIN.items())
CONF = 'project = "kernels"\nextensions = ["lanescope.sphinx"]\nlanescope_cache = "kept"\n'


@pytest.fixture(scope="module")
def sphinx(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that sphinx-build has built, in two processes; warnings are errors."""
    if importlib.util.find_spec("sphinx") is None:
        pytest.skip("Sphinx is not installed")
    folder = tmp_path_factory.mktemp("sphinx")
    title = "Kernels\n=======\n\n.. toctree::\n\n   sub/other\n\n"
    write_files(folder, {"conf.py": CONF, "index.rst": title + RST, "sub/other.rst": OTHER_RST})
    done = run_tool(folder, "sphinx", "-q", "-W", "-j", "2", "-b", "html", ".", "out")
    assert done.returncode == 0, done.stderr
    return folder


def test_sphinx_draws_what_the_engine_draws(sphinx: Path) -> None:
    check_pages(sphinx / "out" / "index.html", sphinx / "out" / "sub" / "other.html", sphinx / "out" / "_images")


def test_a_second_build_does_not_draw(sphinx: Path) -> None:
    """Its pictures are those that were kept, even where these were changed; the words of a page stay the same."""
    kept = sorted((sphinx / "kept").glob("*.svg"))
    assert len(kept) == 3
    for path in kept:
        path.write_text(path.read_text().replace("</svg>", "<!-- kept --></svg>"))
    done = run_tool(sphinx, "sphinx", "-q", "-E", "-b", "html", ".", "second")
    assert done.returncode == 0, done.stderr
    drawn = sorted((sphinx / "second" / "_images").glob("lanescope-*.svg"))
    assert len(drawn) == 3 and all("<!-- kept -->" in path.read_text() for path in drawn)
    for path in kept:
        path.write_text(path.read_text().replace("<!-- kept -->", ""))
    words = [
        re.sub(r"lanescope-\w{16}|<link[^>]*>", "", (sphinx / out / "index.html").read_text())
        for out in ("out", "second")
    ]
    assert words[0] == words[1]


def test_latex_gets_pdf(sphinx: Path) -> None:
    done = run_tool(sphinx, "sphinx", "-q", "-b", "latex", ".", "latex")
    if explain_missing_renderer():
        assert done.returncode != 0 and "lanescope[pictures]" in done.stderr
        return
    assert done.returncode == 0, done.stderr
    named = re.findall(
        r"\\sphinxincludegraphics\{(lanescope-\w+\.pdf)\}", (sphinx / "latex" / "kernels.tex").read_text()
    )
    assert len(named) == 3 and len(set(named)) == 2  # one stands on both pages
    assert all((sphinx / "latex" / name).read_bytes().startswith(b"%PDF") for name in named)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (".. lanescope:: mma.m16n8k12 f16 a\n", "index.rst:5: No instruction has 'm16n8k12'. Nearest shapes: m16n8k16"),
        ("The :word:`0x4000002000010040 <64x64 bf16 K 128B base=0x400>`.\n", "repair: 0x4000004000010040 (SBO 512"),
    ],
)
def test_a_wrong_text_ends_the_sphinx_build(sphinx: Path, tmp_path: Path, text: str, said: str) -> None:
    write_files(tmp_path, {"conf.py": CONF, "index.rst": f"Kernels\n=======\n\n\n{text}"})
    done = run_tool(tmp_path, "sphinx", "-q", "-b", "html", ".", "out")
    assert done.returncode == 2 and said in done.stderr and "index.rst:5:" in done.stderr, done.stderr


# MkDocs ---------------------------------------------------------------------------------------------------------------

OTHER_MD = "# Other\n\n~~~lanescope mma.m16n8k16 f16 a\n" + "".join(f":{n}: {v}\n" for n, v in AGAIN.items()) + "~~~\n"
YML = "site_name: kernels\nplugins: [search, lanescope]\n"


@pytest.fixture(scope="module")
def mkdocs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if importlib.util.find_spec("mkdocs") is None:
        pytest.skip("MkDocs is not installed")
    folder = tmp_path_factory.mktemp("mkdocs")
    write_files(folder, {"mkdocs.yml": YML, "docs/index.md": f"# Kernels\n\n{MARKDOWN}", "docs/sub/other.md": OTHER_MD})
    done = run_tool(folder, "mkdocs", "build", "--strict")
    assert done.returncode == 0, done.stderr
    return folder


def test_mkdocs_draws_what_the_engine_draws(mkdocs: Path) -> None:
    site = mkdocs / "site"
    check_pages(site / "index.html", site / "sub" / "other" / "index.html", site / "assets" / "lanescope")
    assert len(list((mkdocs / ".cache" / "lanescope").glob("*.svg"))) == 3


def test_a_wrong_text_ends_the_mkdocs_build(mkdocs: Path, tmp_path: Path) -> None:
    """The line is the file's, front matter included."""
    page = "---\ntitle: A\n---\n\n# Kernels\n\nThe {word}`0x4000002000010040 <64x64 bf16 K 128B base=0x400>`.\n"
    write_files(tmp_path, {"mkdocs.yml": YML, "docs/index.md": page})
    done = run_tool(tmp_path, "mkdocs", "build")
    assert done.returncode == 1 and "index.md:7: lanescope: 0x4000002000010040 does not read" in done.stderr, (
        done.stderr
    )
    assert "repair: 0x4000004000010040" in done.stderr
    write_files(tmp_path, {"docs/index.md": "---\ntitle: A\n---\n\n```lanescope mma.m16n8k12 f16 a\n```\n"})
    done = run_tool(tmp_path, "mkdocs", "build")
    assert done.returncode == 1 and "index.md:5: lanescope: No instruction has 'm16n8k12'" in done.stderr, done.stderr


FENCES = r"""
````md
```lanescope x
```
{word}`a <b>`
````
``{word}`a <b>` `` {word}`c <d>`
\{word}`e <f>`
  ~~~ lanescope y z
:colour: t
  ~~~
```python
lanescope
```
```lanescope w
"""


def test_fences_leave_other_code_alone() -> None:
    """Longer fences that show one, code spans, escaped words and unclosed fences."""
    seen: list[tuple[str, int]] = []

    def draw(argument: str, body: list[str], line: int) -> str:
        seen.append((argument + "|" + "|".join(body), line))
        return "DRAWN"

    text = FENCES.strip("\n")
    made = replace_fences(text, draw, lambda word, line: f"[{word} {line}]").split("\n")
    assert seen == [("y z|:colour: t", 8), ("w|", 14)]
    assert made[:7] == [*text.split("\n")[:5], "``{word}`a <b>` `` [c <d> 6]", r"\{word}`e <f>`"]
    assert [line.strip() for line in made[7:]].count("DRAWN") == 2 and "lanescope" in made


def list_fences_and_words(text: str) -> list[str]:
    """What replace_fences finds in a text: the words with their lines, and the fences."""
    found: list[str] = []

    def draw(argument: str, body: list[str], line: int) -> str:
        found.append(f"{argument} {line}")
        return ""

    def check(word: str, line: int) -> str:
        found.append(f"{word} {line}")
        return ""

    replace_fences(text, draw, check)
    return found


FENCE = "```lanescope x\n```"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a\nb {word}`0x4\n<t>` c\n{word}`0x5 <u>`", ["0x4\n<t> 2", "0x5 <u> 4"]),  # a word may be wrapped
        ("`a\n{word}`0x4 <t>`", []),  # a code span, too
        ("a\n\n    {word}`0x4 <t>`\n\n    b\n\n        {word}`0x4 <t>`\n\n{word}`0x5 <u>`", ["0x5 <u> 9"]),
        (f"a\n\n{indent(FENCE, '    ')}\n", []),  # indented code shows how a fence is written
        (f"- a\n\n{indent(FENCE, '    ')}\n", ["x 3"]),
        (f"- a\n\n    b\n\n{indent(FENCE, '    ')}\n", ["x 5"]),
        (f"- a\n\n{indent(FENCE, '        ')}\n", []),
        (f"1. a\n\n    - b\n\n{indent(FENCE, '        ')}\n", ["x 5"]),
        (f"- a\n\nb\n\n{indent(FENCE, '    ')}\n", []),
        (f'??? note "A"\n\n{indent(FENCE, "    ")}\n', ["x 3"]),
        ("a\n\n" + "    x\n" * 5000 + FENCE, ["x 5003"]),
    ],
)
def test_what_is_a_fence_or_a_word(text: str, found: list[str]) -> None:
    assert list_fences_and_words(text) == found


def test_a_fence_has_its_options_first_and_each_once() -> None:
    assert parse_fence("x", [":pin: 2,3", ""]).options == {"pin": "2,3"}
    for argument, body, said in (
        ("x", [":pin: 2,3", ":pin: 4,5"], "'pin' occurs twice"),
        ("", ["x", ":pin: 2,3"], "'pin' follows the text"),
    ):
        with pytest.raises(LayoutError, match=said):
            parse_fence(argument, body)


# what is drawn --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "options", "title"),
    [
        ("mma.m16n8k16 f16 a", {}, "A of mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
        ("mma.m16n8k16 f16 d", {}, "D of mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16"),
        ("ldmatrix.x4 data", {}, "DATA of ldmatrix.sync.aligned.m8n8.x4.b16"),
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 b", {"formulas": "", "lanes": "0-3"}, "B of mma.sync"),
        ("wgmma 64x256x16 bf16 d", {"warps": "0", "window": "0-15,0-31"}, "D of wgmma.mma_async"),
        ("64x64 bf16 K 128B", {"show": "tile", "pin": "2,3"}, "64×64 16-bit K-major, swizzle 128B"),
        ("32x8 tf32 MN 128B_base32B", {}, "32×8 32-bit MN-major"),
        ("tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128,_64>{})", {}, "128×64 16-bit K-major"),
        ("0x4000004000010100", {}, "wgmma matrix descriptor 0x4000004000010100"),
        ("0x08400490", {"kind": "f16"}, "0x08400490, kind::f16"),
        (BLOCKED, {"shape": "32x64", "window": "0-7,0-7"}, "the blocked layout"),
        (TILED, {"operand": "a", "window": "m:0-16,n:0-8,k:0-16"}, "mma.sync.aligned.m16n8k16"),
        (CUTE_COPY, {"side": "source"}, "the TiledCopy: Source 32 × 64"),
        ("Sw<3,3,3> o (8,64):(64,1)", {}, "Sw<3,3,3> o (8,64):(64,1)"),
        ("logical_divide((4,2,3):(2,1,8), 4:2)", {}, "(4,2,3):(2,1,8)"),
        ("/smem.svg?mn=64&k=64&swizzle=64B", {}, "64×64 16-bit K-major, swizzle 64B"),
        ("/tmem.svg?m=128&n=64", {"title": "D in 64 columns"}, "D in 64 columns"),  # a picture that stands in a page
        ("/banks?instruction=ldmatrix&row_bytes=128", {}, "Words served by each of the 32 banks"),
        ("/i/mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32/a", {"legend": ""}, "A of mma.sync"),
    ],
)
def test_figures(text: str, options: dict[str, str], title: str) -> None:
    """Each is well-formed, tells what it is, and differs between light and dark."""
    figure = read_figure(text, options)
    light, dark = figure.draw_svg("light"), figure.draw_svg("dark")
    shown = ElementTree.fromstring(light).findtext("{http://www.w3.org/2000/svg}title")
    assert shown is not None and shown.startswith(title)
    assert light != dark and light == figure.draw_svg("light")


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("", {}, "Nothing is named"),
        ("foo bar", {}, "nothing that can be drawn"),
        ("mma.m16n8k16 f16", {}, "names 6 instructions. Nearest: mma.m16n8k16 f32 += f16 × f16"),
        ("mma.m16n8k16 f16 q", {}, "No operand 'q'. Allowed: a, b, c, d."),
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 e", {}, "has no operand 'e'"),
        ("mma.m16n8k16 f16 a", {"colour": "pink"}, "colour"),
        ("mma.m16n8k16 f16 a", {"show": "tile"}, "No option 'show' of this picture. Allowed: cell, colour"),
        ("mma.m16n8k16 f16 a", {"window": "all"}, "Rows, columns: 0-15,0-7."),
        ("128x64 bf16 K 96B", {}, "'96B' is not part of a tile"),
        ("64x64 bf16 K 128B swizzle_by=tile base=16", {}, "is not drawn"),
        ("0x08400490", {}, "kind"),
        ("tile_to_shape(GMMA::Layout_K_SW128_Atom<T>{}, Shape<_128,_64>{})", {}, "leaves the tile's element_bits open"),
        (BLOCKED, {}, "shape is missing"),
        ("Sw<3,4 o (8", {}, "ends before a '>'"),
        ("/nothing", {}, "No picture is at '/nothing'"),
        ("/smem/atoms", {}, "No picture is at '/smem/atoms'"),
        ("mma.m16n8k16 f16 a", {"theme": "x"}, "No option 'theme'"),
    ],
)
def test_refusals(text: str, options: dict[str, str], said: str) -> None:
    with pytest.raises(LayoutError) as caught:
        read_figure(text, options).draw_svg("light")
    assert said in str(caught.value)


def test_words() -> None:
    tile = "64x64 bf16 K 128B base=0x400"
    assert check_word(f"0x4000004000010042 <{tile} k=16>").text == "0x4000004000010042"
    check_word(f"1ull << 62 | 64ull << 32 | 0x40 <{tile}>")
    check_word("0x4000404000010040 <128x64 f16 K 128B base=0x400>")  # tcgen05's, as its version says
    check_word(f"0x4000004000010040 <{tile} for wgmma.mma_async.m64n64k16.f32.f16.f16 b>")
    check_word(
        "0x4000404000010040 <128x64 f16 K 128B base=0x400 for tcgen05.mma.cta_group::1.kind::f16 a idesc=0x08400490>"
    )
    with pytest.raises(AssertionError, match="does not read 64 rows at"):
        check_word(f"0x4000004000010042 <{tile}>")
    right = f"0x4000004000010040 <{tile}"
    by = "for wgmma.mma_async.m64n64k16.f32.f16.f16 b"
    for wrong in ("0x4000004000010040", f"{right} colour=1>", "0x40 <64x64 bf16>", f"{right} k=16 k=0>"):
        with pytest.raises(LayoutError):
            check_word(wrong)
    with pytest.raises(LayoutError, match="The instruction decides rows"):
        check_word(f"{right} rows=8 {by}>")


def test_every_process_finds_the_pictures_that_another_kept() -> None:
    """The stamp of the code does not depend on how a process orders sets."""
    code = "from lanescope.app.kit.code_stamp import compute_code_stamp; print(compute_code_stamp())"
    stamps = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in "0123"
    }
    assert len(stamps) == 1


def test_without_the_renderer_latex_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "explain_missing_renderer", lambda: "Not installed: resvg_py.")
    with pytest.raises(LayoutError, match="LaTeX needs PDF"):
        PictureCache(tmp_path).draw_pdf("mma.m16n8k16 f16 a", {}, "light")
