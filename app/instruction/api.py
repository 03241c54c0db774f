"""The JSON API of the catalogue: the listing, an instruction, the map of an operand."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from app.catalogue import topics
from app.catalogue.schemas import Topics
from app.instruction import facts as payload
from app.instruction.schemas import AddressMap, Detail, Listing, OperandMap, ScaleMap
from app.kit.api import ApiRoute, Ptx, part, text, word
from app.kit.schemas import ElementType, Family, NumberText, Target
from app.kit.wire import json_body
from layouts import catalog
from layouts.errors import LayoutError
from layouts.reading import number, shown

router = APIRouter(prefix="/api/v1", tags=["v1"], route_class=ApiRoute)
MOST_Q = 2000
SHAPE = re.compile(r"^([mM][0-9]{1,4})?([nN][0-9]{1,4})?([kK][0-9]{1,4})?$")
LETTERS = sorted({name for i in catalog.instructions() for name in i.operand_names})


@router.get("/instructions", responses={200: {"model": Listing}})
def instructions(
    family: Annotated[str, word(Family, "One family.")] = "",
    type: Annotated[str, word(ElementType, "The element type of some operand.")] = "",
    target: Annotated[str, word(Target, "An architecture that ptxas assembles it for.")] = "",
    shape: Annotated[str, text("A whole shape, or a part of one.", "m16n8k16", "k16", pattern=SHAPE.pattern)] = "",
    q: Annotated[
        str, text("Beginnings of words of the PTX text, or a whole line as pasted.", "m16n8k16 bf16", "wgmma sp", most=MOST_Q)
    ] = "",
) -> Response:
    """Every instruction, narrowed by family, operand type, target, shape (m16n8k16 or k16) and words of its PTX text."""
    if shape and not SHAPE.fullmatch(shape):
        raise LayoutError("bad_filter", f"No shape '{shown(shape)}'.", "A shape as m16n8k16, or a part of one: k16.", "shape")
    if len(q) > MOST_Q:
        raise LayoutError("bad_filter", f"q has {len(q)} characters.", f"At most {MOST_Q}.", "q")
    return json_body(payload.listing(family=family, type=type, target=target, shape=shape, q=q))


@router.get("/instructions/{ptx}", responses={200: {"model": Detail}})
def instruction(ptx: Ptx) -> Response:
    """One instruction by its PTX text, with or without `.sync.aligned`; an unknown one is answered with the nearest legal."""
    return json_body(payload.detail(catalog.find(ptx)))


@router.get("/instructions/{ptx}/operands/{name}", responses={200: {"model": OperandMap | ScaleMap | AddressMap}})
def operand(
    ptx: Ptx,
    name: Annotated[str, part("The operand; /instructions/{ptx} lists those of an instruction.", known=LETTERS)],
    selector: Annotated[NumberText, Query(description="Which lanes supply a sparse A's metadata.")] = "0",
    byte_id: Annotated[NumberText, Query(description="Which byte of the register holds the scale factors.")] = "0",
    thread_id: Annotated[NumberText, Query(description="Which threads of each group of four supply them.")] = "0",
) -> Response:
    """One operand's map: which element every thread and value holds (a, b, c, d, data), which lane and byte supplies a scale
    factor (scale_a, scale_b), or which row's address a lane supplies (address). A sparse A takes the sparsity selector."""
    chosen = {key: number(given or 0, key) for key, given in (("selector", selector), ("byte_id", byte_id), ("thread_id", thread_id))}
    return json_body(payload.any_operand(catalog.find(ptx), name, **chosen))


@router.get("/topics", responses={200: {"model": Topics}})
def topic_search(
    q: Annotated[
        str,
        text("What to look for: words, or code that names a page; every topic when left out.", "wait_group", "ldm alignment", most=MOST_Q),
    ] = "",
) -> Response:
    """Pages that explain something, found by a name in the text or by words: what the search shows beside instructions."""
    if len(q) > MOST_Q:
        raise LayoutError("bad_filter", f"q has {len(q)} characters.", f"At most {MOST_Q}.", "q")
    found = topics.find(q) if q.strip() else topics.topics()
    return json_body({"count": len(found), "topics": [topic.facts for topic in found]})
