"""Chains and banks as the API, the pages and the command line say them: plain dicts, no framework."""

from __future__ import annotations

import re
from typing import Any

from app.memory.facts import MOST_TEXT
from layouts import banks, catalog, chain, cute, pieces
from layouts.errors import LayoutError
from layouts.feeding import why_not
from layouts.instruction import Instruction, Operand
from layouts.reading import choice, keys, number, table, text
from layouts.render.chain import code
from layouts.storage import HINT as STORAGE_HINT
from layouts.storage import Storage
from layouts.swizzle import MODES, Swizzle
from layouts.tiling import DEFAULT_ORDER

Json = dict[str, Any]
CHAIN_FIELDS = ("storage", "load", "mma", "operand", "major")
ROW_FIELDS = ("pattern", "row_bytes", "pad")
ACCESS_TEXT = "access:pattern or access:addresses, e.g. ldmatrix.x4:ldmatrix, st.shared.b128:0 16 32 …"
MOST_ACCESSES = 16
MOST_PITCH = 1 << 16  # bytes from row to row


def chain_of(given: Json) -> chain.Chain:
    """What a requested load or store does over the storage; LayoutError names the wrong field."""
    keys(given, CHAIN_FIELDS)
    load, mma = _find(given, "load"), _find(given, "mma")
    letter = choice(given.get("operand", "d" if load.family.stores else "a"), "operand", ("a", "b", "c", "d"), "bad_operand")
    operand = _operand(mma, letter, load)
    return chain.chain(load, operand, _stored(given, operand))


def _stored(given: Json, operand: Operand) -> Storage:
    """The requested storage, large enough for the operand."""
    spec = table(given.get("storage"), "storage", STORAGE_HINT, "bad_storage")
    major = choice(given.get("major", spec.get("major", spec.get("inner", "K"))), "major", DEFAULT_ORDER, "bad_major")
    return chain.stored(spec, operand, major)


def _find(given: Json, field: str) -> Instruction:
    try:
        return catalog.find(text(given.get(field), field, MOST_TEXT))
    except LayoutError as error:
        raise LayoutError("bad_instruction", error.message, error.hint, field, error.nearest) from None


def _operand(mma: Instruction, letter: str, load: Instruction) -> Operand:
    """The operand as memory holds it for a load or store that may move it."""
    stores = load.family.stores
    if stores != (letter in "cd"):
        which = "stmatrix writes c or d" if stores else "ldmatrix reads a or b"
        raise LayoutError("bad_operand", f"Operand '{letter[:20]}' with {load.ptx}.", f"{which}.", "operand")
    data = load.operands.get("data")
    return pieces.in_memory(mma.operand(letter), data.container_bits) if data else mma.operand(letter)


def choices(given: Json) -> tuple[list[str], list[str]]:
    """(every load or store whose registers fit the operand of a request, those that feed it from its storage, best first)."""
    mma, letter = _find(given, "mma"), choice(given.get("operand", "a"), "operand", ("a", "b", "c", "d"), "bad_operand")
    operand, store = pieces.in_memory(mma.operand(letter)), letter in "cd"
    fits = [i.ptx for i in chain.candidates(operand, store)]
    if not fits:
        pieces.wanted(operand)
        raise LayoutError("no_chain", f"No ldmatrix fills {operand.registers} registers.", "Load it with ld.shared.", "operand")
    return fits, [found.load.instruction.ptx for found in chain.advise(operand, _stored(given, operand), store)]


def chain_facts(found: chain.Chain) -> Json:
    """POST /chain."""
    operand, bits = found.want.operand, found.want.operand.container_bits
    better = [] if found.match else chain.advise(operand, found.where, found.store)
    costs = found.costs
    starts = found.of_lanes(found.starts)[0]
    return {
        "verdict": "match" if found.match else "mismatch",
        "matched": found.matched,
        "total": found.total,
        "first_mismatch": found.first_mismatch,
        "lane_addresses": found.lane_addresses[:, 0].reshape(-1).tolist(),
        "turns": found.lane_addresses.transpose(1, 0, 2).reshape(found.count, -1).tolist(),
        "starts": [[_element(operand, mn, k) for mn, k, _ in turn] for turn in starts.tolist()],
        "matrices": [[_place(found.major, mn, k, bits) for mn, k, _ in turn] for turn in found.starts[0, :, :, 0].tolist()],
        "feeds": found.match,
        "notes": list(found.notes) if found.match or found.notes or better else [why_not(operand, found.where, found.store)],
        "instead": [c.load.instruction.ptx for c in better],
        "wavefronts": costs[0].wavefronts if costs else None,
        "ways": max((cost.ways for cost in costs), default=None),
        "code": code(found) if found.match else "",
    }


def _element(operand: Operand, mn: int, k: int) -> list[int] | None:
    """[row, column] of an operand's element; None for a lane that gives no address."""
    return None if mn < 0 else [k, mn] if operand.name == "b" else [mn, k]


def _place(major: str, mn: int, k: int, bits: int) -> Json:
    line, along = (mn, k) if major == "K" else (k, mn)
    return {"line": line, "byte": along * bits // 8}


# banks -----------------------------------------------------------------------------------------------------------------------


def bank_facts(given: Json) -> Json:
    """POST /banks: an access at the addresses given, or at rows; a swizzle is applied to byte addresses."""
    keys(given, ("access", "address", "swizzle", *ROW_FIELDS))
    if given.get("address") is None and not set(given) & set(ROW_FIELDS):
        raise LayoutError("bad_address", "address is missing.", "A byte address a lane: [0, 16, …]; null for an inactive one.", "address")
    return use_facts(*use_of(given))


def cost_facts(found: banks.Cost) -> Json:
    """A cost as an answer: each phase with its lanes and how many words every bank serves."""
    return {
        "access": found.access.name,
        "wavefronts": found.wavefronts,
        "ideal": found.ideal,
        "ways": found.ways,
        "phases": [
            {"lanes": list(phase.lanes), "wavefronts": phase.wavefronts, "ideal": phase.ideal, "ways": phase.ways, "words": list(phase.words)}
            for phase in found.phases
        ],
    }  # fmt: skip


def _pitch(given: Json) -> int:
    return number(given.get("row_bytes", 128), "row_bytes", 1, MOST_PITCH) + number(given.get("pad", 0), "pad", 0, MOST_PITCH)


def use_of(given: Json) -> tuple[banks.Use, Swizzle]:
    """One access and the swizzle of byte addresses: at "address", or at rows of `row_bytes` (plus `pad`); what is left out is the page's default."""
    _rows_or_addresses(given, [given])
    return _use(given, given), _swizzle(given.get("swizzle", "none"))


def _rows_or_addresses(given: Json, items: list[Json]) -> None:
    """LayoutError where a pattern's fields stand beside the addresses that make them idle."""
    idle = [name for item in items if item.get("address") is not None for name in ("pattern",) if name in item]
    if all(item.get("address") is not None for item in items):
        idle += [name for name in ("row_bytes", "pad") if name in given]
    if idle:
        raise LayoutError("bad_address", f"Both address and {idle[0]} are given.", "The lanes' addresses, or a pattern of rows.", idle[0])


def _use(item: Json, shared: Json) -> banks.Use:
    """{"access", "address"} or {"access", "pattern"}; a pattern's rows are those of `shared`."""
    kind = banks.access(item.get("access", "ldmatrix.x4"))
    if item.get("address") is not None:
        return banks.at(kind, item["address"])
    return banks.rows(kind, choice(item.get("pattern", "ldmatrix"), "pattern", banks.REACHES), _pitch(shared))


def use_facts(use: banks.Use, xor: Swizzle) -> Json:
    """What an access costs under a swizzle, and the addresses its lanes give then."""
    return {"address": use.address(xor), "swizzle": str(xor), **cost_facts(use.cost(xor))}


def _swizzle(given: object) -> Swizzle:
    for mode in MODES:
        if isinstance(given, str) and mode.name.lower() == given.strip().lower():
            return mode.swizzle()
    return cute.read_swizzle(given)


def accesses(text: str) -> list[Json]:
    """Accesses as people write them, with commas, semicolons or spaces between: access, access:pattern, or access:address,address,…"""
    out: list[Json] = []
    for part in re.split(r"[\s,;]+", text.strip()):
        if part[:1].isalpha() and part != "null":
            name, _, part = part.partition(":")
            out.append({"access": name})
        if not part:
            continue
        if part[:1].isalpha() and part != "null":
            out[-1]["pattern"] = part
        elif not out:
            raise LayoutError("bad_accesses", f"'{part[:40]}' stands before any access.", ACCESS_TEXT, "accesses")
        else:
            out[-1].setdefault("address", []).extend(banks.parse(part))
    return out


def solve(given: Json) -> Json:
    """POST /banks/solve: the smallest swizzle that frees every access {"access", "address"} or {"access", "pattern"}.

    A pattern's rows are row_bytes (plus pad) apart. One access may stand in the request itself instead of in "accesses".
    """
    keys(given, ("accesses", "access", "address", *ROW_FIELDS))
    wanted, alone = given.get("accesses"), [name for name in ("access", "address", "pattern") if name in given]
    if "accesses" in given and alone:
        raise LayoutError(
            "bad_accesses", f"Both accesses and {alone[0]} are given.", f"Put {alone[0]} into accesses, or leave accesses out.", alone[0]
        )
    if "accesses" not in given and "access" in given:
        wanted = [{name: given[name] for name in alone}]
    if not isinstance(wanted, list) or not wanted or not all(isinstance(item, dict) for item in wanted):
        raise LayoutError(
            "bad_accesses", "accesses is no list of objects.", "[{'access': 'ldmatrix.x4', 'address': [0, 128, …]}, …]", "accesses"
        )
    if len(wanted) > MOST_ACCESSES:
        raise LayoutError("bad_accesses", f"{len(wanted)} accesses.", f"At most {MOST_ACCESSES}.", "accesses")
    for at, item in enumerate(wanted):
        keys(item, ("access", "pattern", "address"), f"accesses.{at}")
    _rows_or_addresses(given, wanted)
    uses = []
    for number_, item in enumerate(wanted):
        try:
            uses.append(_use(item, given))
        except LayoutError as error:
            inner = error.field in ("access", "address", "pattern") and "accesses" in given
            raise LayoutError(
                error.code, error.message, error.hint, f"accesses.{number_}.{error.field}" if inner else error.field
            ) from None
    found = banks.solve(uses)
    xor = found.swizzle
    return {
        "free": found.free,
        "swizzle": {"bits": xor.bits, "base": xor.base, "shift": xor.shift, "text": str(xor)},
        "mode": next((mode.name for mode in MODES if mode.swizzle() == xor), None),
        "why": found.why,
        "tried": found.tried,
        "accesses": [
            {
                "access": use.access.name, "pattern": use.reach or None, "given": list(use.given), "address": use.address(xor),
                "wavefronts": cost.wavefronts, "ideal": cost.ideal, "ways": cost.ways, "ways_before": use.cost(banks.PLAIN).ways,
            }
            for use, cost in zip(uses, found.costs, strict=True)
        ],
    }  # fmt: skip
