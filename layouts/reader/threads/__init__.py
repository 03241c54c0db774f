"""Run kernels for all threads of a block at once, to trace stores to shared memory and the elements of fragments.

`kernels.py` finds which kernels a text has, with their template arguments and block sizes (`block_sizes.py`), and runs
each; `runner.py` has the state of a run. `language/` executes C++: `executing.py` statements, `evaluating.py`
expressions, `calling.py` calls, `numbers.py` integers with a value for each thread. `instructions/` executes PTX
(`assembly.py`) and the functions of CUDA that stand for instructions, `cute/` those of CuTe. `memory/` keeps what bytes
of registers and of shared memory come from (`storage.py`), and the records of a run (`records.py`). `barriers/` follows
mbarriers and simulates them. Unknown values are None.
"""
