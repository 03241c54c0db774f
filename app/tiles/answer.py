"""Templates of the first sentences of a TiledMMA page about its pins."""

from __future__ import annotations

from lanescope.app.kit.answer import AnswerWords
from lanescope.app.kit.maps.answer import OF_LANE
from lanescope.ptx.instruction import Operand
from lanescope.tiles.mma import TiledMMA, TileOperand

EXAMPLE = "C(37,50), T13, R2 of T13"  # of the find field
LINE = "`{element}` is in `thread {thread}`, register `R{register}`{bits}"
SHARED = "`{element}` is in shared memory: no thread holds it, a descriptor reads it"


def get_atom_operand(tiled_mma: TiledMMA, op: TileOperand) -> Operand:
    """Return an operand of the atom, whose registers repeat over the tile."""
    return tiled_mma.atom.instruction.operands.get(op.name) or tiled_mma.atom.instruction.operands["d"]


def build_words(tiled_mma: TiledMMA) -> AnswerWords:
    """Build the templates of one TiledMMA."""
    return AnswerWords(
        invitation=f"Click a cell, or type one: {EXAMPLE}.",
        value=(
            "Value {names}; lane {lane} of warp {warp}.",
            "Values {names}; lane {lane} of warp {warp}.",
        ),
        mates=(
            "The other half of the register holds {mates}.",
            "The register also holds {mates}.",
            "The register holds {count} more values.",
        ),
        groups=f"It is thread {{thread}}; {OF_LANE}",
        together="Both are in the same thread.",
        apart="They are in different threads.",
        product=_build_product_texts(tiled_mma),
    )


def _build_product_texts(tiled_mma: TiledMMA) -> dict[str, str]:
    """Return what an element of A, B and C is multiplied with in the product of the whole tile."""
    if any(op.kept_of_group for op in tiled_mma.atom.instruction.operands.values()):
        return {}  # depends on the metadata
    m, n, k = (size - 1 for size in tiled_mma.tile)
    return {
        "a": f"It multiplies B({{col}},0…{n}) and goes into C({{row}},0…{n}).",
        "b": f"It multiplies A(0…{m},{{row}}) and goes into C(0…{m},{{col}}).",
        "c": f"It comes from A({{row}},0…{k}) and B(0…{k},{{col}}).",
    }
