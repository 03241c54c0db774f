"""The verb idesc: decode, encode, mask."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lanescope.app.kit.terminal import AsJson, drop_empty, make_verb_group, print_json, print_warnings

app, idesc_app = make_verb_group("idesc", "Instruction descriptors of tcgen05.mma, and zero-column masks.")
KIND = "f16, tf32, f8f6f4, i8, mxf8f6f4, mxf4 or mxf4nvf4: the word does not say it."


@idesc_app.command("decode")
def decode(
    word: Annotated[str, typer.Argument(help="32 bits: hex, 0b…, or a constant C++ expression.")],
    kind: Annotated[str, typer.Option(help=KIND)] = "f16",
    as_json: AsJson = False,
) -> None:
    """A word's fields, and the forms in which it is legal. Exit status 1 where it is legal in none."""
    from lanescope.app.idesc import facts

    _print_idesc(facts.decode_idesc(word, kind), as_json)


@idesc_app.command("encode")
def encode(
    *,
    m: Annotated[str, typer.Option(help="Rows of D; of both CTAs with cta_group::2.")],
    n: Annotated[str, typer.Option(help="Columns of D.")],
    kind: Annotated[str, typer.Option(help=KIND)] = "f16",
    a: Annotated[str, typer.Option(help="Type of A; the kind's first when left out.")] = "",
    b: Annotated[str, typer.Option(help="Type of B.")] = "",
    d: Annotated[str, typer.Option(help="Type of D.")] = "",
    field: Annotated[
        list[str] | None, typer.Option(help="Any other field: name=value, e.g. transpose_b=1, sparse=1, sfa_id=2.")
    ] = None,
    cta_group: Annotated[str, typer.Option(help="1 or 2: legal in this form; any form when left out.")] = "",
    ws: Annotated[bool, typer.Option("--ws", help="Legal with .ws.")] = False,
    as_json: AsJson = False,
) -> None:
    """The word of a product."""
    from lanescope.app.idesc import facts
    from lanescope.errors import LayoutError
    from lanescope.inputs import shorten_value

    asked = drop_empty({"kind": kind, "m": m, "n": n, "a": a, "b": b, "d": d, "cta_group": cta_group, "ws": int(ws)})
    for item in field or []:
        name, equals, value = item.partition("=")
        if not equals:
            raise LayoutError(
                "bad_usage", f"'{shorten_value(item)}' is not a field.", "Write name=value, e.g. sparse=1.", "field"
            )
        asked[name.strip()] = value.strip()
    made = facts.encode_idesc(asked)
    print_json(made) if as_json else print(made.word)


def _print_idesc(told: Any, as_json: bool) -> None:
    if as_json:
        print_json(told)
    else:
        print(f"{told.word}  kind::{told.kind}")
        for field in told.fields:
            print(f"  {field.high:2}–{field.low:<2}  {field.title:18} {field.encoded:#x}  {field.says}")
        for problem in told.problems:
            print(f"  ✗ {problem.message}")
        for form, why in {} if told.problems else told.forms.items():
            print(f"  {'✗' if why else '✓'} {form}" + "".join(f": {one.message}" for one in why[:1]))
        print_warnings(told.warnings)
        print(f"  {told.evidence}")
    if not told.legal:
        raise typer.Exit(1)


@idesc_app.command("mask")
def mask(
    word: Annotated[str, typer.Argument(help="64 bits: hex, 0b…, or a constant C++ expression.")],
    m: Annotated[str, typer.Option(help="M of the product: 32, 64 or 128.")] = "128",
    n: Annotated[str, typer.Option(help="N of the product: 64, 128 or 256.")] = "128",
    as_json: AsJson = False,
) -> None:
    """A zero-column mask: its fields, and the columns of B that it makes zero."""
    from lanescope.app.idesc import facts

    told = facts.parse_mask(word, m, n)
    if as_json:
        print_json(told)
    else:
        print(told.word)
        for field in told.fields:
            print(f"  {field.high:2}–{field.low:<2}  {field.name:14} {field.value}")
        print(f"  zero: {' '.join(map(str, told.columns)) or 'none'}")
        for problem in told.problems:
            print(f"  ✗ {problem}")
    if told.problems:
        raise typer.Exit(1)
