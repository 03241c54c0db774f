"""Read GemmShape<M, N, K> of CUTLASS 2.x: the shape of an instruction, or of a tile."""

from __future__ import annotations

import re

from lanescope.app.kit.fact import copy_fact
from lanescope.app.read import named_forms, page_meanings
from lanescope.app.read.facts import Reading
from lanescope.names import forms
from lanescope.ptx.role import SCOPES, WARP

_GEMM_SHAPE = re.compile(r"\s*(?:\w+::)*GemmShape<\s*(\d{1,4})\s*,\s*(\d{1,4})\s*,\s*(\d{1,4})\s*>\s*(?:\{\s*\})?;?\s*")
_PAGE = "/guide/atom-to-tile"
_OF_THREAD = "The instruction shape of a SIMT kernel: each thread multiplies scalars, and tensor cores are not used."


def read_shape(text: str) -> Reading | None:
    """Read a text that is nothing but a GemmShape; None for any other text.

    CUTLASS 2.x has the instructions of one warp only: wgmma has the same M, N and K as some tiles.
    """
    match = _GEMM_SHAPE.fullmatch(text)
    if match is None:
        return None
    m, n, k = match.groups()
    name = f"m{m}n{n}k{k}"
    matches = forms.find_forms(name)
    if any(form.family.multiplies and SCOPES.get(form.threads) is WARP for form in matches.forms if form.shape == name):
        return copy_fact(Reading, named_forms.build_meaning(name, matches), also=())
    if int(m) == int(n) == 1:
        meaning = page_meanings.build_page_meaning(f"GemmShape<{m}, {n}, {k}> of CUTLASS 2.x", _PAGE, (_OF_THREAD,))
        return copy_fact(Reading, meaning, also=())
    notices = (
        "No instruction of one warp has this shape: in CUTLASS 2.x it is that of a thread block's or a warp's tile.",
        "Say the instruction, GemmShape<16, 8, 16> of an mma.sync, or paste the kernel's name or its TiledMMA.",
    )
    meaning = page_meanings.build_page_meaning(f"A tile of CUTLASS 2.x: M {m}, N {n}, K {k}", _PAGE, notices)
    return copy_fact(Reading, meaning, also=())
