"""Words and numbers: what the models of every feature's bodies are made of."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema
from typing_extensions import TypeAliasType

from lanescope.cute.layout import LONGEST
from lanescope.inputs import LONGEST_NUMBER, LONGEST_TEXT, PATTERN

PTX = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
WGMMA = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"


class ClosedModel(BaseModel):
    """An object that has these keys and no other. Its schema is made with the document, not as the server starts."""

    model_config = ConfigDict(extra="forbid", defer_build=True)


CuteText = Annotated[str, Field(max_length=LONGEST)]
PtxText = TypeAliasType(
    "PtxText",
    Annotated[
        str,
        WithJsonSchema(
            {
                "type": "string",
                "maxLength": LONGEST_TEXT,
                "description": (
                    "An instruction as PTX spells it, with or without `.sync.aligned`; an operand list behind it is"
                    " left out."
                ),
                "examples": [PTX, WGMMA],
            }
        ),
    ],
)
_SPELLED = [
    {"type": "integer", "minimum": 0, "maximum": (1 << 64) - 1},
    {"type": "string", "pattern": PATTERN, "maxLength": LONGEST_NUMBER},
]
_NUMBERS = "in decimal, 0x… or 0b…, with _ or ' between digits and C's suffixes"


def _number_type(name: str, spellings: list[dict[str, Any]], says: str, *examples: int | str) -> Any:
    schema = {"anyOf": spellings, "description": says, "examples": list(examples)}
    return TypeAliasType(name, Annotated[int | str, WithJsonSchema(schema)])


Number = _number_type(
    "Number",
    _SPELLED,
    f"An integer from 0: a JSON integer, or text {_NUMBERS}.",
    4096,
    "0x1000",
    "0b1000",
    "4'096ull",
)
NumberText = _number_type(
    "NumberText", [*_SPELLED, {"const": ""}], f"An integer from 0 {_NUMBERS}; empty for the default.", "64", "0x40"
)
ByThread = Annotated[list[list[int]], Field(description="[thread][value]")]
Grid = list[list[int]]
