"""PNG and PDF from SVG, in this process, or as a program that a server starts: a line of JSON in, a line of JSON out.

resvg and svg2pdf hold Python's lock while they draw, for up to seconds: in the server's own process, no other request
would be answered. Imports nothing else of the project, so that the process stays small.
"""

from __future__ import annotations

import base64
import json
import os
import sys
from collections.abc import Sequence

FAMILY = "DejaVu Sans Mono"


def render_png(svg: str, scale: float, fonts: Sequence[str]) -> bytes:
    """Return the picture as PNG, `scale` pixels per unit."""
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
    """Return the picture as PDF with selectable text."""
    import svg2pdf_py

    database = svg2pdf_py.FontDatabase()
    for file in fonts:
        database.load_font_file(file)
    return bytes(svg2pdf_py.svg_to_pdf(svg, database))


def serve_requests() -> None:
    """Answer requests until standard input closes."""
    os.nice(3)  # the server answers others while it waits for the picture
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        message = json.loads(line)
        request = message["request"]
        try:
            picture = (
                render_png(request["svg"], request["scale"], request["fonts"])
                if request["form"] == "png"
                else render_pdf(request["svg"], request["fonts"])
            )
            reply: dict[str, object] = {"result": {"base64": base64.b64encode(picture).decode()}}
        except Exception as error:
            text = f"{type(error).__name__}: {error}"[:600]
            reply = {
                "error": {
                    "code": "picture_failed",
                    "message": text,
                    "hint": "Choose SVG or TeX, which need no renderer.",
                    "field": "form",
                }
            }
        print(json.dumps({"id": message["id"], **reply}), flush=True)


if __name__ == "__main__":
    serve_requests()
