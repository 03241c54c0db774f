"""Messages of failed assertions: what is wrong, the cause, the repair, one line each."""

from __future__ import annotations

from typing import NoReturn

from lanescope.bits import BitField
from lanescope.descriptor.verify import Verdict


def fail(head: str, *lines: str) -> NoReturn:
    """Raise AssertionError with a first line and further lines."""
    __tracebackhide__ = True
    raise AssertionError("\n".join([head, *(f"  {line}" for line in lines if line)]))


def describe_verdict(verdict: Verdict) -> list[str]:
    """Return lines with the first wrong element, the causes and the repair of a mismatch."""
    lines = [f"malformed: {verdict.malformed}"] if verdict.malformed else []
    if (first := verdict.first_mismatch) and verdict.defined:
        lines.append(f"first: [{first.row}, {first.k}] is read from {first.read:#x} and stored at {first.expected:#x}")
    for cause in verdict.diagnoses:
        lines.append(f"cause ({cause.code}): {cause.message}")
        if cause.fix:
            changed = [_format_change(cause.fix.format.get_field(name), *pair) for name, pair in cause.changes.items()]
            lines.append(f"repair: {cause.fix}" + (f" ({', '.join(changed)})" if changed else ""))
        if cause.storage:
            lines.append(f"or store the tile as {cause.storage}")
    return lines


def _format_change(field: BitField, had: int, wanted: int) -> str:
    return f"{field.short or field.name} {had * field.unit} → {wanted * field.unit}"
