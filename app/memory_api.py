"""The JSON API of shared memory and descriptors."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Body, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from app import memory
from app.wire import Cache, dumps
from layouts.errors import LayoutError

router = APIRouter(prefix="/api/v1", tags=["v1"])
CACHE = Cache(256)
Given = Body(examples=[{}])


def _json(content: Any) -> Response:
    return Response(dumps(content), media_type="application/json")


@router.get("/smem/tile")
async def tile(request: Request) -> Response:
    """Where every element of a tile lies: element_bits, major (K|MN), swizzle, mn, k, rows, order (mn|k), base."""
    given = dict(request.query_params)
    unknown = set(given) - set(memory.TILE_FIELDS)
    if unknown:
        raise LayoutError(
            "bad_filter", f"No parameter '{min(unknown)[:60]}'.", f"Allowed: {', '.join(memory.TILE_FIELDS)}.", min(unknown)[:60]
        )
    key = ("tile", *sorted(given.items()))
    return CACHE.json(key, lambda: memory.tile_facts(*memory.tile_of(given))).respond(request)


@router.post("/descriptors/encode")
async def encode(given: dict[str, Any] = Given) -> Response:
    """A descriptor from start_address, lbo_bytes, sbo_bytes, base_offset and swizzle."""
    return _json(memory.encode(given))


@router.post("/descriptors/reads")
async def reads(given: dict[str, Any] = Given) -> Response:
    """The absolute byte address the hardware reads for every element: descriptor, instruction, operand, major."""
    return _json(memory.reads_facts(given))


@router.post("/descriptors/verify")
async def verify(given: dict[str, Any] = Given) -> Response:
    """Does the descriptor read the tile where the program stored it? With a diagnosis and a repair where it does not."""
    return _json(await run_in_threadpool(memory.verify_facts, given))


@router.get("/descriptors/{word}")
async def decode(word: str) -> Response:
    """A descriptor taken apart: hex, 0b…, 0d… for decimal, or a constant expression of shifts and ORs."""
    return _json(memory.descriptor_facts(memory.parse_descriptor(word)))
