unsigned a[$steps][$registers];  // every step's registers are loaded before the first wgmma
#pragma unroll
for (unsigned step = 0; step < $steps; ++step) load_a(a[step], A + step * $step, $k);
