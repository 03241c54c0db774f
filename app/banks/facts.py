"""Bank conflicts of accesses, for the API, the pages and the command line."""

from __future__ import annotations

from typing import Annotated

from lanescope.app.banks.questions import (
    MOST_ACCESSES,
    ROW_FIELDS,
    AccessBody,
    AccessFields,
    AccessQuestion,
    OneAccess,
    RowFields,
    UseFields,
    parse_swizzle,
)
from lanescope.app.kit.fact import Description, Json, copy_fact, fact
from lanescope.app.kit.memory_words import AccessName, AccessPattern, SwizzleMode
from lanescope.app.kit.question import options_of
from lanescope.errors import LayoutError
from lanescope.inputs import check_keys
from lanescope.shared import bank_counters, banks, freeing
from lanescope.shared.swizzle import MODES, Swizzle


@fact
class Phase:
    """Lanes whose requests can share a wavefront, and the words that each of the 32 banks serves for them."""

    lanes: list[int]
    wavefronts: int
    ideal: int
    ways: int
    words: list[int]


@fact
class ProfilerCounter:
    """A metric of Nsight Compute, and how much one execution of the access adds to it."""

    metric: Annotated[str, Description("As ncu --metrics names it.", (bank_counters.WAVEFRONTS.format("ld"),))]
    per_execution: int


@fact
class BankCost:
    """The cost of an access. ideal: wavefronts without conflicts."""

    address: Annotated[list[int | None], Description("[lane], after the swizzle.")]
    swizzle: str
    access: AccessName
    wavefronts: int
    ideal: int
    ways: int
    phases: list[Phase]
    architecture: str
    counters: Annotated[
        list[ProfilerCounter], Description("What ncu reports on this architecture; empty if it was not measured.")
    ]
    counters_note: Annotated[str, Description("Why there are none; empty if there are.")]


@fact
class SwizzleBits:
    """Swizzle<bits, base, shift> on byte addresses."""

    bits: int
    base: int
    shift: int
    text: Annotated[str, Description(examples=("Sw<3,4,3>",))]


@fact
class SolvedAccess:
    """The cost of an access under the swizzle that was found."""

    access: AccessName
    pattern: AccessPattern | None
    given: Annotated[list[int | None], Description("[lane], before the swizzle.")]
    address: Annotated[list[int | None], Description("[lane], under it.")]
    wavefronts: int
    ideal: int
    ways: int
    ways_before: int


@fact
class Solved:
    """The smallest swizzle that removes the conflicts of all accesses, or why there is none."""

    free: bool
    swizzle: SwizzleBits
    mode: Annotated[SwizzleMode | None, Description("wgmma's name for it; null if it has none.")]
    why: str
    tried: Annotated[int, Description("Swizzles that can change a bank of these addresses.")]
    accesses: list[SolvedAccess]


def build_bank_cost(body: Json) -> BankCost:
    """Return the wavefronts of one access: its name and 32 byte addresses (null for an inactive lane), to which
    `swizzle` (none, 32B, 64B, 128B or B,M,S) is applied. With tiled_mma: the bank conflicts of a whole main loop, with
    a body as for POST /api/v1/tiles/loop.
    """
    check_keys(body, options_of(AccessBody))
    if body.get("address") is None and not set(body) & set(ROW_FIELDS):
        raise LayoutError(
            "bad_address",
            "address is missing.",
            "One byte address per lane: [0, 16, …]; null for an inactive lane.",
            "address",
        )
    return build_use_cost(*parse_use(body), parse_architecture(body))


def count_wavefronts(question: AccessQuestion) -> BankCost:
    """Return the wavefronts of one access under a swizzle."""
    return build_use_cost(*parse_question(question), question.architecture)


def parse_question(question: AccessQuestion) -> tuple[banks.AccessUse, Swizzle]:
    """Return the access of the page's question, and its swizzle."""
    return parse_use(question.body | ({} if question.address else question.rows) | {"swizzle": question.swizzle})


def parse_pitch(body: Json) -> int:
    """Return the pitch of rows in bytes, with padding."""
    return sum(option.parse(body.get(name, option.default), name) for name, option in options_of(RowFields).items())


def parse_use(body: Json) -> tuple[banks.AccessUse, Swizzle]:
    """Return an access and the swizzle of byte addresses: at "address", or at rows of `row_bytes` (plus `pad`).

    Omitted fields get the page's defaults.
    """
    _require_one_source(body, [body])
    return _parse_access(body, body), parse_swizzle(body.get("swizzle", "none"))


def _require_one_source(body: Json, items: list[Json]) -> None:
    """Raise LayoutError if a request has fields of a pattern beside addresses, which would make them unused."""
    idle = ["pattern" for item in items if item.get("address") is not None and "pattern" in item]
    if all(item.get("address") is not None for item in items):
        idle += [name for name in ("row_bytes", "pad") if name in body]
    if idle:
        raise LayoutError(
            "bad_address",
            f"Both address and {idle[0]} are given.",
            "The lanes' addresses, or a pattern of rows.",
            idle[0],
        )


def _parse_access(item: Json, shared: Json) -> banks.AccessUse:
    """Parse {"access", "address"} or {"access", "pattern"}; `shared` has the rows of a pattern."""
    kind = banks.get_access(item.get("access", "ldmatrix.x4"))
    if item.get("address") is not None:
        return banks.make_address_use(kind, item["address"])
    pattern = options_of(AccessFields)["pattern"]
    return banks.make_rows_use(
        kind, pattern.parse(item.get("pattern", pattern.default), "pattern"), parse_pitch(shared)
    )


def parse_architecture(body: Json) -> str:
    """Return the architecture whose counters are requested."""
    option = options_of(UseFields)["architecture"]
    architecture: str = option.parse(body.get("architecture", option.default), "architecture")
    return architecture


def build_use_cost(use: banks.AccessUse, xor: Swizzle, architecture: str = bank_counters.MEASURED[0]) -> BankCost:
    """Return the cost of an access under a swizzle, the resulting addresses of its lanes, and Nsight Compute's
    counters.
    """
    cost = use.compute_use_cost(xor)
    measured = architecture in bank_counters.MEASURED
    counters = bank_counters.predict_counters(cost) if measured else {}
    return copy_fact(
        BankCost,
        cost,
        address=use.address(xor),
        swizzle=str(xor),
        access=cost.access.name,
        phases=[copy_fact(Phase, p, lanes=list(p.lanes), words=list(p.words)) for p in cost.phases],
        architecture=architecture,
        counters=[ProfilerCounter(metric=metric, per_execution=count) for metric, count in counters.items()],
        counters_note=""
        if measured
        else f"Not measured on {architecture}; on {', '.join(bank_counters.MEASURED)} only.",
    )


def _list_accesses(body: Json) -> list[Json]:
    """Return the accesses of a request: its list, or itself."""
    accesses, alone = body.get("accesses"), [name for name in ("access", "address", "pattern") if name in body]
    if "accesses" in body and alone:
        raise LayoutError(
            "bad_accesses",
            f"Both accesses and {alone[0]} are given.",
            f"Put {alone[0]} into accesses, or leave accesses out.",
            alone[0],
        )
    if "accesses" not in body and "access" in body:
        accesses = [{name: body[name] for name in alone}]
    if not isinstance(accesses, list) or not accesses or not all(isinstance(item, dict) for item in accesses):
        raise LayoutError(
            "bad_accesses",
            "accesses is not a list of objects.",
            "[{'access': 'ldmatrix.x4', 'address': [0, 128, …]}, …]",
            "accesses",
        )
    if len(accesses) > MOST_ACCESSES:
        raise LayoutError("bad_accesses", f"{len(accesses)} accesses.", f"At most {MOST_ACCESSES}.", "accesses")
    for at, item in enumerate(accesses):
        check_keys(item, options_of(OneAccess), f"accesses.{at}")
    return accesses


def solve_swizzle(body: Json) -> Solved:
    """Return the smallest Swizzle<B,M,S> that removes the conflicts of all accesses, or why there is none: accesses
    [{access, address}] or [{access, pattern}] with row_bytes and pad. A single access may be the request itself.
    """
    check_keys(body, ("accesses", "access", "address", *ROW_FIELDS))
    accesses = _list_accesses(body)
    _require_one_source(body, accesses)
    uses = []
    for number, item in enumerate(accesses):
        try:
            uses.append(_parse_access(item, body))
        except LayoutError as error:
            inner = error.field in ("access", "address", "pattern") and "accesses" in body
            raise error.move_to_field(f"accesses.{number}.{error.field}" if inner else error.field) from None
    found = freeing.find_freeing_swizzle(uses)
    xor = found.swizzle
    return copy_fact(
        Solved,
        found,
        swizzle=copy_fact(SwizzleBits, xor, text=str(xor)),
        mode=next((mode.name for mode in MODES if mode.swizzle() == xor), None),
        accesses=[_build_solved(use, xor, cost) for use, cost in zip(uses, found.costs, strict=True)],
    )


def _build_solved(use: banks.AccessUse, xor: Swizzle, cost: banks.Cost) -> SolvedAccess:
    return copy_fact(
        SolvedAccess,
        cost,
        access=use.access.name,
        pattern=use.reach or None,
        given=list(use.addresses),
        address=use.address(xor),
        ways_before=use.compute_use_cost(freeing.PLAIN).ways,
    )
