"""Functions of CuTe by name, for the readers of texts and of code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lanescope.cute.calls.modes import MODE_FUNCTIONS
from lanescope.cute.calls.operations import ALIASES, OPS, check_arguments
from lanescope.cute.making import MAKERS, UnmadeValueError, Value
from lanescope.errors import LayoutError
from lanescope.shared.swizzle import Swizzle

FUNCTIONS = frozenset((*MAKERS, *OPS, *ALIASES, *MODE_FUNCTIONS))


class OpenCuteValueError(Exception):
    """A CuTe value depends on something unknown; `words` is its text."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.words = words


def call_function(
    name: str,
    values: Sequence[Value],
    places: Sequence[int] = (),
    words: Mapping[str, Value] | None = None,
    text: str = "a value",
) -> Value:
    """Return the result of one of FUNCTIONS.

    places: numbers in its angle brackets; words: its keyword arguments; text: of the call. OpenCuteValueError if it is
    not defined for the values, LayoutError if CuTe does not compile it for them.
    """
    try:
        return _call(name, values, places, words or {})
    except UnmadeValueError as error:
        if error.wrong:
            raise LayoutError("bad_cute", f"'{text}' {error.why}.", error.hint or "Give one stride a size.") from None
        raise OpenCuteValueError(text) from None


def _call(name: str, values: Sequence[Value], places: Sequence[int], words: Mapping[str, Value]) -> Value:
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
