"""Hover of `lanescope lsp`, through the protocol: each kind of thing, in each kind of file."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from lsprotocol import types

from lanescope.app.lsp.phrases import list_phrases
from tests.guilty_kernels import RIGHT
from tests.integrations.lsp_editor import Editor, find_position
from tests.release import ROOT

PAGE = (ROOT / "docs" / "editors.md").read_text("utf-8")


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    running = Editor(tmp_path_factory.mktemp("workspace"))
    yield running
    assert running.close() == 0


SOURCE = r"""
using Atom = SM90_64x128x16_F32BF16BF16_SS<GMMA::Major::K, GMMA::Major::MN>;
auto layout = make_layout(make_shape(_8{}, _64{}), make_stride(_64{}, _1{}));  // (8,64):(64,1)
auto mma = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_2,_2>>{}, Tile<_32,_32,_16>{});
auto s = tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128,_64>{});
uint64_t desc_a = 0x4000004000010100ull;
uint64_t what = 0xdeadbeefcafebabe;
uint32_t idesc = 0x08400490;
uint32_t mask = 0x000FFFFF;
uint64_t desc_b = 0400000000000000200400;
int n = call(0x04400490);
__device__ void f(float* d) {
  asm volatile("{\n\t.reg .pred p;\n\t"  /* 𝔻 */
               "setp.ne.b32 p, %66, 0;\n\t"
               "mma.sync.aligned.m16n8k16"   // continued
               ".row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};\n"
               "\tcp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%2, %3}], [%4];"
               "}\n" ::: "memory");
}
"""
PYTHON = '''
import triton.experimental.gluon.language as gl
layout: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
SOURCE = """
  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];
"""
'''
TTGIR = """#blocked = #ttg.blocked<{sizePerThread=[1, 8], threadsPerWarp=[4, 8], warpsPerCTA=[4, 1], order=[1, 0]}>
%0 = tt.load %p : tensor<64x64x!tt.ptr<f16>, #blocked>
"""
PTX = """.visible .entry k() {
  mov.b64 %rd1, 4611686293305360640; // bits
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4},
      %rd1, %rd2, 1, 1, 1, 0, 0;
}
"""
SASS = "        /*0010*/  HMMA.16816.F32 R4, R8, R2, R4 ;\n"


@pytest.mark.parametrize(
    ("name", "text", "part", "skip", "titles"),
    [
        ("h.cu", SOURCE, "F32BF16", 0, ["wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16"]),
        ("h.cu", SOURCE, "make_layout", 2, ["CuTe layout (8,64):(64,1)", "64  65"]),
        ("h.cu", SOURCE, "_64{}, _1", 1, ["CuTe layout (8,64):(64,1)"]),
        ("h.cu", SOURCE, "(8,64):", 3, ["CuTe layout (8,64):(64,1)"]),
        ("h.cu", SOURCE, "make_tiled_mma", 4, ["TiledMMA: 128 threads, tile 32×32×16", "T0:0"]),
        ("h.cu", SOURCE, "tile_to_shape", 4, ["Shared-memory layout 128×64, K-major, swizzle 128B"]),
        ("h.cu", SOURCE, "4000004000010100", 4, ["wgmma matrix descriptor 0x4000004000010100", "1024 B", "128B"]),
        ("h.cu", SOURCE, "0400000000", 4, ["wgmma matrix descriptor 0x4000000000010100"]),  # octal
        (
            "h.cu",
            SOURCE,
            "deadbeef",
            4,
            ["wgmma matrix descriptor", "tcgen05 matrix descriptor", "does not determine what this number is"],
        ),
        ("h.cu", SOURCE, "08400490", 1, ["tcgen05 instruction descriptor 0x08400490: M 128, N 256"]),
        (
            "h.cu",
            SOURCE,
            "0x04400490",
            5,
            ["does not determine what this number is", "instruction descriptor 0x04400490"],
        ),
        ("h.cu", SOURCE, "mma.sync", 1, ["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "T0:0"]),
        ("h.cu", SOURCE, "{%8", 1, ["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"]),
        ("h.cu", SOURCE, "cp.async", 9, ["TMA: cp.async.bulk.tensor.2d"]),
        ("h.py", PYTHON, "BlockedLayout", 3, ["Triton layout #ttg.blocked<{sizePerThread = [1, 8]", "T0:0"]),
        ("h.py", PYTHON, "ldmatrix", 3, ["ldmatrix.sync.aligned.m8n8.x4.shared.b16"]),
        ("h.ttgir", TTGIR, "#blocked>", 3, ["Triton layout #ttg.blocked<{sizePerThread = [1, 8]"]),
        ("h.ptx", PTX, "wgmma", 3, ["wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"]),
        ("h.ptx", PTX, "%rd2, 1", 1, ["wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"]),
        ("h.ptx", PTX, "4611686", 3, ["wgmma matrix descriptor 0x4000004000010100"]),
        ("h.sass", SASS, "HMMA", 2, ["HMMA.16816.F32", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"]),
    ],
)
def test_a_hover_says_what_stands_there(
    editor: Editor, name: str, text: str, part: str, skip: int, titles: list[str]
) -> None:
    """A hover has 80 ms of processor time; on a busy machine an editor may have to ask again."""
    asked = (_hover(editor, name, text, part, skip) for _ in range(3))
    shown = next((hover for hover in asked if hover is not None), None)
    assert shown is not None and isinstance(shown.contents, types.MarkupContent)
    said = shown.contents.value.replace("\\", "")
    assert [title for title in titles if title not in said] == []
    assert "http://127.0.0.1:8000/" in said


@pytest.mark.parametrize(
    ("part", "skip"), [("000FFFFF", 2), ("setp", 1), ("volatile", 1), ("memory", 2), ("using", 1), ("float*", 1)]
)
def test_a_hover_says_nothing_of_what_it_does_not_know(editor: Editor, part: str, skip: int) -> None:
    assert _hover(editor, "h.cu", SOURCE, part, skip) is None


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('__global__ void gemm(int k) { asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 %0;"); }', "gemm"),
        ("x" * 100_000, "x"),
    ],
)
def test_a_function_is_not_what_stands_in_its_body_and_a_long_word_is_no_text(text: str, part: str) -> None:
    found = [phrase.text for phrase in list_phrases(text, text.index(part) + 1, "cxx")]
    assert not [phrase for phrase in found if "asm" in phrase or len(phrase) > 1 << 12]


def test_a_hover_over_a_map_or_a_builder_has_the_values_of_the_whole_source(editor: Editor) -> None:
    uri = editor.open("map.cu", RIGHT)
    editor.wait_for_problems(uri)
    shown = editor.hover(uri, find_position(RIGHT, "cuTensorMap", 3))
    assert shown is not None and isinstance(shown.contents, types.MarkupContent)
    assert "box 64×64, swizzle 128B" in shown.contents.value and "8,192 bytes" in shown.contents.value
    assert "   1  0x90  0x80  0xb0" in shown.contents.value  # row 1 is 128 bytes on, its chunks exchanged in pairs
    built = editor.hover(uri, find_position(RIGHT, "make_smem_desc(sB", 3))
    assert built is not None and isinstance(built.contents, types.MarkupContent)
    assert "SBO          1024 B" in built.contents.value and "swizzle      128B" in built.contents.value


def _hover(editor: Editor, name: str, text: str, part: str, skip: int) -> types.Hover | None:
    uri = editor.link(name)
    if uri not in editor.versions:
        editor.open(name, text)
    return editor.hover(uri, find_position(text, part, skip))


def test_the_picture_in_the_document_is_the_hover(editor: Editor) -> None:
    shown = _hover(editor, "h.cu", SOURCE, "mma.sync", 1)
    assert shown is not None and isinstance(shown.contents, types.MarkupContent)
    (picture,) = re.findall(r"```text\n( +0 +1.*?\n)```", PAGE, re.S)
    assert picture in shown.contents.value
