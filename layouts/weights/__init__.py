"""Prepacked weights: how Marlin, Machete, AWQ and GPTQ store matrices of 4- and 8-bit integers.

formats.py has one row per format, layout.py packs, unpacks and locates, sparse.py adds 2:4 sparsity and its metadata.
"""
