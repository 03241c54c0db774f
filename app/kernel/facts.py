"""Whole programs around one instruction: what the API, the page and the command line say of a plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from lanescope.app.kit import links
from lanescope.app.kit.enumerations import Target, Word64
from lanescope.app.kit.fact import Description, fact
from lanescope.app.kit.run_results import Options
from lanescope.errors import LayoutError
from lanescope.inputs import check_keys
from lanescope.product.plan import DescribedSide, ProductPlan
from lanescope.product.planning import SIDES, is_plannable, make_plan
from lanescope.ptx.instruction import Instruction
from lanescope.render import kernel
from lanescope.render.kernel import format_plan_options
from lanescope.shared.tiling import Tile

FORMS = {"cu": kernel.render_program, "py": kernel.render_script_program}
# What an option is, for the form and the help.
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
}


@fact
class Program:
    """A program, and what it was made of."""

    ptx: str
    title: Annotated[tuple[str, ...], Description("What it computes and how A and B lie, a line each.")]
    target: Annotated[Target, Description("The oldest architecture that has everything it uses.")]
    build: Annotated[str, Description("How to build and run the .cu file.")]
    command: Annotated[str, Description("The command that writes the same file.")]
    options: Options
    k: Annotated[int, Description("Elements of K of the whole product.")]
    steps: Annotated[int, Description("How many instructions it takes.")]
    shared_bytes: Annotated[int, Description("Dynamic shared memory of a block.")]
    immediates: Annotated[dict[str, int], Description("The instruction's immediates by name.")]
    descriptors: Annotated[
        dict[str, tuple[Word64, ...]],
        Description("wgmma: each step's descriptor of a and b, starts counted from shared memory."),
    ]
    cu: Annotated[str, Description("CUDA C++.")]
    py: Annotated[str, Description("Python for CuPy and NVRTC.")]


def has_program(instruction: Instruction) -> bool:
    """Whether there is a program: for everything that multiplies."""
    return is_plannable(instruction)


def parse_options(query: Mapping[str, str]) -> dict[str, str]:
    """The options of A, B and D from a query: `a=major=MN,swizzle=64B`, or a form's fields `a.major=MN`. LayoutError
    for other names.
    """
    out = {side: query.get(side, "").strip() for side in SIDES}
    fields: dict[str, list[str]] = {}
    for name, value in query.items():
        side, dot, option = name.partition(".")
        if dot and side in SIDES and value.strip():
            fields.setdefault(side, []).append(f"{option}={value.strip()}")
    check_keys({name: value for name, value in query.items() if name.partition(".")[0] not in SIDES}, SIDES)
    return {side: ",".join(filter(None, (out[side], *fields.get(side, ())))) for side in SIDES}


def link_program(instruction: Instruction, given: Mapping[str, str], form: str = "") -> str:
    """The page's address, or that of its .cu, .py or .json."""
    return links.link_kernel(instruction, {side: text for side, text in given.items() if text}, form)


def format_options(made: ProductPlan) -> dict[str, str]:
    """The options that were given, as text by side: what belongs in a link."""
    return {side: format_plan_options(made.chosen[side]) for side in SIDES}


def build_tile_options(
    instruction: Instruction, operand: str, tile: Tile, first: int = 0, word: str = ""
) -> dict[str, str] | None:
    """The options of a whole product one operand of which lies in a tile, from row `first` on, read through `word`
    where it is given.

    None without such a product: a slice does not begin there, or the other operand cannot follow its steps of K.
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
    """The same of an operand that lies in rows, panels or a CuTe layout."""
    return check_options(instruction, operand, {"kind": spec["kind"], "major": major, **spec, "descriptor": word})


def check_options(instruction: Instruction, operand: str, options: Mapping[str, Any]) -> dict[str, str] | None:
    """One operand's options as text by side, None where they make no product."""
    given = {operand: format_plan_options({name: str(value) for name, value in options.items() if value != ""})}
    try:
        make_plan(instruction, given.get("a", ""), given.get("b", ""))
    except LayoutError:
        return None
    return given


def build_program(made: ProductPlan) -> Program:
    """The program of a plan in every form, and what it was made of."""
    options = {side: {name: value for name, value in made.options[side].items() if value} for side in SIDES}
    return Program(
        ptx=made.instruction.ptx,
        title=tuple(kernel.render_title(made)),
        target=kernel.get_target(made),
        build=kernel.render_build(made),
        command=kernel.format_command(made),
        options=Options(**options),
        k=made.k,
        steps=made.steps,
        shared_bytes=made.shared_bytes,
        immediates=made.immediates,
        descriptors={
            side.letter: list_descriptors(side, made.steps)
            for side in (made.a, made.b)
            if isinstance(side, DescribedSide)
        },
        **{form: write(made) for form, write in FORMS.items()},
    )


def list_descriptors(side: DescribedSide, steps: int) -> tuple[str, ...]:
    """The descriptor of every step, its start counted from shared memory's first byte."""
    return tuple(str(side.get_descriptor(step)) for step in range(steps))
