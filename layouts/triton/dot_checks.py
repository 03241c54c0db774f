"""Errors of Triton 3.9 for tl.dot before it chooses an instruction, and products that were not compared with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanescope.errors import LayoutError
from lanescope.ptx.targets import TARGETS, make_unknown_target_error
from lanescope.triton.dot_types import (
    ACCUMULATORS,
    LEAST_K,
    MOST_BLOCKS,
    MOST_CLUSTER,
    MOST_ELEMENTS,
    MOST_WARPS,
    PRECISIONS,
    PRODUCTS,
    RESULTS,
    SCALED_TYPES,
    TYPES,
    OperandType,
)

if TYPE_CHECKING:
    from lanescope.triton.dot_product import TritonDot


def check_dot(dot: TritonDot) -> None:
    """Raise LayoutError for a product that Triton rejects, or that was not compared with Triton."""
    if dot.target not in TARGETS:
        raise make_unknown_target_error(dot.target, "target")
    for field, value, allowed in (
        ("a", dot.a, TYPES),
        ("b", dot.b, TYPES),
        ("acc", dot.acc, ACCUMULATORS),
        ("precision", dot.precision, PRECISIONS),
        ("scales", dot.scales, ("", "a", "b", "ab")),
    ):
        if value not in allowed:
            raise _refuse(f"{field} is '{value}'.", f"Allowed: {', '.join(allowed)}.", field)
    _check_sizes(dot)
    if dot.scales:
        _check_scaled(dot)
    else:
        _check_plain(dot)
    for field, kind in (("a", dot.a), ("b", dot.b)):
        if kind == "fp8e4nv" and dot.capability < 89:
            raise _refuse(f"No fp8e4nv (e4m3) on {dot.target}.", "From sm_89 on; fp8e5 exists everywhere.", field)


def _refuse(message: str, hint: str, field: str) -> LayoutError:
    return LayoutError("triton_refuses", message, hint, field)


def _leave_open(message: str, hint: str, field: str) -> LayoutError:
    return LayoutError("open", f"Not compared with Triton, so open: {message}", hint, field)


def _check_sizes(dot: TritonDot) -> None:
    for field, size, most in (
        ("m", dot.m, MOST_ELEMENTS),
        ("n", dot.n, MOST_ELEMENTS),
        ("k", dot.k, MOST_ELEMENTS),
        ("num_warps", dot.num_warps, MOST_WARPS),
        ("num_ctas", dot.num_ctas, MOST_CLUSTER),
    ):
        if size < 1 or size & (size - 1) or size > most:
            raise _refuse(f"{field} is {size}.", f"A power of two up to {most}, as in Triton.", field)
    for field, rows, cols in (("k", dot.m, dot.k), ("k", dot.k, dot.n), ("n", dot.m, dot.n)):
        if rows * cols > MOST_ELEMENTS:
            raise _refuse(
                f"A tensor of {rows} × {cols} elements.",
                f"Triton's tensors have up to {MOST_ELEMENTS} elements.",
                field,
            )
    if dot.num_ctas > MOST_BLOCKS:
        raise _leave_open(f"clusters of {dot.num_ctas} blocks.", f"num_ctas up to {MOST_BLOCKS}.", "num_ctas")
    if dot.num_ctas > 1 and dot.capability < 90:
        raise _refuse(f"num_ctas = {dot.num_ctas} on {dot.target}.", "Clusters exist from sm_90 on.", "num_ctas")


def _check_plain(dot: TritonDot) -> None:
    a, b = TYPES[dot.a], TYPES[dot.b]
    if "e2m1" in (a.name, b.name):
        raise _refuse(
            "tl.dot does not accept e2m1.", "tl.dot_scaled does: specify which operands have scales.", "scales"
        )
    if a != b and not (a.fp8 and b.fp8):
        raise _refuse(f"tl.dot does not multiply {a.name} by {b.name}.", "Both of one type; of FP8 any two.", "b")
    if dot.k < LEAST_K[a.bits]:
        raise _refuse(f"K = {dot.k} of {a.name}.", f"tl.dot requires K ≥ {LEAST_K[a.bits]} for this type.", "k")
    allowed = RESULTS.get(a.name, ("fp32", "fp16"))
    if dot.acc not in allowed:
        raise _refuse(f"D of {a.name} is not {dot.acc}.", f"Triton has {' or '.join(allowed)}.", "acc")
    if a.integer and dot.capability < 80:
        raise _refuse(
            f"Triton 3.9 does not compile int8 on {dot.target}.", "Its FMAs support floats only; sm_80 has mma.", "a"
        )
    if dot.imprecise is not None:
        _check_imprecise(a, dot.imprecise, dot.k)
    if dot.computed and a.fp8:
        raise _leave_open("FP8 that is computed.", "FP8 as it was loaded.", "computed")
    if dot.num_ctas > 1 and a.name == "fp32" and dot.precision in PRODUCTS:
        raise _leave_open(f"{dot.precision} with several blocks.", "num_ctas = 1.", "num_ctas")


def _check_imprecise(a: OperandType, imprecise: int, k: int) -> None:
    if not a.fp8:
        raise _refuse(f"max_num_imprecise_acc with {a.name}.", "Triton reads it for FP8 only.", "imprecise")
    if not 0 <= imprecise <= k:
        raise _refuse(f"max_num_imprecise_acc = {imprecise}.", f"From 0 to K, {k}.", "imprecise")


def _check_scaled(dot: TritonDot) -> None:
    if dot.capability < 80:
        raise _leave_open("tl.dot_scaled before sm_80.", "From sm_80 on.", "target")
    _check_scaled_types(dot)
    if {dot.a, dot.b} == {"bf16", "fp16"}:
        raise _leave_open("bf16 with fp16.", "One of them with FP8 or e2m1.", "b")
    if dot.acc != "fp32":
        raise _leave_open(f"tl.dot_scaled with D in {dot.acc}.", "fp32.", "acc")
    if dot.factor not in (16, 32):
        raise _refuse(f"{dot.factor} elements of K share a scale.", "32, or 16 (NVFP4).", "factor")
    if dot.factor == 16 and not (dot.a == dot.b == "e2m1" and dot.scales == "ab"):
        raise _leave_open("16 elements a scale.", "e2m1 times e2m1, both with scales.", "factor")
    if dot.k < 32:
        raise _refuse(f"K = {dot.k} is less than the elements per scale.", "From 32 on.", "k")
    if dot.num_ctas > 1:
        raise _leave_open("tl.dot_scaled with several blocks.", "num_ctas = 1.", "num_ctas")
    if dot.computed:
        raise _leave_open("tl.dot_scaled of a computed A.", "A as it was loaded.", "computed")
    if dot.imprecise is not None:
        raise _refuse("tl.dot_scaled has no max_num_imprecise_acc.", "Leave it out.", "imprecise")


def _check_scaled_types(dot: TritonDot) -> None:
    for field, kind in (("a", dot.a), ("b", dot.b)):
        if kind not in SCALED_TYPES:
            raise _refuse(f"tl.dot_scaled does not accept {kind}.", f"Allowed: {', '.join(SCALED_TYPES)}.", field)
        if field in dot.scales and TYPES[kind].bits == 16:
            raise _leave_open(f"scale factors of {kind}.", "Scales of FP8 and e2m1.", "scales")
