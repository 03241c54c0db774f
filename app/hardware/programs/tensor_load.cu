const unsigned taddr = mine + ${address}u, count = $count;
const unsigned at = (blockIdx.x * 128 + thread) * count;
$statement
for (unsigned i = 0; i < count; ++i) registers_out[at + i] = r[i];
