"""What the kit's own functions answer: words and calls, by what they are about. A server is asked by tests/asgi.py."""

from __future__ import annotations

import json
import logging
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stdout
from functools import partial
from io import BytesIO, StringIO, TextIOWrapper
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np

from lanescope import find
from lanescope.app.kit import (
    draw,
    errors,
    links,
    logs,
    menus,
    page,
    picture,
    plotly,
    prefix,
    rows,
    serve,
    terminal,
    wire,
)
from lanescope.app.kit.fact import fact, sometimes
from lanescope.app.kit.headers import Headers
from lanescope.app.kit.metrics import Metrics
from lanescope.app.kit.rate import Rate
from lanescope.app.kit.settings import Settings, tls_files, variable
from lanescope.app.kit.work import Work
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from tests.held import refusal

Call = tuple[str, Callable[[], Any]]
F16 = "mma.m16n8k16.row.col.f32.f16.f16.f32"
SPARSE = "mma.sp::ordered_metadata.m16n8k32.row.col.f32.f16.f16.f32"
LDM = "ldmatrix.m8n8.x4.trans.b16"


def of_errors() -> Iterator[Call]:
    for code in (*errors.STATUS, "another"):
        error = LayoutError(code, "Said.", "Hint.", "field")
        yield code, lambda error=error: (errors.status_of(error), errors.told_headers(error), errors.body_of(error))
    for path in ("/api/v1", "/api/v1/x", "/", "/i/x", "/i/x.svg", "/i/x.css", "/a.js", "/healthz", "/healthz/x",
                 "/metrics", "/openapi.json", "/static/a", "/vendor/a", "/smem.py", "/x.cu", "/help"):  # fmt: skip
        yield f"for machines {path}", partial(errors.for_machines, path)
    for status in (400, 404, 405, 415):
        asked = (status, "P" * 70, "/x" * 70, "GET, HEAD", "It was so.")
        yield f"of router {status}", partial(told, errors.of_router, *asked)
    for path in (
        "/mma.m16n8k16.row.col.f32.f16.f16.f32",
        "/x/LDMATRIX.sync.aligned.m8n8.x4.shared.b16",
        "/mma.m16n8k17",
    ):
        yield f"of router {path}", partial(told, errors.of_router, 404, "GET", path, "GET", "Not found")
    yield "missing", partial(told, errors.missing, {"type": "missing", "loc": ("query", "from")})
    labels = {"mn": "Tile M or N", "a": "A stored", "storage.k": "Tile K"}
    for field, message in product(("", "mn", "k", "storage.k", "a.swizzle", "q.swizzle", "a"),
                                  ("mn is '7'.", "k has 9 parts.", "swizzle is '96B'.", "It is wrong.")):  # fmt: skip
        yield f"told {field}: {message}", partial(page.told, LayoutError("x", message, "Hint.", field), labels)
    for path in ("/", "/i/x", "/smem/atoms", "/guide/a", "/gallery", "/nothing", "descriptor"):
        yield f"menu of {path}", partial(menus.menu_of, path)
    for text in ("(l:32) (r:x c:2) -> <a>", "a `b` & `c`", "`", "``"):
        yield f"names in {text}", partial(page.pattern_names, text)
        yield f"ticks in {text}", partial(page.ticks, text)


def of_settings() -> Iterator[Call]:
    """Every setting with every text; what is refused, by its words."""
    texts = (
        "-1", "0", "1", "2", "0.04", "0.05", "600", "600.1", "64", "65", "255", "256", "1023", "1024", "10000", "10001",
        "61440", "61441", "65535", "65536", "67108864", "67108865", "1e6", "1000001", str(1 << 40), str((1 << 40) + 1),
        "nan", "x", "YES", "no", "TRUE", "false", "json", "Text", " a ", "a\nb", "/a/b/", "a//b", "..", "/t-o_o.l", "ä",
        "'none'", "'self' https://a.b:1/*", "x; y", "x  y", "127.0.0.1", "10.0.0.0/8", "10.0.0.1/8", "*", " a.b , ,c ",
        "tcp://h:8786", "tls://[::1]:1", "tcp://h:0", "tcp://h:65536", "tcp://h:65535", "tcp://h", "udp://h:1",
        "tcp://h:8786/",
    )  # fmt: skip

    def answered(name: str) -> list[str]:
        taken, refused = [], dict[str, list[str]]()
        of = mock.patch("lanescope.app.kit.settings.tls_files", lambda *_: None)(Settings.of)
        for text in texts:
            try:
                taken.append(f"{text!r} → {getattr(of({variable(name): text}), name)!r}")
            except LayoutError as error:
                said = error.message.replace(f"'{error.message.partition(chr(39))[2].rpartition(chr(39))[0]}'", "'…'")
                refused.setdefault(f"{error.code} {error.field}: {said} {error.hint}", []).append(text)
        return [*taken, *(f"{said} {given}" for said, given in refused.items())]

    for name in Settings.__dataclass_fields__:
        yield f"setting {name}", partial(answered, name)
    yield "no settings", lambda: list(Settings.of({"LANESCOPE_PORT": "", "PORT": "1"}).environment().items())
    yield "variables", lambda: list(Settings(access_log="yes", seconds="2").environment().items())  # type: ignore[arg-type]
    for address, files in (("tls://h:1", ("a", "", "c")), ("tcp://h:1", ("", "b", "")), ("", ("a", "b", "c")),
                           ("tcp://h:1", ("", "", "")), ("tls://h:1", ("/none", "/none", "/none"))):  # fmt: skip
        yield f"files of TLS {address} {files}", partial(tls_files, address, *files)


def of_server() -> Iterator[Call]:
    made = Headers("'self'", ["'sha256-x'"])
    which = {id(getattr(made, name)): name for name in ("always", "page", "asset", "shared")}
    for name in ("always", "page", "asset", "shared"):
        yield f"headers {name}", partial(getattr, made, name)
    for kind, path, method, status in product(
        (b"text/html; charset=utf-8", b"application/json"), ("/", "/api/v1/x", "/static/a.js", "/metrics", "/i/x.svg"),
        ("GET", "POST"), (200, 304, 404),
    ):  # fmt: skip
        scope = {"path": path, "method": method}
        given = [(b"vary", b"text/html"), (b"content-type", kind)]
        asked = f"{kind.decode()} {method} {path} {status}"
        yield asked, lambda scope=scope, s=status, given=given: which[id(made.of(scope, s, given))]
    for root, path in product(("", "/tools"), ("/", "/tools", "/tools/x", "/toolsx", "/x")):
        scope = {"root_path": root, "path": path}
        yield f"address {root} {path}", partial(prefix.address, scope)
        text = '<html lang><a href="/a" class="/b"><script src="//c"></script><form action="/d"> href="/"'
        yield f"linked {root} {path}", partial(prefix.linked, scope, text)
        mended = prefix.Prefix(None, root)._mended  # type: ignore[arg-type]
        for to in (b"/x", b"//x", b"/tools/x", b"/tools", b"https://x", b"x"):
            yield f"redirect {root} {to!r}", partial(mended, b"location", to)
        yield f"another header {root}", partial(mended, b"link", b"/x")
    yield "root of a mount", partial(prefix.root_of, {"app_root_path": "/a", "root_path": "/b"})
    for rate in (0.0, 0.1, 0.5, 1.0, 3.0):
        yield f"rate {rate}", partial(taking, rate)
    yield "too slow", lambda: raised(Work(Settings(seconds=2.5)).too_slow())
    for kind in ("json", "text"):
        yield f"logs as {kind}", partial(logs.config, kind)
        yield f"a line as {kind}", partial(line, kind)
    yield "metrics", metrics
    yield (
        "options of serve",
        lambda: [
            f"{one.name} {one.default!r} {one.annotation.__metadata__[0].envvar} {one.annotation.__metadata__[0].help}"
            for one in serve._signature().parameters.values()
        ],
    )
    yield "serve", served
    yield (
        "plotly.js",
        lambda: (plotly.plotly.__wrapped__()[1].media_type, len(plotly.plotly()[0]), plotly.plotly_url()[:15]),
    )
    yield "styles", lambda: {(len(text), text[:8], text[-2:]) for text in plotly.style_hashes.__wrapped__()}
    for accepted in ("", "br", "gzip", "br;q=0.2, gzip;q=0.3", "*;q=0.1", "gzip;q=0", "x;q=1", "br;level=1", "br;q=z"):
        yield f"coding {accepted}", partial(wire._coding, accepted)
    for size, media in product((399, 400), ("text/plain", *wire.DENSE)):
        yield f"coding of {size} bytes of {media}", partial(wire.Body(b"x" * size, media).coding, "gzip")
    yield "a cache", cached


def taking(rate: float) -> Iterator[str]:
    """Tokens of two clients, at a clock of the test's own, as fast as they come and then late."""
    now = 0.0
    bucket = Rate(rate, clients=2, clock=lambda: now)
    for now, client in ((0.0, "a"), (0.0, "a"), (0.1, "a"), (0.4, "a"), (0.4, "b"), (2.0, "a"), (2.0, "c"), (2.5, "a"),
                        (2.6, "a"), (30.0, "a"), (30.0, "a"), (30.1, "a"), (30.2, "a"), (30.2, "a"), (30.3, "a"),
                        (30.3, "a"), (30.3, "b"), (30.3, "b")):  # fmt: skip
        try:
            bucket.take(client)
            yield f"{now} {client} taken of {list(bucket._held)}"
        except LayoutError as error:
            yield f"{now} {client} {error.code}: {error.message} {error.hint} {error.retry_seconds}"  # type: ignore[attr-defined]


def line(kind: str) -> str:
    made = logs.JsonLines() if kind == "json" else logs.Text()
    record = logging.LogRecord("lanescope", logging.WARNING, "", 0, "said %d\nmore", (7,), None)
    record.created, record.msecs, record.client, record.other = 1.5, 7.0, "peer", "x"
    token = logs.REQUEST_ID.set("one")
    try:
        text = made.format(record)
    finally:
        logs.REQUEST_ID.reset(token)
    return text if kind == "json" else text.partition(" ")[2].partition(" ")[2]


def metrics() -> list[str]:
    from prometheus_client import generate_latest

    counted = Metrics(lambda: SimpleNamespace(counts={("mma", "done"): 3}, waiting=2, restarts=5))  # type: ignore[arg-type,return-value]
    counted.requests.labels("/x", "200").inc()
    counted.seconds.observe(0.02)
    return [row for row in generate_latest(counted.registry).decode().splitlines() if "_created" not in row]


def served() -> dict[str, Any]:
    """What uvicorn is told."""
    seen: dict[str, Any] = {}
    with (
        mock.patch("uvicorn.run", lambda app, **given: seen.update(app=app, **given)), mock.patch("gc.disable"),
        mock.patch("resource.setrlimit", lambda which, most: seen.update(files=most[0] == most[1])),
        mock.patch("signal.signal", lambda which, do: seen.update(signal=which.name, does=do(15, None))),
        mock.patch.dict("os.environ", {}, clear=True),
    ):  # fmt: skip
        serve.serve(port="8123", shutdown_seconds="0.2", workers="3", log_format="json")
        import os

        seen["environment"] = {name: os.environ[name] for name in sorted(os.environ)}
    seen["log_config"] = seen["log_config"]["formatters"]["lines"]["()"].__name__
    return seen


def cached() -> Iterator[str]:
    """Bodies put and asked for, with what is held after each."""
    kept, own = wire.Cache(10 * wire.OVERHEAD), wire.OVERHEAD
    bodies = {name: wire.Body(b"x" * size, "text/plain") for name, size in
              (("a", 10), ("b", own), ("large", 2 * own), ("c", own + own // 2), ("d", 10), ("e", 600))}  # fmt: skip
    for name in (*bodies, "a", "b", "e"):
        kept.put(name, bodies[name])
        yield f"put {name}: {list(kept._bodies)} {kept.held_bytes}"
        if name in "bc":
            yield f"has a: {kept.get('a') is bodies['a']}, {list(kept._bodies)}"
    bodies["e"].prepare("br")
    kept.put("e", bodies["e"])
    yield f"grown: {kept.held_bytes > 0} {bodies['e'].has('br')} {bodies['e'].has('gzip')} {list(kept._bodies)}"


def of_terminal() -> Iterator[Call]:
    """In a folder of the test's own."""
    for text in ("", "64x128", "64,128", "64×128x2", "9"):
        yield f"sizes {text}", partial(terminal.sizes, text)
    yield "given", partial(terminal.given, {"a": "", "b": "0", "c": None, "d": 0, "e": [1]})
    for spec in (None, ["mn=64"], ["kind=rows,pitch_bytes=80"], ["kind=atoms", "inner=MN"], [" kind = cute , a=4:1"],
                 ["layout=(4,8):(8,1),kind=cute"], ["swizzle=128B k=64"], ["mn"], ["a=1", "a=2"], ["=x"]):  # fmt: skip
        yield f"storage {spec}", lambda spec=spec: terminal.storage_option(terminal.storage_of(spec, "MN"))
    for output in ("-", "a.svg", "a.b.PNG", "svg", "a.doc", "-.png", "a.json"):
        yield f"form of {output}", partial(terminal.form_of, output)
    texts = {
        "text": b"words\n",
        "latin": b"\xff",
        "object.json": b'{"a": 1}',
        "list.json": b"[1]",
        "half.json": b'{"a"',
    }
    for name, raw in texts.items():
        Path(name).write_bytes(raw)
    for name in (*texts, "none", ".", "a\0b", "n" * 300):
        yield f"text of {name[:20]!r}", partial(terminal.text_of, name)
        yield f"JSON of {name[:20]!r}", partial(terminal.json_of, name)
        for most in (2, 6, 100):
            yield f"load {name[:20]!r} {most}", partial(terminal.load, name, "dump", most)
    for head, extent, most in product((0, 2), (0, 3, 6, 99), (2, 4, 100)):
        asked = partial(terminal.load, "text", "x", most, head=head, extent=lambda _, n=extent: n)
        yield f"load of {head}, {extent}, {most}", asked
    yield "load refused", partial(terminal.load, "no", "x", 9, "bad_dump", "Hint.")
    refusing = partial(terminal.load, "text", "x", 9, head=2, extent=lambda _: raised(LayoutError("a", "b", "c")))
    yield "load of what its head refuses", refusing
    yield "standard input", partial(with_input, "given", partial(terminal.text_of, "-"))
    for output in ("made", "no/made", "-"):
        yield f"save {output}", partial(saved, output)
    for text in ("wgmma.mma_async.sp.sync.aligned.m64n8k3", "wgmma.mma_async.m64n8k8", "x"):
        yield f"complete {text}", partial(terminal.complete, text)
    for count in (2, 9):
        made = [[f"l{n}", "[v]"] for n in range(count)]
        yield f"table of {count}", partial(printed, terminal.table, ["lane", "value"], made)
    warnings = [SimpleNamespace(field="mn", message="Odd.")]
    yield "warnings", partial(printed, terminal.warn, warnings)
    numbers = {
        "a": np.array([1.5, np.nan, -np.inf]),
        "b": np.array([[1, 2]]),
        "c": np.float32(2),
        "d": Told(x=1),
        "e": Path("p"),
    }
    for as_json, good in product((False, True), repeat=2):
        asked = partial(terminal.answer, numbers, lambda made: [f"{len(made)} parts", "."], as_json, good)
        yield f"answer {as_json} {good}", partial(printed, asked)
    app, group = terminal.verbs("name", "It says.")
    yield "verbs", lambda: (app.registered_groups[0].name, group.info.help, group.info.no_args_is_help)


@fact
class Told:
    """A fact of this file."""

    x: int
    y: int | None = sometimes()


def printed(function: Callable[..., Any], *given: Any) -> str:
    out, status = StringIO(), ""
    with redirect_stdout(out), mock.patch.dict("os.environ", {"COLUMNS": "80"}):
        try:
            function(*given)
        except Exception as ended:  # typer's Exit, with a status
            status = f" exit {getattr(ended, 'exit_code', ended)}"
    return out.getvalue() + status


def with_input(text: str, function: Callable[[], Any]) -> Any:
    with mock.patch("sys.stdin", StringIO(text)):
        return function()


def saved(output: str) -> str:
    out, said = (TextIOWrapper(BytesIO()) for _ in range(2))
    with mock.patch("sys.stdout", out), mock.patch("sys.stderr", said):
        terminal.save(b"made", output)
    said.flush()
    there = Path(output).read_bytes() if Path(output).is_file() else b""
    return repr((out.buffer.getvalue(), said.buffer.getvalue(), there))  # type: ignore[attr-defined]


def of_pictures() -> Iterator[Call]:
    def drawn(form: str, wide: float, high: float, scale: float, labels: int = 0) -> Any:
        svg = (
            f'<svg width="{wide}" height="{high}">'
            + "<text>x</text>" * (labels // 2)
            + "<tspan>x</tspan>" * (labels - labels // 2)
        )
        made = picture.servable(picture.Drawing(form, svg, scale))
        return made.form, made.scale

    large, most, served = picture.LARGEST_PIXELS, picture.MOST_PIXELS, picture.SERVED_PIXELS
    for form, wide, high, scale in (
        ("png", large, 9, 1), ("png", large + 1, 9, 1), ("png", 9, large, 1), ("png", 9, large + 1, 1),
        ("png", large // 2, 9, 2), ("png", large // 2 + 1, 9, 2), ("png", 6000, most // 6000, 1),
        ("png", 6000, most // 6000 + 1, 1), ("png", 4000, served // 4000, 1), ("png", 4000, served // 4000 + 1, 1),
        ("png", 2000, served // 8000, 2), ("png", 2000, served // 8000 + 1, 2), ("pdf", large + 1, large, 9),
    ):  # fmt: skip
        yield f"{form} {wide}×{high}×{scale}", partial(drawn, form, wide, high, scale)
    for form, labels in product(("png", "pdf"), (4096, 4097, 8192, 8193)):
        yield f"{form} of {labels} labels", partial(drawn, form, 9, 9, 1, labels)
    for wide, high, scale in product((10, 1000.5, 30000), (10, 2000, 9000), (0.3, 1, 2, 8)):
        yield f"fitting {wide}×{high}×{scale}", partial(picture.fitting, f'<svg width="{wide}" height="{high}">', scale)
    for letter in ("ä×→", "\u2fff", "\u3000", "矩阵中文字符很多的"):
        yield (
            f"glyphs {letter}",
            lambda letter=letter: picture.Drawing("pdf", f'<svg width="9" height="9">{letter}').form,
        )
    for gone in (["resvg_py"], ["matplotlib", "svg2pdf_py"]):
        yield f"without {gone}", partial(without, gone, picture.available)
        yield f"drawn without {gone}", partial(without, gone, partial(drawn, "png", 9, 9, 1))
        yield (
            f"fonts without {gone}",
            partial(without, gone, lambda: [Path(name).name for name in picture.fonts.__wrapped__()]),
        )
    wrong = np.zeros((2, 3), bool)
    wrong[1, 2] = True
    for columns in (3, 70, 900):
        texts = [[f"{n}" * (n % 5 + 1) for n in range(columns)]] * 2
        yield f"a grid of {columns}", partial(draw.drawn, "What was found", np.resize(wrong, (2, columns)), texts)
    grid = next(iter(find(F16).operands.values()))
    yield "an operand marked", partial(marked, grid)


def without(names: Iterable[str], function: Callable[[], Any]) -> Any:
    """With packages that are not installed."""
    from importlib.util import find_spec

    with mock.patch("importlib.util.find_spec", lambda name: None if name in names else find_spec(name)):
        return function()


def marked(operand: Any) -> str:
    from lanescope.render.view import operand_figure

    grid = operand_figure(operand).panels[0].grid
    kinds = np.arange(grid.rows * grid.cols).reshape(grid.rows, grid.cols) % 2
    texts = [[str(n % 7) for n in range(grid.cols)]] * grid.rows
    return draw.marked(grid, kinds, texts, "Marked", {0: "here", 1: "elsewhere"})


def of_rows() -> Iterator[Call]:
    i, j = find(F16), find(LDM)
    a = i.operand("a")
    for words, address in (
        ("page", links.path_of(i)), ("operand", links.path_of(i, a, "svg", {"colour": "t,x", "b": "a:b c"})),
        ("tiled", links.tiled_mma(i)), ("atom", links.tile_of_atom("SM80<a,b>(1:2)", "a b")),
        ("atom alone", links.tile_of_atom("x")), ("smem", links.smem({"mn": 64, "a": "b,c"})),
        ("smem alone", links.smem({})),
        ("descriptor", links.descriptor("0x1", {"a": "K"}, "tcgen05")), ("a word", links.descriptor("0x1", {})),
        ("kernel", links.kernel(i, {"a": "major=MN,x<2>:1"}, "cu")), ("steps", links.steps(i, {"row": 1})),
        ("run", links.run(i, {"a": "x", "backend": "cuda"})), ("chain", links.chain({"mma": i.ptx})),
        ("reuse", links.reuse(i, j)), ("diagram", links.diagram({"at": "a:1,2"})),
        ("banks", links.banks({"address": "0,4"})),
        ("compare", links.compare("x/a", "y/b")),
    ):  # fmt: skip
        yield f"link {words}", lambda address=address: address
    yield "targets", lambda: [
        rows.since(catalog.TARGETS[n:m]) for n in range(4) for m in (n + 1, n + 2, len(catalog.TARGETS))
    ]  # fmt: skip
    for family in catalog.families():
        own = [one for one in catalog.instructions() if one.family is family]
        first = own[0]
        yield f"{family.name} {first.ptx}", lambda first=first: (
            rows.in_words(first), rows.named(first), rows.product(first), rows.group_of(first)
        )  # fmt: skip
        told = [repr((rows.row(i), rows.in_words(i), rows.named(i), rows.product(i), rows.group_of(i))) for i in own]
        yield f"all of {family.name}", lambda told=told: f"{len(told)} crc {zlib.crc32(''.join(told).encode()):08x}"


def told(function: Callable[..., LayoutError], *given: Any) -> str:
    return refusal(function(*given))


def raised(error: LayoutError) -> Any:
    raise error


def answered(call: Callable[[], Any]) -> list[str]:
    """What a call answers or refuses, short texts as they are and a long one by its checksum."""
    try:
        found = call()
    except LayoutError as error:
        return [refusal(error).replace("\0", "\\0")]
    parts = found if isinstance(found, list) or hasattr(found, "__next__") else [found]
    return [part if len(part) <= 1000 else f"{part[:200]}… {len(part)} crc {zlib.crc32(part.encode()):08x}"
            for part in (json.dumps(str(one), ensure_ascii=False) for one in parts)]  # fmt: skip
