"""Names in CUTLASS, cuBLAS and libraries above them."""
