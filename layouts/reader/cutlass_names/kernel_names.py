"""Recognise the names of CUTLASS's and cuBLAS's kernels, as profilers print them, and find their MMA instruction.

CUTLASS 4: python/cutlass_library/gemm_operation.py and library.py; a name spells types, tile and layouts, and before
3.x the instruction's shape. In 3.x the collective builder chooses it: sm90_common.inl, mma_sm90.hpp (ss_op_selector),
sm100_common.inl. cuBLAS's names (ampere_fp16_s16816gemm_…, sm80_xmma_gemm_…) are not documented; they spell shape and
types as CUTLASS's do, and SASS agrees where it was printed beside the name. nvjet_… does not say the instruction.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import takewhile

from lanescope.ptx import catalog
from lanescope.ptx.dtypes import DTYPES
from lanescope.ptx.instruction import Instruction
from lanescope.reader.cutlass_names.cutlass import SELECTED_N, recognise_cutlass_atoms
from lanescope.reader.meaning import TextMeaning, drop_repeats, make_instruction_meaning

Shape = tuple[int, int, int]
_MOST, _LONGEST = 8, 400  # kernels per text; characters of a name
_NAME = re.compile(
    r"(?<![A-Za-z0-9])(?:cutlass\w*?_|nvjet_|sm\d+_xmma_|(?:trt_)?(?:volta|turing|ampere|ada|hopper)_)\w*"
)
_MANGLED = re.compile(r"(?<!\w)_Z\w+")
_LENGTH = re.compile(r"(?<!L[a-z])(?<![LST\d])[1-9]\d{0,3}(?=[A-Za-z_])")  # no literal (Li64E), no substitution (S5_)
_TYPES = {
    **{name: name for name in DTYPES},
    **{"fp16": "f16", "fp32": "f32", "fp64": "f64", "int8": "s8", "uint8": "u8", "int4": "s4"},
}
_TYPE = "|".join(sorted(_TYPES, key=len, reverse=True))
_SHAPE = r"\d{1,4}x\d{1,4}x\d{1,4}"
_CORE = re.compile(  # s16816gemm, s1688tf32gemm, s64x128x16gemm, i168256xorgemm, h884cudnn, s16816fprop
    rf"_(?P<sum>[hsid])(?P<shape>{_SHAPE}|\d{{3,6}})(?P<bits>xor|and)?(?:fastaccum)?(?P<inside>{_TYPE})?"
    r"(?P<product>[a-z]+)(?=_|$)"
)
_THIRD = re.compile(  # of CUTLASS 3.x: the types of A, B and the sums, with a block-scaled operand's factors before it
    rf"_sm(?P<target>\d{{2,4}})_(?P<kind>bs|sp|bssp)?tensorop_(?:[hsid](?P<shape>{_SHAPE}))?[a-z_]*?gemm[a-z_]*?"
    rf"_(?:(?P<factor>ue\dm\d)x)?(?P<a>{_TYPE})_(?:ue\dm\dx)?(?P<b>{_TYPE})_(?P<sum>{_TYPE})_"
)
_XMMA = re.compile(rf"_xmma_\w*?_(?:{_TYPE}){{2}}_(?P<a>{_TYPE})(?P<sum>{_TYPE})_")
_TENSOR = re.compile(rf"_tensor({_SHAPE})(?=_|$)")
_TILE = re.compile(r"_(?:tilesize)?(\d{1,4})x(\d{1,4})(?:x|_)(\d{1,4})(?:x\d{1,4})?(?=_|$)")
_TILE_WORD = re.compile(r"\d+x\d+")
_ROUNDED = re.compile(r"\.r[nzmp]\.")
_LAYOUTS = re.compile(r"_(?P<a>[nt])(?P<b>[nt])(?:_?[nt])?(?=_|$)")
_SUMS = {"s": "f32", "h": "f16", "i": "s32", "d": "f64"}
_WGMMA_BITS = 256  # of K, in a row of A
_CUBLAS = "NVIDIA does not document cuBLAS's names. Shape and types are read as in CUTLASS's names."


@dataclass(frozen=True, slots=True)
class KernelName:
    """What a kernel's name says about its instruction. types: pairs that A and B may have; () if it does not say."""

    opcode: str  # or this with a qualifier: mma.sp::ordered_metadata
    shapes: tuple[Shape, ...]
    sum: str
    types: tuple[tuple[str, str], ...]
    words: tuple[str, ...] = ()  # one of them is in the PTX text
    ending: str = ""  # of the PTX text: the type of scale factors

    def list_instructions(self) -> list[Instruction]:
        """Return the instructions that fit; of those that differ only in rounding, the one that rounds as usual."""
        return [
            instruction
            for instruction in catalog.instructions()
            if _has_opcode(instruction, self.opcode)
            and tuple(instruction.sizes.get(size) for size in "mnk") in self.shapes
            and {self.sum} == {instruction.types[name] for name in ("c", "d") if name in instruction.types}
            and (not self.types or (instruction.types.get("a"), instruction.types.get("b")) in self.types)
            and (not self.words or any(word in instruction.ptx for word in self.words))
            and instruction.ptx.endswith(self.ending)
            and not _ROUNDED.search(instruction.ptx)
        ]


def recognise_kernel_names(text: str) -> tuple[TextMeaning, ...]:
    """Return the instructions of the kernels that a text names; () without such a name.

    A mangled name is read by its identifiers: the name of a kernel, or the atom of its TiledMMA.
    """
    if mangled := " ".join(_list_identifiers(text)):
        return recognise_kernel_names(mangled) or recognise_cutlass_atoms(mangled)
    found = dict.fromkeys(match[0] for match in _NAME.finditer(text) if len(match[0]) <= _LONGEST)
    names = list(found)[:_MOST]
    return drop_repeats((meaning for name in names for meaning in _recognise_name(name)), _MOST)


def _list_identifiers(text: str) -> Iterator[str]:
    """Yield the identifiers of mangled names (Itanium C++ ABI): each stands behind its length."""
    for mangled in _MANGLED.finditer(text):
        name, at = mangled[0], 0
        while match := _LENGTH.search(name, at):
            at = match.end() + int(match[0])
            yield name[match.end() : at]


def _recognise_name(name: str) -> Iterable[TextMeaning]:
    if name.startswith("nvjet_"):
        notice = (
            "The name of a cuBLAS kernel (nvjet) does not say its instruction. Its SASS does: cuobjdump -sass, or the"
            " source view of Nsight Compute."
        )
        return (TextMeaning("topic", f"{name}: a kernel of cuBLAS", {"topic": "kernel_name"}, (notice,)),)
    notices = tuple(_list_notices(name))
    if tensor := _find_tensor_memory(name):
        return make_instruction_meaning(tensor, "A CUTLASS kernel", notices)
    parsed = _parse_name(name)
    instructions = parsed.list_instructions() if parsed else []
    return make_instruction_meaning(instructions, "A kernel's name", notices)


def _parse_name(name: str) -> KernelName | None:
    """Parse the name of a kernel without tcgen05; None if it does not say its MMA instruction."""
    if third := _THIRD.search(name):
        return _parse_third(third, name)
    if xmma := _XMMA.search(name):
        return _parse_xmma(xmma, name)
    return _parse_core(core) if (core := _CORE.search(name)) else None


def _parse_core(core: re.Match[str]) -> KernelName | None:
    """Parse a name that has the instruction's shape: s16816gemm_bf16."""
    name, total = core.string, _SUMS[core["sum"]]
    sparse = core["product"] == "spgemm" or "_sptensorop" in name
    opcode = "wmma.mma" if "_wmma_" in name else "mma.sp" if sparse else "mma"
    words = (f".{core['bits']}.",) if core["bits"] else ()
    if layouts := _LAYOUTS.search(name) if "_wmma_" in name else None:
        words = (f".{_name_layout(layouts['a'])}.{_name_layout(layouts['b'])}.",)
    return KernelName(opcode, _split_shape(core["shape"], opcode), total, _list_types(core, total), words)


def _list_types(core: re.Match[str], total: str) -> tuple[tuple[str, str], ...]:
    """Return the types of A and B: inside the core, after it, or if it stands before a tile, those of the sums."""
    if core["inside"]:
        return ((_TYPES[core["inside"]],) * 2,)
    words = core.string[core.end() :].strip("_").split("_")
    before = list(takewhile(lambda word: not _TILE_WORD.match(word), words))
    types = [_multiply_as(_TYPES[word]) for word in before if word in _TYPES]
    if not types and len(before) == len(words):
        return ()
    a = types[0] if types else _multiply_as(total)
    return ((a, types[1] if len(types) == 2 else a),)


def _multiply_as(name: str) -> str:
    """Return the type in which tensor cores multiply: f32 as several products of TF32."""
    return "tf32" if name == "f32" else name


def _parse_third(third: re.Match[str], name: str) -> KernelName | None:
    """Parse a name of CUTLASS 3.x for mma.sync of sm_120 or wgmma of sm_90; None for other targets."""
    if third["target"] == "90":
        return _parse_wgmma(third, name)
    return _parse_scaled(third) if third["target"] in ("120", "121") else None


def _parse_scaled(third: re.Match[str]) -> KernelName:
    """Parse a name for sm_120, whose kinds of mma.sync follow from types and scale factors."""
    kinds = tuple(f".kind::{kind}." for kind in _list_kinds(third) if kind.startswith(("mx", "f8")))
    opcode = "mma.sp::ordered_metadata" if third["kind"] in ("sp", "bssp") else "mma"
    pair = (_TYPES[third["a"]], _TYPES[third["b"]])
    shapes = tuple((16, 8, k) for k in (32, 64, 128))
    return KernelName(opcode, shapes, _TYPES[third["sum"]], (pair,), kinds, third["factor"] or "")


def _parse_wgmma(third: re.Match[str], name: str) -> KernelName:
    """Parse a name for sm_90, whose builder makes N as large as the tile allows."""
    a, b = (_multiply_as(_TYPES[third[each]]) for each in ("a", "b"))
    bits = max(DTYPES[a].bits, DTYPES[b].bits)
    if DTYPES[a].bits != DTYPES[b].bits:  # the narrower operand is converted first
        a = b = a if DTYPES[a].bits == bits else b
    sparse = third["kind"] == "sp"
    opcode = "wgmma.mma_async.sp" if sparse else "wgmma.mma_async"
    total = _TYPES[third["sum"]]
    if third["shape"]:
        return KernelName(opcode, _split_shape(third["shape"], opcode), total, ((a, b),))
    tile = _find_tile(name)
    wide = tile[1:2] if third["a"] == third["b"] else tile[:2]  # operands of two types may be exchanged
    sizes = dict.fromkeys(next(n for n in SELECTED_N if size % n == 0) for size in wide if size % 8 == 0)
    k = _WGMMA_BITS * (2 if sparse else 1) // bits
    return KernelName(opcode, tuple((64, n, k) for n in sizes), total, ((a, b),))


def _parse_xmma(xmma: re.Match[str], name: str) -> KernelName | None:
    """Parse a name of cuBLAS with `xmma`: of mma.sync it has the shape, of wgmma only the tile."""
    a, total = _TYPES[xmma["a"]], _TYPES[xmma["sum"]]
    if tensor := _TENSOR.search(name):
        return KernelName("mma", _split_shape(tensor[1], "mma"), total, ((a, a),))
    if "_warpgroupsize" not in name:
        return None
    k = _WGMMA_BITS // DTYPES[a].bits
    shapes = tuple((64, n, k) for size in _find_tile(name)[1:2] for n in range(8, 257, 8) if size % n == 0)
    return KernelName("wgmma.mma_async", shapes, total, ((a, a),))


def _find_tensor_memory(name: str) -> list[Instruction]:
    """Return the tcgen05.mma of a CUTLASS 3.x kernel for sm_100 and newer; [] for other names."""
    third = _THIRD.search(name)
    if third is None or not 100 <= int(third["target"]) < 120:
        return []
    sparse = ".sp" if third["kind"] in ("sp", "bssp") else ""
    groups = (2,) if "_2sm" in name else (1,) if "_1sm" in name else (1, 2)
    found = (
        catalog.find_instruction(f"tcgen05.mma{sparse}.cta_group::{group}.kind::{kind}")
        for kind in _list_kinds(third)
        for group in groups
    )
    return [instruction for instruction in found if instruction is not None]


def _list_kinds(third: re.Match[str]) -> Iterator[str]:
    """Yield the kinds of tcgen05.mma that multiply the types of a name."""
    a, b = _TYPES[third["a"]], _TYPES[third["b"]]
    if third["factor"]:
        four = a == b == "e2m1"
        if four and third["factor"] == "ue4m3":
            yield from ("mxf4nvf4.block_scale.scale_vec::4X", "mxf4nvf4.block_scale.block16")
        elif four:
            yield from ("mxf4.block_scale", "mxf4nvf4.block_scale.scale_vec::2X", "mxf8f6f4.block_scale")
        else:
            yield "mxf8f6f4.block_scale"
    elif a in ("f16", "bf16"):
        yield "f16"
    elif a in ("f32", "tf32"):
        yield "tf32"
    elif a in ("s8", "u8"):
        yield "i8"
    else:
        yield "f8f6f4"


def _has_opcode(instruction: Instruction, opcode: str) -> bool:
    text = instruction.family.opcode.text
    return text == opcode or text.startswith(f"{opcode}::")


def _split_shape(text: str, opcode: str) -> tuple[Shape, ...]:
    """Return the shapes of an opcode that a text spells: 64x128x16, or digits in a row, 16816."""
    if "x" in text:
        m, n, k = map(int, text.split("x"))
        return ((m, n, k),)
    sizes = {
        (each.sizes["m"], each.sizes["n"], each.sizes["k"])
        for each in catalog.instructions()
        if _has_opcode(each, opcode)
    }
    return tuple(sorted(shape for shape in sizes if "".join(map(str, shape)) == text))


def _find_tile(name: str) -> tuple[int, ...]:
    """Return M, N and K of a block's tile; () if the name has none."""
    match = _TILE.search(name)
    return tuple(map(int, match.groups())) if match else ()


def _list_notices(name: str) -> Iterator[str]:
    """Yield what else a name says: the tile, the layouts of A and B in global memory, and who made the name."""
    if tile := _find_tile(name):
        yield f"Tile {'×'.join(map(str, tile))} (M×N×K)."
    if layouts := _LAYOUTS.search(name):
        a, b = ("row-major" if layouts[each] == "t" else "column-major" for each in ("a", "b"))
        yield f"In global memory A is {a}, B {b}."
    if not name.startswith("cutlass"):
        yield _CUBLAS


def _name_layout(letter: str) -> str:
    return "row" if letter == "t" else "col"
