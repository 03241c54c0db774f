"""Whole programs around one instruction, for the API, the page and the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from lanescope.app.kit import links
from lanescope.app.kit.enumerations import Target, Word64
from lanescope.app.kit.fact import Description, fact, make_optional_field
from lanescope.app.kit.question import is_within
from lanescope.errors import LayoutError
from lanescope.inputs import check_keys
from lanescope.product import options, planning
from lanescope.product.move_plan import SIDE, MovePlan, make_move_plan, moves_rows
from lanescope.product.plan import DescribedSide, ProductPlan
from lanescope.product.planning import make_plan
from lanescope.ptx.instruction import Instruction
from lanescope.render import kernel, move_program
from lanescope.render.kernel import format_plan_options
from lanescope.shared.tiling import Tile

FORMS = ("cu", "py")
SIDES = (*planning.SIDES, SIDE)  # whose options a request may name
# Descriptions of the options, for the form and the help.
WHAT = {
    "from": "A comes from",
    "kind": "Stored as",
    "major": "Contiguous dimension",
    "swizzle": "Swizzle",
    "swizzle_by": "XOR applied to",
    "order": "Atoms first along",
    "mn": "Rows of the tile",
    "k": "Elements of K",
    "first": "First row",
    "base": "First byte",
    "descriptor": "Your descriptor",
    "scale": "imm-scale",
    "selector": "Sparsity selector",
    "load": "Loaded by",
    "pitch_bytes": "Row pitch, bytes",
    "byte_id": "byte-id",
    "thread_id": "thread-id",
    "ldm": "ldm, elements",
    "layout": "Layout",
    "inner": "Contiguous in memory",
    "width_bytes": "Panel width, bytes",
    "outer8_stride": "Stride of 8 rows, bytes",
    "inner_stride": "Panel stride, bytes",
    "line_stride": "Row stride, bytes",
    "unit": "Unit of the layout",
    "fill": "Elements",
}


@fact
class ProgramOptions:
    """Every option of each side, including the defaults."""

    a: dict[str, str]
    b: dict[str, str]
    d: dict[str, str]
    data: Annotated[dict[str, str] | None, Description("Of a load or store.")] = make_optional_field()


@fact
class Program:
    """A program and its options."""

    ptx: str
    title: Annotated[tuple[str, ...], Description("What it does and where its operands are stored, one line each.")]
    target: Annotated[Target, Description("The oldest architecture that has everything it uses.")]
    build: Annotated[str, Description("How to build and run the .cu file.")]
    command: Annotated[str, Description("The command that writes the same file.")]
    options: ProgramOptions
    k: Annotated[int | None, Description("Elements of K of the whole product; null for a load or store.")]
    steps: Annotated[int, Description("How many instructions it takes.")]
    shared_bytes: Annotated[int, Description("Dynamic shared memory of a block.")]
    immediates: Annotated[dict[str, int], Description("The instruction's immediates by name.")]
    descriptors: Annotated[
        dict[str, tuple[Word64, ...]],
        Description("wgmma: each step's descriptor of a and b, starts counted from shared memory."),
    ]
    cu: Annotated[str, Description("CUDA C++.")]
    py: Annotated[str, Description("Python for CuPy and NVRTC.")]


def plan_program(instruction: Instruction, options: Mapping[str, str]) -> ProductPlan | MovePlan:
    """Return the plan of a program: a product from the options of A, B and D, a load or store from those of its data.

    LayoutError names an option, or a side that the instruction does not have.
    """
    moves = moves_rows(instruction)
    for side, text in options.items():
        if text and (side == SIDE) is not moves:
            sides = (SIDE,) if moves else planning.SIDES
            raise LayoutError("unknown_key", f"{instruction.ptx} has no {side}.", f"It has {', '.join(sides)}.", side)
    if moves:
        return make_move_plan(instruction, options.get(SIDE, ""))
    return make_plan(instruction, *(options.get(side, "") for side in planning.SIDES))


def write_program(plan: ProductPlan | MovePlan, form: str) -> str:
    """Return the program as a file: "cu" or "py"."""
    if isinstance(plan, MovePlan):
        return move_program.render_program(plan) if form == "cu" else move_program.render_script_program(plan)
    return kernel.render_program(plan) if form == "cu" else kernel.render_script_program(plan)


def parse_options(query: Mapping[str, str]) -> dict[str, str]:
    """Return the options of every side of a query: `a=major=MN,swizzle=64B`, or a form's `a.major=MN`.

    LayoutError for other names.
    """
    out = {side: query.get(side, "").strip() for side in SIDES}
    fields: dict[str, list[str]] = {}
    for name, value in query.items():
        side, dot, option = name.partition(".")
        if dot and side in SIDES and value.strip():
            fields.setdefault(side, []).append(f"{option}={value.strip()}")
    check_keys({name: value for name, value in query.items() if name.partition(".")[0] not in SIDES}, SIDES)
    return {side: ",".join(filter(None, (out[side], *fields.get(side, ())))) for side in SIDES}


def split_options(query: Mapping[str, str]) -> tuple[dict[str, str], list[LayoutError]]:
    """Return the options of all sides by `side.option`, of `a=swizzle=64B` and of `a.swizzle=64B` alike, and the errors
    of unreadable texts.
    """
    out: dict[str, str] = {}
    refused: list[LayoutError] = []
    for side in SIDES:
        try:
            named = options.parse_options(query.get(side, ""), side)
            out |= {f"{side}.{name}": text for name, text in named.items()}
        except LayoutError as error:
            refused.append(error)
    side_options = {name: text.strip() for name, text in query.items() if name.partition(".")[0] in SIDES}
    return out | {name: text for name, text in side_options.items() if "." in name and text}, refused


def find_option(typed: Mapping[str, str], error: LayoutError) -> str:
    """Return the option that an error names, or one of the side that it names; "" if there is none."""
    within = (name for name in typed if is_within(name, error.field))
    return error.field if error.field in typed else next(within, "")


def link_program(instruction: Instruction, options: Mapping[str, str], form: str = "") -> str:
    """Return the page's address, or that of its .cu, .py or .json."""
    return links.link_kernel(instruction, {side: text for side, text in options.items() if text}, form)


def format_options(plan: ProductPlan | MovePlan) -> dict[str, str]:
    """Return the chosen options as text by side, for a link."""
    return {side: format_plan_options(options) for side, options in plan.chosen.items()}


def build_tile_options(
    instruction: Instruction, operand: str, tile: Tile, first: int = 0, word: str = ""
) -> dict[str, str] | None:
    """Return the options of a whole product with one operand stored in a tile, from row `first` on, read through `word`
    unless that is None.

    None if no slice begins at row `first`, or if the other operand cannot have the same K steps.
    """
    shape = {
        "major": tile.major,
        "swizzle": tile.mode.name,
        "order": tile.order,
        "mn": tile.mn,
        "k": tile.k,
        "base": tile.base,
    }
    more = {
        "swizzle_by": tile.swizzle_by if tile.swizzle_by != "address" else "",
        "first": first or "",
        "descriptor": word,
    }
    return check_options(instruction, operand, shape | more)


def build_storage_options(
    instruction: Instruction, operand: str, spec: Mapping[str, Any], major: str, word: str = ""
) -> dict[str, str] | None:
    """Return the options of a whole product with one operand stored in rows, panels or a CuTe layout."""
    return check_options(instruction, operand, {"kind": spec["kind"], "major": major, **spec, "descriptor": word})


def check_options(instruction: Instruction, operand: str, options: Mapping[str, Any]) -> dict[str, str] | None:
    """Return one operand's options as text by side, None if they are illegal."""
    texts = {operand: format_plan_options({name: str(value) for name, value in options.items() if value != ""})}
    try:
        make_plan(instruction, texts.get("a", ""), texts.get("b", ""))
    except LayoutError:
        return None
    return texts


def build_program(plan: ProductPlan | MovePlan) -> Program:
    """Return the program of a plan in every form, with its options."""
    options = {
        side: {n: value for n, value in side_options.items() if value} for side, side_options in plan.options.items()
    }
    k: int | None
    if isinstance(plan, MovePlan):
        title, stem, k, steps = move_program.render_title(plan), move_program.NAME, None, 1
    else:
        title, stem, k, steps = kernel.render_title(plan), "product", plan.k, plan.steps
    return Program(
        ptx=plan.instruction.ptx,
        title=tuple(title),
        target=kernel.get_target(plan),
        build=kernel.render_build(plan, stem),
        command=kernel.format_command(plan, f"{stem}.cu"),
        options=ProgramOptions(**{side: {} for side in planning.SIDES} | options),
        k=k,
        steps=steps,
        shared_bytes=plan.shared_bytes,
        immediates={} if isinstance(plan, MovePlan) else plan.immediates,
        descriptors={} if isinstance(plan, MovePlan) else _list_all_descriptors(plan),
        cu=write_program(plan, "cu"),
        py=write_program(plan, "py"),
    )


def _list_all_descriptors(plan: ProductPlan) -> dict[str, tuple[str, ...]]:
    """Return the descriptors of A and B by letter, for operands that have them."""
    sides = [side for side in (plan.a, plan.b) if isinstance(side, DescribedSide)]
    return {side.letter: list_descriptors(side, plan.steps) for side in sides}


def list_descriptors(side: DescribedSide, steps: int) -> tuple[str, ...]:
    """Return the descriptor of every step, its start relative to the first byte of shared memory."""
    return tuple(str(side.get_descriptor(step)) for step in range(steps))
