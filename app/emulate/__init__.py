"""The emulator: executes the PTX of a kernel without a GPU."""
