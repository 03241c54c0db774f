"""Requests that a person might send and that are refused or warned about: each gives one message of the product, which
a golden file holds.

GETS: addresses. Bodies are in tests.posted, most of them a right body with one thing changed (`put`; MISSING takes a
key out).
"""

from __future__ import annotations

import base64
import copy
from typing import Any
from urllib.parse import quote

from lanescope.app.kit.examples import BODIES
from tests import arrays

API = "/api/v1"
MISSING = object()
F16, S8 = "mma.m16n8k16.row.col.f32.f16.f16.f32", "mma.m16n8k32.row.col.s32.s8.s8.s32"
SP = "mma.sp::ordered_metadata.m16n8k32.row.col.f32.f16.f16.f32"
SCALED = "mma.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0"
W16, W8, W32, WSP = (
    "wgmma.mma_async.m64n64k16.f32.f16.f16", "wgmma.mma_async.m64n64k32.f32.e4m3.e4m3",
    "wgmma.mma_async.m64n32k16.f32.f16.f16",
    "wgmma.mma_async.sp.m64n32k32.f32.f16.f16",
)  # fmt: skip
I = f"{API}/instructions/"
LDM, QUADS = "ldmatrix.m8n8.x4.shared.b16", "mma.m8n8k4.row.col.f32.f16.f16.f32"
ROWS: dict[str, Any] = {"kind": "rows", "pitch_bytes": 128}


def npy(array: Any) -> str:
    """A .npy file in base64."""
    return base64.b64encode(arrays.npy(array)).decode()


def get(path: str, **query: object) -> str:
    return f"{API}/{path}" + (
        "?" + "&".join(f"{name}={quote(str(value))}" for name, value in query.items()) if query else ""
    )


def put(path: str, **changes: Any) -> dict[str, Any]:
    """The example body of a route with some keys changed; `storage__base` is a key inside."""
    body: dict[str, Any] = copy.deepcopy(BODIES[f"{API}/{path}"])  # type: ignore[assignment]
    for name, value in changes.items():
        *inside, last = name.split("__")
        where = body
        for key in inside:
            where = where.setdefault(key, {})
        if value is MISSING:
            del where[last]
        else:
            where[last] = value
    return body


GETS = (
    # instructions and their maps
    f"{I}hello", f"{I}{F16}/operands/x", f"{I}{W16}/operands/b", f"{I}{W16}/operands/address",
    f"{I}{F16}/operands/a?selector=1", f"{I}{SP}/operands/a?selector=4",
    f"{I}{SP}/operands/a?selector=x", f"{I}{SCALED}/operands/scale_a?byte_id=3",
    f"{I}{SCALED}/operands/scale_b?thread_id=9", f"{I}{F16}/metadata",
    f"{I}{SP}/metadata?words=xyz", f"{I}{SP}/metadata?words=0x44444443", f"{I}{SP}/metadata?words=0x4,0x4",
    f"{I}{SP}/metadata?selector=4", f"{I}{SP}/metadata?words=0x44444444",
    get("instructions", family="mna"), get("instructions", type="f17"), get("instructions", target="sm_70"),
    get("instructions", shape="16x8"), get("instructions", q="x" * 300),
    get("instructions", famly="mma"), f"{API}/instructions?family=mma&family=wmma", f"{API}/nothing",
    get("topics", q="x" * 2500), get("topics", q="wait_group"), get("instructions", q="m16n8k256", type="b1"),
    # programs
    f"{I}{LDM}/kernel", f"{I}{W32}/kernel?a=swizle%3D64B", f"{I}{W32}/kernel?d=scale",
    f"{I}{W32}/kernel?a=swizzle%3D64B,swizzle%3D32B", f"{I}{F16}/kernel?d=scale%3D0",
    f"{I}{W32}/kernel?a=k%3D64&b=k%3D32", f"{I}{W32}/kernel?b=base%3D0", f"{I}{W32}/kernel?b=base%3D232000",
    f"{I}{W32}/kernel?b=descriptor%3D0x40003fff00010000",
    f"{I}{W32}/kernel?a=" + "x" * 5000, f"{I}{F16}/kernel?a=pitch_bytes%3D31", f"{I}{F16}/kernel?a=pitch_bytes%3D0",
    f"{I}{F16}/kernel?a=major%3DQ", f"{I}{SP}/kernel?a=selector%3D7",
    f"{I}wmma.mma.row.col.m16n16k16.f32.f32/kernel?a=ldm%3D3", f"{I}{W32}/kernel?a=first%3D8",
    f"{I}{W32}/kernel?a=kind%3Dcute,layout%3D(8,8):(1,8)", f"{I}{QUADS}/kernel?a=major%3DMN",
    f"{I}{W32}/kernel?a=kind%3Drows,pitch_bytes%3D144", f"{I}{W8}/kernel?a=major%3DMN",
    f"{I}{W32}/kernel?a=from%3Dnowhere", f"{I}{W32}/kernel?a=kind%3Dheap", f"{I}{F16}/kernel?a=load%3Dfast",
    # CuTe's algebra
    *(get("cute", expression=text) for text in (
        "logical_divide((4,2,3):(2,1,8), 4:2)", "composition((4,6):(1,8), 6:3)", "composition((4,6,2):(1,8,50), 2:6)",
        "complement((4,2):(1,3), 24)", "left_inverse((3,2):(2,3))", "A=(4,8):(8,1);A(2,_);A(2,3)", "(4,8):(8,1)(4,_)",
        "(4,8):(8,1)((1,2),3)", "zipped_divide((4,8):(8,1), (2,2,2))", "complement(4:2, (2,_))", "4", "",
        "compositon(4:1)",
        "composition((4,8):(8,1))", "size = 4:1", "x" * 5000, "composition((1024,1024):(1,1024), 4:1)", "foo(4)",
        "(1024,1024):(1,1024)", ";".join(["size(4:1)"] * 70), "slice(4, 5)", "right_inverse((4,8):(8,1))",
        "blocked_product((2,5):(5,1), (3,4):(1,3))", "coalesce((2,(1,6)):(1,(6,2)))", "upcast<2>((8,4):(1,8))",
    )),
    # tiles
    *(get("smem/tile", **{name: value}) for name, value in (
        ("element_bits", 0), ("element_bits", 4), ("element_bits", 6), ("element_bits", "x"), ("major", "Q"),
        ("swizzle", "256B"), ("mn", 12), ("k", 7), ("k", 0), ("k", -1), ("order", "z"), ("base", 8),
        ("base", 1 << 18), ("rows", 12), ("rows", 0), ("rows", 128), ("mn", 65536), ("k", 65536), ("swizle", "64B"),
        ("base", "0x1p3"), ("mn", "64 "), ("mn", ""),
    )),
    get("smem/tile", element_bits=8, major="MN"), get("smem/tile", major="MN", swizzle="64B", mn=304),
    get("smem/tile", major="MN", mn=256, k=64, order="mn"),
    *(get("smem/tile", swizzle=name, major=major, mn=256, k=64, order=order) for name in ("none", "32B", "64B",
    "128B") for major in ("K", "MN") for order in ("mn", "k")),
    get("smem/tile", element_bits=1, k=1024), get("smem/tile", element_bits=1, swizzle="none", k=1024),
    get("smem/tile", rows=8), get("smem/tile", swizzle="none", rows=8), get("smem/tile", mn=320),
    # descriptors
    *(f"{API}/descriptors/" + quote(text, safe="") for text in (
        "*", "0x", "0x1g", "-1", "1_", "1.5", "123456789012345678901", "12345678", "0x0", "0xffffffffffffffff",
        "0x4000004000010100", "0x4000004004000101", "1:2:3", "0x1:0x2", "{1, 2}", "{x = 1, y}", "{99, 88}",
        "99999999:1", "0x1ffffffff:0", "00000001:40000040", "40000040 00010100", "{0x10100, 0x40000040}", "1 << 62",
        "1ull << 62 | 64 << 32", "(1 << 62) | 0x100", "1 << 70", "1 +", "1 / 0", "sizeof(x)",
        "2147483648 * 2", "-1 << 4", "0x7f4212001000", "0x4000004000010100ull",
        "(uint64_t)1 << 62 | (uint64_t)(1024 >> 4) << 32 | 1 << 16 | 0x100", "1u << 31 << 31", "3000000000",
        "1ull << 63 >> 63",
        "uint64_t d = 1ull << 62; return d;", "return smem >> 4 | 1ull << 62;", "desc.bitfield.layout_type_ = 1;",
        "desc.bitfield.version_ = 1;", "desc.bitfield.layout_type_ = 9;", "d.bitfield.stride_byte_offset_ = sbo;",
        "a.bitfield.layout_type_ = 1; b.bitfield.layout_type_ = 2;",
        "d.bitfield.start_address_ = cast_smem_ptr_to_uint(p);", "d.bitfield.start_address_ = 0x1000;",
        "d.bitfield.leading_byte_offset_ = 16384;",
        "while (1) {}", "auto d = f(x); return d;", "x" * 5000, "1+" * 2400 + "1", "0x8000004000010100",
        "0xc000004000010100", "0x4010004000010100", "0x400e004000010100", "0x4000004000014100", "0x4000c00000010100",
        "0x4000000000010100", "0x4000000800010100", "0x0000000800000100", "0x0000000800010100", "0x00000008000f0100",
        "0x8002002000010100",
    )),
    # tcgen05's matrix descriptor
    get("descriptors/0x4000404000010100", format="tcgen05"), get("descriptors/0x4000404000010100", format="gmma"),
    *(get(f"descriptors/{word}", format="tcgen05") for word in (
        "0x4000004000010100", "0x6000404000010100", "0x4010404000010100", "0x4000c04000010100", "0x4000404000014100",
        "0x4001404000010100", "0x2000404000010100",
    )),
    *(get("smem/tile", format="tcgen05", **asked) for asked in (
        {"element_bits": 1}, {"element_bits": 6}, {"element_bits": 4, "major": "MN", "k": 256},
        {"element_bits": 32, "major": "MN"}, {"swizzle": "128B_base32B", "major": "MN"},
    )),
    get("smem/tile", swizzle="128B_base32B"),
    # tensor memory
    *(get("tmem/layout", **asked) for asked in (
        {}, {"kind": "f4"}, {"operand": "b"}, {"operand": "metadata"}, {"operand": "scale_a"}, {"m": 96}, {"n": 100},
        {"ws": 1, "cta_group": 2}, {"kind": "mxf4", "ws": 1}, {"k": 8}, {"bits": 8}, {"scale_vec": "2X"},
        {"kind": "mxf4nvf4", "scale_vec": "3X"}, {"kind": "f8f6f4", "sparse": 1, "m": 64, "operand": "metadata"},
        {"kind": "mxf4", "k": 96, "operand": "scale_b"}, {"kind": "mxf4nvf4", "operand": "scale_b", "n": 40}, {"q": 1},
        {"sparse": 2}, {"m": "x"},
    )),
    *(get("tmem/access", access=text) for text in (
        "hello", "tcgen05.ld.64x64b.x1", "tcgen05.ld.32x32b.x3", "tcgen05.ld.16x256b.x64", "tcgen05.cp.64x128b",
        "tcgen05.st.16x32bx2.x2.unpack::16b", "tcgen05.shift.cta_group::1.down", "tcgen05.cp.cta_group::1.4x256b",
    )),
    get("tmem/access", access="tcgen05.ld.16x32bx2.x2", split=9), get("tmem/access", split=600),
    *(f"/tmem?{query}" for query in (
        "more=hello", "more=m=64;m=64;m=64;m=64", "a_at=600", "d_at=x", "at=200:0", "warp=16", "alloc=48", "n=512",
        "kind=mxf4&k=96&scale_a_at=0",
    )),
    # D from tensor memory
    *(get("tmem/epilogue", **asked) for asked in (
        {}, {"access": "tcgen05.st.32x32b.x1"}, {"access": "tcgen05.ld.16x256b.x4.pack::16b"}, {"n": 8},
        {"access": "tcgen05.ld.16x32bx2.x2"}, {"element": "f64"}, {"stored": "256B"}, {"m": 96}, {"q": 1},
        {"access": "tcgen05.ld.32x32b.x128", "n": 64}, {"d": "f16", "access": "tcgen05.ld.16x128b.x2.pack::16b"},
    )),
    *(f"/tmem/epilogue?{query}" for query in ("warp=4", "thread=32")),
    get("tmem/epilogue", d="f16", access="tcgen05.ld.32x32b.x1"),
    "/tmem?idesc=0x08400494",
    # products in tensor memory
    *(get(f"instructions/tcgen05.mma.{text}", idesc=word) for text, word in (
        ("cta_group::1.kind::f16", "0x08400494"), ("cta_group::1.kind::f16", "m=32"),
        ("cta_group::1.kind::f16", "q=1"), ("cta_group::1.kind::f16.ashift", "m=64,n=64"),
        ("cta_group::1.kind::mxf4nvf4.block_scale.block32", "0x08200480"),
        ("cta_group::1.kind::mxf4nvf4.block_scale.block16", "0x48900480"),
    )),
    get("instructions/tcgen05.mma.cta_group::1.kind::f16/operands/d"),
    get("instructions/tcgen05.shift.cta_group::1.down", idesc="m=128"),
    get(f"instructions/{F16}", idesc="m=128"), f"/i/{F16}.svg?idesc=0x08400490",
    # scale factors and metadata in CUTLASS's order
    *(get("scale-factors", **asked) for asked in (
        {}, {"kind": "f16"}, {"tile_k": 100}, {"tile_k": 8192}, {"column": 500}, {"row": 200}, {"factor": 9},
        {"kind": "mxf4", "m": 64}, {"cta_group": 2, "n": 64, "side": "b"}, {"side": "d"}, {"q": 1}, {"shared": 2**18},
    )),
    *(get("metadata-order", **asked) for asked in (
        {}, {"opcode": "mma"}, {"element": "s4"}, {"element": "f64"}, {"opcode": "wgmma.sp", "tile_k": 48},
        {"rows": 100}, {"k": 64}, {"row": 128}, {"group": 32}, {"opcode": "mma.sp", "element": "s4"},
    )),
    # instruction descriptors and zero-column masks
    *(get(f"instruction-descriptors/{quote(word, safe='')}", kind=kind) for word, kind in (
        ("0x08400490", ""), ("0x08400490", "f17"), ("zzz", "f16"), ("0x0840049000000000", "f16"),
        ("0x1ffffffff", "f16"),
        ("0x08400490", "f16"), ("0x0840049f", "i8"), ("0x90400484", "mxf4nvf4"), ("0x68900480", "mxf4"),
        ("0x04400490", "f16"), ("0x48400490", "f16"), ("0x08408480", "f8f6f4"), ("0x082e0480", "f8f6f4"),
        ("0xb0400482", "mxf4"), ("0x08400496", "f16"), ("0x08410910", "tf32"), ("0x28400480", "mxf4nvf4"),
        ("0x08400090", "f16"), ("0x060c00a0", "i8"),
    )),
    *(f"/idesc?kind=f16&m=128&n=64&{query}" for query in ("ws=1&cta_group=2", "cta_group=3", "b=bf16", "word=q")),
    get("zero-column-masks/0x0003028000000000", m=16), get("zero-column-masks/0x0003028000000000", n=96),
    get("zero-column-masks/0x3f03029000000000", m=32, n=64), get("zero-column-masks/x"),
    # reuse and comparison
    get("reuse", **{"from": F16, "to": SP}), get("reuse", **{"from": F16, "to": W16}),
    get("reuse", **{"from": F16, "to": QUADS}), get("reuse", **{"from": LDM, "to": F16}),
    get("reuse", **{"from": F16, "to": LDM}),
    get("reuse", **{"from": "mma.m8n8k16.row.col.s32.s8.s8.s32", "to": S8}), get("reuse", **{"from": W16, "to": W16}),
    get("reuse", **{"from": "wgmma.mma_async.m64n8k16.f32.f16.f16", "to": W16}), get("reuse", to=F16),
    get("reuse",
    **{"from": "wgmma.mma_async.m64n240k32.s32.s8.s8", "to": "wgmma.mma_async.m64n64k256.s32.b1.b1.and.popc"}),
    get("reuse", **{"from": F16, "to": S8}), get("reuse", **{"from": S8, "to": S8}),
    get("reuse", **{"from": "mma.m16n8k8.row.col.f32.tf32.tf32.f32", "to": "mma.m16n8k8.row.col.f32.tf32.tf32.f32"}),
    get("reuse", **{"from": "mma.m8n8k4.row.col.f64.f64.f64.f64", "to": "mma.m8n8k4.row.col.f64.f64.f64.f64"}),
    get("reuse", **{"from": "movmatrix.m8n8.trans.b16", "to": F16}), get("reuse", **{"from": "x", "to": F16}),
    get("instructions", q="x" * 2500), get("compare", left=f"{F16}/a", right=f"{LDM}/data"),
    get("compare", left=f"{F16}/a", right=f"{S8}/a"), get("compare", left="x", right=f"{F16}/a"),
    get("compare", left=f"{F16}/q", right=f"{F16}/a"), get("compare", left=f"{F16}/a"),
    # pictures
    *(f"/i/{F16}/a.svg?{query}" for query in (
        "colour=z", "label=z", "lanes=99", "lanes=x", "rows=9-99", "rows=5-2", "cols=x", "theme=pink", "cell=1",
        "cell=ax4", "title=" + "t" * 400, "legend=2", "lang=it", "product=1", "colr=t", "warps=1",
    )),
    f"/i/{F16}.svg?rows=0-3", f"/i/{F16}/a.gif", f"/i/{F16}/a.png?scale=99", f"/i/{F16}/a.tex?theme=auto",
    "/smem.svg?unit=x", "/smem.svg?down=x", "/smem.svg?element_bits=1&k=1024&unit=element",
    "/smem.svg?mn=1024&k=64&unit=element",
    f"/i/{F16}/a.png?lang=zh", f"/i/{W16}/d.png?cell=200", "/descriptor/wgmma/xyz.svg",
    "/descriptor/wgmma/0x40.svg?s_kind=x", "/descriptor/wgmma/0x40.svg?s_swizzle=128B&rows=0-99", "/guide/nothing",
    f"/i/{F16}/a.svg?rows=0-1,3-4", "/smem/atoms?element_bits=3", f"/diagram.json?ptx={F16}&form=gif",
)  # fmt: skip
