"""Where documents and hardware differ: one row per error, each with its proof.

`ran`, `assembled` and `refused` are checked against the engine, the evidence files and ptxas; `test` names a test that
shows the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from lanescope.ptx import catalog, wmma
from lanescope.ptx.instruction import OperandPlace

# What is compared: name → title. The notes are the documents this project began from; docs/seeds.md lists them.
DOCUMENTS = {
    "ptx": "PTX ISA 9.1",
    "guide": "CUDA C++ Programming Guide",
    "cutlass": "CUTLASS 4.2",
    "000": "note 000, matrix instructions for int4 (Chinese, 2023)",
    "001": "note 001, PTX basics and warp-level matrix instructions (Chinese)",
    "003": "note 003, wgmma (Chinese)",
    "004": "note 004, CUDA C++ warp matrix functions (Korean)",
}


@dataclass(frozen=True, slots=True)
class DocumentSlip:
    """One error in a document.

    documents: keys of DOCUMENTS; place: section; says, really: the claim and the fact, in our words; ran: instructions
    that executed as `really` says; assembled, refused: PTX texts that ptxas accepts and rejects; message: the error of
    ptxas or the compiler; test: file::name; stated: the passage that says so, if no run can show it.
    """

    key: str
    title: str
    documents: tuple[str, ...]
    place: str
    says: str
    really: str
    ran: tuple[str, ...] = ()
    assembled: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    message: str = ""
    test: str = ""
    stated: str = ""

    @property
    def document(self) -> str:
        return "; ".join(DOCUMENTS[name] for name in self.documents)


@lru_cache(maxsize=1)
def list_narrow_strides() -> tuple[str, ...]:
    """Return the PTX texts of wmma.load and wmma.store whose default stride violates PTX's own alignment rule."""
    texts = []
    for i in catalog.instructions():
        if i.family.memory is OperandPlace.MATRIX:
            (op,) = i.operands.values()
            stride = wmma.get_default_stride(op, i.syntax.layouts[0])
            if stride * op.element.bits % (8 * wmma.count_fragment_bytes(op)):
                texts.append(i.ptx)
    return tuple(texts)


@lru_cache(maxsize=1)
def list_document_slips() -> tuple[DocumentSlip, ...]:
    """Return every known error, the most costly first."""
    return (
        DocumentSlip(
            "missing-proxy-fence",
            "No fence.proxy.async between the stores and the wgmma",
            ("003",),
            "the kernel m64n32k16",
            "Fill shared memory with ordinary stores, call __syncthreads(), then issue the wgmma.",
            "The barrier orders threads, not proxies: the stores go through the generic proxy and the wgmma reads"
            " through the async one, so `fence.proxy.async` is needed before the barrier. Without it the product is"
            " often right, which proves nothing.",
            stated="PTX ISA 9.1, 9.7.15.4 and the last paragraph of 9.7.15.7.1",
        ),
        DocumentSlip(
            "column-of-m16n8k256",
            "A's column in m16n8k256",
            ("ptx",),
            "9.7.14.5.13",
            "`col = threadID_in_group * 32 + i` for a0 to a63.",
            "`col = threadID_in_group * 32 + (i & 31)`. As printed, a32 to a63 of each lane name the columns of the"
            " next lane, and of lane 3 columns that the second half of the rule uses again.",
            ran=(
                "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc",
                "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc",
            ),
            test="tests/test_differences.py::test_the_printed_column_of_m16n8k256_is_no_map",
        ),
        DocumentSlip(
            "mxf4nvf4-crossings",
            "scale_vec and scale type of mxf4nvf4",
            ("ptx", "001"),
            "9.7.14.5.14, syntax with block scaling",
            "`.scale_vec::2X` or `.scale_vec::4X`, and `.ue8m0` or `.ue4m3`: read as written, four combinations.",
            "2X goes with ue8m0 alone: with ue4m3 it does not exist (Table 36). 4X goes with ue4m3, and with ue8m0 from"
            " PTX 9.1 (CUDA 13.1) on.",
            assembled=(
                "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
                "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
                "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue8m0",
            ),
            refused=(
                "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue4m3",
            ),
            message="Illegal modifier",
        ),
        DocumentSlip(
            "integer-types-may-differ",
            "A and B of integer products need not have one type",
            ("ptx", "000"),
            "9.7.14.2 (sub-byte row), 9.7.15.3; note 000, data types",
            "Both multiplicands have the same type: both signed or both unsigned.",
            "Only wmma requires this. mma and mma.sp mix s8 with u8 and s4 with u4, and wgmma mixes s8 with u8 from PTX"
            " 8.4 on; the syntax of 9.7.14.5.14 and its examples do so, too.",
            ran=(
                "mma.sync.aligned.m16n8k32.row.col.s32.u4.s4.s32",
                "mma.sync.aligned.m16n8k16.row.col.s32.s8.u8.s32",
                "mma.sp.sync.aligned.m16n8k128.row.col.s32.s4.u4.s32",
                "wgmma.mma_async.sync.aligned.m64n32k32.s32.s8.u8",
            ),
            refused=(
                "wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.u8.s32",
                "wmma.mma.sync.aligned.row.col.m8n8k32.s32.s4.u4.s32",
            ),
            message="Unexpected instruction types",
        ),
        DocumentSlip(
            "default-strides-break-the-rule",
            "wmma's default strides break wmma's alignment rule",
            ("ptx",),
            "9.7.14.4.2",
            "Every row (or column) starts at a multiple of the fragment's size; and the stride defaults to the matrix's"
            " own leading dimension.",
            "Both cannot hold for f16 A of m8n32k16 by columns and f16 B of m32n8k16 by rows: they default to 8 halves,"
            " 16 bytes, where the rule asks for 32. An H100 and an H200 load both correctly at that stride. Nothing"
            " promises it elsewhere.",
            ran=list_narrow_strides(),
            test="tests/test_differences.py::test_default_strides_that_break_the_rule",
        ),
        DocumentSlip(
            "satf-of-floats",
            "satf for floating-point accumulators",
            ("guide", "004"),
            "mma_sync",
            "With satf, infinities become the largest finite value and NaN becomes +0.",
            "That mode was removed: `.satfinite` on floating-point wmma was deprecated in PTX 6.4 and removed in 6.5."
            " mma.h of CUDA 13.0 has the parameter for int accumulators alone. There it saturates to the 32-bit range.",
            ran=("wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32.satfinite",),
            refused=("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32.satfinite",),
            message="is not supported starting from PTX ISA version 6.5",
            test="tests/test_wmma_cpp.py::test_satf_is_of_integer_products_alone",
        ),
        DocumentSlip(
            "sub-byte-is-not-removed",
            "Sub-byte wmma on sm_90",
            ("004",),
            "sub-byte operations",
            "The u4, s4 and b1 forms are removed in sm_90.",
            "They assemble for every target up to sm_120a and ran on an H100, emulated. Use `mma` in new code.",
            ran=(
                "wmma.mma.sync.aligned.row.col.m8n8k32.s32.s4.s4.s32",
                "wmma.mma.sync.aligned.row.col.m8n8k32.s32.u4.u4.s32",
                "wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32",
                "wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32",
            ),
        ),
        DocumentSlip(
            "four-products-of-m8n8k4",
            "Why m8n8k4 computes four products",
            ("000",),
            "fragments of m8n8k4",
            "A is one 8×4 matrix, and the four computations use each of its rows again, once for each of four columns.",
            "There are four independent products, each with an A, a B and a D of its own: lanes 4q to 4q + 3 and 16 +"
            " 4q to 19 + 4q hold product q and nothing of the others.",
            ran=tuple(
                f"mma.sync.aligned.m8n8k4.{a}.{b}.{d}.f16.f16.{c}"
                for d, c in (("f16", "f16"), ("f32", "f16"), ("f32", "f32"))
                for a in ("row", "col")
                for b in ("row", "col")
            ),
            test="tests/test_differences.py::test_the_four_products_of_m8n8k4_share_nothing",
        ),
        DocumentSlip(
            "stride-factor",
            "The stride of a row of halves",
            ("001",),
            "alignment of wmma.load",
            "2·s is the stride in bytes, so s must be a multiple of 32.",
            "2·s must be a multiple of 32, so s is a multiple of 16.",
            test="tests/test_differences.py::test_a_stride_of_halves_is_a_multiple_of_16",
        ),
        DocumentSlip(
            "align-counts-bytes",
            "`.align 32`",
            ("001",),
            "example of wmma.mma",
            "Aligned to 32 bits.",
            "`.align` counts bytes (PTX ISA 9.1, 5.4.5): the matrix starts at a multiple of 32 bytes, which is what"
            " wmma.load wants.",
            test="tests/test_differences.py::test_align_counts_bytes",
        ),
        DocumentSlip(
            "sizes-of-m16n8k16",
            "The sizes of m16n8k16's matrices",
            ("003",),
            "appendix on transposing",
            "A is 16×8, B is 8×16, C and D are 16×16.",
            "A is 16×16, B is 16×8 (K×N; stored column by column, 8 lines of 16), C and D are 16×8.",
            ran=("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",),
            test="tests/test_differences.py::test_sizes_of_m16n8k16",
        ),
        DocumentSlip(
            "lbo-of-sparse-b",
            "LBO of a sparse wgmma's B with the 32-byte swizzle",
            ("ptx",),
            "9.7.15.5.1.2.1.1",
            "Swizzled K-major layouts do not use LBO.",
            "B of wgmma.sp is 64 bytes deep in K, two atoms of the 32-byte swizzle: the step from one to the other is"
            " LBO. With the wider swizzles the sentence holds.",
            test="tests/test_differences.py::test_lbo_of_sparse_b_is_read_with_the_32_byte_swizzle",
        ),
        DocumentSlip(
            "f64-accumulator",
            "The accumulator of wmma m8n8k4 f64",
            ("ptx",),
            "9.7.14.4.1, double precision fragments",
            "C and D are one .f64 register.",
            "64 elements over 32 lanes are two, as the examples of 9.7.14.4.5 have it.",
            ran=("wmma.mma.sync.aligned.row.col.m8n8k4.f64.f64.f64.f64",),
            message="Argument vector size mismatch",
            test="tests/test_differences.py::test_ptxas_refuses_one_register_for_the_f64_accumulator",
        ),
        DocumentSlip(
            "registers-of-tf32",
            "Registers of a tf32 multiplicand of wmma",
            ("ptx", "000"),
            "9.7.14.4.5, the example of alternate floating-point precision",
            "`.reg .b32 a<2>, b<2>`, while the wmma.mma of m16n16k8 names a0 to a3 and b0 to b3.",
            "A and B of m16n16k8 tf32 are four .b32 registers each: `a<4>, b<4>`. As printed, a2 and a3 are not"
            " declared; with two registers in the braces, ptxas refuses the line.",
            message="Argument vector size mismatch",
            test="tests/test_differences.py::test_ptxas_refuses_two_registers_for_tf32_multiplicands",
        ),
        DocumentSlip(
            "wmma-without-aligned",
            "wmma without `.aligned`",
            ("ptx", "000", "001"),
            "9.7.14.4.4, the first example of wmma.store",
            "`wmma.mma.sync.m16n16k16…` and `wmma.store.d.sync.m16n16k16…`.",
            "`.sync` and `.aligned` are both mandatory for wmma, mma, ldmatrix, stmatrix and movmatrix, as the syntax"
            " of 9.7.14.4.4 has it. wgmma and tcgen05 assemble without `.aligned`.",
            message=".aligned modifier required for instruction",
            test="tests/test_differences.py::test_ptxas_refuses_wmma_without_aligned",
        ),
        DocumentSlip(
            "cvt-without-rounding",
            "A conversion of an integer to f32 without rounding",
            ("ptx", "001"),
            "9.4, the example of cvt",
            "`cvt.f32.u16 d, a;`",
            "A conversion from an integer to a floating-point type must name its rounding: `cvt.rn.f32.u16 d, a;`.",
            message="Rounding modifier required",
            test="tests/test_differences.py::test_ptxas_refuses_a_conversion_to_f32_without_rounding",
        ),
        DocumentSlip(
            "selector-of-m16n8k32",
            "The sparsity selector of m16n8k32 f16",
            ("ptx",),
            "9.7.14.6.1",
            "0 or 1; any other value is undefined.",
            "ptxas 13.5 enforces that for f16 accumulators and takes 0 to 3 for f32 ones. Only 0 and 1 have a meaning;"
            " nothing tells you that 2 is wrong.",
            assembled=("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32",),
            message="expected to be in range [0..1]",
            test="tests/test_differences.py::test_the_selector_that_ptxas_lets_pass",
        ),
        DocumentSlip(
            "sparse-fp8-m16n8k32",
            "Sparse fp8 at m16n8k32",
            ("ptx",),
            "9.7.14.6.3, PTX ISA notes",
            "Shape m16n8k32 for sparse e4m3 and e5m2 came with PTX 8.7.",
            "No sparse fp8 product has that shape, in the syntax or in ptxas: it is m16n8k64.",
            assembled=("mma.sp.sync.aligned.m16n8k64.row.col.f32.e4m3.e4m3.f32",),
            refused=("mma.sp.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32",),
            message="Incorrect instruction type specified for Sparse mma",
        ),
        DocumentSlip(
            "kind-f8f6f4-on-sm_100a",
            "Targets of .kind::f8f6f4",
            ("ptx",),
            "9.7.14.5.14, target ISA notes",
            "`.kind` needs sm_120a.",
            "With e4m3 and e5m2, mma and mma.sp with .kind::f8f6f4 also assemble for sm_100a and sm_103a.",
            assembled=(
                "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32",
                "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32.e5m2.e4m3.f32",
            ),
            test="tests/test_differences.py::test_kind_f8f6f4_assembles_for_sm_100a",
        ),
        DocumentSlip(
            "shape-m8n84",
            "A shape that does not exist",
            ("ptx",),
            "9.7.14.5.14, double precision syntax",
            "`.m8n84`",
            "`.m8n8k4`.",
            ran=("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",),
            refused=("mma.sync.aligned.m8n84.row.col.f64.f64.f64.f64",),
            message="",
        ),
        DocumentSlip(
            "shape-table-without-f64-wmma",
            "The table of shapes leaves one out",
            ("ptx",),
            "9.7.14.1",
            "wmma has no double precision shape.",
            "It has m8n8k4, from PTX 7.0 and sm_80 on, as 9.7.14.4.5 says.",
            ran=("wmma.mma.sync.aligned.row.col.m8n8k4.f64.f64.f64.f64",),
        ),
        DocumentSlip(
            "char-and-float",
            "The element types of fragments",
            ("guide", "004"),
            "fragment",
            "T of A and B may be char or float.",
            "`char` is a type of its own in C++ and has no fragment: write `signed char` or `unsigned char`. A float"
            " multiplicand is `precision::tf32`; its x[] are floats.",
            test="tests/test_differences.py::test_char_and_float_are_no_element_types",
        ),
        DocumentSlip(
            "cutlass-16x8x128-b1",
            "CuTe's traits of the single-bit m16n8k128",
            ("cutlass",),
            "cute/atom/mma_traits_sm80.hpp",
            "A's strides are nested one level deeper than its shape.",
            "A is `((4,8),(32,2)):((512,1),(16,8))`, as in m16n8k256 without its last mode. With one level too many,"
            " CuTe cannot pair shape and stride.",
            ran=("mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.xor.popc",),
            test="tests/test_differences.py::test_the_layout_of_single_bit_m16n8k128",
        ),
    )
