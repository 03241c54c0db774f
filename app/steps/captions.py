"""The timeline of a product: phases and steps, each with a caption."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeVar

import numpy as np

from lanescope import inputs
from lanescope.app.hardware.user_matrices import drop_point
from lanescope.app.kit.fact import Description, fact
from lanescope.app.steps.stored import LoadedOperand, StepperMove
from lanescope.inputs import join_words
from lanescope.ptx.instruction import Instruction, Operand


@fact
class StepperPhase:
    """A named part of the timeline: its first step, how many it has, and its share of the scrubber."""

    name: str
    first: int
    steps: int
    weight: float


@fact
class StepperStep:
    """One step: its kind, its operand, its number among steps of that kind, and its caption."""

    phase: int
    kind: Annotated[
        str, Description("plain, xor, addresses, move, k, out or done; meet or become of a second product.")
    ]
    operand: str
    index: int
    at: Annotated[str, Description("Where in its phase, in a few words.")]
    caption: Annotated[str, Description("Code is enclosed in backticks.")]


@dataclass(frozen=True)
class Product:
    """Input of the captions: the instruction, the loads of A and B, and the k of each step."""

    instruction: Instruction
    loaded: dict[str, LoadedOperand]
    groups: list[tuple[int, int]]


@fact
class StepperMismatch:
    """A slot that gets the wrong element; value: null if it is unknown."""

    slot: int
    expected: str
    arrived: Annotated[str, Description("Empty where its bytes are not an element.")]
    value: float | None


Step = TypeVar("Step", bound=StepperStep)
Phase = tuple[str, float, list[Step]]  # name, share of the scrubber, steps


def make_step(kind: str, index: int, at: str, caption: str, operand: str = "") -> StepperStep:
    """Return a step; place_steps assigns its phase."""
    return StepperStep(phase=0, kind=kind, operand=operand, index=index, at=at, caption=caption)


def place_steps(parts: Iterable[Phase[Step]]) -> tuple[list[StepperPhase], list[Step]]:
    """Concatenate the steps of all phases."""
    phases: list[StepperPhase] = []
    steps: list[Step] = []
    for number, (name, weight, of_phase) in enumerate(parts):
        phases.append(StepperPhase(name=name, first=len(steps), steps=len(of_phase), weight=weight))
        steps += [replace(step, phase=number) for step in of_phase]
    return phases, steps


def build_timeline(product: Product, further: list[Phase[StepperStep]]) -> tuple[list[StepperPhase], list[StepperStep]]:
    """Return the phases and steps of a product, followed by those after it."""
    parts: list[Phase[StepperStep]] = [("Memory as stored", 2.7, _list_memory_steps(product))]
    for name, loaded in product.loaded.items():
        steps = [make_step("addresses", 0, "addresses", _caption_addresses(product, loaded), name)]
        for n, move in enumerate(loaded.moves):
            at = f"phase {move.phase + 1} · row {move.row}" if loaded.is_matrix_load else f"load {n + 1}"
            if len({m.turn for m in loaded.moves}) > 1:
                at = f"turn {move.turn + 1} · {at}"
            steps.append(make_step("move", n, at, _caption_move(loaded, n), name))
        weight = 5.6 if len(steps) > 20 else 3.4
        parts.append((f"{format_load(loaded.load)} · {name.upper()}", weight, steps))
    parts.append(("Multiply", 3.4, [_make_k_step(product, n) for n in range(len(product.groups))]))
    parts.append(("D in registers", 2.0, _list_out_steps(product.instruction.operands["d"], product.instruction.types)))
    return place_steps(parts + further)


def format_load(load: str) -> str:
    """Return a short name of a load: ldmatrix.x4.trans, ldmatrix.m16n16.x1.trans."""
    named = load.replace(".sync.aligned", "").replace(".m8n8", "")
    return named.replace(".shared.b16", "").replace(".shared.b8x16", "").replace(".shared.b8", "")


def format_element(operand: str, row: int, col: int) -> str:
    return f"{operand.upper()}[{row}][{col}]"


def format_stored(loaded: LoadedOperand, index: int) -> str:
    """Return an element of the tile, with its K step if that is not the loaded one."""
    step = loaded.get_k_step(index)
    return format_element(loaded.operand.name, *loaded.get_element(index)) + (
        "" if step is None else f" of K step {step}"
    )


def format_range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}–{last}"


def format_lanes(lanes: list[int]) -> str:
    """Return lanes as text: a range if they are consecutive, else a list.

    >>> format_lanes([4, 5, 6, 7]), format_lanes([1, 5, 9, 13])
    ('4–7', '1, 5, 9, 13')
    """
    lanes = sorted(set(lanes))
    if lanes == list(range(lanes[0], lanes[-1] + 1)):
        return format_range(lanes[0], lanes[-1])
    return ", ".join(map(str, lanes)) if len(lanes) <= 4 else f"{', '.join(map(str, lanes[:3]))} … {lanes[-1]}"


# memory ---------------------------------------------------------------------------------------------------------------


def _list_memory_steps(product: Product) -> list[StepperStep]:
    swizzled = [loaded for loaded in product.loaded.values() if loaded.where.placed and loaded.where.placed.xor.bits]
    plain = make_step("plain", 0, "before the XOR" if swizzled else "no swizzle", _caption_plain(product))
    return [plain, *(make_xor_step(loaded) for loaded in swizzled[:1])]


def format_swizzle(loaded: LoadedOperand) -> str:
    mode = loaded.where.mode
    return f"{mode.name} swizzle" if mode.name != "none" else str(loaded.where.placed and loaded.where.placed.xor)


def _caption_plain(product: Product) -> str:
    a, b = product.loaded["a"], product.loaded["b"]
    first, last = a.k_first, a.k_first + (a.operand.col_count) - 1
    stored = "stored columns" if a.operand.sparsity else "k"
    return (
        f"Shared memory in lines of 128 bytes, 8 chunks of 16 bytes. A is stored {_describe_major(a)}, B"
        f" {_describe_major(b)}; this product reads the coloured chunks, which hold {stored} {first}–{last} of A."
    )


def _describe_major(loaded: LoadedOperand) -> str:
    along = "K" if loaded.major == "K" else "M" if loaded.operand.name == "a" else "N"
    return f"with {along} contiguous"


def make_xor_step(loaded: LoadedOperand) -> StepperStep:
    """Return the step in which an operand's chunks move to their swizzled places."""
    return make_step("xor", 1, format_swizzle(loaded), _caption_xor(loaded))


def _caption_xor(loaded: LoadedOperand) -> str:
    placed, name = loaded.where.placed, loaded.operand.name.upper()
    assert placed is not None
    unit = (placed.xor.base - 4 - 3, placed.xor.shift)
    bits = placed.xor.bits
    if unit == (0, 3) and bits <= 3:
        return (
            f"The {format_swizzle(loaded)} of {name} stores chunk c of line r at place `c ⊕ (r mod {1 << bits})`, so"
            f" that the same chunk of 8 lines falls on {4 << bits} banks instead of 4."
        )
    return f"{name}’s swizzle {format_swizzle(loaded)} XORs address bits: each chunk moves to the place drawn here."


# loads ----------------------------------------------------------------------------------------------------------------


def _caption_addresses(product: Product, loaded: LoadedOperand) -> str:
    name = loaded.operand.name.upper()
    if not loaded.is_matrix_load:
        size = loaded.moves[0].size
        wide, element = loaded.operand.register_bits > 32, loaded.operand.element.name
        why = f" {element} takes 64-bit registers, which ldmatrix cannot fill." if wide else ""
        return f"{name} is loaded with ld.shared: every lane gives the address of its own {size} bytes.{why}"
    givers = sorted({move.lanes[0] for move in loaded.moves})
    rows = {lane: describe_row(loaded, move) for move in loaded.moves if move.turn == 0 for lane in move.lanes}
    lanes = format_range(givers[0], givers[-1])
    turned = ".trans hands out the columns of each 8 × 8 matrix. " if ".trans" in loaded.load else ""
    is_open = not product.instruction.family.specified
    measured = "PTX leaves wmma's registers open; this map was measured. " if is_open else ""
    rest = "" if len(givers) == 32 else f" The addresses of lanes {format_range(len(givers), 31)} are not used."
    seconds = f", lane 8 at {rows[8]}" if 8 in rows else ""
    return (
        f"{measured}{turned}Lanes {lanes} give {format_load(loaded.load)} one address each, of 16 bytes: lane 0 points"
        f" at {rows[0]}, lane 1 at {rows[1]}{seconds}.{rest}"
    )


def describe_row(loaded: LoadedOperand, move: StepperMove) -> str:
    """Return the elements that one address loads, as text."""
    return _format_elements(loaded, [int(loaded.got[slot]) for slot in move.slots])


def _format_elements(loaded: LoadedOperand, indexes: list[int]) -> str:
    known = [loaded.get_element(index) for index in indexes if index >= 0]
    name = loaded.operand.name.upper()
    others = {loaded.get_k_step(index) for index in indexes}
    if len(known) < len(indexes) or len(others) > 1:
        return f"bytes that are not all {name}'s"
    other = others.pop()
    of = "" if other is None else f" of K step {other}"
    rows, cols = sorted({row for row, _ in known}), sorted({col for _, col in known})
    if len(rows) == 1 or len(cols) == 1:
        return f"{name}[{format_span(rows)}][{format_span(cols)}]{of}"
    return f"elements of {name}'s rows {format_lanes(rows)}{of}"


def format_span(numbers: Iterable[int]) -> str:
    """Return the rows or columns of a block as text.

    >>> format_span([7]), format_span([8, 9, 10, 11]), format_span([1, 0, 4])
    ('7', '8…11', '0, 1, 4')
    """
    found = sorted(set(numbers))
    if found != list(range(found[0], found[-1] + 1)):
        return ", ".join(map(str, found))
    return str(found[0]) if len(found) == 1 else f"{found[0]}…{found[-1]}"


def _caption_move(loaded: LoadedOperand, number: int) -> str:
    move = loaded.moves[number]
    wrong = [slot for slot in move.slots if loaded.got[slot] != loaded.holds[slot]]
    if not loaded.is_matrix_load:
        first, second = (f"`{format_address(at)}`" for at in move.addresses[:2])
        registers = _format_registers(loaded, move)
        text = f"Every lane loads {move.size} bytes into {registers}: lane 0 from {first}, lane 1 from {second}."
        text += "" if wrong else f" This load takes {format_count(move.wavefronts, 'wavefront')}."
    else:
        text = caption_row(loaded, move) + caption_banks(loaded, number, "phase")
    return text + (f" ✗ {caption_wrong_slot(loaded, wrong)}" if wrong else "")


def caption_row(loaded: LoadedOperand, move: StepperMove) -> str:
    """Return a sentence about the elements that one address loads, and where they go."""
    return (
        f"Lane {move.lanes[0]} gives `{format_address(move.addresses[0])}`: the 16 bytes there are"
        f" {describe_row(loaded, move)}, and they go to {describe_holders(loaded, move)}."
    )


def describe_holders(loaded: LoadedOperand, move: StepperMove) -> str:
    """Return the registers and lanes that hold a row, and the number of elements in each lane."""
    lanes = {slot // loaded.operand.values for slot in move.slots}
    each = format_count(len(move.slots) // len(lanes), "element")
    return f"{_format_registers(loaded, move)} of lanes {format_lanes(list(lanes))}, {each} each"


def _format_registers(loaded: LoadedOperand, move: StepperMove) -> str:
    operand = loaded.operand
    registers = [operand.register_of(slot % operand.values)[0] for slot in move.slots]
    return f"R{format_range(min(registers), max(registers))}"


def caption_banks(loaded: LoadedOperand, number: int, called: str) -> str:
    """Return a sentence about the bank conflicts of 8 rows, at the last of them; "" if not measured. called: the name
    of the 8 rows.
    """
    move, after = loaded.moves[number], loaded.moves[number + 1 : number + 2]
    if not move.wavefronts or any((later.turn, later.phase) == (move.turn, move.phase) for later in after):
        return ""
    if move.wavefronts == 1:
        return f" The 8 rows of this {called} use no bank twice: no conflict."
    return f" The 8 rows of this {called} share banks: {move.wavefronts} wavefronts instead of one."


def list_mismatches(loaded: LoadedOperand, numbers: Any) -> list[StepperMismatch]:
    """Return the slots that get a wrong element. numbers: of the tile's elements, NaN if not known."""
    found = []
    for slot in np.flatnonzero(loaded.got != loaded.holds).tolist():
        got = int(loaded.got[slot])
        known = got >= 0 and not np.isnan(numbers[got])
        found.append(
            StepperMismatch(
                slot=slot,
                expected=format_stored(loaded, int(loaded.holds[slot])),
                arrived=format_stored(loaded, got) if got >= 0 else "",
                value=drop_point(numbers[got]) if known else None,
            )
        )
    return found


def caption_wrong_slot(loaded: LoadedOperand, wrong: list[int]) -> str:
    slot = wrong[0]
    lane, value = divmod(slot, loaded.operand.values)
    got = int(loaded.got[slot])
    wanted = format_stored(loaded, int(loaded.holds[slot]))
    arrived = format_stored(loaded, got) if got >= 0 else "no element of the tile"
    register = loaded.operand.register_of(value)[0]
    return f"Lane {lane} should have {wanted} in R{register}; {arrived} arrives."


def format_address(at: int) -> str:
    return f"0x{at:03X}"


def format_count(count: int, word: str) -> str:
    """Format a count of things: one element, two elements, 32 elements."""
    number, _, noun = inputs.format_count(count, word).partition(" ")
    return f"{ {1: 'one', 2: 'two', 4: 'four', 8: 'eight'}.get(count, number) } {noun}"


# multiply, D ----------------------------------------------------------------------------------------------------------


def _make_k_step(product: Product, number: int) -> StepperStep:
    first, end = product.groups[number]
    i = product.instruction
    span = format_range(first, end - 1)
    elements = i.sizes["m"] * i.sizes["n"]
    what = f"k = {span}: column {span} of A times row {span} of B"
    if end - first > 1:
        what = f"k = {span}: {end - first} columns of A times as many rows of B"
    if i.operands["a"].sparsity:
        what = (
            f"k = {span}: where the metadata puts a stored element of A at this k, it is multiplied by row {span} of B"
        )
    count = "one product" if end - first == 1 else f"{end - first} products"
    adds = f" adds {count} to each of the {elements} elements of D"
    if i.operands["a"].sparsity:
        adds = "; the other rows of A hold a zero there"
    if i.types["a"] == "b1":
        combined = "XOR" if "xor" in i.modifiers else "AND"
        adds = f", {combined} bit by bit; the ones are counted into the {elements} elements of D"
    if i.scales:
        adds += ", scaled by the factors of its block"
    note = ""
    if number == 0:
        note = " D begins as C. The hardware adds in an order of its own, this page in the order of k."
    return make_step("k", number, f"k = {span} of 0–{i.sizes['k'] - 1}", what + adds + "." + note)


def list_row_steps(d: Operand, name: str, operand: str) -> list[StepperStep]:
    """Return the steps that show which lanes hold an accumulator's rows, eight at a time."""
    size = min(8, d.row_count)
    steps = []
    for n, first in enumerate(range(0, d.row_count, size)):
        owners = [d.owner(row, col)[0] for row in range(first, first + size) for col in range(d.col_count)]
        registers = sorted({d.register_of(value)[0] for _, value in owners})
        lane = owners[0][0]
        lane_elements = [
            format_element(name, int(d.rows[lane, value]), int(d.cols[lane, value]))
            for value in range(d.values)
            if first <= int(d.rows[lane, value]) < first + size
        ]
        rows = f"{first}–{first + size - 1}"
        caption = (
            f"Rows {rows} of {name} are {name_registers(registers)} as {d.element.name}: lane {lane} holds"
            f" {join_words(lane_elements)}."
        )
        steps.append(make_step("out", n, f"rows {rows}", caption, operand))
    return steps


def _list_out_steps(d: Operand, types: Mapping[str, str]) -> list[StepperStep]:
    same = types.get("c", types["d"]) == types["d"]
    done = (
        f"No value had to move at the end: these {d.registers} registers of each lane were the accumulators all along"
        + (", and they are C of the next mma." if same else ".")
    )
    return [*list_row_steps(d, "D", "d"), make_step("done", 0, "accumulators", done, "d")]


def name_registers(registers: list[int]) -> str:
    names = [f"R{n}" for n in registers]
    if len(names) == 1:
        return f"register {names[0]}"
    if registers[-1] - registers[0] == len(registers) - 1 > 1:
        return f"registers {names[0]}–{names[-1]}"
    return f"registers {join_words(names)}"
