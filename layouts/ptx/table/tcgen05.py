"""tcgen05.ld, .st, .ld.red, .cp, .shift: moves between tensor memory, registers and shared memory, one row per shape.

PTX ISA 9.1, 9.7.16.2.3, 9.7.16.8 and 9.7.16.9. The maps are in layouts/ptx/table/tmem.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from lanescope.ptx.instruction import Family, InstructionVerb, OpcodeWords, OperandPlace, cite_ptx
from lanescope.ptx.role import QUARTERS, TENSOR
from lanescope.ptx.table.tmem import COPIES, COPY_MAPS, MOVE_MAPS, MOVES, REDUCED, SHIFTED, SHIFTED_BY, TmemMove

LOAD = OpcodeWords(
    "tcgen05.ld",
    "load tensor memory into registers, by one warp; complete after tcgen05.wait::ld",
    cite_ptx("9.7.16.8.3"),
)
REDUCE = OpcodeWords(
    "tcgen05.ld.red",
    "load tensor memory into registers, and the minimum or maximum of each thread's columns into one more",
    cite_ptx("9.7.16.8.3"),
)
STORE = OpcodeWords(
    "tcgen05.st",
    "store registers to tensor memory, by one warp; complete after tcgen05.wait::st",
    cite_ptx("9.7.16.8.4"),
)
COPY = OpcodeWords(
    "tcgen05.cp",
    "copy shared memory to tensor memory; one thread starts it, and it runs asynchronously",
    cite_ptx("9.7.16.9.2"),
)
SHIFT = OpcodeWords(
    "tcgen05.shift",
    "move rows of tensor memory by one lane; one thread starts it, and it runs asynchronously",
    cite_ptx("9.7.16.9.3"),
)

GROUPS = (".cta_group::1", ".cta_group::2")
PACKED = {LOAD: ".pack::16b", STORE: ".unpack::16b"}
SHAPES = cite_ptx("9.7.16.2.3")
_QUARTER = "Warp w of its warpgroup can access only lanes 32w to 32w + 31."
_LANES = {
    32: "Lanes and columns are counted from the address, whose lane begins the warp's quarter.",
    16: "Lanes and columns are counted from the address, whose lane begins the warp's quarter or its upper half.",
}
_HALVES = " The upper 16 threads' columns begin at the immediate half-split offset; here it is the width of one half."
_OPEN_RED = (
    " Whether the two threads of a lane, one a half, get one result or each its own is not documented; shown is"
    " each its own, which is inferred."
)


# The other tcgen05 instructions, which have no map: they allocate, order and wait. PTX ISA 9.1, 9.7.16.7, 8.5, 11, 12.
BESIDE = tuple(f"tcgen05.{word}" for word in ("alloc", "dealloc", "relinquish_alloc_permit", "wait", "fence", "commit"))


def _list_counts(least: int, most: int) -> tuple[str, ...]:
    """Return .x1, .x2, … from `least` to `most`."""
    return tuple(f".x{1 << n}" for n in range(8) if least <= 1 << n <= most)


def _format_notes(move: TmemMove, more: str = "") -> str:
    halves = _HALVES if move.halves else ""
    return f"{_LANES[move.lanes]} {_QUARTER}{halves}{more}"


def _make_move_families(opcode: OpcodeWords) -> Iterator[Family]:
    """Yield the loads or stores of every shape, plain and with two 16-bit elements per register."""
    for move in MOVES:
        for packing in ("", PACKED[opcode]):
            yield Family(
                opcode.text.replace(".", "_"),
                opcode,
                f"{opcode.text}.sync.aligned.{{shape}}{{x}}{packing}." + ("b32" if packing else "{data}"),
                (move.shape,),
                ("b16" if packing else "b32",),
                {"data": move.packed if packing else move.pattern},
                source=SHAPES,
                verb=InstructionVerb.LOAD if opcode is LOAD else InstructionVerb.STORE,
                memory=OperandPlace.TENSOR,
                slots="data",
                options={"x": _list_counts(1, move.most)},
                axes={"data": ("lane", "column")},
                note=_format_notes(move),
                agrees=f"CUTLASS ({MOVE_MAPS} maps of all shapes)",
            )


def _make_reduction_families() -> Iterator[Family]:
    for move in MOVES:
        if move.shape not in REDUCED:
            continue
        pattern, axes = REDUCED[move.shape]
        for types, more in (
            (("f32 f32",), {"abs": ("", ".abs"), "nan": ("", ".NaN")}),
            (("u32 u32", "s32 s32"), {"abs": ("",), "nan": ("",)}),
        ):
            yield Family(
                "tcgen05_ld_red",
                REDUCE,
                f"{REDUCE.text}.sync.aligned.{{shape}}{{x}}{{op}}{{abs}}{{nan}}.{{data}}",
                (move.shape,),
                types,
                {"data": move.pattern, "red": pattern},
                source=REDUCE.source,
                verb=InstructionVerb.LOAD,
                memory=OperandPlace.TENSOR,
                slots="data red",
                options={"x": _list_counts(2, move.most), "op": (".min", ".max"), **more},
                axes={"data": ("lane", "column"), "red": axes},
                note=_format_notes(
                    move, " red is the reduction of the thread's own columns." + (_OPEN_RED if move.halves else "")
                ),
            )


_DESCRIPTOR = {"source": "The source is in shared memory, where a K-major matrix descriptor of tcgen05 reads it."}
_PEER = " With .cta_group::2 each CTA of the pair copies its own shared memory into its own tensor memory."
_WORDS = {
    "b6x16_p32": "In shared memory, 16 elements of 6 bits and 32 bits of padding occupy 16 bytes",
    "b4x16_p64": "In shared memory, 16 elements of 4 bits and 64 bits of padding occupy 16 bytes",
}


def _format_qualifier(word: str) -> str:
    return f".{word}" if word else ""


def _make_copy_families() -> Iterator[Family]:
    for name, text in COPIES.items():
        shape, _, multicast = name.partition(".")
        scope = QUARTERS if text.startswith("(w:4) ") else TENSOR
        lanes = " Quarter q is lane 32q, and the address's lane is added to it." if scope is QUARTERS else ""
        for packed in ("", *_WORDS):
            unpacked = (
                f" {_WORDS[packed]}; in tensor memory each is a byte: a word holds 4 elements. Where the bits"
                "of an element are in its byte is not documented in text."
                if packed
                else ""
            )
            yield Family(
                "tcgen05_cp",
                COPY,
                (
                    f"{COPY.text}{{group}}"
                    f".{{shape}}{_format_qualifier(multicast)}{_format_qualifier(packed and f'b8x16.{packed}')}"
                ),
                (shape,),
                ("b32",),
                {"data": text},
                source=COPY.source,
                verb=InstructionVerb.COPY,
                scope=scope,
                slots="data",
                options={"group": GROUPS},
                axes={"data": ("row", "word")},
                elsewhere=_DESCRIPTOR,
                unpacks=packed,
                note="A word is 32 bits of a row of the source; a lane's columns are counted from the address."
                + lanes
                + unpacked
                + _PEER,
                agrees="" if packed else f"CUTLASS ({COPY_MAPS} maps of all shapes)",
            )


FAMILIES = [
    *_make_move_families(LOAD),
    *_make_reduction_families(),
    *_make_move_families(STORE),
    *_make_copy_families(),
    Family(
        "tcgen05_shift",
        SHIFT,
        f"{SHIFT.text}{{group}}.down",
        ("",),
        ("b32",),
        {"data": SHIFTED},
        source=SHIFT.source,
        verb=InstructionVerb.SHIFT,
        scope=TENSOR,
        slots="data",
        options={"group": GROUPS},
        axes={"data": ("row", "word")},
        note="Lane i of every quarter receives the value of lane i + 1, for i = 0 to 30; lane 31 is unchanged. The"
        " address's lane is a multiple of 32. PTX states it for the rows of a warp; that one issue moves all four"
        " quarters was measured by others on a B200, not here.",
        shift=SHIFTED_BY,
    ),
]
