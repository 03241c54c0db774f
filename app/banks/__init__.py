"""What accesses cost in shared memory's banks, and the swizzle that frees them."""
