// What CuTe's headers print for fragments, retiled fragments and multicast masks: a line is `name | value`.
// printed.txt is its output, the same with the headers of CUTLASS 4.2 and 4.7:
//   g++ -std=c++17 -w -I cutlass/include -I cuda/include -I cuda/include/cccl printed.cpp -o printed && ./printed
#include <cute/tensor.hpp>
#include <cute/atom/copy_traits_sm90_tma.hpp>
#include <cute/atom/mma_traits_sm90_gmma.hpp>

using namespace cute;

template <class T>
void say(char const* name, T const& value) {
  printf("%s | ", name);
  print(value);
  printf("\n");
}

template <class Layout>
auto view(Layout const& layout) {
  return make_tensor(make_smem_ptr((half_t*)nullptr), layout);
}

template <class Mma, class Layout>
void fragments_of(char const* name, Mma const& mma, Layout const& layout) {
  auto thread = mma.get_thread_slice(0);
  printf("%s partition_A | ", name), print(thread.partition_A(view(layout)).layout()), printf("\n");
  printf("%s fragment_A | ", name), print(thread.partition_fragment_A(view(layout)).layout()), printf("\n");
}

template <class Mma, class Layout>
void fragments_of_b(char const* name, Mma const& mma, Layout const& layout) {
  auto thread = mma.get_thread_slice(0);
  printf("%s partition_B | ", name), print(thread.partition_B(view(layout)).layout()), printf("\n");
  printf("%s fragment_B | ", name), print(thread.partition_fragment_B(view(layout)).layout()), printf("\n");
}

template <class Copy, class Mma, class Layout>
void retiled_a(char const* name, Copy const& atom, Mma const& mma, Layout const& layout) {
  auto copy = make_tiled_copy_A(atom, mma);
  auto fragment = mma.get_thread_slice(0).partition_fragment_A(view(layout));
  printf("%s retile_D of A | ", name), print(copy.get_thread_slice(0).retile_D(fragment).layout()), printf("\n");
}

template <class Copy, class Mma, class Layout>
void retiled_b(char const* name, Copy const& atom, Mma const& mma, Layout const& layout) {
  auto copy = make_tiled_copy_B(atom, mma);
  auto fragment = mma.get_thread_slice(0).partition_fragment_B(view(layout));
  printf("%s retile_D of B | ", name), print(copy.get_thread_slice(0).retile_D(fragment).layout()), printf("\n");
}

template <class Copy, class Mma, class Shape>
void retiled_c(char const* name, Copy const& atom, Mma const& mma, Shape const& shape) {
  auto copy = make_tiled_copy_C(atom, mma);
  auto fragment = partition_fragment_C(mma, shape);
  printf("%s fragment_C | ", name), print(fragment.layout()), printf("\n");
  printf("%s retile_S | ", name), print(copy.get_thread_slice(0).retile_S(fragment).layout()), printf("\n");
}

int main() {
  // make_fragment_like and make_layout_like of a layout
  say("like 1", make_fragment_like(Layout<Shape<Shape<_2, _2>, _1, _8>, Stride<Stride<_16, _8>, _0, _128>>{}));
  say("like 2", make_fragment_like(Layout<Shape<Shape<_2, _2>, _4, _8>, Stride<Stride<_1, _8>, Int<1024>, _16>>{}));
  say("like 3", make_fragment_like(Layout<Shape<_8, _4, Shape<_2, _2>>, Stride<_4, Int<256>, Stride<Int<1024>, _64>>>{}));
  say("like 4", make_fragment_like(Layout<Shape<_8, _3, _5>, Stride<_0, _0, _8>>{}));
  say("like 5", make_fragment_like(Layout<_8, _16>{}));
  say("like 6", make_fragment_like(Layout<Shape<Shape<_4, _2>, _3, _5>, Stride<Stride<_0, _9>, _7, _7>>{}));
  say("ordered 1", make_layout_like(Layout<Shape<_2, _2, _2, _2>, Stride<_0, _2, _4, _1>>{}));
  say("ordered 2", make_layout_like(Layout<Shape<Shape<_2, _3>, _5>, Stride<Stride<Int<30>, _1>, _3>>{}));

  auto atom8 = make_tiled_mma(SM80_16x8x8_F32F16F16F32_TN{});
  auto atom = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{});
  auto square = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_2, _2, _1>>{}, Tile<_32, _32, _16>{});
  auto flash = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_4, _1, _1>>{}, Tile<_64, _16, _16>{});
  auto hopper = make_tiled_mma(SM90_64x64x16_F32F16F16_RS<GMMA::Major::K, GMMA::Major::K>{});
  auto k_major = Layout<Shape<_128, _64>, Stride<_64, _1>>{};
  auto m_major = Layout<Shape<_128, _64>, Stride<_1, _128>>{};
  auto k_swizzled = tile_to_shape(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{}), Shape<_128, _64>{});
  auto narrow = tile_to_shape(composition(Swizzle<2, 3, 3>{}, Layout<Shape<_8, _32>, Stride<_32, _1>>{}), Shape<_128, _64>{});
  fragments_of("atom8 (16,64):(1,16)", atom8, Layout<Shape<_16, _64>>{});
  fragments_of("square K", square, k_major);
  fragments_of("square M", square, m_major);
  fragments_of("square K swizzled", square, k_swizzled);
  fragments_of("square K narrow", square, narrow);
  fragments_of("flash K", flash, k_major);
  fragments_of("hopper K", hopper, k_major);
  fragments_of("hopper M", hopper, m_major);
  fragments_of_b("square K", square, k_major);
  fragments_of_b("square N", square, m_major);

  // FlashAttention-2's V: 64 rows of head dimension 128, and its transpose
  using KV = decltype(tile_to_shape(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{}), Shape<_64, _128>{}));
  using Vt = decltype(composition(KV{}, make_layout(Shape<_128, _64>{}, GenRowMajor{})));
  using Plain = decltype(get_nonswizzle_portion(Vt{}));
  say("KV", KV{});
  say("Vt", Vt{});
  say("Vt plain", Plain{});
  fragments_of_b("flash Vt", flash, Vt{});
  fragments_of_b("flash Vt plain", flash, Plain{});
  using Atom64 = decltype(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_64, _64>, Stride<_1, _64>>{}));
  using Atom8 = decltype(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_64, _8>, Stride<_1, _64>>{}));
  say("Vt of kBlockN", tile_to_shape(Atom64{}, Shape<_128, _64>{}));
  say("Vt of 8", tile_to_shape(Atom8{}, Shape<_128, _64>{}));
  say("Vt of 8, N first", tile_to_shape(Atom8{}, Shape<_128, _64>{}, Step<_2, _1>{}));

  // retile
  Copy_Atom<SM75_U32x4_LDSM_N, half_t> x4;
  Copy_Atom<SM75_U32x2_LDSM_N, half_t> x2;
  Copy_Atom<SM75_U16x8_LDSM_T, half_t> x4t;
  Copy_Atom<SM75_U16x4_LDSM_T, half_t> x2t;
  Copy_Atom<UniversalCopy<uint32_t>, half_t> one;
  Copy_Atom<UniversalCopy<uint64_t>, float> two;
  retiled_a("x4 square K", x4, square, k_major);
  retiled_a("x4 square M", x4, square, m_major);
  retiled_a("x4 flash K", x4, flash, k_major);
  retiled_a("x2 square K", x2, square, k_major);
  retiled_a("one square K", one, square, k_major);
  retiled_b("x4 square K", x4, square, k_major);
  retiled_b("x4 square N", x4, square, m_major);
  retiled_b("x2 square K", x2, square, k_major);
  retiled_b("x2 atom K", x2, atom, k_major);
  retiled_b("x4t flash Vt", x4t, flash, Vt{});
  retiled_b("x2t flash Vt", x2t, flash, Vt{});
  retiled_c("two square", two, square, Shape<_64, _64>{});
  retiled_c("two flash", two, flash, Shape<_64, _64>{});
  retiled_c("two hopper", two, hopper, Shape<_128, _128>{});

  // values of a thread in rows of 4, one atom a value and four atoms a value
  auto rows = Layout<Shape<_2, _4>, Stride<_4, _1>>{};
  auto singles = make_tiled_copy(Copy_Atom<UniversalCopy<half_t>, half_t>{}, Layout<Shape<_16, _2>>{}, rows);
  auto fours = make_tiled_copy(Copy_Atom<UniversalCopy<uint64_t>, half_t>{}, Layout<Shape<_16, _2>>{}, rows);
  auto held = make_tensor<half_t>(Shape<_1, _4, _8>{});
  say("rows of 4, singles", singles.get_thread_slice(0).retile_S(held).layout());
  say("rows of 4, fours", fours.get_thread_slice(0).retile_S(held).layout());

  // FlashAttention's convert_layout_acc_rowcol and convert_layout_acc_Aregs, step by step
  auto acc = partition_fragment_C(flash, Shape<_64, _64>{}).layout();
  auto l = logical_divide(acc, Shape<_2>{});
  say("acc", acc);
  say("acc divided", l);
  say("acc rowcol", make_layout(make_layout(get<0, 1>(l), get<1>(l)), make_layout(get<0, 0>(l), get<2>(l))));
  auto n = logical_divide(acc, Shape<Underscore, Underscore, _2>{});
  say("acc divided in N", n);
  say("acc Aregs", make_layout(make_layout(get<0>(n), get<2, 0>(n)), get<1>(n), get<2, 1>(n)));
  auto four = make_layout(Shape<_4, _2, _8>{});
  auto f = logical_divide(four, Shape<_2>{});
  say("acc of 4 rowcol transposed", make_layout(make_layout(get<0, 0>(f), get<2>(f)), make_layout(get<0, 1>(f), get<1>(f))));
  auto g = logical_divide(four, Shape<Underscore, Underscore, _2>{});
  say("acc of 4 Aregs", make_layout(make_layout(get<0>(g), get<2, 0>(g)), get<1>(g), get<2, 1>(g)));
  auto h = partition_fragment_C(hopper, Shape<_128, _128>{}).layout();
  say("hopper acc", h);
  say("hopper rowcol", make_layout(make_layout(get<0, 1>(h), get<1>(h)), make_layout(get<0, 0>(h), get<0, 2>(h), get<2>(h))));
  auto v = logical_divide(get<0, 2>(h), Tile<_2>{});
  say("hopper Aregs 16", make_layout(make_layout(get<0, 0>(h), get<0, 1>(h), get<0, 0>(v)), get<1>(h), coalesce(make_layout(get<0, 1>(v), get<2>(h)))));
  auto w = logical_divide(get<0, 2>(h), Tile<Layout<Shape<_2, _2>>>{});
  say("hopper Aregs 8", make_layout(make_layout(Layout<_4>{}, get<0, 0, 0>(w), get<0, 0, 1>(w)), get<1>(h), coalesce(make_layout(get<0, 1>(w), get<2>(h)))));

  // multicast masks: the CTAs that differ from one in a mode of the cluster
  auto cluster = make_layout(Shape<_1, _2, _4, _1>{});
  for (int m = 0; m < 2; ++m)
    for (int n = 0; n < 4; ++n) {
      auto at = make_coord(0, m, n, 0);
      printf("mask (1,2,4,1) of %d,%d | %d %d\n", m, n, int(create_tma_multicast_mask<2>(cluster, at)), int(create_tma_multicast_mask<1>(cluster, at)));
    }
  auto nested = make_layout(Shape<Shape<_2, _2>, _4>{});
  printf("mask of underscores | %d %d\n", int(create_tma_multicast_mask(nested, make_coord(make_coord(_, 1), 2))), int(create_tma_multicast_mask(nested, make_coord(1, 2))));
  auto pair = tiled_divide(make_layout(Shape<_4, _2, _1>{}), make_tile(Layout<_2>{}));
  say("pair", pair);
  printf("mask of the pair | %d %d\n", int(create_tma_multicast_mask<2>(pair, make_coord(1, 1, 0, 0))), int(create_tma_multicast_mask<1>(pair, make_coord(1, 1, 0, 0))));
  printf("mask of both modes | %d\n", int(create_tma_multicast_mask<0, 2>(pair, make_coord(1, 1, 0, 0))));
}
