"""Parts of guide pages: the instructions that order a wgmma."""

from __future__ import annotations

from lanescope.app.guide.markdown import format_code_block, format_link
from lanescope.ptx.table import wgmma_order as order
from lanescope.render import wgmma_order
from lanescope.render.tables import format_table


def render_ordering(name: str) -> str:
    """Render one instruction that orders a wgmma."""
    row = order.BY_NAME[name]
    diagnosis = f" ({row.diagnosed})" if row.diagnosed else ""
    facts = [
        ("syntax", "<br>".join(f"`{text}`" for text in row.syntax)),
        ("orders", row.orders),
        ("where", row.where),
        ("executed by", row.scope),
        ("without it", row.without + diagnosis),
        ("from", f"PTX {row.ptx_version}, {row.target}"),
    ]
    return format_table(("", ""), facts)


def render_orderings(_: str) -> str:
    """Render the four instructions, each with a link to its page."""
    return format_table(
        ("instruction", "orders", "where it is"),
        [(format_link(f"`{row.name}`", f"/guide/{row.name}"), row.orders, row.where) for row in order.ORDER],
    )


def render_sequence(name: str) -> str:
    """Render a sequence of instructions, right or wrong, with ptxas's message."""
    return format_code_block(wgmma_order.BY_NAME[name].text)
