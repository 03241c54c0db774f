"""Patterns of tensor memory: D, A, metadata and scale factors, and the moves to registers and from shared memory.

Thread digits are the 128 lanes of a CTA, value digits units of `bits` along the columns. PTX ISA 9.1, 9.7.16.2.3,
9.7.16.8 to 10; each row says how many maps of CUTLASS it equals, or that it is inferred.
"""

from __future__ import annotations

from dataclasses import dataclass

from lanescope.ptx.table.kinds import ALONE, PAIR, WS

INFERRED = "inferred"
LANES, COLUMNS, QUARTER = 128, 512, 32  # of a CTA; a column has 32 bits; one warp of a warpgroup reaches one quarter
EXCLUSIVE_COLUMNS = {"sm_107": 576}  # of tcgen05.alloc.exclusive, elsewhere COLUMNS; PTX ISA 9.4, 9.7.18.7.1
LEAST_ALLOCATION = 32  # columns: tcgen05.alloc gives a power of two from here on. PTX ISA 9.1, 9.7.16.7.1


@dataclass(frozen=True, slots=True)
class DataPathLayout:
    """One data-path layout: PTX's letter, the products that use it, and the patterns of D and A.

    rows: of one CTA; maps: how many maps of CUTLASS equal the patterns of D and A, 0 if inferred; aligned: the lanes at
    which an address may begin.
    """

    letter: str
    m: int
    form: str
    sparse: tuple[bool, ...]
    rows: int
    d: str
    a: str
    maps: tuple[int, int]
    aligned: tuple[int, ...] = (0,)
    source: str = "PTX ISA 9.1, 9.7.16.10.5; CUTLASS, cute/atom/mma_traits_sm100_frag.hpp"


ALL_LANES, PLAIN = "(l:128) (n:N) -> (l) (n)", "(l:128) (c:K/v e:v) -> (l) (c e)"
HALVES, TWICE = "(h:2 l:64) (n:N/2) -> (l) (h n)", "(d:2 l:64) (c:K/v e:v) -> (l) (c e)"
SPLIT, SPLIT_A = "(w:4 h:2 g:16) (n:N) -> (w g) (n) (h)", "(w:4 h:2 g:16) (c:K/v e:v) -> (w g) (c e) (h)"
ACROSS, FOUR = "(q:4 l:32) (n:N/4) -> (l) (q n)", "(d:4 l:32) (c:K/v e:v) -> (l) (c e)"
BOTH = (False, True)

PLACES = (
    DataPathLayout("A", 256, PAIR, sparse=BOTH, rows=128, d=ALL_LANES, a=PLAIN, maps=(8, 7)),
    DataPathLayout("B", 128, PAIR, sparse=(False,), rows=64, d=HALVES, a=TWICE, maps=(8, 2)),
    DataPathLayout("C", 128, PAIR, sparse=(True,), rows=64, d=SPLIT, a=SPLIT_A, maps=(0, 0), aligned=(0, 16)),
    DataPathLayout("D", 128, ALONE, sparse=BOTH, rows=128, d=ALL_LANES, a=PLAIN, maps=(8, 7)),
    DataPathLayout("D", 128, WS, sparse=BOTH, rows=128, d=ALL_LANES, a=PLAIN, maps=(8, 7)),
    DataPathLayout("E", 64, WS, sparse=BOTH, rows=64, d=HALVES, a=TWICE, maps=(8, 0)),
    DataPathLayout("F", 64, ALONE, sparse=BOTH, rows=64, d=SPLIT, a=SPLIT_A, maps=(8, 3), aligned=(0, 16)),
    DataPathLayout("G", 32, WS, sparse=BOTH, rows=32, d=ACROSS, a=FOUR, maps=(8, 0)),
)

# Sparsity metadata in 4-bit indices: (rows, whether A has 16 bits or more) → (pattern, number of CUTLASS's maps).
METADATA = {
    (128, True): ("(m:M/16 k:2 g:8) (i:2 q:4) -> (m i g) (k q)", 4),
    (128, False): ("(l:M) (q:16) -> (l) (q)", 3),
    (64, True): ("(d:2 m:M/16 k:2 g:8) (i:2 q:4) -> (m i g) (k q)", 2),
    (64, False): ("(d:2 l:M) (q:16) -> (l) (q)", 1),
    (32, True): ("(d:4 m:M/16 k:2 g:8) (i:2 q:4) -> (m i g) (k q)", 2),
    (32, False): ("(d:4 l:M) (q:16) -> (l) (q)", 1),
}
METADATA_SPLIT = "(w:4 h:2 k:2 g:8) (i:2 q:4) -> (w i g) (k q) (h)"  # M = 64 without .ws, kinds f16 and tf32: inferred

# Scale factors, in units of bytes; S factors per row and step.
SCALES = "(d:4 l:32) (c:R/32 y:4/S s:S) -> (c l) (s)"
SCALES_PAIR_B = "(h:2 d:2 l:32) (c:R/64 y:4/S s:S) -> (h c l) (s)"  # of B, a pair with M = 128
SCALE_MAPS, SCALE_PAIR_MAPS = 7, 2


@dataclass(frozen=True, slots=True)
class TmemMove:
    """A load or store of one warp: (thread) (register) → (lane) (column), counted from the address.

    packed: the pattern with .pack::16b or .unpack::16b, where a register holds two columns; most: the largest x;
    columns, lanes: the extents of x1; halves: whether the second half begins at an immediate offset.
    """

    shape: str
    pattern: str
    packed: str
    most: int
    columns: int
    lanes: int
    halves: bool = False


MOVES = (
    TmemMove("32x32b", "(l:32) (r:x) -> (l) (r)", "(l:32) (r:x p:2) -> (l) (r p)", 128, 1, 32),
    TmemMove("16x64b", "(g:8 c:2 h:2) (r:x) -> (h g) (r c)", "(g:8 c:2 h:2) (r:x p:2) -> (h g) (r c p)", 128, 2, 16),
    TmemMove("16x128b", "(g:8 t:4) (r:x h:2) -> (h g) (r t)", "(g:8 t:4) (r:x h:2 p:2) -> (h g) (r t p)", 64, 4, 16),
    TmemMove(
        "16x256b",
        "(g:8 t:4) (r:x h:2 e:2) -> (h g) (r t e)",
        "(g:8 t:4) (r:x h:2 e:2 p:2) -> (h g) (r t e p)",
        32,
        8,
        16,
    ),
    TmemMove(
        "16x32bx2",
        "(s:2 l:16) (r:x) -> (l) (s r)",
        "(s:2 l:16) (r:x p:2) -> (l) (s r p)",
        128,
        columns=2,
        lanes=16,
        halves=True,
    ),
)
MOVE_MAPS = 148  # of all shapes, counts and packings, each for ld and st

# The register with a thread's minimum or maximum, for the shapes that reduce: (thread) → its axes. PTX ISA 9.1,
# 9.7.16.8.3; that each half of 16x32bx2 is reduced separately is inferred.
REDUCED = {
    "32x32b": ("(l:32) () -> (l) ()", ("lane", "column")),
    "16x32bx2": ("(s:2 l:16) () -> (l) (s)", ("lane", "half")),
}

# tcgen05.cp: (lane) (column) → (row) (32-bit word) of shared memory.
COPIES = {
    "128x256b": "(l:128) (c:8) -> (l) (c)",
    "128x128b": "(l:128) (c:4) -> (l) (c)",
    "4x256b": "(w:4) (c:8) -> (w) (c)",
    "64x128b.warpx2::02_13": "(d:2 l:64) (c:4) -> (l) (c)",
    "64x128b.warpx2::01_23": "(h:2 d:2 l:32) (c:4) -> (h l) (c)",
    "32x128b.warpx4": "(d:4 l:32) (c:4) -> (l) (c)",
}
COPY_MAPS = 6
# Copies that widen 16 packed elements of 4 or 6 bits to 16 bytes: PTX ISA 9.1, 9.7.16.9.1; name → bytes of 16 elements.
WIDENED = {"b8x16.b4x16_p64": 8, "b8x16.b6x16_p32": 12}

# tcgen05.shift: the lanes and 32-bit columns it covers; lane l of every quarter takes the value of lane l + SHIFTED_BY.
# PTX ISA 9.1, 9.7.16.9.3; that one issue moves all four quarters, and that lane 31 keeps its value, was measured by
# others on a B200 (cicuvc/nvidia-sass-document, notes/sm100/instr/utcshift.md).
SHIFTED, SHIFTED_BY = "(l:128) (c:8) -> (l) (c)", 1
