// global: the first byte of D's row 0; pitch: bytes of a row, a multiple of $chunk.
$pack
for (unsigned i = 0; i < $requests; ++i) {
  $guard
  $single
  const unsigned thread = lane, v = $run * i;  // the first value of the run
  const unsigned down = $down, across = $across;
  char* to = global + (size_t)(row + down) * pitch + (col + across) * $bytes;
  asm volatile("st.global$vector [%0], $names;" :: "l"(to), $registers : "memory");
}
