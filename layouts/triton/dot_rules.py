"""The conditions of each instruction, with a sentence for a product that fails one.

Triton 3.9.0, as its wheel answers (tests/test_triton_dot.py): lib/Analysis/Utility.cpp and
lib/Dialect/TritonGPU/Transforms/AccelerateMatmul.cpp.
"""

from __future__ import annotations

from collections.abc import Callable

from lanescope.ptx.targets import strip_suffix
from lanescope.triton.dot_product import Product
from lanescope.triton.dot_types import F64_MMA

Rule = Callable[[Product], str]  # why the product fails the condition; "" if it does not


def list_failures(rules: tuple[Rule, ...], product: Product) -> tuple[str, ...]:
    return tuple(failure for rule in rules if (failure := rule(product)))


def _fail_ieee(product: Product) -> str:
    precise = product.a.name == "fp32" and product.dot.precision == "ieee"
    return "fp32 with input_precision ieee: tensor cores would round it to TF32" if precise else ""


def _fail_rows(product: Product, instruction: str) -> str:
    rows = product.part[0]
    of_block = " of one block" if product.split[0] > 1 else ""
    if rows % 64 == 0:
        return ""
    return f"M{of_block} = {rows} < 64: {instruction} has 64 rows or more"


def _fail_columns(product: Product, instruction: str) -> str:
    cols = product.part[1]
    of_block = " of one block" if product.split[1] > 1 else ""
    return "" if cols % 8 == 0 else f"N{of_block} = {cols} < 8: {instruction} has 8 columns or more"


def _fail_depth(product: Product, instruction: str) -> str:
    least = 256 // product.a.bits
    return "" if product.dot.k >= least else f"K = {product.dot.k} < {least}, the K of one {instruction}"


def _fail_warps(product: Product, instruction: str) -> str:
    warps = product.dot.num_warps
    if instruction == "wgmma":
        return "" if warps % 4 == 0 else f"num_warps = {warps} is not a multiple of 4: a warpgroup has 4 warps"
    return "" if warps in (4, 8) else f"num_warps = {warps}: Triton reads tensor memory with 4 or 8 warps"


def _fail_integers(product: Product) -> str:
    if not product.a.integer or product.dot.capability == 100:
        return ""
    return f"int8: Triton uses tcgen05.mma's kind::i8 on sm_100 only, not on {strip_suffix(product.dot.target)}"


def _fail_f64(product: Product, instruction: str) -> str:
    return f"fp64: {instruction} does not support it" if product.a.name == "fp64" else ""


def _fail_imprecise(product: Product) -> str:
    limit = product.dot.imprecise
    if not product.a.fp8 or product.dot.acc != "fp32" or limit is None or limit >= 32:
        return ""
    return f"max_num_imprecise_acc = {limit} < 32: wgmma adds up FP8 with fewer bits"


def _fail_f64_units(product: Product) -> str:
    if product.a.name != "fp64" or product.dot.capability in F64_MMA:
        return ""
    return f"fp64: on {strip_suffix(product.dot.target)} Triton leaves it to FMAs, as its FP64 tensor cores are slow"


TENSOR_MEMORY_RULES: tuple[Rule, ...] = (
    _fail_ieee,
    _fail_integers,
    lambda product: _fail_f64(product, "tcgen05.mma"),
    lambda product: _fail_warps(product, "tcgen05.mma"),
    lambda product: _fail_rows(product, "tcgen05.mma"),
    lambda product: _fail_columns(product, "tcgen05.mma"),
    lambda product: _fail_depth(product, "tcgen05.mma"),
)
WARPGROUP_RULES: tuple[Rule, ...] = (
    _fail_ieee,
    lambda product: _fail_f64(product, "wgmma"),
    lambda product: _fail_warps(product, "wgmma"),
    lambda product: _fail_rows(product, "wgmma"),
    lambda product: _fail_columns(product, "wgmma"),
    lambda product: _fail_depth(product, "wgmma"),
    _fail_imprecise,
)
MMA_RULES: tuple[Rule, ...] = (_fail_ieee, _fail_f64_units)


def _fail_single_scale(product: Product) -> str:
    return "" if product.dot.scales == "ab" else "only one operand has scale factors"


def _fail_mixed(product: Product) -> str:
    fp4 = [operand.name == "e2m1" for operand in (product.a, product.b)]
    return "e2m1 with FP8: Triton has no mixed block-scaled mma.sync" if fp4[0] != fp4[1] else ""


def _fail_scaled_size(product: Product) -> str:
    if product.m < 128:
        return f"M = {product.m} < 128: Triton's block-scaled tcgen05.mma has 128 rows"
    return "" if product.n >= 16 else f"N = {product.n} < 16"


SCALED_TENSOR_MEMORY_RULES: tuple[Rule, ...] = (
    _fail_single_scale,
    lambda product: _fail_warps(product, "tcgen05.mma"),
    _fail_scaled_size,
)
SCALED_MMA_RULES: tuple[Rule, ...] = (_fail_single_scale, _fail_mixed)
