"""The descriptors of each instruction by operand, in every iteration, and the slice that each of them reads."""
