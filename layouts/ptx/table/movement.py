"""ldmatrix, stmatrix, movmatrix: rows of matrices between shared memory and fragments. PTX ISA 9.1, 9.7.14.5.15 to .17.

Coordinates are matrix, row, col as the matrices lie in memory. The 16-bit forms were executed on an H100; the 8-bit
forms are stated from CUTLASS (include/cute/atom/copy_traits_sm100.hpp) and PTX's figures and need sm_100a or sm_120a.
"""

from __future__ import annotations

from lanescope.ptx.instruction import Family, InstructionVerb, OpcodeWords, OperandPlace, cite_ptx

AXES = {"data": ("matrix", "row", "col")}
SPACES = ("", "shared", "shared::cta")
ROWS_8 = "(x:x r:8) () -> (x) (r) ()"
ROWS_16 = "(x:x r:16) () -> (x) (r) ()"
STRAIGHT = "(g:8 t:4) (x:x e:2) -> (x) (g) (t e)"
TRANSPOSED = "(g:8 t:4) (x:x e:2) -> (x) (t e) (g)"
NOT_RUN = "From PTX and CUTLASS. Needs sm_100a or sm_120a; not yet run on hardware."
_COUNTS = (".x1", ".x2", ".x4")
IN_CONTAINERS = ("b6x16_p32", "b4x16_p64")  # formats in memory of .b8x16
PACKED_BITS = {"b6x16_p32": 6, "b4x16_p64": 4}  # packed format in memory → bits of an element

LOAD = OpcodeWords(
    "ldmatrix", "load matrices from shared memory into fragments, a row an address", cite_ptx("9.7.14.5.15")
)
STORE = OpcodeWords(
    "stmatrix", "store fragments to shared memory as matrices, a row an address", cite_ptx("9.7.14.5.16")
)
MOVE = OpcodeWords("movmatrix", "transpose an 8×8 matrix that is in registers", cite_ptx("9.7.14.5.17"))


def _make_family(
    opcode: OpcodeWords,
    text: str,
    shape: str,
    *,
    data: str,
    address: str,
    element: str,
    note: str = "",
    counts: tuple[str, ...] = _COUNTS,
    unpacks: str = "",
) -> Family:
    return Family(
        opcode.text,
        opcode,
        opcode.text + text,
        (shape,),
        (element,),
        {"data": data},
        source=opcode.source,
        verb=InstructionVerb.LOAD if opcode is LOAD else InstructionVerb.STORE,
        memory=OperandPlace.ROWS,
        slots="data",
        options={"x": counts},
        axes=AXES,
        address=address,
        spaces=SPACES,
        note=note,
        unpacks=unpacks,
        container=8 if element == "b8" else 0,
    )


_PACKED_NOTE = (
    NOT_RUN
    + " Elements arrive in 8-bit containers; mma.kind::f8f6f4 requires e2m1 in bits 2 to 5, so b4x16_p64 data needs a"
    " shift left by 2 first."
)

FAMILIES = [
    _make_family(LOAD, ".sync.aligned.{shape}{x}.shared.{data}", "m8n8", data=STRAIGHT, address=ROWS_8, element="b16"),
    _make_family(
        LOAD, ".sync.aligned.{shape}{x}.trans.shared.{data}", "m8n8", data=TRANSPOSED, address=ROWS_8, element="b16"
    ),
    *(
        _make_family(
            LOAD,
            ".sync.aligned.{shape}{x}.trans.shared." + (f"b8x16.{packed}" if packed else "b8"),
            "m16n16",
            data="(g:8 t:4) (x:x r:2 c:2 e:2) -> (x) (t r e) (c g)",
            address=ROWS_16,
            element="b8",
            note=_PACKED_NOTE if packed else NOT_RUN,
            counts=(".x1", ".x2"),
            unpacks=packed,
        )
        for packed in ("", *IN_CONTAINERS)
    ),
    *(
        _make_family(
            LOAD,
            f".sync.aligned.{{shape}}{{x}}.shared.b8x16.{packed}",
            "m8n16",
            data="(g:8 t:4) (x:x e:4) -> (x) (g) (t e)",
            address=ROWS_8,
            element="b8",
            note=_PACKED_NOTE,
            unpacks=packed,
        )
        for packed in IN_CONTAINERS
    ),
    _make_family(STORE, ".sync.aligned.{shape}{x}.shared.{data}", "m8n8", data=STRAIGHT, address=ROWS_8, element="b16"),
    _make_family(
        STORE, ".sync.aligned.{shape}{x}.trans.shared.{data}", "m8n8", data=TRANSPOSED, address=ROWS_8, element="b16"
    ),
    _make_family(
        STORE,
        ".sync.aligned.{shape}{x}.trans.shared.{data}",
        "m16n8",
        data="(g:8 t:4) (x:x c:2 e:2) -> (x) (t e) (c g)",
        address=ROWS_8,
        element="b8",
        note=NOT_RUN + " In memory each matrix is 8 rows of 16 bytes.",
    ),
    Family(
        MOVE.text,
        MOVE,
        "movmatrix.sync.aligned.{shape}.trans.{d}",
        ("m8n8",),
        ("b16 b16",),
        {"a": "(g:8 t:4) (e:2) -> (g) (t e)", "d": "(g:8 t:4) (e:2) -> (t e) (g)"},
        source=MOVE.source,
        verb=InstructionVerb.MOVE,
        exits=False,
        slots="d a",
        note="d holds the transpose: both maps show the rows and columns of the source matrix.",
    ),
]
