"""Parse CUTLASS's and CuTe's names of tensor-memory moves: lanes, bits, count and packing determine the PTX
instruction. CUTLASS, cute/arch/copy_sm100.hpp; CuTeDSL, cute/nvgpu/tcgen05/copy.py.
"""

from __future__ import annotations

import re

from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.table.tcgen05 import COPY, LOAD, PACKED, REDUCE, STORE

_BITS = r"(?:32|64|128|256)"
ATOM = re.compile(
    rf"\bSM1[01]\d_TMEM_(?P<way>LOAD|STORE)_(?P<stat>STAT_)?(?P<lanes>16|32)dp(?P<bits>{_BITS})b(?P<x>\d{{1,3}})x"
    r"(?P<half>_16b)?\b"
)
OPERATION = re.compile(
    rf"\b(?P<way>Ld|St)(?P<stat>Red)?(?P<lanes>16|32)x(?P<bits>{_BITS})b(?:x2)?Op\s*\("
    r"(?P<arguments>(?:[^()]|\([^()]*\)){0,200})\)"
)
COPIED = re.compile(
    r"\bSM1[01]\d_UTCCP_(?P<dp>4x32|2x64|128|4)dp(?P<bits>128|256)bit(?:lw(?P<pair>0213|0123))?_(?P<ctas>[12])cta\b"
)
FROM_SHARED = re.compile(
    r"\bCp(?P<dp>4x32|2x64|128|4)x(?P<bits>128|256)b(?P<pair>0213|0123)?Op"
    r"\s*\((?P<arguments>(?:[^()]|\([^()]*\)){0,200})\)"
)
_REPEATED = re.compile(r"Repetition\s*(?:\.\s*x|\(\s*)(\d{1,3})")
_OPEN_REPETITION = re.compile(r"Repetition\s*\(\s*[A-Za-z_]|repeat\s*=\s*[a-z_]\w*\s*(?:,|$)")


def _find_instructions(text: str) -> list[Instruction]:
    try:
        return [catalog.find(text)]
    except LayoutError:
        return []


def find_moves(match: re.Match[str]) -> list[Instruction]:
    """Return the load or store of an atom or operation; all candidates if the type of a reduction is unknown."""
    named = match.re is ATOM
    arguments = "" if named else match["arguments"]
    if _OPEN_REPETITION.search(arguments):
        return []
    count = match["x"] if named else next(iter(_REPEATED.findall(arguments)), "1")
    opcode = STORE if match["way"].lower().startswith("st") else REDUCE if match["stat"] else LOAD
    packed = bool(match["half"]) if named else "16b_IN_32b" in arguments or "32b_IN_16b" in arguments
    halves = "x2" if (match["lanes"], match["bits"]) == ("16", "32") else ""
    head = f"{opcode.text}.sync.aligned.{match['lanes']}x{match['bits']}b{halves}.x{count}"
    if opcode is REDUCE:
        least = ".min" if "MIN" in arguments else ".max"
        return [
            i
            for kind in (("f32",) if named else ("f32", "u32", "s32"))
            for i in _find_instructions(f"{head}{least}.{kind}")
        ]
    return _find_instructions(f"{head}{PACKED[opcode] if packed else ''}.b32")


_PAIRS = {"0213": ".warpx2::02_13", "0123": ".warpx2::01_23", None: ""}
_COPIED = {"4x32": "32x128b.warpx4", "2x64": "64x128b"}


def find_copies(match: re.Match[str]) -> list[Instruction]:
    """Return the copy from shared memory of an atom or operation."""
    ctas = (
        match["ctas"] if match.re is COPIED else "2" if re.search(r"CtaGroup\s*\.\s*TWO", match["arguments"]) else "1"
    )
    shape = _COPIED.get(match["dp"], f"{match['dp']}x{match['bits']}b") + _PAIRS[match["pair"]]
    return _find_instructions(f"{COPY.text}.cta_group::{ctas}.{shape}")


ROWS = ((ATOM, find_moves), (OPERATION, find_moves), (COPIED, find_copies), (FROM_SHARED, find_copies))
