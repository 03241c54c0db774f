"""The verb diagram."""

from __future__ import annotations

from typing import Annotated

import typer

from lanescope.app.diagram.options import DIAGRAM
from lanescope.app.kit.terminal import AsJson, InstructionDescriptor, Ptx, drop_empty, parse_picture_form, write_output

app = typer.Typer(rich_markup_mode=None)


@app.command()
def diagram(
    ptx: Ptx,
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
    as_json: AsJson = False,
) -> None:
    """A fragment as a figure for a document; the same bytes as the server's addresses give."""
    from lanescope import find
    from lanescope.app.diagram import forms as pictures
    from lanescope.app.instruction.state import bind_descriptor

    instruction = bind_descriptor(find(ptx), {"idesc": idesc})
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
    picture, _ = pictures.render_instruction(
        form, instruction, instruction.operand(operand) if operand else None, drop_empty(options)
    )
    write_output(picture, output)
