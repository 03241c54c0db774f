"""PTX ISA 9.1, 9.7.16, transcribed: the instruction descriptor's tables, and the shapes of Table 39.

FIELDS: kind → (low, high, what it is, {code: meaning} or the shift of a size); every bit of 32 stands in one row.
"""

from __future__ import annotations

Rows = list[tuple[int, int, str, dict[int, str] | int]]
_YES = {0: "no", 1: "yes"}
_NO = {0: "no"}
_F8 = {0: "e4m3", 1: "e5m2", 3: "e2m3", 4: "e3m2", 5: "e2m1"}
_MAJOR = {0: "K", 1: "MN"}


def _table_42(d: dict[int, str], ab: dict[int, str], negate: dict[int, str], saturate: dict[int, str]) -> Rows:
    return [
        (0, 1, "sparsity_selector", {n: str(n) for n in range(4)}),
        (2, 2, "sparse", _YES),
        (3, 3, "saturate", saturate),
        (4, 5, "d", d),
        (6, 6, "reserved", {0: ""}),
        (7, 9, "a", ab),
        (10, 12, "b", ab),
        (13, 13, "negate_a", negate),
        (14, 14, "negate_b", negate),
        (15, 15, "transpose_a", _MAJOR),
        (16, 16, "transpose_b", _MAJOR),
        (17, 22, "n", 3),
        (23, 23, "reserved", {0: ""}),
        (24, 28, "m", 4),
        (29, 29, "reserved", {0: ""}),
        (30, 31, "max_shift", {0: "0", 1: "8", 2: "16", 3: "32"}),
    ]


def _table_44(scale: dict[int, str]) -> Rows:
    return [
        (0, 1, "reserved", {0: ""}),
        (2, 2, "sparse", _YES),
        (3, 3, "reserved", {0: ""}),
        (4, 5, "sfb_id", {0: "0", 2: "2"}),
        (6, 6, "reserved", {0: ""}),
        (7, 9, "a", {1: "e2m1"}),
        (10, 11, "b", {1: "e2m1"}),
        (12, 12, "reserved", {0: ""}),
        (13, 13, "negate_a", _YES),
        (14, 14, "negate_b", _YES),
        (15, 15, "transpose_a", {0: "K"}),
        (16, 16, "transpose_b", {0: "K"}),
        (17, 22, "n", 3),
        (23, 23, "scale_type", scale),
        (24, 26, "reserved", {0: ""}),
        (27, 28, "m", 7),
        (29, 30, "sfa_id", {0: "0", 2: "2"}),
        (31, 31, "k", {0: "64", 1: "96"}),
    ]


FIELDS = {
    "tf32": _table_42({1: "f32"}, {2: "tf32"}, _YES, _NO),
    "f16": _table_42({0: "f16", 1: "f32"}, {0: "f16", 1: "bf16"}, _YES, _NO),
    "f8f6f4": _table_42({0: "f16", 1: "f32"}, _F8, _YES, _NO),
    "i8": _table_42({2: "s32"}, {0: "u8", 1: "s8"}, _NO, _YES),
    "mxf8f6f4": [
        (0, 1, "reserved", {0: ""}),
        (2, 2, "sparse", _YES),
        (3, 3, "reserved", {0: ""}),
        (4, 5, "sfb_id", {n: str(n) for n in range(4)}),
        (6, 6, "reserved", {0: ""}),
        (7, 9, "a", _F8),
        (10, 12, "b", _F8),
        (13, 13, "negate_a", _YES),
        (14, 14, "negate_b", _YES),
        (15, 15, "transpose_a", _MAJOR),
        (16, 16, "transpose_b", _MAJOR),
        (17, 22, "n", 3),
        (23, 23, "scale_type", {1: "ue8m0"}),
        (24, 26, "reserved", {0: ""}),
        (27, 28, "m", 7),
        (29, 30, "sfa_id", {n: str(n) for n in range(4)}),
        (31, 31, "reserved", {0: ""}),
    ],
    "mxf4": _table_44({1: "ue8m0"}),
    "mxf4nvf4": _table_44({1: "ue8m0", 0: "ue4m3"}),
}


def shapes(kind: str, form: str, sparse: bool) -> tuple[set[int], set[int]]:
    """Table 39: the M and the N of a kind, a form and a density; empty where the table says Invalid."""
    scaled = kind.startswith("mx")
    if form == "ws":
        return (set(), set()) if scaled else ({32, 64, 128}, {64, 128} if sparse else {64, 128, 256})
    if form == "cta_group::1":
        n = {*range(8, 33, 8), *range(48, 257, 16)} if kind == "i8" else set(range(8, 257, 8))
        return ({128} if scaled else {64, 128}), n
    n = set(range(32, 257, 32)) if kind == "i8" else set(range(16, 257, 16))
    return ({256} if scaled and sparse else {128, 256}), n


# 9.7.16.4.3, examples 2 to 4: (start count, first span, skip span, use span) and the mask as
# printed, last column first.
MASKS = [
    (0, 0, 2, 3, "11100001110000"),
    (0, 1, 2, 3, "11100001110000111"),
    (0, 0, 2, 3, "000011100001110000"),
    (0, 1, 2, 3, "00001110000111"),
    (1, 1, 2, 3, "0000111000011"),
    (2, 0, 2, 3, "111000011100"),
    (1, 0, 2, 3, "1110000111000"),
]

# The shared-memory descriptor, (low, high, what it is): PTX ISA 9.3, 9.7.17.4.1, Table 43; 9.4, 9.7.18.4.1, Table 49.
# NVIDIA's nvvm.tcgen05.mma_smem_desc and its _v2 (nvidia-cutlass-dsl 4.8.1) have the same bits.
SMEM_93 = [
    (0, 13, "start_address"),
    (14, 15, "reserved"),
    (16, 29, "lbo"),
    (30, 31, "reserved"),
    (32, 45, "sbo"),
    (46, 48, "version"),
    (49, 51, "base_offset"),
    (52, 52, "lbo_mode"),
    (53, 60, "reserved"),
    (61, 63, "swizzle"),
]
SMEM_94 = [
    (0, 14, "start_address"),
    (15, 15, "reserved"),
    (16, 30, "lbo"),
    (31, 31, "reserved"),
    (32, 45, "sbo"),
    (46, 48, "version"),
    (49, 51, "base_offset"),
    (52, 52, "lbo_mode"),
    (53, 53, "k_segment"),
    (54, 60, "reserved"),
    (61, 63, "swizzle"),
]
