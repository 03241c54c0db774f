"""The workbench: find out whether the descriptors of a text read what is stored.

A text may hold tensor maps, code that builds descriptors (or printed words), instructions and CuTe layouts, in any
order. Every turn of the loops is verified element for element (layouts/descriptor/verify.py); nothing is filled in
silently: what a text leaves open is named among `assumed`, and can be given.

The path of a text, module by module:

1. `bench_builder.py`: `build_bench` takes the text; all that follows is called from here. 2. `contents.py`: what the
text holds. Its code is evaluated (layouts/reader/code); tensor maps, layouts, builders and    printed words become
pieces (`pieces.py`, `scan.py`, `tensors.py`), maps and layouts also stores. What the code    leaves out is taken:
functions (`helpers.py`), sizes of elements (`sizes.py`), the instruction that a call names    (`named_wgmma.py`). 3.
`uses.py`: which descriptor is which operand of which instruction, in every turn of the loops: asm statements, calls,
bare descriptors; `words.py`: printed words. `descriptor_arguments.py` finds where a variable got its descriptor,
`names.py` what its name says. 4. `slice_order.py`, `statements.py`: which slice each turn is about: stage, tile of M
and N, K step. 5. `stores.py`, `loads.py`, `exchanged_buffers.py`: which map or layout holds the operand's tile, and
what says so. 6. `operands.py`: one operand on its way to a verdict. `symbols.py` takes addresses (`addresses.py`,
`alignment.py`),    `tiles.py` makes a storage of the map or layout, `verification.py` compares what every step reads
with it,    `stages.py` looks for stages that overlap. 7. `messages.py`: the sentences; `repairs.py`: edits of the text
that were tried and make wrong steps right; `blame.py`: the place that has to be changed. `results.py` has the classes
of the answer.

`presets.py` has the common ways to store a tile, for a text that does not say it (the choice `stored.a`).

`check.py` is the other way in: findings of a whole source file. With `guesses.py` it runs `build_bench` again with
other choices of what was assumed, and tells only of mismatches that none of them mends.

Why is a descriptor called wrong? Look at `build_bench(text).operands`: the `steps` of each have the address that is
read and the one expected, `causes` says why (layouts/descriptor/verify.py finds it; `verification.py` puts C's pitfalls
before it), `stored_why` and `why` which storage and which operand were taken (5 and 3), `assumed` what was taken for
what the text leaves open (2 and 6).
"""

from __future__ import annotations

from lanescope.workbench.bench_builder import build_bench
from lanescope.workbench.results import Assumption, Bench, OperandStep, TextPiece, VerifiedOperand

__all__ = ["Assumption", "Bench", "OperandStep", "TextPiece", "VerifiedOperand", "build_bench"]
