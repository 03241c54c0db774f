"""Split maps from (thread, value) to a tile's elements into a thread layout and a value layout, where possible."""

from __future__ import annotations

from typing import Any

from lanescope.cute.layout import CuteLayout
from lanescope.cute.tuples import find_size, pair_leaves


def list_mode_sizes(shape: Any, rank: int = 2) -> list[Any]:
    """Return the sizes of a shape's modes, padded to `rank` or at least two."""
    modes = list(shape) if isinstance(shape, tuple) else [shape]
    sizes = [find_size(mode) for mode in modes]
    return [*sizes, *[1] * (rank - len(sizes))]


def invert_map(tv: CuteLayout, sizes: list[int]) -> tuple[CuteLayout, CuteLayout] | None:
    """Invert a map (id → coordinate) into thread and value layouts (coordinate → id); None if it is not such a
    product.
    """
    val = _invert_mode(tv.shape[1], tv.stride[1], sizes[0], (1, 1))
    if val is None:
        return None
    box = tuple(list_mode_sizes(val.shape))
    thr = _invert_mode(tv.shape[0], tv.stride[0], sizes[0], box)
    if thr is None or [a * b for a, b in zip(list_mode_sizes(thr.shape), box, strict=True)] != sizes:
        return None
    return thr, val


def _invert_mode(shape: Any, stride: Any, height: int, box: tuple[int, ...]) -> CuteLayout | None:
    """Invert one mode of the map: the digits of each axis from the lowest, `box` elements apart."""
    down: list[tuple[int, int, int]] = []
    across: list[tuple[int, int, int]] = []
    step = 1
    for size, at in pair_leaves(shape, stride):
        if size > 1 and at <= 0:
            return None
        if size > 1:
            (down if at < height else across).append((at if at < height else at // height, size, step))
        step *= size
    result = []
    for digits, apart in ((sorted(down), box[0]), (sorted(across), box[1])):
        due = apart
        for at, size, _ in digits:
            if at != due:
                return None
            due *= size
        modes = [(size, step) for _, size, step in digits] or [(1, 0)]
        result.append(modes[0] if len(modes) == 1 else tuple(zip(*modes, strict=True)))
    return CuteLayout(tuple(digit[0] for digit in result), tuple(digit[1] for digit in result))
