"""Values of variables that some threads of a block declare and write."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from lanescope.reader.threads.language.numbers import make_number
from lanescope.reader.threads.language.types import SizedType
from lanescope.reader.threads.language.values import store_place
from lanescope.reader.threads.memory.storage import OPEN, ZERO, ZEROED, DataBytes, LocalMemory, Pointer
from tests.cases import for_each


@for_each(("writers", "is_zero"), [(96, True), (64, False)])
def test_a_constant_replaces_a_result_if_all_owners_write_it(writers: int, is_zero: bool) -> None:
    lanes = np.arange(128)
    memory = LocalMemory(owners=lanes < 96)
    result = DataBytes(*(np.full((128, 4), n) for n in (-1, 0, 0)))
    memory.write_value(0, 4, result, None)
    run: Any = SimpleNamespace(mask=lanes < writers, masked=False, sizes=None, runs_everyone=lambda: False)
    store_place(run, Pointer("local", memory, make_number(0), SizedType("float", 4)), ZERO, (0, 1))
    assert (memory.read_value(0, 4) is ZERO) == is_zero


@for_each(("before", "after"), [(0, ZEROED), (1, OPEN)])
def test_some_threads_replace_the_bytes_of_smaller_values(before: int, after: int) -> None:
    memory = LocalMemory()
    for offset in (0, 4):
        memory.write_value(offset, 4, make_number(before if offset else 0), None)
    memory.write_value(0, 8, DataBytes(*(np.full((2, 8), n) for n in (5, 0, 0))), np.array([True, False]))
    assert memory.read_value(0, 8).record[:, ::4].tolist() == [[5, 5], [ZEROED, after]]
