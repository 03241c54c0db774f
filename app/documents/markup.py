"""The HTML of pictures in documents, for light and dark pages, and the style sheet that shows one of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape, unescape

from lanescope.app.kit.picture import measure_picture

STYLE_NAME = "lanescope.css"
_LIGHT = ('[data-theme="light"]', '[data-bs-theme="light"]', '[data-md-color-scheme="default"]')
_DARK = ('[data-theme="dark"]', '[data-bs-theme="dark"]', '[data-md-color-scheme="slate"]')
_TITLE = re.compile(r"<title>(.*?)</title>", re.S)


def render_style() -> str:
    """Return the style sheet: it follows the page's theme if there is one, otherwise the reader's system.

    Furo and Alabaster, pydata and Read the Docs, MkDocs and Material name it on html or body in attributes.
    """
    unnamed = "".join(f":not({name})" for name in _LIGHT)
    system = f":root{unnamed} body{unnamed}"
    named = ", ".join(_DARK)
    return _STYLE.format(system=system, dark=f":is({named})", light=f":is({', '.join(_LIGHT)})")


_STYLE = """\
.lanescope {{ max-width: 100%; height: auto; }}
.lanescope.only-dark {{ display: none; }}
@media screen and (prefers-color-scheme: dark) {{
  {system} .lanescope.only-light {{ display: none !important; }}
  {system} .lanescope.only-dark {{ display: inline-block !important; }}
}}
@media screen {{
  {light} .lanescope.only-dark {{ display: none !important; }}
  {dark} .lanescope.only-light {{ display: none !important; }}
  {dark} .lanescope.only-dark {{ display: inline-block !important; }}
}}
"""


def describe_picture(svg: str) -> str:
    """Return the title of a picture, the default of `alt`."""
    found = _TITLE.search(svg)
    return unescape(found[1]) if found else ""


def render_images(pictures: Sequence[tuple[str, str, str]], alt: str) -> str:
    """Return the images of one picture: (theme, SVG, address) each; with two the page's theme shows one."""
    out = []
    for theme, svg, address in pictures:
        width, height = measure_picture(svg)
        name = f"lanescope only-{theme}" if len(pictures) > 1 else "lanescope"
        text = escape(alt or describe_picture(svg))
        size = f'width="{width:g}" height="{height:g}"'
        out.append(f'<img class="{name}" src="{escape(address)}" alt="{text}" {size} loading="lazy">')
    return "".join(out)
