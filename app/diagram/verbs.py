"""The command diagram."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lanescope.app.diagram.options import DIAGRAM
from lanescope.app.kit.terminal import (
    AsJson,
    InstructionDescriptor,
    TargetOption,
    complete_ptx,
    drop_empty,
    make_flag,
    make_option,
    parse_picture_form,
    take_options,
    write_picture,
)

app = typer.Typer(rich_markup_mode=None)
FLAGS = {
    "legend": "What the colours mean.",
    "caption": "Pattern and formulas below.",
    "embed": "TeX: a tikzpicture to \\input.",
}
OPTIONS = {name: make_flag(name, FLAGS[name]) if name in FLAGS else make_option(says) for name, says in DIAGRAM.items()}


@app.command()
@take_options("drawn", OPTIONS)
def diagram(
    ptx: Annotated[
        str,
        typer.Argument(
            help="PTX text, with or without .sync.aligned; or, with --kind, an instruction descriptor: 0x08400490.",
            autocompletion=complete_ptx,
        ),
    ],
    operand: Annotated[str, typer.Argument(help="a, b, c, d, data; the whole product when left out.")] = "",
    *,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", help="FILE.svg, .png, .pdf, .tex, .txt, .md, .csv or .json; - for SVG on standard output."
        ),
    ] = "-",
    drawn: dict[str, Any],
    idesc: InstructionDescriptor = "",
    target: TargetOption = "",
    kind: Annotated[str, typer.Option(help="f16, tf32, i8 …: read the word as an instruction descriptor.")] = "",
    as_json: AsJson = False,
) -> None:
    """Draw a fragment, or an instruction descriptor, as a figure for a document; the same bytes as from the server."""
    from lanescope import find
    from lanescope.app.diagram import forms as pictures
    from lanescope.app.diagram.idesc_forms import is_word, parse_kind_of_word, render_idesc
    from lanescope.app.instruction.state import bind_descriptor
    from lanescope.errors import LayoutError

    options = drop_empty({"idesc": idesc} | {name: "1" if value is True else value for name, value in drawn.items()})
    form = "json" if as_json else parse_picture_form(output)
    if kind or is_word(ptx):
        if operand:
            raise LayoutError("bad_usage", "An instruction descriptor has no operand.", "Leave it out.", "operand")
        picture = render_idesc(form, parse_kind_of_word(ptx, kind, target), options)
        return write_picture(picture, output)
    instruction = bind_descriptor(find(ptx), {"idesc": idesc, "target": target})
    picture = pictures.render_instruction(form, instruction, instruction.operand(operand) if operand else None, options)
    write_picture(picture, output)
