"""The timeline of a product: its phases and steps, and one sentence for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from lanescope.app.kit.fact import Description, fact
from lanescope.app.steps.stored import LoadedOperand, Move
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
    """One step: what happens (kind), of which operand, which of its kind, and a sentence that says it."""

    phase: int
    kind: Annotated[
        str, Description("plain, xor, addresses, move, k, out or done; meet or become of a second product.")
    ]
    operand: str
    index: int
    at: Annotated[str, Description("Where in its phase, in a few words.")]
    caption: Annotated[str, Description("Code stands between backticks.")]


@dataclass(frozen=True)
class Product:
    """What the captions read: the instruction, the loads of A and B, and the k of each step."""

    instruction: Instruction
    loaded: dict[str, LoadedOperand]
    groups: list[tuple[int, int]]


Phase = tuple[str, float, list[StepperStep]]  # its name, its share of the scrubber, its steps


def build_timeline(found: Product, further: list[Phase]) -> tuple[list[StepperPhase], list[StepperStep]]:
    """Build the phases and steps of a product, in order, and those that come after it."""
    parts: list[Phase] = [("Memory as stored", 2.7, _list_memory_steps(found))]
    for name, loaded in found.loaded.items():
        steps = [
            StepperStep(
                phase=0, kind="addresses", operand=name, index=0, at="addresses", caption=_say_addresses(found, loaded)
            )
        ]
        for n, move in enumerate(loaded.moves):
            at = f"phase {move.phase + 1} · row {move.row}" if loaded.is_matrix_load else f"load {n + 1}"
            if len({m.turn for m in loaded.moves}) > 1:
                at = f"turn {move.turn + 1} · {at}"
            steps.append(StepperStep(phase=0, kind="move", operand=name, index=n, at=at, caption=_say_move(loaded, n)))
        weight = 5.6 if len(steps) > 20 else 3.4
        parts.append((f"{format_load(loaded.load)} · {name.upper()}", weight, steps))
    parts.append(("Multiply", 3.4, [_make_k_step(found, n) for n in range(len(found.groups))]))
    parts.append(("D in registers", 2.0, _list_out_steps(found.instruction.operands["d"], found.instruction.types)))
    parts += further
    phases, steps = [], []
    for number, (name, weight, own) in enumerate(parts):
        phases.append(StepperPhase(name=name, first=len(steps), steps=len(own), weight=weight))
        steps += [move_to_phase(step, number) for step in own]
    return phases, steps


def move_to_phase(step: StepperStep, phase: int) -> StepperStep:
    return StepperStep(
        phase=phase, kind=step.kind, operand=step.operand, index=step.index, at=step.at, caption=step.caption
    )


def format_load(load: str) -> str:
    """Format a load as people say it: ldmatrix.x4.trans, ldmatrix.m16n16.x1.trans."""
    named = load.replace(".sync.aligned", "").replace(".m8n8", "")
    return named.replace(".shared.b16", "").replace(".shared.b8x16", "").replace(".shared.b8", "")


def format_element(operand: str, row: int, col: int) -> str:
    return f"{operand.upper()}[{row}][{col}]"


def format_stored(loaded: LoadedOperand, index: int) -> str:
    """Format an element of the tile, with its K step where it is not the one that is loaded."""
    step = loaded.get_k_step(index)
    return format_element(loaded.operand.name, *loaded.get_element(index)) + (
        "" if step is None else f" of K step {step}"
    )


def format_range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}–{last}"


def format_lanes(lanes: list[int]) -> str:
    """Format lanes: one range where they follow one another, else a list with its step.

    >>> format_lanes([4, 5, 6, 7]), format_lanes([1, 5, 9, 13])
    ('4–7', '1, 5, 9, 13')
    """
    lanes = sorted(set(lanes))
    if lanes == list(range(lanes[0], lanes[-1] + 1)):
        return format_range(lanes[0], lanes[-1])
    return ", ".join(map(str, lanes)) if len(lanes) <= 4 else f"{', '.join(map(str, lanes[:3]))} … {lanes[-1]}"


# memory ---------------------------------------------------------------------------------------------------------------


def _list_memory_steps(found: Product) -> list[StepperStep]:
    steps = [StepperStep(phase=0, kind="plain", operand="", index=0, at="before the XOR", caption=_say_plain(found))]
    swizzled = [one for one in found.loaded.values() if one.where.placed and one.where.placed.xor.bits]
    if swizzled:
        steps.append(
            StepperStep(
                phase=0, kind="xor", operand="", index=1, at=format_swizzle(swizzled[0]), caption=say_xor(swizzled[0])
            )
        )
    else:
        steps[0] = StepperStep(phase=0, kind="plain", operand="", index=0, at="no swizzle", caption=_say_plain(found))
    return steps


def format_swizzle(loaded: LoadedOperand) -> str:
    mode = loaded.where.mode
    return f"{mode.name} swizzle" if mode.name != "none" else str(loaded.where.placed and loaded.where.placed.xor)


def _say_plain(found: Product) -> str:
    a, b = found.loaded["a"], found.loaded["b"]
    first, last = a.k_first, a.k_first + (a.operand.col_count) - 1
    stored = "stored columns" if a.operand.sparsity else "k"
    return (
        f"Shared memory in lines of 128 bytes, 8 chunks of 16 bytes. A lies {_say_major(a)}, B {_say_major(b)}; this"
        f" product reads the coloured chunks, which hold {stored} {first}–{last} of A."
    )


def _say_major(loaded: LoadedOperand) -> str:
    along = "K" if loaded.major == "K" else "M" if loaded.operand.name == "a" else "N"
    return f"with {along} contiguous"


def say_xor(loaded: LoadedOperand) -> str:
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


def _say_addresses(found: Product, loaded: LoadedOperand) -> str:
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
    is_open = not found.instruction.family.specified
    measured = "PTX leaves wmma's registers open; this map was measured. " if is_open else ""
    rest = "" if len(givers) == 32 else f" The addresses of lanes {format_range(len(givers), 31)} are not used."
    seconds = f", lane 8 at {rows[8]}" if 8 in rows else ""
    return (
        f"{measured}{turned}Lanes {lanes} give {format_load(loaded.load)} one address each, of 16 bytes: lane 0 points"
        f" at {rows[0]}, lane 1 at {rows[1]}{seconds}.{rest}"
    )


def describe_row(loaded: LoadedOperand, move: Move) -> str:
    """Name the elements that one address brings."""
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
    if len(rows) == 1:
        return f"{name}[{rows[0]}][{_format_span(cols)}]{of}"
    if len(cols) == 1:
        return f"{name}[{_format_span(rows)}][{cols[0]}]{of}"
    return f"elements of {name}'s rows {format_lanes(rows)}{of}"


def _format_span(numbers: list[int]) -> str:
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}…{numbers[-1]}"


def _say_move(loaded: LoadedOperand, number: int) -> str:
    move, values = loaded.moves[number], loaded.operand.values
    lanes = sorted({slot // values for slot in move.slots})
    registers = sorted({loaded.operand.register_of(slot % values)[0] for slot in move.slots})
    each = len(move.slots) // max(1, len(lanes))
    wrong = [slot for slot in move.slots if loaded.got[slot] != loaded.holds[slot]]
    held = f"R{format_range(registers[0], registers[-1])}"
    if not loaded.is_matrix_load:
        first, second = (f"`{format_address(at)}`" for at in move.addresses[:2])
        text = f"Every lane loads {move.size} bytes into {held}: lane 0 from {first}, lane 1 from {second}."
        text += "" if wrong else f" This load takes {format_count(move.wavefronts, 'wavefront')}."
    else:
        count = "one element" if each == 1 else f"{_number(each)} elements"
        text = (
            f"Lane {move.lanes[0]} gives `{format_address(move.addresses[0])}`: the 16 bytes there are"
            f" {describe_row(loaded, move)}, and they go to {held} of lanes {format_lanes(lanes)}, {count} each."
        )
        last = number + 1 == len(loaded.moves) or (
            (loaded.moves[number + 1].turn, loaded.moves[number + 1].phase) != (move.turn, move.phase)
        )
        if last and move.wavefronts:
            text += (
                " The 8 rows of this phase meet no bank twice: no conflict."
                if move.wavefronts == 1
                else f" The 8 rows of this phase share banks: {move.wavefronts} wavefronts instead of one."
            )
    return text + (f" ✗ {say_wrong(loaded, wrong)}" if wrong else "")


def say_wrong(loaded: LoadedOperand, wrong: list[int]) -> str:
    slot = wrong[0]
    lane, value = divmod(slot, loaded.operand.values)
    got = int(loaded.got[slot])
    wanted = format_stored(loaded, int(loaded.holds[slot]))
    arrived = format_stored(loaded, got) if got >= 0 else "no element of the tile"
    register = loaded.operand.register_of(value)[0]
    return f"Lane {lane} should have {wanted} in R{register}; {arrived} arrives."


def format_address(at: int) -> str:
    return f"0x{at:03X}"


def _number(count: int) -> str:
    return {2: "two", 4: "four", 8: "eight"}.get(count, str(count))


def format_count(count: int, word: str) -> str:
    return f"one {word}" if count == 1 else f"{count} {word}s"


# multiply, D ----------------------------------------------------------------------------------------------------------


def _make_k_step(found: Product, number: int) -> StepperStep:
    first, end = found.groups[number]
    i = found.instruction
    span = format_range(first, end - 1)
    elements = i.sizes["m"] * i.sizes["n"]
    what = f"k = {span}: column {span} of A times row {span} of B"
    if end - first > 1:
        what = f"k = {span}: {end - first} columns of A times as many rows of B"
    if i.operands["a"].sparsity:
        what = f"k = {span}: where the metadata puts a stored element of A at this k, it meets row {span} of B"
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
    return StepperStep(
        phase=0,
        kind="k",
        operand="",
        index=number,
        at=f"k = {span} of 0–{i.sizes['k'] - 1}",
        caption=what + adds + "." + note,
    )


def list_row_steps(d: Operand, name: str, operand: str) -> list[StepperStep]:
    """List the steps that show which lanes hold the rows of an accumulator, eight at a time."""
    size = min(8, d.row_count)
    steps = []
    for n, first in enumerate(range(0, d.row_count, size)):
        held = [d.owner(row, col)[0] for row in range(first, first + size) for col in range(d.col_count)]
        registers = sorted({d.register_of(value)[0] for _, value in held})
        lane = held[0][0]
        own = [
            format_element(name, int(d.rows[lane, value]), int(d.cols[lane, value]))
            for value in range(d.values)
            if first <= int(d.rows[lane, value]) < first + size
        ]
        rows = f"{first}–{first + size - 1}"
        caption = (
            f"Rows {rows} of {name} are {say_registers(registers)} as {d.element.name}: lane {lane} holds"
            f" {' and '.join((', '.join(own[:-1]), own[-1])) if len(own) > 1 else own[0]}."
        )
        steps.append(
            StepperStep(
                phase=0, kind="out", operand=operand, index=n, at=f"rows {first}–{first + size - 1}", caption=caption
            )
        )
    return steps


def _list_out_steps(d: Operand, types: Mapping[str, str]) -> list[StepperStep]:
    same = types.get("c", types["d"]) == types["d"]
    done = (
        f"No value had to move at the end: these {d.registers} registers of each lane were the accumulators all along"
        + (", and they are C of the next mma." if same else ".")
    )
    return [
        *list_row_steps(d, "D", "d"),
        StepperStep(phase=0, kind="done", operand="d", index=0, at="accumulators", caption=done),
    ]


def say_registers(registers: list[int]) -> str:
    names = [f"R{n}" for n in registers]
    if len(names) == 1:
        return f"register {names[0]}"
    if registers[-1] - registers[0] == len(registers) - 1 > 1:
        return f"registers {names[0]}–{names[-1]}"
    return f"registers {join_words(names)}"
