"""Recognise tensor maps whose arguments a library prints: the box, the swizzle, and the driver rule that is violated.

Sources of the names and units: CUTLASS 4.7, cute/atom/copy_traits_sm90_tma.hpp (five sizes whatever the
rank, the innermost stride before the others); TVM, src/runtime/cuda/cuda_device_api.cc; TileLang, also of im2col;
ThunderKittens, include/types/global; TensorRT-LLM, trtllmGenKernels (strides in bytes); DeepGEMM, csrc/jit_kernels
(strides in elements, the swizzle in bytes).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice

from lanescope.reader.code import recogniser
from lanescope.reader.code.findings import Pitfall
from lanescope.reader.code.maps.tma_rules import (
    ArgumentReader,
    MapParts,
    TensorMap,
    find_broken_rules,
    find_stride_rules,
    read_swizzle_code,
)
from lanescope.reader.code.naming.header_names import SWIZZLE_NAMES
from lanescope.reader.code.values import OpaqueValue
from lanescope.reader.meaning import TextMeaning
from lanescope.shared import tma
from lanescope.shared.map_enums import INTERLEAVES, MAP_TYPES

MOST_MAPS = 24
LONGEST_HEAD, LONGEST_LINE = 80, 1024  # characters before a print's first field; of its line
MAP_ALIGNED, ADDRESS_ALIGNED = 64, 16  # alignment in bytes of cuTensorMapEncodeTiled's tensorMap and globalAddress
_NAMES = {  # field → pattern of its names in prints
    "map": r"(?:tma|tensormap)[ _]?desc(?:riptor)?[ _]?addr(?:ess)?|tma_map|tensor_?map",
    "type": r"(?:tma_?)?format|cu_dtype|(?:tensor_?)?data_?type",
    "rank": r"(?:tma_|t_)?dim|tensor[ _]?rank|rank",
    "address": r"gmem(?:_addr(?:ess)?)?|global_?addr(?:ess)?|pointer",
    "dims": r"global_?dims?|global(?: prob)?[ _]shape|gmem(?:_prob)?_shape|global memory|shape",
    "strides": r"global_?strides?|global prob stride|gmem(?:_prob)?_stride|outer stride|stride",
    "channels": r"(?:smem_)?box_channels?|channels_?per_?pixel",  # of im2col, which has no box
    "pixels": r"(?:smem_)?box_pixels?|pixels_?per_?column",
    "box": r"box(?=[ \t]*[=:]?[ \t]*[\[({])|box_?(?:dims?|shape|size)|smem(?: |_)(?:box[ _])?shape|shared memory"
    r"|tile_?shapes?",
    "steps": r"element_?strides?|smem(?: |_)(?:box[ _])?stride|tile_?strides?",
    "interleave": r"(?:tma[ _]?)?interleave",
    "swizzle": r"(?:smem[ _]|tma[ _])?swizzle(?:[ _]?(?:type|mode|kind))?",
    "grain": r"base",
    "size": r"elem(?:ent)?[ _]size",
}
_FIELD = re.compile(
    rf"(?<![\w.])(?:{'|'.join(f'(?P<{name}>{spelled})' for name, spelled in _NAMES.items())})"
    r"(?:\[\d*\](?=[ \t]*=))?(?:[ \t]*[:=][ \t]*|[ \t]+|(?=[\[({]))"
    r"(?:(?P<pointer>0x[0-9a-f]+|\d{13,})(?=[\s,;]|$)[ \t]*)?"
    r"(?:[\[({](?P<list>[^\[\](){}\n]*)[\])}]"
    r"|[\[({]?[ \t]*(?P<numbers>-?\d+(?:(?:[ \t]*,[ \t]*|[ \t]+)-?\d+)*)(?P<bytes>B\b)?|(?P<word>CU_TENSOR_MAP_\w+))?"
    r"|\bCU_TENSOR_MAP_(?P<which>SWIZZLE|DATA_TYPE|INTERLEAVE)_\w+",
    re.I,
)
_ENUM_FIELDS = {"SWIZZLE": "swizzle", "DATA_TYPE": "type", "INTERLEAVE": "interleave"}
_IN_ELEMENTS = re.compile(r"making\b[^\n]{0,20}tma desc[^\n]*outer stride[^\n]*swizzle: \d+(?: \(base: \d+\))?,", re.I)
_IN_BYTES = re.compile(r"making\b[^\n]{0,20}tma desc", re.I)
_LOOKS = re.compile(
    r"box_?(?:dim|shape|channel|[ \t]*[=:]?[ \t]*[\[({])|channels_?per|smem(?: |_)(?:box[ _])?shape|tile_?shapes"
    r"|making\b[^\n]{0,20}tma desc",
    re.I,
)
_CODE = re.compile(  # a line of code around a number, or a comment
    r";[ \t]*$|^[ \t]*(?://|/\*|\*[ \t]|#[ \t]|#(?:include|define)|def\b|class\b|return\b)|<<"
    r"|=[ \t]*\w+[.(]|\w\([^)\n]*\)[ \t]*[{:;]",
    re.M,
)


@dataclass(slots=True)
class _PrintedFields:
    """The fields of a print: numbers or the name of a constant, and pointers printed instead of arrays.

    names: items of lists that are not numbers, by their place in the list (box[1] → BM).
    """

    start: int
    end: int
    numbers: dict[str, list[int | None]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)
    pointers: dict[str, int] = field(default_factory=dict)
    has_driver_box: bool = False  # by the name of the driver's argument

    def has_field(self, name: str) -> bool:
        return name in self.numbers or name in self.words or name in self.pointers

    def add_field(self, name: str, match: re.Match[str]) -> None:
        """Add the value of a field, a match of _FIELD."""
        self.end = match.end()
        self.has_driver_box |= name == "box" and match["box"].lower() in ("boxdim", "box_dim")
        if match["which"] or match["word"]:
            self.words[name] = match[0] if match["which"] else match["word"]
        elif match["bytes"] and name == "swizzle":
            self.words[name] = f"CU_TENSOR_MAP_SWIZZLE_{match['numbers']}B"
        elif match["list"]:
            self.add_list(name, match["list"])
        elif match["numbers"]:
            self.numbers[name] = [int(digits) for digits in re.findall(r"-?\d+", match["numbers"])]
        if match["pointer"]:
            self.pointers[name] = int(match["pointer"], 0)

    def add_list(self, name: str, printed: str) -> None:
        """Add the items of a list; those that are no integers as names."""
        items = [item.strip() for item in re.split(r"," if "," in printed else r"\s+", printed.strip())]
        numbers = [re.fullmatch(r"(-?\d+)[uUlL]*", item) for item in items]
        self.numbers[name] = [int(number[1]) if number else None for number in numbers]
        self.names |= {f"{name}[{n}]": items[n] for n, number in enumerate(numbers) if number is None}

    def get_first(self, name: str) -> int | None:
        return self.numbers[name][0] if self.numbers.get(name) else None


def recognise_printed_maps(text: str) -> tuple[TextMeaning, ...]:
    """Return the meanings of tensor maps whose arguments are printed in a text."""
    return tuple(map(recogniser.make_map_meaning, find_printed_maps(text)))


@lru_cache(maxsize=2)  # the workbench of one text is built again for each choice that is tried
def find_printed_maps(text: str) -> tuple[TensorMap, ...]:
    """Return the tensor maps printed in a text, in the same form as those of code.

    >>> text = "boxDim (64,512,1,1,1)\\nformat 6\\ndim 2\\nswizzle 3\\nglobalDim (4096,4096,1,1,1)"
    >>> (printed,) = find_printed_maps(text)
    >>> printed.box, printed.swizzle, [problem.message for problem in printed.problems]
    ((64, 512), '128B', ['boxDim[1] is 512; it must be 1 to 256.'])
    """
    if not _LOOKS.search(text):
        return ()
    text = text.replace("\\n", " \n")  # of an exception printed by Python
    prints = (fields for fields in _find_prints(text) if _is_complete_map(fields) and not _is_code_line(fields, text))
    return tuple(_make_map(fields, text) for fields in islice(prints, MOST_MAPS))


def _find_prints(text: str) -> Iterator[_PrintedFields]:
    """Yield each print of a text; a repeated field begins the next print."""
    at: _PrintedFields | None = None
    for match in _FIELD.finditer(text):
        name = _ENUM_FIELDS[match["which"].upper()] if match["which"] else next(key for key in _NAMES if match[key])
        if not any(match[form] for form in ("pointer", "list", "numbers", "word", "which")):
            continue
        if at is not None and match["which"] and text[at.end : match.start()].strip() == "(":
            continue  # of the number before it: 6 (CU_TENSOR_MAP_DATA_TYPE_FLOAT16)
        if at is None or at.has_field(name):
            if at is not None:
                yield at
            at = _PrintedFields(match.start(), match.end())
        at.add_field(name, match)
    if at is not None:
        yield at


def _is_complete_map(fields: _PrintedFields) -> bool:
    """Return whether fields are those of a map: a box, and an enumerator of a swizzle or two that no tile has."""
    return (fields.has_field("box") or fields.has_field("channels")) and (
        (fields.has_field("swizzle") and (fields.has_driver_box or "swizzle" in fields.words))
        or sum(map(fields.has_field, ("type", "dims", "strides", "swizzle", "steps", "address"))) >= 2
    )


def _is_code_line(fields: _PrintedFields, text: str) -> bool:
    """Return whether the fields' lines are lines of code."""
    end = text.find("\n", fields.end)
    return _CODE.search(text[text.rfind("\n", 0, fields.start) + 1 : end if end >= 0 else len(text)]) is not None


def _make_map(fields: _PrintedFields, text: str) -> TensorMap:
    span = (fields.start, fields.end)
    printed = text[slice(*span)]
    line = text[max(text.rfind("\n", 0, fields.start) + 1, fields.start - LONGEST_HEAD) : fields.end][:LONGEST_LINE]
    reader = ArgumentReader()
    bits, kind = _parse_element_type(fields)
    rank = fields.get_first("rank") or max((len(fields.numbers.get(name, ())) for name in ("dims", "box")), default=0)
    dims, box, steps = (_parse_sizes(fields, name, rank, reader) for name in ("dims", "box", "steps"))
    if fields.has_field("channels"):  # a column of pixels with its channels is stored like the rows of a box
        box = fields.get_first("channels"), fields.get_first("pixels")
    strides = _parse_strides(fields, rank, bits, reader)
    mode, strange = _parse_swizzle(fields, _IN_BYTES.search(line) is not None)
    if _IN_ELEMENTS.search(line) and bits:
        strides = tuple(stride * bits // 8 if stride is not None else None for stride in strides)
        if bits == 8 and box[:1] != (None,) and mode in ("32B", "64B", "128B") and box[0] == 2 * int(mode[:-1]):
            bits = 4  # fp4: two elements per byte, and the box counts elements
    parts = MapParts(
        OpaqueValue(printed[:40], head="printed", span=span),
        bits,
        kind,
        dims=dims,
        strides=strides,
        box=box,
        swizzle=mode,
        reader=reader,
    )
    problems = (
        _find_im2col_rules(parts)
        if fields.has_field("channels")
        else find_broken_rules(parts, _parse_interleave(fields), steps)
    )
    others = (*strange, *_check_type(fields, kind), *_check_pointers(fields))
    problems += [Pitfall(code, message, span) for code, message in others]
    return parts.make_tensor_map(problems)


def _find_im2col_rules(parts: MapParts) -> list[Pitfall]:
    """Find the rules of cuTensorMapEncodeIm2col that a map breaks: of its tensor, and of the width of its channels."""
    width = tma.find_broken_rules(parts.bits, (), (), box=parts.box[:1], swizzle=parts.swizzle)
    return [*find_stride_rules(parts), *(Pitfall(code, message, parts.term.span) for code, message in width)]


def _parse_element_type(fields: _PrintedFields) -> tuple[int | None, str | None]:
    """Return (bits, name) of an element in shared memory."""
    code = fields.get_first("type")
    if "type" in fields.words:
        name = fields.words["type"].upper().removeprefix("CU_TENSOR_MAP_DATA_TYPE_")
        code = next((row.code for row in MAP_TYPES if row.name == name), None)
    if code is not None:
        row = MAP_TYPES[code] if 0 <= code < len(MAP_TYPES) else None
        return (row.shared_bits, row.name) if row else (None, None)
    size = fields.get_first("size")
    return (8 * size if size else None), None


def _parse_sizes(fields: _PrintedFields, name: str, rank: int, reader: ArgumentReader) -> tuple[int | None, ...]:
    """Return the size of each dimension; None for all if an address is printed instead."""
    sizes = fields.numbers.get(name)
    if sizes is not None:
        reader.symbols |= {item: text for item, text in fields.names.items() if item.startswith(f"{name}[")}
        return tuple(sizes[:rank] if rank else sizes)
    if name in fields.pointers:
        reader.symbols[name] = f"the array at {fields.pointers[name]:#x}"
    return (None,) * (rank if name in fields.pointers else 0)


def _parse_strides(
    fields: _PrintedFields, rank: int, bits: int | None, reader: ArgumentReader
) -> tuple[int | None, ...]:
    """Return the strides without the innermost, which comes first in prints with one stride per dimension."""
    strides = fields.numbers.get("strides")
    if strides is None or not rank:
        return _parse_sizes(fields, "strides", max(rank - 1, 0), reader)
    if len(strides) >= rank and bits and strides[0] in (bits // 8, 1):
        strides = strides[1:]
    return tuple(strides[: rank - 1])


def _parse_interleave(fields: _PrintedFields) -> int | None:
    name = fields.words.get("interleave", "").upper().removeprefix("CU_TENSOR_MAP_INTERLEAVE_").replace("NONE", "none")
    return INTERLEAVES.index(name) if name in INTERLEAVES else fields.get_first("interleave")


def _parse_swizzle(fields: _PrintedFields, bytes_: bool) -> tuple[str | None, list[tuple[str, str]]]:
    """Return the swizzle's name, and the error in its code ("" if none)."""
    code = fields.get_first("swizzle")
    if "swizzle" in fields.words:
        name = fields.words["swizzle"].upper().removeprefix("CU_TENSOR_MAP_SWIZZLE_")
        if name not in SWIZZLE_NAMES:
            return None, [("tma_swizzle", f"CUDA has no {fields.words['swizzle']}.")]
        code = SWIZZLE_NAMES.index(name)
    elif bytes_ and code is not None:
        name = "NONE" if code in (0, 16) else f"{code}B" + ("_ATOM_32B" if fields.get_first("grain") == 32 else "")
        if name not in SWIZZLE_NAMES:
            return None, [("tma_swizzle", f"There is no swizzle of {code} bytes; the modes are 0, 32, 64 and 128.")]
        code = SWIZZLE_NAMES.index(name)
    return (None, []) if code is None else read_swizzle_code(code)


def _check_type(fields: _PrintedFields, kind: str | None) -> Iterator[tuple[str, str]]:
    """Yield the enumerator of an element type that CUDA does not have."""
    if "type" in fields.words and kind is None:
        yield "tma_type", f"CUDA has no {fields.words['type']}."


def _check_pointers(fields: _PrintedFields) -> Iterator[tuple[str, str]]:
    """Yield violations of the alignment rules for a map's two addresses."""
    for name, what, by in (("map", "tensorMap", MAP_ALIGNED), ("address", "globalAddress", ADDRESS_ALIGNED)):
        at = fields.pointers.get(name)
        if at is not None and at % by:
            yield "tma_address", f"{what} is {at:#x}; it must be a multiple of {by}."
