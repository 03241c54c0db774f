"""A kernel with its launch: arguments, buffers, tensor maps, addresses."""
