using Fragments = unsigned[$instructions][$registers];  // [instruction][register]: $operand of $ptx

// words: a tile's first word, aligned to 16 bytes; thread: 0 to $last.
__device__ inline void load_fragments(const unsigned* words, unsigned thread, Fragments& out) {
  const uint4* from = reinterpret_cast<const uint4*>(words) + $index;
  $loads
  $lines
}
