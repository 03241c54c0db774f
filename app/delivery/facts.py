"""The answer of a delivery, for the API, the pages and the command line."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated

from lanescope.app.kit.enumerations import PTX
from lanescope.app.kit.fact import Description, IntegerArray, copy_fact, fact
from lanescope.app.kit.question import declare_question, number_field, text_field, word_field
from lanescope.delivery.ask import LONGEST_SIDE, RENUMBERED, SOURCES, TYPES, DeliveryRequest, answer_request
from lanescope.delivery.conversions import WIDTHS, find_conversions
from lanescope.delivery.places import PER, Fragment, name_places
from lanescope.delivery.solve import ALLOWED, DEFAULT_LIMIT, Delivery, list_fitting_orders, name_access, parse_allowed
from lanescope.inputs import join_words
from lanescope.names import lookup
from lanescope.ptx import hardware_runs
from lanescope.render.delivery import render_kernel
from lanescope.shared.banks import format_swizzle, get_access, make_address_use
from lanescope.shared.freeing import find_freeing_swizzle
from lanescope.shared.swizzle import BY_WIDTH

WHERE = {
    "rows": "k contiguous (n of C, D)",
    "columns": "m contiguous (n of B)",
    "layout": "a CuTe layout",
    "chosen": "as one wide load needs it",
    "accumulator": "the accumulator",
}
SAME = {"": "operand's"}
MOST_LIMIT = 256


def _check_instruction(text: str) -> None:
    """Raise LayoutError for a text that is neither a pattern nor an instruction."""
    if "->" not in text:
        lookup.parse_instruction(text, "instruction")


@declare_question
class DeliveryQuestion:
    """An operand, and where its elements are stored."""

    instruction: str = text_field(
        PTX,
        "Instruction",
        "PTX, a name (mma.m16n8k16 bf16), or a pattern of one warp such as (t:32) (e:8) -> (t) (e).",
        size=60,
        wide=True,
        argument=True,
        check=_check_instruction,
    )
    operand: str = word_field(("a", "b", "c", "d"), "Operand", "Which operand of the instruction")
    type: str = word_field(
        TYPES, "Element", "Element type in the registers; the operand's where it is left out", "", called=SAME
    )
    per: str = word_field(
        PER,
        "A value per",
        "What each value belongs to; row and column for scale factors",
    )
    first: int = number_field(1, "Along m or n", "Operands side by side along m or n.", least=1, most=LONGEST_SIDE)
    second: int = number_field(1, "Along k", "Operands side by side along k; n of C and D.", least=1, most=LONGEST_SIDE)
    source: str = word_field(
        SOURCES, "Stored as", "Where the elements are; chosen: the order that one wide load delivers", called=WHERE
    )
    stored: str = word_field(
        TYPES, "Stored type", "Element type in memory; the operand's type if omitted", "", called=SAME
    )
    pitch_bytes: int = number_field(0, "Pitch", "Bytes from row to row; 0: rows without gaps.", most=1 << 20)
    swizzle: str = word_field([mode.name for mode in BY_WIDTH], "Swizzle", "The swizzle mode of rows.", "none")
    layout: str = text_field("", "Layout", "CuTe layout over (m or n, k), in elements.", size=30)
    accumulator: str = text_field(
        "", "Accumulator of", "The instruction whose D it is, the same where it is left out.", size=40
    )
    renumber: str = word_field(
        RENUMBERED,
        "May permute",
        "The axes whose numbering is free; k where the other operand is permuted alike, n where D may be",
        called={"none": "nothing", "both": "k and n"},
    )
    moves: str = text_field(
        "",
        "Allowed",
        f"Loads and moves that are allowed, all where it is empty: {join_words(ALLOWED)}.",
        check=parse_allowed,
        size=30,
    )
    limit: int = number_field(DEFAULT_LIMIT, "Limit", "Most instructions.", least=1, most=MOST_LIMIT)


@fact
class PlaceBit:
    """A bit of a place in a warp's registers, and its coordinate bit."""

    place: Annotated[str, Description(examples=("byte 0", "lane 3", "register 1"))]
    holds: Annotated[str, Description(examples=("k0", "n3", "·"))]


@fact
class DeliveryStep:
    """A step of the program, and the map after it."""

    says: str
    instructions: int
    after: list[PlaceBit]


@fact
class FittingStorage:
    """A load that would deliver the operand by itself, and the coordinate bits that its lowest address bits must be."""

    load: str
    lowest: list[str]


@fact
class DeliveryFacts:
    """The shortest program of the allowed instructions, or why there is none."""

    found: bool
    instructions: Annotated[int, Description("Of one warp; selectors and addresses of lanes are not counted.")]
    why: Annotated[str, Description("Why there is none; empty if there is one.")]
    exhausted: Annotated[bool, Description("Whether no number of the allowed instructions would do.")]
    states: Annotated[int, Description("Arrangements of the elements in registers that the search compared.")]
    certified: Annotated[bool, Description("Whether a simulation of every instruction ends in the operand's map.")]
    renumbering: Annotated[
        list[str], Description("Where the registers hold another coordinate bit than the operand's own map: k1 ← k3.")
    ]
    memory: Annotated[
        list[str],
        Description(
            "The coordinate bit of each address bit, in elements, · for a gap; as far as it is one everywhere."
        ),
    ]
    start: Annotated[list[PlaceBit], Description("The map of the registers that it begins with, if it does.")]
    goal: list[PlaceBit]
    steps: list[DeliveryStep]
    fitting: Annotated[list[FittingStorage], Description("Storages that need no move between registers.")]
    order: Annotated[
        list[list[int]],
        IntegerArray(2, "Of a chosen storage: [place of memory, from its start] → m or n, and k, of its element."),
    ]
    wavefronts: Annotated[int | None, Description("Of all loads in shared memory.")]
    ideal_wavefronts: int | None
    least_swizzle: Annotated[str, Description("The least swizzle without bank conflicts, where there are some.")]
    code: Annotated[str, Description("CUDA C++ with inline PTX: the function, and a kernel that calls it.")]
    executed: Annotated[str, Description("Where programs of this kind were executed.")]


def make_request(question: DeliveryQuestion) -> DeliveryRequest:
    """Return the engine's request of a question."""
    return DeliveryRequest(**{name: getattr(question, name) for name in DeliveryRequest.__dataclass_fields__})


find_delivery = lru_cache(maxsize=16)(answer_request)  # a page needs it twice: for its facts and its pictures


def build_delivery(question: DeliveryQuestion) -> DeliveryFacts:
    """Return the shortest program of ld, ldmatrix, prmt, shfl, movmatrix, lop3 and cvt that brings stored elements into
    an operand's registers, with the map after each step and its code; or why there is none.
    """
    return describe_delivery(find_delivery(make_request(question)), question.source == "chosen")


def describe_delivery(delivery: Delivery, chosen: bool = False) -> DeliveryFacts:
    """Return the facts of a delivery."""
    costs = [cost for _, cost in delivery.list_bank_costs()]
    rows = find_conversions(delivery.stored, delivery.type)
    width = WIDTHS[delivery.stored] if rows else delivery.wanted.width
    fitting = {} if delivery.start else list_fitting_orders(delivery.wanted, rows, width)
    return copy_fact(
        DeliveryFacts,
        delivery,
        instructions=delivery.count,
        certified=delivery.found and delivery.certified,
        renumbering=_list_renumbered(delivery),
        memory=_list_memory(delivery),
        start=list_places(delivery.start) if delivery.start else [],
        goal=list_places(delivery.goal),
        steps=[
            DeliveryStep(says=step.says, instructions=step.count, after=list_places(step.after))
            for step in delivery.steps
        ],
        fitting=[FittingStorage(load=load, lowest=bits) for load, bits in fitting.items()],
        order=_list_order(delivery) if chosen else [],
        wavefronts=sum(cost.wavefronts for cost in costs) if costs else None,
        ideal_wavefronts=sum(cost.ideal for cost in costs) if costs else None,
        least_swizzle=_find_swizzle(delivery),
        code=render_kernel(delivery) if delivery.found else "",
        executed=describe_evidence(),
    )


def list_places(fragment: Fragment) -> list[PlaceBit]:
    """Return the coordinate bit of each place bit of a fragment."""
    names = name_places(fragment.width, len(fragment.vectors))
    return [
        PlaceBit(place=name, holds=fragment.space.name_vector(vector))
        for name, vector in zip(names, fragment.vectors, strict=True)
    ]


def _list_renumbered(delivery: Delivery) -> list[str]:
    name = delivery.goal.space.name_vector
    pairs = zip(delivery.wanted.vectors, delivery.goal.vectors, strict=True)
    return sorted({f"{name(new)} ← {name(old)}" for new, old in pairs if new != old})


def _list_memory(delivery: Delivery) -> list[str]:
    bits = delivery.memory.list_address_bits() if delivery.memory else []
    return [delivery.goal.space.name_vector(vector) for vector in bits]


def _list_order(delivery: Delivery) -> list[list[int]]:
    assert delivery.memory
    coordinates = delivery.memory.space.split(delivery.memory.element_at)
    return [list(element) for element in zip(*(axis.tolist() for axis in coordinates), strict=True)]


def _find_swizzle(delivery: Delivery) -> str:
    """Return the smallest swizzle of byte addresses that removes the bank conflicts of the loads; none if they have
    none.
    """
    costs = delivery.list_bank_costs()
    if all(cost.ways == 1 for _, cost in costs):
        return ""
    uses = [make_address_use(get_access(name_access(load)), list(load.address)) for load, _ in costs]
    solved = find_freeing_swizzle(list(dict.fromkeys(uses)))
    return format_swizzle(solved.swizzle) if solved.free else ""


def describe_evidence() -> str:
    """Return a sentence about where generated programs of this kind were executed."""
    ran = []
    for evidence in hardware_runs.load_evidence():
        rows = evidence.get("delivery", {}).values()
        if rows:
            agreed, count = (sum(row[key] for row in rows) for key in ("agreed", "ran"))
            meta = evidence["meta"]
            date = meta.get("dates", {}).get("delivery") or meta["date"]
            ran.append(f"an {meta['device']} on {date}, {agreed} of {count} right in every register")
    if not ran:
        return "Programs of this kind were executed in the emulator; not on hardware."
    return f"Programs of this kind were executed on {join_words(ran)}."
