"""One run on a device, from a request of validated parameters: kinds mma, fragment, descriptor, banks."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from app.gpu import banks, descriptors, fragments, products
from app.gpu.device import Device
from layouts import banks as model
from layouts import catalog
from layouts import descriptor as desc
from layouts.descriptor import Descriptor
from layouts.errors import LayoutError
from layouts.instruction import WARPGROUP, Instruction
from layouts.reading import keys
from layouts.spelling import read_word

Json = dict[str, Any]
KINDS = ("mma", "fragment", "descriptor", "banks")
BACKENDS = ("cuda", "numpy")
FIELDS = {
    "mma": ("instruction", "a_from", "seed"),
    "fragment": ("instruction", "operand"),
    "descriptor": ("descriptor", "instruction", "operand", "major"),
    "banks": ("access", "address"),
}


def check(given: Mapping[str, Any]) -> Json:
    """The request with every parameter validated and spelled in full; LayoutError names the wrong one. Nothing else ever reaches a kernel."""
    kind, backend = str(given.get("kind", "")), str(given.get("backend", "cuda"))
    _one_of("kind", kind, KINDS)
    _one_of("backend", backend, BACKENDS)
    keys(given, ("kind", *FIELDS[kind], "backend", "device"))
    device = given.get("device", 0)
    if type(device) is not int or not 0 <= device < 64:
        raise LayoutError("bad_field", f"device is '{str(device)[:40]}'.", "A number from 0.", "device")
    out: Json = {"kind": kind, "backend": backend, "device": device}
    if kind == "banks":
        return out | _check_banks(given)
    instruction = _instruction(given)
    out["instruction"] = instruction.ptx
    if kind == "mma":
        return out | _check_mma(given, instruction)
    if kind == "fragment":
        operand = str(given.get("operand") or fragments.operands(instruction)[0]).lower()
        _one_of("operand", operand, fragments.operands(instruction))
        return out | {"operand": operand}
    operand, major = str(given.get("operand", "a")).lower(), str(given.get("major", "K"))
    view = desc.view(instruction, operand, major)
    word = Descriptor(read_word(given.get("descriptor")).word)
    descriptors.place(word, view, 0)
    return out | {"descriptor": str(word), "operand": operand, "major": major}


def _one_of(field: str, given: str, allowed: tuple[str, ...]) -> None:
    if given not in allowed:
        raise LayoutError(f"bad_{field}", f"{field} is '{given[:60]}'.", f"Allowed: {', '.join(allowed)}.", field)


def _instruction(given: Mapping[str, Any]) -> Instruction:
    try:
        return catalog.find(str(given.get("instruction", "")))
    except LayoutError as error:
        raise LayoutError("bad_instruction", error.message, error.hint, "instruction", error.nearest) from None


def _check_mma(given: Mapping[str, Any], instruction: Instruction) -> Json:
    if not multiplies(instruction):
        raise LayoutError(
            "bad_instruction", f"{instruction.ptx} multiplies nothing.", "Its map is measured by kind fragment.", "instruction"
        )
    forms = ("registers", "shared") if instruction.threads == WARPGROUP else ("registers",)
    a_from, seed = str(given.get("a_from", "registers")), given.get("seed", products.SEED)
    _one_of("a_from", a_from, forms)
    if type(seed) is not int or not 0 <= seed < 1 << 63:
        raise LayoutError("bad_field", f"seed is '{str(seed)[:40]}'.", "A whole number from 0.", "seed")
    return {"a_from": a_from, "seed": seed}


def _check_banks(given: Mapping[str, Any]) -> Json:
    row = model.access(str(given.get("access", "")))
    return {"access": row.name, "address": model.check(row, given.get("address"))}


def multiplies(instruction: Instruction) -> bool:
    """Whether it is an mma of any kind: A·B + C."""
    return {"a", "d"} <= set(instruction.operands) and instruction.family.name != "movmatrix"


def run(device: Device, request: Json) -> Json:
    """Execute a checked request; the answer of POST /gpu/runs. LayoutError "unsupported_here" where the device lacks the instruction."""
    begun = time.perf_counter()
    kind = request["kind"]
    if kind == "banks":
        if device.info()["compute_capability"] == "7.5" and request["access"].startswith("stmatrix"):
            raise LayoutError("unsupported_here", "stmatrix needs sm_90.", "Choose another access.", "access")
        found = banks.run(device, request["access"], request["address"])
    else:
        instruction = catalog.find(request["instruction"])
        reason = device.supports(instruction)
        if reason:
            raise LayoutError("unsupported_here", reason, "Run it on such a device, or with backend numpy (a simulation).", "instruction")
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


_RUN: dict[str, Callable[[Device, Instruction, Json], Json]] = {
    "mma": lambda device, i, r: products.run(device, i, r["a_from"], r["seed"]),
    "fragment": lambda device, i, r: fragments.run(device, i, r["operand"]),
    "descriptor": lambda device, i, r: descriptors.run(device, i, Descriptor(read_word(r["descriptor"]).word), r["operand"], r["major"]),
}
