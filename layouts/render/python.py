"""A NumPy snippet that packs a matrix into registers and back: the formula as Python."""

from __future__ import annotations

from lanescope.ptx.instruction import WARPGROUP, Operand


def render_snippet(op: Operand) -> str:
    """Return self-contained Python for raw bits: `pack(matrix)` → registers [threads, registers], and
    `unpack(registers)`.
    """
    forward = op.formula()["forward"]
    mine = "thread" if "lane" in op.axes else op.scope.thread  # a lane of tensor memory is not a lane of the warp
    names = {"%laneid": "thread" if "lane" in op.axes else "lane", "%warpid": "(thread // 32)"}

    def spell(expression: str) -> str:
        for word, name in names.items():
            expression = expression.replace(word, name)
        return expression.replace(" / ", " // ")

    head = [
        "import numpy as np",
        "",
        f"thread = np.arange({op.threads})[:, None]",
        "lane = thread % 32",
        f"i = np.arange({op.values})[None, :]  # value index",
    ]
    if op.scope is not WARPGROUP:  # its numbers are lanes as they are
        head = [head[0], "", f"{mine} = np.arange({op.threads})[:, None]", head[-1]]
    lines = head + [f"{name} = {spell(text)}" for name, text in forward.items()]
    unit, per = ("uint64", 1) if op.register_bits == 64 else ("uint32", 32 // op.container_bits)
    index = ", ".join(op.axes)
    lines.append(f"{index}, _ = np.broadcast_arrays({index}, {mine} + i)")
    shape = ", ".join(str(extent) for extent in op.pattern.extents)
    mask = (1 << op.container_bits) - 1
    lines += [
        "",
        f"shift = {op.container_bits} * np.arange({per}, dtype=np.{unit})",
        "",
        "",
        "def pack(source):",
        f'    """[{shape}] of raw element bits → [{op.threads}, {op.registers}] registers."""',
        f"    held = source[{index}].astype(np.{unit}).reshape({op.threads}, {op.registers}, {per})",
        "    return np.bitwise_or.reduce(held << shift, axis=-1)",
        "",
        "",
        "def unpack(registers):",
        f'    """[{op.threads}, {op.registers}] registers → [{shape}] of raw element bits."""',
        f"    out = np.zeros(({shape}{',' if len(op.axes) == 1 else ''}), dtype=np.{unit})",
        (
            f"    out[{index}] = (registers[:, :, None] >> shift & np.{unit}({mask:#x})).reshape({op.threads},"
            f" {op.values})"
        ),
        "    return out",
    ]
    return "\n".join(lines) + "\n"
