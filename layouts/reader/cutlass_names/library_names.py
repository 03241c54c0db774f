"""Matrix instructions as libraries name them: TileLang's generated code, CUTLASS 2's Mma, MLIR types of CuTe's DSL,
MLIR's gpu.subgroup_mma, layouts of IREE and macros of nvFuser.

Sources: TileLang, src/tl_templates/cuda/instruction; CUTLASS, include/cutlass/arch/mma_sm*.h; dumps of CuTe DSL
kernels; LLVM, GPUOps.td and WmmaOpsToNvvm.cpp; IREE, IREEGPUEnums.td; NVIDIA/Fuser, csrc/mma_type.h. Each function
returns the possible PTX opcodes of a match, [] if it says too little.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator

from lanescope.cxx.sizes import ELEMENT_NAMES

_MOST = 64  # names per text
TYPES = {  # types of elements as TVM, TileLang, MLIR, LLVM and CUTLASS call them → PTX's
    **{name: ptx for name, ptx in ELEMENT_NAMES.items() if name != "fp8_t"},  # which may be either
    **{f"Float{bits}": f"f{bits}" for bits in (16, 32, 64)},
    **{"BFloat16": "bf16", "TensorFloat32": "tf32", "f32": "f32", "f64": "f64", "uint1b_t": "b1", "int": "s32"},
    **{name: kind for kind in ("e4m3", "e5m2") for name in (f"float8_{kind}", f"Float8_{kind}", f"{kind}_float8")},
    **{"f8E4M3FN": "e4m3", "f8E5M2": "e5m2", "int8_t": "s8", "uint8_t": "u8", "int32_t": "s32"},
    **{f"{name}{bits}": f"s{bits}" for name in ("Int", "int", "s", "i", "si") for bits in (4, 8, 32)},
    **{f"{name}{bits}": f"u{bits}" for name in ("UInt", "uint", "u", "ui") for bits in (4, 8)},
    **dict.fromkeys(("b1", "int1", "uint1"), "b1"),
}
_KINDS = {"f16": "f16", "bf16": "f16", "tf32": "tf32", "s8": "i8", "u8": "i8", "e4m3": "f8f6f4", "e5m2": "f8f6f4"}
_ROW_COL = re.compile(r"false,\s*true")
_LAYOUTS = {"RowMajor": "row", "ColumnMajor": "col"}
_OPERATIONS = {"OpMultiplyAddSaturate": ".satfinite", "OpXorPopc": ".xor.popc", "OpAndPopc": ".and.popc"}


def _spell_tilelang_product(match: re.Match[str]) -> list[str]:
    """Spell tl::mma_sync<A, B, C, M, N, K, false, true> and tl::wgmma_ss<A, B, C, M, N, K, …>."""
    a, b, d = (TYPES.get(match[name], "") for name in "abd")
    shape = f"m{match['m']}n{match['n']}k{match['k']}"
    if not (a and b and d):
        return []
    if match["op"] == "mma_sync":
        return [f"mma.sync.aligned.{shape}.row.col.{d}.{a}.{b}.{d}"] if _ROW_COL.fullmatch(match["flags"]) else []
    return [f"wgmma.mma_async.sync.aligned.{shape}.{d}.{a}.{b}"]


def _spell_tilelang_move(match: re.Match[str]) -> list[str]:
    trans = ".trans" if match["trans"] else ""
    return [f"{match['op']}.sync.aligned.m8n8.x{match['count']}{trans}.shared.b16"]


def _spell_tilelang_tensor(match: re.Match[str]) -> list[str]:
    """Spell tl::tcgen05mma_ss<type of A and B, two CTAs>."""
    kind = _KINDS.get(TYPES.get(match["a"], ""))
    return [f"tcgen05.mma.cta_group::{2 if match['pair'] == 'true' else 1}.kind::{kind}"] if kind else []


def _spell_cutlass_product(match: re.Match[str]) -> list[str]:
    """Spell arch::Mma<GemmShape<16, 8, 16>, 32, half_t, RowMajor, half_t, ColumnMajor, float, RowMajor, operation>."""
    sizes = [size.strip() for size in match["sizes"].split(",")]
    names = [re.sub(r"\s*(?:\w+::)+", "", name).strip() for name in match["rest"].split(",")]
    if len(names) < 5:  # the end is left out
        return []
    a, b, d = (TYPES.get(names[at], "") for at in (0, 2, 4))
    layouts = [_LAYOUTS.get(names[at], "") for at in (1, 3)]
    if not (all(layouts) and a and b and d and int(sizes[0]) > 1):
        return []
    operation = _OPERATIONS.get(names[6], "") if len(names) > 6 else ""
    before, after = (operation, "") if operation == ".satfinite" else ("", operation)
    return [f"mma.sync.aligned.m{sizes[0]}n{sizes[1]}k{sizes[2]}.{'.'.join(layouts)}{before}.{d}.{a}.{b}.{d}{after}"]


def _spell_atom(match: re.Match[str]) -> list[str]:
    """Spell !cute_nvgpu.sm90.mma<64x128x16, …, elem_type = (f16, f16, f32), …>: types of A, B and D."""
    types = [TYPES.get(name.strip(), "") for name in match["types"].split(",")[:3]]
    if len(types) != 3 or not all(types):
        return []
    a, b, d = types
    shape = "m{}n{}k{}".format(*match["shape"].split("x"))
    pair = re.search(r"num_cta = (\d)", match[0])
    if match["sm"] == "100":
        return [f"tcgen05.mma.cta_group::{pair[1]}.kind::{_KINDS[a]}"] if pair and a in _KINDS else []
    if match["sm"] == "90":
        return [f"wgmma.mma_async.sync.aligned.{shape}.{d}.{a}.{b}"]
    return [f"mma.sync.aligned.{shape}.row.col.{d}.{a}.{b}.{d}"]


def _spell_move_atom(match: re.Match[str]) -> list[str]:
    opcode = {"ldsm": "ldmatrix", "stsm": "stmatrix"}[match["op"]]
    trans = ".trans" if match["way"] == "t" else ""
    return [f"{opcode}.sync.aligned.m8n8.x{match['count']}{trans}.shared.b16"]


def _spell_tensor_atom(match: re.Match[str]) -> list[str]:
    """Spell !cute_nvgpu.atom.tmem_load<f32, 32 DP, 32 bit, x16>: lanes, bits of each, and times."""
    opcode = {"load": "ld", "store": "st"}[match["op"]]
    return [f"tcgen05.{opcode}.sync.aligned.{match['lanes']}x{match['bits']}b.x{match['count']}.b32"]


def _spell_subgroup_load(match: re.Match[str]) -> list[str]:
    """Spell gpu.subgroup_mma_load_matrix … {leadDimension = 32 : index} : … -> !gpu.mma_matrix<16x16xf16, "AOp">."""
    rows, columns, element = match["rows"], match["columns"], TYPES.get(match["element"], "")
    letter = match["letter"].lower()
    layout = "col" if re.search(r"\btranspose\b", match[0]) else "row"
    shapes = {"a": ("m{0}", "k{1}"), "b": ("n{1}", "k{0}"), "c": ("m{0}", "n{1}")}[letter]
    found = {part.format(rows, columns)[0]: part.format(rows, columns) for part in shapes}
    return [
        f"wmma.load.{letter}.sync.aligned.{layout}.{shape}.{element}"
        for shape in ("m16n16k16", "m32n8k16", "m8n32k16", "m16n16k8")
        if element and all(re.search(rf"{size}(?!\d)", shape) for size in found.values())
    ]


def _spell_subgroup_product(match: re.Match[str]) -> list[str]:
    """Spell gpu.subgroup_mma_compute: the loads decide the layouts of A and B."""
    a, d = (TYPES.get(match[name], "") for name in ("a", "d"))
    shape = f"m{match['m']}n{match['n']}k{match['k']}"
    types = f"{d}.{d}" if a == "f16" else f"{d}.{a}.{a}.{d}"
    ways = itertools.product(("row", "col"), repeat=2)
    return [f"wmma.mma.sync.aligned.{'.'.join(way)}.{shape}.{types}" for way in ways] if a and d else []


def _spell_iree_layout(match: re.Match[str]) -> list[str]:
    """Spell #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>: type of D, shape, type of A and B."""
    shape = "m{}n{}k{}".format(*match["shape"].split("x"))
    d, a = match["d"].lower(), match["a"].lower()
    if match["op"] == "MMA_SYNC":
        return [f"mma.sync.aligned.{shape}.row.col.{d}.{a}.{a}.{d}"]
    ways = itertools.product(("row", "col"), repeat=2)
    return [f"wmma.mma.sync.aligned.{'.'.join(way)}.{shape}.{d}.{d}" for way in ways] if a == "f16" else []


def _spell_fuser_macro(match: re.Match[str]) -> list[str]:
    """Spell MmaMacro::Hopper_64_256_16, of 16-bit A and B with sums in f32."""
    shape = "m{}n{}k{}".format(*match["shape"].split("_"))
    if ctas := match["ctas"]:
        return [f"tcgen05.mma.cta_group::{ctas}.kind::f16"]
    if match["arch"] == "Hopper":
        return [f"wgmma.mma_async.sync.aligned.{shape}.f32.{a}.{a}" for a in ("f16", "bf16")]
    shape = shape.replace("n16", "n8")  # two of them side by side
    types: tuple[str, ...] = ("f16", "bf16")
    if match["arch"] == "Turing":  # sm_75 has m16n8k8 alone
        shape, types = shape.replace("k16", "k8"), ("f16",)
    return [f"mma.sync.aligned.{shape}.row.col.f32.{a}.{a}.f32" for a in types]


_PAIR = r'!gpu\.mma_matrix<{0}x{1}x(?P<{2}>\w+), "{3}Op">'
_NAMES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], list[str]]], ...] = (
    (
        re.compile(
            r"\btl::(?P<op>mma_sync|wgmma_[sr]s)<\s*(?:tl::)?DataType::k(?P<a>\w+),\s*(?:tl::)?DataType::k(?P<b>\w+),\s*"
            r"(?:tl::)?DataType::k(?P<d>\w+),\s*(?P<m>\d+),\s*(?P<n>\d+),\s*(?P<k>\d+),\s*"
            r"(?P<flags>(?:true|false),\s*(?:true|false))"
        ),
        _spell_tilelang_product,
    ),
    (
        re.compile(r"\btl::ptx_(?P<op>ldmatrix|stmatrix)(?:_m8n8)?_x(?P<count>[124])(?P<trans>_trans)?\b"),
        _spell_tilelang_move,
    ),
    (
        re.compile(r"\btl::tcgen05mma_[st]s<\s*(?:tl::)?DataType::k(?P<a>\w+)(?:,\s*(?P<pair>true|false))?\s*>"),
        _spell_tilelang_tensor,
    ),
    (
        re.compile(
            r"\barch::Mma<\s*(?:\w+::)*GemmShape<(?P<sizes>\s*\d+,\s*\d+,\s*\d+\s*)>,\s*32,(?P<rest>[^<>]{20,400})>"
        ),
        _spell_cutlass_product,
    ),
    (
        re.compile(
            r"\bcute_nvgpu\.sm(?P<sm>80|90|100)\.mma<(?P<shape>\d+x\d+x\d+),[^<>]{0,120}"
            r"elem_type = \((?P<types>[^()]*)\)"
        ),
        _spell_atom,
    ),
    (
        re.compile(
            r"\bcute_nvgpu\.atom\.(?P<op>ldsm|stsm)<(?:val_type = )?\w+, mode = <\"\(8,8\)\">,"
            r"(?: sz_pattern = u16,)? num_matrices = (?P<count>[124]), (?P<way>[nt])>"
        ),
        _spell_move_atom,
    ),
    (
        re.compile(
            r"\bcute_nvgpu\.atom\.tmem_(?P<op>load|store)<\w+, (?P<lanes>16|32) DP, (?P<bits>\d+) bit, x(?P<count>\d+)>"
        ),
        _spell_tensor_atom,
    ),
    (
        re.compile(
            r"\bgpu\.subgroup_mma_load_matrix\b[^>]{0,200}>?[^>]{0,80}-> "
            r'!gpu\.mma_matrix<(?P<rows>\d+)x(?P<columns>\d+)x(?P<element>\w+), "(?P<letter>[ABC])Op">'
        ),
        _spell_subgroup_load,
    ),
    (
        re.compile(
            r"\bgpu\.subgroup_mma_compute\b[^!]{0,120}"
            + _PAIR.format(r"(?P<m>\d+)", r"(?P<k>\d+)", "a", "A")
            + r",\s*"
            + _PAIR.format(r"\d+", r"(?P<n>\d+)", "b", "B")
            + r"\s*->\s*"
            + _PAIR.format(r"\d+", r"\d+", "d", "C")
        ),
        _spell_subgroup_product,
    ),
    (
        re.compile(r"\bNV_(?P<op>MMA_SYNC|WMMA)_(?P<d>F32|F16)_(?P<shape>\d+x\d+x\d+)_(?P<a>F16|BF16)\b"),
        _spell_iree_layout,
    ),
    (
        re.compile(r"\bMmaMacro::(?P<arch>Turing|Ampere|Hopper|Blackwell(?P<ctas>[12])CTA)_(?P<shape>\d+_\d+_\d+)\b"),
        _spell_fuser_macro,
    ),
)


def list_spellings(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (place, possible PTX opcodes) of each name in a text."""
    for pattern, spell in _NAMES:
        for match, _ in zip(pattern.finditer(text), range(_MOST), strict=False):
            yield match.start(), spell(match)
