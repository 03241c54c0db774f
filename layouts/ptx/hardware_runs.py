"""What instructions did on hardware, as layouts/evidence/*.json records it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from lanescope.ptx.instruction import Instruction

SHARED_A = " A from shared memory"  # how an evidence file names wgmma's form with two descriptors


@dataclass(frozen=True, slots=True)
class HardwareRun:
    """One hardware run of an instruction; agrees: whether every method confirmed the maps."""

    device: str
    date: str
    methods: tuple[str, ...]
    agrees: bool


@lru_cache(maxsize=1)
def load_evidence() -> tuple[dict[str, Any], ...]:
    """Return every stored hardware run: {"meta", "results": {variant: {method: "agrees" or what differs}},
    "descriptors", "banks"}.
    """
    folder = files("lanescope") / "evidence"
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".json")) if folder.is_dir() else []
    return tuple(json.loads((folder / name).read_text()) for name in names)


def list_hardware_runs(instruction: Instruction) -> tuple[HardwareRun, ...]:
    """Return the hardware runs of an instruction, one per device. A run agrees if all forms of the instruction do."""
    runs = []
    for data in load_evidence():
        meta, results = data["meta"], data["results"]
        outcomes = [
            results[key] for key in (instruction.listed_ptx, instruction.listed_ptx + SHARED_A) if key in results
        ]
        if outcomes:
            methods = tuple(sorted({method for result in outcomes for method in result}))
            agrees = all(outcome == "agrees" for result in outcomes for outcome in result.values())
            runs.append(HardwareRun(meta["device"], meta["date"], methods, agrees))
    return tuple(runs)


def has_run(instruction: Instruction) -> bool:
    """Return whether every device in the evidence ran an instruction and agreed with its maps."""
    runs = list_hardware_runs(instruction)
    return bool(runs) and len(runs) == len(load_evidence()) and all(run.agrees for run in runs)


def shorten_device_name(device: str) -> str:
    """Return the short name of a device: "H100" for "NVIDIA H100 80GB HBM3".

    >>> shorten_device_name("NVIDIA H100 80GB HBM3")
    'H100'
    """
    return device.removeprefix("NVIDIA ").split(" ")[0]
