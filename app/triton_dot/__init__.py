"""The instruction that Triton chooses for tl.dot and tl.dot_scaled, and the condition that decides it."""
