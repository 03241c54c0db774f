// $operand in shared memory: $storage.
__device__ inline unsigned ${name}_offset(unsigned mn, unsigned k) {
  const unsigned before = $before;
  return $swizzled;
}
