"""Names of tcgen05 instructions in compilers: LLVM's intrinsics and MLIR's nvvm operations.

Sources: LLVM, NVPTXUsage.rst (tcgen05 intrinsics; kinds 0 to 3 are f16, tf32, f8f6f4 and i8) and NVVMOps.td; prints of
CuTe DSL kernels, whose operations spell the same attributes otherwise. Collector buffers are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_MOST = 64  # names per text
_NEAR = 400  # characters of a name's arguments or attributes
_INTRINSIC = re.compile(
    r"llvm[._]nvvm[._]tcgen05\.(?P<op>ld|st|cp|mma)\.(?P<name>\w[\w.]{2,80}\w)(?:\((?P<arguments>[^;\n]{0,400}))?"
)
_OPERATION = re.compile(
    r"(?<![\w.])\"?nvvm\.tcgen05\.(?P<op>ld|st|cp|mma)(?P<name>(?:\.(?:sp|ws|block_scale))*)\"?(?=[\s(])"
)
_COMMENT = re.compile(r"/\*.*?\*/")
_KINDS = ("f16", "tf32", "f8f6f4", "i8")
_REGISTERS = {"16x64b": 1, "16x128b": 2, "16x256b": 4, "32x32b": 1, "16x32bx2": 1}  # of .x1
_PACKED = {"ld": ".pack::16b", "st": ".unpack::16b"}


def list_spellings(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (place, possible PTX opcodes) of each name; no opcode where the text leaves its kind or size open."""
    if "tcgen05" not in text:
        return
    for match, _ in zip(_INTRINSIC.finditer(text), range(_MOST), strict=False):
        words = match["name"].split(".")
        parse = {"cp": _parse_copy, "mma": _parse_mma}.get(match["op"])
        arguments = _COMMENT.sub("", match["arguments"] or "")
        yield match.start(), parse(words, arguments) if parse else _parse_access(match["op"], words, arguments)
    for match, _ in zip(_OPERATION.finditer(text), range(_MOST), strict=False):
        rest = text[match.end() : match.end() + _NEAR].partition("nvvm.tcgen05.")[0]
        yield match.start(), _parse_operation(match["op"], match["name"], rest)


def _parse_access(op: str, words: list[str], arguments: str) -> list[str]:
    """Parse tcgen05.ld.16x128b.x2(ptr addrspace(6) %t, i1 false): the flag says whether 16-bit values are packed."""
    if len(words) != 2 or words[0] not in _REGISTERS:
        return []
    plain, packed = (f"tcgen05.{op}.sync.aligned.{'.'.join(words)}{pack}.b32" for pack in ("", _PACKED[op]))
    flag = re.search(r"\bi1 (?:(true|-?1)|(false|0))\b", arguments)
    return [plain, packed] if flag is None else [packed] if flag[1] else [plain]


def _parse_copy(words: list[str], _arguments: str) -> list[str]:
    """Parse tcgen05.cp.64x128b_warpx2_02_13.b6x16_p32.cg1."""
    shape, *formats = words[:-1]
    group = re.fullmatch(r"cg([12])", words[-1])
    size, _, warps = shape.partition("_")
    return [_spell_copy(group[1], size, warps, "".join(formats))] if group else []


def _spell_copy(group: str, size: str, warps: str, source: str) -> str:
    """Spell tcgen05.cp; warps: warpx2_02_13, source: b6x16_p32, "" for none."""
    multicast = f".{warps.replace('_', '::', 1)}" if warps else ""
    return f"tcgen05.cp.cta_group::{group}.{size}{multicast}{f'.b8x16.{source}' if source else ''}"


def _parse_mma(words: list[str], arguments: str) -> list[str]:
    """Parse tcgen05.mma.shared(…, i32 kind, i32 group, …) and tcgen05.mma.tensor.mxf4.block_scale(…, i32 group, …)."""
    numbers = [int(number) for number in re.findall(r"\bi32 (\d+)", arguments)]
    scaled = next((word for word in words if word.startswith("mxf")), "")
    kind = scaled or (_KINDS[numbers.pop(0)] if numbers and numbers[0] < len(_KINDS) else "")
    named = next((word[2:] for word in words if re.fullmatch("cg[12]", word)), "")
    group = "1" if "ws" in words else named or (str(numbers[0]) if numbers else "")
    if not kind or group not in ("1", "2"):
        return []
    form = "".join(f".{word}" for word in ("ws", "sp") if word in words)
    block = "".join(f".{word}" for word in words if word in ("block_scale", "block16", "block32", "ashift"))
    return [f"tcgen05.mma{form}.cta_group::{group}.kind::{kind}{block}"]


def _parse_operation(op: str, name: str, rest: str) -> list[str]:
    shape = re.search(r"\bshape_(\d+x\d+b(?:x2)?)\b", rest)
    group = re.search(r"\bcta_([12])\b", rest)
    group_text = group[1] if group else "1"
    if op == "mma":
        kind = re.search(r"(?:mma_kind<|\bkind ?= ?)(\w+)", rest)
        form = "".join(f".{word}" for word in ("ws", "sp") if f".{word}" in name)
        scale = ".block_scale" if "block_scale" in name else ""
        return [f"tcgen05.mma{form}.cta_group::{group_text}.kind::{kind[1]}{scale}"] if kind else []
    if shape is None:
        return []
    if op == "cp":
        warps = re.search(r"\bwarpx(?:4|2_0[12]_[12]3)\b", rest)
        source = re.search(r"\bb(?:6x16_p32|4x16_p64)\b", rest)
        return [_spell_copy(group_text, shape[1], warps[0] if warps else "", source[0] if source else "")]
    registers = re.search(r": ?(?:vector<(\d+) ?x ?i32>|i32\b)", rest.partition("}")[2] or rest)
    if registers is None or shape[1] not in _REGISTERS:
        return []
    count = int(registers[1] or 1) // _REGISTERS[shape[1]]
    pack = _PACKED[op] if re.search(r"\b(?:un)?pack\b", rest.partition(" : ")[0]) else ""
    return [f"tcgen05.{op}.sync.aligned.{shape[1]}.x{count}{pack}.b32"]
