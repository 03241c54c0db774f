"""Requests that mean harm: sizes, texts and options far past what anybody needs. Every one is refused or answered, and
cheaply.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

M16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
WIDE = "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16"
DEEP = "wgmma.mma_async.sp.sync.aligned.m64n256k64.f32.e4m3.e4m3"
BIG = 10**30
VERIFY = {"descriptor": "0x4000004004000101", "instruction": WIDE, "operand": "b", "major": "K"}
Request = tuple[str, str, str, Any]


def generate_requests(document: dict[str, Any], examples: Mapping[str, dict[str, Any]]) -> list[Request]:
    """(name, method, address, body): bytes are sent as they are, all else as JSON. document: the OpenAPI document;
    examples: a body a route.
    """
    return [
        *generate_pages(),
        *generate_pictures(),
        *generate_words(),
        *generate_bodies(),
        *generate_storages(),
        *generate_parameters(document),
        *generate_keys(examples),
    ]


# As long as an address takes them, once their signs are percent-encoded.
TEXTS = {
    "7,000 digits": "9" * 7000,
    "7,000 letters": "m" * 7000,
    "parentheses": "(" * 1300 + ")" * 1300,
    "dots": "m16n8k16." * 770,
    "underscores": "0x" + "_" * 7000 + "1",
    "commas": "1," * 1900,
    "angles": "Sw<" * 1500,
    "shifts": "1<<62|" * 600 + "1",
    "lines": "a\n" * 1900,
    "blanks": "mma" + " " * 7000 + ".sync",
    "strange": "\x00\u202e\ud7ff" * 600,
}


def generate_parameters(document: dict[str, Any]) -> list[Request]:
    """Every parameter of every route given every text, the others left out or as in the document's examples."""
    out: list[Request] = []
    for path, operations in document["paths"].items():
        for given in operations.get("get", {}).get("parameters", []):
            for name, text in TEXTS.items():
                address = path if given["in"] == "query" else path.replace(f"{{{given['name']}}}", quote(text, safe=""))
                for other in operations["get"]["parameters"]:
                    example = [*other["schema"].get("enum", ()), *other.get("examples", ()), M16][0]
                    address = address.replace(f"{{{other['name']}}}", quote(str(example), safe=""))
                query = "?" + urlencode({given["name"]: text}) if given["in"] == "query" else ""
                out.append((f"{path[:34]} {given['name']}: {name}"[:60], "GET", address + query, b""))
    return out


VALUES = {name: text * 20 for name, text in TEXTS.items()} | {
    "10^30": BIG,
    "1e308": 1e308,
    "null": None,
    "40,000 numbers": list(range(40_000)),
    "lists in lists": [[[[[[[[1]]]]]]]],
    "objects": [{"a": n} for n in range(15_000)],
    "true": True,
    "strange text": "\x00\u202e" * 1000,
    "negative": -BIG,
}


def generate_keys(examples: Mapping[str, dict[str, Any]]) -> list[Request]:
    """Every key of every body given every value, inside objects too."""
    return [
        (f"{path.removeprefix('/api/v1')} {key}: {name}"[:60], "POST", path, changed)
        for path, body in examples.items()
        for name, value in VALUES.items()
        for key, changed in _replace_values(body, value)
    ]


def _replace_values(body: dict[str, Any], value: Any) -> list[tuple[str, dict[str, Any]]]:
    out = [(key, body | {key: value}) for key in body]
    for key, inner in body.items():
        if isinstance(inner, dict):
            out += [(f"{key}.{name}", body | {key: changed}) for name, changed in _replace_values(inner, value)]
    return out


def generate_pages() -> list[Request]:
    sizes = [
        {"mn": 4096, "k": 4096},
        {"mn": 4096, "k": 16},
        {"mn": 8, "k": 4096},
        {"mn": 1 << 20, "k": 8},
        {"mn": 8, "k": 1 << 40},
        {"mn": 896, "k": 128},
        {"mn": 14000, "k": 8},
        {"mn": 8, "k": 14000},
        {"mn": 232448, "k": 8, "element_bits": 8},
        {"mn": 128, "k": 896, "major": "MN"},
        {"mn": 1816, "k": 64},
        {"mn": 64, "k": 64, "base": BIG},
        {"mn": 64, "k": 64, "rows": BIG},
        {"mn": 448, "k": 512, "element_bits": 4},
        {"mn": 1808, "k": 1024, "element_bits": 1},
        {"mn": 8, "k": 231424, "element_bits": 1, "swizzle": "none"},
        {"mn": 1024, "k": 448, "element_bits": 4},
    ]
    out: list[Request] = []
    for given in sizes:
        query = urlencode(given)
        out += [(f"{path}?{query}"[:60], "GET", f"{path}?{query}", b"") for path in ("/smem", "/api/v1/smem/tile")]
        if given.get("mn", 0) * given.get("k", 0) > 100_000:
            out += [
                (f"/smem.{form}?{query}"[:60], "GET", f"/smem.{form}?{query}", b"")
                for form in ("svg", "png", "pdf", "tex", "txt", "md", "csv", "json")
            ]
    reads = [
        f"/steps/{M16}?row={BIG}",
        f"/steps/{M16}?seed={BIG}",
        "/steps/mma.m16n8k256.row.col.s32.b1.b1.s32.and.popc.txt",
        f"/i/{WIDE}",
        f"/i/{DEEP}",
        f"/i/{WIDE}?lanes=0-99999999999",
        f"/i/{M16}?lanes=" + "0-31," * 1500 + "1",
        f"/i/{M16}?pin=d:{BIG},{BIG}",
        f"/i/{WIDE}?label=register&colour=register",
        "/gallery",
        "/guide/swizzle",
        "/?q=" + "m" * 7000,
        "/?q=" + "m+" * 3500,
        "/?q=" + "a.b" * 2500,
        f"/compare?left={WIDE}/d&right={WIDE}/d",
        f"/compare?left={DEEP}/a&right={DEEP}/a",
        f"/reuse?from={WIDE}&to={WIDE}",
        f"/api/v1/reuse?from={WIDE}&to={WIDE}",
        "/api/v1/reuse?from=wgmma.mma_async.m64n256k16.f32.f16.f16&to=wgmma.mma_async.m64n256k16.f32.f16.f16",
        f"/api/v1/instructions/{WIDE}/operands/d",
        f"/api/v1/instructions/{M16}/operands/a?selector={BIG}",
        f"/metadata/{DEEP.replace('_async.sp', '_async.sp')}?words=" + ",".join(["0x44444444"] * 128),
        f"/metadata/{DEEP}?words=" + "4" * 7000,
        f"/chain?mma={WIDE}",
        "/chain?s_kind=cute&s_layout=" + quote("(1,(1," * 800),
        "/chain?s_pitch_bytes=1000000000",
        f"/chain?s_base={BIG}",
        "/chain?s_swizzle=64B&s_pitch_bytes=100000000",
        "/banks?row_bytes=1000000000000",
        "/banks?address=" + "9" * 7000,
        "/banks?address=" + "1," * 3500,
        "/banks?accesses=" + ",".join(["ldmatrix.x4:rows"] * 400),
        "/banks?row_bytes=12345&pad=4",
        "/banks?row_bytes=0",
        f"/gpu/run?kind=fragment&operand=d&backend=numpy&instruction={WIDE}",
        f"/gpu/run?kind=mma&backend=numpy&instruction={DEEP}",
        "/metrics",
        "/docs",
        "/openapi.json",
    ]
    reads += [f"/kernel/{WIDE}", f"/kernel/{WIDE}.cu", f"/kernel/{DEEP}"]
    return [*out, *((path[:60], "GET", path, b"") for path in reads)]


def generate_pictures() -> list[Request]:
    out = []
    for ptx, operand in ((WIDE, "d"), (DEEP, "d"), (M16, "a")):
        for form in ("svg", "png", "pdf", "tex", "txt", "md", "csv", "json"):
            for query in (
                "",
                "scale=8&cell=200",
                "cell=200x200&label=row,col",
                "cell=2&scale=0.25",
                "title=" + "x" * 6000,
                "legend=1&caption=1&label=lane:value&theme=bw",
            ):
                if (query and form in ("csv", "json")) or (query.startswith("title") and ptx != M16):
                    continue
                path = f"/i/{ptx}/{operand}.{form}?{query}"
                out.append((f"{ptx[:20]}/{operand}.{form}?{query}"[:60], "GET", path, b""))
    out += [
        (f"/diagram?{query}"[:60], "GET", f"/diagram?{query}", b"")
        for query in (f"ptx={WIDE}&cell=200&label=row,col", f"ptx={WIDE}&form=png&scale=8", "ptx=" + "m" * 7000)
    ]
    out += [
        (f"descriptor .{form}", "GET", f"/descriptor/wgmma/0x4000004004000101.{form}?scale=8", b"")
        for form in ("png", "pdf", "svg")
    ]
    return out


def generate_words() -> list[Request]:
    texts = {
        "8000 characters of an instruction": "mma.sync.aligned." + "m16n8k16." * 880,
        "8000 characters, one name": "mma.sync.aligned." + "m" * 7900,
        "8000 digits in a shape": "mma.sync.aligned.m" + "1" * 7900 + "n8k16.row.col.f32.f16.f16.f32",
        "many modifiers": "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" + ".satfinite" * 760,
        "spaces": "mma" + " " * 7900 + ".sync",
        "colons": "mma.sp" + "::" * 3900,
        "dots": "mma." + "." * 7900,
        "wgmma, digits": "wgmma.mma_async.sync.aligned.m64n" + "9" * 7900,
    }
    out: list[Request] = []
    for name, text in texts.items():
        out += [
            (f"{where.split('?')[0]} {name}"[:60], "GET", where + quote(text), b"")
            for where in (
                "/i/",
                "/api/v1/instructions/",
                "/?q=",
                "/api/v1/instructions?q=",
                "/go?ptx=",
                "/steps/",
                "/diagram?ptx=",
            )
        ]
        out.append((f"verify {name}", "POST", "/api/v1/descriptors/verify", VERIFY | {"instruction": text * 20}))
    expressions = {
        "static_cast × 400": "static_cast<uint64_t>(" * 400 + "1" + ")" * 400,
        "parentheses × 3000": "(" * 3000 + "1" + ")" * 3000,
        "unary × 7000": "-" * 7000 + "1",
        "sum of 3500": "1+" * 3500 + "1",
        "digits": "9" * 7500,
        "underscores": "0x" + "_" * 7500 + "1",
        "shifts": "1<<62|" * 1300 + "1",
    }
    for name, text in expressions.items():
        out += [
            (f"{where} {name}"[:60], "GET", where + quote(text, safe=""), b"")
            for where in ("/descriptor/wgmma/", "/api/v1/descriptors/", "/descriptor?word=")
        ]
        out.append((f"verify {name} × 30", "POST", "/api/v1/descriptors/verify", VERIFY | {"descriptor": text * 30}))
    out.append(
        (
            "40,000 static_cast",
            "POST",
            "/api/v1/descriptors/verify",
            VERIFY | {"descriptor": "static_cast<uint64_t>(" * 40000 + "1" + ")" * 40000},
        )
    )
    out.append(
        (
            "9,000 static_cast",
            "POST",
            "/api/v1/descriptors/verify",
            VERIFY | {"descriptor": "static_cast<uint64_t>(" * 9000 + "1" + ")" * 9000},
        )
    )
    return out


POSTS = (
    "descriptors/encode",
    "descriptors/reads",
    "descriptors/verify",
    "chain",
    "banks",
    "banks/solve",
    "gpu/runs",
    "tiles/mma",
    "tiles/mma/chain",
    "tiles/copy",
    "layouts/tv",
    "layouts/triton",
)


def generate_bodies() -> list[Request]:
    strange = {
        "250 KB of [": b"[" * 250_000,
        '250 KB of {"a":': b'{"a":' * 50_000,
        "1 MB": b'{"a": "' + b"x" * 1_000_000 + b'"}',
        "20 MB": b" " * 20_000_000,
        "250 KB of digits": b'{"start_address": ' + b"9" * 250_000 + b"}",
        "60,000 keys": json.dumps({f"k{n}": n for n in range(20_000)}).encode(),
        "not JSON": b"\x00\xff" * 1000,
        "null": b"null",
    }
    out: list[Request] = [
        (f"{path} {name}", "POST", f"/api/v1/{path}", body) for name, body in strange.items() for path in POSTS
    ]
    word = {"start_address": BIG, "lbo_bytes": -BIG, "sbo_bytes": 1e308, "swizzle": "x" * 100_000}
    out.append(("encode, large numbers", "POST", "/api/v1/descriptors/encode", word))
    out.append(
        (
            "banks, 80,000 addresses",
            "POST",
            "/api/v1/banks",
            {"access": "ld.shared.b128", "address": list(range(40_000))},
        )
    )
    out.append(("banks, large addresses", "POST", "/api/v1/banks", {"access": "ld.shared.b128", "address": [BIG] * 32}))
    many = [
        {"access": "ld.shared.b128", "pattern": "fragment"},
        {"access": "ldmatrix.x4", "pattern": "rows"},
        {"access": "st.shared.b32", "pattern": "columns"},
    ]
    for pitch in (128, 132, 4096, 2**20, 10**12):
        out.append(
            (
                f"solve, 5,000 accesses, pitch {pitch}",
                "POST",
                "/api/v1/banks/solve",
                {"row_bytes": pitch, "accesses": many * 1600},
            )
        )
        out.append(
            (f"solve, 3 accesses, pitch {pitch}", "POST", "/api/v1/banks/solve", {"row_bytes": pitch, "accesses": many})
        )
    for kind in ("mma", "fragment"):
        for ptx in (WIDE, DEEP):
            out.append(
                (
                    f"run {kind} {ptx[:30]}",
                    "POST",
                    "/api/v1/gpu/runs",
                    {"kind": kind, "instruction": ptx, "backend": "numpy"},
                )
            )
    out.append(
        ("run, seed", "POST", "/api/v1/gpu/runs", {"kind": "mma", "instruction": M16, "backend": "numpy", "seed": BIG})
    )
    return out


def generate_storages() -> list[Request]:
    given: dict[str, dict[str, Any]] = {
        "Sw<20000000000,3,3>": {
            "kind": "cute",
            "layout": "Sw<20000000000,3,3> o ((8,8),(64,1)):((64,512),(1,0))",
            "unit": "elements",
        },
        "Sw<99,3,3>": {"kind": "cute", "layout": "Sw<99,3,3> o ((8,8),(64,1)):((64,512),(1,0))", "unit": "elements"},
        "Sw<3,3,20000000000>": {"kind": "cute", "layout": "Sw<3,3,20000000000> o (64,64):(64,1)", "unit": "elements"},
        "cute of 10^12": {"kind": "cute", "layout": "(1000000,1000000):(1,1000000)", "unit": "elements"},
        "cute of 10^9": {"kind": "cute", "layout": "(1000,1000000):(1,1000)", "unit": "elements"},
        "cute of 4096²": {"kind": "cute", "layout": "(4096,4096):(4096,1)", "unit": "elements"},
        "cute, stride 10^30": {"kind": "cute", "layout": f"(256,16):({BIG},1)", "unit": "elements"},
        "cute, 500 parentheses": {"kind": "cute", "layout": "(" * 500 + "8" + ")" * 500 + ":1", "unit": "bytes"},
        "cute, 4,000 modes": {
            "kind": "cute",
            "layout": "(" + ",".join(["2"] * 4000) + "):(" + ",".join(["1"] * 4000) + ")",
            "unit": "bytes",
        },
        "cute, 60 modes of 2": {
            "kind": "cute",
            "layout": "(" + ",".join(["2"] * 60) + "):(" + ",".join(["1"] * 60) + ")",
            "unit": "bytes",
        },
        "canonical 4096²": {"kind": "canonical", "mn": 4096, "k": 4096},
        "canonical, slice 10^30": {"kind": "canonical", "mn": 256, "k": 64},
        "canonical 10^12": {"kind": "canonical", "mn": 10**12, "k": 64},
        "rows, pitch 10^12": {"kind": "rows", "inner": "K", "pitch_bytes": 10**12},
        "rows, pitch 10^12, swizzled": {"kind": "rows", "inner": "K", "pitch_bytes": 10**12, "swizzle": "128B"},
        "rows, base 10^30": {"kind": "rows", "inner": "K", "pitch_bytes": 128, "base": BIG},
        "atoms, strides": {
            "kind": "atoms",
            "inner": "K",
            "width_bytes": 128,
            "outer8_stride": 10**12,
            "inner_stride": 10**12,
            "swizzle": "128B",
            "base": 0,
        },
        "atoms, width 10^12": {
            "kind": "atoms",
            "inner": "MN",
            "width_bytes": 10**12,
            "outer8_stride": 1024,
            "inner_stride": 8192,
        },
    }
    out: list[Request] = []
    for name, storage in given.items():
        part = {"mn": BIG, "k": BIG} if "slice" in name else {"mn": 0, "k": 0}
        out.append(
            (f"verify, {name}", "POST", "/api/v1/descriptors/verify", VERIFY | {"storage": storage, "slice": part})
        )
        out.append(
            (
                f"chain, {name}",
                "POST",
                "/api/v1/chain",
                {"mma": M16, "load": "ldmatrix.m8n8.x4.shared.b16", "operand": "a", "storage": storage},
            )
        )
        query = urlencode(
            {
                "instruction": WIDE,
                "operand": "b",
                "s_kind": storage["kind"],
                **{f"s_{key}": value for key, value in storage.items() if key != "kind"},
            }
        )
        out.append((f"page, {name}", "GET", f"/descriptor/wgmma/0x4000004004000101?{query}", b""))
    return out
