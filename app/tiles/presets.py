"""TiledMMAs of real kernels, a row each.

Read in CUTLASS 7107b05 (examples/cute/tutorial/sgemm_sm80.cu, test/unit/gemm/device/default_gemm_configuration.hpp,
include/cutlass/gemm/collective/builders/sm90_gmma_builder.inl), FlashAttention 0a4755e (kernel_traits.h of
FlashAttention-2; hopper/mainloop_fwd_sm90_tma_gmma_ws.hpp), CuTe's 0t_mma_atom.md (sm_70), DeepGEMM (sm90 fp8 1D2D) and
Marlin (marlin_cuda_kernel.cu), the last two written without CuTe. Of sm_100 examples/cute/tutorial/blackwell, 72, 77
and 83 of CUTLASS's examples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import urlencode

from lanescope.app.kit.fact import fact

PATH = "/tiles/mma"
K_K = "UMMA::Major::K, UMMA::Major::K"
MARLIN = "(_,(8,4,8):(1,64,8),_)"  # the 64 columns of a warp are adjacent


@fact
class MmaPreset:
    """A TiledMMA by the name of the kernel that uses it."""

    name: str
    kernel: str
    about: str
    atom: str
    tile: str
    atom_layout: str = ""
    permutation: str = ""

    @property
    def fields(self) -> dict[str, str]:
        return {"atom": self.atom, "atom_layout": self.atom_layout, "permutation": self.permutation, "tile": self.tile}


PRESETS = (
    MmaPreset(
        name="sgemm_sm80",
        kernel="CuTe tutorial sgemm_sm80",
        about="4 warps, two adjacent atoms in N for ldmatrix.x4",
        atom="SM80_16x8x16_F16F16F16F16_TN",
        atom_layout="(2,2,1)",
        permutation="(32,32,16)",
        tile="128x128x64",
    ),
    MmaPreset(
        name="sm80_default",
        kernel="CUTLASS default, sm_80 f16",
        about="4 warps, f32 accumulators",
        atom="SM80_16x8x16_F32F16F16F32_TN",
        atom_layout="(2,2,1)",
        permutation="(32,32,16)",
        tile="128x128x32",
    ),
    MmaPreset(
        name="sm80_tf32",
        kernel="CUTLASS default, sm_80 tf32",
        about="warps numbered along N first",
        atom="SM80_16x8x8_F32TF32TF32F32_TN",
        atom_layout="(2,2,1):(2,1,1)",
        permutation="(32,32,8)",
        tile="128x128x32",
    ),
    MmaPreset(
        name="sm80_int8",
        kernel="CUTLASS default, sm_80 s8",
        about="4 warps, s32 accumulators",
        atom="SM80_16x8x32_S32S8S8S32_TN",
        atom_layout="(2,2,1)",
        permutation="(32,32,32)",
        tile="128x128x64",
    ),
    MmaPreset(
        name="fa2_qk",
        kernel="FlashAttention-2, S = QKᵀ",
        about="each warp has whole rows of S, so softmax needs no other warp",
        atom="SM80_16x8x16_F32F16F16F32_TN",
        atom_layout="(4,1,1)",
        permutation="(64,16,16)",
        tile="128x128x64",
    ),
    MmaPreset(
        name="fa2_pv",
        kernel="FlashAttention-2, O = PV",
        about="the same TiledMMA over head dimension 64",
        atom="SM80_16x8x16_F32F16F16F32_TN",
        atom_layout="(4,1,1)",
        permutation="(64,16,16)",
        tile="128x64x128",
    ),
    MmaPreset(
        name="fa3_qk",
        kernel="FlashAttention-3, S = QKᵀ",
        about="2 warpgroups, Q and K in shared memory",
        atom="SM90_64x128x16_F32BF16BF16_SS",
        atom_layout="(2,1,1)",
        tile="128x128x128",
    ),
    MmaPreset(
        name="fa3_pv",
        kernel="FlashAttention-3, O = PV",
        about="P comes from registers",
        atom="SM90_64x128x16_F32BF16BF16_RS",
        atom_layout="(2,1,1)",
        tile="128x128x128",
    ),
    MmaPreset(
        name="sm90_cooperative",
        kernel="CUTLASS default, sm_90 cooperative",
        about="2 warpgroups split M",
        atom="SM90_64x128x16_F32F16F16_SS",
        atom_layout="(2,1,1)",
        tile="128x128x64",
    ),
    MmaPreset(
        name="sm90_pingpong",
        kernel="CUTLASS default, sm_90 pingpong",
        about="1 warpgroup has a whole tile",
        atom="SM90_64x128x16_F32F16F16_SS",
        atom_layout="(1,1,1)",
        tile="64x128x64",
    ),
    MmaPreset(
        name="deepgemm",
        kernel="DeepGEMM, fp8",
        about="2 warpgroups, K steps of 32 bytes",
        atom="SM90_64x128x32_F32E4M3E4M3_SS_TN",
        atom_layout="(2,1,1)",
        tile="128x128x128",
    ),
    MmaPreset(
        name="marlin",
        kernel="Marlin, 4-bit weights",
        about="8 warps: 4 in N, each with 64 adjacent columns, and 2 in K",
        atom="SM80_16x8x16_F32F16F16F32_TN",
        atom_layout="(1,4,2)",
        permutation=MARLIN,
        tile="64x256x64",
    ),
    MmaPreset(
        name="umma_ss",
        kernel="CuTe tutorial, sm_100",
        about="one CTA, A and B in shared memory, D in tensor memory",
        atom=f"SM100_MMA_F16BF16_SS<half_t, half_t, float, 128, 256, {K_K}>",
        tile="128x256x64",
    ),
    MmaPreset(
        name="umma_2sm",
        kernel="CuTe tutorial, sm_100, a pair of CTAs",
        about="each CTA has half of the rows of A, of the columns of B",
        atom=f"SM100_MMA_F16BF16_2x1SM_SS<half_t, half_t, float, 256, 256, {K_K}>",
        tile="256x256x64",
    ),
    MmaPreset(
        name="umma_ts",
        kernel="CUTLASS FMHA, sm_100, O = PV",
        about="P comes from tensor memory",
        atom="SM100_MMA_F16BF16_TS<half_t, half_t, float, 128, 128, UMMA::Major::K, UMMA::Major::MN>",
        tile="128x128x128",
    ),
    MmaPreset(
        name="umma_nvfp4",
        kernel="CUTLASS narrow precision, sm_100 nvfp4",
        about="block-scaled, a pair of CTAs",
        atom=f"SM100_MMA_MXF4_2x1SM_SS<float_e2m1_t, float_e2m1_t, float, float_ue4m3_t, 256, 256, 16, {K_K}>",
        tile="256x256x256",
    ),
    MmaPreset(
        name="umma_mxf8",
        kernel="CUTLASS narrow precision, sm_100 mxfp8",
        about="block-scaled, one CTA",
        atom=f"SM100_MMA_MXF8F6F4_SS<float_e4m3_t, float_e4m3_t, float, float_ue8m0_t, 128, 128, {K_K}>",
        tile="128x128x128",
    ),
    MmaPreset(
        name="umma_sparse",
        kernel="CUTLASS sparse GEMM, sm_100",
        about="A stored without its zeros, metadata in tensor memory",
        atom=f"SM100_MMA_F16BF16_SS_SPARSE<half_t, half_t, float, 128, 128, {K_K}>",
        tile="128x128x128",
    ),
    MmaPreset(
        name="volta",
        kernel="CuTe's documentation, sm_70",
        about="an atom of 8 threads: four of them are a warp",
        atom="SM70_8x8x4_F32F16F16F32_NT",
        atom_layout="(2,2,1):(2,1,1)",
        permutation="(32,32,4)",
        tile="32x32x8",
    ),
)


@fact
class PresetLink:
    """A preset as a link. about: a sentence on it, "" for none."""

    text: str
    href: str
    chosen: bool
    about: str = ""


def list_presets(fields: Mapping[str, str]) -> list[PresetLink]:
    """Return the presets as links; the current one is marked."""
    return [
        PresetLink(
            text=preset.kernel,
            about=preset.about,
            href=link_preset(preset),
            chosen=all(fields[k] == v for k, v in preset.fields.items()),
        )
        for preset in PRESETS
    ]


def link_examples(
    examples: Mapping[str, Mapping[str, str]], fields: Mapping[str, str], link: Callable[[Mapping[str, str]], str]
) -> list[PresetLink]:
    """Return the fields of examples, by their names, as links; the current one is marked."""
    return [
        PresetLink(text=text, href=link(each), chosen=dict(each) == dict(fields)) for text, each in examples.items()
    ]


def link_preset(preset: MmaPreset) -> str:
    """Link to the page of a preset."""
    return f"{PATH}?{urlencode({k: v for k, v in preset.fields.items() if v}, safe='(),:<>')}"
