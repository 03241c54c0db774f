"""Assumptions about called functions that build descriptors and have no code in the text, including PTX's
matrix-descriptor-encode.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from lanescope.descriptor.matrix import WINDOW_MASK
from lanescope.inputs import parse_choice
from lanescope.reader.code.evaluation import Evaluation
from lanescope.reader.code.naming.header_names import STANDARD
from lanescope.workbench.results import Assumption, TextPiece
from lanescope.workbench.text.scan import InstructionMention

MOST = 4  # functions of one text whose results are requested
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


def find_missing_calls(
    code: Evaluation | None, mentions: tuple[InstructionMention, ...]
) -> dict[str, list[tuple[int, int]]]:
    """Map each function that builds descriptors by its name, and has no code in the text, to its calls."""
    reads = any(m.instruction.family.by_descriptor for m in mentions)
    spans_of: dict[str, list[tuple[int, int]]] = {}
    for call in code.bodiless_calls if code else ():
        head = call.term.head
        if not call.term.arguments or not _BUILDS.search(head) or _OTHER.search(head):
            continue
        if reads or _SURE.search(head):
            spans = spans_of.setdefault(head, [])
            if call.term.span not in spans and call.term.span != (0, 0):
                spans.append(call.term.span)
    return {head: spans for head, spans in list(spans_of.items())[:MOST] if spans}


def assume_helpers(heads: Mapping[str, object], choices: Mapping[str, str]) -> list[Assumption]:
    """Return the chosen assumption about each missing helper, else a missing choice.

    LayoutError for a value that is not offered.
    """
    assumptions = []
    for head in heads:
        key = f"builder.{head}"
        value = choices.get(key, "")
        if value:
            value = parse_choice(value, key, STANDARD)
        why = (
            "its code is not in the text: taken as a K-major tile’s descriptor of that swizzle"
            if value
            else "its code is not in the text; K-major tiles of that swizzle have one and the same LBO and SBO"
        )
        assumptions.append(Assumption(key, f"Swizzle of what {head} builds", value, why, tuple(STANDARD)))
    return assumptions


def assume_encoders(code: Evaluation | None) -> list[Assumption]:
    """Return assumptions about PTX's encode functions that the text calls and does not define."""
    why = "its code is not in the text: taken as PTX’s matrix-descriptor-encode"
    return (
        [Assumption(f"encode.{name}", f"What {name} gives", ENCODED, why, (ENCODED,)) for name in code.encode_functions]
        if code
        else []
    )


def assume_foreign_types(code: Evaluation | None) -> list[Assumption]:
    """Return assumptions about types that the text uses as CUTLASS's descriptors and does not define."""
    why = "its code is not in the text, and its members have those names"
    return [
        Assumption(f"type.{name}", f"Type of {name}", union, why, (union,))
        for name, union in (code.assumed_unions if code else ())
    ]


def make_helper_piece(head: str, spans: list[tuple[int, int]]) -> TextPiece:
    """Make the piece of the calls of a function that the text does not define."""
    return TextPiece("descriptor", f"{head}(…): its code is not in the text", tuple(spans), {"name": head})


def describe_missing_code(head: str) -> str:
    return (
        f"The text calls {head} and has no code of it: paste it, or choose the swizzle of the tiles that it describes."
    )
