"""The form of a whole program's page: its fields, and the links to its tiles."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from lanescope.app.instruction.evidence import list_evidence
from lanescope.app.kernel import facts as programs
from lanescope.app.kit import links
from lanescope.app.kit.fact import fact
from lanescope.app.kit.question import Field, Option
from lanescope.app.kit.question_form import Control, answer_without_wrong, build_controls
from lanescope.errors import LayoutError, join_errors
from lanescope.inputs import require_text
from lanescope.product.move_plan import MovePlan
from lanescope.product.plan import ProductPlan, TiledSide
from lanescope.ptx.instruction import Instruction
from lanescope.render import move_program

LABELS = {f"{side}.{name}": what for side in programs.SIDES for name, what in programs.WHAT.items()} | {
    "d.scale": "scale-d",
    "d.layout": "C and D stored",
    "data": "Shared memory",
}
RARE = ("swizzle_by", "mn", "first", "base", "descriptor")  # options that the form shows folded


@fact
class TileLinks:
    """A tile of the program: its page, its first descriptor, and the page that verifies it."""

    letter: str
    smem: str
    word: str
    verify: str


def plan_without_wrong(
    instruction: Instruction, query: Mapping[str, str]
) -> tuple[ProductPlan | MovePlan, LayoutError | None, dict[str, str]]:
    """Return the plan of a page's query, planned without the options that are wrong, their errors, and every option as
    sent by its control: `a.swizzle`. LayoutError if the instruction has no program. Parameters of no side are ignored.
    """
    typed, unread = programs.split_options(query)

    def plan(kept: Mapping[str, str]) -> ProductPlan | MovePlan:
        return programs.plan_program(instruction, programs.parse_options(kept))

    def depends(name: str, wrong: str) -> bool:
        side, _, option = wrong.partition(".")
        return option in ("from", "kind") and name.startswith(f"{side}.")

    planned, error = answer_without_wrong(plan, typed, partial(programs.find_option, typed), depends)
    if planned is None:
        raise error or AssertionError
    return planned, join_errors((error, *unread)), typed


def build_context(plan: ProductPlan | MovePlan, typed: dict[str, str], error: LayoutError | None) -> dict[str, Any]:
    """Return the template's variables."""
    form = _build_form(plan, typed if error else {}, error)
    found, moved = plan.instruction, isinstance(plan, MovePlan)
    options = {side: text for side, text in programs.format_options(plan).items() if text}
    return {
        "found": found,
        "evidence": list_evidence(found),
        "error": error,
        "facts": programs.build_program(plan),
        "form": form,
        "sides": {side: _split_form(form, side) for side, words in plan.words.items() if words},
        "forms": {form: programs.link_program(found, options, form) for form in (*programs.FORMS, "json")},
        "stem": move_program.NAME if moved else "product",
        "run": "" if moved else links.link_run(found, options),
        "steps": links.link_steps(found, _build_steps_query(plan, options)),
        "tiles": [] if isinstance(plan, MovePlan) else _link_tiles(plan),
        "labels": LABELS,
    }


def _split_form(form: dict[str, Control], side: str) -> tuple[dict[str, Control], dict[str, Control]]:
    """Return the controls of one side: those that are always shown, and those that are shown folded."""
    usual: dict[str, Control] = {}
    rare: dict[str, Control] = {}
    for name, control in form.items():
        owner, _, option = name.partition(".")
        if owner == side:
            (rare if option in RARE else usual)[name] = control
    return usual, rare


def _build_form(plan: ProductPlan | MovePlan, typed: dict[str, str], error: LayoutError | None) -> dict[str, Control]:
    """Return the controls of all sides by `side.option`; blank for the default. typed: as sent, if
    some are wrong."""
    fields, given, choices = {}, {}, {}
    for side, options in plan.words.items():
        for name, words in options.items():
            path, default = f"{side}.{name}", plan.options[side][name]
            fields[path] = Field(
                path,
                Option(
                    label=LABELS[path],
                    help="",
                    parse=require_text,
                    size=18 if name == "descriptor" else 7,
                    placeholder=default or "by the tile",
                ),
            )
            given[path] = typed.get(path) or plan.chosen[side].get(name, "")
            if words:
                choices[path] = {"": f"{default} (default)"} | {word: word for word in words if word != default}
    refused = [one.field for one in (error.every if error else ()) if one.field in LABELS and one.field not in fields]
    for path in refused:  # of an option that the program is written without
        if not plan.words.get(path.partition(".")[0]):
            continue
        fields[path] = Field(path, Option(label=LABELS[path], help="", parse=require_text, size=7))
        given[path] = typed.get(path, "")
    return build_controls(fields, given, choices, error)


def _link_tiles(plan: ProductPlan) -> list[TileLinks]:
    """Return the links of A and B if they are stored in tiles."""
    return [_link_tile(side, plan) for side in (plan.a, plan.b) if isinstance(side, TiledSide)]


def _link_tile(side: TiledSide, plan: ProductPlan) -> TileLinks:
    """Link to a tile and to its descriptor's verification."""
    tile, name = side.tile, side.letter
    smem = links.link_tile(tile, rows=side.mn, order=tile.order, base=tile.base)
    storage = {
        "s_swizzle": tile.mode.name,
        "s_swizzle_by": tile.swizzle_by,
        "s_mn": tile.mn,
        "s_k": tile.k,
        "s_order": tile.order,
        "s_base": tile.base,
    }
    check = {
        "instruction": plan.instruction.ptx,
        "operand": name,
        "major": tile.major,
        **storage,
        "slice_mn": side.first,
    }
    word = programs.list_descriptors(side, 1)[0]
    return TileLinks(letter=name, smem=smem, word=word, verify=links.link_descriptor(word, check))


def _build_steps_query(plan: ProductPlan | MovePlan, options: dict[str, str]) -> dict[str, object]:
    """Return the storage in the stepper's query: rows of a load or store, operands of a wgmma."""
    if isinstance(plan, MovePlan):
        stored = {"kind": "rows", "pitch_bytes": plan.pitch_bytes, "swizzle": plan.mode.name, "swizzle_by": "tile"}
        first = move_program.format_first_byte(plan)  # of the two storages for one element
        values = f"(-({first} + 1) & 255) | (-({first} + 2) & 255) << 8" if plan.fill == "s8" else ""
        return (
            {f"s_{name}": value for name, value in stored.items()}
            | ({"values": values} if values else {})
            | ({"matrices": "down"} if plan.instruction.counts["x"] > 1 else {})
        )
    return dict(options) if plan.instruction.family.by_descriptor else {}
