"""Bodies that a person might post and that are refused or warned about, beside the addresses of tests.asked.

POSTS: path → bodies. RAW: what is no body at all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.asked import F16, LDM, MISSING, QUADS, S8, SP, W8, W16, WSP, npy, put
from tests.posted_layouts import LAYOUTS

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
DESCRIPTORS: dict[str, tuple[Any, ...]] = {
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
            "LdMatrix16x16x8bOp(4)",
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
}  # fmt: skip
POSTS: dict[str, tuple[Any, ...]] = {
    **DESCRIPTORS,
    **LAYOUTS,
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
