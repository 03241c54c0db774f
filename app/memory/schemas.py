"""Tiles in shared memory and wgmma's matrix descriptors: bodies and answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from pydantic import Field, WithJsonSchema
from typing_extensions import TypeAliasType

from app.kit.names import Major, Order, SwizzledBy, SwizzleMode, words
from app.kit.schemas import Closed, Grid, Number, PtxText, Word64
from layouts import cute
from layouts.expression import LONGEST
from layouts.storage import UNITS

if TYPE_CHECKING:
    Unit: TypeAlias = str
else:
    Unit = words("Unit", UNITS, "What a CuTe layout counts in.")

# storages -------------------------------------------------------------------------------------------------------------


class CanonicalStorage(Closed):
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


class Lines(Closed):
    inner: Major = Field(
        default=Major("K"),
        description=(
            "The dimension that is contiguous; lines run along the other. The request's major, where it is left out."
        ),
    )
    swizzle: SwizzleMode = SwizzleMode("none")
    swizzle_by: SwizzledBy = SwizzledBy("address")
    base: Number = 0


class AtomsStorage(Lines):
    """Panels: line n and inner byte b lie at base + (n div 8)·outer8_stride + (n mod 8)·line_stride + (b div
    width_bytes)·inner_stride + b mod width_bytes, then the XOR."""

    kind: Literal["atoms"]
    width_bytes: Number
    outer8_stride: Number
    inner_stride: Number = 0
    line_stride: Number = Field(default=128, description="width_bytes, where it is left out.")


class RowsStorage(Lines):
    """Line n and inner byte b lie at base + n·pitch_bytes + b, then the XOR."""

    kind: Literal["rows"]
    pitch_bytes: Number


class CuteStorage(Closed):
    """A CuTe layout of (mn, k)."""

    kind: Literal["cute"]
    layout: str = Field(max_length=cute.LONGEST, examples=["Sw<3,4,3> o ((8,8),(8,2)):((8,64),(1,512))"])
    unit: Unit = Unit(UNITS[0])
    base: Number = 0


Storage = Annotated[
    CanonicalStorage | AtomsStorage | RowsStorage | CuteStorage,
    Field(discriminator="kind", description="Where the program put element (mn, k)."),
]


# tiles ----------------------------------------------------------------------------------------------------------------


class Count(Closed):
    mn: int
    k: int


class Atom(Closed):
    """The swizzle pattern's block in elements, and how many of them the tile has each way."""

    mn: int
    k: int
    bytes: int
    count: Count


class CuteTexts(Closed):
    """The tile's layout in CuTe's notation, in four units."""

    chunks: str
    elements: str
    bytes: str
    bits: str


class KStep(Closed):
    """The start of one instruction's slice along K."""

    k: int
    start_offset_bytes: int
    descriptor: Word64
    why: str


class MnStep(Closed):
    """The start of one instruction's slice along M or N; nulls where no descriptor reads it, and why."""

    mn: int
    start_offset_bytes: int | None = Field(description="null where no instruction can begin there, as why says.")
    descriptor: Word64 | None
    why: str


class TmaBox(Closed):
    """The box of a TMA tensor map that writes the tile, innermost dimension first."""

    inner: Major
    box: list[int]
    boxes: int
    interleave: str
    swizzle: SwizzleMode
    swizzle_code: int
    note: str


class Tile(Closed):
    """Where every element of a tile lies, and the descriptor's strides for it."""

    atom: Atom
    cute: CuteTexts
    swizzle: SwizzleMode
    order: Order
    rows: int = Field(description="Rows (M or N) of one instruction.")
    bytes: int
    offset_bytes: Grid = Field(description="[mn][k], from the tile's start.")
    lbo_bytes: int
    sbo_bytes: int
    lbo_used: bool
    sbo_used: bool
    unused: dict[str, str] = Field(description="Why a stride is not read.")
    k_steps: list[KStep]
    mn_steps: list[MnStep]
    descriptor: Word64
    tma_box: TmaBox


# descriptors ----------------------------------------------------------------------------------------------------------


class EncodeBody(Closed):
    """Amounts in bytes; the encoded fields are bytes ÷ 16."""

    start_address: Number = 0
    lbo_bytes: Number = 0
    sbo_bytes: Number = 0
    base_offset: Number = 0
    swizzle: SwizzleMode = SwizzleMode("none")


class DescriptorField(Closed):
    """One bit field."""

    name: str
    low: int = Field(ge=0, le=63)
    high: int = Field(ge=0, le=63)
    encoded: int
    unit: int = Field(description="Bytes (or 1) that an encoded 1 stands for.")
    amount: int
    meaning: str


class Encoded(Closed):
    descriptor: Word64
    fields: list[DescriptorField]


class DescriptorWarning(Closed):
    """A rule across fields to check; not an error in itself."""

    code: str
    field: str
    message: str
    source: str


class DescriptorCode(Closed):
    """The descriptor as CUDA C++."""

    constant: str
    function: str
    cutlass: str


class Decoded(Encoded):
    """A descriptor taken apart."""

    start_address: int
    lbo_bytes: int
    sbo_bytes: int
    base_offset: int
    swizzle: SwizzleMode
    reserved: Word64 = Field(description="The bits that no field covers.")
    warnings: list[DescriptorWarning]
    code: DescriptorCode


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


class ReadsBody(Closed):
    """A descriptor and the instruction that reads through it."""

    descriptor: DescriptorText
    instruction: PtxText = Field(examples=["wgmma.mma_async.m64n64k16.f32.f16.f16"])
    operand: Literal["a", "b"] = "a"
    major: Major = Major("K")


class Reads(Closed):
    """The byte the hardware reads for every element."""

    descriptor: Word64
    address: Grid = Field(description="[row][k], absolute byte addresses; row is M for a, N for b.")
    first: int
    last: int
    unused: dict[str, str] = Field(description="Fields that are not read, and why.")
    bank_ways: int
    warnings: list[DescriptorWarning] = Field(description="Reads where no block has shared memory.")


class Slice(Closed):
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


class ReadMismatch(Closed):
    """The first element that is read from another place: byte addresses."""

    row: int
    k: int
    read: int
    expected: int


class Change(Closed):
    """Encoded values of a field."""

    from_: int = Field(alias="from")
    to: int


class Fix(Closed):
    """The descriptor that verifies, and its fields that differ."""

    descriptor: Word64
    changes: dict[str, Change]


class Diagnosis(Closed):
    """A named cause; the true one comes first."""

    code: str = Field(pattern="^[a-z0-9_]+$", examples=["start_wrong"])
    message: str
    fix: Fix | None
    storage: Storage | None = Field(
        description="How the tile would have to be stored instead, where the data and not the word are at fault."
    )


class Fit(Closed):
    """A standard tile, one slice of which the word reads."""

    storage: Storage
    slice: Slice
    text: str


class Verified(Closed):
    """Whether the descriptor reads the tile where the program stored it; unknown where no storage was given."""

    descriptor: Word64
    verdict: Literal["match", "mismatch", "unknown"]
    matched: int | None
    total: int
    first_mismatch: ReadMismatch | None
    diagnoses: list[Diagnosis]
    fits: list[Fit] | None = Field(
        None, description="With the verdict unknown: the tiles whose slices this word reads."
    )
    warnings: list[DescriptorWarning]
