"""Generate code for a TMA copy: the tensor map, the instructions of one CTA with libcu++, and Lanescope's Python.

Source: CUDA driver API 13.0, cuTensorMapEncodeTiled; CCCL's cuda::ptx::cp_async_bulk_tensor and its reduction.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from lanescope.cute.layout import CuteLayout
from lanescope.tiles.bulk import TmaCopy

_TYPES = {8: "UINT8", 16: "FLOAT16", 32: "FLOAT32", 64: "FLOAT64"}


def render_tensor_map(copy: TmaCopy, layout: CuteLayout | None) -> str:
    """Return the host code; layout: of global memory, (row, column) → element, None for a tensor of the tile's size."""
    bits = copy.element_bits
    turned = copy.inner == "K"
    sizes, steps = list(copy.tile), [copy.tile[1], 1] if turned else [1, copy.tile[0]]
    if layout is not None:
        sizes = [mode.size for mode in layout.modes]
        steps = [mode.stride if isinstance(mode.stride, int) else 0 for mode in layout.modes]
    inner, outer = (1, 0) if turned else (0, 1)
    swizzle = "NONE" if copy.swizzle == "none" else copy.swizzle.upper()
    lines = [
        "CUtensorMap map;",
        f"cuuint64_t dims[] = {{{sizes[inner]}, {sizes[outer]}}}, strides[] = {{{steps[outer] * bits // 8}}};"
        "  // bytes, innermost left out",
        f"cuuint32_t box[] = {{{copy.box[0]}, {copy.box[1]}}}, steps[] = {{1, 1}};",
        f"cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_{_TYPES[bits]}, 2, global, dims, strides, box, steps,",
        f"                       CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_{swizzle},",
        "                       CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);",
    ]
    return "\n".join(lines) + "\n"


def list_box_starts(copy: TmaCopy) -> list[tuple[int, int, int]]:
    """Return (byte in shared memory, innermost and outer coordinate in the tile) of each box of the first CTA."""
    starts = []
    for box in range(copy.boxes):
        row, col = np.nonzero((copy.number == box) & (copy.cta == 0))
        at = (int(col.min()), int(row.min()))
        first = int(copy.address[row, col].min())
        starts.append((first, *(at if copy.inner == "K" else at[::-1])))
    return starts


def render_instructions(copy: TmaCopy) -> str:
    """Return the code of one thread of a CTA.

    In it x, y are the tile's coordinates in global memory, innermost first.
    """
    places = list_box_starts(copy)
    down, along = copy.box
    base = places[0][0]
    table = ", ".join(f"{{{byte - base}, {x}, {y}}}" for byte, x, y in places)
    part = ""
    if copy.multicast > 1:  # each CTA brings its part of every box
        row, col = np.nonzero((copy.number == 0) & (copy.cta == min(1, copy.multicast - 1)))
        x, y = (int(col.min()), int(row.min())) if copy.inner == "K" else (int(row.min()), int(col.min()))
        bytes_apart = int(copy.address[row, col].min()) - base
        part = f"  // CTA 1 of {copy.multicast}: {bytes_apart} bytes and ({x}, {y}) further"
    lines = [
        f"// byte in shared memory and coordinates of each box, {down} x {along} elements{' per CTA' if part else ''}",
        f"constexpr int boxes[{len(places)}][3] = {{{table}}};{part}",
    ]
    if copy.loads:
        lines += [
            f"cuda::ptx::mbarrier_arrive_expect_tx(cuda::ptx::sem_release, cuda::ptx::scope_cta,"
            f" cuda::ptx::space_shared, bar, {copy.bytes});",
            "for (auto [byte, dx, dy] : boxes) {",
            "  int at[] = {x + dx, y + dy};",
            "  cuda::ptx::cp_async_bulk_tensor(cuda::ptx::space_cluster, cuda::ptx::space_global, smem + byte, &map,"
            f" at, bar{', mask' if part else ''});",
        ]
    else:
        what = "cp_reduce_async_bulk_tensor" if "REDUCE" in copy.atom else "cp_async_bulk_tensor"
        op = "cuda::ptx::op_add, " if "REDUCE" in copy.atom else ""
        lines += [
            "cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);",
            "for (auto [byte, dx, dy] : boxes) {",
            "  int at[] = {x + dx, y + dy};",
            f"  cuda::ptx::{what}(cuda::ptx::space_global, cuda::ptx::space_shared, {op}&map, at, smem + byte);",
        ]
    lines.append("}")
    if not copy.loads:
        lines += [
            "cuda::ptx::cp_async_bulk_commit_group();",
            "cuda::ptx::cp_async_bulk_wait_group_read(cuda::ptx::n32_t<0>{});",
        ]
    return "\n".join(lines) + "\n"


def render_python(copy: TmaCopy, storage: Mapping[str, object], major: str) -> str:
    """Return the copy in Lanescope's Python."""
    more = f", multicast={copy.multicast}" if copy.multicast > 1 else ""
    return (
        "from lanescope import tma_copy\nfrom lanescope.shared.storage import storage\n\n"
        f"where = storage({dict(storage)!r}, {copy.element_bits}, {major!r})\n"
        f"made = tma_copy({copy.atom!r}, tile={copy.tile}, where=where, element_bits={copy.element_bits},"
        f" major={major!r}{more})\n"
        "made.box, made.boxes, made.rules\n"
        "made.address  # [row, column]: the byte that each element lands at\n"
    )
