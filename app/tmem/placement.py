"""/tmem: operands of several MMAs in tensor memory, and an access to it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from lanescope.app.kit.question import (
    declare_question,
    link_to,
    number_field,
    options_of,
    parsed_field,
    read_question,
    text_field,
)
from lanescope.app.tmem.draw import draw_tmem
from lanescope.app.tmem.facts import MmaQuestion, parse_mma
from lanescope.blackwell import idesc, tmem
from lanescope.blackwell.idesc import IdescWord
from lanescope.blackwell.tmem import Allocation, Mask, PlacedOperand, PlacementFault, TensorAccess, TmemMma
from lanescope.errors import LayoutError
from lanescope.inputs import capitalize_sentence, join_words, parse_integer, require_text
from lanescope.render.tmem import render_statement

Place = tuple[int, int]  # lane, column
CALLED = {"d": "D", "a": "A", "metadata": "metadata", "scale_a": "scale A", "scale_b": "scale B"}
MOST_MORE = 3
HIDDEN = ("k", "bits", "split", "first", "target")  # fields that the form does not show
SHOWN_THREADS, SHOWN_REGISTERS = (0, 1, 2, 31), 4  # of a warp's load


def _parse_place(value: Any, field: str) -> Place | None:
    """Parse the address of an operand: a column, or lane:column."""
    if not value:
        return None
    lane, colon, column = value.strip().rpartition(":")
    at = parse_integer(lane, field, 0, tmem.LANES - 1) if colon else 0
    return at, parse_integer(column, field, 0, tmem.COLUMNS - 1)


def _parse_address(value: Any, field: str) -> Place | None:
    """Parse lane:column, or PTX's address: lane << 16 | column."""
    if ":" in value:
        return _parse_place(value, field)
    number = parse_integer(value, field, 0, (tmem.LANES << 16) - 1) if value else None
    return None if number is None else (number >> 16, number & 0xFFFF)


def _declare_operand(name: str, default: str = "") -> Any:
    label = CALLED[name][0].upper() + CALLED[name][1:]
    return parsed_field(_parse_place, label, f"First column of {CALLED[name]}, or lane:column.", default, size=6)


@declare_question
class PlacedQuestion(MmaQuestion):
    """One tcgen05.mma, and the places of its operands."""

    d_at: Place | None = _declare_operand("d")
    a_at: Place | None = _declare_operand("a")
    metadata_at: Place | None = _declare_operand("metadata")
    scale_a_at: Place | None = _declare_operand("scale_a")
    scale_b_at: Place | None = _declare_operand("scale_b")


def _parse_more(value: Any, field: str) -> tuple[PlacedQuestion, ...]:
    """Parse further MMAs, one per line or separated by `;`: `kind=f16 m=128 n=64 d=320`."""
    out = []
    for line in require_text(value, field).replace(";", "\n").splitlines():
        words: dict[str, str] = {}
        for word in line.split():
            name, equals, value = word.partition("=")
            name = f"{name}_at" if name in CALLED else name
            if not equals or name not in options_of(PlacedQuestion):
                raise LayoutError(
                    "bad_mma",
                    f"'{word[:40]}' is not a field of an MMA.",
                    "Write name=value: kind=f16 m=128 n=64 d=320.",
                    field,
                )
            words[name] = value
        if words:
            out.append(read_question(PlacedQuestion, words))
    if len(out) > MOST_MORE:
        raise LayoutError("bad_mma", f"{len(out)} more MMAs.", f"At most {MOST_MORE}.", field)
    return tuple(out)


def _parse_word(value: Any, field: str) -> int | None:
    return idesc.parse_idesc_word(value, field) if value else None


@declare_question
class PlacementQuestion(PlacedQuestion):
    """MMAs with operands in tensor memory, and an access to it."""

    d_at: Place | None = _declare_operand("d", "0")
    alloc: int = number_field(tmem.COLUMNS, "Columns allocated", "Columns that the kernel allocated.", size=4)
    first: int = number_field(0, "First column", "The first of them.")
    idesc: int | None = parsed_field(
        _parse_word, "Instruction descriptor", "The MMA's idesc.", size=15, placeholder="e.g. 0x08400490"
    )
    more: tuple[PlacedQuestion, ...] = parsed_field(
        _parse_more,
        "More MMAs in the same columns",
        "One a line: kind=f16 m=128 n=64 d=320.",
        rows=2,
        wide=True,
        placeholder="e.g. kind=f16 m=128 n=64 d=320",
    )
    access: str = text_field(
        "",
        "Load, store, copy or shift",
        "A tcgen05.ld, .st, .cp or .shift.",
        check=tmem.parse_access,
        wide=True,
        size=20,
        placeholder="e.g. tcgen05.ld.32x32b.x32",
    )
    at: Place | None = parsed_field(
        _parse_address, "At lane:column", "The address of the access.", size=10, placeholder="e.g. 64:32"
    )
    warp: int | None = number_field(None, "By warp", "The warp; that of the lane where it is empty.", most=15, size=3)
    split: int = number_field(0, "Half split", "The constant of 16x32bx2.", most=tmem.COLUMNS)
    look: Place | None = parsed_field(
        _parse_address, "Look at lane:column", "What is stored there.", size=10, placeholder="e.g. 37:5"
    )
    find: str = text_field("", "Find an element or a row", "An element or a row, as D[70][3] or row 70 of D.")
    pin: str = text_field("", "Pinned cell", "A lane and a column, as cta0:70,3.")
    pin2: str = text_field("", "Second pinned cell", "Another one, to compare.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Operands in tensor memory with their MMAs, an access to them, and the errors."""

    mma: TmemMma
    placed: list[tuple[PlacedOperand, TmemMma]]
    allocation: Allocation
    access: TensorAccess | None
    where: Place
    touched: Mask | None
    faults: list[PlacementFault]
    unplaced: list[str]  # operands without an address that an MMA reads from or writes to tensor memory

    @property
    def operands(self) -> list[PlacedOperand]:
        return [operand for operand, _ in self.placed]


def place_operands(question: PlacementQuestion) -> Placement:
    """Place the operands of every MMA, and check them and the access."""
    placed: list[tuple[PlacedOperand, TmemMma]] = []
    unplaced: list[str] = []
    for number, one in enumerate((question, *question.more), 1):
        of, prefix = parse_mma(one), f"{number}: " if number > 1 else ""
        placed += _list_operands(one, of, prefix)
        unplaced += [prefix + CALLED[name] for name in of.required if getattr(one, f"{name}_at") is None]
    mma = parse_mma(question)
    allocation = Allocation(question.alloc, question.first)
    mmas = {operand.name: of for operand, of in placed}
    faults = tmem.find_placement_faults(allocation, [operand for operand, _ in placed], mmas)
    if len({of.ctas for of in mmas.values()}) > 1:
        says = "All tcgen05 instructions of a kernel use the same .cta_group; ptxas refuses a mixture."
        faults.append(PlacementFault("cta_group_mixed", "more", says))
    if question.idesc is not None:
        faults += tmem.find_idesc_faults(IdescWord(question.idesc, mma.kind), mma)
    lane, column = question.at or (0, 0)
    access = tmem.parse_access(question.access, question.split) if question.access else None
    if access:
        warp = lane // tmem.QUARTER if question.warp is None else question.warp
        faults += tmem.find_access_faults(access, lane, column, warp, allocation)
    return Placement(
        mma=mma,
        placed=placed,
        allocation=allocation,
        access=access,
        where=(lane, column),
        touched=tmem.mask_touched(access, lane, column) if access else None,
        faults=faults,
        unplaced=unplaced,
    )


def _list_operands(question: PlacedQuestion, mma: TmemMma, prefix: str) -> list[tuple[PlacedOperand, TmemMma]]:
    """Return the placed operands of an MMA."""
    out = []
    for operand, name in CALLED.items():
        field = f"{operand}_at"
        at = getattr(question, field)
        if at is None:
            continue
        try:
            found = tmem.make_tmem_layout(mma, operand)
        except LayoutError as error:
            raise error.move_to_field(field) from None
        out.append((PlacedOperand(f"{prefix}{name}", found, *at), mma))
    return out


# the page -------------------------------------------------------------------------------------------------------------


def build_placement_context(question: PlacementQuestion, answer: Placement) -> dict[str, Any]:
    """Return the template's variables."""
    mma, access, look = answer.mma, answer.access, question.look
    hit = [
        operand for operand in answer.operands if answer.touched is not None and (operand.mask & answer.touched).any()
    ]
    sparse = ", A sparse" if mma.sparse else ""
    again = {"kind": mma.kind.name, "m": mma.m, "n": mma.n, "cta_group": mma.ctas, "ws": int(question.ws)}
    shape = f"kind::{mma.kind.name}, M {mma.m} × N {mma.n} × K {mma.k}{sparse}"
    return {
        "shown": {"scale_vec": mma.scale_vec},
        "choices": {"scale_vec": tuple(mma.kind.scaled)},
        "title": f"{shape}, {tmem.format_form(mma.form)}",
        "loaded": list_registers(access, hit[0], *answer.where) if access and access.by_warp and hit else [],
        "listed": SHOWN_REGISTERS,
        "threads": join_words(list(map(str, SHOWN_THREADS))),
        "hidden": HIDDEN,
        "unplaced": capitalize_sentence(join_words(answer.unplaced)),
        "touching": [operand.name for operand in hit],
        "look": look,
        "held": format_holders(answer.operands, *look) if look else None,
        "word": _link_idesc(mma),
        "code": render_statement(access) if access else "",
        "epilogue": link_to("/tmem/epilogue", again),
        "map": link_to("/api/v1/tmem/layout", again | {"sparse": int(mma.sparse)}),
    }


def draw_placement(question: PlacementQuestion, answer: Placement) -> str:
    """Draw the memory of one CTA, or of both of a pair."""
    masks = [operand.mask for operand in answer.operands]
    overlap = np.zeros((tmem.LANES, tmem.COLUMNS), bool)
    for first, second in combinations(masks, 2):
        overlap |= first & second
    rows = answer.mma.place.rows
    titles = ["CTA"]
    if answer.mma.ctas > 1:
        titles = [f"CTA {cta} of the pair: rows {rows * cta}–{rows * cta + rows - 1} of A and D" for cta in range(2)]
    panels = [
        (title, [(operand, _describe_operand(operand, mma, cta)) for operand, mma in answer.placed])
        for cta, title in enumerate(titles)
    ]
    return draw_tmem(panels, answer.allocation, answer.touched, overlap)


def _describe_operand(placed: PlacedOperand, mma: TmemMma, cta: int) -> str:
    rows = mma.place.rows
    columns = f"{placed.name}: columns {placed.column} to {placed.column + placed.layout.columns - 1}"
    if placed.layout.operand not in ("d", "a"):  # PTX's letters are of these
        return columns
    return f"{columns}, layout {placed.layout.letter}, rows {rows * cta} to {rows * cta + rows - 1}"


def format_holders(placed: list[PlacedOperand], lane: int, column: int) -> list[str]:
    """Return the elements at a lane and column, a sentence per operand."""
    out = []
    for operand in placed:
        last = min(operand.column + operand.layout.columns, tmem.COLUMNS)
        if not (operand.column <= column < last and lane < tmem.LANES and operand.mask[lane, column]):
            continue
        per = 32 // operand.layout.bits
        units = range((column - operand.column) * per, (column - operand.column + 1) * per)
        coords = list(operand.layout.coords.values())[:2]
        names = operand.layout.axes[:2]
        inside = [unit for unit in units if unit < coords[0].shape[1]]
        first, last = inside[0], inside[-1]
        elements = ", ".join(
            f"{name} {c[lane, first]}"
            if c[lane, first] == c[lane, last]
            else f"{name} {c[lane, first]}–{c[lane, last]}"
            for name, c in zip(names, coords, strict=True)
        )
        out.append(f"{operand.name}: {elements}")
    return out


def list_registers(
    access: TensorAccess, placed: PlacedOperand, lane: int, column: int, most: int = SHOWN_REGISTERS
) -> list[list[str]]:
    """Return (thread, register, lane, column, element) after a load at an address.

    At most `most` registers of each of SHOWN_THREADS.
    """
    lanes, columns = access.pattern.evaluate()[:2]
    columns = tmem.place_columns(access, columns)
    coords = list(placed.layout.coords.values())[:2]
    out = []
    step = 2 if access.packed else 1
    for thread in SHOWN_THREADS:
        for value in range(0, min(most * step, lanes.shape[1]), step):
            at, col = int(lanes[thread, value]) + lane, int(columns[thread, value]) + column
            unit = (col - placed.column) * (32 // placed.layout.bits)
            there = at < tmem.LANES and 0 <= col < tmem.COLUMNS
            inside = there and 0 <= unit < coords[0].shape[1] and bool(placed.mask[at, col])
            text = f"{placed.name}[{coords[0][at, unit]}, {coords[1][at, unit]}]" if inside else "not in it"
            out.append([str(thread), str(value // step), str(at), str(col), text])
    return out


def _link_idesc(mma: TmemMma) -> str:
    """Link to an instruction descriptor of this MMA."""
    try:
        word = idesc.encode(mma.kind, {"m": mma.m, "n": mma.n, "sparse": int(mma.sparse)}, mma.form)
    except LayoutError:
        return "/idesc"
    return f"/idesc/{word}?kind={mma.kind.name}"
