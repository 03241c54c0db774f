"""Who is in a fleet, as its scheduler tells it, and which of them can run a request."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from lanescope.app.hardware.device import explain_unsupported, format_architecture
from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value
from lanescope.ptx import catalog

Json = dict[str, Any]
DEVICE = ("name", "compute_capability", "driver", "cuda", "nvrtc", "target")
KNOWN = {"name": r".+", "compute_capability": r"\d{1,2}\.\d", "target": r"sm_\d{2,3}[af]?"}  # what a device has to say


@dataclass(frozen=True, slots=True)
class FleetMember:
    """One worker: its device, which Lanescope it runs, the jobs it has, and why it is not asked ("" where it is)."""

    name: str
    host: str
    address: str
    program: str
    device: Mapping[str, str]
    queue: int
    seen_seconds: float
    refused: str

    @property
    def architecture(self) -> str:
        """sm_90; "" where the worker announced no device."""
        return format_architecture(self.device) if self.device else ""

    @property
    def told(self) -> str:
        """As errors name it: `gpu-a:0 NVIDIA H100 (sm_90)`."""
        about = f"{self.name} {self.device.get('name', 'no device')}"
        return f"{about} ({self.refused})" if self.refused else f"{about} ({self.architecture})"


def parse_members(
    identity: Json, processing: Mapping[str, Sequence[Any]], own: str, now: float
) -> tuple[FleetMember, ...]:
    """The workers of a scheduler's own account of itself, by name."""
    found = [
        _parse_member(address, told, len(processing.get(address, ())), own, now)
        for address, told in identity["workers"].items()
    ]
    return tuple(sorted(found, key=lambda member: (member.name, member.address)))


def _parse_member(address: str, told: Mapping[str, Any], queue: int, own: str, now: float) -> FleetMember:
    post = told.get("lanescope")
    device = post.get("device") if isinstance(post, dict) else None
    known = isinstance(device, dict) and all(
        re.fullmatch(pattern, str(device.get(key, "")), re.A) for key, pattern in KNOWN.items()
    )
    program = shorten_value(post.get("program", "")) if isinstance(post, dict) else ""
    if not known:
        refused = "no worker of Lanescope"
    elif program != own:
        refused = f"it is Lanescope {program}, this is {own}"
    elif told.get("status") != "running":
        refused = f"it is {shorten_value(told.get('status'))}"
    else:
        refused = ""
    return FleetMember(
        name=shorten_value(post.get("name", "") if known and post else told.get("name", address)),
        host=shorten_value(post.get("host", "") if known and post else told.get("host", "")),
        address=address,
        program=program,
        device={key: shorten_value(device.get(key, "")) for key in DEVICE} if known and device else {},
        queue=queue,
        seen_seconds=max(0.0, now - float(told.get("last_seen", now))),
        refused=refused,
    )


def describe_fleet(known: Sequence[FleetMember]) -> str:
    """What a fleet has, for an error's hint."""
    return f"There is: {', '.join(member.told for member in known)}." if known else "No worker has joined it."


Among = Callable[[FleetMember], bool]


def accept_any(_: FleetMember) -> bool:
    """Every member may have the run."""
    return True


def select_members(
    known: Sequence[FleetMember], request: Mapping[str, Any], among: Among = accept_any
) -> list[FleetMember]:
    """The members that can run a checked request, at least one, of those that may have it; LayoutError "no_worker" says
    what there is.
    """
    ready = [member for member in known if not member.refused and among(member)]
    wanted, named = request.get("architecture"), request.get("worker")
    if named:
        return _require_members(
            [m for m in known if m.name == named and not m.refused], f"No worker '{named}' is ready.", known, "worker"
        )
    if device := request.get("device"):
        raise LayoutError(
            "bad_device",
            f"device is {device}: which host's?",
            (
                f"Name the host as well: worker=host with device={device}, or worker=host:{device}."
                f" {describe_fleet(known)}"
            ),
            "device",
        )
    if wanted and not (ready := [m for m in ready if m.architecture == wanted]):
        _require_members([], f"No worker with {wanted} is ready.", known, "architecture")
    able = [member for member in ready if not _explain_unfit_member(member, request)]
    reasons = [_explain_unfit_member(member, request) for member in ready]
    return _require_members(able, next(filter(None, reasons), "No worker is ready."), known, "instruction")


def explain_unfit(device: Mapping[str, str], request: Mapping[str, Any]) -> str:
    """Why a device cannot run a checked request, "" where it can."""
    if "instruction" in request:
        return _explain_missing_instruction(device["target"], request["instruction"])
    stores = str(request.get("access", "")).startswith("stmatrix")
    return "stmatrix needs sm_90." if stores and float(device["compute_capability"]) < 9 else ""


@lru_cache(maxsize=4096)
def _explain_missing_instruction(target: str, ptx: str) -> str:
    return explain_unsupported(target, catalog.find(ptx))


def _explain_unfit_member(member: FleetMember, request: Mapping[str, Any]) -> str:
    return explain_unfit(member.device, request)


def _require_members(found: list[FleetMember], why: str, known: Sequence[FleetMember], field: str) -> list[FleetMember]:
    if not found:
        raise LayoutError("no_worker", why, describe_fleet(known), field)
    return found
