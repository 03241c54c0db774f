"""Facts and texts of /metadata/order: sparsity metadata in the order of CUTLASS's compressors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from lanescope.app.kit.fact import Description, IntegerArray, Numbers, copy_fact, fact
from lanescope.app.kit.question import declare_question, number_field, word_field
from lanescope.app.metadata.order_figure import draw_order
from lanescope.inputs import require_text
from lanescope.ptx import compressed_metadata
from lanescope.ptx.compressed_metadata import CompressedOrder
from lanescope.ptx.table.compressed_metadata import OPCODES, ORDERS
from lanescope.render.scaling import render_metadata

ATOM = ("opcode", "element", "tile_k")  # decide the atom
SHOWN_WORDS = 4  # words shown in each direction, including the selected one


@declare_question
class OrderQuestion:
    """A sparse A, and the selected index of it."""

    opcode: str = word_field(
        OPCODES, "Instruction", "Who reads the metadata.", "tcgen05.mma.sp", parse=require_text, needs=()
    )
    element: str = word_field(
        dict.fromkeys(name for row in ORDERS for name in row.types),
        "Type of A",
        "The type of A.",
        "f16",
        parse=require_text,
        needs=("opcode",),
    )
    rows: int | None = number_field(
        None, "Rows of A", "Rows of A, whole atoms; one atom where it is empty.", needs=ATOM
    )
    k: int | None = number_field(
        None, "K of dense A", "Columns of dense A, whole atoms; one atom where it is empty.", needs=ATOM
    )
    tile_k: int | None = number_field(
        None, "K of the tile", "K of wgmma.sp's tile, which its atom spans.", needs=ATOM[:2]
    )
    row: int = number_field(3, "Row", "The row that is looked at.", needs=(*ATOM, "rows"))
    group: int = number_field(5, "Group of K", "The group along K that is looked at.", needs=(*ATOM, "k"))


@fact
class MetadataOrder:
    """Sparsity metadata in global memory, as CUTLASS's compressors write it."""

    opcode: str
    element: str
    rows: int
    k: int
    group: Annotated[int, Description("Elements of K an index of 4 bits covers.")]
    bytes: int
    atoms: Annotated[tuple[int, ...], Description("Atoms along the rows, along K; those along the rows come first.")]
    pattern: Annotated[str, Description("(32-bit word)(index of 4 bits) → (row)(group) of one atom.")]
    row: Annotated[Numbers, IntegerArray(2, "[word][index], low bits first: the row.")]
    group_of: Annotated[Numbers, IntegerArray(2, "[word][index]: the group along K.")]
    word: Annotated[int, Description("The 32-bit word of the index that is looked at.")]
    bit: Annotated[int, Description("Its first bit there.")]
    evidence: str


def make_order(question: OrderQuestion) -> CompressedOrder:
    """Return the metadata order of a question. LayoutError names the wrong field."""
    tile = question.tile_k or 0
    least = compressed_metadata.get_atom_size(question.opcode, question.element, tile)
    return compressed_metadata.make_metadata_order(
        question.opcode, question.element, question.rows or least[0], question.k or least[1], tile
    )


def find_index(question: OrderQuestion) -> MetadataOrder:
    """Sparsity metadata in global memory as CUTLASS's compressors write it for mma.sp, wgmma.sp and tcgen05."""
    compressed = make_order(question)
    rows, groups = compressed.coords
    word, bit = compressed.locate_index(question.row, question.group)
    return copy_fact(
        MetadataOrder,
        compressed,
        opcode=compressed.order.opcode,
        pattern=str(compressed.atom),
        row=rows,
        group_of=groups,
        word=word,
        bit=bit,
    )


def build_order_context(question: OrderQuestion, answer: MetadataOrder) -> dict[str, Any]:
    """Return the template's variables."""
    compressed = make_order(question)
    rows, groups = compressed.coords
    first = answer.word // 8 * 8
    return {
        "one": compressed,
        "picture": draw_order(compressed, question.row, question.group),
        "looked": (question.row, question.group, answer.word, answer.bit),
        "lines": [
            (word, [(int(rows[word, n]), int(groups[word, n])) for n in range(8)])
            for word in range(first, min(first + 8, len(rows)))
        ],
        "order": render_metadata(compressed),
    }


def print_index(question: OrderQuestion, answer: MetadataOrder) -> Iterator[str]:
    """Yield the lines of the command."""
    yield f"{answer.opcode}, A {answer.element}, {answer.rows} × {answer.k}: {answer.bytes} bytes of metadata"
    yield f"  row {question.row}, group {question.group}: word {answer.word}, bits {answer.bit}–{answer.bit + 3}"
    yield f"  atoms: {answer.atoms[0]} along the rows (these come first), {answer.atoms[1]} along K"
    yield f"  an atom, (word)(index) to (row)(group of {answer.group} elements): {answer.pattern}"
    for word, (rows, groups) in enumerate(zip(answer.row, answer.group_of, strict=True)):
        if abs(word - answer.word) < SHOWN_WORDS:
            cells = " ".join(f"{a},{b}" for a, b in zip(rows.tolist(), groups.tolist(), strict=True))
            yield f"  word {word}: {cells}"
    yield f"  {answer.evidence}"
