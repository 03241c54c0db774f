"""What PTX instructions compute from integers and bits: a row per opcode, for arrays of registers.

The emulator executes these rows, and the readers of code compute known values with them. PTX ISA 9.1, 9.7.1, 9.7.2,
9.7.8 and 9.7.9.7.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from lanescope.ptx.operations import bits, integers  # noqa: F401
from lanescope.ptx.operations.operation import MAKERS, Operation, OperationError, encode_integers


@lru_cache(maxsize=1024)
def find_operation(opcode: str) -> Operation | None:
    """Return the operation of an opcode; None for an unknown one.

    >>> [row.name for row in find_operation("mad.wide.u16").sources]
    ['u16', 'u16', 'u32']
    """
    words = tuple(opcode.split("."))
    try:
        return MAKERS[words[0]](words) if words[0] in MAKERS else None
    except OperationError:
        return None


def compute_integers(found: Operation, values: Sequence[Any]) -> Any:
    """Return the result of an operation for integers, each an int or int64 [threads]; None if PTX defines none.

    >>> compute_integers(find_operation("bfe.s32"), (0x80, 4, 4)), compute_integers(find_operation("popc.b64"), (-1,))
    (-8, 64)
    """
    sources = [encode_integers(value, row) for value, row in zip(values, found.sources, strict=True)]
    if found.divides and not sources[1].all():
        return None
    try:
        result = np.asarray(found.compute(*sources), found.to.dtype)
    except OperationError:
        return None
    return int(result[0]) if all(isinstance(value, int) for value in values) else result.astype(np.int64)
