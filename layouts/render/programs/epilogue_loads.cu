// warp: 0 to 3 of the warpgroup. tmem: D's address. row0, col0: of D, where each warp's lanes begin.
constexpr unsigned row0[] = {$rows}, col0[] = {$cols};
for (unsigned lane16 = 0; lane16 < $lanes; lane16 += 16)
for (unsigned c = 0; c < $columns; c += $step) {
  const unsigned taddr = tmem + (32 * warp + lane16 << 16) + c;
  const unsigned row = row0[warp] + lane16, col = col0[warp] + c;
  $load
  $body
}
