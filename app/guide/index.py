"""The guide's pages in order and in groups, and the words that find them. Titles and first sentences are in
docs/guide/*.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from lanescope.app.kit.folders import find_folder

DOCS = find_folder("docs")
GUIDE = DOCS / "guide"


@dataclass(frozen=True, slots=True)
class GuidePage:
    """One page.

    slug: its file and address; words: search words besides those of its title; names: spellings that mean only this
    page, anywhere in a text.
    """

    slug: str
    words: str = ""
    names: tuple[str, ...] = ()


GROUPS: tuple[tuple[str, tuple[GuidePage, ...]], ...] = (
    (
        "Start here",
        (
            GuidePage("five-minutes", "start tutorial introduction quick first begin help get getting started"),
            GuidePage("paste", "paste input accepted formats reader text asm printf print code source what"),
            GuidePage(
                "share", "embed iframe frame link copy issue markdown latex social card slack wiki docs screenshot"
            ),
        ),
    ),
    (
        "Instructions and fragments",
        (
            GuidePage(
                "lanes-and-fragments",
                "lane thread register groupID threadID_in_group laneid owner warpgroup warp group many threads",
            ),
            GuidePage(
                "read-ptx",
                "qualifier opcode syntax modifier register state space packing b16 b32 sync aligned predicate operand",
            ),
            GuidePage(
                "shapes", "overview table type shape target architecture PTX version sm supported dense sparse scaled"
            ),
            GuidePage(
                "wmma-mma-wgmma", "choose choice difference generation compare volta turing ampere ada hopper blackwell"
            ),
            GuidePage("int4-int8", "s4 u4 s8 u8 sub-byte integer packing"),
            GuidePage("m8n8k4", "volta quad pair sm_70"),
            GuidePage("sparsity", "sparse metadata 2:4 selector ordered_metadata structured"),
            GuidePage("block-scaling", "mxf4 mxf8f6f4 nvf4 scale_vec ue8m0 ue4m3 factor microscaling"),
        ),
    ),
    (
        "Loads and stores",
        (
            GuidePage("ldmatrix", "load shared trans address row"),
            GuidePage("bytes-and-trans", "ldmatrix trans s8 u8 fp8 e4m3 int8 byte pair transpose N-major"),
            GuidePage("stmatrix", "store shared trans epilogue"),
            GuidePage(
                "storage-to-operand",
                "marlin awq prepack prepacked permutation weights quantized int4 nibble order 75316420 lop3 prmt shfl"
                " transpose fp8 v how do get deliver load operand register fast conversion f16 dequantize"
                " interleaved accumulator why does permute permutes both k operands which loads feed into registers"
                " with ldmatrix transposed trans need needs fp16 int8 8-bit"
                " selector byte shuffle shortest fewest attention column columns col row major b mma shfl",
                ("75316420",),
            ),
        ),
    ),
    (
        "Shared memory of wgmma",
        (
            GuidePage("swizzle", "xor bank conflict 32B 64B 128B atom mode"),
            GuidePage(
                "swizzle-units",
                "swizzle 3,4,3 3,3,3 3,2,3 byte element tf32 composed make_swizzle CuTeDSL wrong PTX figure",
                ("CUTLASS #2634", "cutlass #2634", "cutlass/issues/2634"),
            ),
            GuidePage(
                "atom-and-figure",
                "Layout_MN_SW128_Atom Layout_K_SW128_Atom swizzle atom PTX figure 128-byte",
                ("CUTLASS #1199", "cutlass #1199", "cutlass/issues/1199"),
            ),
            GuidePage(
                "canonical-and-figure",
                "canonical layout make_gmma_desc GmmaDescriptor PTX figure reconcile swizzled strides",
                ("CUTLASS #1688", "cutlass #1688", "cutlass/issues/1688"),
            ),
            GuidePage(
                "bank-counters",
                "nsight compute ncu profiler metric counter wavefronts bank conflicts l1tex broadcast phase LDS.128",
                ("l1tex__data_pipe_lsu_wavefronts_mem_shared", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared"),
            ),
            GuidePage(
                "128-bytes", "row chunk pitch start address swizzle xor bank conflict arrow drag interactive live"
            ),
            GuidePage(
                "one-tile",
                "lesson leading stride dimension byte offset cute tile_to_shape atom order layout recast"
                " canonical layouts K-major MN-major GMMA core matrix matrices LBO SBO",
            ),
            GuidePage(
                "k-major-needs-no-transpose",
                "transpose immediate trans tnspA tnspB MN-major M-major N-major ldmatrix.trans four operands",
            ),
            GuidePage(
                "descriptor",
                "matrix descriptor 64-bit start address base offset field GmmaDesc",
            ),
        ),
    ),
    (
        "Blackwell",
        (
            GuidePage(
                "tensor-memory",
                "tmem lane column allocation data path layout accumulator ld st cp epilogue quarter warp pack alloc",
                ("tcgen05.alloc", "tcgen05.dealloc"),
            ),
            GuidePage(
                "three-descriptors", "idesc instruction matrix descriptor umma 64-bit 32-bit transpose kind smem"
            ),
            GuidePage(
                "scale-factors",
                "block scaling ue8m0 ue4m3 mxf8f6f4 mxf4 nvf4 atom 128x4 SF id tcgen05.cp row-major tmem scale_vec",
            ),
            GuidePage("wgmma-to-tcgen05", "port migrate version descriptor idesc hopper cta pair umma MN-major"),
        ),
    ),
    (
        "Layouts of whole tiles",
        (
            GuidePage(
                "atom-to-tile",
                "TiledMMA TiledCopy tiled_mma permutation AtomLayoutMNK warps tile partition Marlin FlashAttention",
            ),
            GuidePage(
                "cute-in-ten-pictures",
                "cute layout algebra shape stride composition complement divide product inverse coalesce swizzle tiler",
            ),
            GuidePage(
                "ptx-cute-triton",
                "triton gluon cute linear layout translate convert blocked nvidia_mma dot_op TV bases F2",
            ),
            GuidePage(
                "prepacked-weights",
                "prepacked repack quantized int4 4-bit W4A16 marlin machete awq gptq qweight qzeros scale permutation"
                " dequantize lop3 nibble",
                (
                    *("qweight", "qzeros", "marlin_permute_scales", "machete_prepack_B"),
                    *("0 2 4 6 1 3 5 7", "0, 2, 4, 6, 1, 3, 5, 7", "0,2,4,6,1,3,5,7", "02461357", "75316420"),
                    *("0x64006400", "0x000f000f"),
                ),
            ),
            GuidePage(
                "triton-dot",
                "triton tl.dot dot_scaled wgmma HMMA MMAv3 MMAv5 num_warps input_precision emulated chosen select",
                ("tl.dot", "tl.dot_scaled", "max_num_imprecise_acc", "input_precision"),
            ),
        ),
    ),
    (
        "Fragments of kernels",
        (
            GuidePage(
                "partition-fragment",
                "partition_A partition_B fragment stride register make_fragment_like make_tensor_like tCrA partition",
                ("make_fragment_like", "make_tensor_like"),
            ),
            GuidePage("retile", "retile_D retile_S copy view fragment ldmatrix tCrA_copy_view epilogue"),
            GuidePage(
                "accumulator-rows",
                "softmax row column accumulator logical_divide FlashAttention registers scores",
                ("convert_layout_acc_rowcol", "convert_layout_acc_Aregs", "convert_layout_rowcol_Aregs"),
            ),
            GuidePage(
                "accumulator-to-a",
                "acc A operand type fp8 int8 tf32 bf16 shuffle back-to-back GEMM P register convert",
                ("permute_Cregs_fp8", "permute_Aregs_fp8", "convert_type_out"),
            ),
            GuidePage(
                "v-without-swizzle",
                "V Vt transposed without no swizzle register fragment flash-attention 1107 tOrVt NoSwizzle smem layout",
                (
                    *("sVtNoSwizzle", "SmemLayoutVtransposedNoSwizzle", "get_nonswizzle_portion"),
                    *("flash-attention #1107", "flash-attention/issues/1107"),
                ),
            ),
            GuidePage(
                "v-transposed",
                "V transpose atom kBlockN tile_to_shape order Step flash-attention 456",
                (
                    *("SmemLayoutAtomVtransposed", "SmemLayoutVtransposed"),
                    *("flash-attention #456", "flash-attention/issues/456"),
                ),
            ),
            GuidePage(
                "elect-one",
                "elect leader lane single thread issue warp tcgen05 TMA mbarrier predicate",
                ("elect_one_sync", "elect_one", "elect.sync"),
            ),
            GuidePage(
                "multicast",
                "cluster mask slice CTA rank share bytes TMA multicast",
                ("create_tma_multicast_mask",),
            ),
        ),
    ),
    (
        "wgmma in order",
        (
            GuidePage(
                "barriers-and-pipelines",
                "mbarrier phase parity expect_tx arrive try_wait hang deadlock stage ring producer consumer elect_one"
                " multicast warp specialization specialized pipeline empty full barrier",
                ("consumer_release", "producer_acquire", "make_producer_start_state"),
            ),
            GuidePage("fence-commit-wait", "asynchronous order pipeline group proxy wgmma sync"),
            GuidePage(
                "wgmma.fence", "warpgroup arrive register order warpgroup_arrive", ("wgmma.fence", "warpgroup_arrive")
            ),
            GuidePage(
                "wgmma.commit_group",
                "warpgroup group empty batch",
                ("wgmma.commit_group", "commit_group", "warpgroup_commit_batch"),
            ),
            GuidePage(
                "wgmma.wait_group",
                "warpgroup wait pending N pipeline depth",
                ("wgmma.wait_group", "wait_group", "warpgroup_wait"),
            ),
            GuidePage(
                "fence.proxy.async",
                "generic async proxy TMA visible store",
                ("fence.proxy.async", "fence_view_async_shared"),
            ),
        ),
    ),
    (
        "wmma in C++",
        (
            GuidePage("wmma-cpp", "nvcuda mma.h warp matrix functions API", ("nvcuda::wmma",)),
            GuidePage(
                "wmma-fragment",
                "matrix_a matrix_b accumulator num_elements num_storage_elements row_major col_major",
                ("wmma::fragment", "num_storage_elements"),
            ),
            GuidePage("load_matrix_sync", "wmma load ldm mptr", ("load_matrix_sync",)),
            GuidePage(
                "store_matrix_sync", "wmma store ldm mptr mem_row_major mem_col_major layout_t", ("store_matrix_sync",)
            ),
            GuidePage("fill_fragment", "wmma zero set initialize", ("fill_fragment",)),
            GuidePage("mma_sync", "wmma multiply satf saturate satfinite", ("mma_sync",)),
            GuidePage(
                "bmma_sync",
                "wmma single bit b1 xor and popc bmmaBitOp bmmaAccumulateOp",
                ("bmma_sync", "bmmaBitOpXOR", "bmmaBitOpAND"),
            ),
            GuidePage("__float_to_tf32", "wmma round convert precision", ("__float_to_tf32",)),
            GuidePage("wmma-elements", "x[i] elementwise loop num_elements scale bias activation epilogue"),
            GuidePage("wmma-memory", "ldm alignment pointer stride 256-bit aligned default"),
            GuidePage("wmma-linking", "architecture link ABI weak inline sm_70 sm_75"),
        ),
    ),
    (
        "When it goes wrong",
        (
            GuidePage("debugging", "wrong result error checklist mistake"),
            GuidePage("check-rules", "lanescope check codes rules findings lint static CI SARIF ignore baseline"),
            GuidePage("capture", "capture kernel record lanescope.cuh header verify running device run debug fill"),
            GuidePage("dumps", "dump shared memory bytes smem binary npy expected tile compare wrong element"),
            GuidePage("differences", "errata slip bug PTX documentation wrong hardware evidence disagree"),
        ),
    ),
)
MOVED = {  # slug of a removed page → where its subject is now
    "tile-to-shape": "one-tile#tile",
    "lbo-sbo": "one-tile#lbo-and-sbo",
    "canonical-layouts": "one-tile#canonical-layout",
    "k-major-none": "worked-examples#k-major-none",
    "mn-major-64b": "worked-examples#mn-major-64b",
    "mixed-128b-32b": "worked-examples#mixed-128b-32b",
    "registers-64b": "worked-examples#registers-64b",
}
ENTRIES = tuple(entry for _, entries in GROUPS for entry in entries)
ORDER = tuple(entry.slug for entry in ENTRIES)


@lru_cache(maxsize=64)
def read_source(slug: str) -> str:
    """Return a page's Markdown, docs/guide/<slug>.md."""
    return (GUIDE / f"{slug}.md").read_text()


def read_title(slug: str) -> str:
    return read_source(slug).split("\n", 1)[0].removeprefix("# ")


def read_lead(slug: str) -> str:
    """Return the paragraph under the title, the question that the page answers."""
    return " ".join(read_source(slug).split("\n\n")[1].split())
