// The elements of a word in their order along $axis, as fp16 pairs.
__device__ inline void convert_word(unsigned q, unsigned (&out)[$registers]) {
  $lines
}
