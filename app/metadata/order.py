"""Facts, texts and picture of /metadata/order: sparsity metadata in the order of CUTLASS's compressors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np

from lanescope.app.kit.fact import Description, IntegerArray, Numbers, copy_fact, fact
from lanescope.app.kit.question import declare_question, number_field, word_field
from lanescope.inputs import require_text
from lanescope.ptx import compressed_metadata
from lanescope.ptx.compressed_metadata import CompressedOrder
from lanescope.ptx.table.compressed_metadata import OPCODES, ORDERS
from lanescope.render.figure import LEFT, TOP, FigurePanel, PanelFigure
from lanescope.render.scaling import render_metadata
from lanescope.render.svg import render_svg

ROWS, GROUPS, FILLS = 16, 32, 8  # rows and groups that are drawn, colours of words
WIDE, HIGH = 38.0, 19.0  # size of a cell in pixels
INDEX_BITS = 4
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


def draw_order(order: CompressedOrder, row: int, group: int) -> str:
    """Draw the rows and groups around the selected one, each with its word and first bit; the selected one is
    framed.
    """
    first = row // ROWS * ROWS, group // GROUPS * GROUPS
    size = min(ROWS, order.rows - first[0]), min(GROUPS, order.groups - first[1])
    rows, groups = order.coords
    at = rows - first[0], groups - first[1]
    inside = (at[0] >= 0) & (at[0] < size[0]) & (at[1] >= 0) & (at[1] < size[1])
    words = np.zeros(size, np.int32)
    texts = [[""] * size[1] for _ in range(size[0])]
    for word, index in np.argwhere(inside).tolist():
        r, c = int(at[0][word, index]), int(at[1][word, index])
        words[r, c] = word
        texts[r][c] = f"w{word}:{INDEX_BITS * index}"
    title = f"Rows of A down, groups of {order.group} columns across: word w and first of four bits of each index"
    panel = FigurePanel(
        "order",
        title,
        rows=size[0],
        cols=size[1],
        x=LEFT + 8,
        cell_width=WIDE,
        cell_height=HIGH,
        category=(words % FILLS).astype(np.int32),
        texts=texts,
        row_names=tuple(str(first[0] + n) for n in range(size[0])),
        col_names=tuple(str(first[1] + n) for n in range(size[1])),
        of=FILLS,
    )
    x, y = panel.x + (group - first[1]) * WIDE, panel.y + (row - first[0]) * HIGH
    figure = PanelFigure(max(panel.x + panel.width, 7.4 * len(title) + LEFT) + 8, TOP + panel.height + 8, (panel,))
    return render_svg(
        figure,
        title=title,
        palette=None,
        labels_up_to=ROWS * GROUPS,
        extra=f'<rect x="{x:g}" y="{y:g}" width="{WIDE:g}" height="{HIGH:g}" fill="none" stroke="var(--trace)"'
        ' stroke-width="2.5"/>',
        pointed=True,
    )
