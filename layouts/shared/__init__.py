"""Shared memory: swizzles, tilings, storages, TMA boxes, bank conflicts, and chains through ldmatrix and stmatrix."""
