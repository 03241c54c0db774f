"""The verb read."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from app.kit.terminal import AsJson, print_json

app = typer.Typer(rich_markup_mode=None)


@app.command()
def read(
    file: Annotated[str, typer.Argument(help="A file with the text; - for standard input.")] = "-",
    as_json: AsJson = False,
) -> None:
    """Any text: PTX, a descriptor or its code, a CuTe layout, a CUTLASS atom, SASS. Exit status 1 where it is
    unknown.
    """
    from pathlib import Path

    from app.read import reading
    from layouts.errors import LayoutError

    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text()
    except UnicodeDecodeError:
        raise LayoutError("bad_text", f"'{file[:60]}' is not UTF-8 text.", "Give a text file.", "file") from None
    except ValueError:  # a name that no file can have
        raise LayoutError("bad_text", f"{file[:60]!a} is not a file name.", "Name a text file.", "file") from None
    told = reading.read(text)
    if as_json:
        print_json(told)
    else:
        for number, one in enumerate((told, *told.also)):
            print(f"{'also ' if number else ''}{one.kind}: {one.title}")
            for ptx in one.facts.get("candidates", ()):
                print(f"  {ptx}")
            for notice in one.notices:
                print(f"  ! {notice}" if one.kind != "topic" else f"  {notice}")
            if one.kind != "unknown":
                print(f"  {one.link}")
    if told.kind == "unknown":
        raise typer.Exit(1)
