"""The JSON API of shared memory and descriptors."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Body, Request
from starlette.responses import Response

from app import memory
from app.wire import json_body
from app.work import OffLoop
from layouts.reading import keys

router = APIRouter(prefix="/api/v1", tags=["v1"], route_class=OffLoop)
Given = Body(examples=[{}])


@router.get("/smem/tile")
def tile(request: Request) -> Response:
    """Where every element of a tile lies: element_bits, major (K|MN), swizzle, mn, k, rows, order (mn|k), base."""
    given = dict(request.query_params)
    keys(given, memory.TILE_FIELDS)
    return json_body(memory.tile_facts(*memory.tile_of(given)))


@router.post("/descriptors/encode")
def encode(given: dict[str, Any] = Given) -> Response:
    """A descriptor from start_address, lbo_bytes, sbo_bytes, base_offset and swizzle."""
    return json_body(memory.encode(given))


@router.post("/descriptors/reads")
def reads(given: dict[str, Any] = Given) -> Response:
    """The absolute byte address the hardware reads for every element: descriptor, instruction, operand, major."""
    return json_body(memory.reads_facts(given))


@router.post("/descriptors/verify")
def verify(given: dict[str, Any] = Given) -> Response:
    """Does the descriptor read the tile where the program stored it? With a diagnosis and a repair where it does not."""
    return json_body(memory.verify_facts(given))


@router.get("/descriptors/{word}")
def decode(word: str) -> Response:
    """A descriptor taken apart: hex, 0b…, 0d… for decimal, or a constant expression of shifts and ORs."""
    return json_body(memory.descriptor_facts(memory.parse_descriptor(word)))
