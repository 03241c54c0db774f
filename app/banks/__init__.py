"""Bank conflicts of shared-memory accesses, and the swizzle that removes them."""
