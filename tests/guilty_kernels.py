"""One kernel, and the same with a mistake planted in a literal: in the helper, a macro, a constant, a template
argument, a call. Its tile is 64 × 64 bf16 in a TMA box with the 128B swizzle: 8 rows of 128 bytes are 1,024 apart.
"""

from __future__ import annotations

from dataclasses import dataclass

MAP = """uint32_t box[2] = {64, 64};
cuTensorMapEncodeTiled(&tma_a, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, gmem_a, dims, strides, box, ones,
    CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
    CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
"""
CODE = """__device__ uint64_t make_smem_desc(const void* p) {
  uint64_t a = __cvta_generic_to_shared(p);
  uint64_t d = (a & 0x3FFFF) >> 4;
  d |= (uint64_t)(16 >> 4) << 16;
  d |= (uint64_t)(1024 >> 4) << 32;
  d |= 1llu << 62;
  return d;
}
__global__ void gemm(float* out) {
  extern __shared__ __align__(1024) __nv_bfloat16 smem[];
  __nv_bfloat16 *sA = smem, *sB = smem + 64 * 64;
  float acc[32];
  for (int k = 0; k < 64 / 16; ++k) {
    uint64_t desc_a = make_smem_desc(sA + k * 16);
    uint64_t desc_b = make_smem_desc(sB + k * 16);
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%0, %31}, %32, %33, 1, 1, 1, 0, 0;"
        : "+f"(acc[0]) : "l"(desc_a), "l"(desc_b));
  }
}
"""
RIGHT = MAP + CODE


def plant(*pairs: tuple[str, str]) -> str:
    """Return the kernel with each second text in place of the first, wherever it is."""
    text = RIGHT
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


@dataclass(frozen=True)
class GuiltyKernel:
    """A kernel with one mistake; repairs: what stands at each guilty place, and what belongs there."""

    title: str
    text: str
    repairs: tuple[tuple[tuple[str, str], ...], ...]

    def __str__(self) -> str:
        return self.title


HELPER = ("__device__ uint64_t", "{}\n__device__ uint64_t")
KERNELS = (
    GuiltyKernel("in the helper", plant(("(1024 >>", "(512 >>")), ((("512", "1024"),),)),
    GuiltyKernel("in hexadecimal", plant(("(1024 >>", "(0x200u >>")), ((("0x200u", "0x400u"),),)),
    GuiltyKernel("in octal", plant(("(1024 >>", "(01000 >>")), ((("01000", "1024"),),)),
    GuiltyKernel("in binary", plant(("(1024 >>", "(0b1000000000 >>")), ((("0b1000000000", "0b10000000000"),),)),
    GuiltyKernel("with a separator", plant(("(1024 >>", "(5'12 >>")), ((("5'12", "1024"),),)),
    GuiltyKernel(
        "encoded, where the shift is the same number", plant(("(1024 >> 4) << 32", "32 << 32")), ((("32", "64"),),)
    ),
    GuiltyKernel(
        "in a macro",
        plant(("(1024 >>", "(SBO_BYTES >>"), (HELPER[0], HELPER[1].format("#define SBO_BYTES 512"))),
        ((("512", "1024"),),),
    ),
    GuiltyKernel(
        "in the macro of a macro",
        plant(
            ("(1024 >>", "(SBO_BYTES >>"),
            (HELPER[0], HELPER[1].format("#define STRIDE 512\n#define ROWS STRIDE\n#define SBO_BYTES ROWS")),
        ),
        ((("512", "1024"),),),
    ),
    GuiltyKernel(
        "in a macro's argument",
        plant(("(1024 >> 4)", "ENCODE(512)"), (HELPER[0], HELPER[1].format("#define ENCODE(x) ((x) >> 4)"))),
        ((("512", "1024"),),),
    ),
    GuiltyKernel(
        "in one of two factors",
        plant(
            ("(1024 >>", "(kStride >>"),
            (HELPER[0], HELPER[1].format("constexpr int kWidth = 64, kStride = 8 * kWidth;")),
        ),
        ((("8", "16"),), (("64", "128"),)),
    ),
    GuiltyKernel(
        "in a template argument",
        plant(
            ("(1024 >>", "(SBO >>"),
            (HELPER[0], HELPER[1].format("template <int SBO>")),
            ("make_smem_desc(s", "make_smem_desc<512>(s"),
        ),
        ((("512", "1024"),),),
    ),
    GuiltyKernel(
        "in a template's default",
        plant(
            ("(1024 >>", "(SBO >>"),
            (HELPER[0], HELPER[1].format("template <int SBO = 512>")),
            ("make_smem_desc(s", "make_smem_desc<>(s"),
        ),
        ((("512", "1024"),),),
    ),
    GuiltyKernel(
        "in a call's argument",
        plant(("(1024 >>", "(sbo >>"), ("const void* p", "const void* p, int sbo"), ("* 16);", "* 16, 512);")),
        ((("512", "1024"),),),
    ),
    GuiltyKernel("in the swizzle", plant(("1llu << 62", "2llu << 62")), ((("2llu", "1llu"),),)),
    GuiltyKernel("in the K step", plant(("sA + k * 16", "sA + k * 32")), ((("32", "16"),),)),
    GuiltyKernel(
        "LBO and SBO exchanged",
        plant(("(16 >> 4)", "(LBO >> 4)"), ("(1024 >>", "(16 >>"), ("(LBO >>", "(1024 >>")),
        ((("1024", "16"), ("16", "1024")),),
    ),
    GuiltyKernel(
        "without the shift",
        plant(("(a & 0x3FFFF) >> 4", "(a & 0x3FFFF)")),
        ((("(a & 0x3FFFF)", "((a & 0x3FFFF) >> 4)"),),),
    ),
    GuiltyKernel(
        "without the shift, where >> would bind before &",
        plant(("(a & 0x3FFFF) >> 4", "a & 0x3FFFF")),
        ((("a & 0x3FFFF", "((a & 0x3FFFF) >> 4)"),),),
    ),
    GuiltyKernel("in the transpose of A", plant(("1, 1, 1, 0, 0", "1, 1, 1, 1, 0")), ((("1", "0"),),)),
)
