"""GET /instructions/{ptx}/kernel."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter
from starlette.responses import Response

from lanescope.app.kernel import facts as programs
from lanescope.app.kernel.facts import Program
from lanescope.app.kit.api import ApiRoute, Ptx, text
from lanescope.app.kit.wire import json_body
from lanescope.product.options import LONGEST
from lanescope.product.planning import plan
from lanescope.ptx import catalog


def _options(what: str, *examples: str) -> Any:
    return text(f"{what}: name=value,name=value.", *examples, most=LONGEST)


router = APIRouter(prefix="/api/v1", tags=["v1"], route_class=ApiRoute)


@router.get("/instructions/{ptx}/kernel", responses={200: {"model": Program}})
def kernel(
    ptx: Ptx,
    a: Annotated[str, _options("How A is stored", "swizzle=128B,major=K", "from=registers")] = "",
    b: Annotated[str, _options("How B is stored", "swizzle=32B,major=MN,order=mn")] = "",
    d: Annotated[str, _options("What becomes of D", "scale=0")] = "",
) -> Response:
    """A whole program around one instruction: a .cu file with its check on the CPU, and the same as a CuPy script.
    `options` lists what A, B and D take, as it was chosen or by default."""
    return json_body(programs.facts(plan(catalog.find(ptx), a, b, d)))
