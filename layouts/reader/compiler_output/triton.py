"""Recognise Triton's layouts: MLIR attributes (`#ttg.blocked<{…}>`, `#triton_gpu.…`, `#ttng.…`) and Gluon's classes.

Triton 3.9: TritonGPU's attributes (TritonGPUAttrDefs.td) and triton/experimental/gluon/language/_layouts.py. Names and
values are MLIR's, for Gluon's classes too; an alias (`#mma = #ttg.nvidia_mma<…>`) is looked up in the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from lanescope.cxx.sizes import ELEMENT_BITS, find_mlir_bits
from lanescope.inputs import shorten_value
from lanescope.ptx import catalog
from lanescope.ptx.instruction import WARP, WARPGROUP, Instruction
from lanescope.reader.compiler_output import amd_layouts, gluon, printed_linear
from lanescope.reader.compiler_output.triton_rules import find_broken_rules
from lanescope.reader.grammars import terms
from lanescope.reader.grammars.terms import SyntaxTerm, TermText
from lanescope.reader.meaning import TextMeaning
from lanescope.triton.amd import NOTICE, is_amd
from lanescope.triton.parameters import SHARED

_DIALECTS = r"(?:ttg|triton_gpu|ttng|triton_nvidia_gpu|gluon)"
_ATTRIBUTE = re.compile(rf"\#{_DIALECTS}\.\w+\s*(?:<|(?![\w.<]))")
_GLUON = re.compile(
    r"(?<![\w.])(?:\w+\.){0,4}(?:BlockedLayout|SliceLayout|DotOperandLayout|NVMMADistributedLayout|"
    r"DistributedLinearLayout|NVMMASharedLayout|SwizzledSharedLayout|PaddedSharedLayout|SharedLinearLayout|"
    r"TensorMemoryLayout|TensorMemoryScalesLayout|AMDMFMALayout|AMDWMMALayout|AutoLayout|CoalescedLayout)"
    r"(?:\.(?:with_identity_for|get_default_for))?\s*\("
)
_TENSOR = re.compile(
    r"(?:tensor|memdesc|tensor_memory_descriptor)\s*<\s*((?:\d+x)+)([a-zA-Z]\w*)\s*,\s*(\#\w+(?:\.\w+)?)"
)
_MOST_LISTED = 48
_LONGEST_SHAPE = 128  # characters of a tensor's sizes
_MOST_LAYOUTS = 16


@dataclass(frozen=True, slots=True)
class GluonClass:
    """A Gluon class: its MLIR attribute, and its parameters in order."""

    attribute: str
    names: tuple[tuple[str, str], ...]  # (Python's name, MLIR's name)


def _make_gluon_class(attribute: str, names: str) -> GluonClass:
    pairs = (word.partition(":") for word in names.split())
    return GluonClass(attribute, tuple((python_name, two or python_name) for python_name, _, two in pairs))


GLUON = {
    "BlockedLayout": _make_gluon_class(
        "blocked",
        "size_per_thread:sizePerThread threads_per_warp:threadsPerWarp warps_per_cta:warpsPerCTA order"
        " cga_layout:CGALayout",
    ),
    "SliceLayout": _make_gluon_class("slice", "dim parent"),
    "DotOperandLayout": _make_gluon_class("dot_op", "operand_index:opIdx parent k_width:kWidth"),
    "NVMMADistributedLayout": _make_gluon_class(
        "nvidia_mma", "version warps_per_cta:warpsPerCTA instr_shape:instrShape cga_layout:CGALayout"
    ),
    "DistributedLinearLayout": _make_gluon_class(
        "linear", "reg_bases:register lane_bases:lane warp_bases:warp block_bases:block shape"
    ),
    "NVMMASharedLayout": _make_gluon_class(
        "nvmma_shared",
        "swizzle_byte_width:swizzlingByteWidth element_bitwidth:elementBitWidth rank transposed"
        " fp4_padded:fp4Padded cga_layout:CGALayout",
    ),
    "SwizzledSharedLayout": _make_gluon_class(
        "swizzled_shared", "vec per_phase:perPhase max_phase:maxPhase order cga_layout:CGALayout"
    ),
    "PaddedSharedLayout": _make_gluon_class(
        "padded_shared", "interval_padding_pairs offset_bases:offset cga_layout:block shape"
    ),
    "SharedLinearLayout": _make_gluon_class("shared_linear", "offset_bases:offset block_bases:block alignment"),
    "TensorMemoryLayout": _make_gluon_class(
        "tensor_memory_encoding",
        "block col_stride:colStride cga_layout:CGALayout two_ctas:twoCTAs fp4_padded:fp4Padded",
    ),
    "TensorMemoryScalesLayout": _make_gluon_class(
        "tensor_memory_scales_encoding", "cga_layout:CGALayout block_rep_order:blockRepOrder"
    ),
    "AMDMFMALayout": _make_gluon_class("amd_mfma", amd_layouts.MFMA_NAMES),
    "AMDWMMALayout": _make_gluon_class("amd_wmma", amd_layouts.WMMA_NAMES),
    "AutoLayout": _make_gluon_class("auto_encoding", ""),
    "CoalescedLayout": _make_gluon_class("coalesced_encoding", ""),
}
_REFUSED = {
    "amd_rotating_shared": "This is a shared-memory layout for AMD GPUs.",
    "auto_encoding": "The compiler has not chosen this layout yet, so it does not map elements to lanes.",
    "coalesced_encoding": "The compiler has not chosen this layout yet, so it does not map elements to lanes.",
    "partitioned_shared": "This is a partitioned shared-memory layout for AMD GPUs.",
}
_NOTED = {
    "tensor_memory_encoding": "A layout of tensor memory (tcgen05). For D of an MMA, see /tmem.",
    "tensor_memory_scales_encoding": "A layout of tensor memory (tcgen05). For scale factors, see /tmem.",
}
_OF_VERSIONS = (  # of nvidia_mma
    (1, "versionMajor 1 is Volta's layout, which Triton no longer supports."),
    (5, "versionMajor 5 is tcgen05: D is in tensor memory, with the layout #ttng.tensor_memory_encoding."),
)
_SHARED = frozenset((*SHARED, "shared"))
_KNOWN = frozenset(row.attribute for row in GLUON.values()) | {"generic_linear"} | _SHARED | frozenset(_REFUSED)
_OF_CLUSTERS = ("CTAsPerCGA", "CTASplitNum", "CTAOrder")
_MEMORY_SPACES = frozenset("shared_memory tensor_memory smem".split())


def read_layouts(text: str) -> tuple[TextMeaning, ...]:
    """Return the Triton layouts of a text. LayoutError if it is a linear layout without its bases."""
    meanings = recognise_triton_layouts(text)
    if not meanings:
        printed_linear.refuse_open_call(text)
    return meanings


def recognise_triton_layouts(text: str) -> tuple[TextMeaning, ...]:
    """Return the Triton layouts of a text that are not part of another, without repeats."""
    text = printed_linear.spell_printed_layouts(text)
    if not (_ATTRIBUTE.search(text) or _GLUON.search(text)):
        return ()
    home = terms.make_term_text(text)
    shapes = _find_tensor_shapes(text)
    layouts: dict[str, TextMeaning] = {}
    inner: set[str] = set()
    for pattern, known in ((_ATTRIBUTE, _parse_attribute), (_GLUON, _parse_gluon)):
        for term in terms.find_terms(home, pattern):
            attribute, params = known(home, term)
            if attribute is None or params is None:
                continue
            parent = params.get("parent")
            if isinstance(parent, dict) and "attribute" in parent:
                inner.add(format_mlir(parent["attribute"], parent["params"]))
            words = format_mlir(attribute, params)
            if words not in layouts and len(layouts) < _MOST_LAYOUTS:
                alias = _find_alias(text, term.span[0])
                layouts[words] = _make_meaning(
                    attribute, params, words, shapes.get(alias or "") or shapes.get("", None)
                )
    outer = [meaning for words, meaning in layouts.items() if words not in inner]
    parents = [meaning for words, meaning in layouts.items() if words in inner]
    return (*outer, *parents)


def _find_alias(text: str, at: int) -> str | None:
    """Return the alias of a layout: #name in `#name = #ttg.…`, or the variable of a Gluon layout."""
    match = re.search(r"(\#?\w+)\s*(?::[^=\n]*)?=\s*$", text[max(0, at - 120) : at])
    return match[1] if match else None


def _find_tensor_shapes(text: str) -> dict[str, tuple[list[int], int | None]]:
    """Map each layout to (shape, element bits) of its tensors; the key "" is for a text with one attribute in place."""
    shapes: dict[str, tuple[list[int], int | None]] = {}
    for match in _TENSOR.finditer(text):
        if len(match[1]) > _LONGEST_SHAPE:
            continue
        sizes = [int(n) for n in match[1].strip("x").split("x")]
        kind = match[2]
        bits = find_mlir_bits(kind) or ELEMENT_BITS.get(kind)
        name = "" if re.match(rf"\#{_DIALECTS}\.", match[3]) else match[3]
        shapes.setdefault(name, (sizes, bits))
    return shapes


def _parse_attribute(home: TermText, term: SyntaxTerm) -> tuple[str | None, dict[str, Any] | None]:
    name = term.path.partition(".")[2]
    if name in _MEMORY_SPACES:
        return None, None
    if not term.named:
        return (name, {}) if name in _KNOWN and name != "shared" else (None, None)
    params = {key: _parse_parameter(home, value) for key, value in term.named if key}
    if isinstance(pairs := term.keywords.get(""), tuple) and pairs:
        params["intervals"] = [list(pair) for pair in pairs if isinstance(pair, tuple)]
    params = {key: value for key, value in params.items() if key not in _OF_CLUSTERS or value is not None}
    if name == "shared":
        name = "nvmma_shared" if params.get("hasLeadingOffset") is True else "swizzled_shared"
    return name, amd_layouts.upgrade_parameters(name, params)


def _parse_gluon(home: TermText, term: SyntaxTerm) -> tuple[str | None, dict[str, Any] | None]:
    parts = term.path.split(".")
    name = next((part for part in reversed(parts) if part in GLUON), "")
    maker = ".".join(parts[-2:])
    if maker in gluon.MAKERS:
        words = dict(
            zip(gluon.MAKERS[maker], (_parse_parameter(home, value) for value in term.args or ()), strict=False)
        )
        words |= {key: _parse_parameter(home, value) for key, value in term.named}
        return GLUON[name].attribute, gluon.make_layout_parameters(
            maker, words, shorten_value(home.get_number_or_words(term), 60)
        )
    if not name or parts[-1] != name:
        return None, None
    row = GLUON[name]
    params = {key: _parse_parameter(home, value) for (_, key), value in zip(row.names, term.args or (), strict=False)}
    names = dict(row.names)
    params |= {names.get(key, key): _parse_parameter(home, value) for key, value in term.named}
    if not params and row.names and name != "TensorMemoryScalesLayout":
        return None, None
    return row.attribute, amd_layouts.upgrade_parameters(row.attribute, _convert_to_mlir(name, params))


def _convert_to_mlir(name: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return a Gluon class's parameters as those of MLIR's attribute: split, renamed or left out."""
    version = params.pop("version", None)
    if isinstance(version, list) and version:
        params = {"versionMajor": version[0], "versionMinor": version[1] if len(version) > 1 else 0, **params}
    elif version is not None:
        params["version"] = version
    if name == "TensorMemoryLayout":
        block = params.pop("block", None)
        if isinstance(block, list) and len(block) == 2:
            params = {"blockM": block[0], "blockN": block[1], **params}
    if isinstance(params.get("colStride"), bool):  # older Gluon: TensorMemoryLayout(block, unpacked, …)
        params = {("unpacked" if key == "colStride" else key): value for key, value in params.items()}
    if pairs := params.pop("interval_padding_pairs", None):
        params["intervals"] = pairs
    if params.get("CGALayout") == []:
        del params["CGALayout"]
    return params


def _parse_parent(home: TermText, value: SyntaxTerm) -> dict[str, Any] | None:
    """Parse a layout that is a parameter of another; None for other values."""
    known = _parse_attribute if value.path.startswith("#") else _parse_gluon
    if not value.named and not value.args:
        return None
    attribute, params = known(home, value)
    return {"attribute": attribute, "params": params} if attribute is not None and params is not None else None


def _parse_parameter(home: TermText, value: Any, depth: int = 0) -> Any:
    """Return a parameter as JSON: numbers, lists, booleans, a parent layout; symbols by name."""
    value = home.resolve_value(value) if depth < 8 else value
    if isinstance(value, tuple):
        return [_parse_parameter(home, item, depth + 1) for item in value]
    if not isinstance(value, SyntaxTerm):
        return value
    if value.path in ("true", "True", "false", "False"):
        return value.path.lower() == "true"
    if value.path == "{}" and depth < 8:  # ctaLayout = {warp = […]}
        return {key: _parse_parameter(home, item, depth + 1) for key, item in value.named}
    if parent := _parse_parent(home, value):
        return parent
    if value.name == "constexpr" and value.args:
        return _parse_parameter(home, value.args[0], depth + 1)
    return home.get_number_or_words(value)


def format_mlir(attribute: str, params: dict[str, Any]) -> str:
    """Return an attribute as Triton prints it, with aliases written out."""
    dialect = "ttng" if attribute.startswith("tensor_memory") else "ttg"
    inner = dict(params)
    intervals = inner.pop("intervals", None)
    words = ", ".join(f"{key} = {_format_value(value)}" for key, value in inner.items())
    if attribute in ("linear", "generic_linear", "shared_linear"):
        words = "{" + words + "}"
    elif intervals is not None:
        listed = intervals if isinstance(intervals, list) else [intervals]
        pairs = ", ".join(":+".join(map(_format_value, p)) if isinstance(p, list) else _format_value(p) for p in listed)
        words = f"[{pairs}]" + (f" {{{words}}}" if words else "")
    elif words and dialect == "ttg":
        words = "{" + words + "}"
    elif dialect == "ttng":
        return f"#{dialect}.{attribute}<{words}>"
    return f"#{dialect}.{attribute}" + (f"<{words}>" if words else "")


def _format_value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(_format_value, value))}]"
    if isinstance(value, dict) and "attribute" in value:
        return format_mlir(value["attribute"], value["params"])
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key} = {_format_value(item)}' for key, item in value.items())}}}"
    return str(value)


def _list_symbols(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [name for item in value.get("params", value).values() for name in _list_symbols(item)]
    if isinstance(value, list):
        return [name for item in value for name in _list_symbols(item)]
    return [value] if isinstance(value, str) else []


def _make_meaning(
    attribute: str, params: dict[str, Any], words: str, shape: tuple[list[int], int | None] | None
) -> TextMeaning:
    letter = _find_operand(attribute, params)
    sizes, bits = _find_tensor(attribute, params, shape)
    opened = [] if sizes else ["shape"]
    opened += [] if bits else ["element_bits"]
    opened += [name for name in dict.fromkeys(_list_symbols(list(params.values()))) if name]
    candidates = _list_candidates(attribute, params, letter, bits)
    facts: dict[str, Any] = {
        "attribute": attribute,
        "params": {key: _format_parent(value) for key, value in params.items()},
        "candidates": [i.ptx for i in candidates][:_MOST_LISTED],
        "operand": letter,
        "body": {"text": words, "shape": sizes, "element_bits": bits},
    }
    version = params.get("versionMajor") if attribute == "nvidia_mma" else None
    refused = [_REFUSED[attribute]] if attribute in _REFUSED else []
    refused += [reason for major, reason in _OF_VERSIONS if major == version]
    facts["drawn"] = not refused
    broken = find_broken_rules(attribute, params, bool(candidates))
    notices = [*refused, *broken, *([_NOTED[attribute]] if attribute in _NOTED else [])]
    if is_amd(attribute, params):
        notices.append(NOTICE)
    return TextMeaning(
        "triton", f"Triton layout {shorten_value(words, 100)}", facts, tuple(notices), True, tuple(opened)
    )


def _find_operand(attribute: str, params: dict[str, Any]) -> str | None:
    """Return the operand of an MMA that a layout belongs to."""
    if attribute == "nvidia_mma":
        return "d"
    index = params.get("opIdx")
    return "ab"[index] if attribute == "dot_op" and type(index) is int and index in (0, 1) else None


def _find_tensor(
    attribute: str, params: dict[str, Any], shape: tuple[list[int], int | None] | None
) -> tuple[list[int] | None, int | None]:
    """Return (sizes, element bits) of the tensor, from the text or the layout (None: unknown)."""
    layout_shape = params.get("shape") if attribute in ("linear", "padded_shared") else None
    sizes, bits = shape or (layout_shape, None)
    if bits is None and isinstance(params.get("elementBitWidth"), int):
        bits = params["elementBitWidth"]
    known = isinstance(sizes, list) and all(isinstance(n, int) for n in sizes)
    return sizes if known else None, bits


def _list_candidates(attribute: str, params: dict[str, Any], letter: str | None, bits: int | None) -> list[Instruction]:
    """Return the instructions of the MMA that a layout is based on.

    For A or B only those with its element bits, if there are any.
    """
    mma = _find_nvidia_mma(attribute, params)
    instructions = _find_instructions(mma) if mma else []
    if letter not in ("a", "b") or not bits:
        return instructions
    return [
        i for i in instructions if i.operands.get(letter) is None or i.operands[letter].element.bits == bits
    ] or instructions


def _format_parent(value: Any) -> Any:
    return (
        format_mlir(value["attribute"], value["params"]) if isinstance(value, dict) and "attribute" in value else value
    )


def _find_nvidia_mma(attribute: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """Return the parameters of the nvidia_mma that a layout is or is based on."""
    if attribute == "nvidia_mma":
        return params
    parent = params.get("parent")
    if isinstance(parent, dict) and "attribute" in parent and attribute in ("dot_op", "slice"):
        return _find_nvidia_mma(parent["attribute"], parent["params"])
    return None


def _find_instructions(mma: dict[str, Any]) -> list[Instruction]:
    """Return the dense products with an nvidia_mma's shape: version 2 is mma.sync, 3 is wgmma."""
    version = mma.get("versionMajor")
    shape = mma.get("instrShape")
    if version == 2:
        sizes = dict(zip("mnk", [16, 8] if not isinstance(shape, list) else shape[-2:], strict=False))
    elif version == 3 and isinstance(shape, list):
        sizes = {d: n for d, n in zip("mnk", [64, *shape[1:]], strict=False) if isinstance(n, int)}
    else:
        return []
    scope = WARP if version == 2 else WARPGROUP
    name = "mma" if version == 2 else "wgmma"
    return [
        i
        for i in catalog.instructions()
        if i.family.name == name
        and i.family.scope is scope
        and all(i.sizes.get(dim) == size for dim, size in sizes.items())
        and not set(i.modifiers) & {"satfinite", "rn", "rz", "rm", "rp"}
    ]
