"""Formats of prepacked weights, one row each: the place of W (k, n), `bits`-bit integers, in 32-bit words.

A tile is a pattern, `(thread) (word field) -> (k) (n)`: the words of a thread are consecutive in memory, followed by
those of the next thread, then those of the next tile. Field 0 is the low bits of a word. `left` is the pattern's left
side by bits, `right` its right side. If the operand that the words feed is known, `fragment` has it with the same
names: (instruction) (row) (column) of the operand of `ptx`.

Read from the public code that each row names; nothing of it is copied.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

VLLM, MARLIN, SPARSE = "vllm-project/vllm", "IST-DASLab/marlin", "IST-DASLab/Sparse-Marlin"
UTILS = "vllm/model_executor/layers/quantization/utils"
CODE = "csrc/quantization"


@dataclass(frozen=True, slots=True)
class SideValues:
    """Scales or zero points of a format.

    orders: key → pattern `(block) (place) -> (n)` over the columns of a block; if packed, a place is a field of a word,
    by bits. plain: whether they are row-major (group, n), unpermuted.
    """

    about: str
    orders: Mapping[str, str] = field(default_factory=dict)
    plain: bool = False


@dataclass(frozen=True, slots=True)
class WeightFormat:
    """One format.

    k_first: whether tiles are ordered along n before k; rows: an axis and its count per published row of words, 0 for
    the fields of a word; "" for a flat array; unit: the kernel's multiple; feeds: the operand that the words feed;
    open: what the code does not determine; metadata: (word)(index) → (n)(group of k) of 2:4 sparsity.
    """

    name: str
    title: str
    left: Mapping[int, str]
    right: str
    rows: tuple[str, int]
    feeds: str
    sources: tuple[str, ...]
    fragment: str = ""
    ptx: str = ""
    operand: str = ""
    k_first: bool = True
    groups: str = ""
    scales: SideValues = SideValues("row-major (group, n)", plain=True)
    zeros: SideValues = SideValues("none")
    unit: str = ""
    notes: tuple[str, ...] = ()
    open: str = ""
    metadata: str = ""

    def tile_of(self, bits: int) -> str:
        """Return the text of the tile's pattern for a bit width."""
        return f"{self.left[bits]} -> {self.right}"


MARLIN_SCALES = {"group": "(i:8) (j:8) -> (j i)", "channel": "(i:4) (c:4 e:2) -> (c i e)"}
MARLIN_ZEROS = {"4": "(i:8) (e:2 c:4) -> (c e i)", "8": "(i:8 h:2) (e:2 c:2) -> (h c e i)"}
IN_ORDER = {"4": "() (p:8) -> (p)", "8": "() (p:4) -> (p)", "2": "() (p:16) -> (p)"}

FORMATS = {
    row.name: row
    for row in (
        WeightFormat(
            "marlin",
            "Marlin",
            {4: "(g:8 t:4) (j:4 e:2 b:2 h:2)", 8: "(g:8 t:4) (j:4 b:2 e:2 h:2)"},
            "(h t e) (j b g)",
            ("k", 16),
            "B of mma.m16n8k16: a lane's words of a tile are its fragments of eight n8 columns, all of one k16 step."
            " With 4 bits they are one 128-bit load.",
            (
                f"{MARLIN}, marlin/__init__.py and marlin/marlin_cuda_kernel.cu",
                f"{VLLM}, {UTILS}/marlin_utils.py, {UTILS}/marlin_utils_test.py",
                f"{VLLM}, {CODE}/gptq_marlin/gptq_marlin_repack.cu and dequant.h",
            ),
            "(j b) (h t e) (g)",
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
            "b",
            groups="-1 (all of K) and 128 in IST-DASLab's kernel; -1, 32, 64 and 128 in vLLM's",
            scales=SideValues(
                "fp16 (group, n), permuted over 64 columns: eight halves of lane group g are its columns g + 8j. One"
                " scale per column (group = K): over 32 columns, so that they match D",
                MARLIN_SCALES,
            ),
            zeros=SideValues(
                "vLLM: permuted as the scales of groups, then packed along n in the order of the weights' fields",
                MARLIN_ZEROS,
            ),
            unit="IST-DASLab's kernel requires K in multiples of 128 and N of 256; vLLM's K of 128 and N of 64.",
            notes=(
                "4-bit values have 8 added (u4b8) or a zero point, 8-bit ones 128 added (u8b128).",
                "With act_order the rows of W are sorted by group before packing; g_idx is stored separately.",
            ),
        ),
        WeightFormat(
            "marlin-a8",
            "Marlin, 8-bit activations",
            {4: "(g:8 t:4) (j:2 b:2 e:4 h:2)", 8: "(g:8 t:4) (j:2 b:2 h:2 e:4)"},
            "(h t e) (j b g)",
            ("k", 16),
            "B of mma.m16n8k32: a lane's words of a tile are its fragments of four n8 columns, all of one k32 step.",
            (f"{VLLM}, {UTILS}/marlin_utils_test.py and marlin_utils.py",),
            "(j b) (h t e) (g)",
            "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32",
            "b",
            groups="-1, 32, 64 and 128",
            scales=SideValues(
                "over 32 columns, with groups too", dict.fromkeys(("group", "channel"), MARLIN_SCALES["channel"])
            ),
            zeros=SideValues(
                "permuted as Marlin's scales of groups, then packed along n in order",
                {"4": "(i:8) (c:8) -> (c i)", "8": "(i:8 h:2) (c:4) -> (h c i)"},
            ),
            unit="vLLM's K is a multiple of 128 and N of 64.",
            notes=(
                "For int8 activations vLLM then changes the values in place (4 bits: minus 8 as two's complement;"
                " 8 bits: minus 128), for fp8 ones it converts 4-bit values; the places stay.",
            ),
        ),
        WeightFormat(
            "sparse-marlin",
            "Sparse Marlin (2:4)",
            {4: "(g:8 t:4) (j:4 e:2 b:2 h:2)", 8: "(g:8 t:4) (j:4 b:2 e:2 h:2)"},
            "(h t e) (g b j)",
            ("k", 16),
            "A of mma.sp.m16n8k32, as the product is transposed: row b·8 + g of instruction j is column 8g + 4b + j.",
            (
                f"{SPARSE}, marlin/__init__.py, marlin/_semi_structured_conversions.py",
                f"{SPARSE}, marlin/marlin_cuda_kernel_nm.cu, marlin/common/mma.h and mem.h",
                f"{VLLM}, {UTILS}/marlin_utils_test_24.py",
            ),
            "(j) (b g) (h t e)",
            "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32",
            "a",
            groups="-1 (all of K) and 128, of dense K",
            scales=SideValues(
                "fp16 (group, n), permuted over 8 columns; one scale per column (group = K): as they are",
                {"group": "() (e:4 b:2) -> (b e)", "channel": "() (c:8) -> (c)"},
            ),
            unit="IST-DASLab's kernel requires dense K in multiples of 128 and N of 256.",
            notes=(
                "k and K here count the stored half of dense K. A group of four keeps two; its metadata is a"
                " separate matrix.",
            ),
            metadata="(y:2 g:8 x:2 c:2) (b:2 q:4) -> (g b y x) (c q)",
        ),
        WeightFormat(
            "machete",
            "Machete",
            {4: "(q:2 w:4 g:8 t:4) (s:4 e:2 h:2 i:2)", 8: "(q:2 w:4 g:8 t:4) (s:4 h:2 i:2 e:2)"},
            "(s h t e) (q w i g)",
            ("", 0),
            "A of wgmma m64nNk16 from registers, as the product is transposed (rows are n): two warpgroups, four steps"
            " of K. With 4 bits a thread's words are 128 bits.",
            (
                f"{VLLM}, {CODE}/machete/machete_prepacked_layout.cuh, machete_interleaving_utils.cuh",
                f"{VLLM}, {CODE}/machete/machete_prepack_kernel.cuh, machete_mainloop.cuh, generate.py, Readme.md",
            ),
            "(q s) (w i g) (h t e)",
            "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16",
            "a",
            groups="the format fixes none",
            zeros=SideValues("of the scales' type, multiplied by them beforehand (group, n), not packed", plain=True),
            unit="K is a multiple of 64 and N of 128.",
            notes=(
                "4-bit values are stored with 8 added (u4b8) or unsigned (u4), 8-bit ones with 128 added or unsigned.",
            ),
            open="The packed tensor reports the rows and columns of the unpacked matrix; only the order in memory is"
            " significant.",
        ),
        WeightFormat(
            "machete-a8",
            "Machete, 8-bit activations",
            {4: "(q:2 w:4 g:8 t:4) (s:2 h:2 i:2 e:4)"},
            "(s h t e) (q w i g)",
            ("", 0),
            "A of wgmma m64nNk32 from registers, as the product is transposed (rows are n): two warpgroups, two steps"
            " of K. The fields of a word are in order.",
            (f"{VLLM}, {CODE}/machete/machete_prepacked_layout.cuh, machete_interleaving_utils.cuh",),
            "(q s) (w i g) (h t e)",
            "wgmma.mma_async.sync.aligned.m64n256k32.f32.e4m3.e4m3",
            "a",
            groups="the format fixes none",
            unit="K is a multiple of 64 and N of 128.",
            notes=("This holds where activations and converted weights are both e4m3, or both int8.",),
            open="Scales and zero points of this combination.",
        ),
        WeightFormat(
            "awq",
            "AWQ (GEMM)",
            {4: "() (e:2 c:4)", 8: "() (e:2 c:2)"},
            "() (c e)",
            ("k", 1),
            "No fragment by itself: a thread converts one word to eight fp16 in the order of n and stores them in a row"
            " of shared memory, from which ldmatrix.trans loads B of mma.m16n8k16.",
            (
                f"{VLLM}, {UTILS}/quant_utils.py (awq_pack), {CODE}/gptq_marlin/awq_marlin_repack.cu",
                f"{VLLM}, {CODE}/awq/gemm_kernels.cu, dequantize.cuh",
            ),
            groups="the order fixes none",
            zeros=SideValues(
                "(group, n), packed along n in the order of the weights",
                {"4": "() (e:2 c:4) -> (c e)", "8": "() (e:2 c:2) -> (c e)"},
            ),
            notes=("The 4-bit kernel uses blocks of 64 or 128 along N and 32 along K.",),
            open="8 bits: only the order is established, in vLLM's repacking and tests.",
        ),
        WeightFormat(
            "awq-tinychat",
            "AWQ (TinyChat)",
            {4: "() (r:4 s:2 t:4 e:2 a:4)"},
            "(s a t e) (r)",
            ("n", 4),
            "The fragment is unknown, because the lane that loads a word is not determined. Word t of 32 k has the"
            " values of lane t of a quad in two k16 steps of B of mma.m16n8k16, for one n.",
            ("mit-han-lab/llm-awq, awq/quantize/qmodule.py (pack_intweight)",),
            k_first=False,
            groups="32, 64 and 128, or all of K",
            scales=SideValues("fp16 (group, n), row-major, rows padded", plain=True),
            zeros=SideValues("fp16 (group, n): −scale · zero point, not packed", plain=True),
            unit="K is a multiple of 64 and N of 4.",
            notes=("The published array is int16 (N/4, K); two of its elements are a word here, the first one low.",),
        ),
        WeightFormat(
            "gptq",
            "GPTQ",
            {4: "() (p:8)", 8: "() (p:4)", 2: "() (p:16)"},
            "(p) ()",
            ("k", 0),
            "No fragment: the fields of a word are neighbours along k in order. Kernels that multiply with mma repack"
            " first, to Marlin's tile for instance.",
            (
                "AutoGPTQ/AutoGPTQ, auto_gptq/nn_modules/qlinear/qlinear_cuda_old.py",
                f"{VLLM}, {UTILS}/quant_utils.py (gptq_pack)",
            ),
            groups="any divisor of K; -1 is all of K",
            zeros=SideValues("(group, n), packed along n in order; AutoGPTQ stores the zero point minus 1", IN_ORDER),
            notes=(
                "g_idx [K] is data, not layout: the group of each row of W. With act_order it is not k // group.",
                "3 bits cross words (32 values in 3 words), so no word has complete fields; this is not supported.",
            ),
        ),
    )
}
