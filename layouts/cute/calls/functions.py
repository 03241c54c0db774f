"""Functions of CuTe by name, for the readers of texts and of code."""

from __future__ import annotations

from collections.abc import Sequence

from lanescope.cute.calls.modes import MODE_FUNCTIONS
from lanescope.cute.calls.operations import ALIASES, OPS, check_arguments
from lanescope.cute.making import MAKERS, UnmadeValueError, Value
from lanescope.shared.swizzle import Swizzle

FUNCTIONS = frozenset((*MAKERS, *OPS, *ALIASES, *MODE_FUNCTIONS))


def call_function(name: str, values: Sequence[Value], places: Sequence[int] = (), **words: Value) -> Value:
    """Return the result of one of FUNCTIONS.

    places: numbers in its angle brackets; words: its keyword arguments. UnmadeValueError if it is not defined for the
    values, LayoutError if CuTe does not compile it for them.
    """
    op = ALIASES.get(name, name)
    if name in MODE_FUNCTIONS:
        result = MODE_FUNCTIONS[name](values, places)
        if result is None and name != "get":  # a mode of a tiler may be an underscore
            raise UnmadeValueError(f"has {name} of other values")
        return result
    if op not in OPS or (name in MAKERS and values and isinstance(values[0], Swizzle)):
        return MAKERS[name](list(values), words)
    order = words.get("order", words.get("trg_order"))
    return OPS[op].act(*check_arguments(op, [*values, *places, *([] if order is None else [order])]))
