"""Bank conflicts of shared-memory accesses, and the swizzle that removes them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Any

import typer

from lanescope.app.banks import facts
from lanescope.app.banks.draw import build_chart, draw_banks, list_turns
from lanescope.app.banks.facts import BankCost, Solved
from lanescope.app.banks.questions import AccessBody, AccessQuestion, BanksQuestion, SolveMany, SolveOne, parse_accesses
from lanescope.app.kit import links
from lanescope.app.kit.encoding import encode_json
from lanescope.app.kit.feature import Entry, Feature, Tool
from lanescope.app.kit.terminal import print_answer, read_json
from lanescope.app.tiles import main_loop_facts, main_loop_text
from lanescope.app.tiles.questions import LoopBody
from lanescope.errors import LayoutError
from lanescope.shared import banks
from lanescope.shared.bank_schedule import list_wavefronts
from lanescope.shared.banks import parse_addresses
from lanescope.shared.swizzle import MODES


def build_banks_context(question: BanksQuestion, answer: BankCost) -> dict[str, Any]:
    """Return the template's variables."""
    use, xor = facts.parse_question(question)
    wanted = [question.body, *(item for item in parse_accesses(question.accesses) if item != question.body)]
    rows = {} if all("address" in item for item in wanted) else question.rows
    try:
        solved = facts.solve_swizzle({"accesses": wanted} | rows)
    except LayoutError as error:
        raise _name_access(error, wanted) from None
    least = solved.swizzle
    wavefronts = list_wavefronts(use.access, use.address(xor))
    mode = next((mode.name for mode in MODES if mode.swizzle() == xor and mode.name != "none"), "")
    pitch = {"s_pitch_bytes": str(facts.parse_pitch(question.rows))} if not question.address else {}
    return {
        "choices": {"access": tuple(banks.ACCESSES)},
        "patterns": banks.REACHES,
        "solved": solved,
        "tile": mode,
        "chart": encode_json(build_chart(use.access, wavefronts)).decode(),
        "turns": list_turns(wavefronts),
        "chained": links.link_chain({"s_kind": "rows", **pitch, **({"s_swizzle": mode} if mode else {})}).partition(
            "?"
        )[2],
        "apply": f"{least.bits},{least.base},{least.shift}",
    }


def _name_access(error: LayoutError, wanted: Sequence[Mapping[str, Any]]) -> LayoutError:
    """Return an error about one of several accesses as the page's fields have it: the first has fields of its own."""
    part = re.fullmatch(r"accesses\.(\d+)\.(\w+)", error.field)
    if part is None:
        return error
    if part[1] == "0":
        return error.move_to_field(part[2])
    name = wanted[int(part[1])]["access"]
    message = error.message if name in error.message else f"{name}: {error.message}"
    return LayoutError(error.code, message, error.hint, "accesses")


def run_banks(
    words: dict[str, str],
    *,
    solve: Annotated[bool, typer.Option("--solve", help="Find the smallest swizzle without conflicts.")] = False,
    also: Annotated[
        list[str] | None,
        typer.Option(
            help="With --solve: another access to keep free of conflicts, access:pattern or access:addresses."
        ),
    ] = None,
    loop: Annotated[
        str, typer.Option(help="Instead: a file, or -, with the body of POST /api/v1/tiles/loop; a whole main loop.")
    ] = "",
    as_json: bool,
) -> None:
    """Print the cost of an access, or the smallest swizzle without conflicts. Exit status 1 if there are conflicts."""
    if loop:
        paid = main_loop_facts.build_loop_banks(read_json(loop))
        return print_answer(paid, main_loop_text.format_banks, as_json, paid.free)
    access: dict[str, Any] = {name: words[name] for name in ("access", "pattern") if name in words}
    if "address" in words:
        access["address"] = parse_addresses(words["address"])
    rows = {name: words[name] for name in ("row_bytes", "pad") if name in words}
    swizzle = {"swizzle": words["swizzle"]} if "swizzle" in words else {}
    if solve and swizzle:
        raise LayoutError(
            "bad_usage", "--solve finds a swizzle, and --swizzle gives one.", "Give one of the two.", "swizzle"
        )
    if also and not solve:
        raise LayoutError(
            "bad_usage",
            "--also names further accesses for --solve.",
            "Add --solve, or count one access at a time.",
            "also",
        )
    if solve:
        accesses = [access, *parse_accesses(", ".join(also or []))]
        solved = facts.solve_swizzle(rows | {"accesses": accesses})
        return print_answer(solved, _format_solution, as_json, solved.free)
    found = facts.build_use_cost(*facts.parse_use(access | rows | swizzle), facts.parse_architecture(words))
    print_answer(found, partial(_format_cost, swizzled=bool(swizzle)), as_json, found.ways <= 1)


def _format_cost(cost: facts.BankCost, swizzled: bool) -> list[str]:
    under = f" under {cost.swizzle}" if swizzled else ""
    lines = [f"{cost.access}{under}: {cost.wavefronts} wavefronts, {cost.ideal} ideal, {cost.ways}-way"]
    for number, phase in enumerate(cost.phases):
        lanes = f"lanes {phase.lanes[0]}-{phase.lanes[-1]}" if phase.lanes else "no lane active"
        lines.append(f"  phase {number}: {lanes}, {phase.wavefronts} wavefronts")
    lines += [f"  {counter.metric}: {counter.per_execution} per execution" for counter in cost.counters]
    return [*lines, f"  {cost.counters_note}"] if cost.counters_note else lines


def _format_solution(solved: Solved) -> Iterator[str]:
    """Yield the smallest swizzle and why, and its effect on each access."""
    yield solved.why + (f" That is mode {solved.mode} of TMA and wgmma." if solved.mode not in (None, "none") else "")
    for row in solved.accesses:
        where = row.pattern or "at the addresses given"
        yield f"  {row.access} {where}: {row.ways_before}-way without, {row.ways}-way with it"


def _draw_access(question: BanksQuestion, answer: BankCost) -> str:
    use, xor = facts.parse_question(question)
    return draw_banks([use.compute_use_cost(xor)])


PAGE = Tool(
    question=BanksQuestion,
    answer=facts.count_wavefronts,
    page="/banks",
    template="banks/page.html",
    context=build_banks_context,
    picture=_draw_access,
)
COMMAND = Tool(question=AccessQuestion, answer=facts.count_wavefronts, command="banks", run=run_banks)
SOLVE = Tool(
    question=SolveMany,
    answer=facts.solve_swizzle,
    api="banks/solve",
    body="SolveBody",
    instead={"access": Tool(question=SolveOne, answer=facts.solve_swizzle, raw=True)},
    raw=True,
    name="solve_api",
)
COST = Tool(
    question=AccessBody,
    answer=facts.build_bank_cost,
    api="banks",
    body="BanksBody",
    instead={"tiled_mma": Tool(question=LoopBody, answer=main_loop_facts.build_loop_banks, raw=True)},
    raw=True,
    name="banks_api",
)
FEATURE = Feature(
    tools=(PAGE, COMMAND, SOLVE, COST),
    menu=(Entry("Debug", 6, "Bank conflicts", "/banks", "wavefronts of one warp's access"),),
    bodies={
        "/api/v1/banks": {"access": "ldmatrix.x4", "address": [128 * lane for lane in range(32)]},
        "/api/v1/banks/solve": {
            "row_bytes": 128,
            "accesses": [
                {"access": "ldmatrix.x4", "pattern": "ldmatrix"},
                {"access": "st.shared.b128", "address": [16 * lane for lane in range(32)]},
            ],
        },
    },
)
