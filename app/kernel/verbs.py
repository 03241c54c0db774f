"""The command kernel: a whole program around one instruction."""

from __future__ import annotations

from typing import Annotated

import typer

from lanescope.app.kit.terminal import AsJson, Ptx, print_json, write_output

app = typer.Typer(rich_markup_mode=None)


@app.command()
def kernel(
    ptx: Ptx,
    *,
    a: Annotated[str, typer.Option("--a", help="How A is stored: swizzle=128B,major=MN,… or from=registers.")] = "",
    b: Annotated[str, typer.Option("--b", help="How B is stored.")] = "",
    d: Annotated[str, typer.Option("--d", help="wgmma: scale=0 leaves C out. wmma: layout=col,ldm=…")] = "",
    data: Annotated[
        str,
        typer.Option("--data", help="ldmatrix, stmatrix: storage of the rows: pitch_bytes=80,swizzle=64B or fill=s8."),
    ] = "",
    output: Annotated[
        str, typer.Option("--output", "-o", help="FILE.cu, or FILE.py for CuPy; - for CUDA C++ on standard output.")
    ] = "-",
    as_json: AsJson = False,
) -> None:
    """Print a whole program: fill, instruction, epilogue, and a check on the CPU; of ldmatrix and stmatrix one that
    prints the values of every lane. --json lists every option it was made with.
    """
    from lanescope import find
    from lanescope.app.kernel import facts as programs
    from lanescope.errors import LayoutError

    plan = programs.plan_program(find(ptx), {"a": a, "b": b, "d": d, "data": data})
    if as_json:
        return print_json(programs.build_program(plan))
    form = "cu" if output == "-" else output.rpartition(".")[2].lower()
    if form not in programs.FORMS:
        allowed = ", ".join("." + name for name in programs.FORMS)
        raise LayoutError("bad_usage", f"'{output}' is not a known output format.", f"End it in {allowed}.", "output")
    write_output(programs.write_program(plan, form).encode(), output)
