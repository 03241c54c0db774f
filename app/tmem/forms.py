"""What /tmem shows for an address. No framework."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import numpy as np

from lanescope.app.kit.fact import Json
from lanescope.app.kit.question import labels_of, options_of, read_question
from lanescope.app.tmem import draw, facts
from lanescope.app.tmem.facts import MmaQuestion
from lanescope.blackwell import idesc, tmem
from lanescope.blackwell.idesc import IdescWord
from lanescope.blackwell.tmem import Allocation, PlacedOperand, PlacementFault, TensorAccess, TmemMma
from lanescope.errors import LayoutError
from lanescope.inputs import parse_integer
from lanescope.render.tmem import render_statement

MMA = options_of(MmaQuestion)
LABELS = labels_of(MmaQuestion) | {
    "d_at": "D",
    "a_at": "A",
    "metadata_at": "Metadata",
    "scale_a_at": "Scale A",
    "scale_b_at": "Scale B",
    "alloc": "Columns allocated",
    "first": "First column",
    "more": "More MMAs in the same columns",
    "access": "Load, store, copy or shift",
    "at": "At lane:column",
    "warp": "By warp",
    "split": "Half split",
    "look": "Look at lane:column",
    "idesc": "Its idesc",
}
FIELDS = tuple(LABELS)
DEFAULT = {"a_at": "", "access": "tcgen05.ld.sync.aligned.32x32b.x32.b32", "at": "64:32", "warp": "2"}
# Placements to begin with: (what it is, the address that shows it).
EXAMPLES: tuple[tuple[str, dict[str, str]], ...] = (
    ("f16, 128 × 256, D read by four warps", dict(DEFAULT)),
    (
        "A from tensor memory, 64 rows",
        {"m": "64", "n": "128", "a_at": "128", "access": "tcgen05.st.16x128b.x4", "at": "0:128", "warp": "0"},
    ),
    (
        "A pair of CTAs, M = 256",
        {"cta_group": "2", "m": "256", "access": "tcgen05.ld.16x256b.x8", "at": "16:0", "warp": "0"},
    ),
    (
        "mxf4nvf4 with scale factors",
        {
            "kind": "mxf4nvf4",
            "n": "256",
            "scale_vec": "4X",
            "scale_a_at": "256",
            "scale_b_at": "260",
            "access": "tcgen05.cp.cta_group::1.32x128b.warpx4",
            "at": "0:256",
            "warp": "0",
        },
    ),
    ("Sparse f16 with metadata", {"sparse": "1", "n": "256", "metadata_at": "256", "access": "", "at": "", "warp": ""}),
    ("Two accumulators in 512 columns", {"n": "256", "more": "m=128 n=256 d=256", "access": "", "at": "", "warp": ""}),
)


def link_placement(given: Json) -> str:
    """The page of a placement."""
    asked = {name: value for name, value in given.items() if str(value)}
    return "/tmem" + (f"?{urlencode(asked)}" if asked else "")


def build_context(query: Json) -> dict[str, Any]:
    """Everything the page shows; LayoutError names the wrong field."""
    given = {name: str(query.get(name, "")) for name in FIELDS}
    if not any(given.values()):
        given |= DEFAULT
    mma = facts.parse_mma(read_question(MmaQuestion, {name: given[name] for name in MMA}))
    mmas: dict[str, TmemMma] = {}
    placed = facts.parse_placements(mma, {k: v for k, v in given.items() if v})
    mmas |= {one.name: mma for one in placed}
    for n, more in enumerate(facts.parse_more_mmas(given["more"]), 2):
        other = facts.parse_mma(read_question(MmaQuestion, {name: more.get(name, "") for name in MMA}))
        own = facts.parse_placements(other, more, f"{n}: ")
        placed += own
        mmas |= {one.name: other for one in own}
    allocation = Allocation(
        parse_integer(given["alloc"] or tmem.COLUMNS, "alloc"), parse_integer(given["first"] or 0, "first")
    )
    wrong = tmem.find_placement_faults(allocation, placed, mmas)
    wrong += _check_cta_groups(mmas)
    if given["idesc"]:
        wrong += tmem.find_idesc_faults(IdescWord(idesc.parse_idesc_word(given["idesc"], "idesc"), mma.kind), mma)
    access, touched, loaded = None, None, []
    lane, column = _parse_place(given["at"])
    if given["access"]:
        access = tmem.parse_access(given["access"], parse_integer(given["split"] or 0, "split", 0, tmem.COLUMNS))
        warp = parse_integer(given["warp"] or lane // tmem.QUARTER, "warp", 0, 15)
        touched = tmem.mask_touched(access, lane, column)
        wrong += tmem.find_access_faults(access, lane, column, warp, allocation)
        loaded = _list_loaded(access, placed, touched, lane, column)
    overlap = np.zeros((tmem.LANES, tmem.COLUMNS), bool)
    for n, one in enumerate(placed):
        for later in placed[n + 1 :]:
            overlap |= one.mask & later.mask
    look = _parse_place(given["look"]) if given["look"] else None
    return {
        "given": given,
        "labels": LABELS,
        "mma": mma,
        "title": _format_title(mma),
        "faults": wrong,
        "placed": [_build_row(one, mmas[one.name]) for one in placed],
        "access": access,
        "where": (lane, column),
        "loaded": loaded,
        "touching": [one.name for one in placed if touched is not None and (one.mask & touched).any()],
        "held": facts.format_holders(placed, *look) if look and look[0] < tmem.LANES else None,
        "look": look,
        "svg": draw.draw_tmem(_build_panels(placed, mmas, mma), allocation, touched, overlap),
        "examples": [{"title": title, "href": link_placement(asked)} for title, asked in EXAMPLES],
        "choices": {name: option.words for name, option in MMA.items() if option.words},
        "operands": mma.operands,
        "word": _link_idesc(mma),
        "code": render_statement(access) if access else "",
        "error": None,
    }


def draw_figure(query: Json) -> str:
    """The picture of an address, as the guide shows it."""
    return str(build_context(query)["svg"])


def _parse_place(text: str) -> tuple[int, int]:
    """lane:column of an address; a hex address as PTX has it, lane << 16 | column."""
    if not text:
        return 0, 0
    lane, colon, column = text.rpartition(":")
    if colon:
        return parse_integer(lane, "at", 0, tmem.LANES - 1), parse_integer(column, "at", 0, tmem.COLUMNS - 1)
    whole = parse_integer(text, "at", 0, (tmem.LANES << 16) - 1)
    return whole >> 16, whole & 0xFFFF


def _check_cta_groups(mmas: dict[str, TmemMma]) -> list[PlacementFault]:
    """Every tcgen05 of a kernel has the same cta_group."""
    groups = {mma.ctas for mma in mmas.values()}
    if len(groups) < 2:
        return []
    says = "All tcgen05 instructions of a kernel use the same .cta_group; ptxas refuses a mixture."
    return [PlacementFault("cta_group_mixed", "more", says)]


def _format_title(mma: TmemMma) -> str:
    sparse = ", A sparse" if mma.sparse else ""
    return f"kind::{mma.kind.name}, M {mma.m} × N {mma.n} × K {mma.k}{sparse}, {tmem.format_form(mma.form)}"


def _build_row(one: PlacedOperand, mma: TmemMma) -> dict[str, Any]:
    found = one.layout
    last = one.column + found.columns - 1
    address_ = f"0x{one.lane << 16 | one.column:08x}"
    return {
        "name": one.name,
        "letter": found.letter,
        "columns": found.columns,
        "first": one.column,
        "last": last,
        "lane": one.lane,
        "address": address_,
        "bits": found.bits,
        "pattern": str(found.pattern),
        "axes": ", ".join(found.axes),
        "evidence": found.evidence,
        "inferred": not found.maps,
        "rows": mma.place.rows,
    }


def _build_panels(
    placed: list[PlacedOperand], mmas: dict[str, TmemMma], mma: TmemMma
) -> list[tuple[str, list[tuple[PlacedOperand, str]]]]:
    if mma.ctas == 1:
        return [("CTA", [(one, _format_placement(one, mmas[one.name], 0)) for one in placed])]
    rows = mma.place.rows
    return [
        (
            f"CTA {cta} of the pair: rows {rows * cta}–{rows * cta + rows - 1} of A and D",
            [(one, _format_placement(one, mmas[one.name], cta)) for one in placed],
        )
        for cta in range(2)
    ]


def _format_placement(one: PlacedOperand, mma: TmemMma, cta: int) -> str:
    found, rows = one.layout, mma.place.rows
    share = f", rows {rows * cta} to {rows * cta + rows - 1}" if one.layout.operand in ("d", "a") else ""
    return f"{one.name}: columns {one.column} to {one.column + found.columns - 1}, layout {found.letter}{share}"


def _list_loaded(
    access: TensorAccess, placed: list[PlacedOperand], touched: Any, lane: int, column: int
) -> list[list[str]]:
    """Thread, register, lane, column and element of the first operand that a load or store touches."""
    if not access.by_warp:
        return []
    hit = next((one for one in placed if (one.mask & touched).any()), None)
    return facts.list_registers(access, hit, lane, column) if hit else []


def _link_idesc(mma: TmemMma) -> str:
    """The page of an instruction descriptor of this MMA."""
    try:
        made = idesc.encode(mma.kind, {"m": mma.m, "n": mma.n, "sparse": int(mma.sparse)}, mma.form)
    except LayoutError:
        return "/idesc"
    return f"/idesc/{made}?kind={mma.kind.name}"
