"""The lanescope command. Imports what a verb needs when it runs, so that --help answers at once."""

from __future__ import annotations

import json
import sys
from functools import lru_cache
from io import TextIOWrapper
from typing import Annotated, Any, NoReturn

import typer

from lanescope.app.diagram.options import DIAGRAM
from lanescope.app.kit.serve import serve
from lanescope.app.kit.terminal import AsJson, Ptx, form_of, given, print_json, save, table

app = typer.Typer(
    rich_markup_mode=None,  # plain help answers in half the time
    no_args_is_help=True,
    add_completion=True,
    help="Tensor-core fragment layouts: which lane and register owns which element.",
)


@lru_cache(maxsize=1)
def attach() -> typer.Typer:
    """The command with all its verbs."""
    from lanescope.app.banks import verbs as banks
    from lanescope.app.capture import verbs as capture
    from lanescope.app.chain import verbs as chain
    from lanescope.app.check import verbs as check
    from lanescope.app.dump import verbs as dump
    from lanescope.app.idesc import verbs as idesc
    from lanescope.app.kernel import verbs as kernel
    from lanescope.app.layouts import verbs as layouts
    from lanescope.app.memory import verbs as memory
    from lanescope.app.metadata import verbs as metadata
    from lanescope.app.read import verbs as read
    from lanescope.app.runs import verbs as runs
    from lanescope.app.scales import verbs as scales
    from lanescope.app.tiles import verbs as tiles
    from lanescope.app.tmem import verbs as tmem

    features = (chain, banks, memory, dump, capture, check, kernel, runs, read, tiles, layouts, idesc)
    tiles.tiles_app.add_typer(layouts.tiles_app)
    for feature in (*features, tmem, scales, metadata):
        app.add_typer(feature.app)
    return app


def main() -> None:
    """Entry point: what the caller gave wrong is a message and status 2. Verbs of this file start without the others
    being built, which costs as much.
    """
    from lanescope.errors import LayoutError, refusing_depth

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # × in a terminal that is not UTF-8
    own = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    try:
        for word in sys.argv[1:]:
            if not word.isprintable() and any("\ud800" <= letter <= "\udfff" for letter in word):
                raise LayoutError("bad_usage", f"{word[:60]!a} is not UTF-8 text.", "Write the argument in UTF-8.", "")
        command = app if sys.argv[1:2] and sys.argv[1] in own else attach()
        with refusing_depth():
            command(prog_name="lanescope")
    except LayoutError as error:
        _refuse(error)
    except ModuleNotFoundError as error:
        if (error.name or "lanescope").startswith("lanescope"):
            raise
        message = f"This command needs {error.name}, which is not installed."
        _refuse(LayoutError("not_installed", message, "Install the server with it: pip install 'lanescope[web]'."))
    except OSError as error:
        named = f"'{error.filename}': " if error.filename else ""
        _refuse(
            LayoutError("bad_usage", f"{named}{error.strerror or error}.", "Choose another file or folder.", "output")
        )


def _refuse(error: Any) -> NoReturn:
    if "--json" in sys.argv:
        print(
            json.dumps(
                {"error": {"code": error.code, "message": error.message, "hint": error.hint, "field": error.field}}
            )
        )
    else:
        print(f"lanescope: {error.message}\n  {error.hint}", file=sys.stderr)
    raise SystemExit(2)


app.command()(serve)


@app.command("list")
def list_(
    family: Annotated[str, typer.Option(help="mma, wgmma, …")] = "",
    type: Annotated[str, typer.Option(help="An operand's type: f16, e4m3, …")] = "",
    target: Annotated[str, typer.Option(help="sm_80, sm_90a, …")] = "",
    shape: Annotated[str, typer.Option(help="m16n8k16, or a part: k16")] = "",
    q: Annotated[str, typer.Option(help="Words of the PTX text.")] = "",
    as_json: AsJson = False,
) -> None:
    """Every instruction, narrowed."""
    from lanescope.app.catalogue import facts as catalogue
    from lanescope.app.kit import rows
    from lanescope.ptx import catalog

    found = catalogue.listing(family=family, type=type, target=target, shape=shape, q=q)
    if as_json:
        return print_json(found)
    if sys.stdout.isatty():
        lines = [
            [r.family, r.ptx, *rows.in_words(catalog.find(r.ptx)), " ".join(r.targets).replace("sm_", "")]
            for r in found.instructions
        ]
        table(["family", "instruction", "shape", "types", "sm_"], lines)
    else:
        for row in found.instructions:
            print(row.ptx)
    print(f"{found.count} instructions", file=sys.stderr)


IDESC = "The instruction descriptor of a tcgen05.mma: its word, or a wish as in m=128,n=64,a=bf16."


@app.command()
def show(
    ptx: Ptx,
    operand: Annotated[str, typer.Argument(help="a, b, c or d; all when left out.")] = "",
    *,
    at: Annotated[str, typer.Option("--at", help="ROW,COL: who holds this element?")] = "",
    lane: Annotated[str, typer.Option("--lane", help="A lane (thread): what does it hold?")] = "",
    value: Annotated[str, typer.Option("--value", help="With --lane: one value only.")] = "",
    idesc: Annotated[str, typer.Option("--idesc", help=IDESC)] = "",
    pointer: Annotated[str, typer.Option(help="Of a wmma.load or wmma.store: may it begin here?")] = "",
    ldm: Annotated[str, typer.Option(help="Of a wmma.load or wmma.store: elements from row to row.")] = "",
    as_json: AsJson = False,
) -> None:
    """Element → lane, register, bits; or lane → elements; or the facts of every operand. Exit status 1 where a pointer
    or an ldm is illegal.
    """
    from lanescope.app.instruction import answers
    from lanescope.app.instruction import facts as about
    from lanescope.errors import LayoutError
    from lanescope.reading import number

    found = about.found(ptx, idesc)
    if not operand and (at or lane):
        raise LayoutError(
            "bad_usage", "--at and --lane need an operand.", f"One of {', '.join(found.operands)}.", "operand"
        )
    if operand and (pointer or ldm):
        name = "pointer" if pointer else "ldm"
        raise LayoutError("bad_usage", f"--{name} is of the whole instruction.", "Leave the operand out.", name)
    if value and not lane:
        raise LayoutError("bad_usage", "--value needs a --lane.", "e.g. --lane 13 --value 2.", "value")
    op = found.operand(operand) if operand else None
    result: answers.Answer
    if op and at:
        result = answers.at_element(op, at)
    elif op and lane:
        result = answers.of_lane(op, number(lane, "lane"), number(value, "value") if value else None)
    else:
        result = about.operand_map(found, op) if op else about.detail(found, pointer, ldm)
    if as_json:
        print_json(result)
    elif op and sys.stdout.isatty():
        table(*answers.rows(op, result))
    else:
        print(answers.text(found, op, result))
    check = answers.pointer_check(result)
    if check and not check.legal:
        raise typer.Exit(1)


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
    idesc: Annotated[str, typer.Option("--idesc", help=IDESC)] = "",
    as_json: AsJson = False,
) -> None:
    """A fragment as a figure for a document; the same bytes as the server's addresses give."""
    from lanescope import find
    from lanescope.app.diagram import forms as pictures
    from lanescope.app.instruction.state import with_descriptor

    found = with_descriptor(find(ptx), {"idesc": idesc})
    asked = {
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
    form = "json" if as_json else form_of(output)
    made, _ = pictures.instruction(form, found, found.operand(operand) if operand else None, given(asked))
    save(made, output)


@app.command()
def export(
    folder: Annotated[str, typer.Argument(help="Where the site goes; made when missing.")],
    family: Annotated[list[str] | None, typer.Option(help="Only these families.")] = None,
    as_json: AsJson = False,
) -> None:
    """A self-contained site: pages, JSON, SVG, scripts; relative links, no server. What has not changed is not written
    again.
    """
    from lanescope.app import export as site

    told = site.export(folder, family or [], sys.stderr.isatty())
    (
        print_json(told)
        if as_json
        else print(
            f"{folder}: {told['pages']} pages, {told['written']} of {told['files']} files written,"
            f" {told['bytes'] / 1e6:.1f} MB, {told['seconds']:.1f} s"
        )
    )


if __name__ == "__main__":
    main()
