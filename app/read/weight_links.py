"""Questions about prepacked weights: the page of the format that a text names, with its element."""

from __future__ import annotations

import re
from urllib.parse import urlencode

_FORMATS = (  # what people write, and its format; the first that a text names
    (r"sparse[- _]?marlin|marlin[- _]?(?:24|2:4)|2:4 marlin", "sparse-marlin"),
    (r"(?:gptq|awq)[- _]?marlin\w*|marlin\w*", "marlin"),
    (r"machete\w*", "machete"),
    (r"tinychat", "awq-tinychat"),
    (r"(?:auto)?awq\w*", "awq"),
    (r"(?:auto)?gptq\w*|g_idx|qzeros?", "gptq"),
    (r"qweights?|prepack(?:s|ed|ing)?|w4a16|(?:int4|4-?bit|int8|8-?bit|quantized) weights?", ""),
)
_NAMED = tuple((re.compile(rf"(?<![\w-])(?:{text})(?![\w-])", re.I), name) for text, name in _FORMATS)
_ELEMENT = re.compile(
    r"(?<!\w)(?:w\s*\[|k\s*=|row)\s*(\d{1,7})\s*(?:,|\]\s*\[|\s|and)\s*(?:n\s*=|col(?:umn)?)?\s*(\d{1,7})(?!\w)", re.I
)
_PLACE = re.compile(
    r"(?<!\w)(?:tile \d{1,7},? )?(?:warp \d{1,4},? )?(?:(?:lane|thread) \d{1,4},? )?word \d{1,9}"
    r"(?:,? (?:nibble|byte|field) \d{1,2})?(?!\w)",
    re.I,
)
_ACTIVATIONS = re.compile(r"(?<![a-z0-9])(?:w\d)?a8(?!\w)|(?:8-?bit|int8|fp8) activations", re.I)
_BITS = re.compile(r"(?<![\w-])(?:w(\d)a\d{1,2}|u?int(\d)|(\d)[- ]?bits?)(?![\w-])(?! activations)", re.I)
_OTHER = re.compile(r"\b(?:tiled_?mma|tiled_?copy|atom_?layout\w*|warps)\b", re.I)  # of Marlin, but not its words


def find_weights(text: str) -> str:
    """Find the page of the format of weights that a text names, "" if it names none.

    >>> find_weights("where is W[3, 9] in AWQ?")
    '/weights?format=awq&find=W%5B3%2C+9%5D'
    """
    format_ = next((name for pattern, name in _NAMED if pattern.search(text)), None)
    if format_ is None or _OTHER.search(text):
        return ""
    if format_ in ("marlin", "machete") and _ACTIVATIONS.search(text):
        format_ += "-a8"
    query = {"format": format_} if format_ else {}
    if format_ and (width := _BITS.search(text)) and (bits := next(filter(None, width.groups()))) != "4":
        query["bits"] = bits
    if found := _ELEMENT.search(text):
        query["find"] = f"W[{found[1]}, {found[2]}]"
    elif place := _PLACE.search(text):
        query["find"] = place[0]
    return f"/weights?{urlencode(query)}" if query else "/weights"
