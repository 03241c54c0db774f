"""GET /instructions/{ptx}/kernel."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter
from starlette.responses import Response

from lanescope.app.kernel import facts as programs
from lanescope.app.kernel.facts import Program
from lanescope.app.kit.api import Ptx, StrictRoute, make_text_parameter
from lanescope.app.kit.wire import encode_json_body
from lanescope.names import lookup
from lanescope.product.options import LONGEST


def _make_options_parameter(what: str, *examples: str) -> Any:
    return make_text_parameter(f"{what}: name=value,name=value.", *examples, most=LONGEST)


router = APIRouter(prefix="/api/v1", tags=["v1"], route_class=StrictRoute)


@router.get("/instructions/{ptx}/kernel", responses={200: {"model": Program}})
def kernel(
    ptx: Ptx,
    a: Annotated[str, _make_options_parameter("How A is stored", "swizzle=128B,major=K", "from=registers")] = "",
    b: Annotated[str, _make_options_parameter("How B is stored", "swizzle=32B,major=MN,order=mn")] = "",
    d: Annotated[str, _make_options_parameter("What becomes of D", "scale=0")] = "",
    data: Annotated[
        str,
        _make_options_parameter("ldmatrix and stmatrix: storage of the rows", "pitch_bytes=80,swizzle=64B", "fill=s8"),
    ] = "",
) -> Response:
    """Return a whole program around one instruction: a .cu file with its check on the CPU, and the same as a CuPy
    script. `options` lists the options of A, B and D, or of the data of a load or store, including the defaults.
    """
    plan = programs.plan_program(lookup.find(ptx), {"a": a, "b": b, "d": d, "data": data})
    return encode_json_body(programs.build_program(plan))
