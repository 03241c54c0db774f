// $title, $bits bits. weights: [k][n] integers from 0 to $most, one byte each; one thread a word. k * n < 2^32.
__global__ void pack_weights(const unsigned char* weights, unsigned* words, unsigned k, unsigned n) {
  const unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= k * n / $fields) return;
  const unsigned tile = at / $words;
  const unsigned first_k = $first_k, first_n = $first_n;
  unsigned word = 0;
  for (unsigned field = 0; field < $fields; ++field) {
    [[maybe_unused]] const unsigned thread = at % $words / $words_of_thread, value = at % $words_of_thread * $fields + field;
    const unsigned row = $row;
    const unsigned col = $col;
    word |= unsigned(weights[(first_k + row) * n + first_n + col]) << $bits * field;
  }
  words[at] = word;
}

__global__ void unpack_words(const unsigned* words, unsigned char* weights, unsigned k, unsigned n) {
  const unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= k * n / $fields) return;
  const unsigned tile = at / $words, word = words[at];
  const unsigned first_k = $first_k, first_n = $first_n;
  for (unsigned field = 0; field < $fields; ++field) {
    [[maybe_unused]] const unsigned thread = at % $words / $words_of_thread, value = at % $words_of_thread * $fields + field;
    const unsigned row = $row;
    const unsigned col = $col;
    weights[(first_k + row) * n + first_n + col] = (word >> $bits * field) & $most;
  }
}
