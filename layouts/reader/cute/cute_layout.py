"""Recognise a CuTe layout in a text: its shape, strides, size and swizzle."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from typing import Any

from lanescope.cute import algebra, layout as cute
from lanescope.cute.text import parse_cute_layout, parse_layout
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction
from lanescope.reader.cute import atom_traits, labelled_layouts
from lanescope.reader.cute.smem_layouts import make_layout_facts
from lanescope.reader.meaning import TextMeaning, make_instruction_meaning

_LOOKS = re.compile(r"\s*(?:(?:Swizzle|Sw|S)\s*<|smem_ptr|\(|_?\d+\s*:\s*_?\d)")
_HALVES = re.compile(r"\s*([0-9a-fA-F]+)\s*:\s*([0-9a-fA-F]+)\s*")  # may also be hi:lo of a word
_TV = re.compile(r"(?:^|[^a-z])(?:Layout_?([ABC])_?TV|([ABC])Layout|TV[ _]?[Ll]ayout[ _]?([ABC]))\b")
_OF_THREADS = re.compile(r"(?:^|[^a-z])(?:TV_?Layout|Layout_TV)\b|\btv_layout|\blayout_tv")
_OF_COPIES = ("SrcLayout", "DstLayout", "RefLayout")  # (thread, value) → bit, in Copy_Traits
_THREADS = re.compile(r"Thr_?ID")  # which threads take part: the least specific part of an atom
_OF_OTHERS = re.compile(  # code that prints or makes layouts
    r"Thr[ _]?Layout[ _]?VMNK|Permutation[ _]?MNK|Tiler[ _]?MN|TiledCopy|TiledM(?:MA|ma)|make_tiled_|tile_to_\w*shape"
    r"|make_tma|#ttg|#triton|#linear|!ttg|Layout_(?:K|MN)_\w+(?!\w|\s*[=:]\s*(?:Sw?<|smem_ptr|\())|\bcomposition\s*\("
)
# A comment behind a layout, or the mark before a tensor's values. print_tensor: the layout, a colon, the values.
_NOTE = re.compile(r"\s*(?:(?://|#)[^\n]*|[:;,])\s*\Z")
_VALUES = re.compile(r"([\d)])[ \t]*:[ \t]*(?=\n(?!\s*\())")
_KNOWN = re.compile(
    r"(?://|#)[^\n]*|(?<![A-Za-z])(?:Swizzle|smem_ptr|unset|Layout\w*|Shape|Stride|make_\w+|cute|Int|tuple)\b"
)
_OF_POINTERS = re.compile(r"(?<!\w)(?:Sw?|o|0x[0-9a-fA-F]+|\d+b)(?!\w)")
_WORDS = re.compile(r"[A-Za-z]{3,}")
_MADE = re.compile(  # nothing but a layout in C++ or Python
    r"\s*(?:[\w:& \t]{1,60}=\s*)?(?P<made>(?:cute(?:::|\.))?(?:Layout\s*<|make_layout\s*\().*[>)](?:\{\})?)\s*;?\s*",
    re.S,
)
_CALLED_FIELD = re.compile(r"(?<=[(,])\s*[LS]BO[ =](?=\d)")  # ((8,8),(1,2)):((1,SBO 8),(1,LBO 64))
_KEYWORD = re.compile(r"(make_layout\(\s*)shape\s*=\s*")
_NUMBERS = r"\(\d+(?:, ?\d+)+\)"
_TILE_LAYOUT = re.compile(  # of TVM: S[shape : strides], ComposeLayout(per_element, swizzle_len, atom_len, layout)
    r"(?<![\w.])(?:T\.)?(?:ComposeLayout\((?P<base>\d+), ?(?P<bits>\d+), ?(?P<shift>\d+), ?)?"
    rf"(?:T\.)?TileLayout\((?:T\.)?S\[(?P<shape>{_NUMBERS}) ?: ?(?P<strides>{_NUMBERS})\]\)(?(base)\))"
)
_OUTSIDE = {  # memory of a pointer → what it means for the layout
    "gmem": "The tensor is in global memory, which no matrix descriptor reads.",
    "rmem": "The tensor is in the registers of one thread.",
    "tmem": "The tensor is in tensor memory: its index in units of 32 bits is an address there, lane × 65536 + column.",
}
_PLAIN = "A plain pointer does not say whether the tensor is in shared memory or a fragment in registers."
_MODES_OF_FRAGMENT = 3  # values, and repetitions along two modes
_COORDINATES = re.compile(r"\d@\d")
_MOST_LISTED = 1 << 20  # elements of all stages
_WORD_DIGITS = 8  # hex digits from which a half is not a size


def recognise_layouts(text: str) -> tuple[TextMeaning, ...]:
    """Return the layouts that a text spells or prints. LayoutError if it resembles a layout but is not valid."""
    text = _TILE_LAYOUT.sub(_spell_tile_layout, _KEYWORD.sub(r"\1", _CALLED_FIELD.sub("", text)))
    if len(text) <= cute.LONGEST:
        text = _VALUES.sub(r"\1", text, count=1)
    _refuse_coordinates(text)
    lines = list(islice(labelled_layouts.find_layout_lines(text), labelled_layouts.MOST))
    looks = len(text) <= cute.LONGEST and _LOOKS.match(text) and ":" in text.replace("::", "")
    sentence = looks and len(_WORDS.findall(_KNOWN.sub(" ", text))) > 1
    if sentence and not lines:
        return _parse_first_layout(text)
    if looks and not sentence:
        halves = _HALVES.fullmatch(text)
        if halves and max(map(len, halves.groups())) >= _WORD_DIGITS:
            return ()
        if alone := _parse_single_layout(text, not halves, any(line.worded or line.pointed for line in lines)):
            return alone
    return _parse_several_layouts(text, lines or _find_made_layouts(text))


def _find_made_layouts(text: str) -> list[labelled_layouts.LabelledLayout]:
    """Find the layouts that code makes. LayoutError if a text is nothing but one, and it is wrong."""
    layouts = list(atom_traits.find_layouts(text))
    if not layouts and len(text) <= cute.LONGEST and (made := _MADE.fullmatch(text)):
        parse_cute_layout(made["made"], "text")
    return layouts


def _spell_tile_layout(match: re.Match[str]) -> str:
    """Spell a layout of TVM's TIRx as CuTe prints it. TVM, src/tirx/ir/layout/compose_layout.cc."""
    swizzle = "Sw<{bits},{base},{shift}> o ".format(**match.groupdict()) if match["base"] else ""
    return f"{swizzle}{match['shape']}:{match['strides']}"


def _refuse_coordinates(text: str) -> None:
    if _COORDINATES.search(text) and text.lstrip().startswith(("ArithTuple", "(")):
        raise LayoutError(
            "bad_cute",
            "A coordinate tensor: its strides are basis elements (1@0), so it has no places in memory.",
            "Give the layout of the data.",
            "text",
        )


def _parse_first_layout(text: str) -> tuple[TextMeaning, ...]:
    """Return the layout at the beginning of a sentence; () if that is a ratio or a parenthesis."""
    head = text[: labelled_layouts.find_pair_end(text) + 1]
    if not head or re.search("[A-Za-z]", _OF_POINTERS.sub("", _KNOWN.sub("", head))):
        return ()
    return _make_layout_meanings(parse_layout(head, "text"), False)


def _parse_single_layout(text: str, sure: bool, worded: bool) -> tuple[TextMeaning, ...]:
    """Return the layout that is the whole text, or all of it before a comment.

    LayoutError if it is not valid, unless other words follow on one of its lines.
    """
    first, _, rest = text.strip().partition("\n")
    if rest and ":" in first:
        return ()
    while (bare := _NOTE.sub("", text)) != text and ":" in bare:
        text = bare
    try:
        return _make_layout_meanings(parse_layout(text, "text"), sure)
    except LayoutError:
        if not worded:
            raise
        return ()


def _parse_several_layouts(text: str, layouts: list[labelled_layouts.LabelledLayout]) -> tuple[TextMeaning, ...]:
    """Return the layouts of a text's lines or code: faulty ones first, the least specific to an atom last."""
    if not layouts or _OF_OTHERS.search(text):
        return ()
    each = {(entry.label, entry.layout): entry for entry in reversed(layouts) if not entry.of_descriptors}
    faults = atom_traits.find_differences(text) if "MMA_Traits" in text else {}
    result = [(1, _make_descriptors_meaning(entry)) for entry in layouts if entry.of_descriptors]
    for (label, layout), entry in reversed(each.items()):
        if described := _describe_memory(entry):
            result.append((2, _make_outside_meaning(entry, described)))
            continue
        differences = faults.get(f"{label} {layout}", ())
        result += _rank_meanings(text, entry, differences, len(each) == 1)
    return tuple(entry for _, entry in sorted(result, key=lambda ranked: ranked[0]))


def _rank_meanings(
    text: str, entry: labelled_layouts.LabelledLayout, differences: tuple[str, ...], sure: bool
) -> list[tuple[int, TextMeaning]]:
    """Return (rank, meaning) of a layout and of the fragments that match it; 0 is the first.

    differences: of an atom's layout from that of its instruction.
    """
    label, layout = entry.label, entry.layout
    meaning, *others = _make_layout_meanings(layout, sure, label)
    if entry.element_bits:
        facts = {**meaning.facts, "element_bits": entry.element_bits}
        meaning = replace(meaning, facts=facts, undetermined=())
    if _OF_THREADS.search(label) or (label in _OF_COPIES and "Copy_Traits" in text):
        meaning = replace(meaning, facts={**meaning.facts, "storage": None})
    if not differences and not others:
        differences = _list_omitted_layouts(label, layout)
    rank = 0 if differences else 2 if _THREADS.fullmatch(label) else 1
    first = replace(meaning, notices=(*meaning.notices, *differences))
    return [(rank, first), *((3, entry) for entry in others)]


def _make_descriptors_meaning(entry: labelled_layouts.LabelledLayout) -> TextMeaning:
    """Return the meaning of a print of CuTe's DescriptorIterator: where the descriptors of a tile start."""
    facts = _make_facts(entry.layout, entry.label) | {"storage": None}
    notices = (
        "Its elements are matrix descriptors: one for each instruction along M or N, K and the stages of the pipeline.",
        "A stride is what CuTe adds to a descriptor, in units of 16 bytes of its start address.",
    )
    return TextMeaning("layout", f"Layout of matrix descriptors {entry.label}".rstrip(), facts, notices)


def _describe_memory(entry: labelled_layouts.LabelledLayout) -> str:
    """Return a sentence about the memory of a printed tensor; "" for shared memory or if it may be that."""
    plain = entry.element_bits and not entry.memory and entry.layout.rank == _MODES_OF_FRAGMENT
    return _PLAIN if plain else _OUTSIDE.get(entry.memory, "")


def _make_outside_meaning(entry: labelled_layouts.LabelledLayout, described: str) -> TextMeaning:
    """Return the meaning of a printed tensor that lies outside shared memory."""
    facts = _make_facts(entry.layout, entry.label) | {"storage": None, "element_bits": entry.element_bits}
    label = f" ({entry.label})" if entry.label else ""
    return TextMeaning("layout", f"CuTe layout {entry.layout}{label}", facts, (described,))


def _list_omitted_layouts(label: str, layout: cute.CuteLayout) -> tuple[str, ...]:
    """Return a notice about tile elements that a thread-value layout omits; () if it is an instruction's layout."""
    left = atom_traits.describe_missing(layout, None) if _TV.search(label) else ""
    return (f"{label} {left}",) if left else ()


def _make_layout_meanings(layout: cute.CuteLayout, sure: bool, label: str = "") -> tuple[TextMeaning, ...]:
    """Return the meanings of a layout: itself, and the fragments that match it as (thread, value)."""
    named = _TV.search(label)
    letter = next(filter(None, named.groups())).lower() if named else None
    facts = _make_facts(layout, label)
    notices: list[str] = []
    if facts["modes"] == 3 and not letter:
        facts |= _make_stage_facts(layout)
        notices += _list_stage_notices(layout, facts)
    fragments = _find_fragments(layout)
    if letter:
        facts["storage"] = None
        same = "cd" if letter == "c" else letter
        fragments = tuple(fragment for fragment in fragments if fragment.facts["operand"] in same)
    if fragments:
        notices.append("As (thread, value) → element this is also a fragment of an instruction.")
    if tile := _find_tile(layout, fragments, letter):
        facts["tv"] = {"operand": letter or fragments[0].facts["operand"], "tile": tile}
    elif letter:
        rows, cols = {"a": "M × K", "b": "N × K", "c": "M × N"}[letter].split(" × ")
        notices.append(
            f"A thread-value layout of {letter.upper()}: Shape_MNK gives the sizes of its {rows} × {cols} tile."
        )
    undetermined = () if layout.unit_bits or letter else ("element_bits",)
    title = f"CuTe layout {layout}" + (f" ({label})" if label else "")
    return (TextMeaning("layout", title, facts, tuple(notices), sure and not letter, undetermined), *fragments)


def _make_facts(layout: cute.CuteLayout, label: str) -> dict[str, Any]:
    """Return the facts of a layout with a label."""
    return {**make_layout_facts(layout), **({"name": label} if label else {})}


def _list_stage_notices(layout: cute.CuteLayout, facts: dict[str, Any]) -> list[str]:
    """Return the notices about a layout with several stages."""
    if facts["stages"] == 1:
        return []
    overlap = describe_stage_overlap(layout, facts["stage_stride"])
    return ["The third mode is the pipeline's stage: the storage is that of stage 0.", *([overlap] if overlap else [])]


def _find_tile(layout: cute.CuteLayout, fragments: tuple[TextMeaning, ...], letter: str | None) -> list[int] | None:
    """Return (rows, columns) of the tile that a thread-value layout covers: M × K, N × K or M × N.

    The sizes are those of the instructions with this fragment, if they agree.
    """
    tiles = set()
    for fragment in fragments:
        of = fragment.facts["operand"]
        names = [fragment.facts["ptx"]] if fragment.facts["ptx"] else fragment.facts["candidates"]
        for op in (catalog.find(ptx).operand(of) for ptx in names):
            transposed = of == "b" and letter == "b"
            tiles.add((op.col_count, op.row_count) if transposed else (op.row_count, op.col_count))
    sizes = tiles.pop() if len(tiles) == 1 else None
    return list(sizes) if sizes and layout.cosize <= sizes[0] * sizes[1] else None


def _make_stage_facts(layout: cute.CuteLayout) -> dict[str, Any]:
    """Return the facts of a layout whose third mode is the stage."""
    first_stage = cute.CuteLayout(layout.shape[:2], layout.stride[:2], layout.swizzle, layout.unit_bits, layout.offset)
    stage = layout.modes[2]
    steps = [step for n, step in stage.digits if n > 1]
    return {
        "stages": stage.size,
        "stage_stride": steps[0] if len(steps) == 1 else None,
        "stage_bytes": steps[0] * layout.unit_bits // 8 if len(steps) == 1 and layout.unit_bits else None,
        "storage": {"kind": "cute", "layout": str(first_stage)},
    }


def describe_stage_overlap(layout: cute.CuteLayout, distance: int | None) -> str:
    """Return a sentence about stages that overlap at a distance in elements.

    Returns "" if no two stages share an element (they may interleave), or if there are too many elements to list.
    """
    *tile, stage = layout.modes
    each = algebra.concatenate(*tile)
    if distance is None or layout.size > _MOST_LISTED:
        return ""
    if algebra.count_distinct(layout) == stage.size * algebra.count_distinct(each):
        return ""
    return f"The stages overlap: each holds {each.size:,} elements and begins {distance:,} after the one before."


def _coalesce_modes(layout: cute.CuteLayout) -> tuple[Any, ...] | None:
    """Return the (size, stride) of the thread and value modes, with contiguous neighbours joined and size 1 dropped."""
    return tuple(tuple(algebra.coalesce(mode).digits) for mode in layout.modes) if layout.rank == 2 else None


@lru_cache(maxsize=1)
def _index_tv_layouts() -> dict[object, dict[str, list[Instruction]]]:
    """Map each TV layout (as the pages print it, and for B also as CuTe has it) to instructions by operand."""
    layouts: dict[object, dict[str, list[Instruction]]] = {}
    spelled: dict[str, object] = {}
    for i in catalog.instructions():
        for op in i.operands.values():
            for transposed in (False, True) if op.name == "b" and i.family.multiplies else (False,):
                key = op.transposed_cute if transposed else op.cute
                if key not in spelled:
                    spelled[key] = _coalesce_modes(parse_layout(key))
                layouts.setdefault(spelled[key], {}).setdefault(op.name, []).append(i)
    return layouts


def _find_fragments(layout: cute.CuteLayout) -> tuple[TextMeaning, ...]:
    """Return the instructions whose fragment has this TV layout, one entry per operand."""
    if layout.swizzle or layout.unit_bits or layout.offset:
        return ()
    key = _coalesce_modes(layout)
    threads = layout.modes[0].size
    if key is None or threads not in (8, 32, 128):
        return ()
    fragments = []
    operands = _index_tv_layouts().get(key, {})
    for letter, operand in operands.items():
        if letter == "c" and operands.get("d", [])[: len(operand)] == operand:
            continue
        (meaning,) = make_instruction_meaning(operand, f"Operand {letter.upper()}", operand=letter)
        fragments.append(TextMeaning(meaning.kind, meaning.title, meaning.facts, meaning.notices, False))
    return tuple(fragments)
