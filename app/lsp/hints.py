"""The fields of a matrix descriptor behind the call that builds it: `LBO 16 B · SBO 1024 B · 128B`."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types

from lanescope.app.check.facts import SourceSpan
from lanescope.app.lsp.analysis import Analysis
from lanescope.reader.code.descriptors.builders import DescriptorBuilder


def list_hints(analysis: Analysis, within: types.Range) -> Iterator[types.InlayHint]:
    """List the hints of a document's lines: after each call, the fields that the code determines. If a call runs with
    several values, these are the fields in which they agree.
    """
    placed = analysis.texts[analysis.name]
    places: dict[SourceSpan, list[DescriptorBuilder]] = {}
    for place, builder in analysis.builders:
        places.setdefault(place, []).append(builder)
    for place, builders in places.items():
        position = placed.locate(place.end_line, place.end_column)
        label = _describe_fields(builders)
        if label and within.start.line <= position.line <= within.end.line and _ends_in_call(analysis, place):
            starts = {str(builder.start) for builder in builders}
            start = f"start {starts.pop()}" if len(starts) == 1 else None
            yield types.InlayHint(position=position, label=label, tooltip=start, padding_left=True)


def _describe_fields(builders: list[DescriptorBuilder]) -> str:
    """Describe the fields in which all builders agree; "" if the code determines none."""
    parts = []
    for name, pattern in (("lbo_bytes", "LBO {} B"), ("sbo_bytes", "SBO {} B"), ("swizzle", "{}")):
        values = {getattr(builder, name) for builder in builders}
        if len(values) == 1 and (value := values.pop()) is not None:
            parts.append("no swizzle" if value == "none" else pattern.format(value))
    return " · ".join(parts)


def _ends_in_call(analysis: Analysis, place: SourceSpan) -> bool:
    """Return whether a place of one or several lines ends with the arguments of a call."""
    placed = analysis.texts[analysis.name]
    lines = [placed.get_line(line) for line in range(place.line, place.end_line + 1)]
    lines[-1] = lines[-1][: place.end_column - 1]
    lines[0] = lines[0][place.column - 1 :]
    text = "\n".join(lines)
    depth = 0
    for at in range(len(text) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(text[at], 0)
        if not depth:
            before = text[:at].rstrip()
            return text[at] == "(" and (before[-1:].isalnum() or before[-1:] in ("_", ">"))
    return False
