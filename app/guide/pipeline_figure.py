"""The live example of the guide page "Barriers and pipelines": a small ring, run when the page is opened, correct or
with a mistake that the reader selects.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from html import escape

from lanescope.app.emulate.examples import BY_NAME, RINGS, Example, build_example
from lanescope.app.emulate.forms import prepare_bounded
from lanescope.app.emulate.view import build_view
from lanescope.emulate.launching.launch import parse_toml
from lanescope.emulate.text.parser import parse_module

SLUG = "barriers-and-pipelines"
MARK = "<p>@pipeline</p>"


def insert_pipeline(body: str, query: Mapping[str, str]) -> str:
    """Replace `@pipeline` in a page by the example that a query selects."""
    if MARK not in body:
        return body
    name = query.get("example", "")
    example = BY_NAME[name] if name in {ring.name for ring in RINGS} else RINGS[0]
    links = "".join(
        f'<a href="/guide/{SLUG}?example={ring.name}"{" aria-current=true" if ring is example else ""}>'
        f"{escape(ring.title)}</a>"
        for ring in RINGS
    )
    return body.replace(
        MARK, f'<nav class="segments breaks" aria-label="Mistakes">{links}</nav>{render_run(example.name)}'
    )


@lru_cache(maxsize=8)
def render_run(name: str) -> str:
    """Return the verdict, the findings, the timeline and the PTX of an example as HTML."""
    example, (ptx, toml) = BY_NAME[name], build_example(name)
    view = build_view(ptx, prepare_bounded(parse_module(ptx), parse_toml(toml), {}), (0, 0, 0), True)
    result, picture = view["result"], view["timeline"]
    good = result.passed
    parts = [
        f'<div class="verdict {"ok" if good else "bad"}" role="status" data-verdict="{result.status}">'
        f'<span class="mark" aria-hidden="true">{"✓" if good else "✗"}</span><h2>{escape(view["headline"])}</h2>'
        f"<p>{escape(example.cause)}</p></div>",
        '<ul class="found">' if result.findings else "",
        *(
            f'<li><a href="#ptx-{finding.line}">Line {finding.line}</a>: {escape(finding.message)}.</li>'
            for finding in result.findings
        ),
        "</ul>" if result.findings else "",
        picture.html,
        _render_source(example, ptx, {finding.line for finding in result.findings}),
        f'<p><a href="/emulate?example={name}">Edit this kernel and run it</a></p>',
    ]
    return "".join(parts)


def _render_source(example: Example, ptx: str, lines: set[int]) -> str:
    """Return the PTX with numbered lines: marked are the wait that hangs, and the lines that the mistake changed."""
    rows = []
    for number, line in enumerate(ptx.splitlines(), 1):
        changed = bool(example.new) and example.new in line
        kind = ' class="at"' if number in lines else ' class="changed"' if changed else ""
        mark = "✗ " if number in lines else "± " if changed else ""
        rows.append(f'<span{kind} id="ptx-{number}"><i>{mark}{number}</i>{escape(line)}\n</span>')
    return (
        f"<details{'' if example is RINGS[0] else ' open'}><summary>The kernel, {len(rows)} lines of PTX</summary>"
        '<div class="source" tabindex="0" role="region" aria-label="The kernel in PTX">'
        f"<pre>{''.join(rows)}</pre></div></details>"
    )
