"""Find the start address of a descriptor, and how it moves with the loops around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lanescope.reader.code.descriptors.start_shift import find_unshifted_start
from lanescope.reader.code.findings import FoundDescriptor, Pitfall, get_field
from lanescope.reader.code.symbolic_integers import LinearExpression, Span, SymbolicInt, make_symbol


def format_free_amount(source: LinearExpression, shift: int, unit: int) -> str:
    """Format the amount of an unknown field: bits `shift` and up of an expression, in units of `unit` bytes."""
    if unit == 1 << shift:
        return str(source)
    if not shift:
        return str(source.scale(unit))
    return f"{unit}·(({source}) >> {shift})" if unit > 1 else f"({source}) >> {shift}"


def find_start(
    group: list[FoundDescriptor], low: int, high: int, pitfalls: list[Pitfall], spans: tuple[Span, ...]
) -> int | str:
    lines = [find_field_start(descriptor.value, low, high) for descriptor in group]
    first = lines[0]
    if isinstance(first, str):
        return first
    pitfalls += find_unshifted_start(group[0].value, low, spans[0] if spans else group[0].span)
    fitted = _fit_affine_start(
        [
            (descriptor.loops, line)
            for descriptor, line in zip(group, lines, strict=True)
            if isinstance(line, LinearExpression)
        ]
    )
    line = fitted or first
    return str(line) if line.terms else line.const


def find_field_start(value: SymbolicInt, low: int, high: int) -> LinearExpression | str:
    known, source, shift = get_field(value, low, high)
    if known is not None:
        return LinearExpression(known * 16)
    if source is None:
        inside = [p for p in value.pieces if low <= p.low <= high]
        names = " | ".join(dict.fromkeys(str(p.source) for p in inside))
        return f"({names})" if names else "?"
    if shift == 4:
        return source
    return source.scale(16) if not shift else format_free_amount(source, shift, 16)


def _fit_affine_start(
    steps: list[tuple[tuple[tuple[str, SymbolicInt], ...], LinearExpression]],
) -> LinearExpression | None:
    """Fit the starts of a loop's iterations with one affine expression of its variables, or return None."""
    if len(steps) < 2 or not steps[0][0]:
        return None
    names = [name for name, _ in steps[0][0]]
    turns: list[tuple[tuple[int, ...], LinearExpression]] = []
    for loops, line in steps:
        values = tuple(v.known for _, v in loops if v.known is not None)
        if len(loops) != len(names) or len(values) < len(loops):
            return None
        turns.append((values, line))
    first_values, base = turns[0]
    result = base
    slopes: dict[int, LinearExpression] = {}
    for n, name in enumerate(names):
        other = _find_differing_iteration(turns, n)
        if other is None:
            continue
        slope = (other[1] + base.scale(-1)).divide_exactly(other[0][n] - first_values[n])
        if slope is None:
            return None
        slopes[n] = slope
        result = result + _multiply_variable(name, slope) + slope.scale(-first_values[n])
    return result if all(_predict_start(base, slopes, first_values, values) == line for values, line in turns) else None


def _find_differing_iteration(
    turns: list[tuple[tuple[int, ...], LinearExpression]], n: int
) -> tuple[tuple[int, ...], LinearExpression] | None:
    """Return an iteration that differs from the first one only in variable n, or None."""
    at = turns[0][0]
    return next((t for t in turns if t[0][n] != at[n] and t[0][:n] == at[:n] and t[0][n + 1 :] == at[n + 1 :]), None)


def _predict_start(
    base: LinearExpression, slopes: Mapping[int, LinearExpression], at: Sequence[int], values: Sequence[int]
) -> LinearExpression:
    """Return the start of an iteration if each variable moves it by its slope."""
    result = base
    for n, slope in slopes.items():
        result += slope.scale(values[n] - at[n])
    return result


def _multiply_variable(name: str, slope: LinearExpression) -> LinearExpression:
    """Multiply a loop variable by its slope: 32·k, 16·k·sizeof(*sA)."""
    result = make_symbol(name).scale(slope.const)
    for term, factor in slope.terms:
        result += make_symbol(f"{name}·{term}").scale(factor)
    return result
