"""Fragments of mma that threads load from shared memory, element for element."""
