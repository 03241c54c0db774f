"""The workbench: find out whether the descriptors of a text read the tiles as they are stored.

A text may contain tensor maps, code that builds descriptors (or printed words), instructions and CuTe layouts, in any
order. Every iteration of the loops is verified element for element (layouts/descriptor/verify.py). Every assumption is
listed in `Bench.assumed`, and the user can replace it.

The stages of the analysis, module by module:

1. `bench_builder.py`: `build_bench` calls all other stages.
2. `contents.py`: the contents of the text. The code is evaluated (layouts/reader/code); tensor maps, layouts, builders
   and printed words become pieces (`pieces.py`, `scan.py`, `tensors.py`), maps and layouts also stores. Missing facts
   are assumed: functions (`helpers.py`), element sizes (`sizes.py`), the instruction named by a call
   (`named_wgmma.py`).
3. `uses.py`: the descriptors of each instruction by operand, in every iteration: asm statements, calls
   (`call_uses.py`), bare descriptors; `words.py`: printed words. `descriptor_arguments.py` finds the statement that
   built a descriptor, `names.py` the operand that a name indicates.
4. `slice_order.py`, `statements.py`: the slice of each use: stage, tile of M and N, K step.
5. `stores.py`, `loads.py`, `exchanged_buffers.py`: the map or layout that holds the operand's tile, with the reason;
   `box_loads.py`: the TMA loads of the text.
6. `operands.py`: the verdict on one operand. `symbols.py` assumes addresses (`addresses.py`, `alignment.py`),
   `tiles.py` makes a storage of the map or layout, `verification.py` compares each step with it, `stages.py` finds
   stages that overlap.
7. `messages.py`: messages; `repairs.py`: verified edits that make wrong steps right; `blame.py`: the place that must
   change. `results.py` has the result classes.

`presets.py` has common storages, for a text that does not state how a tile is stored (the choice `stored.a`).

`check.py` checks a complete source file. It runs `build_bench` again with other choices for each assumption
(`guesses.py`), and reports only mismatches that every choice has. `kernel_checks.py` runs the checks of kernels, which
follow the events of a run (`kernel_runs.py`).

It also follows every read to the bytes that the kernel's TMA copies fill (`unfilled_reads.py`): `copied_bytes.py` has
these bytes, `placed_reads.py` the bytes that a warpgroup reads in a stage, `running_groups.py` the warpgroups that run
an instruction.

To see why a descriptor is wrong, look at `build_bench(text).operands`: `steps` have the address that is read and the
expected one; `causes` the reason (layouts/descriptor/verify.py; `verification.py` puts C pitfalls first); `stored_why`
and `why` the reasons for the storage and the operand (5 and 3); `assumed` the assumptions (2 and 6).
"""

from __future__ import annotations

from lanescope.workbench.bench_builder import build_bench
from lanescope.workbench.results import Assumption, Bench, OperandStep, TextPiece, VerifiedOperand

__all__ = ["Assumption", "Bench", "OperandStep", "TextPiece", "VerifiedOperand", "build_bench"]
