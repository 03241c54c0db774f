"""Questions about whole tiles, each with its name in the OpenAPI document.

The bodies of a TiledCopy and a main loop are not parsed here: most of their defaults follow from another part of
the request.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from lanescope.app.kit.enumerations import Number
from lanescope.app.kit.fact import Description
from lanescope.app.kit.memory_words import CuteText, Major, Order, SwizzleMode
from lanescope.app.kit.question import (
    declare_question,
    options_of,
    parsed_field,
    question_field,
    raw_field,
    read_question,
    word_field,
)
from lanescope.app.kit.target import target_field
from lanescope.app.memory.storage import Storage
from lanescope.errors import LayoutError
from lanescope.inputs import require_object, require_text, shorten_value
from lanescope.ptx.architectures import require_instruction, require_kind
from lanescope.ptx.table.descriptors import TCGEN05
from lanescope.tiles.arguments import parse_atom_layout, parse_permutation
from lanescope.tiles.atoms import make_mma_atom
from lanescope.tiles.mma import LETTERS, TiledMMA, parse_tile_sizes
from lanescope.tiles.text_arguments import parse_text_arguments
from lanescope.tiles.tiled_mma import tiled_mma
from lanescope.tiles.tiled_umma import is_umma, tiled_umma
from lanescope.tiles.umma import TiledUmma

ANY_ATOM = (1, 1, 1)  # sizes of an atom, if they do not matter
HINT = "{'atom': …, 'atom_layout': …, 'tile': [M, N, K]}."


def parse_sizes(text: str) -> list[str]:
    """Return the parts of 64x64x32, 64 × 64 × 32 or (64, 64, 32), whether or not they are numbers."""
    parts = [part.removeprefix("_") for part in re.split(r"\s*[x×*,;]\s*|\s+", text.strip(" ()[]")) if part]
    return parts or text.split()


def parse_layout_text(value: Any, field: str) -> str | None:
    """Return CuTe text; a list of sizes is a shape."""
    if isinstance(value, list) and all(isinstance(n, int) and not isinstance(n, bool) for n in value):
        return f"({','.join(map(str, value[:8]))})"
    return _parse_text(value, field)


def parse_atom_layout_text(value: Any, field: str) -> str | None:
    """Return AtomLayoutMNK as CuTe text. LayoutError if it is none."""
    text = parse_layout_text(value, field)
    if text and text.strip():
        parse_atom_layout(text)
    return text


def parse_permutation_text(value: Any, field: str) -> str | None:
    """Return PermutationMNK as CuTe text. LayoutError if it is none."""
    text = _parse_text(value, field)
    if text and text.strip():
        parse_permutation(text, ANY_ATOM)
    return text


def _parse_text(value: Any, field: str) -> str | None:
    return None if value in ("", None) else require_text(value, field)


def _parse_atom(value: Any, field: str) -> str:
    text = require_text(None if isinstance(value, str) and not value.strip() else value, field)
    if not is_umma(text) and parse_text_arguments("tiled_mma", text) is None:
        make_mma_atom(text)
    return text


def _parse_tile(value: Any, field: str) -> list[Any] | None:
    if value not in ("", None) and not isinstance(value, list):
        raise LayoutError("bad_tile", f"tile is {shorten_value(value)}.", "A list of three sizes: [M, N, K].", field)
    if value:
        parse_tile_sizes(value, LETTERS)
    return None if value == "" else value


@declare_question
class TiledMmaBody:
    """make_tiled_mma(atom, atom_layout, permutation) over a tile."""

    atom: str = parsed_field(
        _parse_atom,
        "Atom",
        "A PTX text, a CUTLASS name, or the text of a whole TiledMMA as print shows it. A of a wgmma is in shared"
        " memory unless the name contains _RS.",
        required=True,
        argument=True,
        examples=("SM80_16x8x16_F32F16F16F32_TN", "wgmma.mma_async.m64n128k16.f32.f16.f16"),
        size=34,
    )
    atom_layout: str | None = parsed_field(
        parse_atom_layout_text,
        "Atom layout (M, N, K)",
        "AtomLayoutMNK: how many atoms are side by side, e.g. (2,2,1) or (2,2,1):(2,1,0); one where it is left out.",
        type=CuteText | list[int] | None,
        examples=("(2,2,1)",),
        size=10,
        placeholder="(1,1,1)",
    )
    permutation: str | None = parsed_field(
        parse_permutation_text,
        "Permutation (M, N, K)",
        "PermutationMNK, a Tile of sizes, layouts and underscores, e.g. (32,32,16) or (_,(4,2):(1,8),_).",
        type=CuteText | None,
        examples=("(32,32,16)", "Tile<_64,Layout<Shape<_4,_2,_4>,Stride<_1,_32,_8>>,_16>"),
        size=14,
        placeholder="none",
    )
    tile: list[Any] | None = parsed_field(
        _parse_tile,
        "Tile (M, N, K)",
        "M, N and K: 64x64x32, in JSON [64, 64, 32]; the TiledMMA's own where it is left out.",
        split=parse_sizes,
        type=Annotated[list[Number], Description(limits={"minItems": 3, "maxItems": 3})] | None,
        size=12,
        placeholder="its own",
    )
    target: str = target_field()


@declare_question
class TiledUmmaBody(TiledMmaBody):
    """make_tiled_mma(atom, atom_layout, permutation) over a tile, with the options of a tcgen05.mma."""

    idesc: str | None = parsed_field(
        _parse_text,
        "Instruction descriptor",
        "Of a tcgen05.mma in PTX: its instruction descriptor, or fields such as m=128,n=256,a=bf16.",
        type=str | None,
        examples=("0x08400490",),
        size=16,
        placeholder="0x08400490",
    )
    a_from: str = word_field(
        ("shared", "tensor"),
        "A from",
        "Of a tcgen05.mma in PTX: where A comes from.",
        "",
        type=Literal["shared", "tensor"] | None,
        called={"": "as in the text", "shared": "shared memory", "tensor": "tensor memory"},
    )
    swizzle_a: str = word_field(
        TCGEN05.names,
        "Swizzle of A",
        "A's swizzle in shared memory; the widest that fits where it is left out.",
        "",
        type=SwizzleMode | None,
        called={"": "widest"},
    )
    swizzle_b: str = word_field(
        TCGEN05.names,
        "Swizzle of B",
        "B's swizzle in shared memory; the widest that fits where it is left out.",
        "",
        type=SwizzleMode | None,
        called={"": "widest"},
    )
    order: str = word_field(
        ("mn", "k"),
        "Atoms laid first",
        "The dimension along which the swizzle atoms are laid first; if left out, as CUTLASS's collectives lay them.",
        "",
        type=Order | None,
        called={"": "as CUTLASS", "mn": "M or N first", "k": "K first"},
    )

    @property
    def tiled_mma(self) -> TiledMMA:
        """Return the TiledMMA of a question, for a tcgen05.mma a TiledUmma. LayoutError names the wrong field."""
        made = self._make_tiled_mma()
        if isinstance(made, TiledUmma):
            require_kind(made.umma.mma.kind.name, self.target)
        else:
            require_instruction(made.atom.instruction, self.target)
        return made

    def _make_tiled_mma(self) -> TiledMMA:
        if is_umma(self.atom):
            return tiled_umma(
                self.atom,
                self.atom_layout,
                self.permutation,
                self.tile,
                idesc=self.idesc or "",
                a_from=self.a_from,
                swizzles=(self.swizzle_a, self.swizzle_b),
                order=self.order,
            )
        for name in UMMA:
            if getattr(self, name):
                raise LayoutError(
                    "bad_choice", f"{name} is only of a tcgen05.mma.", "Leave it out, or give an UMMA atom.", name
                )
        return tiled_mma(self.atom, self.atom_layout, self.permutation, self.tile)


UMMA = tuple(name for name in options_of(TiledUmmaBody) if name not in options_of(TiledMmaBody))


def parse_mma(value: Any, field: str = "") -> TiledMMA:
    """Return the TiledMMA of an object. LayoutError names the wrong field, below `field` unless that is empty."""
    question = read_question(TiledUmmaBody, require_object(value, field, HINT), field)
    try:
        return question.tiled_mma
    except LayoutError as error:
        raise error.move_to_field(f"{field}.{error.field}".strip(".")) from None


@declare_question
class TiledChainBody:
    """Two products: C of the first is A of the second."""

    first: TiledMMA = question_field(TiledMmaBody, "First", "", parse=parse_mma, required=True)
    second: TiledMMA = question_field(TiledMmaBody, "Second", "", parse=parse_mma, required=True)


def _declare_layout(label: str, help: str, *examples: str, **more: Any) -> Any:
    """Declare a CuTe layout; a list of sizes is a shape."""
    return raw_field(label, help, **{"type": CuteText | list[int] | None, "examples": examples} | more)


def _declare_number(label: str, help: str) -> Any:
    return raw_field(label, help, type=Number | None)


def _declare_major() -> Any:
    return raw_field("Contiguous dimension", "The storage's, where it is left out.", "K", type=Major)


def _declare_val_layout() -> Any:
    return _declare_layout("Layout of values", "Coordinates → value.", "(1,8)")


@declare_question
class TiledCopyBody:
    """make_tiled_copy(atom, thr_layout, val_layout), or make_tiled_copy_A, _B, _C of a TiledMMA's operand."""

    atom: Any = raw_field(
        "Atom",
        "universal, cp.async, ldmatrix and stmatrix as PTX or CUTLASS spells them, the text of a whole TiledCopy as"
        " print shows it, or SM90_TMA_LOAD, SM90_TMA_LOAD_MULTICAST, SM90_TMA_STORE, SM90_TMA_REDUCE_ADD with a"
        " storage.",
        "universal",
    )
    bits: Any = _declare_number("Bits", "Of one access of universal and cp.async.")
    element_bits: Any = _declare_number("Element bits", "16, or those of the TiledMMA's operand.")
    thr_layout: Any = _declare_layout("Layout of threads", "Coordinates → thread.", "(32,4):(4,1)")
    val_layout: Any = _declare_val_layout()
    tiled_mma: Any = raw_field("TiledMMA", "", type=TiledMmaBody | None)
    operand: Any = raw_field(
        "Operand",
        "c_atom: make_tiled_copy_C_atom, the values of one copy atom.",
        "a",
        type=Literal["a", "b", "c", "c_atom"],
    )
    layout_tv: Any = _declare_layout(
        "TiledLayout_TV",
        "Instead: (thread, value) → element of tiler_mn, as print(tiled_copy) shows it.",
        "((4,8,2,2),((2,2,2),(1,1))):((64,1,16,0),((32,8,256),(0,0)))",
        type=CuteText | None,
    )
    tiler_mn: Any = _declare_layout(
        "Tiler", "Rows and columns that layout_tv is over: sizes or layouts.", "(32,16)", type=CuteText | None
    )
    like: Any = raw_field(
        "Like",
        "Instead: another TiledCopy (a body as this one), as make_tiled_copy_S and _D have it.",
        type=dict[str, Any] | None,
    )
    side: Any = raw_field("Side", "With like: its source's or its destination's layout.", "S", type=Literal["S", "D"])
    tile: Any = raw_field(
        "Tile",
        "Rows and columns; of B n and k.",
        required=True,
        type=Annotated[list[Number], Description(limits={"minItems": 2, "maxItems": 2})],
    )
    storage: Any = raw_field("Storage", "Where shared memory has (row, column) of the tile.", type=Storage | None)
    major: Any = _declare_major()
    multicast: Any = _declare_number("Multicast", "Of SM90_TMA_LOAD_MULTICAST: the CTAs that share it.")
    shared: Any = raw_field(
        "Shared side",
        "Which side the storage is: ldmatrix's source, else the destination.",
        type=Literal["source", "destination"] | None,
    )
    global_: Any = raw_field(
        "Global layout",
        "The other side: a CuTe layout (row, column) → element in global memory.",
        type=CuteText | None,
    )


@declare_question
class StoreOfLoop:
    """The TiledCopy that fills shared memory; its tile is that of the operand."""

    atom: Any = raw_field("Atom", "cp.async or universal.", "universal")
    bits: Any = _declare_number("Bits", "Of one access.")
    element_bits: Any = _declare_number("Element bits", "Those of the operand.")
    thr_layout: Any = _declare_layout(
        "Layout of threads", "Coordinates → thread.", "(16,8):(8,1)", required=True, type=CuteText | list[int]
    )
    val_layout: Any = _declare_val_layout()


@declare_question
class OperandOfLoop:
    """How A or B is stored in shared memory and loaded from it; rows are M or N."""

    store: Any = raw_field("Store", "Left out: the tile is there.", type=StoreOfLoop | None)
    storage: Any = raw_field("Storage", "Where shared memory has (row, k).", required=True, type=Storage)
    major: Any = _declare_major()
    load: Any = raw_field("Load", "ldmatrix as PTX or CUTLASS spells it, or universal.", "ldmatrix.m8n8.x4.shared.b16")
    loaded_from: Any = raw_field(
        "Loaded from",
        "The storage by which the load computes addresses, where it is another one.",
        type=Storage | None,
    )
    global_: Any = raw_field(
        "Global layout",
        "Global memory: a CuTe layout (row, k) → element, for its sectors.",
        type=CuteText | None,
    )


@declare_question
class LoopBody:
    """A TiledMMA over a tile, and the way of its operands."""

    tiled_mma: Any = raw_field("TiledMMA", "", required=True, type=TiledMmaBody)
    a: Any = raw_field("A", "", type=OperandOfLoop | None)
    b: Any = raw_field("B", "", type=OperandOfLoop | None)
    k: Any = _declare_number("K", "All of K, a multiple of the tile's: what the whole loop pays.")
