"""Tensor memory: where an MMA keeps its operands, and what an access touches."""
