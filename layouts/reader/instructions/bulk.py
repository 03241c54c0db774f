"""TMA instructions in PTX, SASS and as CUTLASS atoms; their boxes and swizzles are fields of the tensor map.

PTX ISA 9.1, cp.async.bulk.tensor, cp.reduce.async.bulk.tensor and cp.async.bulk.prefetch.tensor; SASS of ptxas 13.0:
UTMALDG loads, UTMASTG stores, UTMAREDG reduces, UTMAPF prefetches; CUTLASS 4, cute/arch/copy_sm90_tma.hpp.
"""

from __future__ import annotations

import re

from lanescope.ptx.table.newer import find_newer_form
from lanescope.reader.meaning import TextMeaning

INSTRUCTION = re.compile(
    r"(?<![\w.])(?:"
    r"cp\s?\.\s?(?P<reduce>reduce\s?\.\s?)?async\s?\.\s?bulk\s?\.\s?(?P<prefetch>prefetch\s?\.\s?)?tensor\b"
    r"(?P<ptx>[\w.:]*)"
    r"|UTMA(?P<sass>LDG|STG|REDG|PF)(?P<suffixes>(?:\.\w+){0,8})"
    r"|SM(?:90|100)_TMA_(?P<atom>LOAD|STORE|REDUCE_ADD)(?P<kind>_\w+)?\b)"
)
_SAYS = {
    "load": "copies a box of a tensor from global to shared memory",
    "store": "copies a box from shared memory to a tensor in global memory",
    "reduce": "reduces a box of shared memory into a tensor in global memory",
    "prefetch": "prefetches a box of a tensor into the L2 cache",
}
_SASS = {"LDG": "load", "STG": "store", "REDG": "reduce", "PF": "prefetch"}
_ATOM = {"LOAD": "load", "STORE": "store", "REDUCE_ADD": "reduce"}
NEEDED = (
    "Its operands are the map's address, coordinates and a shared-memory address. The box, the element type and the"
    " swizzle are fields of the tensor map, 128 bytes that the host wrote."
)
PASTE = (
    "To see how the box is stored in shared memory, paste the call that makes the map: cuTensorMapEncodeTiled(…) with"
    " its arrays, make_tma_copy(…) with its layout, or Triton's make_tensor_descriptor(…)."
)
_MAP_MAKERS = re.compile(r"[tT]ensor_?[mM]ap_?[eE]ncode|make_(?:tiled_)?tma|make_tensor_desc|TensorDescriptor\b")
_MOST = 64  # instructions per text


def describe_tma(match: re.Match[str]) -> tuple[str, str, str]:
    """Return (name, load | store | reduce | prefetch, dimensions such as "2D" or "") of a TMA instruction."""
    if match["sass"]:
        rank = re.search(r"\.(\d)D", match["suffixes"])
        return f"UTMA{match['sass']}{match['suffixes']}", _SASS[match["sass"]], f"{rank[1]}D" if rank else ""
    if match["atom"]:
        rank = re.search(r"_(\d)D", match["kind"] or "")
        return match[0], _ATOM[match["atom"]], f"{rank[1]}D" if rank else ""
    words = [word for word in match["ptx"].split(".") if word]
    way = "reduce" if match["reduce"] else "prefetch" if match["prefetch"] else ""
    if not way:
        spaces = [word.partition("::")[0] for word in words if word.partition("::")[0] in ("shared", "global")]
        way = "store" if spaces[:1] == ["global"] else "load"
    size = next((word for word in words if re.fullmatch(r"[1-5]d", word)), "")
    opcode = re.sub(r"\s", "", match[0][: match.start("ptx") - match.start()])
    return f"{opcode}.{size}" if size else opcode, way, size.upper()


def recognise_tma(text: str) -> tuple[TextMeaning, ...]:
    """Return one meaning for all TMA instructions of a text; () if there are none."""
    if _MAP_MAKERS.search(text):
        return ()  # recognised by its tensor map instead
    descriptions = [describe_tma(match) for match, _ in zip(INSTRUCTION.finditer(text), range(_MOST), strict=False)]
    if not descriptions:
        return ()
    name, way, size = descriptions[0]
    others = len(dict.fromkeys(descriptions)) - 1
    more = f", and {others} more" if others else ""
    of = f"a tensor of {size[0]} dimension{'s' if size[0] != '1' else ''}" if size else "a tensor"
    about = f"{name} {_SAYS[way].replace('a tensor', of)}, by TMA."
    facts = {"topic": "tma", "name": name, "operation": way}
    newer = [f"{form.since} {form.does}" for form in filter(None, [find_newer_form(text)])]
    return (TextMeaning("topic", f"TMA: {name}{more}", facts, (*newer, about, NEEDED, PASTE)),)
