"""CuTe: layouts, atoms, TiledMMA, TiledCopy and tensors, in C++, Python and print."""
