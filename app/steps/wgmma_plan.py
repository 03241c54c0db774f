"""Where the operands of a wgmma stepper are stored, from the options of its page; 1-bit elements as bytes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from lanescope.descriptor.spelling import parse_word
from lanescope.errors import LayoutError
from lanescope.product.options import parse_options
from lanescope.product.plan import DescribedSide, Options, ProductPlan, TiledSide
from lanescope.product.planning import make_plan
from lanescope.ptx.dtypes import get_dtype
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.table.descriptors import START
from lanescope.shared.swizzle import WIDEST_PATTERN

MOST_K_STEPS = 8
BYTE = 8
USUAL = "128B"  # default swizzle: that of CUTLASS's collectives


def plan_product(i: Instruction, a: str, b: str, d: str) -> ProductPlan:
    """Return a plan of at least two K steps, by default with the 128B swizzle; a tile with a user's descriptor begins
    at its start address.
    """
    options = {"a": parse_options(a, "a"), "b": parse_options(b, "b"), "d": parse_options(d, "d")}
    for name in "ab" if options["a"].get("from", "shared") == "shared" else "b":
        if options[name].get("kind", "canonical") == "canonical":
            options[name].setdefault("swizzle", USUAL)
    options = _place_given(i, options)
    plan = make_plan(i, options["a"], options["b"], options["d"])
    if plan.steps < 2 and not ("k" in options["a"] or "k" in options["b"]):
        options["b"]["k"] = str(2 * i.sizes["k"])
        plan = make_plan(i, options["a"], options["b"], options["d"])
    if plan.steps > MOST_K_STEPS:
        hint = f"The picture shows up to {MOST_K_STEPS}: k up to {MOST_K_STEPS * i.sizes['k']}."
        raise LayoutError("too_large", f"The product takes {plan.steps} K steps.", hint, "b.k")
    return plan


def _find_bases(options: dict[str, Options]) -> dict[str, int]:
    """Return, for each user's descriptor whose tile has no base, its start rounded down to the swizzle pattern."""
    bases = {}
    for name in "ab":
        if (text := options[name].get("descriptor")) and "base" not in options[name]:
            start = START.get(parse_word(text, f"{name}.descriptor").word) * START.unit
            bases[name] = start // WIDEST_PATTERN * WIDEST_PATTERN
    return bases


def _place_given(i: Instruction, options: dict[str, Options]) -> dict[str, Options]:
    """Place the tiles of a user's descriptors at their start addresses, rounded down to the swizzle pattern, and the
    other operand where it does not overlap.
    """
    bases = _find_bases(options)
    if len(bases) != 1 or options["a"].get("from", "shared") != "shared":
        return {
            name: storage | ({"base": str(bases[name])} if name in bases else {}) for name, storage in options.items()
        }
    ((name, base),) = bases.items()
    other = "b" if name == "a" else "a"
    plain = {side: storage | ({"descriptor": "0x0"} if side == name else {}) for side, storage in options.items()}
    plan = make_plan(i, plain["a"], plain["b"], plain["d"])
    sides = [side for side in (plan.a, plan.b) if isinstance(side, DescribedSide)]
    sizes = {side.letter: -(-(side.end - side.base) // WIDEST_PATTERN) * WIDEST_PATTERN for side in sides}
    moved = {name: {"base": str(base)}}
    if "base" not in options[other]:
        moved[other] = {"base": str(0 if base >= sizes[other] else base + sizes[name])}
    return {side: storage | moved.get(side, {}) for side, storage in options.items()}


def count_per_cell(i: Instruction) -> int:
    """Return the elements along K per cell of the picture: the eight of a byte, or one."""
    return max(1, BYTE // i.operands["a"].element.bits)


def view_cells(side: DescribedSide, per: int) -> DescribedSide:
    """Return an operand in cells along K: eight 1-bit elements are one byte."""
    if per == 1:
        return side
    if not isinstance(side, TiledSide):
        hint = "The tables show bytes of eight elements in other storages."
        raise LayoutError(
            "no_stepper", "Elements of 1 bit are drawn from canonical tiles alone.", hint, f"{side.letter}.kind"
        )
    tile = replace(side.tile, element_bits=BYTE, k=side.tile.k // per)
    element, k, step = get_dtype("u8"), side.k // per, side.step // per
    return replace(side, element=element, container_bits=BYTE, tile=tile, k=k, step=step)


def pack_cells(matrix: Any, per: int) -> Any:
    """Return a matrix [mn, k] in cells [mn, k / per]; the first of a byte's eight bits is the lowest."""
    if per == 1:
        return matrix
    bits = np.asarray(matrix, np.int64).reshape(len(matrix), -1, per)
    return (bits << np.arange(per)).sum(axis=2).astype(np.float64)
