"""All messages, in the order of the index."""

from __future__ import annotations

from lanescope.messages.cute_copies import COPY_ROWS
from lanescope.messages.cute_layouts import LAYOUT_ROWS
from lanescope.messages.cute_mma import MMA_ROWS
from lanescope.messages.cute_selectors import SELECTOR_ROWS
from lanescope.messages.map_rules import MAP_ROWS
from lanescope.messages.ptxas import ORDER_ROWS, REGISTER_ROWS
from lanescope.messages.ptxas_forms import FORM_ROWS, TARGET_ROWS
from lanescope.messages.row import MessageRow

GROUPS: tuple[tuple[str, tuple[MessageRow, ...]], ...] = (
    ("ptxas: order and registers of wgmma", ORDER_ROWS),
    ("ptxas: setmaxnreg", REGISTER_ROWS),
    ("ptxas: targets and versions", TARGET_ROWS),
    ("ptxas: forms of an instruction", FORM_ROWS),
    ("The driver: rules of a tensor map", MAP_ROWS),
    ("CuTe: layouts", LAYOUT_ROWS),
    ("CuTe: copies and TMA", COPY_ROWS),
    ("CuTe: MMA and descriptors", MMA_ROWS),
    ("CuTe: choice of the instruction", SELECTOR_ROWS),
)
ROWS = tuple(row for _, rows in GROUPS for row in rows)
BY_SLUG = {row.slug: row for row in ROWS}
