"""Evidence for the maps of an instruction: hardware runs, ptxas, the document, other sources."""

from __future__ import annotations

from typing import Annotated

from lanescope.app.kit.fact import Description, fact
from lanescope.ptx import catalog, hardware_runs, instruction as engine
from lanescope.ptx.targets import format_targets

METHODS = {"mma": "random products compared with NumPy", "fragment": "the maps measured element by element"}


@fact
class Evidence:
    """An independent source that confirms the map."""

    kind: Annotated[str, Description(examples=("ran", "assembled", "documented", "not_run"))]
    text: str
    by: str
    date: str


def list_evidence(instruction: engine.Instruction, operand: str = "") -> tuple[Evidence, ...]:
    """List the evidence of this instruction's maps, or of one operand's, strongest first; missing hardware is
    mentioned.
    """
    support, meta, family = catalog.get_target_support(instruction), catalog.get_assembler(), instruction.family
    evidence = [
        Evidence(
            kind="ran" if run.agrees else "differs",
            text=f"{'ran' if run.agrees else 'DIFFERS'} on {hardware_runs.shorten_device_name(run.device)}, {run.date}",
            by=f"{run.device}: {' and '.join(METHODS[method] for method in run.methods)}",
            date=run.date,
        )
        for run in hardware_runs.list_hardware_runs(instruction)
    ]
    if family.measured:
        evidence.append(
            Evidence(
                kind="ran",
                text=family.measured,
                by="a map measured on the device, tests/golden/hardware",
                date="2026-11-21",
            )
        )
    ran = bool(evidence)
    if support.targets:
        text = f"assembles for {format_targets(support.targets)}"
        evidence.append(Evidence(kind="assembled", text=text, by=meta["assembler"], date=meta["date"]))
    source = str(family.source)
    if not family.specified:
        return (
            *evidence,
            Evidence(kind="not_run", text="unspecified by PTX; other architectures unknown", by=source, date=""),
        )
    evidence.append(Evidence(kind="documented", text="documented", by=source, date=""))
    if family.agrees:
        evidence.append(Evidence(kind="agrees", text=f"agrees with {family.agrees}", by="compared map by map", date=""))
    if family.issue:
        evidence += _list_bound_evidence(instruction, operand)
    if not ran:
        evidence.append(Evidence(kind="not_run", text="not yet run on hardware by this project", by="", date=""))
    return tuple(evidence)


def _list_bound_evidence(instruction: engine.Instruction, operand: str) -> list[Evidence]:
    """List the evidence of the places of a product in tensor memory, once a descriptor has bound it."""
    from lanescope.blackwell import bound

    if not isinstance(instruction, bound.BoundMma):
        return []
    return [
        Evidence(
            kind="inferred" if statement.inferred else "agrees", text=statement.text, by=statement.operand, date=""
        )
        for statement in bound.list_evidence(instruction)
        if operand in ("", statement.operand)
    ]
