"""The kinds of tcgen05.mma, one row each. Fields: PTX ISA 9.1, 9.7.16.4.2, Tables 42 to 44, equal to CUTLASS's unions
(cute/arch/mma_sm100_desc.hpp). M, N and K: 9.7.16.2.1, Table 39. Negate and transpose: Tables 51, 52 and 54. Scale
factors: Tables 56 and 57. Sparsity selectors: 9.7.16.10.8.4; what is kept of a group: 9.7.16.10.8.1 to 3. Fields of
sm_107: PTX ISA 9.4, 9.7.18.4.2, Tables 51 to 53, whose K of kinds f16, f8f6f4 and mxf8f6f4 is that of NVIDIA's cuDNN
frontend (python/cudnn/sdpa).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lanescope.bits import BitField
from lanescope.blackwell.kind import FORMS, KindField, LegalSizes, MmaKind

F8F6F4 = {"e4m3": 0, "e5m2": 1, "e2m3": 3, "e3m2": 4, "e2m1": 5}
NO_YES = {"no": 0, "yes": 1}
ZERO = {"no": 0}
MAJORS = {"K": 0, "MN": 1}
ONLY_K = {"K": 0}
SHIFTS = {"0": 0, "8": 1, "16": 2, "32": 3}
IDS = {"0": 0, "1": 1, "2": 2, "3": 3}
EVEN_IDS = {"0": 0, "2": 2}

SELECTOR = KindField(
    BitField("sparsity_selector", 0, 1, title="sparsity selector", meaning="which metadata columns are read")
)
SPARSE = KindField(
    BitField("sparse", 2, 2, title="sparsity", meaning="whether A is stored compressed, with metadata"), NO_YES
)
N = KindField(BitField("n", 17, 22, 8, title="N", meaning="columns of B and D, in steps of 8", of="columns"))
M = KindField(BitField("m", 24, 28, 16, title="M", meaning="rows of A and D, in steps of 16", of="rows"))
M_SCALED = KindField(BitField("m", 27, 28, 128, title="M", meaning="rows of A and D, in steps of 128", of="rows"))
MAX_SHIFT = KindField(
    BitField("max_shift", 30, 31, title="maximum shift", meaning="columns by which .ws may shift B to reuse it"),
    SHIFTS,
    True,
)
SFB_ID = BitField("sfb_id", 4, 5, title="scale B id", meaning="byte of the TMEM columns where B's factors begin")
SFA_ID = BitField("sfa_id", 29, 30, title="scale A id", meaning="byte of the TMEM columns where A's factors begin")
SCALE = BitField("scale_type", 23, 23, title="scale type", meaning="element type of both scale matrices")
K_SIZE = KindField(
    BitField("k", 31, 31, title="K", meaning="K of a dense product; a sparse one has 128"), {"64": 0, "96": 1}, True
)


def _make_type_fields(codes: dict[str, int], high_b: int = 12) -> tuple[KindField, KindField]:
    return (
        KindField(BitField("a", 7, 9, title="A type", meaning="element type of A"), codes, True),
        KindField(BitField("b", 10, high_b, title="B type", meaning="element type of B"), codes, True),
    )


def _make_sign_fields(negate: dict[str, int], majors: dict[str, int] = MAJORS) -> tuple[KindField, ...]:
    return (
        KindField(BitField("negate_a", 13, 13, title="negate A", meaning="whether A is negated"), negate),
        KindField(BitField("negate_b", 14, 14, title="negate B", meaning="whether B is negated"), negate),
        KindField(
            BitField("transpose_a", 15, 15, title="transpose A", meaning="whether A in shared memory is MN-major"),
            majors,
        ),
        KindField(
            BitField("transpose_b", 16, 16, title="transpose B", meaning="whether B in shared memory is MN-major"),
            majors,
        ),
    )


def _make_plain_fields(
    d: dict[str, int], ab: dict[str, int], negate: dict[str, int], saturate: dict[str, int]
) -> tuple[KindField, ...]:
    """Return the fields of Table 42."""
    return (
        SELECTOR,
        SPARSE,
        KindField(BitField("saturate", 3, 3, meaning="whether integer sums saturate instead of wrapping"), saturate),
        KindField(BitField("d", 4, 5, title="D type", meaning="element type of D"), d, True),
        *_make_type_fields(ab),
        *_make_sign_fields(negate),
        N,
        M,
        MAX_SHIFT,
    )


def _make_scaled_fields(
    ab: dict[str, int], scale: dict[str, int], ids: dict[str, int], four: bool
) -> tuple[KindField, ...]:
    """Return the fields of Tables 43 and 44; four: for the 4-bit kinds, which are K-major and have a K field."""
    return (
        SPARSE,
        KindField(SFB_ID, ids),
        *_make_type_fields(ab, 11 if four else 12),
        *_make_sign_fields(NO_YES, ONLY_K if four else MAJORS),
        N,
        KindField(SCALE, scale, True),
        M_SCALED,
        KindField(SFA_ID, ids),
        *((K_SIZE,) if four else ()),
    )


ALONE, PAIR, WS = FORMS
BY_8 = (tuple(range(8, 257, 8)), "8 to 256 in steps of 8")
BY_16 = (tuple(range(16, 257, 16)), "16 to 256 in steps of 16")
BY_32 = (tuple(range(32, 257, 32)), "32 to 256 in steps of 32")
INTEGER = ((8, 16, 24, *range(32, 257, 16)), "8, 16, 24, and 32 to 256 in steps of 16")
STATIONARY = {
    (WS, False): LegalSizes((32, 64, 128), (64, 128, 256), "64, 128 or 256"),
    (WS, True): LegalSizes((32, 64, 128), (64, 128), "64 or 128"),
}
FLOAT = {
    **{(ALONE, sparse): LegalSizes((64, 128), *BY_8) for sparse in (False, True)},
    **{(PAIR, sparse): LegalSizes((128, 256), *BY_16) for sparse in (False, True)},
    **STATIONARY,
}
INTEGERS = {
    **{(ALONE, sparse): LegalSizes((64, 128), *INTEGER) for sparse in (False, True)},
    **{(PAIR, sparse): LegalSizes((128, 256), *BY_32) for sparse in (False, True)},
    **STATIONARY,
}
BLOCKS = {
    **{(ALONE, sparse): LegalSizes((128,), *BY_8) for sparse in (False, True)},
    (PAIR, False): LegalSizes((128, 256), *BY_16),
    (PAIR, True): LegalSizes((256,), *BY_16),
}
PLAIN_SOURCE, MX8_SOURCE, MX4_SOURCE = (f"PTX ISA 9.1, 9.7.16.4.2, Table {n}" for n in (42, 43, 44))
UE8M0, NVF4 = {"ue8m0": 1}, {"ue4m3": 0, "ue8m0": 1}
ALL_IDS, TWO_IDS = (0, 1, 2, 3), (0, 2)
IN_PAIRS = (4, 8)  # of a group of 8 elements of 4 bits two pairs are stored

KINDS = (
    MmaKind(
        "f16",
        _make_plain_fields({"f32": 1, "f16": 0}, {"f16": 0, "bf16": 1}, NO_YES, ZERO),
        16,
        FLOAT,
        PLAIN_SOURCE,
        needs={"f16": ("f16",)},
        turned=("f16", "bf16"),
        selectors=4,
        alike=True,
    ),
    MmaKind(
        "tf32",
        _make_plain_fields({"f32": 1}, {"tf32": 2}, NO_YES, ZERO),
        8,
        FLOAT,
        PLAIN_SOURCE,
        turned=("tf32",),
        selectors=4,
        kept=(1, 2),
    ),
    MmaKind(
        "f8f6f4",
        _make_plain_fields({"f32": 1, "f16": 0}, F8F6F4, NO_YES, ZERO),
        32,
        FLOAT,
        PLAIN_SOURCE,
        turned=tuple(F8F6F4),
    ),
    MmaKind(
        "i8",
        _make_plain_fields({"s32": 2}, {"u8": 0, "s8": 1}, ZERO, NO_YES),
        32,
        INTEGERS,
        PLAIN_SOURCE,
        turned=("u8", "s8"),
    ),
    MmaKind(
        "mxf8f6f4",
        _make_scaled_fields(F8F6F4, UE8M0, IDS, False),
        32,
        BLOCKS,
        source=MX8_SOURCE,
        scaled={"1X": ALL_IDS},
        turned=tuple(F8F6F4),
    ),
    MmaKind(
        "mxf4",
        _make_scaled_fields({"e2m1": 1}, UE8M0, EVEN_IDS, True),
        64,
        BLOCKS,
        source=MX4_SOURCE,
        scaled={"2X": TWO_IDS},
        kept=IN_PAIRS,
    ),
    MmaKind(
        "mxf4nvf4",
        _make_scaled_fields({"e2m1": 1}, NVF4, EVEN_IDS, True),
        64,
        BLOCKS,
        source=MX4_SOURCE,
        scaled={"2X": TWO_IDS, "4X": (0,)},
        kept=IN_PAIRS,
    ),
)

V94 = "PTX ISA 9.4, 9.7.18.4.2"
_SFA_LAYOUT = KindField(
    BitField("sfa_layout", 26, 26, title="scale A layout", meaning="lanes of tensor memory that hold A's factors"),
    {"32": 0, "128": 1},
    True,
)
_K_HIGH = KindField(
    BitField("k_high", 3, 3, title="K, upper bit", meaning="with bit 31: K = 64, 96 or 128 of a dense product"), NO_YES
)
_VERSION = KindField(
    BitField("sparsity_version", 12, 12, title="sparsity version", meaning="how the metadata of a sparse A is read"),
    {"v1": 1, "v0": 0},
    True,
)
_WIDE_SCALE = BitField("scale_type", 23, 24, title="scale type", meaning=SCALE.meaning)
_K_TEXT = "K of a dense product; a sparse one has twice as much"


def _list_rubin_parts(row: MmaKind) -> Iterator[KindField]:
    """Yield the fields of a kind on sm_107: the wider versions of the existing ones, and the new ones."""
    four = row.has_field("k")
    for part in row.parts:
        if part.name == "scale_type" and four:
            yield KindField(_WIDE_SCALE, {**part.codes, **({"ue5m3": 2} if len(part.codes) > 1 else {})}, True)
        elif part.name == "k":
            yield KindField(replace(part.field, meaning=_K_HIGH.field.meaning), part.codes, True)
        else:
            yield part
    if four:
        yield from (_K_HIGH, _VERSION)
    elif row.name != "i8":  # bit 29 is not defined
        wide = {str(2 * row.k): 1} if row.element_bits == 8 else {}
        bit = 31 if row.scaled else 29
        yield KindField(BitField("k", bit, bit, title="K", meaning=_K_TEXT), {str(row.k): 0, **wide}, True)
    if row.scaled:
        yield _SFA_LAYOUT


def _make_rubin_kind(row: MmaKind) -> MmaKind:
    parts = sorted(_list_rubin_parts(row), key=lambda part: part.field.low)
    table = 51 if not row.scaled else 53 if row.has_field("k") else 52
    return replace(row, parts=tuple(parts), source=f"{V94}, Table {table}")


RUBIN_KINDS = {row.name: _make_rubin_kind(row) for row in KINDS}
