"""The facts of the home page: example texts, popular instructions, and counts of the evidence."""

from __future__ import annotations

from dataclasses import dataclass

from lanescope.app.kit.links import link_instruction
from lanescope.names.form_names import name_form
from lanescope.ptx import catalog, hardware_runs

POPULAR = (
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16",
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
    "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32",
    "wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3",
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
    "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32",
    "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32",
    "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
    "stmatrix.sync.aligned.m8n8.x4.shared.b16",
    "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32",
    "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32",
)
PICTURED = POPULAR[0]
WORD = 0x4000004000010100


@dataclass(frozen=True, slots=True)
class PopularInstruction:
    """A popular instruction: its page, its name, and its types with the words that distinguish it."""

    path: str
    name: str
    types: str


@dataclass(frozen=True, slots=True)
class EvidenceCounts:
    """Counts of the evidence files, the assembler's answers and the catalogue.

    ran: instructions executed on every device, a wgmma with A in registers and in shared memory; agreed: those on which
    every device agreed with the maps; descriptors: those that each device read; waiting: instructions not yet executed
    on every device.
    """

    devices: tuple[str, ...]
    ran: int
    agreed: int
    descriptors: int
    descriptors_agreed: int
    instructions: int
    assembled: int
    assembler: str
    waiting: int


def list_popular() -> list[PopularInstruction]:
    """Return the most popular instructions."""
    popular = [(i, name_form(i)) for i in map(catalog.find, POPULAR)]
    return [
        PopularInstruction(link_instruction(i), form.name, " ".join(filter(None, (form.types, form.apart))))
        for i, form in popular
    ]


def count_evidence() -> EvidenceCounts:
    """Return the counts of the evidence for the home page."""
    files, instructions = hardware_runs.load_evidence(), catalog.instructions()
    every_run = [
        runs for runs in map(hardware_runs.list_hardware_runs, instructions) if runs and len(runs) == len(files)
    ]
    reads = [data["descriptors"].values() for data in files if data["descriptors"]]
    read_counts = [sum(row["ran"] for row in rows) for rows in reads]
    wrong_counts = [sum(row["ran"] - row["agreed"] for row in rows) for rows in reads]
    return EvidenceCounts(
        devices=tuple(hardware_runs.shorten_device_name(data["meta"]["device"]) for data in files),
        ran=len(every_run),
        agreed=sum(all(run.agrees for run in runs) for runs in every_run),
        descriptors=max(read_counts, default=0),
        descriptors_agreed=max(read_counts, default=0) - max(wrong_counts, default=0),
        instructions=len(instructions),
        assembled=sum(bool(catalog.get_target_support(i).targets) for i in instructions),
        assembler=catalog.get_assembler_release(),
        waiting=len(instructions) - len(every_run),
    )
