"""Forms that ptxas 13.5 assembles and the catalogue does not have: PTX 9.1's text does not describe them."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NewerForm:
    """A modifier, the release that brought it, the targets that have it, and one line to assemble."""

    pattern: re.Pattern[str]
    name: str
    ptx: str
    targets: tuple[str, ...]
    sample: str

    @property
    def message(self) -> str:
        """Say since when and where it exists."""
        return (
            f"{self.name} is new in PTX {self.ptx} and exists on {', '.join(self.targets)} only (ptxas 13.5). PTX 9.1,"
            " whose text the maps follow, does not have it."
        )


_TENSOR = tuple(f"sm_{number}{suffix}" for number in (100, 103, 107, 110) for suffix in ("f", "a"))
NEWER_FORMS = (
    NewerForm(
        re.compile(r"tcgen05\.mma(?!\.ws)[\w.:]*\.collector::b::(?:fill|use|lastuse|discard)"),
        ".collector::b of tcgen05.mma",
        "9.4",
        ("sm_107f", "sm_107a"),
        "tcgen05.mma.cta_group::1.kind::f16.collector::b::fill [r1], d1, d2, r2, p;",
    ),
    NewerForm(
        re.compile(r"tcgen05\.ld\.red\.spcompress"),
        "tcgen05.ld.red.spcompress",
        "9.4",
        ("sm_107a",),
        "tcgen05.ld.red.spcompress.sync.aligned.32x32b.x4.min.sp::2:4.f32.b2 {r1}, {f2, f3}, f1, [r4];",
    ),
    NewerForm(
        re.compile(r"tcgen05\.alloc\.exclusive"),
        ".exclusive of tcgen05.alloc",
        "9.4",
        _TENSOR,
        "tcgen05.alloc.exclusive.cta_group::1.sync.aligned.shared::cta.b32 [r1], r2;",
    ),
    NewerForm(
        re.compile(r"tcgen05\.dealloc\.exclusive"),
        ".exclusive of tcgen05.dealloc",
        "9.4",
        _TENSOR,
        "tcgen05.dealloc.exclusive.cta_group::1.sync.aligned.b32 r1, r2;",
    ),
)


def find_newer_form(text: str) -> NewerForm | None:
    """Find the first newer form that a text has."""
    return next((row for row in NEWER_FORMS if row.pattern.search(text)), None)
