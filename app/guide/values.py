"""Computed values and tables of guide pages, so that no page repeats a number of the engine.

In a page `{{name arguments}}` is one of VALUES, and a line `@table name` one of TABLES.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl

from lanescope import find
from lanescope.app.guide import byte_pairs, fragments, lesson
from lanescope.app.guide.tcgen05_tables import (
    render_data_paths,
    render_formats,
    render_idesc_fields,
    render_rubin_fields,
    render_scale_code,
    render_scale_conversion,
    render_tmem_accesses,
    render_tmem_copies,
    render_weight_formats,
)
from lanescope.app.hardware.evidence import summarize
from lanescope.app.memory import facts as memory
from lanescope.blackwell import tmem
from lanescope.cute import calls as cutecalls
from lanescope.descriptor.matrix import View, find_unread_fields
from lanescope.errors import LayoutError
from lanescope.inputs import join_words
from lanescope.ptx import catalog, hardware_runs
from lanescope.ptx.instruction import Operand
from lanescope.ptx.table.descriptors import TCGEN05, WGMMA
from lanescope.render.tables import format_table
from lanescope.shared import slices
from lanescope.shared.swizzle import BY_WIDTH, MODES, Mode
from lanescope.shared.tiling import Tile
from lanescope.tiles.cute_equivalent import find_cute_equivalent
from lanescope.triton.gluon import triton_layout

_VALUE = re.compile(r"\{\{(\w+) ?([^{}]*)\}\}")
_TABLE = re.compile(r"^@table (\S+)$", re.M)
NAMED = {mode.name: mode for mode in MODES}


def expand_values(text: str) -> str:
    """Return a page's Markdown with every value and table expanded; raise LayoutError for an unknown name."""
    text = _TABLE.sub(lambda match: _get_row(TABLES, match[1])(), text)
    return _VALUE.sub(lambda match: _get_row(VALUES, match[1])(match[2]), text)


def _get_row(rows: dict[str, Any], name: str) -> Any:
    if name not in rows:
        raise LayoutError("bad_value", f"No value '{name}'.", f"Allowed: {', '.join(rows)}.", "guide")
    return rows[name]


# values ---------------------------------------------------------------------------------------------------------------


def _find_operand(text: str) -> Operand:
    ptx, _, letter = text.rpartition("/")
    return find(ptx).operand(letter)


def format_copies(text: str) -> str:
    """Format how often a lane or lanes hold each element of an operand."""
    copies = _find_operand(text).pattern.copies
    return {1: "once", 2: "twice"}.get(copies, f"{copies} times")


def format_holder_count(text: str) -> str:
    """Format how many lanes hold each element: "one lane"."""
    op = _find_operand(text)
    most = max(len({thread for thread, _ in op.owner(r, c)}) for r in range(op.row_count) for c in range(op.col_count))
    return "one lane" if most == 1 else f"{most} lanes"


def format_owner(text: str) -> str:
    """Format the owner of an element: "Lane 13 in a2, register 1, low half"."""
    name, _, position = text.partition(" ")
    op = _find_operand(name)
    row, col = (int(part) for part in position.split(","))
    ((lane, value),) = op.owner(row, col)
    register, bit = op.register_of(value)
    half = "" if op.container_bits != 16 else ", high half" if bit else ", low half"
    return f"Lane {lane} in {op.name}{value}, register {register}{half}"


def format_lane_elements(text: str) -> str:
    """Format the elements that a lane holds: "Rows 3 and 11, columns 2, 3, 10 and 11"."""
    name, _, lane = text.partition(" ")
    op = _find_operand(name)
    parts = [join_words([str(n) for n in sorted(set(array[int(lane)].tolist()))]) for array in (op.rows, op.cols)]
    return f"Rows {parts[0]}, columns {parts[1]}"


def format_evidence(part: str) -> str:
    """Format how many cases of a part agreed with the prediction, and where: "138 on an H100"; "instructions" counts
    those of the catalogue.
    """
    devices_by_count: dict[int, list[str]] = {}
    for data in hardware_runs.load_evidence():
        agreed = (
            _count_agreed_instructions(data["meta"]["device"])
            if part == "instructions"
            else sum(row.agreed for row in summarize(data) if row.what == part)
        )
        if agreed:
            devices_by_count.setdefault(agreed, []).append(
                f"an {hardware_runs.shorten_device_name(data['meta']['device'])}"
            )
    return (
        " and ".join(f"{agreed:,} on {' and '.join(devices)}" for agreed, devices in devices_by_count.items())
        or "none yet"
    )


def _count_agreed_instructions(device: str) -> int:
    runs = [run for i in catalog.instructions() for run in hardware_runs.list_hardware_runs(i) if run.device == device]
    return sum(run.agrees for run in runs)


def format_tile_fact(text: str) -> str:
    """Format one fact of a tile: its query as in /smem, then down (bytes from atom to atom along M or N), along (along
    K) or a CuTe unit.
    """
    query, _, fact = text.partition(" ")
    tile, _ = memory.parse_tile(dict(parse_qsl(query)))
    return {"down": str(tile.strides[0]), "along": str(tile.strides[1]), **tile.cute()}[fact]


def evaluate_cute(text: str) -> str:
    """Evaluate an expression of CuTe's algebra; return its value, or the violated condition of CuTe."""
    last = cutecalls.evaluate_statements(text)[-1]
    return last.error.message if last.error else f"`{cutecalls.format_value(last.result)}`"


def format_triton_layout(text: str) -> str:
    """Format a layout of Gluon in other words: bases or cute, shape, then the layout: `bases 16x8 gl.NVMMA…`."""
    form, shape, layout = text.split(" ", 2)
    layout_value = triton_layout(layout, shape.split("x"))
    if form == "cute":
        return f"`{find_cute_equivalent(layout_value).layout}`"
    return " · ".join(
        f"{name} `{[list(b) for b in bases]!s}`" for name, bases in layout_value.linear.bases.items() if bases
    )


def format_tmem_size(name: str) -> str:
    """Format a size of tensor memory: lanes, columns or the least allocation."""
    return str({"lanes": tmem.LANES, "columns": tmem.COLUMNS, "least": tmem.LEAST_ALLOCATION}[name])


def format_constant(name: str) -> str:
    """Format the constant of a field of tcgen05's descriptor."""
    return str(TCGEN05.constants[name])


VALUES: dict[str, Callable[[str], str]] = {
    "copies": format_copies,
    "holders": format_holder_count,
    "who": format_owner,
    "holds": format_lane_elements,
    "ran": format_evidence,
    "tile": format_tile_fact,
    "computed": evaluate_cute,
    "triton": format_triton_layout,
    "tmem": format_tmem_size,
    "tcgen05": format_constant,
    "pattern": lambda text: f"`{_find_operand(text).pattern}`",
    "cute": lambda text: f"`{_find_operand(text).cute}`",
    "instructions": lambda family: f"{sum(not family or i.family.name == family for i in catalog.instructions()):,}",
    "lesson": lesson.format_lesson_value,
    "pair": lambda _: byte_pairs.describe_lane(),
    "tensor": fragments.format_tensor,
    "partition": fragments.format_partition,
    "fragment": fragments.format_fragment,
    "retiled": fragments.format_retiled,
    "retile": fragments.format_retile_query,
    "rowcol": fragments.format_rows,
    "aregs": fragments.format_next_a,
    "result": fragments.format_result,
    "variants": lambda start: str(sum(i.ptx.startswith(start) for i in catalog.instructions())),
}


# tables ---------------------------------------------------------------------------------------------------------------


def render_fields() -> str:
    """Render the descriptor's fields."""
    rows = [
        (
            f"{f.low}–{f.high}",
            f"{f.title} mode" if f.name == WGMMA.coded else f.title,
            ", ".join(filter(None, (f.meaning, f"bytes div {f.unit}" if f.in_bytes else ""))),
        )
        for f in WGMMA.fields
    ]
    return format_table(("bits", "field", ""), rows)


def render_swizzle_modes() -> str:
    """Render the swizzle modes: width, XOR, where the pattern repeats, and the codes of descriptor and tensor map."""

    def format_xor(mode: Mode) -> str:
        if mode.chunks == 1:
            return "–"
        top = 3 + mode.bits
        return "bit 4 with bit 7" if mode.bits == 1 else f"bits 4–{top} with bits 7–{top + 3}"

    rows = [
        (
            m.name,
            f"{m.width_bytes} B",
            format_xor(m),
            f"Swizzle<{m.bits},4,3>",
            f"{m.pattern_bytes} B" if m.bits else "–",
            str(WGMMA.codes[m]),
            str(m.tma),
        )
        for m in BY_WIDTH
    ]
    return format_table(
        (
            "mode",
            "atom width",
            "XOR of address bits",
            "in bytes",
            "repeats every",
            "wgmma code",
            "TMA code",
        ),
        rows,
    )


KINDS = [("K", NAMED["none"]), ("K", NAMED["64B"]), ("MN", NAMED["none"]), ("MN", NAMED["64B"])]


def _format_modes(major: str, mode: Mode) -> tuple[str, str]:
    return ("none" if mode.chunks == 1 else "32B, 64B, 128B"), ("K" if major == "K" else "M or N")


def _sample_tile(major: str, mode: Mode) -> Tile:
    return Tile(16, major, mode, 64, 64)


def render_canonical_layouts() -> str:
    """Render the four canonical layouts; W is the width in chunks."""
    rows = []
    for major, mode in KINDS:
        text = _sample_tile(major, mode).canonical()
        text = text if mode.chunks == 1 else text.replace(str(mode.chunks), "W")
        rows.append((f"{major}-major, {'none' if mode.chunks == 1 else 'swizzled'}", f"`{text}`"))
    return format_table(("", "layout"), rows)


def render_strides() -> str:
    """Render the meaning of LBO and SBO by mode and major, and when a dense instruction does not read them."""
    rows = []
    for major, mode in KINDS:
        words = slices.describe_strides(_sample_tile(major, mode))
        word = _sample_tile(major, mode).descriptor()
        unread = (
            find_unread_fields(word.mode, View(64 * mode.chunks, 16, 16, major)),
            find_unread_fields(word.mode, View(8, 16, 16, major)),
        )
        cells = []
        for name in ("lbo", "sbo"):
            target = words[name].replace(f" ({8 * mode.chunks} elements)", "").replace(" (8 elements)", "")
            caveat = "; not read when M or N is one atom wide" if name == "lbo" else "; not read when M or N is 8"
            cells.append("not read" if name in unread[0] else target + (caveat if name in unread[1] else ""))
        rows.append((*_format_modes(major, mode), *cells))
    return format_table(("mode", "contiguous", "LBO is the distance", "SBO is the distance"), rows)


def render_k_steps() -> str:
    """Render the increment of the start address from one K step to the next."""
    rows = []
    for major in ("K", "MN"):
        for mode in BY_WIDTH:
            sample = _sample_tile(major, mode)
            spans, steps = sample.step() // sample.atom[1], sample.atom[1] // sample.step()
            field = slices.get_k_stride_field(sample)
            if spans > 1:
                text = f"start + {spans} · {field}"
            elif spans == 1:
                text = "to the next atom along K: start + the stride between them"
            else:
                text = f"start + 32 bytes inside the atom; after {steps} steps to the next atom along K"
            rows.append((mode.name, "K" if major == "K" else "M or N", text))
    swizzled = [row for row in rows if row[1] != "K" and row[0] != "none"]
    rows = [row for row in rows if row not in swizzled] + [(", ".join(row[0] for row in swizzled), *swizzled[0][1:])]
    assert len({row[2] for row in swizzled}) == 1
    return format_table(("mode", "contiguous", "next K step"), rows)


TABLES: dict[str, Callable[[], str]] = {
    "fields": render_fields,
    "modes": render_swizzle_modes,
    "canonical": render_canonical_layouts,
    "strides": render_strides,
    "k-steps": render_k_steps,
    "pair-memory": byte_pairs.render_memory,
    "pair-bytes": byte_pairs.render_bytes,
    "pair-units": byte_pairs.render_units,
    "lesson-modes": lesson.render_lesson_modes,
    "lesson-operands": lesson.render_lesson_operands,
    "ptx-layouts": lesson.render_ptx_layouts,
    "formats": render_formats,
    "data-paths": render_data_paths,
    "tmem-moves": render_tmem_accesses,
    "tmem-copies": render_tmem_copies,
    "scale-order": render_scale_code,
    "scale-codes": render_scale_conversion,
    "weight-formats": render_weight_formats,
    "idesc-fields": render_idesc_fields,
    "idesc-fields-sm107": render_rubin_fields,
    "accumulators": fragments.render_accumulators,
    "transposed-atoms": fragments.render_transposed_atoms,
    "multicast-masks": fragments.render_masks,
}
