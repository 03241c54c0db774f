"""Scale factors: one factor from global memory to tensor memory, and the copies and MMAs of a tile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lanescope.app.kit.feature import Entry, Feature, Tool
from lanescope.app.kit.sheets import point_at_sheets
from lanescope.app.scales import draw, facts
from lanescope.app.scales.cells import GROUP, list_sheets
from lanescope.app.scales.facts import ScaleFactors, ScaleQuestion
from lanescope.blackwell import scaling
from lanescope.render import scaling as code


def build_factor_context(question: ScaleQuestion, answer: ScaleFactors) -> dict[str, Any]:
    """Return the template's variables."""
    tile = facts.parse_tile(question)
    issue_code = (
        ""
        if tile.copies_open
        else code.render_issue(tile.a, [*tile.a.list_copies(), *tile.b.list_copies()], facts.list_steps(tile))
    )
    return {
        "shown": {"scale_vec": tile.mma.scale_vec},
        "choices": {"scale_vec": tuple(tile.mma.kind.scaled)},
        "title": f"kind::{answer.kind}, scale_vec::{answer.scale_vec}: 1 factor = {answer.block} elements of K",
        "starts": {"a": tile.a.shared, "b": tile.b.shared},
        "open": scaling.OPEN_COPIES if tile.copies_open else "",
        "order_code": code.render_order(),
        "issue": issue_code,
        "register": code.render_register(tile.a.per_step),
    }


def draw_factor(question: ScaleQuestion, answer: ScaleFactors) -> str:
    """Return the picture of one factor in three memories."""
    tile = facts.parse_tile(question)
    svg = draw.draw_scales(tile.selected, tile.row, tile.factor, tile.selected.locate_factor(tile.row, tile.factor))
    window = draw.find_window(tile.selected, tile.row, tile.factor)
    return point_at_sheets(svg, list_sheets(window, tile.side.upper(), tile.row, tile.factor), GROUP)


def format_factors(question: ScaleQuestion, answer: ScaleFactors) -> Iterator[str]:
    """Yield the lines of the command."""
    yield f"kind::{answer.kind}, scale_vec::{answer.scale_vec}: a factor scales {answer.block} elements of K"
    for name, side in (("A", answer.a), ("B", answer.b)):
        last = side.column + side.columns - 1
        yield f"  {name}: {side.rows} × {side.factors} factors, columns {side.column}–{last} of tensor memory"
    location = answer.held
    index = (
        f"[{location.row}, {location.factor}]" if location.operand == "a" else f"[{location.factor}, {location.row}]"
    )
    yield f"SF{location.operand.upper()}{index}: byte {location.row_major} row-major, byte {location.atoms} in atoms"
    if location.shared is not None:
        yield f"  shared memory: byte {location.shared}"
    lanes = " ".join(map(str, location.lanes))
    yield f"  tensor memory: column {location.column}, byte {location.byte}, lanes {lanes}; read by MMA {location.step}"
    if answer.copies:
        yield f"{len(answer.copies)} copies, {answer.copy}"
    for copy in answer.copies:
        first = f"from {copy.row}, factors from {copy.factor}"
        yield f"  {copy.operand.upper()} {first}: descriptor {copy.descriptor} to column {copy.column}"
    if not answer.copies:
        yield scaling.OPEN_COPIES
    yield f"{len(answer.steps)} MMAs of K = {answer.k}"
    for step in answer.steps:
        operands = (
            f"factors of A at column {step.column_a}, id {step.sfa_id}; of B at {step.column_b}, id {step.sfb_id}"
        )
        yield f"  K {step.k}: {operands}; idesc {step.idesc}"
    yield answer.evidence


SCALE_FACTORS = Tool(
    question=ScaleQuestion,
    answer=facts.scale_factors,
    api="scale-factors",
    page="/scale-factors",
    template="scales/page.html",
    context=build_factor_context,
    picture=draw_factor,
    command="scale-factors",
    lines=format_factors,
    examples=(
        ("mxf8f6f4, 128 × 256 × 256", {}),
        ("mxf4nvf4 with 16 elements per factor", {"kind": "mxf4nvf4", "scale_vec": "4X", "n": "128"}),
        ("mxf4, N = 192", {"kind": "mxf4", "n": "192", "side": "b", "row": "150"}),
        ("A pair of CTAs, M = 256", {"cta_group": "2", "m": "256", "n": "256", "side": "b", "row": "200"}),
        ("A pair with M = 128", {"cta_group": "2", "n": "128", "side": "b", "row": "70"}),
    ),
)
FEATURE = Feature(
    tools=(SCALE_FACTORS,),
    menu=(
        Entry(
            "Shared memory",
            7,
            "Scale factors",
            "/scale-factors",
            "from row-major to tensor memory, and the id of each step of K",
            badge="sm_100",
        ),
    ),
    examples={"/api/v1/scale-factors": "/api/v1/scale-factors?kind=mxf4nvf4&scale_vec=4X&n=128"},
)
