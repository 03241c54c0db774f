"""Parse the names of CUTLASS's atoms: shape, types and layout determine the PTX instruction.

CUTLASS 4, include/cute/arch/mma_sm*.hpp and copy_sm75, 90, 100.hpp. SM80_16x8x16_F32F16F16F32_TN lists D, A, B, C; a
GMMA atom lists D, A and B. The suffix has A's and B's layouts: T is row, N is col.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.ptx.dtypes import DTYPES
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.slots import reads_mn_major
from lanescope.ptx.table.tcgen05 import COPY, LOAD, PACKED, REDUCE, STORE
from lanescope.reader.meaning import TextMeaning, make_instruction_meaning

_TYPES = {row.names.atom: row.name for row in DTYPES.values() if row.names.atom}
_TYPE = "|".join(_TYPES)
_MMA = re.compile(
    r"\b(?:SM(?P<sm>\d{2,3})\w{0,24}?(?:::\w{1,24}?){0,4}?(?:::|_))?(?P<sparse>SPARSE(?:_|::))?(?:G?MMA_)?"
    rf"(?P<m>\d+)x(?P<n>\d+)x(?P<k>\d+)_(?P<types>(?:{_TYPE}){{3,4}})?_?(?P<ending>[A-Z]\w*)"
    r"(?:\s*<(?P<arguments>[^<>]*)>)?"
)
_WGMMA = re.compile(r"(?:SM90_|(?:SM90::GMMA::)?MMA_)\d+x\d+x\d+_\w+_(?:SS|RS)(?:_\w+)?")
_ELEMENT = re.compile(r"\b(?:float_|type_float_|cutlass::float_)?(e\dm\d|ue\dm\d)(?:_unpacksmem)?(?:_t)?\b")
_COPY = re.compile(
    r"\bSM(?P<sm>\d+)_(?:(?P<unit>U\d+)x(?P<units>\d+)|SU(?P<packed>[46])_DU8x16_x(?P<count>\d+))"
    r"_(?P<what>LDSM|STSM|MOVM)_(?P<way>[NT])\b"
)
_MAJOR = r"(?:\w+::){0,4}Major::(K|MN)\b"
_MAJORS = re.compile(rf"\d_(?:SS|RS)\w*\s*<\s*{_MAJOR}\s*,\s*{_MAJOR}")
_MN_IN_REGISTERS = re.compile(  # refused by a static_assert of cute/arch/mma_sm90_gmma.hpp
    r"\b(?:SM90|MMA)_(?:MMA_)?\d+x\d+x\d+_\w{1,40}_RS\s*<\s*(?:\w+::){0,4}Major::MN\s*,[^<>]*>"
)
_OPCODES = {"LDSM": "ldmatrix", "STSM": "stmatrix", "MOVM": "movmatrix"}
_WORDS = {"SATURATE": "satfinite", "XORPOPC": "xor", "ANDPOPC": "and"}
_SUMS = {"float": "f32", "half_t": "f16"}
_LAYOUTS = {"T": "row", "N": "col"}
_TENSOR_MEMORY = re.compile(r"\bSM1[01]\d_(?:MMA|TMEM|UTCCP)\w*")  # recognised as tcgen05
SELECTED_BITS = (8, 16, 32)  # of the elements of A, for which ss_op_selector has an operator
SELECTED_N = (256, 192, 128, 96, 64, 32, 16, 8)  # of ss_op_selector and rs_op_selector, without the extended shapes
_MOST = 64  # atoms per text
_WARPGROUP_ROWS = 64  # M of every wgmma; no warp-level mma has M = 64


def find_atom_instructions(text: str) -> list[Instruction]:
    """Return the instructions of every atom in a text, in order.

    LayoutError if a named atom has no instruction.
    """
    return _find_named_atoms(text)[0]


def _find_named_atoms(text: str) -> tuple[list[Instruction], list[str]]:
    """Return (instructions, atom names) of a text."""
    instructions, named = _match_atoms(text)
    if not instructions and named and not _TENSOR_MEMORY.search(text):
        raise LayoutError(
            "unknown_atom",
            f"No PTX instruction has the shape and types of '{catalog.shorten(named[0])}'.",
            "Expected a name such as SM80_16x8x16_F32F16F16F32_TN.",
            "text",
        )
    return instructions, named


def _match_atoms(text: str) -> tuple[list[Instruction], list[str]]:
    instructions: list[Instruction] = []
    named: list[str] = []
    for pattern, known in ((_MMA, _find_products), (_COPY, _find_moves), *ROWS):
        for match in pattern.finditer(text):
            spelled = pattern is not _MMA or match["sm"] or match["types"]
            if spelled and match[0] not in named and len(named) < _MOST:
                named.append(match[0])
                instructions += known(match)
    return instructions, named


@lru_cache(maxsize=256)
def find_wgmma(name: str) -> Instruction | None:
    """Return the wgmma of an atom's name without template arguments; None for other names."""
    if not _WGMMA.fullmatch(name):
        return None
    try:
        instructions = set(find_atom_instructions(name))
    except LayoutError:
        return None
    instruction = instructions.pop() if len(instructions) == 1 else None
    return instruction if instruction is not None and instruction.family.by_descriptor else None


def find_warp_shape(name: str) -> tuple[int, int, int] | None:
    """Return M, N and K in the name of an atom whose operands are a warp's registers; None for other names.

    >>> find_warp_shape("SM90_16x8x4_F64F64F64F64_TN"), find_warp_shape("SM90_64x128x16_F32BF16BF16_SS")
    ((16, 8, 4), None)
    """
    match = _MMA.fullmatch(name)
    if match is None or not match["sm"] or int(match["m"]) >= _WARPGROUP_ROWS:
        return None
    return int(match["m"]), int(match["n"]), int(match["k"])


def recognise_cutlass_atoms(text: str) -> tuple[TextMeaning, ...]:
    """Return the instruction of every atom in a text, and the majors in its arguments."""
    instructions, named = _find_named_atoms(text)
    if not instructions:
        return ()
    if wrong := _MN_IN_REGISTERS.search(text):
        raise LayoutError(
            "unknown_atom",
            f"CUTLASS has no atom '{catalog.shorten(wrong[0], 80)}': A in registers is K-major.",
            "Write GMMA::Major::K for A, or take the atom _SS, which reads A in shared memory.",
            "text",
        )
    where = "A and B through descriptors" if re.search(r"_SS\b|_SS_", text) else ""
    where = "A in registers, B through a descriptor" if re.search(r"_RS\b|_RS_", text) else where
    by_descriptor = instructions[0].family.by_descriptor and where and len(set(instructions)) == 1
    layouts = {tuple(match.groups()) for match in _MAJORS.finditer(text)}
    majors = (
        dict(zip("ab", layouts.pop(), strict=True))
        if len(layouts) == 1 and instructions[0].family.by_descriptor
        else None
    )
    if majors and "MN" in majors.values() and not any(map(reads_mn_major, instructions)):
        raise LayoutError(
            "unknown_atom",
            f"CUTLASS has no atom '{catalog.shorten(named[0], 60)}' with MN-major operands: those of"
            f" {instructions[0].types['a']} are K-major.",
            "wgmma transposes 16-bit operands only; CUTLASS's names of the others end in _TN and take no majors.",
            "text",
        )
    return make_instruction_meaning(
        instructions,
        f"'{catalog.shorten(named[0], 60)}'",
        (f"The atom reads {where}.",) if by_descriptor else (),
        majors=majors,
    )


@dataclass(frozen=True, slots=True)
class _Name:
    """The product that an atom's name and its template arguments describe.

    types: D, A, B and C, or the first of them; spelled: whether the name contains them; words: satfinite, xor, and;
    scales: types of the scale factors; vector: elements per scale factor, 0 if unknown.
    """

    types: list[str]
    spelled: bool
    layouts: tuple[str, ...]
    words: set[str]
    sparse: bool
    scaled: bool
    scales: list[str]
    vector: int

    def fits(self, i: Instruction) -> bool:
        return self.has_types(i) and self.has_words(i) and self.has_scales(i)

    def has_types(self, i: Instruction) -> bool:
        types = [i.types[name] for name in "dabc" if name in i.types]
        if self.types and types[: len(self.types)] != self.types:
            return False
        if i.syntax.layouts and self.layouts and i.syntax.layouts != self.layouts:
            return False
        kinds = {word for word in i.modifiers if word.startswith("kind::")}
        if self.spelled:
            return not kinds
        return bool(i.family.scale_blocks) or "kind::f8f6f4" in kinds

    def has_words(self, i: Instruction) -> bool:
        modifiers, logic = set(i.modifiers), {"xor", "and"}
        if ("satfinite" in modifiers) != ("satfinite" in self.words) or modifiers & {"rn", "rz", "rm", "rp"}:
            return False
        if bool(i.family.sparsity) != self.sparse:
            return False
        return not (modifiers & logic and self.words & logic and not modifiers & self.words)

    def has_scales(self, i: Instruction) -> bool:
        blocks = i.family.scale_blocks
        if bool(blocks) != self.scaled or (self.scales and i.types.get("s") not in self.scales):
            return False
        return not (self.vector and blocks and i.sizes["k"] // blocks != self.vector)


def _find_products(match: re.Match[str]) -> list[Instruction]:
    """Return the products with an atom's shape, types, layouts and modifiers."""
    name = _parse_name(match)
    products = [i for i in catalog.find_products(*(int(match[dim]) for dim in "mnk")) if name.fits(i)]
    full = [i for i in products if any(word.startswith("scale_vec::") for word in i.modifiers)]
    return full or products  # CUTLASS writes .scale_vec; PTX makes it optional if only one is legal


def _parse_name(match: re.Match[str]) -> _Name:
    text, ending, arguments = match[0], match["ending"].split("_"), match["arguments"]
    types = [_TYPES[name] for name in re.findall(_TYPE, match["types"] or "")]
    parts = [part.strip() for part in (arguments or "").split(",")]
    sides = next((part for part in ending if re.fullmatch("[TN]{2}", part)), "")
    return _Name(
        types if types or arguments is None else _list_argument_types(parts),
        spelled=bool(match["types"]),
        layouts=tuple(_LAYOUTS[letter] for letter in sides),
        words={_WORDS[part] for part in ending if part in _WORDS},
        sparse="SPARSE" in text or "GMMA_64" in text,  # GMMA::SPARSE::GMMA_64…; dense ones are GMMA::MMA_64…
        scaled="VS" in ending or "BLOCKSCALED" in text,
        scales=[name for name in _ELEMENT.findall(arguments or "") if name.startswith("u")],
        vector=next((int(part) for part in parts if part.isdecimal()), 0),
    )


def _list_argument_types(parts: list[str]) -> list[str]:
    """Return D, A and B from the template arguments; [] without D."""
    d = next((_SUMS[part] for part in parts if part in _SUMS), "")
    known = (_ELEMENT.fullmatch(part) for part in parts[:2])
    return [d, *(match[1] for match in known if match)] if d else []


def _find_moves(match: re.Match[str]) -> list[Instruction]:
    """Return the loads, stores or moves of a copy atom."""
    opcode, transposed = _OPCODES[match["what"]], match["way"] == "T"
    if match["packed"]:
        word = {"4": "b4x16_p64", "6": "b6x16_p32"}[match["packed"]]
        words = {"x" + match["count"], word}
        return [
            i
            for i in catalog.instructions()
            if i.syntax.opcode == opcode and i.shape == "m8n16" and words <= {*i.modifiers, *i.syntax.types}
        ]
    bits, units = int(match["unit"][1:]), int(match["units"])
    moves = []
    for i in catalog.instructions():
        if i.syntax.opcode != opcode or ("trans" in i.modifiers) != transposed:
            continue
        op = next(iter(i.operands.values()))
        if i.family.unpacks or op.element.bits != (16 if bits == 32 else bits):
            continue
        unit_count = op.registers * 32 // bits  # units of the atom per thread
        if unit_count == units:
            moves.append(i)
    return moves


def choose_wgmma_shape(bits: int, columns: int) -> tuple[int, int, int] | None:
    """Return M, N and K of the operator that ss_op_selector selects for a tile; None if there is none."""
    n = next((size for size in SELECTED_N if columns % size == 0), None)
    return (64, n, 256 // bits) if n and columns and bits in SELECTED_BITS else None


# moves of tensor memory -----------------------------------------------------------------------------------------------
# Lanes, bits, count and packing of a name determine the PTX instruction: CUTLASS, cute/arch/copy_sm100.hpp; CuTeDSL,
# cute/nvgpu/tcgen05/copy.py.


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
