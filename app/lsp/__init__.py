"""A language server: what Lanescope knows, where kernels are written."""
