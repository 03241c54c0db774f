"""The commands smem and descriptor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from lanescope.app.kit.terminal import (
    AsJson,
    TargetOption,
    drop_empty,
    format_storage_options,
    make_verb_group,
    parse_picture_form,
    parse_storage_options,
    print_json,
    print_warnings,
    write_picture,
)

if TYPE_CHECKING:
    from lanescope.app.memory.verdicts import Diagnosis, Fit, Fix, Verified
    from lanescope.descriptor.matrix import View

app, descriptor_app = make_verb_group("descriptor", "wgmma matrix descriptors: decode, encode, verify.")
FORMAT = "wgmma or tcgen05: who reads it; wgmma when left out."


@descriptor_app.command("decode")
def descriptor_decode(
    word: Annotated[
        str, typer.Argument(help="Hex, 0b…, 0d…, hi:lo, {lo, hi}, a constant C++ expression, or code that builds it.")
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", help="Draw it: FILE.svg, .png, .pdf, .tex, .txt, .md, .csv.")
    ] = "",
    theme: Annotated[str, typer.Option(help="light, dark or bw.")] = "light",
    format: Annotated[str, typer.Option(help=FORMAT)] = "",
    target: TargetOption = "",
    as_json: AsJson = False,
) -> None:
    """Print a descriptor's fields, and warnings about them."""
    from lanescope.app.memory import descriptors as memory

    form = memory.find_format(drop_empty({"format": format, "target": target}))
    if output:
        from lanescope.app.diagram import forms as pictures

        read = memory.parse_descriptor(word, form)
        return write_picture(pictures.render_descriptor(parse_picture_form(output), read, {"theme": theme}), output)

    facts = memory.decode_text(word, form)
    if as_json:
        return print_json(facts)
    print(facts.descriptor)
    for field in facts.fields:
        amount = facts.swizzle if field.name == "swizzle" else f"{field.amount}{' B' if field.unit > 1 else ''}"
        print(f"  {field.high:2}–{field.low:<2}  {field.name:14} {field.encoded:#x}  {amount}")
    print_warnings(facts.warnings)


@descriptor_app.command("encode")
def descriptor_encode(
    *,
    start_address: Annotated[str, typer.Option(help="Shared-window byte address.", metavar="<int>")] = "0",
    lbo_bytes: Annotated[str, typer.Option(help="Leading dimension byte offset.", metavar="<int>")] = "16",
    sbo_bytes: Annotated[str, typer.Option(help="Stride dimension byte offset.", metavar="<int>")] = "0",
    base_offset: Annotated[str, typer.Option(help="0 to 7.", metavar="<int>")] = "0",
    swizzle: Annotated[str, typer.Option(help="none, 32B, 64B or 128B.")] = "none",
    format: Annotated[str, typer.Option(help=FORMAT)] = "",
    target: TargetOption = "",
    as_json: AsJson = False,
) -> None:
    """Print the descriptor of amounts in bytes."""
    from lanescope.app.memory import descriptors as memory

    body = {
        "start_address": start_address,
        "lbo_bytes": lbo_bytes,
        "sbo_bytes": sbo_bytes,
        "base_offset": base_offset,
        "swizzle": swizzle,
    } | drop_empty({"format": format, "target": target})
    encoded = memory.encode_descriptor(body)
    print_json(encoded) if as_json else print(encoded.descriptor)


@descriptor_app.command("header")
def descriptor_header() -> None:
    """Print lanescope_verify.hpp, the C++17 header that verifies descriptors at compile time."""
    from lanescope.testing.header import render_verify_header

    print(render_verify_header(), end="")


@descriptor_app.command("verify")
def descriptor_verify(
    word: Annotated[str, typer.Argument(help="The descriptor your program uses.")],
    *,
    instruction: Annotated[str, typer.Option(help="The wgmma that reads it.")],
    operand: Annotated[str, typer.Option(help="a or b.")] = "a",
    major: Annotated[str, typer.Option(help="K or MN, by the instruction's transpose immediate; K.")] = "",
    format: Annotated[str, typer.Option(help=FORMAT)] = "",
    idesc: Annotated[str, typer.Option(help="tcgen05: the instruction descriptor, for M, N and the major.")] = "",
    storage: Annotated[
        list[str] | None,
        typer.Option(
            help=(
                "Storage of the data: name=value, with commas between several or one an option, e.g."
                " kind=canonical,swizzle=128B,mn=128,k=64."
            )
        ),
    ] = None,
    slice_mn: Annotated[str, typer.Option(help="The slice's first row of M or N.", metavar="<int>")] = "0",
    slice_k: Annotated[str, typer.Option(help="The slice's first K.", metavar="<int>")] = "0",
    target: TargetOption = "",
    output: Annotated[
        str, typer.Option("--output", "-o", help="Draw the verdict, too: FILE.svg, .png, .pdf, .tex, .txt, .md, .csv.")
    ] = "",
    theme: Annotated[str, typer.Option(help="Drawn: light, dark or bw.")] = "light",
    as_json: AsJson = False,
) -> None:
    """Check whether a descriptor reads the tile where the program stored it. Exit status 1 if it does not, 2 if no
    storage is given.
    """
    from lanescope.app.memory.verdicts import build_verified, parse_view

    body: dict[str, object] = {
        "descriptor": word,
        "instruction": instruction,
        "operand": operand,
        **({"major": major} if major else {}),
        **({"format": format} if format else {}),
        **drop_empty({"idesc": idesc, "target": target}),
    }
    view = parse_view(body)[1]
    body["slice"] = {"mn": slice_mn, "k": slice_k}
    if storage:
        body["storage"] = parse_storage_options(storage, view.major)
    result = build_verified(body)
    if output:
        from lanescope.app.diagram import verdicts

        write_picture(verdicts.render_verdict(parse_picture_form(output), body, {"theme": theme}), output)
    if as_json:
        print_json(result)
    else:
        _print_verdict(result, view)
    if result.verdict != "match":
        raise typer.Exit(1 if storage else 2)


def _describe_verdict(result: Verified) -> str:
    """Return the verdict in one line, with the bits on which it rests."""
    total, first = result.total, result.first_mismatch
    wrong = total - (result.matched or 0)
    if result.verdict == "match":
        return f"match: {total} of {total} elements"
    if first and first.read == -1:
        return f"mismatch: {result.malformed}; which bytes are read is not defined"
    if not wrong:
        return f"mismatch: {result.malformed}; all {total} elements would be read from their places"
    read = f"mismatch: {wrong} of {total} elements are read from the wrong place"
    return f"{read}; {result.malformed}" if result.malformed else read


def _list_unread(result: Verified, view: View) -> Iterator[str]:
    """Yield the strides of a right descriptor that the instruction does not read, and why; 0 and 1 mean nothing."""
    from lanescope.descriptor.matrix import Descriptor, find_unread_fields

    word = Descriptor(int(result.descriptor, 16), view.form)
    unread = find_unread_fields(word.mode, view) if result.verdict == "match" else {}
    for field in view.form.fields:
        if field.name in unread and word.get_amount(field.name) > field.unit > 1:
            yield f"{field.short} ({word.get_amount(field.name)} bytes) is {unread[field.name]}"


def _print_verdict(result: Verified, view: View) -> None:
    from lanescope.app.memory.tile_descriptors import format_described

    if result.verdict == "unknown":
        _print_fits(result.fits or [])
    else:
        print(_describe_verdict(result))
    for line in _list_unread(result, view):
        print(f"  {line}")
    for caution in result.caution:
        print(f"  ! {caution}")
    if (first := result.first_mismatch) and first.read != -1:
        print(f"  first: [{first.row},{first.k}] is at {first.expected:#x}, read from {first.read:#x}")
    _print_diagnoses(result.diagnoses)
    for line in (line for warning in result.described or () for line in format_described(warning) if not warning.why):
        print(f"  {line}")
    print_warnings(
        warning
        for warning in result.warnings
        if not (result.caution and warning.code in ("reserved_bits", "tcgen05_format"))
    )


def _print_diagnoses(diagnoses: list[Diagnosis]) -> None:
    from lanescope.descriptor.causes import get_cause_title

    for diagnosis in diagnoses:
        title = get_cause_title(diagnosis.code)
        print(f"  {title} ({diagnosis.code}): {diagnosis.message.removeprefix(f'{title}: ')}")
        if diagnosis.storage:
            print(f"  would match if stored with: {format_storage_options(diagnosis.storage)}")
    if diagnoses and (fix := diagnoses[0].fix):
        print(f"  repair: {_format_fix(fix)}")


def _format_fix(fix: Fix) -> str:
    changed = ", ".join(f"{name} {of.from_:#x} → {of.to:#x}" for name, of in fix.changes.items())
    return fix.descriptor + (f"  ({changed} in the field)" if changed else "")


def _print_fits(fits: list[Fit]) -> None:
    print("no verdict: the storage of the tile is missing (--storage …)")
    for fit in fits:
        k = fit.slice["k"]
        print(f"  reads the slice at k {k} of {fit.text}\n    {format_storage_options(fit.storage)} --slice-k {k}")
    if fits:
        print("  (the smallest tile of each kind; a longer one with the same strides is read alike)")
    else:
        print("  reads no slice of a canonical tile")
