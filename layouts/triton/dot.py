"""The instruction that Triton 3.9 chooses for tl.dot and tl.dot_scaled, the layout of D, and the reason.

    choose_instruction(TritonDot(128, 128, 64, "fp16", "fp16", "sm_90a"))

For a single product whose operands are loaded by pointers in the multiplied type, or whose A is computed from loaded
values. Triton 3.9.0: lib/Analysis/Utility.cpp, lib/Dialect/TritonGPU/Transforms/AccelerateMatmul.cpp, F32DotTC.cpp
and DecomposeScaledBlocked.cpp, python/triton/language/semantic.py; compared with its wheel (tests/test_triton_dot.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from lanescope.triton import dot_encodings as encodings, dot_shapes as shapes
from lanescope.triton.dot_checks import check_dot
from lanescope.triton.dot_product import Attempt, DotChoice, Product, TritonDot
from lanescope.triton.dot_types import F64_MMA, PRODUCTS, SCALED_MMA, TENSOR_MEMORY, TYPES, WARPGROUPS

__all__ = ["TritonDot", "choose_instruction"]

Rule = Callable[[Product], str]  # why the product fails the condition; "" if it does not
NAMES = {"tcgen05": "tcgen05.mma", "wgmma": "wgmma.mma_async", "mma": "mma.sync", "fma": "fma"}
NO_PTX = "Triton 3.9's wheel stops after the choice: its ptxas for targets below sm_90 does not support sm_88."
SCALED_TENSOR_MEMORY, SCALED_SYNC = "block-scaled tcgen05.mma", "block-scaled mma.sync"


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
    return f"int8: Triton uses tcgen05.mma's kind::i8 on sm_100 only, not on {product.dot.target}"


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
    return f"fp64: on {product.dot.target} Triton leaves it to FMAs, as its FP64 tensor cores are slow"


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


def choose_instruction(dot: TritonDot) -> DotChoice:
    """Return Triton's choice; LayoutError for a product that it rejects, or that was not compared with it."""
    check_dot(dot)
    choice = _choose_scaled(dot) if dot.scales else _choose_plain(dot)
    return replace(choice, notes=(*choice.notes, NO_PTX)) if dot.capability == 88 else choice


def _choose_plain(dot: TritonDot) -> DotChoice:
    split = shapes.split_over_blocks(dot.m, dot.n, dot.num_ctas)
    a, b = TYPES[dot.a], TYPES[dot.b]
    product = Product(dot, dot.m, dot.n, a, b, split, min(a.bits, b.bits), dot.computed)
    count = PRODUCTS.get(dot.precision, 1) if dot.a == "fp32" else 1
    if count == 1 or (dot.precision == "tf32x3" and dot.capability < 80):
        return _choose(product)
    part = "bf16" if dot.precision.startswith("bf16") else "fp32"
    note = (
        f"input_precision {dot.precision}: each operand is split into parts of {'bf16' if part == 'bf16' else 'TF32'},"
        f" and {count} products add up."
    )
    split_up = replace(product, a=TYPES[part], b=TYPES[part], count=count, computed=True, loaded_bits=TYPES[part].bits)
    return _choose(split_up, (note,))


def _choose_scaled(dot: TritonDot) -> DotChoice:
    turned = dot.scales == "b"
    a, b, m, n = (dot.b, dot.a, dot.n, dot.m) if turned else (dot.a, dot.b, dot.m, dot.n)
    product = Product(
        dot, m, n, TYPES[a], TYPES[b], (1, 1), min(TYPES[a].bits, TYPES[b].bits), TYPES[a].bits < 16 or dot.computed
    )
    tried: list[Attempt] = []
    if dot.capability in TENSOR_MEMORY:
        failed = list_failures(SCALED_TENSOR_MEMORY_RULES, product)
        if not failed:
            return replace(encodings.make_scaled_tensor_memory(product), attempts=(Attempt(SCALED_TENSOR_MEMORY, ()),))
        tried.append(Attempt(SCALED_TENSOR_MEMORY, failed))
    elif dot.capability in SCALED_MMA:
        failed = list_failures(SCALED_MMA_RULES, product)
        if not failed:
            return replace(encodings.make_scaled_mma(product), attempts=(Attempt(SCALED_SYNC, ()),))
        tried.append(Attempt(SCALED_SYNC, failed))
    else:
        tried.append(Attempt("a block-scaled instruction", (f"Triton has none on {dot.target}",)))
    wide = "fp16" if "fp16" in (a, b) else "bf16"
    notes = [f"dot_scaled is emulated: both operands become {wide}, the factors are multiplied in, and tl.dot follows."]
    if turned:
        notes.append(
            "Only B has scales: Triton computes D' = B'·A' and turns D' back; A and B here are those of this product."
        )
    emulated = replace(product, a=TYPES[wide], b=TYPES[wide], computed=True)
    choice = _choose(emulated, tuple(notes))
    return replace(choice, attempts=(*tried, *choice.attempts), transposed=turned)


def _choose(product: Product, notes: tuple[str, ...] = ()) -> DotChoice:
    """Return the first instruction of the target whose conditions the product meets, else FMAs."""
    capability = product.dot.capability
    candidates: list[tuple[str, tuple[Rule, ...], Callable[[Product], DotChoice]]] = []
    if capability in TENSOR_MEMORY:
        candidates.append(("tcgen05", TENSOR_MEMORY_RULES, encodings.make_tensor_memory))
    if capability in WARPGROUPS:
        candidates.append(("wgmma", WARPGROUP_RULES, encodings.make_warpgroup))
    attempts: list[Attempt] = []
    if capability >= 80:
        candidates.append(("mma", MMA_RULES, encodings.make_mma))
    else:
        old = f"{product.dot.target}: Triton 3.9 uses tensor cores from sm_80 on"
        attempts.append(Attempt(NAMES["mma"], (old,)))
    for name, conditions, make in candidates:
        failed = list_failures(conditions, product)
        attempts.append(Attempt(NAMES[name], failed))
        if not failed:
            choice = make(product)
            return replace(choice, attempts=tuple(attempts), notes=(*notes, *choice.notes))
    choice = encodings.make_fma(product)
    return replace(choice, attempts=(*attempts, Attempt(NAMES["fma"], ())), notes=(*notes, *choice.notes))
