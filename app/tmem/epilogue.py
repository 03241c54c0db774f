"""Facts about D's way from tensor memory to shared or global memory, with its picture: the API and /tmem/epilogue."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np

from lanescope.app.kit.fact import Description, IntegerArray, Numbers, fact, make_optional_field
from lanescope.app.kit.question import declare_question, link_to, number_field, text_field, word_field
from lanescope.app.kit.target import target_field
from lanescope.app.kit.tcgen05 import columns_of_d_field, cta_group_field, rows_of_d_field, ws_field
from lanescope.blackwell import epilogue, idesc, tmem
from lanescope.blackwell.epilogue import ROWS, STORED, Epilogue
from lanescope.blackwell.tmem import TmemMma
from lanescope.errors import LayoutError
from lanescope.ptx.architectures import require_kind
from lanescope.render import epilogue as code
from lanescope.render.figure import LEFT, TOP, FigurePanel, PanelFigure
from lanescope.render.svg import render_svg

MOST_COLUMNS = 32  # rows and columns of D that are drawn of one load
GROUP, FILLS = 4, 8  # lanes per colour, number of colours
WIDE, HIGH = 40.0, 19.0  # size of a cell in pixels


@declare_question
class EpilogueQuestion:
    """D's way out of tensor memory, and the selected thread."""

    kind: str = word_field(idesc.NAMES, "Kind", "The kind of the MMA.", "f16")
    cta_group: str = cta_group_field()
    ws: bool = ws_field()
    m: int = rows_of_d_field(size=4)
    n: int = columns_of_d_field(size=4)
    d: str = word_field(("f32", "f16"), "Type of D", "The type of D: f16 takes the low half of a column.")
    access: str = text_field(
        "tcgen05.ld.16x256b.x4", "Load", "The load of every warp.", check=tmem.parse_access, size=34
    )
    element: str = word_field(("bf16", "f16", "f32"), "Stored as", "The type that is stored.")
    stored: str = word_field(
        STORED, "In shared memory", "Storage of D in shared memory.", "128B", called={ROWS: "whole rows"}
    )
    warp: int = number_field(0, "Warp", "The warp whose thread is looked at.", most=3, size=4)
    thread: int = number_field(5, "Thread", "The thread of that warp.", most=tmem.QUARTER - 1, size=4)
    target: str = target_field()

    @property
    def bits(self) -> int:
        """Return the bits of the element that is stored."""
        return 32 if self.element == "f32" else 16


@fact
class ToShared:
    """stmatrix into one storage of D: instructions per CTA, wavefronts, and the minimum."""

    stored: str
    instructions: int
    wavefronts: int
    ideal: int


@fact
class TmemEpilogue:
    """The elements of D that each thread loads, and the cost of storing them."""

    id: Annotated[str, Description("PTX's letter of D's layout.", ("D",))]
    access: str
    loads: Annotated[int, Description("Loads of all four warps.")]
    registers: Annotated[int, Description("Of one load.")]
    matrices: Annotated[
        int, Description("8 × 8 matrices of 16 bits that a load gives as stmatrix takes them; 0: none.")
    ]
    row: Annotated[
        Numbers, IntegerArray(2, "[thread of the CTA][value] after each warp's first load; −1 where D has none.")
    ]
    col: Annotated[Numbers, IntegerArray(2, "[thread of the CTA][value] after each warp's first load.")]
    fitting: Annotated[str, Description("A load whose registers stmatrix stores as they are.")]
    store_bytes: Annotated[int, Description("Bytes that a thread stores to a row of global memory at once.")]
    requests: Annotated[int, Description("Stores of a thread for one load.")]
    sectors: Annotated[int, Description("Sectors of 32 bytes that each of a warp's stores touches.")]
    evidence: str
    to_shared: Annotated[list[ToShared] | None, Description("Left out where stmatrix cannot take the registers.")] = (
        make_optional_field()
    )


def make_epilogue(question: EpilogueQuestion) -> Epilogue:
    """Return the epilogue of a question. LayoutError names the wrong field."""
    if question.d == "f16" and question.element != "f16":
        says = f"D is f16; it is stored as {question.element}."
        raise LayoutError("bad_choice", says, "An f16 D is stored as f16.", "element")
    require_kind(question.kind, question.target)
    form = idesc.get_form(question.cta_group, int(question.ws))
    mma = TmemMma(idesc.get_kind(question.kind), form, False, question.m, question.n)
    return Epilogue(mma, tmem.parse_access(question.access), question.d == "f16")


def list_costs(epilogue: Epilogue) -> list[ToShared]:
    """Return every storage of D with the cost of stmatrix; none if stmatrix cannot take the registers."""
    if not epilogue.matrices:
        return []
    counts = [(name, epilogue.count_wavefronts(epilogue.place_in_shared(name))) for name in STORED]
    return [ToShared(stored=name, instructions=n, wavefronts=w, ideal=i) for name, (n, w, i) in counts]


def answer_epilogue(question: EpilogueQuestion) -> TmemEpilogue:
    """Return the elements of D that every thread holds after its loads, and the cost of storing them."""
    plan = make_epilogue(question)
    row, col = plan.locate_first_load()
    wide, requests, sectors = plan.count_sectors(question.bits)
    return TmemEpilogue(
        id=plan.d.letter,
        access=plan.access.ptx,
        loads=len(plan.loads),
        registers=plan.access.registers,
        matrices=plan.matrices,
        row=row,
        col=col,
        fitting=epilogue.choose_load(plan.mma, plan.halves).ptx,
        store_bytes=wide,
        requests=requests,
        sectors=sectors,
        evidence=f"D: {plan.d.evidence}. Load: {plan.access.evidence}",
        to_shared=list_costs(plan) or None,
    )


def build_epilogue_context(question: EpilogueQuestion, answer: TmemEpilogue) -> dict[str, Any]:
    """Return further template variables of the page."""
    epilogue = make_epilogue(question)
    per = epilogue.per_register
    at = question.warp * tmem.QUARTER + question.thread
    elements = [
        (
            value // per,
            ("low", "high")[value % per] if per > 1 else "",
            int(answer.row[at, value]),
            int(answer.col[at, value]),
        )
        for value in range(answer.row.shape[1])
    ]
    fits = epilogue.matrices and question.element != "f32"
    shared = (
        code.render_shared_store(epilogue, epilogue.place_in_shared(question.stored), question.element) if fits else ""
    )
    return {
        "made": epilogue,
        "load": draw_load(epilogue, question.warp, question.thread),
        "held": elements[:16],
        "more": max(len(elements) - 16, 0),
        "fits": fits,
        "shared": shared,
        "global": code.render_global_store(epilogue, question.bits, question.element),
        "map": link_to(
            "/tmem",
            {
                "kind": question.kind,
                "cta_group": question.cta_group,
                "ws": int(question.ws),
                "m": question.m,
                "n": question.n,
                "access": epilogue.access.ptx,
                "at": "0:0",
                "warp": "0",
            },
        ),
    }


def format_epilogue(question: EpilogueQuestion, answer: TmemEpilogue) -> Iterator[str]:
    """Yield the lines of the command."""
    shown = build_epilogue_context(question, answer)
    yield f"D, layout {answer.id}: {answer.loads} loads of {answer.registers} registers, {answer.access}"
    yield f"warp {question.warp}, thread {question.thread}, after the warp's first load:"
    for register, half, row, col in shown["held"]:
        yield f"  r{register}{' ' + half if half else ''}: {f'D[{row}, {col}]' if row >= 0 else 'none of D'}"
    if shown["more"]:
        yield f"  … {shown['more']} more"
    for cost in (answer.to_shared or []) if shown["fits"] else []:
        ideal = f"{cost.wavefronts} wavefronts, {cost.ideal} ideal"
        yield f"stmatrix, {cost.stored}: {cost.instructions} instructions, {ideal}"
    if question.element == "f32":
        yield "stmatrix stores 16-bit elements; f32 goes to global memory."
    elif not answer.to_shared:
        yield f"stmatrix cannot store these registers as they are; those of {answer.fitting} it can."
    stores = "store" if answer.requests == 1 else "stores"
    yield (
        f"global memory: {answer.requests} {stores} of {answer.store_bytes} bytes per thread for one load,"
        f" {answer.sectors} sectors each"
    )
    yield answer.evidence
    yield shown["shared"] or shown["global"]


def draw_load(epilogue: Epilogue, warp: int, thread: int) -> str:
    """Draw the rows and first columns of D that a warp's first load returns; the selected thread's elements are
    framed.
    """
    load = next(candidate for candidate in epilogue.loads if candidate.warp == warp)
    row, col = epilogue.locate_elements(load)
    rows, cols = np.unique(row[row >= 0]), np.unique(col[row >= 0])
    drawn = cols[:MOST_COLUMNS]
    texts = [[""] * len(drawn) for _ in rows]
    lane_of = np.full((len(rows), len(drawn)), -1, np.int32)
    for lane, value in np.argwhere((row >= 0) & np.isin(col, drawn)).tolist():
        at = int(np.searchsorted(rows, row[lane, value])), int(np.searchsorted(drawn, col[lane, value]))
        texts[at[0]][at[1]] = f"T{lane}:r{value // epilogue.per_register}"
        lane_of[at] = lane
    part = f", its first {len(drawn)} columns of {len(cols)}" if len(drawn) < len(cols) else ""
    title = f"Rows and columns of D that warp {warp}'s first load brings{part}: lane and register of each"
    panel = FigurePanel(
        "load",
        title,
        rows=len(rows),
        cols=len(drawn),
        x=LEFT + 4,
        cell_width=WIDE,
        cell_height=HIGH,
        category=np.where(lane_of >= 0, lane_of // GROUP % FILLS, -1).astype(np.int32),
        texts=texts,
        row_names=tuple(map(str, rows.tolist())),
        col_names=tuple(map(str, drawn.tolist())),
        of=FILLS,
    )
    frames = "".join(
        f"M{panel.x + c * WIDE:g} {panel.y + r * HIGH:g}h{WIDE:g}v{HIGH:g}h{-WIDE:g}z"
        for r, c in np.argwhere(lane_of == thread).tolist()
    )
    figure = PanelFigure(max(panel.x + panel.width, 7.4 * len(title) + LEFT) + 8, TOP + panel.height + 8, (panel,))
    return render_svg(
        figure,
        title=title,
        palette=None,
        labels_up_to=32 * MOST_COLUMNS,
        extra=f'<path d="{frames}" fill="none" stroke="var(--trace)" stroke-width="2.5"/>',
        pointed=True,
    )
