"""Static assertions of CuTe's selection of a wgmma, and of tcgen05.mma, as worded in CUTLASS 4.2.0."""

from __future__ import annotations

from lanescope.messages.cute_programs import make_row

_WGMMA, _UMMA = ("wgmma", "/instructions?family=wgmma"), ("Tensor memory", "/guide/tensor-memory")
_ATOMS = ("Swizzle atoms of shared memory", "/smem/atoms")
_SELECTOR = "cute/arch/mma_sm90.hpp"
_SM100, _SM100_TRAITS = "cute/arch/mma_sm100_umma.hpp", "cute/atom/mma_traits_sm100.hpp"


def _select(types: str, shape: str, majors: str = "", kind: str = "ss") -> str:
    return f"auto x = SM90::GMMA::{kind}_op_selector<{types}, float, {shape}{majors}>();"


def _umma(m: int, n: int, pair: str = "") -> str:
    return (
        f"auto x = make_tiled_mma(SM100_MMA_F16BF16{pair}_SS<half_t, half_t, float, {m}, {n}, UMMA::Major::K,"
        " UMMA::Major::K>{});"
    )


def _umma_call(c: str) -> str:
    return (
        "MMA_Atom<SM100_MMA_F16BF16_SS<half_t, half_t, float, 128, 128, UMMA::Major::K, UMMA::Major::K>> mma;\n"
        f"auto a = make_tensor<uint64_t>(Shape<_1>{{}});\nauto c = {c};\nmma.call(c, a, a, c);"
    )


_HALVES, _FP8 = "half_t, half_t", "float_e4m3_t, float_e4m3_t"
SELECTOR_ROWS = (
    make_row(
        "gmma-tile-m",
        "M of the tile is not a multiple of 64",
        ("Tile_M must be a multiple of 64.",),
        _SELECTOR,
        reason="wgmma requires M = 64, but the tile's M is not a multiple of it.",
        change="Make M a multiple of 64. For a small M exchange A and B: the small dimension becomes N.",
        wrong=_select(_HALVES, "Shape<_32, _64, _16>"),
        right=_select(_HALVES, "Shape<_64, _64, _16>"),
        links=(_WGMMA,),
    ),
    make_row(
        "gmma-tile-n",
        "N of the tile is not a multiple of 8",
        ("Tile_N must be a multiple of 8.",),
        _SELECTOR,
        reason="N of wgmma is a multiple of 8 from 8 to 256; for 8-bit integers 8, 16, 24, 32, then multiples of 16.",
        change="Make N a multiple of 8, and pad or predicate the rest.",
        wrong=_select(_HALVES, "Shape<_64, Int<12>, _16>"),
        right=_select(_HALVES, "Shape<_64, Int<16>, _16>"),
        links=(_WGMMA,),
    ),
    make_row(
        "gmma-tile-k",
        "K of the tile is not a multiple of the instruction's K",
        ("Tile_K must be a multiple of {k}.",),
        _SELECTOR,
        reason="One wgmma reads 32 bytes of K: 16 elements of 16 bits, 32 of 8 bits, 8 of tf32; twice as many with"
        " sparsity.",
        change="Make K a multiple of it; a swizzled tile needs 32, 64 or 128 bytes.",
        wrong=_select(_HALVES, "Shape<_64, _64, _8>"),
        right=_select(_HALVES, "Shape<_64, _64, _16>"),
        links=(_WGMMA,),
    ),
    make_row(
        "gmma-major-a",
        "A of this type must be K-major",
        ("MajorA must be GMMA::Major::K for this config.",),
        _SELECTOR,
        reason="wgmma can transpose only 16-bit operands; tf32 and 8-bit operands must be K-major in shared memory.",
        change="Store A with K contiguous, or transpose it in the copy to shared memory.",
        wrong=_select(_FP8, "Shape<_64, _64, _32>", ", SM90::GMMA::Major::MN"),
        right=_select(_FP8, "Shape<_64, _64, _32>"),
        links=(("K-major needs no transpose", "/guide/k-major-needs-no-transpose"),),
    ),
    make_row(
        "gmma-major-b",
        "B of this type must be K-major",
        ("MajorB must be GMMA::Major::K for this config.",),
        _SELECTOR,
        reason="wgmma can transpose only 16-bit operands; tf32 and 8-bit operands must be K-major in shared memory.",
        change="Store B as (N, K) with K contiguous: V of FP8 attention must be transposed first.",
        wrong=_select(_FP8, "Shape<_64, _64, _32>", ", SM90::GMMA::Major::K, SM90::GMMA::Major::MN"),
        right=_select(_FP8, "Shape<_64, _64, _32>"),
        links=(("K-major needs no transpose", "/guide/k-major-needs-no-transpose"),),
    ),
    make_row(
        "gmma-no-operator",
        "No wgmma has these types",
        ("No eligible GMMA operator for request configuration.",),
        _SELECTOR,
        reason="No wgmma has these types of A, B and C: A and B differ, or f32 inputs should be tf32.",
        change="Use the same type for A and B; pass f32 data as tfloat32_t.",
        wrong=_select("half_t, float", "Shape<_64, _64, _16>"),
        right=_select(_HALVES, "Shape<_64, _64, _16>"),
        links=(_WGMMA, ("Shapes and types", "/guide/shapes")),
    ),
    make_row(
        "gmma-rs-major",
        "A in registers is K-major",
        ("Register source A operand GMMAs must have K-major A layout.",),
        _SELECTOR,
        reason="A fragment in registers has no choice of major: the selector requires K.",
        change="Keep the major of A at K, and load the fragment with ldmatrix.trans if A is MN-major.",
        wrong=_select(_HALVES, "Shape<_64, _64, _16>", ", SM90::GMMA::Major::MN", "rs"),
        right=_select(_HALVES, "Shape<_64, _64, _16>", kind="rs"),
        links=(_WGMMA, ("ldmatrix", "/guide/ldmatrix")),
    ),
    make_row(
        "gmma-wait",
        "A wait for more than 7 groups",
        ("WGMMA wait: N must be in range [0, 7]",),
        "cute/arch/mma_sm90_gmma.hpp",
        reason="warpgroup_wait<N> leaves N groups pending; CuTe allows 0 to 7.",
        change="Use at most 7. A pipeline seldom has more than 1 or 2 groups pending.",
        wrong="warpgroup_wait<8>();",
        right="warpgroup_wait<7>();",
        links=(("wgmma.wait_group", "/guide/wgmma.wait_group"),),
    ),
    make_row(
        "umma-m",
        "tcgen05.mma of one CTA has no such M",
        ("M-mode size should be 64 or 128 for 1 CTA cluster MMA.",),
        _SM100,
        reason="M of a tcgen05.mma with cta_group::1 is 64 or 128.",
        change="Use M = 128, or the 2x1SM operation for 256.",
        wrong=_umma(256, 128),
        right=_umma(128, 128),
        links=(_UMMA,),
    ),
    make_row(
        "umma-pair-m",
        "tcgen05.mma of two CTAs has no such M",
        ("M-mode size should be 128 or 256 for 2 CTA cluster MMA.",),
        _SM100,
        reason="M of a tcgen05.mma with cta_group::2 is 128 or 256, over both CTAs.",
        change="Use M = 256, or the 1SM operation for 64.",
        wrong=_umma(64, 128, "_2x1SM"),
        right=_umma(256, 128, "_2x1SM"),
        links=(_UMMA,),
    ),
    make_row(
        "umma-n",
        "tcgen05.mma has no such N",
        (
            "N-mode size should be a multiple of {step} between {least} and 256",
            "N-mode size should be 8 or a multiple of {step} between {least} and 256",
        ),
        _SM100,
        reason="N of tcgen05.mma is at most 256, in steps that depend on M: 8 with M = 64, 16 with M = 128, 16 or 32"
        " with two CTAs. For f16 and bf16, CUTLASS 4.2.0 asserts 8 for any M.",
        change="Round N up to 16 (32 with two CTAs and M = 256).",
        wrong=_umma(128, 20),
        right=_umma(128, 32),
        links=(_UMMA,),
    ),
    make_row(
        "umma-k-stride",
        "A K-major tile that no descriptor of tcgen05 reads",
        ("Not a canonical UMMA_K Layout: Expected stride failure.",),
        _SM100_TRAITS,
        reason="The rows of a core matrix are one swizzle width apart (16 bytes without a swizzle), but here they"
        " are not.",
        change="Use tile_to_shape(UMMA::Layout_K_SW128_Atom<T>{}, shape), or another of its family.",
        wrong="auto s = make_tensor(make_smem_ptr((half_t*)nullptr), Layout<Shape<_128, _16>, Stride<_64, _1>>{});\n"
        "auto x = UMMA::make_umma_desc<UMMA::Major::K>(s);",
        right="auto s = make_tensor(make_smem_ptr((half_t*)nullptr),\n"
        "  tile_to_shape(UMMA::Layout_K_INTER_Atom<half_t>{}, Shape<_128, _16>{}));\n"
        "auto x = UMMA::make_umma_desc<UMMA::Major::K>(s);",
        links=(_ATOMS, ("Descriptor of tcgen05", "/descriptor/tcgen05")),
    ),
    make_row(
        "umma-accumulator",
        "The accumulator of tcgen05.mma is not in tensor memory",
        ("Expected tmem in MMA_Atom::call",),
        _SM100_TRAITS,
        reason="tcgen05.mma accumulates in tensor memory, but the accumulator is a register tensor.",
        change="Make it with partition_fragment_C or make_fragment_C, and set the address that the allocator"
        " returned. tcgen05.ld loads it into registers.",
        wrong=_umma_call("make_tensor<float>(Shape<_128>{})"),
        right=_umma_call("make_tensor(make_tmem_ptr<float>(0), Layout<Shape<_128>>{})"),
        links=(_UMMA, ("Tensor memory", "/tmem")),
    ),
)
