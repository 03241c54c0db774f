"""PTX ISA 9.1, 9.7.16, transcribed: what of tensor memory each instruction and operand takes, and which texts, words
and shapes are legal. Sections are named without their 9.7.16. The figures are said as rules of one element; arguments
broadcast.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from tests.oracle.tcgen05 import FIELDS, shapes

LANES, COLUMNS = 128, 512
KINDS = ("f16", "tf32", "f8f6f4", "i8", "mxf8f6f4", "mxf4", "mxf4nvf4")
FORMS = ("cta_group::1", "cta_group::2", "ws")
NUMS = (1, 2, 4, 8, 16, 32, 64, 128)

# loads and stores (2.3.1, 8.2 to 8.4) ---------------------------------------------------------------------------------

REGISTERS = {"16x64b": 1, "32x32b": 1, "16x32bx2": 1, "16x128b": 2, "16x256b": 4}  # Tables 49 and 50, row .x1
MOST = {"16x64b": 128, "32x32b": 128, "16x32bx2": 128, "16x128b": 64, "16x256b": 32}  # behind it the tables say NA


def moved(shape: str, thread: Any, register: Any, split: int) -> tuple[Any, Any]:
    """Figures 183 to 187: lane and column of a thread's register. split: immHalfSplitoff of .16x32bx2."""
    if shape == "32x32b":
        return thread, register
    if shape == "16x64b":  # even threads have lanes 0 to 7, odd ones 8 to 15; the next two threads the next column
        return thread // 4 + thread % 2 * 8, 2 * register + thread % 4 // 2
    if shape == "16x128b":
        return thread // 4 + register % 2 * 8, register // 2 * 4 + thread % 4
    if shape == "16x256b":
        return thread // 4 + register % 4 // 2 * 8, register // 4 * 8 + thread % 4 * 2 + register % 2
    return thread % 16, register + (thread // 16) * split


def moved_packed(shape: str, thread: Any, register: Any, half: Any, split: int) -> tuple[Any, Any]:
    """8.2, Figure 193: a register holds the low 16 bits of two adjacent columns; every column of the shape is two."""
    lane, column = moved(shape, thread, register, 0)
    return lane, 2 * column + half + (thread // 16 * split if shape == "16x32bx2" else 0)


def move_texts() -> Iterator[str]:
    """8.3 and 8.4: the loads and stores of the syntax."""
    for shape, num in product(REGISTERS, NUMS):
        if num > MOST[shape]:
            continue
        for pack in ("", ".pack::16b"):
            yield f"tcgen05.ld.sync.aligned.{shape}.x{num}{pack}.b32"
            yield f"tcgen05.st.sync.aligned.{shape}.x{num}{pack.replace('.p', '.unp')}.b32"
        if shape in ("32x32b", "16x32bx2") and num >= 2:
            head = f"tcgen05.ld.red.sync.aligned.{shape}.x{num}"
            for op in ("min", "max"):
                yield from (f"{head}.{op}.{kind}" for kind in ("u32", "s32"))
                yield from (f"{head}.{op}{a}{nan}.f32" for a in ("", ".abs") for nan in ("", ".NaN"))


# copies and the shift (9.2, 9.3) --------------------------------------------------------------------------------------


def copied(shape: str, multicast: str, lane: Any) -> Any:
    """The row of shared memory that a lane takes: each warp of a pair has the same half, all four the same rows.

    128x256b, 128x128b: every lane its own row. .warpx2::02_13: warps 0 and 2 one half, 1 and 3 the other. .01_23: 0 and
    1, 2 and 3. .warpx4: one quarter for all. 4x256b: lane 0 of each warp has the row of its warp.
    """
    warp, inside = lane // 32, lane % 32
    if multicast == "warpx2::02_13":
        return warp % 2 * 32 + inside
    if multicast == "warpx2::01_23":
        return warp // 2 * 32 + inside
    if multicast == "warpx4":
        return inside
    return warp if shape == "4x256b" else lane


COPIES = {
    "128x256b": ("",),
    "4x256b": ("",),
    "128x128b": ("",),
    "64x128b": ("warpx2::02_13", "warpx2::01_23"),
    "32x128b": ("warpx4",),
}
COPY_COLUMNS = {"128x256b": 8, "4x256b": 8, "128x128b": 4, "64x128b": 4, "32x128b": 4}


def copy_texts() -> Iterator[str]:
    for group, shape in product((1, 2), COPIES):
        for cast, packed in product(COPIES[shape], ("", ".b8x16.b6x16_p32", ".b8x16.b4x16_p64")):
            yield f"tcgen05.cp.cta_group::{group}.{shape}{cast and '.' + cast}{packed}"
        if shape == "128x256b":
            yield f"tcgen05.shift.cta_group::{group}.down"


# products (10.9) ------------------------------------------------------------------------------------------------------

SIZES = {  # Table 57 and 10.9.1: a text may leave the size out for all but mxf4nvf4
    "mxf8f6f4": ("", ".scale_vec::1X", ".block32"),
    "mxf4": ("", ".scale_vec::2X", ".block32"),
    "mxf4nvf4": (".scale_vec::2X", ".scale_vec::4X", ".block32", ".block16"),
}
OPS = ("fill", "use", "lastuse", "discard")


def product_texts() -> Iterator[tuple[str, bool, bool]]:
    """(text, whether A may come by a descriptor, from tensor memory)."""
    for sparse, kind in product(("", ".sp"), KINDS):
        for group, size in product((1, 2), SIZES.get(kind, ("",))):
            scaled = f".block_scale{size}" if kind in SIZES else ""
            head = f"tcgen05.mma{sparse}.cta_group::{group}.kind::{kind}{scaled}"
            for a, b in product(("", *OPS), ("", *OPS)):
                use = f".collector::a::{a}" * bool(a) + f".collector::b::{b}" * bool(b)
                if b and kind == "i8":
                    continue
                yield head + use, True, True
                if not scaled and a not in ("fill", "use"):
                    yield f"{head}.ashift{use}", False, True
        if kind in SIZES:
            continue
        for use in ("", *(f".collector::b{buffer}::{op}" for buffer in range(4) for op in OPS)):
            yield f"tcgen05.mma.ws{sparse}.cta_group::1.kind::{kind}{use}", True, True


def targets(text: str) -> set[str]:
    """The notes on targets: which of sm_100a, sm_103a and sm_110a have a text. Collectors of B: PTX ISA 9.4."""
    if ".collector::b::" in text:
        return set()
    if ".ld.red." in text:
        return {"sm_103a", "sm_110a"}
    if "kind::i8" in text:
        return {"sm_100a", "sm_110a"}
    return {"sm_100a", "sm_103a", "sm_110a"}


# data paths (10.5) ----------------------------------------------------------------------------------------------------

# M, CTAs, sparse, .ws → letter, organization, lanes that the address may begin at. "2x3" of the table is read as 2x2.
LAYOUTS = {
    (32, 1, None, True): ("G", "1x4", (0,)),
    (64, 1, None, True): ("E", "2x2", (0,)),
    (64, 1, None, False): ("F", "half", (0, 16)),
    (128, 1, None, False): ("D", "4x1", (0,)),
    (128, 1, None, True): ("D", "4x1", (0,)),
    (128, 2, False, False): ("B", "2x2", (0,)),
    (128, 2, True, False): ("C", "half", (0, 16)),
    (256, 2, None, False): ("A", "4x1", (0,)),
}


def layout(m: int, form: str, sparse: bool) -> tuple[str, str, tuple[int, ...]]:
    """The row of the table for an M, a form and a density."""
    ctas, ws = 2 if form == "cta_group::2" else 1, form == "ws"
    return next(LAYOUTS[m, ctas, held, ws] for held in (None, sparse) if (m, ctas, held, ws) in LAYOUTS)


def of_d(organization: str, n: int, row: Any, col: Any) -> tuple[Any, Any]:
    """Figures 205 to 218: lane and column of D(row, col), rows of one CTA. half: where the address has lane 0."""
    if organization == "1x4":
        return row + col // (n // 4) * 32, col % (n // 4)
    if organization == "2x2":
        return row + col // (n // 2) * 64, col % (n // 2)
    if organization == "half":
        return row // 16 * 32 + row % 16, col
    return row, col


def of_a(organization: str, bits: int, row: Any, k: Any) -> list[tuple[Any, Any, Any]]:
    """10.4: every lane and column with the low bit of A(row, k) in its word. A lies in the lanes that work on its row:
    all of them have it (stated by no figure for 2x2 and 1x4 of one CTA).
    """
    column, low = k * bits // 32, k * bits % 32
    if organization == "half":
        return [(row // 16 * 32 + row % 16, column, low)]
    copies = {"4x1": 1, "2x2": 2, "1x4": 4}[organization]
    return [(row + copy * (128 // copies), column, low) for copy in range(copies)]


# scale factors (10.7) -------------------------------------------------------------------------------------------------

FACTORS = {"1X": 1, "2X": 2, "4X": 4}
IDS = {"1X": (0, 1, 2, 3), "2X": (0, 2), "4X": (0,)}


def of_scale(row: Any, factor: Any, sf_id: int) -> tuple[list[Any], Any, Any]:
    """Figures 231 to 233 and 240 to 242: the lanes, the column and the byte of a factor: in every 32 lanes the same, 32
    rows a column, the bytes from the id on.
    """
    return [row % 32 + 32 * part for part in range(4)], row // 32, sf_id + factor


# sparsity (10.8) ------------------------------------------------------------------------------------------------------

CHUNK = {
    "tf32": (1, 2),
    "f16": (2, 4),
    "f8f6f4": (2, 4),
    "mxf8f6f4": (2, 4),
    "i8": (2, 4),
    "mxf4": (4, 8),
    "mxf4nvf4": (4, 8),
}


def of_metadata(kind: str, row: Any, chunk: Any) -> tuple[Any, Any]:
    """Figures 263, 265 and 267, M = 128 and 256: lane and number of the 4-bit index of a row and chunk of K.

    f16, tf32: 8 rows of 16 stand in the low half of the word, the others in the high one; the second four chunks in the
    next 8 lanes. Narrower kinds: row by row, 16 indices in two columns.
    """
    if kind in ("f16", "tf32"):
        return row // 16 * 16 + chunk // 4 * 8 + row % 8, row % 16 // 8 * 4 + chunk % 4
    return row, chunk


# the shared-memory descriptor (3.3, 4.1, 10.3, 10.6) ------------------------------------------------------------------

DESCRIPTOR = {  # Table 40
    "start_address": (0, 13),
    "lbo": (16, 29),
    "sbo": (32, 45),
    "version": (46, 48),
    "base_offset": (49, 51),
    "lbo_mode": (52, 52),
    "swizzle": (61, 63),
}
SWIZZLES = {0: "none", 1: "128B_base32B", 2: "128B", 4: "64B", 6: "32B"}
BOUNDARY = {"128B": 1024, "64B": 512, "32B": 256}  # Table 41
ATOMS = {  # Table 55, in elements of 128 bits: (MN, K) of an MN-major atom, and of a K-major one
    "128B_base32B": ((8, 4), None),
    "128B": ((8, 8), (8, 8)),
    "64B": ((4, 8), (8, 4)),
    "32B": ((2, 8), (8, 2)),
    "none": ((1, 8), (8, 1)),
}
XOR = {"none": (0, 4, 3), "32B": (1, 4, 3), "64B": (2, 4, 3), "128B": (3, 4, 3)}  # 3.3, last column


def canonical(major: str, swizzle: str, t: int, lbo: int, sbo: int) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """3.3's table: shape of the inner modes and all strides, (MN, K), of elements. T: elements in 128 bits."""
    w = {"none": 1, "32B": 2, "64B": 4, "128B": 8}[swizzle]
    if major == "K":
        return ((8, t), ((w * t, sbo), (1, lbo if w == 1 else t)))
    if w == 1:
        return (((t, 1), 8), ((1, t, sbo), (t, lbo)))
    return (((t, w), 8), ((1, t, lbo), (w * t, sbo)))


def majors(bits: int, swizzle: str) -> set[str]:
    """Table 54: the majors of elements of so many bits in a mode."""
    turned = bits in (8, 16) if swizzle != "128B_base32B" else bits == 32
    return {"K", "MN"} if turned else {"K"}


# words of the instruction descriptor (4.2, 10.1, 10.8.4) --------------------------------------------------------------


def fields(kind: str, word: int) -> dict[str, int]:
    """The codes of a word, reserved ones under their first bit."""
    names = {(low, high): name if name != "reserved" else f"reserved {low}" for low, high, name, _ in FIELDS[kind]}
    return {name: word >> low & (1 << high - low + 1) - 1 for (low, high), name in names.items()}


def legal(kind: str, form: str, word: int) -> bool:
    """Whether a form takes a word under a kind: Tables 39, 42 to 44, 51, 52, 54 and 57, 10.7.2 and 10.8.4."""
    has = fields(kind, word)
    for low, high, name, codes in FIELDS[kind]:
        code = word >> low & (1 << high - low + 1) - 1
        if not isinstance(codes, int) and code not in codes and not (name in ("sfa_id", "sfb_id") and has.get("k")):
            return False  # Table 44 has the ids 0 and 2; 10.7.2.4 shows 0 to 3 with K = 96: PTX says both
    m, n = has["m"] * (128 if kind in SIZES else 16), has["n"] * 8
    sparse = bool(has["sparse"])
    ms, ns = shapes(kind, form, sparse)
    if m not in ms or n not in ns:
        return False
    if kind == "f16" and has["d"] == 0 and (has["a"] or has["b"]):
        return False  # an f16 D has f16 factors
    # Table 54 has MN-major elements of 8, 16 and 32 bits: those of 4 and 6 bits lie in bytes in these kinds, and
    # CUTLASS builds them in both majors (test/unit/gemm/device/sm100_tensorop_gemm/narrow_precision, nn, nt and tt).
    if has["transpose_b"] and kind in ("f8f6f4", "mxf8f6f4", "i8") and n % (32 if form == "cta_group::2" else 16):
        return False
    if has.get("k") and sparse:
        return False
    if kind == "mxf4nvf4" and not has["scale_type"] and not has["k"] and (has["sfa_id"] or has["sfb_id"]):
        return False  # 10.7.2.3: ue4m3 is of scale_vec::4X (Table 57), whose ids must be 0
    selector = has.get("sparsity_selector", 0)
    if selector and (not sparse or kind in ("i8", "f8f6f4")):
        return False
    return not (has.get("max_shift") and form != "ws")


# the zero-column mask (4.3) -------------------------------------------------------------------------------------------


def zeroed(word: int, m: int, n: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Table 45 as its examples have it: which columns of B are zero. A 1 in first span begins with zeroed columns; the
    first `start count` of a run's period are dropped.
    """
    if not word >> 39 & 1:
        return np.zeros(n, bool)
    skip, use = (word >> 40 & 255) + 1, (word >> 48 & 255) + 1
    parts = {128: 1, 64: 2, 32: 4}[m]
    out = []
    for part in range(parts):
        at = np.arange(n // parts) + (word >> 8 * part & 255)
        at %= skip + use
        out.append(at < skip if word >> 32 + part & 1 else at >= use)
    return np.concatenate(out)
