"""The command diagram."""

from __future__ import annotations

from typing import Annotated

import typer

from lanescope.app.diagram.options import DIAGRAM
from lanescope.app.kit.terminal import (
    AsJson,
    InstructionDescriptor,
    TargetOption,
    complete_ptx,
    drop_empty,
    parse_picture_form,
    write_output,
)

app = typer.Typer(rich_markup_mode=None)


@app.command()
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
    colour: Annotated[str, typer.Option(help=DIAGRAM["colour"])] = "",
    label: Annotated[str, typer.Option(help=DIAGRAM["label"])] = "",
    lanes: Annotated[str, typer.Option(help=DIAGRAM["lanes"])] = "",
    warps: Annotated[str, typer.Option(help=DIAGRAM["warps"])] = "",
    rows: Annotated[str, typer.Option(help=DIAGRAM["rows"])] = "",
    cols: Annotated[str, typer.Option(help=DIAGRAM["cols"])] = "",
    theme: Annotated[str, typer.Option(help=DIAGRAM["theme"])] = "",
    cell: Annotated[str, typer.Option(help=DIAGRAM["cell"])] = "",
    title: Annotated[str, typer.Option(help=DIAGRAM["title"])] = "",
    legend: Annotated[bool, typer.Option("--legend", help="What the colours mean.")] = False,
    caption: Annotated[bool, typer.Option("--caption", help="Pattern and formulas below.")] = False,
    lang: Annotated[str, typer.Option(help=DIAGRAM["lang"])] = "",
    product: Annotated[str, typer.Option(help=DIAGRAM["product"])] = "",
    scale: Annotated[str, typer.Option(help=DIAGRAM["scale"])] = "",
    embed: Annotated[bool, typer.Option("--embed", help="TeX: a tikzpicture to \\input.")] = False,
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

    options = {
        "colour": colour,
        "label": label,
        "lanes": lanes,
        "warps": warps,
        "rows": rows,
        "cols": cols,
        "theme": theme,
        "cell": cell,
        "title": title,
        "lang": lang,
        "product": product,
        "scale": scale,
        "idesc": idesc,
        "legend": "1" * legend,
        "caption": "1" * caption,
        "embed": "1" * embed,
    }
    form = "json" if as_json else parse_picture_form(output)
    if kind or is_word(ptx):
        if operand:
            raise LayoutError("bad_usage", "An instruction descriptor has no operand.", "Leave it out.", "operand")
        picture, _ = render_idesc(form, parse_kind_of_word(ptx, kind, target), drop_empty(options))
        return write_output(picture, output)
    instruction = bind_descriptor(find(ptx), {"idesc": idesc, "target": target})
    picture, _ = pictures.render_instruction(
        form, instruction, instruction.operand(operand) if operand else None, drop_empty(options)
    )
    write_output(picture, output)
