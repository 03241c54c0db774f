"""The state of an instruction page, and its codec in the URL. Scripts read SPEC."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from math import ceil, floor
from typing import TypeVar
from urllib.parse import urlencode

from lanescope.app.kit.fact import fact
from lanescope.app.kit.look import parse_list, read_values, require_right
from lanescope.app.kit.maps import bench
from lanescope.blackwell.bound import BoundMma, bind
from lanescope.errors import LayoutError
from lanescope.inputs import parse_choice, parse_digits, parse_integer, parse_pair, parse_ranges, shorten_value
from lanescope.ptx import catalog
from lanescope.ptx.dtypes import get_dtype
from lanescope.ptx.instruction import SCOPES, WARP, Instruction
from lanescope.ptx.targets import parse_target_name
from lanescope.render import window
from lanescope.render.figure import make_figure
from lanescope.render.view import LABELS
from lanescope.render.window import Range
from lanescope.shared.tiling import DEFAULT_ORDER

MOST_THREADS = max(SCOPES)
AUTO = "auto"  # colour by the window: four warps, or one warp's lane groups


@dataclass(frozen=True, slots=True)
class PageState:
    """The state of an instruction page; all numbers are converted to decimal, for scripts and links.

    colour: a pattern's name, "register" or AUTO; label: one of LABELS; lanes: "", or "0-7,12"; pin: "", "d:3,2", or
    "lane:20" for a whole lane ("thread:52" in a warpgroup); pin2: a second pin, whose lane is compared; product:
    0–3 (m8n8k4 f16); view: which part is shown (layouts/render/window.py); a_major, b_major: K or MN, the majors
    of wgmma's multiplicands in shared memory; idesc: the instruction descriptor of a tcgen05.mma; target: of ptxas,
    "" for any; selector, byte_id_a, …: which lanes supply the metadata of a sparse A and the scale
    factors.
    """

    colour: str = "g"
    label: str = "lane:value"
    lanes: str = ""
    pin: str = ""
    pin2: str = ""
    product: int = 0
    view: str = ""
    a_major: str = "K"
    b_major: str = "K"
    idesc: str = ""
    target: str = ""
    selector: int = 0
    byte_id_a: int = 0
    thread_id_a: int = 0
    byte_id_b: int = 0
    thread_id_b: int = 0

    def format_query(self, default: PageState, **replacements: str | int) -> str:
        """Format the query: the fields that differ from the defaults, after the `replacements`."""
        values = {f.name: replacements.get(f.name, getattr(self, f.name)) for f in fields(self)}
        changed = {name: value for name, value in values.items() if value != getattr(default, name)}
        return urlencode(changed, safe=":,")

    def parse_threads(self) -> frozenset[int] | None:
        """Parse the threads that `lanes` names, None for all."""
        if not self.lanes:
            return None
        return frozenset(
            n for first, last in parse_ranges(self.lanes, "lanes", MOST_THREADS) for n in range(first, last + 1)
        )

    def get_major(self, letter: str) -> str:
        """Return the major of operand a or b in shared memory."""
        return {"a": self.a_major, "b": self.b_major}[letter]

    def get_scale_ids(self, letter: str) -> tuple[int, int]:
        """Return byte-id and thread-id of the scale factors of a or b."""
        return {"a": (self.byte_id_a, self.thread_id_a), "b": (self.byte_id_b, self.thread_id_b)}[letter]

    def pinned(self) -> tuple[str, int, int] | None:
        """Return matrix, row and column of the pinned element, None if none or a whole lane is pinned."""
        return split_pin(self.pin)[0]

    def list_pins(self) -> list[str]:
        return [pin for pin in (self.pin, self.pin2) if pin]


def split_pin(pin: str) -> tuple[tuple[str, int, int] | None, int | None]:
    """Return the element (matrix, row, column) that a pin names, or the thread."""
    if not pin:
        return None, None
    name, first, second = bench.split_pin(pin)
    return (None, first) if second is None else ((name, first, second), None)


def parse_state(
    instruction: Instruction, query: Mapping[str, str], default: PageState | None = None
) -> tuple[PageState, list[LayoutError]]:
    """Parse the state of a query; return it with the error of each illegal value.

    default: replaces missing and illegal values; that of the page if omitted.
    """
    default = default or make_default_state(instruction)
    chosen, refused = read_values(query, SPEC, partial(_parse_option, instruction))
    return PageState(**{**asdict(default), **chosen}), refused


def parse_legal_state(instruction: Instruction, query: Mapping[str, str]) -> PageState:
    """Parse the state that a picture's query asks for; LayoutError for the first value that is not legal here."""
    page_state, refused = parse_state(instruction, query, PageState())
    require_right(refused)
    return page_state


def bind_descriptor(instruction: Instruction, query: Mapping[str, str]) -> Instruction:
    """Bind a product in tensor memory to its descriptor, by default the usual one, for the query's target if that has
    the instruction; return other instructions unchanged.
    """
    if not instruction.family.issue or isinstance(instruction, BoundMma):
        return instruction
    return bind(instruction, query.get("idesc", "").strip() or None, find_binding_target(instruction, query))


def find_binding_target(instruction: Instruction, query: Mapping[str, str]) -> str:
    """Return a query's target if it has the instruction, otherwise ""; the page has a notice about that."""
    target = query.get("target", "").strip()
    return target if target in catalog.get_target_support(instruction).targets else ""


def make_default_state(instruction: Instruction) -> PageState:
    """Return the state of a page without a query: a warpgroup's four warps, or a warp's lane groups."""
    return PageState(colour=AUTO) if instruction.family.scope.several else PageState()


@fact
class AutomaticColour:
    """The colour of AUTO: `whole`, or `within` if at most one warp's rows of M are shown."""

    name: str
    whole: str
    within: str
    rows: int


def select_automatic(instruction: Instruction) -> AutomaticColour | None:
    """Select the automatic colour of a page; None if its default is one name."""
    if make_default_state(instruction).colour != AUTO:
        return None
    rows = instruction.sizes["m"] * WARP.threads // instruction.threads
    return AutomaticColour(name=AUTO, whole="w", within=PageState().colour, rows=rows)


def resolve_colour(instruction: Instruction, page_state: PageState, spans: Mapping[str, Range]) -> PageState:
    """Return the state with AUTO resolved to the colour of a window."""
    auto = select_automatic(instruction)
    if auto is None or page_state.colour != AUTO:
        return page_state
    first, past = spans["m"]
    in_one_warp = floor(first / auto.rows) == ceil(past / auto.rows) - 1
    return replace(page_state, colour=auto.within if in_one_warp else auto.whole)


def _parse_option(instruction: Instruction, name: str, value: str) -> str | int:
    """Parse the value of one name of the state, numbers in decimal; the hint of LayoutError lists the legal values."""
    if name == "idesc":
        return _parse_idesc(instruction, value)
    if name == "colour":
        return parse_choice(
            value, name, [*list_colour_names(instruction), *[AUTO] * (select_automatic(instruction) is not None)]
        )
    if name == "label":
        return parse_choice(value, name, LABELS)
    if name in MAJORS:
        return parse_choice(value.strip() or "K", name, list_majors(instruction, name[0]))
    if name in SELECTORS:
        return _parse_selector(instruction, name, value)
    if not value.strip():
        return PageState().product if name == "product" else ""
    return _PARSERS[name](instruction, value)


def _parse_idesc(instruction: Instruction, text: str) -> str:
    if isinstance(instruction, BoundMma) and text.strip():
        return str(instruction.word)
    if isinstance(instruction, BoundMma) or not text.strip():
        return ""
    raise LayoutError(
        "bad_idesc", f"idesc is '{shorten_value(text)}'.", "Only tcgen05.mma takes a descriptor.", "idesc"
    )


def _parse_lanes(instruction: Instruction, text: str) -> str:
    return parse_list(text, "lanes", instruction.threads)


def _parse_product(instruction: Instruction, text: str) -> int:
    count = count_products(instruction)
    hint = f"This instruction has {count} product{'s' * (count > 1)}, from 0."
    return _parse_with_hint("product", hint, lambda: parse_integer(text, "product", 0, count - 1))


def _parse_target(_instruction: Instruction, text: str) -> str:
    return parse_target_name(text, "target")


def _parse_selector(instruction: Instruction, name: str, text: str) -> int:
    legal = list_selectors(instruction).get(name, (0,))
    digits = parse_digits(text.strip() or "0")
    if digits is None or digits[0] not in legal:
        hint = f"{format_selector(name)} is one of {', '.join(map(str, legal))}."
        raise LayoutError("bad_selector", f"{name} is '{shorten_value(text)}'.", hint, name)
    return digits[0]


def _parse_view(instruction: Instruction, text: str) -> str:
    text = text.strip()
    return text if text == window.ALL else window.format_ranges(window.parse_window(text, instruction))


def _parse_pin(instruction: Instruction, text: str) -> str:
    matrix, _, place = text.partition(":")
    unit = instruction.family.scope.thread
    if matrix == unit:
        most = instruction.threads - 1
        hint = f"{unit}s run from 0 to {most}."
        return f"{unit}:{_parse_with_hint('pin', hint, lambda: parse_integer(place, 'pin', 0, most))}"
    sizes = {panel.name: (panel.rows, panel.cols) for panel in make_figure(instruction).panels if panel.grid}
    sizes |= list_supply_sizes(instruction)
    if matrix not in sizes:
        hint = f"Write matrix:row,column with a matrix of {', '.join(sizes)}, as in {min(sizes, key=len)}:3,2."
        raise LayoutError("bad_pin", f"pin is '{shorten_value(text)}'.", hint, "pin")
    rows, cols = sizes[matrix]
    hint = f"{matrix.upper()} has {rows} rows and {cols} columns, from 0."
    row, col = _parse_with_hint("pin", hint, lambda: parse_pair(place, "pin", (rows - 1, cols - 1)))
    return bench.PIN.format(panel=matrix, row=row, col=col)


def list_supply_sizes(instruction: Instruction) -> dict[str, tuple[int, int]]:
    """List the sizes of the matrices beside A and B (supplies.py)."""
    a, scales = instruction.operands.get("a"), instruction.scales
    sizes = {"e": (a.row_count, a.col_count // a.sparsity.kept)} if a is not None and a.sparsity else {}
    if scales:
        sizes["sfa"] = (instruction.sizes["m"], scales["scale_a"].blocks)
        sizes["sfb"] = (scales["scale_b"].blocks, instruction.sizes["n"])
    return sizes


_PARSERS: dict[str, Callable[[Instruction, str], str | int]] = {
    "lanes": _parse_lanes,
    "product": _parse_product,
    "view": _parse_view,
    "pin": _parse_pin,
    "pin2": _parse_pin,
    "target": _parse_target,
}
T = TypeVar("T")


def _parse_with_hint(name: str, hint: str, parse: Callable[[], T]) -> T:
    """Return the result of `parse`; its errors get the hint of this page."""
    try:
        return parse()
    except LayoutError as error:
        raise LayoutError(error.code, error.message, hint, name) from None


def list_colour_names(instruction: Instruction) -> list[str]:
    """List every colouring of some operand of this instruction."""
    names = [d.name for op in instruction.operands.values() for d in op.pattern.digits]
    return [*dict.fromkeys(names), "register"]


def list_selectors(instruction: Instruction) -> dict[str, tuple[int, ...]]:
    """List the legal values of each selector that an instruction has: of the metadata, and of the scale factors."""
    a = instruction.operands.get("a")
    selectors = {"selector": tuple(range(a.sparsity.selectors))} if a is not None and a.sparsity else {}
    for name, scale in instruction.scales.items():
        selectors |= {f"byte_id_{name[-1]}": scale.byte_ids, f"thread_id_{name[-1]}": scale.thread_ids}
    return selectors


def format_selector(name: str) -> str:
    """Return the label of a selector: byte-id of A."""
    if name == "selector":
        return "Metadata selector"
    kind, letter = name.rsplit("_", 1)
    return f"{kind.capitalize().replace('_', '-')} of {letter.upper()}"


def list_majors(instruction: Instruction, letter: str) -> tuple[str, ...]:
    """List the legal majors of operand a or b in shared memory; only K if the instruction reads no other, or reads it
    from registers.
    """
    if isinstance(instruction, BoundMma):
        return ("K",)  # the instruction descriptor has the major
    has_both = instruction.family.by_descriptor and get_dtype(instruction.types[letter]).bits == 16
    return tuple(DEFAULT_ORDER) if has_both else ("K",)


def count_products(instruction: Instruction) -> int:
    """Count the products of one instruction (4 for m8n8k4 f16), or the halves of the lanes that D may occupy."""
    counts = (op.extents.get(axis, 1) for op in instruction.operands.values() for axis in SEPARATE)
    return max(counts, default=1)


SPEC: dict[str, object] = asdict(PageState())
SEPARATE = ("product", "half")  # axes of which a page shows one place at a time
MAJORS = ("a_major", "b_major")
SELECTORS = ("selector", "byte_id_a", "thread_id_a", "byte_id_b", "thread_id_b")
PICTURED = tuple(
    name for name in SPEC if name not in ("view", *MAJORS, *SELECTORS)
)  # the state of a picture; its window is rows and cols instead
