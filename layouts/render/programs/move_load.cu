for (unsigned i = threadIdx.x; i < $words; i += blockDim.x)
  *reinterpret_cast<unsigned*>(shared + row_offset(i / 4, i % 4 * 4)) = memory[i];
__syncthreads();

$function(r, row);
for (unsigned n = 0; n < $registers; ++n) fragment[threadIdx.x * $registers + n] = r[n];
