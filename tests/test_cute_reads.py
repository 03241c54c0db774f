"""Descriptors that CuTe makes: the words against CUTLASS's own, and what `check` says of fragments in code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lanescope.cute import algebra
from lanescope.cute.layout import CuteLayout
from lanescope.cute.text import parse_layout
from lanescope.descriptor.cute_descriptors import make_cute_descriptor
from lanescope.descriptor.format import DescriptorFormat
from lanescope.descriptor.matrix import Descriptor, View, reads
from lanescope.errors import LayoutError
from lanescope.ptx.table.descriptors import TCGEN05, WGMMA
from lanescope.shared.swizzle import Mode
from tests.cases import for_each
from tests.checked import check_text, search_cause
from tests.test_cutlass_umma import read_printed

GOLDEN = Path(__file__).parent / "golden"
WIDTHS = {"INTER": "none", "SW32": "32B", "SW64": "64B", "SW128": "128B"}


def _tile_atom(mode: Mode, bits: int, major: str, sizes: tuple[int, int], order: str) -> CuteLayout:
    """tile_to_shape of a swizzle atom, of 8 rows (4 of K with 128B_base32B)."""
    run = mode.width_bytes * 8 // bits
    deep = mode.deep if major == "MN" else 8
    atom = CuteLayout((deep, run), (run, 1)) if major == "K" else CuteLayout((run, deep), (1, run))
    made = algebra.tile_to_shape(atom, sizes, (1, 2) if order == "mn" else (2, 1))
    return CuteLayout(made.shape, made.stride, mode.swizzle(), bits)


def _divide(tile: CuteLayout, rows: int, columns: int) -> CuteLayout:
    """The part of a tile that one instruction reads."""
    one = algebra.tiled_divide(CuteLayout(tile.shape, tile.stride), (rows, columns)).modes[0]
    return CuteLayout(one.shape, one.stride, tile.swizzle, tile.unit_bits)


def _reads_alike(one: Descriptor, other: Descriptor, seen: View) -> bool:
    return bool((reads(one, seen) == reads(other, seen)).all())


def _compare(form: DescriptorFormat, mode: Mode, words: list[str], rows: int, printed: int) -> None:
    bits, major, mn, k, order = int(words[0]), words[1], int(words[3]), int(words[4]), words[5]
    tile = _tile_atom(mode, bits, major, (mn, k), order)
    made = make_cute_descriptor(_divide(tile, rows, 256 // bits), major, bits, form)
    theirs = Descriptor(printed, form)
    assert made == theirs or _reads_alike(made, theirs, View(rows, 256 // bits, bits, major, form)), words


def test_words_are_those_of_make_gmma_desc() -> None:
    lines = [line for line in (GOLDEN / "cutlass_gmma.txt").read_text().splitlines() if line.startswith("gmma")]
    for line in lines:
        case, word = line.split("|")
        words = case.split()[1:]
        _compare(WGMMA, WGMMA.get_mode_by_name(WIDTHS[words[2]]), words, 64, int(word, 16))
    assert len(lines) == 96


def test_words_are_those_of_make_umma_desc() -> None:
    compared = 0
    for (_, *words), (word, _, _) in read_printed("umma"):
        mode = TCGEN05.get_mode_by_name(words[2])
        if TCGEN05.allows_elements(int(words[0]), words[1], mode):
            _compare(TCGEN05, mode, words, min(int(words[3]), 128), int(word, 16))
            compared += 1
    assert compared > 100


@for_each(
    ("layout", "major", "why"),
    [
        ("(64,64):(64,1)", "K", "rows are 128 bytes apart, not the 16 bytes"),
        ("(64,64):(72,1)", "K", "rows are 144 bytes apart"),
        ("(64,64):(1,64)", "MN", "lines of K are 128 bytes apart"),
        ("(64,64):(68,1)", "K", "neither of 68 and 8 divides"),
        ("((8,4,2),(8,8)):((8,64,1024),(1,2048))", "K", "not evenly spaced"),
        ("Sw<3,4,3> o smem_ptr[16b](unset) o (64,128):(128,1)", "K", "rows are 256 bytes apart, not the 128 bytes"),
        ("Sw<2,3,3> o smem_ptr[16b](unset) o (64,64):(32,1)", "K", "Sw<2,3,3> is not a swizzle mode of wgmma"),
        ("Sw<3,3,3> o (64,64):(64,1)", "K", "Sw<3,3,3> is not a swizzle mode of wgmma"),
        ("Sw<3,4,3> o (64,64):(64,1)", "K", "the layout has no pointer"),
        ("Sw<3,4,3> o smem_ptr[16b](unset) o (64,64):(1,64)", "K", "along K it has 16 units"),
    ],
)
def test_layouts_that_make_gmma_desc_refuses(layout: str, major: str, why: str) -> None:
    """g++ refuses each of them, by a static_assert of cute/atom/mma_traits_sm90_gmma.hpp or for want of a function."""
    with pytest.raises(LayoutError, match=why):
        make_cute_descriptor(_divide(parse_layout(layout), 64, 16), major, 16, WGMMA)


# code -----------------------------------------------------------------------------------------------------------------

WGMMA_KERNEL = """#include <cute/tensor.hpp>
using namespace cute;
template <class T, class LayoutA, class LayoutB, class Mma>
__global__ void multiply(T const* a, T const* b, float* c, LayoutA, LayoutB, Mma mma) {
  __shared__ alignas(1024) T bufA[cosize_v<LayoutA>];
  __shared__ alignas(1024) T bufB[cosize_v<LayoutB>];
  Tensor sA = make_tensor(make_smem_ptr(bufA), LayoutA{});
  Tensor sB = make_tensor(make_smem_ptr(bufB), LayoutB{});
  auto part = mma.get_thread_slice(threadIdx.x);
  Tensor fA = part.partition_fragment_A(sA);
  Tensor fB = part.make_fragment_B(part.partition_B(sB(_, _, 1)));
  Tensor acc = partition_fragment_C(mma, Shape<_128, _64>{});
  warpgroup_arrive();
  gemm(mma, fA(_, _, _, 0), fB, acc);
  warpgroup_commit_batch();
  warpgroup_wait<0>();
}
void run(half_t const* a, half_t const* b, float* c) {
  auto layoutA = tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128, _64, _2>{});
  auto layoutB = tile_to_shape(GMMA::Layout_MN_SW64_Atom<half_t>{}, Shape<_64, _64, _3>{});
  auto mma = make_tiled_mma(SM90_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::MN>{}, Layout<Shape<_2, _1, _1>>{});
  multiply<<<1, 256>>>(a, b, c, layoutA, layoutB, mma);
}
"""
UMMA_KERNEL = """#include <cute/tensor.hpp>
using namespace cute;
template <class LayoutA, class LayoutB>
struct Tiles {
  alignas(128) ArrayEngine<half_t, cosize_v<LayoutA>> a;
  alignas(128) ArrayEngine<half_t, cosize_v<LayoutB>> b;
};
template <class LayoutA, class LayoutB, class Mma>
__global__ void multiply(Mma mma) {
  extern __shared__ char raw[];
  auto& tiles = *reinterpret_cast<Tiles<LayoutA, LayoutB>*>(raw);
  auto part = mma.get_slice(0);
  auto fA = part.make_fragment_A(make_tensor(make_smem_ptr(tiles.a.begin()), LayoutA{}));
  auto fB = part.make_fragment_B(make_tensor(make_smem_ptr(tiles.b.begin()), LayoutB{}));
  for (int k = 0; k < size<2>(fA); ++k) gemm(mma, fA(_, _, k), fB(_, _, k), part.make_fragment_C(Shape<_128, _64>{}));
}
void run() {
  auto mma = make_tiled_mma(SM100_MMA_F16BF16_SS<half_t, half_t, float, 128, 64, UMMA::Major::K, UMMA::Major::K>{});
  auto shapeA = partition_shape_A(mma, make_shape(Int<128>{}, Int<64>{}));
  auto shapeB = partition_shape_B(mma, make_shape(tile_size<1>(mma), tile_size<2>(mma) * Int<4>{}));
  auto layoutA = UMMA::tile_to_mma_shape(UMMA::Layout_K_SW128_Atom<half_t>{}, shapeA);
  auto layoutB = UMMA::tile_to_mma_shape(UMMA::Layout_K_SW32_Atom<half_t>{}, shapeB);
  multiply<decltype(layoutA), decltype(layoutB)><<<1, 128>>>(mma);
}
"""


def test_reads_of_a_wgmma_kernel_are_verified() -> None:
    """A: 2 warpgroups' rows, 4 steps of K, 2 stages; B: 4 steps of the stage that the code slices."""
    report = check_text(WGMMA_KERNEL)
    assert (report.findings, report.open) == ((), ())
    assert (report.descriptors, report.steps, report.placed) == (2, 16 + 4, 20)
    assert {one.gap for one in report.checked} == {""}


def test_an_atom_may_take_its_major_as_an_argument() -> None:
    """Layout_SW128_Atom<T, Major::K> is Layout_K_SW128_Atom<T>."""
    name = re.compile(r"(GMMA)::Layout_(K|MN)_(\w+)<half_t>")
    text = name.sub(r"\1::Layout_\3<half_t, \1::Major::\2>", WGMMA_KERNEL)
    report = check_text(text)
    assert (report.findings, report.steps) == ((), 16 + 4)
    (finding,) = check_text(text.replace("Atom<half_t, GMMA::Major::K>", "Atom<half_t, GMMA::Major::MN>")).findings
    assert finding.code == "cute_not_canonical"


def test_reads_of_a_umma_kernel_are_verified() -> None:
    report = check_text(UMMA_KERNEL)
    assert (report.findings, report.descriptors, report.steps) == ((), 2, 8)


@for_each(
    ("kernel", "old", "new", "code", "line"),
    [
        (WGMMA_KERNEL, "Layout_K_SW128", "Layout_MN_SW128", "cute_not_canonical", "partition_fragment_A"),
        (WGMMA_KERNEL, "Major::MN>", "Major::K>", "cute_not_canonical", "make_fragment_B"),
        (WGMMA_KERNEL, "Shape<_128, _64, _2>", "Shape<_96, _64, _2>", "cute_tile_indivisible", "partition_fragment_A"),
        (WGMMA_KERNEL, "SM90_64x64x16_F32", "SM90_64x64x32_F32", "cute_name_unknown", "SM90_64x64x32_F32F16F16_SS"),
        (WGMMA_KERNEL, "SM90_64x64x16", "SM90_64x0x16", "cute_name_unknown", "SM90_64x0x16_F32F16F16_SS"),
    ],
)
def test_a_layout_that_cute_refuses_is_a_finding(kernel: str, old: str, new: str, code: str, line: str) -> None:
    text = kernel.replace(old, new)
    (finding,) = check_text(text).findings
    at = text[text.rfind("\n", 0, finding.span[0]) : text.find("\n", finding.span[0])]
    assert (finding.code, line in at) == (code, True)


def test_a_layout_of_another_major_than_its_twin_is_the_cause() -> None:
    text = UMMA_KERNEL.replace("UMMA::Layout_K_SW32", "UMMA::Layout_MN_SW32", 1)
    (finding,) = search_cause(text).findings
    assert (finding.code, text[slice(*finding.span)]) == ("cute_not_canonical", "Layout_MN_SW32_Atom")


@for_each(
    ("old", "new", "gap", "words"),
    [
        ("Shape<_128, _64, _2>{}", "Shape<_128, Int<Deep>, _2>{}", "of CuTe, whose layout is open", "Deep"),
        ("SM90_64x64x16_F32F16F16_SS", "Chosen", "of CuTe, whose TiledMMA is open", "Chosen"),
        ("<GMMA::Major::K, GMMA::Major::MN>", "", "of CuTe, whose TiledMMA is open", "SM90_64x64x16_F32F16F16_SS"),
        ("  multiply<<<1, 256>>>(a, b, c, layoutA, layoutB, mma);", "", "of CuTe, whose TiledMMA is open", "mma"),
    ],
)
def test_what_the_text_leaves_open_is_said(old: str, new: str, gap: str, words: str) -> None:
    report = check_text(WGMMA_KERNEL.replace(old, new))
    assert report.findings == ()
    assert gap in {one.gap for one in report.checked}
    assert any(words in point.message for point in report.open)


@for_each(
    ("old", "new"),
    [
        ("warpgroup_arrive();", "warpgroup_arrive(); auto n = size<0>();"),
        (
            "Layout<Shape<_2, _1, _1>>{}",
            "Layout<Shape<_2, _1, _1>>{}, Tile<Layout<Shape<_64, _2>, Stride<_2, _1>>, X, X>{}",
        ),
        ("Shape<_128, _64, _2>{}", "Shape<X, _64>{}"),
    ],
)
def test_code_that_cute_does_not_take_is_left_open(old: str, new: str) -> None:
    report = check_text(WGMMA_KERNEL.replace(old, new))
    assert (report.findings, report.descriptors) == ((), 2)


@for_each("sizes", ["256, 64", "128, 60", "32, 64"])
def test_sizes_that_no_instruction_has_are_left_open(sizes: str) -> None:
    """Of one CTA: M is 64 or 128, and N a multiple of 8."""
    report = check_text(UMMA_KERNEL.replace("float, 128, 64", f"float, {sizes}"))
    assert (report.findings, report.steps) == ((), 0)
    assert {one.gap for one in report.checked} == {"of CuTe, whose TiledMMA is open"}


def test_tiles_in_registers_have_no_descriptor() -> None:
    report = check_text(WGMMA_KERNEL.replace("F16F16_SS", "F16F16_RS"))
    assert report.descriptors == 1


SELECTED = """
template <class Tile>
void run_selected(half_t const* a, half_t const* b, float* c, Tile tile) {
  using namespace cutlass::gemm::collective;
  auto atomA = detail::ss_smem_selector<GMMA::Major::K, half_t, Int<128>, decltype(size<2>(tile))>();
  auto layoutA = tile_to_shape(atomA, make_shape(size<0>(tile), get<2>(tile), Int<2>{}));
  auto layoutB = tile_to_shape(GMMA::Layout_MN_SW64_Atom<half_t>{}, Shape<_64, _64, _3>{});
  auto op = GMMA::ss_op_selector<half_t, half_t, float, Tile, GMMA::Major::K, GMMA::Major::MN>();
  auto mma = make_tiled_mma(op, Layout<Shape<_2>>{});
  prepare(tile);
  multiply<<<1, 256>>>(a, b, c, layoutA, layoutB, mma);
}
void run(half_t const* a, half_t const* b, float* c) {
  run_selected(a, b, c, make_shape(Int<128>{}, Int<64>{}, Int<64>{}));
}
"""


def test_what_cutlass_selects_for_a_tile_is_known() -> None:
    """The atom of 128 bytes of K, and m64n64k16: a function without a body does not change what was made before."""
    report = check_text(WGMMA_KERNEL[: WGMMA_KERNEL.index("void run(")] + SELECTED)
    assert (report.findings, report.steps, report.placed, report.descriptors) == ((), 20, 20, 2)


TMA_KERNEL = """#include <cute/tensor.hpp>
using namespace cute;
template <class Copy, class Layout>
__global__ void fill(Copy copy, Layout, half_t* out) {
  __shared__ half_t buf[cosize_v<Layout>];
  Tensor sA = make_tensor(make_smem_ptr(buf), Layout{});
  auto [from, to] = tma_partition(copy, Int<0>{}, Layout<_1>{}, group_modes<0, 2>(sA), group_modes<0, 2>(source(out)));
  copy_tile(copy, from, to);
}
void run(half_t* a) {
  auto stored = tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128, _64>{});
  auto filled = tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128, _64, _3>{});
  auto copy = make_tma_atom(SM90_TMA_LOAD{}, make_tensor(a, make_shape(512, 512)), stored, Shape<_128, _64>{});
  fill<<<1, 128>>>(copy, filled, a);
}
"""


@for_each(
    ("old", "new", "codes"),
    [
        ("", "", []),
        ("SW128_Atom<half_t>{}, Shape<_128, _64>", "SW64_Atom<half_t>{}, Shape<_128, _64>", ["cute_copy_layout"]),
        (
            "SW128_Atom<half_t>{}, Shape<_128, _64, _3>",
            "INTER_Atom<half_t>{}, Shape<_128, _64, _3>",
            ["cute_copy_layout"],
        ),
        ("SW128_Atom<half_t>{}, Shape<_128, _64>", "SW128_Atom<Open>{}, Shape<_128, _64>", []),
    ],
)
def test_a_map_that_is_made_for_another_layout_is_a_finding(old: str, new: str, codes: list[str]) -> None:
    report = check_text(TMA_KERNEL.replace(old, new) if old else TMA_KERNEL)
    assert [finding.code for finding in report.findings] == codes


@for_each(
    ("text", "said"),
    [
        ("__global__ void k() { st_bf<64, 64> a; warpgroup::mma_AB(d, a, b); }", "ThunderKittens' tiles"),
        ("template <class TiledMma> struct Mainloop { TiledMma mma; };", "CuTe's TiledMMA"),
        ('__device__ void f() { asm volatile("wgmma.fence.sync.aligned;"); }', "wgmma"),
        ('#include "tcgen05.cuh"\n// a TiledMMA, as wgmma has it\nint mma_above;', ""),
        ('"""Sort kernels: the tcgen05 loads are others."""\nNAMES = ["wgmma", "tcgen05", "mma"]\n', ""),
        ("import tcgen05\nmma = tcgen05.MmaF16BF16Op(ab)\n", "tcgen05"),
    ],
)
def test_what_multiplies_by_a_library_is_named(text: str, said: str) -> None:
    """The file's last line says so: it does not end as if there were nothing to verify."""
    assert check_text(text).multiplier == said


def test_a_member_called_size_is_none_of_cute() -> None:
    """`tensor.size(1)` of PyTorch is what it is when the kernel runs, not CuTe's size of the number 1."""
    text = """#include <cute/tensor.hpp>
void encode(CUtensorMap *map, void *p, uint64_t width) {
  cuuint64_t dims[] = {64, 128, width / 64}, strides[] = {width * 2, 128};
  cuuint32_t box[] = {64, 64, 1}, steps[] = {1, 1, 1};
  cuTensorMapEncodeTiled(map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3, p, dims, strides, box, steps,
    CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
    CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}
void run(const at::Tensor& a) {
  CUtensorMap map;
  int width = a.size(1);
  encode(&map, a.data_ptr(), width);
}
"""
    assert not check_text(text).findings


@for_each(
    ("old", "new", "said"),
    [
        ("Layout_K_SW128", "Layout_MN_SW128", "K-major. The layout of the tensor is MN-major"),
        ("Major::MN>", "Major::K>", "K-major. The layout of the tensor is MN-major"),
    ],
)
def test_exchanged_majors_are_named(old: str, new: str, said: str) -> None:
    (finding,) = check_text(WGMMA_KERNEL.replace(old, new)).findings
    assert said in finding.message


def test_a_type_that_is_taken_from_the_atom_is_said() -> None:
    said = "are assumed to have 16 bits"
    assert not any(said in point.message for point in check_text(WGMMA_KERNEL).open)
    report = check_text(WGMMA_KERNEL.replace("Atom<half_t>", "Atom<TA>"))
    assert sum(said in point.message for point in report.open) == 2


def test_a_tile_of_the_constants_of_its_atom() -> None:
    """MMA_Traits<…>::Shape_MNK gives the permutation's sizes, get<i> the numbers."""
    text = """
#include <cute/tensor.hpp>
using namespace cute;
template <class T> struct Traits {
  using Op = decltype(SM90_64x64x16_F16F16F16_SS<GMMA::Major::K, GMMA::Major::K>{});
  using Shape = typename MMA_Traits<Op>::Shape_MNK;
  static constexpr int M = 2 * get<0>(Shape{}), N = get<1>(Shape{}), K = get<2>(Shape{});
  using Mma = decltype(make_tiled_mma(MMA_Atom<MMA_Traits<Op>>{}, make_layout(make_shape(Int<2>{}, Int<1>{}, Int<1>{})),
                                      make_shape(Int<M>{}, Int<N>{}, Int<K>{})));
  using TileA = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<T>{}, make_shape(Int<128>{}, Int<64>{})));
};
template <class Traits> __global__ void multiply() {
  extern __shared__ half_t smem[];
  auto a = typename Traits::Mma{}.get_thread_slice(0).partition_fragment_A(
      make_tensor(make_smem_ptr(smem), typename Traits::TileA{}));
}
void run() { multiply<Traits<half_t>><<<1, 256>>>(); }
"""
    report = check_text(text)
    assert (report.steps, report.findings) == (8, ())  # 128 rows by two warpgroups, four steps along K


def test_the_element_type_of_a_kernel_that_vectors_are_passed_to() -> None:
    """h(m * k) in a function is a vector, not a function; data().get() of a vector of T is a T*."""
    text = """
#include <cute/tensor.hpp>
using namespace cute;
template <class T> struct Traits {
  using Shape = Shape<Int<64>, Int<128>, Int<64>>;
  using Mma = decltype(make_tiled_mma(GMMA::ss_op_selector<T, T, float, Shape>()));
  using Atom = decltype(cutlass::gemm::collective::detail::ss_smem_selector<
      GMMA::Major::K, T, decltype(get<0>(Shape{})), decltype(get<2>(Shape{}))>());
  using TileA = decltype(tile_to_shape(Atom{}, make_shape(get<0>(Shape{}), get<2>(Shape{}))));
};
template <class Traits> __global__ void multiply() {
  extern __shared__ half_t smem[];
  auto a = typename Traits::Mma{}.get_thread_slice(0).partition_fragment_A(
      make_tensor(make_smem_ptr(smem), typename Traits::TileA{}));
}
template <class T> void launch(T const* a) { multiply<Traits<T>><<<1, 128>>>(); }
void run(int m, int k) {
  thrust::host_vector<half_t> h(m * k);
  thrust::device_vector<half_t> d = h;
  launch(d.data().get());
}
"""
    report = check_text(text)
    assert (report.steps, report.findings) == (4, ())  # 64 elements along K, in steps of 16
