"""Blackwell: tensor memory, instruction descriptors, scale factors and epilogues of tcgen05."""
