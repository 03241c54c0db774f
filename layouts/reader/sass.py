"""SASS: the mnemonics of tensor-core instructions say a shape and types; which PTX they come from is only a candidate.

The names stand in disassemblies (cuobjdump -sass); NVIDIA documents the opcodes, not their modifiers (CUDA Binary
Utilities). A sparse one may count K before or after compression, so both are candidates.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from layouts import catalog
from layouts.dtypes import DTYPES
from layouts.errors import LayoutError
from layouts.instruction import Instruction
from layouts.reader.found import Found
from layouts.role import WARP, WARPGROUP, Place, Scope, Verb

_MOST = 64  # mnemonics of one text
_NOTE = "SASS names a shape and types; these PTX instructions have them."
_PIECES = "A wmma instruction of a larger shape becomes several of these."


@dataclass(frozen=True, slots=True)
class Row:
    """A mnemonic: what it does and who executes it, the types of A and B where it names none, those of D likewise."""

    verb: Verb
    scope: Scope = WARP
    a: str = ""
    d: str = ""


_PRODUCT = Verb.MULTIPLY
ROWS = {
    "HMMA": Row(_PRODUCT, a="f16"),
    "IMMA": Row(_PRODUCT, d="s32"),
    "BMMA": Row(_PRODUCT, a="b1", d="s32"),
    "DMMA": Row(_PRODUCT, a="f64", d="f64"),
    "QMMA": Row(_PRODUCT),
    "OMMA": Row(_PRODUCT),
    "HGMMA": Row(_PRODUCT, WARPGROUP, a="f16"),
    "QGMMA": Row(_PRODUCT, WARPGROUP),
    "IGMMA": Row(_PRODUCT, WARPGROUP, d="s32"),
    "BGMMA": Row(_PRODUCT, WARPGROUP, a="b1", d="s32"),
    "LDSM": Row(Verb.LOAD),
    "STSM": Row(Verb.STORE),
    "MOVM": Row(Verb.MOVE),
}
_MNEMONIC = re.compile(rf"(?<![\w.])({'|'.join(ROWS)})((?:\.\w+)*)(?![\w.])")
_SIZES = re.compile(r"(\d+)x(\d+)x(\d+)|(16|8)(8)(\d{1,3})")
_MATRICES = re.compile(r"M(T?)(8|16)(8|16)?")


def read(text: str) -> tuple[Found, ...]:
    """The instructions that have the shape and types of each mnemonic of a text, as candidates."""
    found: dict[str, list[Instruction]] = {}
    for match in _MNEMONIC.finditer(text):
        name, parts = match[1], [part for part in match[2].split(".") if part]
        if match[0] not in found and len(found) < _MOST:
            found[match[0]] = _products(name, parts) if ROWS[name].verb is Verb.MULTIPLY else _moves(name, parts)
    if not found:
        return ()
    fitting = [i for held in found.values() for i in held]
    if not fitting:
        first = next(iter(found))
        raise LayoutError(
            "unknown_sass",
            f"No PTX instruction has the shape and types of '{first}'.",
            "A mnemonic is read by its shape and types, e.g. HMMA.16816.F32.",
            "text",
        )
    what = f"'{next(iter(found))}'" if len(found) == 1 else f"{len(found)} SASS instructions"
    notices = (_NOTE, _PIECES) if any(i.family.multiplies and i.family.scope is WARP for i in fitting) else (_NOTE,)
    names = list(dict.fromkeys(i.ptx for i in fitting))
    facts = {"ptx": None, "candidates": names, "operand": None, "all": []}
    fit = f"{len(names)} instructions fit" if len(names) > 1 else f"{names[0]} fits"
    return (Found("instruction", f"{what}: {fit}", facts, notices),)


def _products(name: str, parts: list[str]) -> list[Instruction]:
    row, sparse, scaled = ROWS[name], "SP" in parts, "SF" in parts
    sizes = next((m for part in parts if (m := _SIZES.fullmatch(part))), None)
    size = tuple(int(n) for n in sizes.groups() if n) if sizes else ()
    types = [part.lower() for part in parts if part.lower() in DTYPES]
    d = row.d or (types.pop(0) if types and types[0] in ("f16", "f32") else "")
    if name == "HMMA" and types and types[0] in ("f16", "f32"):
        types.pop(0)  # Volta names C's type, too: HMMA.884.F32.F32
    if not size and any(part.isdecimal() for part in parts):
        return []
    a = types[:2] or ([row.a] if row.a else [])
    out = []
    for i in catalog.instructions():
        if not i.family.multiplies or not i.family.specified or i.family.scope is not row.scope:
            continue
        if sparse != bool(i.family.sparsity) or scaled != bool(i.family.scale_blocks):
            continue
        own = tuple(i.sizes[dim] for dim in "mnk")
        if size and own != size and not (sparse and own == (*size[:2], 2 * size[2])):
            continue
        factors = [i.types["a"], i.types["b"]]
        if (d and i.types["d"] != d) or (a and factors[: len(a)] != a) or (len(a) == 1 and factors[1] != a[0]):
            continue
        if ("SAT" in parts) != ("satfinite" in i.modifiers) or not _names(name, i, parts):
            continue
        out.append(i)
    return out


def _names(name: str, i: Instruction, parts: list[str]) -> bool:
    """Whether a mnemonic is the one of these types, and its logic that of the text."""
    kind, bits = i.types["a"], i.operand("b" if "b" in i.operands else "a").element.bits
    logic = {"AND", "XOR"} & set(parts)
    if logic and not {word.lower() for word in logic} <= set(i.modifiers):
        return False
    integer = kind[0] in "su"
    return {
        "HMMA": kind in ("f16", "bf16", "tf32"),
        "HGMMA": kind in ("f16", "bf16", "tf32"),
        "IMMA": integer,
        "IGMMA": integer,
        "QMMA": kind[0] == "e" and i.sizes["k"] <= 64,
        "OMMA": kind == "e2m1" and bool(i.family.scale_blocks),
        "QGMMA": kind[0] == "e",
    }.get(name, bits > 0)


def _moves(name: str, parts: list[str]) -> list[Instruction]:
    """LDSM.16.M88.4 is ldmatrix of four 8×8 matrices of 16 bits; MT88 the transposed one."""
    verb = ROWS[name].verb
    count = next((int(part) for part in parts[1:] if part in ("2", "4")), 1)
    matrix = next((m for part in parts if (m := _MATRICES.fullmatch(part))), None)
    bits = next((int(part) for part in parts[:1] if part.isdecimal()), 16)
    out = []
    for i in catalog.instructions():
        if i.family.verb is not verb or i.family.memory not in (None, Place.ROWS) or i.family.unpacks:
            continue
        op = next(iter(i.operands.values()))
        if op.element.bits != bits or (matrix and bool(matrix[1]) != ("trans" in i.modifiers)):
            continue
        if not matrix or i.counts.get("x", 1) == count:
            out.append(i)
    return out
