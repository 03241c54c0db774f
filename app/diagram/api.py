"""Pictures at stable addresses: /i/{ptx}[/{operand}].{form}, /smem.{form}, /descriptor/wgmma/{word}.{form}. The same
bytes every time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.convertors import StringConvertor, register_url_convertor
from starlette.responses import Response

from lanescope.app.diagram import forms as pictures, verdicts
from lanescope.app.diagram.options import DIAGRAM, DRAWN
from lanescope.app.diagram.questions import DiagramOptions
from lanescope.app.instruction import facts as about
from lanescope.app.instruction.facts import Detail, OperandMap
from lanescope.app.instruction.state import bind_descriptor
from lanescope.app.kit.api import (
    Form,
    Ptx,
    StrictRoute,
    describe_parameters,
    describe_pictures,
    list_defaults,
    list_query_parameters,
    make_path_parameter,
    make_query_dependency,
    make_word_parameter,
)
from lanescope.app.kit.media import FORMS
from lanescope.app.kit.question import NO_YES, options_of
from lanescope.app.kit.wire import CachedBody, encode_json_body, make_picture_body
from lanescope.app.memory.descriptors import Decoded, fit_to_target, parse_descriptor
from lanescope.app.memory.facts import Tile, TileQuestion
from lanescope.app.memory.options import LOOK
from lanescope.app.memory.questions import VERDICT
from lanescope.app.memory.verdicts import Verified
from lanescope.descriptor.format import DescriptorFormat as DescriptorFormat
from lanescope.descriptor.matrix import Descriptor
from lanescope.names import lookup
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.table.descriptors import FORMATS as DESCRIPTORS
from lanescope.render import cuda, ptx as syntax

PROGRAM = "cu"
KNOWN = {"plain": tuple(NO_YES)} | {
    name: option.words for name, option in options_of(DiagramOptions).items() if option.words
}
RINGED = {
    "pin": "what has a ring: matrix:row,column, as in the page's address",
    "pin2": "a second one",
}
STATE = {
    **RINGED,
    "idesc": "the instruction descriptor of a tcgen05.mma: its word, or fields such as m=128,n=64,a=bf16",
    "target": "what ptxas compiles for: the descriptor has its fields and K there",
}


OF_DESCRIPTOR = """\
The 64 bits of a descriptor with their fields. With an instruction or a storage in the query, as the page's
address has them: what the instruction reads beside the tile as it is stored, right and wrong cells marked. csv lists
marked; csv then is the answer of POST /api/v1/descriptors/verify.
"""


class FormConvertor(StringConvertor):
    """Convert the ending of an address that is a picture; PTX texts have dots, too."""

    regex = "|".join((*FORMS, PROGRAM))


register_url_convertor("form", FormConvertor())


router = APIRouter(tags=["pictures"], route_class=StrictRoute, default_response_class=Response)


def make_option_type(name: str, description: str) -> Any:
    """Make the type of one option of a picture."""
    return Annotated[
        str,
        make_word_parameter(filter(None, KNOWN[name]), description)
        if name in KNOWN
        else Query(description=description),
    ]


FRAGMENT = {name: make_option_type(name, says) for name, says in (DIAGRAM | STATE).items()}
DRAWING = {name: make_option_type(name, DIAGRAM[name]) for name in DRAWN}
Fragment = Annotated[dict[str, str], make_query_dependency(FRAGMENT)]
Bits = Annotated[
    dict[str, str],
    make_query_dependency(
        DRAWING
        | {"rows": make_option_type("rows", "of the verdict's operand, a window: 0-15")}
        | describe_parameters(VERDICT)
    ),
]
TileDrawing = Annotated[
    dict[str, str],
    make_query_dependency(
        list_query_parameters(TileQuestion)
        | DRAWING
        | {name: make_option_type(name, says) for name, (_, says) in LOOK.items()}
        | {name: make_option_type(name, says) for name, says in RINGED.items()},
        list_defaults(TileQuestion),
    ),
]


def _bind_query(instruction: Instruction, form: str, query: Mapping[str, str]) -> Instruction:
    """Return an instruction with the descriptor and the target of a query; in a picture the usual one without one."""
    if form == "json":
        return about.find_instruction(instruction.ptx, query.get("idesc", ""), query.get("target", ""))
    return bind_descriptor(instruction, query)


@router.get("/i/{ptx}/{operand}.{form:form}", responses=describe_pictures(OperandMap))
def operand_picture(
    ptx: Ptx,
    operand: Annotated[str, make_path_parameter("One operand in registers.", "a")],
    form: Form,
    query: Fragment,
) -> Response:
    """Draw one operand of an instruction as a picture, a table or text; json is its map."""
    instruction = lookup.find(ptx)
    instruction = _bind_query(instruction, form, query)
    if form == "json":
        pictures.check_options(form, instruction, query)
        return encode_json_body(about.build_operand_map(instruction, instruction.operand(operand)))
    fragment = instruction.operand(operand)
    return make_picture_body(pictures.render_instruction(form, instruction, fragment, query), form)


@router.get("/i/{ptx}.{form:form}", responses=describe_pictures(Detail, FORMS | {PROGRAM: "text/plain"}))
def instruction_picture(
    ptx: Ptx,
    form: Annotated[str, make_path_parameter("The form; cu is a program that runs it.", known=(*FORMS, PROGRAM))],
    query: Fragment,
) -> Response:
    """Draw all operands of an instruction as in a product; txt is its PTX syntax, cu a CUDA program, json what
    /api/v1/instructions/{ptx} says.
    """
    instruction = lookup.find(ptx)
    instruction = _bind_query(instruction, form, query)
    pictures.check_options("svg" if form == PROGRAM else form, instruction, query)
    if form == "json":
        return encode_json_body(about.build_detail(instruction))
    if form in (PROGRAM, "txt"):
        text = cuda.render_program(instruction) if form == PROGRAM else syntax.render_syntax(instruction)
        return CachedBody(text.encode(), FORMS["txt"])
    return make_picture_body(pictures.render_instruction(form, instruction, None, query), form)


@router.get("/smem.{form}", responses=describe_pictures(Tile))
def tile_picture(form: Form, query: TileDrawing) -> Response:
    """Draw a tile in shared memory: logical and memory picture with LBO and SBO; txt, md, csv say where every element
    (chunk) lies.
    """
    return make_picture_body(pictures.render_tile(form, query), form)


def _add_format_route(row: DescriptorFormat) -> None:
    """Add the route of the pictures of one format's words."""

    def render_picture(word: str, form: Form, query: Bits) -> Response:
        return _render_descriptor(form, parse_descriptor(word, fit_to_target(row, query)), query)

    meaning = "64 bits: hex, 0b…, 0d… for decimal, or a constant C++ expression."
    parameter = make_path_parameter(meaning, row.documented)
    render_picture.__annotations__["word"] = Annotated[str, parameter]
    render_picture.__name__ = "descriptor_picture" if row.usual else f"{row.name}_picture"
    render_picture.__doc__ = OF_DESCRIPTOR if row.usual else f"The same of a {row.name} descriptor."
    router.get(f"/descriptor/{row.name}/{{word:path}}.{{form:form}}", responses=describe_pictures(Decoded | Verified))(
        render_picture
    )


for _row in DESCRIPTORS:
    _add_format_route(_row)


def _render_descriptor(form: str, word: Descriptor, query: dict[str, str]) -> Response:
    render = verdicts.render_query if verdicts.has_verdict_query(query) else pictures.render_descriptor
    return make_picture_body(render(form, word, query), form)
