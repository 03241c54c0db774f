for (unsigned n = 0; n < $registers; ++n) r[n] = fragment[threadIdx.x * $registers + n];
$function(row, r);
__syncthreads();

for (unsigned i = threadIdx.x; i < $words; i += blockDim.x)
  memory[i] = *reinterpret_cast<const unsigned*>(shared + row_offset(i / 4, i % 4 * 4));
