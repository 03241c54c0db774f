__device__ inline void fill_$name(unsigned char* shared, const $unit* global) {
  for (unsigned i = threadIdx.x; i < $units; i += blockDim.x) {
    const unsigned $order;
    *reinterpret_cast<$unit*>(shared + ${name}_offset(mn, k)) = global[i];
  }
}
