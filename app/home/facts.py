"""What the home page says: texts to try, popular instructions, and what was counted. No framework."""

from __future__ import annotations

from dataclasses import dataclass

from lanescope.app.kit.links import path_of
from lanescope.app.kit.rows import named, product
from lanescope.ptx import catalog

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
class Popular:
    """An instruction that people look for: its page, its short name, and its types as a product."""

    path: str
    name: str
    types: str


@dataclass(frozen=True, slots=True)
class Proof:
    """What was counted: in the evidence files, in the assembler's answers, in the catalogue.

    forms: instructions that ran, a wgmma once with A in registers and once with A in shared memory; agreed: those of
    them that every device found as the maps say; descriptors: those that each device read; waiting: instructions that
    no device has run.
    """

    devices: tuple[str, ...]
    forms: int
    agreed: int
    descriptors: int
    descriptors_agreed: int
    instructions: int
    assembled: int
    assembler: str
    waiting: int


def popular() -> list[Popular]:
    """The instructions people look for most."""
    found = map(catalog.find, POPULAR)
    return [Popular(path_of(i), named(i), product(i)) for i in found]


def proof() -> Proof:
    """Everything that the page says of its evidence, counted."""
    files = catalog.evidence_files()
    seen: dict[str, list[bool]] = {}
    for told in files:
        for form, methods in told["results"].items():
            seen.setdefault(form, []).extend(answer == "agrees" for answer in methods.values())
    reads = [told["descriptors"].values() for told in files if told["descriptors"]]
    read = [sum(row["ran"] for row in rows) for rows in reads]
    wrong = [sum(row["ran"] - row["agreed"] for row in rows) for rows in reads]
    every = catalog.instructions()
    return Proof(
        devices=tuple(catalog.short(told["meta"]["device"]) for told in files),
        forms=len(seen),
        agreed=sum(map(all, seen.values())),
        descriptors=max(read, default=0),
        descriptors_agreed=max(read, default=0) - max(wrong, default=0),
        instructions=len(every),
        assembled=sum(bool(catalog.assembled(i).targets) for i in every),
        assembler=catalog.assembler_release(),
        waiting=sum(not catalog.runs(i) for i in every),
    )
