"""The instruction that Triton 3.9 chooses for tl.dot and tl.dot_scaled, the layout of D, and the reason.

    choose_instruction(TritonDot(128, 128, 64, "fp16", "fp16", "sm_90a"))

For a single product whose operands are loaded by pointers in the multiplied type, or whose A is computed from loaded
values. Triton 3.9.0: lib/Dialect/TritonGPU/Transforms/AccelerateMatmul.cpp, F32DotTC.cpp and
DecomposeScaledBlocked.cpp, python/triton/language/semantic.py; compared with its wheel (tests/test_triton_dot.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from lanescope.ptx.targets import strip_suffix
from lanescope.triton import dot_encodings as encodings, dot_rules as rules, dot_shapes as shapes
from lanescope.triton.dot_checks import check_dot
from lanescope.triton.dot_product import Attempt, DotChoice, Product, TritonDot
from lanescope.triton.dot_types import PRODUCTS, SCALED_MMA, TENSOR_MEMORY, TYPES, WARPGROUPS

__all__ = ["TritonDot", "choose_instruction"]

NAMES = {"tcgen05": "tcgen05.mma", "wgmma": "wgmma.mma_async", "mma": "mma.sync", "fma": "fma"}
NO_PTX = "Triton 3.9's wheel stops after the choice: its ptxas for targets below sm_90 does not support sm_88."
SCALED_TENSOR_MEMORY, SCALED_SYNC = "block-scaled tcgen05.mma", "block-scaled mma.sync"


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
        failed = rules.list_failures(rules.SCALED_TENSOR_MEMORY_RULES, product)
        if not failed:
            return replace(encodings.make_scaled_tensor_memory(product), attempts=(Attempt(SCALED_TENSOR_MEMORY, ()),))
        tried.append(Attempt(SCALED_TENSOR_MEMORY, failed))
    elif dot.capability in SCALED_MMA:
        failed = rules.list_failures(rules.SCALED_MMA_RULES, product)
        if not failed:
            return replace(encodings.make_scaled_mma(product), attempts=(Attempt(SCALED_SYNC, ()),))
        tried.append(Attempt(SCALED_SYNC, failed))
    else:
        tried.append(Attempt("a block-scaled instruction", (f"Triton has none on {strip_suffix(dot.target)}",)))
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
    candidates: list[tuple[str, tuple[rules.Rule, ...], Callable[[Product], DotChoice]]] = []
    if capability in TENSOR_MEMORY:
        candidates.append(("tcgen05", rules.TENSOR_MEMORY_RULES, encodings.make_tensor_memory))
    if capability in WARPGROUPS:
        candidates.append(("wgmma", rules.WARPGROUP_RULES, encodings.make_warpgroup))
    attempts: list[Attempt] = []
    if capability >= 80:
        candidates.append(("mma", rules.MMA_RULES, encodings.make_mma))
    else:
        old = f"{strip_suffix(product.dot.target)}: Triton 3.9 uses tensor cores from sm_80 on"
        attempts.append(Attempt(NAMES["mma"], (old,)))
    for name, conditions, make in candidates:
        failed = rules.list_failures(conditions, product)
        attempts.append(Attempt(NAMES[name], failed))
        if not failed:
            choice = make(product)
            return replace(choice, attempts=tuple(attempts), notes=(*notes, *choice.notes))
    choice = encodings.make_fma(product)
    return replace(choice, attempts=(*attempts, Attempt(NAMES["fma"], ())), notes=(*notes, *choice.notes))
