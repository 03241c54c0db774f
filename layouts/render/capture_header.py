"""lanescope.cuh: the header that records instructions inside a kernel, in the format of file_format.py."""

from __future__ import annotations

from lanescope.capture import fills
from lanescope.capture.file_format import (
    FRAGMENT,
    HEADER,
    HEADER_BYTES,
    LDMATRIX,
    MAGIC,
    MARK,
    MMA,
    MOST_WINDOW,
    OPEN,
    RECORD,
    RECORD_BYTES,
    VERSION,
    WGMMA,
    Row,
)
from lanescope.render.template import Templates

_PROGRAMS = Templates(__package__)


def render_header() -> str:
    """Return the text of lanescope.cuh."""
    return _PROGRAMS.fill(
        "lanescope.cuh",
        header=_render_struct("Header", HEADER),
        record=_render_struct("Record", RECORD),
        magic=f"0x{MAGIC:016x}ull",
        mark=f"0x{MARK:08x}u",
        version=VERSION,
        header_bytes=HEADER_BYTES,
        record_bytes=RECORD_BYTES,
        open=f"0x{OPEN:x}u",
        wgmma=WGMMA,
        ldmatrix=LDMATRIX,
        mma=MMA,
        fragment=FRAGMENT,
        most_window=MOST_WINDOW,
        first_f16=fills.FIRST["f16"],
        first_bf16=fills.FIRST["bf16"],
        first_tf32=f"0x{fills.FIRST['tf32']:x}",
        step_tf32=f"0x{fills.STEP['tf32']:x}",
        mn=fills.MN,
        k=fills.K,
        eight=fills.EIGHT,
    )


def _render_struct(name: str, rows: tuple[Row, ...]) -> list[str]:
    """Return the lines of a C++ struct with the fields of a format."""
    fields = [f"  {kind} {field};" + (f"  // {says}" if says else "") for field, kind, _, says in rows]
    return [f"struct {name} {{", *fields, "};"]
