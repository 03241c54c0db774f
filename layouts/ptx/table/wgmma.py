"""wgmma.mma_async, warpgroup level: D, and A if it comes from registers. PTX ISA 9.1, 9.7.15.5.1.1."""

from __future__ import annotations

from lanescope.ptx.instruction import WARPGROUP, Family, OpcodeWords, OperandPlace, cite_ptx, cross_types
from lanescope.ptx.metadata import SparseRow
from lanescope.ptx.table.mma_sparse import BYTE_64, HALF_32, WORD_16
from lanescope.ptx.table.wgmma_order import ORDER

A = "(w:4 g:8 t:4) (j:2 i:2 e:v) -> (w i g) (j t e)"
D = "(w:4 g:8 t:4) (j:n/8 i:2 e:2) -> (w i g) (j t e)"

N_FLOAT = tuple(range(8, 257, 8))
N_INTEGER = (8, 16, 24, *range(32, 257, 16))
F8 = "e4m3 e5m2"

SHARED = {
    "b": "B of wgmma is always in shared memory: /api/v1/descriptors/reads returns the bytes that a descriptor reads.",
    "c": "wgmma accumulates in place: D is both C and D.",
}
READS = {"a": (OperandPlace.REGISTERS, OperandPlace.DESCRIPTOR), "b": (OperandPlace.DESCRIPTOR,)}
DENSE_OPCODE = OpcodeWords(
    "wgmma.mma_async",
    "multiply and accumulate, D = A·B + D or A·B, by four warps; returns before D is written",
    cite_ptx("9.7.15.5.2"),
    "wgmma",
)
SPARSE_OPCODE = OpcodeWords(
    "wgmma.mma_async.sp",
    "as wgmma.mma_async, A stored without the zeros its metadata names",
    cite_ptx("9.7.15.6.3"),
    "wgmma.sp",
)
SPARSE = "wgmma.mma_async.sp.sync.aligned.{shape}.{d}.{a}.{b}"
DENSE = "wgmma.mma_async.sync.aligned.{shape}.{d}.{a}.{b}"


def _make_warp_sparsity(row: SparseRow) -> SparseRow:
    """Return a metadata row of mma.sp for a warpgroup: a lane of the same warp supplies each index."""
    index = row.index.replace("(g:8", "(w:4 g:8").replace("-> (g", "-> (w g")
    return SparseRow(row.kept, row.group, index, row.selectors, row.index_bits)


def list_shapes(k: int, ns: tuple[int, ...]) -> tuple[str, ...]:
    """Return the shapes m64nNkK for every N in ns."""
    return tuple(f"m64n{n}k{k}" for n in ns)


def _make_family(
    k: int,
    ns: tuple[int, ...],
    types: tuple[str, ...],
    ptx: str = DENSE,
    options: dict[str, tuple[str, ...]] | None = None,
    sparsity: SparseRow | None = None,
) -> Family:
    return Family(
        "wgmma_sp" if sparsity else "wgmma",
        SPARSE_OPCODE if sparsity else DENSE_OPCODE,
        ptx,
        list_shapes(k, ns),
        types,
        {"a": A, "d": D},
        source=cite_ptx("9.7.15.5.1.1"),
        scope=WARPGROUP,
        reads=READS,
        slots="d a b",
        elsewhere=SHARED,
        options=options or {},
        sparsity=sparsity,
        exits=False,
        ordered_by=tuple(row.name for row in ORDER),
    )


FAMILIES = [
    _make_family(16, N_FLOAT, ("f16 f16 f16", "f32 f16 f16", "f32 bf16 bf16")),
    _make_family(8, N_FLOAT, ("f32 tf32 tf32",)),
    _make_family(32, N_FLOAT, cross_types("{d} {a} {b}", d="f16 f32", a=F8, b=F8)),
    _make_family(
        32,
        N_INTEGER,
        cross_types("s32 {a} {b}", a="s8 u8", b="s8 u8"),
        DENSE + "{sat}",
        options={"sat": ("", ".satfinite")},
    ),
    _make_family(256, N_INTEGER, ("s32 b1 b1",), DENSE + ".and.popc"),
    _make_family(
        32, N_FLOAT, ("f16 f16 f16", "f32 f16 f16", "f32 bf16 bf16"), SPARSE, sparsity=_make_warp_sparsity(HALF_32)
    ),
    _make_family(16, N_FLOAT, ("f32 tf32 tf32",), SPARSE, sparsity=_make_warp_sparsity(WORD_16)),
    _make_family(
        64, N_FLOAT, cross_types("{d} {a} {b}", d="f16 f32", a=F8, b=F8), SPARSE, sparsity=_make_warp_sparsity(BYTE_64)
    ),
    _make_family(
        64,
        N_INTEGER,
        cross_types("s32 {a} {b}", a="s8 u8", b="s8 u8"),
        SPARSE + "{sat}",
        options={"sat": ("", ".satfinite")},
        sparsity=_make_warp_sparsity(BYTE_64),
    ),
]
