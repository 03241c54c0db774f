"""/banks: what an access costs in shared memory's banks, and the swizzle that frees it."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import Response

from lanescope.app.banks import facts
from lanescope.app.banks.draw import banks_svg, chart
from lanescope.app.kit import links
from lanescope.app.kit.api import OffLoop
from lanescope.app.kit.encode import dumps
from lanescope.app.kit.page import page
from lanescope.errors import LayoutError
from lanescope.shared import banks
from lanescope.shared.swizzle import MODES

router = APIRouter(include_in_schema=False, route_class=OffLoop)

BANKS = {
    "access": "ldmatrix.x4",
    "pattern": "ldmatrix",
    "row_bytes": "128",
    "pad": "0",
    "swizzle": "none",
    "address": "",
    "accesses": "",
}


@router.get("/banks")
def banks_page(request: Request) -> Response:
    """What an access costs at rows of shared memory or at given addresses, and the swizzle that frees a set of
    accesses.
    """
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
    use, xor = facts.use_of(one | ({} if given["address"] else rows) | {"swizzle": given["swizzle"]})
    wanted = [one, *(item for item in facts.accesses(given["accesses"]) if item != one)]
    solved = facts.solve({"accesses": wanted} | ({} if all("address" in item for item in wanted) else rows))
    least = solved.swizzle
    cost = use.cost(xor)
    mode = next((mode.name for mode in MODES if mode.swizzle() == xor and mode.name != "none"), "")
    pitch = {"s_pitch_bytes": str(facts.pitch(rows))} if not given["address"] else {}
    return {
        "found": facts.use_facts(use, xor),
        "svg": banks_svg([cost]),
        "solved": solved,
        "tile": mode,
        "most_free": max((phase.ideal for phase in cost.phases), default=1),
        "chart": dumps(chart(cost)).decode(),
        "chained": links.chain({"s_kind": "rows", **pitch, **({"s_swizzle": mode} if mode else {})}).partition("?")[2],
        "apply": urlencode({**given, "swizzle": f"{least.bits},{least.base},{least.shift}"}),
    }
