"""Explain why a PTX text is not an instruction: the wrong part, the allowed values, and the nearest instructions."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from functools import lru_cache
from math import log2

from lanescope import inputs
from lanescope.errors import LayoutError
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.syntax import STATE_SPACES, OpcodeSyntax, parse_sizes
from lanescope.ptx.wrong_words import explain_types, replace_unknown_words

MOST_NEAREST = 5
MOST_SPELLED = 200  # of the candidates nearest by their parts, how many are compared by spelling
# The cost of a change in each part: a caller can change a shape more easily than the types of the data.
_PARTS = {"opcode": 4.0, "shape": 1.0, "layouts": 1.0, "types": 1.5, "modifiers": 1.0}
MODIFIER = 0.5  # cost of each modifier that is missing
SIZE = 0.5  # cost of each further size of a shape that differs
# part → its name in a sentence, and the sentence where it is missing
_LABELS = {
    "opcode": ("opcode", "opcode is missing"),
    "shape": ("shape", "shape is missing"),
    "layouts": ("layout", "layout is missing"),
    "types": ("type", "types are missing"),
    "modifiers": ("modifier", "a modifier is missing"),
}


def shorten(text: str, most: int = 120) -> str:
    """Return user text for a message: one line, at most `most` characters."""
    line = " ".join(text[: 8 * most].split())
    return line if len(line) <= most else line[: most - 1] + "…"


def find_nearest(syntax: OpcodeSyntax, rows: Sequence[Instruction]) -> list[Instruction]:
    """Return the instructions nearest to a syntax: fewest different parts, then closest spelling."""

    def parts(candidate: Instruction) -> tuple[float, float]:
        other = candidate.syntax
        cost = sum(
            weight / (1 if _format_part(part, syntax) else 2)  # a part that is missing can be filled in
            for part, weight in _PARTS.items()
            if not _is_same_part(part, syntax, other)
        ) + MODIFIER * max(len(other.modifiers) - len(syntax.modifiers), 0)
        if set(syntax.modifiers) < set(other.modifiers) and syntax.modifiers:
            cost -= _PARTS["modifiers"] / 2
        return cost + _count_sizes(syntax.shape, other.shape), measure_shape_distance(syntax.shape, other.shape)

    def spelling(candidate: Instruction) -> float:
        return -SequenceMatcher(None, _format_syntax(syntax), _format_syntax(candidate.syntax)).ratio()

    same = [i for i in rows if i.syntax.opcode == syntax.opcode]
    ranked = sorted(((parts(i), i) for i in same or rows), key=lambda scored: scored[0])[:MOST_SPELLED]
    nearest: list[Instruction] = []
    for _, alike in itertools.groupby(ranked, key=lambda scored: scored[0]):  # spelling decides among equals
        if len(nearest) < MOST_NEAREST:
            equals = [i for _, i in alike]
            nearest += sorted(equals, key=spelling) if len(equals) > 1 else equals
    return nearest[:MOST_NEAREST]


def _is_same_part(part: str, syntax: OpcodeSyntax, candidate: OpcodeSyntax) -> bool:
    a, b = getattr(syntax, part), getattr(candidate, part)
    return sorted(a) == sorted(b) if part == "modifiers" else bool(a == b)


@lru_cache(maxsize=1 << 14)
def measure_shape_distance(shape: str, other: str) -> float:
    """Return the distance between two shapes: the sum of |log2| of the ratios of their sizes."""
    a, b = parse_sizes(shape), parse_sizes(other)
    if not a or not b:
        return 9.0
    return sum(abs(log2(max(a.get(name, 1), 1) / max(b.get(name, 1), 1))) for name in dict.fromkeys((*a, *b)))


@lru_cache(maxsize=1 << 14)
def _count_sizes(shape: str, other: str) -> float:
    """Return the cost of the sizes that differ between two shapes, beyond the first."""
    a, b = parse_sizes(shape), parse_sizes(other)
    return SIZE * max(sum(size != b.get(name) for name, size in a.items()) - 1, 0) if a.keys() == b.keys() else 0.0


def _format_syntax(syntax: OpcodeSyntax) -> str:
    return ".".join((syntax.opcode, syntax.shape, *syntax.layouts, *syntax.types, *syntax.modifiers))


def _format_part(part: str, syntax: OpcodeSyntax) -> str:
    value = getattr(syntax, part)
    return value if isinstance(value, str) else ".".join(value)


def _refuse_unfinished(
    opcode: str, syntax: OpcodeSyntax, rows: Sequence[Instruction], opcodes: Sequence[str]
) -> LayoutError:
    """Return the error for an incomplete opcode such as `wgmma`, with one instruction for each way to complete it."""
    head = syntax.opcode.partition(".")[0]
    continued = [text for text in opcodes if f"{text}.".startswith(f"{syntax.opcode}.")]
    complete = continued or [text for text in opcodes if text.partition(".")[0] == head]
    near = [next(i for i in rows if i.syntax.opcode == text) for text in complete]
    missing = [part for part in ("layouts", "shape", "types") if all(getattr(i.syntax, part) for i in near)]
    fitting = [i for i in rows if i.syntax.opcode in complete]
    illegal = [m for m in syntax.modifiers if all(m not in (*i.modifiers, *i.family.spaces) for i in fitting)]
    reasons = [f"opcode '{syntax.opcode}' is not legal here (allowed: {', '.join(complete)})"]
    reasons += [f"modifier '{shorten(m, 40)}' is not legal here" for m in illegal]
    if missing:
        reasons.append(
            f"{inputs.join_words(missing)} {'are' if len(missing) > 1 or missing == ['types'] else 'is'} missing"
        )
    return _make_unknown_error(opcode, "; ".join(reasons), _apply_spaces(near, syntax.modifiers))


def _apply_spaces(near: Iterable[Instruction], spaces: Sequence[str]) -> list[Instruction]:
    """Return each instruction in the first of the given state spaces that it has, unchanged if it has none."""
    return [next((i.in_space(space) for space in spaces if space in i.family.spaces), i) for i in near]


def make_refusal(opcode: str, syntax: OpcodeSyntax, rows: Sequence[Instruction], opcodes: Sequence[str]) -> LayoutError:
    """Return the error for a text that is not an instruction, with the nearest rows; opcodes: all that exist."""
    if syntax.opcode not in opcodes and not (syntax.shape or syntax.layouts or syntax.types):
        return _refuse_unfinished(opcode, syntax, rows, opcodes)
    spaces = [m for m in syntax.modifiers if m in STATE_SPACES]
    syntax = replace(syntax, modifiers=tuple(m for m in syntax.modifiers if m not in spaces))
    bare = [i.in_space("") for i in rows]
    syntax, reasons = replace_unknown_words(opcode, syntax, bare)
    near = find_nearest(syntax, bare)
    reasons += [*_explain_parts(syntax, bare, near), *_explain_space(".".join(spaces), near[0].family.spaces)]
    listed = {i.ptx: row for i, row in zip(bare, rows, strict=True)}
    return _make_unknown_error(opcode, "; ".join(reasons), _apply_spaces((listed[i.ptx] for i in near), spaces[:1]))


def _explain_parts(syntax: OpcodeSyntax, rows: Sequence[Instruction], near: Sequence[Instruction]) -> Iterator[str]:
    """Yield a sentence for each part that differs from the nearest row, and one for several missing parts."""
    closest = near[0].syntax
    different = [part for part in _PARTS if not _is_same_part(part, syntax, closest)]
    missing = [
        part for part in different if not _format_part(part, syntax) and all(getattr(i.syntax, part) for i in near)
    ]
    together = missing if len(missing) > 1 else []
    for part in different:
        if part not in together:
            fitting = _list_fitting(part, closest, rows, missing)
            allowed = _drop_repeats(_format_part(part, i.syntax) or "none" for i in fitting)
            yield _explain_part(part, syntax, fitting, allowed)
    if together:
        yield f"{inputs.join_words(together)} are missing"


def _list_fitting(
    part: str, closest: OpcodeSyntax, rows: Sequence[Instruction], missing: Collection[str]
) -> list[Instruction]:
    """Return the instructions whose other parts are those of the closest syntax, except those that the text lacks.

    Without types the modifiers are open, too: they depend on the types.
    """
    free = {part, *missing, *(["modifiers"] if "types" in missing and not closest.modifiers else [])}
    other_parts = [name for name in _PARTS if name not in free]
    return [i for i in rows if all(_is_same_part(name, closest, i.syntax) for name in other_parts)]


def _explain_part(part: str, syntax: OpcodeSyntax, fitting: Sequence[Instruction], allowed: list[str]) -> str:
    """Return a sentence on one wrong part of a syntax and its allowed values."""
    text = _format_part(part, syntax)
    if part == "shape" and text and (sentence := _describe_wrong_size(text, allowed)):
        return sentence
    if part == "types" and len(syntax.types) > 1 and (sentence := explain_types(syntax.types, fitting)):
        return sentence
    if part == "modifiers" and (sentence := _explain_modifier(syntax, fitting)):
        return sentence
    label, missing = _LABELS[part]
    if part == "types" and "." in text:
        sentence = f"types '{text}' are not legal here"
    else:
        sentence = f"{label} '{text}' is not legal here" if text else missing
    return f"{sentence} (allowed: {', '.join(allowed[:12])}{', …' if len(allowed) > 12 else ''})"


def _explain_modifier(syntax: OpcodeSyntax, fitting: Sequence[Instruction]) -> str:
    """Return which single modifier is wrong or missing, and those allowed in its place; "" if more are."""
    given = set(syntax.modifiers)
    ways: dict[str, list[str]] = {}  # the wrong modifier, "" if one is missing → those allowed in its place
    for i in fitting:
        modifiers = set(i.syntax.modifiers)
        if len(given - modifiers) < 2 and len(modifiers - given) < 2:
            ways.setdefault("".join(given - modifiers), []).append("".join(modifiers - given) or "none")
    words = {wrong: _drop_others(wrong, _drop_repeats(allowed)) for wrong, allowed in ways.items()}
    if len(words) == 1:
        ((wrong, allowed),) = words.items()
        listed = f"(allowed: {', '.join(allowed[:12])}{', …' if len(allowed) > 12 else ''})"
        return f"modifier '{wrong}' is not legal here {listed}" if wrong else f"a modifier is missing {listed}"
    if not words or "" in words or sum(map(len, words.values())) > 12:
        return ""
    listed = "; ".join(f"{inputs.join_words(allowed, 'or')} instead of {wrong}" for wrong, allowed in words.items())
    return f"modifiers '{'.'.join(syntax.modifiers)}' are not legal together (allowed: {listed})"


def _drop_others(wrong: str, allowed: list[str]) -> list[str]:
    """Return the words allowed in place of a wrong one; if none is needed, only those of its kind, `collector::…`."""
    kind = wrong.partition("::")[0]
    return [word for word in allowed if word.partition("::")[0] in (kind, "none")] if "none" in allowed else allowed


def _explain_space(space: str, legal: Sequence[str]) -> Iterator[str]:
    """Yield a sentence if the instruction does not have the state space."""
    if space and space not in legal:
        allowed = _drop_repeats(("none", *filter(None, legal)))
        yield f"state space '{shorten(space, 40)}' is not legal here (allowed: {', '.join(allowed)})"


def _describe_wrong_size(shape_text: str, allowed: list[str]) -> str:
    """Return the size of a shape that is illegal with the others, and the allowed sizes; "" if several are illegal."""
    sizes, legal = parse_sizes(shape_text), [parse_sizes(shape) for shape in allowed]
    for dim, size in sizes.items():
        fitting = sorted({s[dim] for s in legal if s.keys() == sizes.keys() and {**s, dim: size} == sizes})
        if fitting:
            return (
                f"shape '{shape_text}' is not legal here: {dim.upper()} is {size} (allowed: {_format_sizes(fitting)})"
            )
    return ""


def _format_sizes(values: list[int]) -> str:
    """Format ascending sizes: all of them, or for more than four their common step.

    >>> _format_sizes([8, 16]), _format_sizes([8, 16, 24, 32, 40, 48])
    ('8 or 16', 'multiples of 8 from 8 to 48')
    """
    steps = {b - a for a, b in itertools.pairwise(values)}
    if len(values) > 4 and len(steps) == 1 and not values[0] % (step := min(steps)):
        return f"multiples of {step} from {values[0]} to {values[-1]}"
    return inputs.join_words([str(value) for value in values], "or")


def make_unknown_instruction(message: str, nearest: Sequence[str]) -> LayoutError:
    """Return the error for a name that no instruction has. nearest: PTX texts, of which five are offered."""
    hint = f"Nearest: {', '.join(nearest[:5])}." if nearest else "Change one of its words."
    return LayoutError("unknown_instruction", message, hint, "ptx", tuple(nearest[:5]))


def _make_unknown_error(opcode: str, why: str, near: Sequence[Instruction]) -> LayoutError:
    return make_unknown_instruction(f"No instruction '{shorten(opcode)}': {why}.", [one.ptx for one in near])


def _drop_repeats(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))
