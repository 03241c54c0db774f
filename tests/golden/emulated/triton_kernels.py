"""Kernels in Triton for the emulator, compiled without a GPU."""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def mm(A, B, C, M, N, K, sa, sb, sc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    rm = pm * BM + tl.arange(0, BM)
    rn = pn * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        a = tl.load(
            A + rm[:, None] * sa + (k + rk)[None, :], mask=(rm[:, None] < M) & ((k + rk)[None, :] < K), other=0.0
        )
        b = tl.load(
            B + (k + rk)[:, None] * sb + rn[None, :], mask=((k + rk)[:, None] < K) & (rn[None, :] < N), other=0.0
        )
        acc = tl.dot(a, b, acc)
    tl.store(C + rm[:, None] * sc + rn[None, :], acc.to(C.dtype.element_ty), mask=(rm[:, None] < M) & (rn[None, :] < N))


@triton.jit
def mmi(A, B, C, M, N, K, sa, sb, sc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    rm = pm * BM + tl.arange(0, BM)
    rn = pn * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.int32)
    for k in range(0, K, BK):
        a = tl.load(A + rm[:, None] * sa + (k + rk)[None, :])
        b = tl.load(B + (k + rk)[:, None] + rn[None, :] * sb)
        acc = tl.dot(a, b, acc)
    tl.store(C + rm[:, None] * sc + rn[None, :], acc)


@triton.jit
def tmamm(a_desc, b_desc, C, M, N, K, sc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, WS: tl.constexpr):
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK, warp_specialize=WS):
        a = a_desc.load([pm * BM, k])
        b = b_desc.load([pn * BN, k])
        acc = tl.dot(a, b.T, acc)
    rm = pm * BM + tl.arange(0, BM)
    rn = pn * BN + tl.arange(0, BN)
    tl.store(C + rm[:, None] * sc + rn[None, :], acc)


_ALIGNED = {(n,): [["tt.divisibility", 16]] for n in range(9)}


def _product(element: str, result: str) -> dict[str, str]:
    pointers = {"A": f"*{element}", "B": f"*{element}", "C": f"*{result}"}
    return pointers | dict.fromkeys(("M", "N", "K", "sa", "sb", "sc"), "i32")


def _tiles(*sizes: int) -> dict[tuple[int], int]:
    return {(9 + n,): size for n, size in enumerate(sizes)}


_TENSORS = {"a_desc": "tensordesc<bf16[64,64]>", "b_desc": "tensordesc<bf16[64,64]>", "C": "*fp32"}
_TENSORS |= dict.fromkeys(("M", "N", "K", "sc"), "i32")
# name → kernel, signature, constants, target, warps, aligned arguments
KERNELS = {
    "tri_bf16_80": (mm, _product("bf16", "fp32"), _tiles(64, 64, 32), 80, 4, _ALIGNED),
    "tri_bf16_90": (mm, _product("bf16", "fp32"), _tiles(64, 64, 32), 90, 4, _ALIGNED),
    "tri_f16out_80": (mm, _product("fp16", "fp16"), _tiles(128, 64, 64), 80, 8, _ALIGNED),
    "tri_f16out_90": (mm, _product("fp16", "fp16"), _tiles(128, 64, 64), 90, 8, _ALIGNED),
    "tri_i8_80": (mmi, _product("i8", "i32"), _tiles(64, 64, 64), 80, 4, _ALIGNED),
    "tri_i8_90": (mmi, _product("i8", "i32"), _tiles(64, 64, 64), 90, 4, _ALIGNED),
    "tri_fp8_90": (mm, _product("fp8e4nv", "fp32"), _tiles(64, 64, 64), 90, 4, _ALIGNED),
    "tri_tf32_90": (mm, _product("fp32", "fp32"), _tiles(64, 64, 32), 90, 4, _ALIGNED),
    "tri_tma_90": (tmamm, _TENSORS, {(7,): 64, (8,): 64, (9,): 64, (10,): False}, 90, 4, {}),
    "tri_tmaws_90": (tmamm, _TENSORS, {(7,): 64, (8,): 64, (9,): 64, (10,): True}, 90, 4, {}),
}


def compile_kernel(name: str) -> str:
    """Compile a kernel to PTX."""
    kernel, signature, constants, target, warps, aligned = KERNELS[name]
    source = ASTSource(kernel, signature, constants, aligned)
    made = triton.compile(source, target=GPUTarget("cuda", target, 32), options={"num_warps": warps, "num_stages": 3})
    return str(made.asm["ptx"])
