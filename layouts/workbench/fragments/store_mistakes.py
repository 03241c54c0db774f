"""Check the stores of threads to tiles that an mma reads."""

from __future__ import annotations

from collections.abc import Iterator

from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.fragments.thread_descriptors import find_read_bytes
from lanescope.workbench.results import CheckFinding


def find_clashes(run: KernelRunner) -> Iterator[CheckFinding]:
    """Yield the stores of two threads that put different elements into the same bytes, if these are read."""
    clashes = run.clashes if run.products or run.descriptors else ()
    read = find_read_bytes(run) if clashes else run.nobody
    for site, first, second, place in clashes:
        if not read[place]:  # such as a place for elements out of range
            continue
        message = f"Threads {first} and {second} store different elements in the same bytes: rows of the tile overlap."
        yield CheckFinding("stores_overlap", message, site)


def find_misaligned_stores(run: KernelRunner) -> Iterator[CheckFinding]:
    """Yield the first store of a kernel that is not aligned; others have the same pitch."""
    for site, size in list(run.misaligned.items())[:1] if run.products else ():
        message = (
            f"The addresses that threads store {size} bytes at are not multiples of {size} apart: the store traps."
        )
        yield CheckFinding("store_misaligned", message, site)
