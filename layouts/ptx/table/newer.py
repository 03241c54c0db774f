"""Forms of newer PTX that ptxas 13.5 assembles and that have no map here: release, targets, semantics, and the reason.

Semantics: PTX ISA 9.4. Targets and releases: as ptxas reports them; targets.json lists the forms of tcgen05 under
"unmapped" (`make targets`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

CUDA_OF_PTX = {f"9.{minor}": f"13.{minor}" for minor in range(6)}  # PTX ISA 9.4, Table 71; ptxas 13.5 takes PTX 9.5


@dataclass(frozen=True, slots=True)
class NewerForm:
    """A modifier, the PTX release that introduced it, its targets, what it does, and a sample line to assemble.

    missing: what is not documented, or why there is no map.
    """

    pattern: re.Pattern[str]
    name: str
    ptx: str
    targets: tuple[str, ...]
    sample: str
    does: str
    source: str
    missing: str

    @property
    def since(self) -> str:
        """A sentence with the release and the targets."""
        release = format_release(self.ptx)
        return f"{self.name} is new in {release} and exists on {', '.join(self.targets)} only (ptxas 13.5)."

    @property
    def message(self) -> str:
        """Sentences with the release, the targets, what it does, and what is missing."""
        return f"{self.since} {self.does} {self.missing}"


def format_release(ptx: str) -> str:
    """Format a PTX release with the CUDA release that introduced it.

    >>> format_release("9.4"), format_release("8.6")
    ('PTX 9.4 (CUDA 13.4)', 'PTX 8.6')
    """
    return f"PTX {ptx}" + (f" (CUDA {CUDA_OF_PTX[ptx]})" if ptx in CUDA_OF_PTX else "")


_TENSOR = tuple(f"sm_{number}{suffix}" for number in (100, 103, 107, 110) for suffix in ("f", "a"))
_EIGHT = (  # those with 8-bit matrices, and sm_90a
    "sm_90a",
    *(f"sm_{number}{suffix}" for number in (100, 103, 107, 110, 120, 121) for suffix in ("f", "a")),
)
_RUBIN = ("sm_107f", "sm_107a")
_NO_MAP = "Which element a register holds depends on the data, so no map shows it."
_MMA = "PTX ISA 9.4, 9.7.18.10.10.1"
_COPY = "PTX ISA 9.4, 9.7.10.28"
_BULK = "It changes which blocks get the data or how the tensor map is read, not the layout of a box in shared memory."
_LOAD = "[r1], [d1, {r2, r3}], [r4]"
_TENSOR_LOAD = "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
NEWER_FORMS = (
    NewerForm(
        re.compile(r"tcgen05\.mma[\w.:]*\.kind::ti16"),
        "kind::ti16 of tcgen05.mma",
        "9.4",
        _RUBIN,
        "tcgen05.mma.cta_group::1.kind::ti16 [r1], d1, d2, r2, p;",
        "A and B are s1z4m11, 16 bits with a sign, four zeros and 11 bits of magnitude (-2047 to 2047); D is s32; K is"
        " 16, with a sparse A 32. Its instruction descriptor is that of kind::f16 with type 3 for A and B and 2 for D.",
        "PTX ISA 9.4, Tables 48 and 51",
        "PTX contradicts itself on MN-major operands (Table 51: none, Table 62: some), so its word is not judged.",
    ),
    NewerForm(
        re.compile(r"tcgen05\.mma[\w.:]*\.decompress::lut::b"),
        ".decompress::lut::b of tcgen05.mma",
        "9.4",
        _RUBIN,
        "tcgen05.mma.cta_group::1.kind::f8f6f4.decompress::lut::b [r1], d1, d2, [r3], r2, p;",
        "B in shared memory holds an index of 3 bits an element; it selects one of the 8 e4m3 values that every 8"
        " columns of B share, in a table in tensor memory. B is K-major; kinds f8f6f4 and mxf8f6f4, dense.",
        _MMA,
        "PTX shows the layout of indices and table in figures only, so no map shows them.",
    ),
    NewerForm(
        re.compile(r"tcgen05\.ld(?:\.red)?\.spcompress"),
        ".spcompress of tcgen05.ld and tcgen05.ld.red",
        "9.4",
        ("sm_107a",),
        "tcgen05.ld.red.spcompress.sync.aligned.32x32b.x4.min.sp::2:4.f32.b2 {r1}, {f2, f3}, f1, [r4];",
        "Of every four f32 columns of a lane it loads the two that are largest (.max) or smallest (.min), by magnitude"
        " with .abs: num / 2 registers of data, ceil(num / 32) of 2-bit indices; .red adds the reduced value.",
        "PTX ISA 9.4, 9.7.18.8.3",
        _NO_MAP,
    ),
    NewerForm(
        re.compile(r"ldmatrix[\w.:]*\.s8\.s4"),
        ".s8.s4 of ldmatrix",
        "9.4",
        _EIGHT,
        "ldmatrix.sync.aligned.m8n16.x1.shared.s8.s4 {r1}, [r2];",
        "It loads 8 × 16 signed 4-bit elements a matrix and widens each to a signed byte: lane 4g + t gets columns"
        " 4t to 4t + 3 of row g, the lowest in the low byte.",
        "PTX ISA 9.4, 9.7.16.5.15",
        "PTX does not specify how the 16 elements of a row are packed in memory, so there is no picture.",
    ),
    NewerForm(
        re.compile(r"tcgen05\.alloc\.exclusive"),
        ".exclusive of tcgen05.alloc",
        "9.4",
        _TENSOR,
        "tcgen05.alloc.exclusive.cta_group::1.sync.aligned.shared::cta.b32 [r1], r2;",
        "It waits until the SM has no other allocation, and may then allocate any multiple of 32 columns: up to 512,"
        " on sm_107 up to 576.",
        "PTX ISA 9.4, 9.7.18.7.1",
        "It allocates and has no map.",
    ),
    NewerForm(
        re.compile(r"tcgen05\.dealloc\.exclusive"),
        ".exclusive of tcgen05.dealloc",
        "9.4",
        _TENSOR,
        "tcgen05.dealloc.exclusive.cta_group::1.sync.aligned.b32 r1, r2;",
        "It frees an allocation of tcgen05.alloc.exclusive, with the same number of columns.",
        "PTX ISA 9.4, 9.7.18.7.1",
        "It frees and has no map.",
    ),
    NewerForm(
        re.compile(r"tcgen05\.commit[\w.:]*\.sync_restrict::shared::read::mma::a"),
        ".sync_restrict::shared::read::mma::a of tcgen05.commit",
        "9.4",
        _RUBIN,
        "tcgen05.commit.cta_group::1.sync_restrict::shared::read::mma::a.mbarrier::arrive::one.b64 [d1];",
        "The mbarrier receives its arrival when the products have read A from shared memory, before they complete.",
        "PTX ISA 9.4, 9.7.18.12",
        "It synchronizes and has no map.",
    ),
    NewerForm(
        re.compile(r"tcgen05\.commit[\w.:]*\.multicast::cluster::32b"),
        ".multicast::cluster::32b of tcgen05.commit",
        "9.4",
        _RUBIN,
        "tcgen05.commit.cta_group::1.mbarrier::arrive::one.multicast::cluster::32b.b64 [d1], r1;",
        "Its mask of blocks has 32 bits instead of 16.",
        "PTX ISA 9.4, 9.7.18.12",
        "It synchronizes and has no map.",
    ),
    NewerForm(
        re.compile(r"cp\.async\.bulk\.tensor[\w.:]*\.multicast::cluster::32b"),
        ".multicast::cluster::32b of cp.async.bulk.tensor",
        "9.4",
        _RUBIN,
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster::32b"
        f" {_LOAD}, r1;",
        "Its mask of blocks has 32 bits instead of 16.",
        _COPY,
        _BULK,
    ),
    NewerForm(
        re.compile(r"cp\.async\.bulk\.shared[\w.:]*\.multicast::cluster::32b"),
        ".multicast::cluster::32b of cp.async.bulk",
        "9.4",
        _RUBIN,
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster::32b"
        " [r1], [d1], r2, [r3], r4;",
        "Its mask of blocks has 32 bits instead of 16.",
        _COPY,
        "Bytes are copied unchanged.",
    ),
    NewerForm(
        re.compile(r"cp\.(?:reduce\.)?async\.bulk\.tensor[\w.:]*\.im2col_no_offs::w"),
        ".im2col_no_offs::w of cp.async.bulk.tensor",
        "9.4",
        _RUBIN,
        "cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs::w.bulk_group [d1, {r1, r2, r3}], [r4];",
        "The box is addressed as by .im2col::w, without offsets.",
        _COPY,
        _BULK,
    ),
    NewerForm(
        re.compile(r"cp\.(?:reduce\.)?async\.bulk\.(?:prefetch\.)?tensor[\w.:]*\.override::global_dim"),
        ".override::global_dim and .override::global_dim_stride of cp.async.bulk.tensor",
        "9.4",
        _RUBIN,
        f"{_TENSOR_LOAD}.override::global_address.override::global_dim_stride"
        " [r1], [d1, d2, {h1, h2}, {r0}, h3, {r2, r3}], [r4];",
        "Sizes and strides of the tensor in global memory come from operands, not from the tensor map; the start"
        " coordinates must be 0, the mode tile.",
        "PTX ISA 9.4, 9.7.10.28.5.2.2",
        _BULK,
    ),
    NewerForm(
        re.compile(r"cp\.(?:reduce\.)?async\.bulk\.(?:prefetch\.)?tensor[\w.:]*\.override::global_address"),
        ".override::global_address of cp.async.bulk.tensor",
        "9.4",
        _RUBIN,
        f"{_TENSOR_LOAD}.override::global_address [r1], [d1, d2, {{r2, r3}}], [r4];",
        "The tensor begins at a 64-bit operand, a multiple of 16, and not at the tensor map's address: 128 KiB from it"
        " must be accessible.",
        "PTX ISA 9.4, 9.7.10.28.5.2.1",
        _BULK,
    ),
    NewerForm(
        re.compile(r"cp\.async\.bulk\.tensor[\w.:]*\.mbarrier::report::"),
        ".mbarrier::report of cp.async.bulk.tensor",
        "9.4",
        _RUBIN,
        f"{_TENSOR_LOAD}.mbarrier::report::validity::per_element::ff {_LOAD};",
        "The mbarrier reports whether the copied data hold a pattern, in each 16 bytes or element.",
        "PTX ISA 9.4, 9.7.10.28.5.3",
        _BULK,
    ),
    NewerForm(
        re.compile(r"cp\.async\.bulk\.shared[\w.:]*\.mbarrier::report::"),
        ".mbarrier::report of cp.async.bulk",
        "9.4",
        _RUBIN,
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.mbarrier::report::validity::per_16bytes::8"
        " [r1], [d1], r2, [r3];",
        "The mbarrier reports whether the copied data hold a pattern, in each 16 bytes or element.",
        _COPY,
        "Bytes are copied unchanged.",
    ),
    NewerForm(
        re.compile(r"applypriority\.async\.bulk"),
        "applypriority.async.bulk",
        "9.4",
        _RUBIN,
        "applypriority.async.bulk.tensor.2d.global.bulk_group.L2::evict_normal [d1, {r1, r2}];",
        "It sets the L2 eviction priority of bytes, or of a tensor map's box, in global memory.",
        "PTX ISA 9.4, 13.1; operands as ptxas accepts them",
        "It moves no data and has no map.",
    ),
    NewerForm(
        re.compile(r"cp\.async\.bulk\.prefetch[\w.:]*\.L2::evict_last"),
        ".L2::evict_last of cp.async.bulk.prefetch",
        "9.4",
        _RUBIN,
        "cp.async.bulk.prefetch.tensor.2d.L2.global.L2::evict_last [d1, {r1, r2}];",
        "It sets the eviction priority of the lines that it loads into L2.",
        "PTX ISA 9.4, 9.7.10.28.4.3",
        "It moves no data to shared memory and has no map.",
    ),
    NewerForm(
        re.compile(r"(?<![\w.])spcompress\.b"),
        "spcompress",
        "9.4",
        ("sm_107a",),
        "spcompress.b8.b2.sp::2:4.x1 {r0}, {r1}, {r2, r3}, r4;",
        "Of every four elements in registers it keeps two, by size or magnitude, and their indices.",
        "PTX ISA 9.4, 9.7.10.30",
        _NO_MAP,
    ),
)


def list_newer_forms(target: str) -> tuple[NewerForm, ...]:
    """Return the newer forms that a target has."""
    return tuple(row for row in NEWER_FORMS if target in row.targets)


def find_newer_form(text: str) -> NewerForm | None:
    """Return the first newer form that occurs in a text, or None."""
    return next((row for row in NEWER_FORMS if row.pattern.search(text)), None)
