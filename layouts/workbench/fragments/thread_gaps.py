"""Find kernels with mma or ldmatrix whose fragments have no verdict, with the reason."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from lanescope.cxx.source_text import WORD_START, blank_comments, list_macros, list_reached
from lanescope.reader.code.ptx.ptx_module import is_ptx_module
from lanescope.reader.code.syntax import tree
from lanescope.reader.threads.block_sizes import LAUNCHED, THREADS_OPEN
from lanescope.reader.threads.kernels import KernelRun
from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.text.function_texts import blank_text, find_functions, list_reached_texts

Span = tuple[int, int]
OperandKey = tuple[Span, tuple[Span, ...], str]  # the statement of a product, the calls around it, and a or b
NO_THREADS, TOO_LONG, NOT_REACHED = "without a number of threads", "too long to be followed", "with mma that is not run"
NO_KERNEL = "in functions that no kernel of the file calls"
NOT_COMPILED = "compiled only with"  # -D NAME
NO_KERNEL_LOADS = "with ldmatrix in functions that no kernel of the file calls"
UNKNOWN, OTHER_FORM = "with fragments of unknown origin", "with sparse, f64 or m8n8k4 mma"
UNCALLED = frozenset((NO_KERNEL, NO_KERNEL_LOADS))
BY_CUTE, BY_WMMA, IN_PTX = "with fragments that CuTe loads", "with fragments of wmma", "in PTX"
STEP_OPEN = "with steps along K that may be wrong"
UNREAD_PARTS = "with parts of a tile that nothing reads"
LOADS_ALONE = "without an mma that takes what it loads"
LOADS_FOR_WGMMA = "with ldmatrix beside wgmma"
UNSETTLED = frozenset((STEP_OPEN, UNREAD_PARTS, UNKNOWN))  # gaps that a run with known sizes may close
ORDER_OPEN = "with stores and barriers whose order is not followed"
PITCH_OPEN = "the pitch of "  # a matrix is not determined
LOADING = frozenset((LOADS_ALONE, LOADS_FOR_WGMMA, NO_KERNEL_LOADS))  # gaps of kernels with ldmatrix and no mma
_DEPENDS = "depends on "
BLOCK_NAME = "blockDim.x"  # names for -D that give the number of threads
_MMA = re.compile(rf"(?<!wmma\.){WORD_START}mma\s*\.\s*(?:sp(?:::\w+)?\s*\.\s*)?sync")
_LDMATRIX = re.compile(rf"{WORD_START}ldmatrix\s*\.")
_WGMMA = re.compile(rf"{WORD_START}wgmma\s*\.\s*mma_async")  # takes A from registers, too
_MMA_SYNC = re.compile(r"\bb?mma_sync\s*\(|\bwmma\.mma\s*\.")
_WMMA = re.compile(rf"{_MMA_SYNC.pattern}|\bload_matrix_sync\s*\(")
_WGMMA_ATOM = re.compile(r"\bSM90_64x\d+x\d+_\w+_SS")  # of CuTe
_ASYNC_ATOM = re.compile(rf"{_WGMMA_ATOM.pattern}|\bSM1\d\d_MMA_\w+_SS")
_TMA_ATOM = re.compile(r"\bmake_tma_(?:atom|copy)\b")
_BULK_COPY = re.compile(r"\bSM90_TMA|\bmake_tma_|\bcp\.async\.bulk")
_WARP_ATOM = re.compile(r"\bSM(?:70|75|80|89|120)_\w*\d+x\d+x\d+\w*")
_MARKS = "mma", "matrix", "SM"  # all that these match has one
_GEMM = re.compile(r"\bgemm\s*\(")
_MOST_CALL = 60  # characters of a call that is quoted
_OPCODE = re.compile(r"\bmma\.[\w.:]+")
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class CheckedKernel:
    """A kernel that multiplies by mma or loads by ldmatrix.

    gap: why its fragments have no verdict, "" if all have one; needs: names that -D accepts to resolve it; operand: for
    UNKNOWN, the first one without a verdict; at: for NOT_REACHED, the condition of the loop that is not entered; left:
    reads without a verdict.
    """

    name: str
    span: Span
    gap: str = ""
    needs: tuple[str, ...] = ()
    operand: str = ""
    at: Span | None = None
    left: int = 0

    @property
    def place(self) -> Span:
        """Where its message stands."""
        return self.at or self.span

    @property
    def message(self) -> str:
        what = f"The fragments of {self.name}" if self.name else "Fragments"
        if self.at is not None:
            return f"{what} are not verified: this loop over its mma has no iterations."
        if self.gap == UNKNOWN and self.operand:
            return f"{what} are not verified: what the registers of {self.operand} hold is not known."
        return f"{what} are not verified: {_SENTENCES.get(self.gap) or _make_sentence(self.gap)}."


_SENTENCES = {
    NO_THREADS: f"no launch of the file gives the number of its threads; give -D {BLOCK_NAME}=128",
    TOO_LONG: "it takes too many steps to be followed to its end",
    NOT_REACHED: "none of its mma is reached",
    NO_KERNEL: "no kernel of the file calls the function with the mma",
    NO_KERNEL_LOADS: "no kernel of the file calls the function with the ldmatrix",
    UNKNOWN: "what a register of an mma holds is not known",
    OTHER_FORM: "its form of mma is not followed: sparse, f64, m8n8k4, or not one of PTX",
    STEP_OPEN: "they move along K by a step that is right only if global memory has blocks in an order of its own",
    UNREAD_PARTS: "threads store parts of a tile that no thread reads",
    LOADS_ALONE: "no mma takes what its ldmatrix loads",
    LOADS_FOR_WGMMA: "what its ldmatrix loads is not followed into wgmma",
    BY_CUTE: "CuTe loads them",
    BY_WMMA: "where wmma keeps elements is not followed",
    ORDER_OPEN: "the order of its stores, barriers and reads of shared memory is not followed",
    IN_PTX: "mma and ldmatrix of PTX files are not followed; lanescope emulate executes the file",
}


def describe_open_operand(text: str, uses: Iterable[OperandKey], judged: Set[object]) -> str:
    """Name the first operand of an mma without a verdict by its call, or by the opcode of the kernel's own statement.

    >>> describe_open_operand("mma(d, a, b);", [((40, 90), ((0, 12),), "a")], set())
    'A in mma(d, a, b)'
    """
    for key in uses:
        span, calls, name = key
        if key not in judged:
            code = " ".join(text[slice(*(calls[-1] if calls else span))].split())
            opcode = _OPCODE.search(code) if not calls else None
            called = code if len(code) <= _MOST_CALL else code.partition("(")[0] + "(…)"
            return f"{name.upper()} in {opcode[0] if opcode else called}"
    return ""


def _make_sentence(gap: str) -> str:
    if gap.startswith(_DEPENDS):
        return f"the kernel {gap}"
    if gap.startswith((LAUNCHED, NOT_COMPILED)):
        return f"it is {gap}"
    return f"the tile is {gap}" if gap.startswith("stored by ") else gap


def describe_run(
    run: KernelRun, uses: Mapping[OperandKey, bool], judged: Set[object], unsure: Set[object]
) -> tuple[str, tuple[str, ...]]:
    """Return (why products of a kernel's run have no verdict, names that -D accepts to resolve it). uses: each operand
    and whether its form is followed; judged: those with a verdict; unsure: those whose step along K may be wrong.
    """
    forms = [followed for key, followed in uses.items() if key not in judged]
    if uses and not forms:
        return UNREAD_PARTS if _leaves_parts_unread(run.runner) else "", ()
    if run.why == THREADS_OPEN:
        return NO_THREADS, (BLOCK_NAME,)
    if run.why:
        return run.why, ()
    if forms and not any(forms):
        return OTHER_FORM, ()
    if run.open:
        return _DEPENDS + ", ".join(run.open[:4]), run.open
    if not run.complete:
        return TOO_LONG, ()
    if not uses:
        return NOT_REACHED, ()
    if uses.keys() - judged <= unsure:
        return STEP_OPEN, ()
    broken = _find_broken(run.runner, {key[:2] for key in uses if key not in judged})
    return (f"stored by code that is not followed ({broken})" if broken else UNKNOWN), ()


def find_skipped_loop(text: str, runner: KernelRunner, gap: str = NOT_REACHED) -> Span | None:
    """Return the condition of the only loop without turns that multiplies, if no mma of a run is reached."""
    skipped = [place for place, entered in runner.entered.items() if not entered] if gap == NOT_REACHED else []
    found = [condition for loop, condition in skipped if _reaches_product(blank_comments(text), loop)]
    return found[0] if len(found) == 1 else None


def _reaches_product(code: str, loop: Span) -> bool:
    """Return whether a loop, or a function or macro that it names, multiplies. code: a text without its comments."""
    functions, patterns = find_functions(blank_text(code)), (_MMA, _MMA_SYNC, *[_GEMM] * bool(_WARP_ATOM.search(code)))
    named = ((one.name, code[slice(*one.body)]) for one in functions)
    reached = list_reached(code[slice(*loop)], (*named, *list_macros(code)))
    return any(pattern.search(one) for one in reached for pattern in patterns)


def _find_broken(runner: KernelRunner, left: Set[tuple[Span, tuple[Span, ...]]]) -> str:
    """Return why what a product without a verdict loads is not known, "" if no code says so. left: statement, calls."""
    return next((use.broken for use in runner.products if use.broken and (use.span, use.calls) in left), "")


def take_gap(kernel: CheckedKernel, every_run: Iterable[CheckedKernel]) -> CheckedKernel:
    """Return a kernel with its gap: that of its runs, NOT_REACHED if it was not run, else none."""
    runs = [run for run in every_run if run.span == kernel.span]
    if kernel.gap in (BY_WMMA, BY_CUTE):
        return _take_library_gap(kernel, runs)
    if kernel.gap == LOADS_FOR_WGMMA and runs and not any(run.gap for run in runs):
        return replace(kernel, gap="")
    if kernel.gap or not kernel.name:
        return kernel
    return next((run for run in runs if run.gap), replace(kernel, gap="" if runs else NOT_REACHED))


def _take_library_gap(kernel: CheckedKernel, runs: Sequence[CheckedKernel]) -> CheckedKernel:
    """Return a kernel by wmma or CuTe with its gap: none if all its runs were judged, else what is open before its
    fragments, else its own.
    """
    if kernel.gap == BY_CUTE and not all(run.gap for run in runs):  # others may be instances of scalar atoms
        runs = [run for run in runs if run.gap != NOT_REACHED and not run.gap.startswith(_DEPENDS)]
    if kernel.gap == BY_WMMA and (left := [run for run in runs if run.gap not in ("", NOT_REACHED)]):
        return left[0]
    own = replace(kernel, gap=kernel.gap if not runs or any(run.gap for run in runs) else "")
    told = (run for run in runs if run.gap.startswith((NO_THREADS, _DEPENDS, PITCH_OPEN)))
    unsettled = (run for run in runs if run.gap in UNSETTLED and kernel.gap == BY_CUTE)
    return next(chain(told, unsettled), own)


def _leaves_parts_unread(runner: KernelRunner) -> bool:
    """Return whether bytes of a tile that ldmatrix loads are stored and never read: before others that are read, or
    although they are stored again.

    Other bytes may be of a stage that the loop over K fills and does not reach.
    """
    shared, registers = runner.shared, (register for use in runner.products for register in (*use.a, *use.b))
    loads = (register.load for register in registers)
    tiles = {writer for load in loads if load is not None for writer in load.writers if writer}
    arrays = np.array([record.array for record in runner.records], dtype=object)
    for writer in tiles:
        stored = np.flatnonzero(shared.writer == writer)
        origins = arrays[np.maximum(shared.record[stored], 0)]  # elements of D are of no array
        for array in set(origins):  # a helper may store several tiles
            places = stored[origins == array]
            was_read = shared.was_read[places]
            last = int(np.flatnonzero(was_read)[-1]) if was_read.any() else -1
            if last >= 0 and ((~was_read)[:last].any() or (shared.stored_again[places] & ~was_read).any()):
                return True
    return False


def fills_tiles(text: str) -> bool:
    """Return whether the threads of a text fill tiles that CuTe's wgmma reads."""
    return _WGMMA_ATOM.search(text) is not None and _BULK_COPY.search(text) is None


def list_tile_kernels(text: str) -> frozenset[str]:
    """List the kernels of a text with CuTe's wgmma or tcgen05.mma, and TMA copies."""
    if _ASYNC_ATOM.search(text) is None or _TMA_ATOM.search(text) is None:
        return frozenset()
    return frozenset(one.name for one in find_functions(blank_text(text)) if one.kernel)


def _has_products(text: str) -> bool:
    """Return whether a text names a product of a warp, or ldmatrix."""
    marked = any(mark in text for mark in _MARKS)
    return marked and any(pattern.search(text) for pattern in (_MMA, _LDMATRIX, _WMMA, _WARP_ATOM))


def list_kernels_by_text(text: str) -> Iterator[CheckedKernel]:
    """List the kernels of a text with mma or ldmatrix, with the reason if their fragments are never followed."""
    if is_ptx_module(text):
        if found := _MMA.search(text) or _WMMA.search(text) or _LDMATRIX.search(text):
            multiplies = _MMA.search(text) or _WMMA.search(text) or _WGMMA.search(text)
            yield CheckedKernel("", found.span(), IN_PTX if multiplies else LOADS_ALONE)
        return
    if not _has_products(text):
        return
    blank = blank_text(text)
    functions = find_functions(blank)
    kernels = [function for function in functions if function.kernel]
    for kernel in kernels:
        gap = _find_gap(list(list_reached_texts(text, functions, kernel)), bool(_WARP_ATOM.search(blank)))
        if gap is not None:
            yield CheckedKernel(kernel.name, _find_name(blank, kernel.name, kernel.body[0]), gap)
    if not kernels and ("asm" in text or "__device__" in text):
        yield from _list_without_kernel(blank_comments(text), blank)


def _list_without_kernel(code: str, blank: str) -> Iterator[CheckedKernel]:
    """List the first mma or ldmatrix of a function in a text that has no kernel. code: the text without comments."""
    for pattern, gap in ((_MMA, NO_KERNEL), (_MMA_SYNC, NO_KERNEL), (_LDMATRIX, NO_KERNEL_LOADS)):
        inside = next((found for found in pattern.finditer(code) if blank[: found.start()].count("{")), None)
        if inside is not None:
            yield CheckedKernel("", inside.span(), gap)
            return


def _find_gap(bodies: list[str], has_atoms: bool) -> str | None:
    """Return why a kernel's fragments are never followed, "" if they are; None without fragments. bodies: of the kernel
    and of the functions that it calls; has_atoms: whether the text names an MMA atom of CuTe.
    """

    def has(pattern: re.Pattern[str]) -> bool:
        return any(pattern.search(body) for body in bodies)

    if has(_MMA):
        return ""
    if has(_WMMA):
        return BY_WMMA
    if has(_LDMATRIX):
        return LOADS_FOR_WGMMA if has(_WGMMA) else LOADS_ALONE
    return BY_CUTE if has_atoms and has(_GEMM) else None


def close_settled_gaps(
    kernels: Sequence[CheckedKernel], proved: Mapping[str, bool], unordered: Collection[str]
) -> tuple[list[CheckedKernel], int]:
    """Close the gaps that a run with known sizes settles, of kernels whose D is A·B, if their order is followed; return
    the kernels, and how many more reads have a verdict.

    proved: the names of these kernels, and whether that run settles all gaps; unordered: those whose stores and
    barriers are not followed.
    """
    closed = [replace(one, gap="") if proved.get(one.name) else one for one in kernels]
    closed = [
        replace(one, gap=ORDER_OPEN * (one.name in unordered)) if one.name in proved and one.gap in UNSETTLED else one
        for one in closed
    ]
    return closed, sum(before.left for before, one in zip(kernels, closed, strict=True) if before.gap and not one.gap)


def find_name(text: str, function: tree.Function) -> Span:
    """Return where the name of a function with a body is; the macro's invocation if one makes it."""
    past = function.body.span[0] if function.body is not None else function.span[1]
    found = _find_name(blank_text(text), function.name, past)
    return found if found[0] >= 0 else function.span


def _find_name(blank: str, name: str, body: int) -> Span:
    """Return where a function's name is before its body, or where it is given to the macro that makes the function."""
    places = [found.span() for found in re.finditer(rf"\b{re.escape(name)}\b", blank)]
    return next((place for place in reversed(places) if place[0] < body), (*places, (body, body + 1))[0])
