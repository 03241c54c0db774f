"""/compare: two operands side by side with the elements that moved."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from lanescope.app.compare.facts import compare
from lanescope.app.kit import links
from lanescope.app.kit.api import OffLoop
from lanescope.app.kit.asked import operand
from lanescope.app.kit.draw import marked
from lanescope.app.kit.page import page
from lanescope.errors import LayoutError
from lanescope.render.palette import BOTH, MOVED, REORDERED, RIGHT
from lanescope.render.view import Grid

router = APIRouter(include_in_schema=False, route_class=OffLoop)


@router.get("/compare")
def compare_page(request: Request) -> Response:
    """Two operands side by side with the elements that moved."""
    default = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32/a"
    given = {
        "left": request.query_params.get("left") or default,
        "right": request.query_params.get("right") or "wmma.load.a.sync.aligned.row.m16n16k16.f16/a",
    }
    context: dict[str, Any] = {"given": given, "error": None}
    try:
        sides = [operand(given[side], side) for side in ("left", "right")]
        facts = compare(sides[0][1], sides[1][1])
        drawings = [
            marked(
                Grid(op),
                facts.moved,
                Grid(op).labels("lane:value"),
                f"{op.name.upper()} of {i.ptx}",
                {
                    RIGHT: "same lane, same value",
                    REORDERED: "same lane, another value",
                    MOVED: "another lane",
                    BOTH: "held more often on one side",
                },
            )
            for i, op in sides
        ]
        context |= {
            "facts": facts,
            "swapped": links.compare(given["right"], given["left"]),
            "reuse": links.reuse(sides[0][0], sides[1][0])
            if {"a", "d"} <= set(sides[0][0].operands) & set(sides[1][0].operands)
            else "",
            "sides": [
                {"ptx": i.ptx, "op": op, "svg": drawing} for (i, op), drawing in zip(sides, drawings, strict=True)
            ],
        }
    except LayoutError as error:
        context["error"] = error
    return page(request, "compare/page.html", context, 422 if context["error"] else 200)
