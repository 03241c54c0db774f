"""A complete product with one instruction: the storage of its operands, descriptors and immediates."""
