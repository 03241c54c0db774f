"""Parts of guide pages: where documents and hardware differ. No framework."""

from __future__ import annotations

from lanescope import find
from lanescope.app.guide.markdown import link, table
from lanescope.app.kit.links import path_of
from lanescope.ptx import catalog, differences


def slips(_: str) -> str:
    """Every difference with its proofs, and a list of them before."""
    rows = differences.rows()
    head = ("what", "where", "proved by")
    out = [table(head, [(link(row.title, f"#{row.key}"), f"{row.document}, {row.place}", _kinds(row)) for row in rows])]
    for row in rows:
        out.append(
            f"## {row.title} {{#{row.key}}}\n\n**{row.document}**, {row.place}, says: {row.says}\n\n**In fact:**"
            f" {row.really}\n\n{proofs(row)}"
        )
    return "\n\n".join(out)


def _kinds(row: differences.Difference) -> str:
    told = {"a run": row.ran, "ptxas": row.assembled or row.refused, "a test": row.test, "the text": row.stated}
    return ", ".join(name for name, there in told.items() if there)


def proofs(row: differences.Difference) -> str:
    """What proves a row, a line each."""
    lines = []
    if row.ran:
        devices = [catalog.short(run.device) for run in catalog.runs(find(row.ran[0])) if run.agrees]
        lines.append(f"- ran on {' and '.join(devices)}: {_some(row.ran)}")
    if row.assembled:
        lines.append(f"- ptxas 13.0 assembles {_some(row.assembled)}")
    if row.refused:
        message = f', "{row.message}"' if row.message else ""
        lines.append(f"- ptxas 13.0 refuses {', '.join(f'`{text}`' for text in row.refused)}{message}")
    if row.test:
        answer = f', "{row.message}"' if row.message and not row.refused else ""
        lines.append(f"- shown by `{row.test}`{answer}")
    if row.stated:
        lines.append(f"- stated in {row.stated}; no run of this project shows it")
    return "\n".join(lines)


def _some(texts: tuple[str, ...], most: int = 4) -> str:
    rest = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(link(f"`{text}`", path_of(find(text))) for text in texts[:most]) + rest
