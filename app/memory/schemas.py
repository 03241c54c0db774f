"""Tiles in shared memory and wgmma's matrix descriptors: bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from pydantic import Field, WithJsonSchema
from typing_extensions import TypeAliasType

from lanescope.app.kit.enumerations import FormatName, Major, Order, SwizzledBy, SwizzleMode, make_word_enum
from lanescope.app.kit.fact import GIVEN
from lanescope.app.kit.schemas import ClosedModel, Number, PtxText
from lanescope.cute import layout as cute
from lanescope.cxx.expression import LONGEST
from lanescope.shared.storage import UNITS

if TYPE_CHECKING:
    Unit: TypeAlias = str
else:
    Unit = make_word_enum("Unit", UNITS, "What a CuTe layout counts in.")

# storages -------------------------------------------------------------------------------------------------------------


class CanonicalStorage(ClosedModel):
    """The tile of GET /smem/tile."""

    kind: Literal["canonical"]
    element_bits: Number = Field(default=16, description="The instruction's, where it is left out.")
    major: Major = Field(default=Major("K"), description="The request's, where it is left out.")
    swizzle: SwizzleMode = SwizzleMode("none")
    swizzle_by: SwizzledBy = SwizzledBy("address")
    mn: Number
    k: Number
    order: Order | Literal[""] = ""
    base: Number = 0


class LinesStorage(ClosedModel):
    inner: Major = Field(
        default=Major("K"),
        description=(
            "The dimension that is contiguous; lines run along the other. The request's major, where it is left out."
        ),
    )
    swizzle: SwizzleMode = SwizzleMode("none")
    swizzle_by: SwizzledBy = SwizzledBy("address")
    base: Number = 0


class AtomsStorage(LinesStorage):
    """Panels: line n and inner byte b lie at base + (n div 8)·outer8_stride + (n mod 8)·line_stride + (b div
    width_bytes)·inner_stride + b mod width_bytes, then the XOR."""

    kind: Literal["atoms"]
    width_bytes: Number
    outer8_stride: Number
    inner_stride: Number = 0
    line_stride: Number = Field(default=128, description="width_bytes, where it is left out.")


class RowsStorage(LinesStorage):
    """Line n and inner byte b lie at base + n·pitch_bytes + b, then the XOR."""

    kind: Literal["rows"]
    pitch_bytes: Number


class CuteStorage(ClosedModel):
    """A CuTe layout of (mn, k)."""

    kind: Literal["cute"]
    layout: str = Field(max_length=cute.LONGEST, examples=["Sw<3,4,3> o ((8,8),(8,2)):((8,64),(1,512))"])
    unit: Unit = Unit(UNITS[0])
    base: Number = 0


Storage = Annotated[
    CanonicalStorage | AtomsStorage | RowsStorage | CuteStorage,
    Field(discriminator="kind", description="Where the program put element (mn, k)."),
]


# descriptors ----------------------------------------------------------------------------------------------------------


class EncodeBody(ClosedModel):
    """Amounts in bytes; the encoded fields are bytes ÷ 16."""

    start_address: Number = 0
    lbo_bytes: Number = 0
    sbo_bytes: Number = 0
    base_offset: Number = 0
    swizzle: SwizzleMode = SwizzleMode("none")
    format: FormatName = FormatName("wgmma")
    version: Number = Field(default=1, description="tcgen05's: 1 in every word.")
    lbo_mode: Number = Field(default=0, description="tcgen05's: 1 where LBO is an absolute address.")


DescriptorText = TypeAliasType(
    "DescriptorText",
    Annotated[
        str | int,
        WithJsonSchema(
            {
                "anyOf": [
                    {"type": "string", "maxLength": LONGEST},
                    {"type": "integer", "minimum": 0, "maximum": (1 << 64) - 1},
                ],
                "description": (
                    "64 bits: hex, 0b…, 0d… for decimal, hi:lo, {lo, hi}, or a constant C++ expression. "
                    "As a JSON number most programs lose its low bits."
                ),
                "examples": ["0x4000004000010100", "1ull << 62 | 64ull << 32 | 0x100"],
            }
        ),
    ],
)


class ReadsBody(ClosedModel):
    """A descriptor and the instruction that reads through it."""

    descriptor: DescriptorText
    instruction: PtxText = Field(examples=["wgmma.mma_async.m64n64k16.f32.f16.f16"])
    operand: Literal["a", "b"] = "a"
    major: Major = Field(default=Major("K"), description="tcgen05: as the instruction descriptor says, or left out.")
    format: FormatName = FormatName("wgmma")
    idesc: DescriptorText = Field(default="", description="tcgen05's instruction descriptor, which says M and N.")


class Slice(ClosedModel):
    """Where the instruction's slice begins in the stored tile, in elements."""

    mn: Number = 0
    k: Number = 0


class VerifyBody(ReadsBody):
    """A descriptor, the instruction that reads through it, and where the program stored the tile."""

    storage: Storage = Field(
        default_factory=CanonicalStorage.model_construct,
        description="Without one there is no verdict, only the standard tiles that the word reads.",
    )
    slice: Slice = Slice()


GIVEN.update({"Storage": Storage, "Slice": Slice})
