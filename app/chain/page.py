"""/chain and /banks: pages and API. Does a load feed an operand, and what do its accesses cost in shared memory's banks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import numpy as np
from fastapi import APIRouter, Request
from starlette.responses import Response

from app.chain import facts as chains
from app.chain.schemas import BankCost, BanksBody, ChainBody, ChainVerdict, SolveBody, Solved
from app.kit.api import ApiRoute, Given, takes
from app.kit.encode import dumps
from app.kit.page import page
from app.kit.wire import json_body
from app.memory.page import ORDERS, STORAGE, USED, storage_of
from app.runs import draw as run_views
from layouts import banks, chain, find, pieces
from layouts.errors import LayoutError
from layouts.render.svg import svg
from layouts.view import LEFT, TOP, Figure, Panel

router = APIRouter(route_class=ApiRoute)
DEFAULTS = {"mma": "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "operand": "a", "load": "", "major": "K"}
CHAIN_STORAGE = STORAGE | {"kind": "rows", "swizzle": "none", "pitch_bytes": "144", "base": "0", "swizzle_by": "tile"}


@router.post("/api/v1/chain", tags=["v1"], responses={200: {"model": ChainVerdict}}, openapi_extra=takes("ChainBody", ChainBody))
def chain_api(given: Given) -> Response:
    """Does this load feed this operand from this storage? storage as in /descriptors/verify, load and mma as PTX, operand a or b (d for a
    stmatrix). Lane addresses to give, and the loads that would do instead."""
    return json_body(chains.chain_facts(chains.chain_of(given)))


@router.post("/api/v1/banks", tags=["v1"], responses={200: {"model": BankCost}}, openapi_extra=takes("BanksBody", BanksBody))
def banks_api(given: Given) -> Response:
    """Wavefronts of one access: its name and 32 byte addresses (null for an inactive lane); `swizzle` (none, 32B, 64B, 128B or B,M,S) is applied to them."""
    return json_body(chains.bank_facts(given))


@router.post("/api/v1/banks/solve", tags=["v1"], responses={200: {"model": Solved}}, openapi_extra=takes("SolveBody", SolveBody))
def solve_api(given: Given) -> Response:
    """The smallest Swizzle<B,M,S> that frees all accesses of conflicts, or why there is none: accesses [{access, address}] or [{access, pattern}] with
    row_bytes and pad."""
    return json_body(chains.solve(given))


@router.get("/chain", include_in_schema=False)
def chain_page(request: Request) -> Response:
    """Shared memory → ldmatrix → mma operand, or accumulator → stmatrix → shared memory."""
    given, spec, used = _read(request.query_params)
    context: dict[str, Any] = {
        "given": given, "storage": spec, "used": used, "error": None, "kinds": list(USED), "orders": ORDERS, "code": 200,
    }  # fmt: skip
    try:
        context |= _chain_context(given, spec, used)
    except LayoutError as error:
        context |= {"error": error, "code": 422}
    return page(request, "chain/page.html", context, context["code"])


def _read(query: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str], list[str]]:
    """(what is asked, the storage's form, those of its fields that its kind uses) of the page's address."""
    given = {name: query.get(name) or default for name, default in DEFAULTS.items()}
    spec = {name: query.get(f"s_{name}") or default for name, default in CHAIN_STORAGE.items()}
    if spec["kind"] == "canonical":
        spec["swizzle_by"] = query.get("s_swizzle_by") or STORAGE["swizzle_by"]
    spec["inner"] = given["major"]
    return given, spec, [name for name in USED.get(spec["kind"], ()) if name != "inner"]


def _request(given: dict[str, str], spec: dict[str, str]) -> dict[str, Any]:
    """The body of POST /chain without its load."""
    return {name: given[name] for name in ("mma", "operand", "major")} | {"storage": storage_of(spec, given["major"])}


def _chain_context(given: dict[str, str], spec: dict[str, str], used: list[str]) -> dict[str, Any]:
    request = _request(given, spec)
    fits, best = chains.choices(request)
    request["load"] = given["load"] = given["load"] or (best or fits)[0]
    found = chains.chain_of(request)
    same = {**given, **{f"s_{name}": spec[name] for name in ("kind", *used)}}
    operand, facts = found.want.operand, chains.chain_facts(found)
    return {
        "converted": operand is not find(given["mma"]).operand(given["operand"]), "loads": fits, "best": best, "store": found.store,
        "facts": facts, "links": {load: f"/chain?{urlencode(same | {'load': load})}" for load in facts["instead"]},
        "as_json": dumps(request).decode(), "operand": operand, "lane_rows": found.lane_addresses.tolist(),
        "starts": found.of_lanes(found.starts).tolist(), "operand_svg": operand_svg(found), "lanes_svg": lanes_svg(found),
        "rows_svg": rows_svg(found) if found.match else "", "banks_svg": banks_svg(found.costs) if found.costs else "",
    }  # fmt: skip


def chain_figure(query: Mapping[str, str]) -> str:
    """The guide's picture of a chain's address: what each row holds and who receives it; where it does not feed, what arrives."""
    given, spec, _ = _read(query)
    found = chains.chain_of(_request(given, spec) | {"load": given["load"]})
    return rows_svg(found) if found.match else operand_svg(found)


def rows_svg(found: chain.Chain) -> str:
    """The rows of the first load (store): eight 16-bit units each, the lane that receives (gives) each, and the elements in it."""
    load, want = found.load, found.want
    lane_of = {at: lane for lane, at in enumerate(zip(*found.lane_rows, strict=True))}
    names = [lane_of[matrix, row] for matrix in range(load.matrices) for row in range(load.rows)]
    texts = [[""] * 8 for _ in names]
    colour = np.zeros((len(names), 8), np.int32)
    per = 16 // want.granule_bits
    for lane in range(32):
        for register in range(load.registers):
            for half in (0, 1):
                row = int(load.matrix[lane, register, 2 * half]) * load.rows + int(load.row[lane, register, 2 * half])
                unit = int(load.byte[lane, register, 2 * half]) // 2
                texts[row][unit] = f"T{lane}:{_unit(want, lane, register, half * per, per)}"
                colour[row, unit] = lane % 4
    beside = tuple(f"T{lane} → {int(found.lane_addresses[0, 0, lane]):#x}" for lane in names)
    held = want.operand.name.upper()
    title = f"1 cell = 16 bits: the lane that {'gives' if found.store else 'receives'} it, and the elements of {held}"
    panel = Panel("rows", title, len(names), 8, LEFT + 52, TOP, 96.0, 24.0, None, colour, texts, row_names=beside)
    figure = Figure(max(LEFT + 60 + panel.width, 7.4 * len(title) + LEFT), TOP + panel.height + 8, (panel,))
    return svg(figure, title=title, palette=None, labels_up_to=3000)


def _unit(want: pieces.Wanted, lane: int, register: int, first: int, count: int) -> str:
    """The elements of one unit: [0,3], [0-1,3], [0,8-11]; half an element is told by its bits."""
    rows, cols = zip(*(want.element(0, lane, register, first + n) for n in range(count)), strict=True)
    text = ",".join(str(axis[0]) if axis[0] == axis[-1] else f"{axis[0]}-{axis[-1]}" for axis in (rows, cols))
    half = int(want.shift[first])
    return f"[{text}]" + (f" {'high' if half else 'low'}" if want.operand.container_bits == 32 else "")


def operand_svg(found: chain.Chain) -> str:
    """The operand's matrix: who holds each element, wrong ones marked."""
    op = found.want.operand
    good = np.zeros((op.row_count, op.col_count), bool)
    texts = [[""] * op.col_count for _ in range(op.row_count)]
    right = found.elements.reshape(op.threads, op.values)
    for thread in range(op.threads):
        for value in range(op.values):
            ok = bool(right[thread, value])
            r, c = int(op.rows[thread, value]), int(op.coords["col"][thread, value])
            good[r, c] = ok
            texts[r][c] = f"T{thread}:{value}" if ok else f"✗T{thread}:{value}"
    return run_views.drawn(f"{op.name.upper()}: thread and value of each element; ✗ gets another", ~good, texts)["svg"]


def lanes_svg(found: chain.Chain) -> str:
    """Shared memory in 16-byte chunks, 128 bytes a line, as far as it is read: the lane that gives each row's address, coloured by matrix."""
    given = found.lane_addresses
    touched = np.unique(given[given >= 0] // 128)
    text = [[""] * 8 for _ in touched]
    colour = np.full((len(touched), 8), 7, np.int32)
    address = found.load.instruction.address
    assert address is not None
    warps, turns, _ = given.shape
    for warp, turn, lane in np.argwhere(given >= 0).tolist():
        at = int(given[warp, turn, lane])
        line, chunk = int(np.searchsorted(touched, at // 128)), at % 128 // 16
        mark = f"{f'w{warp} ' if warps > 1 else ''}T{lane}{f'/{turn}' if turns > 1 else ''}"
        text[line][chunk] = f"{text[line][chunk]} {mark}".strip()
        colour[line, chunk] = int(address.coords["matrix"][lane, 0]) % 7
    longest = max(len(entry) for row in text for entry in row)
    width = max(40.0, min(7.0 * longest + 8, 120.0))
    by_matrix = "; colour: matrix" if len(np.unique(colour)) > 1 + (7 in colour) else ""
    title = f"1 cell = 16 B: the lane{' / turn' if turns > 1 else ''} that addresses it{by_matrix}"
    names = tuple(f"{128 * int(line):#x}" for line in touched)
    panel = Panel("lanes", title, len(touched), 8, LEFT + 24, TOP, width, 17.0, None, colour, text, row_names=names)
    figure = Figure(max(LEFT + 32 + panel.width, 7.8 * len(title) + LEFT + 32), TOP + panel.height + 8, (panel,))
    return svg(figure, title=title, palette=None, labels_up_to=3000)


def banks_svg(costs: list[banks.Cost]) -> str:
    """A line a phase, a cell a bank: how many words the bank serves; more than the ideal is marked."""
    phases = [phase for cost in costs for phase in cost.phases if phase.lanes]
    words = np.array([phase.words for phase in phases])
    most = np.array([max(phase.ideal, 1) for phase in phases])[:, None]
    colour = np.where(words > most, 0, np.where(words > 0, 6, 7)).astype(np.int32)
    text = [[str(n) if n else "" for n in row] for row in words.tolist()]
    title = "words each of the 32 banks serves, one row per phase"
    panel = Panel("banks", title, len(phases), 32, 34.0, TOP, 24.0, 17.0, None, colour, text)
    return svg(Figure(34 + 32 * 24 + 8, TOP + panel.height + 8, (panel,)), title=title, palette=None, labels_up_to=3000)


BANKS = {"access": "ldmatrix.x4", "pattern": "ldmatrix", "row_bytes": "128", "pad": "0", "swizzle": "none", "address": "", "accesses": ""}


@router.get("/banks", include_in_schema=False)
def banks_page(request: Request) -> Response:
    """What an access costs at rows of shared memory or at given addresses, and the swizzle that frees a set of accesses."""
    given = {name: request.query_params.get(name) or default for name, default in BANKS.items()}
    context: dict[str, Any] = {
        "given": given,
        "error": None,
        "accesses": banks.ACCESSES,
        "patterns": banks.REACHES,
        "found": None,
        "solved": None,
    }
    code = 200
    try:
        context |= _banks_context(given)
    except LayoutError as error:
        context["error"], code = error, 422
    return page(request, "banks/page.html", context, code)


def _banks_context(given: dict[str, str]) -> dict[str, Any]:
    rows = {name: given[name] for name in ("row_bytes", "pad")}
    one: dict[str, Any] = {"access": given["access"]}
    one |= {"address": banks.parse(given["address"])} if given["address"] else {"pattern": given["pattern"]}
    use, xor = chains.use_of(one | ({} if given["address"] else rows) | {"swizzle": given["swizzle"]})
    wanted = [one, *(item for item in chains.accesses(given["accesses"]) if item != one)]
    solved = chains.solve({"accesses": wanted} | ({} if all("address" in item for item in wanted) else rows))
    least = solved["swizzle"]
    return {
        "found": chains.use_facts(use, xor), "svg": banks_svg([use.cost(xor)]), "solved": solved,
        "apply": urlencode({**given, "swizzle": f"{least['bits']},{least['base']},{least['shift']}"}),
    }  # fmt: skip
