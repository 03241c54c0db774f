"""The emulator: what a kernel does, executed from its PTX without a GPU."""
