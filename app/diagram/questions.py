"""The options of a diagram as a question, and the form of the builder page. The command line takes their help from
options.py, which loads no engine.
"""

from __future__ import annotations

from lanescope.app.diagram.options import DIAGRAM
from lanescope.app.kit.media import FORMS
from lanescope.app.kit.question import declare_question, flag_field, number_field, raw_field, text_field, word_field
from lanescope.render.diagram import WORDS
from lanescope.render.palette import PALETTES
from lanescope.render.view import LABELS


@declare_question
class DiagramOptions:
    """How a fragment is drawn. The form of the picture reads the values: what is legal depends on the instruction."""

    colour: str = raw_field("Colour", DIAGRAM["colour"], "g")
    label: str = word_field(LABELS, "Label", DIAGRAM["label"])
    lanes: str = raw_field("Lanes", DIAGRAM["lanes"], placeholder="all, or 0-7,12")
    warps: str = raw_field("Warps", DIAGRAM["warps"], placeholder="all, or 0,2")
    rows: str = raw_field("Rows", DIAGRAM["rows"], placeholder="of one matrix: 0-15")
    cols: str = raw_field("Columns", DIAGRAM["cols"], placeholder="of one matrix: 0-7")
    theme: str = word_field(PALETTES, "Theme", DIAGRAM["theme"], "light")
    cell: str = raw_field("Cell size, pixels", DIAGRAM["cell"], placeholder="40 or 40x20")
    title: str = raw_field("Title", DIAGRAM["title"])
    legend: bool = flag_field("Legend", DIAGRAM["legend"])
    caption: bool = flag_field("Pattern and formulas", DIAGRAM["caption"])
    lang: str = word_field(WORDS, "Language", DIAGRAM["lang"], "en")
    product: int | None = number_field(None, "Product", DIAGRAM["product"])
    scale: str = raw_field("Pixels per unit", DIAGRAM["scale"], placeholder="2")
    embed: bool = flag_field("For \\input, not standalone", DIAGRAM["embed"])


@declare_question
class DiagramForm(DiagramOptions):
    """What the builder page asks for besides."""

    ptx: str = text_field(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        "Instruction",
        "PTX text, with or without .sync.aligned.",
        wide=True,
        rows=3,
    )
    idesc: str = raw_field("Instruction descriptor", "The word of a tcgen05.mma, or fields: m=128,n=256,a=bf16.")
    operand: str = raw_field("Matrix", "The matrix that is drawn.")
    form: str = word_field(FORMS, "File format", "The format of the file.", "svg")
