"""The options of a diagram, declared once: addresses, the builder page and the command line."""

from __future__ import annotations

from lanescope.app.kit.media import FORMS
from lanescope.app.kit.question import (
    declare_question,
    flag_field,
    given_field,
    number_field,
    options_of,
    text_field,
    word_field,
)
from lanescope.render.diagram import WORDS
from lanescope.render.palette import PALETTES
from lanescope.render.view import LABELS


@declare_question
class DiagramOptions:
    """How a fragment is drawn. The form of the picture reads the values: what is legal depends on the instruction."""

    colour: str = given_field("Colour", "a name of the pattern, or register", "g")
    label: str = word_field(LABELS, "Label", "lane:value, register, row,col, index or none")
    lanes: str = given_field("Lanes", "lanes or threads shown: 0-7,12", placeholder="all, or 0-7,12")
    warps: str = given_field("Warps", "warps of a warpgroup shown: 0,2", placeholder="all, or 0,2")
    rows: str = given_field("Rows", "window: 0-15", placeholder="of one matrix: 0-15")
    cols: str = given_field("Columns", "window: 0-7", placeholder="of one matrix: 0-7")
    theme: str = word_field(PALETTES, "Theme", "light, dark or bw (hatches)", "light")
    cell: str = given_field("Cell size, pixels", "a cell in pixels: 40 or 40x20", placeholder="40 or 40x20")
    title: str = given_field("Title", "text above; empty for none")
    legend: bool = flag_field("Legend", "1: what the colours mean")
    caption: bool = flag_field("Pattern and formulas", "1: pattern and formulas below")
    lang: str = word_field(WORDS, "Language", "en, de, fr or zh", "en")
    product: int | None = number_field(None, "Product", "which of the four products of m8n8k4")
    scale: str = given_field("Pixels per unit", "PNG pixels a unit, 0.25 to 8; 2 or what fits", placeholder="2")
    embed: bool = flag_field("For \\input, not standalone", "TeX: 1 for a tikzpicture to \\input")


@declare_question
class DiagramForm(DiagramOptions):
    """What the builder page asks for besides."""

    ptx: str = text_field(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        "Instruction",
        "PTX text, with or without .sync.aligned.",
        rows=3,
    )
    idesc: str = given_field("Instruction descriptor", "The word of a tcgen05.mma, or fields: m=128,n=256,a=bf16.")
    operand: str = given_field("Matrix", "The matrix that is drawn.")
    form: str = word_field(FORMS, "File format", "The format of the file.", "svg")


DIAGRAM = {name: option.help for name, option in options_of(DiagramOptions).items()}
DRAWN = ("theme", "title", "scale", "embed")  # options of a picture without a fragment
