"""Bodies about tiles and layouts that are refused or warned about, as those of tests.posted."""

from __future__ import annotations

from typing import Any

from tests.asked import F16, LDM, MISSING, QUADS, S8, SP, W16, put

UMMA_ATOM = "SM100_MMA_F16BF16_SS<half_t, half_t, float, 128, 64, UMMA::Major::K, UMMA::Major::K>"
LAYOUTS: dict[str, tuple[Any, ...]] = {
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
        *({"atom": f"SM100_MMA_{text}, UMMA::Major::K, UMMA::Major::K>"} for text in (
            "F16BF16_SS<half_t, half_t, float, 128, 260", "F16BF16_TS<half_t, half_t, float, 128, 24",
            "F16BF16_SS<half_t, e4m3, float, 128, 64", "F16BF16_SS<half_t, half_t, float, M, 64", "F17_SS<half_t",
            "TF32_TS_INTERLEAVED_CF32CTF32CTF32CF32_TN<128, 64", "F16BF16_SS<half_t",
            "MXF4_SS<float_e2m1_t, float_e2m1_t, float, float_ue4m3_t, 128, 64, 8",
            "MXF4_SS<float_e2m1_t, float_e2m1_t, half_t, float_ue4m3_t, 128, 64, 16",
        )),
        {"atom": "SM103_MXF4_ULTRA_SS_VS<float_e2m1_t, float_e2m1_t, float, float_ue4m3_t, 128, 64, 16, K, K>"},
        {"atom": "SM100_MMA_F16BF16_TS<half_t, half_t, float, 128, 64, UMMA::Major::MN, UMMA::Major::K>"},
        {"atom": "tcgen05.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (128, 64, 16))"},
        {"atom": "tcgen05 F17 MMA Operation\n  A data type = Float17"},
        *({"atom": UMMA_ATOM, **more} for more in (
            {"atom_layout": "(2,1,1)"}, {"permutation": "(256,64,16)"}, {"tile": [128, 64]}, {"tile": [128, 96, 16]},
            {"tile": [4096, 4096, 64]}, {"tile": [256, 256, 2048]}, {"swizzle_a": "64B", "tile": [128, 64, 16]},
            {"swizzle_b": "1B"}, {"order": "n"}, {"idesc": "0x08400490"}, {"a_from": "tensor"},
        )),
        *({"atom": "tcgen05.mma.cta_group::1.kind::f16", **more} for more in (
            {"idesc": "m=128"}, {"idesc": "m=100,n=64"}, {"idesc": "0x08400494"}, {"a_from": "registers"},
        )),
        put("tiles/mma", order="k"),
    ),
    "tiles/mma/chain": (
        {"first": {"atom": UMMA_ATOM}, "second": {"atom": UMMA_ATOM}},
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
            {"atom": LDM, "tiled_mma": {"atom": F16, "atom_layout": "(4,1,1)", "permutation": "(32,32,16)",
                                        "tile": [64, 32, 16]}},
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
}  # fmt: skip
