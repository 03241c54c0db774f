"""The command capture."""

from __future__ import annotations

from typing import Annotated

import typer

from lanescope.app.kit.terminal import AsJson, make_verb_group, print_json, read_bytes, write_output

app, capture_app = make_verb_group("capture", "What a kernel's instructions really read: lanescope.cuh and its files.")


@capture_app.command("header")
def capture_header() -> None:
    """Print lanescope.cuh, the header that records instructions inside a kernel."""
    from lanescope.render.capture_header import render_header

    print(render_header(), end="")


@capture_app.command("fill")
def capture_fill(
    output: Annotated[str, typer.Argument(help="The .npy file; - for standard output.")],
    shape: Annotated[str, typer.Option(help="ROWSxCOLUMNS: (m, k) of A, (k, n) of B.")],
    element: Annotated[str, typer.Option("--type", help="f16, bf16, tf32, e4m3, e5m2, s8 or u8.")],
    operand: Annotated[str, typer.Option(help="a or b.")] = "a",
    part: Annotated[int, typer.Option("--pass", help="8-bit types take two runs: 1 and 2.")] = 1,
    nk: Annotated[bool, typer.Option("--nk", help="B as (n, k).")] = False,
) -> None:
    """Write a matrix whose elements identify themselves, as codes of the type."""
    from lanescope.app.capture import forms

    write_output(forms.build_fill(shape, element, operand, part, nk), output)


@capture_app.command("verify")
def capture_verify(
    files: Annotated[list[str], typer.Argument(help="The capture; of an 8-bit type both passes.")],
    a: Annotated[str, typer.Option("--a", help="A where it was not the fill: a .npy file of (m, k).")] = "",
    b: Annotated[str, typer.Option("--b", help="B where it was not the fill: a .npy file of (k, n).")] = "",
    nk: Annotated[bool, typer.Option("--nk", help="The file of B is (n, k).")] = False,
    every: Annotated[bool, typer.Option("--all", help="Every step, and the first wrong one in full.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check whether every recorded instruction read the slice that it should multiply. Exit status 1 if one did not, 2
    if some records have no verdict.
    """
    from lanescope.app.capture import forms
    from lanescope.capture.file_format import HEADER_BYTES, MOST_FILE, MOST_RECORDS, get_extent
    from lanescope.capture.report import render_report
    from lanescope.errors import LayoutError

    if len(files) > 2:
        raise LayoutError(
            "bad_usage",
            f"{len(files)} files.",
            "Name one capture, or the two passes of an 8-bit type.",
            "files",
        )
    # Read only as much as the header announces: a buffer is larger than its records, and a wrong file may be huge.
    contents = (read_bytes(name, "files", MOST_FILE, head=HEADER_BYTES, extent=get_extent) for name in files)
    inputs = dict(zip(("capture", "second"), contents, strict=False))
    inputs |= {field: read_bytes(name, field, MOST_FILE) for field, name in (("a", a), ("b", b)) if name}
    verified = forms.verify_files(inputs, nk, MOST_RECORDS)
    if as_json:
        print_json(forms.build_answer(verified))
    else:
        print(render_report(verified, every))
        if verified.wrong and not every:
            print("  --all prints every step.")
    if verified.verdict != "match":
        raise typer.Exit(1 if verified.verdict == "mismatch" else 2)
