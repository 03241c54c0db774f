"""The timeline of a second product: a caption for each step from D to the next D."""

from __future__ import annotations

from lanescope.app.hardware.user_matrices import format_number
from lanescope.app.steps.captions import Phase, StepperStep, format_element, list_row_steps, make_step, name_registers
from lanescope.app.steps.second import ConvertedOperand, SecondProduct
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction, Operand

A, B, D = "A₂", "B₂", "D₂"
EXAMPLE_LANE = 5


def list_second_phases(first: Instruction, then: SecondProduct) -> list[Phase[StepperStep]]:
    """Return the phases after the first product's; a single step with the reason if values would have to change
    lanes.
    """
    second = catalog.find(then.ptx)
    meet = _make_step("meet", 0, "lanes", _caption_meeting(first, second, then))
    if not then.a:
        return [("D becomes A", 2.0, [meet])]
    a, d = second.operands["a"], second.operands["d"]
    become = [
        _make_step("become", n, f"{A} R{n}", _caption_register(first.operands["d"], a, then, then.a, n))
        for n in range(a.registers)
    ]
    products = [
        _make_step("k", k, f"k = {k} of 0–{second.sizes['k'] - 1}", _caption_product(first, second, then, k))
        for k in range(second.sizes["k"])
    ]
    done = (
        f"{D} is again an accumulator. In flash attention D is S = Q·Kᵀ, {A} is P, {B} is V and {D} is O; the softmax,"
        f" which changes D’s values in their registers, is left out here."
    )
    rows = [*list_row_steps(d, D, "then"), _make_step("done", 0, "accumulators", done)]
    return [("D becomes A", 2.6, [meet, *become]), ("Second product", 3.0, products), ("Second D", 2.0, rows)]


def _make_step(kind: str, index: int, at: str, caption: str) -> StepperStep:
    return make_step(kind, index, at, caption, "then")


def _caption_meeting(first: Instruction, second: Instruction, then: SecondProduct) -> str:
    a = second.operands["a"]
    text = f"D becomes {A}, A of `{second.ptx}` ({a.row_count} × {a.col_count}, {a.element.name}): "
    if not (first.family.specified and second.family.specified):
        text = f"PTX leaves wmma’s registers open; these maps were measured. {text}"
    if then.verdict == "registers":
        text += f"all {then.total} elements are already in their lane, so no value moves between lanes."
        if then.tiles > 1:
            columns = first.sizes["n"]
            text += (
                f" {then.tiles} tiles of D side by side make {A}: tile 0 is this D, the others are the same A times"
                f" {columns} further columns of B each, random numbers."
            )
        return text
    row, col, lane, other = then.moved
    text += (
        f"{then.stay} of {then.total} elements are in their lane; {A}[{row}][{col}], which lane {lane} needs, is in"
        f" lane {other}."
    )
    if then.verdict == "reordered":
        return f"{text} With K taken in another order all of them are in their lane: read {B}’s rows in the same order."
    return f"{text} {then.total - then.stay} elements need a shuffle; no order of K avoids it."


def _caption_register(d: Operand, a: Operand, then: SecondProduct, converted: ConvertedOperand, number: int) -> str:
    """Return a sentence that names the registers of D from which a register of A is packed, for one lane."""
    mine = [value for value in range(a.values) if a.register_of(value)[0] == number]
    slots = [EXAMPLE_LANE * a.values + value for value in mine]
    tile = int(converted.tile[slots[0]])
    registers = sorted({d.register_of(int(converted.value[slot]))[0] for slot in slots})
    source = f"{name_registers(registers)} of D" + (f" tile {tile}" if then.tiles > 1 else "")
    same_bits = all(
        d.register_of(int(converted.value[slot]))[1] == a.register_of(value)[1]
        for slot, value in zip(slots, mine, strict=True)
    )
    if d.element.name == a.element.name and len(registers) == 1 and same_bits:
        text = f"R{number} of {A} is {source} as it is, already {a.element.name}."
    else:
        text = f"Every lane converts {source} to {a.element.name} ({then.conversion}) and packs R{number} of {A}."
    packed = []
    for slot, value in zip(slots, mine, strict=True):
        low = a.register_of(value)[1]
        index = int(converted.holds[slot])
        row, col = divmod(index, a.col_count)
        element = format_element("d", row, col % d.col_count)
        shown = converted.numbers[index]
        number_text = "?" if shown != shown else format_number(float(shown))
        packed.append(f"{element} = {number_text} in bits {low + a.container_bits - 1}:{low}")
    return f"{text} Lane {EXAMPLE_LANE}: {', '.join(packed)}."


def _caption_product(first: Instruction, second: Instruction, then: SecondProduct, k: int) -> str:
    columns = first.sizes["n"]
    tile = f" tile {k // columns}" if then.tiles > 1 else ""
    note = f" {B} is loaded from shared memory as B was; {D} begins as 0." if k == 0 else ""
    return (
        f"k = {k}: column {k} of {A}, column {k % columns} of D{tile}, times row {k} of {B} adds one product to each of"
        f" the {second.sizes['m'] * second.sizes['n']} elements of {D}.{note}"
    )
