"""What the API answers, held word for word: facts, pictures as text and generated code of every kind of instruction,
the memory tools, and every refusal that one wrong value of a question brings. Long lists of numbers are folded to their
first four and a checksum.
"""

from __future__ import annotations

import copy
import json
import zlib
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

import pytest

from lanescope.app.kit.examples import BODIES, EXAMPLES
from lanescope.app.main import create_app
from tests import asgi
from tests.held import held

KINDS = {
    "mma": "mma.m16n8k16.row.col.f32.f16.f16.f32",
    "mma_volta": "mma.m8n8k4.row.row.f16.f16.f16.f16",
    "mma_int": "mma.m16n8k32.row.col.satfinite.s32.s8.u8.s32",
    "mma_bits": "mma.m8n8k128.row.col.s32.b1.b1.s32.xor.popc",
    "mma_sp": "mma.sp::ordered_metadata.m16n8k32.row.col.f32.f16.f16.f32",
    "mma_scaled": "mma.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
    "wgmma": "wgmma.mma_async.m64n16k16.f32.bf16.bf16",
    "wgmma_sp": "wgmma.mma_async.sp.m64n8k64.f32.e4m3.e4m3",
    "wmma": "wmma.mma.row.col.m16n16k16.f32.f32",
    "wmma_load": "wmma.load.a.row.m8n32k16.f16",
    "wmma_store": "wmma.store.d.col.m16n16k8.f32",
    "ldmatrix": "ldmatrix.m8n8.x4.trans.shared.b16",
    "ldmatrix_b8": "ldmatrix.m16n16.x1.trans.shared.b8x16.b6x16_p32",
    "stmatrix": "stmatrix.m8n8.x2.shared.b16",
    "movmatrix": "movmatrix.m8n8.trans.b16",
}
MN, K = (
    {"kind": "canonical", "swizzle": "64B", "major": "MN", "mn": 128, "k": 32, "base": 8192},
    {"kind": "rows", "inner": "K", "pitch_bytes": 144},
)
ATOMS = {
    "kind": "atoms",
    "inner": "K",
    "width_bytes": 64,
    "outer8_stride": 512,
    "inner_stride": 4096,
    "swizzle": "64B",
    "base": 1024,
}
CUTE = {"kind": "cute", "layout": "Sw<3,4,3> o ((8,8),(8,2)):((8,64),(1,512))", "unit": "elements", "base": 1024}
LDMATRIX, MMA = "ldmatrix.m8n8.x4.shared.b16", "mma.m16n8k16.row.col.f32.f16.f16.f32"
UMMA = "SM100_MMA_F16BF16_{}SS<half_t, half_t, float, {}, 256, UMMA::Major::K, UMMA::Major::MN>"
GETS = {
    "tiles": [
        f"/api/v1/smem/tile?element_bits={bits}&major={major}&swizzle={mode}&mn={mn}&k={k}&order={order}&base={base}"
        for bits, major, mode, mn, k, order, base in (
            (16, "K", "128B", 128, 64, "mn", 0), (16, "MN", "64B", 64, 32, "k", 4096),
            (8, "K", "32B", 64, 64, "mn", 128), (32, "K", "none", 64, 16, "k", 0),
            (16, "MN", "128B", 128, 32, "mn", 1024), (8, "K", "none", 8, 32, "mn", 16),
        )
    ] + ["/api/v1/smem/tile?major=K&swizzle=128B&mn=256&k=128&rows=64"],
    "words": [f"/api/v1/descriptors/{word}" for word in ("0x4000004004000101", "0x0", "0xffffffffffffffff",
    "0xC000002000200140", "0x8006000800010001")],
    "reuse": [
        f"/api/v1/reuse?from={quote(one)}&to={quote(two)}"
        for one, two in (
            (MMA, MMA), ("wgmma.mma_async.m64n64k16.f32.f16.f16", "wgmma.mma_async.m64n64k16.f32.f16.f16"),
            (MMA, "mma.m16n8k8.row.col.f32.bf16.bf16.f32"),
            ("mma.m16n8k32.row.col.s32.s8.s8.s32", "mma.m16n8k32.row.col.s32.s8.s8.s32"),
            ("mma.m16n8k8.row.col.f32.tf32.tf32.f32", "mma.m16n8k8.row.col.f32.tf32.tf32.f32"),
            ("mma.m8n8k4.row.col.f64.f64.f64.f64", "mma.m8n8k4.row.col.f64.f64.f64.f64"),
            (MMA, "mma.m16n8k32.row.col.f32.e4m3.e4m3.f32"),
        )
    ],
    "drawn": [
        f"{path}.{form}{query}"
        for path, query in (
            ("/smem", ""),
            ("/smem", "?major=MN&swizzle=64B&mn=128&k=32&base=0x1010&down=k&unit=element&number=memory&plain=1"),
            ("/smem", "?swizzle=none&mn=24&k=64&element_bits=8&show=tile&number=none&theme=bw"),
            ("/descriptor/wgmma/0xC000002000200140", ""), ("/descriptor/wgmma/0x4000004004000101", "?theme=dark"),
            (f"/i/{MMA}", "?colour=register&label=row,col&caption=1&legend=1&lang=de"), (f"/i/{MMA}/b", "?rows=2-5"),
        )
        for form in ("txt", "md", "csv", "tex", "svg")
    ] + ["/palette.css"],
    "compare": [
        "/api/v1/compare?left=ldmatrix.m8n8.x1.b16/data&right=ldmatrix.m8n8.x1.trans.b16/data",
        f"/api/v1/compare?left={MMA}/d&right={MMA}/a",
        f"/api/v1/compare?left={MMA}/c&right={MMA}/d",
        "/api/v1/compare?left=wgmma.mma_async.m64n8k16.f32.f16.f16/d&right=mma.m16n8k16.row.col.f32.f16.f16.f32/d",
    ],
    "metadata": [
        f"/api/v1/instructions/{quote(ptx)}/metadata{query}"
        for ptx in (KINDS["mma_sp"], "mma.sp.m16n8k64.row.col.s32.s8.s8.s32",
        "mma.sp.m16n8k16.row.col.f32.tf32.tf32.f32", KINDS["wgmma_sp"])
        for query in ("", "?words=0x44444444", "?words=0xeeee4444&selector=1", "?words=0x12345678")
    ],
    "kernels": [
        EXAMPLES["/api/v1/instructions/{ptx}/kernel"], f"/api/v1/instructions/{MMA}/kernel?a=major=K,pitch=80",
        "/api/v1/instructions/wgmma.mma_async.m64n8k16.f32.f16.f16/kernel?a_from=registers",
        "/api/v1/instructions/wmma.mma.row.col.m16n16k16.f32.f32/kernel",
        f"/api/v1/instructions/{quote(KINDS['mma_sp'])}/kernel",
    ],
    "lists": ["/api/v1/instructions?shape=m16n8k8&target=sm_90", "/api/v1/instructions?q=wmma+s4",
    "/api/v1/instructions?family=ldmatrix",
    *(f"/api/v1/topics?q={q}" for q in ("wgmma.fence", "bank conflict", "lbo", "sparse", "tma", "zzz"))],
    "cute": [
        f"/api/v1/cute?expression={quote(text)}"
        for text in (
            "logical_divide((4,2,3):(2,1,8),4:2)", "composition((4,8):(8,1),(2,4):(1,2))", "complement((4,2):(1,8),64)",
            "zipped_divide((8,16):(16,1),(4,8))", "right_inverse((4,8):(8,1))", "Sw<2,4,3> o (8,8):(8,1)",
            "tiled_product((2,2):(1,2),(3,4))", "coalesce((2,(4,1)):(1,(2,9)))", "logical_divide((4,2):(2,1),3)",
        )
    ],
    "tensor_memory": [
        *(f"/api/v1/tmem/layout?{q}" for q in ("operand=a&kind=f16&m=64&n=64",
        "operand=d&kind=f16&m=128&n=64&cta_group=2", "operand=d&kind=tf32&m=64&n=64&ws=1",
        "operand=metadata&kind=f16&m=128&n=64&sparse=1", "operand=q")),
        *(f"/api/v1/tmem/access?access={q}" for q in ("tcgen05.ld.16x256b.x2", "tcgen05.ld.32x32b.x8.pack::16b",
        "tcgen05.st.16x64b.x4", "tcgen05.cp.cta_group::1.32x128b.warpx4",
        "tcgen05.cp.cta_group::2.64x128b.warpx2::02_13",
        "tcgen05.ld.16x32bx2.x4", "tcgen05.shift.cta_group::1.down")),
        *(f"/api/v1/tmem/epilogue?{q}" for q in ("m=64&n=128&access=tcgen05.ld.16x256b.x4",
        "access=tcgen05.ld.32x32b.x32&element=f32", "m=128&n=64&access=tcgen05.ld.16x256b.x2&element=bf16", "m=7")),
        *(f"/api/v1/scale-factors?{q}" for q in ("kind=mxf4nvf4&scale_vec=4X&n=128", "kind=mxf4&n=192&side=b&row=150",
        "kind=mxf8f6f4&n=64&cta_group=2", "kind=i8")),
        *(f"/api/v1/metadata-order?{q}" for q in ("opcode=wgmma.sp&element=f16&tile_k=64",
        "opcode=tcgen05.mma.sp&element=e2m1&tile_k=128", "opcode=mma.sp&element=tf32", "opcode=x")),
        *(f"/api/v1/instruction-descriptors/{q}" for q in ("0x08400490?kind=f16", "0x0?kind=i8",
        "0xffffffff?kind=mxf8f6f4", "0x08100a10?kind=mxf4nvf4", "0x8400490?kind=tf32")),
        *(f"/api/v1/zero-column-masks/{q}" for q in ("0x0003028000000000?m=64&n=128", "0x0003028000000000?m=16",
        "0x3f03029000000000?m=32&n=64")),
    ],
    "drawn_tiles": [
        f"{path}.{form}{query}"
        for path, query in (
            ("/tiles/mma", "?atom=SM80_16x8x16_F32F16F16F32_TN&atom_layout=(2,2,1)&tile=32x16x16"),
            ("/tiles/mma", "?atom=SM90_64x16x16_F32F16F16_SS&tile=64x16x32"),
            ("/tiles/copy", "?atom=cp.async&bits=128&tile=32x64&thr_layout=(8,8):(8,1)&val_layout=(1,8)"),
            ("/tiles/mma", f"?atom={quote(UMMA.format('2x1SM_', 256))}&tile=256x256x64"),
            ("/tiles/loop", ""), ("/layouts/tv", "?cute=((4,8),(2,2)):((32,1),(16,8))&tile=16x8"),
            ("/layouts/triton", "?text=gl.BlockedLayout([1,4],[8,4],[4,1],[1,0])&shape=32x16"),
            ("/cute", "?expression=zipped_divide((8,16):(16,1),(4,8))"),
        )
        for form in ("txt", "md", "csv", "tex", "svg")
    ],
}  # fmt: skip
TRITON, BLOCKED = "/api/v1/layouts/triton", BODIES["/api/v1/layouts/triton"]["text"]
FRAGMENT = BODIES["/api/v1/layouts/triton/feeds"]["text"]
TILES, COPIES, LOOP = (BODIES[f"/api/v1/tiles/{name}"] for name in ("mma", "copy", "loop"))
POSTS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "descriptors": [
        ("/api/v1/descriptors/encode",
        {"start_address": 4096, "lbo_bytes": 16, "sbo_bytes": 1024, "base_offset": 0, "swizzle": "128B"}),
        ("/api/v1/descriptors/encode",
        {"start_address": 128, "lbo_bytes": 2048, "sbo_bytes": 256, "base_offset": 3, "swizzle": "none"}),
        ("/api/v1/descriptors/reads", BODIES["/api/v1/descriptors/reads"]),
        ("/api/v1/descriptors/reads",
        {"descriptor": "0x8000002002000140", "instruction": KINDS["wgmma"], "operand": "b", "major": "MN"}),
        ("/api/v1/descriptors/verify", BODIES["/api/v1/descriptors/verify"]),
        *(("/api/v1/descriptors/verify",
        {"descriptor": word, "instruction": KINDS["wgmma"], "operand": operand, "major": major, "storage": storage,
        "slice": {"mn": 0, "k": 0}})
          for word in ("0x8000002002000200", "0x4000004004000101") for operand, major,
          storage in (("a", "MN", MN), ("b", "K", K), ("a", "K", ATOMS), ("b", "K", CUTE))),
        *(("/api/v1/descriptors/verify",  # what the expression's arithmetic lost, of a slice whose mn and k differ
        {"descriptor": word, "instruction": KINDS["wgmma"], "operand": "a", "major": "K", "slice": {"mn": 64, "k": 32},
        "storage": {"kind": "canonical", "swizzle": "128B", "mn": 192, "k": 128, "base": 4096}})
          for word in ("(1 << 62) | (64ull << 32) | (1 << 16) | 0x300", "(1ull << 62) | (64 << 32) | 0x100")),
    ],
    "banks": [
        *(("/api/v1/banks",
        {"access": name, "address": [pitch * lane for lane in range(32)]}) for name in ("ldmatrix.x4", "st.shared.b64",
        "ld.shared.b128", "ld.shared.b8") for pitch in (16, 128)),
        ("/api/v1/banks", {"access": "ld.shared.b32", "address": [4, None] * 16}),
        *(("/api/v1/banks/solve",
        {"row_bytes": pitch, "accesses": [{"access": "ldmatrix.x4", "pattern": pattern}]}) for pattern in ("rows",
        "ldmatrix", "along", "columns") for pitch in (64, 128, 512)),
        *(("/api/v1/banks/solve",
        {"row_bytes": pitch,
        "accesses": [{"access": "ld.shared.b32", "pattern": "fragment"},
        {"access": access, "pattern": "rows"}]}) for access in ("st.shared.b64", "ldmatrix.x4") for pitch in (256,
        2048)),
        ("/api/v1/banks/solve", BODIES["/api/v1/banks/solve"]),
    ],
    "chain": [
        ("/api/v1/chain", {"storage": storage, "load": load, "mma": mma, "operand": operand})
        for storage in (K, {"kind": "rows", "inner": "MN", "pitch_bytes": 64},
        {"kind": "canonical", "swizzle": "128B", "mn": 64, "k": 64}, ATOMS)
        for load, mma,
        operand in ((LDMATRIX, MMA, "a"), ("ldmatrix.m8n8.x2.trans.shared.b16", MMA, "b"),
        ("stmatrix.m8n8.x2.shared.b16", MMA, "d"))
    ],
    "steps": [
        ("/api/v1/steps", BODIES["/api/v1/steps"]),
        *(("/api/v1/steps", {"instruction": ptx, "row": 3, "col": 5, "seed": 4}) for ptx in (MMA, KINDS["mma_volta"],
        KINDS["mma_bits"], KINDS["mma_sp"], KINDS["wmma"])),
        ("/api/v1/steps",
        {"instruction": MMA, "data": {"a": "i * 2 - j", "b": "(i == j) * 0.5"}, "row": 15, "col": 7, "c": "1"}),
    ],
    "tiles_mma": [
        *(("/api/v1/tiles/mma", body) for body in (
            TILES, {**TILES, "permutation": "", "tile": [32, 16, 16]}, {**TILES, "atom_layout": "(3,1,1)"},
            {"atom": "SM90_64x32x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::MN>", "tile": [64, 64, 64]},
            {"atom": "SM90_64x32x16_F32F16F16_RS", "atom_layout": "(2,1,1)", "tile": [128, 32, 32]},
            {"atom": UMMA.format("", 128), "tile": [128, 256, 64]},
            {"atom": UMMA.format("2x1SM_", 256), "tile": [256, 256, 64], "order": "k", "swizzle_a": "64B"},
            {"atom": "SM70_8x8x4_F32F16F16F32_TN", "tile": [16, 16, 4]}, {"atom": "SM90_TMA_LOAD"},
        )),
        ("/api/v1/tiles/mma/chain", BODIES["/api/v1/tiles/mma/chain"]),
        ("/api/v1/tiles/mma/chain", {name: {**TILES, "tile": [64, 64, 64]} for name in ("first", "second")}),
    ],
    "tiles_copy": [
        *(("/api/v1/tiles/copy", {**COPIES, **more}) for more in (
            {}, {"storage": {"kind": "rows", "pitch_bytes": 144}}, {"val_layout": "(1,4)", "bits": 64},
            {"atom": "SM75_U32x4_LDSM_N", "bits": None, "thr_layout": None, "val_layout": None, "tiled_mma": TILES,
             "operand": "a"},
            {"atom": "SM75_U32x4_LDSM_N", "bits": None, "thr_layout": None, "val_layout": None, "operand": "a",
             "tiled_mma": {"atom": UMMA.format("", 128), "tile": [128, 256, 64]}},
            {"atom": "SM75_U32x4_LDSM_N", "bits": None, "thr_layout": None, "val_layout": None, "operand": "b",
             "tiled_mma": {"atom": "SM90_64x32x16_F32F16F16_RS", "tile": [64, 32, 16]}},
            {"thr_layout": "(16,8):(8,2)"}, {"element_bits": 8, "tile": [32, 128]},
        )),
        *(("/api/v1/tiles/loop", {**LOOP, **more}) for more in (
            {}, {"b": LOOP["a"]}, {"k": 256}, {"a": {**LOOP["a"], "load": "SM75_U32x2_LDSM_N"}},
            {"a": {**LOOP["a"], "storage": {"kind": "rows", "inner": "K", "pitch_bytes": 128}}},
        )),
    ],
    "layout_bench": [
        *((TRITON, {"text": text, "shape": shape, "element_bits": bits}) for text, shape, bits in (
            (BLOCKED, [32, 16], 16), (FRAGMENT, [32, 32], 32), ("#ttg.dot_op<{opIdx = 0, parent = " + FRAGMENT +
            ", kWidth = 2}>", [32, 32], 16), ("#ttg.slice<{dim = 0, parent = " + BLOCKED + "}>", [32], 16),
            ("#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>", [32, 64], 16),
            ("#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>", [64, 64], 16),
            ("#ttg.linear<{register = [[0, 1]], lane = [[1, 0], [2, 0], [4, 0], [0, 2], [0, 4]],"
             " warp = [[8, 0], [16, 0]], block = []}>", [32, 8], 16), ("#ttg.nothing<{}>", [32, 32], 16),
        )),
        *((f"{TRITON}/convert", {"text": one, "to": other, "shape": [32, 32]})
          for one, other in ((BLOCKED, FRAGMENT), (FRAGMENT, BLOCKED), (BLOCKED, BLOCKED))),
        *((f"{TRITON}/feeds", {"text": text, "shape": [32, 32], "element_bits": 32}) for text in (FRAGMENT, BLOCKED)),
        *(("/api/v1/layouts/tv", body) for body in (
            BODIES["/api/v1/layouts/tv"], {"cute": "((4,8),(2,2)):((32,1),(16,8))", "tile": [16, 8]},
            {"cute": "(32,4):(4,1)", "tile": [16, 8]}, {"cute": "((4,8),2):((2,8),1)", "tile": [8, 8]},
            {"cute": "(32,4):(4,2)", "tile": [16, 8]},
        )),
    ],
    "tensor_words": [
        *(("/api/v1/instruction-descriptors/encode", body) for body in (
            BODIES["/api/v1/instruction-descriptors/encode"], {"kind": "i8", "m": 64, "n": 24, "a": "s8", "b": "u8"},
            {"kind": "mxf8f6f4", "m": 128, "n": 64, "a": "e4m3", "b": "e2m1", "scale_type": "ue8m0"},
            {"kind": "tf32", "m": 128, "n": 12}, {"kind": "tf32", "m": 128, "n": 16, "transpose_b": "MN"},
        )),
        ("/api/v1/zero-column-masks/encode", BODIES["/api/v1/zero-column-masks/encode"]),
        *(("/api/v1/descriptors/reads", {"descriptor": word, "instruction": "tcgen05.mma.cta_group::1.kind::f16",
        "operand": operand, "idesc": "0x08400490", "format": "tcgen05"})
          for word in ("0x4000404000010100", "0xC000404000020000") for operand in ("a", "b")),
        ("/api/v1/captures/verify", BODIES["/api/v1/captures/verify"]),
        ("/api/v1/dumps/verify", BODIES["/api/v1/dumps/verify"]),
        ("/api/v1/dumps/verify", {**BODIES["/api/v1/dumps/verify"], "operand": "a", "major": "MN"}),
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def app() -> Any:
    return create_app()


def folded(value: Any) -> Any:
    """The same without the bulk."""
    if isinstance(value, dict):
        return {
            key: folded(inner) for key, inner in value.items() if key != "evidence"
        }  # dated; the badges are held elsewhere
    if isinstance(value, list):
        flat = json.dumps(value)
        if len(flat) > 400 and '": ' not in flat:
            return f"{flat[:24]}… {len(value)} of crc {zlib.crc32(flat.encode()):08x}"
        return [folded(inner) for inner in value]
    return value


def lines(value: Any, indent: str = "  ") -> Iterator[str]:
    """One fact a line; text of several lines as it is."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(inner, (dict, list)) and len(json.dumps(inner)) > 110:
            yield f"{indent}{key}:"
            yield from lines(inner, indent + "  ")
        elif isinstance(inner, str) and "\n" in inner:
            yield f"{indent}{key}:"
            yield from (f"{indent}  | {row}".rstrip() for row in inner.splitlines())
        else:
            yield f"{indent}{key}: {json.dumps(inner, ensure_ascii=False)}"


def told(app: Any, requests: list[tuple[str, str, Any]]) -> str:
    """Every request and its answer."""

    async def all_() -> list[asgi.Answer]:
        return [
            await asgi.ask(app, method, address, b"" if body is None else body) for method, address, body in requests
        ]

    out = []
    for (method, address, body), answer in zip(requests, asgi.run(all_()), strict=True):
        out += [f"{method} {address}" + ("" if body is None else f" {json.dumps(body)[:300]}"), f"  {answer.status}"]
        if "json" in answer.headers.get("content-type", ""):
            out += lines(folded(answer.json()))
        else:
            rows = answer.body.decode().splitlines()
            if len(rows) > 30:
                rows = [*rows[:16], f"… {len(rows)} lines of crc {zlib.crc32(answer.body):08x}", *rows[-6:]]
            out += [f"  | {row[:200]}".rstrip() for row in rows]
    return "\n".join(out) + "\n"


@pytest.mark.parametrize("kind", KINDS)
def test_an_instruction(app: Any, kind: str) -> None:
    """The facts of each operand and its picture as text; the operand's whole maps by their checksum."""
    path = f"/api/v1/instructions/{quote(KINDS[kind])}"
    first = told(app, [("GET", path, None)])
    names = json.loads(asgi.run(asgi.ask(app, "GET", path)).body)["operands"]
    names = [name if isinstance(name, str) else name["name"] for name in names]
    rest = [("GET", f"{path}/operands/{name}", None) for name in names]
    rest += [("GET", f"/i/{quote(KINDS[kind])}/{names[0]}.{form}", None) for form in ("md", "tex")] + [
        ("GET", f"/i/{quote(KINDS[kind])}.txt", None)
    ]
    held(f"answers/{kind}", first + told(app, rest))


@pytest.mark.parametrize("topic", [*GETS, *POSTS])
def test_a_tool(app: Any, topic: str) -> None:
    requests = [("GET", address, None) for address in GETS.get(topic, ())] + [
        ("POST", path, body) for path, body in POSTS.get(topic, ())
    ]
    held(f"answers/{topic}", told(app, requests))


WRONG: tuple[Any, ...] = ("", "zz", -1, 3, 1 << 40, None, [], "0x" + "f" * 200)


def leaves(body: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    for key, inner in body.items() if isinstance(body, dict) else enumerate(body[:1]):
        yield (*way, key)
        if isinstance(inner, (dict, list)):
            yield from leaves(inner, (*way, key))


def spoiled(body: Any, way: tuple[Any, ...], value: Any) -> Any:
    out = copy.deepcopy(body)
    here = out
    for key in way[:-1]:
        here = here[key]
    if value is ...:
        del here[way[-1]]
    else:
        here[way[-1]] = value
    return out


def refusals(app: Any, requests: Iterator[tuple[str, str, Any, str]]) -> str:
    """What is said of each wrong value; values that are taken are passed over, as the other tests hold
    their answers.
    """
    out, last = [], ""
    for method, address, body, note in requests:
        answer = asgi.run(asgi.ask(app, method, address, b"" if body is None else body))
        assert answer.status < 500, (address, note)
        if answer.status >= 400:
            error = answer.json()["error"]
            text = f"    {answer.status} {error['code']} {error['field']}: {error['message']} | {error['hint']}"
            out += [f"  {note}", *([text] if text != last else [])]
            last = text
    return "\n".join(out) + "\n"


STORAGES = {"mn": MN, "rows": K, "atoms": ATOMS, "cute": CUTE}


@pytest.mark.parametrize("path", [path for path in BODIES if path != "/api/v1/gpu/runs"])
def test_refusals_of_a_body(app: Any, path: str) -> None:
    """Each field of a right body exchanged for each wrong value, and left out."""

    def requests() -> Iterator[tuple[str, str, Any, str]]:
        bodies = [BODIES[path]]
        if path == "/api/v1/descriptors/verify":
            bodies += [{**BODIES[path], "storage": storage} for storage in STORAGES.values()]
        for body in bodies:
            for way in leaves(body):
                for value in (*WRONG, ...):
                    note = f"{'.'.join(map(str, way))} = {'nothing' if value is ... else json.dumps(value)[:40]}"
                    yield "POST", path, spoiled(body, way, value), note

    held(f"refusals/{path.removeprefix('/api/v1/').replace('/', '_')}", refusals(app, requests()))


QUESTIONS = {
    "instructions": EXAMPLES["/api/v1/instructions"],
    "operand": f"/api/v1/instructions/{MMA}/operands/a?selector=0&byte_id=0&thread_id=0",
    "kernel": EXAMPLES["/api/v1/instructions/{ptx}/kernel"],
    "metadata": f"/api/v1/instructions/{KINDS['mma_sp']}/metadata?words=0x44444444&selector=0",
    "tile": "/api/v1/smem/tile?element_bits=16&major=K&swizzle=128B&mn=128&k=64&rows=64&order=mn&base=0",
    "reuse": EXAMPLES["/api/v1/reuse"],
    "compare": EXAMPLES["/api/v1/compare"],
    "picture": f"/i/{MMA}/a.svg?colour=t&label=register&lanes=0-7&warps=0&rows=0-7&cols=0-7&theme=dark&cell=40&title=x"
               f"&legend=1&caption=1&lang=en&product=0&scale=2&embed=1",
    "memory": "/smem.svg?element_bits=16&major=K&swizzle=128B&mn=64&k=64&down=mn&unit=chunk&number=logical&show=both"
              "&plain=0",
}  # fmt: skip
TEXTS = ("", "zz", "-1", "3", "1099511627776", "1e3", "0-", "9-2", "0-999", "(", "x" * 70, "f" * 5000)


@pytest.mark.parametrize("name", QUESTIONS)
def test_refusals_of_a_question(app: Any, name: str) -> None:
    """Each parameter of a right question exchanged for each wrong text."""
    parts = urlsplit(QUESTIONS[name])

    def requests() -> Iterator[tuple[str, str, Any, str]]:
        asked = parse_qsl(parts.query)
        for key, _ in asked:
            for text in TEXTS:
                query = "&".join(f"{k}={quote(text if k == key else v)}" for k, v in asked)
                yield "GET", f"{parts.path}?{query}", None, f"{key} = {text[:40]}"

    held(f"refusals/{name}", refusals(app, requests()))
