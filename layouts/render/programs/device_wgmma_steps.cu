#pragma unroll
for (unsigned step = 0; step < $steps; ++step)
  $call
