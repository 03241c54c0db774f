"""mma.sp and mma.sp::ordered_metadata: half of A's columns are stored, metadata says which. PTX ISA 9.1, 9.7.14.6.

A's registers hold the dense fragment of K/2 columns. In an index pattern s is the selector, q the group inside a
register, and the right side names the lane that supplies the metadata and the index number in its 32-bit e. Reproduced
by 60 variants measured on an H100 (tests/golden/hardware/mma_sp.json.gz).
"""

from __future__ import annotations

from lanescope.ptx.instruction import Family, OpcodeWords, cite_ptx, cross_types
from lanescope.ptx.metadata import SparseRow
from lanescope.ptx.table.mma import F8, F8F6F4, SATFINITE, B, D

A = "(g:8 t:4) (j:k/8/v i:2 e:v) -> (i g) (j t e)"
ABCD = {"a": A, "b": B, "c": D, "d": D}
SOURCE = cite_ptx("9.7.14.6.2")

PLAIN_OPCODE = OpcodeWords(
    "mma.sp",
    "multiply and accumulate by one warp, A stored without the zeros its metadata names",
    cite_ptx("9.7.14.6.3"),
)
ORDERED = OpcodeWords(
    "mma.sp::ordered_metadata", "as mma.sp; the indices of the metadata must ascend", cite_ptx("9.7.14.6.3")
)
_LANE = "(g:8 t:4) "
HALF_16 = SparseRow(2, 4, _LANE + "(s:S i:2 e:2) -> (g s) (i t e)", 4)
HALF_32 = SparseRow(2, 4, _LANE + "(s:S j:2 i:2 e:2) -> (g s j) (i t e)", 2)
WORD_8 = SparseRow(1, 2, _LANE + "(s:S i:2) -> (g s) (i t)", 4, index_bits=4)
WORD_16 = SparseRow(1, 2, _LANE + "(s:S j:2 i:2) -> (g s j) (i t)", 2, index_bits=4)
BYTE_32 = SparseRow(2, 4, _LANE + "(s:S i:2 q:2 e:2) -> (g s i) (t q e)", 2)
BYTE_64 = SparseRow(2, 4, _LANE + "(j:2 i:2 q:2 e:2) -> (g j i) (t q e)", 1)
NIBBLE_64 = SparseRow(4, 8, _LANE + "(s:S i:2 q:2 p:2 e:2) -> (g s i) (t q p)", 2)
NIBBLE_128 = SparseRow(4, 8, _LANE + "(j:2 i:2 q:2 p:2 e:2) -> (g j i) (t q p)", 1)

PLAIN = "ptxas advises mma.sp::ordered_metadata instead: plain mma.sp may run much slower on newer targets."
_TEXT = ".sync.aligned.{shape}.row.col"
_FULL = ".{d}.{a}.{b}.{c}"


def _make_families(shape: str, types: tuple[str, ...], sparsity: SparseRow, sat: bool = False) -> list[Family]:
    return [
        Family(
            "mma_sp",
            opcode,
            opcode.text + _TEXT + ("{sat}" if sat else "") + _FULL,
            (shape,),
            types,
            ABCD,
            source=SOURCE,
            options=SATFINITE if sat else {},
            sparsity=sparsity,
            deprecated=PLAIN if opcode is PLAIN_OPCODE else "",
            measured="measured on H100 (sm_90), 2026-11-21",
        )
        for opcode in (PLAIN_OPCODE, ORDERED)
    ]


_HALVES = ("f16 f16 f16 f16", "f32 f16 f16 f32", "f32 bf16 bf16 f32")
_BYTES = cross_types("s32 {a} {b} s32", a="s8 u8", b="s8 u8")
_NIBBLES = cross_types("s32 {a} {b} s32", a="s4 u4", b="s4 u4")

FAMILIES = [
    *_make_families("m16n8k16", _HALVES, HALF_16),
    *_make_families("m16n8k32", _HALVES, HALF_32),
    *_make_families("m16n8k8", ("f32 tf32 tf32 f32",), WORD_8),
    *_make_families("m16n8k16", ("f32 tf32 tf32 f32",), WORD_16),
    *_make_families("m16n8k32", _BYTES, BYTE_32, sat=True),
    *_make_families("m16n8k64", _BYTES, BYTE_64, sat=True),
    *_make_families("m16n8k64", cross_types("f32 {a} {b} f32", a=F8, b=F8), BYTE_64),
    *_make_families("m16n8k64", _NIBBLES, NIBBLE_64, sat=True),
    *_make_families("m16n8k128", _NIBBLES, NIBBLE_128, sat=True),
    Family(
        "mma_sp",
        ORDERED,
        "mma.sp::ordered_metadata.sync.aligned.{shape}.row.col.kind::f8f6f4.{d}.{a}.{b}.{c}",
        ("m16n8k64",),
        cross_types("{d} {a} {b} {d}", d="f16 f32", a=F8F6F4, b=F8F6F4),
        ABCD,
        source=SOURCE,
        container=8,
        sparsity=BYTE_64,
    ),
]
