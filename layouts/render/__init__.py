"""Output formats of figures, tiles and instructions: SVG, TikZ, tables, CUDA C++, PTX, Python.

All generated code is made in this package.
"""
