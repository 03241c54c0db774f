"""The text of a cell for screen readers, as a page's script fills it into the engine's templates."""

from __future__ import annotations

from lanescope.render.view import BETWEEN_OWNERS, OperandGrid, get_owner_template, get_spoken_template


def speak_cell(grid: OperandGrid, row: int, col: int, title: str = "") -> str:
    """Return matrix, position, and every owner of an element with its register and bits."""
    operand = grid.operand
    owners = [
        get_owner_template(operand.scope).format(
            holder=grid.format_holder(thread),
            name=operand.name,
            value=value,
            register=operand.register_of(value)[0],
            spoken_bits=grid.format_spoken_bits(value),
        )
        for thread, value in zip(grid.thread[row, col].tolist(), grid.value[row, col].tolist(), strict=True)
    ]
    return get_spoken_template(operand).format(
        title=title or operand.name.upper(), row=row, col=col, owners=BETWEEN_OWNERS.join(owners)
    )
