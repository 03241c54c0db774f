"""The one error a caller of the engine sees.

LayoutError
├── code     a stable word for programs, e.g. "unknown_instruction"
├── message  what was given, in quotes, and why it is refused; where it begins with the field's name, "mn is 7.", a form
│            shows the field's label instead
├── hint     what is allowed, or the nearest legal thing
└── field    the parameter that is wrong, or ""
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class LayoutError(ValueError):
    """Something the caller gave cannot be a layout; says what, why and what is allowed."""

    def __init__(
        self,
        code: str,
        message: str,
        hint: str = "",
        field: str = "",
        nearest: tuple[str, ...] = (),
    ) -> None:
        super().__init__(f"{message} {hint}".strip())
        self.code = code
        self.message = message
        self.hint = hint
        self.field = field
        self.nearest = nearest

    def move_to_field(self, field: str, code: str = "") -> LayoutError:
        """Return the same error for a caller who gave the value in another field, or under another code."""
        return LayoutError(code or self.code, self.message, self.hint, field, self.nearest)


@contextmanager
def refuse_deep_recursion() -> Iterator[None]:
    """Turn a RecursionError of what runs inside into LayoutError `too_deep`. Also a decorator.

    Readers bound their depth where a bound is natural; this is for the ways around these bounds.
    """
    try:
        yield
    except RecursionError:
        raise LayoutError(
            "too_deep",
            "The text is nested too deeply to be read.",
            "Put fewer brackets, calls or operators inside one another, or give the part in question alone.",
        ) from None
