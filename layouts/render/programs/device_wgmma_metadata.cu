unsigned e[$steps];  // sparsity metadata of every step
#pragma unroll
for (unsigned step = 0; step < $steps; ++step) e[step] = E[step * $threads + threadIdx.x];
