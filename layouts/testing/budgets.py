"""Assertions about the limits of a block: shared memory."""

from __future__ import annotations

from collections.abc import Mapping

from lanescope.errors import LayoutError
from lanescope.inputs import parse_integer
from lanescope.ptx.architectures import STATIC_SHARED_MEMORY, get_architecture
from lanescope.shared.tiling import Tile
from lanescope.testing.failures import fail


def assert_shared_memory_fits(
    buffers: int | Mapping[str, int | Tile], target: str, *, stages: int = 1, extra: int = 0, static: bool = False
) -> None:
    """Assert that a block on a target may have this much shared memory.

    buffers: bytes, or name → bytes (or Tile) of one stage; stages: their number; extra: further bytes, such as barriers
    and padding; static: whether arrays are declared with a size, which are limited to 48 KB unless the target ends in
    `a`. LayoutError for an unknown target, and if its limit is not documented.
    """
    __tracebackhide__ = True
    if not isinstance(target, str):
        raise TypeError(f"target is {type(target).__name__}; text such as 'sm_90a' is needed")
    if not isinstance(static, bool):
        raise TypeError(f"static is {type(static).__name__}; True or False is needed")
    limit = get_architecture(target).block_shared_memory
    if static and not target.endswith("a"):
        limit = STATIC_SHARED_MEMORY
    if limit is None:
        raise LayoutError("open_limit", f"The shared memory of a block on {target} is not documented.", "", "target")
    sizes = _list_sizes(buffers)
    stages, extra = parse_integer(stages, "stages", 1), parse_integer(extra, "extra")
    stage = sum(sizes.values())
    total = stages * stage + extra
    if total <= limit:
        return
    parts = ", ".join(f"{name} {size:,}" for name, size in sizes.items())
    kind = "arrays" if static else "a block"
    most = (limit - extra) // stage if stage else 0
    fail(
        f"{total:,} bytes of shared memory; {kind} on {target} may have {limit:,}",
        f"{total - limit:,} too many: {stages} × ({parts}) + {extra:,}",
        f"repair: {most} stages fit" if stages > 1 and most else "",
    )


def _list_sizes(buffers: int | Mapping[str, int | Tile]) -> dict[str, int]:
    by_name = buffers if isinstance(buffers, Mapping) else {"buffers": buffers}
    return {
        str(name): size.bytes if isinstance(size, Tile) else parse_integer(size, f"buffers.{name}")
        for name, size in by_name.items()
    }
