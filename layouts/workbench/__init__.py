"""The workbench: find out whether the descriptors of a text read the tiles as they are stored.

A text may contain tensor maps, code that builds descriptors (or printed words), instructions and CuTe layouts, in any
order. Every iteration of the loops is verified element for element (layouts/descriptor/verify.py). Every assumption is
listed in `Workbench.assumed`, and the user can replace it.

The stages of the analysis, package by package:

1. `workbench_builder.py`: `build_workbench` calls the stages up to 6; `results.py` has the result classes,
   `messages.py` the sentences.
2. `text/`: what the text contains (`contents.py`). The code is evaluated (layouts/reader/code); tensor maps, layouts,
   builders and printed words become pieces, maps and layouts also stores. Missing facts are assumed: functions
   (`helpers.py`), element sizes (`sizes.py`), the instruction named by a call (`named_wgmma.py`).
3. `descriptors/`: the descriptors of each instruction by operand, in every iteration (`uses.py`), also of calls
   (`call_uses.py`) and as printed words (`words.py`), with the statement that built them (`descriptor_arguments.py`);
   and the slice of each use: stage, tile of M and N, K step (`slice_order.py`, `statements.py`).
4. `reads/`: the map or layout that holds the operand's tile (`stores.py`), and the verdict (`operands.py`):
   `symbols.py` assumes addresses, `tiles.py` makes a storage, `verification.py` compares each step with it, `stages.py`
   finds stages that overlap. `presets.py` has common storages, for a text that does not state how a tile is stored.
5. `copies/`: the TMA copies of the text and of its kernels: which map fills which bytes (`copied_bytes.py`,
   `transfers.py`), and the reads of bytes that no copy fills (`unfilled_reads.py`).
6. `repair/`: the place that must change (`blame.py`), and verified edits that make wrong steps right (`repairs.py`).

`check.py` checks a complete source file. It runs `build_workbench` again with other choices for each assumption
(`source/guesses.py`), and reports only mismatches that every choice has. What concerns the file as a whole is in
`source/`. The other packages check its kernels: `kernels/` their events in order (`kernel_runs.py`), `barriers/`,
`tensor_memory/`, `fragments/` of tiles that threads fill, `cute/`, and `products/` the whole of D = A·B.

To see why a descriptor is wrong, look at `build_workbench(text).operands`: `steps` have the address that is read and
the expected one; `causes` the reason (layouts/descriptor/verify.py; `reads/verification.py` puts C pitfalls first);
`stored_why` and `why` the reasons for the storage and the operand; `assumed` the assumptions.
"""

from __future__ import annotations

from lanescope.workbench.results import Assumption, OperandStep, TextPiece, VerifiedOperand, Workbench
from lanescope.workbench.workbench_builder import build_workbench

__all__ = ["Assumption", "OperandStep", "TextPiece", "VerifiedOperand", "Workbench", "build_workbench"]
