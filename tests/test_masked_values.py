"""Values of variables that some threads of a block declare and write."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from lanescope.reader.threads.language.numbers import make_number
from lanescope.reader.threads.language.types import SizedType
from lanescope.reader.threads.language.values import store_place
from lanescope.reader.threads.memory.storage import ZERO, DataBytes, LocalMemory, Pointer
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
