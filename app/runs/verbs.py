"""Commands that execute: steps, gpu status, run, verify. They import no server package."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lanescope.app.kit.terminal import AsJson, make_verb_group, print_json, read_bytes
from lanescope.app.runs import fleet_verbs
from lanescope.app.runs.fleet_options import FleetContact, add_fleet_options, open_fleet

if TYPE_CHECKING:
    from lanescope.app.runs.facts import RunAnswer

app, gpu_app = make_verb_group("gpu", "Run the instructions on this machine's GPU.")
gpu_app.command("scheduler")(fleet_verbs.scheduler)
gpu_app.command("worker")(fleet_verbs.worker)
_MATRIX = "a formula of i, row and col such as 'i', rows of numbers, or a file (.npy; .txt, .csv)."


@app.command()
def steps(
    ptx: Annotated[str, typer.Argument(help="An mma: PTX, or its name.")],
    *,
    at: Annotated[str, typer.Option("--at", help="ROW,COL of D to take apart.")] = "0,0",
    seed: Annotated[str, typer.Option(help="Of the random numbers.", metavar="<int>")] = "1",
    backend: Annotated[str, typer.Option(help="numpy (a simulation), or cuda.")] = "numpy",
    a: Annotated[
        str,
        typer.Option(
            "--a",
            help="A in place of random numbers: " + _MATRIX + " wgmma: also how A is stored, as for lanescope kernel.",
        ),
    ] = "",
    b: Annotated[str, typer.Option("--b", help="B, likewise; i counts it column by column.")] = "",
    c: Annotated[str, typer.Option("--c", help="C, likewise; 0 where A or B is given.")] = "",
    d: Annotated[str, typer.Option("--d", help="wgmma: scale=0 leaves C out.")] = "",
    data_a: Annotated[str, typer.Option("--data-a", help="wgmma: A's numbers, where --a says how it is stored.")] = "",
    data_b: Annotated[str, typer.Option("--data-b", help="wgmma: B's numbers, where --b says how it is stored.")] = "",
    as_json: AsJson = False,
) -> None:
    """Everything one mma does: memory, addresses, registers or descriptors, product terms, D."""
    from lanescope import find
    from lanescope.app.hardware import runs
    from lanescope.app.hardware.device import CudaDevice, RunDevice
    from lanescope.app.hardware.numpy_device import NumpyDevice
    from lanescope.app.kit.run_results import parse_mma_result
    from lanescope.app.steps import facts as trace
    from lanescope.app.steps.draw import render_steps
    from lanescope.inputs import parse_pair

    found = find(ptx)
    trace.require_steps(found)
    row, col = parse_pair(at, "at")
    texts = {"a": a, "b": b, "c": c, "d": d, "data_a": data_a, "data_b": data_b}
    options, data = trace.parse_inputs(found, {name: text for name, text in texts.items() if text})
    matrices = {name: _parse_matrix_option(text, name) for name, text in data.items()}
    body = {"kind": "mma", "instruction": found.ptx, "seed": seed, "backend": backend} | options
    request = runs.parse_run(body | ({"data": matrices} if matrices else {}))
    device: RunDevice = NumpyDevice() if request["backend"] == "numpy" else CudaDevice(0)
    traced = trace.trace_steps(found, parse_mma_result(runs.execute_run(device, request)), row, col)
    print_json(traced) if as_json else print(render_steps(traced), end="")


def _parse_matrix_option(text: str, name: str) -> Any:
    """Return a matrix from an option: the numbers of a file, or the text itself."""
    from lanescope.app.hardware import user_matrices

    path = Path(text)
    if path.suffix.lower() not in (".npy", ".txt", ".csv"):
        return text
    raw = read_bytes(text, name, user_matrices.MOST_BYTES, "bad_matrix", "Name a .npy, .txt or .csv file.")
    return (
        user_matrices.read_npy(raw, name)
        if path.suffix.lower() == ".npy"
        else user_matrices.parse_matrix(raw.decode("utf-8", "replace"), name)
    )


def make_scheduler_error(option: str) -> Exception:
    """Return the error for an option that only a fleet has."""
    from lanescope.errors import LayoutError

    return LayoutError("bad_usage", f"--{option} needs a --scheduler.", "This machine has one device.", option)


@gpu_app.command("status")
@add_fleet_options()
def gpu_status(
    contact: FleetContact = FleetContact(),
    as_json: AsJson = False,
) -> None:
    """Which device there is, or why there is none; with a scheduler, its fleet."""
    from lanescope.app.hardware.device import list_devices
    from lanescope.app.kit.fact import fact_to_json
    from lanescope.app.kit.run_results import Device
    from lanescope.app.runs.facts import DeviceList, build_fleet_status
    from lanescope.errors import LayoutError

    if contact.is_requested:
        with open_fleet(contact) as fleet:
            fleet_status = build_fleet_status(fleet.address, fleet.members().result())
        return (
            print_json(fleet_status)
            if as_json
            else print("\n".join(map(fleet_verbs.format_worker, fleet_status.workers)) or "No workers.")
        )
    try:
        answer = DeviceList(available=True, reason="", devices=[Device(**device) for device in list_devices()])
    except LayoutError as error:
        answer = DeviceList(available=False, reason=f"{error.message} {error.hint}", devices=[])
    if as_json:
        return print_json(answer)
    print(
        answer.reason
        or "\n".join(
            ", ".join(f"{key} {value}" for key, value in fact_to_json(device).items()) for device in answer.devices
        )
    )


@gpu_app.command("run")
@add_fleet_options()
def gpu_run(
    kind: Annotated[str, typer.Argument(help="mma, fragment, descriptor or banks.")],
    what: Annotated[
        str, typer.Argument(help="An instruction: PTX, or its name; for banks the access, e.g. ldmatrix.x4.")
    ],
    *,
    operand: Annotated[str, typer.Option(help="fragment, descriptor: which operand.")] = "",
    descriptor: Annotated[str, typer.Option(help="descriptor: the 64-bit word.")] = "",
    major: Annotated[str, typer.Option(help="descriptor: K or MN.")] = "K",
    a_from: Annotated[str, typer.Option(help="mma, wgmma: registers or shared.")] = "",
    seed: Annotated[str, typer.Option(help="mma: of the random numbers.", metavar="<int>")] = "20261121",
    a: Annotated[str, typer.Option("--a", help="mma, a whole product: how A is stored, as for lanescope kernel.")] = "",
    b: Annotated[str, typer.Option("--b", help="mma, a whole product: how B is stored.")] = "",
    d: Annotated[str, typer.Option("--d", help="mma, a whole product: scale=0, or wmma's layout and ldm.")] = "",
    address: Annotated[str, typer.Option(help="banks: 32 byte addresses, with commas.")] = "",
    backend: Annotated[str, typer.Option(help="cuda, or numpy (a simulation).")] = "cuda",
    device: Annotated[str, typer.Option(help="Number of the CUDA device.", metavar="<int>")] = "0",
    architecture: Annotated[str, typer.Option(help="On a device of this architecture only: sm_90.")] = "",
    worker: Annotated[
        str, typer.Option(help="With a scheduler: on this device, host:0; or its host, and --device.")
    ] = "",
    contact: FleetContact = FleetContact(),
    source: Annotated[bool, typer.Option("--source", help="Print the kernel that ran.")] = False,
    as_json: AsJson = False,
) -> None:
    """Execute one instruction and compare with the map. Exit status 1 if hardware differs."""
    from lanescope.app.hardware import runs
    from lanescope.app.runs.facts import parse_answer
    from lanescope.shared.banks import parse_addresses

    builders: dict[str, Callable[[], dict[str, Any]]] = {
        "mma": lambda: _filled(a=a, b=b, d=d, a_from=a_from) | {"seed": seed},
        "fragment": lambda: _filled(operand=operand),
        "descriptor": lambda: {"descriptor": descriptor, "operand": operand or "a", "major": major},
        "banks": lambda: {"access": what, "address": parse_addresses(address)},
    }
    options = builders[kind]() if kind in builders else {}
    about = {} if kind == "banks" else {"instruction": what}
    placed = {"backend": backend, "device": device} | _filled(architecture=architecture, worker=worker)
    request = runs.parse_run({"kind": kind} | placed | about | options)
    if worker and not contact.is_requested:
        raise make_scheduler_error("worker")
    if contact.is_requested and request["backend"] == "cuda":
        with open_fleet(contact) as fleet:
            found = parse_answer(fleet.submit(request).result())
    else:
        found = _run_here(request)
    if as_json:
        print_json(found)
    else:
        _print_run(found)
        if source:
            print(found.source)
    if not found.agrees:
        raise typer.Exit(1)


def _filled(**options: str) -> dict[str, str]:
    """Return the options that were given."""
    return {name: text for name, text in options.items() if text}


def _run_here(request: dict[str, Any]) -> RunAnswer:
    """Execute a request on this machine's device, or on the simulation."""
    from lanescope.app.hardware import runs
    from lanescope.app.hardware.device import CudaDevice
    from lanescope.app.hardware.numpy_device import NumpyDevice
    from lanescope.app.kit.run_results import Device
    from lanescope.app.runs.facts import parse_answer
    from lanescope.app.runs.hardware import check_device

    if request["backend"] == "numpy":
        return parse_answer(runs.execute_run(NumpyDevice(), request))
    device = CudaDevice(request["device"])
    check_device([Device(**device.info())], request)
    return parse_answer(runs.execute_run(device, request))


def _print_run(result: RunAnswer) -> None:
    """Print whether hardware agrees, the descriptors, and the first mismatches."""
    from lanescope.app.kit.fact import fact_to_json
    from lanescope.app.kit.run_results import MmaRan

    how = "SIMULATION, no GPU" if result.simulation else result.device.name
    if result.ran_by:
        how += f" of {result.ran_by.worker}"
    agreed = result.compared - len(result.mismatches)
    verdict = "agrees" if result.agrees else "differs"
    print(f"{verdict}: {agreed} of {result.compared} · {how} · {result.duration_ms:.1f} ms")
    if isinstance(result, MmaRan):
        for name, words in (result.descriptors or {}).items():
            print(f"  descriptor {name}: {' '.join(words)}")
    for row in result.mismatches[:20]:
        print("  " + ", ".join(f"{key} {value}" for key, value in fact_to_json(row).items()))


@gpu_app.command("verify")
@add_fleet_options()
def gpu_verify(
    *,
    family: Annotated[str, typer.Option(help="One family only.")] = "",
    part: Annotated[
        str,
        typer.Option(
            help="One part only: descriptors, banks, counters, chains, programs, code, delivery, boxes, maps, captures"
            " or tcgen05."
        ),
    ] = "",
    write: Annotated[
        bool, typer.Option(help="Write layouts/evidence/<device>.json; with --part that part of it.")
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="A sample of every kind; nothing is written.")] = False,
    architecture: Annotated[str, typer.Option(help="With a scheduler: devices of this architecture only.")] = "",
    worker: Annotated[str, typer.Option(help="With a scheduler: this device only, host:0; or all of a host.")] = "",
    journal: Annotated[str, typer.Option(help="With a scheduler: the file that keeps what is done.")] = "",
    contact: FleetContact = FleetContact(),
    as_json: AsJson = False,
) -> None:
    """Run everything the device supports and compare with the maps; with a scheduler, on every device of its fleet.
    Exit status 1 if hardware differs.
    """
    from lanescope.app.hardware import fleet_verification, verification as gpu

    _check_scope(family, write, quick, bool(contact.is_requested))
    for name, text in (("architecture", architecture), ("worker", worker), ("journal", journal)):
        if text and not contact.is_requested:
            raise make_scheduler_error(name)
    path = Path(journal) if journal else fleet_verification.get_default_journal_path()
    with fleet_verification.PieceJournal(path) if contact.is_requested else nullcontext() as kept:
        with fleet_verbs.show_progress() as progress:
            if kept:
                chosen = {"architecture": architecture, "worker": worker, "family": family, "part": part}
                every = fleet_verbs.verify_on_fleet(contact, chosen, kept, progress)
            else:
                tick = lambda key, result, total: progress(key, result, 1, total)  # noqa: E731
                begins = fleet_verbs.make_stage_printer() if not (family or part) else lambda stage: None
                every = [gpu.verify_device(family, tick, part=part, quick=quick, announce=begins)]
        agrees = fleet_verbs.write_report(every, part, write, bool(kept), as_json)
        if kept:
            kept.delete()
    if not agrees:
        raise typer.Exit(1)


def _check_scope(family: str, write: bool, quick: bool, fleet: bool) -> None:
    """Refuse to write evidence, or to use a fleet, for a part of the verification."""
    from lanescope.errors import LayoutError

    if write and family:
        raise LayoutError(
            "bad_usage",
            "--write with --family would leave the other families out.",
            "Run all families to write evidence.",
            "write",
        )
    if quick and (write or fleet):
        raise LayoutError(
            "bad_usage",
            "--quick runs a sample on this machine.",
            "Evidence, and a fleet, take the whole: leave --quick out.",
            "quick",
        )
