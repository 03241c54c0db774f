$pack
for (unsigned m = 0; m < $matrices; m += $count) {
  const unsigned at = m + lane / 8 % $count;  // the matrix whose row lane % 8 this lane names
  const unsigned address = shared + tile_offset(row + at % 2 * $side + lane % 8, col + at / 2 * $side);
  asm volatile("stmatrix.sync.aligned.m8n8.x$count.shared.b16 [%0], {$names};"
      :: "r"(address), $registers : "memory");
}
