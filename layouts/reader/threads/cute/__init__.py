"""Run CuTe in device code for all threads: layouts, tensors, TiledCopy, TiledMMA, and the copies and products of these.

`open_strides.py` holds numbers that are not known in layouts, `layouts.py` makes layouts; `tensors.py` has tensors,
`tiled.py` their partitions; `cute_types.py` has the values of types; `layout_calls.py` and `calls.py` run functions,
`copies.py` copies and products.
CUTLASS 4.7, include/cute: tensor_impl.hpp, atom/copy_atom.hpp, atom/mma_atom.hpp, algorithm/copy.hpp and gemm.hpp.
"""
