$shared
$fills
$proxy_fence  // the stores above, before wgmma reads them through the async proxy
__syncthreads();

$d_type d[$d_registers]$zero;
$load_d
$load_a
$metadata
$fence  // the registers above, before wgmma uses them
$steps
$commit
$wait  // now D may be read, and the tiles be overwritten

store_d(d, D, $n);
