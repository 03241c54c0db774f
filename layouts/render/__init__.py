"""A figure, a tile or an instruction as text: SVG, TikZ, tables, CUDA C++, PTX, Python. All generated code is made
here.
"""
