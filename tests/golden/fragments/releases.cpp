// What releases of CuTe print for partition_B and partition_fragment_B of a transposed, swizzled V (head dimension 128, 64
// rows) and of the same layout without its swizzle. releases.txt has its output for each release: `release name | layout`.
//   g++ -std=c++17 -w -fpermissive -I cutlass/include -I cuda/include -I cuda/include/cccl releases.cpp
// with -DVALUE_LAYOUT where a TiledMMA takes a layout of values instead of a tile (3.1, 3.2).
#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>
#include <cute/atom/mma_traits_sm80.hpp>
#include <cute/swizzle_layout.hpp>

using namespace cute;

template <class Mma, class Tensor>
void say(char const* name, Mma const& mma, Tensor const& tensor) {
  auto thread = mma.get_thread_slice(0);
  printf("%s partition_B | ", name), print(thread.partition_B(tensor).layout()), printf("\n");
  printf("%s fragment_B | ", name), print(thread.partition_fragment_B(tensor).layout()), printf("\n");
}

int main() {
  using Plain = Layout<Shape<_64, _64>, Stride<_1, _64>>;
  using Swizzled = decltype(composition(Swizzle<3, 3, 3>{}, Plain{}));
#ifdef VALUE_LAYOUT
  TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_4, _1, _1>>, Layout<Shape<_1, _2, _1>>> mma;
#else
  TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_4, _1, _1>>, Tile<_64, _16, _16>> mma;
#endif
  auto start = make_smem_ptr((half_t*)nullptr);
  say("swizzled", mma, make_tensor(start, decltype(tile_to_shape(Swizzled{}, Shape<_128, _64>{})){}));
  say("plain", mma, make_tensor(start, decltype(tile_to_shape(Plain{}, Shape<_128, _64>{})){}));
}
