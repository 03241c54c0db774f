"""Names on the page: types as an assignment, colours and labels in the words of the CUDA documentation."""

from __future__ import annotations

from lanescope.app.instruction.state import AUTO, make_default_state
from lanescope.app.kit.fact import fact
from lanescope.names.form_names import name_form
from lanescope.ptx.instruction import WARP, Instruction, OperandPlace
from lanescope.render import names

LABEL_WORDS = {
    "lane:value": "lane : value index",
    "register": "lane, register",
    "row,col": "row, column",
    "index": "row-major index",
    "none": "none",
}
_KINDS = {
    "float": "f16 bf16 tf32 f32 f64",
    "fp8": "e4m3 e5m2",
    "fp6 and fp4": "e3m2 e2m3 e2m1",
    "integer": "s8 u8 s4 u4 s32",
    "binary": "b1",
}
KIND_OF = {name: kind for kind, names in _KINDS.items() for name in names.split()}


@fact
class MenuChoice:
    """An entry of a menu: its value in the address, its common name, and the letter in the pattern, if any."""

    value: str
    text: str
    letter: str


def list_labels(instruction: Instruction) -> dict[str, str]:
    """List the labels of cells, in the words of their holder."""
    scope = instruction.family.scope
    return {
        name: text.replace("value", scope.value).replace("register", scope.register)
        for name, text in LABEL_WORDS.items()
    }


def find_types_group(instruction: Instruction) -> str:
    """Find the group of the types menu that an instruction belongs to, by its first multiplicand."""
    return KIND_OF.get(instruction.types.get("a", ""), "other")


def format_title(instruction: Instruction) -> str:
    """Format a tab's title: m16n8k16 mma, f32 += f16 × f16."""
    form = name_form(instruction)
    opcode = form.name.removesuffix(f".{instruction.shape}")
    turned = instruction.shape and form.name.endswith(instruction.shape)
    name = f"{instruction.shape} {opcode}" if turned else form.name
    return ", ".join(filter(None, (name, form.types, form.apart)))


def describe_names(instruction: Instruction) -> dict[str, str]:
    """Describe each name of the patterns, and of an address: {"g": "lane group (lane / 4)", …}."""
    return names.describe_names(filter(None, (*instruction.operands.values(), instruction.address)))


def list_colours(instruction: Instruction) -> list[MenuChoice]:
    """List the colourings of cells, those by thread first; their descriptions derive from the pattern."""
    used = {digit.name for op in instruction.operands.values() for digit in op.pattern.digits} | {names.REGISTER}
    automatic = [MenuChoice(value=AUTO, text="warp, or lane group in one warp", letter="")] * (
        make_default_state(instruction).colour == AUTO
    )
    return automatic + [
        MenuChoice(value=name, text=text, letter="" if name == names.REGISTER else name)
        for name, text in describe_names(instruction).items()
        if name in used
    ]


def format_holder(instruction: Instruction, thread: int) -> tuple[str, str]:
    """Format a thread as warp and lane, and its number in the warpgroup if that differs: ("warp 1, lane 28", "thread
    60").
    """
    warp, lane = divmod(thread, WARP.threads)
    scope = instruction.family.scope
    if scope.several:
        return f"warp {warp}, lane {lane}", f"thread {thread}"
    return (f"{scope.thread} {thread}", scope.name if scope.place is OperandPlace.TENSOR else "")
