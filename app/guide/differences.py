"""Parts of guide pages: where documents and hardware differ."""

from __future__ import annotations

from lanescope import find
from lanescope.app.guide.markdown import format_link
from lanescope.app.kit.links import link_instruction
from lanescope.ptx import catalog, differences, hardware_runs
from lanescope.render.tables import format_table

MOST_LINKS = 4


def render_differences(_: str) -> str:
    """Render every difference with its proofs, below a list of them."""
    rows = differences.list_document_slips()
    head = ("what", "where", "proved by")
    parts = [
        format_table(
            head,
            [
                (format_link(row.title, f"#{row.key}"), f"{row.document}, {row.place}", _format_proof_kinds(row))
                for row in rows
            ],
        )
    ]
    for row in rows:
        parts.append(
            f"## {row.title} {{#{row.key}}}\n\n**{row.document}**, {row.place}, says: {row.says}\n\n**In fact:**"
            f" {row.really}\n\n{format_proofs(row)}"
        )
    return "\n\n".join(parts)


def _format_proof_kinds(row: differences.DocumentSlip) -> str:
    proofs = {"a run": row.ran, "ptxas": row.assembled or row.refused, "a test": row.test, "the text": row.stated}
    return ", ".join(name for name, proof in proofs.items() if proof)


def format_proofs(row: differences.DocumentSlip) -> str:
    """Format the proofs of a row, one per line."""
    lines = []
    if row.ran:
        devices = [
            hardware_runs.shorten_device_name(run.device)
            for run in hardware_runs.list_hardware_runs(find(row.ran[0]))
            if run.agrees
        ]
        lines.append(f"- ran on {' and '.join(devices)}: {_format_links(row.ran)}")
    if row.assembled:
        lines.append(f"- {catalog.get_assembler_release()} assembles {_format_links(row.assembled)}")
    if row.refused:
        message = f', "{row.message}"' if row.message else ""
        lines.append(
            f"- {catalog.get_assembler_release()} refuses {', '.join(f'`{text}`' for text in row.refused)}{message}"
        )
    if row.test:
        answer = f', "{row.message}"' if row.message and not row.refused else ""
        lines.append(f"- shown by `{row.test}`{answer}")
    if row.stated:
        lines.append(f"- stated in {row.stated}; no run of this project shows it")
    return "\n".join(lines)


def _format_links(texts: tuple[str, ...]) -> str:
    rest = f" and {len(texts) - MOST_LINKS} more" if len(texts) > MOST_LINKS else ""
    return ", ".join(format_link(f"`{text}`", link_instruction(find(text))) for text in texts[:MOST_LINKS]) + rest
