"""Diagrams in every form: what they contain, that they are deterministic, and that a bad option is named."""

from __future__ import annotations

import csv
import io
import json
import shutil
import struct
import subprocess
import zlib
from pathlib import Path
from xml.etree import ElementTree

import pytest

from lanescope import find
from lanescope.app.diagram import forms as pictures
from lanescope.app.kit import picture as raster, picture_worker
from lanescope.app.kit.media import FORMS
from lanescope.app.main import create_app
from lanescope.descriptor.matrix import Descriptor
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from tests.asgi import fetch, parse_refusal
from tests.cases import for_each
from tests.client import Client
from tests.command import run_lanescope
from tests.sample import choose_count

MMA = find("mma.m16n8k16.row.col.f32.f16.f16.f32")
WGMMA = find("wgmma.mma_async.m64n256k16.f32.bf16.bf16")
needs_raster = pytest.mark.skipif(bool(raster.explain_missing_renderer()), reason=raster.explain_missing_renderer())


def render_svg(form: str = "svg", operand: str = "a", **options: str) -> str:
    picture = pictures.render_instruction(form, MMA, MMA.operand(operand), options)
    return picture.decode() if isinstance(picture, bytes) else str(picture)


def list_texts(drawing: str) -> list[str]:
    out = []
    for node in ElementTree.fromstring(drawing).iter("{http://www.w3.org/2000/svg}text"):
        out += [part.text or "" for part in node] if len(node) else [node.text or ""]
    return out


def test_a_window_keeps_the_numbers_of_the_matrix() -> None:
    window = list_texts(render_svg(rows="8-9", cols="2-5"))
    cells = [t for t in window if t.startswith("T")]
    assert cells == ["T1:2", "T1:3", "T2:2", "T2:3", "T5:2", "T5:3", "T6:2", "T6:3"]
    assert window[1:7] == ["2", "3", "4", "5", "8", "9"]


def test_warps_of_a_warpgroup() -> None:
    drawn = str(pictures.render_instruction("csv", WGMMA, WGMMA.operand("d"), {"warps": "2", "cols": "0-1"}))
    rows = list(csv.DictReader(io.StringIO(drawn)))
    assert {int(row["thread"]) // 32 for row in rows} == {2} and {row["row"] for row in rows} == {
        str(r) for r in range(32, 48)
    }


def test_csv_and_markdown_hold_the_map() -> None:
    rows = list(csv.DictReader(io.StringIO(render_svg("csv"))))
    op = MMA.operand("a")
    assert len(rows) == 256
    for row in rows:
        assert int(op.rows[int(row["thread"]), int(row["value"])]) == int(row["row"])
    table = [line for line in render_svg("md").splitlines() if line.startswith("| **")]
    assert len(table) == 16 and table[11].split("|")[3].strip() == "T12:3"
    whole = list(csv.DictReader(io.StringIO(str(pictures.render_instruction("csv", MMA, None, {})))))
    assert {row["operand"] for row in whole} == {"a", "b", "d"}
    assert json.loads(render_svg("json"))["name"] == "a"
    assert "T13:2" in render_svg("txt")


@for_each("form", ["svg", "tex", "txt", "md", "csv", "json"])
def test_equal_options_give_equal_bytes(form: str) -> None:
    assert render_svg(form, legend="1", caption="1") == render_svg(form, legend="1", caption="1")


def read_pixels(data: bytes) -> tuple[int, int, int]:
    """(width, height, how many bytes of image data are not white), RGBA PNG without a library."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    at, packed = 8, b""
    while at < len(data):
        (length,), kind = struct.unpack(">I", data[at : at + 4]), data[at + 4 : at + 8]
        packed += data[at + 8 : at + 8 + length] if kind == b"IDAT" else b""
        at += 12 + length
    raw = zlib.decompress(packed)
    return width, height, sum(1 for byte in raw if byte)


def draw_png(**options: str) -> bytes:
    picture = pictures.render_instruction("png", MMA, MMA.operand("a"), options)
    assert isinstance(picture, raster.DrawingJob)
    return picture.render()


@needs_raster
def test_png_has_glyphs_and_equal_bytes() -> None:
    """Without its font resvg drops text silently: the labelled picture must differ from the one without labels."""
    make = [draw_png(scale="1", label=label) for label in ("lane:value", "none", "none")]
    (width, height, labelled), (_, _, bare) = read_pixels(make[0]), read_pixels(make[1])
    assert make[1] == make[2] and (width, height) == (774, 378)
    assert labelled != bare
    assert read_pixels(draw_png(scale="2"))[:2] == (2 * width, 2 * height)


TEX = {
    "product": lambda: pictures.render_instruction(
        "tex", MMA, None, {"legend": "1", "caption": "1", "title": "50% of A_0 & #1"}
    ),
    "bw": lambda: pictures.render_instruction("tex", MMA, MMA.operand("a"), {"theme": "bw"}),
    "shared": lambda: pictures.render_instruction("tex", WGMMA, None, {}),
    "tile": lambda: pictures.render_tile("tex", {"mn": "64", "k": "64"}),
    "descriptor": lambda: pictures.render_descriptor("tex", Descriptor(0x4000004000010100), {}),
}


@for_each("name", TEX)
def test_tikz_has_every_cell_and_balanced_braces(name: str) -> None:
    text = str(TEX[name]())
    assert text.startswith(r"\documentclass") and text.count("{") == text.count("}")
    assert text.count(r"\begin{tikzpicture}") == text.count(r"\end{tikzpicture}") == 1
    if name == "bw":
        assert text.count(r"\node") >= 256 and "{T13:2}" in text and "north east lines" in text
    if name == "product":
        assert r"50\% of A\_0 \& \#1" in text


def build_standalone_class() -> bool:
    found = shutil.which("pdflatex") and shutil.which("kpsewhich")
    return (
        bool(found)
        and subprocess.run(["kpsewhich", "standalone.cls"], capture_output=True, check=False).returncode == 0
    )


@pytest.mark.skipif(not build_standalone_class(), reason="pdflatex with the standalone class is not installed")
@pytest.mark.parametrize("name", TEX)
def test_tikz_compiles(name: str, tmp_path: Path) -> None:
    (tmp_path / "x.tex").write_bytes(TEX[name]()[0])
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "x.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-1500:]


@for_each(
    ("options", "field"),
    [
        ({"colour": "q"}, "colour"),
        ({"label": "x"}, "label"),
        ({"lanes": "40"}, "lanes"),
        ({"theme": "neon"}, "theme"),
        ({"cell": "1000"}, "cell"),
        ({"rows": "5-99"}, "rows"),
        ({"rows": "x"}, "rows"),
        ({"legend": "yes"}, "legend"),
        ({"lang": "xx"}, "lang"),
        ({"wat": "1"}, "wat"),
        ({"warps": "1"}, "warps"),
    ],
)
def test_bad_options_are_named(options: dict[str, str], field: str) -> None:
    with pytest.raises(LayoutError) as caught:
        pictures.render_instruction("svg", MMA, MMA.operand("a"), options)
    assert caught.value.field == field and caught.value.hint


PATHS = [f"/i/{MMA.ptx}/a", f"/i/{MMA.ptx}", "/smem", "/descriptor/wgmma/0x4000004000010100"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("form", [*FORMS])
def test_every_form_over_http(client: Client, path: str, form: str) -> None:
    if form in ("png", "pdf") and raster.explain_missing_renderer():
        pytest.skip(raster.explain_missing_renderer())
    small = "?scale=0.5" if form == "png" else "?mn=8" if (path, form) == ("/smem", "pdf") else ""
    answer = client.get(f"{path}.{form}{small}")
    assert answer.status_code == 200, answer.text[:300]
    if form != "txt":
        assert answer.headers["content-type"].split(";")[0] == FORMS[form].split(";")[0]
    again = client.get(f"{path}.{form}{small}", headers={"if-none-match": answer.headers["etag"]})
    assert again.status_code == 304 and not answer.headers["etag"].startswith("W/")


def test_the_command_writes_the_same_bytes(client: Client, tmp_path: Path) -> None:
    file = tmp_path / "a.svg"
    done = run_lanescope("diagram", MMA.ptx, "a", "--theme", "dark", "--legend", "-o", str(file))
    assert done.returncode == 0
    assert file.read_bytes() == client.get(f"/i/{MMA.ptx}/a.svg?theme=dark&legend=1").content
    assert run_lanescope("diagram", MMA.ptx, "a", "-o", str(tmp_path / "a.gif")).returncode == 2
    assert run_lanescope("diagram", MMA.ptx, "a", "-o", "/no/such/folder/a.svg").returncode == 2
    assert run_lanescope("smem", "--output", str(tmp_path / "t.csv")).returncode == 0
    assert (tmp_path / "t.csv").read_text().count("\n") == 64 * 64 + 1


PINS = ("1", "0..", ":", "d:", "x:0,0", "d:0", "d:0,0,0", "d:-1,0", "d:99999,0", "d:0,99999")
OPEN = [i for i in {i.family: i for i in catalog.instructions()}.values() if i.family.issue]  # left to a descriptor


@for_each("form", ["json", "svg", "txt", "tex", "cu", "md"], sample=3)
def test_a_pin_that_is_none_is_refused_by_every_form(form: str) -> None:
    app = create_app()
    for found in (MMA, *OPEN[: choose_count(3, 1)]):
        for pin in PINS:
            answer = fetch(app, f"/i/{found.ptx}.{form}?pin={pin}")
            assert parse_refusal(answer) == (422, "bad_option"), (found.ptx, pin)


def test_json_takes_the_pin_of_a_picture_that_shows_the_usual_descriptor() -> None:
    app = create_app()
    for form in ("json", "svg"):
        assert fetch(app, f"/i/tcgen05.mma.cta_group::1.kind::f16.{form}?pin=d:0,0").status == 200


# the process that draws png and pdf -----------------------------------------------------------------------------------


def test_the_process_that_draws(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><rect width="4" height="4"/></svg>'
    asked = [{"form": form, "svg": svg, "scale": 2.0, "fonts": []} for form in ("png", "pdf")]
    asked.append({"form": "png", "svg": "<svg", "scale": 1.0, "fonts": []})
    lines = "".join(json.dumps({"id": n, "request": one}) + "\n" for n, one in enumerate(asked))
    nice: list[int] = []
    monkeypatch.setattr("os.nice", nice.append)
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    picture_worker.serve_requests()
    ready, png, pdf, wrong = map(json.loads, capsys.readouterr().out.splitlines())
    assert nice == [3] and ready == {"ready": True} and (png["id"], pdf["id"], wrong["id"]) == (0, 1, 2)
    assert [one["result"]["base64"][:5] for one in (png, pdf)] == ["iVBOR", "JVBER"]
    assert wrong["error"].pop("message").partition(":")[0] and wrong["error"] == {
        "code": "picture_failed",
        "hint": "Choose SVG or TeX, which need no renderer.",
        "field": "form",
    }
