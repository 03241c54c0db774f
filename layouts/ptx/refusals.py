"""Why a PTX text names no instruction: which of its parts is wrong, what it may be instead, and what is nearest."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from functools import lru_cache
from math import log2

from lanescope import inputs
from lanescope.errors import LayoutError
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.syntax import STATE_SPACES, OpcodeSyntax, parse_sizes

MOST_SPELLED = 200  # candidates for a wrong text whose spelling is compared: the nearest by their parts
# The parts of a syntax and how much a caller minds another one: types are what they have, a shape can be changed.
_PARTS = {"opcode": 4.0, "shape": 1.0, "layouts": 1.0, "types": 1.5, "modifiers": 1.0}
# part → its name in a sentence, and the sentence where it is missing
_LABELS = {
    "opcode": ("opcode", "opcode is missing"),
    "shape": ("shape", "shape is missing"),
    "layouts": ("layout", "layout is missing"),
    "types": ("types", "types are missing"),
    "modifiers": ("modifier", "a modifier is missing"),
}


def shorten(text: str, most: int = 120) -> str:
    """Return user text for a message: one line, at most `most` characters."""
    line = " ".join(text[: 8 * most].split())
    return line if len(line) <= most else line[: most - 1] + "…"


def find_nearest(syntax: OpcodeSyntax, rows: Sequence[Instruction], most: int = 5) -> list[Instruction]:
    """Return the instructions most like a syntax: fewest differing parts, then closest spelling."""

    def parts(candidate: Instruction) -> tuple[float, float]:
        other = candidate.syntax
        differ = sum(
            weight / (1 if _format_part(part, syntax) else 2)  # what is left out can be filled in
            for part, weight in _PARTS.items()
            if not _is_same_part(part, syntax, other)
        )
        return differ, measure_shape_distance(syntax.shape, other.shape)

    def spelling(candidate: Instruction) -> float:
        return -SequenceMatcher(None, _format_syntax(syntax), _format_syntax(candidate.syntax)).ratio()

    same = [i for i in rows if i.syntax.opcode == syntax.opcode]
    ranked = sorted(((parts(i), i) for i in same or rows), key=lambda scored: scored[0])[:MOST_SPELLED]
    nearest: list[Instruction] = []
    for _, alike in itertools.groupby(ranked, key=lambda scored: scored[0]):  # spelling decides among equals
        if len(nearest) < most:
            equals = [i for _, i in alike]
            nearest += sorted(equals, key=spelling) if len(equals) > 1 else equals
    return nearest[:most]


def _is_same_part(part: str, syntax: OpcodeSyntax, other: OpcodeSyntax) -> bool:
    a, b = getattr(syntax, part), getattr(other, part)
    return sorted(a) == sorted(b) if part == "modifiers" else bool(a == b)


@lru_cache(maxsize=1 << 14)
def measure_shape_distance(shape: str, other: str) -> float:
    """Return the distance between two shapes: the sum of the sizes' ratios, in octaves."""
    a, b = parse_sizes(shape), parse_sizes(other)
    if not a or not b:
        return 9.0
    return sum(abs(log2(max(a.get(name, 1), 1) / max(b.get(name, 1), 1))) for name in dict.fromkeys((*a, *b)))


def _format_syntax(syntax: OpcodeSyntax) -> str:
    return ".".join((syntax.opcode, syntax.shape, *syntax.layouts, *syntax.types, *syntax.modifiers))


def _format_part(part: str, syntax: OpcodeSyntax) -> str:
    value = getattr(syntax, part)
    return value if isinstance(value, str) else ".".join(value)


def _refuse_unfinished(
    opcode: str, syntax: OpcodeSyntax, rows: Sequence[Instruction], opcodes: Sequence[str]
) -> LayoutError:
    """Return the error for a text that ends before its opcode does, such as `wgmma`: one instruction for each way to go
    on.
    """
    head = syntax.opcode.partition(".")[0]
    begun = [text for text in opcodes if f"{text}.".startswith(f"{syntax.opcode}.")]
    complete = begun or [text for text in opcodes if text.partition(".")[0] == head]
    near = [next(i for i in rows if i.syntax.opcode == text) for text in complete]
    missing = [part for part in ("layouts", "shape", "types") if all(getattr(i.syntax, part) for i in near)]
    fitting = [i for i in rows if i.syntax.opcode in complete]
    wrong = [m for m in syntax.modifiers if all(m not in (*i.modifiers, *i.family.spaces) for i in fitting)]
    reasons = [f"opcode '{syntax.opcode}' is not legal here (allowed: {', '.join(complete)})"]
    reasons += [f"modifier '{shorten(m, 40)}' is not legal here" for m in wrong]
    if missing:
        reasons.append(
            f"{inputs.join_words(missing)} {'are' if len(missing) > 1 or missing == ['types'] else 'is'} missing"
        )
    return _make_unknown_error(opcode, "; ".join(reasons), _filter_spaces(near, syntax.modifiers))


def _filter_spaces(near: Iterable[Instruction], spaces: Sequence[str]) -> list[Instruction]:
    """Return the instructions in the given state space, where they have it."""
    return [next((i.in_space(space) for space in spaces if space in i.family.spaces), i) for i in near]


def make_refusal(opcode: str, syntax: OpcodeSyntax, rows: Sequence[Instruction], opcodes: Sequence[str]) -> LayoutError:
    """Return the error that says why a text names no instruction, with the nearest rows; opcodes: all that exist."""
    if syntax.opcode not in opcodes and not (syntax.shape or syntax.layouts or syntax.types):
        return _refuse_unfinished(opcode, syntax, rows, opcodes)
    spaces = [m for m in syntax.modifiers if m in STATE_SPACES]
    syntax = replace(syntax, modifiers=tuple(m for m in syntax.modifiers if m not in spaces))
    bare = [i.in_space("") for i in rows]
    near = find_nearest(syntax, bare)
    reasons = [*_explain_parts(syntax, bare, near), *_explain_space(".".join(spaces), near[0].family.spaces)]
    listed = {i.ptx: row for i, row in zip(bare, rows, strict=True)}
    return _make_unknown_error(opcode, "; ".join(reasons), _filter_spaces((listed[i.ptx] for i in near), spaces[:1]))


def _explain_parts(syntax: OpcodeSyntax, rows: Sequence[Instruction], near: Sequence[Instruction]) -> Iterator[str]:
    """Yield a sentence for each part in which a syntax differs from the nearest row; one for all that are missing."""
    closest = near[0].syntax
    wrong = [part for part in _PARTS if not _is_same_part(part, syntax, closest)]
    missing = [part for part in wrong if not _format_part(part, syntax) and all(getattr(i.syntax, part) for i in near)]
    together = missing if len(missing) > 1 else []
    for part in wrong:
        if part not in together:
            yield _explain_part(part, _format_part(part, syntax), _list_allowed(part, closest, rows))
    if together:
        yield f"{inputs.join_words(together)} are missing"


def _list_allowed(part: str, closest: OpcodeSyntax, rows: Sequence[Instruction]) -> list[str]:
    """Return what a part may be where all other parts are those of the closest syntax."""
    others = [name for name in _PARTS if name != part]
    fitting = (i.syntax for i in rows if all(_is_same_part(name, closest, i.syntax) for name in others))
    return _drop_repeats(_format_part(part, values) or "none" for values in fitting)


def _explain_part(part: str, text: str, allowed: list[str]) -> str:
    """Say what is wrong with one part of a syntax, and what it may be."""
    if part == "shape" and text and (sentence := _describe_wrong_size(text, allowed)):
        return sentence
    label, missing = _LABELS[part]
    sentence = f"{label} '{text}' is not legal here" if text else missing
    return f"{sentence} (allowed: {', '.join(allowed[:12])}{', …' if len(allowed) > 12 else ''})"


def _explain_space(space: str, legal: Sequence[str]) -> Iterator[str]:
    """Say that an instruction does not have a state space, where it does not."""
    if space and space not in legal:
        allowed = _drop_repeats(("none", *filter(None, legal)))
        yield f"state space '{shorten(space, 40)}' is not legal here (allowed: {', '.join(allowed)})"


def _describe_wrong_size(shape_text: str, allowed: list[str]) -> str:
    """Say which size of a shape is wrong, and what it may be beside the others; "" if more than one is wrong."""
    sizes, legal = parse_sizes(shape_text), [parse_sizes(shape) for shape in allowed]
    for dim, size in sizes.items():
        fitting = sorted({s[dim] for s in legal if s.keys() == sizes.keys() and {**s, dim: size} == sizes})
        if fitting:
            return (
                f"shape '{shape_text}' is not legal here: {dim.upper()} is {size} (allowed: {_format_sizes(fitting)})"
            )
    return ""


def _format_sizes(values: list[int]) -> str:
    """Return ascending sizes in words: all of them, or their common step where they are many.

    >>> _format_sizes([8, 16]), _format_sizes([8, 16, 24, 32, 40, 48])
    ('8 or 16', 'multiples of 8 from 8 to 48')
    """
    steps = {b - a for a, b in itertools.pairwise(values)}
    if len(values) > 4 and len(steps) == 1 and not values[0] % (step := min(steps)):
        return f"multiples of {step} from {values[0]} to {values[-1]}"
    return inputs.join_words([str(value) for value in values], "or")


def _make_unknown_error(opcode: str, why: str, near: list[Instruction]) -> LayoutError:
    return LayoutError(
        "unknown_instruction",
        f"No instruction '{shorten(opcode)}': {why}.",
        "Nearest: " + ", ".join(i.ptx for i in near) + ".",
        "ptx",
        tuple(i.ptx for i in near),
    )


def _drop_repeats(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))
