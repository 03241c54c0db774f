"""Find boxes of tensor maps that are larger or smaller than the tiles that they fill, and copies on another barrier."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lanescope.reader.code.findings import Pitfall
from lanescope.reader.code.maps.tma_rules import TensorMap
from lanescope.reader.code.symbolic_integers import LinearExpression
from lanescope.workbench.repair.blamed_numbers import find_argument_span, follow_number
from lanescope.workbench.results import Span

TITLES = {"box_size": "A box is larger or smaller than the tile that it fills"}
_MOST_ARGUMENTS = 16  # of a call
_BOX_ARGUMENT = 6  # of cuTensorMapEncodeTiled


@dataclass(frozen=True, slots=True)
class CopiedBox:
    """A copy. map: None for bytes without one; size: the bytes that it brings; to: its address, None if open."""

    map: TensorMap | None
    size: int
    to: LinearExpression | None


def find_wrong_box(
    brought: Sequence[CopiedBox], expected: int, places: Sequence[LinearExpression | None], blank: str
) -> Pitfall | None:
    """Return the finding of the one map whose boxes are not as large as the tiles that they fill, if a barrier expects
    the bytes of the tiles. A tile ends where the next one begins.

    brought: the copies of this barrier; places: where any copy begins.
    """
    rooms = [min(filter(None, (_measure(copy.to, at) for at in places)), default=0) for copy in brought]
    wrong = [(copy, room) for copy, room in zip(brought, rooms, strict=True) if copy.size != room]
    if not all(rooms) or sum(rooms) != expected or len({id(copy.map) for copy, _ in wrong}) != 1:
        return None
    copy, room = wrong[0]
    now = copy.map.box[-1] if copy.map is not None else 0
    rows, left = divmod((now or 0) * room, copy.size)
    if copy.map is None or left or not rows:
        return None
    message = (
        f"The boxes of this map bring {copy.size:,} of the {room:,} bytes of a tile. "
        f"{describe_transfer(expected, [one.size for one in brought])}"
        f" With {rows:,} in place of {now:,} both are right."
    )
    return Pitfall("box_size", message, _find_box_place(copy.map, blank))


def _find_box_place(tensor_map: TensorMap, blank: str) -> Span:
    """Return where the outermost size of a box is given."""
    at = find_argument_span(blank, tensor_map.span, _BOX_ARGUMENT) if "ncode" in tensor_map.source else None
    number = len(tensor_map.box) - 1
    return follow_number(blank, at, tensor_map.calls, number) if at is not None else tensor_map.span


def describe_transfer(expected: int, sizes: Sequence[int]) -> str:
    """Say that a barrier expects other bytes than copies of some sizes bring."""
    brought = sum(sizes)
    parts = f" ({' + '.join(f'{size:,}' for size in sizes)})" if 1 < len(sizes) <= 4 else ""
    late = "the wait never ends" if expected > brought else "the phase may end before all has arrived, or never"
    return (
        f"The barrier expects {expected:,} bytes, and the {'boxes' if len(sizes) > 1 else 'box'} loaded on it"
        f" bring{'s' if len(sizes) == 1 else ''} {brought:,}{parts}: {late}."
    )


def make_stray_pitfall(barrier: str, at: Span, blank: str) -> Pitfall:
    """Make the finding of a copy on another barrier than its expect-tx, at the barrier argument. at: its call."""
    array = barrier.split(" ")[0].rpartition(".")[2]
    arguments = (find_argument_span(blank, at, number) for number in range(_MOST_ARGUMENTS))
    named = [span for span in arguments if span is not None and re.search(rf"\b{array}\b", blank[slice(*span)])]
    return Pitfall(
        "expect_tx_bytes",
        f"The bytes of this copy are expected on another barrier of {array}: a wait on that barrier never ends, and"
        " the phase of this one may complete too early.",
        named[0] if len(named) == 1 else at,
    )


def _measure(start: LinearExpression | None, other: LinearExpression | None) -> int:
    """Return how many bytes another place is behind one; 0 if it is not, or that is not known."""
    if start is None or other is None or start.terms != other.terms:
        return 0
    return max(other.const - start.const, 0)
