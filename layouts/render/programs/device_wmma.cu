$shared
$fills
__syncthreads();

$registers
$loads
$load_c(c, C, $ldm);
$multiply(d, a, b, c);
$store_d(D, d, $ldm);
