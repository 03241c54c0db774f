"""A timeline as Chrome trace events, for Perfetto and chrome://tracing. One step is one microsecond there.

Source of the format: "Trace Event Format", Google.
"""

from __future__ import annotations

import json
from typing import Any

from lanescope.emulate.observing.timeline import Timeline


def render_trace(timeline: Timeline) -> str:
    """Return the trace as JSON: a process per CTA, a thread per row, an arrow from an arrival to the wait it ends."""
    blocks = list(dict.fromkeys(lane.block for lane in timeline.lanes))
    events: list[dict[str, Any]] = []
    for number, block in enumerate(blocks):
        events.append(_name("process_name", number, 0, f"CTA {','.join(map(str, block))}"))
    for tid, lane in enumerate(timeline.lanes):
        pid = blocks.index(lane.block)
        row = {"pid": pid, "tid": tid}
        events.append(_name("thread_name", pid, tid, lane.name))
        events.append({"ph": "M", "name": "thread_sort_index", **row, "args": {"sort_index": tid}})
        for span in lane.spans:
            args = {"line": span.line, "ended": not span.open}
            duration = max(span.last - span.first, 1)
            events.append(
                {"ph": "X", "name": span.text, "cat": span.kind, "ts": span.first, "dur": duration, **row, "args": args}
            )
        for mark in lane.marks:
            events.append(
                {
                    "ph": "i",
                    "name": mark.text,
                    "cat": mark.kind,
                    "ts": mark.step,
                    "s": "t",
                    **row,
                    "args": {"line": mark.line},
                }
            )
    for number, link in enumerate(timeline.links):
        for phase, (lane_number, step) in (("s", link.source), ("f", link.target)):
            pid = blocks.index(timeline.lanes[lane_number].block)
            event = {"ph": phase, "id": number, "name": "releases", "cat": "release", "ts": step, "pid": pid}
            events.append(event | {"tid": lane_number} | ({"bp": "e"} if phase == "f" else {}))
    return json.dumps({"traceEvents": events, "otherData": {"unit": "1 µs is one step", "steps": timeline.steps}})


def _name(kind: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": name}}
