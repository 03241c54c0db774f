"""Names of CUTLASS and CuTe, messages of ptxas, the driver and CuTe: the page for each, with one sentence."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lanescope.inputs import shorten_value
from lanescope.reader.compiler_output.triton import GLUON
from lanescope.shared import tma

LONGEST = 4096  # characters of a text that are searched
_MAP_RULES = (
    "cuTensorMapEncodeTiled returns CUDA_ERROR_INVALID_VALUE for any invalid argument, and does not say which.",
    f"Address: a multiple of {tma.ALIGNMENT} bytes. Strides: multiples of {tma.ALIGNMENT} bytes, the innermost left"
    f" out. boxDim: 1 to {tma.MOST_BOX} in each dimension, and boxDim[0] times the element size a multiple of"
    f" {tma.ALIGNMENT} bytes. elementStrides: 1 to {tma.MOST_STEP}. Rank: 1 to {tma.MOST_RANK}.",
    "With a swizzle, the innermost box has at most as many bytes as the swizzle is wide: 32, 64 or 128.",
)


@dataclass(frozen=True, slots=True)
class KnownMessage:
    """A message, its meaning and the page that helps."""

    pattern: re.Pattern[str]
    title: str
    page: str
    notices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KnownName:
    """Names of a library, the page that explains them, and one sentence."""

    pattern: re.Pattern[str]
    page: str
    notice: str


def _make_message(pattern: str, title: str, page: str, *notices: str) -> KnownMessage:
    return KnownMessage(re.compile(pattern, re.I | re.S), title, page, notices)


MESSAGES = (
    _make_message(
        r"cuTensorMapEncode\w*.{0,80}(?:CUDA_ERROR|invalid|fail|error|return)|"
        r"(?:fail|error|CUDA_ERROR_INVALID_VALUE)\w*.{0,80}cuTensorMap|CUDA_ERROR_INVALID_VALUE.{0,80}tensor ?map|"
        r"(?:fail|error)\w*[^,;.]{0,80}(?:tensor ?map|TMA desc)|TMA desc addr|"
        r"\b(?:globalStrides?|boxDim|elementStrides?|globalDim)\b[^;]*(?:must|multiple|invalid|exceed|<=|too)|"
        r"\bbox\b.*(?:inner|dim).*exceeds",
        "A tensor map that the driver refuses",
        "/messages/tensor-map-refused",
        *_MAP_RULES,
    ),
    _make_message(  # and no other call of the driver
        r"\A(?!.*\b(?-i:cu(?!TensorMap)[A-Z])).*CUDA_ERROR_INVALID_VALUE",
        "CUDA_ERROR_INVALID_VALUE",
        "/messages/tensor-map-refused",
        "The driver returns this for any invalid argument. If the call is cuTensorMapEncodeTiled, look at these rules.",
        *_MAP_RULES[1:],
    ),
    _make_message(
        r"\bTMA\b.*multicast|multicast.*\bTMA\b",
        "TMA multicast",
        "/guide/multicast",
        "Multicast changes which CTAs of the cluster receive the box, not its layout: each has it at the same offset"
        " of its own shared memory, with the swizzle of the tensor map.",
    ),
    _make_message(
        r"wgmma\w*(?:\.mma_async)? instructions are serialized",
        "ptxas serializes wgmma",
        "/guide/fence-commit-wait",
        "ptxas only warns: it makes the code wait for each wgmma before the next.",
    ),
    _make_message(
        r"misaligned[ _]?address|misaligned (?:shared|global|local)|\baddress 0x[0-9a-f]+ is misaligned",
        "A misaligned address",
        "/guide/ldmatrix",
        "An access is not aligned to its size: ldmatrix and stmatrix take row addresses that are multiples of 16 bytes,"
        " a vector access of n bytes a multiple of n.",
    ),
    _make_message(
        r"not a name of any known instruction",
        "ptxas does not know this opcode",
        "/guide/shapes",
        "The module's .version or .target is older than the instruction, or the opcode is misspelled. wgmma needs"
        " PTX 8.0 and sm_90a, tcgen05 PTX 8.6 and sm_100a.",
    ),
    _make_message(
        r"illegal vector size: \d|modifier '\.(?:trans|row|col|x\d|m\d+n\d+\w*)' not allowed|"
        r"incorrect instruction type specified for w?mma|operands? to instruction '\w*mma\S*' should be",
        "A form that ptxas does not take",
        "/guide/read-ptx",
        "The instruction exists, this form of it does not: another number of registers, modifier or type. Paste the"
        " whole line to see which part is wrong.",
    ),
    _make_message(
        r"'[^']*(?:mma|matrix|tcgen05|b\dx16|f8f6f4|mxf\d|block_scale|m\d+n\d+)[^']*'.{0,40}"
        r"(?:requires \.target|not supported on \.target)",
        "The target lacks this",
        "/guide/shapes",
        "Compile for a target that has it; what is specific to an architecture needs its a: sm_90a, sm_100a, sm_120a.",
    ),
    _make_message(
        r"arch conditional MMA instruction used without targeting|cannot select: (?:intrinsic )?%?llvm\.nvvm\.",
        "The target lacks this",
        "/guide/shapes",
        "The code was compiled for a target without the instruction, or for an older PTX version. What is specific to"
        " an architecture needs its a: sm_90a, sm_100a, sm_120a.",
    ),
    _make_message(
        r"asm operand type size|impossible constraints",
        "An asm operand whose size does not match its constraint",
        "/guide/read-ptx",
        'A 64-bit matrix descriptor takes the constraint "l", a 32-bit register "r", an f32 "f", an f64 "d".',
    ),
    _make_message(
        r"too much shared data|exceeds .{0,40}shared memory",
        "More shared memory than a kernel gets by default",
        "/smem",
        "Static shared memory ends at 48 KiB. More is dynamic and needs cudaFuncAttributeMaxDynamicSharedMemorySize.",
    ),
    _make_message(
        r"illegal instruction was encountered|\w*Illegal_?Instruction\b|warp illegal instruction",
        "An illegal instruction at run time",
        "/guide/debugging",
        "The device cannot execute an instruction of the kernel. Compare the target it was compiled for with the"
        " device, then look at the descriptors of wgmma and tcgen05.",
    ),
    _make_message(
        r"illegal memory access|illegal_?address|unspecified launch failure|LAUNCH_?FAIL(?:ED|URE)|"
        r"invalid __\w+__ \S+ of size \d+ bytes|\baddress 0x[0-9a-f]+ is out of bounds",
        "A kernel that faults",
        "/guide/capture#if-the-kernel-faults",
        "The message does not name the faulting instruction. compute-sanitizer finds the access; a capture says what"
        " was read before.",
    ),
    _make_message(
        r"not a canonical \w*[GU]MMA_?\w* layout|(?:unsupported|unrecognized) layout (?:type|for make_[gu]mma_desc)|"
        r"\bSmemLayout\w*\b.*\bmust\b",
        "A shared-memory layout that no descriptor reads",
        "/guide/one-tile",
        "CuTe builds descriptors for canonical layouts only. Paste the layout to see which descriptor reads it.",
    ),
    _make_message(
        r"Copy_Traits.*(?:src|dst|layout).*match|TiledCopy uses too (?:few|many)",
        "A copy atom that does not fit the tensors",
        "/tiles/copy",
        "The values of a thread in source and destination do not fill whole copies of the atom.",
    ),
)


def _make_name(pattern: str, page: str, notice: str) -> KnownName:
    return KnownName(
        re.compile(rf"(?:[\w:]*::|(?:\w+\.)+)?(?:{pattern})(?:<.*>)?(?:\(.*\)|\{{\}})?;?", re.S), page, notice
    )


NAMES = (
    _make_name(
        r"Mma\w+Op",
        "/tiles/mma",
        "An operation of CuTe's DSL. Paste it with its types and shape to see its instruction, or with make_tiled_mma.",
    ),
    _make_name(
        rf"#?(?:{'|'.join((*GLUON, *(row.attribute for row in GLUON.values())))})",
        "/layouts/triton",
        "A layout of Triton. With its parameters Lanescope shows which thread holds which element.",
    ),
    _make_name(
        r"tt\.dot(?:_scaled)?|(?:ttng\.)?tc_gen5_mma(?:_scaled)?",
        "/guide/triton-dot",
        "A product in Triton's IR. Paste the line with its types, or tl.dot with M, N and K.",
    ),
    _make_name(
        r"ttg\.(?:convert_layout|local_(?:alloc|load|store|dealloc)|memdesc_\w+|async_copy_global_to_local)",
        "/layouts/triton",
        "An operation of Triton's IR. Paste it with the layouts of its types, #ttg.…<{…}>.",
    ),
    _make_name(
        r"tt\.(?:make_tensor_descriptor|descriptor_(?:load|store))|ttng\.async_tma_\w+",
        "/guide/paste#tensor-maps",
        "TMA in Triton's IR. Paste tl.make_tensor_descriptor with its block shape to see how the box is stored.",
    ),
    _make_name(
        r"cudaFuncAttribute(?:MaxDynamicSharedMemorySize|NonPortableClusterSizeAllowed)",
        "/targets",
        "A kernel's permission for more dynamic shared memory, or for clusters of 16 blocks; the page has the limits.",
    ),
    _make_name(
        r"layout_type_?(?:\s*[:=]?\s*\d)?",
        "/guide/descriptor",
        "The swizzle of a matrix descriptor: 0 none, 1 128B, 2 64B, 3 32B for wgmma; 2 128B, 4 64B, 6 32B for tcgen05.",
    ),
    _make_name(
        r"gsb\d",
        "/guide/fence-commit-wait",
        "A scoreboard of SASS that counts groups of wgmma; WARPGROUP.DEPBAR waits for it.",
    ),
    _make_name(
        r"SM90_BULK_COPY_\w+",
        "/guide/barriers-and-pipelines",
        "cp.async.bulk: it copies consecutive bytes without a tensor map, and arrives at an mbarrier.",
    ),
    _make_name(
        r"nv(?:gpu|vm)\.(?:mma\.(?:sp\.)?sync|ldmatrix|stmatrix)|gpu\.subgroup_mma_\w+|nvvm\.wmma\.\w+(?:\.\w+)*",
        "/guide/paste#instructions",
        "An operation of MLIR. Paste it with its types and shape to see the PTX instruction that it becomes.",
    ),
    _make_name(
        r"nvvm\.wgmma\.(?:fence|commit[._]group|wait[._]group)(?:\.\w+)*",
        "/guide/fence-commit-wait",
        "The intrinsic or operation of wgmma.fence, commit_group or wait_group, which has no shape and no types.",
    ),
    _make_name(
        r"nvgpu\.warpgroup\.\w+(?:\.\w+)*|nvvm\.wgmma\.\w+(?:\.\w+)*",
        "/instructions?family=wgmma",
        "An operation of MLIR that becomes wgmma. Paste it with its types and shape.",
    ),
    _make_name(
        r"tl\.dot_scaled|(?:tt\.)?dot_scaled",
        "/guide/triton-dot#scaled",
        "A product whose blocks along K have scale factors: a block-scaled instruction if the GPU has one for these"
        " types, otherwise A and B are multiplied by their factors first.",
    ),
    _make_name(
        r"GmmaDescriptor|DescriptorIterator|smem_desc_iterator|make_gmma_desc",
        "/descriptor",
        "The 64-bit matrix descriptor of wgmma. Paste the word, or the code that builds it.",
    ),
    _make_name(r"make_umma_desc", "/descriptor/tcgen05", "The 64-bit matrix descriptor of tcgen05.mma."),
    _make_name(
        r"make_instr_desc\w*|make_runtime_instr_desc\w*|InstrDescriptor\w*",
        "/idesc",
        "The 32-bit instruction descriptor of tcgen05.mma: M, N, types and majors.",
    ),
    _make_name(
        r"CUtensorMap|CUtensorMap_st|cuTensorMapEncode\w*|CU_TENSOR_MAP_(?!SWIZZLE_(?:NONE|32B|64B|128B)\b)\w+|make_tma_(?:copy|atom)\w*|TmaDescriptor|[Ii]m2[Cc]ol",
        "/guide/paste#tensor-maps",
        "Paste the call of cuTensorMapEncodeTiled with its arguments to see how the box is stored in shared memory.",
    ),
    _make_name(
        r"(?:ss|rs)_smem_selector|sm100_smem_selector|SMEM_SELECTOR",
        "/smem/atoms",
        "Picks the widest swizzle atom that divides the tile: 128B, 64B, 32B, then no swizzle.",
    ),
    _make_name(
        r"(?:ss|rs)_op_selector",
        "/instructions?family=wgmma",
        "Picks the wgmma with the largest N that divides the tile. With its arguments Lanescope names it.",
    ),
    _make_name(
        r"Scale(?:In|Out)(?:::\w+)?",
        "/instructions?family=wgmma",
        "ScaleOut::Zero makes D = A·B, ScaleOut::One D = A·B + D; ScaleIn::Neg negates A or B.",
    ),
    _make_name(
        r"Major::(?:K|MN)|tnsp[AB]|Major|(?:K|MN?|N)[- ]major",
        "/guide/one-tile",
        "Which dimension of an operand is contiguous in shared memory: K, or M of A and N of B.",
    ),
    _make_name(
        r"SM80_CP_ASYNC_\w+|UniversalCopy|AutoVectorizingCopy\w*|DefaultCopy|Copy_Atom|Copy_Traits|ThrCopy|TiledCopy|"
        r"retile_[SD]|partition_[SD]|make_cotiled_copy",
        "/tiles/copy",
        "TiledCopy defines which thread moves which elements: atom, threads and values of each.",
    ),
    _make_name(
        r"MMA_Atom|MMA_Traits|ThrMMA|ThrMma|TiledMma|thrfrg_[ABC]|partition_[ABC]|partition_shape_[ABC]|"
        r"(?:partition|make)_fragment_[ABC]|get_layout[ABC]_(?:TV|MN|MK|NK)|ThrLayoutVMNK|AtomLayoutMNK",
        "/tiles/mma",
        "TiledMMA defines which thread holds which elements: atom, atoms along M, N and K, and a permutation.",
    ),
    _make_name(
        r"print_(?:latex|svg|layout|tensor)",
        "/diagram",
        "CuTe's pictures of an atom or a layout; here as SVG, PNG, PDF or TikZ, light, dark or for print.",
    ),
    _make_name(
        r"mbarrier|ClusterTransactionBarrier|ClusterBarrier|PipelineTma\w*|PipelineAsync",
        "/guide/barriers-and-pipelines",
        "An mbarrier counts arrivals and bytes; a wait names the phase whose end it wants.",
    ),
    _make_name(
        r"(?:what (?:is|does) )?gdesc\[\w+\](?:\.tnsp[AB])*(?: mean)?\??",
        "/descriptor",
        "An operand of HGMMA and UTCHMMA in SASS: a matrix descriptor of shared memory, in uniform registers from the"
        " one in brackets; .tnspA and .tnspB mark an MN-major operand. Paste the values, UR4 = 0x…, UR5 = 0x….",
    ),
    _make_name(
        r"(?:what (?:is|does) )?idesc\[\w+\](?: mean)?\??",
        "/idesc",
        "An operand of UTCHMMA in SASS: the 32-bit instruction descriptor, with M, N, types and majors.",
    ),
    _make_name(
        r"(?:what (?:is|does) )?tmem\[\w+\](?: mean)?\??",
        "/tmem",
        "An operand of tcgen05 in SASS: an address of tensor memory, lane × 65536 + column.",
    ),
    _make_name(
        r"Swizzle|make_swizzle", "/guide/swizzle", "Swizzle<B,M,S> XORs B bits from bit M + S of an offset into bit M."
    ),
    _make_name(
        r"Sm1xxBlk?Scaled\w*|Sm1xxBlockScaled\w*|Sm100BlockScaled\w*|Sm1xxBlkScaledConfig|deduce_layoutSF[AB]|"
        r"tile_atom_to_shape_SF[AB]|Sf\w*Atom|SfAtom|layoutSF[AB]",
        "/scale-factors",
        "The layout of scale factors that tcgen05.cp copies into tensor memory.",
    ),
    _make_name(
        r"StructuredSparseCompressor\w*|Sm90GemmSparseConfig|Sm1\w*SparseConfig|SparseConfig|\w*sparse_compressor\w*|"
        r"reorder_?meta\w*|ElementE|LayoutE",
        "/metadata/order",
        "The order in which CUTLASS's compressors write sparsity metadata.",
    ),
    _make_name(
        r"(?:TMEM::)?Allocator\w*|TmemAllocator\w*|make_tmem_copy|tmem_frg\w*|tmem_(?:load|store)\w*|"
        r"TMEM_(?:LOAD|STORE)",
        "/tmem",
        "Tensor memory: 128 lanes × 512 columns of 32 bits.",
    ),
)


def find_message(text: str) -> KnownMessage | None:
    """Find a known message in a text."""
    return (
        next((message for message in MESSAGES if message.pattern.search(text)), None) if len(text) <= LONGEST else None
    )


def find_name(text: str) -> KnownMessage | None:
    """Find the name of a library that a text is."""
    text = text.strip()
    known = next((name for name in NAMES if name.pattern.fullmatch(text)), None) if len(text) <= LONGEST else None
    return KnownMessage(known.pattern, shorten_value(text, 60), known.page, (known.notice,)) if known else None
