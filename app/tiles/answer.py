"""The first sentences of a TiledMMA page about its pins, from templates that its script fills as well."""

from __future__ import annotations

from lanescope.app.kit.answer import (
    Answer,
    AnswerWords,
    PinnedPlace,
    get_per_register,
    join_answer,
    list_value_bits,
    name_holders,
    name_mates,
)
from lanescope.app.kit.maps.answer import OF_LANE, describe_holder
from lanescope.app.tiles.draw import make_bench
from lanescope.app.tiles.find import EXAMPLE
from lanescope.app.tiles.state import BenchState
from lanescope.ptx.instruction import WARP, Operand
from lanescope.tiles import shades
from lanescope.tiles.mma import TiledMMA, TileOperand

ELEMENT = "{title}({row},{col})"
LINE = f"`{ELEMENT}` is in `thread {{thread}}`, register `R{{register}}`{{bits}}"
SHARED = f"`{ELEMENT}` is in shared memory: no thread holds it, a descriptor reads it"


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


def build_answer(tiled_mma: TiledMMA, chosen: BenchState) -> Answer:
    """Return the first sentences about the pins, or the page's question."""
    words = build_words(tiled_mma)
    places = [
        describe_holder(make_bench(tiled_mma), words, first)
        if col is None
        else _describe_element(tiled_mma, words, name, (first, col))
        for name, first, col in chosen.list_pins()
    ]
    return join_answer(words, places)


def _format_holder(thread: int) -> str:
    return f"warp {thread // WARP.threads}, lane {thread % WARP.threads}"


def _describe_element(tiled_mma: TiledMMA, words: AnswerWords, name: str, place: tuple[int, int]) -> PinnedPlace:
    op, (row, col) = tiled_mma.operand(name), place
    facts = {"title": op.name.upper(), "row": row, "col": col}
    owners = op.owner(row, col)
    if op.shared:
        return PinnedPlace(SHARED.format(**facts), words.product.get(name, "").format(**facts), owners[0][0])
    (thread, value), atom_operand = owners[0], get_atom_operand(tiled_mma, op)
    registers, bits = shades.map_registers(tiled_mma, op), list_value_bits(atom_operand)[value % op.modes[0]]
    line = LINE.format(**facts, thread=thread, register=registers[value], bits=bits)
    at = op.thread_ids.tolist().index(thread)
    mates = [
        ELEMENT.format(title=op.name.upper(), row=int(op.rows[at, other]), col=int(op.cols[at, other]))
        for other, register in enumerate(registers)
        if register == registers[value] and other != value
    ]
    others = list(dict.fromkeys(_format_holder(each) for each, _ in owners[1:] if each != thread))
    names = [f"{op.name}{each}" for holder, each in owners if holder == thread]
    sentences = (
        words.value[len(names) > 1].format(names=" and ".join(names), lane=thread % 32, warp=thread // 32),
        name_mates(words, mates, get_per_register(atom_operand)),
        name_holders(words, others),
        words.product.get(name, "").format(**facts),
    )
    return PinnedPlace(line, " ".join(filter(None, sentences)), thread)
