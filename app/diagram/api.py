"""Pictures at stable addresses: /i/{ptx}[/{operand}].{form}, /smem.{form}, /descriptor/wgmma/{word}.{form}. The same
bytes every time.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.convertors import StringConvertor, register_url_convertor
from starlette.responses import Response

from lanescope.app.diagram import forms as pictures
from lanescope.app.diagram import verdicts
from lanescope.app.diagram.options import DIAGRAM, DRAWN
from lanescope.app.instruction import facts as about
from lanescope.app.instruction.facts import Detail, OperandMap
from lanescope.app.instruction.state import with_descriptor
from lanescope.app.kit.api import ApiRoute, Ptx, defaults_of, parameters_of, part, query, word
from lanescope.app.kit.media import FORMS
from lanescope.app.kit.picture import Drawing, servable
from lanescope.app.kit.wire import Body, json_body, picture
from lanescope.app.memory.descriptors import Decoded, Verified, parse_descriptor
from lanescope.app.memory.facts import Tile, TileQuestion
from lanescope.app.memory.options import LOOK, VERDICT
from lanescope.descriptor.format import Format as DescriptorFormat
from lanescope.descriptor.matrix import Descriptor
from lanescope.ptx import catalog
from lanescope.ptx.table.descriptors import FORMATS as DESCRIPTORS
from lanescope.render import cuda
from lanescope.render import ptx as syntax
from lanescope.render.diagram import WORDS
from lanescope.render.palette import PALETTES
from lanescope.render.view import LABELS

PROGRAM = "cu"
KNOWN = {
    "plain": ("0", "1"),
    "label": LABELS,
    "theme": PALETTES,
    "lang": WORDS,
    "legend": ("0", "1"),
    "caption": ("0", "1"),
    "embed": ("0", "1"),
}
PIN = {
    "pin": "matrix:row,column, as in the page's address",
    "idesc": "the instruction descriptor of a tcgen05.mma: its word, or a wish as in m=128,n=64,a=bf16",
}


OF_DESCRIPTOR = """\
The 64 bits of a descriptor with their fields. With an instruction or a storage in the query, as the page's
address has them: what the instruction reads beside the tile as it is stored, right and wrong cells marked; csv then
says it of every element, json is the answer of POST /api/v1/descriptors/verify.
"""


class FormConvertor(StringConvertor):
    """The ending of an address that is a picture: PTX texts have dots, too."""

    regex = "|".join((*FORMS, PROGRAM))


register_url_convertor("form", FormConvertor())


def later(drawing: Drawing) -> Drawing:
    """Drawn by a process of its own, once the route has answered; LayoutError where that would be too much for one
    request.
    """
    return servable(drawing)


router = APIRouter(tags=["pictures"], route_class=ApiRoute, default_response_class=Response)


def gives(model: Any, forms: dict[str, str] = FORMS) -> Any:
    """The answers of a picture route: bytes by media type, and JSON by its model."""
    content: dict[str, Any] = {
        media.partition(";")[0]: {"schema": {"type": "string", "format": "binary"}} for media in forms.values()
    }
    return {
        200: {
            "description": "The picture in the form of the ending.",
            "model": model,
            "content": content | {"application/json": {}},
        }
    }


def option(name: str, says: str) -> Any:
    """The type of one option of a picture."""
    return Annotated[str, word(filter(None, KNOWN[name]), says) if name in KNOWN else Query(description=says)]


Form = Annotated[str, part("The form.", known=FORMS)]
FRAGMENT = {name: option(name, says) for name, says in (DIAGRAM | PIN).items()}
DRAWING = {name: option(name, DIAGRAM[name]) for name in DRAWN}
Fragment = Annotated[dict[str, str], query(FRAGMENT)]
Bits = Annotated[
    dict[str, str],
    query(
        DRAWING
        | {"rows": option("rows", "of the verdict's operand, a window: 0-15")}
        | {name: Annotated[str, Query(description=says)] for name, says in VERDICT.items()}
    ),
]
TileDrawing = Annotated[
    dict[str, str],
    query(
        parameters_of(TileQuestion) | DRAWING | {name: option(name, says) for name, (_, says) in LOOK.items()},
        defaults_of(TileQuestion),
    ),
]


@router.get("/i/{ptx}/{operand}.{form:form}", responses=gives(OperandMap))
def operand_picture(
    ptx: Ptx, operand: Annotated[str, part("One operand in registers.", "a")], form: Form, given: Fragment
) -> Response:
    """One operand of an instruction as a picture, a table or text; json is its map."""
    found = catalog.find(ptx)
    found = about.found(ptx, given.get("idesc", "")) if form == "json" else with_descriptor(found, given)
    if form == "json":
        pictures.check(form, found, given)
        return json_body(about.operand_map(found, found.operand(operand)))
    shown = found.operand(operand)
    return picture(*pictures.instruction(form, found, shown, given, draw=later))


@router.get("/i/{ptx}.{form:form}", responses=gives(Detail, FORMS | {PROGRAM: "text/plain"}))
def instruction_picture(
    ptx: Ptx,
    form: Annotated[str, part("The form; cu is a program that runs it.", known=(*FORMS, PROGRAM))],
    given: Fragment,
) -> Response:
    """All operands of an instruction as in a product; txt is its PTX syntax, cu a CUDA program, json what
    /api/v1/instructions/{ptx} says.
    """
    found = catalog.find(ptx)
    found = about.found(ptx, given.get("idesc", "")) if form == "json" else with_descriptor(found, given)
    pictures.check("svg" if form == PROGRAM else form, found, given)
    if form == "json":
        return json_body(about.detail(found))
    if form in (PROGRAM, "txt"):
        written = cuda.program(found) if form == PROGRAM else syntax.syntax(found)
        return Body(written.encode(), FORMS["txt"])
    return picture(*pictures.instruction(form, found, None, given, draw=later))


@router.get("/smem.{form}", responses=gives(Tile))
def tile_picture(form: Form, given: TileDrawing) -> Response:
    """A tile in shared memory: logical and memory picture with LBO and SBO; txt, md, csv say where every element
    (chunk) lies.
    """
    return picture(*pictures.tile(form, given, draw=later))


def _of_format(row: DescriptorFormat) -> None:
    """The pictures of one format's words."""

    def made(word: str, form: Form, given: Bits) -> Response:
        return _described(form, parse_descriptor(word, row), given)

    said = part("64 bits: hex, 0b…, 0d… for decimal, or a constant C++ expression.", row.documented)
    made.__annotations__["word"] = Annotated[str, said]
    made.__name__ = "descriptor_picture" if row.usual else f"{row.name}_picture"
    made.__doc__ = OF_DESCRIPTOR if row.usual else f"The same of a {row.name} descriptor."
    router.get(f"/descriptor/{row.name}/{{word:path}}.{{form:form}}", responses=gives(Decoded | Verified))(made)


for _row in DESCRIPTORS:
    _of_format(_row)


def _described(form: str, word: Descriptor, given: dict[str, str]) -> Response:
    make = verdicts.made if verdicts.asked(given) else pictures.descriptor
    return picture(*make(form, word, given, draw=later))
