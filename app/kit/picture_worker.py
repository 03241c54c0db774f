"""PNG and PDF from SVG, in this process or, run as a program, for a server: a line of JSON in, a line of JSON out, as
app/hardware/worker.py does.

resvg and svg2pdf hold Python's lock as long as they draw, up to seconds: in the server's own process nothing else would
answer meanwhile. Nothing else of the project is imported here, so that the process stays small.
"""

from __future__ import annotations

import base64
import json
import os
import sys
from collections.abc import Sequence

FAMILY = "DejaVu Sans Mono"


def render_png(svg: str, scale: float, fonts: Sequence[str]) -> bytes:
    """The picture as PNG, `scale` pixels a unit."""
    import resvg_py

    return bytes(
        resvg_py.svg_to_bytes(
            svg_string=svg,
            skip_system_fonts=True,
            font_files=list(fonts),
            font_family=FAMILY,
            monospace_family=FAMILY,
            zoom=scale,
        )
    )


def render_pdf(svg: str, fonts: Sequence[str]) -> bytes:
    """The picture as PDF, its text selectable."""
    import svg2pdf_py

    database = svg2pdf_py.FontDatabase()
    for file in fonts:
        database.load_font_file(file)
    return bytes(svg2pdf_py.svg_to_pdf(svg, database))


def serve_requests() -> None:
    """Answer requests until standard input closes."""
    os.nice(3)  # the server that waits for the picture answers others meanwhile
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        message = json.loads(line)
        asked = message["request"]
        try:
            raw = (
                render_png(asked["svg"], asked["scale"], asked["fonts"])
                if asked["form"] == "png"
                else render_pdf(asked["svg"], asked["fonts"])
            )
            told: dict[str, object] = {"result": {"base64": base64.b64encode(raw).decode()}}
        except Exception as error:
            text = f"{type(error).__name__}: {error}"[:600]
            told = {
                "error": {
                    "code": "picture_failed",
                    "message": text,
                    "hint": "SVG and TeX need no drawing.",
                    "field": "form",
                }
            }
        print(json.dumps({"id": message["id"], **told}), flush=True)


if __name__ == "__main__":
    serve_requests()
