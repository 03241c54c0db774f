"""Find ordering mistakes in kernels with tcgen05: an uninitialized accumulator, a product without commit, and registers
of tcgen05.ld without a wait.

Only kernels are checked in which every call is known. Rules: PTX ISA 9.1, 9.7.16.6.4 (asynchronous operations),
9.7.16.8 (tcgen05.ld, tcgen05.wait) and 9.7.16.10.9 (enable-input-d).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lanescope.cxx.source_text import is_kernel_head
from lanescope.reader.code.findings import AsmRun, Pitfall
from lanescope.workbench.asm_operands import join_strings
from lanescope.workbench.kernel_runs import KernelRun, KernelText
from lanescope.workbench.results import Span
from lanescope.workbench.scale_inputs import find_input_flag

TITLES = {
    "tcgen05_accumulator_unset": "Every tcgen05.mma adds to an accumulator that nothing sets",
    "tcgen05_commit_missing": "No tcgen05.commit follows the products",
    "tcgen05_wait_missing": "No tcgen05.wait::ld follows tcgen05.ld",
}


def find_tensor_memory_mistakes(text: KernelText) -> list[Pitfall]:
    """Find missing operations in kernels with tcgen05, each mistake once."""
    if "tcgen05." not in text.code.text or not is_kernel_head(text.code.text):
        return []
    if text.code.overflowed:
        return []  # what comes later is not kept
    complete_runs = [run for run in text.code.asm_runs if not run.part]
    return text.check_runs(lambda kernel: _find_mistakes(kernel, complete_runs))


def _find_mistakes(kernel: KernelRun, complete_runs: Sequence[AsmRun]) -> Iterator[Pitfall]:
    if not kernel.complete or any(event.kind == "unknown" for event in kernel.events):
        return
    ran = (run for run in complete_runs if any(name == kernel.name for name, _ in run.calls))
    asm_runs = sorted(ran, key=lambda run: run.order)
    products, loads = _list_runs(asm_runs, "tcgen05.mma"), _list_runs(asm_runs, "tcgen05.ld")
    if not _list_runs(asm_runs, "tcgen05.alloc") or not loads:
        return  # an excerpt
    if products and not _list_runs(asm_runs, "tcgen05.commit"):
        message = (
            "No tcgen05.commit follows this tcgen05.mma: no mbarrier signals its completion before tcgen05.ld reads"
            " its accumulator."
        )
        yield Pitfall("tcgen05_commit_missing", message, _find_own_place(kernel, products[-1]))
    yield from _check_first_input(products, asm_runs)
    yield from _check_waits(kernel, loads, asm_runs)


def _check_first_input(products: Sequence[AsmRun], asm_runs: Sequence[AsmRun]) -> Iterator[Pitfall]:
    """Yield a pitfall if every product adds to its accumulator, and nothing writes it before."""
    inputs = [find_input_flag(run) for run in products]
    if products and all(flag for flag, _ in inputs) and not _list_runs(asm_runs, "tcgen05.st"):
        message = (
            "enable-input-d is never false: D = A·B + D adds to tensor memory that nothing has written. Make it false"
            " for the first product of a tile."
        )
        yield Pitfall("tcgen05_accumulator_unset", message, inputs[0][1])


def _check_waits(kernel: KernelRun, loads: Sequence[AsmRun], asm_runs: Sequence[AsmRun]) -> Iterator[Pitfall]:
    """Yield a pitfall if no tcgen05.wait::ld follows a load."""
    waits = _list_runs(asm_runs, "tcgen05.wait::ld")
    last = max((wait.order for wait in waits), default=-1)
    waited = {(load.span, load.calls) for load in loads if load.order < last or _waits_itself(load)}
    late = [load for load in loads if (load.span, load.calls) not in waited]
    if late:
        message = (
            "No tcgen05.wait::ld follows this tcgen05.ld before the kernel ends: its registers may be used before they"
            " are loaded."
        )
        yield Pitfall("tcgen05_wait_missing", message, _find_own_place(kernel, late[0]))


def _list_runs(asm_runs: Sequence[AsmRun], opcode: str) -> list[AsmRun]:
    form = re.compile(rf"{re.escape(opcode)}(?!\w)")
    return [run for run in asm_runs if form.search(join_strings(run.text))]


def _waits_itself(load: AsmRun) -> bool:
    """Return whether an asm statement waits after its last tcgen05.ld."""
    code = join_strings(load.text)
    return code.rfind("tcgen05.wait::ld") > code.rfind("tcgen05.ld")


def _find_own_place(kernel: KernelRun, run: AsmRun) -> Span:
    """Return where the kernel's own lines run an asm statement."""
    depth = next(n for n, (name, _) in enumerate(run.calls) if name == kernel.name)
    return run.calls[depth + 1][1] if depth + 1 < len(run.calls) else run.span
