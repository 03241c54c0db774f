"""Code for prepacked weights: pack and unpack in NumPy and CUDA C++, and the load that gives a thread its fragments."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from lanescope.errors import LayoutError
from lanescope.ptx.pattern import FormulaWords
from lanescope.render.template import Templates
from lanescope.weights.layout import WeightLayout

_PROGRAMS = Templates(__package__)
_WORDS = FormulaWords("thread", "value")
Part = tuple[int, tuple[int, ...]]  # a word of the thread, and its fields from the low end of a register on


def render_weights(layout: WeightLayout) -> dict[str, str]:
    """Return code for a format and width, for matrices of whole tiles: {"numpy", "cuda", "fragments"}.

    "fragments" is "" where no fast conversion gives the values that are multiplied.
    """
    fragments = render_fragments(layout)
    return {"numpy": render_numpy(layout), "cuda": render_pack(layout), "fragments": fragments}


def render_numpy(layout: WeightLayout) -> str:
    """Return NumPy code: pack(weights) and unpack(words, k, n)."""
    first = layout.format.k_first
    down, across = layout.tile.extents
    counts = (f"k // {down}", f"n // {across}")
    return _PROGRAMS.fill(
        "weights.py.in",
        **_list_slots(layout),
        threads=layout.tile.thread_count,
        values=layout.tile.value_count,
        order="0, 2" if first else "2, 0",
        outer=", ".join(counts if first else counts[::-1]),
        back="0, 2, 1, 3" if first else "1, 2, 0, 3",
    )


def render_pack(layout: WeightLayout) -> str:
    """Return CUDA C++: the kernels pack_weights and unpack_words."""
    down, across = layout.tile.extents
    tiles = f"(n / {across})" if layout.format.k_first else f"(k / {down})"
    row, col = (f"tile / {tiles}", f"tile % {tiles}")
    if not layout.format.k_first:
        row, col = col, row
    return _PROGRAMS.fill(
        "weights_pack.cu",
        **_list_slots(layout),
        words=layout.words_of_tile,
        words_of_thread=layout.words_of_thread,
        first_k=f"{row} * {down}",
        first_n=f"{col} * {across}",
    )


def _list_slots(layout: WeightLayout) -> dict[str, str | int]:
    down, across = layout.tile.extents
    forward = layout.tile.forward_formula(("row", "col"), _WORDS)
    return {
        "title": layout.format.title,
        "bits": layout.bits,
        "fields": layout.fields,
        "most": (1 << layout.bits) - 1,
        "down": down,
        "across": across,
        "row": forward["row"],
        "col": forward["col"],
    }


def render_fragments(layout: WeightLayout) -> str:
    """Return CUDA C++ that converts a thread's words to its fragments, or one word to pairs of fp16.

    "" where the order of the fields has no fast conversion.
    """
    if layout.operand:
        registers = list_register_parts(layout)
        wide = layout.operand.container_bits
        loads = [f"const uint4 q{n} = from[{n}];" for n in range(layout.words_of_thread // 4)]
        lines = [
            f"out[{i}][{r}] = {_convert_part(layout, wide, part, f'q{part[0] // 4}.' + 'xyzw'[part[0] % 4])};"
            for i, parts in enumerate(registers)
            for r, part in enumerate(parts)
        ]
        return _render_helpers(layout, wide, lines) + _PROGRAMS.fill(
            "weights_load.cu",
            operand=layout.format.operand.upper(),
            ptx=layout.format.ptx,
            last=layout.threads - 1,
            instructions=len(registers),
            registers=len(registers[0]),
            index="thread" if len(loads) == 1 else f"{len(loads)} * thread",
            loads=loads,
            lines=lines,
        )
    try:
        lines = [
            f"out[{r}] = {_convert_part(layout, 16, part, 'q')};" for r, part in enumerate(_list_word_pairs(layout))
        ]
    except LayoutError:
        return ""
    axis = "n" if layout.tile.extents[0] == 1 else "k"
    return _render_helpers(layout, 16, lines) + _PROGRAMS.fill(
        "weights_word.cu", axis=axis, registers=len(lines), lines=lines
    )


def list_register_parts(layout: WeightLayout) -> list[list[Part]]:
    """Return the (word, fields) of every register of the operand, for each instruction of a thread.

    LayoutError where a register has fields of two words.
    """
    operand, fragment = layout.operand, layout.fragment
    assert operand and fragment
    found: dict[tuple[int, int], dict[int, tuple[int, int]]] = defaultdict(dict)
    for value in range(layout.tile.value_count):
        instruction, row, col = fragment.element_at(0, value)
        ((_, value_of_lane),) = operand.owner(row, col)
        register, bit = operand.register_of(value_of_lane)
        found[instruction, register][bit] = divmod(value, layout.fields)
    parts = {key: _join_part([places[bit] for bit in sorted(places)]) for key, places in found.items()}
    instructions = sorted({key[0] for key in parts})
    return [[parts[i, r] for r in range(operand.registers)] for i in instructions]


def _join_part(places: list[tuple[int, int]]) -> Part:
    words = {word for word, _ in places}
    if len(words) > 1:
        raise LayoutError("split_register", f"A register has fields of the words {sorted(words)}.")
    return words.pop(), tuple(field for _, field in places)


def _list_word_pairs(layout: WeightLayout) -> list[Part]:
    """Return the fields of word 0 in pairs, in the order of their elements."""
    ordered = sorted(range(layout.fields), key=lambda field: layout.tile.element_at(0, field))
    return [(0, (low, high)) for low, high in zip(ordered[::2], ordered[1::2], strict=True)]


def _convert_part(layout: WeightLayout, wide: int, part: Part, word: str) -> str:
    """Return the C++ expression of a register of `wide`-bit elements.

    LayoutError where no fast conversion gives it.
    """
    fields = part[1]
    if wide == 16 and layout.bits == 8:  # two bytes of a word, in any order
        return f"byte_halves<0x5{fields[1]}5{fields[0]}>({word})"
    apart = tuple(field - fields[0] for field in fields)
    convert = _CONVERSIONS.get((wide, layout.bits, apart))
    if convert is None:
        raise LayoutError("no_conversion", f"The fields {fields} of {layout.bits} bits have no fast conversion.")
    return convert(word, fields[0])


def _take_halves(word: str, first: int) -> str:
    shifted = f"{word} >> 8" if first > 1 else word
    return f"{'high' if first % 2 else 'low'}_halves({shifted})"


def _keep_word(word: str, first: int) -> str:
    return word


def _mask_fields(word: str, first: int) -> str:
    return f"{word} >> {4 * first} & 0x0f0f0f0f" if first else f"{word} & 0x0f0f0f0f"


def _spread_fields(word: str, first: int) -> str:
    return f"spread_fields({word} >> 16)" if first else f"spread_fields({word} & 0xffff)"


# (bits of an element, bits of a field, how far each field is from the first) → C++ of the word and the first field
_CONVERSIONS: dict[tuple[int, int, tuple[int, ...]], Callable[[str, int], str]] = {
    (16, 4, (0, 4)): _take_halves,
    (8, 8, (0, 1, 2, 3)): _keep_word,
    (8, 4, (0, 2, 4, 6)): _mask_fields,
    (8, 4, (0, 1, 2, 3)): _spread_fields,
}


_HALVES = {4: "weights_halves_4.cu", 8: "weights_halves_8.cu"}


def _render_helpers(layout: WeightLayout, wide: int, lines: list[str]) -> str:
    """Return the definitions of the helper functions that the lines call."""
    if wide == 16:
        return _PROGRAMS.fill(_HALVES[layout.bits]) + "\n"
    return _PROGRAMS.fill("weights_bytes.cu") + "\n" if any("spread_fields" in line for line in lines) else ""
