"""Tensor memory: what an MMA keeps where, and what an access touches."""
