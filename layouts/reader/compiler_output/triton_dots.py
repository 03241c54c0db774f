"""Recognise warpgroup products by operation: warp_group_dot of TritonNvidiaGPU, warpgroup_mma of Gluon.

Triton 3.9: TritonNvidiaGPUOps.td; mmaVersionToInstrShape (lib/Dialect/TritonGPU/Transforms/Utility.cpp) chooses the
largest N that divides the tensor's and that the number of warps allows.
"""

from __future__ import annotations

import re

from lanescope.reader.cute.atom_meaning import find_products
from lanescope.reader.meaning import TextMeaning, make_instruction_meaning

_OPERATION = re.compile(
    r"(?<![\w])(?:(?:ttng|triton_nvidia_gpu|ttg|triton_gpu)\.)?(warp_?group_(?:dot|mma))(?:_wait)?\b"
)
_TYPES = re.compile(r"\b(?P<where>memdesc|tensor)\s*<\s*(?P<sizes>(?:\d{1,6}x){2,4})(?P<type>[a-zA-Z]\w{0,12})\b")
_LINE = 2048  # characters after the operation in which its types may be
_INPUTS = {
    "f16": "f16",
    "bf16": "bf16",
    "f32": "tf32",
    "tf32": "tf32",
    "f8E4M3FN": "e4m3",
    "f8E5M2": "e5m2",
    "f8E4M3FNUZ": "e4m3",
    "i8": "s8",
}
_RESULTS = {"f32": "f32", "f16": "f16", "i32": "s32"}
_NEEDED = (
    "The wgmma is named by the tensors' types and by #mma's instrShape: paste the line with its types, or #mma = …"
)


def recognise_dots(text: str) -> tuple[TextMeaning, ...]:
    """Return the wgmma that a text's operations may compile to; a topic if the text lacks their types."""
    match = _OPERATION.search(text)
    if match is None or "instrShape" in text or "instr_shape" in text:
        return ()  # recognised by the layout, which has the shape
    types = list(_TYPES.finditer(text[match.end() : match.end() + _LINE].split("\n", 1)[0]))
    if len(types) < 3:
        facts = {"topic": "warp_group_dot", "name": match[0]}
        about = f"{match[1]} is wgmma on sm_90a: a warpgroup multiplies a tile of shared memory or registers by one of"
        return (TextMeaning("topic", "wgmma: warp_group_dot of Triton", facts, (f"{about} shared memory.", _NEEDED)),)
    a, b, d = types[0], types[1], types[-1]
    sizes = [int(size) for size in d["sizes"].strip("x").split("x")]
    kinds = {"a": _INPUTS.get(a["type"], "?"), "b": _INPUTS.get(b["type"], "?"), "d": _RESULTS.get(d["type"], "?")}
    instructions = [i for i in find_products(kinds, {}, warpgroup=True) if not sizes[-1] % i.sizes["n"]]
    instructions.sort(key=lambda i: -i.sizes["n"])
    where = "registers" if a["where"] == "tensor" else "shared memory"
    tensor = " × ".join(str(size) for size in sizes)
    notices = (
        f"A is in {where}, D a tensor of {tensor}: Triton chooses an N that divides {sizes[-1]}; it is in #mma's"
        " instrShape.",
    )
    return make_instruction_meaning(instructions, f"'{match[0]}'", notices)
