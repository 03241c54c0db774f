"""The members of a fleet, as its scheduler reports them, and which of them can run a request."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from lanescope.app.hardware.device_targets import explain_unsupported, format_architecture
from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value
from lanescope.ptx import catalog

Json = dict[str, Any]
DEVICE = ("name", "compute_capability", "driver", "cuda", "nvrtc", "target")
KNOWN = {
    "name": r".+",
    "compute_capability": r"\d{1,2}\.\d",
    "target": r"sm_\d{2,3}[af]?",
}  # patterns of what a device must announce


@dataclass(frozen=True, slots=True)
class FleetMember:
    """One worker: its device, its version of Lanescope, its number of jobs, and why it gets no runs ("" if it does)."""

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
        """Return sm_90, for example; "" if the worker announced no device."""
        return format_architecture(self.device) if self.device else ""

    @property
    def summary(self) -> str:
        """Return its description in errors: `gpu-a:0 NVIDIA H100 (sm_90)`."""
        about = f"{self.name} {self.device.get('name', 'no device')}"
        return f"{about} ({self.refused})" if self.refused else f"{about} ({self.architecture})"


def parse_members(
    identity: Json, processing: Mapping[str, Sequence[Any]], version: str, now: float
) -> tuple[FleetMember, ...]:
    """Parse the workers in a scheduler's account of itself, by name."""
    members = [
        _parse_member(address, entry, len(processing.get(address, ())), version, now)
        for address, entry in identity["workers"].items()
    ]
    return tuple(sorted(members, key=lambda member: (member.name, member.address)))


def _parse_member(address: str, entry: Mapping[str, Any], queue: int, version: str, now: float) -> FleetMember:
    announcement = entry.get("lanescope")
    device = announcement.get("device") if isinstance(announcement, dict) else None
    complete = isinstance(device, dict) and all(
        re.fullmatch(pattern, str(device.get(key, "")), re.A) for key, pattern in KNOWN.items()
    )
    program = shorten_value(announcement.get("program", "")) if isinstance(announcement, dict) else ""
    if not complete:
        refused = "not a Lanescope worker"
    elif program != version:
        refused = f"it is Lanescope {program}, this is {version}"
    elif entry.get("status") != "running":
        refused = f"it is {shorten_value(entry.get('status'))}"
    else:
        refused = ""
    return FleetMember(
        name=shorten_value(announcement.get("name", "") if complete and announcement else entry.get("name", address)),
        host=shorten_value(announcement.get("host", "") if complete and announcement else entry.get("host", "")),
        address=address,
        program=program,
        device={key: shorten_value(device.get(key, "")) for key in DEVICE} if complete and device else {},
        queue=queue,
        seen_seconds=max(0.0, now - float(entry.get("last_seen", now))),
        refused=refused,
    )


def describe_fleet(members: Sequence[FleetMember]) -> str:
    """Describe the members of a fleet, for an error's hint."""
    return f"There is: {', '.join(member.summary for member in members)}." if members else "No worker has joined it."


MemberFilter = Callable[[FleetMember], bool]


def accept_any(_: FleetMember) -> bool:
    """Accept every member for the run."""
    return True


def select_members(
    members: Sequence[FleetMember], request: Mapping[str, Any], is_allowed: MemberFilter = accept_any
) -> list[FleetMember]:
    """Select the members, at least one, that can run a checked request and are allowed to; LayoutError "no_worker"
    lists the members.
    """
    ready = [member for member in members if not member.refused and is_allowed(member)]
    architecture, worker = request.get("architecture"), request.get("worker")
    if worker:
        return _require_members(
            [m for m in members if m.name == worker and not m.refused],
            f"No worker '{worker}' is ready.",
            members,
            "worker",
        )
    if device := request.get("device"):
        raise LayoutError(
            "bad_device",
            f"device is {device}, and the host is missing.",
            (
                f"Name the host as well: worker=host with device={device}, or worker=host:{device}."
                f" {describe_fleet(members)}"
            ),
            "device",
        )
    if architecture and not (ready := [m for m in ready if m.architecture == architecture]):
        _require_members([], f"No worker with {architecture} is ready.", members, "architecture")
    fit = [member for member in ready if not _explain_unfit_member(member, request)]
    reasons = [_explain_unfit_member(member, request) for member in ready]
    return _require_members(fit, next(filter(None, reasons), "No worker is ready."), members, "instruction")


def avoid_lost(fit: Sequence[FleetMember], lost: Sequence[FleetMember]) -> Sequence[FleetMember]:
    """Return the members for a run whose workers died: those of other hosts if there are any, else those with another
    name, else all. A host that goes down takes all its workers with it, one after another.
    """
    names = {member.name for member in lost}
    hosts = {_get_host(name) for name in names}
    elsewhere = [member for member in fit if _get_host(member.name) not in hosts]
    return elsewhere or [member for member in fit if member.name not in names] or fit


def _get_host(name: str) -> str:
    return name.rpartition(":")[0]


def explain_unfit(device: Mapping[str, str], request: Mapping[str, Any]) -> str:
    """Return why a device cannot run a checked request, "" if it can."""
    if "instruction" in request:
        return _explain_missing_instruction(device["target"], request["instruction"])
    stores = str(request.get("access", "")).startswith("stmatrix")
    return "stmatrix needs sm_90." if stores and float(device["compute_capability"]) < 9 else ""


@lru_cache(maxsize=4096)
def _explain_missing_instruction(target: str, ptx: str) -> str:
    return explain_unsupported(target, catalog.find(ptx))


def _explain_unfit_member(member: FleetMember, request: Mapping[str, Any]) -> str:
    return explain_unfit(member.device, request)


def _require_members(
    chosen: list[FleetMember], reason: str, members: Sequence[FleetMember], field: str
) -> list[FleetMember]:
    if not chosen:
        raise LayoutError("no_worker", reason, describe_fleet(members), field)
    return chosen
