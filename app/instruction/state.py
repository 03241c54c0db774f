"""The state of an instruction page and its URL: the only codec. Scripts receive SPEC and follow it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from math import ceil, floor
from typing import TypeVar
from urllib.parse import urlencode

from lanescope.app.kit.fact import fact
from lanescope.blackwell.bound import BoundMma, bind
from lanescope.errors import LayoutError
from lanescope.inputs import parse_choice, parse_integer, parse_pair, parse_ranges, shorten_value
from lanescope.ptx.dtypes import get_dtype
from lanescope.ptx.instruction import SCOPES, WARP, Instruction
from lanescope.render import window
from lanescope.render.view import LABELS, make_figure
from lanescope.render.window import Range
from lanescope.shared.tiling import DEFAULT_ORDER

MOST_THREADS = max(SCOPES)
AUTO = "auto"  # the colour that a window asks for: four warps, or one warp's lane groups
PIN = "{panel}:{row},{col}"  # the pinned cell in a URL; scripts get this template, too


@dataclass(frozen=True, slots=True)
class PageState:
    """colour: a pattern's name, "register" or AUTO · label: one of LABELS · lanes: "", or "0-7,12" · pin: "", or
    "d:3,2" · product: 0–3 (m8n8k4 f16) · view: which part is shown (layouts/render/window.py) · a_major, b_major: K or
    MN, how wgmma's multiplicands lie in shared memory · idesc: the instruction descriptor of a tcgen05.mma.
    Numbers stand in decimal here however they were written: scripts and links read them."""

    colour: str = "g"
    label: str = "lane:value"
    lanes: str = ""
    pin: str = ""
    product: int = 0
    view: str = ""
    a_major: str = "K"
    b_major: str = "K"
    idesc: str = ""

    def format_query(self, default: PageState, **instead: str | int) -> str:
        """The part after '?': only what differs from the defaults, with `instead` in place of what is here."""
        own = {f.name: instead.get(f.name, getattr(self, f.name)) for f in fields(self)}
        changed = {name: value for name, value in own.items() if value != getattr(default, name)}
        return urlencode(changed, safe=":,")

    def parse_threads(self) -> frozenset[int] | None:
        """The threads `lanes` names, None for all."""
        if not self.lanes:
            return None
        return frozenset(
            n for first, last in parse_ranges(self.lanes, "lanes", MOST_THREADS) for n in range(first, last + 1)
        )

    def get_major(self, letter: str) -> str:
        """How operand a or b lies in shared memory."""
        return {"a": self.a_major, "b": self.b_major}[letter]

    def pinned(self) -> tuple[str, int, int] | None:
        matrix, colon, place = self.pin.partition(":")
        return (matrix, *parse_pair(place, "pin")) if colon else None


def parse_state(
    instruction: Instruction, query: Mapping[str, str], default: PageState | None = None
) -> tuple[PageState, list[str]]:
    """The state a query asks for, and a notice for each value that is not legal here. `default`: what stands where it
    says nothing or nothing legal, left out the page's own.
    """
    default, notices = default or make_default_state(instruction), []
    chosen: dict[str, str | int] = {}
    for name, given in query.items():
        if name not in SPEC:
            continue
        try:
            chosen[name] = _parse_option(instruction, name, given)
        except LayoutError as error:
            notices.append(
                f"{name} ‘{shorten_value(given, 60)}’ is not used: {error.hint} Shown with the default instead."
            )
    return PageState(**{**asdict(default), **chosen}), notices


def bind_descriptor(instruction: Instruction, query: Mapping[str, str]) -> Instruction:
    """What a page or picture shows: a product in tensor memory with its descriptor, the usual one where none is given;
    everything else as it is.
    """
    if not instruction.family.issue or isinstance(instruction, BoundMma):
        return instruction
    return bind(instruction, query.get("idesc", "").strip() or None)


def make_default_state(instruction: Instruction) -> PageState:
    """What a page shows where its address says nothing: a warpgroup's four warps, or a warp's lane groups."""
    return PageState(colour=AUTO) if instruction.family.scope.several else PageState()


@fact
class AutomaticColour:
    """What AUTO colours by: `whole`, or `within` where no more than one warp's rows of M are shown."""

    name: str
    whole: str
    within: str
    rows: int


def select_automatic(instruction: Instruction) -> AutomaticColour | None:
    """How a page colours by itself; None where its default is one name."""
    if make_default_state(instruction).colour != AUTO:
        return None
    rows = instruction.sizes["m"] * WARP.threads // instruction.threads
    return AutomaticColour(name=AUTO, whole="w", within=PageState().colour, rows=rows)


def resolve_colour(instruction: Instruction, chosen: PageState, shown: Mapping[str, Range]) -> PageState:
    """The state with the name that its cells are coloured by in a window."""
    auto = select_automatic(instruction)
    if auto is None or chosen.colour != AUTO:
        return chosen
    first, past = shown["m"]
    one = floor(first / auto.rows) == ceil(past / auto.rows) - 1
    return replace(chosen, colour=auto.within if one else auto.whole)


def _parse_option(instruction: Instruction, name: str, given: str) -> str | int:
    """The value of one name of the state, numbers in decimal; LayoutError's hint says what is legal here."""
    if name == "idesc":
        return _legal_idesc(instruction, given)
    if name == "colour":
        return parse_choice(
            given, name, [*list_colour_names(instruction), *[AUTO] * (select_automatic(instruction) is not None)]
        )
    if name == "label":
        return parse_choice(given, name, LABELS)
    if name in MAJORS:
        return parse_choice(given.strip() or "K", name, list_majors(instruction, name[0]))
    if not given.strip():
        return PageState().product if name == "product" else ""
    return _LEGAL[name](instruction, given)


def _legal_idesc(instruction: Instruction, given: str) -> str:
    if isinstance(instruction, BoundMma) and given.strip():
        return str(instruction.word)
    if isinstance(instruction, BoundMma) or not given.strip():
        return ""
    raise LayoutError(
        "bad_idesc", f"idesc is '{shorten_value(given)}'.", "Only tcgen05.mma takes a descriptor.", "idesc"
    )


def _legal_lanes(instruction: Instruction, given: str) -> str:
    spans = parse_ranges(given, "lanes", instruction.threads)
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


def _legal_product(instruction: Instruction, given: str) -> int:
    count = count_products(instruction)
    hint = f"this instruction has {count} product{'s' * (count > 1)}, from 0."
    return _parse_with_hint("product", hint, lambda: parse_integer(given, "product", 0, count - 1))


def _legal_view(instruction: Instruction, given: str) -> str:
    given = given.strip()
    return given if given == window.WHOLE else window.format_ranges(window.parse_window(given, instruction))


def _legal_pin(instruction: Instruction, given: str) -> str:
    matrix, _, place = given.partition(":")
    grids = {panel.name: panel.grid for panel in make_figure(instruction).panels if panel.grid}
    if matrix not in grids:
        hint = f"Write matrix:row,column with a matrix of {', '.join(grids)}, as in {min(grids, key=len)}:3,2."
        raise LayoutError("bad_pin", f"pin is '{shorten_value(given)}'.", hint, "pin")
    grid = grids[matrix]
    hint = f"{matrix.upper()} has {grid.rows} rows and {grid.cols} columns, from 0."
    row, col = _parse_with_hint("pin", hint, lambda: parse_pair(place, "pin", (grid.rows - 1, grid.cols - 1)))
    return PIN.format(panel=matrix, row=row, col=col)


_LEGAL: dict[str, Callable[[Instruction, str], str | int]] = {
    "lanes": _legal_lanes,
    "product": _legal_product,
    "view": _legal_view,
    "pin": _legal_pin,
}
T = TypeVar("T")


def _parse_with_hint(name: str, hint: str, read: Callable[[], T]) -> T:
    """What `parse_state` gives; its refusal with a hint in this page's words."""
    try:
        return read()
    except LayoutError as error:
        raise LayoutError(error.code, error.message, hint, name) from None


def list_colour_names(instruction: Instruction) -> list[str]:
    """Every name some operand of this instruction may be coloured by."""
    names = [d.name for op in instruction.operands.values() for d in op.pattern.digits]
    return [*dict.fromkeys(names), "register"]


def list_majors(instruction: Instruction, letter: str) -> tuple[str, ...]:
    """How operand a or b may lie in shared memory; K alone where the instruction reads no other, or reads it from
    registers.
    """
    if isinstance(instruction, BoundMma):
        return ("K",)  # its instruction descriptor says it
    both = instruction.family.by_descriptor and get_dtype(instruction.types[letter]).bits == 16
    return tuple(DEFAULT_ORDER) if both else ("K",)


def count_products(instruction: Instruction) -> int:
    """How many separate products one instruction computes (4 for m8n8k4 f16), or halves of the lanes D may lie in."""
    counts = (op.extents.get(axis, 1) for op in instruction.operands.values() for axis in SEPARATE)
    return max(counts, default=1)


SPEC: dict[str, object] = asdict(PageState())
SEPARATE = ("product", "half")  # axes of which a page shows one at a time
MAJORS = ("a_major", "b_major")
PICTURED = tuple(
    name for name in SPEC if name not in ("view", *MAJORS)
)  # what pictures read; a window of theirs is rows and cols
