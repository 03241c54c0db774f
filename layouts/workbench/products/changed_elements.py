"""Find where elements of D are changed so that D is not A·B: numbers that are added, factors that only some have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from lanescope.reader.threads.memory.results import ADDED, list_elements
from lanescope.reader.threads.memory.storage import DataBytes, Ints
from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.results import Span

_ADDED = "a number is added to its elements here, or replaces some, or some are multiplied by 0"


def find_changed(run: KernelRunner, stored: Sequence[DataBytes]) -> tuple[str, Span] | None:
    """Return (why D is not A·B, where) if elements that are stored are changed. stored: their bytes, by threads."""
    if (uneven := _find_uneven(run, stored)) is not None:
        return uneven
    records = {int(n) for data in stored for n in np.unique(data.record)}
    places = [place for record, place in run.changed.items() if record in records and place is not None]
    return (_ADDED, min(places)) if places else None


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
