"""Source files: what their descriptors, tensor maps and instructions do wrong, for people and for CI."""
