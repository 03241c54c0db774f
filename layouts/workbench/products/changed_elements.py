"""Find where elements of D are changed so that D is not A·B: numbers that are added, factors that only some have, and
other bytes that are stored over them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from lanescope.reader.threads.memory.records import ResultStore
from lanescope.reader.threads.memory.results import ADDED, is_other, list_elements
from lanescope.reader.threads.memory.storage import DataBytes, Ints, Mask, spread_coefficient
from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.results import Span

_OTHER = "bytes that are no elements of D are stored over its elements here"
_ADDED = "a number is added to its elements here, or replaces some, or some are multiplied by 0"


def find_changed(run: KernelRunner, stored: Sequence[DataBytes]) -> tuple[str, Span] | None:
    """Return (why D is not A·B, where) if elements that are stored are changed. stored: their bytes, by threads."""
    if (uneven := _find_uneven(run, stored)) is not None:
        return uneven
    records = {int(n) for data in stored for n in np.unique(data.record)}
    places = [place for record, place in run.changed.items() if record in records and place is not None]
    return (_ADDED, min(places)) if places else None


def find_other_stores(runs: Sequence[KernelRunner], count: int) -> tuple[str, Span] | None:
    """Return (why, where) if a store writes other known bytes to places of elements of D; None if no store does.

    count: the elements of D. If the last one is stored at index count - 1, every place before it is one of D.
    """
    stores = [store for run in runs for store in (*run.outputs, *run.other_outputs)]
    others = [store for store in stores if is_other(store.data)[store.active].any()]
    for array in {store.array for store in others}:
        of_d = [store for run in runs for store in run.outputs if store.array == array]
        placed = _join(_list_bytes(store, store.data.record < 0) for store in of_d)
        past = placed[-1] + 1 if len(placed) and placed[-1] + 1 == count * of_d[0].size else 0
        for store in (store for store in others if store.array == array):
            every = _list_bytes(store, is_other(store.data))
            if np.isin(every, placed).any() or (every < past).any():
                return _OTHER, store.site
    return None


def _list_bytes(store: ResultStore, chosen: Mask) -> Ints:
    """List where some bytes of a store are put. chosen: [threads, bytes]."""
    first = store.offset.const
    if first is None:
        return np.zeros(0, np.int64)
    chosen = chosen & store.active[:, None]
    every = spread_coefficient(first, len(chosen))[:, None] + np.arange(chosen.shape[1])
    return every[chosen]


def _find_uneven(run: KernelRunner, stored: Sequence[DataBytes]) -> tuple[str, Span] | None:
    """Return (why, where) if an argument is a factor of some elements and not of others, or is added to some."""
    elements = _join(map(list_elements, stored))
    for (op, name), of_scalar in sorted(run.scalars.items(), key=lambda one: one[0][0] not in ADDED):
        with_it = np.isin(elements, _join(changed for changed, _ in of_scalar))
        if with_it.any() and not with_it.all():
            done = f"{name} is {'added to' if op in ADDED else 'a factor of'}"
            return f"{done} only some of its elements", of_scalar[0][1]
    return None


def _join(parts: Iterable[Ints]) -> Ints:
    found = [np.zeros(0, np.int64), *parts]
    return np.unique(np.concatenate(found))
