const unsigned taddr = mine + ${address}u, count = $count;
const unsigned at = (blockIdx.x * 128 + thread) * count;
uint32_t r[$count];
for (unsigned i = 0; i < count; ++i) r[i] = registers_in[at + i];
$statement
