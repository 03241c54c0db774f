"""The error that the engine raises for a caller's mistake.

LayoutError
├── code     a stable word for programs, e.g. "unknown_instruction"
├── message  the value, quoted, and the reason; where it starts with the field's name, "mn is 7.", a form shows the
│            field's label instead
├── hint     the allowed values, or the nearest legal one
├── field    the parameter with the mistake, or ""
└── others   the errors of other fields of the same request, which a form shows beside them
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class LayoutError(ValueError):
    """A value of the caller that cannot be a layout; has the value, the reason and the allowed ones."""

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
        self.others: tuple[LayoutError, ...] = ()

    @property
    def every(self) -> tuple[LayoutError, ...]:
        """This error alone, and those of other fields."""
        alone = LayoutError(self.code, self.message, self.hint, self.field, self.nearest) if self.others else self
        return (alone, *self.others)

    def to_json(self) -> dict[str, str]:
        """Return what an answer in JSON has of it."""
        return {"code": self.code, "message": self.message, "hint": self.hint, "field": self.field}

    def move_to_field(self, field: str, code: str = "") -> LayoutError:
        """Return the same error for another field, or with another code."""
        moved = LayoutError(code or self.code, self.message, self.hint, field, self.nearest)
        moved.others = self.others
        return moved


def join_errors(errors: Iterable[LayoutError | None]) -> LayoutError | None:
    """Return the first error, with those of other fields as its `others`; None without an error."""
    by_field: dict[str, LayoutError] = {}
    for error in errors:
        for one in error.every if error else ():
            by_field.setdefault(one.field, one)
    if not by_field:
        return None
    first, *others = by_field.values()
    joined = first.move_to_field(first.field)
    joined.others = tuple(others)
    return joined


@contextmanager
def refuse_deep_recursion() -> Iterator[None]:
    """Turn a RecursionError inside the context into LayoutError `too_deep`. Also a decorator.

    Parsers limit their depth where a limit is natural; this covers the remaining cases.
    """
    try:
        yield
    except RecursionError:
        raise LayoutError(
            "too_deep",
            "The text is nested too deeply to be read.",
            "Use fewer nested brackets, calls or operators, or only the part in question.",
        ) from None
