"""GET and POST of instruction descriptors and zero-column masks."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from lanescope.app.idesc import facts
from lanescope.app.idesc.facts import InstructionDescriptor, ZeroColumns
from lanescope.app.idesc.schemas import IdescBody, MaskBody
from lanescope.app.kit.api import Given, StrictRoute, describe_body, make_path_parameter, make_word_parameter
from lanescope.app.kit.schemas import NumberText
from lanescope.app.kit.wire import encode_json_body
from lanescope.blackwell.idesc import NAMES

router = APIRouter(prefix="/api/v1", tags=["v1"], route_class=StrictRoute)


@router.post(
    "/instruction-descriptors/encode",
    responses={200: {"model": InstructionDescriptor}},
    openapi_extra=describe_body("IdescBody", IdescBody),
)
def encode_idesc(given: Given) -> Response:
    """The instruction descriptor of a product; what is illegal is refused by its field."""
    return encode_json_body(facts.encode_idesc(given))


@router.get("/instruction-descriptors/{value:path}", responses={200: {"model": InstructionDescriptor}})
def decode_idesc(
    value: Annotated[str, make_path_parameter("32 bits: hex, 0b…, or a constant C++ expression.", "0x08400490")],
    kind: Annotated[
        str, make_word_parameter(NAMES, "The kind of the tcgen05.mma that takes it: the word does not say it.")
    ] = "",
) -> Response:
    """An instruction descriptor taken apart, and the forms in which it is legal."""
    return encode_json_body(facts.decode_idesc(value, kind))


@router.post(
    "/zero-column-masks/encode",
    responses={200: {"model": ZeroColumns}},
    openapi_extra=describe_body("MaskBody", MaskBody),
)
def encode_mask(given: Given) -> Response:
    """A zero-column mask descriptor from its fields."""
    return encode_json_body(facts.encode_mask(given))


@router.get("/zero-column-masks/{value:path}", responses={200: {"model": ZeroColumns}})
def decode_mask(
    value: Annotated[
        str, make_path_parameter("64 bits: hex, 0b…, or a constant C++ expression.", "0x0003028000000000")
    ],
    m: Annotated[NumberText, Query(description="M of the product: 32, 64 or 128.")] = "128",
    n: Annotated[NumberText, Query(description="N of the product: 64, 128 or 256.")] = "128",
) -> Response:
    """A zero-column mask descriptor taken apart, and the columns of B that it makes zero."""
    return encode_json_body(facts.parse_mask(value, m or "128", n or "128"))
