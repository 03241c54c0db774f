"""POST /read."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from lanescope import inputs
from lanescope.app.kit.api import Given, StrictRoute, describe_body
from lanescope.app.kit.wire import encode_json_body
from lanescope.app.read.answer import read_and_verify
from lanescope.app.read.facts import Reading
from lanescope.app.read.schemas import ReadBody
from lanescope.reader import LONGEST

router = APIRouter(prefix="/api/v1", tags=["v1"], route_class=StrictRoute)


@router.post("/read", responses={200: {"model": Reading}}, openapi_extra=describe_body("Read", ReadBody))
def read_api(given: Given) -> Response:
    """What any text is: PTX, a descriptor or code that builds one, a CuTe layout, a CUTLASS atom, a wmma fragment,
    SASS, or a word; the page that shows it, and what else it may mean. With descriptors, tensor maps and instructions
    in one text `bench` has them verified together; `assume` gives values for what the text leaves open.
    """
    inputs.check_keys(given, ("text", "assume"))
    text = inputs.require_text(given.get("text"), "text", LONGEST)
    assumed = inputs.require_object(
        given.get("assume", {}), "assume", "Give {key: value}, by the keys of bench.assumed."
    )
    return encode_json_body(read_and_verify(text, {key: str(value) for key, value in assumed.items()}))
