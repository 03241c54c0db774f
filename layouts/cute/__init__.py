"""CuTe: tuples, layouts, their algebra, and both as text."""
