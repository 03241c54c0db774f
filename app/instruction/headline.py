"""The sentences about a pinned element or lane: where it is, what shares its register, what it meets in the product.

All are templates: the script prints the same for what is pinned later (static/instruction/headline.js); a browser test
compares them. No framework.
"""

from __future__ import annotations

from collections.abc import Mapping

from lanescope.app.instruction import lanes
from lanescope.app.instruction.find import format_example
from lanescope.app.instruction.state import PageState, split_pin
from lanescope.app.kit.fact import fact
from lanescope.inputs import join_words
from lanescope.ptx.instruction import Instruction, Operand, OperandPlace
from lanescope.render.view import ADDRESS, OperandGrid, PanelFigure

MOST_NAMED = 7  # other values of a register, and other holders, that a sentence names
NOTHING = "Which element?"
POINTS = "`{holder}` points at `row {row}` of `matrix {matrix}`"


@fact
class AnswerWords:
    """Templates of the sentences. `product`: what an element of each panel meets, "" where nothing is multiplied."""

    nothing: str
    invitation: str
    value: tuple[str, str]
    mates: tuple[str, str, str]
    copies: tuple[str, str]
    lane: str
    count: str
    groups: str
    together: str
    apart: str
    most: int
    product: dict[str, str]


@fact
class Answer:
    """What a page says first: a line for each pin, with `code` between backticks, then sentences."""

    lines: tuple[str, ...]
    text: str
    pinned: bool


def build_words(instruction: Instruction, figure: PanelFigure) -> AnswerWords:
    """Build the templates of one instruction."""
    scope = instruction.family.scope
    in_registers = scope.place is OperandPlace.REGISTERS
    return AnswerWords(
        nothing=NOTHING,
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
        copies=("{holders} holds the same element.", "{holders} hold the same element."),
        lane="`{holder}` holds {counts}",
        count="{count} values of {title}",
        groups="groupID (lane / 4) = {group}, threadID_in_group (lane % 4) = {member}." if in_registers else "",
        together=f"Both are in the same {scope.thread}.",
        apart=f"They are in different {scope.thread}s.",
        most=MOST_NAMED,
        product=_build_product_texts(instruction, figure),
    )


def _build_product_texts(instruction: Instruction, figure: PanelFigure) -> dict[str, str]:
    """Build what an element of A, B and D meets in the product, by panel."""
    if not instruction.family.multiplies:
        return {}
    sizes = {panel.name: panel for panel in figure.panels}
    rows, cols, depth = f"0…{sizes['d'].rows - 1}", f"0…{sizes['d'].cols - 1}", sizes["b"].rows - 1
    into_row, into_col = f"goes into D[{{row}}][{cols}]", f"goes into D[{rows}][{{col}}]"
    if any(op.kept_of_group for op in instruction.operands.values()):
        return {
            "a": f"It multiplies the row of B that the metadata choose, and {into_row}.",
            "b": f"It meets A only in rows whose metadata choose k = {{row}}, and {into_col}.",
            "d": "Row {row} of A and column {col} of B meet in it; the metadata choose the rows of B.",
        }
    plain = "s" not in instruction.types and instruction.types["a"] != "b1"
    total = f"It is the sum of A[{{row}}][k] × B[k][{{col}}] for k = 0…{depth}, plus C[{{row}}][{{col}}]."
    return {
        "a": f"It meets B[{{col}}][{cols}] and {into_row}.",
        "b": f"It meets A[{rows}][{{row}}] and {into_col}.",
        "d": total if plain else "Row {row} of A and column {col} of B meet in it.",
    }


def get_element_template(op: Operand) -> str:
    """Return the first sentence about an element of an operand."""
    if op.name == ADDRESS:
        return POINTS
    register = op.scope.register
    name = "R" if op.scope.place is OperandPlace.REGISTERS else ""
    return f"`{lanes.HELD}` is in `{{holder}}`, {register} `{name}{{register}}`{{bits}}"


def list_value_bits(op: Operand) -> tuple[str, ...]:
    """List what the first sentence says of each value's bits in its register; "" if it fills the register."""
    bits = op.element.bits
    if bits >= op.register_bits or op.name == ADDRESS:
        return ("",) * op.values
    firsts = [op.register_of(value)[1] + op.padding_below for value in range(op.values)]
    return tuple(f", bits `{first + bits - 1}:{first}`" if bits > 1 else f", bit `{first}`" for first in firsts)


def build_answer(instruction: Instruction, figure: PanelFigure, page_state: PageState) -> Answer:
    """Build what the page says first of its pins, or of none."""
    words = build_words(instruction, figure)
    grids = {panel.name: panel.grid for panel in figure.panels if panel.grid}
    pins = [split_pin(pin) for pin in page_state.list_pins()]
    if not pins:
        return Answer(lines=(words.nothing,), text=words.invitation, pinned=False)
    lines, texts, threads = [], [], []
    for element, thread in pins:
        if element:
            grid = grids[element[0]]
            threads.append(int(grid.thread[element[1], element[2], 0]))
            line, text = _describe_element(words, grid, element)
        else:
            assert thread is not None
            threads.append(thread)
            line, text = _describe_thread(words, next(iter(grids.values())), grids, thread)
        lines.append(line)
        texts.append(text)
    if len(pins) > 1:
        texts = [words.together if len(set(threads)) == 1 else words.apart]
    return Answer(lines=tuple(lines), text=texts[0], pinned=True)


def _describe_element(words: AnswerWords, grid: OperandGrid, element: tuple[str, int, int]) -> tuple[str, str]:
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
        return line, ""
    mates = [
        (other, lanes.HELD.format(title=title, row=r, col=c))
        for other, r, c in lanes.list_held(grid, thread)
        if op.register_of(other)[0] == register and other != value
    ]
    names = [text for _, text in sorted(mates)]
    values = [f"{op.name}{each}" for holder, each in owners if holder == thread]
    value_text = words.value[len(values) > 1].format(names=join_words(values))
    sentences = [value_text, _name_mates(words, names, op.register_bits // op.container_bits)]
    others = list(dict.fromkeys(grid.format_holder(holder) for holder, _ in owners[1:] if holder != thread))
    if others:
        sentences.append(_name_holders(words, others))
    sentences.append(words.product.get(panel, "").format(**facts))
    return line, " ".join(filter(None, sentences))


def _name_mates(words: AnswerWords, names: list[str], per_register: int) -> str:
    if not names:
        return ""
    half, some, many = words.mates
    if len(names) > words.most:
        return many.format(count=len(names))
    return (half if per_register == len(names) + 1 == 2 else some).format(mates=join_words(names))


def _name_holders(words: AnswerWords, holders: list[str]) -> str:
    more = len(holders) - words.most
    named = [*holders[: words.most], f"{more} more"] if more > 0 else holders
    text = words.copies[len(holders) > 1].format(holders=join_words(named))
    return text[0].upper() + text[1:]


def _describe_thread(
    words: AnswerWords, first: OperandGrid, grids: Mapping[str, OperandGrid], thread: int
) -> tuple[str, str]:
    held = [(lanes.format_panel_title(name), len(lanes.list_held(grid, thread))) for name, grid in grids.items()]
    counts = [
        words.count.format(count=count, title=title)
        for (title, count), grid in zip(held, grids.values(), strict=True)
        if count and grid.operand.name != ADDRESS
    ]
    line = words.lane.format(holder=first.format_holder(thread), counts=join_words(counts) or "nothing here")
    return line[:1] + line[1:2].upper() + line[2:], words.groups.format(group=thread % 32 // 4, member=thread % 4)
