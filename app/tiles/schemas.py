"""Whole tiles: bodies."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from lanescope.app.kit.enumerations import Major
from lanescope.app.kit.schemas import ClosedModel, CuteText, Number
from lanescope.app.memory.schemas import Storage
from lanescope.app.tiles.questions import TiledMmaBody


class TiledCopyBody(ClosedModel):
    """make_tiled_copy(atom, thr_layout, val_layout), or make_tiled_copy_A, _B, _C of a TiledMMA's operand."""

    atom: str = Field(
        default="universal",
        description="universal, cp.async, ldmatrix and stmatrix as PTX or CUTLASS spells them, the text of a whole"
        " TiledCopy as print shows it, or SM90_TMA_LOAD, SM90_TMA_LOAD_MULTICAST, SM90_TMA_STORE,"
        " SM90_TMA_REDUCE_ADD with a storage.",
    )
    bits: Number | None = Field(default=None, description="Of one access of universal and cp.async.")
    element_bits: Number | None = Field(default=None, description="16, or those of the TiledMMA's operand.")
    thr_layout: CuteText | list[int] | None = Field(
        default=None, description="Coordinates → thread.", examples=["(32,4):(4,1)"]
    )
    val_layout: CuteText | list[int] | None = Field(
        default=None, description="Coordinates → value.", examples=["(1,8)"]
    )
    tiled_mma: TiledMmaBody | None = None
    operand: Literal["a", "b", "c", "c_atom"] = Field(
        default="a", description="c_atom: make_tiled_copy_C_atom, the values of one copy atom."
    )
    layout_tv: CuteText | None = Field(
        default=None,
        description="Instead: (thread, value) → element of tiler_mn, as print(tiled_copy) shows it.",
        examples=["((4,8,2,2),((2,2,2),(1,1))):((64,1,16,0),((32,8,256),(0,0)))"],
    )
    tiler_mn: CuteText | None = Field(
        default=None, description="Rows and columns that layout_tv is over: sizes or layouts.", examples=["(32,16)"]
    )
    like: dict[str, Any] | None = Field(
        default=None,
        description="Instead: another TiledCopy (a body as this one), as make_tiled_copy_S and _D have it.",
    )
    side: Literal["S", "D"] = Field(default="S", description="With like: its source's or its destination's layout.")
    tile: list[Number] = Field(min_length=2, max_length=2, description="Rows and columns; of B n and k.")
    storage: Storage | None = Field(default=None, description="Where shared memory has (row, column) of the tile.")
    major: Major = Field(default=Major("K"), description="The storage's, where it is left out.")
    multicast: Number | None = Field(default=None, description="Of SM90_TMA_LOAD_MULTICAST: the CTAs that share it.")
    shared: Literal["source", "destination"] | None = Field(
        default=None, description="Which side the storage is: ldmatrix's source, else the destination."
    )
    global_: CuteText | None = Field(
        default=None,
        alias="global",
        description="The other side: a CuTe layout (row, column) → element in global memory.",
    )


class StoreOfLoop(ClosedModel):
    """The TiledCopy that fills shared memory; its tile is the operand's."""

    atom: str = Field(default="universal", description="cp.async or universal.")
    bits: Number | None = Field(default=None, description="Of one access.")
    element_bits: Number | None = Field(default=None, description="Those of the operand.")
    thr_layout: CuteText | list[int] = Field(description="Coordinates → thread.", examples=["(16,8):(8,1)"])
    val_layout: CuteText | list[int] | None = Field(
        default=None, description="Coordinates → value.", examples=["(1,8)"]
    )


class OperandOfLoop(ClosedModel):
    """How A or B is stored in shared memory and loaded from it; rows are m or n."""

    store: StoreOfLoop | None = Field(default=None, description="Left out: the tile is there.")
    storage: Storage = Field(description="Where shared memory has (row, k).")
    major: Major = Field(default=Major("K"), description="The storage's, where it is left out.")
    load: str = Field(
        default="ldmatrix.m8n8.x4.shared.b16", description="ldmatrix as PTX or CUTLASS spells it, or universal."
    )
    loaded_from: Storage | None = Field(
        default=None, description="The storage by which the load computes addresses, where it is another one."
    )
    global_: CuteText | None = Field(
        default=None, alias="global", description="Global memory: a CuTe layout (row, k) → element, for its sectors."
    )


class LoopBody(ClosedModel):
    """A TiledMMA over a tile, and the way of its operands."""

    tiled_mma: TiledMmaBody
    a: OperandOfLoop | None = None
    b: OperandOfLoop | None = None
    k: Number | None = Field(default=None, description="All of K, a multiple of the tile's: what the whole loop pays.")
