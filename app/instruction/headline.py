"""The sentences about a pinned element or lane: its place, the other values of its register, its factors in the
product.

All are templates: the script prints the same for later pins (static/instruction/headline.js); a browser test compares
them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from lanescope.app.instruction import lanes
from lanescope.app.instruction.find import format_example
from lanescope.app.instruction.state import PageState, split_pin
from lanescope.app.instruction.supplies import SupplyMatrix, build_supplies, format_sentences, list_facts
from lanescope.app.kit.answer import (
    Answer,
    AnswerWords,
    PinnedPlace,
    capitalize_first,
    count_held,
    format_runs,
    get_per_register,
    join_answer,
    list_value_bits,
    name_holders,
    name_mates,
)
from lanescope.inputs import join_words
from lanescope.ptx.instruction import Instruction, Operand, OperandPlace
from lanescope.render.figure import PanelFigure
from lanescope.render.view import ADDRESS, OperandGrid

POINTS = "`{holder}` points at `row {row}` of `matrix {matrix}`"


def build_words(
    instruction: Instruction, figure: PanelFigure, supplies: Mapping[str, SupplyMatrix] | None = None
) -> AnswerWords:
    """Build the templates of one instruction."""
    scope = instruction.family.scope
    in_registers = scope.place is OperandPlace.REGISTERS
    return AnswerWords(
        invitation=f"Click a cell, or type one: {format_example(instruction, figure)}.",
        value=(
            f"{scope.value.capitalize()} {{names}} of the {scope.thread}.",
            f"{scope.value.capitalize()}s {{names}} of the {scope.thread}.",
        ),
        mates=(
            f"The other half of the {scope.register} holds {{mates}}.",
            f"The {scope.register} also holds {{mates}}.",
            f"The {scope.register} holds {{count}} more values.",
        ),
        groups="groupID (lane / 4) = {group}, threadID_in_group (lane % 4) = {member}." if in_registers else "",
        shown=(f"`{scope.thread} {{lanes}}` holds {{held}}", f"`{scope.thread}s {{lanes}}` hold {{held}}"),
        together=f"Both are in the same {scope.thread}.",
        apart=f"They are in different {scope.thread}s.",
        product=_join_sentences(
            _build_product_texts(instruction, figure), format_sentences(instruction, supplies or {})
        ),
    )


def _join_sentences(first: dict[str, str], then: dict[str, str]) -> dict[str, str]:
    """Join the sentences about each panel."""
    return {name: " ".join(filter(None, (first.get(name), then.get(name)))) for name in first | then}


def _build_product_texts(instruction: Instruction, figure: PanelFigure) -> dict[str, str]:
    """Build the texts about the factors of an element of A, B and D in the product, by panel."""
    if not instruction.family.multiplies:
        return {}
    sizes = {panel.name: panel for panel in figure.panels}
    rows, cols, depth = f"0…{sizes['d'].rows - 1}", f"0…{sizes['d'].cols - 1}", sizes["b"].rows - 1
    into_row, into_col = f"goes into D[{{row}}][{cols}]", f"goes into D[{rows}][{{col}}]"
    if any(op.kept_of_group for op in instruction.operands.values()):
        return {
            "a": f"It multiplies the row of B that the metadata choose, and {into_row}.",
            "b": f"It multiplies A only in rows whose metadata choose k = {{row}}, and {into_col}.",
            "d": "It comes from row {row} of A and column {col} of B; the metadata choose the rows of B.",
        }
    plain = "s" not in instruction.types and instruction.types["a"] != "b1"
    total = f"It is the sum of A[{{row}}][k] × B[k][{{col}}] for k = 0…{depth}, plus C[{{row}}][{{col}}]."
    return {
        "a": f"It multiplies B[{{col}}][{cols}] and {into_row}.",
        "b": f"It multiplies A[{rows}][{{row}}] and {into_col}.",
        "d": total if plain else "It comes from row {row} of A and column {col} of B.",
    }


def get_element_template(op: Operand) -> str:
    """Return the first sentence about an element of an operand."""
    if op.name == ADDRESS:
        return POINTS
    register = op.scope.register
    name = "R" if op.scope.place is OperandPlace.REGISTERS else ""
    return f"`{lanes.HELD}` is in `{{holder}}`, {register} `{name}{{register}}`{{bits}}"


def build_answer(instruction: Instruction, figure: PanelFigure, page_state: PageState) -> Answer:
    """Build the first sentences about the pins, or the invitation."""
    supplies = build_supplies(instruction, figure, page_state)
    words = build_words(instruction, figure, supplies)
    grids = {panel.name: panel.grid for panel in figure.panels if panel.grid}
    places = []
    for element, thread in (split_pin(pin) for pin in page_state.list_pins()):
        if element and element[0] in supplies:
            places.append(_describe_supply(words, supplies[element[0]], element))
        elif element:
            more = {name: int(all_[element[1:]]) for name, all_ in list_facts(supplies, element[0]).items()}
            places.append(_describe_element(words, grids[element[0]], element, more))
        else:
            assert thread is not None
            places.append(_describe_thread(words, next(iter(grids.values())), grids, thread))
    if not places and (threads := page_state.parse_threads()):
        return _describe_shown(words, grids, threads)
    return join_answer(words, places)


def _describe_shown(words: AnswerWords, grids: Mapping[str, OperandGrid], threads: Collection[int]) -> Answer:
    """Describe the elements of the selected threads: whole rows or columns of a matrix, or the number of values."""
    texts = (
        _describe_held(words, lanes.format_panel_title(name), grid, threads)
        for name, grid in grids.items()
        if grid.operand.name != ADDRESS
    )
    joined = join_words([text for text in texts if text]) or "nothing here"
    line = words.shown[len(threads) > 1].format(lanes=format_runs(threads), held=joined)
    return Answer(lines=(capitalize_first(line),), text=words.invitation, pinned=False)


def _describe_held(words: AnswerWords, title: str, grid: OperandGrid, threads: Collection[int]) -> str:
    found = np.isin(grid.thread, list(threads))
    at = np.argwhere(found)[:, :2].tolist()  # several copies of an element are one cell
    cells = {(row, col) for row, col in at}
    rows, cols = sorted({row for row, _ in cells}), sorted({col for _, col in cells})
    if not rows:
        return ""
    for first, numbers, is_complete in ((0, rows, len(cols) == grid.cols), (2, cols, len(rows) == grid.rows)):
        if is_complete and len(cells) == len(rows) * len(cols):
            return words.lines[first + (len(numbers) > 1)].format(numbers=format_runs(numbers), title=title)
    return words.count.format(count=len(at), title=title)


def _describe_supply(words: AnswerWords, supply: SupplyMatrix, element: tuple[str, int, int]) -> PinnedPlace:
    facts = supply.get_facts(*element[1:])
    return PinnedPlace(supply.answer.format(**facts), words.product[supply.name].format(**facts), facts["thread"])


def _describe_element(
    words: AnswerWords, grid: OperandGrid, element: tuple[str, int, int], more: Mapping[str, int]
) -> PinnedPlace:
    panel, row, col = element
    op, title = grid.operand, lanes.format_panel_title(panel)
    owners = list(zip(grid.thread[row, col].tolist(), grid.value[row, col].tolist(), strict=True))
    thread, value = owners[0]
    register = op.register_of(value)[0]
    facts = {"title": title, "row": row, "col": col, "name": op.name, "value": value, "register": register}
    line = get_element_template(op).format(
        **facts, holder=grid.format_holder(thread), bits=list_value_bits(op)[value], matrix=grid.product
    )
    if op.name == ADDRESS:
        return PinnedPlace(line, "", thread)
    mates = [
        (other, lanes.HELD.format(title=title, row=r, col=c))
        for other, r, c in lanes.list_held(grid, thread)
        if op.register_of(other)[0] == register and other != value
    ]
    names = [text for _, text in sorted(mates)]
    values = [f"{op.name}{each}" for holder, each in owners if holder == thread]
    value_text = words.value[len(values) > 1].format(names=join_words(values))
    others = list(dict.fromkeys(grid.format_holder(holder) for holder, _ in owners[1:] if holder != thread))
    sentences = (
        value_text,
        name_mates(words, names, get_per_register(op)),
        name_holders(words, others),
        words.product.get(panel, "").format(**facts, **more),
    )
    return PinnedPlace(line, " ".join(filter(None, sentences)), thread)


def _describe_thread(
    words: AnswerWords, first: OperandGrid, grids: Mapping[str, OperandGrid], thread: int
) -> PinnedPlace:
    counts = [
        (lanes.format_panel_title(name), len(lanes.list_held(grid, thread)))
        for name, grid in grids.items()
        if grid.operand.name != ADDRESS
    ]
    line = count_held(words, first.format_holder(thread), counts)
    return PinnedPlace(line, words.groups.format(group=thread % 32 // 4, member=thread % 4), thread)
