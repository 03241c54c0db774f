// $mn×$k $bits-bit, $major-major, swizzle $swizzle; the tile $starts.
__device__ inline unsigned ${name}_offset(unsigned mn, unsigned k) {
  const unsigned before = mn / $atom_mn * $step_mn + k / $atom_k * $step_k + $line * $width + $along * $size;
  return $swizzled;
}
