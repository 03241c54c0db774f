"""Find descriptors of tcgen05 with the code of 128B in wgmma, in texts whose tensor maps all swizzle by 128B.

Code 1 is 128B with atoms of 32 bytes (PTX ISA 9.1, table 40): a tile that TMA stores has it only if the map has
CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B. Judged are descriptors whose reads are not known; of others every element is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lanescope.reader.code.descriptors.builders import DescriptorBuilder
from lanescope.reader.code.findings import Pitfall
from lanescope.reader.code.maps.tma_rules import TensorMap

_ATOM = re.compile(r"ATOM_32B|32B_?(?:flip|atom)|base_?32B", re.I)
_OTHERS = re.compile(r"\bst(?:\.\w+)*\.shared|cp\.async\.c[ag]|stmatrix|wgmma\.mma_async")  # fill or read tiles, too


def find_wgmma_codes(text: str, builders: Sequence[DescriptorBuilder], maps: Sequence[TensorMap]) -> Iterator[Pitfall]:
    """Yield the places of a swizzle code that none of the text's maps stores, if there are at least two."""
    if len(maps) < 2 or {one.swizzle for one in maps} != {"128B"} or _ATOM.search(text) or _OTHERS.search(text):
        return
    coded = [one for one in builders if one.format == "tcgen05"]
    if not coded or any(one.swizzle != "128B_base32B" for one in coded):
        return
    for builder in coded:
        message = (
            "Swizzle code 1 of tcgen05 is 128B with atoms of 32 bytes, and the tensor maps store with"
            " CU_TENSOR_MAP_SWIZZLE_128B: its code is 2. (1 is wgmma's code of 128B.)"
        )
        yield Pitfall("wgmma_swizzle_code", message, builder.origins.get("swizzle", (builder.span,))[0])
