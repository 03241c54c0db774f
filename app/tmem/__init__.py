"""Tensor memory: the operands of an MMA, and the cells of an access."""
