"""Pictures of a run: the timeline of warps, copies and barriers, and the ring of pipeline stages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import cos, pi, sin
from typing import Any

from lanescope.emulate.observing.timeline import Lane, Link, Span, Timeline

ROW, HEAD, PAD = 30, 26, 8  # height of a row and of the axis; margin
LEAST_STEP, MOST_STEP, WIDE = 13.0, 26.0, 690  # width of a column; minimum width of a picture
OPEN = 7  # columns after the last step, for spans without an end
BAR = 18  # height of a span
MOST_PLACES = 1500  # on the axis
MOST_LANES = 48
CHARACTER = 6.3  # width of a letter in a span
LEGEND = (
    ("wait", "a wait"),
    ("stuck", "a wait that nobody ends"),
    ("phase", "a phase of an mbarrier"),
    ("copy", "a TMA load in flight"),
    ("wgmma", "a wgmma group in flight"),
)


@dataclass(frozen=True, slots=True)
class TimelinePicture:
    """A timeline: the names of its rows, and the rows, which scroll beside them. waits: a line per wait."""

    names: str
    rows: str
    legend: tuple[tuple[str, str], ...]
    waits: list[tuple[str, str, str]]
    cut: int

    @property
    def html(self) -> str:
        """Return the picture with its legend, for static/emulate/timeline.js."""
        keys = "".join(f'<span><i class="key run-{kind}"></i>{text}</span>' for kind, text in self.legend)
        cut = f'<p class="note">{self.cut:,} later columns are not drawn.</p>' if self.cut else ""
        return (
            f'<div class="timeline" data-timeline><div class="names">{self.names}</div><div class="rows" tabindex="0"'
            ' role="group" aria-label="Timeline, in steps" aria-keyshortcuts="ArrowRight ArrowLeft Escape">'
            f'{self.rows}</div></div><p class="status">{keys}<span class="muted">positions are steps, not time; point'
            " at a wait or an arrival to see what it belongs to, or go from wait to wait with ← and →</span></p>"
            f'<p class="said" role="status"></p>{cut}'
        )


def draw_timeline(timeline: Timeline) -> TimelinePicture:
    """Draw a timeline with a column for each step at which something happens, so that polling loops take no space."""
    lanes = timeline.lanes[:MOST_LANES]
    steps = sorted({step for lane in lanes for step in _list_steps(lane)})
    cut = max(0, len(steps) - MOST_PLACES)
    steps = steps[:MOST_PLACES]
    scale = max(LEAST_STEP, min(MOST_STEP, WIDE / (len(steps) + OPEN)))
    columns = {step: PAD + scale * number for number, step in enumerate(steps)}
    end = PAD + scale * (len(steps) + OPEN - 1)  # of spans without an end
    width, height = end + PAD, HEAD + ROW * len(lanes) + PAD
    rows = [_open_svg(width, height, "Timeline: a row for warps, copies and barriers; a column for each step")]
    rows += _draw_axis(columns, height)
    for number, lane in enumerate(lanes):
        rows += _draw_lane(lane, number, columns, end)
    rows += [_draw_link(link, columns, lanes) for link in timeline.links if _is_shown(link, columns)]
    rows.append("</svg>")
    names = [_open_svg(190, height, "The rows' names")]
    several = len({lane.block for lane in lanes}) > 1
    for number, lane in enumerate(lanes):
        title = f"CTA {','.join(map(str, lane.block))} {lane.name}" if several else lane.name
        y = HEAD + ROW * number + ROW / 2 + 4
        names.append(f'<text x="182" y="{y:g}" text-anchor="end">{escape(_shorten(title, 29))}</text>')
    names.append("</svg>")
    kinds = {_classify(span) for lane in lanes for span in lane.spans}
    legend = tuple(row for row in LEGEND if row[0] in kinds)
    return TimelinePicture("".join(names), "".join(rows), legend, list(_list_waits(timeline)), cut)


def _list_steps(lane: Lane) -> Iterable[int]:
    for span in lane.spans:
        yield span.first
        yield span.last
    for mark in lane.marks:
        yield mark.step


def _open_svg(width: float, height: float, title: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}"'
        f' height="{height:g}" role="img"><title>{escape(title)}</title>'
    )


def _shorten(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _draw_axis(columns: Mapping[int, float], height: float) -> Iterable[str]:
    last = -1000.0
    for step, x in columns.items():
        if x - last >= 46:
            last = x
            yield f'<path class="tick" d="M{last:g} {HEAD - 4} V{height - PAD:g}"/>'
            yield f'<text class="axis" x="{last + 3:g}" y="14">{step}</text>'


def _classify(span: Span) -> str:
    return "stuck" if span.kind == "wait" and span.open else span.kind


def _draw_lane(lane: Lane, number: int, columns: Mapping[int, float], end: float) -> Iterable[str]:
    top = HEAD + ROW * number
    yield f'<path class="rule" d="M0 {top + ROW} H{end + PAD:g}"/>'
    ends: list[float] = []
    for span in lane.spans:
        first, last = columns.get(span.first), end if span.open else columns.get(span.last, end)
        if first is None:
            continue
        depth = _choose_depth(ends, first, last) if span.kind == "copy" else 0
        size = BAR / 2 if span.kind == "copy" else BAR
        y = top + (ROW - BAR) / 2 + depth * size
        wide = max(last - first, 5)
        title = f"{span.text}, steps {span.first} to {span.last}" + (" and on" if span.open else "")
        title += f", line {span.line}" if span.line else ""
        yield f'<g class="span run-{_classify(span)}" data-lane="{number}" data-step="{span.last}">'
        yield f"<title>{escape(title)}</title>"
        yield f'<rect x="{first:g}" y="{y:g}" width="{wide:g}" height="{size - 1:g}" rx="2"/>'
        label = f"✗ {span.text}" if _classify(span) == "stuck" else span.text
        fitting = int((wide - 6) / CHARACTER)
        if fitting >= 5 and span.kind != "copy":
            yield f'<text x="{first + 4:g}" y="{y + 13:g}">{escape(_shorten(label, fitting))}</text>'
        yield "</g>"
    for mark in lane.marks:
        if mark.step in columns:
            title = f"{mark.text}, step {mark.step}, line {mark.line}"
            x = columns[mark.step]
            shape = f"M{x:g} {top + 3} l3 4 l-3 4 l-3 -4 z"
            place = f'data-lane="{number}" data-step="{mark.step}"'
            yield f'<path class="mark run-{mark.kind}" {place} d="{shape}"><title>{escape(title)}</title></path>'


def _choose_depth(ends: list[float], first: float, last: float) -> int:
    """Return the upper or lower half of a row, wherever no copy is in flight."""
    for depth, end in enumerate(ends):
        if end <= first:
            ends[depth] = last
            return depth
    if len(ends) < 2:
        ends.append(last)
        return len(ends) - 1
    return 1


def _is_shown(link: Link, columns: Mapping[int, float]) -> bool:
    return all(lane < MOST_LANES and step in columns for lane, step in (link.source, link.target))


def _draw_link(link: Link, columns: Mapping[int, float], lanes: Sequence[Lane]) -> str:
    """Draw a curve from the event that ends a wait to the end of the wait."""
    (lane, step), (other, end) = link.source, link.target
    x, y = columns[step], HEAD + ROW * lane + ROW / 2
    to_x, to_y = columns[end], HEAD + ROW * other + ROW / 2
    bend = max(12.0, abs(to_x - x) / 2)
    return (
        f'<path class="link" data-lane="{other}" data-step="{end}" data-from-lane="{lane}" data-from-step="{step}"'
        f' data-by="{escape(lanes[lane].name)}, step {step}" d="M{x:g} {y:g} C{x + bend:g} {y:g}'
        f' {to_x - bend:g} {to_y:g} {to_x:g} {to_y:g}"/>'
    )


def _list_waits(timeline: Timeline) -> Iterable[tuple[str, str, str]]:
    """Yield (waiting warp, its reason, the event that ended the wait)."""
    released = {link.target: link.source for link in timeline.links}
    for number, lane in enumerate(timeline.lanes):
        for span in lane.spans:
            if span.kind != "wait":
                continue
            source = released.get((number, span.last))
            if span.open:
                end = "nothing"
            elif source:
                end = f"{timeline.lanes[source[0]].name}, step {source[1]}"
            else:
                end = "the last thread that arrived" if "barrier" in span.text else ""
            yield lane.name, f"{span.text}, steps {span.first}–{span.last}", end


# the ring of stages


@dataclass(frozen=True, slots=True)
class Ring:
    """Arrays of mbarriers of equal length, shared by a pipeline's stages. rows: by stage, [(name, state)]."""

    svg: str
    rows: list[list[tuple[str, str, bool]]]


def draw_ring(barriers: Iterable[Mapping[str, Any]], waits: frozenset[int]) -> Ring | None:
    """Draw the stages of a pipeline as a ring with the phase of each mbarrier.

    waits: addresses at which a thread is stuck. None unless two arrays of mbarriers have the same length of at least
    two.
    """
    arrays: dict[str, dict[int, Mapping[str, Any]]] = {}
    first_block = None
    for row in barriers:
        name, bracket, index = str(row.get("name", "")).partition("[")
        first_block = first_block or row["block"]
        if row["kind"] == "mbarrier" and bracket and row["block"] == first_block:
            arrays.setdefault(name, {})[int(index.rstrip("]"))] = row
    lengths = [len(value) for value in arrays.values() if len(value) > 1]
    if not lengths:
        return None
    count = max(lengths, key=lengths.count)
    chosen = {name: array for name, array in arrays.items() if len(array) == count}
    rows = [
        [
            (name, _describe_state(stages[stage]), int(stages[stage]["address"]) in waits)
            for name, stages in chosen.items()
            if stage in stages
        ]
        for stage in range(count)
    ]
    return Ring(_draw_ring(rows), rows)


def _describe_state(row: Mapping[str, Any]) -> str:
    text = f"phase {row['phase']}"
    if row["pending"] != row["expected"]:
        text += f", {row['expected'] - row['pending']} of {row['expected']} arrived"
    return text + (f", {row['bytes']:,} B missing" if row["bytes"] else "")


def _draw_ring(rows: list[list[tuple[str, str, bool]]]) -> str:
    size, radius, thick = 320, 100, 50
    out = [_open_svg(size, size, "The stages of the pipeline as a ring, as they are at the end")]
    count, middle = len(rows), size / 2
    for stage, states in enumerate(rows):
        start, end = (2 * pi * (stage + part) / count - pi / 2 for part in (0.02, 0.98))
        stuck = any(state[2] for state in states)
        large = int(end - start > pi)
        outer = [(middle + (radius + thick) * cos(a), middle + (radius + thick) * sin(a)) for a in (start, end)]
        inner = [(middle + (radius - thick) * cos(a), middle + (radius - thick) * sin(a)) for a in (start, end)]
        out.append(
            f'<path class="stage{" run-stuck" if stuck else ""}" d="M{outer[0][0]:.1f} {outer[0][1]:.1f}'
            f" A{radius + thick} {radius + thick} 0 {large} 1 {outer[1][0]:.1f} {outer[1][1]:.1f}"
            f" L{inner[1][0]:.1f} {inner[1][1]:.1f} A{radius - thick} {radius - thick} 0 {large} 0"
            f' {inner[0][0]:.1f} {inner[0][1]:.1f} Z"/>'
        )
        angle = (start + end) / 2
        x, y = middle + radius * cos(angle), middle + radius * sin(angle)
        lines = [
            f"stage {stage}",
            *(f"{'✗ ' if bad else ''}{name}: {state.partition(',')[0]}" for name, state, bad in states[:3]),
        ]
        for number, line in enumerate(lines):
            top = y + 14 * (number - (len(lines) - 1) / 2) + 4
            weight = ' class="strong"' if not number else ""
            out.append(f'<text x="{x:.1f}" y="{top:.1f}" text-anchor="middle"{weight}>{escape(line)}</text>')
    return "".join([*out, "</svg>"])
