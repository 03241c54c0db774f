"""Check byte-id and thread-id of block-scaled mma.sync: which factors of the scale registers an instruction takes.

PTX ISA 9.1, 9.7.14.3, table 37: any other value is undefined behavior.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.reader.threads.memory.records import MmaUse
from lanescope.workbench.results import CheckFinding

TITLES = {"scale_selector": "The byte-id or thread-id of a scale factor does not exist"}
_PARTS = tuple(product("ab", ("byte-id", "thread-id")))  # as the ids of a use are listed


def find_scale_mistakes(uses: Iterable[MmaUse]) -> list[CheckFinding]:
    """Find ids of scale factors that the size of the scale vector does not allow, each place once."""
    found: dict[object, CheckFinding] = {}
    for use in uses:
        for finding in _check_use(use) if len(use.ids) == len(_PARTS) else ():
            found.setdefault(finding.span, finding)
    return list(found.values())


def _check_use(use: MmaUse) -> Iterator[CheckFinding]:
    try:
        scales = {scale.name[-1]: scale for scale in catalog.find(use.opcode).scales.values()}
    except LayoutError:
        return  # reported as no instruction
    for (letter, part), (value, span) in zip(_PARTS, use.ids, strict=True):
        scale = scales[letter]
        legal = scale.byte_ids if part == "byte-id" else scale.thread_ids
        if value is not None and value not in legal:
            *rest, last = map(str, legal)
            allowed = f"{', '.join(rest)} or {last}" if rest else last
            message = (
                f"{part}-{letter} is {value}; with scale_vec::{scale.blocks}X it is {allowed}. Any other value is"
                " undefined behavior."
            )
            yield CheckFinding("scale_selector", message, span)
