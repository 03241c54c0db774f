// tmem: D's address. A warpgroup of 128 threads; row0, col0: of D, where each warp's lanes begin.
constexpr unsigned row0[] = {$rows}, col0[] = {$cols};
const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
for (unsigned first = 0; first < $lanes; first += $tall)  // lanes of the warp's quarter
for (unsigned c = 0; c < $columns; c += $step) {
  const unsigned taddr = tmem + (32 * warp + first << 16) + c;
  const unsigned row = row0[warp] + first, col = col0[warp] + c;
  $load
  $body
}
