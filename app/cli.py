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


descriptor_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="wgmma matrix descriptors: decode, encode, verify.")
app.add_typer(descriptor_app, name="descriptor")


@descriptor_app.command("decode")
def descriptor_decode(
    word: Annotated[str, typer.Argument(help="Hex, 0b…, 0d…, or a constant C++ expression.")], as_json: AsJson = False
) -> None:
    """A descriptor's fields and what to check about them."""
    from app import memory

    facts = memory.descriptor_facts(memory.parse_descriptor(word))
    if as_json:
        return _print_json(facts)
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
    from app import memory

    given = {"start_address": start_address, "lbo_bytes": lbo_bytes, "sbo_bytes": sbo_bytes, "base_offset": base_offset, "swizzle": swizzle}
    made = memory.encode(given)
    _print_json(made) if as_json else print(made["descriptor"])


@descriptor_app.command("verify")
def descriptor_verify(
    word: Annotated[str, typer.Argument(help="The descriptor your program uses.")],
    instruction: Annotated[str, typer.Option(help="The wgmma that reads it.")],
    operand: Annotated[str, typer.Option(help="a or b.")] = "a",
    major: Annotated[str, typer.Option(help="K or MN, as the instruction's transpose immediate says.")] = "K",
    storage: Annotated[
        list[str] | None, typer.Option(help="Where the data lie: name=value, e.g. kind=canonical, swizzle=128B, mn=128, k=64.")
    ] = None,
    slice_mn: Annotated[int, typer.Option(help="The slice's first row of M or N.")] = 0,
    slice_k: Annotated[int, typer.Option(help="The slice's first K.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Does the descriptor read the tile where the program stored it? Exit status 1 where it does not."""
    from app import memory
    from layouts.errors import LayoutError

    spec: dict[str, str] = {}
    for item in storage or ["kind=canonical"]:
        name, equals, value = item.partition("=")
        if not equals:
            raise LayoutError("bad_storage", f"'{item}' is no storage option.", "Write name=value, e.g. swizzle=128B.", "storage")
        spec[name.strip()] = value.strip()
    spec.setdefault("kind", "canonical")
    spec.setdefault("major", major)
    part = {"mn": slice_mn, "k": slice_k}
    result = memory.verify_facts(
        {"descriptor": word, "instruction": instruction, "operand": operand, "major": major, "storage": spec, "slice": part}
    )
    if as_json:
        _print_json(result)
    else:
        print(f"{result['verdict']}: {result['matched']} of {result['total']} elements")
        first = result["first_mismatch"]
        if first:
            print(f"  first: [{first['row']},{first['k']}] lies at {first['expected']:#x}, read from {first['read']:#x}")
        for diagnosis in result["diagnoses"]:
            print(f"  {diagnosis['code']}: {diagnosis['message']}")
        if result["diagnoses"] and result["diagnoses"][0]["fix"]:
            print(f"  repair: {result['diagnoses'][0]['fix']['descriptor']}")
    if result["verdict"] != "match":
        raise typer.Exit(1)


@app.command()
def smem(
    element_bits: Annotated[str, typer.Option()] = "16",
    major: Annotated[str, typer.Option(help="K or MN.")] = "K",
    swizzle: Annotated[str, typer.Option(help="none, 32B, 64B or 128B.")] = "128B",
    mn: Annotated[str, typer.Option()] = "64",
    k: Annotated[str, typer.Option()] = "64",
    rows: Annotated[str, typer.Option(help="M or N of one instruction.")] = "",
    order: Annotated[str, typer.Option(help="Which way the atoms are laid first: mn or k.")] = "mn",
    base: Annotated[str, typer.Option(help="First byte of the tile.")] = "0",
    as_json: AsJson = False,
) -> None:
    """A tile in shared memory: atom, strides, CuTe, and the descriptor of every K step."""
    from app import memory

    given = {"element_bits": element_bits, "major": major, "swizzle": swizzle, "mn": mn, "k": k, "rows": rows, "order": order, "base": base}
    facts = memory.tile_facts(*memory.tile_of(given))
    if as_json:
        return _print_json(facts)
    atom = facts["atom"]
    print(f"atom {atom['mn']}×{atom['k']} (mn×k), {atom['bytes']} bytes, {atom['count']['mn']}×{atom['count']['k']} of them")
    for name in ("lbo", "sbo"):
        note = "" if facts[f"{name}_used"] else f"  ({facts['unused'].get(name, 'not read')})"
        print(f"{name.upper()}  {facts[f'{name}_bytes']} bytes, encoded {facts[f'{name}_bytes'] // 16:#x}{note}")
    for unit, text in facts["cute"].items():
        print(f"{unit:9} {text}")
    for step in facts["k_steps"]:
        print(f"k {step['k']:4}  +{step['start_offset_bytes']:<6} {step['descriptor']}  {step['why']}")


@app.command()
def steps(
    ptx: Annotated[str, typer.Argument(help="An mma's PTX text.")],
    at: Annotated[str, typer.Option("--at", help="ROW,COL of D to take apart.")] = "0,0",
    seed: Annotated[int, typer.Option(help="Of the random numbers.")] = 1,
    backend: Annotated[str, typer.Option(help="numpy (a simulation), or cuda.")] = "numpy",
    as_json: AsJson = False,
) -> None:
    """Everything one mma does: memory, addresses, registers, product terms, D."""
    from app import steps as trace
    from app.gpu import runs
    from app.gpu.device import Cuda, Device
    from app.gpu.reference import Reference
    from layouts import find
    from layouts.errors import LayoutError

    found = find(ptx)
    trace.check(found)
    row, comma, col = at.partition(",")
    if not (comma and row.strip().isdecimal() and col.strip().isdecimal()):
        raise LayoutError("bad_element", f"'{at}' is no element.", "Write ROW,COL, as in --at 3,2.", "at")
    request = runs.check({"kind": "mma", "instruction": found.ptx, "seed": seed, "backend": backend})
    device: Device = Reference() if backend == "numpy" else Cuda(0)
    told = trace.steps(found, runs.run(device, request), int(row), int(col))
    _print_json(told) if as_json else print(trace.text(told), end="")


gpu_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Run the instructions on this machine's GPU.")
app.add_typer(gpu_app, name="gpu")


@gpu_app.command("status")
def gpu_status(as_json: AsJson = False) -> None:
    """Which device there is, or why there is none."""
    from app.gpu.device import devices
    from layouts.errors import LayoutError

    try:
        answer: dict[str, Any] = {"available": True, "reason": "", "devices": devices()}
    except LayoutError as error:
        answer = {"available": False, "reason": f"{error.message} {error.hint}", "devices": []}
    if as_json:
        return _print_json(answer)
    print(answer["reason"] or "\n".join(", ".join(f"{key} {value}" for key, value in row.items()) for row in answer["devices"]))


@gpu_app.command("run")
def gpu_run(
    kind: Annotated[str, typer.Argument(help="mma, fragment, descriptor or banks.")],
    what: Annotated[str, typer.Argument(help="The instruction's PTX text; for banks the access, e.g. ldmatrix.x4.")],
    operand: Annotated[str, typer.Option(help="fragment, descriptor: which operand.")] = "",
    descriptor: Annotated[str, typer.Option(help="descriptor: the 64-bit word.")] = "",
    major: Annotated[str, typer.Option(help="descriptor: K or MN.")] = "K",
    a_from: Annotated[str, typer.Option(help="mma, wgmma: registers or shared.")] = "registers",
    seed: Annotated[int, typer.Option(help="mma: of the random numbers.")] = 20261121,
    address: Annotated[str, typer.Option(help="banks: 32 byte addresses, with commas.")] = "",
    backend: Annotated[str, typer.Option(help="cuda, or numpy (a simulation).")] = "cuda",
    device: Annotated[int, typer.Option(help="Number of the CUDA device.")] = 0,
    source: Annotated[bool, typer.Option("--source", help="Print the kernel that ran.")] = False,
    as_json: AsJson = False,
) -> None:
    """Execute one instruction and compare with the map. Exit status 1 where hardware differs."""
    from app.gpu import runs
    from app.gpu.device import Cuda, Device
    from app.gpu.reference import Reference

    given: dict[str, Any] = {"kind": kind, "backend": backend, "device": device}
    if kind == "banks":
        given |= {"access": what, "address": [int(part, 0) for part in address.replace(",", " ").split()]}
    else:
        given |= {"instruction": what}
        given |= {"mma": {"a_from": a_from, "seed": seed}, "fragment": {"operand": operand}}.get(kind, {})
        given |= {"descriptor": descriptor, "operand": operand or "a", "major": major} if kind == "descriptor" else {}
    request = runs.check(given)
    chosen: Device = Reference() if backend == "numpy" else Cuda(device)
    found = runs.run(chosen, request)
    if as_json:
        _print_json(found)
    else:
        how = "SIMULATION, no GPU" if found["simulation"] else found["device"]["name"]
        print(f"{'agrees' if found['agrees'] else 'differs'}: {found['compared'] - len(found['mismatches'])} of {found['compared']} · {how} · {found['duration_ms']:.1f} ms")  # fmt: skip
        for row in found["mismatches"][:20]:
            print("  " + ", ".join(f"{key} {value}" for key, value in row.items()))
        if source:
            print(found["source"])
    if not found["agrees"]:
        raise typer.Exit(1)


@gpu_app.command("verify")
def gpu_verify(
    family: Annotated[str, typer.Option(help="One family only.")] = "",
    write: Annotated[bool, typer.Option(help="Write layouts/evidence/<device>.json.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run everything the device supports and compare with the maps. Exit status 1 where hardware differs."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from app.gpu import verify as gpu
    from layouts.errors import LayoutError

    if write and family:
        raise LayoutError(
            "bad_usage", "--write with --family would leave the other families out.", "Run all families to write evidence.", "write"
        )
    told = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=told, disable=not told.is_terminal) as bar:
        task = bar.add_task("running", total=None)

        def progress(key: str, result: str, total: int) -> None:
            bar.update(task, advance=1, total=total)
            if result != "agrees":
                bar.console.print(f"{key}: {result}", markup=False)

        found = gpu.verify(family, progress)
    if write:
        print(gpu.write(found), file=sys.stderr)
    wrong = gpu.failures(found)
    if as_json:
        _print_json(found)
    else:
        _print_summary(found)
    if wrong:
        print("\n".join(wrong), file=sys.stderr)
        raise typer.Exit(1)


def _print_summary(found: dict[str, Any]) -> None:
    """The device, then a row a family with what each method saw."""
    from rich.console import Console
    from rich.table import Table

    from layouts import catalog

    family_of = {i.ptx: i.family.name for i in catalog.instructions()}
    print(", ".join(f"{key} {value}" for key, value in found["meta"].items() if key != "method"))
    table = Table("what", "ran", "mma agrees", "fragment agrees", "agrees")
    for name in catalog.FAMILY_NAMES:
        rows = [methods for key, methods in found["results"].items() if family_of[key.removesuffix(catalog.SHARED_A)] == name]
        if rows:
            counts = []
            for method in ("mma", "fragment"):
                judged = [row[method] for row in rows if method in row]
                counts.append(f"{judged.count('agrees')} of {len(judged)}" if judged else "")
            table.add_row(name, str(len(rows)), *counts, f"{sum(set(row.values()) == {'agrees'} for row in rows)} of {len(rows)}")
    for part in ("descriptors", "banks"):
        rows = list(found.get(part, {}).values())
        if rows:
            ran, agreed = (sum(row[key] for row in rows) for key in ("ran", "agreed"))
            table.add_row(part, str(ran), "", "", f"{agreed} of {ran}")
    Console().print(table)
