"""The command emulate."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from lanescope.app.kit.terminal import AsJson, print_json

app = typer.Typer(rich_markup_mode=None)


@app.command("emulate")
def emulate(
    *,
    file: Annotated[str, typer.Argument(metavar="KERNEL", help="The PTX of nvcc -ptx, NVRTC or Triton.")],
    launch: Annotated[str, typer.Option(help="The launch, a TOML file: grid, block, args, buffers, tensor maps.")] = "",
    launch_template: Annotated[
        bool, typer.Option("--launch-template", help="Print a launch to start from, and run nothing.")
    ] = False,
    name: Annotated[
        str, typer.Option("--kernel", help="A part of the entry's name, where the PTX has several: of the template.")
    ] = "",
    compare: Annotated[
        list[str] | None, typer.Option(help="NAME=FILE.npy: what a buffer should hold in the end, bit for bit.")
    ] = None,
    blocks: Annotated[
        list[str] | None, typer.Option(help="X,Y,Z: run only the clusters that hold these blocks.")
    ] = None,
    capture: Annotated[
        str, typer.Option(help="Write what every matrix instruction of block 0, or of --blocks, read: a capture.")
    ] = "",
    trace: Annotated[
        str, typer.Option(help="Write a timeline in steps to this file: Chrome trace events, which Perfetto opens.")
    ] = "",
    schedules: Annotated[
        int, typer.Option(help="Run in so many orders, and name the accesses that a difference comes from.", min=1)
    ] = 1,
    processes: Annotated[
        int, typer.Option(help="Processes that independent clusters are spread over; 0: one for each core.", min=0)
    ] = 0,
    steps: Annotated[int, typer.Option(help="Statements after which the run is ended.", min=1)] = 50_000_000,
    as_json: AsJson = False,
) -> None:
    """Run a kernel from its PTX on the CPU. Exit status 1 if the run has errors, 2 if it could not be run."""
    from lanescope.app.emulate import facts, printing
    from lanescope.app.emulate.blocks import parse_blocks
    from lanescope.app.emulate.spread import run_spread
    from lanescope.emulate.launching.files import load_buffers, read_launch, read_text, write_outputs
    from lanescope.emulate.launching.kernel import prepare_kernel
    from lanescope.emulate.launching.launch import parse_launch
    from lanescope.emulate.launching.launch_template import write_launch_template
    from lanescope.emulate.run import run_kernel, run_schedules
    from lanescope.emulate.text.parser import parse_module

    if launch_template:
        print(write_launch_template(parse_module(read_text(Path(file), "file")), name), end="")
        return
    _check_usage(launch, name)
    folder, launch_table = read_launch(Path(launch))
    table = parse_launch(launch_table)
    module = parse_module(read_text(Path(file), "file"))
    kernel = prepare_kernel(module, table, load_buffers(table, folder, {}))
    expected = printing.read_expected(compare or [])
    options: dict[str, Any] = {"compare": expected, "blocks": parse_blocks(blocks), "most_steps": steps}
    noted: dict[str, Any] = {"events": bool(trace), "capture": Path(file).name if capture else ""}
    if schedules > 1:
        result = run_schedules(kernel, schedules, **options)
    elif not trace and not capture:
        result = run_spread(kernel, processes or os.cpu_count() or 1, **options)
    if trace or capture:
        noting = run_kernel(kernel, **options, **noted)
        result = result if schedules > 1 else noting
        printing.write_notes(noting, capture, trace)
    write_outputs(result, folder)
    if as_json:
        print_json(facts.build_answer(result))
    else:
        print("\n".join(printing.format_result(result, file)))
    if not result.passed:
        raise typer.Exit(2 if result.status in ("unknown_instruction", "budget") else 1)


def _check_usage(launch: str, name: str) -> None:
    """Raise LayoutError without a launch, or with --kernel, which belongs to the template."""
    from lanescope.errors import LayoutError

    if not launch:
        hint = "--launch-template prints a launch to start from."
        raise LayoutError("bad_usage", "--launch is missing.", hint, "launch")
    if name:
        raise LayoutError(
            "bad_usage", "--kernel and a launch exclude each other.", "Write kernel = in the launch.", "kernel"
        )
