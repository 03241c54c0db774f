"""Code that builds descriptors and tensor maps: parsed, evaluated as C and Python would, never run.

A text goes through `preprocessing/` and `syntax/`; `evaluation.py` then runs it with one `evaluator.py`, whose
operations are functions in the other packages: `naming/`, `types/`, `objects/`, `expression/`, `calling/`, `running/`.
`values.py` has the values. What was found is in `findings.py`, and `descriptors/`, `maps/` and `ptx/` interpret it.
"""
