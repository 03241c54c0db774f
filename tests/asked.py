"""Requests that a person might send and that are refused or warned about: each gives one message of the product, which
a golden file holds.

GETS: addresses. POSTS: path → bodies, most of them a right body with one thing changed (`put`; MISSING takes a key
out).
"""

from __future__ import annotations

import base64
import copy
import io
from typing import Any
from urllib.parse import quote

import numpy as np

from app.kit.examples import BODIES

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
    stream = io.BytesIO()
    np.save(stream, array)
    return base64.b64encode(stream.getvalue()).decode()


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

DEEP: Any = 0
for _ in range(120):
    DEEP = {"a": DEEP}

WORKBENCH = (
    "desc: 0x4000004000010040\nwgmma.mma_async.m64n64k16.f32.f16.f16\nuint32_t box[2] = {64, 64};\n"
    "cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, p, dims, strides, box, ones,"
    " CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,"
    " CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);"
)
UMMA: dict[str, Any] = {
    "descriptor": "0x4000404000010100", "format": "tcgen05", "instruction": "tcgen05.mma.cta_group::2.kind::f16",
    "idesc": "0x10400490", "operand": "b", "storage": {"kind": "canonical", "swizzle": "128B", "mn": 128, "k": 64,
    "base": 4096},
}  # fmt: skip
BASE32B = {
    "idesc": "0x08418910", "instruction": "tcgen05.mma.cta_group::1.kind::tf32",
    "storage": {"kind": "canonical", "swizzle": "128B_base32B", "mn": 256, "k": 16, "base": 4096},
}  # fmt: skip
TCGEN05 = tuple(
    UMMA | changes
    for changes in (
        {},
        {"idesc": ""},
        {"format": "wgmma"},
        {"idesc": "0x08400490"},
        {"idesc": "0x04400490"},
        {"idesc": "0x10400494"},
        {"instruction": "wgmma.mma_async.m64n64k16.f32.f16.f16"},
        {"instruction": "tcgen05.mma.kind::f8"},
        {"instruction": "tcgen05.mma.ws.cta_group::2.kind::f16"},
        {"major": "MN"},
        {"operand": "c"},
        {"format": "gmma"},
        {"descriptor": "0x4010404000010100"},
        {"descriptor": "0x4000004000010100"},
        {"descriptor": "0x2000004000010100"},
        {"descriptor": "0x6000404000010100"},
        {"descriptor": "0xe000404000010100"},
        {"descriptor": "0x8000404000010100"},
        {"descriptor": "0x4000c04000010100"},
        {"descriptor": "0x2000404000010100"},
        BASE32B | {"descriptor": "0x2000402004000100"},
        BASE32B | {"descriptor": "0x4000402004000100"},
        {"storage": {"kind": "rows", "inner": "MN", "pitch_bytes": 256}},
        {"descriptor": "0xa000404000010100"},
    )
)
POSTS: dict[str, tuple[Any, ...]] = {
    "instruction-descriptors/encode": tuple(
        put("instruction-descriptors/encode", **changes)
        for changes in (
            {"m": 96}, {"m": 512}, {"m": MISSING}, {"n": 12}, {"n": 264}, {"n": 248, "m": 256}, {"a": "e5m2"},
            {"d": "f16"}, {"sparse": "maybe"}, {"saturate": True}, {"transpose_a": True, "kind": "mxf4", "a": "e2m1",
            "b": "e2m1", "d": MISSING}, {"sfa_id": 1}, {"max_shift": 8, "n": 24}, {"m": 64, "cta_group": 2},
            {"m": 64, "n": 72, "cta_group": 2}, {"cta_group": 2, "ws": 1}, {"kind": "f4"}, {"sparsity_selector": 4},
            {"sparsity_selector": 1}, {"negate_b": True, "kind": "i8", "a": "s8", "b": "s8", "d": "s32"},
            {"kind": "mxf4", "a": MISSING, "b": MISSING, "d": MISSING, "ws": 1},
        )
    ),
    "zero-column-masks/encode": tuple(
        put("zero-column-masks/encode", **changes) for changes in ({"skip_span": 256}, {"first_span_0": 2}, {"m": 16})
    ),
    "read": tuple(
        {"text": text}
        for text in (
            "", "hello world", F16, f'asm volatile("{W16} {{%0}}, %1, %2;");', "mma.m16n8k12.row.col.f32.f16.f16.f32",
            "0x4000004000010100", "1 << 62", "12", "SM80_16x8x16_F32F16F16F32_TN", "SM80_16x8x17_F32F16F16F32_TN",
            "SM100_MMA_F16BF16_SS", "SM75_U32x4_LDSM_N", "HMMA.16816.F32 R0, R4, R8, R0 ;", "HGMMA.64x64x16.F32.BF16",
            "nvcuda::wmma::fragment<matrix_a, 16, 16, 16, half, row_major> a;", "HMMA.16899.F32 R0, R4, R8, R0 ;",
            "nvcuda::wmma::fragment<matrix_a, 16, 16, 17, half, row_major> a;", "swizzle", "lbo", "fp8",
            "Sw<3,4,3> o ((8,8),(8,2)):((8,64),(1,512))", "(8,8):(8", "bank conflict", "tcgen05.mma",
            "what is K-major", "desc = 5; desc |= x;", '"wgmma.mma_async.sync.aligned.m64n%dk16.f32.f16.f16"',
        )
    ) + tuple(
        {"text": WORKBENCH, "assume": assume}
        for assume in (
            {}, {"at.x": "1", "major.a": "Q"}, {"inner.a": "Q"}, {"operand": "c"}, {"swizzle.0": "16B"}, {"way": "1"},
            {"operand": "b", "major.b": "MN"}, [],
        )
    ),
    "descriptors/encode": (
        {}, {"swizzle": "256B"}, {"start_address": 8}, {"start_address": 1 << 18}, {"start_address": 0x7F4212001000},
        {"lbo_bytes": 24}, {"lbo_bytes": 1 << 18}, {"sbo_bytes": -16}, {"base_offset": 8}, {"sbo_bytes": "x"},
        {"sbo_bytes": 1.5}, {"lbo": 16}, {"start_address": True}, [], "text", {"start_address": "1" * 200},
    ),
    "descriptors/reads": (
        put("descriptors/reads", instruction=F16), put("descriptors/reads", operand="d"),
        put("descriptors/reads", major="M"), put("descriptors/reads", instruction=W8, major="MN"),
        put("descriptors/reads", instruction="x"),
        put("descriptors/reads", descriptor=MISSING),
        put("descriptors/reads", descriptor="return smem >> 4 | 1ull << 62;"),
        put("descriptors/reads", descriptor="0x0"), put("descriptors/reads", descriptor="0x4000004000013fff"),
        put("descriptors/reads", major="MN"), put("descriptors/reads", descriptor="0x4000000000010100"),
        put("descriptors/reads", instruction=7), put("descriptors/reads", instruction="wgmma " * 20000),
        put("descriptors/reads", instruction=MISSING),
        *(put("descriptors/reads", descriptor=f"0x{code << 62 | 64 << 32 | 64 << 16 | 0x100:016x}", instruction=name,
        major=major)
          for code in range(4) for name,
          major in ((W16, "K"), (W16, "MN"), ("wgmma.mma_async.m64n8k16.f32.f16.f16", "K")) if (code, major) != (1,
          "X")),
        put("descriptors/reads", instruction="wgmma.mma_async.m64n8k16.f32.f16.f16", operand="b"),
        put("descriptors/reads", instruction="wgmma.mma_async.m64n8k16.f32.f16.f16", operand="b", major="MN"),
        put("descriptors/reads", instruction=WSP, operand="b"),
        put("descriptors/reads", instruction=WSP, operand="b", descriptor="0xc000001000010100"),
    ),
    "descriptors/verify": (
        *TCGEN05,
        put("descriptors/verify", storage__kind="heap"), put("descriptors/verify", storage__kind=MISSING),
        put("descriptors/verify", storage="x"), put("descriptors/verify", storage__base=1),
        put("descriptors/verify", storage__base=1 << 30),
        put("descriptors/verify", storage__element_bits=8), put("descriptors/verify", storage__pitch_bytes=128),
        put("descriptors/verify", storage__swizzle_by="row"), put("descriptors/verify", slice__mn=64),
        put("descriptors/verify", slice__k=56),
        put("descriptors/verify", slice__k=8), put("descriptors/verify", slice={"n": 0}),
        put("descriptors/verify", slice=[0, 0]), put("descriptors/verify", slice__mn=-8),
        put("descriptors/verify", storage=MISSING),
        put("descriptors/verify", storage=MISSING, descriptor="0x4000004000010100"),
        put("descriptors/verify", storage={"kind": "cute"}),
        put("descriptors/verify", storage={"kind": "cute", "layout": 7}),
        *(put("descriptors/verify", storage={"kind": "cute", "layout": text, **more}) for text, more in (
            ("", {}), ("hello", {}), ("8:1", {}), ("(8,8)", {}), ("(8,8):(1)", {}), ("(8,0):(1,8)", {}),
            ("((8,8),64):((64,512),1)", {}), ("(64,64):(64,1)", {"unit": "words"}), ("(640,6400):(6400,1)", {}),
            ("(8,3):(3,1)", {"unit": "bytes"}),
            ("Sw<9,9,9> o (64,64):(64,1)", {}), ("Sw<3,4> o (64,64):(64,1)", {}), ("Sw<3,4,2> o (64,64):(64,1)", {}),
            ("Sw<3,4,3> o smem_ptr[16b](unset) o (64,64):(64,1)", {}), ("smem_ptr[8b] o (64,64):(64,1)", {}),
            ("smem_ptr[16b](0x100) o (64,64):(64,1)", {"unit": "bytes"}), ("smem_ptr[3b](unset) o (64,64):(64,1)", {}),
            ("smem_ptr[4b](unset) o (64,64):(64,1)", {}), ("Sw<3,4,3> o 16 o (64,64):(64,1)", {}),
            ("(_64,x):(_64,_1)", {}),
            ("(64,64):(_1@1,1)", {}), ("x" * 3000, {}), ("((((((((((((64))))))))))),64):(1,64)", {}),
        )),
        *(put("descriptors/verify", storage={"kind": "rows", **more}) for more in ({}, {"pitch_bytes": 0},
        {"pitch_bytes": 100}, {"pitch_bytes": 144}, {"pitch_bytes": 128, "inner": "N"}, {"pitch_bytes": 1 << 40},
        {"pitch_bytes": 128, "swizzle": "none"})),
        *(put("descriptors/verify",
        storage={"kind": "atoms", "width_bytes": 128, "outer8_stride": 1024, "inner_stride": 8192,
        **more}) for more in (
            {}, {"width_bytes": 0}, {"width_bytes": 24}, {"outer8_stride": -8}, {"inner_stride": "x"},
            {"line_stride": 4}, {"wide": 1}, {"swizzle": "1B"},
        )),
        put("descriptors/verify", instruction=W8, major="MN"),
        put("descriptors/verify", instruction=W8, storage__element_bits=16), put("descriptors/verify", instruction=F16),
        put("descriptors/verify", operand="c"), put("descriptors/verify", descriptr="0x0"),
    ),
    "tiles/mma": (
        *(put("tiles/mma", atom=text) for text in (
            MISSING, "nothing", "SM75_U32x4_LDSM_N", LDM, "wmma.mma.row.col.m16n16k16.f32.f32", SP, "16x8x32_S32S8S8",
            "SM80_16x8x12_F32F16F16F32_TN", "SM100_MMA_F16BF16_SS", "m16n8k16",
            "SM80_16x8x16_F32F16F16F32_TN SM80_16x8x8_F32F16F16F32_TN",
        )),
        {"atom": W16}, {"atom": "SM90_64x64x16_F32F16F16_RS", "atom_layout": "(2,1,1)"}, {"atom": QUADS},
        *(put("tiles/mma", atom_layout=text) for text in (
            "(2,2,1,1)", "(2,2", [2, 2], "(8,8,1)", "(2,2,1):(0,1,0)", "(2147483647,1,1)", "Sw<1,1,1> o (2,2,1)", 5,
            "Layout<Shape<_2,_2,Int<kAtoms>>>",
        )),
        *(put("tiles/mma", permutation=text) for text in (
            "(32,32,16,8)", "((16,2):(1,8),_,_)", "((16,(2,2)),_,_)", "(64,_,_)", "32", "(Sw<1,1,1> o 4:1,_,_)", 5,
            "Layout<Shape<_1,_2,_1>>",
            "Tile<_,Layout<Shape<_4,_2,_4>,Stride<_1,_32,_8>>,_>", "(_,(3,5):(5,1),_)", "(_,6,_)", None,
        )),
        put("tiles/mma", atom_layout="(1,1,1)", permutation="(_,(3,5):(5,1),_)", tile=[16, 120, 16]),
        put("tiles/mma", atom_layout="(1,1,1)", permutation="(_,(4,2):(1,6),_)", tile=[16, 48, 16]),
        *(put("tiles/mma", tile=given) for given in (
            MISSING, [48, 64, 16], [64, 64], [0, 64, 16], [1024, 1024, 16], "64", [64, 64, "x"], [99999, 64, 16],
        )),
        put("tiles/mma", atoms="(1,1,1)"),
    ),
    "tiles/mma/chain": (
        put("tiles/mma/chain", second__tile=[64, 128, 32]), put("tiles/mma/chain", second=MISSING),
        put("tiles/mma/chain", second={"atom": W16, "tile": [64, 64, 64]}), put("tiles/mma/chain", first=5),
        put("tiles/mma/chain", first__tile=[128, 64, 64], second__tile=[128, 128, 64]),
        put("tiles/mma/chain", first__atom_layout="(1,1,2)"),
        {"first": {"atom": S8, "tile": [16, 64, 32]}, "second": {"atom": S8, "tile": [16, 8, 64]}},
        put("tiles/mma/chain", second__atom_layout="(2,2,1)"), put("tiles/mma/chain", first__atom="nothing"),
    ),
    "tiles/loop": (
        put("tiles/loop"), put("tiles/loop", k=100), put("tiles/loop", a=MISSING),
        put("tiles/loop", a__storage=MISSING),
        put("tiles/loop", a__load="stmatrix.m8n8.x4.shared.b16"), put("tiles/loop", a__store__thr_layout="(3,2)"),
        put("tiles/loop", tiled_mma__atom="nothing"), put("tiles/loop", a__global="(8,8):(8,1)"),
        put("tiles/loop", a__storage={"kind": "canonical", "mn": 32, "k": 64}), put("tiles/loop", a__swizzle="128B"),
        put("tiles/loop", a__loaded_from={"kind": "rows", "inner": "K", "pitch_bytes": 128}),
        put("tiles/loop", a__storage__inner="MN"), put("tiles/loop", a__storage__swizzle="none"),
        {"tiled_mma": {"atom": "SM80_16x8x64_S32S4S4S32_TN"},
         "a": {"storage": {"kind": "rows", "inner": "K", "pitch_bytes": 32}}},
        put("tiles/loop", tiled_mma={"atom": "SM90_64x64x16_F32F16F16_SS", "tile": [64, 64, 64]}),
    ),
    "tiles/copy": (
        *({"atom": "SM90_TMA_LOAD", "tile": [64, 64], "storage": {"kind": "rows", "pitch_bytes": 128}, **more}
          for more in (
              {"atom": "SM90_TMA_LOAD_IM2COL"}, {"atom": "SM90_TMA_GATHER4"}, {"multicast": 2}, {"tile": [64]},
              {"tile": [4096, 4096]}, {"tile": "64x64"}, {"storage": {"kind": "canonical", "mn": 32, "k": 64}},
              {"global": "64:1"}, {"global": "((8,8),64):((1,8),64)"}, {"multicast": 17}, {"element_bits": 4},
          )),
        put("tiles/copy", multicast=2),
        put("tiles/copy", atom="universal", bits=16, tile=[4096, 64], operand="a", thr_layout=MISSING,
            val_layout=MISSING, tiled_mma={"atom": "SM80_16x8x16_F32F16F16F32_TN", "atom_layout": "(1,32,1)"}),
        *(put("tiles/copy", **given) for given in (
            {"atom": "nothing"}, {"atom": F16}, {"atom": "ldmatrix.m8n16.x4.shared.b8x16.b4x16_p64"}, {"bits": 24},
            {"bits": 256}, {"bits": 8}, {"atom": "universal", "bits": 8}, {"element_bits": 24}, {"bits": 32},
            {"atom": "SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>", "bits": MISSING}, {"atom": "SM75_U32x4_LDSM_N"},
            {"atom": "SM75_U32x9_LDSM_N"}, {"thr_layout": MISSING},
            {"thr_layout": [0]}, {"thr_layout": "(2,2,2)"}, {"val_layout": "(1,3)"},
            {"thr_layout": "(4096,1)"}, {"thr_layout": "(16,8):(16,1)"}, {"val_layout": "(1,99999999)"},
            {"val_layout": "(1,4)"}, {"tile": MISSING}, {"tile": "64"}, {"tile": [64]}, {"tile": [24, 64]},
            {"tile": [0, 64]}, {"tile": [4096, 4096]}, {"tiled_mma": {"atom": F16}}, {"shared": "left"},
            {"storage__pitch_bytes": 136, "storage__swizzle": "none"}, {"storage": 5}, {"major": "N"},
            {"storage__inner": "MN"}, {"storage__pitch_bytes": 128, "storage__swizzle": "none", "shared": "source"},
            {"storage": {"kind": "canonical", "mn": 32, "k": 64}}, {"global": "(4096,4096):(4096,1)"},
            {"global": "(4096,4096):(1,4096)"}, {"global": "4096:1"}, {"global": "(8,8):(8,1)"}, {"global": 5},
            {"storage": {"kind": "cute", "layout": "(64,64):(1,64)"}}, {"element_bits": 4, "val_layout": "(1,32)"},
            {"storage": None}, {"storage__pitch_bytes": 130, "storage__swizzle": "none"}, {"value_layout": "(1,8)"},
        )),
        *({"tile": [64, 64], **given} for given in (
            {"atom": LDM, "tiled_mma": {"atom": F16}, "operand": "b", "storage": {"kind": "rows", "pitch_bytes": 128}},
            {"atom": LDM, "tiled_mma": {"atom": F16}, "operand": "z"}, {"atom": LDM, "tiled_mma": {"atom": W16}},
            {"atom": LDM, "tiled_mma": {"atom": QUADS}}, {"atom": LDM, "tiled_mma": 5}, {"atom": LDM, "bits": 64},
            {"atom": LDM, "tiled_mma": {"atom": F16}, "storage": {"kind": "rows", "pitch_bytes": 136}},
            {"atom": LDM, "tiled_mma": {"atom": F16}, "storage": {"kind": "rows", "pitch_bytes": 128},
             "shared": "destination"},
            {"atom": LDM, "thr_layout": "(16,1)", "val_layout": "(1,8)"}, {"atom": LDM, "tiled_mma": {"atom": "x"}},
            {"atom": "stmatrix.m8n8.x4.shared.b16", "tiled_mma": {"atom": F16}, "operand": "c", "element_bits": 16},
            {"atom": LDM, "tiled_mma": {"atom": F16}, "element_bits": 64},
        )),
    ),
    "layouts/triton/convert": (
        put("layouts/triton/convert"), put("layouts/triton/convert", to="x"), put("layouts/triton/convert", to=MISSING),
        put("layouts/triton/convert", shape=7),
        put("layouts/triton/convert", to="gl.SwizzledSharedLayout(8, 1, 8, [1, 0])"),
        put("layouts/triton/convert", to="gl.NVMMADistributedLayout([2, 0], [1, 1], [16, 8])"),
    ),
    "layouts/triton/feeds": (
        put("layouts/triton/feeds"), put("layouts/triton/feeds", text="gl.SwizzledSharedLayout(8, 1, 8, [1, 0])"),
        put("layouts/triton/feeds", shape="x"), put("layouts/triton/feeds", element_bits=8),
    ),
    "layouts/triton": (
        *(put("layouts/triton", text=text) for text in (
            MISSING, "hello", "#ttg.amd_mfma<{versionMajor = 3, warpsPerCTA = [2, 2]}>", "gl.AutoLayout()",
            "#ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>", "gl.BlockedLayout([1, V], [8, 4], [4, 1], [1, 0])",
            "gl.BlockedLayout([1, 3], [8, 4], [4, 1], [1, 0])", "gl.BlockedLayout([1, 4], [8, 8], [4, 1], [1, 0])",
            "gl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 1])",
            "gl.BlockedLayout([1, 4, 1], [8, 4, 1], [4, 1, 1], [2, 1, 0])",
            "gl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0], [[0, 1, 2]])",
            "#ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0],"
            " CTAsPerCGA = [1, 2], CTASplitNum = [1, 4], CTAOrder = [1, 0]}>",
            "gl.NVMMADistributedLayout([1, 0], [4, 1], [16, 8])", "gl.NVMMADistributedLayout([2, 0], [4, 1], [15, 8])",
            "gl.NVMMADistributedLayout([2, 0], [4, 1], [16, 999])",
            "gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 16, 16])",
            "gl.DotOperandLayout(1, gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 16, 16]), 2)",
            "gl.DotOperandLayout(2, gl.NVMMADistributedLayout([2, 0], [4, 1], [16, 8]), 2)",
            "gl.DotOperandLayout(0, gl.SliceLayout(0, gl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0])), 2)",
            "#ttg.dot_op<{opIdx = 0, parent = 5}>", "gl.SliceLayout(0, gl.SwizzledSharedLayout(8, 1, 8, [1, 0]))",
            "gl.DistributedLinearLayout([[0, 1]], [[0, 2]], [], [], [32, 16])",
            "gl.DistributedLinearLayout([[1, 1]], [[0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], [], [], [32, 16])",
            "gl.DistributedLinearLayout([[0, 1]], [[0, 2], [0, 8], [0, 0], [1, 0], [2, 0]], [], [], [32, 16])",
            "gl.SwizzledSharedLayout(8, 1, 8, [1, 0])", "gl.SwizzledSharedLayout(3, 1, 8, [1, 0])",
            "gl.NVMMASharedLayout(128, 16)", "gl.NVMMASharedLayout(48, 16)", "gl.NVMMASharedLayout(32, 8)",
            "#ttg.padded_shared<[64:+8] {order = [1, 0], shape = [32, 16]}>",
            "gl.PaddedSharedLayout([64, 8], [], [], [32, 16])",
            "#ttg.shared_linear<{offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0]]}>",
            "#ttg.shared_linear<{offset = [[0, 1], [0, 2]]}>",
            "#ttg.shared<{vec = 8, perPhase = 3, maxPhase = 2, order = [1, 0], hasLeadingOffset = true}>",
            "#ttg.shared<{vec = 8, perPhase = 4, maxPhase = 2, order = [1, 0], hasLeadingOffset = true}>",
        )),
        *(put("layouts/triton", shape=given) for given in (
            MISSING, [24, 16], [1024, 1024], [32], "32", [], [2] * 6, [0, 4], [99999, 4],
        )),
        put("layouts/triton", element_bits=0), put("layouts/triton", bits=4),
        {"text": "gl.NVMMADistributedLayout([2, 0], [4], [16, 8])", "shape": [64]},
        {"text": "gl.DotOperandLayout(0, gl.BlockedLayout([4], [32], [4], [0]), 2)", "shape": [64]},
        {"text": "gl.NVMMASharedLayout(128, 16, 1)", "shape": [64]},
        {"text": "gl.NVMMASharedLayout(128, 16, 3, True)", "shape": [64, 64, 64]},
        {"text": "#b = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1],"
                 " order = [1, 0]}>\ntensor<64x32xf32, #b>"},
        *({"text": f"#ttng.tensor_memory_encoding<{words}>", "shape": [64, 32], "element_bits": 32} for words in (
            "blockM = 64, blockN = 32, colStride = 1", "blockM = 32, blockN = 32, colStride = 1",
            "blockM = 128, blockN = 32, colStride = 1", "blockM = 64, blockN = 32, colStride = 2",
            "blockM = 64, blockN = 32, colStride = 3", "blockM = 64, blockN = 32, colStride = 2, fp4Padded = true",
            "blockM = 64, blockN = 32, colStride = 1, twoCTAs = true", "blockM = 64, blockN = 32, ctaMode = other",
            "blockM = 64, blockN = 1, colStride = 1, CGALayout = [[1, 0]], twoCTAs = true",
        )),
        {"text": "#ttng.tensor_memory_scales_encoding<blockRepOrder = other>", "shape": [128, 8]},
        {"text": "gl.TensorMemoryLayout((128, 32), 1)", "shape": [128]},
        *({"text": text, "shape": [64, 64]} for text in (
            "gl.NVMMASharedLayout(64, 8, fp4_padded=True)", "gl.BlockedLayout([1, 4], [8, 8], [4, 1], [1, 0])",
            "gl.DistributedLinearLayout([[0, 1]], [[0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 0]], [], [], [8, 16])",
        )),
    ),
    "layouts/tv": (
        *(put("layouts/tv", cute=text) for text in (
            MISSING, "8:1", "((4,8),(2,2,2)):((32,1),(16,8,512))", "(32,8):(0,1)", "(4,8", "(99999,99999):(0,0)",
        )),
        *({"cute": text, "tile": [64, 64]} for text in (
            "(32,3):(1,32)", "((4,8),2):((3,12),1)", "Sw<1,1,1> o (32,2):(1,32)",
        )),
        put("layouts/tv", tile=MISSING), put("layouts/tv", tile=[16]), put("layouts/tv", tile=[16, 0]),
        put("layouts/tv", tiles=[16, 16]),
    ),
    "chain": (
        put("chain", load="ldmatrix.m8n8.x3.shared.b16"), put("chain", load=F16),
        put("chain", load="ldmatrix.m8n16.x4.shared.b8x16.b4x16_p64"), put("chain", mma=LDM), put("chain", mma=QUADS),
        put("chain", mma="mma.m8n8k4.row.col.f64.f64.f64.f64"),
        put("chain", operand="d"), put("chain", operand="z"), put("chain", load="stmatrix.m8n8.x2.shared.b16"),
        put("chain", load="ldmatrix.m8n8.x1.shared.b16"), put("chain", mma="mma.m16n8k8.row.col.f32.f16.f16.f32"),
        put("chain", operand="b", load="ldmatrix.m8n8.x2.shared.b16"),
        put("chain", storage__pitch_bytes=100), put("chain", storage__pitch_bytes=30), put("chain", storage__base=8),
        put("chain", storage__base=0x3FFF0), put("chain", storage__inner="MN"),
        put("chain", storage__swizzle="128B", storage__pitch_bytes=128),
        put("chain", storage={"kind": "canonical", "mn": 8, "k": 64}),
        put("chain", storage={"kind": "canonical", "mn": 64, "k": 64, "element_bits": 8}),
        put("chain", storage={"kind": "cute", "layout": "(8,8):(8,1)"}), put("chain", major="N"),
        put("chain", mma=S8, storage__inner="MN", load="ldmatrix.m8n8.x4.trans.shared.b16"),
        put("chain", mma=S8, operand="b", load="ldmatrix.m8n8.x2.shared.b16", storage__inner="MN"),
        put("chain", load="ldmatrix.m8n8.x4.trans.shared.b16"),
        put("chain", storage={"kind": "cute", "layout": "((8,2),(8,2)):((1,64),(8,128))"}),
        put("chain", storage={"kind": "cute", "layout": "(16,16):(17,1)"}),
        put("chain", operand="d", load="stmatrix.m8n8.x2.shared.b16"), put("chain", store="x"),
        put("chain", mma="mma.m16n8k64.row.col.s32.s4.s4.s32", storage__inner="MN"),
        put("chain", mma="mma.m16n8k8.row.col.f32.tf32.tf32.f32", storage__inner="MN"), put("chain", storage=MISSING),
        put("chain", load=MISSING), put("chain", mma=MISSING),
        put("chain", mma="mma.m16n8k8.row.col.f32.tf32.tf32.f32", storage__pitch_bytes=272),
        put("chain", mma=S8, operand="d", load="stmatrix.m8n8.x4.shared.b16", storage__pitch_bytes=272),
        put("chain", mma=W16, storage={"kind": "rows", "pitch_bytes": 144}),
        put("chain", storage={"kind": "cute", "layout": "((8,8),64):((8,64),512)", "unit": "elements"}),
        put("chain", storage={"kind": "cute", "layout": "(64,(2,32)):(2,(1,128))"}),
        put("chain", mma=SP, storage__pitch_bytes=80),
    ),
    "captures/verify": (
        put("captures/verify"), put("captures/verify", capture=MISSING), put("captures/verify", capture="*"),
        put("captures/verify", capture=""), put("captures/verify", capture="A" * 800), put("captures/verify", nk="x"),
        put("captures/verify", a="AAAA"), put("captures/verify", b=npy(np.ones(3))),
        put("captures/verify", captur="x"),
    ),
    "dumps/verify": (
        put("dumps/verify"), put("dumps/verify", dump=MISSING), put("dumps/verify", dump="*"),
        put("dumps/verify", dump="A" * 800_000), put("dumps/verify", dump=""), put("dumps/verify", base=1026),
        put("dumps/verify", base="0x800"), put("dumps/verify", slice={"mn": 1, "k": 0}),
        put("dumps/verify", operand="d"),
        put("dumps/verify", expected_as="hex"), put("dumps/verify", expected=7),
        put("dumps/verify", expected=npy(np.arange(128, dtype=np.uint16).reshape(16, 8))),
        put("dumps/verify", expected=npy(np.arange(512, dtype=np.uint16).reshape(32, 16)), slice={"mn": 9, "k": 0}),
        put("dumps/verify", expected=npy(np.zeros((16, 8), np.float16))),
        put("dumps/verify", expected=npy(np.arange(128.0).reshape(16, 8) / 3)),
        put("dumps/verify", dump=npy(np.arange(128).astype("<u2").reshape(8, 16).T.copy().T)),
        put("dumps/verify", dum="x"),
    ),
    "banks": (
        {}, {"access": "ldmatrix.x3", "address": [0]}, {"access": "ldmatrix.x4", "address": {}},
        {"access": "ldmatrix.x4", "address": []}, {"access": "ldmatrix.x4", "address": [0] * 31},
        {"access": "ldmatrix.x4", "address": [0] * 31 + ["x"]},
        {"access": "ldmatrix.x4", "address": [8] * 32}, {"access": "ldmatrix.x4", "address": [None] + [0] * 31},
        {"access": "ld.shared.b32", "address": [None] * 32}, {"access": "ld.shared.b32", "address": [-4] * 32},
        {"access": "ld.shared.b32", "address": [1 << 40] * 32},
        {"access": "ld.shared.b128", "address": [16 * n for n in range(32)], "swizzle": "Sw<2,3,3>"},
        {"access": "ldmatrix.x4", "pattern": "along"}, {"access": "ldmatrix.x4", "pattern": "zigzag"},
        {"access": "ldmatrix.x4", "pattern": "ldmatrix", "row_bytes": 0},
        {"access": "ldmatrix.x4", "pattern": "ldmatrix", "row_bytes": 120},
        {"access": "ldmatrix.x4", "pattern": "ldmatrix", "pad": 1 << 20},
        {"access": "ldmatrix.x4", "address": [0] * 32, "pattern": "along"},
        {"access": "ldmatrix.x4", "pattern": "ldmatrix", "swizzle": "9B"},
        {"access": "ldmatrix.x4", "address": [0] * 32, "row_bytes": 128}, {"access": "ldmatrix.x4", "adress": []},
        {"access": 7, "address": []}, {"access": "ld.shared.b64", "pattern": "ldmatrix", "row_bytes": 100},
        {"access": "ld.shared.b32", "address": "0, 4, x"},
        {"access": "ld.shared.b32", "address": [True] * 32},
        {"access": "ld.shared.b32", "pattern": "column", "row_bytes": 128},
        {"access": "st.shared.b128", "pattern": "column", "row_bytes": 144},
    ),
    "banks/solve": (
        {}, {"access": "ldmatrix.x4"}, {"accesses": []}, {"accesses": "x"}, {"accesses": [{}]},
        {"accesses": [{"access": "ldmatrix.x4", "address": [8] * 32}]},
        {"accesses": [{"access": "ldmatrix.x4", "pattern": "ldmatrix"}], "access": "ldmatrix.x4"},
        {"accesses": [{"access": "ldmatrix.x4", "pattern": "ldmatrix"}] * 40},
        {"accesses": [{"access": "ldmatrix.x4", "pattern": "q"}]},
        {"accesses": [{"access": "ldmatrix.x4", "pattern": "ldmatrix", "address": [0] * 32}]},
        {"accesses": [{"access": "ldmatrix.x4", "pattern": "ldmatrix"}], "pad": 4},
        {"accesses": [{"access": "ldmatrix.x4", "pattern": "ldmatrix"}], "row_bytes": 144},
        {"accesses": [{"access": "ldmatrix.x4", "pattern": "ldmatrix"}]},
        {"accesses": [{"access": "ld.shared.b32", "address": [128 * n for n in range(32)]}]},
        {"accesses": [{"access": "ld.shared.b32", "address": [1 << 12] * 32}]},
        {"accesses": [{"access": "ldmatrix.x4", "pattern": "ldmatrix"},
        {"access": "st.shared.b32", "pattern": "column"}, {"access": "ld.shared.b128", "pattern": "along"}]},
        {"accesses": [{"access": "ld.shared.b32", "address": [4 * (n * n * 37 % 4096) for n in range(32)]}]},
        {"accesses": [{"acces": "x"}]},
    ),
    "steps": (
        put("steps", row=8), put("steps", row="x"), put("steps", col=-1), put("steps", product=1),
        put("steps", instruction=LDM), put("steps", instruction="x"), put("steps", data={"a": "i +"}),
        put("steps", data={"a": "i * i * i"}), put("steps", data={"c": "1 2 3"}),
        put("steps", data={"a": "1e9"}), put("steps", data={"q": "1"}), put("steps", data=[]),
        put("steps", data={"a": "(" * 80}), put("steps", data={"a": "x"}), put("steps", data={"a": "min(1)"}),
        put("steps", data={"a": "1 ? 2"}), put("steps", data={"a": "1.5 << 2"}), put("steps", data={"a": "1 << 60"}),
        put("steps", data={"a": "99999999999999999999"}), put("steps", data={"a": [[1, 2], [3]]}),
        put("steps", data={"a": {}}), put("steps", data={"a": "i $ 2"}), put("steps", data={"a": "x" * 5000}),
        put("steps", data={"a": "i 2"}), put("steps", data={"a": "0x"}), put("steps", data={"a": "j / 0"}),
        put("steps", data={"a": "1, 2, x"}), put("steps", data={"a": [[1.5] * 16] * 8}),
        put("steps", instruction=SP, data={"a": "1"}), put("steps", instruction=W16, data={"a": "i"}, a="swizzle=32B"),
        put("steps", instruction=W16, row=64, data={}), put("steps", a="swizzle=32B"), put("steps", seed=-1),
        put("steps", data={"a": [[127] * 16] * 8, "b": [[127] * 8] * 16, "c": [[2147483647] * 8] * 8}),
    ),
    "gpu/runs": (
        {}, put("gpu/runs", kind="sum"), put("gpu/runs", instruction=LDM), put("gpu/runs", instruction="x"),
        put("gpu/runs", backend="cuda"), put("gpu/runs", backend="tpu"), put("gpu/runs", kind="fragment", operand="q"),
        put("gpu/runs", kind="descriptor", descriptor="0x0"),
        put("gpu/runs", kind="descriptor", instruction=W16, descriptor="0x4000004000013fff", operand="a", major="K"),
        put("gpu/runs", kind="banks", access="ldmatrix.x4", address=[0] * 32, instruction=MISSING),
        put("gpu/runs", instruction=W16, a_from="registers", a="from=shared"),
        put("gpu/runs", kind="banks", access="ldmatrix.x4", address=[None] * 32, instruction=MISSING),
        put("gpu/runs", kind="fragment", instruction="ldmatrix.m8n16.x1.shared.b8x16.b6x16_p32"),
        put("gpu/runs", kind="banks", access="ld.shared.b32", address=[None] + [0] * 31, instruction=MISSING),
        put("gpu/runs", seed="x"), put("gpu/runs", data={"z": 1}), put("gpu/runs", instruction=W16, b="swizzle=7B"),
        put("gpu/runs", kind="banks", access="ld.shared.b32", address=[4096 * 64 * n for n in range(32)],
        instruction=MISSING),
        put("gpu/runs", kind="descriptor", instruction="wgmma.mma_async.m64n256k16.f32.f16.f16",
        descriptor="0x40003fc000010100", operand="a", major="K"), DEEP,
    ),
}  # fmt: skip
RAW = (
    "",
    "not json",
    "{",
    '{"a": 1, "a": 2}',
    '{"row": NaN}',
    "[" * 5000,
    '"\\ud800"',
    "7",
)  # bodies of POST /steps as they stand
