"""A body to send to each route that takes one, and a link to try for each that can be read; the tests send them."""

import base64

from lanescope.ptx.table.descriptors import FORMATS

DUMP = base64.b64encode(bytes(range(256))).decode()  # 8 × 16 elements of 16 bits
CAPTURE = (  # a buffer without records
    "TEFORVNDT1ABAAAAQAAAAEAAAAAAAAAAQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=="
)
# A body to send to each route that takes one; the tests send them.
BODIES: dict[str, dict[str, object]] = {
    "/api/v1/descriptors/encode": {
        "start_address": 4096,
        "lbo_bytes": 16,
        "sbo_bytes": 1024,
        "base_offset": 0,
        "swizzle": "128B",
    },
    "/api/v1/descriptors/reads": {
        "descriptor": "0x4000004000010100",
        "instruction": "wgmma.mma_async.m64n64k16.f32.f16.f16",
        "operand": "a",
        "major": "K",
    },
    "/api/v1/descriptors/verify": {
        "descriptor": "0x4000004004000101",
        "instruction": "wgmma.mma_async.m64n64k16.f32.f16.f16",
        "operand": "a",
        "major": "K",
        "storage": {"kind": "canonical", "swizzle": "128B", "mn": 64, "k": 64, "base": 4096},
        "slice": {"mn": 0, "k": 0},
    },
    "/api/v1/dumps/verify": {
        "dump": DUMP,
        "descriptor": "0x0000001000080040",
        "instruction": "wgmma.mma_async.m64n8k16.f32.f16.f16",
        "operand": "b",
        "major": "K",
        "base": 1024,
    },
    "/api/v1/captures/verify": {"capture": CAPTURE},
    "/api/v1/read": {"text": "SM90_64x128x16_F32BF16BF16_SS"},
    "/api/v1/chain": {
        "storage": {"kind": "rows", "inner": "K", "pitch_bytes": 144},
        "load": "ldmatrix.m8n8.x4.shared.b16",
        "mma": "mma.m16n8k16.row.col.f32.f16.f16.f32",
        "operand": "a",
    },
    "/api/v1/banks": {"access": "ldmatrix.x4", "address": [128 * lane for lane in range(32)]},
    "/api/v1/banks/solve": {
        "row_bytes": 128,
        "accesses": [
            {"access": "ldmatrix.x4", "pattern": "ldmatrix"},
            {"access": "st.shared.b128", "address": [16 * lane for lane in range(32)]},
        ],
    },
    "/api/v1/tiles/mma": {
        "atom": "SM80_16x8x16_F32F16F16F32_TN",
        "atom_layout": "(2,2,1)",
        "permutation": "(32,32,16)",
        "tile": [64, 64, 32],
    },
    "/api/v1/tiles/mma/chain": {
        "first": {"atom": "SM80_16x8x16_F32F16F16F32_TN", "atom_layout": "(4,1,1)", "tile": [64, 64, 64]},
        "second": {"atom": "SM80_16x8x16_F32F16F16F32_TN", "atom_layout": "(4,1,1)", "tile": [64, 128, 64]},
    },
    "/api/v1/tiles/loop": {
        "tiled_mma": {
            "atom": "SM80_16x8x16_F32F16F16F32_TN",
            "atom_layout": "(2,2,1)",
            "permutation": "(32,32,16)",
            "tile": [64, 64, 64],
        },
        "a": {
            "store": {"atom": "cp.async", "bits": 128, "thr_layout": "(16,8):(8,1)", "val_layout": "(1,8)"},
            "storage": {"kind": "rows", "inner": "K", "pitch_bytes": 128, "swizzle": "128B"},
            "load": "SM75_U32x4_LDSM_N",
        },
    },
    "/api/v1/tiles/copy": {
        "atom": "cp.async",
        "bits": 128,
        "element_bits": 16,
        "thr_layout": "(16,8):(8,1)",
        "val_layout": "(1,8)",
        "tile": [64, 64],
        "storage": {"kind": "rows", "pitch_bytes": 128, "swizzle": "128B"},
    },
    "/api/v1/layouts/triton": {
        "text": "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>",
        "shape": [32, 16],
        "element_bits": 16,
    },
    "/api/v1/layouts/triton/convert": {
        "text": "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>",
        "to": "#ttg.nvidia_mma<{versionMajor = 2, warpsPerCTA = [2, 2], instrShape = [16, 8]}>",
        "shape": [32, 32],
    },
    "/api/v1/layouts/triton/feeds": {
        "text": "#ttg.nvidia_mma<{versionMajor = 2, warpsPerCTA = [2, 2], instrShape = [16, 8]}>",
        "shape": [32, 32],
        "element_bits": 32,
    },
    "/api/v1/layouts/tv": {"cute": "((4,8),(2,2,2)):((32,1),(16,8,128))", "tile": [16, 16]},
    "/api/v1/instruction-descriptors/encode": {"kind": "f16", "m": 128, "n": 256, "a": "bf16", "b": "bf16", "d": "f32"},
    "/api/v1/zero-column-masks/encode": {"non_zero_mask": 1, "skip_span": 2, "use_span": 3, "m": 64, "n": 128},
    "/api/v1/steps": {
        "instruction": "mma.m8n8k16.row.col.s32.s8.s8.s32",
        "data": {"a": "i", "b": "-(i + 1)"},
        "row": 0,
        "col": 1,
    },
    "/api/v1/gpu/runs": {"kind": "mma", "instruction": "mma.m16n8k16.row.col.f32.f16.f16.f32", "backend": "numpy"},
}


# One link to try for each route that can be read without a body.
EXAMPLES = {
    "/api/v1/instructions": "/api/v1/instructions?family=mma&type=e4m3&target=sm_89",
    "/api/v1/instructions/{ptx}": "/api/v1/instructions/mma.m16n8k16.row.col.f32.f16.f16.f32",
    "/api/v1/instructions/{ptx}/operands/{name}": (
        "/api/v1/instructions/mma.m16n8k16.row.col.f32.f16.f16.f32/operands/a"
    ),
    "/api/v1/topics": "/api/v1/topics?q=wgmma.fence",
    "/api/v1/instructions/{ptx}/kernel": (
        "/api/v1/instructions/wgmma.mma_async.m64n32k16.f32.f16.f16/kernel?a=major=MN,swizzle=64B&b=major=MN"
    ),
    "/api/v1/instructions/{ptx}/metadata": (
        "/api/v1/instructions/mma.sp.m16n8k32.row.col.f32.f16.f16.f32/metadata?words=0x44444444"
    ),
    "/api/v1/metadata-order": "/api/v1/metadata-order?opcode=wgmma.sp&element=f16&tile_k=64",
    "/api/v1/smem/tile": "/api/v1/smem/tile?major=K&swizzle=128B&mn=128&k=64",
    "/api/v1/descriptors/{word}": "/api/v1/descriptors/0x4000004004000101",
    "/api/v1/instruction-descriptors/{value}": "/api/v1/instruction-descriptors/0x08400490?kind=f16",
    "/api/v1/tmem/epilogue": "/api/v1/tmem/epilogue?m=64&n=128&access=tcgen05.ld.16x256b.x4",
    "/api/v1/tmem/layout": "/api/v1/tmem/layout?operand=a&kind=f16&m=64&n=64",
    "/api/v1/scale-factors": "/api/v1/scale-factors?kind=mxf4nvf4&scale_vec=4X&n=128",
    "/api/v1/tmem/access": "/api/v1/tmem/access?access=tcgen05.cp.cta_group::1.32x128b.warpx4",
    "/api/v1/zero-column-masks/{value}": "/api/v1/zero-column-masks/0x0003028000000000?m=64&n=128",
    "/api/v1/reuse": "/api/v1/reuse?from=mma.m16n8k16.row.col.f32.f16.f16.f32&to=mma.m16n8k16.row.col.f32.f16.f16.f32",
    "/api/v1/compare": "/api/v1/compare?left=ldmatrix.m8n8.x1.b16/data&right=ldmatrix.m8n8.x1.trans.b16/data",
    "/api/v1/cute": "/api/v1/cute?expression=logical_divide((4,2,3):(2,1,8),4:2)",
    "/api/v1/gpu": "/api/v1/gpu",
    "/i/{ptx}.{form}": "/i/mma.m16n8k16.row.col.f32.f16.f16.f32.svg?theme=dark",
    "/i/{ptx}/{operand}.{form}": "/i/mma.m16n8k16.row.col.f32.f16.f16.f32/a.svg?colour=t&lanes=0-7",
    "/tiles/mma.{form}": "/tiles/mma.svg?atom=SM80_16x8x16_F32F16F16F32_TN&atom_layout=(2,2,1)&tile=32x16x16",
    "/tiles/copy.{form}": "/tiles/copy.svg?atom=cp.async&bits=128&tile=32x64&thr_layout=(8,8):(8,1)&val_layout=(1,8)",
    "/tiles/loop.{form}": "/tiles/loop.svg",
    "/layouts/triton.{form}": "/layouts/triton.svg?text=gl.BlockedLayout([1,4],[8,4],[4,1],[1,0])&shape=32x16",
    "/layouts/tv.{form}": "/layouts/tv.svg?cute=((4,8),(2,2)):((32,1),(16,8))&tile=16x8",
    "/cute.{form}": "/cute.svg?expression=zipped_divide((8,16):(16,1),(4,8))",
    "/smem.{form}": "/smem.svg?major=K&swizzle=128B&mn=64&k=64",
    **{f"/descriptor/{row.name}/{{word}}.{{form}}": f"/descriptor/{row.name}/{row.documented}.svg" for row in FORMATS},
    "/metrics": "/metrics",
    "/healthz": "/healthz",
    "/readyz": "/readyz",
}
