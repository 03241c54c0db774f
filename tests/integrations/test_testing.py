"""lanescope.testing as a kernel's tests use it: what passes, what fails and with which cause, what is refused; its
document. tests/integrations/test_verify_header.py has the C++ header.
"""

from __future__ import annotations

import ast
import doctest
import random
import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lanescope.testing
from lanescope import find, tiled_copy, triton_layout
from lanescope.descriptor.matrix import Descriptor, encode_wgmma
from lanescope.errors import LayoutError
from lanescope.ptx.table.descriptors import WGMMA
from lanescope.shared.map_enums import SWIZZLES
from lanescope.shared.storage import storage
from lanescope.shared.tile_text import parse_tile_text
from lanescope.shared.tiling import Tile
from lanescope.testing import (
    TensorMap,
    assert_bijection,
    assert_box_fills,
    assert_constants,
    assert_descriptor_reads,
    assert_descriptors_read,
    assert_expect_tx,
    assert_reusable_as_a,
    assert_shared_memory_fits,
)
from lanescope.tiles.tiled_mma import tiled_mma

ROOT = Path(__file__).parents[2]
WGMMA_TEXT = "wgmma.mma_async.m64n128k16.f32.bf16.bf16"
A = "64x64 bf16 K 128B base=0x400"
M16N8K16 = "mma.m16n8k16.row.col.f32.f16.f16.f32"


def get_failure(assertion: Callable[..., None], *arguments: Any, **named: Any) -> str:
    """The message of an assertion that fails."""
    with pytest.raises(AssertionError) as caught:
        assertion(*arguments, **named)
    return str(caught.value)


def get_refusal(assertion: Callable[..., None], *arguments: Any, **named: Any) -> str:
    with pytest.raises((LayoutError, TypeError)) as caught:
        assertion(*arguments, **named)
    return str(caught.value)


# descriptors ----------------------------------------------------------------------------------------------------------


def make_word(at: int) -> Descriptor:
    return encode_wgmma(at, 16, 1024, swizzle="128B")


def test_descriptors_of_every_k_step() -> None:
    """The start moves by 32 bytes a step inside the 128-byte atom, and by nothing else."""
    assert_descriptors_read(lambda k: make_word(0x400 + 2 * k), A, WGMMA_TEXT)
    assert_descriptors_read([make_word(0x400 + 2 * k).word for k in (0, 16, 32, 48)], A, WGMMA_TEXT)
    failed = get_failure(assert_descriptors_read, lambda k: make_word(0x400), A, WGMMA_TEXT)
    assert "K step 1 (k 16)" in failed and "wrong steps: 1, 2, 3 of 4" in failed
    assert "cause (k_step_missing)" in failed and f"repair: {make_word(0x420)}" in failed
    assert "4 K steps" not in get_failure(assert_descriptors_read, [make_word(0x400)] * 4, A, WGMMA_TEXT)
    assert "there are 3 descriptors" in get_failure(assert_descriptors_read, [make_word(0x400)] * 3, A, WGMMA_TEXT)


def test_one_descriptor_has_cause_and_repair() -> None:
    failed = get_failure(assert_descriptor_reads, "0x4000002000010040", A, WGMMA_TEXT)
    assert "cause (sbo_other_width)" in failed
    assert "repair: 0x4000004000010040 (SBO 512 → 1024)" in failed
    assert_descriptor_reads("0x4000004000010042", A, WGMMA_TEXT, k=16)


def test_tcgen05_reads_its_own_format() -> None:
    """Version 1 and its codes of the swizzle mode; a wgmma word of the same fields is none of its format."""
    mma, tile, idesc = "tcgen05.mma.cta_group::1.kind::f16", "128x64 f16 K 128B base=0x400", "0x08400490"
    assert_descriptor_reads(0x4000404000010040, tile, mma, idesc=idesc)
    assert_descriptors_read(lambda k: 0x4000404000010040 + (2 * k >> 4), tile, mma, idesc=idesc)
    assert "malformed" in get_failure(assert_descriptor_reads, 0x4000004000010040, tile, mma, idesc=idesc)
    assert "absolute" in get_failure(assert_descriptor_reads, 0x4010404000010040, tile, mma, idesc=idesc)
    assert "idesc is missing" in get_refusal(assert_descriptor_reads, 0x4000404000010040, tile, mma)


def test_tiles_in_every_form() -> None:
    """A Tile, a storage of the contract, a line of text and a CuTe layout are one tile."""
    tile = Tile(16, "K", WGMMA.get_mode_by_name("128B"), 64, 64, base=0x400)
    spec = {"element_bits": 16, "major": "K", "swizzle": "128B", "mn": 64, "k": 64, "base": 0x400}
    cute = "Sw<3,4,3> o smem_ptr[16b](unset) o ((8,8),(64,1)):((64,512),(1,4096)) base=0x400"
    for given in (tile, spec, storage({"kind": "canonical", **spec}, 16, "K"), A, cute):
        assert_descriptors_read(lambda k: make_word(0x400 + 2 * k), given, WGMMA_TEXT)
    assert parse_tile_text("8 x 16 e4m3 mn-major 64B order=k swizzle_by=tile base=16") == {
        "kind": "canonical", "mn": 8, "k": 16, "element_bits": 8, "major": "MN", "swizzle": "64B", "order": "k",
        "swizzle_by": "tile", "base": 16,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("word", "tile", "instruction", "said"),
    [
        ("zz", A, WGMMA_TEXT, "is not a number"),
        (1.5, A, WGMMA_TEXT, "word is float"),
        (1 << 64, A, WGMMA_TEXT, "more than 64"),
        (0, "64x64 bf16", WGMMA_TEXT, "has no major"),
        (0, "64x64 bf16 K 96B", WGMMA_TEXT, "'96B' is not part of a tile"),
        (0, "64x64 bf16 K K", WGMMA_TEXT, "a second time"),
        (0, "64x128 e4m3 K 128B", WGMMA_TEXT, "8-bit elements, the instruction 16"),
        (0, "60x64 bf16 K 128B", WGMMA_TEXT, "not a multiple of the atom's 8"),
        (0, 7, WGMMA_TEXT, "tile is int"),
        (0, A, M16N8K16, "has no descriptor operand"),
        (0, A, "wgmma.nothing", "wgmma.nothing"),
        (0, "32x64 bf16 K 128B", WGMMA_TEXT, "exceeds the stored 32"),
    ],
)
def test_wrong_arguments_are_no_failures(word: Any, tile: Any, instruction: str, said: str) -> None:
    assert said in get_refusal(assert_descriptor_reads, word, tile, instruction)


# TMA ------------------------------------------------------------------------------------------------------------------

BOX = TensorMap(type="BFLOAT16", dims=(4096, 4096), box=(64, 128), swizzle="CU_TENSOR_MAP_SWIZZLE_128B")


def test_boxes_fill_a_tile() -> None:
    assert_box_fills(BOX, "128x64 bf16 K 128B base=0x400")
    assert_box_fills(BOX, "128x128 bf16 K 128B base=0x400")  # two boxes, one after the other
    panels = TensorMap(type="bf16", dims=(64, 4096, 64), strides=(8192, 128), box=(64, 128, 2), swizzle="128B")
    assert_box_fills(panels, "128x128 bf16 K 128B base=0x400")  # both at once
    assert_box_fills(BOX, "128x128 bf16 K 128B", copies=[(0, 64, 0x4000), (0, 0, 0)])
    assert_box_fills(TensorMap(type="u8", dims=(256, 64), box=(128, 64), swizzle="128B"), A)  # counted in bytes
    transposed = TensorMap(type="tf32", dims=(64, 64), box=(32, 8), swizzle="128B_ATOM_32B")
    assert_box_fills(transposed, "32x8 tf32 MN 128B_base32B base=0x400")


def test_boxes_that_do_not_fill_it() -> None:
    wrong = get_failure(assert_box_fills, BOX, "128x64 bf16 K 64B base=0x400")
    assert "the tile is stored with swizzle 64B, the map has 128B" in wrong
    narrow = TensorMap(type="bf16", dims=(64, 64), box=(32, 64), swizzle="none")
    assert "repair: CU_TENSOR_MAP_SWIZZLE_64B" in get_failure(assert_box_fills, narrow, "64x32 bf16 K 64B")
    assert "k 128; the tile ends" in get_failure(assert_box_fills, BOX, "128x64 bf16 K 128B", copies=[(0, 64, 0)])
    assert "no box writes (0, 64)" in get_failure(assert_box_fills, BOX, "128x128 bf16 K 128B", copies=[(0, 0, 0)])
    twice = [(0, 0, 0), (0, 0, 0), (0, 64, 0x4000)]
    assert "more than one box" in get_failure(assert_box_fills, BOX, "128x128 bf16 K 128B", copies=twice)
    order = TensorMap(type="bf16", dims=(64, 64), box=(64, 8), swizzle="128B")
    assert_box_fills(order, "16x128 bf16 K 128B order=k")
    assert "multiples of 128" in get_failure(assert_box_fills, order, "8x64 bf16 K 128B base=16")
    by_k = [(mn, k, mn * 256 + k * 16) for mn in (0, 8) for k in (0, 64)]
    failed = get_failure(assert_box_fills, order, "16x128 bf16 K 128B", copies=by_k)
    assert "laid mn first; these boxes fill one laid k first" in failed
    for wrong in ([], [(0, 0, 64)], [(0, 0, 0)] * 2):  # the order of one atom is no cause
        assert "cause" not in get_failure(assert_box_fills, order, "8x64 bf16 K 128B", copies=wrong)


def test_arrays_of_numpy_are_sequences() -> None:
    sizes: Any = np.array([64, 64])
    bytes_of_box: Any = np.int32(8192)
    assert_expect_tx(bytes_of_box, [TensorMap(type="bf16", dims=sizes, box=sizes)])
    assert_bijection("(64,64):(1,64)", sizes)
    wrong: list[tuple[Callable[..., None], tuple[Any, ...]]] = [
        (assert_expect_tx, (8192, BOX)),
        (assert_descriptors_read, (0x40, A, WGMMA_TEXT)),
        (assert_descriptors_read, ("0x40", A, WGMMA_TEXT)),
        (assert_bijection, ("8:1", 8)),
    ]
    for function, arguments in wrong:
        with pytest.raises(TypeError, match="is needed"):
            function(*arguments)


def test_the_drivers_rules_fail() -> None:
    wide = TensorMap(type="bf16", dims=(4096, 4096), box=(128, 128), swizzle="128B")
    assert "boxDim[0] may be 64" in get_failure(assert_box_fills, wide, "128x64 bf16 K 128B")
    stride = TensorMap(type="bf16", dims=(4096, 4096), strides=(8200,), box=(64, 128), swizzle="128B")
    assert "tma_stride" in get_failure(assert_expect_tx, 16384, [stride])
    assert "No swizzle '96B'" in get_refusal(
        assert_expect_tx, 1, [TensorMap(type="u8", dims=(16,), box=(16,), swizzle="96B")]
    )
    assert "type 'f17'" in get_refusal(assert_expect_tx, 1, [TensorMap(type="f17", dims=(16,), box=(16,))])
    assert "dims is empty" in get_refusal(assert_expect_tx, 1, [TensorMap(type="u8", dims=(), box=())])
    assert "is not established" in get_refusal(
        assert_expect_tx, 1, [TensorMap(type="16U4_ALIGN16B", dims=(128, 8), box=(128, 8), strides=(64,))]
    )
    assert set(SWIZZLES) >= {"128B_ATOM_32B"}


def test_expect_tx_is_the_bytes_of_the_boxes() -> None:
    assert_expect_tx(64 * 128 * 2 * 2, [BOX, BOX])
    more = get_failure(assert_expect_tx, 32768, [BOX])
    assert "waits for ever" in more and "repair: 16384" in more
    assert "before the last bytes" in get_failure(assert_expect_tx, 16384, [BOX, BOX])


# fragments and limits -------------------------------------------------------------------------------------------------


BLOCKED = "#ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>"
COPY: dict[str, Any] = {
    "bits": 128,
    "element_bits": 16,
    "thr_layout": "(32,8)",
    "val_layout": "(1,8)",
    "tile": [32, 64],
}


def test_bijections() -> None:
    assert_bijection(find(M16N8K16).operand("a"))
    assert_bijection(tiled_mma("SM80_16x8x16_F32F16F16F32_TN", "(2,2,1)", None, (32, 32, 16)).c)
    assert_bijection(lambda lane, v: (lane // 4 + 8 * (v // 2), lane % 4 * 2 + v % 2), (16, 8), threads=32, values=4)
    assert_bijection([[[0, 0], [1, 1]], [[0, 1], [0, 1]]], (2, 2))
    assert_bijection("Sw<3,3,3> o (8,64):(64,1)")
    assert_bijection(triton_layout(BLOCKED, [32, 64], 16))
    assert_bijection(tiled_copy("universal", **COPY).source, (32, 64))
    copies = find("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32").operand("a")
    assert "[0, 0] of 16×16 is held 2 times" in get_failure(assert_bijection, copies)
    assert "thread 0 value 4 holds [0, 8], outside 16×8" in get_failure(
        assert_bijection, find(M16N8K16).operand("a"), (16, 8)
    )
    assert "held by no thread" in get_failure(assert_bijection, [[[0, 0]], [[0, 1]]], (2, 2))
    assert "elements 1 and 504 are both at 63" in get_failure(assert_bijection, "(8,64):(63,1)")
    assert "0 … 518" in get_failure(assert_bijection, "(8,64):(65,1)")
    assert "is not a layout" in get_refusal(assert_bijection, 5)
    assert "(8,4):(4,1) has 32 elements, the shape 40" in get_failure(assert_bijection, "(8,4):(4,1)", (8, 5))
    assert "threads and values" in get_refusal(assert_bijection, lambda lane, v: (lane, v), (2, 2))
    formulas: list[Callable[[int, int], Any]] = [
        lambda lane, v: (lane / 4, v),
        lambda lane, v: lane,
        lambda lane, v: None,
    ]
    for wrong in formulas:
        assert "A tuple of integers" in get_refusal(assert_bijection, wrong, (2, 2), threads=2, values=2)
    assert "for a function" in get_refusal(assert_bijection, "(8,4):(4,1)", threads=32, values=1)
    assert "2 axes, the shape 3" in get_refusal(assert_bijection, find(M16N8K16).operand("a"), (16, 8, 1))


def test_accumulators_as_a() -> None:
    """Flash attention: f32's D is 16-bit A of the next; of 8-bit A lanes would have to exchange values."""
    assert_reusable_as_a(M16N8K16, M16N8K16)
    fp8 = "wgmma.mma_async.m64n128k32.f32.e4m3.e4m3"
    failed = get_failure(assert_reusable_as_a, fp8, fp8)
    assert "6144 of 8192 values" in failed and "f32 to e4m3" in failed and "[0, 1, 8, 9, 2, 3, 10, 11," in failed
    assert_reusable_as_a(fp8, fp8, reordered=True)
    assert "D belongs to 32 threads, A to 128" in get_failure(assert_reusable_as_a, M16N8K16, WGMMA_TEXT)
    assert "nope" in get_refusal(assert_reusable_as_a, "nope", WGMMA_TEXT)


def test_shared_memory() -> None:
    stage = {"a": 16384, "b": Tile(16, "K", WGMMA.get_mode_by_name("128B"), 128, 64)}
    assert_shared_memory_fits(stage, "sm_90a", stages=7, extra=3072)  # 232,448 bytes exactly
    failed = get_failure(assert_shared_memory_fits, stage, "sm_90a", stages=8, extra=1024)
    assert "263,168" in failed and "232,448" in failed and "7 stages fit" in failed
    assert "1 too many" in get_failure(assert_shared_memory_fits, 99 * 1024 + 1, "sm_120")
    assert "49,152" in get_failure(assert_shared_memory_fits, 50_000, "sm_90", static=True)
    assert "334,848" in get_failure(assert_shared_memory_fits, 327 * 1024 + 1, "sm_107")  # Rubin
    assert "No target 'sm_1'" in get_refusal(assert_shared_memory_fits, 1, "sm_1")


def test_constants(tmp_path: Path) -> None:
    source = "#define BK 64\nconstexpr int BM = 2 * BK;\ntemplate <int BN = 256> __global__ void gemm(float*) {}\n"
    path = tmp_path / "gemm.cu"
    path.write_text(source)
    for given in (source, path):
        assert_constants(given, {"BK": 64, "BM": 128, "gemm::BN": 256})
    failed = get_failure(assert_constants, path, {"BK": 64, "BM": 64})
    assert failed.startswith("1 of 2 constants in gemm.cu") and "BM is 128 in the source, 64 in Python" in failed
    assert "no constant 'BX'" in get_refusal(assert_constants, source, {"BX": 1})
    device = "#if __CUDA_ARCH__ >= 1000\nconst int BM = 256, BK = 64;\n#else\nconst int BM = 128, BK = 64;\n#endif\n"
    assert_constants(device, {"BM": 256, "BK": 64}, defines={"__CUDA_ARCH__": 1000})
    assert_constants(device, {"BK": 64})
    assert "BM is 128 or 256" in get_refusal(assert_constants, device, {"BM": 128})
    spaces = "namespace mine { constexpr int BM = 64; template <int K> struct T { static constexpr int Q = K; }; }"
    assert "Nearest: mine::BM." in get_refusal(assert_constants, spaces, {"BM": 64})
    assert "cannot be read" in get_refusal(assert_constants, tmp_path / "none.cu", {"BK": 64})
    assert "a file's name" in get_refusal(assert_constants, "gemm.cu", {"BK": 64})
    assert "mapping" in get_refusal(assert_constants, source, {})
    with pytest.raises(TypeError, match="None for SMALL"):  # str(None) would define it
        assert_constants(source, {"BK": 64}, defines={"SMALL": None})


def test_two_kernels_in_twelve_lines() -> None:
    """The example passes, its two tests have twelve statements, and it fails on a kernel with another panel."""
    path = ROOT / "examples" / "test_kernels.py"
    tests = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)]
    assert sum(len(node.body) for node in tests) <= 12
    namespace = runpy.run_path(str(path))
    for node in tests:
        namespace[node.name]()
    changed = (ROOT / "examples" / "wgmma_tma_k_major.cu").read_text().replace("PANEL_K = 64", "PANEL_K = 32")
    assert "PANEL_K is 32" in get_failure(assert_constants, changed, {"PANEL_K": 64})


JUNK = (
    None, -1, 1.5, True, "", "x", [], [1], {}, {"kind": "cute"}, object(), b"x", (1, 2), 1 << 70, A, WGMMA_TEXT,
    M16N8K16,
    np.zeros((2, 3), int), np.zeros(0), BOX, TensorMap(type=None, dims=None, box=None),  # type: ignore[arg-type]
    TensorMap(type="bf16", dims=(64, "a"), box=(64, 8)), lambda *given: 1, Exception, {"BM": "x"},  # type: ignore[arg-type]
)  # fmt: skip
CALLS: dict[Callable[..., None], tuple[list[Any], tuple[str, ...]]] = {
    assert_descriptor_reads: ([make_word(0x400), A, WGMMA_TEXT, "a"], ("mn", "k", "major", "idesc")),
    assert_descriptors_read: ([[make_word(0x400)] * 4, A, WGMMA_TEXT, "a"], ("mn", "depth", "major", "idesc")),
    assert_box_fills: ([BOX, "128x64 bf16 K 128B"], ("copies", "axes")),
    assert_expect_tx: ([16384, [BOX]], ()),
    assert_bijection: (["(4,2):(2,1)", (4, 2)], ("threads", "values")),
    assert_reusable_as_a: ([M16N8K16, M16N8K16], ()),
    assert_shared_memory_fits: ([{"a": 1}, "sm_90a"], ("stages", "extra", "static")),
    assert_constants: (["constexpr int BM = 1;", {"BM": 1}], ("defines",)),
}


def test_no_argument_raises_anything_else() -> None:
    """Whatever is given, an assertion passes, fails, or refuses by LayoutError or TypeError."""
    random_ = random.Random(6)
    refused = 0
    for _ in range(600):
        assertion, (right, named) = random_.choice(list(CALLS.items()))
        given = [random_.choice(JUNK) if random_.random() < 0.4 else one for one in right]
        try:
            assertion(*given, **{name: random_.choice(JUNK) for name in named if random_.random() < 0.3})
        except (AssertionError, LayoutError, TypeError) as error:
            refused += not isinstance(error, AssertionError)
    assert refused > 300


DOCUMENT = (ROOT / "docs" / "testing.md").read_text()


def test_the_document_shows_what_runs() -> None:
    """Its test is the example's, word for word; its failure is what Python prints; it names every assertion."""
    shown = re.findall(r"```(\w+)\n(.*?)```", DOCUMENT, re.S)
    kept = dict(shown)
    assert kept["python"] in (ROOT / "examples" / "test_kernels.py").read_text()
    examples = doctest.DocTestParser().get_doctest(kept["pycon"], {}, "testing.md", None, None)
    assert doctest.DocTestRunner(verbose=False, optionflags=doctest.REPORT_NDIFF).run(examples).failed == 0
    assert {name for name in lanescope.testing.__all__ if name.startswith("assert_")} == set(
        re.findall(r"^\| `(assert_\w+)", DOCUMENT, re.M)
    )
