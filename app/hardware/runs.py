"""One run on a device, from a request of validated parameters: kinds mma, fragment, descriptor, banks."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from typing import Any

from lanescope.app.hardware import (
    bank_runs,
    descriptor_runs,
    fragment_runs,
    mma_runs,
    product_inputs,
    user_matrices,
    whole_product,
)
from lanescope.app.hardware.device import RunDevice
from lanescope.descriptor import matrix as desc
from lanescope.descriptor.matrix import Descriptor
from lanescope.descriptor.spelling import parse_word
from lanescope.errors import LayoutError
from lanescope.inputs import check_keys, parse_choice, parse_integer, quote_value, require_object
from lanescope.product.options import parse_options
from lanescope.product.plan import ProductPlan
from lanescope.product.planning import FROM, SIDES, is_plannable, make_plan
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction
from lanescope.shared import banks as model
from lanescope.shared.tiling import DEFAULT_ORDER

Json = dict[str, Any]
KINDS = ("mma", "fragment", "descriptor", "banks")
BACKENDS = ("cuda", "numpy")
PLACES = {
    "architecture": (r"(sm_[1-9]\d{1,2})[af]?", "One like sm_90; /gpu shows what there is."),
    "worker": (r"([\w.-]{1,64}(?::\d{1,2})?)", "A device as /gpu names it, host:0; or its host, and device."),
}
FIELDS = {
    "mma": ("instruction", "a_from", "seed", "data", *SIDES),
    "fragment": ("instruction", "operand"),
    "descriptor": ("descriptor", "instruction", "operand", "major"),
    "banks": ("access", "address"),
}


def parse_run(given: Mapping[str, Any]) -> Json:
    """The request with every parameter validated and spelled in full; LayoutError names the wrong one. Nothing else
    ever reaches a kernel.
    """
    kind, backend = (
        parse_choice(given.get("kind"), "kind", KINDS, "bad_kind"),
        parse_choice(given.get("backend", "cuda"), "backend", BACKENDS, "bad_backend"),
    )
    check_keys(given, ("kind", *FIELDS[kind], "backend", "device", *PLACES))
    device = parse_integer(given.get("device", 0), "device", 0, 63)
    out: Json = {"kind": kind, "backend": backend, "device": device} | check_placement(given, backend)
    if "worker" in out:
        out |= _name_device(out["worker"], device)
    if kind == "banks":
        return out | _check_banks(given)
    instruction = catalog.parse_instruction(given.get("instruction"), "instruction")
    out["instruction"] = instruction.ptx
    if kind == "mma":
        return out | _check_mma(given, instruction)
    if kind == "fragment":
        operand = parse_choice(
            given.get("operand", fragment_runs.list_measurable(instruction)[0]),
            "operand",
            fragment_runs.list_measurable(instruction),
            "bad_operand",
        )
        return out | {"operand": operand}
    operand = parse_choice(given.get("operand", "a"), "operand", ("a", "b"), "bad_operand")
    major = parse_choice(given.get("major", "K"), "major", DEFAULT_ORDER, "bad_major")
    view = desc.view(instruction, operand, major)
    word = Descriptor(parse_word(given.get("descriptor")).word)
    descriptor_runs.place_descriptor(word, view, 0)
    return out | {"descriptor": str(word), "operand": operand, "major": major}


def check_placement(given: Mapping[str, Any], backend: str) -> Json:
    """Where a run is to be executed, as far as it says so: an architecture, a worker of the fleet."""
    out = {}
    for name, (pattern, allowed) in PLACES.items():
        if name not in given or given[name] == "":
            continue
        if not (found := re.fullmatch(pattern, str(given[name]), re.A)):
            raise LayoutError(f"bad_{name}", f"{name} is {quote_value(given[name])}.", allowed, name)
        out[name] = found[1]
    if out and backend == "numpy":
        raise LayoutError(
            "bad_backend", f"backend numpy runs on no {next(iter(out))}.", "Leave one of them out.", "backend"
        )
    return out


def _name_device(worker: str, device: int) -> Json:
    """A device of a fleet by both its names: host:1 is device 1 of that host. Device 0 is what a request has that names
    none.
    """
    host, _, told = worker.partition(":")
    if told and device not in (0, int(told)):
        raise LayoutError("bad_device", f"device is {device}, worker '{worker}'.", "Name the device once.", "device")
    device = parse_integer(told, "worker", 0, 63, "bad_worker") if told else device
    return {"worker": f"{host}:{device}", "device": device}


def _check_mma(given: Mapping[str, Any], instruction: Instruction) -> Json:
    if not is_multiply(instruction):
        raise LayoutError(
            "bad_instruction",
            f"{instruction.ptx} is not a multiply instruction.",
            "Its map is measured by kind fragment.",
            "instruction",
        )
    forms = instruction.family.forms
    a_from, seed = (
        parse_choice(given.get("a_from", "registers"), "a_from", forms, "bad_a_from"),
        parse_integer(given.get("seed", product_inputs.SEED), "seed", 0, 2**63 - 1),
    )
    if not set(SIDES) & set(given):
        return {"a_from": a_from, "seed": seed} | _check_data(given, instruction, None)
    made = _check_plan(given, instruction)
    return {"a_from": made.a_from, "seed": seed, **made.chosen} | _check_data(given, instruction, made)


def _check_data(given: Mapping[str, Any], instruction: Instruction, made: ProductPlan | None) -> Json:
    """The matrices a user gave, checked against shape and types, and their product against D's type."""
    if "data" not in given:
        return {}
    data = require_object(
        given["data"], "data", "Give {'a': …, 'b': …, 'c': …}: formulas, or rows of numbers.", "bad_matrix"
    )
    check_keys(data, user_matrices.OPERANDS, "data")
    checked = user_matrices.check_matrices(instruction, data, "data.", made.steps if made else 1)
    if not checked:
        return {}
    try:
        whole_product.build_inputs(made, 0, checked) if made else product_inputs.make_random_inputs(
            instruction, data=checked
        )
    except LayoutError as error:
        raise error.at("data") from None
    return {"data": checked}


def _check_plan(given: Mapping[str, Any], instruction: Instruction) -> ProductPlan:
    """How A and B of a whole product are stored: the options of a, b and d, and a_from where it is given."""
    options = {side: parse_options(given.get(side), side) for side in SIDES}
    if "a_from" in given and instruction.family.by_descriptor:
        told = parse_choice(given["a_from"], "a_from", FROM, "bad_a_from")
        wanted = options["a"].setdefault("from", told)
        if told != wanted:
            raise LayoutError("bad_a_from", f"a_from is '{told}', a.from '{wanted}'.", "Give one of them.", "a_from")
    return make_plan(instruction, *options.values())


def _check_banks(given: Mapping[str, Any]) -> Json:
    row = model.get_access(given.get("access"))
    if "address" not in given:
        raise LayoutError("bad_address", "address is missing.", "A byte address a lane: [0, 16, …].", "address")
    return {"access": row.name, "address": model.check_addresses(row, given.get("address"))}


def is_multiply(instruction: Instruction) -> bool:
    """Whether it is an mma of any kind: A·B + C."""
    return is_plannable(instruction)


def execute_run(device: RunDevice, request: Json) -> Json:
    """Execute a checked request; the answer of POST /gpu/runs. LayoutError "unsupported_here" where the device lacks
    the instruction.
    """
    begun = time.perf_counter()
    kind = request["kind"]
    if kind == "banks":
        row = model.get_access(request["access"])
        if device.info()["compute_capability"] == "7.5" and row.matrices and row.stores:
            raise LayoutError("unsupported_here", "stmatrix needs sm_90.", "Choose another access.", "access")
        found = bank_runs.run_banks(device, request["access"], request["address"])
    else:
        instruction = catalog.find(request["instruction"])
        reason = device.supports(instruction)
        if reason:
            raise LayoutError(
                "unsupported_here",
                reason,
                "Run it on such a device, or with backend numpy (a simulation).",
                "instruction",
            )
        found = _RUN[kind](device, instruction, request)
    took = (time.perf_counter() - begun) * 1000
    return {
        "kind": kind,
        "request": request,
        "backend": request["backend"],
        "simulation": device.simulated,
        "device": device.info(),
        **found,
        "duration_ms": round(took, 3),
    }


def _run_mma(device: RunDevice, i: Instruction, request: Json) -> Json:
    """One instruction over registers and plain tiles, or a whole product stored as the request says."""
    if SIDES[0] in request:
        return mma_runs.run_plan(
            device, make_plan(i, *(request[side] for side in SIDES)), request["seed"], request.get("data")
        )
    return mma_runs.run_mma(device, i, request["a_from"], request["seed"], request.get("data"))


_RUN: dict[str, Callable[[RunDevice, Instruction, Json], Json]] = {
    "mma": _run_mma,
    "fragment": lambda device, i, r: fragment_runs.run_fragment(device, i, r["operand"]),
    "descriptor": lambda device, i, r: descriptor_runs.run_descriptor(
        device, i, Descriptor(parse_word(r["descriptor"]).word), r["operand"], r["major"]
    ),
}
