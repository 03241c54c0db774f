"""C++'s integers, sizes and constant expressions, as nvcc and gcc evaluate them."""
