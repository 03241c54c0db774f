"""Block-scaled mma: D = (A · scale_A)(B · scale_B) + C. PTX ISA 9.1, 9.7.14.3. Not yet run on an sm_120 device."""

from __future__ import annotations

from lanescope.ptx.instruction import Family, cite_ptx, cross_types
from lanescope.ptx.metadata import SparseRow
from lanescope.ptx.table.mma import ABCD, F8F6F4, OPCODE
from lanescope.ptx.table.mma_sparse import ABCD as SPARSE_ABCD, BYTE_64, NIBBLE_128, ORDERED

DOCUMENTED = "Documented by PTX and CUTLASS. Needs sm_120a; not yet run on hardware."


def _make_family(
    kind: str,
    types: tuple[str, ...],
    size: str,
    *,
    blocks: int,
    shape: str,
    sparse: SparseRow | None,
    container: int,
) -> Family:
    opcode = ORDERED if sparse else OPCODE
    return Family(
        "mma_scaled",
        opcode,
        f"{opcode.text}.sync.aligned.{{shape}}.row.col.kind::{kind}.block_scale{size}.{{d}}.{{a}}.{{b}}.{{c}}.{{s}}",
        (shape,),
        types,
        SPARSE_ABCD if sparse else ABCD,
        source=cite_ptx("9.7.14.5.14"),
        slots="d a b c s",
        container=container,
        sparsity=sparse,
        scale_blocks=blocks,
        note=DOCUMENTED,
    )


def _make_size_families(k8: str, k4: str, byte: SparseRow | None, nibble: SparseRow | None) -> list[Family]:
    mxf8 = cross_types("f32 {a} {b} f32 ue8m0", a=F8F6F4, b=F8F6F4)
    fp4 = ("f32 e2m1 e2m1 f32 ue8m0",)
    rows = [
        _make_family("mxf8f6f4", mxf8, size, blocks=1, shape=k8, sparse=byte, container=8)
        for size in ("", ".scale_vec::1X")
    ]
    rows += [
        _make_family("mxf4", fp4, size, blocks=2, shape=k4, sparse=nibble, container=0)
        for size in ("", ".scale_vec::2X")
    ]
    rows += [_make_family("mxf4nvf4", fp4, ".scale_vec::2X", blocks=2, shape=k4, sparse=nibble, container=0)]
    rows += [
        _make_family(
            "mxf4nvf4",
            ("f32 e2m1 e2m1 f32 ue4m3", *fp4),
            ".scale_vec::4X",
            blocks=4,
            shape=k4,
            sparse=nibble,
            container=0,
        )
    ]
    return rows


FAMILIES = [
    *_make_size_families("m16n8k32", "m16n8k64", None, None),
    *_make_size_families("m16n8k64", "m16n8k128", BYTE_64, NIBBLE_128),
]
