"""Functions that a text calls and whose code is not in it: those that build descriptors, and PTX's own
matrix-descriptor-encode, which is taken as PTX defines it. `contents.py` asks what each of them is taken to give.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from lanescope.descriptor.matrix import WINDOW_MASK
from lanescope.reader.code.evaluate import Evaluation
from lanescope.reader.code.known import STANDARD
from lanescope.reading import choice
from lanescope.workbench.found import Assumed, Piece
from lanescope.workbench.scan import Mention

MOST = 4  # functions of one text that are asked for
ENCODED = f"(x & 0x{WINDOW_MASK:X}) >> 4"
_BUILDS = re.compile(
    r"(?:make|get|create|build|construct|init|new|to|gen(?:erate)?|compute|encode|smem|shared|gmma|wgmma|matrix|mat)"
    r"\w*desc|^desc(?:riptor)?$|desc\w*_(?:from|for|of)\w*",
    re.I,
)
_OTHER = re.compile(
    r"tensor_?map|tma|prefetch|i_?desc|instr|tensor_?desc|destroy|print|decode|cublas|cudnn|cusparse|cufft|vk", re.I
)
_SURE = re.compile(r"(?:smem|shared|gmma|wgmma|matrix|mat)_?\w*desc|make_desc", re.I)


def called(code: Evaluation | None, mentions: tuple[Mention, ...]) -> dict[str, list[tuple[int, int]]]:
    """Function → its calls, of those that build descriptors by their names and have no code in the text."""
    reads = any(m.instruction.family.by_descriptor for m in mentions)
    out: dict[str, list[tuple[int, int]]] = {}
    for one in code.made if code else ():
        head = one.term.head
        if not one.term.arguments or not _BUILDS.search(head) or _OTHER.search(head):
            continue
        if reads or _SURE.search(head):
            spans = out.setdefault(head, [])
            if one.term.span not in spans and one.term.span != (0, 0):
                spans.append(one.term.span)
    return {head: spans for head, spans in list(out.items())[:MOST] if spans}


def asked(heads: Mapping[str, object], given: Mapping[str, str]) -> list[Assumed]:
    """What each of them is taken to give, where that was chosen; else a choice that is missing. LayoutError for another
    value.
    """
    out = []
    for head in heads:
        key = f"builder.{head}"
        value = given.get(key, "")
        if value:
            value = choice(value, key, STANDARD)
        why = (
            "its code is not in the text: taken as a K-major tile’s descriptor of that swizzle"
            if value
            else "its code is not in the text; K-major tiles of that swizzle have one and the same LBO and SBO"
        )
        out.append(Assumed(key, f"Swizzle of what {head} builds", value, why, tuple(STANDARD)))
    return out


def encoders(code: Evaluation | None) -> list[Assumed]:
    """PTX's encode functions that the text calls and does not have."""
    why = "its code is not in the text: taken as PTX’s matrix-descriptor-encode"
    return (
        [Assumed(f"encode.{name}", f"What {name} gives", ENCODED, why, (ENCODED,)) for name in code.taken]
        if code
        else []
    )


def foreign(code: Evaluation | None) -> list[Assumed]:
    """What is taken for the types that the text uses as CUTLASS's descriptors and does not have."""
    why = "its code is not in the text, and its members have those names"
    return [
        Assumed(f"type.{name}", f"Type of {name}", union, why, (union,))
        for name, union in (code.foreign if code else ())
    ]


def piece(head: str, spans: list[tuple[int, int]]) -> Piece:
    """The calls of a function that is not there."""
    return Piece("descriptor", f"{head}(…): its code is not in the text", tuple(spans), {"name": head})


def missing(head: str) -> str:
    return (
        f"The text calls {head} and has no code of it: paste it, or choose the swizzle of the tiles that it describes."
    )


__all__ = ["asked", "called", "encoders", "foreign", "missing", "piece"]
