"""Tiles in shared memory, and the descriptor editor and verifier."""
