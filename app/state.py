"""The state of an instruction page and its URL: the only codec. Scripts receive SPEC and follow it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from urllib.parse import urlencode

from layouts.instruction import Instruction
from layouts.view import LABELS, figure_of

_PIN = re.compile(r"([a-z]+\d*):(\d+),(\d+)\Z")
_RANGES = re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*\Z")


@dataclass(frozen=True, slots=True)
class PageState:
    """colour: a pattern's name or "register" · label: one of LABELS · lanes: "", or "0-7,12" · pin: "", or "d:3,2" ·
    product: 0–3 (m8n8k4 f16)."""

    colour: str = "g"
    label: str = "lane:value"
    lanes: str = ""
    pin: str = ""
    product: int = 0

    def query(self) -> str:
        """The part after '?': only what differs from the defaults."""
        default = PageState()
        changed = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != getattr(default, f.name)}
        return urlencode(changed, safe=":,")

    def thread_set(self) -> frozenset[int] | None:
        """The threads `lanes` names, None for all."""
        if not self.lanes:
            return None
        out: set[int] = set()
        for part in self.lanes.split(","):
            first, _, last = part.partition("-")
            out |= set(range(int(first), int(last or first) + 1))
        return frozenset(out)

    def pinned(self) -> tuple[str, int, int] | None:
        match = _PIN.match(self.pin)
        return (match[1], int(match[2]), int(match[3])) if match else None


def read(instruction: Instruction, query: Mapping[str, str]) -> tuple[PageState, list[str]]:
    """The state a query asks for, and a notice for each value that is not legal here (its default stands instead)."""
    default, notices, chosen = PageState(), [], {}
    for name, given in query.items():
        if name not in SPEC:
            continue
        problem = _problem(instruction, name, given)
        if problem:
            notices.append(f"{name} ‘{given[:60]}’ is not used: {problem} Shown with the default instead.")
        else:
            chosen[name] = int(given) if name == "product" else given
    return PageState(**{**asdict(default), **chosen}), notices


def _problem(instruction: Instruction, name: str, given: str) -> str:
    if name == "colour":
        names = colour_names(instruction)
        return "" if given in names else f"allowed are {', '.join(names)}."
    if name == "label":
        return "" if given in LABELS else f"allowed are {', '.join(LABELS)}."
    if name == "lanes":
        numbers = [int(n) for n in re.findall(r"\d+", given)] if len(given) < 400 else []
        legal = bool(_RANGES.match(given)) and all(n < instruction.threads for n in numbers)
        return "" if legal or not given else f"write numbers from 0 to {instruction.threads - 1} and ranges, as in 0-3,8."
    if name == "product":
        count = products(instruction)
        return (
            ""
            if given.isdecimal() and len(given) < 3 and int(given) < count
            else f"this instruction has {count} product{'s' * (count > 1)}, from 0."
        )
    match = _PIN.match(given)
    grids = {panel.name: panel.grid for panel in figure_of(instruction).panels if panel.grid}
    if given and not (match and match[1] in grids):
        return f"write matrix:row,column with a matrix of {', '.join(grids)}, as in {min(grids, key=len)}:3,2."
    if match:
        grid = grids[match[1]]
        if int(match[2][:6]) >= grid.rows or int(match[3][:6]) >= grid.cols:
            return f"{match[1].upper()} has {grid.rows} rows and {grid.cols} columns, from 0."
    return ""


def colour_names(instruction: Instruction) -> list[str]:
    """Every name some operand of this instruction may be coloured by."""
    names = [d.name for op in instruction.operands.values() for d in op.pattern.digits]
    return [*dict.fromkeys(names), "register"]


def products(instruction: Instruction) -> int:
    """How many separate products one instruction computes (4 for m8n8k4 f16)."""
    return max((op.extents.get("product", 1) for op in instruction.operands.values()), default=1)


SPEC: dict[str, object] = asdict(PageState())
