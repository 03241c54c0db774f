"""Facts about this release: version, PTX document, assembler, and the devices that ran it."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator
from dataclasses import dataclass

from lanescope.ptx import catalog, hardware_runs
from lanescope.ptx.role import PTX_ISA


@dataclass(frozen=True, slots=True)
class DeviceEvidence:
    """Device and date of an evidence file (layouts/evidence)."""

    device: str
    date: str


@dataclass(frozen=True, slots=True)
class Release:
    """A version of Lanescope, with the sources and dates (YYYY-MM-DD) of its catalogue."""

    version: str
    document: str
    assembler: str
    assembler_build: str
    assembled: str
    evidence: tuple[DeviceEvidence, ...]


def describe_release() -> Release:
    """Return the facts of the installed release. Loads no NumPy."""
    assembler = catalog.get_assembler()
    runs = (file["meta"] for file in hardware_runs.load_evidence())
    return Release(
        version=importlib.metadata.version("lanescope"),
        document=PTX_ISA,
        assembler=catalog.get_assembler_release(),
        assembler_build=assembler["assembler"],
        assembled=assembler["date"],
        evidence=tuple(sorted((DeviceEvidence(run["device"], run["date"]) for run in runs), key=lambda run: run.date)),
    )


def format_release(release: Release) -> Iterator[str]:
    """Yield the lines of `lanescope --version`, the version first."""
    yield f"lanescope {release.version}"
    yield f"  {release.document}"
    yield f"  {release.assembler_build}, run on every instruction on {release.assembled}"
    yield from (f"  {run.device}, ran on {run.date}" for run in release.evidence)
