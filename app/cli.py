"""The lanescope command. Imports what a verb needs when it runs, so that --help answers at once."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any, NoReturn

import typer

app = typer.Typer(
    rich_markup_mode=None,  # plain help answers in half the time
    no_args_is_help=True,
    add_completion=True,
    help="Tensor-core fragment layouts: which lane and register owns which element.",
)
AsJson = Annotated[bool, typer.Option("--json", help="Print what the HTTP API answers.")]


def main() -> None:
    """Entry point: a LayoutError is bad usage, status 2."""
    from layouts.errors import LayoutError

    try:
        app()
    except LayoutError as error:
        _refuse(error)


def _refuse(error: Any) -> NoReturn:
    if "--json" in sys.argv:
        print(json.dumps({"error": {"code": error.code, "message": error.message, "hint": error.hint, "field": error.field}}))
    else:
        print(f"lanescope: {error.message}\n  {error.hint}", file=sys.stderr)
    raise SystemExit(2)


def _print_json(content: Any) -> None:
    import numpy as np

    print(json.dumps(content, default=lambda v: v.tolist() if isinstance(v, np.ndarray) else str(v)))


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 8000,
) -> None:
    """Serve the pages and the API."""
    import uvicorn

    uvicorn.run("app.main:create_app", factory=True, host=host, port=port, log_level="info", access_log=False)


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
    from app import payload

    found = payload.listing(family=family, type=type, target=target, shape=shape, q=q)
    if as_json:
        return _print_json(found)
    for row in found["instructions"]:
        print(f"{row['family']:10} {row['ptx']}  {' '.join(row['targets'])}" if sys.stdout.isatty() else row["ptx"])
    print(f"{found['count']} instructions", file=sys.stderr)


@app.command()
def show(
    ptx: Annotated[str, typer.Argument(help="PTX text, with or without .sync.aligned.")],
    operand: Annotated[str, typer.Argument(help="a, b, c or d; all when left out.")] = "",
    at: Annotated[str, typer.Option("--at", help="ROW,COL: who holds this element?")] = "",
    lane: Annotated[int, typer.Option("--lane", help="A lane (thread): what does it hold?")] = -1,
    value: Annotated[int, typer.Option("--value", help="With --lane: one value only.")] = -1,
    as_json: AsJson = False,
) -> None:
    """Element → lane, register, bits; or lane → elements; or the facts of every operand."""
    from app import answers, payload
    from layouts import find

    found = find(ptx)
    if not operand and (at or lane >= 0):
        from layouts.errors import LayoutError

        raise LayoutError("bad_usage", "--at and --lane need an operand.", f"One of {', '.join(found.operands)}.", "operand")
    op = found.operand(operand) if operand else None
    if op and at:
        result = answers.at_element(op, at)
    elif op and lane >= 0:
        result = answers.of_lane(op, lane, value if value >= 0 else None)
    elif op:
        result = payload.operand_map(found, op)
    else:
        result = payload.detail(found)
    if as_json:
        return _print_json(result)
    print(answers.text(found, op, result))
