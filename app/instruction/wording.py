"""Names on the page: types as an assignment, colours and labels in the words of the CUDA documentation."""

from __future__ import annotations

from lanescope.app.instruction.state import AUTO, make_default_state
from lanescope.app.kit.fact import fact
from lanescope.app.kit.rows import find_issued_kind
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
    """An entry of a menu: its value in the address, what people know, and the pattern's letter where it has one."""

    value: str
    text: str
    letter: str


def list_labels(instruction: Instruction) -> dict[str, str]:
    """List what a cell may say, in the words of what holds it."""
    scope = instruction.family.scope
    return {
        name: text.replace("value", scope.value).replace("register", scope.register)
        for name, text in LABEL_WORDS.items()
    }


def format_assignment(instruction: Instruction) -> str:
    """Format the types as an assignment: f32 += f16 × f16, or the element types if nothing is multiplied.

    >>> from lanescope.ptx.catalog import find
    >>> format_assignment(find("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f16"))
    'f32 = f16 × f16 + f16'
    """
    types = instruction.types
    if instruction.family.issue and not instruction.types:
        return find_issued_kind(instruction)
    if not instruction.family.multiplies:
        return ", ".join(dict.fromkeys(types.values())) or ".".join(instruction.syntax.types)
    d, a, b = (types[name] for name in "dab")
    c = types.get("c", d)
    scale = f", scale {types['s']}" if "s" in types else ""
    return (f"{d} += {a} × {b}" if c == d else f"{d} = {a} × {b} + {c}") + scale


def find_types_group(instruction: Instruction) -> str:
    """Find the group of the types menu that an instruction belongs to, by its first multiplicand."""
    return KIND_OF.get(instruction.types.get("a", ""), "other")


def format_short_name(instruction: Instruction) -> str:
    """Format the opcode as people say it and the shape: mma.m16n8k16, wgmma.m64n256k16, ldmatrix.m8n8.x4."""
    syntax = instruction.syntax
    if instruction.family.issue:
        return f"{syntax.opcode}.{find_issued_kind(instruction)}"
    opcode = syntax.opcode.replace("wgmma.mma_async", "wgmma").replace("::ordered_metadata", "")
    modifiers = () if instruction.family.multiplies else (m for m in syntax.modifiers if m[:1] == "x" or m == "trans")
    return ".".join(filter(None, (opcode, syntax.shape, *modifiers)))


def format_title(instruction: Instruction) -> str:
    """Format a tab's title: m16n8k16 mma, f32 += f16 × f16."""
    name = format_short_name(instruction)
    opcode = name.removesuffix(f".{instruction.shape}")
    return (
        f"{instruction.shape} {opcode}, {format_assignment(instruction)}"
        if instruction.shape and name.endswith(instruction.shape)
        else f"{name}, {format_assignment(instruction)}"
    )


def describe_names(instruction: Instruction) -> dict[str, str]:
    """Describe each name of the patterns, and of an address: {"g": "lane group (lane / 4)", …}."""
    return names.describe_names(filter(None, (*instruction.operands.values(), instruction.address)))


def list_colours(instruction: Instruction) -> list[MenuChoice]:
    """List what cells may be coloured by, those of the thread first; what each digit does derives from the pattern."""
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
    """Format a thread as people say it, and its number in the warpgroup if that is another: ("warp 1, lane 28", "thread
    60").
    """
    warp, lane = divmod(thread, WARP.threads)
    scope = instruction.family.scope
    if scope.several:
        return f"warp {warp}, lane {lane}", f"thread {thread}"
    return (f"{scope.thread} {thread}", scope.name if scope.place is OperandPlace.TENSOR else "")
