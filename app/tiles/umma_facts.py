"""A TiledMMA in tensor memory, for the API, the page and the command line."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import urlencode

from lanescope.app.kit.fact import Description, copy_fact, fact, make_optional_field
from lanescope.blackwell import epilogue
from lanescope.blackwell.tmem import PlacedOperand
from lanescope.tiles import umma_code
from lanescope.tiles.umma import NAMES, TiledUmma, UmmaTileStep
from lanescope.tiles.umma_shared import SharedOperand

EVIDENCE = "documented; atoms, layouts and fragments as CUTLASS 4.7 has them; not executed on hardware"


@fact
class SharedTile:
    """A or B in the shared memory of each CTA."""

    swizzle: str
    major: str
    order: str
    element_bits: int
    mn: Annotated[int, Description("Rows of A or columns of B that one CTA holds.")]
    k: Annotated[int, Description("K as it is stored: half of a sparse A's.")]
    base: Annotated[
        int, Description("Where the tile begins; descriptors count from there. A program adds its own address.")
    ]
    bytes: int
    layout: Annotated[
        str, Description("CuTe's layout of elements: ((rows, K of one MMA), repeats in M or N, K iterations).")
    ]


@fact
class TensorTile:
    """One operand of the tile in the tensor memory of each CTA."""

    operand: str
    id: Annotated[str, Description("PTX's letter of the data-path layout.", ("D",))]
    columns: Annotated[int, Description("32-bit columns that all its places take.")]
    addresses: Annotated[list[str], Description("Where each repeat begins: lane << 16 | column.", ("0x00000000",))]
    pattern: Annotated[str, Description("Of one repeat: (lane)(unit) → the axes.")]
    evidence: str


@fact
class UmmaStep:
    """One MMA of the tile."""

    m: int
    n: int
    k: int
    a: Annotated[str | None, Description("A's matrix descriptor; null where A is in tensor memory.")]
    b: Annotated[str | None, Description("B's matrix descriptor; null where K = 96 leaves it open.")]
    idesc: Annotated[str, Description("The instruction descriptor: eight hex digits.")]
    tensor: Annotated[dict[str, str], Description("Operand → address in tensor memory.")]


@fact
class UmmaFacts:
    """Further facts of a TiledMMA whose accumulator is in tensor memory. The CTAs of a pair are alike."""

    kind: str
    ctas: Annotated[int, Description("CTAs that issue the atom: CuTe's ThrID. threads counts them, too.")]
    a_from: Literal["shared", "tensor"]
    sparse: bool
    types: dict[str, str]
    majors: dict[str, str]
    atom_text: Annotated[str, Description("The atom in C++ with its arguments; empty where CUTLASS has none.")]
    idesc: str
    scale_vec: Annotated[str | None, Description("1X, 2X or 4X.")] = make_optional_field()
    shared: dict[str, SharedTile]
    tensor: list[TensorTile]
    columns: Annotated[int, Description("Columns of tensor memory that the tile takes.")]
    allocation: Annotated[int | None, Description("Columns to allocate; null if the tile does not fit.")]
    steps: list[UmmaStep]
    faults: list[str]
    inferred: Annotated[list[str], Description("What is inferred or open.")]
    open: Annotated[dict[str, str], Description("Operands whose place is open, and why.")]
    epilogue: Annotated[str | None, Description("The page of D's way out of tensor memory.")] = make_optional_field()
    evidence: str


def build_umma(tiled_umma: TiledUmma) -> UmmaFacts:
    """Return the fields of POST /api/v1/tiles/mma besides the maps."""
    atom = tiled_umma.umma
    return UmmaFacts(
        kind=atom.mma.kind.name,
        ctas=atom.ctas,
        a_from="tensor" if atom.tensor_a else "shared",
        sparse=atom.word.sparse,
        types=atom.word.types,
        majors={name: atom.get_major(name) for name in "ab"},
        atom_text=umma_code.format_template(atom),
        idesc=str(atom.word),
        scale_vec=atom.factors or None,
        shared={name: _build_shared(operand) for name, operand in tiled_umma.shared.items()},
        tensor=[_build_tensor(tiled_umma, name) for name in tiled_umma.places],
        columns=tiled_umma.columns,
        allocation=tiled_umma.allocation or None,
        steps=[build_step(step) for step in tiled_umma.mmas],
        faults=[fault.message for fault in tiled_umma.faults],
        inferred=tiled_umma.inferred,
        open={NAMES[name]: why for name, why in tiled_umma.open.items()},
        epilogue=link_epilogue(tiled_umma),
        evidence=EVIDENCE,
    )


def _build_shared(operand: SharedOperand) -> SharedTile:
    tile = operand.tile
    return copy_fact(SharedTile, tile, swizzle=tile.mode.name, layout=operand.cute)


def _build_tensor(tiled_umma: TiledUmma, name: str) -> TensorTile:
    every = tiled_umma.places[name]
    first = every[0].layout
    last = max(placed.column + placed.layout.columns for placed in every)
    return TensorTile(
        operand=name,
        id=first.letter,
        columns=last - every[0].column,
        addresses=[format_address(placed) for placed in every],
        pattern=str(first.pattern),
        evidence=first.evidence,
    )


def format_address(placed: PlacedOperand) -> str:
    """Return an address in tensor memory."""
    return f"0x{placed.lane << 16 | placed.column:08x}"


def build_step(step: UmmaTileStep) -> UmmaStep:
    return copy_fact(
        UmmaStep,
        step,
        a=str(step.a) if step.a else None,
        b=str(step.b) if step.b else None,
        idesc=str(step.word),
        tensor={name: f"0x{at:08x}" for name, at in step.addresses.items()},
    )


def build_mma_query(tiled_umma: TiledUmma) -> dict[str, str]:
    """Return the query of the tensor-memory pages for the MMA."""
    mma = tiled_umma.umma.mma
    return {
        "kind": mma.kind.name,
        "cta_group": str(mma.ctas),
        "ws": "1" if mma.form == "ws" else "0",
        "m": str(mma.m),
        "n": str(mma.n),
    }


def link_epilogue(tiled_umma: TiledUmma) -> str | None:
    """Link to D's way to registers and memory; None if no load is known."""
    mma = tiled_umma.umma.mma
    if mma.sparse and mma.place.letter == "C":
        return None
    halves = tiled_umma.umma.word.types["d"] == "f16"
    query = build_mma_query(tiled_umma) | {"access": epilogue.choose_load(mma, halves).ptx}
    if halves:
        query |= {"d": "f16", "element": "f16"}
    return f"/tmem/epilogue?{urlencode(query, safe=':')}"


def link_placement(tiled_umma: TiledUmma) -> str:
    """Link to /tmem with the operands of one MMA of the tile."""
    query = build_mma_query(tiled_umma) | {"sparse": "1" if tiled_umma.umma.mma.sparse else "0", "access": ""}
    if tiled_umma.umma.factors:
        query["scale_vec"] = tiled_umma.umma.factors
    for name, every in tiled_umma.places.items():
        query[f"{name}_at"] = str(every[0].column)
    return f"/tmem?{urlencode({key: value for key, value in query.items() if value or key == 'access'}, safe=':')}"
