"""Kernels run for all threads of a block at once, to see what loops store in shared memory and what fragments get.

`numbers.py` has the integers, a value for each thread; `storage.py` what bytes of registers and of shared memory come
from; `kernels.py` which kernels a text has, their template arguments and block sizes; `runner.py` statements,
`evaluating.py` expressions, `calling.py` calls and types, `assembly.py` PTX. What is not known stays None.
"""
