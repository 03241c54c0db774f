"""Run kernels for all threads of a block at once, to trace stores to shared memory and the elements of fragments.

`numbers.py` has the integers, a value for each thread; `storage.py` what bytes of registers and of shared memory come
from; `kernels.py` which kernels a text has, their template arguments and block sizes; `runner.py` the state of a run,
`executing.py` statements, `evaluating.py` expressions, `declaring.py` declarations, `calling.py` calls,
`arguments.py` their arguments, `names.py` names, types and structs, `values.py` loads, stores and conversions,
`assembly.py` PTX, `records.py` the records of a run;
`bit_fields.py` has structs that are one word, `packing.py` registers that are made of smaller elements, `quotients.py`
sizes such as K / 8, `cutlass_source.py` functions of CUTLASS, as code. Unknown values are None.
"""
