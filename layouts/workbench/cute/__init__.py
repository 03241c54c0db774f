"""Kernels of CuTe: fragments, copies, order, names."""
