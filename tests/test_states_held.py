"""States of the tools' pages beyond those of test_pages_held, each by its checksum: every kind of answer, what is left
out of a form, what is wrong in it, files that are sent, runs on the reference.
"""

from __future__ import annotations

import json
import re
from concurrent.futures import Future
from functools import cache
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from lanescope.app.capture.examples import file
from lanescope.app.dump.examples import files
from lanescope.app.hardware import runs, worker
from lanescope.app.hardware.pool import Json, Pool
from lanescope.app.hardware.reference import Reference
from lanescope.app.main import create_app
from lanescope.app.read.bench import packed
from lanescope.app.runs.hardware import Hardware
from lanescope.errors import LayoutError
from tests import asgi
from tests.benches import CASES
from tests.held import FOLDER, held_sum
from tests.reader_corpus import entries
from tests.test_pages_held import steady

MMA, S8 = "mma.m16n8k16.row.col.f32.f16.f16.f32", "mma.m16n8k32.row.col.s32.s8.s8.s32"
WGMMA, WMMA = "wgmma.mma_async.m64n32k16.f32.f16.f16", "wmma.load.a.row.m16n16k16.f16"
SPARSE, FP8 = "mma.sp::ordered_metadata.m16n8k32.row.col.f32.f16.f16.f32", "mma.m16n8k32.row.col.f32.e4m3.e4m3.f32"
VOLTA, WORD = "mma.m8n8k4.row.col.f32.f16.f16.f32", "0x4000004004000101"
STATES: dict[str, tuple[dict[str, str], ...]] = {
    "/banks": (
        {"access": "st.shared.b64", "pattern": "rows", "row_bytes": "256", "pad": "8"}, {"swizzle": "3,4,3"},
        {"access": "ldmatrix.x2", "address": ",".join(str(128 * n) for n in range(16))},
        {"swizzle": "32B", "pad": "16"},
        {"access": "ld.shared.b32", "address": "0 4 8 128 256", "accesses": "st.shared.b128:rows"},
        {"accesses": "ldmatrix.x4:ldmatrix, st.shared.b128:0 16 32"}, {"access": "nope"}, {"pattern": "nope"},
        {"row_bytes": "7"}, {"pad": "-1"}, {"swizzle": "9,9,9"}, {"address": "0,2"}, {"accesses": "x"},
        {"row_bytes": "65537"}, {"access": "st.shared.b32", "pattern": "lanes"},
    ),
    "/chain": (
        {"operand": "d"}, {"operand": "d", "major": "MN"}, {"mma": S8, "operand": "a"}, {"mma": WGMMA, "operand": "a"},
        {"s_kind": "atoms"}, {"s_kind": "canonical", "s_swizzle": "64B", "major": "MN"}, {"s_kind": "cute"},
        {"s_kind": "cute", "s_layout": "(16,16):(16,1)"}, {"s_pitch_bytes": "40"}, {"s_swizzle": "128B"},
        {"load": "ldmatrix.m8n8.x4.trans.shared.b16"}, {"load": "stmatrix.m8n8.x4.shared.b16"}, {"operand": "q"},
        {"mma": VOLTA}, {"s_base": "3"}, {"mma": "x"}, {"mma": S8, "operand": "b", "major": "MN"}, {"s_kind": "zz"},
    ),
    f"/kernel/{WGMMA}": (
        {}, {"a": "from=registers"}, {"a.swizzle": "64B"}, {"a": "swizzle=96B"}, {"d": "f16"},
        {"b": "major=MN", "x": "1"}, {"a": "major=MN,swizzle=32B", "b": "k=64,swizzle=128B"},
    ),
    f"/kernel/{MMA}": ({}, {"a": "x=1"}), f"/kernel/{MMA}.cu": ({},), f"/kernel/{WGMMA}.py": ({"a": "swizzle=32B"},),
    f"/kernel/{WGMMA}.json": ({},), f"/kernel/{WMMA}": ({},), f"/kernel/{SPARSE}": ({},),
    "/reuse": (
        {"from": FP8, "to": FP8}, {"from": WGMMA, "to": WGMMA, "step": "1"}, {"from": WGMMA, "to": WGMMA, "step": "9"},
        {"from": "wmma.store.d.row.m8n32k16.f16", "to": "wmma.load.a.row.m8n32k16.bf16"}, {"from": MMA, "to": SPARSE},
        {"from": "x"}, {"to": "y"}, {"from": MMA, "to": WGMMA},
    ),
    "/compare": (
        {"left": "ldmatrix.m8n8.x1.b16/data", "right": "ldmatrix.m8n8.x1.trans.b16/data"}, {"left": "x"},
        {"left": f"{MMA}/a", "right": f"{FP8}/a"}, {"left": f"{MMA}/d", "right": f"{MMA}/c"}, {"right": f"{MMA}/q"},
        {"left": f"{MMA}/d", "right": f"{S8}/d"},
    ),
    f"/metadata/{SPARSE}": (
        {}, {"words": "0x4444444E"}, {"words": "xyz"}, {"selector": "1", "part": "editor"}, {"selector": "9"},
        {"words": " ".join(["0x44444444"] * 31 + ["0xE4E4E4E4"])},
    ),
    f"/metadata/{MMA}": ({},), "/metadata/mma.sp.m16n8k16.row.col.f32.tf32.tf32.f32": ({},),
    "/metadata/order": (
        {}, {"opcode": "mma.sp", "element": "s8"}, {"opcode": "wgmma.sp", "element": "tf32", "row": "5", "group": "3"},
        {"row": "9999"}, {"element": "x"}, {"tile_k": "7"}, {"rows": "256", "k": "512"},
    ),
    "/dump": (
        {"example": "right"}, {"example": "fp8"}, {"example": "swizzle", "operand": "b"}, 
        {"example": "swizzle", "base": "0x800", "slice_k": "16"},
        {"example": "right", "major": "MN"}, {"example": "right", "descriptor": "x"}, {"example": "zz"},
        {"example": "right", "instruction": MMA}, {"example": "right", "slice_mn": "7"},
    ),
    "/capture": ({"example": "right"}, {"example": "zz"}),
    "/gpu": ({},),
    "/gpu/run": (
        {"kind": "mma", "backend": "numpy", "instruction": MMA},
        {"kind": "mma", "backend": "numpy", "instruction": VOLTA},
        {"kind": "mma", "backend": "numpy", "instruction": WGMMA, "a": "swizzle=128B", "b": "major=MN"},
        {"kind": "fragment", "backend": "numpy", "instruction": MMA, "operand": "b"},
        {"kind": "fragment", "backend": "numpy", "instruction": "stmatrix.m8n8.x2.shared.b16", "operand": "data"},
        {"kind": "descriptor", "backend": "numpy", "instruction": WGMMA, "operand": "a",
         "major": "K", "descriptor": WORD},
        {"kind": "banks", "backend": "numpy", "access": "ldmatrix.x1", "address": "0 128 256 384 512 640 768 896"},
        {"kind": "banks", "backend": "numpy", "access": "ld.shared.b32", "address": "0"}, {"kind": "mma"}, {},
        {"kind": "mma", "instruction": MMA}, {"kind": "fragment", "instruction": MMA, "operand": "q"},
        {"kind": "mma", "instruction": MMA, "architecture": "sm_90"}, {"kind": "mma", "instruction": MMA, "seed": "x"},
        {"kind": "mma", "instruction": MMA, "worker": "a b"}, {"kind": "banks", "device": "99"},
    ),
    "/instructions": (
        {"q": "bf16", "part": "rows"}, {"type": "e4m3", "target": "sm_89"}, {"shape": "m64n8"}, {"shape": "x"},
        {"family": "zz"}, {"q": "wgmma e4m3 n64"}, {"q": "tcgen05.mma"}, {"target": "sm_120a", "family": "mma_scaled"},
        {"q": "half precision"}, {"q": "swizzle"}, {"type": "f64"}, {"q": "mma.sync.aligned.m16n8k16"},
    ),
    "/guide/read-ptx": ({"ptx": S8}, {"ptx": "x"}, {"ptx": "tcgen05.mma"}, {"ptx": " "}),
    "/go": ({"ptx": MMA}, {"ptx": "x y"}, {"ptx": ""},
            {"ptx": "tcgen05.mma.cta_group::1.kind::f16", "idesc": "0x8200490"}),
    "/": ({"family": "mma"}, {"x": "1"}), "/help": ({},), "/guide/benchmarks": ({},), "/capture/lanescope.cuh": ({},),
    "/read": (
        {}, {"text": " "}, {"z": "!"}, {"z": packed("hello")}, {"z": packed(MMA)[:-4]}, {"text": "x", "at.a": "1"},
        {"text": "swizzle"}, {"text": "core matrix 8x8"}, {"text": "m64n8k16 fp8"}, {"text": "size((4,8):(8,1))"},
        {"text": "ldmatrix fp8"}, {"text": "1 << 62\r\n"}, {"text": "mma.m16n8k8"}, {"text": "tcgen05.ld.16x64b.x2"},
    ),
    "/read.json": ({"text": "LDSM"}, {"z": packed(WORD)}),
    "/nothing/here": ({"text": "typed"},), "/api/v1/nothing": ({},), "/vendor/plotly-x.js": ({},), "/static/no": ({},),
}  # fmt: skip
PASTED = {f"bench {case.title}": {"z": packed(case.text)} for case in CASES[::9]}
READ = {f"read {entry.file}: {entry.title}": {"z": packed(entry.text)} for entry in entries()[::23]}
DUMP, EXPECTED = files("swizzle")
CAPTURE = file("k-step")
SENT: dict[str, tuple[str, dict[str, str], dict[str, bytes]]] = {
    "a dump": ("/dump", {"slice_k": "16"}, {"dump": DUMP}),
    "a dump and its tile": ("/dump", {}, {"dump": DUMP, "expected": EXPECTED}),
    "no dump": ("/dump", {"base": "0x800"}, {"expected": EXPECTED}), "an empty dump": ("/dump", {}, {"dump": b""}),
    "a strange field": ("/dump", {"kept_dump": "!", "other": "1"}, {}),
    "a kept dump": ("/dump", {"kept_dump": "AAAA", "descriptor": "0x10"}, {}),
    "a capture": ("/capture", {}, {"capture": CAPTURE}),
    "a capture, (n, k)": ("/capture", {"nk": "1"}, {"capture": CAPTURE}),
    "half a capture": ("/capture", {}, {"capture": CAPTURE[:5000]}), "no capture": ("/capture", {}, {}),
    "a capture of words": ("/capture", {}, {"capture": b"words", "a": b"x"}),
}  # fmt: skip


class Direct(Pool):
    """Runs a request at once, on the reference."""

    def submit(self, request: Json) -> Future[Json]:
        future: Future[Json] = Future()
        kept = self.ledger.keep(request, future)
        try:
            told = json.dumps(runs.run(Reference(), request), default=worker._plain)
            future.set_result(json.loads(told))
        except LayoutError as error:
            future.set_exception(error)
        return kept


@cache
def app() -> Any:
    return create_app(Hardware(Direct(), "CuPy is not installed."))


def answered(answer: asgi.Answer) -> str:
    kept = {
        name: answer.headers[name] for name in ("content-type", "location", "cache-control") if name in answer.headers
    }
    text = re.sub(r"[\d.]+(?= ms\b)", "…", steady(answer.body.decode()))
    assert answer.status < 500 or answer.status == 503, text
    return f"{answer.status} {kept}\n{text}"


@pytest.mark.parametrize("path", STATES)
def test_a_state_of_a_page(path: str) -> None:
    for query in STATES[path]:
        if path == "/gpu":
            app().state.hardware.pool.ledger.recent.clear()
        address = f"{quote(path, safe='/:.')}?{urlencode(query)}"
        held_sum("pages/states", address, answered(asgi.get(app(), address)))


@pytest.mark.parametrize("name", [*PASTED, *READ])
def test_a_text_that_is_pasted(name: str) -> None:
    answer = asgi.get(app(), f"/read?{urlencode((PASTED | READ)[name])}")
    held_sum("pages/states", name, answered(answer))


@pytest.mark.parametrize("name", SENT)
def test_a_form_with_files(name: str) -> None:
    path, fields, sent = SENT[name]
    parts = [f'name="{field}"\r\n\r\n{value}'.encode() for field, value in fields.items()]
    parts += [f'name="{part}"; filename="x"\r\n\r\n'.encode() + raw for part, raw in sent.items()]
    body = b"".join(b"--cut\r\nContent-Disposition: form-data; " + part + b"\r\n" for part in parts) + b"--cut--\r\n"
    kind = {"content-type": "multipart/form-data; boundary=cut"}
    held_sum("pages/states", name, answered(asgi.get(app(), path, "POST", body, headers=kind)))


def test_a_form_of_another_type() -> None:
    for path in ("/dump", "/capture"):
        for kind in ("text/plain", "multipart/form-data"):
            answer = asgi.get(app(), path, "POST", b"x", headers={"content-type": kind})
            held_sum("pages/states", f"{path} as {kind}", answered(answer))


def test_no_state_is_held_that_there_is_not() -> None:
    lines = (FOLDER / "pages" / "states.txt").read_text().splitlines()
    named = {line.partition(" ")[2] for line in lines}
    assert {*PASTED, *READ, *SENT} <= named and len(named) == len(lines)
    assert len(lines) == sum(map(len, STATES.values())) + len(PASTED) + len(READ) + len(SENT) + 4
