"""Recognise what kind of text was pasted, with a table of recognisers tried in order.

A recogniser returns the possible meanings of a text, or none. It raises LayoutError if the text is of its kind but
invalid. Nothing is guessed: an open detail gives several candidates, or is listed in `undetermined`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from lanescope import inputs
from lanescope.errors import LayoutError, refuse_deep_recursion
from lanescope.reader import patterns
from lanescope.reader.code.recogniser import recognise_code
from lanescope.reader.compiler_output import compilers, mosaic_layouts, printed_maps, tensor_types, triton, triton_dots
from lanescope.reader.cute import (
    atom_traits,
    conditionals,
    constants as constants,
    cute_layout,
    mma_constants as mma_constants,
    operations,
    smem_layouts,
    tensors,
    tiled_copy,
    tiled_mma,
)
from lanescope.reader.cutlass_names import cutlass_layouts, kernel_names
from lanescope.reader.formula import fragment_answer, xor_formulas
from lanescope.reader.grammars import pasted_text
from lanescope.reader.instructions import assembler, bulk, fragment, ptx, sass, statements, tensor_memory
from lanescope.reader.meaning import TextMeaning
from lanescope.reader.words import descriptor_word, instruction_word

LONGEST = 1 << 16  # characters of a text


@dataclass(frozen=True, slots=True)
class Recogniser:
    """One kind of text: its name, an example, and the function that parses it.

    words: lower-case words, of which such a text contains at least one; () if no word is required. alone: tried only if
    no other recogniser accepts the text.
    """

    what: str
    example: str
    read: Callable[[str], tuple[TextMeaning, ...]]
    words: tuple[str, ...] = ()
    alone: bool = False


RECOGNISERS = (  # if two recognisers accept a text, the first one takes it
    Recogniser(
        "a CuTe TiledMMA, in C++, in Python or as printed",
        "make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_2,_2>>{}, Tile<_32,_32,_16>{})",
        tiled_mma.recognise_tiled_mmas,
        ("tiled", "mnk"),
    ),
    Recogniser(
        "a CuTe TiledCopy, in C++, in Python or as printed",
        "make_tiled_copy(Copy_Atom<DefaultCopy, half_t>{}, Layout<Shape<_32,_8>>{}, Layout<Shape<_1,_8>>{})",
        tiled_copy.recognise_tiled_copies,
        ("tiled", "tiler"),
    ),
    Recogniser(
        "a Triton or Gluon layout",
        "#ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>",
        triton.read_layouts,
        ("#", "layout", "where out dims are"),
    ),
    Recogniser(
        "a register layout of Mosaic GPU (JAX)",
        "TiledLayout(Tiling(((64, 8), (16, 8), (8, 8), (2,))), warp_dims=(-7,), lane_dims=(-3, -2), vector_dim=-1)",
        mosaic_layouts.recognise_mosaic_layouts,
        ("tiledlayout", "wgstridedfraglayout", "layout.wgmma", "_layout"),
    ),
    Recogniser(
        "a message of ptxas about a matrix instruction",
        "ptxas k.ptx, line 21; error   : Unexpected instruction types specified for 'wgmma.mma_async'",
        assembler.recognise_ptxas_message,
    ),
    Recogniser(
        "a line of PTX, bare or inside an asm statement", "wgmma.mma_async.m64n256k16.f32.bf16.bf16", ptx.recognise_ptx
    ),
    Recogniser(
        "a tensor-core operation of MLIR, LLVM or TVM",
        "nvgpu.mma.sync (%a, %b, %c) {mmaShape = [16, 8, 16]} : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>)",
        compilers.recognise_compiler_names,
        ("nvvm", "gpu.", "ptx", "llvm_wmma", "tl::", "arch::mma<", "mmamacro::"),
    ),
    Recogniser(
        "the name of a CUTLASS or cuBLAS kernel, as profilers print it",
        "cutlass_80_tensorop_bf16_s16816gemm_bf16_128x128_32x4_tn_align8",
        kernel_names.recognise_kernel_names,
        ("cutlass", "xmma", "gemm", "cudnn", "nvjet", "_z"),
    ),
    Recogniser("a CUTLASS MMA or copy atom", "SM90_64x128x16_F32BF16BF16_SS", atom_traits.recognise_traits),
    Recogniser(
        "an operation of the CuTe Python DSL",
        "warp.LdMatrix8x8x16bOp(num_matrices=4)",
        operations.recognise_operations,
        ("mmaf", "mmatf32", "mmai8", "mmamx", "ldmatrix", "stmatrix", "op_selector"),
    ),
    Recogniser(
        "a wmma fragment of CUDA C++",
        "nvcuda::wmma::fragment<matrix_a, 16, 16, 16, half, row_major>",
        fragment.recognise_fragments,
        ("fragment",),
    ),
    Recogniser("a tensor-core instruction in SASS", "HMMA.16816.F32", sass.recognise_sass),
    Recogniser(
        "a tensor map in a type of MLIR",
        "!nvgpu.tensormap.descriptor<tensor = memref<128x64xf16, 3>, swizzle = swizzle_128b>",
        tensor_types.recognise_tensor_map_types,
        ("tensormap.descriptor", "tensordesc", "nvgpu."),
    ),
    Recogniser(
        "the arguments of a TMA tensor map, as CUTLASS, TVM or DeepGEMM prints them",
        "format 6\ndim 2\nglobalDim (4096,4096,1,1,1)\nboxDim (64,128,1,1,1)\nswizzle 3",
        printed_maps.recognise_printed_maps,
        ("box", "shape", "tma desc"),
    ),
    Recogniser(
        "a pattern of this site", "(g:8 t:4) (j:2 i:2 e:2) -> (i g) (j t e)", patterns.recognise_patterns, ("->",)
    ),
    Recogniser("a CuTe layout", "Sw<3,4,3> o (8,64):(64,1)", cute_layout.recognise_layouts, (":", "layout")),
    Recogniser(
        "C++, CUDA or Python that makes TMA tensor maps or descriptors",
        "tl.make_tensor_descriptor(p, shape=[M, K], strides=[K, 1], block_shape=[64, 64])",
        recognise_code,
    ),
    Recogniser(
        "a CUTLASS shared-memory layout",
        "tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128,_64>{})",
        smem_layouts.recognise_smem_layouts,
        ("tile_to_", "layout_k_", "layout_mn_", "layout_atom", "layoutatom", "composition"),
    ),
    Recogniser(
        "a shared-memory layout of CUTLASS 2.x",
        "cutlass::layout::RowMajorTensorOpMultiplicandCrosswise<16, 64>",
        cutlass_layouts.recognise_cutlass_layouts,
        ("tensoropmultiplicand",),
    ),
    Recogniser(
        "a 32-bit instruction descriptor of tcgen05.mma", "0x08400490", instruction_word.recognise_instruction_word
    ),
    Recogniser(
        "a 64-bit matrix descriptor, or code that builds one", "0x4000004000010100", descriptor_word.recognise_word
    ),
    Recogniser(
        "a TMA instruction in PTX or SASS, or its CUTLASS atom",
        "cp.async.bulk.tensor.2d.shared::cluster.global",
        bulk.recognise_tma,
        ("bulk", "utma", "_tma_"),
    ),
    Recogniser(
        "a warp-group dot of Triton's IR", "ttng.warp_group_dot", triton_dots.recognise_dots, ("group_dot", "group_mma")
    ),
    Recogniser(
        "an UMMA atom of CUTLASS, or an operation of cute.nvgpu.tcgen05",
        "SM100_MMA_F16BF16_SS<half_t, half_t, float, 128, 256, UMMA::Major::K, UMMA::Major::K>",
        tiled_mma.recognise_lone_atom,
        ("sm10", "op(", "mma operation"),
    ),
    Recogniser(
        "an operation of tcgen05 in PTX, SASS or CUTLASS",
        "tcgen05.mma.cta_group::1.kind::f16",
        tensor_memory.recognise_tensor_memory,
    ),
    Recogniser(
        "a formula of rows and columns by lane, or the loop that stores or loads a fragment",
        "row = groupID;\ncol = threadID_in_group * 2 + i;",
        fragment_answer.recognise_fragment_code,
        ("lane", "group", "threadid", "tid", "warp"),
        alone=True,
    ),
    Recogniser(
        "the formula of a swizzled address",
        "row * 64 + ((col / 8 ^ row % 8) * 8) + col % 8",
        xor_formulas.recognise_xor_formulas,
        ("^", "swizzle", "sw<"),
        alone=True,
    ),
)


@dataclass(frozen=True, slots=True)
class RecognisedText:
    """The possible meanings of a text, most likely first, and the errors of recognisers that rejected it."""

    found: tuple[TextMeaning, ...]
    refused: tuple[LayoutError, ...]


def recognise_text(text: str) -> RecognisedText:
    """Return the possible meanings of a text, the most likely first.

    Raises LayoutError `bad_text` if the text is too long, and nothing else.

    >>> [(meaning.kind, meaning.facts["ptx"]) for meaning in recognise_text("SM75_U32x4_LDSM_N").found]
    [('instruction', 'ldmatrix.sync.aligned.m8n8.x4.shared.b16')]
    """
    text = pasted_text.clean_text(inputs.require_text(text, "text", LONGEST))
    meanings: list[TextMeaning] = []
    refused = []
    low = text.lower()
    for row in RECOGNISERS:
        if (row.alone and meanings) or (row.words and not any(word in low for word in row.words)):
            continue
        try:
            with refuse_deep_recursion():
                meanings += row.read(text)
        except LayoutError as error:
            refused.append(error)
    return RecognisedText(
        tuple(
            _add_refusals(
                tensors.add_cuts(text, conditionals.add_conditionals(text, _drop_weaker_maps(meanings))), text
            )
        ),
        tuple(refused),
    )


def _drop_weaker_maps(meanings: list[TextMeaning]) -> list[TextMeaning]:
    """Drop tensor maps with nothing but a swizzle if the text gives the box of another map."""
    boxed = any(meaning.kind == "tensor_map" and meaning.facts["box"] for meaning in meanings)
    return [
        meaning for meaning in meanings if not (boxed and meaning.kind == "tensor_map" and not meaning.facts["box"])
    ]


def _add_refusals(meanings: list[TextMeaning], text: str) -> list[TextMeaning]:
    """Add ptxas's errors for lines of the text to the first instruction."""
    at = next((n for n, meaning in enumerate(meanings) if meaning.kind == "instruction"), None)
    messages = (
        tuple(dict.fromkeys(line.message for line in statements.find_refused_lines(text))) if at is not None else ()
    )
    if at is None or not messages:
        return meanings
    first = meanings[at]
    refused = replace(
        first, facts={**first.facts, "refused": list(messages)}, notices=(*messages, *first.notices), sure=False
    )
    return [*meanings[:at], refused, *meanings[at + 1 :]]
