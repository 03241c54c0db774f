// One $element factor for each $line and $elements of K.
__device__ inline unsigned scale_word_$letter(const unsigned char* scales) {
  const unsigned lane = threadIdx.x % 32;
  $words
  unsigned word = 0;
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned line = $row, block = $block;
    word |= (unsigned)scales[line * $blocks + block] << (8 * i);
  }
  return word;
}
