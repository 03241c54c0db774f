"""Names of kernels in profiles: CUTLASS's, which its scripts spell, and cuBLAS's, where SASS was seen beside them."""

from __future__ import annotations

import pytest

from lanescope.names.forms import find_forms
from lanescope.reader import recognise_text
from lanescope.reader.cutlass_names.kernel_names import recognise_kernel_names

F32_OF_F16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
TF32 = "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
SURE = {
    # the letter before the shape is the type of the sums, the type behind it that of A and B
    "cutlass_80_tensorop_f16_s16816gemm_relu_f16_128x128_32x4_tn_align8": F32_OF_F16,
    "cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_64x3_tn_align8": F32_OF_F16.replace("f16.f16.f", "bf16.bf16.f"),
    "cutlass_tensorop_h16816gemm_256x128_32x3_nn": "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16",
    "cutlass_tensorop_s16816fprop_optimized_f16_128x128_32x5_nhwc_align8": F32_OF_F16,
    "cutlass_80_tensorop_s1688tf32gemm_256x128_16x3_nn_align4": TF32,
    "cutlass_80_tensorop_s1688gemm_128x128_16x4_tn_align4": TF32,  # three products of TF32 for one of f32
    "cutlass_80_tensorop_d884gemm_64x64_16x4_nn_align1": "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
    "cutlass_tensorop_i168256xorgemm_b1_256x128_512x3_tn_align128": (
        "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc"
    ),
    # the collective builder of sm_90 takes the largest N that divides the tile's
    "cutlass3x_sm90_tensorop_gemm_bf16_bf16_f32_bf16_bf16_128x192x64_2x1x1_0_ttn_align8_warpspecialized_pingpong": (
        "wgmma.mma_async.sync.aligned.m64n192k16.f32.bf16.bf16"
    ),
    "cutlass3x_sm90_tensorop_s64x128x32gemm_e4m3_e4m3_f32_f32_e5m2_64x128x128_1x2x1_0_tnn_align16_warpspecialized": (
        "wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3"
    ),
    "cutlass3x_sm90_sptensorop_spgemm_e4m3_e5m2_f32_f16_f16_128x128x128_2x1x1_0_tnn_align32_warpspecialized": (
        "wgmma.mma_async.sp.sync.aligned.m64n128k64.f32.e4m3.e5m2"
    ),
    "cutlass3x_sm90_tensorop_gemm_e4m3_f16_f32_f16_f16_128x128x64_2x1x1_0_tnn_align16_warpspecialized": (
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16"  # e4m3 is converted to f16 first
    ),
    "cutlass3x_sm100_tensorop_gemm_f16_f16_f32_void_f16_256x128x64_4x2x1_0_tnn_align8_2sm": (
        "tcgen05.mma.cta_group::2.kind::f16"
    ),
    "cutlass3x_sm120_bstensorop_gemm_ue4m3xe2m1_ue4m3xe2m1_f32_f32_f32_128x128x128_1x1x1_0_tnn_align32": (
        "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
    ),
    # HMMA.16816.F32 was printed beside this one
    "sm80_xmma_gemm_f16f16_f16f32_f32_nn_n_tilesize96x64x32_stage3_warpsize2x2x1_tensor16x8x16_kernel": F32_OF_F16,
    "ampere_fp16_s16816gemm_fp16_64x64_sliced1x2_ldg8_relu_f2f_stages_64x6_tn": F32_OF_F16,
    "_ZN7cutlass7Kernel2I61cutlass_80_tensorop_f16_s16816gemm_f16_256x128_64x3_tn_align8EEvNT_6ParamsE": F32_OF_F16,
    "_Z4gemmN4cute8TiledMMAINS_8MMA_AtomIJNS_4SM904GMMA26MMA_64x128x16_F32F16F16_SSILNS2_5MajorE0ELS4_0EEEEEELi64E": (
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16"
    ),
    "void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm_f16_256x128_64x3_tn_align8>(Params)": F32_OF_F16,
}


@pytest.mark.parametrize("name", SURE)
def test_a_name_says_its_instruction(name: str) -> None:
    (meaning,) = recognise_text(name).found
    assert meaning.facts["ptx"] == SURE[name]


def test_what_a_name_leaves_open_stays_open() -> None:
    def list_candidates(name: str) -> list[str]:
        (meaning,) = recognise_kernel_names(name)
        return list(meaning.facts["candidates"])

    wgmma = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x64x64_warpgroupsize1x1x1_execute_segment_k_off_kernel"
    assert list_candidates(wgmma) == [f"wgmma.mma_async.sync.aligned.m64n{n}k16.f32.bf16.bf16" for n in (8, 16, 32, 64)]
    saturated = list_candidates("cutlass_80_tensorop_i16832gemm_s8_128x256_128x3_tn_align16")
    assert saturated == [f"mma.sync.aligned.m16n8k32.row.col{sat}.s32.s8.s8.s32" for sat in ("", ".satfinite")]
    cut_off = list_candidates("ampere_s16816gemm")
    assert {F32_OF_F16, F32_OF_F16.replace("f16.f16.f", "bf16.bf16.f")} < set(cut_off)


@pytest.mark.parametrize(
    "name",
    ("cutlass_80_simt_sgemm_128x64_8x5_nn_align1", "ampere_sgemm_128x64_nn", "hopper_kernel_launcher", "cutlass_"),
)
def test_a_kernel_without_tensor_cores_has_none(name: str) -> None:
    assert not recognise_kernel_names(name)


def test_types_in_a_row_are_types() -> None:
    """Helpers of CUDA kernels are called so: mma_m16n8k16_f16f16f32."""
    joined, apart = (find_forms(name).forms for name in ("mma_m16n8k16_f16f16f32", "mma m16n8k16 f16 f32"))
    assert joined == apart and F32_OF_F16 in {instruction.ptx for instruction in joined}


@pytest.mark.parametrize("digits", ["1" * 5000, "1" * 50_000])
def test_a_number_of_thousands_of_digits_is_no_size(digits: str) -> None:
    for name in (
        f"cutlass_80_tensorop_f16_s16816gemm_f16_{digits}x128_32x3_tn",
        f"_Z{digits}gemm",
        f"sm{digits}_xmma_",
    ):
        recognise_kernel_names(name)
