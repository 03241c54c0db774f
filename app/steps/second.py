"""A second product after the first: D, converted to 16 bits, is A of the second MMA, as P in flash attention."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from lanescope.app.hardware import product_inputs
from lanescope.app.hardware.product_inputs import ProductInputs
from lanescope.app.instruction import wording
from lanescope.app.kit.fact import Description, IntegerArray, RealArray, fact, make_optional_field
from lanescope.app.steps.fragments import StepperFragment, StepperResult, build_result, describe_fragment
from lanescope.errors import LayoutError
from lanescope.names import lookup
from lanescope.ptx import catalog, fragment_words
from lanescope.ptx.instruction import WARP, Instruction, Operand
from lanescope.render.reuse import find_conversion
from lanescope.tiles.reuse import AccumulatorReuse, match_accumulator

SIXTEEN_BITS = ("f16", "bf16")
OTHER_SEED = 1000  # added to the seed, for matrices that the first product does not have


@fact
class ConvertedOperand(StepperFragment):
    """A of the second product, made from D's registers."""

    numbers: Annotated[Any, RealArray((1,), "[element], rounded to its type.")]
    tile: Annotated[Any, IntegerArray(1, "[slot]: the tile of D that the element comes from.")]
    lane: Annotated[Any, IntegerArray(1, "[slot]: the lane that holds it in D.")]
    value: Annotated[Any, IntegerArray(1, "[slot]: its value in that lane.")]


@fact
class SecondOperand(StepperFragment):
    """B of the second product, loaded like any B."""

    numbers: Annotated[Any, RealArray((1,), "[element]")]


@fact
class SecondProduct:
    """Whether D is A of a second MMA without moving between lanes; if so, that product, otherwise no matrices."""

    ptx: str
    title: str
    verdict: Annotated[str, Description("registers, reordered or shuffle, as in POST /api/v1/reuse.")]
    tiles: Annotated[int, Description("D tiles side by side that make all K steps.")]
    steps: Annotated[int, Description("K steps of A that they make.")]
    stay: Annotated[int, Description("Elements already in their lane, of all K steps.")]
    total: int
    conversion: Annotated[str, Description("How a value of D becomes one of A's type.")]
    moved: Annotated[list[int], Description("The first element that is elsewhere: row, col, lane, lane of D; or none.")]
    sources: Annotated[Any, RealArray((2,), "[tile][element of D]; tile 0 is D of the first product.")]
    k_groups: Annotated[Any, IntegerArray(2, "[step of K]: its first k and the one after its last.")]
    a: ConvertedOperand | None = make_optional_field()
    b: SecondOperand | None = make_optional_field()
    d: StepperResult | None = make_optional_field()


@dataclass(frozen=True)
class SecondMatch:
    """The two instructions, and the registers of D for each register of A."""

    first: Instruction
    second: Instruction
    reuse: AccumulatorReuse

    @property
    def is_drawn(self) -> bool:
        """Return whether every value stays in its lane."""
        return self.reuse.verdict == "registers"


def match_second(first: Instruction, text: str) -> SecondMatch:
    """Match D of the first product with A of the next. LayoutError names the field `then`."""
    second = lookup.parse_instruction(text, "then")
    if not _is_plain(second):
        raise LayoutError("no_reuse", f"{second.ptx} {_explain_refusal(second)}", "Choose a dense mma.", "then")
    try:
        match = SecondMatch(first, second, match_accumulator(first, second))
    except LayoutError as error:
        raise error.move_to_field("then") from None
    if match.is_drawn and (match.reuse.steps > 1 or second.operands["a"].element.name not in SIXTEEN_BITS):
        raise LayoutError(
            "no_reuse",
            f"One D makes {match.reuse.steps} K steps of {second.ptx}.",
            "Choose a second mma whose K is as long as D is wide, or longer.",
            "then",
        )
    if match.is_drawn and second.types["d"] != "f32":
        raise LayoutError(
            "no_reuse",
            f"{second.ptx} rounds every sum to {second.types['d']}, in an order that is not known.",
            "Choose one that adds in f32.",
            "then",
        )
    return match


def _explain_refusal(i: Instruction) -> str:
    """Return why D of another product is not A of this one."""
    a = i.operands.get("a")
    if a and a.sparsity and not i.family.by_descriptor:
        return (
            f"stores {a.col_count} of the {i.sizes['k']} columns of each row of A, and metadata that select them. D is"
            " dense: what may be dropped depends on its values, so no registers of D are this A."
        )
    if i.scales:
        return (
            "multiplies A by a scale factor for each block of a row. D has none: a kernel computes them from the"
            " largest values of each block, which several lanes hold, and divides by them before it converts."
        )
    return "is not one product of one warp."


def _is_plain(i: Instruction) -> bool:
    one_warp = i.family.multiplies and i.family.scope is WARP and not i.family.by_descriptor
    return one_warp and len(i.operands["d"].axes) == 2 and not i.operands["a"].sparsity and not i.scales


def list_seconds(first: Instruction) -> list[Instruction]:
    """Return the MMAs whose A this D is without moving between lanes, the most similar first; and the first MMA
    itself, in any case.
    """
    opcode = first.syntax.opcode.split(".sp")[0]
    found = []
    for i in catalog.instructions():
        if i.syntax.opcode != opcode or not _is_plain(i) or i.types["d"] != "f32":
            continue
        if i.types["a"] not in SIXTEEN_BITS or i.sizes["m"] != first.sizes["m"]:
            continue
        if "wmma" in opcode and (i.sizes["n"] != first.sizes["n"] or _list_orders(i) != _list_orders(first)):
            continue
        try:
            match_second(first, i.ptx)
        except LayoutError:
            continue
        found.append(i)
    found.sort(key=lambda i: _compare(i, first))
    same = [first] if _is_plain(first) and first not in found else []
    return found + [i for i in same if _meets(i)]


def _compare(i: Instruction, first: Instruction) -> tuple[bool, ...]:
    """Return the differences from the first product, the most important first."""
    last = first.ptx.split(".")[-1]
    differs = (i.types["a"] != first.types["a"], i.types["a"] != "f16", i.sizes["k"] != first.sizes["k"])
    return (*differs, i.sizes["k"] < 16, not i.ptx.endswith(f".{last}"))


def _list_orders(i: Instruction) -> list[str]:
    return [word for word in i.ptx.split(".") if word in ("row", "col")]


def _meets(i: Instruction) -> bool:
    try:
        return not match_second(i, i.ptx).is_drawn
    except LayoutError:
        return False


def make_tile_inputs(i: Instruction, inputs: list[ProductInputs], tile: int, seed: int) -> ProductInputs:
    """Return the matrices of a tile of D in the last of these K steps: tile 0 is the product itself; others have its
    A, and random B.
    """
    if not tile:
        return inputs[-1]
    tile_inputs: list[ProductInputs] = []
    for step, step_inputs in enumerate(inputs):
        other = product_inputs.make_random_inputs(i, seed + step + OTHER_SEED * tile)
        c = tile_inputs[-1].compute_expected(i) if tile_inputs else np.zeros_like(step_inputs.c)
        tile_inputs.append(replace(step_inputs, b=other.b, c=c))
    return tile_inputs[-1]


def build_second(match: SecondMatch, tiles: list[tuple[Any, Any]], seed: int) -> SecondProduct:
    """Return the second product. tiles: (D in registers, D of the stored matrices) of each tile, both [row][col];
    empty if lanes would have to exchange values.
    """
    i, reuse = match.second, match.reuse
    a = i.operands["a"]
    away = np.argwhere(reuse.stays == 0)
    moved: list[int] = []
    if len(away):
        step, lane, value = (int(n) for n in away[0])
        col = int(a.cols[lane, value]) + step * a.col_count
        moved = [int(a.rows[lane, value]), col, lane, int(reuse.lane[step, lane, value])]
    facts: dict[str, Any] = {
        "ptx": i.ptx,
        "title": wording.format_title(i),
        "verdict": reuse.verdict,
        "tiles": reuse.tiles,
        "steps": reuse.steps,
        "stay": int(reuse.stays.sum()),
        "total": int(reuse.stays.size),
        "conversion": find_conversion(reuse.source.element.name, a).note,
        "moved": moved,
        "sources": np.array([got.ravel() for got, _ in tiles]).reshape(len(tiles), -1 if tiles else 0),
        "k_groups": np.array([(k, k + 1) for k in range(i.sizes["k"] if tiles else 0)]).reshape(-1, 2),
    }
    if not tiles:
        return SecondProduct(**facts)
    got, expected = (_convert(np.concatenate([pair[n] for pair in tiles], axis=1), a) for n in (0, 1))
    b = product_inputs.make_random_inputs(i, seed + OTHER_SEED).b[0].astype(np.float64)
    with np.errstate(invalid="ignore"):
        sums = np.array([got[:, :end] @ b[:end] for end in range(i.sizes["k"] + 1)])
        wanted = expected @ b
    return SecondProduct(
        **facts,
        a=ConvertedOperand(
            **describe_fragment(a),
            numbers=got.ravel(),
            tile=reuse.tile[0].ravel(),
            lane=reuse.lane[0].ravel(),
            value=reuse.value[0].ravel(),
        ),
        b=SecondOperand(**describe_fragment(i.operands["b"]), numbers=b.ravel()),
        d=build_result(i, sums, wanted),
    )


def _convert(values: Any, operand: Operand) -> Any:
    """Round to the operand's type, to nearest even; unknown values stay unknown."""
    name = operand.element.name
    return fragment_words.decode_bits(fragment_words.encode_values(values, name), name)
