$shared
$fills
__syncthreads();

$registers
$loads
load_c(c, C, $n);
$call
store_d(d, D, $n);
