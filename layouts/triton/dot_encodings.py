"""The choice for each instruction: the layout of D, the places of A and B, and the PTX text.

Triton 3.9.0, as its wheel answers (tests/test_triton_dot.py): lib/Dialect/TritonGPU/Transforms/AccelerateMatmul.cpp,
third_party/nvidia/lib/TritonNVIDIAGPUToLLVM/DotOpToLLVM/.
"""

from __future__ import annotations

from lanescope.errors import LayoutError
from lanescope.triton import dot_shapes as shapes
from lanescope.triton.dot_product import DotChoice, DotOperand, Product
from lanescope.triton.dot_types import NATIVE_FP8_MMA, TYPES, OperandType

FP4_K = 64
SHORT_ROWS = (
    "Triton stops if B is contiguous along N: its rows of 8 bytes have no layout for tcgen05.mma. Contiguous along K"
    " is open."
)


def make_tensor_memory(product: Product) -> DotChoice:
    """Return the choice of tcgen05.mma: D in tensor memory, A too if it is computed."""
    rows, cols = product.part
    kind = {16: "f16", 32: "tf32", 8: "i8" if product.a.integer else "f8f6f4"}[product.a.bits]
    stride = 2 if product.acc == "f16" else 1
    short = product.b.bits == 8 and cols == 8
    return DotChoice(
        product,
        "tcgen05",
        f"tcgen05.mma.cta_group::1.kind::{kind}",
        _format_tensor_memory(128 if rows >= 128 else 64, min(cols, shapes.WIDEST_N), stride, product.split),
        DotOperand("tensor memory" if product.computed else "shared memory", product.a),
        DotOperand("shared memory", product.b),
        notes=(SHORT_ROWS,) if short else (),
    )


def make_warpgroup(product: Product) -> DotChoice:
    """Return the choice of wgmma: B in shared memory, A too unless it is computed."""
    dot, k = product.dot, 256 // product.a.bits
    n = shapes.pick_wgmma_columns(product.part, dot.num_warps, product.a.integer)
    layout = _format_mma(3, shapes.split_over_warpgroups(product.part, dot.num_warps), (16, n, k), product.split)
    before = _format_mma(3, (dot.num_warps, 1), (16, n, k), product.split) if product.count > 1 else layout
    in_registers = DotOperand("registers", product.a, _format_operand(0, layout, 32 // product.a.bits))
    types = f"{_name_sum(product)}.{product.a.ptx}.{product.b.ptx}"
    return DotChoice(
        product,
        "wgmma",
        f"wgmma.mma_async.sync.aligned.m64n{n}k{k}.{types}",
        layout,
        in_registers if product.computed else DotOperand("shared memory", product.a),
        DotOperand("shared memory", product.b),
        before="" if before == layout else before,
    )


def make_mma(product: Product) -> DotChoice:
    """Return the choice of mma.sync: both operands in registers, FP8 as fp16 if Triton has no mma.sync of FP8."""
    notes: tuple[str, ...] = ()
    a, b = product.a, product.b
    if a.fp8 and product.dot.capability not in NATIVE_FP8_MMA:
        notes = (f"FP8 becomes fp16 first: on {product.dot.target} Triton has no mma.sync of FP8.",)
        a = b = TYPES["fp16"]
    share = shapes.chain_warps if product.count > 1 else shapes.split_over_warps
    tile, shape = ((8, 8), "m8n8k4") if a.name == "fp64" else ((16, 8), f"m16n8k{256 // a.bits}")
    layout = _format_mma(2, share(product.part, product.dot.num_warps), tile, product.split)
    acc, saturates = _name_sum(product), "satfinite." if a.integer else ""
    ptx = f"mma.sync.aligned.{shape}.row.col.{saturates}{acc}.{a.ptx}.{b.ptx}.{acc}"
    operands = _hold_operands((a, b), layout, max(1, 32 // product.loaded_bits))
    return DotChoice(product, "mma", ptx, layout, *operands, notes=notes)


def make_fma(product: Product) -> DotChoice:
    """Return the choice of FMAs: every thread computes a patch of D; both operands in the type of D."""
    dot, turned = product.dot, product.dot.scales == "b"
    sizes = (1, 1) if dot.scales else shapes.size_patch((product.m, product.n), dot.num_warps)
    blocked = shapes.make_blocked(product.part[::-1] if turned else product.part, sizes, dot.num_warps)
    size, lanes, warps = (list(reversed(sizes) if turned else sizes) for sizes in blocked)
    layout = (
        f"#ttg.blocked<{{sizePerThread = {size}, threadsPerWarp = {lanes}, warpsPerCTA = {warps},"
        f" order = {[0, 1] if turned else [1, 0]}{shapes.format_cluster(product.split)}}}>"
    )
    wide = TYPES[dot.acc]
    notes = () if wide == product.a else (f"Both operands become {wide.name}, the type of D, before the FMAs.",)
    operands = _hold_operands((wide, wide), layout)
    return DotChoice(product, "fma", f"fma.rn.{product.acc}", layout, *operands, notes=notes)


def make_scaled_tensor_memory(product: Product) -> DotChoice:
    """Return the choice of block-scaled tcgen05.mma; LayoutError if K is less than that of one FP4 instruction."""
    fp4 = product.a.name == product.b.name == "e2m1"
    _require_fp4_k(product, fp4)
    kind = ("mxf4nvf4" if product.dot.factor == 16 else "mxf4") if fp4 else "mxf8f6f4"
    return DotChoice(
        product,
        "tcgen05",
        f"tcgen05.mma.cta_group::1.kind::{kind}.block_scale.block{product.dot.factor}",
        _format_tensor_memory(128, min(product.n, shapes.WIDEST_N), 1, (1, 1)),
        DotOperand("shared memory", product.a),
        DotOperand("shared memory", product.b),
        notes=("The scale factors are in tensor memory: #ttng.tensor_memory_scales_encoding<>.",),
    )


def make_scaled_mma(product: Product) -> DotChoice:
    """Return the choice of block-scaled mma.sync (sm_120, sm_121); LayoutError as for tcgen05.mma."""
    _require_fp4_k(product, product.a.name == "e2m1")
    layout = _format_mma(2, shapes.split_over_warps(product.part, product.dot.num_warps), (16, 8), (1, 1))
    a, b, scale = product.a, product.b, "ue8m0"
    words = "m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X"
    if a.name == "e2m1":
        vector, scale = ("4X", "ue4m3") if product.dot.factor == 16 else ("2X", "ue8m0")
        words = f"m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::{vector}"
    ptx = f"mma.sync.aligned.{words}.f32.{a.ptx}.{b.ptx}.f32.{scale}"
    return DotChoice(product, "mma", ptx, layout, *_hold_operands((a, b), layout, 4))


def _require_fp4_k(product: Product, fp4: bool) -> None:
    if fp4 and product.dot.k < FP4_K:
        raise LayoutError(
            "triton_refuses",
            f"K = {product.dot.k} of e2m1: Triton does not compile it for {product.dot.target}.",
            f"From {FP4_K} on, the K of one block-scaled instruction of FP4.",
            "k",
        )


def _name_sum(product: Product) -> str:
    """Return PTX's name of the type of D."""
    return product.acc.replace("i32", "s32")


def _format_tensor_memory(rows: int, cols: int, stride: int, split: shapes.Pair) -> str:
    sizes = f"blockM = {rows}, blockN = {cols}, colStride = {stride}"
    return f"#ttng.tensor_memory_encoding<{sizes}{shapes.format_cluster(split)}>"


def _format_mma(version: int, warps: shapes.Pair, instruction: tuple[int, ...], split: shapes.Pair) -> str:
    return (
        f"#ttg.nvidia_mma<{{versionMajor = {version}, versionMinor = 0, warpsPerCTA = {list(warps)}"
        f"{shapes.format_cluster(split)}, instrShape = {list(instruction)}}}>"
    )


def _format_operand(index: int, parent: str, k_width: int = 0) -> str:
    width = f", kWidth = {k_width}" if k_width else ""
    return f"#ttg.dot_op<{{opIdx = {index}, parent = {parent}{width}}}>"


def _hold_operands(
    types: tuple[OperandType, OperandType], parent: str, k_width: int = 0
) -> tuple[DotOperand, DotOperand]:
    a, b = types
    return (
        DotOperand("registers", a, _format_operand(0, parent, k_width)),
        DotOperand("registers", b, _format_operand(1, parent, k_width)),
    )
