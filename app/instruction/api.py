"""GET /instructions/{ptx} and the map of an operand."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from lanescope.app.instruction import facts as about
from lanescope.app.instruction.facts import AddressMap, Detail, OperandMap, ScaleMap
from lanescope.app.kit.api import Ptx, StrictRoute, make_path_parameter, make_text_parameter, make_word_parameter
from lanescope.app.kit.schemas import NumberText
from lanescope.app.kit.wire import encode_json_body
from lanescope.inputs import parse_integer
from lanescope.ptx import catalog
from lanescope.ptx.targets import TARGETS

router = APIRouter(prefix="/api/v1", tags=["v1"], route_class=StrictRoute)
Idesc = Annotated[
    str,
    make_text_parameter(
        "The instruction descriptor of a tcgen05.mma: its word, or fields of it.", "0x08400490", "m=128,n=64,a=bf16"
    ),
]
TargetName = Annotated[str, make_word_parameter(TARGETS, "A target; an instruction that it lacks is refused.")]
LETTERS = sorted({name for row in catalog.families() for name in row.operand_names})


@router.get("/instructions/{ptx}", responses={200: {"model": Detail}})
def instruction(
    ptx: Ptx,
    idesc: Idesc = "",
    pointer: Annotated[
        str, make_text_parameter("A wmma.load's or wmma.store's pointer, judged under memory.check.", "0x20")
    ] = "",
    ldm: Annotated[str, make_text_parameter("Its leading dimension in elements.", "24")] = "",
    target: TargetName = "",
) -> Response:
    """Return one instruction by its PTX text, with or without `.sync.aligned`; for an unknown one the error names the
    nearest legal ones. A tcgen05.mma takes its instruction descriptor, which defines M, N, types and operands. A
    wmma.load or wmma.store takes a pointer and an ldm, which are checked against PTX and the CUDA C++ guide.
    """
    return encode_json_body(about.build_detail(about.find_instruction(ptx, idesc, target), pointer, ldm))


@router.get("/instructions/{ptx}/operands/{name}", responses={200: {"model": OperandMap | ScaleMap | AddressMap}})
def operand(
    ptx: Ptx,
    name: Annotated[
        str, make_path_parameter("The operand; /instructions/{ptx} lists those of an instruction.", known=LETTERS)
    ],
    *,
    selector: Annotated[NumberText, Query(description="Which lanes supply a sparse A's metadata.")] = "0",
    byte_id: Annotated[NumberText, Query(description="Which byte of the register holds the scale factors.")] = "0",
    thread_id: Annotated[NumberText, Query(description="Which threads of each group of four supply them.")] = "0",
    idesc: Idesc = "",
    target: TargetName = "",
) -> Response:
    """Return one operand's map: which element every thread and value holds (a, b, c, d, data), which lane and byte
    supplies a scale factor (scale_a, scale_b), or which row's address a lane supplies (address). A sparse A takes the
    sparsity selector.
    """
    selections = {
        key: parse_integer(text or 0, key)
        for key, text in (("selector", selector), ("byte_id", byte_id), ("thread_id", thread_id))
    }
    return encode_json_body(about.build_map(about.find_instruction(ptx, idesc, target), name, **selections))
