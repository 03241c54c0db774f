"""C++'s integers, sizes and constant expressions, computed as nvcc and gcc compute them."""
