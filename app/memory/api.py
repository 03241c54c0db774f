"""The JSON API of shared memory and descriptors."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from starlette.responses import Response

from lanescope.app.kit.api import Given, StrictRoute, describe_body, make_path_parameter
from lanescope.app.kit.api import make_word_parameter as word_of
from lanescope.app.kit.wire import encode_json_body
from lanescope.app.memory import descriptors
from lanescope.app.memory.descriptors import Decoded, Encoded, Reads, Verified
from lanescope.app.memory.schemas import EncodeBody, ReadsBody, VerifyBody
from lanescope.ptx.table import descriptors as descriptor_formats

FORMATS = tuple(row.name for row in descriptor_formats.FORMATS)
router = APIRouter(prefix="/api/v1", tags=["v1"], route_class=StrictRoute)


@router.post(
    "/descriptors/encode", responses={200: {"model": Encoded}}, openapi_extra=describe_body("EncodeBody", EncodeBody)
)
def encode(given: Given) -> Response:
    """A descriptor from its amounts in bytes."""
    return encode_json_body(descriptors.encode_descriptor(given))


@router.post(
    "/descriptors/reads", responses={200: {"model": Reads}}, openapi_extra=describe_body("ReadsBody", ReadsBody)
)
def reads(given: Given) -> Response:
    """The absolute byte address the hardware reads for every element."""
    return encode_json_body(descriptors.build_reads(given))


@router.post(
    "/descriptors/verify", responses={200: {"model": Verified}}, openapi_extra=describe_body("VerifyBody", VerifyBody)
)
def verify(given: Given) -> Response:
    """Does the descriptor read the tile where the program stored it? With a diagnosis and a repair where it
    does not.
    """
    return encode_json_body(descriptors.build_verified(given))


@router.get("/descriptors/{word:path}", responses={200: {"model": Decoded}})
def decode(
    word: Annotated[
        str,
        make_path_parameter(
            "64 bits: hex, 0b…, 0d… for decimal, hi:lo, {lo, hi}, or a constant C++ expression.", "0x4000004004000101"
        ),
    ],
    format: Annotated[str, word_of(FORMATS, "Who reads it: wgmma, or tcgen05.")] = "",
) -> Response:
    """A descriptor taken apart."""
    return encode_json_body(descriptors.decode_text(word, descriptors.find_format({"format": format or FORMATS[0]})))
