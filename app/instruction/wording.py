"""Names on the page: types as an assignment, colours and labels in the words of the CUDA documentation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict

from lanescope.app.instruction.state import (
    AUTO,
    PageState,
    count_products,
    format_selector,
    list_selectors,
    make_default_state,
)
from lanescope.app.kit.look import build_look
from lanescope.app.kit.question_form import Control
from lanescope.errors import LayoutError
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


def list_labels(instruction: Instruction) -> dict[str, str]:
    """List the labels of cells, in the words of their holder."""
    scope = instruction.family.scope
    return {
        name: text.replace("lane", scope.thread).replace("value", scope.value).replace("register", scope.register)
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


def list_colours(instruction: Instruction) -> dict[str, str]:
    """List the colourings of cells, those by thread first; their descriptions derive from the pattern, whose letter
    follows.
    """
    used = {digit.name for op in instruction.operands.values() for digit in op.pattern.digits} | {names.REGISTER}
    automatic = {AUTO: "warp, or lane group in one warp"} if make_default_state(instruction).colour == AUTO else {}
    return automatic | {
        name: text if name == names.REGISTER else f"{text} · {name}"
        for name, text in describe_names(instruction).items()
        if name in used
    }


def build_controls(
    instruction: Instruction, page_state: PageState, refused: Iterable[LayoutError], query: Mapping[str, str]
) -> dict[str, Control]:
    """Return the controls of what the page shows; wrong ones as typed, with their error."""
    selectors = {name: legal for name, legal in list_selectors(instruction).items() if len(legal) > 1}
    choices = {"colour": list_colours(instruction), "label": list_labels(instruction)}
    labels = {"lanes": f"{instruction.family.scope.thread.capitalize()}s"} | {
        name: format_selector(name) for name in selectors
    }
    if (count := count_products(instruction)) > 1:
        halves = any("half" in op.axes for op in instruction.operands.values())
        labels["product"], step = ("First lane", WARP.threads // 2) if halves else ("Product", 1)
        choices["product"] = {str(n): str(n * step) for n in range(count)}
    choices |= {name: {str(n): str(n) for n in legal} for name, legal in selectors.items()}
    return build_look(choices, ["lanes"], asdict(page_state), refused, query, labels=labels)


def format_holder(instruction: Instruction, thread: int) -> tuple[str, str]:
    """Format a thread as warp and lane, and its number in the warpgroup if that differs: ("warp 1, lane 28", "thread
    60").
    """
    warp, lane = divmod(thread, WARP.threads)
    scope = instruction.family.scope
    if scope.several:
        return f"warp {warp}, lane {lane}", f"thread {thread}"
    return (f"{scope.thread} {thread}", scope.name if scope.place is OperandPlace.TENSOR else "")
