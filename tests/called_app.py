"""The app's own functions called wrongly: what pages, verbs and runs refuse that no request of tests.asked reaches."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from lanescope import find
from lanescope.app.banks import facts as bank_facts
from lanescope.app.capture import forms as captures
from lanescope.app.diagram import forms as pictures
from lanescope.app.export import export
from lanescope.app.guide import overviews, reference, render, values
from lanescope.app.hardware import banks, descriptors, fragments, own, products, runs, verify
from lanescope.app.hardware.reference import Reference
from lanescope.app.instruction import answers, state
from lanescope.app.instruction.wmma import check_pointer
from lanescope.app.kit import picture
from lanescope.app.kit.asked import operand as operand_of
from lanescope.app.kit.rate import TooOftenError
from lanescope.app.kit.settings import Settings, variable
from lanescope.app.kit.terminal import form_of, storage_of
from lanescope.app.layouts import cute as cute_page
from lanescope.app.layouts import pictures as pictures_of_layouts
from lanescope.app.layouts import triton as triton_page
from lanescope.app.layouts import tv as tv_page
from lanescope.app.steps import asked as steps_asked
from lanescope.app.steps import facts as steps
from lanescope.app.tiles import copyfigure, copying, figure
from lanescope.app.tiles import state as bench_state
from lanescope.app.tiles.facts import mma_of
from lanescope.descriptor.matrix import Descriptor, view
from lanescope.tiles.convert import converted
from lanescope.triton.gluon import triton_layout
from tests.arrays import npy
from tests.asked import F16, LDM, S8, W16

Call = tuple[str, Callable[[], Any]]
QUADS = "mma.m8n8k4.row.col.f32.f16.f16.f32"
UNPACKS = "ldmatrix.m8n16.x1.shared.b8x16.b6x16_p32"


def calls() -> list[Call]:
    """(words for the golden file, what is refused)."""
    out: list[Call] = []

    def say(words: str, function: Callable[..., Any], *given: Any, **named: Any) -> None:
        out.append((words, partial(function, *given, **named)))

    i, wg = find(F16), find(W16)
    a = i.operand("a")
    say("a pointer of an mma", check_pointer, i, "0x20", "")
    # matrices of one's own
    for text in ("1" * 65537, "1X2 3", "1 2; 3 4", "[[1,2],[3,4]]", "[1, 2", "[a]", '{"a": [1]}', "[" * 5000):
        say(f"matrix {text[:20]}", own.from_text, text, "data.b")
    for words, raw in (
        ("no file", b""), ("a short file", b"\x93NUMPY"), ("a zip", b"PK\x03\x04"),
        ("a large file", bytes(1 << 18) + b"x"),
        ("objects", npy(np.array([{}], dtype=object))), ("texts", npy(np.array(["x"]))), ("a file cut off",
        npy(np.arange(9))[:-1]), ("a file with more", npy(np.arange(9)) + b"x"),
    ):  # fmt: skip
        say(f"matrix file: {words}", own.from_file, raw, "a")
    for ptx, data in (
        (S8, {"a": None}), (S8, {"a": True}), (S8, {"a": {}}), (S8, {"a": "i * i"}), (S8, {"a": "0.5"}),
        (S8, {"b": "1 2 3"}), (S8, {"b": [[1] * 32] * 8}), (S8, {"a": [[1, 2], [3]]}), (S8, {"a": [["1", "z"]]}),
        (S8, {"a": [[[[[[1]]]]]]}), (S8, {"c": [1.5] * 3}), (QUADS, {"a": "product * 1e9"}), (QUADS, {"b": [1, 2]}),
    ):  # fmt: skip
        say(f"matrices of {ptx}: {str(data)[:60]}", own.check, find(ptx), data, "data.")
    say("a fill of 4096", captures.filled, "4096", "bf16", "a", 1, False)
    say("D beyond its type", products.inputs, find("mma.m16n8k16.row.col.f16.f16.f16.f16"), data={"a": "i", "b": "i"})
    # runs
    device = Reference()
    say("inactive lanes timed", banks.run, device, "ld.shared.b32", [None, *range(0, 124, 4)])
    say("addresses far apart", banks.run, device, "ld.shared.b32", [0] * 31 + [1 << 20])
    for word, big in ((0x4000004000013FFF, 0), (0x4000004000010100, 1 << 18)):
        say(f"descriptor {word:#x} beside {big} bytes", descriptors.place, Descriptor(word), view(wg, "a", "K"), big)
    say("a fragment that is none", fragments.run, device, i, "q")
    say("a fragment that unpacks", fragments.run, device, find(UNPACKS), "data")
    for given in (
        {"kind": "mma", "instruction": LDM}, {"kind": "banks", "access": "ldmatrix.x4"},
        {"kind": "mma", "instruction": W16, "a_from": "registers", "a": "from=shared"},
    ):  # fmt: skip
        say(f"run {given}", runs.check, given)
    for given in ({"family": "wgma"}, {"part": "bank"}, {"family": "mma", "part": "banks"}):
        say(f"verify {given}", lambda given=given: verify.verify(**given))
    # pictures
    for query in (
        {"rows": "0-7"}, {"cols": "0-7"}, {"lang": "it"}, {"theme": "pink"}, {"colr": "t"}, {"x" * 50: "1"},
        {"title": "t" * 400}, {"legend": "2"}, {"caption": "yes"}, {"embed": "x"},
        {"cell": "1"}, {"cell": "40x"}, {"cell": "201x40"},
        {"rows": "x"}, {"scale": "0.2"}, {"scale": "9"}, {"scale": "x"}, {"colour": "z"}, {"label": "z"},
        {"lanes": "32"}, {"warps": "1"}, {"product": "1"},
    ):  # fmt: skip
        say(f"picture {query}".replace("t" * 400, "…"), pictures.instruction, "svg", i, None, query)
    say("picture rows 9 to 99", pictures.instruction, "svg", i, a, {"rows": "9-99"})
    say("picture gif", pictures.instruction, "gif", i, a, {})
    for words, form, svg, scale in (
        ("Chinese", "png", '<svg width="9" height="9"><text>矩阵</text></svg>', 1.0),
        ("a wide one", "png", '<svg width="90000" height="9"></svg>', 1.0),
        ("a large one", "png", '<svg width="9000" height="9000"></svg>', 1.0),
        ("a large scale", "png", '<svg width="2000" height="2000"></svg>', 8.0),
        ("many labels", "pdf", '<svg width="9" height="9">' + "<text>x</text>" * 9000 + "</svg>", 1.0),
        ("many labels", "png", '<svg width="9" height="9">' + "<text>x</text>" * 99000 + "</svg>", 1.0),
    ):  # fmt: skip
        say(f"draw {words} as {form}", lambda f=form, s=svg, x=scale: picture.servable(picture.Drawing(f, s, x)).form)
    for output in ("figure", "figure.doc", "-.svg.x"):
        say(f"output {output}", form_of, output)
    for given in (["mn"], ["mn=64", "mn=128"]):
        say(f"storage {given}", storage_of, given, "K")
    # answers on an instruction
    for at in ("x", "1,2,3", "16,0", "0,16", "1", "", "-1,0"):
        say(f"at {at}", answers.at_element, a, at)
    for lane, value in ((32, None), (0, 8)):
        say(f"lane {lane} value {value}", answers.of_lane, a, lane, value)
    for query in ({"pin": "q:1,1"}, {"pin": "a:16,0"}, {"pin": "a:x"}, {"view": "m:0-99"}, {"product": "2"},
                  {"colour": "zz"}, {"label": "zz"}, {"lanes": "9-3"}, {"nothing": "1"}):  # fmt: skip
        say(f"page {query}", lambda query=query: state.read(i, query, state.PageState())[1])
    # steps
    say("steps of a load", steps.check, find(LDM))
    for given in ({"a": "swizzle=32B"}, {"d": "scale=0"}, {"a": "i", "data_a": "1"}, {"c": "1", "data_b": "2"}):
        for ptx in (F16, W16):
            say(f"steps of {ptx} with {given}", steps.asked, find(ptx), given)
    say("steps of a body", steps_asked.found_of, {"instruction": F16, "a": "swizzle=32B"})
    # pages of layouts
    blocked = "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>"
    shared = "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>"
    cube = {"text": "gl.BlockedLayout([1, 1, 1], [2, 4, 4], [2, 2, 1], [2, 1, 0])", "shape": "4x8x8"}
    for query in (
        {"text": "x" * 300_000},
        {"text": blocked, "shape": "16x16", "to": shared},
        {**cube, "axes": "0"},
        {"text": blocked, "shape": "16x16", "to": blocked.replace("[4, 1]", "[2, 1]")},
        {**cube, "axes": "1,1"},
        {**cube, "at": "9"},
    ):
        say(f"Triton page {query}"[:200], lambda query=query: refuse(triton_page.context(query)["error"]))
    for query in ({"colour": "red"}, {"thread": "128"}, {"pin": "tile:16,0"}, {"sel": "after:0,0"}):
        asked = {"text": blocked, "shape": "16x16", **query}
        say(f"look of a layout {query}", lambda asked=asked: triton_page.context(asked)["notices"])
    say("conversion of two tensors", lambda: converted(
        triton_layout(blocked, (16, 16)), triton_layout(blocked, (32, 16))))  # fmt: skip
    for query in ({"cute": "(4,8):(8,1)"}, {"cute": "(4,8):(8,1)", "tile": "2x2x2x2x2x2"}, {"cute": "(4,8):(8,1)",
                  "tile": "4x4"}, {"cute": "(4,8):(8,1)", "tile": "8x4", "slice": "(4,_)"},
                  {"cute": "(4,8):(8,1)", "tile": "8x4", "slice": "((1,_),_)"}, {"cute": "4:1", "tile": "2x2"},
                  {"cute": "(512,1024):(1,512)", "tile": "1024x512"},
                  {"cute": "(4,8):(8,1)", "tile": "8x4", "stored": "(4,4)"}):  # fmt: skip
        say(f"TV page {query}", lambda query=query: refuse(tv_page.context(query)["error"]))
    say("a figure of a number", cute_page.figure, {"expression": "size((128,128):(1,128))"}, "x")
    whole = mma_of({"atom": "SM80_16x8x16_F32F16F16F32_TN"})
    for query in ({"pin": "q:1,1"}, {"pin": "c:16,0"}, {"sel": "c:1-2"}, {"sel": "a:0-99,1"}, {"colour": "red"},
                  {"warps": "9"}, {"k": "7"}, {"view": "x:1-2"}):  # fmt: skip
        say(f"bench of a TiledMMA {query}", lambda query=query: bench_state.read(
            whole, bench_state.BenchState(), query)[1])  # fmt: skip
    for query in ({"colour": "red"}, {"form": "pdq"}):
        say(f"picture of a TiledMMA {query}", figure.made, query.get("form", "svg"), query)
    say("figure of a TiledMMA", figure.inline, {"colour": "red"})
    for query in ({"colour": "red"}, {"side": "b"}, {"stored": "none", "label": "bank"}, {"pin": "c:0,0"}):
        say(f"picture of a TiledCopy {query}", copyfigure.made, "svg", query)
    say("picture of a TV layout", pictures_of_layouts.made, "tv", "svg", {"cute": "(4,2):(1,4)", "tile": "4x2",
                                                                          "label": "red"})  # fmt: skip
    say("page of TMA without a storage", copying.context, {**copying.EMPTY, "atom": "SM90_TMA_LOAD", "tile": "8x8"}, {})
    say("picture of a large TiledCopy", copyfigure.made, "txt", {"tile": "256x256", "stored": "none"})
    say("picture of a large TiledMMA", figure.made, "txt", {"tile": "256x256x64"})
    say("a table of too many cells", pictures_of_layouts.made, "triton", "csv", {
        "text": "gl.SwizzledSharedLayout(8, 1, 8, [1, 0])", "shape": "256x512"})  # fmt: skip
    # guide, banks, site, server
    say("guide section", overviews.shapes, "none")
    say("guide part", reference.part, "none", "")
    say("guide kernel", reference.part, "kernel", "wmma.mma.row.col.m16n16k16.f32.f32")
    say("guide value", values.fill, "{{none 3}}")
    say("guide table", values.fill, "@table none")
    say("guide figure", render.drawing, "/nothing", "x")
    say("accesses", bank_facts.accesses, "0 16 ldmatrix.x4")
    say("an operand by its path", operand_of, "nothing", "left")
    say("site of a family", export, "site", ["nope"], False)
    say("site in a file", export, "/dev/null/site", ["movmatrix"], False)
    for rate, seconds in ((2.0, 0.3), (0.5, 1.2), (0.1, 9.01), (1.0, 1.0), (1000.0, 0.0001)):
        say(f"too often {rate} {seconds}", refuse, TooOftenError(rate, seconds))
    for name, text in (
        ("port", "65536"), ("workers", "0"), ("seconds", "nan"), ("rate", "-1"), ("body_bytes", "0"),
        ("log_format", "xml"), ("access_log", "maybe"), ("root_path", "/a b"), ("trusted_proxies", "proxy"),
        ("host", "a\nb"), ("frame_ancestors", "x; y"), ("cache_bytes", "-1"), ("threads", "65"), ("url_bytes", "1e9"),
    ):  # fmt: skip
        say(f"setting {name} {text!r}", Settings.of, {variable(name): text})
    return out


def refuse(error: Exception) -> None:
    raise error
