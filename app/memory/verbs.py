"""The verbs of shared memory: smem, descriptor, chain, banks."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from app.kit.terminal import AsJson, complete, form_of, print_json, save, storage_of, storage_option
from app.kit.words import LOOK

app = typer.Typer(rich_markup_mode=None)
descriptor_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="wgmma matrix descriptors: decode, encode, verify.")
app.add_typer(descriptor_app, name="descriptor")


@app.command()
def chain(
    mma: Annotated[str, typer.Argument(help="The mma's PTX text.", autocompletion=complete)],
    operand: Annotated[str, typer.Argument(help="a or b; c or d for a stmatrix.")] = "a",
    load: Annotated[str, typer.Option(help="The ldmatrix or stmatrix; the best one when left out.")] = "",
    major: Annotated[str, typer.Option(help="K or MN: which way is contiguous.")] = "K",
    storage: Annotated[list[str] | None, typer.Option(help="Where the data lie: kind=rows,pitch_bytes=144,swizzle=128B, …")] = None,
    as_json: AsJson = False,
) -> None:
    """Does this load feed this operand? Lane addresses and the loop. Exit status 1 where it does not."""
    from app.chain import facts as chains

    given = {"mma": mma, "operand": operand, "major": major, "storage": storage_of(storage or ["kind=rows", "pitch_bytes=144"], major)}
    if not load:
        fits, best = chains.choices(given)
        load = (best or fits)[0]
    facts = chains.chain_facts(chains.chain_of(given | {"load": load}))
    if as_json:
        print_json(facts)
    else:
        print(
            f"{facts['verdict']}: {facts['matched']} of {facts['total']} elements, {load}"
            + (f", {facts['ways']}-way banks" if facts["ways"] else "")
        )
        first = facts["first_mismatch"]
        if first:
            print(
                f"  first: thread {first['thread']} register {first['register']} wants [{first['row']},{first['col']}] at {first['expected']}, gets {first['read']}"
            )
        for note in facts["notes"]:
            print(f"  {note}")
        if facts["instead"]:
            print("  instead: " + ", ".join(facts["instead"]))
        for number, turn in enumerate(facts["turns"]):
            print(
                f"  {'turn ' + str(number) + ' ' if len(facts['turns']) > 1 else ''}lane addresses: "
                + " ".join(str(at) for at in turn if at >= 0)
            )
        if facts["code"]:
            print(facts["code"])
    if facts["verdict"] != "match":
        raise typer.Exit(1)


@app.command()
def banks(
    access: Annotated[str, typer.Argument(help="ldmatrix.x4, st.shared.b128, …")] = "ldmatrix.x4",
    pattern: Annotated[str, typer.Option(help="ldmatrix, rows, along, fragment or columns; ldmatrix when left out.")] = "",
    row_bytes: Annotated[str, typer.Option(help="Bytes a row of the tile; 128 when left out.")] = "",
    pad: Annotated[str, typer.Option(help="Bytes of padding a row.")] = "",
    swizzle: Annotated[str, typer.Option(help="Applied to every address: none, 32B, 64B, 128B, or B,M,S in bytes.")] = "",
    address: Annotated[str, typer.Option(help="Instead of rows: a byte address a lane, with commas; - for an inactive lane.")] = "",
    solve: Annotated[bool, typer.Option("--solve", help="Find the smallest swizzle without conflicts.")] = False,
    also: Annotated[
        list[str] | None, typer.Option(help="--solve: another access to free together, access:pattern or access:addresses.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Wavefronts of a shared-memory access, and the swizzle that frees it. Exit status 1 where there are conflicts."""
    from app.chain import facts as chains
    from layouts.banks import parse
    from layouts.errors import LayoutError

    one = {"access": access} | ({"pattern": pattern} if pattern else {}) | ({"address": parse(address)} if address else {})
    rows = {name: text for name, text in (("row_bytes", row_bytes), ("pad", pad)) if text}
    if solve and swizzle:
        raise LayoutError("bad_usage", "--solve looks for the swizzle: --swizzle says one.", "Give one of the two.", "swizzle")
    if also and not solve:
        raise LayoutError("bad_usage", "--also names accesses to free together.", "Add --solve, or count one access at a time.", "also")
    if solve:
        found = chains.solve(rows | {"accesses": [one, *chains.accesses(", ".join(also or []))]})
        if as_json:
            print_json(found)
        else:
            print(found["why"] + (f" That is mode {found['mode']} of TMA and wgmma." if found["mode"] not in (None, "none") else ""))
            for row in found["accesses"]:
                print(
                    f"  {row['access']} {row['pattern'] or 'at the addresses given'}: {row['ways_before']}-way without, {row['ways']}-way with it"
                )
        if not found["free"]:
            raise typer.Exit(1)
        return
    found = chains.use_facts(*chains.use_of(one | rows | ({"swizzle": swizzle} if swizzle else {})))
    if as_json:
        print_json(found)
    else:
        under = f" under {found['swizzle']}" if swizzle else ""
        print(f"{found['access']}{under}: {found['wavefronts']} wavefronts, {found['ideal']} ideal, {found['ways']}-way")
        for number, phase in enumerate(found["phases"]):
            lanes = f"lanes {phase['lanes'][0]}-{phase['lanes'][-1]}" if phase["lanes"] else "no lane active"
            print(f"  phase {number}: {lanes}, {phase['wavefronts']} wavefronts")
    if found["ways"] > 1:
        raise typer.Exit(1)


@descriptor_app.command("decode")
def descriptor_decode(
    word: Annotated[str, typer.Argument(help="Hex, 0b…, 0d…, hi:lo, {lo, hi}, a constant C++ expression, or code that builds it.")],
    output: Annotated[str, typer.Option("--output", "-o", help="Draw it: FILE.svg, .png, .pdf, .tex, .txt, .md, .csv.")] = "",
    theme: Annotated[str, typer.Option(help="light, dark or bw.")] = "light",
    as_json: AsJson = False,
) -> None:
    """A descriptor's fields and what to check about them."""
    from app.memory import facts as memory

    if output:
        from app.diagram import forms as pictures

        return save(pictures.descriptor(form_of(output), memory.parse_descriptor(word), {"theme": theme})[0], output)

    facts = memory.decoded(word)
    if as_json:
        return print_json(facts)
    print(facts["descriptor"])
    for field in facts["fields"]:
        amount = facts["swizzle"] if field["name"] == "swizzle" else f"{field['amount']}{' B' if field['unit'] > 1 else ''}"
        print(f"  {field['high']:2}–{field['low']:<2}  {field['name']:14} {field['encoded']:#x}  {amount}")
    for warning in facts["warnings"]:
        print(f"  ! {warning['field']}: {warning['message']}")


@descriptor_app.command("encode")
def descriptor_encode(
    start_address: Annotated[str, typer.Option(help="Shared-window byte address.")] = "0",
    lbo_bytes: Annotated[str, typer.Option(help="Leading dimension byte offset.")] = "16",
    sbo_bytes: Annotated[str, typer.Option(help="Stride dimension byte offset.")] = "0",
    base_offset: Annotated[str, typer.Option(help="0 to 7.")] = "0",
    swizzle: Annotated[str, typer.Option(help="none, 32B, 64B or 128B.")] = "none",
    as_json: AsJson = False,
) -> None:
    """A descriptor from byte amounts."""
    from app.memory import facts as memory

    given = {"start_address": start_address, "lbo_bytes": lbo_bytes, "sbo_bytes": sbo_bytes, "base_offset": base_offset, "swizzle": swizzle}
    made = memory.encode(given)
    print_json(made) if as_json else print(made["descriptor"])


@descriptor_app.command("verify")
def descriptor_verify(
    word: Annotated[str, typer.Argument(help="The descriptor your program uses.")],
    instruction: Annotated[str, typer.Option(help="The wgmma that reads it.")],
    operand: Annotated[str, typer.Option(help="a or b.")] = "a",
    major: Annotated[str, typer.Option(help="K or MN, as the instruction's transpose immediate says.")] = "K",
    storage: Annotated[
        list[str] | None,
        typer.Option(
            help="Where the data lie: name=value, with commas between several or one an option, e.g. kind=canonical,swizzle=128B,mn=128,k=64."
        ),
    ] = None,
    slice_mn: Annotated[str, typer.Option(help="The slice's first row of M or N.")] = "0",
    slice_k: Annotated[str, typer.Option(help="The slice's first K.")] = "0",
    as_json: AsJson = False,
) -> None:
    """Does the descriptor read the tile where the program stored it? Exit status 1 where it does not, 2 where no storage is given."""
    from app.memory import facts as memory

    asked = {"descriptor": word, "instruction": instruction, "operand": operand, "major": major, "slice": {"mn": slice_mn, "k": slice_k}}
    result = memory.verify_facts(asked | ({"storage": storage_of(storage, major)} if storage else {}))
    if as_json:
        print_json(result)
    else:
        _print_verdict(result)
    if result["verdict"] != "match":
        raise typer.Exit(1 if storage else 2)


def _print_verdict(result: dict[str, Any]) -> None:
    if result["verdict"] == "unknown":
        print("no verdict: say how the tile was stored (--storage …)")
        for fit in result["fits"]:
            print(
                f"  reads the slice at k {fit['slice']['k']} of {fit['text']}\n    {storage_option(fit['storage'])} --slice-k {fit['slice']['k']}"
            )
        if result["fits"]:
            print("  (the smallest tile of each kind; a longer one with the same strides is read alike)")
        else:
            print("  reads no slice of a canonical tile")
    else:
        print(f"{result['verdict']}: {result['matched']} of {result['total']} elements")
    first = result["first_mismatch"]
    if first:
        print(f"  first: [{first['row']},{first['k']}] lies at {first['expected']:#x}, read from {first['read']:#x}")
    for diagnosis in result["diagnoses"]:
        print(f"  {diagnosis['code']}: {diagnosis['message']}")
        if diagnosis["storage"]:
            print(f"  stored so it would match: {storage_option(diagnosis['storage'])}")
    if result["diagnoses"] and (fix := result["diagnoses"][0]["fix"]):
        changed = ", ".join(f"{name} {of['from']:#x} → {of['to']:#x}" for name, of in fix["changes"].items())
        print(f"  repair: {fix['descriptor']}" + (f"  ({changed} in the field)" if changed else ""))
    for warning in result["warnings"]:
        print(f"  ! {warning['field']}: {warning['message']}")


@app.command()
def smem(
    element_bits: Annotated[str, typer.Option()] = "16",
    major: Annotated[str, typer.Option(help="K or MN.")] = "K",
    swizzle: Annotated[str, typer.Option(help="none, 32B, 64B or 128B.")] = "128B",
    mn: Annotated[str, typer.Option()] = "64",
    k: Annotated[str, typer.Option()] = "64",
    rows: Annotated[str, typer.Option(help="M or N of one instruction.")] = "",
    order: Annotated[
        str, typer.Option(help="Which way the atoms are laid first: mn or k; CUTLASS's order when left out (K-major mn, MN-major k).")
    ] = "",
    base: Annotated[str, typer.Option(help="First byte of the tile.")] = "0",
    output: Annotated[str, typer.Option("--output", "-o", help="Draw it: FILE.svg, .png, .pdf, .tex, .txt, .md, .csv.")] = "",
    theme: Annotated[str, typer.Option(help="light, dark or bw.")] = "light",
    down: Annotated[str, typer.Option(help="Drawn: " + LOOK["down"][1] + ".")] = "",
    unit: Annotated[str, typer.Option(help="Drawn: " + LOOK["unit"][1] + ".")] = "",
    number: Annotated[str, typer.Option(help="Drawn: " + LOOK["number"][1] + ".")] = "",
    show: Annotated[str, typer.Option(help="Drawn: " + LOOK["show"][1] + ".")] = "",
    plain: Annotated[bool, typer.Option("--plain", help="Drawn: memory before the swizzle.")] = False,
    as_json: AsJson = False,
) -> None:
    """A tile in shared memory: atom, strides, CuTe, and the descriptor of every K step."""
    from app.memory import facts as memory

    given = {"element_bits": element_bits, "major": major, "swizzle": swizzle, "mn": mn, "k": k, "rows": rows, "order": order, "base": base}
    if output:
        from app.diagram import forms as pictures

        looks = {"down": down, "unit": unit, "number": number, "show": show, "plain": "1" * plain, "theme": theme}
        return save(pictures.tile(form_of(output), {name: value for name, value in (given | looks).items() if value})[0], output)
    facts = memory.tile_facts(*memory.tile_of(given))
    if as_json:
        return print_json(facts)
    atom = facts["atom"]
    print(f"atom {atom['mn']}×{atom['k']} (mn×k), {atom['bytes']} bytes, {atom['count']['mn']}×{atom['count']['k']} of them")
    for name in ("lbo", "sbo"):
        note = "" if facts[f"{name}_used"] else f"  ({facts['unused'].get(name, 'not read')})"
        print(f"{name.upper()}  {facts[f'{name}_bytes']} bytes, encoded {facts[f'{name}_bytes'] // 16:#x}{note}")
    for unit, text in facts["cute"].items():
        print(f"{unit:9} {text}")
    for step in facts["k_steps"]:
        print(f"k {step['k']:4}  +{step['start_offset_bytes']:<6} {step['descriptor']}  {step['why']}")
