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
from lanescope.names import lookup
from lanescope.product.options import parse_options
from lanescope.product.plan import ProductPlan
from lanescope.product.planning import FROM, SIDES, is_plannable, make_plan
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


def parse_run(params: Mapping[str, Any]) -> Json:
    """Parse a request, with every parameter validated and spelled in full; LayoutError names the wrong one. Nothing
    else ever reaches a kernel.
    """
    kind, backend = (
        parse_choice(params.get("kind"), "kind", KINDS, "bad_kind"),
        parse_choice(params.get("backend", "cuda"), "backend", BACKENDS, "bad_backend"),
    )
    check_keys(params, ("kind", *FIELDS[kind], "backend", "device", *PLACES))
    device = parse_integer(params.get("device", 0), "device", 0, 63)
    request: Json = {"kind": kind, "backend": backend, "device": device} | check_placement(params, backend)
    if "worker" in request:
        request |= _name_device(request["worker"], device)
    if kind == "banks":
        return request | _check_banks(params)
    instruction = lookup.parse_instruction(params.get("instruction"), "instruction")
    request["instruction"] = instruction.ptx
    if kind == "mma":
        return request | _check_mma(params, instruction)
    if kind == "fragment":
        operand = parse_choice(
            params.get("operand", fragment_runs.list_measurable(instruction)[0]),
            "operand",
            fragment_runs.list_measurable(instruction),
            "bad_operand",
        )
        return request | {"operand": operand}
    operand = parse_choice(params.get("operand", "a"), "operand", ("a", "b"), "bad_operand")
    major = parse_choice(params.get("major", "K"), "major", DEFAULT_ORDER, "bad_major")
    view = desc.view(instruction, operand, major)
    word = Descriptor(parse_word(params.get("descriptor")).word)
    descriptor_runs.place_descriptor(word, view, 0)
    return request | {"descriptor": str(word), "operand": operand, "major": major}


def check_placement(params: Mapping[str, Any], backend: str) -> Json:
    """Check where a run is to be executed, if it says so: an architecture, a worker of the fleet."""
    placement = {}
    for name, (pattern, allowed) in PLACES.items():
        if name not in params or params[name] == "":
            continue
        if not (match := re.fullmatch(pattern, str(params[name]), re.A)):
            raise LayoutError(f"bad_{name}", f"{name} is {quote_value(params[name])}.", allowed, name)
        placement[name] = match[1]
    if placement and backend == "numpy":
        raise LayoutError(
            "bad_backend", f"backend numpy runs on no {next(iter(placement))}.", "Leave one of them out.", "backend"
        )
    return placement


def _name_device(worker: str, device: int) -> Json:
    """Return both names of a fleet's device: host:1 is device 1 of that host. device: 0 if the request names none."""
    host, _, number = worker.partition(":")
    if number and device not in (0, int(number)):
        raise LayoutError("bad_device", f"device is {device}, worker '{worker}'.", "Name the device once.", "device")
    device = parse_integer(number, "worker", 0, 63, "bad_worker") if number else device
    return {"worker": f"{host}:{device}", "device": device}


def _check_mma(params: Mapping[str, Any], instruction: Instruction) -> Json:
    if not is_plannable(instruction):
        raise LayoutError(
            "bad_instruction",
            f"Kind mma does not run {instruction.ptx}.",
            "Its map is measured by kind fragment.",
            "instruction",
        )
    forms = instruction.family.forms
    a_from, seed = (
        parse_choice(params.get("a_from", "registers"), "a_from", forms, "bad_a_from"),
        parse_integer(params.get("seed", product_inputs.SEED), "seed", 0, 2**63 - 1),
    )
    if not set(SIDES) & set(params):
        return {"a_from": a_from, "seed": seed} | _check_data(params, instruction, None)
    plan = _check_plan(params, instruction)
    return {"a_from": plan.a_from, "seed": seed, **plan.chosen} | _check_data(params, instruction, plan)


def _check_data(params: Mapping[str, Any], instruction: Instruction, plan: ProductPlan | None) -> Json:
    """Check the matrices of a user against shape and types, and their product against D's type."""
    if "data" not in params:
        return {}
    data = require_object(
        params["data"], "data", "Give {'a': …, 'b': …, 'c': …}: formulas, or rows of numbers.", "bad_matrix"
    )
    check_keys(data, user_matrices.OPERANDS, "data")
    checked = user_matrices.check_matrices(instruction, data, "data.", plan.steps if plan else 1)
    if not checked:
        return {}
    try:
        whole_product.build_inputs(plan, 0, checked) if plan else product_inputs.make_random_inputs(
            instruction, data=checked
        )
    except LayoutError as error:
        raise error.move_to_field("data") from None
    return {"data": checked}


def _check_plan(params: Mapping[str, Any], instruction: Instruction) -> ProductPlan:
    """Check how A and B of a whole product are stored: the options of a, b and d, and a_from if it is given."""
    options = {side: parse_options(params.get(side), side) for side in SIDES}
    if "a_from" in params and instruction.family.by_descriptor:
        a_from = parse_choice(params["a_from"], "a_from", FROM, "bad_a_from")
        option = options["a"].setdefault("from", a_from)
        if a_from != option:
            raise LayoutError("bad_a_from", f"a_from is '{a_from}', a.from '{option}'.", "Give one of them.", "a_from")
    return make_plan(instruction, *options.values())


def _check_banks(params: Mapping[str, Any]) -> Json:
    row = model.get_access(params.get("access"))
    if "address" not in params:
        raise LayoutError("bad_address", "address is missing.", "A byte address a lane: [0, 16, …].", "address")
    return {"access": row.name, "address": model.check_addresses(row, params.get("address"))}


def execute_run(device: RunDevice, request: Json) -> Json:
    """Execute a checked request and return the answer of POST /gpu/runs; LayoutError "unsupported_here" if the device
    lacks the instruction.
    """
    started = time.perf_counter()
    kind = request["kind"]
    if kind == "banks":
        row = model.get_access(request["access"])
        if device.info()["compute_capability"] == "7.5" and row.matrices and row.stores:
            raise LayoutError("unsupported_here", "stmatrix needs sm_90.", "Choose another access.", "access")
        result = bank_runs.run_banks(device, request["access"], request["address"])
    else:
        instruction = lookup.find(request["instruction"])
        reason = device.supports(instruction)
        if reason:
            raise LayoutError(
                "unsupported_here",
                reason,
                "Run it on such a device, or with backend numpy (a simulation).",
                "instruction",
            )
        result = _RUN[kind](device, instruction, request)
    milliseconds = (time.perf_counter() - started) * 1000
    return {
        "kind": kind,
        "request": request,
        "backend": request["backend"],
        "simulation": device.simulated,
        "device": device.info(),
        **result,
        "duration_ms": round(milliseconds, 3),
    }


def _run_mma(device: RunDevice, i: Instruction, request: Json) -> Json:
    """Run one instruction over registers and plain tiles, or a whole product stored as the request says."""
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
