"""What runs in processes of its own, or on a device that is not here, run in this one by stand-ins and held: the
workers that draw and that run, TMA loads and tensor maps, the recording of captures, the static site.
"""

from __future__ import annotations

import ctypes
import io
import json
import subprocess
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lanescope.app import export
from lanescope.app.hardware import boxes, captures, device, worker
from lanescope.app.kit import picture_worker
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.shared import tma
from tests.card import summed
from tests.held import held, held_sum

MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"


# workers --------------------------------------------------------------------------------------------------------------


def test_the_process_that_draws(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><rect width="4" height="4"/></svg>'
    asked = [{"form": form, "svg": svg, "scale": 2.0, "fonts": []} for form in ("png", "pdf")]
    asked.append({"form": "png", "svg": "<svg", "scale": 1.0, "fonts": []})
    lines = "".join(json.dumps({"id": n, "request": one}) + "\n" for n, one in enumerate(asked))
    nice: list[int] = []
    monkeypatch.setattr("os.nice", nice.append)
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    picture_worker.serve()
    ready, png, pdf, wrong = map(json.loads, capsys.readouterr().out.splitlines())
    assert nice == [3] and ready == {"ready": True} and (png["id"], pdf["id"], wrong["id"]) == (0, 1, 2)
    assert [one["result"]["base64"][:5] for one in (png, pdf)] == ["iVBOR", "JVBER"]
    assert wrong["error"].pop("message").partition(":")[0] and wrong["error"] == {
        "code": "picture_failed", "hint": "SVG and TeX need no drawing.", "field": "form",
    }  # fmt: skip


class EndedError(Exception):
    """In place of the process's end."""


def spoken(monkeypatch: pytest.MonkeyPatch, which: str, *requests: Any) -> list[str]:
    """What the worker says to requests; its streams are this test's."""
    out = io.StringIO()
    monkeypatch.setattr(out, "close", lambda: None)
    moved: list[tuple[int, ...]] = []

    def ended(status: int) -> None:
        raise EndedError(status)

    for name, stand_in in (("dup", lambda n: 90 + n), ("dup2", lambda *n: moved.append(n)), ("_exit", ended),
                           ("fdopen", lambda *given, **more: moved.append(given[:1]) or out)):  # fmt: skip
        monkeypatch.setattr(f"os.{name}", stand_in)
    lines = "".join(json.dumps({"id": n, "request": one}) + "\n" for n, one in enumerate(requests))
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    try:
        status = f"ended with {worker.serve(which)}"
    except EndedError as end:
        status = f"ended at once with {end}"
    monkeypatch.undo()
    told = [json.loads(line) for line in out.getvalue().splitlines()]
    for one in told:
        one.get("result", {}).pop("duration_ms", None)
    return [str(moved), status, *(json.dumps(one) for one in told)]


def test_the_process_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    run = {"kind": "mma", "backend": "numpy", "device": 0, "instruction": MMA, "a_from": "registers", "seed": 1}
    far = {"kind": "banks", "backend": "numpy", "device": 0, "access": "ld.shared.b32", "address": [0] * 31 + [1 << 20]}
    lines = spoken(monkeypatch, "numpy", run, far, {"kind": "zz"}, run)
    monkeypatch.setattr(device, "device_count", lambda: 0, raising=False)
    lines += spoken(monkeypatch, "0")[1:2]
    held_sum("processes/sums", "worker", "\n".join(lines))


# a device that is none ------------------------------------------------------------------------------------------------


class Tensor:
    """An array in a device's memory."""

    def __init__(self, array: Any) -> None:
        self.array = np.array(array)
        self.shape, self.dtype = self.array.shape, self.array.dtype
        self.data = types.SimpleNamespace(ptr=4096 * (1 + self.array.size % 7))

    def __str__(self) -> str:
        return summed(self.array)


class Cupy(types.SimpleNamespace):
    """As much of CuPy as is asked; each launch is noted and given to `does`."""

    def __init__(self, does: Callable[..., None]) -> None:
        self.noted: list[str] = []
        self.loaded = b""

        class Event:
            record = synchronize = lambda self: None

        def launched(*given: Any, **more: Any) -> None:
            *grid, arguments = given
            self.noted.append(f"{grid} {' '.join(map(str, arguments))} {more}")
            does(arguments)

        launched.ptr = 7  # type: ignore[attr-defined]
        module = types.SimpleNamespace(
            load=lambda cubin: self.noted.append(summed(np.frombuffer(cubin, np.uint8))),
            get_function=lambda name: self.noted.append(name) or launched,
        )
        driver = types.SimpleNamespace(
            CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES=8, funcSetAttribute=lambda *n: self.noted.append(str(n))
        )
        super().__init__(
            asarray=Tensor, zeros=lambda shape, kind: Tensor(np.zeros(shape, kind)), asnumpy=lambda one: one.array,
            cuda=types.SimpleNamespace(
                driver=driver, runtime=types.SimpleNamespace(deviceSynchronize=lambda: self.noted.append("waited")),
                function=types.SimpleNamespace(Module=lambda: module), Event=Event,
                get_elapsed_time=lambda begin, end: 3.5,
            ),
        )  # fmt: skip


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """libcuda, as far as it encodes tensor maps: refuses what layouts/shared/tma.py says, and notes what it is
    given.
    """
    noted: list[str] = []

    def encode(place: Any, kind: Any, rank: Any, address: Any, *arrays: Any) -> int:
        dims, strides, box, steps = (list(one) for one in arrays[:4])
        noted.append(
            f"{place.value % 64} {kind} {rank.value} {address.value} {dims} {strides} {box} {steps} {arrays[4:]}"
        )
        ctypes.memset(place.value, len(noted) % 251, 128)
        return 1 if max(dims) > 1 << 32 or max(box) > 256 or rank.value > 5 or min(*dims, *box) < 1 else 0

    named: list[str] = []
    library = types.SimpleNamespace(cuTensorMapEncodeTiled=encode)
    monkeypatch.setattr(boxes.ctypes, "CDLL", lambda name: named.append(name) or library)
    yield noted
    assert set(named) == {"libcuda.so.1"}


def test_boxes_are_loaded_and_maps_offered(monkeypatch: pytest.MonkeyPatch, driver: list[str]) -> None:
    every = list(boxes.loads())[::45]
    monkeypatch.setattr(boxes, "loads", lambda: iter(every))
    monkeypatch.setattr(boxes, "OFFERED", 12)
    asked: list[str] = []
    now: list[Any] = []
    memory_of = boxes.memory_of

    def remembered(map_: boxes.Map, rng: Any) -> Any:
        now[:] = [map_, memory_of(map_, rng)]
        return now[1]

    def box(source: str, words: bytes, at: Any, count: int, offset: int, size: int) -> Any:
        asked.append(f"{len(source)} {words[:2].hex()} {len(words)} {at} {count} {offset} {size}")
        told = boxes.Load("", now[0], at, offset).expected(now[1], 1024)
        assert len(told) == size
        return (told + (len(asked) == 3), 1024)  # one byte more once, to plant a fault

    monkeypatch.setattr(boxes, "memory_of", remembered)
    card: Any = types.SimpleNamespace(
        info=lambda: {"compute_capability": "9.0"}, box=box, cupy=Cupy(lambda given: None)
    )
    told = boxes.run(card)
    lines = [*asked, *driver, *(f"{key} {row}" for key, row in told.items())]
    held(
        "processes/boxes", "\n".join([*(f"{key} {row}"[:200] for key, row in told.items()), summed_text(lines)]) + "\n"
    )
    assert boxes.run(types.SimpleNamespace(info=lambda: {"compute_capability": "8.9"})) == {}  # type: ignore[arg-type]
    monkeypatch.setattr(tma, "refused", lambda *_: [])
    wrong = boxes.Load("x", boxes.Map("UINT8", (16, 16), (16,), (512, 1), "none"), (0, 0))
    with pytest.raises(LayoutError, match="The driver refuses") as refused:
        boxes.loaded(card, wrong, np.random.default_rng(1))
    assert (refused.value.code, refused.value.hint) == ("bad_usage", "A case of this part must be legal.")
    library = types.SimpleNamespace(cuTensorMapEncodeTiled=lambda *_: 3)
    monkeypatch.setattr(boxes.ctypes, "CDLL", lambda name: library)
    with pytest.raises(RuntimeError, match="cuTensorMapEncodeTiled: error 3"):
        wrong.map.encoded(4096)


def summed_text(lines: list[str]) -> str:
    text = "\n".join(lines)
    return f"{len(lines)} lines {summed(np.frombuffer(text.encode(), np.uint8))}"


def test_captures_are_recorded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, driver: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Kernels that record nothing and compute D by NumPy; wrong with a mistake, and one that ends in an error."""
    now: dict[str, Any] = {}

    def does(arguments: Any) -> None:
        out = arguments[0].array
        if "example" in now and out.shape == (now["example"].a[0], now["example"].n):
            out[...] = captures.product(now["example"], now["data"]) + now["mistake"]
            if now["mistake"] == 4 and now["data"].part:
                raise RuntimeError("an illegal address")

    cupy = Cupy(does)
    card: Any = types.SimpleNamespace(cupy=cupy, target="sm_90a", info=lambda: {"name": "none"})
    launch = captures.launch

    def noted(of: Any, example: Any, kernel: Any, data: Any, mistake: int) -> Any:
        now.update(example=example, data=data, mistake=mistake)
        return launch(of, example, kernel, data, mistake)

    started: list[list[str]] = []

    def run(argv: list[str], timeout: int) -> None:
        started.append([argv[1], argv[2], *argv[4:], str(timeout)])
        if argv[4] == "wgmma_core_matrices" and argv[5] == "0":
            return  # a process that ends without a word
        assert captures.main(argv[3:]) == 0

    monkeypatch.setattr(captures, "launch", noted)
    monkeypatch.setattr(captures, "compile_text", lambda text, target: f"{target} {text}".encode())
    monkeypatch.setattr(captures, "Cuda", lambda: card)
    monkeypatch.setattr(captures, "BUFFER", 1 << 16)
    monkeypatch.setattr(captures, "TIMED", 1)
    monkeypatch.setattr(subprocess, "run", run)
    status = captures.main([str(tmp_path)])
    told = capsys.readouterr().out
    with captures.tarfile.open(tmp_path / "captures.tar.xz") as archive:
        names = [(one.name, one.size) for one in archive.getmembers()]
    lines = [str(status), *map(str, started), *map(str, names), (tmp_path / "captures.json").read_text()]
    held("processes/captures", "\n".join([*told.splitlines(), summed_text([*lines, *cupy.noted, *driver])]) + "\n")
    assert captures.main([]) == 2 and "FOLDER" in capsys.readouterr().err and not (tmp_path / "parts").exists()
    monkeypatch.setattr(captures, "ROOTS", (tmp_path / "no",))
    with pytest.raises(LayoutError, match="The examples are not installed") as refused:
        captures.folder()
    assert (refused.value.code, refused.value.hint) == ("no_examples", "Run this in the repository.")


# the static site ------------------------------------------------------------------------------------------------------


def test_where_addresses_lead_in_a_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = tuple(i for i in catalog.instructions() if i.family.name == "movmatrix")
    site = export.Site(tmp_path, chosen)
    own, other = chosen[0].ptx, MMA
    addresses = (
        "/", "/?q=x", "/instructions", "/instructions?q=a%20b#x", "/static/kit/theme.js?12", "/palette.css", "/help",
        "/help#keys", "/guide/swizzle#a", "/guide", "/gpu", "/gpu/run", "/smem/atoms", "/smem", "/banks?x=1", "/readx",
        "/read", "/read?text=movmatrix", f"/read?text={own}", "/read?text=nothing known", "/read?text=", f"/i/{own}",
        f"/i/{own}?pin=a:0,0", f"/i/{own}?x&amp;y=1", f"/i/{other}", f"/i/{own}.cu", f"/i/{own}.png", f"/i/{own}.pdf",
        f"/i/{own}.tex", f"/i/{own}.json", f"/i/{own}.svg", f"/i/{own}/d.json", f"/i/{own}/d.svg", f"/i/{own}/q.json",
        f"/i/{other}.svg", "/i/.svg", "/i/x", "/vendor/plotly-x.js", "/openapi.json",
    )  # fmt: skip
    lines = [f"{address} → {site.target(address)}" for address in addresses]
    text = (
        '<!doctype html>\n<html lang="en">\n  <link rel="modulepreload" href="/static/kit/paste.js">'
        '<script type="module" src="/static/home/page.js?ab12" data-x="1"></script>\n <a href="/help">h</a>\n'
        '  <pre>\n  kept</pre><form action="/read">\n</body>'
    )
    for path in ("index.html", "i/x.html"):
        lines += [path, *site.localise(text, path).splitlines()]
    lines += [f"{path} {size}" for path, size in site.files.items() if not path.startswith("assets")]
    lines += export._needs_server('<a><main id="main">x\n</main></a>').splitlines()
    lines += [
        export._script("a", {"b": "</script>"}),
        export._dedent("  a\n\t<textarea>\n  b</textarea>\n  <pre>\n c</pre>"),
    ]
    with pytest.raises(RuntimeError, match=r"^/nothing answered 404$"):
        site.get("/nothing")
    site.thread.shutdown()
    monkeypatch.setattr(export.Site, "run", lambda self: iter([self.write("a/b", "x"), self.write("c", b"yz")]))
    for _ in range(2):
        told = export.export(str(tmp_path / "made"), ["movmatrix"], False)
        lines.append(str({name: one for name, one in told.items() if name not in ("folder", "seconds")}))
    held("processes/site", "\n".join(lines) + "\n")
